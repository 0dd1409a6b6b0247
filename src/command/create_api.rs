//! `rscaffold create api`

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Result, anyhow, ensure};
use clap::Args;

use super::{
    Mode, carry_out, id::Id, kubebuilder::Kubebuilder, load_current, or_way_out, turn::Turn,
};
use crate::{
    command::report::{NextStep, Outcome, Story, UsageError},
    engine::worktree::WorkTree,
    hint::OrHint,
    names::{
        CommandWord, ControllerName, Dependency, Domain, GroupVersionKind, ImageName, Plural, Port,
        ShortName, TypePath, UserId,
    },
    project::builtin,
    project::{
        Controller, Conversion, Definition, Deprecation, External, Image, Own, Project, Resource,
        Stage, Types, Webhooks,
    },
    render::CONVENTIONS,
    render::convert::{File, has_example_status},
};

/// `create api`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CreateApi {
    #[command(flatten)]
    id: Id,

    /// File with a CRD. Adds its kind with Rust types, in all versions or only in `--version`. If the file has several
    /// CRDs, choose one with `--group` and `--kind`. With `--resource=false`, another project defines the kind and
    /// installs the CRD
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = [
        "plural", "short_names", "namespaced", "storage", "served", "deprecated", "conversion", "name",
    ])]
    crd: Option<PathBuf>,

    #[command(flatten)]
    settings: ApiSettings,

    /// Allow changes to the settings of an existing API; with `--crd`, replace types that you edited
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    kubebuilder: Kubebuilder,

    #[command(flatten)]
    mode: Mode,
}

const EXAMPLES: &str = "\
Examples:
  # A kind with its types, CRD, sample, roles and controller
  rscaffold create api --group webapp --version v1 --kind Guestbook

  # A cluster-scoped kind with short names and a finalizer
  rscaffold create api --group infra --version v1alpha1 --kind Network --namespaced=false \\
      --short-name net,nw --finalizer

  # A kind whose controller creates a Deployment for each object
  rscaffold create api --group webapp --version v1 --kind Guestbook --owns apps/v1/Deployment

  # A kind whose controller runs an image, with the number of Pods and the port in the spec
  rscaffold create api --group cache --version v1alpha1 --kind Memcached --image memcached:1.6 \\
      --image-container-command=memcached,-v --image-container-port=11211 --run-as-user=1001

  # A kind whose types come from a CustomResourceDefinition
  rscaffold create api --crd config/crd/bases/webapp.com_guestbooks.yaml

  # A second version of a kind, which starts as a copy of your types of the first
  rscaffold create api --group webapp --version v2 --kind Guestbook

  # A version with the same schema as the previous one: both are served, the new one is stored
  rscaffold create api --group webapp --version v1 --kind Guestbook --storage --conversion=none
  rscaffold create api --group webapp --version v1beta1 --kind Guestbook --deprecated='use v1'

  # A second controller for a kind
  rscaffold create api --group webapp --version v1 --kind Guestbook --controller-name backup

  # A controller for a built-in kind of Kubernetes
  rscaffold create api --group apps --version v1 --kind Deployment --resource=false

  # A controller for a kind that another project defines, with types from its CRD or from a crate
  rscaffold create api --crd certificates.yaml --resource=false
  rscaffold create api --group cert-manager --version v1 --kind Certificate --resource=false \\
      --external-api-path cert_manager::v1::Certificate --external-api-domain io \\
      --external-api-crate cert-manager@0.1";

/// How to reach fewer objects of an owned kind, and of a watched kind.
const NARROWER_OWNS: &str = "limit its rule with `Rule::in_namespace`, and the controller with \
                             `Builder::namespaces`, or use `Rule::named` and `Builder::owns_named`";
const NARROWER_WATCHES: &str = "limit its rule with `Rule::named`, and its watch with the field \
                                selector `metadata.name`";

