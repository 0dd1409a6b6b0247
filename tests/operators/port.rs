//! Projects that take over from operators in Go: one that is written for this test, and those of well-known
//! projects, from their Go modules. They compile, pass their tests, and may do what the Go operator may.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    compile::{building, cargo, pin, scaffolded},
    scaffold::{root, rscaffold, run},
};

/// Real operators by their modules: the first has a PROJECT of version 2, and its types in another module; the
/// second one has three programs, and kinds that its PROJECT does not know.
const MODULES: [(&str, &str); 2] = [
    (
        "source-controller",
        "github.com/fluxcd/source-controller@v1.7.0",
    ),
    ("keda", "github.com/kedacore/keda/v2@v2.21.0"),
];

/// The folder of a module in the cache of Go.
fn module(module: &str) -> PathBuf {
    let folder = TempDir::new().expect("a temporary folder");
    let output = run(Command::new("go")
        .args(["mod", "download", "-json", module])
        .current_dir(&folder)
        .env("GOWORK", "off")
        .env("GOTOOLCHAIN", "local")
        .env("GOFLAGS", "-mod=mod"));
    let module: Value = serde_json::from_str(&output).expect("JSON");
    PathBuf::from(module["Dir"].as_str().expect("a folder"))
}

/// What one rule of a role allows: group, resource or URL, verb, name of the object, namespace.
type Right = (String, String, String, String, String);

/// The rights that the roles among the documents of a manifest give.
fn rights(manifest: &str) -> BTreeSet<Right> {
    let mut rights = BTreeSet::new();
    for document in serde_yaml::from_multiple::<Value>(manifest).expect("YAML") {
        let kind = document["kind"].as_str().unwrap_or_default();
        let namespace = document["metadata"]["namespace"]
            .as_str()
            .unwrap_or_default();
        if !["Role", "ClusterRole"].contains(&kind) {
            continue;
        }
        let rules = document["rules"].as_array().cloned().unwrap_or_default();
        for rule in rules {
            let list = |field: &str| {
                let list = rule[field].as_array().cloned().unwrap_or_default();
                let texts = list.iter().filter_map(Value::as_str).map(str::to_owned);
                texts.collect::<Vec<_>>()
            };
            let mut names = list("resourceNames");
            if names.is_empty() {
                names.push(String::new());
            }
            let resources = list("resources");
            let groups = list("apiGroups");
            let resources = groups
                .iter()
                .flat_map(|group| resources.iter().map(|it| (group.clone(), it.clone())));
            let urls = list("nonResourceURLs").into_iter();
            let targets = resources.chain(urls.map(|url| (String::new(), url)));
            for (group, resource) in targets {
                for verb in &list("verbs") {
                    for name in &names {
                        rights.insert((
                            group.clone(),
                            resource.clone(),
                            verb.clone(),
                            name.clone(),
                            namespace.to_owned(),
                        ));
                    }
                }
            }
        }
    }
    rights
}

/// The objects in the manifests below `folder`, by kind and name.
fn crds(folder: &Path) -> BTreeMap<String, Value> {
    let files = fs::read_dir(folder).expect("a folder");
    let crds = files.map(|file| {
        let text = fs::read_to_string(file.expect("a file").path()).expect("a text");
        let crd: Value = serde_yaml::from_str(&text).expect("YAML");
        (
            crd["metadata"]["name"].as_str().expect("a name").to_owned(),
            crd,
        )
    });
    crds.collect()
}

#[test]
fn an_operator_in_go_becomes_one_that_compiles_and_may_do_the_same() {
    let own = ("library", root().join("tests/go"));
    let others = MODULES.map(|(name, it)| (name, module(it)));
    let _building = building();
    for (name, go) in [own].into_iter().chain(others) {
        let folder = scaffolded(name).expect("a folder");
        rscaffold(
            &folder,
            &format!("init --runtime registry --from {}", go.display()),
        );
        let again = rscaffold(&folder, "apply").stderr;
        assert!(again.starts_with("nothing to do"), "{name}: {again}");
        let porting = fs::read_to_string(folder.join("PORTING.md")).expect("the report");
        assert!(
            porting.contains("## What is left to write, file by file"),
            "{porting}"
        );
        pin(&folder).expect("a copy of the lock file");
        run(cargo(&folder).args(["fmt", "--check"]));
        run(cargo(&folder).args(["clippy", "--quiet", "--all-targets", "--", "-D", "warnings"]));
        run(cargo(&folder).args(["test", "--quiet"]));
        let written = TempDir::new().expect("a temporary folder");
        run(cargo(&folder)
            .args(["run", "--quiet", "--", "manifests", "--out"])
            .arg(written.path()));

        // The kinds are the same, in the same versions.
        let (was, is) = (
            crds(&go.join("config/crd/bases")),
            crds(&written.path().join("config/crd/bases")),
        );
        assert_eq!(
            was.keys().collect::<Vec<_>>(),
            is.keys().collect::<Vec<_>>(),
            "{name}"
        );
        for (crd, was) in &was {
            for field in ["group", "scope"] {
                assert_eq!(was["spec"][field], is[crd]["spec"][field], "{crd}");
            }
            let stored = |crd: &Value| {
                let versions = crd["spec"]["versions"].as_array().cloned();
                let mut versions = versions.unwrap_or_default().into_iter();
                versions
                    .find(|it| it["storage"] == true)
                    .map(|it| it["name"].clone())
            };
            assert_eq!(stored(was), stored(&is[crd]), "{crd}");
        }

        // Whatever the Go operator may do, this one may.
        let roles = |folder: &Path| {
            let role = fs::read_to_string(folder.join("config/rbac/role.yaml"));
            role.expect("a role")
        };
        let here = rights(&roles(written.path()));
        for right in rights(&roles(&go)) {
            // PORTING.md says what `*` became, and which verbs there are not.
            if ["*", "approve"].contains(&right.2.as_str()) {
                continue;
            }
            assert!(here.contains(&right), "{name}: {right:?}");
        }
    }
}
