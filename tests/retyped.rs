//! Authors replace the example types and their tests before they go on. Tests that each later command is accepted then,
//! and that its new files go with the types as they are. `operators/retyped.rs` compiles such projects.

mod types;

use std::{fs, process::Command};

use self::types::{
    CHANGED, CLOSED, COUNTED, NESTED, ODD, OPTIONAL, RENAMED, REQUIRED, Variant, move_status,
};
use crate::{project::Project, scaffold::run};

const KIND: &str = "--group shop --kind Book";
const CONVERSION: &str = "src/api/shop/v2/book_conversion.rs";

/// Runs a command, and checks that it was not refused.
fn accepted(project: &Project, command: &str) {
    let outcome = project.outcome(command);
    assert_eq!(outcome.code, 0, "{command}: {}", outcome.stderr);
}

/// A project with version v1 of a kind, with the types of `variant`.
fn with_types(variant: &Variant) -> Project {
    let project = Project::new(&[
        "init --domain example.com --repo shelf --runtime registry",
        &format!("create api --version v1 {KIND}"),
    ]);
    variant.write(&project.folder(), "v1");
    project
}

/// Checks the layout of a file.
fn is_formatted(project: &Project, file: &str) {
    run(Command::new("rustfmt")
        .args(["--edition=2024", "--check"])
        .arg(project.folder().join(file)));
}

#[test]
fn new_files_name_no_field_that_the_author_has_replaced() {
    for variant in [&RENAMED, &NESTED, &ODD, &CLOSED] {
        let name = variant.name;
        let project = with_types(variant);
        accepted(
            &project,
            &format!("create webhook --version v1 {KIND} --defaulting --programmatic-validation"),
        );
        let webhook = project.read("src/webhook/shop/book.rs");
        assert!(!webhook.contains("title"), "{name}: {webhook}");

        accepted(&project, &format!("create api --version v2 {KIND}"));
        let [v1, v2] = ["v1", "v2"].map(|it| project.read(&format!("src/api/shop/{it}/book.rs")));
        // A version in the text itself is the user's, such as a path in a comment.
        let expected = v1
            .replace("version = \"v1\"", "version = \"v2\"")
            .replace("shop_v1_book.yaml", "shop_v2_book.yaml");
        let unserved = v2.lines().filter(|line| {
            let line = line.trim_start();
            !(line == "served = false,"
                || line.starts_with("// Not served yet.")
                || line.starts_with("// the other version has: serve"))
        });
        assert_eq!(
            unserved.collect::<Vec<_>>(),
            expected.lines().collect::<Vec<_>>(),
            "{name}"
        );
        assert!(v2.contains("    served = false,\n"), "{name}: {v2}");

        accepted(&project, &format!("create webhook {KIND} --conversion"));
        let conversion = project.read(CONVERSION);
        for field in variant.fields {
            assert!(conversion.contains(field), "{name}: {field}: {conversion}");
        }
        for nothing in [": _,", "Without a value", "title"] {
            assert!(
                !conversion.contains(nothing),
                "{name}: {nothing}: {conversion}"
            );
        }
        is_formatted(&project, CONVERSION);
        accepted(&project, "apply");
        assert_eq!(project.read(CONVERSION), conversion, "{name}");
    }
}

#[test]
fn types_that_are_replaced_before_each_command_are_never_a_conflict() {
    let project = with_types(&RENAMED);
    let folder = project.folder();
    let replaced = [&NESTED, &ODD, &CLOSED, &RENAMED];
    let commands = [
        "create webhook --version v1 --defaulting",
        "create api --version v2",
        "create webhook --version v1 --conversion",
        "create webhook --version v1 --programmatic-validation",
        "create api --version v3",
        "create webhook --conversion --spoke v3",
        "create api --version v2 --storage",
        "create api --version v3 --deprecated",
    ];
    for (command, variant) in commands.iter().zip(replaced.iter().cycle()) {
        for version in ["v1", "v2", "v3"] {
            if folder
                .join(format!("src/api/shop/{version}/book.rs"))
                .exists()
            {
                variant.write(&folder, version);
            }
        }
        accepted(&project, &format!("{command} {KIND}"));
    }
    // The last conversion belongs to the types that were there when it was created.
    let conversion = project.read("src/api/shop/v3/book_conversion.rs");
    assert!(conversion.contains("through_json"), "{conversion}");
}

