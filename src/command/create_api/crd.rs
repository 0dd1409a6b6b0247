//! `create api --crd`: a kind from its CRD.

use std::{fs, path::Path};

use anyhow::{Context as _, Result, anyhow, bail, ensure};

use super::{ApiSettings, CreateApi, story};
use crate::{
    command::{load_current, or_way_out, turn::bring_in_line_with},
    crd::{self, Crd, CrdVersion, Loss, Setting},
    hint::OrHint,
    names::{Domain, Group, GroupVersionKind, Kind, Version},
    project::{Conversion, Definition, Deprecation, Own, Project, Resource, Stage, Types},
    reconcile::Texts,
    render::render,
    report::Outcome,
    visible::visible,
    worktree::WorkTree,
};

/// More losses than this are counted, and not listed.
const LISTED: usize = 10;

/// Adds the kind of the CRD in `file`, with types made from it.
pub(super) fn run(args: &CreateApi, file: &Path, root: &Path) -> Result<Outcome> {
    let tree = WorkTree::open(root)?;
    let before = load_current(&tree)?;
    let (group, version, kind) = args.id.given();
    let crd = read(&root.join(file), &file.display().to_string())?;
    let crd = choose(&crd, &file.display().to_string(), &before, group, kind)?;
    let made = Choice::new(&crd, version, &before, args.force)?;

    let mut after = before.clone();
    let mut stored = None;
    for (version, resource) in made.resources(&args.settings, &before)? {
        or_way_out(after.add(resource.clone(), args.force))?;
        if version.storage || stored.is_none() {
            stored = Some(resource);
        }
    }
    let wanted = stored.context("the CustomResourceDefinition has no version")?;
    let (given, losses) = made.texts(&after)?;

    let id = wanted.id();
    let mut story = story(&id, &wanted, &args.settings.controller_of(&id), &after);
    story.notes.extend(made.notes(&after));
    story.notes.extend(shown(&losses, args.mode.dry_run));
    story.notes.extend(args.kubebuilder.note());
    let disk = tree.ours(given.keys().map(String::as_str))?;
    let is_other = |path: &&String| {
        path.starts_with("src/") && disk.get(*path).is_some_and(|it| *it != given[*path])
    };
    let others: Vec<_> = given
        .keys()
        .filter(is_other)
        .map(|path| format!("`{path}`"))
        .collect();
    if !others.is_empty() {
        let others = others.join(", ");
        story.notes.push(format!(
            "what the CRD gives otherwise is not taken into {others}, which has edits"
        ));
        story.unchanged = format!(
            "{}. What the CRD gives otherwise is not taken into {others}, which has edits",
            story.unchanged
        );
    }
    bring_in_line_with(given, &tree, &before, after, &args.mode, &story)
}

/// Reads the CRDs of a file.
fn read(path: &Path, shown: &str) -> Result<Vec<Crd>> {
    const MAX_BYTES: u64 = 16 << 20;
    let read = || {
        let file = fs::metadata(path)?;
        ensure!(file.is_file(), "it is not a file");
        ensure!(
            file.len() <= MAX_BYTES,
            "it has more than {} MB",
            MAX_BYTES >> 20
        );
        Ok(fs::read_to_string(path)?)
    };
    let text = read().map_err(|error| anyhow!("failed to read `{}`: {error:#}", visible(shown)))?;
    crd::parse(shown, &text)
}

/// The CRD that is meant by `group`, in short or in full, and `kind`.
fn choose(
    all: &[Crd],
    file: &str,
    project: &Project,
    group: Option<&Group>,
    kind: Option<&Kind>,
) -> Result<Crd> {
    let is_group = |crd: &Crd| {
        group.is_none_or(|group| {
            let in_domain = format!("{group}.{}", project.domain);
            let short = crd.group.split_once('.').map(|(short, _)| short);
            [group.as_str(), &in_domain].contains(&crd.group.as_str())
                || short == Some(group.as_str())
        })
    };
    let is_kind = |crd: &Crd| kind.is_none_or(|kind| crd.kind == kind.as_str());
    let list = |crds: &[&Crd]| {
        let names = crds.iter().take(20);
        let names = names.map(|it| format!("`{}` of `{}`", visible(&it.kind), visible(&it.group)));
        names.collect::<Vec<_>>().join(", ")
    };
    let matching: Vec<_> = all
        .iter()
        .filter(|it| is_group(it) && is_kind(it))
        .collect();
    match matching.as_slice() {
        [one] => Ok((*one).clone()),
        [] => bail!(
            "`{}` has no CustomResourceDefinition of this group and kind: it has {}",
            visible(file),
            list(&all.iter().collect::<Vec<_>>())
        ),
        several => Err(anyhow!(
            "`{}` has several CustomResourceDefinitions: {}",
            visible(file),
            list(several)
        ))
        .or_hint("choose one with `--kind`, and with `--group` if two have that kind"),
    }
}

