//! The text of the files of this crate, for tools that write them into projects.

/// The version of the crate, such as `0.3.0`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The files of the crate as a project has them, each as its path in the crate's folder and its text.
///
/// A project vendors only the runtime, with its optional features.
pub const FILES: &[(&str, &str)] = &[
    ("Cargo.toml", include_str!("../vendored/manifest.toml")),
    ("LICENSE", include_str!("../LICENSE")),
    ("README.md", include_str!("../README.md")),
    ("src/lib.rs", include_str!("../vendored/lib.rs")),
    ("src/runtime/action.rs", include_str!("runtime/action.rs")),
    ("src/runtime/backoff.rs", include_str!("runtime/backoff.rs")),
    ("src/runtime/builder.rs", include_str!("runtime/builder.rs")),
    ("src/runtime/changes.rs", include_str!("runtime/changes.rs")),
    ("src/runtime/child.rs", include_str!("runtime/child.rs")),
    (
        "src/runtime/children.rs",
        include_str!("runtime/children.rs"),
    ),
    (
        "src/runtime/children/error.rs",
        include_str!("runtime/children/error.rs"),
    ),
    (
        "src/runtime/children/races.rs",
        include_str!("runtime/children/races.rs"),
    ),
    ("src/runtime/cleanup.rs", include_str!("runtime/cleanup.rs")),
    (
        "src/runtime/closures.rs",
        include_str!("runtime/closures.rs"),
    ),
    (
        "src/runtime/condition.rs",
        include_str!("runtime/condition.rs"),
    ),
    ("src/runtime/context.rs", include_str!("runtime/context.rs")),
    (
        "src/runtime/controller.rs",
        include_str!("runtime/controller.rs"),
    ),
    (
        "src/runtime/diagnosis.rs",
        include_str!("runtime/diagnosis.rs"),
    ),
    (
        "src/runtime/difference.rs",
        include_str!("runtime/difference.rs"),
    ),
    ("src/runtime/events.rs", include_str!("runtime/events.rs")),
    (
        "src/runtime/extension.rs",
        include_str!("runtime/extension.rs"),
    ),
    ("src/runtime/failure.rs", include_str!("runtime/failure.rs")),
    ("src/runtime/flags.rs", include_str!("runtime/flags.rs")),
    ("src/runtime/guarded.rs", include_str!("runtime/guarded.rs")),
    ("src/runtime/health.rs", include_str!("runtime/health.rs")),
    ("src/runtime/host.rs", include_str!("runtime/host.rs")),
    (
        "src/runtime/immutable.rs",
        include_str!("runtime/immutable.rs"),
    ),
    (
        "src/runtime/informer.rs",
        include_str!("runtime/informer.rs"),
    ),
    ("src/runtime/leader.rs", include_str!("runtime/leader.rs")),
    ("src/runtime/manager.rs", include_str!("runtime/manager.rs")),
    (
        "src/runtime/manager/webhooks.rs",
        include_str!("runtime/manager/webhooks.rs"),
    ),
    (
        "src/runtime/manifests.rs",
        include_str!("runtime/manifests.rs"),
    ),
    ("src/runtime/metrics.rs", include_str!("runtime/metrics.rs")),
    ("src/runtime/mod.rs", include_str!("runtime/mod.rs")),
    ("src/runtime/objects.rs", include_str!("runtime/objects.rs")),
    (
        "src/runtime/operator.rs",
        include_str!("runtime/operator.rs"),
    ),
    ("src/runtime/options.rs", include_str!("runtime/options.rs")),
    ("src/runtime/owned.rs", include_str!("runtime/owned.rs")),
    ("src/runtime/proxy.rs", include_str!("runtime/proxy.rs")),
    ("src/runtime/queue.rs", include_str!("runtime/queue.rs")),
    ("src/runtime/rbac.rs", include_str!("runtime/rbac.rs")),
    (
        "src/runtime/readiness.rs",
        include_str!("runtime/readiness.rs"),
    ),
    ("src/runtime/reads.rs", include_str!("runtime/reads.rs")),
    (
        "src/runtime/reconciler.rs",
        include_str!("runtime/reconciler.rs"),
    ),
    (
        "src/runtime/requests.rs",
        include_str!("runtime/requests.rs"),
    ),
    ("src/runtime/scope.rs", include_str!("runtime/scope.rs")),
    ("src/runtime/serve.rs", include_str!("runtime/serve.rs")),
    (
        "src/runtime/services.rs",
        include_str!("runtime/services.rs"),
    ),
    ("src/runtime/settled.rs", include_str!("runtime/settled.rs")),
    ("src/runtime/status.rs", include_str!("runtime/status.rs")),
    ("src/runtime/storage.rs", include_str!("runtime/storage.rs")),
    ("src/runtime/task.rs", include_str!("runtime/task.rs")),
    ("src/runtime/tie.rs", include_str!("runtime/tie.rs")),
    ("src/runtime/trigger.rs", include_str!("runtime/trigger.rs")),
    ("src/runtime/trouble.rs", include_str!("runtime/trouble.rs")),
    (
        "src/runtime/versions.rs",
        include_str!("runtime/versions.rs"),
    ),
    ("src/runtime/watch.rs", include_str!("runtime/watch.rs")),
    ("src/runtime/watched.rs", include_str!("runtime/watched.rs")),
    (
        "src/runtime/webhook/admission.rs",
        include_str!("runtime/webhook/admission.rs"),
    ),
    (
        "src/runtime/webhook/authority.rs",
        include_str!("runtime/webhook/authority.rs"),
    ),
    (
        "src/runtime/webhook/by_url.rs",
        include_str!("runtime/webhook/by_url.rs"),
    ),
    (
        "src/runtime/webhook/certificates.rs",
        include_str!("runtime/webhook/certificates.rs"),
    ),
    (
        "src/runtime/webhook/configurations.rs",
        include_str!("runtime/webhook/configurations.rs"),
    ),
    (
        "src/runtime/webhook/conversion/annotations.rs",
        include_str!("runtime/webhook/conversion/annotations.rs"),
    ),
    (
        "src/runtime/webhook/conversion/arbitrary.rs",
        include_str!("runtime/webhook/conversion/arbitrary.rs"),
    ),
    (
        "src/runtime/webhook/conversion/bound.rs",
        include_str!("runtime/webhook/conversion/bound.rs"),
    ),
    (
        "src/runtime/webhook/conversion/change.rs",
        include_str!("runtime/webhook/conversion/change.rs"),
    ),
    (
        "src/runtime/webhook/conversion/check.rs",
        include_str!("runtime/webhook/conversion/check.rs"),
    ),
    (
        "src/runtime/webhook/conversion/conversions.rs",
        include_str!("runtime/webhook/conversion/conversions.rs"),
    ),
    (
        "src/runtime/webhook/conversion/header.rs",
        include_str!("runtime/webhook/conversion/header.rs"),
    ),
    (
        "src/runtime/webhook/conversion/hop.rs",
        include_str!("runtime/webhook/conversion/hop.rs"),
    ),
    (
        "src/runtime/webhook/conversion/hub.rs",
        include_str!("runtime/webhook/conversion/hub.rs"),
    ),
    (
        "src/runtime/webhook/conversion/incomplete.rs",
        include_str!("runtime/webhook/conversion/incomplete.rs"),
    ),
    (
        "src/runtime/webhook/conversion/kind.rs",
        include_str!("runtime/webhook/conversion/kind.rs"),
    ),
    (
        "src/runtime/webhook/conversion/mod.rs",
        include_str!("runtime/webhook/conversion/mod.rs"),
    ),
    (
        "src/runtime/webhook/conversion/tests.rs",
        include_str!("runtime/webhook/conversion/tests.rs"),
    ),
    (
        "src/runtime/webhook/conversion/tests/without_spec.rs",
        include_str!("runtime/webhook/conversion/tests/without_spec.rs"),
    ),
    (
        "src/runtime/webhook/conversion/version.rs",
        include_str!("runtime/webhook/conversion/version.rs"),
    ),
    (
        "src/runtime/webhook/conversion/worker.rs",
        include_str!("runtime/webhook/conversion/worker.rs"),
    ),
    (
        "src/runtime/webhook/detour.rs",
        include_str!("runtime/webhook/detour.rs"),
    ),
    (
        "src/runtime/webhook/endpoint.rs",
        include_str!("runtime/webhook/endpoint.rs"),
    ),
    (
        "src/runtime/webhook/files.rs",
        include_str!("runtime/webhook/files.rs"),
    ),
    (
        "src/runtime/webhook/hook.rs",
        include_str!("runtime/webhook/hook.rs"),
    ),
    (
        "src/runtime/webhook/issued.rs",
        include_str!("runtime/webhook/issued.rs"),
    ),
    (
        "src/runtime/webhook/mod.rs",
        include_str!("runtime/webhook/mod.rs"),
    ),
    (
        "src/runtime/webhook/options.rs",
        include_str!("runtime/webhook/options.rs"),
    ),
    (
        "src/runtime/webhook/patch.rs",
        include_str!("runtime/webhook/patch.rs"),
    ),
    (
        "src/runtime/webhook/request.rs",
        include_str!("runtime/webhook/request.rs"),
    ),
    (
        "src/runtime/webhook/review.rs",
        include_str!("runtime/webhook/review.rs"),
    ),
    (
        "src/runtime/webhook/room.rs",
        include_str!("runtime/webhook/room.rs"),
    ),
    (
        "src/runtime/webhook/server.rs",
        include_str!("runtime/webhook/server.rs"),
    ),
    (
        "src/runtime/webhook/verdict.rs",
        include_str!("runtime/webhook/verdict.rs"),
    ),
    (
        "src/runtime/webhook/webhooks.rs",
        include_str!("runtime/webhook/webhooks.rs"),
    ),
    ("src/runtime/workers.rs", include_str!("runtime/workers.rs")),
    ("src/runtime/written.rs", include_str!("runtime/written.rs")),
];

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use toml::{Table, Value};

    use super::*;

    /// The paths of all files in a folder of the crate and in the folders below it.
    fn files(folder: &str) -> BTreeSet<String> {
        let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let entries = fs::read_dir(crate_folder.join(folder)).expect("a folder");
        let mut files = BTreeSet::new();
        for entry in entries {
            let name = entry.expect("a file").file_name();
            let path = format!("{folder}/{}", name.to_string_lossy());
            if crate_folder.join(&path).is_dir() {
                files.extend(self::files(&path));
            } else {
                files.insert(path);
            }
        }
        files
    }

    #[test]
    fn all_files_are_there() {
        let listed = FILES
            .iter()
            .map(|(path, _)| (*path).to_owned())
            .filter(|path| path.starts_with("src/runtime/"));
        assert_eq!(files("src/runtime"), listed.collect());
    }

    /// The dependencies in a manifest, including optional ones.
    fn dependencies(manifest: &mut Table) -> Table {
        let dependencies = manifest.remove("dependencies").expect("dependencies");
        let Value::Table(dependencies) = dependencies else {
            panic!("{dependencies:?} is no table");
        };
        let plain = dependencies.into_iter().map(|(name, value)| {
            let mut value = match value {
                Value::Table(table) => table,
                version => Table::from_iter([("version".to_owned(), version)]),
            };
            value.remove("optional");
            (name, Value::Table(value))
        });
        plain.collect()
    }

    /// What a feature of the crate enables, except the runtime.
    fn feature(manifest: &Table, name: &str) -> Vec<String> {
        let names = manifest["features"][name].as_array().expect("a list");
        let names = names
            .iter()
            .map(|name| name.as_str().expect("a name").to_owned());
        names.filter(|name| name != "runtime").collect()
    }

    #[test]
    fn the_vendored_crate_is_this_one_with_the_runtime_alone() {
        let mut published: Table = include_str!("../Cargo.toml").parse().expect("TOML");
        let mut vendored: Table = include_str!("../vendored/manifest.toml")
            .parse()
            .expect("TOML");
        let all = vendored["dependencies"].as_table().expect("dependencies");
        let optional: Vec<_> = all
            .iter()
            .filter(|(_, value)| value.get("optional").is_some())
            .map(|(name, _)| format!("dep:{name}"))
            .collect();
        assert_eq!(dependencies(&mut vendored), dependencies(&mut published));
        for field in ["name", "version", "edition", "rust-version", "license"] {
            assert_eq!(vendored["package"][field], published["package"][field]);
        }
        assert_eq!(vendored["lints"], published["lints"]);
        assert_eq!(vendored["package"]["publish"], Value::Boolean(false));
        let Value::Table(features) = &vendored["features"] else {
            panic!("no features");
        };
        let names: Vec<_> = features.keys().collect();
        assert_eq!(names, ["testing", "webhook"]);
        let mut named = Vec::new();
        for name in names {
            let switched = feature(&vendored, name);
            assert_eq!(switched, feature(&published, name));
            named.extend(
                switched
                    .into_iter()
                    .filter(|feature| feature.starts_with("dep:")),
            );
        }
        named.sort();
        assert_eq!(named, optional);
    }

    #[test]
    fn the_licence_is_that_of_the_repository() {
        let repository = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../LICENSE"));
        let (_, licence) = FILES
            .iter()
            .find(|(path, _)| *path == "LICENSE")
            .expect("a license");
        assert_eq!(repository.expect("a file"), *licence);
    }
}
