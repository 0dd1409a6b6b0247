//! The kinds of the Go project with their versions, controllers and webhooks.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, anyhow};

use super::{
    config::{GoWebhook, webhooks},
    file::{GoProject, GoResource},
    finalizers::{Action, Finalizers, Object, Setting, without_kind},
    go::{Place, Value},
    name_of, related,
    report::Report,
    source::{Source, file_name, folder},
};
use crate::{
    builtin,
    crd::{self, Crd},
    from_crd::{KindFromCrd, group, resource_of_others},
    names::{ControllerName, GroupVersionKind, Kind, Version, WebhookPath},
    project::{Controller, Definition, Own, Project, Resource, Stage, Webhook},
    visible::visible,
};

/// A kind that was taken over from the Go project.
#[derive(Debug)]
pub(super) struct GoKind {
    /// The version with the controllers.
    pub id: GroupVersionKind,
    /// Its CRD, if the Go project has one.
    pub crd: Option<Crd>,
    /// What the Go code says about its controllers.
    pub code: Code,
}

/// What the Go code says about the controllers of a kind.
#[derive(Debug, Default)]
pub(super) struct Code {
    /// The files that set a controller up.
    pub files: BTreeSet<String>,
    /// The finalizers, each with the first place that sets it.
    pub finalizers: BTreeMap<Value, Place>,
    pub field_managers: BTreeSet<Value>,
    pub event_reporters: BTreeSet<Value>,
    /// The kinds that the controllers own, each with the name of its package.
    pub owns: BTreeSet<(String, String)>,
    /// The same for watched kinds. After [`related::take`], only kinds that the project does not watch.
    pub watches: BTreeSet<(String, String)>,
    /// The owned kinds by their names in the project. Empty if one of them has no name there.
    pub owned: Vec<GroupVersionKind>,
}

