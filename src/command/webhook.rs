//! `rscaffold create webhook` and `rscaffold delete webhook`

use std::{collections::BTreeMap, path::Path, str::FromStr};

use anyhow::{Error, Result, bail, ensure};
use clap::Args;

use super::{
    Mode,
    ask::{self, Offer},
    create_api::{existing, or_create},
    external::{ExternalType, external_note},
    flags_of_other_tools::FlagsOfOtherTools,
    id::{Id, Usual, existing as existing_kind, own},
    load::open,
    other_tools::namespaced,
    turn::{Turn, carry_out},
    way_out::or_way_out,
};
use crate::{
    command::report::{NextStep, Outcome, Story, UsageError},
    names::{Group, GroupVersionKind, Kind, Plural, Version, WebhookPath, in_backticks},
    project::{Project, Resource, Webhook, Webhooks},
};

/// `create webhook`
#[derive(Debug, Args)]
#[command(after_help = CREATE_EXAMPLES)]
pub struct CreateWebhook {
    #[command(flatten)]
    id: Id,

    #[command(flatten)]
    purposes: Purposes,

    /// Version to convert to the hub and back; repeat the flag or separate versions by commas. Adds to the existing
    /// spokes [default: all other versions]
    #[arg(
        long,
        value_name = "VERSION",
        value_delimiter = ',',
        requires = "conversion"
    )]
    spoke: Vec<Version>,

    /// URL path of the webhook that sets defaults [default: `/mutate-<GROUP>-<VERSION>-<KIND>`]
    #[arg(long, value_name = "PATH", requires = "defaulting")]
    defaulting_path: Option<WebhookPath>,

    /// URL path of the webhook that validates [default: `/validate-<GROUP>-<VERSION>-<KIND>`]
    #[arg(long, value_name = "PATH", requires = "programmatic_validation")]
    validation_path: Option<WebhookPath>,

    /// Plural of a kind that another project defines, in lower case [default: the English plural]
    #[arg(long)]
    plural: Option<Plural>,

    /// Whether objects of a kind that another project defines live in a namespace [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, value_parser = namespaced())]
    #[arg(default_missing_value = "true", hide_possible_values = true)]
    namespaced: Option<bool>,

    #[command(flatten)]
    external: Option<ExternalType>,

    /// Allow a change of the path of an existing webhook
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    of_other_tools: FlagsOfOtherTools,

    #[command(flatten)]
    mode: Mode,
}

/// What the webhooks are for.
#[derive(Debug, Clone, Copy, Default, Args)]
struct Purposes {
    /// Create a webhook that sets defaults for fields that an object leaves out
    #[arg(long)]
    defaulting: bool,

    /// Create a webhook that accepts or refuses an object
    #[arg(long)]
    programmatic_validation: bool,

    /// Create a webhook that converts between the versions of a kind. `--version` is the hub: every other version is
    /// converted to the hub and back. Without `--version`, the existing hub stays; the first hub is the stored version
    #[arg(long)]
    conversion: bool,
}

impl Purposes {
    fn has_any(self) -> bool {
        self.defaulting || self.programmatic_validation || self.conversion
    }
}

/// The answer to the question for the webhooks: `defaulting,validation`.
impl FromStr for Purposes {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut purposes = Self::default();
        for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
            match word {
                "defaulting" => purposes.defaulting = true,
                "validation" | "programmatic-validation" => purposes.programmatic_validation = true,
                "conversion" => purposes.conversion = true,
                _ => bail!("`{word}` is not one of `defaulting`, `validation`, `conversion`"),
            }
        }
        ensure!(purposes.has_any(), "at least one of them is needed");
        Ok(purposes)
    }
}

const CREATE_EXAMPLES: &str = "\
The API server waits for a webhook in each request for the kind. What needs no
webhook comes first:
  1. the schema of the CRD, in src/api: bounds, defaults and CEL rules
     (`x_kube(validation = ..)`)
  2. policies of the API server, without code and certificates:
     ValidatingAdmissionPolicy, MutatingAdmissionPolicy (Kubernetes 1.36)
  3. a webhook, for what these cannot say: it can compute, remember and ask
     others

A webhook that converts lets the API server serve versions with different
schemas. Each object is converted to the hub, and from there to the version that
a client asks for. So each version has one file of plain Rust. Another version
can be stored later without a change of these files.

