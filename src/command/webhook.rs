//! `rscaffold create webhook` and `rscaffold delete webhook`

use std::{collections::BTreeMap, path::Path};

use anyhow::{Result, anyhow, ensure};
use clap::Args;

use super::{
    Mode, bring_in_line,
    create_api::{ExternalType, external_note},
    id::Id,
    kubebuilder::Kubebuilder,
    load_current, or_way_out,
};
use crate::{
    hint::OrHint,
    names::{Plural, WebhookPath},
    project::{Project, Resource, Webhook, Webhooks},
    report::{NextStep, Outcome, Story, UsageError},
    worktree::WorkTree,
};

/// `create webhook`
#[derive(Debug, Args)]
#[command(after_help = CREATE_EXAMPLES)]
pub struct CreateWebhook {
    #[command(flatten)]
    id: Id,

    /// Create a webhook that fills in what an object leaves open
    #[arg(long)]
    defaulting: bool,

    /// Create a webhook that says whether an object may be stored
    #[arg(long)]
    programmatic_validation: bool,

    /// Path of the webhook for defaults [default: `/mutate-<GROUP>-<VERSION>-<KIND>`]
    #[arg(long, value_name = "PATH", requires = "defaulting")]
    defaulting_path: Option<WebhookPath>,

    /// Path of the webhook that validates [default: `/validate-<GROUP>-<VERSION>-<KIND>`]
    #[arg(long, value_name = "PATH", requires = "programmatic_validation")]
    validation_path: Option<WebhookPath>,

    /// Plural of a kind that others define, in lower case [default: the English one]
    #[arg(long)]
    plural: Option<Plural>,

    /// Whether objects of a kind that others define live in a namespace [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true", hide_possible_values = true)]
    namespaced: Option<bool>,

    #[command(flatten)]
    external: Option<ExternalType>,

    /// Allow these flags to change the path of an existing webhook
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    conversion: Conversion,

    #[command(flatten)]
    kubebuilder: Kubebuilder,

    #[command(flatten)]
    mode: Mode,
}

/// The flags of kubebuilder for a webhook that converts between versions.
#[derive(Debug, Args)]
struct Conversion {
    /// Create a webhook that converts between versions
    #[arg(long, hide = true, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true")]
    conversion: Option<bool>,

    /// Versions that are converted
    #[arg(long, hide = true, value_name = "VERSION", value_delimiter = ',')]
    spoke: Vec<String>,
}

impl Conversion {
    /// Refuses the flags, with what there is instead.
    fn refuse(&self) -> Result<()> {
        for (flag, is_given) in [
            ("--conversion", self.conversion == Some(true)),
            ("--spoke", !self.spoke.is_empty()),
        ] {
            ensure!(
                !is_given,
                UsageError(format!(
                    "`{flag}` is not supported: no webhook converts; `rscaffold create api \
                     --conversion=none` serves versions with equal schemas, else add fields to the \
                     version that is stored, each an `Option` or with a default"
                ))
            );
        }
        Ok(())
    }
}

const CREATE_EXAMPLES: &str = "\
The API server waits for a webhook in each request for the kind. What needs no webhook comes first:
  1. the schema of the CRD, in src/api: bounds, defaults and CEL rules (`x_kube(validation = ..)`)
  2. policies of the API server, without code and certificates: ValidatingAdmissionPolicy,
     MutatingAdmissionPolicy
  3. a webhook, for what these cannot say: it can compute, remember and ask others

Examples:
  # Defaults and validation for a kind of the project
  rscaffold create webhook --group webapp --version v1 --kind Guestbook --defaulting \\
      --programmatic-validation

  # Validation of a kind of Kubernetes
  rscaffold create webhook --group apps --version v1 --kind Deployment --programmatic-validation

  # Defaults for a kind that another project defines
  rscaffold create webhook --group cert-manager --version v1 --kind Certificate --defaulting \\
      --external-api-path cert_manager::v1::Certificate --external-api-domain io \\
      --external-api-crate cert-manager@0.1";

/// `delete webhook`
#[derive(Debug, Args)]
#[command(after_help = DELETE_EXAMPLES)]
pub struct DeleteWebhook {
    #[command(flatten)]
    id: Id,

    /// Delete only the webhook for defaults
    #[arg(long)]
    defaulting: bool,

    /// Delete only the webhook that validates
    #[arg(long)]
    programmatic_validation: bool,

    #[command(flatten)]
    mode: Mode,
}

const DELETE_EXAMPLES: &str = "\
Examples:
  # All webhooks of a kind
  rscaffold delete webhook --group webapp --version v1 --kind Guestbook

  # One of two
  rscaffold delete webhook --group webapp --version v1 --kind Guestbook --defaulting";

