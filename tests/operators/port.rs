//! Tests projects that replace operators in Go: one operator that is written for these tests, and operators of
//! well-known projects, from their Go modules. The new projects compile, pass their tests, and have the permissions of
//! the Go operator.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use cluster::wait_until;
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    compile::{cargo, clippy},
    crds::module,
    kustomize,
    leader::waits,
    operator::{PATIENCE, Project, cluster, get_until, kubectl, kubectl_succeeds, kubectl_waits},
    scaffold::{root, rscaffold, run},
};

/// Real operators with their Go modules. `GO_OPERATORS=2` tests both, and otherwise only the first one is tested, since
/// the second one takes minutes. The first operator has a PROJECT file of version 2, and its types are in
/// another module. The second operator has three programs, and kinds that its PROJECT file does not list.
const MODULES: [(&str, &str); 2] = [
    (
        "source-controller",
        "github.com/fluxcd/source-controller@v1.7.0",
    ),
    ("keda", "github.com/kedacore/keda/v2@v2.21.0"),
];

/// A permission of a role: group, resource or URL, verb, name of the object, namespace.
type Right = (String, String, String, String, String);

/// Returns the permissions that the roles in a manifest grant.
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

/// Returns the CRDs in `folder` by name.
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

/// Returns the project that replaces the Go operator written for these tests. Both tests share the project. The project
/// also owns the kind that the Go controller owns: PORTING.md names the command for this.
fn library() -> &'static Project {
    static LIBRARY: LazyLock<Project> = LazyLock::new(|| {
        let go = root().join("tests/go");
        let init = format!("init --from {}", go.display());
        let owns = "create api --group shelf --version v1 --kind Book --owns v1/ConfigMap";
        Project::scaffold_shared("library", &[&init, owns])
    });
    &LIBRARY
}

#[test]
fn an_operator_in_go_becomes_one_that_compiles_and_may_do_the_same() {
    check(library().path(), &root().join("tests/go"));
    let downloads = TempDir::new().expect("a temporary folder");
    let count = env::var("GO_OPERATORS").map_or(1, |count| count.parse().expect("a number"));
    for (name, it) in MODULES.into_iter().take(count) {
        let go = module(it, downloads.path());
        let project = Project::scaffold(name, &[&format!("init --from {}", go.display())]);
        check(project.path(), &go);
        samples_go_on(&project, &go);
    }
}

/// Checks that the API server accepts the new CRDs instead of the Go project's CRDs, that the samples of the Go project
/// do not change, and that the new operator reconciles them.
fn samples_go_on(project: &Project, go: &Path) {
    let bases = go.join("config/crd/bases");
    run(kubectl("apply --server-side -f").arg(&bases));
    let names: Vec<_> = crds(&bases).into_keys().collect();
    let established = format!("--for=condition=Established crd {}", names.join(" "));
    kubectl_waits(&established);
    kubectl_succeeds(&format!("get {}", names.join(",")));
    let namespace = format!("{}-samples", project.name());
    run(&mut kubectl(&format!("create namespace {namespace}")));
    let samples = fs::read_dir(go.join("config/samples")).expect("samples");
    let samples = samples.map(|it| it.expect("a sample").path());
    // One sample of keda breaks a rule of its CRD.
    let is_good = |sample: &PathBuf| {
        let mut create = kubectl(&format!("create --namespace {namespace} -f"));
        let created = create.arg(sample).output().expect("kubectl");
        created.status.success()
    };
    let samples: Vec<_> = samples.filter(is_good).collect();
    let read = || {
        let mut get = kubectl(&format!("get --namespace {namespace} --output json"));
        for sample in &samples {
            get.arg("--filename").arg(sample);
        }
        let list: Value = serde_json::from_str(&run(&mut get)).expect("JSON");
        list["items"].as_array().expect("a list").clone()
    };
    let before = read();
    assert!(before.len() > 4, "{before:?}");

    project.compile();
    project.make("install");
    let after = read();
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before["spec"], after["spec"]);
        assert_eq!(before["metadata"]["uid"], after["metadata"]["uid"]);
    }
    let porting = project.read("PORTING.md");
    let (_, rest) = porting
        .split_once("\n| namespace | ")
        .expect("the namespace");
    let row = rest.lines().next().expect("a row");
    let deployed = row.rsplit('`').nth(1).expect("what it is here");
    let operator = project
        .operator()
        .within(deployed)
        .env("ENABLE_WEBHOOKS", "false")
        .args("--metrics-bind-address=0")
        .start();
    let entries = project.read("PROJECT");
    let mut reconciled = 0;
    for object in &after {
        let [kind, name] = [&object["kind"], &object["metadata"]["name"]];
        let entry = entries.split("\n- ").find(|it| {
            it.contains(&format!("\n  kind: {}\n", kind.as_str().expect("a kind")))
                && it.contains("\n  controller: true\n")
        });
        if entry.is_some() {
            let [kind, name] =
                [("kind", kind), ("name", name)].map(|(key, it)| format!("\"{key}\":{it}"));
            operator.says(&["\"reconciled\"", &kind, &name]);
            reconciled += 1;
        }
    }
    assert!(reconciled > 0);
    operator.stop();
}

