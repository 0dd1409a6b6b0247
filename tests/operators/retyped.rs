//! Tests that a project compiles after each command, if the author has replaced the example types and their tests
//! before.

#[expect(dead_code, reason = "the tests of the command line use all of it")]
#[path = "../retyped/types.rs"]
mod types;

use std::{fs, path::Path};

use self::types::{CHANGED, CLOSED, COUNTED, NESTED, ODD, RENAMED, Variant};
use crate::{
    compile::cargo,
    operator::Project,
    scaffold::{rscaffold, run},
};

const KIND: &str = "--group shop --kind Book";

/// Compiles all of the project: the operator, its tests, and what depends only on its types.
fn compiles(folder: &Path) {
    run(cargo(folder).args(["check", "--quiet", "--all-targets"]));
}

/// Writes the types of `v1` and `v2`, adds a conversion, and compiles it.
fn converts(name: &'static str, v1: &Variant, v2: &Variant) {
    let project = Project::scaffold(
        name,
        &[
            "init --domain example.com --repo shelf",
            &format!("create api --version v1 {KIND} --controller=false"),
            &format!("create api --version v2 {KIND}"),
        ],
    );
    let folder = project.path();
    v1.write(folder, "v1");
    v2.write(folder, "v2");
    rscaffold(folder, &format!("create webhook {KIND} --conversion"));
    compiles(folder);
}

#[test]
fn a_project_compiles_after_its_types_are_replaced_before_each_command() {
    let project = Project::scaffold(
        "replaced",
        &[
            "init --domain example.com --repo shelf",
            &format!("create api --version v1 {KIND}"),
        ],
    );
    let folder = project.path();
    RENAMED.write(folder, "v1");
    let webhooks = "--defaulting --programmatic-validation";
    rscaffold(
        folder,
        &format!("create webhook --version v1 {KIND} {webhooks}"),
    );
    NESTED.write(folder, "v1");
    rscaffold(folder, &format!("create api --version v2 {KIND}"));
    compiles(folder);
    for version in ["v1", "v2"] {
        ODD.write(folder, version);
    }
    rscaffold(folder, &format!("create webhook {KIND} --conversion"));
    compiles(folder);
    rscaffold(folder, &format!("create api --version v3 {KIND}"));
    rscaffold(folder, &format!("create webhook {KIND} --conversion"));
    compiles(folder);
}

/// Adds lines to a file, as its author does.
fn add(folder: &Path, file: &str, lines: &str) {
    let path = folder.join(file);
    let text = fs::read_to_string(&path).expect("a file");
    fs::write(path, text + lines).expect("a writable file");
}

#[test]
fn kinds_of_one_version_may_have_types_with_equal_names() {
    let create = |kind: &str| format!("create api --group shop --version v1 --kind {kind}");
    let webhook = |kind: &str| {
        let webhooks = "--defaulting --programmatic-validation";
        format!("create webhook --group shop --version v1 --kind {kind} {webhooks}")
    };
    let project = Project::scaffold(
        "namesakes",
        &[
            "init --domain example.com --repo shelf",
            &create("Book"),
            &create("Poster"),
            // A kind may have the name of such a type.
            &create("Phase"),
            &webhook("Book"),
            &webhook("Poster"),
        ],
    );
    let folder = project.path();
    // Only the type of the own kind has the variant.
    for (module, variant) in [("book", "Bound"), ("poster", "Hung")] {
        let phase = format!(
            "\n/// A phase.\npub enum Phase {{\n    /// The last one.\n    {variant},\n}}\n"
        );
        add(folder, &format!("src/api/shop/v1/{module}.rs"), &phase);
        let used = format!("\n/// The last phase.\npub const LAST: Phase = Phase::{variant};\n");
        add(folder, &format!("src/controller/shop/{module}.rs"), &used);
        let path = format!("crate::api::shop::v1::{module}::Phase");
        let used = used
            .replace("Phase", &path)
            .replace("The last phase", "The last one");
        add(folder, &format!("src/webhook/shop/{module}.rs"), &used);
    }
    compiles(folder);
}

#[test]
fn conversions_compile_whatever_the_types_are() {
    converts("nested", &NESTED, &NESTED);
    converts("changed", &NESTED, &CHANGED);
    converts("closed", &CLOSED, &CLOSED);
}

#[test]
fn a_controller_that_is_added_later_compiles_with_another_status() {
    let project = Project::scaffold(
        "counted",
        &[
            "init --domain example.com --repo shelf",
            &format!("create api --version v1 {KIND} --controller=false"),
        ],
    );
    let folder = project.path();
    COUNTED.write(folder, "v1");
    for settings in [
        "--controller",
        "--controller-name audit --finalizer --owns v1/ConfigMap,apps/v1/Deployment",
        "--controller-name watch --watches v1/Secret",
    ] {
        rscaffold(
            folder,
            &format!("create api --version v1 {KIND} --resource=false {settings}"),
        );
        compiles(folder);
    }
}
