//! Turns a CRD from the user into resources of a project, and into values for the templates of their files.

pub(crate) mod groups;

use std::{cmp::Reverse, collections::BTreeMap, str::FromStr};

use anyhow::{Context as _, Error, Result, anyhow, ensure};
use serde::Serialize;
use serde_json::{Map, Value, json};

use self::groups::{group, group_of_others};
use crate::{
    crd::{self, Crd, CrdVersion, Loss},
    names::{Domain, Group, GroupVersionKind, Kind, Version, in_backticks},
    project::{
        ConversionStrategy, Definition, Deprecation, External, Own, Project, Resource, Stage, Types,
    },
    visible::visible,
    yaml,
};

/// A kind of the project whose types come from a CRD.
pub struct KindFromCrd<'a> {
    /// The CRD.
    pub crd: &'a Crd,
    /// The versions of the CRD that the project takes.
    pub versions: Vec<&'a CrdVersion>,
    /// The group of the CRD without its domain, and the domain if it differs from the project's domain.
    group: (Group, Option<Domain>),
    definer: Definer,
}

/// What a CRD gives to the files of its kind.
#[derive(Debug, Default)]
pub struct FilesFromCrd {
    /// The values that the template of a file gets in addition to the project, by the path of the file.
    pub additions: BTreeMap<String, Value>,
    /// The differences between the CRD and the generated code.
    pub losses: Vec<Loss>,
    /// Places in the samples that the user must check.
    pub doubts: Vec<Loss>,
}

/// Who defines the kind: this project, or another one.
enum Definer {
    Project(ConversionStrategy),
    Others,
}

impl<'a> KindFromCrd<'a> {
    /// Takes all versions of `crd`, or only `version`. `project` defines the kind.
    ///
    /// # Errors
    /// When the CRD does not have this version.
    pub fn of_project(crd: &'a Crd, version: Option<&Version>, project: &Project) -> Result<Self> {
        let versions = match version {
            Some(version) => vec![find_version(crd, version)?],
            None => crd.versions.iter().collect(),
        };
        let conversion = if served(&versions).len() < 2 || crd.converts {
            ConversionStrategy::Missing
        } else if crd::served_alike(crd) {
            ConversionStrategy::None
        } else {
            ConversionStrategy::Lossy
        };
        let mut from_crd = Self {
            crd,
            versions,
            group: group(project, &parse(crd, &crd.group)?)?,
            definer: Definer::Project(conversion),
        };
        if version.is_some() {
            // The other versions stay, and so does the conversion between all versions.
            let taken = from_crd.resource(from_crd.versions[0], Stage::Unserved)?;
            if let Some(existing) = project.versions(&taken).next() {
                from_crd.definer = Definer::Project(existing.conversion());
            }
        }
        Ok(from_crd)
    }

    /// Takes one version of `crd`: `version`, or by default the stored version. Another project defines the kind, and
    /// `project` only uses it.
    ///
    /// # Errors
    /// When the CRD does not have or does not serve this version.
    pub fn of_others(crd: &'a Crd, version: Option<&Version>, project: &Project) -> Result<Self> {
        let served = served(&crd.versions.iter().collect::<Vec<_>>());
        let taken = if let Some(version) = version {
            let taken = find_version(crd, version)?;
            ensure!(
                taken.served,
                "the CustomResourceDefinition `{}` does not serve `{version}`: it serves {}",
                name(crd),
                names(&served)
            );
            taken
        } else {
            let stored = served.iter().find(|version| version.storage);
            stored.or(served.first()).with_context(|| {
                format!(
                    "the CustomResourceDefinition `{}` serves no version",
                    name(crd)
                )
            })?
        };
        Ok(Self {
            crd,
            versions: vec![taken],
            group: group_of_others(project, &parse(crd, &crd.group)?)?,
            definer: Definer::Others,
        })
    }

