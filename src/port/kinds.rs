//! The kinds of the Go project with their versions, controllers and webhooks.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, bail};

use super::{
    config::{Deployed, GoWebhook, webhooks},
    file::{GoProject, GoResource},
    finalizers::{Action, Finalizers, Object, Setting, without_kind},
    go::Value,
    go_file::{File, Place},
    kind::{Code, GoKind},
    lost::Lost,
    path::{file_name, folder},
    related,
    source::Source,
};
use crate::{
    crd::{self, Crd},
    from_crd::{KindFromCrd, group, resource_of_others},
    names::{GroupVersionKind, Kind, Version},
    project::builtin,
    project::{Controller, Definition, Own, Project, Resource, Stage, Webhook},
    visible::visible,
};

/// The CRDs of the Go project, each with the path of its file: as they are deployed, if they are deployed.
pub(super) fn crds(source: &Source, deployed: &Deployed, lost: &mut Lost) -> Vec<(String, Crd)> {
    let mut found: Vec<(String, Crd)> = Vec::new();
    for folder in ["config/crd/bases/", "config/crd/", "config/"] {
        for (file, text) in source.manifests(folder) {
            // A patch is not a complete CRD.
            let is_patch = file.contains("/patches/") || file.contains("kustomiz");
            if is_patch || !has_crd(text) || !text.contains("versions:") {
                continue;
            }
            match crd::parse(file, text) {
                Ok(crds) => found.extend(crds.into_iter().map(|crd| (file.to_owned(), crd))),
                Err(error) => lost.add(format!("{error:#}")),
            }
        }
        if !found.is_empty() {
            break;
        }
    }
    let mut seen = BTreeSet::new();
    found.retain(|(_, crd)| seen.insert(name_in_cluster(crd)));
    for object in deployed.crds() {
        let file = object.file().to_owned();
        match crd::of_object(&file, object.value.clone()) {
            Ok(crd) if seen.insert(name_in_cluster(&crd)) => found.push((file, crd)),
            Ok(crd) => {
                let mut same = found.iter_mut();
                if let Some((_, before)) = same.find(|(_, other)| name(other) == name(&crd)) {
                    *before = crd;
                }
            }
            Err(error) => lost.add(format!("{error:#}")),
        }
    }
    found
}

/// The name of a CRD in a cluster.
fn name_in_cluster(crd: &Crd) -> String {
    format!("{}.{}", crd.plural, crd.group)
}

fn has_crd(text: &str) -> bool {
    text.contains("CustomResourceDefinition")
}

/// When the project is validated while kinds are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// Not at all: the caller validates the project once, which is enough if the kinds fit together.
    None,
    /// After each kind: a kind that contradicts earlier kinds is left out. The time is quadratic in the number of
    /// kinds.
    Each,
}

/// Adds the kinds to `project`.
pub(super) fn take(
    project: &mut Project,
    (source, deployed): (&Source, &Deployed),
    go: &GoProject,
    mut crds: Vec<(String, Crd)>,
    check: Check,
    lost: &mut Lost,
) -> Vec<GoKind> {
    let files = GoFiles::new(source, go, &crds);
    let names: BTreeSet<_> = files.kinds.values().cloned().collect();
    let mut taker = Taker {
        source,
        go,
        finalizers: Finalizers::new(&source.go, &names),
        files,
        webhooks: webhooks(source, deployed),
        others: others(source, go, &mut crds),
        taken: Vec::new(),
        check,
        lost,
    };
    for (file, crd) in crds {
        let shown = format!("`{}` of `{}`", visible(&crd.kind), visible(&crd.group));
        if let Err(error) = taker.with_crd(project, crd) {
            taker.lost.add(format!("{shown}, in `{file}`: {error:#}"));
        }
    }
    for resource in &go.resources {
        if let Err(error) = taker.without_crd(project, resource) {
            let kind = visible(&resource.kind);
            taker.lost.add(format!("`{kind}` in PROJECT: {error:#}"));
        }
    }
    related::take(project, source, &mut taker.taken);
    project.sort();
    taker.report_names(project);
    taker.report_finalizers(project);
    taker.report_controllers();
    for webhook in &taker.webhooks {
        taker.lost.add(format!(
            "`{}`: the webhook for `{}` of `{}`, which is not a kind of the project: for a kind of \
             Kubernetes, add the webhook with `rscaffold create webhook`",
            webhook.configuration.file(),
            visible(&webhook.plural),
            visible(&webhook.group),
        ));
    }
    taker.taken
}

