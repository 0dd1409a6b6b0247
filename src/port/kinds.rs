//! The kinds of the Go project with their versions, controllers and webhooks.

use std::collections::BTreeSet;

use anyhow::{Context as _, Error, Result, ensure};

use super::{
    code::Mentions,
    controllers,
    crds::Crds,
    deployed::Deployed,
    file::{GoProject, GoResource},
    finalized::Finalized,
    go::GoValue,
    go_files::GoFiles,
    group_kind::GroupKind,
    lost::Lost,
    operator::{ControllerFacts, GoKind, shown},
    related,
    setups::Setups,
    source::Source,
    webhooks::{GoWebhook, plural_of, webhooks},
};
use crate::{
    crd::Crd,
    from_crd::{
        KindFromCrd,
        groups::{group, resource_of_others},
    },
    names::{ControllerName, GroupVersionKind, Kind, Version},
    project::builtin,
    project::{Admission, Controller, Definition, Own, Project, Resource, Stage, Webhook},
    visible::visible,
};

/// When the project is validated while kinds are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Check {
    /// Not at all: the caller validates the project once, which is enough if the kinds fit together.
    None,
    /// After each kind: a kind that contradicts earlier kinds is left out. The time is quadratic in the number of
    /// kinds.
    Each,
}

/// What the Go project says about its kinds.
pub(super) struct KindFacts<'a> {
    source: &'a Source,
    go: &'a GoProject,
    pub crds: Crds,
    setups: Setups<'a>,
    mentions: Mentions,
    finalized: Finalized,
    webhooks: Vec<GoWebhook>,
}

impl<'a> KindFacts<'a> {
    pub fn new(
        source: &'a Source,
        go: &'a GoProject,
        deployed: &Deployed,
        lost: &mut Lost,
    ) -> Self {
        let crds = Crds::new(source, go, deployed, lost);
        let setups = Setups::new(&source.go, GoFiles::new(source, go, &crds));
        Self {
            source,
            go,
            mentions: Mentions::new(&source.go, &setups),
            finalized: Finalized::new(&source.go, &setups),
            crds,
            setups,
            webhooks: webhooks(source, deployed),
        }
    }

    /// The entries of PROJECT, each with its kind.
    fn entries(&self) -> impl Iterator<Item = (&'a GoResource, &GroupKind)> {
        self.go.resources.iter().zip(&self.crds.entries)
    }

    /// Adds the kinds to `project`. If the result is not valid, tries again with less.
    pub fn take_over(&self, mut project: Project, lost: Lost) -> Takeover<'_> {
        let mut takeover = self.add_to(project.clone(), Check::None, lost.clone());
        if takeover.project.validate().is_err() && project.namespaced {
            // A controller of a cluster-scoped kind is not for one namespace.
            project.namespaced = self.go.namespaced;
            takeover = self.add_to(project.clone(), Check::None, lost.clone());
        }
        if takeover.project.validate().is_err() {
            // The kinds do not fit together.
            takeover = self.add_to(project, Check::Each, lost);
        }
        takeover
    }

    /// Adds the kinds to `project`.
    fn add_to(&self, project: Project, check: Check, lost: Lost) -> Takeover<'_> {
        let mut takeover = Takeover {
            facts: self,
            check,
            project,
            kinds: Vec::new(),
            lost,
        };
        for (file, crd) in &self.crds.own {
            if let Err(error) = takeover.with_crd(crd) {
                let (kind, group) = (visible(&crd.kind), visible(&crd.group));
                takeover
                    .lost
                    .add(format!("`{kind}` of `{group}`, in `{file}`: {error:#}"));
            }
        }
        for (entry, name) in self.entries() {
            if let Err(error) = takeover.without_crd(entry, name) {
                let kind = visible(&entry.kind);
                takeover.lost.add(format!("`{kind}` in PROJECT: {error:#}"));
            }
        }
        related::take(
            &mut takeover.project,
            self.source,
            &mut takeover.kinds,
            &mut takeover.lost,
        );
        takeover.project.sort();
        self.mentions.report(&mut takeover.lost);
        self.finalized
            .report(&takeover.kinds, &takeover.project, &mut takeover.lost);
        controllers::report(&self.source.go, &self.setups.files, &mut takeover.lost);
        takeover.report_webhooks();
        takeover
    }
}

