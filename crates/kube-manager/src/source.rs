//! The text of this crate's own files, for tools that write them into projects.

/// The files of the runtime: the path of each below `src`, and its text.
pub const FILES: &[(&str, &str)] = &[
    ("manager/backoff.rs", include_str!("manager/backoff.rs")),
    ("manager/changes.rs", include_str!("manager/changes.rs")),
    ("manager/children.rs", include_str!("manager/children.rs")),
    ("manager/condition.rs", include_str!("manager/condition.rs")),
    ("manager/context.rs", include_str!("manager/context.rs")),
    (
        "manager/controller.rs",
        include_str!("manager/controller.rs"),
    ),
    ("manager/failure.rs", include_str!("manager/failure.rs")),
    ("manager/health.rs", include_str!("manager/health.rs")),
    ("manager/leader.rs", include_str!("manager/leader.rs")),
    ("manager/manifests.rs", include_str!("manager/manifests.rs")),
    ("manager/metrics.rs", include_str!("manager/metrics.rs")),
    ("manager/mod.rs", include_str!("manager/mod.rs")),
    ("manager/operator.rs", include_str!("manager/operator.rs")),
    ("manager/options.rs", include_str!("manager/options.rs")),
    ("manager/owned.rs", include_str!("manager/owned.rs")),
    ("manager/rbac.rs", include_str!("manager/rbac.rs")),
    (
        "manager/reconciler.rs",
        include_str!("manager/reconciler.rs"),
    ),
    ("manager/requests.rs", include_str!("manager/requests.rs")),
    ("manager/scope.rs", include_str!("manager/scope.rs")),
    ("manager/serve.rs", include_str!("manager/serve.rs")),
    ("manager/watch.rs", include_str!("manager/watch.rs")),
    ("manager/written.rs", include_str!("manager/written.rs")),
];

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use super::*;

    #[test]
    fn all_files_are_there() {
        let folder = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/manager"));
        let there = folder.expect("a folder").map(|entry| {
            let name = entry.expect("a file").file_name();
            format!("manager/{}", name.to_string_lossy())
        });
        let listed = FILES.iter().map(|(path, _)| (*path).to_owned());
        assert_eq!(there.collect::<BTreeSet<_>>(), listed.collect());
    }
}
