//! Tests the main job on a real API server: scaffold, compile, install the CRDs, and run the operator under a
//! ServiceAccount that has only the permissions of the scaffolded role.

use std::process::Command;

use crate::{
    operator::{Project, apply_new_kind, get_until, kubectl, kubectl_waits},
    scaffold::{refused, rscaffold, run},
};

#[test]
fn two_commands_make_an_operator_that_reconciles() {
    let project = Project::new(
        "guestbook",
        &[
            "init --domain com --repo guestbook",
            "create api --group webapp --version v1 --kind Guestbook --short-name gb",
        ],
    );
    project.make("install");
    kubectl_waits("--for=condition=Established crd/guestbooks.webapp.com");
    let operator = project.start();

    // The API server enforces the validation rules of the CRD.
    let bad = project.manifest(
        "apiVersion: webapp.com/v1\nkind: Guestbook\nmetadata: {name: bad}\nspec: {title: ' x'}\n",
    );
    let refusal = refused(kubectl("apply -f").arg(&bad));
    assert!(
        refusal.contains("title must not begin or end with a space"),
        "{refusal}"
    );

    // A created object gets a status and an event, and kubectl shows its printer columns.
    run(kubectl("apply -k").arg(project.path().join("config/samples")));
    kubectl_waits("--for=condition=Ready guestbook/guestbook-sample");
    let table = run(&mut kubectl("get gb"));
    let columns: Vec<_> = table
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    assert_eq!(columns, ["NAME", "TITLE", "READY", "AGE"]);
    assert!(table.contains("A first Guestbook"), "{table}");
    assert!(table.contains("True"), "{table}");
    get_until("events --field-selector=reason=Reconciled", |events| {
        events.contains("guestbook/guestbook-sample")
    });

    // After a change, the status has the new generation.
    let patch = r#"{"spec":{"title":"Another"}}"#;
    run(kubectl("patch guestbook guestbook-sample --type=merge -p").arg(patch));
    get_until(
        "gb guestbook-sample -o jsonpath={.status.observedGeneration}",
        |text| text == "2",
    );

    // The operator sees the deletion without a finalizer.
    run(&mut kubectl("delete guestbook guestbook-sample"));
    operator.says(&["is gone", "guestbook-sample"]);
    operator.stop();
    project.make("uninstall");
    get_until("crd -o name", |crds| {
        !crds.contains("guestbooks.webapp.com")
    });
}

