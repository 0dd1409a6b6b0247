//! Shows conflicts with their reasons and the ways to resolve them.

use std::{collections::BTreeSet, fmt::Write as _, mem::take};

use console::{Style, style};

use super::{
    message::{aside, error_line, say},
    plan::{Story, list},
};
use crate::{
    engine::reconcile::{Conflict, Plan, Reason},
    visible::visible,
};

/// How many lines of each side of a hunk are shown.
const LINES: usize = 6;

/// How many hunks of a file are shown.
const HUNKS: usize = 4;

/// The conflicts of a plan. In a dry run, the other changes come first.
pub fn text(plan: &Plan, dry_run: Option<&Story>) -> String {
    let mut text = String::new();
    if let Some(story) = dry_run {
        text += &list(plan, story);
        text.push('\n');
    }
    text += &error_line(match plan.conflicts().count() {
        1 => "1 file conflicts with the new text; nothing was written".to_owned(),
        count => format!("{count} files conflict with the new text; nothing was written"),
    });
    for (path, conflict) in plan.conflicts() {
        text.push('\n');
        text += &file(path, conflict);
    }
    text.push('\n');
    let conflicts = plan.conflicts();
    let hints: BTreeSet<_> = conflicts
        .map(|(_, conflict)| words(conflict.reason).1)
        .collect();
    for hint in hints {
        text += &aside("hint", hint);
    }
    text
}

/// What happened, and what the user can do about it.
fn words(reason: Reason) -> (&'static str, &'static str) {
    const DECIDE: &str = "`--on-conflict=ours` keeps your lines, `theirs` takes the lines of rscaffold, `markers` \
                          writes both; `ours:FILE` applies to that file only";
    match reason {
        Reason::BothChanged => ("both you and rscaffold changed these lines", DECIDE),
        Reason::Untracked => ("existed before rscaffold", DECIDE),
        Reason::Dropped => (
            "you changed this file, rscaffold deletes it",
            "`--on-conflict=ours` keeps your file, `theirs` deletes it with your edits, `markers` keeps its text between \
             conflict markers; `ours:FILE` applies to that file only",
        ),
        Reason::Occupied => (
            "rscaffold moves another file to this path",
            "move that file away, and run the command again",
        ),
        Reason::Contradicts => (
            "with your lines, the file would contradict the command",
            "take the lines of rscaffold with `--on-conflict=theirs:PROJECT`, or make the change in \
             `PROJECT` yourself and run `rscaffold apply`",
        ),
        Reason::Branches => (
            "the branches changed these lines in different ways",
            "edit the files until they have the lines that you want and no conflict markers, or \
             take one side with `git checkout --ours FILE` or `--theirs FILE`; then run the \
             command again",
        ),
    }
}

/// Prints one conflict, before the user is asked about it.
pub fn show(path: &str, conflict: &Conflict) {
    say(&format!("\n{}", file(path, conflict)));
}

fn file(path: &str, Conflict { reason, hunks }: &Conflict) -> String {
    let (mut text, path) = (String::new(), visible(path));
    let (mut reason, _) = words(*reason);
    for hunk in hunks.iter().take(HUNKS) {
        let place = style(format!("{path}:{}", hunk.line)).for_stderr().bold();
        let line = format!("  {place}  {}", take(&mut reason));
        let _ = writeln!(text, "{}", line.trim_end());
        let plain = Style::new().for_stderr();
        if !hunk.base.is_empty() {
            side(&mut text, "base", &hunk.base, &plain.clone().dim());
        }
        side(&mut text, "ours", &hunk.ours, &plain.clone().yellow());
        side(&mut text, "theirs", &hunk.theirs, &plain.cyan());
    }
    if hunks.len() > HUNKS {
        let _ = writeln!(text, "  {path}  {} more", hunks.len() - HUNKS);
    }
    text
}

/// The lines of one side, each prefixed with the name of the side.
fn side(text: &mut String, name: &str, lines: &[String], style: &Style) {
    let mut shown: Vec<_> = lines.iter().take(LINES).map(|line| visible(line)).collect();
    if lines.is_empty() {
        shown.push("(nothing)".into());
    } else if lines.len() > LINES {
        shown.push(format!("({} more lines)", lines.len() - LINES).into());
    }
    for line in shown {
        let line = format!("{name:<6} | {line}");
        let _ = writeln!(text, "      {}", style.apply_to(line.trim_end()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::reconcile::{FileChange, Hunk};

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    fn text_of(files: &[(&str, Reason, Vec<Hunk>)]) -> String {
        console::set_colors_enabled_stderr(false);
        let changes = files.iter().map(|(path, reason, hunks)| {
            let (reason, hunks) = (*reason, hunks.clone());
            (
                (*path).to_owned(),
                FileChange::Conflict(Conflict { reason, hunks }),
            )
        });
        let plan = Plan {
            changes: changes.collect(),
            ..Plan::default()
        };
        text(&plan, None)
    }

    #[test]
    fn each_line_of_a_hunk_names_its_side() {
        let hunk = Hunk {
            line: 7,
            base: lines(&["pub mod webapp;"]),
            ours: lines(&["mod webapp_helpers;", ""]),
            theirs: lines(&["pub mod crew;"]),
        };

        assert_eq!(
            text_of(&[("src/controller/mod.rs", Reason::BothChanged, vec![hunk])]),
            "\
error: 1 file conflicts with the new text; nothing was written

  src/controller/mod.rs:7  both you and rscaffold changed these lines
      base   | pub mod webapp;
      ours   | mod webapp_helpers;
      ours   |
      theirs | pub mod crew;

hint: `--on-conflict=ours` keeps your lines, `theirs` takes the lines of rscaffold, `markers` writes both; `ours:FILE` applies to that file only
"
        );
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        let hunk = Hunk {
            line: 1,
            base: Vec::new(),
            ours: lines(&["\ta\u{1b}[2Jb"]),
            theirs: Vec::new(),
        };
        let text = text_of(&[("a\u{202e}", Reason::Untracked, vec![hunk; HUNKS + 1])]);
        assert!(text.contains("  a\\u{202e}:1  existed before"), "{text}");
        assert!(text.contains("  a\\u{202e}  1 more\n"), "{text}");
        assert!(text.contains("ours   | \ta\\u{1b}[2Jb\n"), "{text}");
    }

    #[test]
    fn long_conflicts_are_cut_and_say_so() {
        let hunk = Hunk {
            line: 1,
            base: Vec::new(),
            ours: Vec::new(),
            theirs: lines(&["a", "b", "c", "d", "e", "f", "g", "h"]),
        };
        let text = text_of(&[
            ("a", Reason::Untracked, vec![hunk.clone(); HUNKS + 2]),
            ("b", Reason::Dropped, vec![hunk]),
        ]);

        assert!(text.starts_with("error: 2 files conflict with"), "{text}");
        assert!(text.contains("      ours   | (nothing)\n"), "{text}");
        assert!(
            text.contains("      theirs | f\n      theirs | (2 more lines)\n"),
            "{text}"
        );
        assert!(
            text.contains("  a  2 more\n\n  b:1  you changed this file"),
            "{text}"
        );
        assert_eq!(text.matches("  a:1").count(), HUNKS);
    }
}
