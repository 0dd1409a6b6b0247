//! The text of the files of this crate, for tools that write them into projects.

/// The version of the crate, such as `0.3.0`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A file: its path in the folder of the crate, and its text, with its tests.
pub type File = (&'static str, &'static str);

/// A part of the runtime that only some operators use. A project that does not use it has none of its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The reference of the API in Markdown.
    ApiDocs,
    /// For tests of types: reads samples, and evaluates CEL rules.
    SchemaTesting,
    /// For tests: an API server, faults for controllers, arbitrary objects for conversions.
    Testing,
    /// Several versions of a kind: checks of their schemas, and the storage migration.
    Versions,
    /// Webhooks: admission and conversion.
    Webhook,
}

impl Part {
    /// All parts.
    pub const ALL: [Self; 5] = [
        Self::ApiDocs,
        Self::SchemaTesting,
        Self::Testing,
        Self::Versions,
        Self::Webhook,
    ];

    /// The feature of the crate that compiles the part.
    pub const fn feature(self) -> &'static str {
        match self {
            Self::ApiDocs => "api-docs",
            Self::SchemaTesting => "schema-testing",
            Self::Testing => "testing",
            Self::Versions => "versions",
            Self::Webhook => "webhook",
        }
    }

    /// Whether only tests use the part, so that the feature belongs to the dependencies of tests.
    pub const fn is_for_tests(self) -> bool {
        matches!(self, Self::SchemaTesting | Self::Testing)
    }

    /// The files of the part.
    pub const fn files(self) -> &'static [File] {
        match self {
            Self::ApiDocs => API_DOCS,
            Self::SchemaTesting => SCHEMA_TESTING,
            Self::Testing => TESTING,
            Self::Versions => VERSIONS,
            Self::Webhook => WEBHOOK,
        }
    }
}

/// The text of a file as a project has it: without the tests, which are the end of the file.
pub fn without_tests(text: &str) -> &str {
    let end = text.find("\n#[cfg(test)]\n");
    end.map_or(text, |end| &text[..end])
}

/// All files that some project has.
pub fn files() -> impl Iterator<Item = File> {
    let parts = Part::ALL.into_iter().flat_map(Part::files);
    CORE.iter().chain(parts).chain([&LICENSE]).copied()
}

/// A file of the runtime.
macro_rules! runtime {
    ($path:literal) => {
        (
            concat!("src/runtime/", $path),
            include_str!(concat!("runtime/", $path)),
        )
    };
}

/// A file of the module `schema`.
macro_rules! schema {
    ($path:literal) => {
        (concat!("src/", $path), include_str!($path))
    };
}

/// The license of the crate, for projects with another license.
pub const LICENSE: File = ("LICENSE", include_str!("../LICENSE"));

/// The files that each copy of the crate has.
pub const CORE: &[File] = &[
    ("README.md", include_str!("../README.md")),
    ("src/lib.rs", include_str!("../vendored/lib.rs")),
    runtime!("access.rs"),
    runtime!("action.rs"),
    runtime!("backoff.rs"),
    runtime!("builder.rs"),
    runtime!("changes.rs"),
    runtime!("child.rs"),
    runtime!("children.rs"),
    runtime!("children/any.rs"),
    runtime!("children/error.rs"),
    runtime!("children/field_owners.rs"),
    runtime!("children/mark.rs"),
    runtime!("children/wanted.rs"),
    runtime!("closures.rs"),
    runtime!("condition.rs"),
    runtime!("context.rs"),
    runtime!("controller.rs"),
    runtime!("controller/worker.rs"),
    runtime!("diagnosis.rs"),
    runtime!("difference.rs"),
    runtime!("digest.rs"),
    runtime!("events.rs"),
    runtime!("extension.rs"),
    runtime!("failure.rs"),
    runtime!("flags.rs"),
    runtime!("health.rs"),
    runtime!("host.rs"),
    runtime!("immutable.rs"),
    runtime!("informer.rs"),
    runtime!("leader.rs"),
    runtime!("manager.rs"),
    runtime!("manifests.rs"),
    runtime!("metrics.rs"),
    runtime!("mod.rs"),
    runtime!("name.rs"),
    runtime!("object.rs"),
    runtime!("objects.rs"),
    runtime!("operator.rs"),
    runtime!("options.rs"),
    runtime!("owned.rs"),
    runtime!("proxy.rs"),
    runtime!("queue.rs"),
    runtime!("rbac.rs"),
    runtime!("readiness.rs"),
    runtime!("reads.rs"),
    runtime!("reconciler.rs"),
    runtime!("reference.rs"),
    runtime!("requests.rs"),
    runtime!("scope.rs"),
    runtime!("serve.rs"),
    runtime!("services.rs"),
    runtime!("settled.rs"),
    runtime!("status.rs"),
    runtime!("status_in_object.rs"),
    runtime!("task.rs"),
    runtime!("tie.rs"),
    runtime!("trigger.rs"),
    runtime!("trouble.rs"),
    runtime!("watch.rs"),
    runtime!("watched.rs"),
    runtime!("workers.rs"),
    runtime!("written.rs"),
    schema!("schema.rs"),
    schema!("schema/cel.rs"),
    schema!("schema/cel_type.rs"),
    schema!("schema/check.rs"),
    schema!("schema/crd.rs"),
    schema!("schema/expression.rs"),
    schema!("schema/fit.rs"),
    schema!("schema/functions.rs"),
    schema!("schema/integer.rs"),
    schema!("schema/keys.rs"),
    schema!("schema/mark.rs"),
    schema!("schema/overflow.rs"),
    schema!("schema/pattern.rs"),
    schema!("schema/rule.rs"),
    schema!("schema/structural.rs"),
    schema!("schema/subresource.rs"),
    schema!("schema/types.rs"),
    schema!("schema/union.rs"),
];

