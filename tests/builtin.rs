//! Tests that the table of built-in kinds has every kind of the k8s-openapi that generated projects use.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use rscaffold::names::Version;
use snapbox::{assert_data_eq, file};
use walkdir::WalkDir;

use crate::golden_projects;

/// To rewrite the table: `SNAPSHOTS=overwrite cargo test builtin`.
#[test]
fn the_table_of_builtin_kinds_is_complete() {
    let table: String = kinds(&sources()).into_values().collect();
    assert_data_eq!(table, file!["../src/project/builtin/kinds.tsv"].raw());
}

/// Returns the folder of the newest Kubernetes API in the k8s-openapi that the golden projects depend on.
fn sources() -> PathBuf {
    let manifest = golden_projects::folder().join("Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--locked",
            "--format-version=1",
            "--manifest-path",
        ])
        .arg(manifest)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages
        .iter()
        .find(|package| package["name"] == "k8s-openapi")
        .unwrap();
    let manifest = Path::new(package["manifest_path"].as_str().unwrap());
    // There is one folder for each Kubernetes version. Its name is `v1_` and two digits.
    let versions = fs::read_dir(manifest.with_file_name("src")).unwrap();
    let folders = versions
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir());
    folders.max().unwrap()
}

/// The group, version and kind of a type.
type Id = (String, Version, String);

/// Returns a line of the table for each type that can be listed and watched. Each type has its own file, which contains
/// only the type and its traits. The path of the file matches the module.
fn kinds(sources: &Path) -> BTreeMap<Id, String> {
    let files = WalkDir::new(sources)
        .into_iter()
        .map(|entry| entry.unwrap().into_path());
    let files = files.filter(|path| path.is_file());
    files.filter_map(|path| kind(sources, &path)).collect()
}

fn kind(sources: &Path, path: &Path) -> Option<(Id, String)> {
    let text = fs::read_to_string(path).unwrap();
    let after = |start: &str| {
        let (_, rest) = text.split_once(start)?;
        rest.split(['"', ';', ' ']).next()
    };
    let constant = |name: &str| after(&format!("const {name}: &'static str = \""));
    let rust = after("impl crate::ListableResource for ")?;
    // The API server has no watch for this kind.
    if rust == "ComponentStatus" {
        return None;
    }
    let module = path.parent()?.strip_prefix(sources).ok()?.to_str()?;
    let module = module.replace(std::path::MAIN_SEPARATOR, "::");
    let scope = after("type Scope = crate::")?.strip_suffix("ResourceScope")?;
    let scope = scope.replace("Namespace", "Namespaced");
    let [group, version, kind] = [constant("GROUP")?, constant("VERSION")?, constant("KIND")?];
    let plural = constant("URL_PATH_SEGMENT")?;
    let line =
        format!("{group}\t{version}\t{kind}\t{plural}\t{scope}\tk8s_openapi::{module}::{rust}\n");
    let id = (group.to_owned(), version.parse().ok()?, kind.to_owned());
    Some((id, line))
}
