//! `rscaffold init`

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context as _, Result, anyhow, ensure};
use clap::Args;
use serde_json::json;

use super::{
    Mode,
    ask::{self, Offer},
    flags_of_other_tools::FlagsOfOtherTools,
    load::or_edit,
    settings::{Settings, notes, unread_workflows},
    turn::{Turn, carry_out, ensure_not_lost},
    workspace::{Workspace, unreadable, workspace},
};
use crate::{
    command::report::{NextStep, Outcome, Story},
    engine::worktree::{WorkTree, snapshot, top},
    engine::{Texts, files::Edits},
    hint::{OrHint, or_hint_for},
    names::ProjectName,
    port::{self, GoFolder, Port},
    project::{Feature, Project},
    render::{CONVENTIONS, Rendered, Templates, document},
    visible::quoted,
};

/// `init`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("domain", |arg| arg.help(
    "Domain of the API groups: group `webapp` becomes `webapp.<DOMAIN>`. At a terminal, rscaffold \
     asks for it",
)))]
#[command(mut_arg("repo", |arg| arg.help(
    "Repository of the project: `guestbook`, `github.com/me/guestbook` or a git URL; its last part \
     is the name of the crate [default: the project's name]",
)))]
#[command(mut_arg("project_name", |arg| arg.help(
    "Name of the project, and prefix of the names of deployed objects [default: the folder's name]",
)))]
#[command(mut_arg("license", |arg| arg.help(
    "License of the project, named in the header of every source file [default: apache2]",
)))]
pub struct Init {
    /// Folder of an operator in Go, or its PROJECT file. The new project takes over its kinds with types, controllers
    /// and webhooks, its permissions, and its names in a cluster. `PORTING.md` lists what is left to do
    #[arg(long, value_name = "FOLDER", conflicts_with = "domain")]
    from: Option<PathBuf>,

    /// The settings of the project.
    #[command(flatten)]
    pub settings: Settings,

    #[command(flatten)]
    of_other_tools: FlagsOfOtherTools,

    #[command(flatten)]
    mode: Mode,
}

const EXAMPLES: &str = "\
Examples:
  # In an empty folder
  rscaffold init --domain example.com --repo github.com/me/guestbook

  # In a clone with a README: show what would change, then keep that README
  rscaffold init --domain example.com --dry-run
  rscaffold init --domain example.com --on-conflict=ours

  # A project that replaces an operator in Go
  rscaffold init --from ../go-project

  # An operator for one namespace, under the MIT license
  rscaffold init --domain example.com --namespaced --license mit \\
      --owner \"The Guestbook Authors\"";

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
/// Asks for a missing domain. The default name of the project is the name of the folder, and the default name of the
/// crate is the name of the project.
pub fn run(mut args: Init, root: &Path) -> Result<Outcome> {
    let features = args.of_other_tools.features(false)?;
    args.settings.enable.extend(features);
    let tree = WorkTree::open(root, &CONVENTIONS)?;
    if let Some(text) = tree.description()? {
        or_edit(Project::check_format(&text))?;
        return Err(anyhow!(
            "this folder already has a project, described in `{}`",
            Project::FILE
        ))
        .or_hint("add to it with `rscaffold create api`, change it with `rscaffold edit`");
    }
    if let Some(top) = root.parent().and_then(|above| top(above, &CONVENTIONS)) {
        let below = root.strip_prefix(top)?.components();
        let above = below.map(|_| "..").collect::<Vec<_>>().join("/");
        return Err(anyhow!("this folder is part of the project in `{above}`")).or_hint(
            "add to it with `rscaffold create api`, or start a new project in a folder outside of \
             it",
        );
    }
    let workspace = workspace(root, tree.read_text("Cargo.toml")?.as_deref())?;
    let enabled = args.settings.enable.clone();
    // The time in which the user answers does not count.
    let (start, port, begun) = if let Some(folder) = &args.from {
        let start = Instant::now();
        let port = read(folder, root)?;
        let begun = port.project.clone();
        (start, Some(port), begun)
    } else {
        let begun = new(&args.settings, root)?;
        (Instant::now(), None, begun)
    };
    let begun = in_workspace(begun, workspace.as_ref());
    let mut project = args.settings.apply(begun)?;
    project.leave_out_default_namespace();
    if let Some(workspace) = &workspace {
        workspace.ensure_one_runtime(&project, root)?;
    }
    let mut templates = Templates::new(&project)?;
    let rendered = templates.render()?;
    let (texts, told) = match &port {
        Some(port) => ported(port, &project, &templates, &rendered)?,
        None => Default::default(),
    };
    drop(templates);
    let mut notes = notes(&project, &enabled);
    notes.extend(told);
    if project.workspace.is_none() {
        notes.push(
            "commit `Cargo.lock`, which the first build writes: then every build has the same \
             dependencies"
                .to_owned(),
        );
    }
    notes.extend(args.of_other_tools.note());
    notes.extend(unreadable(root));
    notes.extend(unread_workflows(root, &project));
    if let Some(workspace) = workspace.filter(|workspace| !workspace.is_listed) {
        notes.push(format!(
            "the project is part of the cargo workspace in `{}`: add `{1}` to `members` in the \
             Cargo.toml there",
            workspace.root, workspace.member
        ));
    }
    let mut next = Vec::new();
    if port.is_some() {
        let why = "writes the CRDs and the role from the code";
        next.push(NextStep::new("make manifests", why));
        let command = format!("less {}", port::REPORT);
        next.push(NextStep::new(command, "what is left to do"));
    } else {
        let command = "rscaffold create api --group webapp --version v1 --kind Guestbook";
        next.push(NextStep::new(command, ""));
    }
    let story = Story {
        done: Some(format!("{} is ready", project.project_name)),
        folded: true,
        runtime: Some(project.runtime.clone()),
        notes,
        next,
        ..Story::default()
    };
    let mut record = tree.record()?;
    if !record.texts.is_empty() {
        let fresh = CONVENTIONS.recorded(rendered.texts.clone());
        ensure_not_lost(&record, &fresh)?;
    }
    record.texts.extend(untouched(&tree, &project)?);
    let turn = Turn {
        edits: Edits {
            texts,
            replace: false,
        },
        start,
        ..Turn::new(&tree, record, project, rendered)
    };
    carry_out(turn, &args.mode, story)
}

