//! Finds the fields that Go code sets without their names, as in `guard{"x.io/guard"}`.

use std::collections::{BTreeMap, BTreeSet};

use super::go_file::File;

/// How many lists in lists are read.
const MAX_LISTS: usize = 4;

/// The names of the fields of each struct that a literal sets without keys. Structs with the same name count as one.
pub(super) fn fields_without_keys<'a>(
    files: impl Iterator<Item = &'a File> + Clone,
) -> BTreeSet<String> {
    let mut fields: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files.clone() {
        for (name, own) in file.structs() {
            let own = own.into_iter().filter_map(|at| file.name(at));
            fields.entry(name).or_default().extend(own);
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

/// How many lists, one in the other, the type has that ends at `at` before a bracket. `None` if the bracket is not one of a
/// literal, but of a function that returns the type.
fn lists(file: &File, at: usize) -> Option<usize> {
    let mut start = file.before_dot(at).unwrap_or(at);
    let mut lists = 0;
    loop {
        let before = start.checked_sub(1)?;
        let is_pointer = file.is_sign(before, '*');
        let close = before.checked_sub(usize::from(is_pointer))?;
        if !file.is_sign(close, ']') {
            let is_result = file.is_sign(before, ')') || file.name(before) == Some("chan");
            return (!is_result && !is_pointer).then_some(lists);
        }
        let open = file.start(close)?;
        let is_map = file.name_before(open) == Some("map");
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
