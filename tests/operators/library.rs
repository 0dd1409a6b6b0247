//! Tests a project as a library: other crates can use its types without the code that runs the operator.

use std::{collections::BTreeSet, fs, path::Path};

use crate::{
    compile::{cargo, pin, runtime, scaffolded},
    document::{read, section},
    golden_projects,
    scaffold::run,
};

/// The manifest of another crate. The profile is the same as in the projects, so that cargo reuses dependencies that
/// are already built.
const READER: &str = r#"
[package]
name = "reader"
edition = "2024"

[profile.dev]
debug = "line-tables-only"
"#;

/// The code of this crate.
const CODE: &str = "
use guestbook::api::webapp::v1::Guestbook;
use kube::{Api, Client, Error};

pub async fn title(client: Client, name: &str) -> Result<String, Error> {
    let guestbooks = Api::<Guestbook>::all(client);
    Ok(guestbooks.get(name).await?.spec.title)
}
";

/// Returns the dependencies that the README of guestbook tells other crates to add.
fn dependencies() -> String {
    let readme = read("tests/golden/guestbook/README.md");
    let (_, block) = section(&readme, "## As a library")
        .split_once("```toml\n")
        .expect("a block of TOML");
    let (dependencies, _) = block.split_once("```").expect("its end");
    let guestbook = golden_projects::folder().join("guestbook");
    dependencies.replace("../guestbook", &guestbook.display().to_string())
}

/// Returns the names of the crates that `cargo tree` prints.
fn tree(folder: &Path, arguments: &[&str]) -> BTreeSet<String> {
    let format = ["tree", "--edges=normal", "--prefix=none", "--format={p}"];
    let tree = run(cargo(folder).args(format).args(arguments));
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

#[test]
fn a_crate_can_use_the_types_without_the_operator() {
    let reader = &scaffolded("reader").expect("a folder");
    pin(reader).expect("a copy of the lock file");
    fs::create_dir(reader.join("src")).expect("a folder");
    fs::write(reader.join("src/lib.rs"), CODE).expect("a writable file");
    let depend_on = |dependencies: &str| {
        let runtime = runtime().display().to_string();
        let patch = format!("[patch.crates-io]\nkube-manager = {{ path = {runtime:?} }}\n");
        let manifest = format!("{READER}\n{dependencies}\n{patch}");
        fs::write(reader.join("Cargo.toml"), manifest).expect("a writable file");
        tree(reader, &[])
    };

    // `make lint` compiles the types alone, in a tutorial.
    let dependencies = dependencies();
    let (types_alone, _) = dependencies.split_once("kube = ").expect("a line for kube");
    let all = depend_on(types_alone);
    for crate_name in ["hyper", "kube-client", "kube-runtime", "rustls", "tokio"] {
        assert!(!all.contains(crate_name), "{crate_name}: {all:?}");
    }
    let operator = tree(&golden_projects::folder().join("guestbook"), &[]);
    assert!(all.len() * 4 < operator.len(), "{all:?}");
    let direct = tree(reader, &["--package=guestbook", "--depth=1"]);
    let expected = "guestbook k8s-openapi kube kube-manager schemars serde serde_json";
    assert_eq!(direct, expected.split(' ').map(str::to_owned).collect());
    let of_runtime = tree(reader, &["--package=kube-manager", "--depth=1"]);
    let expected = "k8s-openapi kube kube-manager schemars serde serde_json";
    assert_eq!(of_runtime, expected.split(' ').map(str::to_owned).collect());

    let all = depend_on(&dependencies);
    assert!(all.contains("kube-client"), "{all:?}");
    for crate_name in ["axum", "clap", "kube-runtime", "prometheus", "rcgen"] {
        assert!(!all.contains(crate_name), "{crate_name}: {all:?}");
    }
    run(cargo(reader).args(["check", "--quiet"]));
}
