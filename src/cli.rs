//! The command line as clap sees it. What it parsed goes to [`crate::command`] as plain values.

use std::error::Error as _;

use anyhow::bail;
use clap::{
    ArgGroup, Args, Parser, Subcommand, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
    error::ErrorKind,
};
use clap_complete::Shell;

use crate::{
    command::{Mode, apply, create_api, id, settings::Settings},
    names::{
        ControllerName, Dependency, Domain, Group, GroupVersionKind, Kind, Plural, ProjectName,
        Repo, ShortName, TypePath, Version,
    },
    project::{Feature, License},
    reconcile::{OnConflict, Path},
};

/// Scaffolds Kubernetes operators in Rust, on kube-rs
///
/// The project is described by its `PROJECT` file. Every command changes that description and
/// brings the files in line with it: what you edited is merged, never overwritten.
#[derive(Debug, Parser)]
#[command(name = "rscaffold", version, max_term_width = 100, after_help = EXAMPLES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  # An operator in two commands, in an empty folder
  rscaffold init --domain com --repo guestbook
  rscaffold create api --group webapp --version v1 --kind Guestbook";

impl Cli {
    /// Parses the arguments of this process.
    ///
    /// Help and usage errors are clap's to print, and end the process. A name that breaks the rules
    /// of its kind is an error like any other.
    pub fn from_env() -> anyhow::Result<Self> {
        Self::try_parse().or_else(|error| match (error.kind(), error.source()) {
            (ErrorKind::ValueValidation, Some(source)) => bail!("{source}"),
            _ => error.exit(),
        })
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start a project in the current folder
    Init(Init),
    /// Add to the project
    #[command(subcommand)]
    Create(Create),
    /// Remove from the project
    #[command(subcommand)]
    Delete(Delete),
    /// Change what the project is as a whole, and what it has besides its APIs
    Edit(Edit),
    /// Print what would change now, as a unified diff
    Diff(Diff),
    /// Bring the files in line with `PROJECT`, after an edit of it or a merge of branches
    Apply(Apply),
    /// Bring a project of an older rscaffold up to date
    Update(Update),
    /// Print the version of rscaffold
    Version(ShowVersion),
    /// Print the completion script of a shell
    Completion(Completion),
}

/// What can be removed from a project.
#[derive(Debug, Subcommand)]
pub enum Delete {
    /// Remove a version of a kind: types, CRD, sample, roles and controllers
    Api(DeleteApi),
    /// Remove a controller of a kind
    Controller(DeleteController),
}

/// What can be added to a project.
#[derive(Debug, Subcommand)]
pub enum Create {
    /// Add an API (types and CRD), its controller, or both
    Api(CreateApi),
}

/// `init`
#[derive(Debug, Args)]
#[command(after_help = INIT_EXAMPLES)]
pub struct Init {
    /// Domain of the API groups: group `webapp` becomes `webapp.<DOMAIN>`; asked for at a terminal
    #[arg(long)]
    domain: Option<Domain>,

    /// Where the project lives, `guestbook`, `github.com/me/guestbook` or a git URL: its last part
    /// names the crate [default: the project's name]
    #[arg(long)]
    repo: Option<Repo>,

    /// Name of the project, the prefix of what it deploys [default: the folder's name]
    #[arg(long, value_name = "NAME")]
    project_name: Option<ProjectName>,

    /// License of the project, named at the top of every source file
    #[arg(long, value_enum, default_value = "apache2")]
    license: LicenseName,

    #[command(flatten)]
    settings: AnySettings,

    /// Accepted for those used to kubebuilder, and ignored: the layout always is for many groups
    #[arg(long)]
    multigroup: bool,

    #[command(flatten)]
    writing: Writing,
}

const INIT_EXAMPLES: &str = "\
Examples:
  # In an empty folder
  rscaffold init --domain example.com --repo github.com/me/guestbook

  # In a clone that has a README of its own: see what would happen, then keep that README
  rscaffold init --domain example.com --dry-run
  rscaffold init --domain example.com --on-conflict=ours

  # An operator for one namespace, under the MIT license
  rscaffold init --domain example.com --namespaced --license mit --owner \"The Guestbook Authors\"";

impl Init {
    /// The plain values.
    pub fn split(self) -> (Settings, Mode) {
        let settings = Settings {
            domain: self.domain,
            repo: self.repo,
            project_name: self.project_name,
            license: Some(self.license.into()),
            ..self.settings.into()
        };
        (settings, self.writing.into())
    }
}

/// `edit`
#[derive(Debug, Args)]
#[command(after_help = EDIT_EXAMPLES, override_usage = "rscaffold edit [OPTIONS]")]
#[command(group(ArgGroup::new("setting").args(SETTINGS).required(true).multiple(true)))]
pub struct Edit {
    /// Domain of the API groups: group `webapp` becomes `webapp.<DOMAIN>`
    #[arg(long)]
    domain: Option<Domain>,

