//! Turns a CRD from the user into resources of a project, and into the texts of their files.

use anyhow::{Context as _, Error, Result, anyhow, ensure};

use crate::{
    crd::{self, Crd, CrdVersion, Loss, Setting},
    engine::{Text, Texts},
    hint::OrHint,
    names::{Domain, Group, GroupVersionKind, Kind, Version},
    project::{
        Conversion, Definition, Deprecation, External, Own, Project, Resource, Stage, Types,
    },
    visible::visible,
};

/// The versions of a CRD that become versions of a kind of the project.
pub struct Given<'a> {
    /// The CRD.
    pub crd: &'a Crd,
    /// The versions of the CRD that the project takes.
    pub versions: Vec<&'a CrdVersion>,
    /// The group of the CRD without its domain, and the domain if it differs from the project's domain.
    group: (Group, Option<Domain>),
    definer: Definer,
}

/// The files that are generated from a CRD.
#[derive(Debug, Default)]
pub struct GivenFiles {
    /// The texts of the files, by path.
    pub texts: Texts,
    /// The differences between the CRD and the generated code.
    pub losses: Vec<Loss>,
    /// Places in the samples that the user must check.
    pub doubts: Vec<Loss>,
}

/// Who defines the kind: this project, or another one.
enum Definer {
    Project(Conversion),
    Others,
}