/// A project to which the kinds are added, one by one.
pub(super) struct Takeover<'a> {
    facts: &'a KindFacts<'a>,
    check: Check,
    pub project: Project,
    pub kinds: Vec<GoKind>,
    pub lost: Lost,
}

impl<'a> Takeover<'a> {
    /// Adds a kind that has a CRD.
    fn with_crd(&mut self, crd: &Crd) -> Result<()> {
        let from_crd = KindFromCrd::of_project(crd, None, &self.project)?;
        let versions = from_crd.resources(&self.project)?.into_iter();
        let resources = versions.map(|(_version, resource)| resource).collect();
        let kind = visible(&crd.kind);
        let name = GroupKind::of(crd);
        let of_kind = self.facts.entries().filter(|(_, kind)| **kind == name);
        let entries: Vec<_> = of_kind.map(|(entry, _)| entry).collect();
        let id = self.add(name, resources, &entries, Some(crd.clone()))?;
        self.convert(crd, &id, &entries);
        if let Some(note) = from_crd.unserved(&self.project) {
            self.lost.add(format!("`{kind}`: {note}"));
        }
        if let Some(note) = from_crd.lossy(&self.project) {
            self.lost.warn(format!("`{kind}`: {note}"));
        }
        Ok(())
    }

    /// Adds a kind of `PROJECT` that has no CRD in the Go project, unless the kind was added before.
    fn without_crd(&mut self, entry: &GoResource, name: &GroupKind) -> Result<()> {
        let mut with_crds = self.kinds.iter().filter(|kind| kind.crd.is_some());
        if !entry.external && with_crds.any(|kind| kind.name == *name) {
            return Ok(());
        }
        let mut resource = self.resource(entry, name)?;
        if let Some(plural) = entry.plural.as_deref()
            && !resource.is_builtin()
        {
            resource.plural = plural.parse()?;
        }
        ensure!(
            self.project.versions(&resource).next().is_none(),
            "without a CRD, only the first version is taken over"
        );
        let crd = self.facts.crds.others.get(name).cloned();
        self.add(name.clone(), vec![resource], &[entry], crd)?;
        Ok(())
    }

    /// Adds the versions of a kind. The first one gets the controllers and webhooks.
    fn add(
        &mut self,
        name: GroupKind,
        mut resources: Vec<Resource>,
        entries: &[&GoResource],
        crd: Option<Crd>,
    ) -> Result<GroupVersionKind> {
        let first = resources.first_mut().context("it has no version")?;
        let id = first.id();
        let controllers = self.control(first, &name, entries);
        let webhooks = self.give_webhooks(first, entries);
        let unnamed: Vec<_> = controllers
            .iter()
            .flat_map(|code| unnamed(first, code))
            .collect();
        let mut after = self.project.clone();
        after.resources.extend(resources);
        let left = match self.check {
            Check::None => Vec::new(),
            Check::Each => without_clashes(&mut after, &id)?,
        };
        self.project = after;
        self.lost.add_all(unnamed);
        self.kinds.push(GoKind {
            id: id.clone(),
            name,
            crd,
            controllers,
            webhooks,
        });
        for clash in left {
            self.leave_out(&clash);
        }
        Ok(id)
    }