    /// Where the project lives: its last part names the crate
    #[arg(long)]
    repo: Option<Repo>,

    /// Name of the project, the prefix of what it deploys
    #[arg(long, value_name = "NAME")]
    project_name: Option<ProjectName>,

    /// License of the project, named at the top of every source file
    #[arg(long, value_enum)]
    license: Option<LicenseName>,

    #[command(flatten)]
    settings: AnySettings,

    #[command(flatten)]
    writing: Writing,
}

/// What `edit` changes: one of these has to be given.
const SETTINGS: [&str; 8] = [
    "domain",
    "repo",
    "project_name",
    "license",
    "owner",
    "namespaced",
    "enable",
    "disable",
];

const EDIT_EXAMPLES: &str = "\
Examples:
  # Have the Prometheus operator read the metrics, and let nobody else reach the operator
  rscaffold edit --enable prometheus,network-policy

  # Do without the files for GitHub and dev containers
  rscaffold edit --disable github,devcontainer

  # Another name, for all that is deployed
  rscaffold edit --project-name library";

impl Edit {
    /// The plain values.
    pub fn split(self) -> (Settings, Mode) {
        let settings = Settings {
            domain: self.domain,
            repo: self.repo,
            project_name: self.project_name,
            license: self.license.map(License::from),
            ..self.settings.into()
        };
        (settings, self.writing.into())
    }
}

/// What `init` and `edit` take alike.
#[derive(Debug, Args)]
struct AnySettings {
    /// Who holds the copyright, as named in the license; `--owner=` names nobody in particular
    #[arg(long)]
    owner: Option<String>,

    /// Whether the operator watches its own namespace instead of the whole cluster
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", hide_possible_values = true)]
    namespaced: Option<bool>,

    /// Feature that the project shall have; may be repeated, or hold several between commas
    #[arg(long, value_name = "FEATURE", value_delimiter = ',', value_parser = features())]
    enable: Vec<Feature>,

    /// Feature that the project shall not have; may be repeated, or hold several between commas
    #[arg(long, value_name = "FEATURE", value_delimiter = ',', value_parser = features())]
    #[arg(hide_possible_values = true)]
    disable: Vec<Feature>,
}

/// Takes one of the features; help and completion list them.
fn features() -> impl TypedValueParser<Value = Feature> {
    PossibleValuesParser::new(Feature::ALL.map(Feature::name)).try_map(|name| name.parse())
}

impl From<AnySettings> for Settings {
    fn from(settings: AnySettings) -> Self {
        Self {
            owner: settings.owner,
            namespaced: settings.namespaced,
            enable: settings.enable,
            disable: settings.disable,
            ..Self::default()
        }
    }
}

/// `create api`
#[derive(Debug, Args)]
#[command(after_help = CREATE_API_EXAMPLES)]
pub struct CreateApi {
    #[command(flatten)]
    id: Id,

    /// Plural of the kind, in lower case [default: the English one]
    #[arg(long)]
    plural: Option<Plural>,

    /// Short name for kubectl; may be repeated, or hold several between commas
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    short_name: Option<Vec<ShortName>>,

    /// Whether to create the types and the CRD; with `false`, a controller for a kind that is there
    /// already, in the project or in Kubernetes [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", hide_possible_values = true)]
    resource: Option<bool>,

    /// Whether to create a controller [default: true for a new kind, false for another version of
    /// it]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", hide_possible_values = true)]
    controller: Option<bool>,

    /// Name of the controller, for a second one of the kind: `--controller`, `--finalizer` and
    /// `--owns` are then about this one [default: the kind, in lower case]
    #[arg(long, value_name = "NAME")]
    controller_name: Option<ControllerName>,

    /// Whether objects of the kind live in a namespace, not in the cluster as a whole [default:
    /// true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", hide_possible_values = true)]
    namespaced: Option<bool>,

    /// Whether the controller holds a deleted object back with a finalizer until it has cleaned up
    /// [default: false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", hide_possible_values = true)]
    finalizer: Option<bool>,

    /// Kind of objects that the controller makes for each of its own, such as
    /// `apps/v1/Deployment`, `v1/ConfigMap` or `webapp/v1/Page`; may be repeated, or hold several
    /// between commas. Adds to what is owned already; with `--force`, replaces it
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    owns: Option<Vec<GroupVersionKind>>,

    /// Rust type of a kind that others define, such as `cert_manager::v1::Certificate`: the project
    /// gets no types and no CRD for it, but may have a controller of it, and own its objects
    #[arg(long, value_name = "PATH")]
    external_api_path: Option<TypePath>,