/// Adds webhooks to the project.
pub fn create(args: CreateWebhook, root: &Path) -> Result<Outcome> {
    args.kubebuilder.features()?;
    args.conversion.refuse()?;
    ensure!(
        args.defaulting || args.programmatic_validation,
        UsageError(
            "`create webhook` needs `--defaulting`, `--programmatic-validation` or both".to_owned()
        )
    );
    let tree = WorkTree::open(root)?;
    let before = load_current(&tree)?;
    let last = before.resources.iter().rfind(|it| it.has_api());
    let id = (args.id).complete(last.map(|it| &it.group), Some(&"v1".parse()?))?;

    let mut resource = match &args.external {
        Some(external) => external.resource(&id, &before)?,
        None => before
            .find_kind(&id)?
            .ok_or_else(|| anyhow!("`{id}` is a kind of neither this project nor Kubernetes"))
            .or_hint(
                "`create api` creates a kind; for one that others define, `--external-api-path` says \
                 where its type is",
            )?,
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
        let scope = ["cluster-scoped", "namespaced"][usize::from(resource.namespaced)];
        ensure!(
            is_external || namespaced == resource.namespaced,
            "{resource} is {scope}: `--namespaced` is for kinds that others define"
        );
        resource.namespaced = namespaced;
    }
    let Webhooks {
        defaulting,
        validation,
    } = &mut resource.webhooks;
    for (there, is_asked, path) in [
        (defaulting, args.defaulting, args.defaulting_path),
        (
            validation,
            args.programmatic_validation,
            args.validation_path,
        ),
    ] {
        if is_asked {
            let webhook = there.get_or_insert_default();
            webhook.path = path.or(webhook.path.take());
        }
    }
    let mut after = before.clone();
    or_way_out(after.add(resource.clone(), args.force))?;

    let mut story = story(&resource, &after);
    story.notes.extend(args.kubebuilder.note());
    bring_in_line(&tree, &before, after, &args.mode, &story)
}

/// What the user gets to read.
fn story(resource: &Resource, project: &Project) -> Story {
    let (group, kind) = (resource.group.module(), resource.kind.module());
    let file = format!("src/webhook/{group}/{kind}.rs");
    let mut notes = Vec::new();
    if resource.is_builtin() {
        let system = format!("{}-system", project.project_name);
        notes.push(format!(
            "objects of {resource} in `kube-system` and `{system}` do not pass the webhooks, and others \
             pass where the webhooks fail: a cluster must be able to start"
        ));
    }
    notes.extend(external_note(resource));
    Story {
        unchanged: format!("the webhooks of {resource} are there and up to date"),
        next: vec![
            NextStep::new("make manifests", format!("after an edit of {file}")),
            NextStep::new("make deploy", "webhooks need the operator in the cluster"),
        ],
        remarks: BTreeMap::from([(file, "the webhooks: edit these")]),
        notes,
        ..Story::default()
    }
}

/// Removes webhooks from the project.
pub fn delete(args: DeleteWebhook, root: &Path) -> Result<Outcome> {
    let tree = WorkTree::open(root)?;
    let before = load_current(&tree)?;
    let mut after = before.clone();
    let id = args.id.complete(None, None)?;
    let all = !args.defaulting && !args.programmatic_validation;
    let there = before.find(&id)?.map(|it| it.webhooks.clone());
    let which = match there.filter(|_| all) {
        Some(there) => there,
        None => Webhooks {
            defaulting: args.defaulting.then(Webhook::default),
            validation: args.programmatic_validation.then(Webhook::default),
        },
    };
    let resource = after.remove_webhooks(&id, &which)?;
    let mut notes = left_behind(&before, &after);
    let is_idle = after.find(&id)?.is_some_and(|it| {
        it.external().is_some() && it.controllers.is_empty() && it.webhooks.is_empty()
    });
    if is_idle && !resource.webhooks.is_empty() {
        notes.push(format!(
            "{resource} stays in `PROJECT` for controllers to own: `delete api` removes it"
        ));
    }
    let story = Story {
        unchanged: format!("`{id}` has no webhooks"),
        notes,
        ..Story::default()
    };
    bring_in_line(&tree, &before, after, &args.mode, &story)
}

/// Notes on the webhook configurations that clusters have, and this project has no more.
pub(super) fn left_behind(before: &Project, after: &Project) -> Vec<String> {
    let defaults = |it: &Resource| it.webhooks.defaulting.is_some();
    let validates = |it: &Resource| it.webhooks.validation.is_some();
    let kinds = [
        (
            "mutating",
            before.webhooks().any(defaults) && !after.webhooks().any(defaults),
        ),
        (
            "validating",
            before.webhooks().any(validates) && !after.webhooks().any(validates),
        ),
    ];
    let gone = kinds.into_iter().filter(|(_, is_gone)| *is_gone);
    let notes = gone.map(|(kind, _)| {
        format!(
            "clusters keep the {kind} webhooks, and refuse requests that nobody answers: `kubectl delete \
             {kind}webhookconfiguration {}-{kind}-webhook-configuration` deletes them there",
            before.project_name
        )
    });
    notes.collect()
}