/// The files that have exactly the text of `cargo init`: rscaffold may replace them without loss.
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
    ours.retain(|path, text| {
        stock
            .iter()
            .any(|(stock, known)| path == stock && text == known)
    });
    Ok(ours)
}

/// Reads the Go project in `from`, which may also be the path of its PROJECT file; `from` is relative to `root`.
fn read(from: &Path, root: &Path) -> Result<Port> {
    let text = from.to_string_lossy();
    if text.contains("://") || text.starts_with("git@") {
        return Err(anyhow!(
            "`{text}` is an address, and `--from` reads only folders"
        ))
        .or_hint(format!(
            "clone it first: `git clone {} ../go`, and pass `--from ../go`",
            quoted(&text)
        ));
    }
    let folder = match (from.parent(), from.file_name()) {
        (Some(parent), Some(name)) if name == Project::FILE => parent,
        _ => from,
    };
    let shown = match folder.to_string_lossy() {
        empty if empty.is_empty() => ".".into(),
        shown => shown,
    };
    let path = root.join(folder);
    ensure!(
        path.canonicalize().ok() != root.canonicalize().ok(),
        "`--from` names the current folder: start the Rust project in another, empty folder"
    );
    let files =
        read_folder(&path).with_context(|| format!("failed to open the folder `{shown}`"))?;
    or_hint_for(Port::read(files, &shown), |refusal| {
        Some(match refusal {
            port::Error::NoOperator(_) => "give the folder that contains `go.mod` and `config`",
            port::Error::CrateName(_) => {
                "give the crate another name than the project with `--repo`"
            }
            port::Error::NoName => "name the project with `--project-name`",
        })
    })
}

/// The files of the Go project in `folder`.
pub(crate) fn read_folder(folder: &Path) -> Result<GoFolder> {
    let found = snapshot(folder, &port::WITHOUT, port::is_wanted)?;
    Ok(GoFolder {
        texts: found.texts,
        others: found.others,
        unread: found.unread,
    })
}

/// The texts of files that a Go project gives to `project`, with the report, and notes for the user.
///
/// # Errors
/// When a template has a defect.
pub fn ported(
    port: &Port,
    project: &Project,
    templates: &Templates,
    rendered: &Rendered,
) -> Result<(Texts, Vec<String>)> {
    let ported = port.files(project)?;
    let mut texts = rendered.files(templates, &ported.additions)?;
    for (path, text) in &ported.texts {
        texts.insert(path.clone(), text.clone().into());
    }
    let files = rendered.texts.iter().chain(&texts);
    let files = files.map(|(path, text)| (path.as_str(), text.content()));
    let (report, notes) = port.report(project, ported, &files.collect())?;
    let rules = port.rules(project)?;
    if !rules.is_empty() {
        let replacing = Templates::replacing(project, &rules)?;
        for (resource, controller) in project.controllers() {
            if rules.contains_key(&(resource.id(), controller.name.clone())) {
                let path = project.controller_file(resource, controller);
                texts.extend(rendered.file(&replacing, path, &json!({}))?);
            }
        }
    }
    let report = document(port::REPORT, &report)?;
    texts.insert(port::REPORT.to_owned(), report);
    Ok((texts, notes))
}

/// A new project with these settings, in the folder `root`.
fn new(settings: &Settings, root: &Path) -> Result<Project> {
    ask::possible(&[("--domain", settings.domain.is_some())])?;
    let project_name = if let Some(name) = &settings.project_name {
        name.clone()
    } else {
        let folder = root.file_name().unwrap_or_default();
        ProjectName::from_folder(&folder.to_string_lossy())
            .or_hint("name the project with `--project-name`")?
    };
    let repo = match &settings.repo {
        Some(repo) => repo.clone(),
        None => project_name
            .as_str()
            .parse()
            .or_hint("name the crate with `--repo`")?,
    };
    let domain = match &settings.domain {
        Some(domain) => domain.clone(),
        None => ask::ask("Domain of the API groups", Offer::Default("example.com"))?,
    };
    Ok(Project::new(domain, project_name, repo))
}

/// `project` as a member of `workspace`.
fn in_workspace(mut project: Project, workspace: Option<&Workspace>) -> Project {
    if let Some(workspace) = workspace {
        project.workspace = Some(workspace.root.clone());
        if let Some(runtime) = &workspace.runtime {
            project.runtime = runtime.clone();
        }
        // GitHub reads the files of this feature only at the top of a repository.
        project.features.remove(&Feature::Github);
    }
    project
}
