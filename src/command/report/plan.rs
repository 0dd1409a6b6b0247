//! The list of changed files, and the next steps.

use std::{borrow::Cow, collections::BTreeMap, fmt::Write as _, time::Duration};

use console::Style;

use super::message::aside;
use crate::{
    engine::{
        Text,
        reconcile::{FileChange, Kept, Plan, Sides},
    },
    project::Runtime,
    visible::{quoted, visible},
};

/// The assumed width of a terminal.
const WIDTH: usize = 80;

/// With more new files than this, only their folders are listed if the story allows it.
const FOLD: usize = 8;

/// The remark about a file that the user deleted, before the command that restores it.
const DELETED: &str = "you deleted it";

/// What a command reports about its change of the project.
#[derive(Debug, Default)]
pub struct Story {
    /// The summary; `None` for the counts of files.
    pub done: Option<String>,
    /// The message when there was nothing to do; empty for a command that always has something to
    /// do.
    pub unchanged: String,
    /// Which unchanged files are listed.
    pub kept: &'static [Kept],
    /// Whether many new files may be listed by their folders.
    pub folded: bool,
    /// The runtime, if the message states the size of the project.
    pub runtime: Option<Runtime>,
    /// The purpose of a new file, by its path.
    pub remarks: BTreeMap<String, &'static str>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Commands for the user to run next.
    pub next: Vec<NextStep>,
}

/// Says how much of a project with this runtime is the user's to read after `plan`, which was made from `sides`.
pub fn size(plan: &Plan, sides: &Sides, runtime: &Runtime) -> String {
    let (mut files, mut lines) = (0, 0);
    for (path, change) in plan.changes.iter().filter(|(path, _)| !is_vendored(path)) {
        let disk = sides.get(path).disk.as_ref().map(Text::content);
        if let Some(text) = change.after(disk) {
            files += 1;
            lines += text.lines().count();
        }
    }
    let runtime = match runtime.folder() {
        Some(folder) => format!("is in {folder}"),
        None => "comes from crates.io".to_owned(),
    };
    format!("{files} files with {lines} lines are yours; the runtime {runtime}")
}

/// Whether the file at `path` belongs to the vendored runtime, which a user need not read.
fn is_vendored(path: &str) -> bool {
    let below = path.strip_prefix(Runtime::FOLDER);
    below.is_some_and(|below| below.starts_with('/'))
}

/// A command to copy.
#[derive(Debug)]
pub struct NextStep {
    /// The command, as typed in a shell.
    command: String,
    /// The reason; may be empty.
    why: String,
}

impl NextStep {
    /// `command`, for the reason `why`.
    pub fn new(command: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            why: why.into(),
        }
    }
}

/// The change of a file, in the words for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verb {
    Create,
    Update,
    Merge,
    Mark,
    Delete,
    Keep,
    Unchanged,
}

impl Verb {
    fn of(change: &FileChange) -> Option<Self> {
        Some(match change {
            FileChange::Create(_) | FileChange::Copy(_) => Self::Create,
            FileChange::Update(_) => Self::Update,
            FileChange::Merge(_) => Self::Merge,
            FileChange::Mark(_) => Self::Mark,
            FileChange::Delete => Self::Delete,
            FileChange::Keep(_) => Self::Keep,
            FileChange::Unchanged => Self::Unchanged,
            FileChange::Conflict(_) => return None,
        })
    }

    /// The name in a list, the word for counts, and the color.
    fn words(self) -> (&'static str, &'static str, Style) {
        let style = Style::new().for_stderr();
        match self {
            Self::Create => ("create", "created", style.green()),
            Self::Update => ("update", "updated", style.cyan()),
            Self::Merge => ("merge", "merged", style.yellow()),
            Self::Mark => ("mark", "marked", style.red()),
            Self::Delete => ("delete", "deleted", style.red()),
            Self::Keep => ("keep", "kept", style.dim()),
            Self::Unchanged => ("unchanged", "unchanged", style.dim()),
        }
    }
}

