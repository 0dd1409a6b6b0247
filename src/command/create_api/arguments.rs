//! The flags of `create api`.

use std::{collections::BTreeMap, path::PathBuf, str::FromStr};

use anyhow::{Context as _, Result, anyhow};
use clap::Args;

use crate::{
    command::{
        Mode,
        external::ExternalType,
        flags_of_other_tools::FlagsOfOtherTools,
        id::Id,
        other_tools::{boolean, namespaced},
    },
    hint::OrHint,
    names::{
        CommandWord, ControllerName, Group, GroupVersionKind, ImageName, Plural, Port, ShortName,
        UserId, Version, in_backticks,
    },
    project::{ConversionStrategy, Deprecation, Image, Project},
};

/// `create api`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CreateApi {
    #[command(flatten)]
    pub(super) id: Id,

    /// File with a CRD; `-` is standard input. Adds its kind with Rust types, in all versions or only in `--version`.
    /// If the file has several CRDs, choose one with `--group` and `--kind`. With `--resource=false`, another project
    /// defines the kind and installs the CRD
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = [
        "plural", "short_names", "namespaced", "storage", "served", "deprecated", "conversion", "name",
    ])]
    pub(super) crd: Option<PathBuf>,

    #[command(flatten)]
    pub(super) settings: ApiSettings,

    /// Allow changes to the settings of an existing API; with `--crd`, replace types that you edited
    #[arg(long)]
    pub(super) force: bool,

    #[command(flatten)]
    pub(super) of_other_tools: FlagsOfOtherTools,

    #[command(flatten)]
    pub(super) mode: Mode,
}

const EXAMPLES: &str = "\
Examples:
  # A kind with its types, CRD, sample, roles and controller
  rscaffold create api --group webapp --version v1 --kind Guestbook

  # A cluster-scoped kind with short names and a finalizer
  rscaffold create api --group infra --version v1alpha1 --kind Network \\
      --namespaced=false --short-name net,nw --finalizer

  # A kind whose controller creates a Deployment for each object
  rscaffold create api --group webapp --version v1 --kind Guestbook \\
      --owns Deployment

  # A kind whose controller runs an image: the spec has number of Pods and port
  rscaffold create api --group cache --version v1alpha1 --kind Memcached \\
      --image memcached:1.6 --image-container-command=memcached,-v \\
      --image-container-port=11211 --run-as-user=1001

  # A kind whose types come from a CustomResourceDefinition
  rscaffold create api --crd config/crd/bases/webapp.com_guestbooks.yaml

  # A second version of a kind, which starts as a copy of the first
  rscaffold create api --group webapp --version v2 --kind Guestbook

  # A version with the same schema: both are served, the new one is stored
  rscaffold create api --group webapp --version v1 --kind Guestbook \\
      --storage --conversion=none
  rscaffold create api --group webapp --version v1beta1 --kind Guestbook \\
      --deprecated='use v1'

  # A second controller for a kind
  rscaffold create controller --group webapp --version v1 --kind Guestbook \\
      --controller-name backup

  # A controller for a built-in kind of Kubernetes
  rscaffold create controller --group apps --version v1 --kind Deployment

  # A controller for a kind of another project, with types from CRD or crate
  rscaffold create api --crd certificates.yaml --resource=false
  rscaffold create api --group cert-manager --version v1 \\
      --kind Certificate --resource=false \\
      --external-api-path cert_manager::v1::Certificate \\
      --external-api-domain io --external-api-crate cert-manager@0.1";

/// `create controller`
#[derive(Debug, Args)]
#[command(after_help = CONTROLLER_EXAMPLES)]
pub struct CreateController {
    #[command(flatten)]
    id: Id,

    #[command(flatten)]
    settings: ControllerSettings,

    #[command(flatten)]
    external: Option<ExternalType>,

    /// Allow changes to the settings of an existing controller
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    of_other_tools: FlagsOfOtherTools,

    #[command(flatten)]
    mode: Mode,
}

const CONTROLLER_EXAMPLES: &str = "\
Examples:
  # A controller for a kind that has none
  rscaffold create controller --group webapp --version v1 --kind Guestbook

  # A second controller for a kind
  rscaffold create controller --group webapp --version v1 --kind Guestbook \\
      --controller-name backup --owns Job

  # A controller for a built-in kind of Kubernetes
  rscaffold create controller --group apps --version v1 --kind Deployment";