impl<'a> Given<'a> {
    /// Takes all versions of `crd`, or only `version`. `project` defines the kind.
    ///
    /// # Errors
    /// When the CRD does not have this version.
    pub fn new(crd: &'a Crd, version: Option<&Version>, project: &Project) -> Result<Self> {
        let versions = match version {
            Some(version) => vec![self::version(crd, version)?],
            None => crd.versions.iter().collect(),
        };
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
            definer: Definer::Project(conversion),
        })
    }

    /// Takes one version of `crd`: `version`, or by default the stored version. Another project defines the kind, and
    /// `project` only uses it.
    ///
    /// # Errors
    /// When the CRD does not have or does not serve this version.
    pub fn of_others(crd: &'a Crd, version: Option<&Version>, project: &Project) -> Result<Self> {
        let served: Vec<_> = crd.versions.iter().filter(|it| it.served).collect();
        let taken = if let Some(version) = version {
            let taken = self::version(crd, version)?;
            ensure!(
                taken.served,
                "the CustomResourceDefinition `{}` does not serve `{version}`: it serves {}",
                name(crd),
                names(&served)
            );
            taken
        } else {
            let stored = served.iter().find(|it| it.storage);
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
        let (definition, short_names) = match self.definer {
            Definer::Others => (Definition::External(External::Given), Vec::new()),
            Definer::Project(conversion) => {
                let own = Own {
                    stage,
                    deprecation: match (version.deprecated, &version.warning) {
                        (true, Some(warning)) => Deprecation::Warning(parse(crd, warning)?),
                        (true, None) => Deprecation::Yes,
                        (false, _) => Deprecation::No,
                    },
                    conversion,
                    spokes: None,
                    types: Types::Given,
                };
                let short_names = crd.short_names.iter().map(|it| parse(crd, it));
                (Definition::Own(own), short_names.collect::<Result<_>>()?)
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
    /// See [`Given::resource`].
    pub fn there<'p>(
        &self,
        version: &CrdVersion,
        project: &'p Project,
    ) -> Result<Option<&'p Resource>> {
        let at = project.position(&self.resource(version, Stage::Unserved)?);
        Ok(at.map(|at| &project.resources[at]))
    }

    /// Returns the taken versions, each with a new resource for `project`. The stored version comes first. The
    /// resources have no controllers and no webhooks.
    ///
    /// # Errors
    /// See [`Given::resource`].
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
            let hub = project.hub_of(&resource);
            let is_converted = hub.is_some() && project.is_converted(&resource);
            let stage = match self.definer {
                _ if is_converted && version.served && !version.storage => Stage::Served,
                _ if version.storage || at == 0 && !is_any_stored => Stage::Stored,
                Definer::Project(Conversion::None | Conversion::Lossy) if version.served => {
                    Stage::Served
                }
                _ => Stage::Unserved,
            };
            let mut resource = self.resource(version, stage)?;
            if let (Definition::Own(own), Some(hub)) = (&mut resource.definition, hub) {
                // The project's own webhook converts, so the conversion strategy of the CRD does not matter.
                own.conversion = Conversion::Missing;
                own.spokes = hub
                    .spokes()
                    .filter(|_| hub.version == resource.version)
                    .cloned();
            }
            resources.push((version, resource));
        }
        Ok(resources)
    }

    /// Returns the files that are generated from the CRD. `rendered` is the render of `project`.
    ///
    /// # Errors
    /// When the CRD lacks a version of the project, or when the manifest cannot be serialized.
    pub fn files(&self, project: &Project, rendered: &Texts) -> Result<GivenFiles> {
        let GivenFiles {
            mut texts,
            mut losses,
            mut doubts,
        } = GivenFiles::default();
        let mut written = Vec::new();
        let mut annotations = Vec::new();
        for version in &self.versions {
            let Some(resource) = self.there(version, project)? else {
                continue;
            };
            let types = project.types_file(resource);
            // Like every file, the types file begins with the license header.
            let skeleton = rendered.get(&types).map_or("", Text::as_ref);
            let header = skeleton.split_once("//! ").map_or("", |(header, _)| header);
            if resource.external().is_some() {
                let made = crd::types_for_use(self.crd, version, &project.type_name(resource));
                texts.insert(types, format!("{header}{made}").into());
                continue;
            }
            let sample = resource.sample_file();
            annotations = project.annotations(resource);
            let made = crd::make(
                self.crd,
                version,
                &Setting {
                    sample: Some(&format!("../../../../config/samples/{sample}")),
                    project: project.project_name.as_str(),
                    type_name: &project.type_name(resource),
                    served: resource.is_served(),
                    annotations: &annotations,
                },
            );
            texts.insert(types, format!("{header}{}", made.types).into());
            texts.insert(format!("config/samples/{sample}"), made.sample.into());
            let several = self.versions.len() > 1;
            for (all, more) in [(&mut losses, made.losses), (&mut doubts, made.doubts)] {
                all.extend(more.into_iter().map(|it| {
                    if several {
                        it.of_version(&version.name)
                    } else {
                        it
                    }
                }));
            }
            written.push((resource.clone(), *version, made.written));
        }
        if let Some((resource, ..)) = written.first()
            && project.versions(resource).count() == written.len()
        {
            written.sort_by(|(a, ..), (b, ..)| {
                (!a.is_stored(), &b.version).cmp(&(!b.is_stored(), &a.version))
            });
            let versions = written.into_iter().map(|(resource, version, written)| {
                let stage = [resource.is_served(), resource.is_stored()];
                (version, written, stage)
            });
            let versions: Vec<_> = versions.collect();
            let converts = self.hub(project)?.is_some();
            let manifest = crd::manifest(self.crd, versions, &annotations, converts)?;
            let name = format!("{}_{}.yaml", self.crd.group, self.crd.plural);
            let ends = ["bases", "crds"].map(|folder| format!("/{folder}/{name}"));
            let is_it = |path: &&String| ends.iter().any(|end| path.ends_with(end.as_str()));
            for path in rendered.keys().filter(is_it) {
                texts.insert(path.clone(), manifest.clone().into());
            }
        }
        Ok(GivenFiles {
            texts,
            losses,
            doubts,
        })
    }

    /// The hub of the kind in `project`, if a webhook converts its versions.
    fn hub<'p>(&self, project: &'p Project) -> Result<Option<&'p Resource>> {
        let Some(version) = self.versions.first() else {
            return Ok(None);
        };
        let there = self.there(version, project)?;
        Ok(there.and_then(|it| project.hub_of(it)))
    }

    /// A warning about served versions that have different schemas and no conversion.
    pub fn lossy(&self, project: &Project) -> Option<String> {
        let own = self.there(self.versions.first()?, project).ok()??.own()?;
        let served = self.versions.iter().filter(|it| it.served);
        (own.conversion == Conversion::Lossy).then(|| {
            format!(
                "the schemas of {} differ, and nothing converts between them, as in the CRD: a \
                 write through one version loses the fields that only the others have",
                names(&served.copied().collect::<Vec<_>>())
            )
        })
    }

    /// A note about versions that the CRD serves and the project does not, with the reason.
    pub fn unserved(&self, project: &Project) -> Option<String> {
        let unserved = self.versions.iter().filter(|version| {
            let there = self.there(version, project).ok().flatten();
            let there = there.filter(|it| it.has_api());
            version.served && there.is_some_and(|it| !it.is_served())
        });
        let unserved: Vec<_> = unserved.copied().collect();
        let reason = if self.crd.converts {
            "in the CRD, a webhook converts between the versions, but this project has no such webhook"
        } else {
            "another version is stored, and nothing converts between them"
        };
        (!unserved.is_empty()).then(|| {
            format!(
                "{} is not served, unlike in the CRD: {reason}",
                names(&unserved)
            )
        })
    }
}