/// The whole message.
pub fn text(
    plan: &Plan,
    dry_run: bool,
    story: &Story,
    size: Option<&str>,
    elapsed: Duration,
) -> String {
    let mut text = list(plan, story);
    if plan.is_noop() && !story.unchanged.is_empty() {
        let _ = writeln!(text, "nothing to do: {}", visible(&story.unchanged));
        return text + &notes(&story.notes);
    }
    let counts = counts(plan, dry_run);
    if dry_run {
        let _ = writeln!(text, "{counts} (dry run: nothing was written)");
    } else {
        let done = story.done.as_ref().unwrap_or(&counts);
        let (done, millis) = (visible(done), elapsed.as_millis().max(1));
        let _ = writeln!(text, "{done} ({millis} ms)");
        if let Some(size) = size {
            let _ = writeln!(text, "{}", visible(size));
        }
    }
    text += &notes(&story.notes);
    if !dry_run {
        let manifests = NextStep::new("make manifests", "regenerates CRDs and RBAC from your code");
        let mut steps: Vec<_> = story.next.iter().collect();
        if plan.is_stale {
            steps.retain(|step| step.command != manifests.command);
            steps.insert(0, &manifests);
        }
        text += &next(&steps);
    }
    text
}

/// A paragraph for each note.
pub fn notes(notes: &[String]) -> String {
    let notes = notes.iter().map(|note| aside("note", note));
    notes.collect()
}

/// A line for each file that changes or has a remark. The files of the runtime that change in the same way share a line.
pub(super) fn list(plan: &Plan, story: &Story) -> String {
    let mut lines: Vec<(Verb, Cow<str>, Cow<str>)> = Vec::new();
    let mut vendored: BTreeMap<(Verb, &str), usize> = BTreeMap::new();
    for (path, change) in &plan.changes {
        let remark = match change {
            FileChange::Create(_) => story.remarks.get(path).copied().unwrap_or_default(),
            FileChange::Update(_) | FileChange::Delete => "",
            FileChange::Copy(_) | FileChange::Merge(_) => "with your changes",
            FileChange::Mark(_) | FileChange::Keep(Kept::Marked) => "resolve its conflict markers",
            FileChange::Keep(Kept::Ours) => "your text, because of `--on-conflict=ours`",
            FileChange::Keep(Kept::Stale) => "update it with `make manifests`",
            FileChange::Keep(kept @ Kept::Edited) if story.kept.contains(kept) => "you edited it",
            FileChange::Keep(Kept::RemovedWithNews) => DELETED,
            FileChange::Keep(kept @ Kept::Removed) if story.kept.contains(kept) => DELETED,
            FileChange::Keep(_) | FileChange::Unchanged | FileChange::Conflict(_) => continue,
        };
        let Some(verb) = Verb::of(change) else {
            continue;
        };
        if is_vendored(path) && ["", DELETED].contains(&remark) {
            *vendored.entry((verb, remark)).or_default() += 1;
            continue;
        }
        let path = visible(path);
        let remark = match remark {
            DELETED => {
                let restore = format!("rscaffold apply --restore {}", quoted(&path));
                format!("{DELETED}; restore it with `{restore}`").into()
            }
            remark => remark.into(),
        };
        lines.push((verb, path, remark));
    }
    lines.sort_by_key(|(verb, ..)| *verb);

    let mut text = String::new();
    let new = lines.partition_point(|(verb, ..)| *verb == Verb::Create);
    if story.folded && new > FOLD {
        let paths: Vec<_> = lines.drain(..new).map(|(_, path, _)| path).collect();
        text += &folded(&paths);
    }
    for ((verb, remark), count) in vendored {
        let files = if count == 1 { "file" } else { "files" };
        let remark = if remark == DELETED {
            format!(
                "you deleted {count} {files} of the runtime; restore with `rscaffold apply --restore {}`",
                Runtime::FOLDER
            )
        } else {
            format!("{count} {files} of the runtime")
        };
        lines.push((verb, Runtime::FOLDER.into(), remark.into()));
    }
    lines.sort_by_key(|(verb, ..)| *verb);
    let remarked = lines.iter().filter(|(.., remark)| !remark.is_empty());
    let width = remarked.map(|(_, path, _)| path.len()).max();
    let width = width.unwrap_or_default();
    for (verb, path, remark) in lines {
        let (name, _, style) = verb.words();
        let name = style.apply_to(format!("{name:<6}"));
        if remark.is_empty() {
            let _ = writeln!(text, "  {name}  {path}");
        } else {
            let remark = console::style(remark).for_stderr().dim();
            let _ = writeln!(text, "  {name}  {path:<width$}  {remark}");
        }
    }
    text
}