impl From<CreateController> for CreateApi {
    fn from(args: CreateController) -> Self {
        Self {
            id: args.id,
            crd: None,
            settings: ApiSettings {
                resource: Some(false),
                controller: Some(true),
                of_controller: args.settings,
                external: args.external,
                ..ApiSettings::default()
            },
            force: args.force,
            of_other_tools: args.of_other_tools,
            mode: args.mode,
        }
    }
}

/// The settings of an API. A setting that is `None` keeps its value, is taken from another version of the kind, or has
/// its default.
#[derive(Debug, Default, Args)]
pub struct ApiSettings {
    /// Plural of the kind, in lower case [default: the English plural]
    #[arg(long)]
    pub plural: Option<Plural>,

    /// Short name for kubectl; repeat the flag or separate names by commas
    #[arg(long = "short-name", value_name = "NAME", value_delimiter = ',')]
    pub short_names: Option<Vec<ShortName>>,

    /// Whether objects of the kind live in a namespace; `false` makes the kind cluster-scoped
    /// [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, value_parser = namespaced())]
    #[arg(default_missing_value = "true", hide_possible_values = true)]
    pub namespaced: Option<bool>,

    /// Whether to create types and a CRD. `false` creates only a controller, for an existing kind of this project, of
    /// Kubernetes or of another project; with `--crd`, it also creates the types [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, value_parser = boolean())]
    #[arg(default_missing_value = "true", hide_possible_values = true)]
    pub resource: Option<bool>,

    /// Whether to create a controller [default: true for a new kind, false for another version of the kind]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, value_parser = boolean())]
    #[arg(default_missing_value = "true", hide_possible_values = true)]
    pub controller: Option<bool>,

    #[command(flatten)]
    pub of_controller: ControllerSettings,

    /// Store objects in this version; the controllers and the webhooks of the kind move to it. The hub of a conversion
    /// stays [default: the first version is stored]
    #[arg(long)]
    pub storage: bool,

    /// Whether the API server serves this version [default: true for the first version of a kind, and for other
    /// versions with a conversion]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, value_parser = boolean())]
    #[arg(default_missing_value = "true", hide_possible_values = true)]
    pub served: Option<bool>,

    /// Have the API server warn clients that use this version, with its own text or with yours; `--deprecated=false`
    /// ends the warning [default: false]
    #[arg(long, value_name = "WARNING", num_args = 0..=1)]
    #[arg(default_missing_value = "true")]
    pub deprecated: Option<Deprecation>,

    /// How the API server converts between the versions of the kind: `none` is for equal schemas, which
    /// `make manifests` checks. `lossy` accepts different schemas: a write through one version loses the fields that
    /// only other versions have. For a conversion without loss, use `create webhook --conversion` [default: no
    /// conversion, so only one version is served]
    #[arg(long, value_name = "HOW", value_enum)]
    #[arg(hide_possible_values = true)]
    pub conversion: Option<ConversionStrategy>,

    #[command(flatten)]
    pub external: Option<ExternalType>,
}

/// The settings of a controller.
#[derive(Debug, Default, Args)]
pub struct ControllerSettings {
    /// Name of the controller to which `--controller`, `--finalizer`, `--image`, `--owns` and `--watches` apply; a new
    /// name adds another controller for the kind [default: the kind, in lower case]
    #[arg(long, value_name = "NAME")]
    pub controller_name: Option<ControllerName>,

    /// Whether the controller uses a finalizer to clean up before an object is deleted [default:
    /// false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, value_parser = boolean())]
    #[arg(default_missing_value = "true", hide_possible_values = true)]
    pub finalizer: Option<bool>,

    /// Kind of which the controller creates objects, such as `apps/v1/Deployment`, `v1/ConfigMap` or `webapp/v1/Page`; a
    /// name that only one kind has is enough. Repeat the flag or separate kinds by commas. Adds to the kinds that the
    /// controller already owns; with `--force`, replaces them
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub owns: Option<Vec<NamedKind>>,

    /// Kind to which your objects refer, such as `v1/Secret`: when a Secret changes, the objects that refer to it are
    /// reconciled. Repeat the flag or separate kinds by commas. Adds to the kinds that the controller already watches;
    /// with `--force`, replaces them
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub watches: Option<Vec<NamedKind>>,

    #[command(flatten)]
    pub image: Option<ImageSettings>,
}

/// The image that the controller runs.
#[derive(Debug, Args)]
pub struct ImageSettings {
    /// Image, such as `memcached:1.6`, that the controller runs in one Deployment per object. The spec of the object
    /// sets the number of Pods, and an environment variable of the operator can replace the image
    #[arg(long = "image", value_name = "IMAGE", required = false)]
    pub name: ImageName,

