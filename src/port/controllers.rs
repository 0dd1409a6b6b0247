//! The controllers that the Go code does not build by `NewControllerManagedBy(mgr).For(&Kind{})`, and those whose kind
//! may be one of several groups: the report names their places.

use super::{go::Go, go_file::File, go_files::GoFiles, lost::Lost};

/// Reports these controllers.
pub(super) fn report(go: &Go, files: &GoFiles, lost: &mut Lost) {
    for file in go.code() {
        for (at, function) in file.calls() {
            let argument = match function {
                "NewControllerManagedBy" => argument_of_for(file, at),
                _ if function.starts_with("New") && is_of_library(file, at) => None,
                _ => continue,
            };
            let what = match argument.and_then(|start| file.object_at(start)) {
                Some((package, kind)) if files.of_type(file, package, kind).len() < 2 => continue,
                Some((_, kind)) => format!(
                    "for {kind}: several groups have a kind of this name, and the code does not say which one it is"
                ),
                None => {
                    "that is not built by `NewControllerManagedBy(mgr).For(&Kind{})`".to_owned()
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
    for (call, function) in file.calls().skip_while(|(call, _)| *call <= at) {
        match function {
            "NewControllerManagedBy" => return None,
            "For" => return Some(file.arguments(call + 1).first()?.start),
            _ => {}
        }
    }
    None
}