/// The CRDs of the Go project, each with the path of its file.
pub(super) fn crds(source: &Source, report: &mut Report) -> Vec<(String, Crd)> {
    for folder in ["config/crd/bases/", "config/crd/", "config/"] {
        let mut found: Vec<(String, Crd)> = Vec::new();
        let texts = source.manifests(folder);
        for (file, text) in texts.filter(|(_, text)| text.contains("CustomResourceDefinition")) {
            // A patch is not a complete CRD.
            let is_patch = file.contains("/patches/") || file.contains("kustomiz");
            if is_patch || !text.contains("versions:") {
                continue;
            }
            match crd::parse(file, text) {
                Ok(crds) => found.extend(crds.into_iter().map(|crd| (file.to_owned(), crd))),
                Err(error) => report.lost(format!("{error:#}")),
            }
        }
        let mut seen = BTreeSet::new();
        found.retain(|(_, crd)| seen.insert((crd.group.clone(), crd.kind.clone())));
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
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
    source: &Source,
    go: &GoProject,
    crds: Vec<(String, Crd)>,
    check: Check,
    report: &mut Report,
) -> Vec<GoKind> {
    let files = GoFiles::new(source, go, &crds);
    let names: BTreeSet<_> = files.stems.values().cloned().collect();
    let mut taker = Taker {
        source,
        go,
        finalizers: Finalizers::new(&source.go, &names),
        files,
        webhooks: webhooks(source),
        others: BTreeMap::new(),
        kinds: Vec::new(),
        check,
    };
    let mut crds = crds;
    taker.others = others(source, go, &mut crds);
    for (file, crd) in crds {
        let shown = format!("`{}` of `{}`", visible(&crd.kind), visible(&crd.group));
        if let Err(error) = taker.with_crd(project, crd, report) {
            report.lost(format!("{shown}, in `{file}`: {error:#}"));
        }
    }
    for resource in &go.resources {
        let shown = visible(&resource.kind).into_owned();
        if let Err(error) = taker.without_crd(project, resource, report) {
            report.lost(format!("`{shown}` in PROJECT: {error:#}"));
        }
    }
    related::take(project, source, &mut taker.kinds);
    project.sort();
    taker.report_finalizers(project, report);
    for webhook in &taker.webhooks {
        report.lost(format!(
            "`{}`: the webhook for `{}` of `{}`, which is not a kind of the project: for a kind of \
             Kubernetes, add the webhook with `rscaffold create webhook`",
            webhook.file,
            visible(&webhook.plural),
            visible(&webhook.group),
        ));
    }
    taker.kinds
}

/// The CRDs of the external kinds of PROJECT, by group and kind, from any manifest of the Go project. Removes these
/// CRDs from `crds`.
fn others(
    source: &Source,
    go: &GoProject,
    crds: &mut Vec<(String, Crd)>,
) -> BTreeMap<(String, String), Crd> {
    let external = go.resources.iter().filter(|it| it.external);
    let wanted: BTreeSet<_> = external
        .map(|it| (it.group_of_others(), it.kind.clone()))
        .collect();
    let key = |crd: &Crd| (crd.group.clone(), crd.kind.clone());
    let own = crds.extract_if(.., |(_, crd)| wanted.contains(&key(crd)));
    let mut others: BTreeMap<_, _> = own.map(|(_, crd)| (key(&crd), crd)).collect();
    let is_missing = |text: &str| {
        let mut wanted = wanted.iter();
        text.contains("CustomResourceDefinition")
            && wanted
                .any(|(group, kind)| text.contains(group.as_str()) && text.contains(kind.as_str()))
    };
    for (file, text) in source.manifests("").filter(|(_, text)| is_missing(text)) {
        // The function `crds` reports CRDs that cannot be read.
        for crd in crd::parse(file, text).unwrap_or_default() {
            if wanted.contains(&key(&crd)) {
                others.entry(key(&crd)).or_insert(crd);
            }
        }
    }
    others
}

/// Which kinds the files of the Go code belong to.
struct GoFiles<'a> {
    /// For each file, the kinds for which it sets up controllers.
    setups: BTreeMap<&'a str, BTreeSet<String>>,
    /// For each file, the kind whose name begins the file name. If several kinds match, the longest name: `Bookcase`
    /// for `bookcase_types.go`, not `Book`.
    about: BTreeMap<&'a str, String>,
    /// All kinds, by their names in lower case.
    stems: BTreeMap<String, String>,
}

impl<'a> GoFiles<'a> {
    fn new(source: &'a Source, go: &GoProject, crds: &[(String, Crd)]) -> Self {
        let code = &source.go;
        let setups = code
            .paths()
            .filter(|it| code.mentions(it, "NewControllerManagedBy"));
        let setups = setups.map(|path| {
            let kinds = code.kinds(path, "For").into_iter();
            (path, kinds.map(|(_, kind)| kind).collect())
        });
        let names = go.resources.iter().map(|it| it.kind.clone());
        let names = names.chain(crds.iter().map(|(_, crd)| crd.kind.clone()));
        let stems: BTreeMap<_, _> = names.map(|it| (it.to_ascii_lowercase(), it)).collect();
        let about = code.paths().filter_map(|path| {
            let name = file_name(path).replace('_', "").to_ascii_lowercase();
            let called = stems.iter().filter(|(stem, _)| name.starts_with(*stem));
            let (_, kind) = called.max_by_key(|(stem, _)| stem.len())?;
            Some((path, kind.clone()))
        });
        let about = about.collect();
        Self {
            setups: setups.collect(),
            about,
            stems,
        }
    }

