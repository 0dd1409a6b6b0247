//! Merges a description entry by entry. The order of the entries, comments and indentation do not matter to what a
//! description says, but a merge of lines conflicts if a user has changed them where a command changes lines.

use std::collections::BTreeMap;

use super::merge::Merge;
use crate::engine::conventions::List;

/// A description: the lines above its list, the line with the name of the list, the text of each entry by its name, and the
/// lines below.
struct Parts<'a> {
    head: &'a str,
    title: &'a str,
    entries: BTreeMap<&'a str, &'a str>,
    tail: &'a str,
}

impl<'a> Parts<'a> {
    /// `None` if two entries have the same name.
    fn new(text: &'a str, list: &'a List) -> Option<Self> {
        let end = list
            .entries
            .last()
            .map_or(list.title.end, |last| last.range.end);
        let named = list.entries.iter();
        let named = named.map(|entry| (entry.name.as_str(), &text[entry.range.clone()]));
        let parts = Self {
            head: &text[..list.title.start],
            title: &text[list.title.clone()],
            entries: named.collect(),
            tail: &text[end..],
        };
        (parts.entries.len() == list.entries.len()).then_some(parts)
    }
}

/// Changes `ours`, a user's text, so that it says what `theirs` says. `base` says the same as `ours`, with the layout of
/// `theirs`. `None` if a comment would be lost: at an entry that goes, or at one with another layout that changes.
pub(super) fn merge(
    list: fn(&str) -> Option<List>,
    base: &str,
    ours: &str,
    theirs: &str,
) -> Option<String> {
    let (of_base, of_ours, of_theirs) = (list(base)?, list(ours)?, list(theirs)?);
    let base = Parts::new(base, &of_base)?;
    let own = Parts::new(ours, &of_ours)?;
    let new = Parts::new(theirs, &of_theirs)?;
    let indent = of_ours.indent;
    // A new entry comes before the entry of the user that follows it in theirs; without one, at the end.
    let mut inserted: BTreeMap<&str, String> = BTreeMap::new();
    let mut next = "";
    for entry in of_theirs.entries.iter().rev() {
        if own.entries.contains_key(entry.name.as_str()) {
            next = &entry.name;
        } else {
            let text = indented(new.entries[entry.name.as_str()], indent);
            inserted.entry(next).or_default().insert_str(0, &text);
        }
    }
    let mut merged = lines(base.head, own.head, new.head)?;
    merged += &lines(base.title, own.title, new.title)?;
    for entry in &of_ours.entries {
        let name = entry.name.as_str();
        merged.extend(inserted.remove(name));
        let text = own.entries[name];
        let known = indented(base.entries.get(name)?, indent);
        match new.entries.get(name) {
            Some(wanted) => {
                let wanted = indented(wanted, indent);
                merged += &match lines(&known, text, &wanted) {
                    // Without a comment, only the layout of the entry is lost.
                    None if !text.contains('#') => wanted,
                    entry => entry?,
                };
            }
            None if !text.contains('#') => {}
            None => return None,
        }
    }
    merged.extend(inserted.remove(""));
    merged += &lines(base.tail, own.tail, new.tail)?;
    Some(merged)
}

/// The merged lines. `None` if both sides changed the same lines: where both inserted lines, the order does not matter.
fn lines(base: &str, ours: &str, theirs: &str) -> Option<String> {
    let merge = Merge::of(base, ours, theirs);
    merge.only_inserts().then(|| merge.both())
}

fn indented(text: &str, indent: usize) -> String {
    let spaces = " ".repeat(indent);
    let lines = text.split_inclusive('\n');
    lines.flat_map(|line| [spaces.as_str(), line]).collect()
}
