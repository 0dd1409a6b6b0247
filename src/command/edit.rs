//! `rscaffold edit`

use std::path::Path;

use anyhow::Result;
use clap::Args;

use super::{
    Mode, bring_in_line, load_current,
    settings::{Settings, notes},
};
use crate::{
    project::{Feature, Project},
    report::{Outcome, Step, Story},
    worktree::WorkTree,
};

/// `edit`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, override_usage = "rscaffold edit [OPTIONS]")]
#[command(mut_group("Settings", |settings| settings.required(true)))]
pub struct Edit {
    #[command(flatten)]
    settings: Settings,

    #[command(flatten)]
    mode: Mode,
}

const EXAMPLES: &str = "\
Examples:
  # Have the Prometheus operator read the metrics, and let nobody else reach the operator
  rscaffold edit --enable prometheus,network-policy

  # Do without the files for GitHub and dev containers
  rscaffold edit --disable github,devcontainer

  # Another name, for all that is deployed
  rscaffold edit --project-name library";

/// Changes what the project is as a whole.
pub fn run(args: Edit, root: &Path) -> Result<Outcome> {
    let Edit { settings, mode } = args;
    let tree = WorkTree::open(root)?;
    let before = load_current(&tree)?;
    let mut after = before.clone();
    let enabled = settings.enable.clone();
    settings.apply(&mut after)?;

    let mut notes = notes(&after, &enabled);
    notes.extend(renamed(&before, &after));
    let story = Story {
        unchanged: "the project is as asked for".to_owned(),
        notes,
        next: next(&before, &after),
        ..Story::default()
    };
    bring_in_line(&tree, &before, after, &mode, &story)
}

/// What is left to do for a chart that is new: its CRDs and its role follow from code that may be the
/// user's by now.
fn next(before: &Project, after: &Project) -> Vec<Step> {
    let has_chart = |project: &Project| project.features.contains(&Feature::Helm);
    if has_chart(before) || !has_chart(after) {
        return Vec::new();
    }
    let why = "CRDs and role of your code, for the chart as well";
    vec![Step::new("make manifests", why)]
}

/// What a change of names means for clusters where the operator is deployed.
fn renamed(before: &Project, after: &Project) -> Option<String> {
    let has_crds = before
        .resources
        .iter()
        .any(|resource| resource.api().is_some());
    let what = if before.project_name != after.project_name {
        "what is deployed has other names now"
    } else if before.domain != after.domain && has_crds {
        "the API groups are other ones now"
    } else {
        return None;
    };
    Some(format!(
        "{what}: clusters keep what they have of the old ones, until a `make undeploy` of the project \
         as it was"
    ))
}