Examples:
  # Defaults and validation for a kind of the project
  rscaffold create webhook --group webapp --version v1 --kind Guestbook \\
      --defaulting --programmatic-validation

  # Conversion between all versions of a kind, with v2 as the hub
  rscaffold create webhook --group webapp --version v2 --kind Guestbook \\
      --conversion

  # Validation of a built-in kind of Kubernetes
  rscaffold create webhook --group apps --version v1 --kind Deployment \\
      --programmatic-validation

  # Defaults for a kind that another project defines
  rscaffold create webhook --group cert-manager --version v1 \\
      --kind Certificate --defaulting \\
      --external-api-path cert_manager::v1::Certificate \\
      --external-api-domain io --external-api-crate cert-manager@0.1";

/// `delete webhook`
#[derive(Debug, Args)]
#[command(after_help = DELETE_EXAMPLES)]
pub struct DeleteWebhook {
    #[command(flatten)]
    id: Id,

    /// Delete only the webhook that sets defaults
    #[arg(long)]
    defaulting: bool,

    /// Delete only the webhook that validates
    #[arg(long)]
    programmatic_validation: bool,

    /// Delete only the webhook that converts; `--version` is the hub and can be left out
    #[arg(long)]
    conversion: bool,

    #[command(flatten)]
    mode: Mode,
}

const DELETE_EXAMPLES: &str = "\
Examples:
  # All webhooks of a kind
  rscaffold delete webhook --group webapp --version v1 --kind Guestbook

  # One of two
  rscaffold delete webhook --group webapp --version v1 --kind Guestbook \\
      --defaulting";

/// Adds webhooks to the project.
pub fn create(args: CreateWebhook, root: &Path) -> Result<Outcome> {
    args.of_other_tools.features(false)?;
    let mut purposes = args.purposes;
    ensure!(
        purposes.has_any() || ask::is_possible(),
        UsageError(
            "`create webhook` needs `--defaulting`, `--programmatic-validation` or `--conversion`"
                .to_owned()
        )
    );
    let (tree, before) = open(root)?;
    let last = before.apis().last();
    let usual: Usual = &|group, kind| {
        let version = usual(&before, group, kind, purposes.conversion);
        or_create(version, kind, &before)
    };
    let group = last.map(|resource| &resource.group);
    let check = |known: &Id, answered: &Id| match &args.external {
        Some(_) => Ok(()),
        None => existing_kind(&before)(known, answered),
    };
    let usual = args.external.is_none().then_some(usual);
    let id = (args.id).complete(group, Some(&"v1".parse()?), usual, check)?;
    if !purposes.has_any() {
        let question = "Webhooks: defaulting, validation and conversion";
        purposes = ask::ask(question, Offer::Example("defaulting,validation"))?;
    }
    let is_asked = purposes.defaulting || purposes.programmatic_validation;

    let mut resource = match &args.external {
        Some(external) => external.resource(&id, &before)?,
        None => existing(&id, &before)?,
    };
    let is_external = resource.external().is_some();
    if let Some(plural) = args.plural {
        ensure!(
            is_external || plural == resource.plural,
            "the plural of {resource} is `{}`, not `{plural}`",
            resource.plural
        );
        resource.plural = plural;
    }
    if let Some(namespaced) = args.namespaced {
        let scope = if resource.namespaced {
            "namespaced"
        } else {
            "cluster-scoped"
        };
        ensure!(
            is_external || namespaced == resource.namespaced,
            "{resource} is {scope}: `--namespaced` is only for kinds that another project defines"
        );
        resource.namespaced = namespaced;
    }
    if purposes.defaulting {
        let webhook = resource.webhooks.defaulting.get_or_insert_default();
        webhook.path = args.defaulting_path.or(webhook.path.take());
    }
    if purposes.programmatic_validation {
        let webhook = resource.webhooks.validation.get_or_insert_default();
        webhook.path = args.validation_path.or(webhook.path.take());
    }
    let mut after = before.clone();
    if is_asked {
        or_way_out(after.add(resource.clone(), args.force))?;
    }
    let mut served = Vec::new();
    if purposes.conversion {
        let spokes = args.spoke.into_iter().collect();
        served = or_way_out(after.convert(&resource, &spokes))?;
    }

    let mut story = story(&resource, &after, is_asked, purposes.conversion);
    story.notes.extend(roll_out(&served));
    story.notes.extend(args.of_other_tools.note());
    carry_out(Turn::between(&tree, &before, after)?, &args.mode, story)
}

/// The version of a kind to which the webhooks belong: for a conversion the existing hub, else the stored version.
fn usual(project: &Project, group: &Group, kind: &Kind, converts: bool) -> Result<Option<Version>> {
    if converts
        && let Ok((group, _)) = project.group(group)
        && let Some(hub) = project.hub(group.as_str(), kind.as_str())
    {
        return Ok(Some(hub.version.clone()));
    }
    project.usual_version(group, kind)
}

