//! `rscaffold edit`

use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;

use super::{
    Mode,
    flags_of_other_tools::FlagsOfOtherTools,
    load::open,
    settings::{Settings, notes, unread_workflows},
    turn::{Turn, carry_out},
    workspace::workspace,
};
use crate::{
    command::report::{NextStep, Outcome, Story, UsageError},
    project::Feature,
};

/// `edit`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, override_usage = "rscaffold edit [OPTIONS]")]
pub struct Edit {
    /// The settings of the project.
    #[command(flatten)]
    pub settings: Settings,

    #[command(flatten)]
    of_other_tools: FlagsOfOtherTools,

    /// In kubebuilder, overwrites files
    #[arg(long, hide = true)]
    force: bool,

    #[command(flatten)]
    mode: Mode,
}

const EXAMPLES: &str = "\
Examples:
  # Let the Prometheus operator scrape the metrics, and nothing else
  rscaffold edit --enable prometheus,network-policy

  # Remove the files for GitHub and for coding agents
  rscaffold edit --disable github,agents

  # Rename all deployed objects
  rscaffold edit --project-name library";

/// Changes the settings of the project.
pub fn run(mut args: Edit, root: &Path) -> Result<Outcome> {
    let features = args.of_other_tools.features(false)?;
    args.settings.enable.extend(features);
    let note = args.of_other_tools.note();
    if args.settings == Settings::default() && note.is_none() && !args.force {
        let error = "`rscaffold edit` needs a setting to change: `rscaffold edit --help` lists all \
            settings";
        bail!(UsageError(error.to_owned()));
    }
    let (tree, before) = open(root)?;
    let enabled = args.settings.enable.clone();
    let after = args.settings.apply(before.clone())?;
    if after.runtime != before.runtime
        && let Some(workspace) = workspace(root, tree.read_text("Cargo.toml")?.as_deref())?
    {
        workspace.ensure_one_runtime(&after, root)?;
    }

    let mut notes = notes(&after, &enabled);
    notes.extend(note);
    if !before.has(Feature::Github) {
        notes.extend(unread_workflows(root, &after));
    }
    if args.force {
        notes.push("a flag of kubebuilder that has no effect here: `--force`".to_owned());
    }
    let mut next = Vec::new();
    // A new chart has the rendered CRDs and role. `make manifests` replaces them by the CRDs and
    // the role of the user's code.
    if after.has(Feature::Helm) && !before.has(Feature::Helm) {
        let why = "copies the CRDs and the role of your code into the chart";
        next.push(NextStep::new("make manifests", why));
    }
    let story = Story {
        unchanged: "the project already has these settings".to_owned(),
        notes,
        next,
        ..Story::default()
    };
    carry_out(Turn::between(&tree, &before, after)?, &args.mode, story)
}
