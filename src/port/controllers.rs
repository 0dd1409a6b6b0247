//! The controllers that the Go code does not build by `NewControllerManagedBy(mgr).For(&Kind{})`, those whose kind may be
//! one of several groups, and those of kinds that PROJECT does not have: they are only named in the report. So is the period
//! after which all controllers reconcile all objects.

use super::{go::Go, go_file::File, go_files::GoFiles, lost::Lost, setups::builders};

/// Reports these controllers, and the period.
pub(super) fn report(go: &Go, files: &GoFiles, lost: &mut Lost) {
    for file in go.code() {
        let mut periods = file.set_to("SyncPeriod");
        let period = periods.find(|(at, _)| match file.literal_around(*at) {
            Some((_, kind)) if file.is_key(*at) => kind == "Options",
            _ => file.mentions("NewManager"),
        });
        if let Some((at, value)) = period {
            lost.add(format!(
                "`SyncPeriod` of the manager, which is `{}` in Go ({}): here, no object is reconciled only because time has \
                 passed; return `Action::requeue` in the reconcilers that must check something outside of the cluster",
                go.value(file, &value).text(),
                file.place(at)
            ));
        }
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
