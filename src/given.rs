//! What a CRD that is given makes of a project: its resources, and the texts of their files.

use anyhow::{Error, Result, anyhow, bail};

use crate::{
    crd::{self, Crd, CrdVersion, Loss, Setting},
    hint::OrHint,
    names::{Domain, Group, GroupVersionKind, Kind, Version},
    project::{Conversion, Definition, Deprecation, Own, Project, Resource, Stage, Types},
    reconcile::Texts,
    visible::visible,
};

/// The versions of a CRD that become versions of a kind of the project.
pub struct Given<'a> {
    /// The CRD.
    pub crd: &'a Crd,
    /// Those of its versions that are taken.
    pub versions: Vec<&'a CrdVersion>,
    /// Its group without the domain, and its domain if that is not the project's.
    group: (Group, Option<Domain>),
    conversion: Conversion,
}

impl<'a> Given<'a> {
    /// All versions of `crd`, or `version` alone, for `project`.
    ///
    /// # Errors
    /// When the CRD has no such version.
    pub fn new(crd: &'a Crd, version: Option<&Version>, project: &Project) -> Result<Self> {
        let is_wanted =
            |it: &&CrdVersion| version.is_none_or(|version| it.name == version.as_str());
        let versions: Vec<_> = crd.versions.iter().filter(is_wanted).collect();
        if let (Some(version), []) = (version, versions.as_slice()) {
            let names = crd
                .versions
                .iter()
                .map(|it| format!("`{}`", visible(&it.name)));
            bail!(
                "the CustomResourceDefinition `{}` has no version `{version}`: it has {}",
                name(crd),
                names.collect::<Vec<_>>().join(", ")
            );
        }
        let served = versions.iter().filter(|it| it.served).count();
        let conversion = if served < 2 || crd.converts {
            Conversion::Missing
        } else if crd::served_alike(crd) {
            Conversion::None
        } else {
            Conversion::Lossy
        };
        Ok(Self {
            crd,
            versions,
            group: group(project, &parse(crd, &crd.group)?)?,
            conversion,
        })
    }

    /// The resource of `version`, at a stage.
    ///
    /// # Errors
    /// When a name of the CRD cannot be one of the project.
    pub fn resource(&self, version: &CrdVersion, stage: Stage) -> Result<Resource> {
        let crd = self.crd;
        let kind: Kind = parse(crd, &crd.kind)?;
        let (group, domain) = self.group.clone();
        let id = GroupVersionKind::new(group.clone(), parse(crd, &version.name)?, kind);
        let short_names = crd.short_names.iter().map(|it| parse(crd, it));
        let deprecation = match (version.deprecated, &version.warning) {
            (true, Some(warning)) => Deprecation::Warning(parse(crd, warning)?),
            (true, None) => Deprecation::Yes,
            (false, _) => Deprecation::No,
        };
        let definition = Definition::Own(Own {
            stage,
            deprecation,
            conversion: self.conversion,
            spokes: None,
            types: Types::Given,
        });
        Ok(Resource {
            domain,
            namespaced: crd.namespaced,
            plural: parse(crd, &crd.plural)?,
            short_names: short_names.collect::<Result<_>>()?,
            ..Resource::new(group, &id, definition)
        })
    }

    /// The versions that are taken, with their resources in `project`, the stored one first: without
    /// controllers and webhooks.
    ///
    /// # Errors
    /// As [`Given::resource`].
    pub fn resources(&self, project: &Project) -> Result<Vec<(&'a CrdVersion, Resource)>> {
        let mut versions = self.versions.clone();
        versions.sort_by_key(|it| (!it.storage, !it.served));
        let mut resources = Vec::new();
        for (at, version) in versions.into_iter().enumerate() {
            let resource = self.resource(version, Stage::Unserved)?;
            let mut others = project
                .versions(&resource)
                .filter(|it| it.version != resource.version);
            let is_any_stored = others.any(Resource::is_stored);
            let stage = match self.conversion {
                _ if version.storage || at == 0 && !is_any_stored => Stage::Stored,
                Conversion::None | Conversion::Lossy if version.served => Stage::Served,
                _ => Stage::Unserved,
            };
            resources.push((version, self.resource(version, stage)?));
        }
        Ok(resources)
    }

