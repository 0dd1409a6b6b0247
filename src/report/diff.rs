//! A plan as a unified diff, which `patch -p1` and `git apply` take.

use console::colors_enabled;
use diffy::{DiffOptions, PatchFormatter};

use crate::reconcile::{Change, Plan, Texts};

/// What stands for a file that is not there.
const NOTHING: &str = "/dev/null";

/// What `plan` makes of `ours`.
pub fn text(plan: &Plan, ours: &Texts) -> String {
    let mut formatter = PatchFormatter::new();
    if colors_enabled() {
        formatter = formatter.with_color();
    }
    let mut text = String::new();
    for (path, change) in &plan.changes {
        let old = ours.get(path).map_or("", String::as_str);
        let new = match change {
            Change::Delete => "",
            change => match change.text() {
                Some(new) => new,
                None => continue,
            },
        };
        let name = |side: &str, is_there: bool| {
            if is_there {
                format!("{side}/{path}")
            } else {
                NOTHING.to_owned()
            }
        };
        let patch = DiffOptions::new()
            .set_original_filename(name("a", ours.contains_key(path)))
            .set_modified_filename(name("b", *change != Change::Delete))
            .create_patch(old, new);
        text += &formatter.fmt_patch(&patch).to_string();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_that_changes_has_its_lines() {
        console::set_colors_enabled(false);
        let changes = [
            ("a", Change::Create("new\n".to_owned())),
            ("b", Change::Delete),
            ("c", Change::Merge("1\nnew\n".to_owned())),
            ("d", Change::Unchanged),
        ];
        let ours = [("b", "gone\n"), ("c", "1\n2\n"), ("d", "same\n")];
        let owned = |(path, text): (&str, &str)| (path.to_owned(), text.to_owned());
        let plan = Plan {
            changes: changes
                .map(|(path, change)| (path.to_owned(), change))
                .into(),
            is_stale: false,
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
        assert_eq!(text(&plan, &ours.map(owned).into()), expected);
    }
}
