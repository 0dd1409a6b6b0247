//! `rscaffold create webhook` and `rscaffold delete webhook`

use std::{collections::BTreeMap, path::Path};

use anyhow::{Result, anyhow, ensure};
use clap::Args;

use super::{
    Mode, bring_in_line, create_api::ExternalType, id::Id, kubebuilder::Kubebuilder, load_current,
    or_way_out,
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

    #[command(flatten)]
    external: Option<ExternalType>,

    /// Allow these flags to change the path of an existing webhook
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    kubebuilder: Kubebuilder,

    #[command(flatten)]
    mode: Mode,
}

const CREATE_EXAMPLES: &str = "\
A webhook is in the way of each request for its kind. What needs none comes first:
  1. the schema of the CRD: bounds, defaults, CEL rules (`x_kube(validation = ..)`)
  2. policies of the API server: ValidatingAdmissionPolicy, MutatingAdmissionPolicy
  3. a webhook, for what neither can say

Examples:
  # Defaults and validation for a kind of the project
  rscaffold create webhook --group webapp --version v1 --kind Guestbook --defaulting \\
      --programmatic-validation

  # Validation of a kind of Kubernetes
  rscaffold create webhook --group apps --version v1 --kind Deployment --programmatic-validation";

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
    if let Some(plural) = args.plural {
        ensure!(
            resource.external().is_some() || plural == resource.plural,
            "the plural of {resource} is `{}`, not `{plural}`",
            resource.plural
        );
        resource.plural = plural;
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
    after.remove_webhooks(&id, &which)?;
    let story = Story {
        unchanged: format!("`{id}` has no webhooks"),
        ..Story::default()
    };
    bring_in_line(&tree, &before, after, &args.mode, &story)
}
