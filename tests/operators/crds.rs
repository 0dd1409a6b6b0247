//! Tests kinds of well-known projects, generated from their CRDs. All of them compile, and the CRDs that the code
//! writes are the original ones, except for the differences that rscaffold reported. An object of a kind with several
//! versions is the same after a conversion to each version and back. The CRDs come from the modules of these projects
//! in the Go proxy.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use rscaffold::crd::{self, Crd};
use serde_json::Value;
use tempfile::TempDir;
use walkdir::WalkDir;

use crate::{
    compile::{cargo, clippy, pin, scaffolded, target_folder},
    scaffold::{rscaffold, run},
};

/// The modules of the projects, each with the group of its kinds. A module may also have CRDs of other groups.
const MODULES: &[(&str, &str)] = &[
    ("github.com/argoproj/argo-rollouts@v1.8.3", "argoproj.io"),
    (
        "github.com/cert-manager/cert-manager@v1.21.2",
        "cert-manager.io",
    ),
    (
        "github.com/external-secrets/external-secrets@v1.3.2",
        "external-secrets.io",
    ),
    (
        "github.com/fluxcd/source-controller@v1.7.0",
        "source.toolkit.fluxcd.io",
    ),
    ("github.com/kedacore/keda/v2@v2.21.0", "keda.sh"),
    (
        "github.com/kubernetes-csi/external-snapshotter/client/v8@v8.7.0",
        "snapshot.storage.k8s.io",
    ),
    (
        "github.com/prometheus-operator/prometheus-operator@v0.85.0",
        "monitoring.coreos.com",
    ),
    ("github.com/vmware-tanzu/velero@v1.18.3", "velero.io"),
    ("istio.io/api@v1.31.4", "networking.istio.io"),
    ("knative.dev/serving@v0.51.0", "serving.knative.dev"),
    ("sigs.k8s.io/cluster-api@v1.14.2", "cluster.x-k8s.io"),
    (
        "sigs.k8s.io/gateway-api@v1.4.0",
        "gateway.networking.k8s.io",
    ),
    ("sigs.k8s.io/karpenter@v1.8.0", "karpenter.sh"),
];

/// The number of kinds of each project in `make test`.
const FEW: usize = 1;

/// The number of kinds of each project that are tested: the variable `CRD_KINDS`, or few.
pub fn kinds() -> usize {
    env::var("CRD_KINDS").map_or(FEW, |number| number.parse().expect("CRD_KINDS is a number"))
}

/// Downloads a Go module, and returns its folder in the module cache.
pub fn module(module: &str, folder: &Path) -> PathBuf {
    let output = run(Command::new("go")
        .args(["mod", "download", "-json", module])
        .current_dir(folder)
        .env("GOWORK", "off")
        .env("GOTOOLCHAIN", "local")
        .env("GOFLAGS", "-mod=mod"));
    let module: Value = serde_json::from_str(&output).expect("JSON");
    PathBuf::from(module["Dir"].as_str().expect("a folder"))
}

/// CRDs, each with the file that contains it.
type Crds = Vec<(PathBuf, Crd)>;

/// The CRDs of each module that are tested.
pub static OF_MODULES: LazyLock<Vec<(&str, Crds)>> = LazyLock::new(|| {
    let folder = TempDir::new().expect("a temporary folder");
    let mut found = Vec::new();
    for (name, group) in MODULES {
        let all = crds(&module(name, folder.path()), group);
        assert!(!all.is_empty(), "{name}");
        found.push((*name, all));
    }
    found
});

/// Returns the first CRDs of a group in a module, by their kinds: as many as are tested. If several files have a CRD,
/// files outside of tests are preferred, then files with a short path. Some files have megabytes of YAML, so only the
/// CRDs that are returned are parsed.
fn crds(folder: &Path, group: &str) -> Crds {
    let files = WalkDir::new(folder).into_iter().filter_map(Result::ok);
    let files = files.map(walkdir::DirEntry::into_path);
    let is_yaml = |it: &PathBuf| it.extension().is_some_and(|it| it == "yaml" || it == "yml");
    let mut files: Vec<_> = files.filter(is_yaml).collect();
    files.sort_by_key(|it| {
        let text = it.display().to_string();
        (text.contains("/test"), text.len(), text)
    });
    let mut found = BTreeMap::new();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        if !text.contains("\nkind: CustomResourceDefinition") || text.contains("{{") {
            continue;
        }
        for document in text.split("\n---") {
            if let Some(kind) = kind_of_crd(document, group) {
                let place = || (file.clone(), document.to_owned());
                found.entry(kind.to_owned()).or_insert_with(place);
            }
        }
    }
    let first = found.into_iter().take(kinds());
    let parsed = first.map(|(kind, (file, document))| {
        let crd = crd::parse("crd.yaml", &document).expect("a CRD").remove(0);
        assert_eq!(
            (crd.group.as_str(), crd.kind.as_str()),
            (group, kind.as_str())
        );
        (file, crd)
    });
    parsed.collect()
}