    /// Domain of that kind's group: `--group cert-manager` is then `cert-manager.<DOMAIN>` [default:
    /// none, the group is the whole]
    #[arg(long, value_name = "DOMAIN", requires = "external_api_path")]
    external_api_domain: Option<Domain>,

    /// Crate of that type, for Cargo.toml: `cert-manager@0.1`, `certs@../certs` or
    /// `certs@https://github.com/me/certs?tag=v1` [default: none, it is there already]
    #[arg(long, value_name = "CRATE", requires = "external_api_path")]
    #[arg(alias = "external-api-module")]
    external_api_crate: Option<Dependency>,

    /// Change the settings of an API that is there already to what these flags say
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    writing: Writing,
}

const CREATE_API_EXAMPLES: &str = "\
Examples:
  # A kind with its types, CRD, sample, roles and controller
  rscaffold create api --group webapp --version v1 --kind Guestbook

  # A cluster-scoped kind with short names, whose objects are cleaned up after
  rscaffold create api --group infra --version v1alpha1 --kind Network --namespaced=false \\
      --short-name net,nw --finalizer

  # A kind whose controller makes a Deployment for each object
  rscaffold create api --group webapp --version v1 --kind Guestbook --owns apps/v1/Deployment

  # A second version of a kind: takes plural, scope and short names from the first
  rscaffold create api --group webapp --version v2 --kind Guestbook

  # A second controller for a kind
  rscaffold create api --group webapp --version v1 --kind Guestbook --controller-name backup

  # A controller for a kind of Kubernetes
  rscaffold create api --group apps --version v1 --kind Deployment --resource=false

  # A controller for a kind that others define
  rscaffold create api --group cert-manager --version v1 --kind Certificate --resource=false \\
      --external-api-path cert_manager::v1::Certificate --external-api-domain io \\
      --external-api-crate cert-manager@0.1";

impl CreateApi {
    /// The plain values.
    pub fn split(self) -> (create_api::Options, Mode) {
        let options = create_api::Options {
            id: self.id.into(),
            settings: create_api::Settings {
                plural: self.plural,
                short_names: self.short_name,
                resource: self.resource,
                controller: self.controller,
                controller_name: self.controller_name,
                namespaced: self.namespaced,
                finalizer: self.finalizer,
                owns: self.owns,
                external: self.external_api_path.map(|path| create_api::External {
                    path,
                    domain: self.external_api_domain,
                    dependency: self.external_api_crate,
                }),
            },
            force: self.force,
        };
        (options, self.writing.into())
    }
}

/// Which kind a command is about.
#[derive(Debug, Args)]
struct Id {
    /// API group without the domain, such as `webapp`; asked for at a terminal
    #[arg(long)]
    group: Option<Group>,

    /// API version, such as `v1` or `v1alpha1`; asked for at a terminal
    #[arg(long)]
    version: Option<Version>,

    /// Kind, in upper camel case, such as `Guestbook`; asked for at a terminal
    #[arg(long)]
    kind: Option<Kind>,
}

impl From<Id> for id::Id {
    fn from(id: Id) -> Self {
        Self {
            group: id.group,
            version: id.version,
            kind: id.kind,
        }
    }
}

/// `delete api`
#[derive(Debug, Args)]
#[command(after_help = DELETE_API_EXAMPLES)]
pub struct DeleteApi {
    #[command(flatten)]
    id: Id,

    #[command(flatten)]
    writing: Writing,
}

const DELETE_API_EXAMPLES: &str = "\
Examples:
  # See what would go, then let it go
  rscaffold delete api --group webapp --version v1 --kind Guestbook --dry-run
  rscaffold delete api --group webapp --version v1 --kind Guestbook

  # Files that you changed as well
  rscaffold delete api --group webapp --version v1 --kind Guestbook --on-conflict=theirs";

impl DeleteApi {
    /// The plain values.
    pub fn split(self) -> (id::Id, Mode) {
        (self.id.into(), self.writing.into())
    }
}

/// `delete controller`
#[derive(Debug, Args)]
#[command(after_help = DELETE_CONTROLLER_EXAMPLES)]
pub struct DeleteController {
    #[command(flatten)]
    id: Id,

    /// Name of the controller [default: the kind's own, called as the kind in lower case]
    #[arg(long, value_name = "NAME")]
    controller_name: Option<ControllerName>,

    #[command(flatten)]
    writing: Writing,
}

const DELETE_CONTROLLER_EXAMPLES: &str = "\
Examples:
  # The types, CRD and roles stay
  rscaffold delete controller --group webapp --version v1 --kind Guestbook

  # One of several
  rscaffold delete controller --group webapp --version v1 --kind Guestbook \\
      --controller-name backup";

impl DeleteController {
    /// The plain values.
    pub fn split(self) -> (id::Id, Option<ControllerName>, Mode) {
        (self.id.into(), self.controller_name, self.writing.into())
    }
}

/// `diff`
#[derive(Debug, Args)]
#[command(after_help = DIFF_EXAMPLES)]
pub struct Diff {
    /// Exit with 1 if something would change
    #[arg(long)]
    exit_code: bool,

