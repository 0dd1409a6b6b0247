//! Tests that a project compiles after each command, if the author has replaced the example types and their tests
//! before.

#[expect(dead_code, reason = "the tests of the command line use all of it")]
#[path = "../retyped/types.rs"]
mod types;

use std::path::Path;

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