/// The settings of an API. A setting that is `None` keeps its value, is taken from another version of the kind, or has
/// its default.
#[derive(Debug, Default, Args)]
struct ApiSettings {
    /// Plural of the kind, in lower case [default: the English plural]
    #[arg(long)]
    plural: Option<Plural>,

    /// Short name for kubectl; repeat the flag or separate names by commas
    #[arg(long = "short-name", value_name = "NAME", value_delimiter = ',')]
    short_names: Option<Vec<ShortName>>,

    /// Whether to create types and a CRD. `false` creates only a controller, for an existing kind of this project, of
    /// Kubernetes or of another project; with `--crd`, it also creates the types [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", hide_possible_values = true)]
    resource: Option<bool>,

    /// Whether to create a controller [default: true for a new kind, false for another version of the kind]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", hide_possible_values = true)]
    controller: Option<bool>,

    /// Name of the controller to which `--controller`, `--finalizer`, `--image`, `--owns` and `--watches` apply; a new
    /// name adds another controller for the kind [default: the kind, in lower case]
    #[arg(long, value_name = "NAME")]
    controller_name: Option<ControllerName>,

    /// Whether objects of the kind live in a namespace; `false` makes the kind cluster-scoped
    /// [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", hide_possible_values = true)]
    namespaced: Option<bool>,

    /// Whether the controller uses a finalizer to clean up before an object is deleted [default:
    /// false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", hide_possible_values = true)]
    finalizer: Option<bool>,

    /// Kind of which the controller creates objects, such as `apps/v1/Deployment`, `v1/ConfigMap` or `webapp/v1/Page`;
    /// repeat the flag or separate kinds by commas. Adds to the kinds that the controller already owns; with `--force`,
    /// replaces them
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    owns: Option<Vec<GroupVersionKind>>,

    /// Kind to which your objects refer, such as `v1/Secret`: when a Secret changes, the objects that refer to it are
    /// reconciled. Repeat the flag or separate kinds by commas. Adds to the kinds that the controller already watches;
    /// with `--force`, replaces them
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    watches: Option<Vec<GroupVersionKind>>,

    #[command(flatten)]
    image: Option<ImageSettings>,

    /// Store objects in this version; the controllers and the webhooks of the kind move to it. The hub of a conversion
    /// stays [default: the first version is stored]
    #[arg(long)]
    storage: bool,

    /// Whether the API server serves this version [default: true for the first version of a kind, and for other
    /// versions with a conversion]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", hide_possible_values = true)]
    served: Option<bool>,

    /// Have the API server warn clients that use this version, with its own text or with yours; `--deprecated=false`
    /// ends the warning [default: false]
    #[arg(long, value_name = "WARNING", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true")]
    deprecated: Option<Deprecation>,

    /// How the API server converts between the versions of the kind: `none` is for equal schemas, which
    /// `make manifests` checks. `lossy` accepts different schemas: a write through one version loses the fields that
    /// only other versions have. For a conversion without loss, use `create webhook --conversion` [default: no
    /// conversion, so only one version is served]
    #[arg(long, value_name = "HOW", value_enum)]
    #[arg(hide_possible_values = true)]
    conversion: Option<Conversion>,

    #[command(flatten)]
    external: Option<ExternalType>,
}

/// The image that the controller runs.
#[derive(Debug, Args)]
struct ImageSettings {
    /// Image, such as `memcached:1.6`, that the controller runs in one Deployment per object. The spec of the object
    /// sets the number of Pods, and an environment variable of the operator can replace the image
    #[arg(long = "image", value_name = "IMAGE", required = false)]
    name: ImageName,

    /// Command of the container, as words separated by commas [default: the command of the image]
    #[arg(
        long = "image-container-command",
        value_name = "WORDS",
        value_delimiter = ','
    )]
    #[arg(requires = "name")]
    command: Vec<CommandWord>,

    /// Port of the container; the spec of an object can change it [default: none]
    #[arg(long = "image-container-port", value_name = "PORT", requires = "name")]
    port: Option<Port>,

    /// Numeric ID of the user that runs the container, not root [default: the user of the image]
    #[arg(long, value_name = "USER", requires = "name")]
    run_as_user: Option<UserId>,
}