    /// Reports a controller that was taken out of the project, with its finalizers.
    fn leave_out(&mut self, clash: &Clash) {
        let kind = clash.id.kind();
        let error = &clash.error;
        self.lost
            .add(format!("a controller of `{kind}`: {error:#}"));
        let mut kinds = self.kinds.iter_mut();
        let of_kind = kinds.find(|kind| kind.id == clash.id);
        if let Some(of_kind) = of_kind {
            of_kind.controllers.retain(|code| {
                let stays = code.name != clash.name;
                for (value, place) in code.finalizers.iter().filter(|_| !stays) {
                    self.lost.add(format!(
                        "the finalizer `{}` of {kind} ({place}): the controller that adds it is left out; set \
                         `FINALIZER_NAME` in the controller that you add instead; until then, objects with this finalizer \
                         cannot be deleted",
                        value.text(),
                    ));
                }
                stays
            });
        }
    }

    /// The resource of a kind that has no CRD in the Go project.
    fn resource(&mut self, entry: &GoResource, name: &GroupKind) -> Result<Resource> {
        let kind: Kind = entry.kind.parse()?;
        let version: Version = entry.version.parse()?;
        let short = entry.group.as_str();
        if !entry.has_api() {
            let name_of_group = if short.is_empty() { "core" } else { short };
            let builtin = builtin::find(name_of_group, entry.version.as_str(), kind.as_str());
            return match builtin.and_then(Resource::builtin) {
                Some(resource) if !entry.external => Ok(resource),
                _ => self.of_others(entry, name, kind, version),
            };
        }
        let (group, domain) = group(&self.project, &name.group.parse()?)?;
        self.lost.add(format!(
            "the fields of `{kind}`: neither `config` nor a folder `crds` of the Go project has a CRD of this kind; write \
             the CRD with controller-gen (`make manifests`), then run `rscaffold create api --crd <FILE> --force` here"
        ));
        let id = GroupVersionKind::new(group.clone(), version, kind);
        Ok(Resource {
            domain,
            namespaced: entry.is_namespaced(),
            ..Resource::new(group, &id, Definition::Own(Own::first()))
        })
    }

    /// The resource of a kind that another project defines.
    fn of_others(
        &mut self,
        entry: &GoResource,
        name: &GroupKind,
        kind: Kind,
        version: Version,
    ) -> Result<Resource> {
        if let Some(crd) = self.facts.crds.others.get(name) {
            let from_crd = KindFromCrd::of_others(crd, Some(&version), &self.project)?;
            let taken = from_crd.versions.first().context("it has no version")?;
            return from_crd.resource(taken, Stage::Stored);
        }
        let group = entry.group_of_others();
        let resource = resource_of_others(&self.project, &group.parse()?, version, kind)?;
        let plural = entry.plural.as_deref().unwrap_or(resource.plural.as_str());
        self.lost.add(format!(
            "the fields and the scope of `{}`, which another project defines: get its CRD by `kubectl get crd \
             {plural}.{group} -o yaml > crd.yaml`, and run `rscaffold create api --crd crd.yaml --version {} \
             --resource=false`",
            resource.kind, resource.version,
        ));
        Ok(resource)
    }