/// The group and the kind of a CRD.
type CrdName = (String, String);

fn name(crd: &Crd) -> CrdName {
    (crd.group.clone(), crd.kind.clone())
}

/// The CRDs of the external kinds of PROJECT, from any manifest of the Go project. Removes these CRDs from `crds`.
fn others(
    source: &Source,
    go: &GoProject,
    crds: &mut Vec<(String, Crd)>,
) -> BTreeMap<CrdName, Crd> {
    let mut wanted = BTreeSet::new();
    for resource in go.resources.iter().filter(|resource| resource.external) {
        wanted.insert((resource.group_of_others(), resource.kind.clone()));
    }
    let mut others = BTreeMap::new();
    for (_, crd) in crds.extract_if(.., |(_, crd)| wanted.contains(&name(crd))) {
        others.insert(name(&crd), crd);
    }
    for (file, text) in source.manifests("") {
        let mut names = wanted.iter();
        let is_named = names.any(|(group, kind)| text.contains(group) && text.contains(kind));
        if !is_named || !has_crd(text) {
            continue;
        }
        // The function `crds` reports CRDs that cannot be read.
        for crd in crd::parse(file, text).into_iter().flatten() {
            if wanted.contains(&name(&crd)) {
                others.entry(name(&crd)).or_insert(crd);
            }
        }
    }
    others
}

/// Which kinds the files of the Go code belong to.
struct GoFiles<'a> {
    /// For each file, the kinds for which it sets up controllers.
    setups: BTreeMap<&'a str, BTreeSet<String>>,
    /// For each file, the kind whose name begins the file name.
    about: BTreeMap<&'a str, String>,
    /// All kinds, by their names in lower case.
    kinds: BTreeMap<String, String>,
}

impl<'a> GoFiles<'a> {
    fn new(source: &'a Source, go: &GoProject, crds: &[(String, Crd)]) -> Self {
        let mut files = Self {
            setups: BTreeMap::new(),
            about: BTreeMap::new(),
            kinds: BTreeMap::new(),
        };
        let in_project = go.resources.iter().map(|resource| &resource.kind);
        let in_crds = crds.iter().map(|(_, crd)| &crd.kind);
        for kind in in_project.chain(in_crds) {
            files.kinds.insert(kind.to_ascii_lowercase(), kind.clone());
        }
        for file in source.go.files() {
            if file.mentions("NewControllerManagedBy") {
                let calls = file.kinds("For").into_iter();
                let kinds = calls.map(|(_package, kind)| kind).collect();
                files.setups.insert(&file.path, kinds);
            }
            if let Some(kind) = files.called(file_name(&file.path)) {
                let name = kind.to_owned();
                files.about.insert(&file.path, name);
            }
        }
        files
    }

    /// The kind that a name begins with. If several kinds match, the longest: `Bookcase` for `bookcase_types.go`, not
    /// `Book`.
    fn called(&self, name: &str) -> Option<&str> {
        let joined = name.replace('_', "").to_ascii_lowercase();
        let called = self
            .kinds
            .iter()
            .filter(|(lower, _)| joined.starts_with(*lower));
        let (_, kind) = called.max_by_key(|(lower, _)| lower.len())?;
        Some(kind)
    }

    /// Whether the file at `path` sets up a controller of `kind`.
    fn sets_up(&self, path: &str, kind: &str) -> bool {
        self.setups
            .get(path)
            .is_some_and(|kinds| kinds.contains(kind))
    }

