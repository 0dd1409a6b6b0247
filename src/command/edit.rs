//! `rscaffold edit`

use std::path::Path;

use anyhow::Result;
use clap::Args;

use super::{
    Mode, bring_in_line, load_current,
    settings::{Settings, notes},
};
use crate::{
    project::{Feature, Project, Resource},
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
  # Let the Prometheus operator scrape the metrics, and nothing else reach the operator
  rscaffold edit --enable prometheus,network-policy

  # Remove the files for GitHub and dev containers
  rscaffold edit --disable github,devcontainer

  # Rename everything that is deployed
  rscaffold edit --project-name library";

/// Changes the settings of the project.
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
        unchanged: "the project has these settings already".to_owned(),
        notes,
        next: next(&before, &after),
        ..Story::default()
    };
    bring_in_line(&tree, &before, after, &mode, &story)
}

/// What is left to do for a new chart: its CRDs and its role follow from code that the user may have
/// changed.
fn next(before: &Project, after: &Project) -> Vec<Step> {
    let has_chart = |project: &Project| project.features.contains(&Feature::Helm);
    if has_chart(before) || !has_chart(after) {
        return Vec::new();
    }
    let why = "writes CRDs and role of your code into the chart";
    vec![Step::new("make manifests", why)]
}

/// A note about clusters that run the operator under its old names.
fn renamed(before: &Project, after: &Project) -> Option<String> {
    let has_crds = before.resources.iter().any(Resource::has_api);
    let what = if before.project_name != after.project_name {
        "deployed objects have new names now"
    } else if before.domain != after.domain && has_crds {
        "the API groups have new names now"
    } else {
        return None;
    };
    Some(format!(
        "{what}: clusters keep the old ones until you run `make undeploy` in the project as it was \
         before"
    ))
}