impl ImageSettings {
    /// The image with these settings; a missing setting is taken from `before`.
    fn image(&self, before: Option<&Image>) -> Image {
        let command = Some(&self.command).filter(|words| !words.is_empty());
        let command = command.or_else(|| before.map(|image| &image.command));
        Image {
            command: command.cloned().unwrap_or_default(),
            name: self.name.clone(),
            port: self.port.or_else(|| before?.port),
            run_as_user: self.run_as_user.or_else(|| before?.run_as_user),
        }
    }
}

/// Where to find the type of a kind that another project defines.
#[derive(Debug, Args)]
pub(super) struct ExternalType {
    /// Rust type of a kind that another project defines, such as `cert_manager::v1::Certificate`. This project gets no
    /// types and no CRD for the kind, but can have controllers and webhooks for it, or own its objects
    #[arg(long = "external-api-path", required = false)]
    path: TypePath,

    /// Domain of that kind's group: `--group cert-manager` then means `cert-manager.<DOMAIN>` [default: none, if
    /// `--group` is the full name of the group]
    #[arg(long = "external-api-domain", requires = "path")]
    domain: Option<Domain>,

    /// Crate to add to Cargo.toml for that type: `cert-manager@0.1`, `certs@../certs` or
    /// `certs@https://github.com/me/certs?tag=v1` [default: none, if Cargo.toml already has the crate]
    #[arg(long = "external-api-crate", value_name = "CRATE", requires = "path")]
    #[arg(alias = "external-api-module")]
    dependency: Option<Dependency>,
}

/// Adds an API, its controller, or both to the project in `root`. Paths in the arguments are relative to `folder`.
pub fn run(args: CreateApi, root: &Path, folder: &Path) -> Result<Outcome> {
    args.kubebuilder.features(args.settings.image.is_some())?;
    if let Some(file) = args.crd.clone() {
        ensure!(
            args.settings.external.is_none(),
            UsageError(
                "`--external-api-path` names an existing Rust type, but `--crd` creates one: use \
                 only one of the two flags"
                    .to_owned()
            )
        );
        return crd::run(&args, &file, root, folder);
    }
    let tree = WorkTree::open(root, &CONVENTIONS)?;
    let before = load_current(&tree)?;
    let last = before.resources.iter().rfind(|resource| resource.has_api());
    let id = (args.id).complete(last.map(|resource| &resource.group), Some(&"v1".parse()?))?;
    let settings = args.settings;

    let mut wanted = settings.resource(&id, &before)?;
    note_types(&mut wanted, &before, &tree)?;
    let mut after = before.clone();
    or_way_out(after.add(wanted.clone(), args.force))?;

    let mut story = story(&id, &wanted, &settings.controller_of(&id), &after, &tree)?;
    story.notes.extend(moved_storage(&before, &wanted));
    story.notes.extend(settings.consequences(&id, &before)?);
    story.notes.extend(args.kubebuilder.note());
    carry_out(Turn::between(&tree, &before, after)?, &args.mode, &story)
}

/// Notes in the new controllers of `resource` whether the user has replaced the example types.
fn note_types(resource: &mut Resource, before: &Project, tree: &WorkTree) -> Result<()> {
    let there = before.position(resource).map(|at| &before.resources[at]);
    let copied = || before.hub(resource.group.as_str(), resource.kind.as_str());
    let Some(there) = there.or_else(copied) else {
        return Ok(());
    };
    let mut new: Vec<_> = (resource.controllers.iter_mut())
        .filter(|controller| there.controller(&controller.name).is_none())
        .collect();
    if new.is_empty() || !there.has_api() || there.has_given_types() {
        return Ok(());
    }
    let path = before.types_file(there);
    let types = tree.read_text(&path)?;
    let file = File {
        path: &path,
        text: types.as_deref(),
    };
    if !has_example_status(there.kind.as_str(), file) {
        for controller in &mut new {
            controller.types = Types::Given;
        }
    }
    Ok(())
}