    /// Whether the file at `path` is beside a controller of `kind`, and not about another kind.
    fn is_beside(&self, path: &str, kind: &str) -> bool {
        let is_of_other = self.about.get(path).is_some_and(|about| about != kind);
        if is_of_other && !self.sets_up(path, kind) {
            return false;
        }
        let mut setups = self.setups.iter();
        setups.any(|(setup, kinds)| kinds.contains(kind) && folder(setup) == folder(path))
    }

    /// The kinds that get the finalizer of a setting: what the code says about the object, or else the kind of the
    /// controller in the file, the kind that the name of the file or of the constant begins with, and at last the kinds
    /// of the controllers in the folder.
    fn with_finalizer(&self, setting: &Setting) -> BTreeSet<String> {
        let path = &*setting.place.path;
        match &setting.object {
            Object::Kind(kind) => return BTreeSet::from([kind.clone()]),
            Object::Other(_) => return BTreeSet::new(),
            Object::Unknown => {}
        }
        if let Some(kinds) = self.setups.get(path)
            && !kinds.is_empty()
        {
            return kinds.clone();
        }
        let by_file = self.about.get(path).map(String::as_str);
        let by_constant = setting.name.as_deref().and_then(|name| self.called(name));
        if let Some(kind) = by_file.or(by_constant) {
            return BTreeSet::from([kind.to_owned()]);
        }
        let all = self.setups.values().flatten();
        let beside = all.filter(|kind| self.is_beside(path, kind));
        beside.cloned().collect()
    }
}

/// Takes over the kinds, one by one.
struct Taker<'a> {
    source: &'a Source,
    go: &'a GoProject,
    files: GoFiles<'a>,
    finalizers: Finalizers,
    /// The webhooks that were not taken over yet.
    webhooks: Vec<GoWebhook>,
    /// The CRDs of external kinds.
    others: BTreeMap<CrdName, Crd>,
    taken: Vec<GoKind>,
    check: Check,
    lost: &'a mut Lost,
}