    /// Adds the controllers of the kind to `resource`. Returns what the code says about each.
    fn control(
        &mut self,
        resource: &mut Resource,
        kind: &GroupKind,
        entries: &[&GoResource],
    ) -> Vec<ControllerFacts> {
        let KindFacts {
            setups,
            mentions,
            finalized,
            go,
            ..
        } = self.facts;
        let mut names = BTreeSet::new();
        let what = format!("a controller of `{}`", resource.kind);
        let own = resource.kind.controller();
        for controller in entries.iter().flat_map(|entry| &entry.controllers) {
            let name = self.lost.name::<ControllerName>(&what, &controller.name);
            // The own controller of a kind may have another form of the kind's name.
            names.extend(name.map(|name| {
                if resource.kind.is_of_controller(&name) {
                    own.clone()
                } else {
                    name
                }
            }));
        }
        // If PROJECT does not say so, the code does. Without code, a PROJECT of version 2 implies a controller.
        let built: Vec<_> = setups.of_kind(kind).collect();
        let is_implied = go.implies_controllers() && setups.all.is_empty() && !entries.is_empty();
        let has_controller =
            is_implied || !built.is_empty() || entries.iter().any(|entry| entry.has_controller());
        if built.is_empty() && has_controller && !setups.all.is_empty() {
            let (kind, flags) = (&resource.kind, resource.id().as_flags());
            self.lost.add(format!(
                "the controller of `{kind}`: PROJECT has it, but in no Go code was `NewControllerManagedBy(mgr).For(..)` \
                 found for it; here, it watches this kind: if the Go operator does not, run `rscaffold delete controller {flags}`"
            ));
        }
        let called: BTreeSet<_> = built.iter().map(|(_, setup)| &setup.names[0]).collect();
        if names.is_empty() && called.len() > 1 {
            for name in called {
                names.extend(self.lost.name::<ControllerName>(&what, name));
            }
        }
        if names.is_empty() && has_controller {
            names.insert(own);
        }
        let names: Vec<_> = names.into_iter().collect();
        let taken = mentions.of_kind(kind, &names, setups, finalized, &mut self.lost);
        for code in &taken {
            resource.set_controller(Controller {
                finalizer: !code.finalizers.is_empty(),
                finalizer_name: only(code.finalizers.keys()).and_then(|name| name.parse().ok()),
                field_manager: only(&code.field_managers).and_then(|name| name.parse().ok()),
                ..Controller::new(code.name.clone())
            });
        }
        taken
    }

    /// Adds the webhooks of the Go project for the kind to `resource`. Returns those in its manifests.
    fn give_webhooks(
        &mut self,
        resource: &mut Resource,
        entries: &[&GoResource],
    ) -> Vec<GoWebhook> {
        let mut taken = Vec::new();
        for admission in [Admission::Defaulting, Admission::Validation] {
            let (in_manifest, has_others) = self.in_manifests(resource, admission);
            let mut in_entries = entries.iter().filter_map(|entry| entry.webhooks.as_ref());
            let in_project = in_entries.find_map(|webhooks| webhooks.path(admission));
            if in_manifest.is_none() {
                // An entry of PROJECT does not say that its webhook is only for subresources or for other versions.
                if in_project.is_none() || has_others {
                    continue;
                }
                let file = self.project.webhook_file(resource);
                self.lost.add(format!(
                    "the settings of a webhook of `{}`, which is in no manifest of the Go project: compare `HOOK` in \
                     `{file}` with the marker `+kubebuilder:webhook`",
                    resource.kind,
                ));
            }
            taken.extend(in_manifest.cloned());
            let mut webhook = Webhook::default();
            let usual = self.project.webhook_names(resource, admission);
            let path = in_manifest.and_then(GoWebhook::path).or(in_project);
            if let Some(path) = path.filter(|path| !path.is_empty() && *path != usual.path) {
                let what = format!("the path of a webhook of `{}`", resource.kind);
                let of_kind = resource.webhooks.path(Admission::Defaulting);
                // A Go operator may serve several kinds at one path.
                if self.project.has_webhook_path(path)
                    || of_kind.is_some_and(|taken| taken.as_str() == path)
                {
                    self.lost.add(format!(
                        "{what}, which is `{path}` in Go: another webhook has this path, so here it is `{}`",
                        usual.path
                    ));
                } else {
                    webhook.path = self.lost.name(&what, path);
                }
            }
            match admission {
                Admission::Defaulting => resource.webhooks.defaulting = Some(webhook),
                Admission::Validation => resource.webhooks.validation = Some(webhook),
            }
        }
        taken
    }