impl ApiSettings {
    /// The entry in `PROJECT` with these settings.
    fn resource(&self, id: &GroupVersionKind, project: &Project) -> Result<Resource> {
        let mut resource = match (&self.external, self.resource) {
            (Some(external), resource) => {
                ensure!(
                    resource != Some(true),
                    UsageError(
                        "`--external-api-path` is for a kind that another project defines: leave \
                         out `--resource`"
                            .to_owned()
                    )
                );
                external.resource(id, project)?
            }
            (None, Some(true)) => own(id, project)?,
            (None, Some(false)) => known(id, project)?,
            (None, None) => match project.find(id)? {
                Some(there) => there.clone(),
                None => own(id, project)?,
            },
        };
        if self.resource == Some(false) || !resource.has_api() {
            self.not_described(id, &resource)?;
        }
        self.version(&mut resource, project)?;
        let only_version =
            project.position(&resource).is_none() && project.versions(&resource).next().is_none();
        let usual = self.resource == Some(false)
            || self.controller_name.is_some()
            || resource.controller(&self.controller_of(id)).is_some()
            || only_version;
        self.control(id, &mut resource, usual)?;
        resource.namespaced = self.namespaced.unwrap_or(resource.namespaced);
        if let Some(plural) = &self.plural {
            resource.plural.clone_from(plural);
        }
        if let Some(short_names) = &self.short_names {
            resource.short_names.clone_from(short_names);
        }
        Ok(resource)
    }

    /// Sets whether `resource`, a version of one of the project's kinds, is served, stored, deprecated and converted.
    fn version(&self, resource: &mut Resource, project: &Project) -> Result<()> {
        let is_new = project.position(resource).is_none();
        let stored = project
            .versions(resource)
            .find(|version| version.is_stored());
        let stored = stored.filter(|version| version.version != resource.version);
        let id = resource.to_string();
        let Definition::Own(own) = &mut resource.definition else {
            return Ok(());
        };
        if let Some(conversion) = self.conversion {
            own.conversion = conversion;
            if is_new && stored.is_some() {
                own.stage = Own::further(conversion).stage;
            }
        }
        if let Some(deprecation) = &self.deprecated {
            own.deprecation.clone_from(deprecation);
        }
        if self.storage {
            own.stage = Stage::Stored;
        }
        match self.served {
            Some(true) => own.stage = own.stage.max(Stage::Served),
            Some(false) if own.stage == Stage::Stored => {
                return Err(anyhow!("{id} is the stored version, so it must be served"))
                    .or_hint("store another version first, with `--storage`");
            }
            Some(false) => own.stage = Stage::Unserved,
            None => {}
        }
        if let Some(stored) = stored.filter(|_| self.storage) {
            resource.controllers.clone_from(&stored.controllers);
            resource.webhooks.clone_from(&stored.webhooks);
        }
        Ok(())
    }