/// One line for many new files: folders with their counts, then files, as many as fit in the line.
fn folded(paths: &[Cow<str>]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for path in paths {
        let folder = path.find('/').map_or(path.len(), |slash| slash + 1);
        *counts.entry(&path[..folder]).or_default() += 1;
    }
    let parts = counts.into_iter().map(|(name, count)| match name {
        folder if folder.ends_with('/') => format!("{folder} ({count})"),
        file => file.to_owned(),
    });
    let mut parts: Vec<_> = parts.collect();
    parts.sort_by_key(|part| (part.starts_with('.'), !part.contains('/')));

    let (name, _, style) = Verb::Create.words();
    let mut line = format!("{} files: ", paths.len());
    let room = WIDTH - "  create  ".len() - "...".len();
    let fits = parts.iter().scan(line.len(), |width, part| {
        *width += part.len() + ", ".len();
        (*width <= room).then_some(part.as_str())
    });
    let shown: Vec<&str> = fits.collect();
    line += &shown.join(", ");
    if shown.len() < parts.len() {
        line += ", ...";
    }
    format!("  {}  {line}\n", style.apply_to(name))
}

/// The counts of the user's files, as in "8 created, 3 updated, 30 unchanged".
fn counts(plan: &Plan, dry_run: bool) -> String {
    let mut counts: BTreeMap<Verb, usize> = BTreeMap::new();
    for (_, change) in plan.changes.iter().filter(|(path, _)| !is_vendored(path)) {
        if let Some(verb) = Verb::of(change) {
            *counts.entry(verb).or_default() += 1;
        }
    }
    let counts = counts.into_iter().map(|(verb, count)| {
        let (name, past, _) = verb.words();
        if dry_run && verb != Verb::Unchanged {
            format!("{count} to {name}")
        } else {
            format!("{count} {past}")
        }
    });
    counts.collect::<Vec<_>>().join(", ")
}