    /// The webhook in the manifests of the Go project for the objects of a version, and whether there are others for its
    /// subresources or for other versions of the kind.
    fn in_manifests(
        &mut self,
        resource: &Resource,
        admission: Admission,
    ) -> (Option<&'a GoWebhook>, bool) {
        let source = self.facts.source;
        let (group, plural) = (self.project.full_group(resource), resource.plural.as_str());
        let (kind, version) = (&resource.kind, resource.version.as_str());
        let of_kind = (self.facts.webhooks.iter())
            .filter(|webhook| webhook.admission() == admission && webhook.is_of(&group, plural));
        let (of_objects, of_subresources): (Vec<_>, Vec<_>) =
            of_kind.partition(|webhook| webhook.is_of_objects(plural));
        for webhook in &of_subresources {
            let subresources = webhook.subresources(plural);
            (self.lost).add(webhook.about_subresources(source, kind, &subresources));
        }
        let (mut of_version, of_others): (Vec<_>, Vec<_>) = (of_objects.into_iter())
            .partition(|webhook| webhook.has_version(version) || !webhook.is_exact());
        of_version.sort_by_key(|webhook| !webhook.has_version(version));
        for webhook in &of_others {
            self.lost.add(format!(
                "{}: the webhook of `{kind}` with `matchPolicy: Exact` for {}: here, the webhooks of a kind are for the \
                 stored version `{version}`; write the webhook for other versions by hand",
                webhook.place(source),
                webhook.other_versions(version),
            ));
        }
        let mut in_manifests = of_version.into_iter();
        let first = in_manifests.next();
        if let Some(webhook) = first
            && let others = webhook.other_versions(version)
            && !others.is_empty()
            && (webhook.is_exact() || !webhook.has_version(version))
        {
            let what = if webhook.is_exact() {
                "`matchPolicy: Exact` leaves these versions out; `Equivalent` in `HOOK` adds them"
            } else {
                "the API server converts objects of all versions to it"
            };
            self.lost.add(format!(
                "{}: the webhook of `{kind}` for {others}: here, it gets objects of the version `{version}`, and {what}",
                webhook.place(source),
            ));
        }
        for further in in_manifests {
            self.lost.add(format!(
                "{}: a further rule for `{plural}` of `{group}` in a {}: here, only the first one counts",
                further.place(source),
                further.configuration.kind(),
            ));
        }
        (first, !of_subresources.is_empty() || !of_others.is_empty())
    }

    /// Reports the webhooks of kinds that are not in the project.
    fn report_webhooks(&mut self) {
        let mut known = BTreeSet::new();
        for resource in self.project.resources.iter() {
            let group = self.project.full_group(resource);
            known.insert((group, resource.plural.to_string()));
        }
        for webhook in &self.facts.webhooks {
            // A rule has the product of its groups and resources, and most of these pairs do not exist.
            let [groups, mut resources] = webhook.targets();
            resources.retain(|resource| {
                let plural = plural_of(resource);
                let mut of_groups = groups.iter();
                !of_groups.any(|group| known.contains(&((*group).to_owned(), plural.to_owned())))
            });
            if groups.is_empty() || resources.is_empty() {
                continue;
            }
            let (resources, is_one) = (backticked(&resources), resources.len() == 1);
            let groups = match groups.as_slice() {
                [""] => "the core group".to_owned(),
                [group] => backticked(&[*group]),
                groups => format!("the groups {}", backticked(groups)),
            };
            let are = if is_one {
                "is not a kind"
            } else {
                "are no kinds"
            };
            self.lost.add(format!(
                "{}: the webhook for {resources} of {groups}, which {are} of the project: for a kind of Kubernetes, add the \
                 webhook with `rscaffold create webhook`",
                webhook.place(self.facts.source),
            ));
        }
    }

    /// Adds a conversion between the versions of the kind `id`, if the Go project has a conversion webhook for the kind.
    fn convert(&mut self, crd: &Crd, id: &GroupVersionKind, entries: &[&GoResource]) {
        let mut has_webhook = crd.converts;
        // The hub is the version that lists spokes. An older PROJECT has no such list, so take the stored version.
        let mut version_of_hub = id.version().as_str();
        for entry in entries.iter().rev() {
            if let Some(webhooks) = &entry.webhooks
                && webhooks.conversion
            {
                has_webhook = true;
                if !webhooks.spoke.is_empty() {
                    version_of_hub = &entry.version;
                }
            }
        }
        let mut resources = self.project.resources.iter();
        let hub = resources.find(|resource| {
            resource.kind == *id.kind()
                && resource.group == *id.group()
                && resource.version.as_str() == version_of_hub
        });
        let Some(hub) = hub.filter(|_| has_webhook).cloned() else {
            return;
        };
        let mut spokes = BTreeSet::new();
        for version in &crd.versions {
            if let Ok(name) = version.name.parse::<Version>()
                && version.served
                && name != hub.version
            {
                spokes.insert(name);
            }
        }
        if !spokes.is_empty()
            && let Err(error) = self.project.convert(&hub, &spokes)
        {
            let kind = &hub.kind;
            (self.lost).add(format!("the conversion webhook of `{kind}`: {error:#}"));
        }
    }
}