    /// Notes about new kinds of the controller whose objects give more power than others, or do something once.
    fn consequences(&self, id: &GroupVersionKind, before: &Project) -> Result<Vec<String>> {
        let known = before.find(id)?;
        let known = known.and_then(|resource| resource.controller(&self.controller_of(id)));
        let new = |ids: Option<&[GroupVersionKind]>, known: Option<&[GroupVersionKind]>| {
            let known = known.unwrap_or_default().iter().filter_map(builtin::named);
            let known: Vec<_> = known.collect();
            let kinds = ids.unwrap_or_default().iter().filter_map(builtin::named);
            kinds
                .filter(|kind| !known.contains(kind))
                .collect::<Vec<_>>()
        };
        let (extent, narrower) = if before.namespaced {
            ("of its namespace", String::new())
        } else {
            ("of the cluster", format!(": {NARROWER_OWNS}"))
        };
        let mut notes = Vec::new();
        for kind in new(
            self.owns.as_deref(),
            known.map(|controller| controller.owns.as_slice()),
        ) {
            match (kind.group, kind.kind) {
                ("", "Secret") => notes.push(format!(
                    "the role allows the operator to read, change and delete all Secrets \
                     {extent}{narrower}"
                )),
                ("rbac.authorization.k8s.io", kind) => notes.push(format!(
                    "a {kind} can only give permissions that the operator has itself: add them to \
                     `RULES`. With the verbs `Escalate` and `Bind` instead, the operator could \
                     give itself all permissions"
                )),
                ("batch", "Job") => notes.push(
                    "the Job runs once for each object, right after its creation: for a Job that \
                     runs before the deletion of the object, use `Builder::owns_until_cleanup`"
                        .to_owned(),
                ),
                _ => {}
            }
        }
        let watches = new(
            self.watches.as_deref(),
            known.map(|controller| controller.watches.as_slice()),
        );
        if watches.iter().any(|kind| kind.id() == "v1/Secret") {
            notes.push(format!(
                "the role allows the operator to read all Secrets {extent}: {NARROWER_WATCHES}"
            ));
        }
        Ok(notes)
    }

    /// The name of the controller to which these settings apply.
    fn controller_of(&self, id: &GroupVersionKind) -> ControllerName {
        let name = self.controller_name.clone();
        name.unwrap_or_else(|| id.kind().controller())
    }

    /// Adds the controller with these settings to `resource`, or removes it. `usual` is the default of `--controller`.
    fn control(&self, id: &GroupVersionKind, resource: &mut Resource, usual: bool) -> Result<()> {
        let name = self.controller_of(id);
        let is_wanted = self.controller.unwrap_or(usual);
        let before = resource.controller(&name).filter(|_| is_wanted).cloned();
        let mut controller = before.unwrap_or_else(|| Controller::new(name.clone()));
        controller.finalizer = self.finalizer.unwrap_or(controller.finalizer);
        controller.finalizer_name.take_if(|_| !controller.finalizer);
        if let Some(owns) = &self.owns {
            controller.owns.clone_from(owns);
        }
        if let Some(watches) = &self.watches {
            controller.watches.clone_from(watches);
        }
        if let Some(image) = &self.image {
            controller.image = Some(image.image(controller.image.as_ref()));
            let deployment: GroupVersionKind = Image::KIND.parse()?;
            if !controller.owns.contains(&deployment) {
                controller.owns.push(deployment);
            }
        }
        if is_wanted {
            resource.set_controller(controller);
        } else {
            resource.without_controller(&controller)?;
            resource.remove_controller(&name);
        }
        Ok(())
    }

    /// Refuses flags that describe a new kind, because this kind exists. Plural and scope are allowed for a kind that
    /// another project defines, because they are only in the CRD of that kind.
    fn not_described(&self, id: &GroupVersionKind, resource: &Resource) -> Result<()> {
        let unknown = resource.external().is_some();
        let about_the_kind = [
            ("--plural", self.plural.is_some() && !unknown),
            ("--short-name", self.short_names.is_some()),
            ("--namespaced", self.namespaced.is_some() && !unknown),
            ("--storage", self.storage),
            ("--served", self.served.is_some()),
            ("--deprecated", self.deprecated.is_some()),
            ("--conversion", self.conversion.is_some()),
        ];
        for (flag, given) in about_the_kind {
            ensure!(
                !given,
                "`{flag}` is for a new kind, but `{id}` exists already"
            );
        }
        Ok(())
    }
}