    /// Command of the container, as words separated by commas [default: the command of the image]
    #[arg(
        long = "image-container-command",
        value_name = "WORDS",
        value_delimiter = ','
    )]
    #[arg(requires = "name")]
    pub command: Vec<CommandWord>,

    /// Port of the container; the spec of an object can change it [default: none]
    #[arg(long = "image-container-port", value_name = "PORT", requires = "name")]
    pub port: Option<Port>,

    /// Numeric ID of the user that runs the container, not root [default: the user of the image]
    #[arg(long, value_name = "USER", requires = "name")]
    pub run_as_user: Option<UserId>,
}

impl ImageSettings {
    /// The image with these settings; a missing setting is taken from `before`.
    pub fn image(&self, before: Option<&Image>) -> Image {
        let command = match before {
            Some(image) if self.command.is_empty() => &image.command,
            _ => &self.command,
        };
        Image {
            command: command.clone(),
            name: self.name.clone(),
            port: self.port.or_else(|| before?.port),
            run_as_user: self.run_as_user.or_else(|| before?.run_as_user),
        }
    }
}

impl ControllerSettings {
    /// The name of the controller to which these settings apply.
    pub fn controller_of(&self, id: &GroupVersionKind) -> ControllerName {
        let name = self.controller_name.clone();
        name.unwrap_or_else(|| id.kind().controller())
    }

    /// The kinds that the controller owns, and those that it watches, as far as there are flags for them.
    pub fn related(&self, project: &Project) -> Result<[Option<Vec<GroupVersionKind>>; 2]> {
        Ok([
            named(self.owns.as_deref(), project)?,
            named(self.watches.as_deref(), project)?,
        ])
    }
}

fn named(kinds: Option<&[NamedKind]>, project: &Project) -> Result<Option<Vec<GroupVersionKind>>> {
    let found = kinds.map(|kinds| kinds.iter().map(|kind| kind.find(project)).collect());
    found.transpose()
}

/// A kind as a user names it: in full, or only by its name in singular or plural, with or without its group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedKind {
    Full(GroupVersionKind),
    Short { name: String, group: Option<Group> },
}

impl FromStr for NamedKind {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        // `apps/Deployment`, or `deployments.apps` as in kubectl.
        let in_group = text.split_once('/').map(|(group, name)| (name, group));
        let (name, group) = in_group.or(text.split_once('.')).unwrap_or((text, ""));
        let is_name = !name.is_empty() && name.chars().all(char::is_alphanumeric);
        if !is_name || group.parse::<Version>().is_ok() {
            return Ok(Self::Full(text.parse()?));
        }
        Ok(Self::Short {
            name: name.to_owned(),
            group: match group {
                "" => None,
                group => Some(group.parse()?),
            },
        })
    }
}

impl NamedKind {
    /// The kind in full.
    ///
    /// # Errors
    /// When none or several kinds of the project and of Kubernetes have this name.
    pub fn find(&self, project: &Project) -> Result<GroupVersionKind> {
        let (shown, name, called) = match self {
            Self::Full(id) => {
                if !matches!(project.find_kind(id), Ok(None)) {
                    return Ok(id.clone());
                }
                // The name may be the plural.
                let mut called = project.called(id.kind().as_str(), Some(id.group()));
                called.retain(|other| other.version() == id.version());
                return Ok(called.into_iter().next().unwrap_or_else(|| id.clone()));
            }
            Self::Short { name, group } => (
                match group {
                    Some(group) => format!("{group}/{name}"),
                    None => name.clone(),
                },
                name,
                project.called(name, group.as_ref()),
            ),
        };
        // The version of each group: the stored one of this project, or the newest one of Kubernetes.
        let mut found: BTreeMap<_, GroupVersionKind> = BTreeMap::new();
        for id in called {
            let own = project.find(&id)?;
            if own.is_some_and(|own| own.has_api() && !own.is_stored()) {
                continue;
            }
            let other = found.get(id.group());
            if other.is_none_or(|other| other.version() < id.version()) {
                found.insert(id.group().clone(), id);
            }
        }
        if found.len() > 1 {
            let kinds = in_backticks(found.values());
            return Err(anyhow!("`{shown}` is the name of several kinds: {kinds}"))
                .or_hint("name one of them in full");
        }
        let only = found.into_values().next();
        let others = project.others(name);
        only.with_context(|| {
            format!("neither this project nor Kubernetes has a kind `{shown}`{others}")
        })
        .or_hint("name a kind as in `Deployment`, `apps/v1/Deployment` or `webapp/v1/Page`")
    }
}
