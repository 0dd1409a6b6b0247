//! `rscaffold create webhook` and `rscaffold delete webhook`

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context as _, Result, anyhow, ensure};
use clap::Args;

use super::{
    Mode, bring_in_line,
    create_api::{ExternalType, external_note},
    id::Id,
    kubebuilder::Kubebuilder,
    load_current, or_way_out,
    turn::bring_in_line_with,
};
use crate::{
    crd,
    given::Given,
    hint::OrHint,
    names::{Group, GroupVersionKind, Kind, Plural, Version, WebhookPath},
    project::{Project, Resource, Webhook, Webhooks},
    render::render,
    report::{NextStep, Outcome, Story, UsageError},
    turn::GivenTexts,
    worktree::WorkTree,
};

/// `create webhook`
#[derive(Debug, Args)]
#[command(after_help = CREATE_EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub struct CreateWebhook {
    #[command(flatten)]
    id: Id,

    /// Create a webhook that fills in what an object leaves open
    #[arg(long)]
    defaulting: bool,

    /// Create a webhook that says whether an object may be stored
    #[arg(long)]
    programmatic_validation: bool,

    /// Create a webhook that converts between the versions of a kind. `--version` is the hub, to which
    /// the other versions are converted and back; without it, the hub is the one that is there, else the
    /// version that is stored
    #[arg(long)]
    conversion: bool,

    /// Version that is converted to the hub and back; can be repeated, or take several separated by
    /// commas. Adds to the spokes that are there [default: all other versions]
    #[arg(
        long,
        value_name = "VERSION",
        value_delimiter = ',',
        requires = "conversion"
    )]
    spoke: Vec<Version>,

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
    kubebuilder: Kubebuilder,

    #[command(flatten)]
    mode: Mode,
}

const CREATE_EXAMPLES: &str = "\
The API server waits for a webhook in each request for the kind. What needs no webhook comes first:
  1. the schema of the CRD, in src/api: bounds, defaults and CEL rules (`x_kube(validation = ..)`)
  2. policies of the API server, without code and certificates: ValidatingAdmissionPolicy,
     MutatingAdmissionPolicy
  3. a webhook, for what these cannot say: it can compute, remember and ask others

A webhook that converts has the API server serve versions with different schemas. Each object becomes one
of the hub, and from there one of the version that a client asks for: so for each version there is one file
of plain Rust. Another version can be stored later without a change of these files.

Examples:
  # Defaults and validation for a kind of the project
  rscaffold create webhook --group webapp --version v1 --kind Guestbook --defaulting \\
      --programmatic-validation

  # Conversion between all versions of a kind, with v2 as the hub
  rscaffold create webhook --group webapp --version v2 --kind Guestbook --conversion

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

    /// Delete only the webhook that converts; `--version` is the hub, and may be left out
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
  rscaffold delete webhook --group webapp --version v1 --kind Guestbook --defaulting";