/// The versions of a CRD that become versions of a kind of the project.
struct Choice<'a> {
    crd: &'a Crd,
    versions: Vec<&'a CrdVersion>,
    /// Its group without the domain, and its domain if that is not the project's.
    group: (Group, Option<Domain>),
    conversion: Conversion,
    /// Whether the schemas of what the CRD serves differ.
    differ: bool,
}

impl<'a> Choice<'a> {
    fn new(
        crd: &'a Crd,
        version: Option<&Version>,
        project: &Project,
        force: bool,
    ) -> Result<Self> {
        let name = format!("{}.{}", visible(&crd.plural), visible(&crd.group));
        let is_wanted =
            |it: &&CrdVersion| version.is_none_or(|version| it.name == version.as_str());
        let versions: Vec<_> = crd.versions.iter().filter(is_wanted).collect();
        if let (Some(version), []) = (version, versions.as_slice()) {
            let names = crd
                .versions
                .iter()
                .map(|it| format!("`{}`", visible(&it.name)));
            bail!(
                "the CustomResourceDefinition `{name}` has no version `{version}`: it has {}",
                names.collect::<Vec<_>>().join(", ")
            );
        }
        let full: Group = parse(&name, &crd.group)?;
        let group = group(project, &full)?;
        let served = versions.iter().filter(|it| it.served).count();
        let differ = served > 1 && !crd::served_alike(crd);
        let own = Self {
            crd,
            versions,
            group,
            conversion: if served > 1 && !differ && !crd.converts {
                Conversion::None
            } else {
                Conversion::Missing
            },
            differ,
        };
        for version in &own.versions {
            let there = own.resource(version, Stage::Stored)?;
            let there = project.position(&there).map(|at| &project.resources[at]);
            if let Some(there) = there.filter(|it| it.has_api() && !it.has_given_types() && !force)
            {
                return Err(anyhow!(
                    "{there} exists with types that do not come from a CRD"
                ))
                .or_hint("`--force` takes the types of the CRD if you have not edited those");
            }
        }
        Ok(own)
    }