    /// The texts of the files that the CRD gives in `project`, which renders to `rendered`, and what they lack of
    /// the CRD.
    ///
    /// # Errors
    /// When the manifest cannot be written.
    pub fn texts(&self, project: &Project, rendered: &Texts) -> Result<(Texts, Vec<Loss>)> {
        let mut texts = Texts::new();
        let mut losses = Vec::new();
        let mut written = Vec::new();
        let mut annotations = Vec::new();
        for version in &self.versions {
            let resource = self.resource(version, Stage::Unserved)?;
            let Some(at) = project.position(&resource) else {
                continue;
            };
            let resource = &project.resources[at];
            let (group, kind) = (project.group_module(resource), resource.kind.module());
            let types = format!("src/api/{group}/{}/{kind}.rs", resource.version);
            let sample = sample(resource);
            annotations = project.annotations(resource);
            let made = crd::make(
                self.crd,
                version,
                &Setting {
                    sample: Some(&format!("../../../../config/samples/{sample}")),
                    project: project.project_name.as_str(),
                    served: resource.is_served(),
                    annotations: &annotations,
                },
            );
            // The license stands above, as in every file.
            let skeleton = rendered.get(&types).map_or("", String::as_str);
            let header = skeleton.split_once("//! ").map_or("", |(header, _)| header);
            texts.insert(types, format!("{header}{}", made.types));
            texts.insert(format!("config/samples/{sample}"), made.sample);
            let several = self.versions.len() > 1;
            losses.extend(made.losses.into_iter().map(|loss| {
                if several {
                    loss.of_version(&version.name)
                } else {
                    loss
                }
            }));
            written.push((resource.clone(), *version, made.written));
        }
        if let Some((resource, ..)) = written.first()
            && project.versions(resource).count() == written.len()
        {
            written.sort_by(|(a, ..), (b, ..)| {
                (!a.is_stored(), &b.version).cmp(&(!b.is_stored(), &a.version))
            });
            let versions = written.iter().map(|(resource, version, written)| {
                let stored = resource.is_stored();
                (*version, written.clone(), [resource.is_served(), stored])
            });
            let versions: Vec<_> = versions.collect();
            let manifest = crd::manifest(self.crd, &versions, &annotations)?;
            let name = format!("{}_{}.yaml", self.crd.group, self.crd.plural);
            let is_it = |path: &&String| {
                path.ends_with(&format!("/bases/{name}"))
                    || path.ends_with(&format!("/crds/{name}"))
            };
            for path in rendered.keys().filter(is_it) {
                texts.insert(path.clone(), manifest.clone());
            }
        }
        Ok((texts, losses))
    }

    /// What of the versions is not as the CRD says.
    pub fn notes(&self, project: &Project) -> Vec<String> {
        let mut unserved = self.versions.iter().filter(|version| {
            let resource = self.resource(version, Stage::Unserved).ok();
            let at = resource.and_then(|it| project.position(&it));
            version.served && at.is_some_and(|at| !project.resources[at].is_served())
        });
        let list = |versions: &mut dyn Iterator<Item = &&CrdVersion>| {
            let names = versions.map(|it| format!("`{}`", it.name));
            names.collect::<Vec<_>>().join(", ")
        };
        let mut notes = Vec::new();
        if self.conversion == Conversion::Lossy {
            let mut served = self.versions.iter().filter(|it| it.served);
            notes.push(format!(
                "the schemas of {} differ, and as in the CRD nothing converts between them: a write through one \
                 version loses what only the others have",
                list(&mut served)
            ));
        }
        let names = list(&mut unserved);
        if !names.is_empty() {
            let reason = if self.crd.converts {
                "the CRD has a webhook that converts between the versions, and this project has none"
            } else {
                "another version is stored, and nothing converts between them"
            };
            notes.push(format!(
                "{names} is not served, unlike in the CRD: {reason}"
            ));
        }
        notes
    }
}

/// The file of the sample of a version, in `config/samples`.
pub fn sample(resource: &Resource) -> String {
    let sample = format!("{}_{}.yaml", resource.version, resource.kind.lower());
    match resource.group.as_str() {
        "" => sample,
        group => format!("{group}_{sample}"),
    }
}

/// The name of a CRD.
fn name(crd: &Crd) -> String {
    format!("{}.{}", visible(&crd.plural), visible(&crd.group))
}

/// A name of the CRD `crd`.
fn parse<T: std::str::FromStr<Err = Error>>(crd: &Crd, text: &str) -> Result<T> {
    let parsed = text.parse();
    parsed.map_err(|error| {
        let name = name(crd);
        anyhow!("the CustomResourceDefinition `{name}` cannot be taken: {error}")
    })
}

/// The group `full` as `PROJECT` has it, and its domain if that is not the project's.
///
/// # Errors
/// When it has no domain, or names two groups of the project.
pub fn group(project: &Project, full: &Group) -> Result<(Group, Option<Domain>)> {
    let of_project = full.without(&project.domain);
    let (group, domain) = project.group(full)?;
    if domain.is_some() || of_project != *full {
        return Ok((group, domain));
    }
    // As short as can be told from the groups that are there.
    let taken: Vec<_> = project
        .resources
        .iter()
        .map(|it| project.group_module(it))
        .collect();
    let dots = full.as_str().match_indices('.');
    let splits: Result<Vec<(Group, Domain)>> = dots
        .map(|(dot, _)| {
            Ok((
                full.as_str()[..dot].parse()?,
                full.as_str()[dot + 1..].parse()?,
            ))
        })
        .collect();
    let mut splits = splits?;
    let free = splits
        .iter()
        .position(|(group, _)| !taken.contains(&group.module(&project.domain)));
    if splits.is_empty() {
        return Err(anyhow!("the group `{full}` has no domain")).or_hint(
            "the group of a CustomResourceDefinition ends in a domain, as in `webapp.example.com`",
        );
    }
    let (group, domain) = splits.swap_remove(free.unwrap_or(0));
    Ok((group, Some(domain)))
}
