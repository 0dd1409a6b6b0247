//! The text of the `PROJECT` file.

use std::{collections::BTreeMap, ops::Range};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, from_value, json, to_value};

use super::{entry::ResourceEntry, model::Project};
use crate::{names::GroupVersionKind, yaml};

const HEADER: &str = "\
# The desired state of this project. rscaffold writes this file, and renders the other files from it.
# After an edit, run `rscaffold apply`.
";

/// A line between the other fields and the growing list of resources. With it, changes on both sides are never
/// adjacent, so git can merge them.
const RESOURCES: &str = "# One entry for each version of a kind.\n";

/// The list `resources` in the text of a `PROJECT` file.
#[derive(Debug, PartialEq, Eq)]
pub struct Listed {
    /// The place of the line `resources:`.
    pub title: Range<usize>,
    /// The number of spaces before each entry.
    pub indent: usize,
    /// The kind of each entry, and the place of its lines.
    pub entries: Vec<(GroupVersionKind, Range<usize>)>,
}

impl Project {
    /// Reads the text of a `PROJECT` file. An error names the line and the field.
    pub fn parse(text: &str) -> Result<Self> {
        let file = Self::FILE;
        let mut lines = text.lines();
        ensure!(
            lines.any(|line| !line.trim().is_empty() && !line.starts_with('#')),
            "`{file}` is empty: restore it, for example with `git restore {file}`"
        );
        // Checked first: the fields of another tool's file are unknown, which would hide the real reason.
        Self::check_format(text)?;
        let mut project: Self = yaml::read(file, text)?;
        // Checked before the other steps, which are slow with many resources.
        (project.ensure_few_resources()).with_context(|| format!("`{file}` is too large"))?;
        project.leave_out_own_domain();
        project.sort();
        project.store_what_is_served();
        project
            .validate()
            .with_context(|| format!("`{file}` contradicts itself"))?;
        Ok(project)
    }

    /// The text of the `PROJECT` file: fields in alphabetical order, resources by group, kind and version.
    pub fn to_text(&self) -> Result<String> {
        let mut sorted = self.clone();
        sorted.sort();
        let mut fields: BTreeMap<String, Value> = from_value(to_value(&sorted)?)?;
        fields.retain(|_, field| !field.is_null());
        let mut entries = Vec::new();
        for resource in sorted.resources.iter() {
            let mut entry = to_value(ResourceEntry::new(&sorted, resource))?;
            yaml::remove_fields(&mut entry, |field| field.is_null() || *field == json!([]));
            entries.push(entry);
        }
        fields.insert("resources".to_owned(), entries.into());
        let below = fields.split_off("resources");
        let (above, below) = (yaml::write(&fields)?, yaml::write(&below)?);
        Ok(format!("{HEADER}{above}{RESOURCES}{below}"))
    }