    /// Returns the resource for `version`, with this stage.
    ///
    /// # Errors
    /// When a name in the CRD is not valid in a project.
    pub fn resource(&self, version: &CrdVersion, stage: Stage) -> Result<Resource> {
        let crd = self.crd;
        let kind: Kind = parse(crd, &crd.kind)?;
        let (group, domain) = self.group.clone();
        let id = GroupVersionKind::new(group.clone(), parse(crd, &version.name)?, kind);
        let mut short_names = Vec::new();
        let definition = match self.definer {
            Definer::Others => Definition::External(External::Given),
            Definer::Project(conversion) => {
                for short_name in &crd.short_names {
                    short_names.push(parse(crd, short_name)?);
                }
                Definition::Own(Own {
                    stage,
                    deprecation: match (version.deprecated, &version.deprecation_warning) {
                        (true, Some(warning)) => Deprecation::Warning(parse(crd, warning)?),
                        (true, None) => Deprecation::Yes,
                        (false, _) => Deprecation::No,
                    },
                    conversion,
                    spokes: None,
                    types: Types::Given,
                })
            }
        };
        Ok(Resource {
            domain,
            namespaced: crd.namespaced,
            plural: parse(crd, &crd.plural)?,
            short_names,
            ..Resource::new(group, &id, definition)
        })
    }

    /// Returns the existing resource of `project` for `version`.
    ///
    /// # Errors
    /// See [`KindFromCrd::resource`].
    pub fn existing<'p>(
        &self,
        version: &CrdVersion,
        project: &'p Project,
    ) -> Result<Option<&'p Resource>> {
        Ok(project.there(&self.resource(version, Stage::Unserved)?))
    }

    /// Returns the taken versions, each with a new resource for `project`. The stored version comes first. The
    /// resources have no controllers and no webhooks.
    ///
    /// # Errors
    /// See [`KindFromCrd::resource`].
    pub fn resources(&self, project: &Project) -> Result<Vec<(&'a CrdVersion, Resource)>> {
        let mut versions = self.versions.clone();
        versions.sort_by_key(|version| (!version.storage, !version.served));
        let mut resources = Vec::new();
        for version in versions {
            let unserved = self.resource(version, Stage::Unserved)?;
            let is_another_stored = project
                .versions(&unserved)
                .any(|other| other.version != unserved.version && other.is_stored());
            let hub = project.hub_of(&unserved);
            let there = project.there(&unserved).unwrap_or(&unserved);
            let is_converted = hub.is_some() && project.is_converted(there);
            let stage = match self.definer {
                _ if is_converted && version.served && !version.storage => Stage::Served,
                _ if version.storage || resources.is_empty() && !is_another_stored => Stage::Stored,
                Definer::Project(ConversionStrategy::None | ConversionStrategy::Lossy)
                    if version.served =>
                {
                    Stage::Served
                }
                _ => Stage::Unserved,
            };
            let mut resource = self.resource(version, stage)?;
            if let (Definition::Own(own), Some(hub)) = (&mut resource.definition, hub) {
                // The project's own webhook converts, so the conversion strategy of the CRD does not matter.
                own.conversion = ConversionStrategy::Missing;
                if hub.version == resource.version {
                    own.spokes = hub.spokes().cloned();
                }
            }
            resources.push((version, resource));
        }
        Ok(resources)
    }

    /// Returns what the CRD gives to the files of `project`.
    ///
    /// # Errors
    /// When a name in the CRD is not valid in a project, or a manifest cannot be written.
    pub fn files(&self, project: &Project) -> Result<FilesFromCrd> {
        let mut files = FilesFromCrd::default();
        let mut entries = Vec::new();
        for version in &self.versions {
            let Some(resource) = self.existing(version, project)? else {
                continue;
            };
            let types_file = project.types_file(resource);
            if resource.external().is_some() {
                let types = crd::types_for_use(self.crd, version);
                files.add(types_file, &types);
                continue;
            }
            let generated = crd::generate(self.crd, version, &project.type_name(resource));
            files.add(types_file, &generated.types);
            let fields = match &generated.sample {
                sample if sample.as_object().is_none_or(Map::is_empty) => String::new(),
                sample => yaml::write_manifest(sample)?,
            };
            let sample_file = format!("config/samples/{}", resource.sample_file());
            files.add(sample_file, &json!({"fields": fields}));
            for (all, of_version) in [
                (&mut files.losses, generated.losses),
                (&mut files.doubts, generated.doubts),
            ] {
                if self.versions.len() == 1 {
                    all.extend(of_version);
                } else {
                    for loss in of_version {
                        all.push(loss.of_version(&version.name));
                    }
                }
            }
            let mut entry = crd::manifest_version(version, generated.schema);
            entry["served"] = resource.is_served().into();
            entry["storage"] = resource.is_stored().into();
            entries.push((resource, entry));
        }
        let Some(resource) = entries.first().map(|(resource, _)| *resource) else {
            return Ok(files);
        };
        files.losses.extend(crd::losses_of_all_versions(self.crd));
        if project.versions(resource).count() == entries.len() {
            entries.sort_by_key(|(of, _)| (!of.is_stored(), Reverse(of.version.clone())));
            let versions: Vec<_> = entries.iter().map(|(_, entry)| entry).collect();
            // The metadata and the versions are YAML.
            let manifest = json!({
                "singular": self.crd.singular,
                "categories": self.crd.categories,
                "metadata": yaml::as_in_manifest(&self.metadata(project, resource))?,
                "versions": yaml::as_in_manifest(&versions)?,
            });
            let name = format!("{}_{}.yaml", self.crd.group, self.crd.plural);
            let chart = format!("charts/{}/files/crds", project.project_name);
            for folder in ["config/crd/bases", &chart] {
                files.add(format!("{folder}/{name}"), &manifest);
            }
        }
        Ok(files)
    }

    /// The metadata of the CRD of `resource`.
    fn metadata(&self, project: &Project, resource: &Resource) -> Value {
        let mut annotations = self.crd.annotations.clone();
        for annotation in project.annotations(resource) {
            let entry = annotations.entry(annotation.name.to_owned());
            entry.or_insert_with(|| annotation.value.to_owned());
        }
        let name = format!("{}.{}", self.crd.plural, self.crd.group);
        let mut metadata = json!({"name": name});
        for (field, pairs) in [("annotations", &annotations), ("labels", &self.crd.labels)] {
            if !pairs.is_empty() {
                metadata[field] = json!(pairs);
            }
        }
        metadata
    }

    /// A warning about served versions that have different schemas and no conversion.
    pub fn lossy(&self, project: &Project) -> Option<String> {
        let resource = self.existing(self.versions.first()?, project).ok()??;
        if resource.own()?.conversion != ConversionStrategy::Lossy {
            return None;
        }
        Some(format!(
            "the schemas of {} differ, and nothing converts between them, as in the CRD: a \
             write through one version loses the fields that only the others have",
            names(&served(&self.versions))
        ))
    }

    /// A note about versions that the CRD serves and the project does not, with the reason.
    pub fn unserved(&self, project: &Project) -> Option<String> {
        let mut unserved = served(&self.versions);
        unserved.retain(|version| {
            let resource = self.existing(version, project).ok().flatten();
            resource.is_some_and(|resource| resource.has_api() && !resource.is_served())
        });
        if unserved.is_empty() {
            return None;
        }
        let reason = if self.crd.converts {
            "in the CRD, a webhook converts between the versions, but this project has no such webhook"
        } else {
            "another version is stored, and nothing converts between them"
        };
        let verb = if unserved.len() == 1 { "is" } else { "are" };
        Some(format!(
            "{} {verb} not served, unlike in the CRD: {reason}",
            names(&unserved)
        ))
    }
}