/// Checks that `rscaffold apply` has nothing to do for the project in `folder`, that the project passes its tests, and
/// that it has the kinds, versions and permissions of the Go project in `go`.
fn check(folder: &Path, go: &Path) {
    let name = folder.display();
    let again = rscaffold(folder, "apply").stderr;
    assert!(again.starts_with("nothing to do"), "{name}: {again}");
    let porting = fs::read_to_string(folder.join("PORTING.md")).expect("the report");
    assert!(
        porting.contains("## What is left to write, file by file"),
        "{porting}"
    );
    kustomize::check(go);
    let written = TempDir::new().expect("a temporary folder");
    {
        run(cargo(folder).args(["fmt", "--check"]));
        run(&mut clippy(folder, &["--all-targets"]));
        // With the tests on an API server: it takes the CRDs and the samples, the controllers see their samples, and no
        // request is forbidden.
        run(cargo(folder)
            .args(["test", "--quiet", "--", "--include-ignored"])
            .env("KUBEBUILDER_ASSETS", cluster().assets().expect("programs")));
        run(cargo(folder)
            .args(["run", "--quiet", "--", "manifests", "--out"])
            .arg(written.path()));
    }

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
        assert_eq!(versions(was), versions(&is[crd]), "{crd}");
    }

    // The new operator has all permissions of the Go operator.
    let roles = |folder: &Path| {
        let role = fs::read_to_string(folder.join("config/rbac/role.yaml"));
        role.expect("a role")
    };
    let here = rights(&roles(written.path()));
    // kustomize moves each Role to the namespace of the operator.
    let deployed = run(kubectl("kustomize").arg(go.join("config/default")));
    let of_manager = deployed
        .split("---\n")
        .filter(|manifest| manifest.contains("manager-role\n"));
    for right in rights(&of_manager.collect::<Vec<_>>().join("---\n")) {
        // PORTING.md says what replaces `*`, and which verbs `Verb` does not have.
        if ["*", "approve"].contains(&right.2.as_str()) {
            continue;
        }
        assert!(here.contains(&right), "{name}: {right:?}");
    }
}

/// Returns for each version of a CRD whether it is served, and whether it is stored.
fn versions(crd: &Value) -> BTreeMap<&str, (&Value, &Value)> {
    let versions = crd["spec"]["versions"].as_array().expect("versions").iter();
    let versions = versions.map(|it| {
        let name = it["name"].as_str().expect("a name");
        (name, (&it["served"], &it["storage"]))
    });
    versions.collect()
}

/// Returns the `ConfigMap` that the Go controller created for the book with this UID.
fn owned(uid: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "hamlet", "namespace": "library-readers", "ownerReferences": [{
            "apiVersion": "shelf.example.com/v1", "kind": "Book", "name": "hamlet", "uid": uid,
            "controller": true, "blockOwnerDeletion": true,
        }]},
        "data": {"written-in": "Go"},
    })
}