#[test]
fn two_groups_one_of_them_cluster_scoped_with_a_finalizer() {
    let project = Project::new(
        "fleet",
        &[
            "init --domain example.com",
            "create api --group sea --version v1 --kind Ship",
            "create api --group crew --version v1beta1 --kind Captain --namespaced=false --finalizer",
        ],
    );
    // An operator that starts before its CRDs exist waits for them, and logs what the user has to do.
    let operator = project.start();
    for controller in ["ship.sea.example.com", "captain.crew.example.com"] {
        operator.says(&[
            "cannot watch",
            controller,
            "`make install` installs the CRDs",
        ]);
    }
    project.make("install");
    apply_new_kind(kubectl("apply -k").arg(project.path().join("config/samples")));
    kubectl_waits("--for=condition=Ready ship/ship-sample");
    kubectl_waits("--for=condition=Ready captain/captain-sample");
    let finalizers = run(&mut kubectl(
        "get captain captain-sample -o jsonpath={.metadata.finalizers}",
    ));
    assert_eq!(finalizers, r#"["captain.crew.example.com/finalizer"]"#);

    // The cluster-scoped kind has printer columns, a validation rule and generations like the other kind.
    let bad = project.manifest(
        "apiVersion: crew.example.com/v1beta1\nkind: Captain\nmetadata: {name: bad}\nspec: {title: 'x '}\n",
    );
    let refusal = refused(kubectl("apply -f").arg(&bad));
    assert!(
        refusal.contains("title must not begin or end with a space"),
        "{refusal}"
    );
    let table = run(&mut kubectl("get captains"));
    assert!(table.starts_with("NAME"), "{table}");
    assert!(
        table.contains("A first Captain") && table.contains("True"),
        "{table}"
    );
    let patch = r#"{"spec":{"title":"Another"}}"#;
    for object in ["captain/captain-sample", "ship/ship-sample"] {
        run(kubectl(&format!("patch {object} --type=merge -p")).arg(patch));
        let observed = format!("{object} -o jsonpath={{.status.observedGeneration}}");
        get_until(&observed, |generation| generation == "2");
        get_until("events --field-selector=reason=Reconciled", |events| {
            events.contains(object)
        });
    }

    // The cleanup runs before the object is deleted.
    run(&mut kubectl("delete captain captain-sample"));
    get_until("events --field-selector=reason=CleanedUp", |events| {
        events.contains("captain/captain-sample")
    });
    run(&mut kubectl("delete ship ship-sample"));
    operator.says(&["is gone", "ship-sample"]);
    operator.stop();
    project.make("uninstall");
}

/// Checks that an edit of the types changes the generated manifests, and that the change stays there.
#[test]
fn manifests_follow_the_types() {
    let project = Project::new(
        "editing",
        &[
            "init --domain com",
            "create api --group webapp --version v1 --kind Guestbook",
        ],
    );
    let (types, crd) = (
        "src/api/webapp/v1/guestbook.rs",
        "config/crd/bases/webapp.com_guestbooks.yaml",
    );
    let scaffolded = project.read(crd);
    project.edit(
        types,
        "    pub title: String,\n",
        "    pub title: String,\n\n    /// How many entries a page shows.\n    \
         pub page_size: Option<i32>,\n",
    );
    let edited = project.read(types);
    project.compile();
    let made = project.read(crd);
    assert_ne!(made, scaffolded);
    assert!(
        made.contains("description: How many entries a page shows."),
        "{made}"
    );

    project.compile();
    assert_eq!(project.read(crd), made, "`make manifests` again");

    rscaffold(
        project.path(),
        "create api --group crew --version v1 --kind Captain",
    );
    assert_eq!(
        project.read(crd),
        made,
        "`create api` keeps what `make manifests` wrote"
    );
    assert_eq!(
        project.read(types),
        edited,
        "`create api` keeps the user's types"
    );
}

/// Checks that the operator writes the whole status: a field that the controller no longer sets is removed.
#[test]
fn a_field_that_the_status_no_longer_has_goes() {
    let project = Project::scaffold(
        "clearing",
        &[
            "init --domain example.com",
            "create api --group clearing --version v1 --kind Note",
        ],
    );
    project.edit(
        "src/api/clearing/v1/note.rs",
        "    pub conditions: Vec<Condition>,\n",
        "    pub conditions: Vec<Condition>,\n\n    /// For a while.\n    \
         #[serde(default, skip_serializing_if = \"Option::is_none\")]\n    \
         pub progress: Option<String>,\n",
    );
    project.edit(
        "src/controller/clearing/note.rs",
        "    condition::set(",
        "    status.progress = None;\n    condition::set(",
    );
    project.compile();
    project.make("install");
    let operator = project.start();
    run(kubectl("apply -k").arg(project.path().join("config/samples")));
    kubectl_waits("--for=condition=Ready notes.clearing.example.com/note-sample");

    let progress = "notes.clearing.example.com note-sample -o jsonpath={.status.progress}";
    let patch = r#"{"status":{"progress":"half"}}"#;
    let patched = run(kubectl(&format!(
        "patch {progress} --subresource=status --type=merge -p"
    ))
    .arg(patch));
    assert_eq!(patched, "half");
    run(
        kubectl("patch notes.clearing.example.com note-sample --type=merge -p")
            .arg(r#"{"spec":{"title":"Done"}}"#),
    );
    get_until(progress, str::is_empty);
    operator.stop();
    project.make("uninstall");
}

/// Checks that an operator for one namespace has no permissions outside of it, and needs none.
#[test]
fn a_namespaced_operator_stays_in_its_namespace() {
    let project = Project::new(
        "tenant",
        &[
            "init --domain example.com --namespaced",
            "create api --group tenants --version v1 --kind Lease --plural leases --finalizer",
        ],
    );
    let manifests = run(kubectl("kustomize").arg(project.path().join("config/default")));
    assert!(!manifests.contains("kind: ClusterRole"), "{manifests}");
    project.make("install");
    let operator = project.start();
    let samples = project.path().join("config/samples");
    run(kubectl("apply -k").arg(&samples));
    run(kubectl("apply --namespace tenant-system -k").arg(&samples));
    let lease = "lease.tenants.example.com/lease-sample";
    kubectl_waits(&format!(
        "--for=condition=Ready {lease} --namespace tenant-system"
    ));
    let elsewhere = run(&mut kubectl(&format!(
        "get {lease} -o jsonpath={{.status}}"
    )));
    assert_eq!(elsewhere, "");
    run(&mut kubectl(&format!(
        "delete {lease} --namespace tenant-system"
    )));
    operator.stop();
    project.make("uninstall");
}

/// Checks the Pod of a deployed operator. The cluster has no node to run a Pod on, but all steps before that are real:
/// the overlay with the image, Pod Security admission, and the controllers that turn a Deployment into a Pod.
///
/// The names of all objects begin with the name of the project, so the project has the longest name that is accepted.
#[test]
fn pod_security_admission_accepts_the_deployed_pod() {
    let name = "deployed-under-the-longest-name-a-project-takes";
    let namespace = format!("{name}-system");
    let project = Project::new(
        name,
        &[
            "init --domain example.com",
            "create api --group deployed --version v1 --kind Thing",
        ],
    );
    // A sidecar keeps its image.
    project.edit(
        "config/manager/manager.yaml",
        "      containers:\n",
        "      containers:\n      - name: side\n        image: example.com/side:v1\n        \
         securityContext:\n          allowPrivilegeEscalation: false\n          \
         capabilities:\n            drop:\n            - ALL\n",
    );
    let git = |arguments: &str| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]);
        run(git.args(arguments.split(' ')).current_dir(project.path()))
    };
    git("init --quiet");
    git("add --all");
    git("commit --quiet --message scaffolded");

    let image = "registry.example.com/deployed:v1";
    let images = format!("{image} example.com/side:v1");
    // make writes no manifest again that stays as it is.
    let crd = project
        .path()
        .join("config/crd/bases/deployed.example.com_things.yaml");
    let written = || crd.metadata().and_then(|metadata| metadata.modified());
    let before = written().expect("a time");
    project.make(&format!("deploy IMG={image}"));
    assert_eq!(written().expect("a time"), before);
    let pods =
        format!("pods --namespace {namespace} -o jsonpath={{.items[*].spec.containers[*].image}}");
    assert_eq!(get_until(&pods, |images| !images.is_empty()), images);
    let level = format!("namespace {namespace} -o jsonpath={{.metadata.labels}}");
    let labels = get_until(&level, |labels| !labels.is_empty());
    assert!(
        labels.contains(r#""pod-security.kubernetes.io/enforce":"restricted""#),
        "{labels}"
    );
    assert_eq!(
        git("status --porcelain"),
        "",
        "the image is in no tracked file"
    );

    project.make("undeploy");
    let left = format!("all,crd -o name --namespace {namespace}");
    get_until(&left, |names| !names.contains("deployed"));

    // The installer has the same manifests in one file, for users who have only that file.
    project.make(&format!("build-installer IMG={image}"));
    let installer = project.path().join("dist/install.yaml");
    run(kubectl("apply --server-side -f").arg(&installer));
    assert_eq!(get_until(&pods, |images| !images.is_empty()), images);
    run(kubectl("delete -f").arg(&installer));
}