impl ExternalType {
    /// The entry in `PROJECT` of the kind `id`; an existing entry gives the defaults.
    pub(super) fn resource(&self, id: &GroupVersionKind, project: &Project) -> Result<Resource> {
        let (group, domain) = match &self.domain {
            // The domain alone is the full group.
            Some(domain) if id.group().is_empty() => (domain.as_str().parse()?, None),
            Some(domain) => (id.group().without(domain), Some(domain.clone())),
            None => (id.group().clone(), None),
        };
        ensure!(
            !group.is_empty(),
            UsageError(
                "a kind that another project defines needs `--group` or \
                 `--external-api-domain`"
                    .to_owned()
            )
        );
        let definition = |dependency| {
            let path = self.path.clone();
            Definition::External(External::At { dependency, path })
        };
        let new = Resource {
            domain,
            ..Resource::new(group, id, definition(self.dependency.clone()))
        };
        let full = new.id_in(project.full_group(&new).parse()?);
        let there = project.find(&full)?;
        let Some((there, before)) =
            there.and_then(|resource| Some((resource, resource.external()?)))
        else {
            return Ok(new);
        };
        let kept = match before {
            External::At { dependency, path } if path.crate_ident() == self.path.crate_ident() => {
                dependency.clone()
            }
            _ => None,
        };
        Ok(Resource {
            definition: definition(self.dependency.clone().or(kept)),
            ..there.clone()
        })
    }
}

/// An existing kind of the project or of Kubernetes.
fn known(id: &GroupVersionKind, project: &Project) -> Result<Resource> {
    let kind = project.find_kind(id)?;
    kind.ok_or_else(|| anyhow!("neither this project nor Kubernetes has the kind `{id}`"))
        .or_hint(
            "leave out `--resource=false` to create the kind; if another project defines it, \
             create its types with `--crd <FILE>`, or name its Rust type with \
             `--external-api-path`",
        )
}

/// A kind that this project defines; another version of the kind gives the defaults.
fn own(id: &GroupVersionKind, project: &Project) -> Result<Resource> {
    let (group, domain) = project.group(id.group())?;
    let new = Resource {
        domain,
        ..Resource::new(group, id, Definition::Own(Own::first()))
    };
    let versions: Vec<_> = project.versions(&new).collect();
    let there = versions
        .iter()
        .find(|resource| resource.version == new.version);
    Ok(match (there, versions.first()) {
        (Some(there), _) => Resource::clone(there),
        (None, Some(&sibling)) => Resource {
            version: new.version,
            definition: Definition::Own(Own {
                types: sibling.own().map(|own| own.types).unwrap_or_default(),
                ..Own::further(sibling.own().map(|own| own.conversion).unwrap_or_default())
            }),
            controllers: Vec::new(),
            webhooks: Webhooks::default(),
            ..sibling.clone()
        },
        (None, None) => new,
    })
}

/// A note about the versions of crates that the Rust type of an external kind needs.
pub(super) fn external_note(resource: &Resource) -> Option<String> {
    let External::At { path, .. } = resource.external()? else {
        return None;
    };
    Some(format!(
        "`{path}` must use the same versions of kube and k8s-openapi as Cargo.toml: run `cargo \
         check`"
    ))
}

/// A note about existing objects, which are stored in another version than `resource`, the new storage version.
fn moved_storage(before: &Project, resource: &Resource) -> Option<String> {
    let stored = before
        .versions(resource)
        .find(|resource| resource.is_stored());
    let stored =
        stored.filter(|stored| resource.is_stored() && stored.version != resource.version)?;
    let (new, old) = (&resource.version, &stored.version);
    Some(if before.namespaced {
        format!(
            "with the new CRD, an object is stored as `{new}` once it is written again; until then \
             it stays stored as `{old}`, because a namespaced operator cannot migrate objects"
        )
    } else {
        let crd = format!("{}.{}", resource.plural, before.full_group(resource));
        format!(
            "with the new CRD, objects are stored as `{new}`, and the operator migrates the \
             objects that are stored as `{old}`: wait for the end with `kubectl wait \
             --for=condition=StorageMigrated crd/{crd}`"
        )
    })
}

