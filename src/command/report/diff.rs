//! A plan as a unified diff, for `patch -p1` and `git apply`.

use std::io::{self, IsTerminal};

use console::{Style, colors_enabled};
use diffy::DiffOptions;

use crate::{
    engine::{
        Text,
        reconcile::{Plan, Sides},
    },
    visible::visible,
};

/// The changes of `plan`, which was made from `sides`: a patch for a pipe, or a text with escaped control characters
/// for a terminal.
pub fn text(plan: &Plan, sides: &Sides) -> String {
    format(plan, sides, io::stdout().is_terminal() || colors_enabled())
}

fn format(plan: &Plan, sides: &Sides, is_for_people: bool) -> String {
    let mut text = String::new();
    for (path, change) in &plan.changes {
        let old = sides.get(path).disk.as_ref().map(Text::content);
        let new = change.after(old);
        if new == old {
            continue;
        }
        let [old_name, new_name] = [("a", old), ("b", new)].map(|(side, text)| match text {
            Some(_) => format!("{side}/{path}"),
            None => "/dev/null".to_owned(),
        });
        let patch = DiffOptions::new()
            .set_original_filename(old_name)
            .set_modified_filename(new_name)
            .create_patch(old.unwrap_or_default(), new.unwrap_or_default())
            .to_string();
        text += &if is_for_people { shown(&patch) } else { patch };
    }
    text
}

/// The patch of a file with colors, and with control characters escaped.
fn shown(patch: &str) -> String {
    let lines = patch.lines().enumerate().map(|(index, line)| {
        let style = match line.as_bytes() {
            // The names of the file.
            _ if index < 2 => Style::new().bold(),
            [b'@', ..] => Style::new().cyan(),
            [b'-', ..] => Style::new().red(),
            [b'+', ..] => Style::new().green(),
            _ => Style::new(),
        };
        format!("{}\n", style.apply_to(visible(line)))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        engine::{Texts, reconcile::FileChange},
        render::CONVENTIONS,
    };

    fn on_disk(texts: Texts) -> Sides {
        Sides::new(&CONVENTIONS, Texts::new(), texts, Texts::new())
    }

    #[test]
    fn each_file_that_changes_has_its_lines() {
        console::set_colors_enabled(false);
        let changes = [
            ("a", FileChange::Create("new\n".into())),
            ("b", FileChange::Delete),
            ("c", FileChange::Merge("1\nnew\n".into())),
            ("d", FileChange::Unchanged),
        ];
        let ours = [("b", "gone\n"), ("c", "1\n2\n"), ("d", "same\n")];
        let owned = |(path, text): (&str, &str)| (path.to_owned(), text.to_owned().into());
        let plan = Plan {
            changes: changes
                .map(|(path, change)| (path.to_owned(), change))
                .into(),
            ..Plan::default()
        };
        let expected = "\
--- /dev/null
+++ b/a
@@ -0,0 +1 @@
+new
--- a/b
+++ /dev/null
@@ -1 +0,0 @@
-gone
--- a/c
+++ b/c
@@ -1,2 +1,2 @@
 1
-2
+new
";
        let ours = on_disk(ours.map(owned).into());
        assert_eq!(format(&plan, &ours, false), expected);
        assert_eq!(format(&plan, &ours, true), expected);
    }

    #[test]
    fn control_characters_are_escaped_for_people_and_kept_in_a_patch() {
        console::set_colors_enabled(false);
        let file = "a\u{202e}".to_owned();
        let plan = Plan {
            changes: [(file.clone(), FileChange::Update("\x1b[2J\r\nb\rc".into()))].into(),
            ..Plan::default()
        };
        let ours = on_disk([(file, "\\u{1b}[2J\r\n".into())].into());
        let patch = format(&plan, &ours, false);
        assert!(patch.contains("\n+\x1b[2J\r\n+b\rc\n"), "{patch}");
        let expected = "\
--- a/a\\u{202e}
+++ b/a\\u{202e}
@@ -1 +1,2 @@
-\\u{1b}[2J
+\\u{1b}[2J
+b\\rc
\\ No newline at end of file
";
        assert_eq!(format(&plan, &ours, true), expected);
    }
}