    /// The list `resources` in the text of a `PROJECT` file. Comments and empty lines above an entry belong to it, and
    /// comments below its fields that are indented like them. `None` if an entry is not on lines of its own.
    pub fn entries(text: &str) -> Option<Listed> {
        let mut starts = Vec::new();
        let mut title = None;
        let mut indent = None;
        let mut end = 0;
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            at += line.len();
            let content = line.trim_start();
            let column = line.len() - content.len();
            let is_comment = content.starts_with('#');
            if content.is_empty() || is_comment && indent.is_none_or(|indent| column <= indent) {
                continue;
            }
            let is_item = content.starts_with("- ");
            if title.is_none() {
                title = line
                    .starts_with("resources:")
                    .then_some(at - line.len()..at);
            } else if is_item && column == *indent.get_or_insert(column) {
                starts.push(end);
            } else if indent.is_none_or(|indent| column <= indent) {
                break;
            }
            end = at;
        }
        let ends: Vec<_> = starts.iter().skip(1).copied().chain([end]).collect();
        let mut entries = Vec::new();
        for (start, end) in starts.into_iter().zip(ends) {
            let read: Vec<ResourceEntry> = yaml::read(Self::FILE, &text[start..end]).ok()?;
            entries.push((read.first()?.id(), start..end));
        }
        Some(Listed {
            title: title?,
            indent: indent.unwrap_or_default(),
            entries,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::for_tests::{TEXT, assert_error, empty, with, written},
        *,
    };
    use crate::project::Feature;

    #[test]
    fn a_project_survives_writing_and_reading() {
        let project = written();
        assert_eq!(project.to_text().unwrap(), TEXT);
        assert_eq!(Project::parse(TEXT).unwrap(), project);
    }

    #[test]
    fn entries_have_the_lines_above_them() {
        let list = "- api:\n    crdVersion: v1\n  kind: Book\n  version: v1\n";
        let other = list.replace("Book", "Room");
        let list = format!("{list}  # until June\n");
        let text = format!(
            "domain: com\nresources:\n# first\n{list}\n# second\n{other}# end\nzones:\n- a\n"
        );
        let found = Project::entries(&text).unwrap();
        assert_eq!(&text[found.title], "resources:\n");
        let entries: Vec<_> = found
            .entries
            .iter()
            .map(|(id, range)| (id.kind().as_str(), &text[range.clone()]))
            .collect();
        let (first, second) = (format!("# first\n{list}"), format!("\n# second\n{other}"));
        assert_eq!(
            entries,
            [("Book", first.as_str()), ("Room", second.as_str())]
        );
        let flow = "resources: [{version: v1, kind: Book}]\nversion: '3'\n";
        let expected = Listed {
            title: 0..39,
            indent: 0,
            entries: Vec::new(),
        };
        assert_eq!(Project::entries(flow), Some(expected));
        assert_eq!(Project::entries("domain: com\n"), None);
    }

    #[test]
    fn an_empty_project_has_an_empty_list_of_resources() {
        let text = empty().to_text().unwrap();
        assert!(
            text.contains(&format!("{RESOURCES}resources: []\n")),
            "{text}"
        );
        assert_eq!(Project::parse(&text).unwrap(), empty());
    }

    #[test]
    fn features_may_be_missing_or_empty() {
        let mut project = empty();
        let text = project.to_text().unwrap();
        let (before, after) = text.split_once("features:\n").unwrap();
        let (_, after) = after.split_once("layout:").unwrap();
        let parse = |features: &str| {
            let text = format!("{before}{features}layout:{after}");
            Project::parse(&text).unwrap()
        };
        project.features = Feature::usual();
        assert_eq!(parse(""), project);
        project.features.clear();
        for none in ["features: []\n", "features:\n"] {
            assert_eq!(parse(none), project);
        }
    }

    #[test]
    fn the_order_of_resources_does_not_matter() {
        let mut shuffled = written();
        shuffled.resources.reverse();
        assert_eq!(shuffled.to_text().unwrap(), TEXT);
        let edited = TEXT
            .replace("group: web-app\n", "group: zoo\n")
            .replace("web_app", "zoo");
        let project = Project::parse(&edited).unwrap();
        let kinds: Vec<_> = project
            .resources
            .iter()
            .map(|resource| resource.kind.as_str())
            .collect();
        assert_eq!(kinds, ["Deployment", "Guestbook", "Shelf"]);
    }

    #[test]
    fn names_that_yaml_takes_for_something_else_stay_texts() {
        for name in ["true", "null", "no", "007", "1e3", "0x1f"] {
            let mut project = empty();
            project.domain = name.parse().unwrap();
            if let Ok(name) = name.parse() {
                project.project_name = name;
            }
            let text = project.to_text().unwrap();
            assert_eq!(Project::parse(&text).unwrap(), project, "{text}");
        }
    }

    #[test]
    fn computed_fields_may_be_missing_or_wrong() {
        let text = with("  plural: shelves\n", "");
        assert_eq!(Project::parse(&text).unwrap(), written());
        let text = with("  - v1/ConfigMap", "  - core/v1/ConfigMap");
        assert_eq!(Project::parse(&text).unwrap(), written());
        let text = with("  path: guestbook::api::webapp::v1\n", "");
        assert_eq!(Project::parse(&text).unwrap(), written());
        let text = with(
            "  path: guestbook::api::webapp::v1\n",
            "  path: elsewhere\n",
        );
        assert_eq!(Project::parse(&text).unwrap(), written());
    }

    #[test]
    fn an_error_about_a_name_has_line_and_field() {
        assert_error(
            &with("kind: Guestbook", "kind: guest book"),
            "`PROJECT` line 41, `resources[2].kind`: `guest book` is not a kind: a space is not allowed, only letters \
             and digits, as in `GuestBook`",
        );
        assert_error(
            &with("  - gb", "  - GB"),
            "`PROJECT` line 48, `resources[2].shortNames[0]`: `GB` is not a short name: `G` is not \
             allowed, only lower-case letters, digits and `-`, as in `gb`",
        );
        assert_error(
            &with("  - v1/ConfigMap", "  - ConfigMap"),
            "`PROJECT` line 44, `resources[2].owns[1]`: `ConfigMap` is not a kind with its group: \
             the form is `<group>/<version>/<Kind>`, or `<version>/<Kind>` for the core group, as \
             in `apps/v1/Deployment`",
        );
        assert_error(
            &with("domain: com", "domain:"),
            "`PROJECT` line 4, `domain`: it has no value",
        );
    }

    #[test]
    fn unknown_missing_and_double_fields() {
        assert_error(
            &with("license: apache2", "licence: apache2"),
            "`PROJECT` line 13, `licence`: unknown field; a similar field is `license`",
        );
        assert_error(
            &with("  finalizer: true", "  cleanup: true"),
            "`PROJECT` line 39, `resources[2].cleanup`: unknown field, expected one \
             of `api`, `controller`, `controllers`, `core`, `domain`, `external`, \
             `fieldManager`, `finalizer`, `finalizerName`, `group`, `image`, `kind`, `module`, `namespaced`, `owns`, `path`, \
             `plural`, `shortNames`, `types`, `version`, `watches`, `webhooks`",
        );
        assert_error(
            &with("domain: com\n", ""),
            "`PROJECT`: missing field `domain`",
        );
        assert_error(
            &with("  kind: Guestbook\n", ""),
            "`PROJECT`, `resources[2]`: missing field `kind`",
        );
        assert_error(
            &with("domain: com", "domain: com\ndomain: com"),
            "`PROJECT` line 5, `domain`: this field occurs twice",
        );
    }

    #[test]
    fn values_of_the_wrong_type() {
        assert_error(
            &with("license: apache2", "license: gpl"),
            "`PROJECT` line 13, `license`: `gpl` must be one of `apache2`, `mit`, \
             `none`",
        );
        assert_error(
            &with("multigroup: true", "multigroup: many"),
            "`PROJECT` line 14, `multigroup`: it must be `true` or `false`",
        );
        assert_error(
            &with(
                "- controller: true\n  core: true",
                "- nonsense\n- core: true",
            ),
            "`PROJECT` line 20, `resources[0]`: fields are expected, as in \
             `kind: Guestbook`",
        );
        assert_error(
            "a project",
            "`PROJECT` line 1: fields are expected, as in `kind: Guestbook`",
        );
    }

    #[test]
    fn invalid_yaml_is_refused() {
        assert_error(
            &with("domain: com", "domain: com: org"),
            "`PROJECT` line 4: mapping values are not allowed in this context",
        );
        for text in ["", "\n", "# The desired state of this project\n\n"] {
            assert_error(
                text,
                "`PROJECT` is empty: restore it, for example with `git restore PROJECT`",
            );
        }
    }

    #[test]
    fn a_project_that_contradicts_itself() {
        assert_error(
            &with("- controller: true\n  core: true", "- core: true"),
            "`PROJECT` contradicts itself: `apps/v1/Deployment` has neither an API nor a controller nor a webhook \
             in this project",
        );
    }
}