/// Returns the kind in a document of YAML, if the document is a CRD of `group` with a schema for each version.
fn kind_of_crd<'a>(document: &'a str, group: &str) -> Option<&'a str> {
    let value = |key: &str| document.lines().find_map(|line| line.strip_prefix(key));
    let is_crd = value("apiVersion: ")? == "apiextensions.k8s.io/v1"
        && value("kind: ")? == "CustomResourceDefinition"
        && value("  group: ")? == group;
    is_crd.then(|| value("    kind: ")).flatten()
}

/// Returns the differences that rscaffold reported, such as `v1 spec.a: ...`. The version is missing if the CRD has
/// only one.
fn told(said: &str) -> BTreeSet<String> {
    let (_, notes) = said
        .split_once("differences from the CRD:\n")
        .unwrap_or_default();
    let lines = notes.lines().take_while(|line| line.starts_with("  "));
    lines.map(|line| line.trim().to_owned()).collect()
}

#[test]
fn the_code_writes_the_crds_that_it_is_made_from() {
    let folder = scaffolded("all").expect("a folder");
    rscaffold(
        &folder,
        "init --runtime registry --domain example.com --repo crds --disable agents,github",
    );
    let mut given = Vec::new();
    let mut table = Vec::new();
    for (name, all) in OF_MODULES.iter() {
        let (mut versions, mut equal) = (0, 0);
        for (file, crd) in all {
            let command = format!(
                "create api --controller=false --group {} --kind {} --crd {}",
                crd.group,
                crd.kind,
                file.display()
            );
            let losses = told(&rscaffold(&folder, &format!("{command} --dry-run")).stderr);
            rscaffold(&folder, &command);
            let again = rscaffold(&folder, &command).stderr;
            assert!(again.starts_with("nothing to do"), "{command}: {again}");
            if crd.versions.len() > 1 {
                let webhook = format!("--group {} --kind {} --conversion", crd.group, crd.kind);
                rscaffold(&folder, &format!("create webhook {webhook}"));
                // The manifests that rscaffold predicts now have the conversion, and all versions are served.
                rscaffold(&folder, &format!("{command} --force"));
                let again = rscaffold(&folder, &command).stderr;
                assert!(again.starts_with("nothing to do"), "{command}: {again}");
            }
            for version in &crd.versions {
                let starts = [" ", ":"].map(|end| format!("{}{end}", version.name));
                let is_only = crd.versions.len() == 1;
                versions += 1;
                equal += usize::from(
                    !losses
                        .iter()
                        .any(|it| is_only || starts.iter().any(|start| it.starts_with(start))),
                );
            }
            given.push((crd, losses));
        }
        table.push(format!("| {name} | {versions} | {equal} |"));
    }
    println!("{}", table.join("\n"));

    let before = manifests(&folder.join("config/crd/bases"));
    pin(&folder).expect("a copy of the lock file");
    run(cargo(&folder).args(["fmt", "--check"]));
    run(cargo(&folder).args(["build", "--quiet"]));
    // Both compile all types once more.
    if kinds() > FEW {
        run(&mut clippy(&folder, &[]));
        run(cargo(&folder).args(["test", "--quiet", "--lib", "nothing_is_lost"]));
    }
    let out = TempDir::new().expect("a temporary folder");
    run(Command::new(target_folder(&folder).join("debug/crds"))
        .args(["manifests", "--out"])
        .arg(out.path()));
    let written = manifests(&out.path().join("config/crd/bases"));
    for (name, text) in &before {
        let written = &written[name];
        assert!(
            text == written,
            "{name}:\n{}",
            diffy::create_patch(text, written)
        );
    }
    for (crd, losses) in given {
        let name = format!("{}_{}.yaml", crd.group, crd.plural);
        let made = crd::parse(&name, &written[&name]).expect("a CRD").remove(0);
        assert_eq!(made.namespaced, crd.namespaced, "{name}");
        assert_eq!(made.short_names, crd.short_names, "{name}");
        assert_eq!(made.categories, crd.categories, "{name}");
        assert_eq!(
            (&made.labels, &made.annotations),
            (&crd.labels, &crd.annotations),
            "{name}"
        );
        for version in &crd.versions {
            let of_name = |it: &&crd::CrdVersion| it.name == version.name;
            let made = made.versions.iter().find(of_name).expect("the version");
            assert_eq!(
                made.additional_printer_columns, version.additional_printer_columns,
                "{name}"
            );
            assert_eq!(made.selectable_fields, version.selectable_fields, "{name}");
            for loss in crd::compare(&version.schema, &made.schema) {
                let several = crd.versions.len() > 1;
                let loss = if several {
                    loss.of_version(&version.name)
                } else {
                    loss
                };
                assert!(
                    losses.contains(&loss.to_string()),
                    "{name}: {loss}: {losses:?}"
                );
            }
        }
    }
}

/// Returns the manifests in a folder, by their file names.
fn manifests(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let files = entries.map(|it| it.expect("a file").path());
    let read = |path: PathBuf| {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        (name, fs::read_to_string(path).expect("a text"))
    };
    files.map(read).collect()
}