/// Commands to copy, with their reasons as shell comments.
fn next(steps: &[&NextStep]) -> String {
    let mut text = String::new();
    let steps = steps
        .iter()
        .map(|step| (visible(&step.command), visible(&step.why)));
    let steps: Vec<_> = steps.collect();
    let Some(width) = steps.iter().map(|(command, _)| command.len()).max() else {
        return text;
    };
    text += "\nNext:\n";
    for (command, why) in steps {
        if why.is_empty() {
            let _ = writeln!(text, "  {command}");
        } else {
            let why = console::style(format!("# {why}")).for_stderr().dim();
            let _ = writeln!(text, "  {command:<width$}  {why}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{engine::Texts, render::CONVENTIONS};

    fn plan(changes: &[(&str, FileChange)]) -> Plan {
        let changes = changes
            .iter()
            .map(|(path, change)| ((*path).to_owned(), change.clone()));
        Plan {
            changes: changes.collect(),
            ..Plan::default()
        }
    }

    fn create() -> FileChange {
        FileChange::Create(Text::default())
    }

    fn text_of(plan: &Plan, dry_run: bool, story: &Story) -> String {
        console::set_colors_enabled_stderr(false);
        text(plan, dry_run, story, None, Duration::from_millis(9))
    }

    #[test]
    fn files_are_listed_by_what_happens_to_them_then_counted() {
        let plan = plan(&[
            ("config/crd/bases/a.yaml", FileChange::Keep(Kept::Stale)),
            (
                "config/kustomization.yaml",
                FileChange::Merge(Text::default()),
            ),
            ("old", FileChange::Delete),
            ("src/api/mod.rs", FileChange::Update(Text::default())),
            ("src/api/webapp.rs", create()),
            ("src/lib.rs", FileChange::Unchanged),
            ("src/main.rs", FileChange::Keep(Kept::Edited)),
        ]);
        let story = Story {
            remarks: BTreeMap::from([("src/api/webapp.rs".to_owned(), "the types: edit these")]),
            next: vec![
                NextStep::new("make run", "the operator"),
                NextStep::new("make install run", ""),
            ],
            ..Story::default()
        };

        let expected = [
            "  create  src/api/webapp.rs          the types: edit these",
            "  update  src/api/mod.rs",
            "  merge   config/kustomization.yaml  with your changes",
            "  delete  old",
            "  keep    config/crd/bases/a.yaml    update it with `make manifests`",
            "1 created, 1 updated, 1 merged, 1 deleted, 2 kept, 1 unchanged (9 ms)",
            "",
            "Next:",
            "  make run          # the operator",
            "  make install run",
            "",
        ];
        assert_eq!(text_of(&plan, false, &story), expected.join("\n"));
    }

    #[test]
    fn a_dry_run_says_what_would_be_done() {
        let plan = plan(&[("a", create()), ("b", FileChange::Unchanged)]);
        let story = Story {
            done: Some("ready".to_owned()),
            next: vec![NextStep::new("make run", "")],
            ..Story::default()
        };

        assert_eq!(
            text_of(&plan, true, &story),
            "  create  a\n1 to create, 1 unchanged (dry run: nothing was written)\n"
        );
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        let plan = plan(&[("a\x1b", create()), ("b\n", FileChange::Delete)]);
        let story = Story {
            notes: vec!["note\r".to_owned()],
            next: vec![
                NextStep::new("do\u{202e}", "why\u{7f}"),
                NextStep::new("more\u{9b}", ""),
            ],
            ..Story::default()
        };
        let expected = [
            "  create  a\\u{1b}",
            "  delete  b\\n",
            "1 created, 1 deleted (9 ms)",
            "note: note\\r",
            "",
            "Next:",
            "  do\\u{202e}  # why\\u{7f}",
            "  more\\u{9b}",
            "",
        ];
        assert_eq!(text_of(&plan, false, &story), expected.join("\n"));
    }

    #[test]
    fn nothing_to_do_is_said_in_one_line() {
        let plan = plan(&[
            ("a", FileChange::Unchanged),
            ("b", FileChange::Keep(Kept::Edited)),
        ]);
        let story = Story {
            unchanged: "a is up to date".to_owned(),
            ..Story::default()
        };

        assert_eq!(
            text_of(&plan, false, &story),
            "nothing to do: a is up to date\n"
        );

        let story = Story {
            notes: vec!["a flag has no effect".to_owned()],
            ..story
        };
        assert_eq!(
            text_of(&plan, false, &story),
            "nothing to do: a is up to date\nnote: a flag has no effect\n"
        );
    }

    #[test]
    fn files_of_the_runtime_share_a_line_and_do_not_count() {
        let file = |name: &str| format!("{}/{name}", Runtime::FOLDER);
        let plan = plan(&[
            (&file("a.rs"), create()),
            (&file("b.rs"), create()),
            (&file("c.rs"), FileChange::Delete),
            (&file("d.rs"), FileChange::Merge(Text::default())),
            (&file("e.rs"), FileChange::Unchanged),
            (&file("f.rs"), FileChange::Keep(Kept::Removed)),
            (&file("g.rs"), FileChange::Keep(Kept::Removed)),
            ("src/lib.rs", FileChange::Update(Text::default())),
            ("src/main.rs", FileChange::Unchanged),
        ]);
        let story = Story {
            kept: &[Kept::Removed],
            ..Story::default()
        };
        let expected = [
            "  create  crates/kube-manager       2 files of the runtime",
            "  update  src/lib.rs",
            "  merge   crates/kube-manager/d.rs  with your changes",
            "  delete  crates/kube-manager       1 file of the runtime",
            "  keep    crates/kube-manager       you deleted 2 files of the runtime; restore with `rscaffold apply \
             --restore crates/kube-manager`",
            "1 updated, 1 unchanged (9 ms)",
            "",
        ];
        assert_eq!(text_of(&plan, false, &story), expected.join("\n"));
    }

    #[test]
    fn the_size_of_a_project_is_without_its_runtime_and_what_is_deleted() {
        let vendored = format!("{}/a.rs", Runtime::FOLDER);
        let plan = plan(&[
            (&vendored, FileChange::Create("1\n".into())),
            ("deleted", FileChange::Delete),
            ("new", FileChange::Create("1\n2\n".into())),
            ("old", FileChange::Keep(Kept::Edited)),
        ]);
        let disk = [("deleted", "1\n"), ("old", "1\n2\n3\n")];
        let disk = disk.map(|(path, text)| (path.to_owned(), text.into()));
        let sides = Sides::new(&CONVENTIONS, Texts::new(), disk.into(), Texts::new());
        let shared = Runtime::Shared("../books/crates/kube-manager".to_owned());
        for (runtime, place) in [
            (Runtime::Registry, "comes from crates.io"),
            (Runtime::Vendored, "is in crates/kube-manager"),
            (shared, "is in ../books/crates/kube-manager"),
        ] {
            assert_eq!(
                size(&plan, &sides, &runtime),
                format!("2 files with 5 lines are yours; the runtime {place}")
            );
        }
    }

    #[test]
    fn a_folded_list_names_folders_then_files_within_80_columns() {
        let paths = [
            ".gitignore",
            "Cargo.toml",
            "Dockerfile",
            "Makefile",
            "PROJECT",
            "README.md",
            "a-file-with-quite-a-long-name",
            "config/a/b.yaml",
            "config/b.yaml",
            "src/main.rs",
        ]
        .map(Cow::Borrowed);
        console::set_colors_enabled_stderr(false);
        let line = folded(&paths);

        assert_eq!(
            line,
            "  create  10 files: config/ (2), src/ (1), Cargo.toml, Dockerfile, Makefile, ...\n"
        );
        assert!(line.len() <= WIDTH + 1);
    }
}