/// The name of a CRD, as errors show it.
fn name(crd: &Crd) -> String {
    format!("{}.{}", visible(&crd.plural), visible(&crd.group))
}

/// The names of versions.
fn names(versions: &[&CrdVersion]) -> String {
    let names = versions.iter().map(|it| format!("`{}`", visible(&it.name)));
    names.collect::<Vec<_>>().join(", ")
}

/// Finds `version` in `crd`.
fn version<'a>(crd: &'a Crd, version: &Version) -> Result<&'a CrdVersion> {
    let mut versions = crd.versions.iter();
    let found = versions.find(|it| it.name == version.as_str());
    found.with_context(|| {
        format!(
            "the CustomResourceDefinition `{}` has no version `{version}`: it has {}",
            name(crd),
            names(&crd.versions.iter().collect::<Vec<_>>())
        )
    })
}

/// Parses a name in `crd`. The error names the CRD.
fn parse<T: std::str::FromStr<Err = Error>>(crd: &Crd, text: &str) -> Result<T> {
    let parsed = text.parse();
    parsed.map_err(|error| {
        let name = name(crd);
        anyhow!("cannot use the CustomResourceDefinition `{name}`: {error}")
    })
}

/// Splits the full group `full` into the group as in `PROJECT`, and its domain if it differs from the project's domain.
///
/// # Errors
/// When `full` has no domain, or names two groups of the project.
pub fn group(project: &Project, full: &Group) -> Result<(Group, Option<Domain>)> {
    let of_project = full.without(&project.domain);
    let (group, domain) = project.group(full)?;
    if domain.is_some() || of_project != *full {
        return Ok((group, domain));
    }
    let (group, domain) = split(project, full)?;
    Ok((group, Some(domain)))
}

/// Returns the resource for a kind that another project defines in the group `full`. Its types have no fields until the
/// user gives its CRD.
///
/// # Errors
/// When the group has no domain.
pub fn of_others(
    project: &Project,
    full: &Group,
    version: Version,
    kind: Kind,
) -> Result<Resource> {
    let (group, domain) = group_of_others(project, full)?;
    let id = GroupVersionKind::new(group.clone(), version, kind);
    let definition = Definition::External(External::Given);
    Ok(Resource {
        domain,
        ..Resource::new(group, &id, definition)
    })
}

/// Like [`group`], for a kind that another project defines. If the domain is `None`, the group is the full group.
fn group_of_others(project: &Project, full: &Group) -> Result<(Group, Option<Domain>)> {
    let is_there = |it: &&Resource| project.full_group(it) == full.as_str() && !it.is_builtin();
    if let Some(there) = project.resources.iter().find(is_there) {
        return Ok(if there.group.is_empty() {
            (full.clone(), None)
        } else {
            let own = there.has_api().then_some(&project.domain);
            let domain = there.domain.as_ref().or(own);
            (there.group.clone(), domain.cloned())
        });
    }
    let short = full.without(&project.domain);
    let module = short.module(&project.domain);
    let mut others = project.resources.iter();
    let is_taken = others.any(|it| project.group_module(it) == module);
    let (group, domain) = if short == *full || is_taken {
        split(project, full)?
    } else {
        (short, project.domain.clone())
    };
    Ok((group, Some(domain)))
}

/// Splits `full` at a dot into a group and a domain.
fn split(project: &Project, full: &Group) -> Result<(Group, Domain)> {
    // Take the shortest group whose Rust module no other group of the project uses.
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
    Ok(splits.swap_remove(free.unwrap_or(0)))
}