/// Adds webhooks to the project.
pub fn create(args: CreateWebhook, root: &Path) -> Result<Outcome> {
    args.kubebuilder.features(false)?;
    let is_asked = args.defaulting || args.programmatic_validation;
    ensure!(
        is_asked || args.conversion,
        UsageError(
            "`create webhook` needs `--defaulting`, `--programmatic-validation` or `--conversion`"
                .to_owned()
        )
    );
    let tree = WorkTree::open(root)?;
    let before = load_current(&tree)?;
    let last = before.resources.iter().rfind(|it| it.has_api());
    let hub = |group: &Group, kind: &Kind| hub(&before, group, kind).filter(|_| args.conversion);
    let id = args.id.or_version(hub);
    let id = id.complete(last.map(|it| &it.group), Some(&"v1".parse()?))?;

    let mut resource = match &args.external {
        Some(external) => external.resource(&id, &before)?,
        None => before
            .find_kind(&id)?
            .ok_or_else(|| anyhow!("`{id}` is a kind of neither this project nor Kubernetes"))
            .or_hint(
                "`create api` creates a kind, and `create api --crd <FILE> --resource=false` the types of one \
                 that others define; `--external-api-path` says where such a type is",
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
    if is_asked {
        or_way_out(after.add(resource.clone(), args.force))?;
    }
    let mut served = Vec::new();
    if args.conversion {
        let spokes = args.spoke.into_iter().collect();
        served = or_way_out(after.convert(&resource, &spokes))?;
    }

    let given = conversions(&resource, &after, &tree)?;
    let mut story = story(&resource, &after, is_asked, args.conversion);
    story.notes.extend(roll_out(&served));
    story.notes.extend(args.kubebuilder.note());
    bring_in_line_with(given, &tree, &before, after, &args.mode, &story)
}

/// The conversions between versions whose types come from a CRD: from the manifest of the kind, which the code
/// writes, because the CRD itself may be gone.
///
/// # Errors
/// When there is no manifest, or when it lacks a version.
fn conversions(resource: &Resource, project: &Project, tree: &WorkTree) -> Result<GivenTexts> {
    let Some(hub) = project.hub_of(resource).filter(|it| it.has_given_types()) else {
        return Ok(GivenTexts::default());
    };
    let file = project.crd_file(hub);
    let manifests = tree.ours([file.as_str()])?;
    let text = manifests
        .get(&file)
        .ok_or_else(|| anyhow!("it is not there"));
    let texts = text.and_then(|text| {
        let crds = crd::parse(&file, text)?;
        let crd = crds.first().context("it has no CustomResourceDefinition")?;
        Given::new(crd, None, project)?.conversions(project, &render(project)?.texts)
    });
    let texts = texts
        .with_context(|| format!("the conversion is made from `{file}`, which cannot be used"))
        .or_hint("`make manifests` writes it")?;
    Ok(GivenTexts {
        texts,
        replace: false,
    })
}

/// The version to which the other versions of a kind are converted and back.
fn hub(project: &Project, group: &Group, kind: &Kind) -> Option<Version> {
    let (group, _) = project.group(group).ok()?;
    let hub = project.hub(group.as_str(), kind.as_str())?;
    Some(hub.version.clone())
}

/// Notes about versions that are served now. Those who run an older release cannot convert them.
fn roll_out(served: &[GroupVersionKind]) -> Vec<String> {
    let [first, ..] = served else {
        return Vec::new();
    };
    let names: Vec<_> = served.iter().map(|id| format!("`{id}`")).collect();
    let verb = ["are", "is"][usize::from(served.len() == 1)];
    let command = format!(
        "rscaffold create api --group {} --version {} --kind {}",
        first.group().as_argument(),
        first.version(),
        first.kind()
    );
    vec![
        format!("{} {verb} served now", names.join(", ")),
        format!(
            "where the kind is in use, take two releases, because replicas of an older one cannot convert: \
             one with `{command} --served=false --force`, and once it runs everywhere, one with `--served`; \
             `--storage` comes last"
        ),
    ]
}

/// What the user gets to read of webhooks that are asked before an object is stored, of one that converts, or
/// of both.
fn story(resource: &Resource, project: &Project, is_asked: bool, converts: bool) -> Story {
    let mut remarks = BTreeMap::new();
    let mut notes = Vec::new();
    let mut next = Vec::new();
    if converts {
        for spoke in spokes(resource, project) {
            let file = project.conversion_file(resource, spoke);
            remarks.insert(file, "the conversion: edit this");
        }
        next.push(NextStep::new(
            "cargo check",
            "names each field that a conversion leaves out",
        ));
    }
    if is_asked {
        let file = project.webhook_file(resource);
        let why = format!("after an edit of {file}");
        next.push(NextStep::new("make manifests", why));
        remarks.insert(file, "the webhooks: edit these");
    } else {
        next.push(NextStep::new(
            "make manifests",
            "after an edit of the types",
        ));
    }
    next.push(NextStep::new(
        "make deploy",
        "the operator serves the webhooks in the cluster",
    ));
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
    let tree = WorkTree::open(root)?;
    let before = load_current(&tree)?;
    let mut after = before.clone();
    let hub = |group: &Group, kind: &Kind| hub(&before, group, kind).filter(|_| args.conversion);
    let id = args.id.or_version(hub).complete(None, None)?;
    let all = !args.defaulting && !args.programmatic_validation && !args.conversion;
    let there = before.find(&id)?;
    if args.conversion || all && there.is_some_and(|it| it.spokes().is_some()) {
        after.remove_conversion(&id)?;
    }
    let which = match there.filter(|_| all) {
        Some(there) => there.webhooks.clone(),
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

/// Notes on the webhooks that clusters know, and this project has no more.
pub(super) fn left_behind(before: &Project, after: &Project) -> Vec<String> {
    let defaults = |it: &Resource| it.webhooks.defaulting.is_some();
    let validates = |it: &Resource| it.webhooks.validation.is_some();
    // A conversion has a webhook that validates, too; requests go on without that one.
    let asks = |it: &Project| it.webhooks().any(validates) || it.hubs().next().is_some();
    let kinds = [
        (
            "mutating",
            before.webhooks().any(defaults) && !after.webhooks().any(defaults),
            true,
        ),
        (
            "validating",
            asks(before) && !asks(after),
            before.webhooks().any(validates),
        ),
    ];
    let gone = kinds.into_iter().filter(|(_, is_gone, _)| *is_gone);
    let notes = gone.map(|(kind, _, is_strict)| {
        let consequence = if is_strict {
            "refuse requests that nobody answers"
        } else {
            "wait for an answer at each write"
        };
        format!(
            "clusters keep the {kind} webhooks, and {consequence}: `kubectl delete \
             {kind}webhookconfiguration {}-{kind}-webhook-configuration` deletes them there",
            before.project_name
        )
    });
    let ended = before.hubs().filter(|hub| {
        let mut versions = after.versions(hub);
        versions.next().is_some() && after.hub_of(hub).is_none()
    });
    let ended = ended.map(|hub| {
        let name = format!("{}.{}", hub.plural, before.full_group(hub));
        format!(
            "clusters keep the webhook that converts, and refuse the new CRD until `kubectl patch crd {name} \
             --type=merge --patch '{{\"spec\":{{\"conversion\":{{\"strategy\":\"None\",\"webhook\":null}}}}}}'`"
        )
    });
    notes.chain(ended).collect()
}