/// A controller that is not in the project, because it contradicts other kinds or controllers.
struct Clash {
    id: GroupVersionKind,
    name: ControllerName,
    error: Error,
}

/// Checks a project to which the kind `id` was added. If the names of controllers contradict each other, takes out as few
/// as possible, but never the own controller of a kind.
fn without_clashes(project: &mut Project, id: &GroupVersionKind) -> Result<Vec<Clash>> {
    if project.validate().is_ok() {
        return Ok(Vec::new());
    }
    let mut taken_out = Vec::new();
    for resource in project.resources.iter_mut() {
        let (of, own) = (resource.id(), resource.kind.controller());
        resource.controllers.retain(|controller| {
            let name = &controller.name;
            let may_clash =
                of == *id || of.group() == id.group() && id.kind().is_of_controller(name);
            let stays = *name == own || !may_clash;
            if !stays {
                taken_out.push((of.clone(), controller.clone()));
            }
            stays
        });
    }
    project.validate()?;
    let mut clashes = Vec::new();
    for (id, controller) in taken_out {
        let mut after = project.clone();
        let name = controller.name.clone();
        let mut resources = after.resources.iter_mut();
        if let Some(resource) = resources.find(|resource| resource.id() == id) {
            resource.set_controller(controller);
        }
        match after.validate() {
            Ok(()) => *project = after,
            Err(error) => clashes.push(Clash { id, name, error }),
        }
    }
    Ok(clashes)
}

/// The finalizers and field managers that a controller does not get, because they are not one constant
/// in the Go code.
fn unnamed(resource: &Resource, code: &ControllerFacts) -> Vec<String> {
    let mut lines = Vec::new();
    let mut controllers = resource.controllers.iter();
    let Some(controller) = controllers.find(|controller| controller.name == code.name) else {
        return lines;
    };
    let kind = shown(resource, controller);
    if !code.finalizers.is_empty() && controller.finalizer_name.is_none() {
        let mut names = Vec::new();
        for (value, place) in &code.finalizers {
            names.push(format!("`{}` ({place})", value.text()));
        }
        lines.push(format!(
            "the finalizer of {kind}, which is {} in Go: set `FINALIZER_NAME` in its controller; until then, objects \
             with the finalizer of the Go operator cannot be deleted",
            names.join(" and ")
        ));
    }
    if !code.field_managers.is_empty() && controller.field_manager.is_none() {
        let names: Vec<_> = code.field_managers.iter().map(GoValue::text).collect();
        lines.push(format!(
            "the field manager of {kind}, which is `{}` in Go: set `FIELD_MANAGER` in its controller",
            names.join("` and `")
        ));
    }
    lines
}

/// Names in backticks. The core group is `""`.
fn backticked(names: &[&str]) -> String {
    let names = names.iter().map(|name| match *name {
        "" => "`\"\"`".to_owned(),
        name => format!("`{}`", visible(name)),
    });
    names.collect::<Vec<_>>().join(", ")
}

/// The text of the only value, if it is known.
fn only<'a>(values: impl IntoIterator<Item = &'a GoValue>) -> Option<&'a str> {
    let mut all = values.into_iter();
    match (all.next(), all.next()) {
        (Some(GoValue::Known(text)), None) => Some(text),
        _ => None,
    }
}