    /// The resource of `version`.
    fn resource(&self, version: &CrdVersion, stage: Stage) -> Result<Resource> {
        let crd = self.crd;
        let name = format!("{}.{}", visible(&crd.plural), visible(&crd.group));
        let kind: Kind = parse(&name, &crd.kind)?;
        let (group, domain) = self.group.clone();
        let id = GroupVersionKind::new(group.clone(), parse(&name, &version.name)?, kind);
        let short_names = crd.short_names.iter().map(|it| parse(&name, it));
        let deprecation = match (version.deprecated, &version.warning) {
            (true, Some(warning)) => Deprecation::Warning(parse(&name, warning)?),
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
            plural: parse(&name, &crd.plural)?,
            short_names: short_names.collect::<Result<_>>()?,
            ..Resource::new(group, &id, definition)
        })
    }

    /// The versions with their resources, the stored one first.
    fn resources(
        &self,
        settings: &ApiSettings,
        project: &Project,
    ) -> Result<Vec<(&'a CrdVersion, Resource)>> {
        let mut versions = self.versions.clone();
        versions.sort_by_key(|it| (!it.storage, !it.served));
        let mut resources = Vec::new();
        for (at, version) in versions.into_iter().enumerate() {
            let mut resource = self.resource(version, Stage::Unserved)?;
            let others = project
                .versions(&resource)
                .filter(|it| it.version != resource.version);
            let others: Vec<_> = others.collect();
            let stored = others.iter().copied().find(|it| it.is_stored());
            let is_stored = version.storage || at == 0 && stored.is_none();
            let stage = match self.conversion {
                _ if is_stored => Stage::Stored,
                Conversion::None if version.served => Stage::Served,
                _ => Stage::Unserved,
            };
            resource = self.resource(version, stage)?;
            let there = project.position(&resource).map(|at| &project.resources[at]);
            let is_new = there.is_none() && others.is_empty();
            if let Some(before) = there.or(stored.filter(|_| is_stored)) {
                resource.controllers.clone_from(&before.controllers);
                resource.webhooks.clone_from(&before.webhooks);
            }
            if is_stored {
                let id = resource.id();
                let name = settings.controller_of(&id);
                let usual = is_new
                    || settings.controller_name.is_some()
                    || resource.controller(&name).is_some();
                settings.control(&id, &mut resource, usual)?;
            }
            resources.push((version, resource));
        }
        Ok(resources)
    }

    /// The texts of the files that the CRD gives in `project`, and what they lack of it.
    fn texts(&self, project: &Project) -> Result<(Texts, Vec<Loss>)> {
        let mut texts = Texts::new();
        let mut losses = Vec::new();
        let rendered = render(project)?.texts;
        let mut written = Vec::new();
        let mut unapproved = false;
        for version in &self.versions {
            let resource = self.resource(version, Stage::Unserved)?;
            let Some(at) = project.position(&resource) else {
                continue;
            };
            let resource = &project.resources[at];
            let (group, kind) = (project.group_module(resource), resource.kind.module());
            let types = format!("src/api/{group}/{}/{kind}.rs", resource.version);
            let sample = format!("{}_{}.yaml", resource.version, resource.kind.lower());
            let sample = match resource.group.as_str() {
                "" => sample,
                group => format!("{group}_{sample}"),
            };
            unapproved = project.is_protected(resource);
            let made = crd::make(
                self.crd,
                version,
                &Setting {
                    sample: Some(&format!("../../../../config/samples/{sample}")),
                    project: project.project_name.as_str(),
                    served: resource.is_served(),
                    unapproved,
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
            let manifest = crd::manifest(self.crd, &versions, unapproved)?;
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
    fn notes(&self, project: &Project) -> Vec<String> {
        let unserved = self.versions.iter().filter(|version| {
            let resource = self.resource(version, Stage::Unserved).ok();
            let at = resource.and_then(|it| project.position(&it));
            version.served && at.is_some_and(|at| !project.resources[at].is_served())
        });
        let names: Vec<_> = unserved.map(|it| format!("`{}`", it.name)).collect();
        if names.is_empty() {
            return Vec::new();
        }
        let reason = match (self.crd.converts, self.differ) {
            (true, _) => {
                "the CRD has a webhook that converts between the versions, and this project has none"
            }
            (false, true) => {
                "its schema differs from that of the stored version, and nothing converts between them"
            }
            (false, false) => "another version is stored, and nothing converts between them",
        };
        vec![format!(
            "{} is not served, unlike in the CRD: {reason}",
            names.join(", ")
        )]
    }
}

/// A name of the CRD `crd`.
fn parse<T: std::str::FromStr<Err = anyhow::Error>>(crd: &str, text: &str) -> Result<T> {
    let parsed = text.parse();
    parsed.map_err(|error| anyhow!("the CustomResourceDefinition `{crd}` cannot be taken: {error}"))
}

/// The group `full` as `PROJECT` has it, and its domain if that is not the project's.
fn group(project: &Project, full: &Group) -> Result<(Group, Option<Domain>)> {
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

/// The losses as the user gets to read them.
fn shown(losses: &[Loss], all: bool) -> Vec<String> {
    if losses.is_empty() {
        return Vec::new();
    }
    let listed = if all || losses.len() <= LISTED {
        losses.len()
    } else {
        LISTED - 2
    };
    let mut lines: Vec<_> = losses[..listed]
        .iter()
        .map(|loss| format!("\n  {loss}"))
        .collect();
    if listed < losses.len() {
        let more = losses.len() - listed;
        lines.push(format!("\n  and {more} more: `--dry-run` lists all"));
    }
    vec![format!("not as in the CRD:{}", lines.concat())]
}
