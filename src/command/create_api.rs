//! `rscaffold create api`

use std::{collections::BTreeMap, fmt, process::ExitCode};

use anyhow::{Result, anyhow, ensure};

use super::{Mode, ask, bring_in_line, load, root};
use crate::{
    builtin,
    names::{Group, Kind, Plural, ShortName, Version},
    project::{Api, Project, Resource},
    report::{OrHint, Step, Story},
    worktree::WorkTree,
};

/// The arguments of `create api`.
#[derive(Debug)]
pub struct Options {
    /// Asked for if missing.
    pub group: Option<Group>,
    /// Asked for if missing.
    pub version: Option<Version>,
    /// Asked for if missing.
    pub kind: Option<Kind>,
    /// What the API shall be.
    pub settings: Settings,
    /// Whether the settings of an API that is there already may change.
    pub force: bool,
}

/// What an API shall be. What is `None` stays as it is, comes from another version of the kind, or has its default.
#[derive(Debug, Default)]
pub struct Settings {
    /// Default: the English plural.
    pub plural: Option<Plural>,
    /// Default: none.
    pub short_names: Option<Vec<ShortName>>,
    /// Whether the kind is created (the default) or there already.
    pub resource: Option<bool>,
    /// Default: whether no other version of the kind has one.
    pub controller: Option<bool>,
    /// Default: true.
    pub namespaced: Option<bool>,
    /// Default: false.
    pub finalizer: Option<bool>,
}

/// Adds an API, its controller, or both to the project.
pub fn run(options: Options, mode: Mode) -> Result<ExitCode> {
    let tree = WorkTree::open(root()?)?;
    let before = load(&tree)?;
    let force = options.force;
    let (id, settings) = options.complete(&before)?;

    let wanted = settings.resource(&id, &before)?;
    // A controller for a kind that has none takes nothing away: it needs no --force.
    let adopted =
        settings.resource == Some(false) && id.find(&before).is_some_and(|there| !there.controller);
    let mut after = before.clone();
    after.add(wanted.clone(), force || adopted)?;

    let story = story(&id, &wanted, &after);
    bring_in_line(&tree, Some(&before), after, mode, &story)
}

/// Which API.
#[derive(Debug)]
struct Id {
    group: Group,
    version: Version,
    kind: Kind,
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} {}", self.group, self.version, self.kind)
    }
}

impl Id {
    /// The same API in `project`.
    fn find<'a>(&self, project: &'a Project) -> Option<&'a Resource> {
        self.versions(project)
            .find(|there| there.version == self.version)
    }

    /// All versions of the kind in `project`.
    fn versions<'a>(&self, project: &'a Project) -> impl Iterator<Item = &'a Resource> {
        let same = |there: &&Resource| there.group == self.group && there.kind == self.kind;
        project.resources.iter().filter(same)
    }
}

impl Options {
    /// Asks for what is missing of the API's identity.
    fn complete(self, project: &Project) -> Result<(Id, Settings)> {
        ask::possible(&[
            ("--group", self.group.is_some()),
            ("--version", self.version.is_some()),
            ("--kind", self.kind.is_some()),
        ])?;
        let id = Id {
            group: match self.group {
                Some(group) => group,
                None => ask::ask("Group", project.resources.last().map(|last| &last.group))?,
            },
            version: match self.version {
                Some(version) => version,
                None => ask::ask("Version", Some(&"v1".parse()?))?,
            },
            kind: match self.kind {
                Some(kind) => kind,
                None => ask::ask("Kind", None)?,
            },
        };
        Ok((id, self.settings))
    }
}

impl Settings {
    /// The entry in `PROJECT` that they describe.
    fn resource(&self, id: &Id, project: &Project) -> Result<Resource> {
        let mut resource = match (id.find(project), self.resource) {
            (Some(there), _) => there.clone(),
            (None, Some(false)) => builtin(id)?,
            (None, _) => new(id, project),
        };
        if self.resource == Some(false) {
            self.only_a_controller()?;
            resource.controller = true;
        }
        if let Some(controller) = self.controller {
            resource.controller = controller;
        }
        if let Some(finalizer) = self.finalizer {
            resource.finalizer = finalizer;
        }
        if let Some(plural) = &self.plural {
            resource.plural = plural.clone();
        }
        if let Some(short_names) = &self.short_names {
            resource.short_names.clone_from(short_names);
        }
        if let (Some(api), Some(namespaced)) = (&mut resource.api, self.namespaced) {
            api.namespaced = namespaced;
        }
        Ok(resource)
    }