impl FilesFromCrd {
    /// Adds the file at `path`. Its template gets `from_crd`.
    fn add(&mut self, path: String, from_crd: &impl Serialize) {
        let addition = json!({ "from_crd": from_crd });
        self.additions.insert(path, addition);
    }
}

/// The name of a CRD, as errors show it.
fn name(crd: &Crd) -> String {
    format!("{}.{}", visible(&crd.plural), visible(&crd.group))
}

/// The versions that the API server serves.
fn served<'a>(versions: &[&'a CrdVersion]) -> Vec<&'a CrdVersion> {
    let mut served = versions.to_vec();
    served.retain(|version| version.served);
    served
}

/// The names of versions.
fn names(versions: &[&CrdVersion]) -> String {
    in_backticks(versions.iter().map(|version| visible(&version.name)))
}

/// Finds `version` in `crd`.
fn find_version<'a>(crd: &'a Crd, version: &Version) -> Result<&'a CrdVersion> {
    let mut versions = crd.versions.iter();
    let found = versions.find(|candidate| candidate.name == version.as_str());
    found.with_context(|| {
        format!(
            "the CustomResourceDefinition `{}` has no version `{version}`: it has {}",
            name(crd),
            names(&crd.versions.iter().collect::<Vec<_>>())
        )
    })
}

/// Parses a name in `crd`. The error names the CRD.
fn parse<T: FromStr<Err = Error>>(crd: &Crd, text: &str) -> Result<T> {
    text.parse().map_err(|error| {
        let name = name(crd);
        anyhow!("cannot use the CustomResourceDefinition `{name}`: {error}")
    })
}
