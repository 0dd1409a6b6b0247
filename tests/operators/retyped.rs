//! Tests that a project compiles after each command, if the author has replaced the example types and their tests
//! before.

#[expect(dead_code, reason = "the tests of the command line use all of it")]
#[path = "../retyped/types.rs"]
mod types;

use std::{fs, path::Path};

use self::types::{
    CHANGED, CLOSED, COUNTED, NESTED, ODD, OPTIONAL, RENAMED, REQUIRED, Variant, move_status,
};
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

/// A project with two versions, which have these types.
fn with_versions(name: &'static str, v1: &Variant, v2: &Variant) -> Project {
    let project = Project::scaffold(
        name,
        &[
            "init --domain example.com --repo shelf",
            &format!("create api --version v1 {KIND} --controller=false"),
            &format!("create api --version v2 {KIND}"),
        ],
    );
    v1.write(project.path(), "v1");
    v2.write(project.path(), "v2");
    project
}

/// Adds a conversion, and compiles it.
fn converts(project: &Project) {
    rscaffold(
        project.path(),
        &format!("create webhook {KIND} --conversion"),
    );
    compiles(project.path());
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
        let types = format!(
            "\n/// A phase.\npub enum Phase {{\n    /// The last one.\n    {variant},\n}}\n\n\
             /// A step.\npub struct Step {{\n    /// Its phase.\n    pub phase: Phase,\n}}\n"
        );
        add(folder, &format!("src/api/shop/v1/{module}.rs"), &types);
        let used = format!(
            "\n/// The last step.\npub const LAST: Step = Step {{\n    phase: Phase::{variant},\n}};\n"
        );
        add(folder, &format!("src/controller/shop/{module}.rs"), &used);
        let imported = format!("\nuse crate::api::shop::v1::{module}::{{Phase, Step}};\n{used}");
        add(folder, &format!("src/webhook/shop/{module}.rs"), &imported);
    }
    compiles(folder);
}

/// The CRD of a kind with an inner type.
const CRD: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: PLURAL.shop.example.com
spec:
  group: shop.example.com
  scope: Namespaced
  names:
    kind: KIND
    plural: PLURAL
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              cover:
                type: object
                properties:
                  colour:
                    type: string
";

#[test]
fn a_kind_from_a_crd_may_have_the_name_of_a_type_of_another_kind() {
    let project = Project::scaffold(
        "namesakes-from-crds",
        &["init --domain example.com --repo shelf"],
    );
    let folder = project.path();
    // The cover of a Book has the type BookCover.
    let kinds = [
        ("Book", "books", "book", "BookCover"),
        ("BookCover", "bookcovers", "book_cover", "BookCoverCover"),
    ];
    for (kind, plural, module, cover) in kinds {
        let crd = project.manifest(&CRD.replace("KIND", kind).replace("PLURAL", plural));
        rscaffold(folder, &format!("create api --crd {}", crd.display()));
        let webhooks = "--defaulting --programmatic-validation";
        rscaffold(
            folder,
            &format!("create webhook --group shop --version v1 --kind {kind} {webhooks}"),
        );
        let used = format!(
            "\nuse crate::api::shop::v1::{module}::{cover};\n\n/// The cover.\n\
             pub fn cover(object: &{kind}) -> Option<&{cover}> {{\n    object.spec.cover.as_ref()\n}}\n"
        );
        for part in ["controller", "webhook"] {
            add(folder, &format!("src/{part}/shop/{module}.rs"), &used);
        }
    }
    compiles(folder);
}

#[test]
fn conversions_compile_whatever_the_types_are() {
    for (name, v1, v2) in [
        ("nested", &NESTED, &NESTED),
        ("changed", &NESTED, &CHANGED),
        ("closed", &CLOSED, &CLOSED),
        ("optional", &REQUIRED, &OPTIONAL),
    ] {
        converts(&with_versions(name, v1, v2));
    }
}

#[test]
fn a_conversion_compiles_with_a_status_in_another_file() {
    let project = with_versions("distant-status", &RENAMED, &RENAMED);
    for (version, imported) in [("v1", "BookStatus"), ("v2", "*")] {
        move_status(project.path(), version, imported);
    }
    converts(&project);
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