    /// `--resource=false` leaves nothing to say about the kind itself.
    fn only_a_controller(&self) -> Result<()> {
        let about_the_kind = [
            ("--plural", self.plural.is_some()),
            ("--short-name", self.short_names.is_some()),
            ("--namespaced", self.namespaced.is_some()),
        ];
        for (flag, given) in about_the_kind {
            ensure!(
                !given,
                "`{flag}` is about a new kind, but `--resource=false` creates none"
            );
        }
        Ok(())
    }
}

/// A kind that Kubernetes itself has.
fn builtin(id: &Id) -> Result<Resource> {
    let kind = builtin::find(id.group.as_str(), id.version.as_str(), id.kind.as_str())
        .ok_or_else(|| anyhow!("`{id}` is a kind of neither this project nor Kubernetes"))
        .or_hint("without `--resource=false` the kind itself is created too")?;
    Ok(Resource {
        api: None,
        controller: true,
        core: true,
        domain: None,
        finalizer: false,
        group: id.group.clone(),
        kind: id.kind.clone(),
        plural: kind.plural.parse()?,
        short_names: Vec::new(),
        version: id.version.clone(),
    })
}

/// A kind of the project's own; another version of it gives the defaults.
fn new(id: &Id, project: &Project) -> Resource {
    let sibling = id.versions(project).find(|other| other.api.is_some());
    Resource {
        api: Some(sibling.and_then(|other| other.api.clone()).unwrap_or(Api {
            crd_version: "v1".to_owned(),
            namespaced: true,
        })),
        controller: sibling.is_none(),
        core: false,
        domain: Some(project.domain.clone()),
        finalizer: false,
        group: id.group.clone(),
        kind: id.kind.clone(),
        plural: sibling.map_or_else(|| id.kind.plural(), |other| other.plural.clone()),
        short_names: sibling
            .map(|other| other.short_names.clone())
            .unwrap_or_default(),
        version: id.version.clone(),
    }
}

/// What the user gets to read.
fn story(id: &Id, resource: &Resource, project: &Project) -> Story {
    let (group, kind) = (id.group.module(), id.kind.module());
    let types = format!("src/api/{group}/{}/{kind}.rs", id.version.module());
    let reconciler = format!("src/controller/{group}/{kind}.rs");
    let full_group = project.full_group(resource);

    let mut notes = Vec::new();
    if resource.api.is_some() && is_protected(&full_group) {
        notes.push(format!(
            "`{full_group}` is a group of the Kubernetes community: its CRD is marked \
             `api-approved.kubernetes.io: unapproved, experimental-only`"
        ));
    }
    if resource.api.is_some()
        && builtin::find(id.group.as_str(), id.version.as_str(), id.kind.as_str()).is_some()
    {
        notes.push(format!(
            "this is the new kind `{full_group}/{} {}`; for a controller of Kubernetes' own `{id}` \
             give `--resource=false`",
            id.version, id.kind
        ));
    }

    let mut next = Vec::new();
    if resource.api.is_some() {
        next.push(Step::new(
            "make manifests",
            &format!("after each edit of {types}"),
        ));
    }
    next.push(match (resource.api.is_some(), resource.controller) {
        (true, true) => Step::new(
            "make install run",
            "CRDs and operator, on your current cluster",
        ),
        (true, false) => Step::new("make install", "CRDs, on your current cluster"),
        (false, _) => Step::new("make run", "operator, on your current cluster"),
    });
    if resource.api.is_some() {
        next.push(Step::new(
            "kubectl apply -k config/samples",
            "something to reconcile",
        ));
    }

    Story {
        done: None,
        unchanged: format!("{id} is there and up to date"),
        folded: false,
        remarks: BTreeMap::from([
            (types, "the types: edit these"),
            (reconciler, "the reconciler: and this"),
        ]),
        notes,
        next,
    }
}

/// Whether the API server takes CRDs of the group only with an `api-approved.kubernetes.io` annotation.
fn is_protected(full_group: &str) -> bool {
    [".k8s.io", ".kubernetes.io"]
        .iter()
        .any(|suffix| full_group.ends_with(suffix))
}