    #[command(flatten)]
    conflicts: Conflicts,
}

const DIFF_EXAMPLES: &str = "\
Examples:
  # After an edit of PROJECT
  rscaffold diff

  # In CI: fail unless PROJECT and the files agree
  rscaffold diff --exit-code";

impl Diff {
    /// The plain values.
    pub fn split(self) -> (bool, OnConflict) {
        (self.exit_code, self.conflicts.on_conflict.into())
    }
}

/// `apply`
#[derive(Debug, Args)]
#[command(after_help = APPLY_EXAMPLES)]
pub struct Apply {
    /// Make the record of what was written last anew, if it is lost or damaged: from then on, what
    /// differs from a new project counts as your edit
    #[arg(long)]
    rebuild_base: bool,

    /// File that you deleted, to be written again; may be repeated, or hold several between commas
    #[arg(
        long,
        value_name = "FILE",
        value_delimiter = ',',
        conflicts_with = "rebuild_base"
    )]
    restore: Vec<Path>,

    #[command(flatten)]
    writing: Writing,
}

const APPLY_EXAMPLES: &str = "\
Examples:
  # After an edit of PROJECT
  rscaffold apply

  # After `git merge`, with or without conflicts in PROJECT and in lists
  rscaffold apply

  # A file that was deleted by mistake
  rscaffold apply --restore config/manager/manager.yaml";

impl Apply {
    /// The plain values.
    pub fn split(self) -> (apply::Options, Mode) {
        let options = apply::Options {
            rebuild_base: self.rebuild_base,
            restore: self.restore,
        };
        (options, self.writing.into())
    }
}

/// `update`
#[derive(Debug, Args)]
#[command(after_help = UPDATE_EXAMPLES)]
pub struct Update {
    #[command(flatten)]
    writing: Writing,
}

const UPDATE_EXAMPLES: &str = "\
Examples:
  # See which files would change, and how
  rscaffold update --dry-run
  rscaffold diff

  # Change them
  rscaffold update";

impl Update {
    /// The plain values.
    pub fn split(self) -> Mode {
        self.writing.into()
    }
}

/// `version`
#[derive(Debug, Args)]
#[command(after_help = VERSION_EXAMPLES)]
pub struct ShowVersion {
    /// How to print it
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value = "text")]
    pub output: Format,
}

const VERSION_EXAMPLES: &str = "\
Examples:
  rscaffold version
  rscaffold version -o json";

/// How `version` prints.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Format {
    /// One line.
    Text,
    /// One object.
    Json,
}

/// `completion`
#[derive(Debug, Args)]
#[command(after_help = COMPLETION_EXAMPLES)]
pub struct Completion {
    /// Shell that shall complete
    pub shell: Shell,
}

const COMPLETION_EXAMPLES: &str = "\
Examples:
  # bash, for this session
  source <(rscaffold completion bash)

  # zsh, with ~/.zfunc in $fpath
  rscaffold completion zsh > ~/.zfunc/_rscaffold

  # fish
  rscaffold completion fish > ~/.config/fish/completions/rscaffold.fish";

/// How a command that changes the project writes.
#[derive(Debug, Args)]
struct Writing {
    /// Show what would be done to which file, and write nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    conflicts: Conflicts,
}

/// What becomes of conflicts.
#[derive(Debug, Args)]
struct Conflicts {
    /// Lines that both you and rscaffold changed: `abort` shows them and writes nothing, `ours`
    /// keeps yours, `theirs` takes rscaffold's, `markers` writes both between conflict markers
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        default_value = "abort",
        hide_possible_values = true
    )]
    on_conflict: OnConflictName,
}

impl From<Writing> for Mode {
    fn from(writing: Writing) -> Self {
        Self {
            dry_run: writing.dry_run,
            on_conflict: writing.conflicts.on_conflict.into(),
        }
    }
}

impl From<OnConflictName> for OnConflict {
    fn from(name: OnConflictName) -> Self {
        match name {
            OnConflictName::Abort => Self::Abort,
            OnConflictName::Ours => Self::Ours,
            OnConflictName::Theirs => Self::Theirs,
            OnConflictName::Markers => Self::Markers,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OnConflictName {
    Abort,
    Ours,
    Theirs,
    Markers,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LicenseName {
    #[value(name = "apache2")]
    Apache2,
    Mit,
    None,
}

impl From<LicenseName> for License {
    fn from(name: LicenseName) -> Self {
        match name {
            LicenseName::Apache2 => Self::Apache2,
            LicenseName::Mit => Self::Mit,
            LicenseName::None => Self::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