    /// Whether the file at `path` is beside a controller of `kind`, and not about another kind.
    fn is_beside(&self, path: &str, kind: &str) -> bool {
        let sets_up = |file: &str| self.setups.get(file).is_some_and(|it| it.contains(kind));
        let mut files = self.setups.keys().filter(|it| sets_up(it));
        let about = self.about.get(path);
        files.any(|it| folder(it) == folder(path))
            && (about.is_none_or(|it| it == kind) || sets_up(path))
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
        if let Some(kinds) = self.setups.get(path).filter(|it| !it.is_empty()) {
            return kinds.clone();
        }
        let name = setting.name.as_deref().unwrap_or_default();
        let name = name.replace('_', "").to_ascii_lowercase();
        let called = self
            .stems
            .iter()
            .filter(|(stem, _)| name.starts_with(*stem));
        let by_name = called
            .max_by_key(|(stem, _)| stem.len())
            .map(|(_, kind)| kind);
        if let Some(kind) = self.about.get(path).or(by_name) {
            return BTreeSet::from([kind.clone()]);
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
    /// The CRDs of external kinds, by group and kind.
    others: BTreeMap<(String, String), Crd>,
    kinds: Vec<GoKind>,
    check: Check,
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
    fn with_crd(&mut self, project: &mut Project, crd: Crd, report: &mut Report) -> Result<()> {
        let given = KindFromCrd::of_project(&crd, None, project)?;
        let taken = given.resources(project)?.into_iter();
        let mut resources: Vec<_> = taken.map(|(_, resource)| resource).collect();
        for note in crd_notes(&crd) {
            report.lost(note);
        }
        let entries = self.go.resources.iter().filter(|it| it.kind == crd.kind);
        let entries: Vec<_> = entries.filter(|it| it.has_api()).collect();
        let stored = resources.iter_mut().find(|it| it.is_stored());
        let stored = stored.ok_or_else(|| anyhow!("it has no stored version"))?;
        let code = self.code(stored.kind.as_str());
        self.control(stored, &entries, &code, report);
        let id = stored.id();
        let mut after = project.clone();
        after.resources.extend(resources);
        self.give_webhooks(&mut after, &id, &entries, report);
        self.check(&after)?;
        convert(&mut after, &crd, &id, &entries, report);
        *project = after;
        let shown = visible(&crd.kind).into_owned();
        if let Some(note) = given.unserved(project) {
            report.lost(format!("`{shown}`: {note}"));
        }
        if let Some(note) = given.lossy(project) {
            report.warn(format!("`{shown}`: {note}"));
        }
        let crd = Some(crd);
        self.kinds.push(GoKind { id, crd, code });
        Ok(())
    }

    /// Adds a kind of `PROJECT` that has no CRD in the Go project, unless the kind was added before.
    fn without_crd(
        &mut self,
        project: &mut Project,
        entry: &GoResource,
        report: &mut Report,
    ) -> Result<()> {
        let is_taken = |kind: &GoKind| kind.crd.as_ref().is_some_and(|it| it.kind == entry.kind);
        if entry.has_api() && self.kinds.iter().any(is_taken) {
            return Ok(());
        }
        let kind: Kind = entry.kind.parse()?;
        let version: Version = entry.version.parse()?;
        let short = entry.group.as_deref().unwrap_or_default();
        let mut resource = if entry.has_api() {
            let full = match entry.domain.as_deref().or(self.go.domain.as_deref()) {
                Some(domain) if !short.is_empty() => format!("{short}.{domain}"),
                Some(domain) => domain.to_owned(),
                None => short.to_owned(),
            };
            let (group, domain) = group(project, &full.parse()?)?;
            report.lost(format!(
                "the fields of `{kind}`: the Go project has no CRD of this kind; run `make \
                 manifests` there, which writes it to `config/crd/bases`, then `rscaffold create \
                 api --crd <FILE> --force` here"
            ));
            let id = GroupVersionKind::new(group.clone(), version, kind);
            Resource {
                domain,
                namespaced: entry.is_namespaced(),
                ..Resource::new(group, &id, Definition::Own(Own::first()))
            }
        } else {
            let core = ["core", short][usize::from(!short.is_empty())];
            let found = builtin::find(core, entry.version.as_str(), kind.as_str());
            let found = found
                .and_then(Resource::builtin)
                .filter(|_| !entry.external);
            match found {
                Some(found) => found,
                None => self.of_others(project, entry, kind, version, report)?,
            }
        };
        if let Some(plural) = entry.plural.as_deref().filter(|_| !resource.is_builtin()) {
            resource.plural = plural.parse()?;
        }
        let code = self.code(resource.kind.as_str());
        self.control(&mut resource, &[entry], &code, report);
        let id = resource.id();
        let mut after = project.clone();
        let is_there = after.versions(&resource).next().is_some();
        if is_there {
            return Err(anyhow!(
                "without a CRD, only the first version is taken over"
            ));
        }
        after.resources.push(resource);
        self.give_webhooks(&mut after, &id, &[entry], report);
        self.check(&after)?;
        *project = after;
        let crd = self
            .others
            .remove(&(entry.group_of_others(), entry.kind.clone()));
        self.kinds.push(GoKind { id, crd, code });
        Ok(())
    }

    /// The resource of a kind that another project defines.
    fn of_others(
        &self,
        project: &Project,
        entry: &GoResource,
        kind: Kind,
        version: Version,
        report: &mut Report,
    ) -> Result<Resource> {
        let group = entry.group_of_others();
        if let Some(crd) = self.others.get(&(group.clone(), entry.kind.clone())) {
            let given = KindFromCrd::of_others(crd, Some(&version), project)?;
            let version = given.versions.first().copied();
            let version = version.ok_or_else(|| anyhow!("it has no version"))?;
            return given.resource(version, Stage::Stored);
        }
        let mut resource = resource_of_others(project, &group.parse()?, version, kind)?;
        if let Some(plural) = &entry.plural {
            resource.plural = plural.parse()?;
        }
        report.lost(format!(
            "the fields and the scope of `{kind}`, which another project defines: get its CRD by \
             `kubectl get crd {plural}.{group} -o yaml > crd.yaml`, and run `rscaffold create api \
             --crd crd.yaml --version {version} --resource=false`",
            kind = resource.kind,
            plural = resource.plural,
            version = resource.version,
        ));
        Ok(resource)
    }

    /// Adds the controllers of the kind to `resource`.
    fn control(
        &self,
        resource: &mut Resource,
        entries: &[&GoResource],
        code: &Code,
        report: &mut Report,
    ) {
        let said = entries.iter().filter_map(|it| it.has_controller());
        let said: Vec<_> = said.collect();
        let is_implied = entries.iter().any(|it| it.is_implied);
        // If PROJECT does not say whether there is a controller, the code does. Without code, a PROJECT of version 2
        // implies a controller.
        let has_code = !self.files.setups.is_empty();
        let has = !code.files.is_empty()
            || said.contains(&true)
            || is_implied && said.is_empty() && !has_code;
        let usual = resource.kind.controller();
        let names = entries.iter().flat_map(|it| &it.controllers);
        let names = names.filter_map(|it| {
            let what = format!("a controller of `{}`", resource.kind);
            name_of::<ControllerName>(&what, &it.name, report)
        });
        let mut names: Vec<_> = names.collect();
        if names.is_empty() && has {
            names.push(usual);
        }
        for name in names {
            resource.set_controller(Controller {
                finalizer: !code.finalizers.is_empty(),
                ..Controller::new(name)
            });
        }
    }

    /// The settings that add a finalizer to objects of `kind`.
    fn with_finalizer(&self, kind: &str) -> Vec<&Setting> {
        let settings = self.finalizers.settings.iter();
        let added = settings.filter(|it| it.action == Action::Add);
        let of_kind = added.filter(|it| self.kinds_with(it).contains(kind));
        of_kind.collect()
    }

    /// The kinds that get the finalizer of a setting. If the setting does not say it, those from which the code removes
    /// the finalizer.
    fn kinds_with(&self, setting: &Setting) -> BTreeSet<String> {
        let mut kinds = self.files.with_finalizer(setting);
        if kinds.is_empty() && setting.object == Object::Unknown && is_known(setting) {
            let settings = self.finalizers.settings.iter();
            let others = settings.filter(|it| it.value == setting.value && *it != setting);
            kinds = others
                .flat_map(|it| self.files.with_finalizer(it))
                .collect();
        }
        kinds
    }

    /// Reports the finalizers that no controller gets.
    fn report_finalizers(&self, project: &Project, report: &mut Report) {
        let controlled = project
            .controllers()
            .map(|(resource, _)| resource.kind.as_str());
        let controlled: BTreeSet<_> = controlled.collect();
        let settings = &self.finalizers.settings;
        for setting in settings.iter().filter(|it| it.action == Action::Add) {
            let kinds = self.kinds_with(setting);
            let place = &setting.place;
            let (Value::Known(text) | Value::Unknown(text)) = &setting.value;
            for kind in kinds.iter().filter(|it| !controlled.contains(it.as_str())) {
                report.lost(format!(
                    "the finalizer of {kind}, which is `{text}` in Go ({place}): there is no controller of {kind}; \
                     until one removes the finalizer, objects with it cannot be deleted"
                ));
            }
            match &setting.object {
                Object::Other(kind) => report.lost(format!(
                    "the finalizer `{text}` that the Go code adds to a {kind} ({place}): add it and remove it in the \
                     controller that works with the {kind}; until then, objects with it cannot be deleted"
                )),
                _ if !kinds.is_empty() => {}
                _ if is_known(setting) => report.lost(without_kind(text, &place.to_string())),
                _ => report.lost(format!(
                    "a finalizer that the Go code computes by `{text}` ({place}): set `FINALIZER_NAME` in the \
                     controller of its kind; until then, objects with the finalizer cannot be deleted"
                )),
            }
        }
        // What is only removed was added by an earlier version, or by other code.
        let added = settings.iter().filter(|it| it.action == Action::Add);
        let added: BTreeSet<_> = added.map(|it| &it.value).collect();
        let removed = settings.iter().filter(|it| it.action == Action::Remove);
        let mut seen = BTreeSet::new();
        for setting in removed.filter(|it| !added.contains(&it.value)) {
            if !seen.insert(&setting.value) {
                continue;
            }
            let (Value::Known(text) | Value::Unknown(text)) = &setting.value;
            report.lost(format!(
                "the finalizer `{text}`, which the Go code removes ({}) but does not add: if objects have it, remove it \
                     in `reconcile` and in `cleanup`",
                setting.place
            ));
        }
        for line in &self.finalizers.rest {
            report.lost(line);
        }
    }

    /// Reads what the Go code says about the controllers of a kind.
    fn code(&self, kind: &str) -> Code {
        let go = &self.source.go;
        let mut code = Code::default();
        let setups = self.files.setups.iter();
        let setups = setups.filter(|(_, kinds)| kinds.contains(kind));
        code.files = setups.map(|(path, _)| (*path).to_owned()).collect();
        for setting in self.with_finalizer(kind) {
            let value = setting.value.clone();
            code.finalizers
                .entry(value)
                .or_insert(setting.place.clone());
        }
        let beside = go.paths().filter(|path| self.files.is_beside(path, kind));
        for path in beside {
            for function in ["FieldOwner", "WithFieldOwner"] {
                code.field_managers.extend(go.arguments(path, function, 0));
            }
            code.field_managers.extend(go.set(path, "FieldManager"));
            for function in ["GetEventRecorderFor", "GetEventRecorder"] {
                code.event_reporters.extend(go.arguments(path, function, 0));
            }
        }
        for path in &code.files {
            code.owns.extend(go.kinds(path, "Owns"));
            code.watches.extend(go.kinds(path, "Watches"));
        }
        code
    }

    /// Adds the webhooks of the Go project for the kind to the version `id`.
    fn give_webhooks(
        &mut self,
        project: &mut Project,
        id: &GroupVersionKind,
        entries: &[&GoResource],
        report: &mut Report,
    ) {
        let Some(at) = project.resources.iter().position(|it| it.id() == *id) else {
            return;
        };
        let resource = project.resources[at].clone();
        let (full, plural) = (project.full_group(&resource), resource.plural.to_string());
        let is_it = |it: &GoWebhook| it.group == full && it.plural == plural;
        let (own, others) = self.webhooks.drain(..).partition(is_it);
        self.webhooks = others;
        let own: Vec<GoWebhook> = own;
        for (is_defaulting, letter, verb) in [(true, 'm', "mutate"), (false, 'v', "validate")] {
            let found = own.iter().find(|it| it.is_defaulting == is_defaulting);
            let said = entries.iter().filter_map(|it| it.webhooks.as_ref());
            let said = said.filter_map(|it| {
                if is_defaulting {
                    it.defaulting.then_some(it.defaulting_path.as_deref())
                } else {
                    it.validation.then_some(it.validation_path.as_deref())
                }
            });
            let mut said = said.collect::<Vec<_>>().into_iter();
            let (said, found) = (said.next(), found.map(|it| it.path.as_deref()));
            let Some(path) = found.or(said).map(|path| path.or(said.flatten())) else {
                continue;
            };
            let mut webhook = Webhook::default();
            let usual = project
                .webhook_names(&resource, &webhook, letter, verb)
                .path;
            if let Some(path) = path.filter(|it| *it != usual) {
                let what = format!("the path of a webhook of `{}`", resource.kind);
                webhook.path = name_of::<WebhookPath>(&what, path, report);
            }
            let webhooks = &mut project.resources[at].webhooks;
            if is_defaulting {
                webhooks.defaulting = Some(webhook);
            } else {
                webhooks.validation = Some(webhook);
            }
        }
    }
}

fn is_known(setting: &Setting) -> bool {
    matches!(setting.value, Value::Known(_))
}

/// Adds a conversion between the versions of the kind `id`, if the Go project has a conversion webhook for the kind.
fn convert(
    project: &mut Project,
    crd: &Crd,
    id: &GroupVersionKind,
    entries: &[&GoResource],
    report: &mut Report,
) {
    let with = entries
        .iter()
        .filter_map(|it| Some((it, it.webhooks.as_ref()?)));
    let with: Vec<_> = with.filter(|(_, webhooks)| webhooks.conversion).collect();
    if !crd.converts && with.is_empty() {
        return;
    }
    // The hub is the version that lists spokes. An older PROJECT has no such list, so take the stored version.
    let hub = with.iter().find(|(_, webhooks)| !webhooks.spoke.is_empty());
    let hub = hub.map_or(id.version().as_str(), |(entry, _)| entry.version.as_str());
    let served = crd.versions.iter().filter(|it| it.served);
    let served: BTreeSet<_> = served
        .filter_map(|it| it.name.parse::<Version>().ok())
        .collect();
    let Some(hub) = project
        .resources
        .iter()
        .find(|it| it.version.as_str() == hub && it.kind == *id.kind() && it.group == *id.group())
    else {
        return;
    };
    let (hub, spokes) = (
        hub.clone(),
        served.into_iter().filter(|it| *it != hub.version),
    );
    let spokes: BTreeSet<_> = spokes.collect();
    if spokes.is_empty() {
        return;
    }
    if let Err(error) = project.convert(&hub, &spokes) {
        report.lost(format!(
            "the conversion webhook of `{}`: {error:#}",
            hub.kind
        ));
    }
}

/// Notes about names of a CRD that a project cannot have.
fn crd_notes(crd: &Crd) -> Vec<String> {
    let kind = visible(&crd.kind);
    let mut notes = Vec::new();
    if let Some(singular) = &crd.singular {
        notes.push(format!(
            "the singular `{}` of `{kind}`: here, it is the kind in lower case",
            visible(singular)
        ));
    }
    if let Some(list) = &crd.list_kind {
        notes.push(format!("the list kind `{}` of `{kind}`", visible(list)));
    }
    notes
}