#[test]
fn versions_that_differ_are_converted_as_far_as_they_are_equal() {
    let project = with_types(&NESTED);
    accepted(&project, &format!("create api --version v2 {KIND}"));
    CHANGED.write(&project.folder(), "v2");
    accepted(&project, &format!("create webhook {KIND} --conversion"));
    let conversion = project.read(CONVERSION);
    is_formatted(&project, CONVERSION);
    for line in [
        "            chapters: self::list(chapters),",
        "            list: self::list(list),",
        "            map: self::map(map),",
        "            cover: Some(cover.into()),",
        "            binding: spoke::Binding::Glued,",
        "            weight: k8s_openapi::apimachinery::pkg::api::resource::Quantity::default(),",
        "            percent: hub::Percent(0),",
        "            published: k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(",
        "            time_of_the_first_publication_abroad:",
        "                printed: k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(",
        "            spoke::Source::Painted => Self::Written(hub::Note::default()),",
        "            hub::Source::Written(_) => Self::Painted,",
    ] {
        assert!(
            conversion.lines().any(|it| it == line),
            "{line}: {conversion}"
        );
    }
}

#[test]
fn a_value_that_one_version_requires_is_converted_by_way_of_json() {
    let project = with_types(&REQUIRED);
    accepted(&project, &format!("create api --version v2 {KIND}"));
    OPTIONAL.write(&project.folder(), "v2");
    accepted(&project, &format!("create webhook {KIND} --conversion"));
    let conversion = project.read(CONVERSION);
    is_formatted(&project, CONVERSION);
    for lines in [
        "            source: Some(through_json(&source)?),\n",
        "            source: match source {\n",
        "                Some(value) => through_json(&value)?,\n",
        "            shelf: Some(shelf.try_into()?),\n",
        "            shelves: self::try_list(shelves)?,\n",
        "            shelf_by_name: self::try_map(shelf_by_name)?,\n",
        "            spare: spare.map(TryInto::try_into).transpose()?,\n",
        "            layers,\n",
        "            // With another type in the hub. Convert the value.\n            size: 0,\n",
        "            // Without a value in the hub.\n            label: String::new(),\n",
    ] {
        assert!(conversion.contains(lines), "{lines}: {conversion}");
    }
}

#[test]
fn a_status_in_another_file_is_converted() {
    let project = with_types(&RENAMED);
    accepted(&project, &format!("create api --version v2 {KIND}"));
    for (version, imported) in [("v1", "BookStatus"), ("v2", "*")] {
        move_status(&project.folder(), version, imported);
    }
    accepted(&project, &format!("create webhook {KIND} --conversion"));
    let conversion = project.read(CONVERSION);
    is_formatted(&project, CONVERSION);
    for part in [
        "impl TryFrom<SpokeStatus> for HubStatus {",
        "impl TryFrom<HubStatus> for SpokeStatus {",
    ] {
        assert!(conversion.contains(part), "{part}: {conversion}");
    }
}

#[test]
fn a_controller_that_is_added_later_names_no_field_of_another_status() {
    for (variant, is_known) in [(&RENAMED, true), (&COUNTED, false)] {
        let project = with_types(variant);
        accepted(
            &project,
            &format!("create api --version v1 {KIND} --resource=false --controller-name audit"),
        );
        let controller = project.read("src/controller/shop/audit.rs");
        assert_eq!(
            controller.contains("conditions"),
            is_known,
            "{}",
            variant.name
        );
        accepted(&project, "apply");
        assert_eq!(project.read("src/controller/shop/audit.rs"), controller);
    }
}

#[test]
fn types_in_another_file_are_converted_without_their_fields() {
    let project = with_types(&NESTED);
    accepted(&project, &format!("create api --version v2 {KIND}"));
    for version in ["v1", "v2"] {
        let folder = project.folder().join("src/api/shop").join(version);
        fs::create_dir(folder.join("book")).expect("a new folder");
        fs::rename(folder.join("book.rs"), folder.join("book/mod.rs")).expect("a free path");
    }
    accepted(&project, &format!("create webhook {KIND} --conversion"));
    let conversion = project.read(CONVERSION);
    for part in [
        "impl TryFrom<spoke::BookSpec> for hub::BookSpec {",
        "impl TryFrom<hub::BookStatus> for spoke::BookStatus {",
        "through_json(&value)",
    ] {
        assert!(conversion.contains(part), "{part}: {conversion}");
    }
    is_formatted(&project, CONVERSION);
}

#[test]
fn versions_without_a_status_are_converted_without_one() {
    let project = with_types(&RENAMED);
    accepted(&project, &format!("create api --version v2 {KIND}"));
    let v2 = project.read("src/api/shop/v2/book.rs");
    project.write(
        "src/api/shop/v2/book.rs",
        &v2.replace("    status = \"BookStatus\",\n", ""),
    );
    accepted(&project, &format!("create webhook {KIND} --conversion"));
    let list = project.read("src/webhook/shop/book_conversion.rs");
    assert!(
        list.contains(".spoke_without_status::<api::v2::Book>()"),
        "{list}"
    );
    assert!(!project.read(CONVERSION).contains("Status"));
}