/// Returns the Lease, held by the Go operator.
fn held_lease() -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "library-lock.example.com", "namespace": "books"},
        "spec": {
            "holderIdentity": "the-operator-in-go", "leaseDurationSeconds": 3600,
            "acquireTime": format!("{:.6}", Timestamp::now()),
            "renewTime": format!("{:.6}", Timestamp::now()),
        },
    })
}

#[test]
fn what_the_operator_in_go_left_in_a_cluster_goes_on() {
    let project = library();
    project.compile();
    let apply = |how: &str, object: &Value| {
        let manifest = project.manifest(&object.to_string());
        run(kubectl(&format!("apply {how} -f")).arg(manifest));
    };
    for namespace in ["books", "archive", "library-readers"] {
        run(&mut kubectl(&format!("create namespace {namespace}")));
    }

    // The CRDs are installed as the Makefile of the Go project does.
    let crds = root().join("tests/go/config/crd/bases");
    run(kubectl("apply -f").arg(crds));
    let both = "crd/books.shelf.example.com crd/rooms.shelf.example.com";
    kubectl_waits(&format!("--for=condition=Established {both}"));
    kubectl_succeeds("get books.shelf.example.com,rooms.shelf.example.com");
    apply(
        "--server-side",
        &json!({
            "apiVersion": "shelf.example.com/v1", "kind": "Book",
            "metadata": {"name": "hamlet", "namespace": "library-readers",
                "finalizers": ["shelf.example.com/return"]},
            "spec": {"title": "Hamlet", "pages": 342},
        }),
    );
    run(&mut kubectl(
        "patch books.shelf.example.com/hamlet --namespace library-readers --subresource=status --type=merge \
         --patch={\"status\":{\"shelves\":[\"A3\"]}}",
    ));
    let book = "get books.shelf.example.com/hamlet --namespace library-readers -o";
    let uid = run(&mut kubectl(&format!("{book} jsonpath={{.metadata.uid}}")));
    apply("--server-side --field-manager=library-books", &owned(&uid));
    // An object without a spec, of a kind without a controller.
    apply(
        "--server-side",
        &json!({"apiVersion": "shelf.example.com/v1", "kind": "Room", "metadata": {"name": "quiet"}}),
    );
    apply("--server-side", &held_lease());

    // The new CRDs change no object.
    let before = run(&mut kubectl(&format!("{book} json")));
    project.make("install");
    assert_eq!(run(&mut kubectl(&format!("{book} json"))), before);
    run(&mut kubectl("get rooms.shelf.example.com/quiet"));

    // The new operator waits as long as the Go operator holds the Lease.
    let operator = project
        .operator()
        .within("books")
        .args("--leader-elect --leader-elect-resource-namespace=books --webhooks=false")
        .args("--metrics-bind-address=0")
        .start();
    waits(&operator, "the-operator-in-go");
    assert_eq!(run(&mut kubectl(&format!("{book} json"))), before);

    // The Go operator releases the Lease when it ends, and the new operator continues with the same objects.
    run(&mut kubectl(
        "patch lease/library-lock.example.com --namespace books --type=merge \
         --patch={\"spec\":{\"holderIdentity\":\"\",\"leaseDurationSeconds\":1}}",
    ));
    operator.says(&["leads"]);
    // The new operator owns the fields that the Go operator has applied, and removes the fields that it does not apply
    // itself.
    get_until(
        "configmap/hamlet --namespace library-readers -o json",
        |text| text.contains("app.kubernetes.io/managed-by") && !text.contains("written-in"),
    );
    let finalizers = format!("{book} jsonpath={{.metadata.finalizers}}");
    assert_eq!(
        run(&mut kubectl(&finalizers)),
        r#"["shelf.example.com/return"]"#
    );

    // The deletion of an object with the Go operator's finalizer completes.
    run(&mut kubectl(
        "delete books.shelf.example.com/hamlet --namespace library-readers --wait=false",
    ));
    wait_until("the book to go", PATIENCE, || {
        let get = kubectl(&format!("{book} name --ignore-not-found")).output()?;
        Ok((get.status.success() && get.stdout.is_empty()).then_some(()))
    })
    .unwrap_or_else(|error| panic!("{error:#}"));
    operator.says(&["is being deleted"]);
    operator.stop();
}