/// Notes about versions that are now served. An older release of the operator cannot convert them.
fn roll_out(served: &[GroupVersionKind]) -> Vec<String> {
    let [first, ..] = served else {
        return Vec::new();
    };
    let verb = if served.len() == 1 { "is" } else { "are" };
    vec![
        format!("{} {verb} now served", in_backticks(served)),
        format!(
            "if the kind is in use, make two releases, because replicas of the old release cannot \
             convert: run `rscaffold create api {} --served=false --force` and deploy; when that release \
             runs everywhere, run the command with `--served` and deploy again; use `--storage` last",
            first.as_flags()
        ),
    ]
}

/// The messages for the user about new webhooks: `is_asked` is for defaulting and validation, `converts` for
/// conversion.
fn story(resource: &Resource, project: &Project, is_asked: bool, converts: bool) -> Story {
    let mut remarks = BTreeMap::new();
    let mut notes = Vec::new();
    let mut next = Vec::new();
    if converts {
        for spoke in spokes(resource, project) {
            let file = project.conversion_file(resource, spoke);
            remarks.insert(file, "the conversion: edit it");
        }
        next.push(NextStep::new(
            "cargo check",
            "lists the fields that a conversion leaves out",
        ));
    }
    let mut edited = "the types".to_owned();
    if is_asked {
        edited = project.webhook_file(resource);
        remarks.insert(edited.clone(), "the webhooks: edit them");
    }
    let why = format!("after an edit of {edited}");
    next.push(NextStep::new("make manifests", why));
    next.push(NextStep::new(
        "make deploy",
        "deploys the operator, which serves the webhooks",
    ));
    if resource.is_builtin() {
        let namespace = project.namespace_name();
        let called = match (resource.namespaced, project.namespaced) {
            (false, _) => String::new(),
            (true, false) => format!(
                "the webhooks are not called for objects of {resource} in `kube-system` and \
                 `{namespace}`, and "
            ),
            (true, true) => format!(
                "the webhooks are called only for objects of {resource} in `{namespace}` that do not \
                 have the label `control-plane: controller-manager`, and "
            ),
        };
        notes.push(format!(
            "{called}if the operator does not answer, the API server skips the webhook, so that a cluster \
             can start"
        ));
    }
    notes.extend(external_note(resource));
    Story {
        unchanged: format!("the webhooks of {resource} exist and are up to date"),
        next,
        remarks,
        notes,
        ..Story::default()
    }
}

/// The versions that are converted to `resource` and back.
fn spokes<'a>(resource: &Resource, project: &'a Project) -> impl Iterator<Item = &'a Version> {
    let hub = project.hub_of(resource);
    hub.and_then(Resource::spokes).into_iter().flatten()
}

/// Removes webhooks from the project.
pub fn delete(args: DeleteWebhook, root: &Path) -> Result<Outcome> {
    let (tree, before) = open(root)?;
    let mut after = before.clone();
    let all = !args.defaulting && !args.programmatic_validation && !args.conversion;
    let usual: Usual = &|group, kind| {
        let version = usual(&before, group, kind, args.conversion)?;
        // Without these flags, all webhooks go. They may belong to two versions.
        let is_clear = !all || usual(&before, group, kind, true)? == version;
        Ok(version.filter(|_| is_clear))
    };
    let id = (args.id).complete(None, None, Some(usual), own(&before))?;
    let there = before.find(&id)?;
    if args.conversion || all && there.is_some_and(|resource| resource.spokes().is_some()) {
        or_way_out(after.remove_conversion(&id))?;
    }
    let which = match there.filter(|_| all) {
        Some(there) => there.webhooks.clone(),
        None => Webhooks {
            defaulting: args.defaulting.then(Webhook::default),
            validation: args.programmatic_validation.then(Webhook::default),
        },
    };
    let resource = after.remove_webhooks(&id, &which)?;
    let mut notes = Vec::new();
    let is_idle = after.find(&id)?.is_some_and(|resource| {
        resource.external().is_some()
            && resource.controllers.is_empty()
            && resource.webhooks.is_empty()
    });
    if is_idle && !resource.webhooks.is_empty() {
        notes.push(format!(
            "{resource} stays in `PROJECT`, so that controllers can own it: remove it with \
             `rscaffold delete api`"
        ));
    }
    let mut versions = there.into_iter().flat_map(|there| before.versions(there));
    let unchanged = match versions.find(|version| !version.webhooks.is_empty()) {
        Some(other) if other.id() != id => {
            format!("`{id}` has no webhooks: {other} has those of the kind")
        }
        _ => format!("`{id}` has no webhooks"),
    };
    let story = Story {
        unchanged,
        notes,
        ..Story::default()
    };
    carry_out(Turn::between(&tree, &before, after)?, &args.mode, story)
}
