//! `rscaffold init`

use std::{path::Path, time::Instant};

use anyhow::{Result, anyhow};
use clap::Args;

use super::{
    Mode, ask,
    kubebuilder::Kubebuilder,
    settings::{Settings, notes},
    turn::{carry_out, ensure_not_lost},
};
use crate::{
    hint::OrHint,
    names::ProjectName,
    project::{Feature, Project},
    reconcile::{Texts, digest::recorded},
    render::render,
    report::{NextStep, Outcome, Story},
    turn::Turn,
    worktree::{WorkTree, Workspace, top},
};

/// `init`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("domain", |arg| arg.help(
    "Domain of the API groups: group `webapp` becomes `webapp.<DOMAIN>`; asked for at a terminal",
)))]
#[command(mut_arg("repo", |arg| arg.help(
    "Where the project lives: `guestbook`, `github.com/me/guestbook` or a git URL; the last part \
     names the crate [default: the project's name]",
)))]
#[command(mut_arg("project_name", |arg| arg.help(
    "Name of the project, the prefix of what it deploys [default: the folder's name]",
)))]
#[command(mut_arg("license", |arg| arg.default_value("apache2")))]
pub struct Init {
    #[command(flatten)]
    settings: Settings,

    #[command(flatten)]
    kubebuilder: Kubebuilder,

    #[command(flatten)]
    mode: Mode,
}

const EXAMPLES: &str = "\
Examples:
  # In an empty folder
  rscaffold init --domain example.com --repo github.com/me/guestbook

  # In a clone with a README: see what would happen, then keep that README
  rscaffold init --domain example.com --dry-run
  rscaffold init --domain example.com --on-conflict=ours

  # An operator for one namespace, under the MIT license
  rscaffold init --domain example.com --namespaced --license mit --owner \"The Guestbook Authors\"";

/// What `cargo init` writes to src/main.rs.
const CARGO_MAIN: &str = "\
fn main() {
    println!(\"Hello, world!\");
}
";

/// What `cargo init --lib` writes to src/lib.rs.
const CARGO_LIB: &str = "\
pub fn add(left: u64, right: u64) -> u64 {
    left + right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_works() {
        let result = add(2, 2);
        assert_eq!(result, 4);
    }
}
";

/// Starts a project in the folder `root`.
///
/// A missing domain is asked for; the project's name is the folder's by default, and the crate's name
/// the project's.
pub fn run(args: Init, root: &Path) -> Result<Outcome> {
    let start = Instant::now();
    let Init {
        mut settings,
        kubebuilder,
        mode,
    } = args;
    settings.enable.extend(kubebuilder.features(false)?);
    let tree = WorkTree::open(root)?;
    if tree.project()?.is_some() {
        return Err(anyhow!(
            "this folder is a project already: `{}` is there",
            Project::FILE
        ))
        .or_hint("`rscaffold create api` adds to it, `rscaffold edit` changes it");
    }
    if let Some(top) = root.parent().and_then(top) {
        let below = root.strip_prefix(top)?.components();
        let above = below.map(|_| "..").collect::<Vec<_>>().join("/");
        return Err(anyhow!("this folder is part of the project in `{above}`")).or_hint(
            "`rscaffold create api` adds to it; a new project needs a folder outside of it",
        );
    }
    let workspace = tree.workspace()?;
    let enabled = settings.enable.clone();
    let project = project(settings, root, workspace.as_ref())?;
    let mut notes = notes(&project, &enabled);
    notes.extend(kubebuilder.note());
    if let Some(workspace) = workspace.filter(|workspace| !workspace.is_listed) {
        notes.push(format!(
            "the project is part of the workspace in `{}`: `members` in its Cargo.toml must have \
             `{}`",
            workspace.root, workspace.member
        ));
    }
    let story = Story {
        done: Some(format!("{} is ready", project.project_name)),
        folded: true,
        notes,
        next: vec![NextStep::new(
            "rscaffold create api --group webapp --version v1 --kind Guestbook",
            "",
        )],
        ..Story::default()
    };
    let mut record = tree.record()?;
    if !record.texts.is_empty() {
        ensure_not_lost(&record, &recorded(render(&project)?.texts))?;
    }
    record.texts.extend(untouched(&tree, &project)?);
    let turn = Turn {
        tree: &tree,
        before: None,
        after: project,
        record,
        branches: None,
        excluded: Vec::new(),
        given: Texts::new(),
    };
    carry_out(turn, &mode, &story, start)
}

/// The files that are as `cargo init` writes them, so that the user loses nothing.
fn untouched(tree: &WorkTree, project: &Project) -> Result<Texts> {
    let manifest = format!(
        "[package]\nname = \"{}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n",
        project.repo.crate_name()
    );
    let stock = [
        ("Cargo.toml", manifest.as_str()),
        ("src/lib.rs", CARGO_LIB),
        ("src/main.rs", CARGO_MAIN),
    ];
    let mut ours = tree.ours(stock.map(|(path, _)| path))?;
    ours.retain(|path, text| stock.contains(&(path, text)));
    Ok(ours)
}

/// The project that `settings` describe, in the folder `root`.
fn project(settings: Settings, root: &Path, workspace: Option<&Workspace>) -> Result<Project> {
    ask::possible(&[("--domain", settings.domain.is_some())])?;
    let project_name = if let Some(name) = &settings.project_name {
        name.clone()
    } else {
        let folder = root.file_name().unwrap_or_default();
        ProjectName::from_folder(&folder.to_string_lossy())
            .or_hint("give the project another name than its folder with `--project-name`")?
    };
    let repo = match &settings.repo {
        Some(repo) => repo.clone(),
        None => project_name
            .as_str()
            .parse()
            .or_hint("give the crate another name than the project with `--repo`")?,
    };
    let domain = match &settings.domain {
        Some(domain) => domain.clone(),
        None => ask::ask("Domain of the API groups", Some(&"example.com".parse()?))?,
    };
    let mut project = Project::new(domain, project_name, repo);
    if let Some(workspace) = workspace {
        project.workspace = Some(workspace.root.clone());
        project.runtime = workspace.runtime.clone().unwrap_or_default();
        // Tools read them only in the top folder of a repository.
        project.features.remove(&Feature::Devcontainer);
        project.features.remove(&Feature::Github);
    }
    settings.apply(project)
}
