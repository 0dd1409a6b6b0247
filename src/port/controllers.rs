//! The controllers that the Go code does not build by `NewControllerManagedBy(mgr).For(&Kind{})`, those whose kind may be
//! one of several groups, and those of kinds that PROJECT does not have: they are only named in the report.

use std::collections::BTreeSet;

use super::{
    go::Go,
    go_file::File,
    go_files::GoFiles,
    lost::Lost,
    path::{file_name, folder},
    setups::builders,
};

/// Reports these controllers.
pub(super) fn report(go: &Go, files: &GoFiles, lost: &mut Lost) {
    for file in go.code() {
        let built = builders(file).map(|at| (at, argument_of_for(file, at)));
        let others = file
            .calls()
            .filter(|(at, function)| function.starts_with("New") && is_of_library(file, *at));
        for (at, argument) in built.chain(others.map(|(at, _)| (at, None))) {
            let object = argument.and_then(|start| file.object_at(start));
            let known =
                object.map(|(package, kind)| (kind, files.of_type(file, package, kind).len()));
            let what = match known {
                Some((_, 1)) => continue,
                Some((kind, 0)) => format!("for {kind}, a kind that PROJECT does not have"),
                Some((kind, _)) => format!(
                    "for {kind}: several groups have a kind of this name, and the code does not say which one it is"
                ),
                None => {
                    let names: Vec<_> = kinds_of(go, files, file, argument).into_iter().collect();
                    let kinds = match names.as_slice() {
                        [] => "the code does not show its kind".to_owned(),
                        names => format!("it seems to be for {}", names.join(", ")),
                    };
                    format!(
                        "that is not built by `NewControllerManagedBy(mgr).For(&Kind{{}})`: {kinds}"
                    )
                }
            };
            lost.add(format!(
                "a controller ({}) {what}; if it is not listed above, `rscaffold create controller --group <GROUP> \
                 --version <VERSION> --kind <KIND>` adds it",
                file.place(at)
            ));
        }
    }
}

/// Whether the function at `at` is one of controller-runtime's package `controller`.
fn is_of_library(file: &File, at: usize) -> bool {
    let import = file.qualifier(at).and_then(|package| file.import(package));
    import.is_some_and(|path| path.ends_with("controller-runtime/pkg/controller"))
}

/// The start of the argument of the call of `For` that follows the call at `at`, up to the next controller.
fn argument_of_for(file: &File, at: usize) -> Option<usize> {
    let next = builders(file).find(|next| *next > at);
    for (call, function) in file.calls().skip_while(|(call, _)| *call <= at) {
        match function {
            _ if next.is_some_and(|next| call >= next) => return None,
            "For" => return Some(file.arguments(call + 1).first()?.start),
            _ => {}
        }
    }
    None
}

/// The kinds that a controller in a file may be for: those that the code sets the field or variable at `argument` to, or
/// that the name of the file begins with, or that the file mentions.
fn kinds_of<'a>(
    go: &'a Go,
    files: &'a GoFiles,
    file: &File,
    argument: Option<usize>,
) -> BTreeSet<&'a str> {
    let known = files.names();
    let mut found = BTreeSet::new();
    if let Some((_, field)) = argument.and_then(|start| file.type_at(start)) {
        for other in go.code() {
            let values = other.set_to(field).map(|(_, value)| value.start);
            let kinds = values.filter_map(|start| other.object_at(start));
            found.extend(
                kinds
                    .map(|(_, kind)| kind)
                    .filter(|kind| known.contains(kind)),
            );
        }
    }
    if found.is_empty() {
        let called = files.called(file_name(&file.path), folder(&file.path));
        found.extend(called.iter().map(|kind| kind.kind.as_str()));
    }
    if found.is_empty() {
        found.extend(known.into_iter().filter(|kind| file.mentions(kind)));
    }
    found
}
