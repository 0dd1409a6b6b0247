//! Finds the fields that Go code sets without their names, as in `guard{"x.io/guard"}`.

use std::collections::{BTreeMap, BTreeSet};

use super::go_file::File;

/// How many lists in lists are read.
const MAX_LISTS: usize = 4;

/// The most tokens of the key of a map, or of the length of an array.
const MAX_KEY: usize = 20;

/// The names of the fields of each struct that a literal sets without keys. Structs with the same name count as one.
pub(super) fn fields_without_keys<'a>(
    files: impl Iterator<Item = &'a File> + Clone,
) -> BTreeSet<String> {
    let mut fields: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files.clone() {
        for (at, token) in file.tokens.iter().enumerate() {
            if token.is_name("struct")
                && file.is_sign(at + 1, '{')
                && let Some(name) = at.checked_sub(1).and_then(|name| file.name(name))
            {
                fields
                    .entry(name)
                    .or_default()
                    .extend(of_struct(file, at + 1));
            }
        }
    }
    let mut found = BTreeSet::new();
    for file in files {
        for open in 1..file.tokens.len() {
            if file.is_sign(open, '{')
                && let Some(name) = file.name(open - 1).filter(|name| fields.contains_key(name))
                && !found.contains(name)
                && let Some(lists) = lists(file, open - 1)
                && has_no_keys(file, open, lists)
            {
                found.insert(name);
            }
        }
    }
    let of_found = found.iter().filter_map(|name| fields.get(name));
    let names = of_found.flatten().map(|field| (*field).to_owned());
    names.collect()
}

/// The fields of the struct whose bracket is at `open`.
fn of_struct(file: &File, open: usize) -> BTreeSet<&str> {
    let mut fields = BTreeSet::new();
    let mut at = open + 1;
    while at < file.end(open) {
        let is_first = at == open + 1 || !file.is_one_line(at - 1..at + 1);
        if is_first || file.is_sign(at - 1, ';') || file.is_sign(at - 1, ',') {
            fields.extend(file.name(at));
        }
        at = file.after(at);
    }
    fields
}

/// How many lists, one in the other, the type has that ends at `at` before a bracket. `None` if the bracket is not one of a
/// literal, but of a function that returns the type.
fn lists(file: &File, at: usize) -> Option<usize> {
    let mut start = match file.before_dot(at) {
        Some(package) => package,
        None => at,
    };
    let mut lists = 0;
    loop {
        let before = start.checked_sub(1)?;
        let is_pointer = file.is_sign(before, '*');
        let close = before.checked_sub(usize::from(is_pointer))?;
        if !file.is_sign(close, ']') {
            let is_result = file.is_sign(before, ')') || file.name(before) == Some("chan");
            return (!is_result && !is_pointer).then_some(lists);
        }
        // The key of a map is short.
        let mut near = (close.saturating_sub(MAX_KEY)..close).rev();
        let open = near.find(|open| file.is_sign(*open, '[') && file.end(*open) == close)?;
        let is_map = open.checked_sub(1).and_then(|map| file.name(map)) == Some("map");
        start = open - usize::from(is_map);
        lists += 1;
        if lists > MAX_LISTS {
            return None;
        }
    }
}

/// Whether the literal whose bracket is at `open` has a struct with elements without keys. `lists` says in how many lists or
/// maps the structs are.
fn has_no_keys(file: &File, open: usize, lists: usize) -> bool {
    file.arguments(open).into_iter().any(|element| {
        let Some(lists) = lists.checked_sub(1) else {
            return file.name(element.start).is_none() || !file.is_sign(element.start + 1, ':');
        };
        // A struct in a list may leave out its type.
        let mut at = element.start;
        while at < element.end && !file.is_sign(at, '{') {
            at = file.after(at);
        }
        let is_bare = at == element.start || file.is_sign(at - 1, ':');
        at < element.end && is_bare && has_no_keys(file, at, lists)
    })
}
