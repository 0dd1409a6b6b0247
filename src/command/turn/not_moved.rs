//! Notes about the user's files that stay behind when rscaffold moves or copies its own.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use crate::{
    engine::{
        files::Sources,
        reconcile::{FileChange, Plan, Sides},
        worktree::WorkTree,
    },
    names::first_in_backticks,
};

/// The most files that a note lists.
const LISTED: usize = 5;

/// Notes about new files that are not copies, because the user has moved or deleted the file to copy.
pub(super) fn not_copied(sources: &Sources, plan: &Plan, sides: &Sides) -> Vec<String> {
    let mut notes = Vec::new();
    for (new, old) in &sources.0 {
        let source = sides.get(old);
        let is_missing = source.theirs.is_some() && source.disk.is_none();
        if is_missing && matches!(plan.changes.get(new), Some(FileChange::Create(_))) {
            notes.push(format!(
                "`{old}` is missing, so `{new}` is not a copy of it: it has the text of a new project"
            ));
        }
    }
    notes
}

/// Notes about files of the user that stay in a folder from which all files of rscaffold move away.
pub(super) fn not_moved(sources: &Sources, tree: &WorkTree, sides: &Sides) -> Vec<String> {
    let mut notes = Vec::new();
    let mut told = BTreeSet::new();
    for (Reverse(old_folder), new_folder) in moved_folders(sources, sides) {
        let mut left = Vec::new();
        for file in tree.below(old_folder) {
            let path = format!("{old_folder}/{file}");
            if sides.get(&path).disk.is_none() && told.insert(path) {
                left.push(file);
            }
        }
        if left.is_empty() {
            continue;
        }
        notes.push(format!(
            "files of yours stay in `{old_folder}`: move {} to `{new_folder}`",
            first_in_backticks(&left, LISTED)
        ));
    }
    notes
}

/// The folders from which all files move, each with the new folder. A folder comes before the folders that it is in.
fn moved_folders<'a>(sources: &'a Sources, sides: &Sides) -> BTreeMap<Reverse<&'a str>, &'a str> {
    let mut folders = BTreeMap::new();
    for (new, old) in &sources.0 {
        if sides.get(old).theirs.is_none()
            && let Some((old_folder, new_folder)) = without_common_end(old, new)
        {
            folders.insert(Reverse(old_folder), new_folder);
        }
    }
    folders.retain(|Reverse(folder), _| {
        let inside = format!("{folder}/");
        let mut files = sides.files();
        !files.any(|(path, file)| path.starts_with(&inside) && file.theirs.is_some())
    });
    folders
}

/// The folders of two paths that end in the same names: `a/b` and `a/c` of `a/b/d/e` and `a/c/d/e`.
fn without_common_end<'a>(old: &'a str, new: &'a str) -> Option<(&'a str, &'a str)> {
    let mut folders = None;
    let (mut old_rest, mut new_rest) = (old, new);
    while let (Some((old_folder, old_name)), Some((new_folder, new_name))) =
        (old_rest.rsplit_once('/'), new_rest.rsplit_once('/'))
        && old_name == new_name
    {
        folders = Some((old_folder, new_folder));
        (old_rest, new_rest) = (old_folder, new_folder);
    }
    folders
}