impl Taker<'_> {
    /// Validates the project, if each kind is checked.
    fn check(&self, project: &Project) -> Result<()> {
        match self.check {
            Check::None => Ok(()),
            Check::Each => project.validate(),
        }
    }

    /// Adds a kind that has a CRD.
    fn with_crd(&mut self, project: &mut Project, crd: Crd) -> Result<()> {
        let from_crd = KindFromCrd::of_project(&crd, None, project)?;
        let versions = from_crd.resources(project)?.into_iter();
        let mut resources: Vec<_> = versions.map(|(_version, resource)| resource).collect();
        let kind = visible(&crd.kind).into_owned();
        if let Some(singular) = &crd.singular {
            self.lost.add(format!(
                "the singular `{}` of `{kind}`: here, it is the kind in lower case",
                visible(singular)
            ));
        }
        if let Some(list) = &crd.list_kind {
            let list = visible(list);
            self.lost.add(format!("the list kind `{list}` of `{kind}`"));
        }
        let mut entries: Vec<_> = self.go.resources.iter().collect();
        entries.retain(|entry| entry.is_of(&crd.group, &crd.kind));
        let mut versions = resources.iter_mut();
        let stored = versions.find(|resource| resource.is_stored());
        let stored = stored.context("it has no stored version")?;
        let code = self.code(stored.kind.as_str());
        self.control(stored, &entries, &code);
        let id = stored.id();
        let mut after = project.clone();
        after.resources.extend(resources);
        let webhooks = self.give_webhooks(&mut after, &id, &entries);
        self.check(&after)?;
        convert(&mut after, &crd, &id, &entries, self.lost);
        *project = after;
        if let Some(note) = from_crd.unserved(project) {
            self.lost.add(format!("`{kind}`: {note}"));
        }
        if let Some(note) = from_crd.lossy(project) {
            self.lost.warnings.push(format!("`{kind}`: {note}"));
        }
        let crd = Some(crd);
        self.taken.push(GoKind {
            id,
            crd,
            code,
            webhooks,
        });
        Ok(())
    }

    /// Adds a kind of `PROJECT` that has no CRD in the Go project, unless the kind was added before.
    fn without_crd(&mut self, project: &mut Project, entry: &GoResource) -> Result<()> {
        let mut crds = self.taken.iter().filter_map(|taken| taken.crd.as_ref());
        if crds.any(|crd| entry.is_of(&crd.group, &crd.kind)) {
            return Ok(());
        }
        let mut resource = self.resource(project, entry)?;
        if let Some(plural) = entry.plural.as_deref()
            && !resource.is_builtin()
        {
            resource.plural = plural.parse()?;
        }
        let code = self.code(resource.kind.as_str());
        self.control(&mut resource, &[entry], &code);
        let id = resource.id();
        let mut after = project.clone();
        if after.versions(&resource).next().is_some() {
            bail!("without a CRD, only the first version is taken over");
        }
        after.resources.push(resource);
        let webhooks = self.give_webhooks(&mut after, &id, &[entry]);
        self.check(&after)?;
        *project = after;
        let name = (entry.group_of_others(), entry.kind.clone());
        let crd = self.others.remove(&name);
        self.taken.push(GoKind {
            id,
            crd,
            code,
            webhooks,
        });
        Ok(())
    }

    /// The resource of a kind that has no CRD in the Go project.
    fn resource(&mut self, project: &Project, entry: &GoResource) -> Result<Resource> {
        let kind: Kind = entry.kind.parse()?;
        let version: Version = entry.version.parse()?;
        let short = entry.group.as_deref().unwrap_or("");
        if !entry.has_api() {
            let name_of_group = if short.is_empty() { "core" } else { short };
            let builtin = builtin::find(name_of_group, entry.version.as_str(), kind.as_str());
            return match builtin.and_then(Resource::builtin) {
                Some(resource) if !entry.external => Ok(resource),
                _ => self.of_others(project, entry, kind, version),
            };
        }
        let full = match entry.domain.as_deref().or(self.go.domain.as_deref()) {
            Some(domain) if !short.is_empty() => format!("{short}.{domain}"),
            Some(domain) => domain.to_owned(),
            None => short.to_owned(),
        };
        let (group, domain) = group(project, &full.parse()?)?;
        self.lost.add(format!(
            "the fields of `{kind}`: the Go project has no CRD of this kind; run `make \
             manifests` there, which writes it to `config/crd/bases`, then `rscaffold create \
             api --crd <FILE> --force` here"
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
        project: &Project,
        entry: &GoResource,
        kind: Kind,
        version: Version,
    ) -> Result<Resource> {
        let group = entry.group_of_others();
        if let Some(crd) = self.others.get(&(group.clone(), entry.kind.clone())) {
            let from_crd = KindFromCrd::of_others(crd, Some(&version), project)?;
            let taken = from_crd.versions.first().context("it has no version")?;
            return from_crd.resource(taken, Stage::Stored);
        }
        let mut resource = resource_of_others(project, &group.parse()?, version, kind)?;
        if let Some(plural) = &entry.plural {
            resource.plural = plural.parse()?;
        }
        self.lost.add(format!(
            "the fields and the scope of `{kind}`, which another project defines: get its CRD by \
             `kubectl get crd {plural}.{group} -o yaml > crd.yaml`, and run `rscaffold create api \
             --crd crd.yaml --version {version} --resource=false`",
            kind = resource.kind,
            plural = resource.plural,
            version = resource.version,
        ));
        Ok(resource)
    }

    /// Adds the controllers of the kind to `resource`. The first one gets the names that objects have.
    fn control(&mut self, resource: &mut Resource, entries: &[&GoResource], code: &Code) {
        let mut names = Vec::new();
        for controller in entries.iter().flat_map(|entry| &entry.controllers) {
            let what = format!("a controller of `{}`", resource.kind);
            names.extend(self.lost.name(&what, &controller.name));
        }
        if names.is_empty() && self.has_controller(entries, code) {
            names.push(resource.kind.controller());
        }
        for name in names {
            resource.set_controller(Controller {
                finalizer: !code.finalizers.is_empty(),
                ..Controller::new(name)
            });
        }
        if let Some(first) = resource.controllers.first_mut() {
            first.finalizer_name = only(code.finalizers.keys()).and_then(|name| name.parse().ok());
            first.field_manager = only(&code.field_managers).and_then(|name| name.parse().ok());
        }
    }

    /// Whether the kind has a controller. If PROJECT does not say so, the code does. Without code, a PROJECT of version
    /// 2 implies a controller.
    fn has_controller(&self, entries: &[&GoResource], code: &Code) -> bool {
        if !code.files.is_empty() {
            return true;
        }
        let mut says_no = false;
        for entry in entries {
            match entry.has_controller() {
                Some(true) => return true,
                Some(false) => says_no = true,
                None => {}
            }
        }
        let is_implied = entries.iter().any(|entry| entry.is_implied);
        is_implied && !says_no && self.files.setups.is_empty()
    }

    /// The kinds that get the finalizer of a setting. If the setting does not say it, those from which the code removes
    /// the finalizer.
    fn kinds_with(&self, setting: &Setting) -> BTreeSet<String> {
        let mut kinds = self.files.with_finalizer(setting);
        if kinds.is_empty() && setting.object == Object::Unknown && is_known(setting) {
            for other in &self.finalizers.settings {
                if other.value == setting.value && other != setting {
                    kinds.extend(self.files.with_finalizer(other));
                }
            }
        }
        kinds
    }

    /// Reports the finalizers and field managers that no controller gets, because they are not one constant in the Go
    /// code.
    fn report_names(&mut self, project: &Project) {
        for (resource, controller) in project.controllers() {
            let mut taken = self.taken.iter();
            let Some(GoKind { code, .. }) = taken.find(|taken| taken.id == resource.id()) else {
                continue;
            };
            if resource.controllers.first() != Some(controller) {
                continue;
            }
            let kind = &resource.kind;
            if !code.finalizers.is_empty() && controller.finalizer_name.is_none() {
                let finalizers = code.finalizers.iter();
                let names: Vec<_> = finalizers
                    .map(|(value, place)| format!("`{}` ({place})", value.text()))
                    .collect();
                self.lost.add(format!(
                    "the finalizer of {kind}, which is {} in Go: set `FINALIZER_NAME` in its controller; until then, \
                     objects with the finalizer of the Go operator cannot be deleted",
                    names.join(" and ")
                ));
            }
            if !code.field_managers.is_empty() && controller.field_manager.is_none() {
                let names: Vec<_> = code.field_managers.iter().map(Value::text).collect();
                self.lost.add(format!(
                    "the field manager of {kind}, which is `{}` in Go: set `FIELD_MANAGER` in its controller",
                    names.join("` and `")
                ));
            }
        }
    }

    /// Reports the finalizers that are of no kind, or of a kind without a controller.
    fn report_finalizers(&mut self, project: &Project) {
        let mut controlled = BTreeSet::new();
        for (resource, _) in project.controllers() {
            controlled.insert(resource.kind.as_str());
        }
        let mut added = BTreeSet::new();
        let mut lines = Vec::new();
        for setting in &self.finalizers.settings {
            if setting.action != Action::Add {
                continue;
            }
            added.insert(&setting.value);
            let (text, place) = (setting.value.text(), &setting.place);
            let kinds = self.kinds_with(setting);
            for kind in &kinds {
                if !controlled.contains(kind.as_str()) {
                    lines.push(format!(
                        "the finalizer of {kind}, which is `{text}` in Go ({place}): there is no controller of {kind}; \
                         until one removes the finalizer, objects with it cannot be deleted"
                    ));
                }
            }
            match &setting.object {
                Object::Other(kind) => lines.push(format!(
                    "the finalizer `{text}` that the Go code adds to a {kind} ({place}): add it and remove it in the \
                     controller that works with the {kind}; until then, objects with it cannot be deleted"
                )),
                _ if !kinds.is_empty() => {}
                _ if is_known(setting) => lines.push(without_kind(text, place)),
                _ => lines.push(format!(
                    "a finalizer that the Go code computes by `{text}` ({place}): set `FINALIZER_NAME` in the \
                     controller of its kind; until then, objects with the finalizer cannot be deleted"
                )),
            }
        }
        // What is only removed was added by an earlier version, or by other code.
        let mut removed: BTreeMap<&Value, &Place> = BTreeMap::new();
        for setting in &self.finalizers.settings {
            if setting.action == Action::Remove && !added.contains(&setting.value) {
                removed.entry(&setting.value).or_insert(&setting.place);
            }
        }
        for (value, place) in removed {
            lines.push(format!(
                "the finalizer `{}`, which the Go code removes ({place}) but does not add: if objects have it, remove \
                 it in `reconcile` and in `cleanup`",
                value.text()
            ));
        }
        for line in lines.iter().chain(&self.finalizers.rest) {
            self.lost.add(line);
        }
    }

    /// Reports the controllers whose kind the code does not name where it sets them up.
    fn report_controllers(&mut self) {
        for file in self.source.go.code() {
            for (at, function) in file.calls() {
                let is_builder = function == "NewControllerManagedBy";
                let is_new = function.starts_with("New")
                    && (file.qualifier(at).and_then(|package| file.import(package)))
                        .is_some_and(|path| path.ends_with("controller-runtime/pkg/controller"));
                if !is_builder && !is_new {
                    continue;
                }
                // The call of `For` that follows, up to the next controller.
                let mut calls = file.calls().skip_while(|(other, _)| *other <= at);
                let rest = calls
                    .by_ref()
                    .take_while(|(_, name)| *name != "NewControllerManagedBy");
                let mut of_kind = rest.filter(|(_, name)| *name == "For");
                let argument = of_kind.next().and_then(|(call, _)| {
                    let first = file.arguments(call + 1).into_iter().next()?;
                    Some(first.start)
                });
                if is_builder && argument.is_some_and(|start| file.pointer_at(start).is_some()) {
                    continue;
                }
                let kinds = self.seems_to_be_for(file, argument.filter(|_| is_builder));
                let kinds = match kinds.as_slice() {
                    [] => "the code does not show its kind".to_owned(),
                    kinds => format!("it seems to be for {}", kinds.join(", ")),
                };
                self.lost.add(format!(
                    "a controller ({}) that is not built by `NewControllerManagedBy(mgr).For(&Kind{{}})`: {kinds}; if \
                     it is not listed above, `rscaffold create controller --group <GROUP> --version <VERSION> --kind \
                     <KIND>` adds it",
                    file.place(at)
                ));
            }
        }
    }

    /// The kinds that a controller in a file may be for: those that the code sets the field or variable at `argument` to,
    /// or that the name of the file begins with, or that the file mentions.
    fn seems_to_be_for(&self, file: &File, argument: Option<usize>) -> Vec<String> {
        let mut found = BTreeSet::new();
        let known: BTreeSet<_> = self.files.kinds.values().map(String::as_str).collect();
        if let Some(start) = argument {
            let field = match file.type_at(start) {
                Some((_, name)) => name,
                None => "",
            };
            for other in self.source.go.code() {
                for (at, token) in other.tokens.iter().enumerate() {
                    if token.is_name(field)
                        && let Some(value) = other.value(at)
                        && let Some((_, kind)) = other.pointer_at(value.start)
                        && known.contains(kind)
                    {
                        found.insert(kind.to_owned());
                    }
                }
            }
        }
        if found.is_empty() {
            found.extend(self.files.called(file_name(&file.path)).map(str::to_owned));
        }
        if found.is_empty() {
            let mentioned = known.into_iter().filter(|kind| file.mentions(kind));
            found.extend(mentioned.map(str::to_owned));
        }
        found.into_iter().collect()
    }

    /// Reads what the Go code says about the controllers of a kind.
    fn code(&self, kind: &str) -> Code {
        let go = &self.source.go;
        let mut code = Code::default();
        for setting in &self.finalizers.settings {
            if setting.action == Action::Add && self.kinds_with(setting).contains(kind) {
                let places = code.finalizers.entry(setting.value.clone());
                places.or_insert(setting.place.clone());
            }
        }
        for file in go.files() {
            if self.files.is_beside(&file.path, kind) {
                for function in ["FieldOwner", "WithFieldOwner"] {
                    code.field_managers.extend(go.arguments(file, function, 0));
                }
                code.field_managers.extend(go.set(file, "FieldManager"));
                for function in ["GetEventRecorderFor", "GetEventRecorder"] {
                    code.event_reporters.extend(go.arguments(file, function, 0));
                }
            }
            if self.files.sets_up(&file.path, kind) {
                code.owns.extend(file.kinds("Owns"));
                code.watches.extend(file.kinds("Watches"));
                code.files.insert(file.path.to_string());
            }
        }
        code
    }

    /// Adds the webhooks of the Go project for the kind to the version `id`. Returns those in its manifests.
    fn give_webhooks(
        &mut self,
        project: &mut Project,
        id: &GroupVersionKind,
        entries: &[&GoResource],
    ) -> Vec<GoWebhook> {
        let mut taken = Vec::new();
        let mut resources = project.resources.iter();
        let Some(at) = resources.position(|resource| resource.id() == *id) else {
            return taken;
        };
        let resource = project.resources[at].clone();
        let (full, plural) = (project.full_group(&resource), resource.plural.as_str());
        let webhooks = &mut self.webhooks;
        let own: Vec<_> = webhooks
            .extract_if(.., |webhook| {
                webhook.group == full && webhook.plural == plural
            })
            .collect();
        for (is_defaulting, letter, verb) in [(true, 'm', "mutate"), (false, 'v', "validate")] {
            let mut in_manifests = own.iter();
            let in_manifest = in_manifests.find(|webhook| webhook.is_defaulting == is_defaulting);
            let mut in_entries = entries.iter().filter_map(|entry| entry.webhooks.as_ref());
            let in_project = in_entries.find_map(|webhooks| webhooks.path(is_defaulting));
            if in_manifest.is_none() && in_project.is_none() {
                continue;
            }
            taken.extend(in_manifest.cloned());
            let path_in_manifest = in_manifest.and_then(|webhook| webhook.path.as_deref());
            let path = path_in_manifest.or(in_project);
            let mut webhook = Webhook::default();
            let usual = project.webhook_names(&resource, &webhook, letter, verb);
            if let Some(path) = path.filter(|path| !path.is_empty() && *path != usual.path) {
                let what = format!("the path of a webhook of `{}`", resource.kind);
                webhook.path = self.lost.name(&what, path);
            }
            let webhooks = &mut project.resources[at].webhooks;
            if is_defaulting {
                webhooks.defaulting = Some(webhook);
            } else {
                webhooks.validation = Some(webhook);
            }
        }
        taken
    }
}

fn is_known(setting: &Setting) -> bool {
    matches!(setting.value, Value::Known(_))
}

/// The text of the only value, if it is known.
fn only<'a>(values: impl IntoIterator<Item = &'a Value>) -> Option<&'a str> {
    let mut all = values.into_iter();
    match (all.next(), all.next()) {
        (Some(Value::Known(text)), None) => Some(text),
        _ => None,
    }
}

/// Adds a conversion between the versions of the kind `id`, if the Go project has a conversion webhook for the kind.
fn convert(
    project: &mut Project,
    crd: &Crd,
    id: &GroupVersionKind,
    entries: &[&GoResource],
    lost: &mut Lost,
) {
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
    let mut resources = project.resources.iter();
    let hub = resources.find(|resource| {
        resource.version.as_str() == version_of_hub
            && resource.kind == *id.kind()
            && resource.group == *id.group()
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
    if spokes.is_empty() {
        return;
    }
    if let Err(error) = project.convert(&hub, &spokes) {
        lost.add(format!(
            "the conversion webhook of `{}`: {error:#}",
            hub.kind
        ));
    }
}