/// A note about owned kinds whose types come from a CRD and have no `Default`, because the controller's code creates
/// objects by `default()`.
fn without_default(
    controller: Option<&Controller>,
    project: &Project,
    tree: &WorkTree,
) -> Result<Option<String>> {
    let mut found = Vec::new();
    for id in controller
        .into_iter()
        .flat_map(|controller| &controller.owns)
    {
        let kind = project.find(id)?;
        let Some(kind) = kind.filter(|kind| kind.has_given_types()) else {
            continue;
        };
        let types = tree.read_text(&project.types_file(kind))?;
        let has_default = types.is_some_and(|types| {
            types.contains("derive = \"Default\"")
                || types.contains(&format!("impl Default for {} ", kind.kind))
        });
        if !has_default {
            found.push(format!("`{id}`"));
        }
    }
    Ok((!found.is_empty()).then(|| {
        format!(
            "the types of {} come from a CRD and have no `Default`: implement it, or set each \
             field where the controller creates the object",
            found.join(", ")
        )
    }))
}

/// The messages for the user.
fn story(
    id: &GroupVersionKind,
    resource: &Resource,
    controller: &ControllerName,
    project: &Project,
    tree: &WorkTree,
) -> Result<Story> {
    let types = project.types_file(resource);
    let there = resource.controller(controller);
    let usual = || Controller::new(resource.kind.controller());
    let controller = there.cloned().unwrap_or_else(usual);
    let reconciler = project.controller_file(resource, &controller);
    let full_group = project.full_group(resource);

    let mut notes = Vec::new();
    if project.is_protected(resource) {
        notes.push(format!(
            "`{full_group}` belongs to the Kubernetes project, so the CRD has the annotation \
             `api-approved.kubernetes.io: unapproved, experimental-only`"
        ));
    }
    if resource.has_api() && !resource.is_served() && !project.is_converted(resource) {
        notes.push(format!(
            "{resource} is not served yet, because the API server cannot convert it to the served \
             version: add a webhook that converts with `rscaffold create webhook --conversion`"
        ));
    }
    notes.extend(external_note(resource));
    if resource.has_api() && builtin::named(id).is_some() {
        notes.push(format!(
            "this creates the new kind `{full_group}/{}/{}`; for a controller of the built-in \
             `{id}`, use `--resource=false`",
            resource.version, resource.kind
        ));
    }

    let (edited, types_remark, remark) = if resource.has_api() {
        (
            &types,
            "the types: edit them",
            "the reconciler: edit it, too",
        )
    } else {
        (
            &reconciler,
            "the types, from the CRD",
            "the reconciler: edit it",
        )
    };
    let mut next = Vec::new();
    if resource.has_api() || !resource.controllers.is_empty() {
        let why = format!("after an edit of {edited}");
        next.push(NextStep::new("make manifests", why));
    }
    let has_crds = project.resources.iter().any(Resource::has_api);
    let (command, what) = match (has_crds, project.controllers().next()) {
        (true, Some(_)) => ("make install run", "CRDs and operator"),
        (true, None) => ("make install", "CRDs"),
        (false, _) => ("make run", "operator"),
    };
    next.push(NextStep::new(
        command,
        format!("{what}, on your current cluster"),
    ));
    if resource.has_api() {
        next.push(NextStep::new(
            "kubectl apply -k config/samples",
            "an object to reconcile",
        ));
    }

    notes.extend(without_default(there, project, tree)?);

    Ok(Story {
        unchanged: format!("{resource} exists and is up to date"),
        remarks: BTreeMap::from([(types, types_remark), (reconciler, remark)]),
        runtime: Some(project.runtime.clone()),
        notes,
        next,
        ..Story::default()
    })
}

mod crd;
#[cfg(test)]
mod tests;
