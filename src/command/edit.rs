//! `rscaffold edit`

use std::process::ExitCode;

use anyhow::Result;

use super::{
    Mode, bring_in_line, load_current, root,
    settings::{Settings, notes},
};
use crate::{
    project::{Feature, Project},
    report::{Step, Story},
    worktree::WorkTree,
};

/// Changes what the project is as a whole.
pub fn run(settings: Settings, mode: Mode) -> Result<ExitCode> {
    let tree = WorkTree::open(root()?)?;
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
    bring_in_line(&tree, &before, after, mode, &story)
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
        .any(|resource| resource.api.is_some());
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