const API_DOCS: &[File] = &[runtime!("manager/api_docs.rs")];

const SCHEMA_TESTING: &[File] = &[schema!("schema/testing.rs")];

const TESTING: &[File] = &[
    runtime!("arbitrary.rs"),
    runtime!("testing/faults.rs"),
    runtime!("testing/faults/call.rs"),
    runtime!("testing/faults/client.rs"),
    runtime!("testing/faults/fault.rs"),
    runtime!("testing/faults/feed.rs"),
    runtime!("testing/faults/histories.rs"),
    runtime!("testing/faults/journal.rs"),
    runtime!("testing/faults/network.rs"),
    runtime!("testing/faults/plan.rs"),
    runtime!("testing/faults/run.rs"),
    runtime!("testing/faults/scenario.rs"),
    runtime!("testing/faults/state.rs"),
    runtime!("testing/faults/test.rs"),
    runtime!("testing/mod.rs"),
];

const VERSIONS: &[File] = &[runtime!("storage.rs"), runtime!("versions.rs")];

const WEBHOOK: &[File] = &[
    runtime!("manager/webhooks.rs"),
    runtime!("webhook/admission.rs"),
    runtime!("webhook/authority.rs"),
    runtime!("webhook/by_url.rs"),
    runtime!("webhook/certificates.rs"),
    runtime!("webhook/configurations.rs"),
    runtime!("webhook/conversion/annotations.rs"),
    runtime!("webhook/conversion/bound.rs"),
    runtime!("webhook/conversion/change.rs"),
    runtime!("webhook/conversion/check.rs"),
    runtime!("webhook/conversion/conversions.rs"),
    runtime!("webhook/conversion/harmless.rs"),
    runtime!("webhook/conversion/header.rs"),
    runtime!("webhook/conversion/hop.rs"),
    runtime!("webhook/conversion/hub.rs"),
    runtime!("webhook/conversion/incomplete.rs"),
    runtime!("webhook/conversion/kind.rs"),
    runtime!("webhook/conversion/mod.rs"),
    runtime!("webhook/conversion/version.rs"),
    runtime!("webhook/conversion/worker.rs"),
    runtime!("webhook/detour.rs"),
    runtime!("webhook/endpoint.rs"),
    runtime!("webhook/files.rs"),
    runtime!("webhook/hook.rs"),
    runtime!("webhook/issued.rs"),
    runtime!("webhook/mod.rs"),
    runtime!("webhook/options.rs"),
    runtime!("webhook/patch.rs"),
    runtime!("webhook/request.rs"),
    runtime!("webhook/review.rs"),
    runtime!("webhook/room.rs"),
    runtime!("webhook/server.rs"),
    runtime!("webhook/verdict.rs"),
    runtime!("webhook/webhooks.rs"),
];

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    /// The files of the runtime that have only tests.
    const ONLY_TESTS: [&str; 7] = [
        "src/runtime/children/any/races.rs",
        "src/runtime/webhook/conversion/tests.rs",
        "src/runtime/webhook/conversion/tests/rules.rs",
        "src/runtime/webhook/conversion/tests/variants.rs",
        "src/runtime/webhook/conversion/tests/without_spec.rs",
        "src/schema/tests.rs",
        "src/schema/tests/shapes.rs",
    ];

    /// The paths of all files in a folder of the crate and in the folders below it.
    fn paths(folder: &str) -> BTreeSet<String> {
        let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let entries = fs::read_dir(crate_folder.join(folder)).expect("a folder");
        let mut files = BTreeSet::new();
        for entry in entries {
            let name = entry.expect("a file").file_name();
            let path = format!("{folder}/{}", name.to_string_lossy());
            if crate_folder.join(&path).is_dir() {
                files.extend(paths(&path));
            } else {
                files.insert(path);
            }
        }
        files
    }

    /// Whether the file at `path` is a module with tests that a copy lacks.
    fn is_module(path: &str) -> bool {
        path.starts_with("src/runtime/") || path.starts_with("src/schema")
    }

    #[test]
    fn each_file_is_in_one_part_or_has_only_tests() {
        let listed = files().map(|(path, _)| path);
        let mut listed: Vec<_> = listed
            .filter(|path| is_module(path) && *path != "src/schema.rs")
            .collect();
        listed.extend(ONLY_TESTS);
        listed.sort_unstable();
        let mut present = paths("src/runtime");
        present.append(&mut paths("src/schema"));
        assert!(
            listed.iter().copied().eq(&present),
            "{listed:#?}\n{present:#?}"
        );
    }

    #[test]
    fn the_tests_of_a_file_are_its_end() {
        for (path, whole) in files().filter(|(path, _)| is_module(path)) {
            let text = without_tests(whole);
            assert!(!text.contains("#[cfg(test)]"), "{path}");
            assert!(text.ends_with("}\n") || text.ends_with(";\n"), "{path}");
            let mut is_test = false;
            for line in whole[text.len()..].lines() {
                if line.starts_with(char::is_alphabetic) {
                    assert!(is_test, "{path}: `{line}` is no test");
                    is_test = false;
                }
                is_test |= line == "#[cfg(test)]";
            }
        }
    }
}
