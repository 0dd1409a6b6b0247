//! Tests the Helm chart: it installs the same objects as kustomize, and its values have the documented effects.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use serde_json::{Value, json};

use crate::{
    compile::go_build,
    manifests::{documents, find, items, kustomize, text},
    operator::{cluster, kubectl, kubectl_succeeds},
    project::Project,
    scaffold::{plain_make, refused, run},
};

/// The commands that create a namespaced kind with two versions whose controller runs an image, a cluster-scoped kind,
/// and a controller for a kind of Kubernetes.
const APIS: [&str; 4] = [
    "create api --group webapp --version v1 --kind Guestbook --finalizer --owns v1/ConfigMap \
     --image=web:1",
    "create api --group webapp --version v2 --kind Guestbook",
    "create api --group on --version v1 --kind Yes --namespaced=false --controller=false",
    "create api --group core --version v1 --kind Pod --resource=false",
];

const CHART: &str = "charts/guestbook";

/// The flag for all features that change the installed objects.
const EVERYTHING: &str = "--enable=certmanager,network-policy,prometheus";

fn guestbook(settings: &str) -> Project {
    let init = format!("init --domain com --repo guestbook --enable helm,user-roles {settings}");
    Project::new(&[&[init.as_str()], APIS.as_slice()].concat())
}

/// Creates the guestbook project with a conversion webhook.
fn converting(settings: &str) -> Project {
    let project = guestbook(settings);
    project.rscaffold("create webhook --group webapp --version v1 --kind Guestbook --conversion");
    project
}

/// Creates the guestbook project with a conversion webhook, and with admission webhooks for the kind and for Pods.
fn with_webhooks(settings: &str) -> Project {
    let project = converting(settings);
    let kind = "--group webapp --version v1 --kind Guestbook";
    project.all(&[
        &format!("create webhook {kind} --defaulting --programmatic-validation"),
        "create webhook --group core --version v1 --kind Pod --defaulting",
    ]);
    project
}

/// Returns a Helm command without the settings of a user, and without a cluster.
fn helm(folder: &Path) -> Command {
    static HELM: LazyLock<PathBuf> = LazyLock::new(|| go_build("helm", "helm.sh/helm/v3/cmd/helm"));
    let mut helm = Command::new(&*HELM);
    for home in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
        helm.env(home, folder.join("../helm"));
    }
    helm.env_remove("KUBECONFIG").current_dir(folder);
    helm
}

fn template(project: &Project, arguments: &str) -> Command {
    let mut template = helm(&project.folder());
    template
        .args(["template", "guestbook", CHART])
        .args(arguments.split_whitespace());
    template
}

/// Returns the objects that the chart installs with `values` set, under the names that kustomize uses.
fn installs(project: &Project, values: &str) -> Vec<Value> {
    let arguments = match values {
        "" => String::new(),
        values => format!("--set {values}"),
    };
    let namespace = "--namespace guestbook-system ";
    documents(&run(&mut template(
        project,
        &(namespace.to_owned() + &arguments),
    )))
}

/// An object of the cluster: kind, namespace, name.
type Id = (String, String, String);

/// Returns the objects by their ids, without the parts that differ by convention.
fn comparable(manifests: Vec<Value>) -> BTreeMap<Id, Value> {
    // Helm sets these labels on objects. Kustomize sets some of them, or none.
    const LABELS: [&str; 6] = [
        "app.kubernetes.io/component",
        "app.kubernetes.io/instance",
        "app.kubernetes.io/managed-by",
        "app.kubernetes.io/name",
        "app.kubernetes.io/version",
        "helm.sh/chart",
    ];
    let mut objects = BTreeMap::new();
    for mut manifest in manifests {
        write_alike(&mut manifest);
        // Helm creates the namespace itself, with `--create-namespace`.
        if manifest["kind"] == "Namespace" {
            continue;
        }
        let metadata = &mut manifest["metadata"];
        remove(metadata, "labels", &LABELS);
        // The annotation of Helm decides whether a CRD is deleted with the release, which kustomize does not need.
        // Kustomize restores the namespace of a role from the other annotation.
        let annotations = ["helm.sh/resource-policy", "kube-manager/namespace"];
        remove(metadata, "annotations", &annotations);
        let of = |key: &str| metadata[key].as_str().unwrap_or_default().to_owned();
        let (namespace, name) = (of("namespace"), of("name"));
        // With this label, a release selects only its own Pods.
        for path in [
            "/spec/podSelector/matchLabels",
            "/spec/selector",
            "/spec/selector/matchLabels",
            "/spec/template/metadata/labels",
        ] {
            if let Some(Value::Object(labels)) = manifest.pointer_mut(path) {
                labels.remove("app.kubernetes.io/instance");
            }
        }
        let id = (text(&manifest["kind"]), namespace, name);
        let twice = objects.insert(id, manifest);
        assert!(twice.is_none(), "{twice:?}");
    }
    objects
}

/// Converts all numbers to floating-point numbers: kustomize writes `0` for the `0.0` of a manifest.
fn write_alike(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(number) = number.as_f64() {
                *value = number.into();
            }
        }
        Value::Array(values) => values.iter_mut().for_each(write_alike),
        Value::Object(values) => values.values_mut().for_each(write_alike),
        _ => {}
    }
}

/// Removes `names` from the map at `key`. Removes the map too if nothing else is in it.
fn remove(metadata: &mut Value, key: &str, names: &[&str]) {
    let metadata = metadata.as_object_mut().expect("a map");
    if let Some(Value::Object(map)) = metadata.get_mut(key) {
        map.retain(|name, _| !names.contains(&name.as_str()));
        if map.is_empty() {
            metadata.remove(key);
        }
    }
}

/// Checks that both have the same objects, and panics with the differences if not.
#[track_caller]
fn assert_same(actual: Vec<Value>, expected: Vec<Value>, why: &str) {
    let (actual, expected) = (comparable(actual), comparable(expected));
    let ids = |objects: &BTreeMap<Id, Value>| objects.keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(ids(&actual), ids(&expected), "{why}");
    for (id, object) in &actual {
        let lines = |object| serde_json::to_string_pretty(object).expect("JSON");
        let diff = diffy::create_patch(&lines(&expected[id]), &lines(object)).to_string();
        assert!(*object == expected[id], "{why}: {id:?}\n{diff}");
    }
}

/// Checks that the chart of the project `name` in `folder` installs the same objects as config/default.
#[track_caller]
pub fn installs_what_kustomize_does(folder: &Path, name: &str, why: &str) {
    let (chart, namespace) = (format!("charts/{name}"), format!("{name}-system"));
    let installed = run(helm(folder).args(["template", name, &chart, "--namespace", &namespace]));
    let manifests = kustomize(&folder.join("config/default"));
    assert_same(documents(&installed), manifests, why);
}

#[test]
fn the_chart_installs_what_kustomize_does() {
    for settings in [
        "",
        EVERYTHING,
        "--namespaced",
        &format!("--namespaced {EVERYTHING}"),
        &format!("--namespaced {EVERYTHING},metrics-auth"),
        "--namespaced --enable metrics-auth",
        "--disable leader-election",
        "--disable metrics-secure",
        &format!("{EVERYTHING} --disable metrics-secure,leader-election"),
        "--enable certmanager",
        "--enable prometheus",
    ] {
        let project = guestbook(settings);
        let chart = project.folder().join(CHART);
        run(helm(&chart).args(["lint", "--strict", "."]));
        installs_what_kustomize_does(&project.folder(), "guestbook", settings);
    }
    for settings in [
        "",
        "--namespaced",
        EVERYTHING,
        "--namespaced --enable certmanager",
        "--namespaced --enable certmanager,metrics-auth",
        "--enable certmanager --disable metrics-secure",
        "--enable webhook-files",
        "--namespaced --enable webhook-files",
        "--enable certmanager,prometheus,webhook-files",
    ] {
        for project in [with_webhooks(settings), converting(settings)] {
            run(helm(&project.folder().join(CHART)).args(["lint", "--strict", "."]));
            installs_what_kustomize_does(&project.folder(), "guestbook", settings);
        }
    }
    // Without an API.
    let project = Project::new(&["init --domain com --repo guestbook --enable helm"]);
    installs_what_kustomize_does(&project.folder(), "guestbook", "no API");
    run(helm(&project.folder()).args(["lint", "--strict", CHART]));
}

/// Checks that the values of a chart have the same effects as the features of a project.
#[test]
fn a_chart_value_does_the_same_as_its_feature() {
    let everything = guestbook(EVERYTHING);
    let usual = guestbook("");
    for (value, feature, is_usual) in [
        ("certmanager.enable", "certmanager", false),
        ("leaderElection.enable", "leader-election", true),
        ("metrics.secure", "metrics-secure", true),
        ("networkPolicy.enable", "network-policy", false),
        ("prometheus.enable", "prometheus", false),
    ] {
        let without = guestbook(EVERYTHING);
        without.rscaffold(&format!("edit --disable {feature}"));
        let expected = installs(&without, "");
        assert_same(
            installs(&everything, &format!("{value}=false")),
            expected,
            value,
        );
        if !is_usual {
            let with = guestbook(&format!("--enable {feature}"));
            let expected = installs(&with, "");
            assert_same(installs(&usual, &format!("{value}=true")), expected, value);
        }
    }
    // An operator for one namespace checks the readers of its metrics only if it has the permission for this check.
    for settings in ["", EVERYTHING] {
        let open = guestbook(&format!("--namespaced {settings}"));
        let secure = open.copy();
        secure.rscaffold("edit --enable metrics-auth");
        for (project, value, expected) in [(&open, "true", &secure), (&secure, "false", &open)] {
            let installed = installs(project, &format!("metrics.secure={value}"));
            assert_same(installed, installs(expected, ""), settings);
        }
    }
}

/// Checks that a release can change from any source of webhook certificates to any other.
#[test]
fn values_choose_the_source_of_webhook_certificates() {
    let ways = [
        ("", "certmanager.enable=false,webhook.secret="),
        (
            "--enable certmanager",
            "certmanager.enable=true,webhook.secret=",
        ),
        (
            "--enable webhook-files",
            "certmanager.enable=false,webhook.secret=webhook-certs",
        ),
    ];
    let projects = ways.map(|(settings, _)| with_webhooks(settings));
    for (expected, (_, values)) in projects.iter().zip(ways) {
        for project in &projects {
            let expected = installs(expected, "");
            assert_same(installs(project, values), expected, values);
        }
    }
}

/// Returns the kind and name of each object that is not installed because of `values`. Checks that `values` add no
/// objects.
fn gone(project: &Project, values: &str) -> BTreeSet<(String, String)> {
    let ids = |values| {
        let objects = comparable(installs(project, values)).into_keys();
        objects
            .map(|(kind, _, name)| (kind, name))
            .collect::<BTreeSet<_>>()
    };
    let (all, rest) = (ids(""), ids(values));
    assert!(all.is_superset(&rest), "{values}");
    &all - &rest
}

fn is_gone(project: &Project, values: &str, expected: &[(&str, &str)]) {
    let expected = expected.iter();
    let expected = expected.map(|(kind, name)| ((*kind).to_owned(), (*name).to_owned()));
    assert_eq!(gone(project, values), expected.collect(), "{values}");
}

#[test]
fn the_image_that_a_controller_runs_is_a_value() {
    let project = guestbook("");
    let variable = |values: &str| {
        let manifests = installs(&project, values);
        let deployment = find(&manifests, "Deployment").expect("a Deployment");
        deployment["spec"]["template"]["spec"]["containers"][0]["env"][0].clone()
    };
    let name = "GUESTBOOK_IMAGE";
    assert_eq!(variable(""), json!({"name": name, "value": "web:1"}));
    assert_eq!(
        variable("images.GUESTBOOK_IMAGE=web:2"),
        json!({"name": name, "value": "web:2"})
    );
}

#[test]
fn values_have_the_documented_effect() {
    let project = guestbook(EVERYTHING);
    let crds = [
        ("CustomResourceDefinition", "guestbooks.webapp.com"),
        ("CustomResourceDefinition", "yes.on.com"),
    ];
    is_gone(&project, "crd.enable=false", &crds);
    let roles = ["on-yes", "webapp-guestbook"].into_iter().flat_map(|kind| {
        let who = ["admin", "editor", "viewer"].into_iter();
        who.map(move |who| format!("guestbook-{kind}-{who}-role"))
    });
    let roles: Vec<_> = roles.collect();
    let roles: Vec<_> = roles
        .iter()
        .map(|name| ("ClusterRole", name.as_str()))
        .collect();
    is_gone(&project, "rbac.userRoles=false", &roles);
    let metrics = [
        ("Certificate", "guestbook-certificate-authority"),
        ("Certificate", "guestbook-metrics-certs"),
        ("ClusterRole", "guestbook-metrics-auth-role"),
        ("ClusterRole", "guestbook-metrics-reader"),
        ("ClusterRoleBinding", "guestbook-metrics-auth-rolebinding"),
        ("Issuer", "guestbook-ca-issuer"),
        ("Issuer", "guestbook-selfsigned-issuer"),
        ("Service", "guestbook-metrics"),
        (
            "ServiceMonitor",
            "guestbook-controller-manager-metrics-monitor",
        ),
    ];
    is_gone(&project, "metrics.enable=false", &metrics);

    let container = |values: &str| {
        let manifests = installs(&project, values);
        let deployment = find(&manifests, "Deployment").expect("a Deployment");
        deployment["spec"]["template"]["spec"]["containers"][0].clone()
    };
    let silent = container("metrics.enable=false");
    assert_eq!(
        silent["args"],
        json!(["--leader-elect", "--log-format=json"])
    );
    assert_eq!(
        silent["ports"],
        json!([{"name": "probes", "containerPort": 8081}])
    );
    assert_eq!(silent["volumeMounts"], Value::Null);
    let closed = installs(&project, "metrics.enable=false");
    let policy = find(&closed, "NetworkPolicy").expect("a policy");
    assert_eq!(policy["spec"]["ingress"], Value::Null);

    let image = |values: &str| text(&container(values)["image"]);
    assert_eq!(image("image.tag=v1"), "guestbook:v1");
    assert_eq!(
        image("image.repository=example.com:5000/a/b"),
        "example.com:5000/a/b:latest"
    );
    assert_eq!(
        container("image.pullPolicy=Always")["imagePullPolicy"],
        "Always"
    );
    let args = container("args={--log-level=debug,--concurrency=3}")["args"].clone();
    assert_eq!(
        items(&args)[3..],
        [json!("--log-level=debug"), json!("--concurrency=3")]
    );
    let env = container("env[0].name=A,env[0].value=b")["env"].clone();
    assert_eq!(items(&env)[1..], [json!({"name": "A", "value": "b"})]);
    let resources = container("resources.limits.memory=1Gi")["resources"].clone();
    assert_eq!(resources["limits"]["memory"], "1Gi");

    let deployment = |values: &str| {
        let manifests = installs(&project, values);
        find(&manifests, "Deployment").expect("a Deployment")["spec"].clone()
    };
    assert_eq!(deployment("replicas=3")["replicas"], 3);
    for (values, path, expected) in [
        ("podLabels.a=b", "metadata/labels/a", json!("b")),
        ("podAnnotations.a=b", "metadata/annotations/a", json!("b")),
        (
            "imagePullSecrets[0].name=a",
            "spec/imagePullSecrets",
            json!([{"name": "a"}]),
        ),
        ("nodeSelector.a=b", "spec/nodeSelector", json!({"a": "b"})),
        (
            "tolerations[0].operator=Exists",
            "spec/tolerations",
            json!([{"operator": "Exists"}]),
        ),
        (
            "affinity.podAffinity.a=b",
            "spec/affinity/podAffinity/a",
            json!("b"),
        ),
    ] {
        let template = deployment(values)["template"].clone();
        assert_eq!(
            template.pointer(&format!("/{path}")),
            Some(&expected),
            "{values}"
        );
    }
}

/// The pointers to the Pod spec of a Deployment, and to its container.
const POD: &str = "/spec/template/spec";
const CONTAINER: &str = "/spec/template/spec/containers/0";

/// Returns a row for each value: the values to set, the object that they change, a pointer into that object, and the
/// expected value. The object is named by its kind, and also by its name if several objects have that kind. The
/// expected value is at the pointer, or in the list at the pointer. It is null if the object is not installed.
#[rustfmt::skip] // A table reads better.
fn each_value() -> Vec<(Value, &'static str, String, Value)> {
    let to = |values: Value, object, pointer: &str, expected| (values, object, pointer.to_owned(), expected);
    let deployment = |values, pointer: &str, expected| to(values, "Deployment", pointer, expected);
    let pod = |name: &str, value: Value| deployment(json!({name: value}), &format!("{POD}/{name}"), value);
    let container = |values, name: &str, expected| deployment(values, &format!("{CONTAINER}/{name}"), expected);
    let gone = |values, object| to(values, object, "", Value::Null);
    let pairs = json!({"a": "b"});
    let volume = json!({"name": "more", "emptyDir": {}});
    let mount = json!({"name": "more", "mountPath": "/more"});
    let env = json!({"name": "A", "value": "b"});
    let spread = json!({"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"});
    let rolling = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "50%"}});
    let affinity = json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}});
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ .Release.Name }}-more"}});
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Values.fullnameOverride }}-text\n";
    let namespaced = json!({"rbac": {"namespaced": true}});
    vec![
        deployment(json!({"nameOverride": "mine"}), "/metadata/name", json!("guestbook-mine-controller-manager")),
        deployment(json!({"nameOverride": "mine"}), "/metadata/labels/app.kubernetes.io~1name", json!("mine")),
        deployment(json!({"nameOverride": "mine"}), "/spec/selector/matchLabels/app.kubernetes.io~1name", json!("mine")),
        deployment(json!({"nameOverride": "book"}), "/spec/template/metadata/labels/app.kubernetes.io~1name", json!("book")),
        deployment(json!({"fullnameOverride": "mine"}), "/metadata/name", json!("mine-controller-manager")),
        container(json!({"image": {"repository": "example.com:5000/a"}}), "image", json!("example.com:5000/a:latest")),
        container(json!({"image": {"tag": "v1"}}), "image", json!("guestbook:v1")),
        container(json!({"image": {"pullPolicy": "Always"}}), "imagePullPolicy", json!("Always")),
        pod("imagePullSecrets", json!([{"name": "a"}])),
        deployment(json!({"replicas": 3}), "/spec/replicas", json!(3)),
        to(json!({"replicas": 3}), "PodDisruptionBudget", "/spec/maxUnavailable", json!(1)),
        gone(json!({"manager": {"enabled": false}}), "Deployment"),
        gone(json!({"manager": {"enabled": false}}), "ValidatingWebhookConfiguration"),
        gone(json!({"manager": {"enabled": false}}), "Service guestbook-metrics"),
        deployment(json!({"strategy": {"type": "Recreate"}}), "/spec/strategy", json!({"type": "Recreate"})),
        deployment(json!({"strategy": rolling}), "/spec/strategy", rolling.clone()),
        deployment(json!({"leaderElection": {"enable": false}}), "/spec/strategy", json!({"type": "Recreate"})),
        container(json!({"args": ["--log-level=debug"]}), "args", json!("--log-level=debug")),
        container(json!({"images": {"GUESTBOOK_IMAGE": "web:2"}}), "env", json!({"name": "GUESTBOOK_IMAGE", "value": "web:2"})),
        container(json!({"env": [env]}), "env", env.clone()),
        container(json!({"env": [{"name": "A", "value": "a"}], "envOverrides": {"A": "b"}}), "env", env),
        container(json!({"envOverrides": {"GUESTBOOK_IMAGE": 1_000_000}}), "env", json!({"name": "GUESTBOOK_IMAGE", "value": "1000000"})),
        container(json!({"envOverrides": {"B": true, "T": "007"}}), "env", json!({"name": "B", "value": "true"})),
        container(json!({"envOverrides": {"B": true, "T": "007"}}), "env", json!({"name": "T", "value": "007"})),
        deployment(json!({"deploymentAnnotations": pairs}), "/metadata/annotations", pairs.clone()),
        deployment(json!({"deploymentLabels": pairs}), "/metadata/labels/a", json!("b")),
        deployment(json!({"podAnnotations": pairs}), "/spec/template/metadata/annotations/a", json!("b")),
        deployment(json!({"podLabels": pairs}), "/spec/template/metadata/labels/a", json!("b")),
        deployment(json!({"podSecurityContext": {"fsGroup": 7}}), &format!("{POD}/securityContext"), json!({"fsGroup": 7})),
        container(json!({"securityContext": {"runAsUser": 7}}), "securityContext", json!({"runAsUser": 7})),
        container(json!({"resources": {"requests": {"cpu": "1"}}}), "resources/requests/cpu", json!("1")),
        container(json!({"resources": {"requests": {"memory": "1Gi"}}}), "resources/requests/memory", json!("1Gi")),
        container(json!({"resources": {"limits": {"memory": "1Gi"}}}), "resources/limits/memory", json!("1Gi")),
        deployment(json!({"extraVolumes": [volume]}), &format!("{POD}/volumes"), volume),
        container(json!({"extraVolumeMounts": [mount]}), "volumeMounts", mount),
        pod("terminationGracePeriodSeconds", json!(30)),
        pod("priorityClassName", json!("system-cluster-critical")),
        pod("nodeSelector", pairs.clone()),
        pod("tolerations", json!([{"operator": "Exists"}])),
        pod("affinity", affinity),
        pod("topologySpreadConstraints", json!([spread])),
        gone(json!({"serviceAccount": {"create": false, "name": "mine"}}), "ServiceAccount"),
        to(json!({"serviceAccount": {"name": "mine"}}), "ServiceAccount", "/metadata/name", json!("mine")),
        deployment(json!({"serviceAccount": {"name": "mine"}}), &format!("{POD}/serviceAccountName"), json!("mine")),
        to(json!({"serviceAccount": {"annotations": pairs}}), "ServiceAccount", "/metadata/annotations", pairs.clone()),
        to(json!({"serviceAccount": {"labels": pairs}}), "ServiceAccount", "/metadata/labels/a", json!("b")),
        container(json!({"probes": {"port": 9000}}), "args", json!("--health-probe-bind-address=:9000")),
        container(json!({"probes": {"port": 9000}}), "ports", json!({"name": "probes", "containerPort": 9000})),
        gone(json!({"metrics": {"enable": false}}), "Service guestbook-metrics"),
        container(json!({"metrics": {"port": 9000}}), "args", json!("--metrics-bind-address=:9000")),
        container(json!({"metrics": {"port": 9000}}), "ports", json!({"name": "metrics", "containerPort": 9000})),
        to(json!({"metrics": {"port": 9000}}), "Service guestbook-metrics", "/spec/ports/0/port", json!(9000)),
        container(json!({"metrics": {"secure": false}}), "args", json!("--metrics-secure=false")),
        container(json!({"metrics": {"secure": false}}), "args", json!("--metrics-bind-address=:8080")),
        gone(json!({"certmanager": {"enable": false}}), "Issuer"),
        container(json!({"webhook": {"port": 9000}}), "args", json!("--webhook-bind-address=:9000")),
        container(json!({"webhook": {"port": 9000}}), "ports", json!({"name": "webhooks", "containerPort": 9000})),
        container(json!({"webhook": {"secret": "mine"}}), "args", json!("--webhook-cert-path=/webhook-certs")),
        gone(json!({"prometheus": {"enable": false}}), "ServiceMonitor"),
        to(json!({"prometheus": {"labels": {"release": "mine"}}}), "ServiceMonitor", "/metadata/labels/release", json!("mine")),
        to(json!({"prometheus": {"interval": "1m30s"}}), "ServiceMonitor", "/spec/endpoints/0/interval", json!("1m30s")),
        gone(json!({"networkPolicy": {"enable": false}}), "NetworkPolicy"),
        gone(json!({"crd": {"enable": false}}), "CustomResourceDefinition"),
        to(json!({"crd": {"keep": false}}), "CustomResourceDefinition", "/metadata/annotations/helm.sh~1resource-policy", Value::Null),
        gone(json!({"rbac": {"userRoles": false}}), "ClusterRole guestbook-webapp-guestbook-admin-role"),
        gone(namespaced.clone(), "ClusterRole guestbook-manager-role"),
        to(namespaced.clone(), "Role guestbook-manager-role", "/metadata/namespace", json!("guestbook-system")),
        to(namespaced.clone(), "RoleBinding guestbook-manager-rolebinding", "/roleRef/kind", json!("Role")),
        to(json!({"rbac": {"roleNamespaces": {"shop": "ours"}}}), "Role guestbook-manager-role-shop", "/metadata/namespace", json!("ours")),
        container(namespaced, "args", json!("--namespace=guestbook-system")),
        to(json!({"extraObjects": [object]}), "ConfigMap", "/metadata/name", json!("guestbook-more")),
        to(json!({"extraObjects": [text], "fullnameOverride": "mine"}), "ConfigMap", "/metadata/name", json!("mine-text")),
    ]
}

/// Returns the value at `pointer` in the object of `manifests`, or null if there is none.
fn at(manifests: &[Value], object: &str, pointer: &str) -> Value {
    let (kind, name) = object.split_once(' ').unwrap_or((object, ""));
    let is_it =
        |it: &&Value| it["kind"] == kind && (name.is_empty() || it["metadata"]["name"] == name);
    let object = manifests.iter().find(is_it);
    let value = object.and_then(|object| object.pointer(pointer));
    value.cloned().unwrap_or_default()
}

/// Returns the paths of all values that contain no other values, such as `image.tag`.
fn leaves(values: &Value, path: &str) -> BTreeSet<String> {
    match values {
        Value::Object(map) if !map.is_empty() => map
            .iter()
            .flat_map(|(name, value)| leaves(value, &format!("{path}.{name}")))
            .collect(),
        _ => BTreeSet::from([path.trim_start_matches('.').to_owned()]),
    }
}

/// Returns whether the schema describes the value at `path`.
fn is_described(schema: &Value, path: &str) -> bool {
    let mut part = schema;
    for name in path.split('.') {
        part = match &part["properties"][name] {
            Value::Null if part["additionalProperties"].is_object() => {
                &part["additionalProperties"]
            }
            Value::Null => return part["type"] == "object" && part["properties"].is_null(),
            named => named,
        };
        if let Some(definition) = part["$ref"].as_str() {
            part = schema.pointer(&definition[1..]).expect("a definition");
        }
    }
    part["type"] != Value::Null || part["enum"] != Value::Null
}

#[test]
fn each_value_is_written_to_its_place() {
    let project = with_webhooks(EVERYTHING);
    // What `make manifests` writes if `RULES` name a namespace.
    let granted = json!([{
        "namespace": "shop",
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }]);
    project.write(
        &format!("{CHART}/files/namespaced_roles.yaml"),
        &granted.to_string(),
    );
    let usual = installs(&project, "");
    let mut tried = BTreeSet::new();
    for (values, object, pointer, expected) in each_value() {
        project.write("../values.json", &values.to_string());
        let chart = "--namespace guestbook-system --values ../values.json";
        let manifests = documents(&run(&mut template(&project, chart)));
        let is_there = |manifests: &[Value]| {
            let found = at(manifests, object, &pointer);
            let is_listed = found
                .as_array()
                .is_some_and(|list| list.contains(&expected));
            found == expected || is_listed
        };
        assert!(
            !is_there(&usual),
            "{object} {pointer} is {expected} without {values}"
        );
        let found = at(&manifests, object, &pointer);
        assert!(
            is_there(&manifests),
            "{values}: {object} {pointer} is {found}"
        );
        tried.extend(leaves(&values, ""));
    }

    let values = project.read(&format!("{CHART}/values.yaml"));
    let [values] = documents(&values).try_into().expect("one");
    let schema = project.read(&format!("{CHART}/values.schema.json"));
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    for value in leaves(&values, "") {
        let below = format!("{value}.");
        let is_tried = tried
            .iter()
            .any(|path| *path == value || path.starts_with(&below));
        assert!(is_tried, "no test sets {value}");
        assert!(is_described(&schema, &value), "the schema lacks {value}");
    }
}

/// `helm upgrade --reuse-values` installs a new chart with the values of the old one.
#[test]
fn a_release_may_lack_the_values_that_are_new() {
    for project in [
        with_webhooks(""),
        guestbook("--namespaced"),
        guestbook(EVERYTHING),
    ] {
        let expected = installs(&project, "");
        let path = format!("{CHART}/values.yaml");
        let [mut values] = documents(&project.read(&path)).try_into().expect("one");
        for new in [
            "/nameOverride",
            "/strategy",
            "/deploymentAnnotations",
            "/deploymentLabels",
            "/podSecurityContext",
            "/securityContext",
            "/extraVolumes",
            "/extraVolumeMounts",
            "/terminationGracePeriodSeconds",
            "/priorityClassName",
            "/topologySpreadConstraints",
            "/serviceAccount/labels",
            "/probes",
            "/metrics/port",
            "/webhook/port",
            "/prometheus/labels",
            "/prometheus/interval",
            "/rbac/namespaced",
            "/extraObjects",
        ] {
            let (parent, name) = new.rsplit_once('/').expect("a path");
            if let Some(Value::Object(parent)) = values.pointer_mut(parent) {
                parent.remove(name);
            }
        }
        assert_eq!(values.get("probes"), None);
        project.write(&path, &values.to_string());
        assert_same(installs(&project, ""), expected, "the values of before");
    }
}

/// Checks that an operator that works in one namespace by a value gets the same objects as a project with
/// `--namespaced`.
#[test]
fn namespaced_rights_are_those_of_an_operator_of_one_namespace() {
    let values = "rbac.namespaced=true,metrics.secure=false,networkPolicy.enable=true";
    for scaffold in [guestbook, with_webhooks] {
        let mut installed = installs(&scaffold(""), values);
        let is_deployment = |manifest: &&mut Value| manifest["kind"] == "Deployment";
        let deployment = installed.iter_mut().find(is_deployment);
        let args = deployment
            .and_then(|deployment| deployment.pointer_mut("/spec/template/spec/containers/0/args"));
        let args = args.and_then(Value::as_array_mut).expect("arguments");
        let count = args.len();
        args.retain(|arg| {
            *arg != "--namespace=guestbook-system" && *arg != "--storage-migration=false"
        });
        assert_eq!(args.len(), count - 2);
        assert_same(installed, installs(&scaffold("--namespaced"), ""), values);
    }

    let urls = guestbook("");
    urls.replace(
        &format!("{CHART}/files/role.yaml"),
        "rules:\n",
        "rules:\n- nonResourceURLs:\n  - /logs\n  verbs:\n  - get\n",
    );
    let error = refused(&mut template(&urls, "--set rbac.namespaced=true"));
    assert!(
        error.contains("no Role can give rights on the URL /logs"),
        "{error}"
    );
    let clusters = guestbook("");
    clusters.rscaffold("create api --group on --version v1 --kind Yes --resource=false");
    let error = refused(&mut template(&clusters, "--set rbac.namespaced=true"));
    assert!(error.contains("yes.on.com are cluster-scoped"), "{error}");
    let nodes = guestbook("");
    nodes.rscaffold("create api --group on --version v1 --kind No --watches v1/Node");
    let error = refused(&mut template(&nodes, "--set rbac.namespaced=true"));
    assert!(error.contains("nodes are cluster-scoped"), "{error}");
}

#[test]
fn crds_stay_with_their_objects_unless_asked_otherwise() {
    let project = guestbook("");
    let policies = |values: &str| {
        let manifests = installs(&project, values);
        let crds = manifests
            .iter()
            .filter(|it| it["kind"] == "CustomResourceDefinition");
        let policy =
            |crd: &Value| crd["metadata"]["annotations"]["helm.sh/resource-policy"].clone();
        crds.map(policy).collect::<Vec<_>>()
    };
    assert_eq!(policies(""), ["keep", "keep"]);
    assert_eq!(policies("crd.keep=false"), [Value::Null, Value::Null]);
}

#[test]
fn an_override_of_a_variable_replaces_it() {
    for settings in ["", "--enable certmanager"] {
        let project = with_webhooks(settings);
        let env = |values: &str| {
            let manifests = installs(&project, values);
            let deployment = find(&manifests, "Deployment").expect("a Deployment");
            let env = deployment.pointer(&format!("{CONTAINER}/env"));
            let mut env = items(env.expect("variables")).to_vec();
            env.sort_by_key(|variable| text(&variable["name"]));
            env
        };
        let names: Vec<_> = env("").iter().map(|it| text(&it["name"])).collect();
        assert!(names.len() > 1, "{names:?}");
        let values: Vec<_> = names
            .iter()
            .map(|name| format!("envOverrides.{name}=mine"))
            .collect();
        let expected: Vec<_> = names
            .iter()
            .map(|name| json!({"name": name, "value": "mine"}))
            .collect();
        assert_eq!(env(&values.join(",")), expected);
    }
}

/// Checks that all names in `value` are texts. YAML reads a name such as `2024` as a number if it has no quotes.
fn has_texts_as_names(value: &Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if ["name", "namespace", "serviceAccountName"].contains(&name.as_str()) {
                    assert!(!field.is_number() && !field.is_boolean(), "{value}");
                }
                has_texts_as_names(field);
            }
        }
        Value::Array(list) => list.iter().for_each(has_texts_as_names),
        _ => {}
    }
}

#[test]
fn a_namespace_and_a_service_account_may_look_like_a_number() {
    for (settings, more) in [
        ("--enable network-policy,prometheus", ""),
        (EVERYTHING, ",rbac.namespaced=true"),
        ("--namespaced", ""),
    ] {
        let project = with_webhooks(settings);
        let granted = json!([{"namespace": "shop", "rules": []}]);
        project.write(
            &format!("{CHART}/files/namespaced_roles.yaml"),
            &granted.to_string(),
        );
        let values = format!(
            "--namespace 2024 --set replicas=2{more} \
             --set-string serviceAccount.name=7,rbac.roleNamespaces.shop=8"
        );
        let manifests = documents(&run(&mut template(&project, &values)));
        for manifest in &manifests {
            has_texts_as_names(manifest);
        }
        let deployment = find(&manifests, "Deployment").expect("a Deployment");
        assert_eq!(deployment["metadata"]["namespace"], "2024");
    }
}

/// Checks that large numbers stay what they are. Helm itself would round them.
#[test]
fn the_numbers_of_a_crd_stay_what_they_are() {
    let project = guestbook("");
    let crd = format!("{CHART}/files/crds/on.com_yes.yaml");
    project.replace(&crd, "maxLength: 80\n", "maxLength: 9007199254740993\n");
    // The CRD's own annotation stays beside the annotation of Helm.
    project.replace(
        &crd,
        "metadata:\n",
        "metadata:\n  annotations:\n    mine: \"1\"\n",
    );
    let text = run(&mut template(&project, ""));
    assert_eq!(text.matches("maxLength: 9007199254740993\n").count(), 1);
    let manifests = documents(&text);
    let is_it = |it: &&Value| it["metadata"]["name"] == "yes.on.com";
    let installed = manifests.iter().find(is_it).expect("the CRD");
    let [written] = documents(&project.read(&crd)).try_into().expect("one");
    assert_eq!(installed["spec"], written["spec"]);
    let annotations = json!({"helm.sh/resource-policy": "keep", "mine": "1"});
    assert_eq!(installed["metadata"]["annotations"], annotations);
}

#[test]
fn names_follow_from_the_release() {
    let project = with_webhooks(EVERYTHING);
    let long = "a-release-with-a-name-of-47-characters-at-least";
    for (release, arguments, prefix) in [
        ("guestbook", "", "guestbook-"),
        ("my-guestbook", "", "my-guestbook-"),
        ("1", "", "1-guestbook-"),
        ("1", "--set fullnameOverride=mine", "mine-"),
        (long, "", long),
    ] {
        let mut template = helm(&project.folder());
        template
            .args(["template", release, CHART, "--namespace", "there"])
            .args(arguments.split_whitespace());
        let manifests = documents(&run(&mut template));
        for manifest in manifests {
            let (kind, name) = (text(&manifest["kind"]), text(&manifest["metadata"]["name"]));
            match kind.as_str() {
                "CustomResourceDefinition" => continue,
                // Only the name of a Service has to be short.
                "Service" => assert!(name.len() < 64, "{name}"),
                _ => assert!(name.starts_with(prefix), "{name}"),
            }
            let namespace = manifest["metadata"]["namespace"].as_str();
            let is_clusters = kind.starts_with("Cluster") || kind.ends_with("WebhookConfiguration");
            assert_eq!(
                namespace,
                (!is_clusters).then_some("there"),
                "{kind} {name}"
            );
            if let Some(subject) = manifest["subjects"].get(0) {
                assert_eq!(subject["namespace"], "there", "{manifest}");
            }
        }
    }
    let mine = installs(
        &project,
        "serviceAccount.create=false,serviceAccount.name=mine",
    );
    assert!(find(&mine, "ServiceAccount").is_none());
    let deployment = find(&mine, "Deployment").expect("a Deployment");
    assert_eq!(
        deployment["spec"]["template"]["spec"]["serviceAccountName"],
        "mine"
    );
    for manifest in mine.iter().filter(|it| it["subjects"].is_array()) {
        assert_eq!(manifest["subjects"][0]["name"], "mine", "{manifest}");
    }
}

#[test]
fn values_that_would_do_harm_are_refused() {
    let project = guestbook("");
    for (values, reason) in [
        (
            "replicas=2,leaderElection.enable=false",
            "replicas above 1 needs leaderElection.enable",
        ),
        (
            "serviceAccount.create=false",
            "serviceAccount.name must be given if serviceAccount.create is false",
        ),
        (
            "strategy.type=RollingUpdate,leaderElection.enable=false",
            "a strategy other than Recreate needs leaderElection.enable",
        ),
        ("crd.enabled=false", "enabled"),
        ("metrics.enable=maybe", "metrics"),
        ("image.pullPolicy=Sometimes", "pullPolicy"),
        ("nameOverride=1", "nameOverride"),
        ("strategy.type=Sometimes", "/strategy/type"),
        ("strategy.kind=Recreate", "kind"),
        ("deploymentLabels.a=1", "/deploymentLabels/a"),
        ("deploymentAnnotations.a=true", "/deploymentAnnotations/a"),
        ("podSecurityContext=root", "podSecurityContext"),
        ("securityContext=root", "securityContext"),
        ("extraVolumes[0].emptyDir.medium=Memory", "/extraVolumes/0"),
        ("extraVolumeMounts[0]=/tmp", "/extraVolumeMounts/0"),
        (
            "terminationGracePeriodSeconds=0",
            "terminationGracePeriodSeconds",
        ),
        ("priorityClassName=1", "priorityClassName"),
        (
            "topologySpreadConstraints[0].maxSkew=0",
            "/topologySpreadConstraints/0",
        ),
        ("serviceAccount.labels.a=1", "/serviceAccount/labels/a"),
        ("probes.port=0", "/probes/port"),
        ("metrics.port=65536", "/metrics/port"),
        ("prometheus.labels.a=1", "/prometheus/labels/a"),
        ("prometheus.interval=often", "/prometheus/interval"),
        ("rbac.namespaced=maybe", "/rbac/namespaced"),
        ("extraObjects[0]=1", "/extraObjects/0"),
    ] {
        let error = refused(&mut template(&project, &format!("--set {values}")));
        assert!(error.contains(reason), "{values}: {error}");
    }
}

#[test]
fn additions_of_a_user_to_the_chart_stay() {
    let project = guestbook("");
    let values = format!("{CHART}/values.yaml");
    project.replace(&values, "replicas: 1\n", "replicas: 3\n");
    let text = project.read(&values);
    project.write(&values, &format!("{text}\nmine:\n  colour: blue\n"));
    project.replace(
        &format!("{CHART}/Chart.yaml"),
        "version: 0.1.0\n",
        "version: 1.2.3\n",
    );
    project.write(
        &format!("{CHART}/templates/mine.yaml"),
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: mine\n\
         data:\n  colour: {{ .Values.mine.colour }}\n",
    );
    let added = "      hostNetwork: {{ .Values.mine.hostNetwork | default false }}\n";
    let before = "      # Running reconciles have 8 s to finish: --graceful-shutdown-timeout.\n";
    let deployment = format!("{CHART}/templates/deployment.yaml");
    project.replace(&deployment, before, &format!("{added}{before}"));

    project.all(&[
        "edit --enable prometheus,network-policy",
        "create api --group webapp --version v1 --kind Visitor",
        "edit --namespaced=false --disable network-policy --license mit",
    ]);
    run(helm(&project.folder()).args(["lint", "--strict", CHART]));
    let manifests = installs(&project, "");
    let mine = find(&manifests, "ConfigMap").expect("the user's template");
    assert_eq!(mine["data"]["colour"], "blue");
    let spec = &find(&manifests, "Deployment").expect("a Deployment")["spec"];
    assert_eq!(spec["replicas"], 3);
    assert_eq!(spec["template"]["spec"]["hostNetwork"], false);
    assert!(find(&manifests, "ServiceMonitor").is_some());
    let names = manifests.iter().map(|it| it["metadata"]["name"].as_str());
    assert!(names.flatten().any(|name| name == "visitors.webapp.com"));
    assert!(
        project
            .read(&format!("{CHART}/Chart.yaml"))
            .contains("version: 1.2.3\n")
    );
    let labels = &find(&manifests, "Deployment").expect("a Deployment")["metadata"]["labels"];
    assert_eq!(labels["helm.sh/chart"], "guestbook-1.2.3");

    // When the feature is disabled, files of the user stay, and scaffolded files that the user changed are conflicts.
    let error = refused(&mut project.command("edit --disable helm"));
    assert!(
        error.contains(&values) && error.contains(&deployment),
        "{error}"
    );
    assert!(!error.contains("mine.yaml"), "{error}");
    project.rscaffold("edit --disable helm --on-conflict=theirs");
    let left: Vec<_> = project
        .tree()
        .into_iter()
        .filter(|(path, text)| path.starts_with("charts") && text.is_some())
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn an_api_server_accepts_the_objects_of_the_chart() {
    for settings in ["--enable network-policy", "--namespaced"] {
        let project = guestbook(settings);
        // A dry run creates no namespace.
        let installed = run(&mut template(&project, "--namespace default"));
        project.write("../installed.yaml", &installed);
        // Another test may have installed a CRD of this name.
        let apply = "apply --server-side --force-conflicts --dry-run=server -f";
        run(kubectl(apply).arg(project.folder().join("../installed.yaml")));
    }
}

#[test]
fn make_installs_the_chart_and_removes_it() {
    let project = Project::new(&[
        "init --domain example.com --project-name charted --enable helm,user-roles",
        "create api --group charted --version v1 --kind Chart",
        "create webhook --group charted --version v1 --kind Chart --defaulting",
    ]);
    let folder = project.folder();
    let make = |target: &str, image: &str| {
        let helm = helm(&folder);
        let mut make = plain_make();
        // The manifests already match the code, so `CARGO=true` skips the compilation, which takes minutes.
        make.args([target, "CARGO=true"])
            .arg(format!("IMG={image}"))
            .arg(format!("HELM={}", helm.get_program().display()))
            .envs(
                helm.get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .env("KUBECONFIG", cluster().kubeconfig())
            .current_dir(&folder);
        run(&mut make)
    };
    make("helm-lint", "");
    make("helm-package", "");
    assert!(folder.join("dist/charted-0.1.0.tgz").is_file());

    let (crd, namespace) = (
        "crd charts.charted.example.com",
        "--namespace charted-system",
    );
    let of_registry = "localhost:5000/me/charted";
    for (image, expected) in [
        ("charted", "charted:latest"),
        (of_registry, "localhost:5000/me/charted:latest"),
        ("localhost:5000/charted:1.10", "localhost:5000/charted:1.10"),
        ("charted:v1@sha256:0", "charted:v1@sha256:0"),
    ] {
        make("helm-deploy", image);
        let path = "jsonpath={.spec.template.spec.containers[0].image}";
        let get = format!("get deployment charted-controller-manager {namespace} --output {path}");
        assert_eq!(run(&mut kubectl(&get)), expected);
    }
    run(&mut kubectl(&format!("get {crd}")));
    assert!(make("helm-status", "").contains("REVISION: 4"));
    make("helm-rollback", "");
    let history = make("helm-history", "");
    assert!(history.contains("Rollback to 3"), "{history}");

    // A CA bundle that the operator or cert-manager has injected stays there.
    let configuration = "mutatingwebhookconfiguration charted-mutating-webhook-configuration";
    let patch = r#"[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":"bWluZQ=="}]"#;
    let inject = format!("patch {configuration} --type=json --patch");
    run(kubectl(&inject).arg(patch));
    make("helm-deploy", "charted:v2");
    let bundle = "--output jsonpath={.webhooks[0].clientConfig.caBundle}";
    let bundle = run(&mut kubectl(&format!("get {configuration} {bundle}")));
    assert_eq!(bundle, "bWluZQ==");
    make("helm-undeploy", "");
    let kinds = "deployments,serviceaccounts,services,roles,rolebindings";
    let label = "app.kubernetes.io/instance=charted";
    let left = format!("get {kinds} {namespace} --selector {label} --output name");
    assert_eq!(run(&mut kubectl(&left)), "");
    run(&mut kubectl(&format!("get {crd}")));
}

#[test]
fn an_operator_can_run_elsewhere_with_the_rights_of_the_chart() {
    let project = Project::new(&[
        "init --domain example.com --project-name noted --enable helm",
        "create api --group noted --version v1 --kind Note --finalizer",
        "create api --group noted --version v2 --kind Note",
        "create webhook --group noted --version v1 --kind Note --conversion",
    ]);
    let upgrade = |arguments: &str| {
        let mut upgrade = helm(&project.folder());
        let arguments = format!(
            "upgrade --install noted charts/noted --namespace noted-system --create-namespace {arguments}"
        );
        upgrade
            .args(arguments.split_whitespace())
            .env("KUBECONFIG", cluster().kubeconfig());
        run(&mut upgrade)
    };
    let notes = upgrade("");
    assert!(
        notes.contains("deployment/noted-controller-manager"),
        "{notes}"
    );
    // After `helm uninstall`, nobody removes finalizers, so the deletion would not end.
    let before = "run this command BEFORE\n`helm uninstall`";
    assert!(notes.contains(before), "{notes}");
    let everywhere = "It deletes the objects in all namespaces.";
    assert!(!notes.contains(everywhere), "{notes}");
    let delete = "kubectl delete notes.noted.example.com --all --";
    assert!(!notes.contains(delete), "{notes}");
    let of_others = "--dry-run=client --set crd.enable=false,rbac.namespaced=";
    for (value, scope) in [
        ("false", "all-namespaces"),
        ("true", "namespace noted-system"),
    ] {
        let notes = upgrade(&format!("{of_others}{value}"));
        assert!(notes.contains(&format!("{delete}{scope}\n")), "{notes}");
    }
    let notes = upgrade("--dry-run=client --set rbac.namespaced=true");
    assert!(notes.contains(everywhere), "{notes}");

    let notes = upgrade("--set manager.enabled=false");
    assert!(notes.contains("operator that runs elsewhere"), "{notes}");
    assert!(!notes.contains("deployment"), "{notes}");
    let namespace = "--namespace noted-system --output name";
    let left = format!("get deployments,services,secrets {namespace}");
    let left = run(&mut kubectl(&left));
    assert!(!left.contains("noted-"), "{left}");

    // What the flag --webhook-url needs: its own configurations, and the conversion of the CRD.
    let account = "--as=system:serviceaccount:noted-system:noted-controller-manager";
    for (kind, name) in [
        (
            "MutatingWebhookConfiguration",
            "noted-run-mutating-webhook-configuration",
        ),
        (
            "ValidatingWebhookConfiguration",
            "noted-run-validating-webhook-configuration",
        ),
        (
            "ValidatingWebhookConfiguration",
            "noted-run-reachable-webhook-configuration",
        ),
    ] {
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": name},
        });
        project.write("../configuration.json", &configuration.to_string());
        let file = project
            .folder()
            .join("../configuration.json")
            .display()
            .to_string();
        kubectl_succeeds(&format!("apply --server-side {account} -f {file}"));
        kubectl_succeeds(&format!("get {kind} {name} {account}"));
        kubectl_succeeds(&format!("delete --wait=false {kind} {name} {account}"));
    }
    let client = r#"{"url":"https://192.0.2.1:9443/convert","service":null}"#;
    let patch = format!(r#"{{"spec":{{"conversion":{{"webhook":{{"clientConfig":{client}}}}}}}}}"#);
    let crd = "crd notes.noted.example.com";
    kubectl_succeeds(&format!(
        "patch {crd} {account} --type=merge --patch={patch}"
    ));
}

/// Returns values that the API server accepts, each different from its default.
fn many_values() -> Value {
    let spread = json!({
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"control-plane": "controller-manager"}},
    });
    json!({
        "nameOverride": "books",
        "replicas": 2,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
        "deploymentAnnotations": {"a": "1"},
        "deploymentLabels": {"b": "2"},
        "podSecurityContext": {"runAsNonRoot": true, "fsGroup": 7},
        "securityContext": {"allowPrivilegeEscalation": false, "runAsUser": 7},
        "extraVolumes": [{"name": "more", "emptyDir": {}}],
        "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
        "terminationGracePeriodSeconds": 30,
        "priorityClassName": "system-cluster-critical",
        "topologySpreadConstraints": [spread],
        "serviceAccount": {"labels": {"c": "3"}},
        "probes": {"port": 9001},
        "metrics": {"port": 9002},
        "webhook": {"port": 9003},
        "rbac": {"namespaced": true},
        "extraObjects": [{
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "{{ .Release.Name }}-more"},
        }],
    })
}

#[test]
fn a_release_can_set_many_values_and_be_upgraded_without_them() {
    let project = Project::new(&[
        "init --domain example.com --project-name valued --enable helm,user-roles",
        "create api --group valued --version v1 --kind Ledger",
        "create webhook --group valued --version v1 --kind Ledger --defaulting",
    ]);
    let namespace = "--namespace valued-system";
    let upgrade = |arguments: &str| {
        let mut upgrade = helm(&project.folder());
        let arguments = format!("upgrade --install valued charts/valued {namespace} {arguments}");
        upgrade
            .args(arguments.split_whitespace())
            .env("KUBECONFIG", cluster().kubeconfig());
        run(&mut upgrade)
    };
    let get = |what: &str| {
        let get = format!("get {what} {namespace} --ignore-not-found --output json");
        let text = run(&mut kubectl(&get));
        serde_json::from_str(&text).unwrap_or(Value::Null)
    };
    let values = many_values();
    project.write("../values.json", &values.to_string());
    upgrade("--create-namespace --values ../values.json");

    let deployment = get("deployment/valued-books-controller-manager");
    let is = |pointer: &str, expected: &Value| {
        let found = deployment.pointer(pointer).unwrap_or(&Value::Null);
        assert_eq!(found, expected, "{pointer}: {deployment}");
    };
    is("/spec/strategy", &values["strategy"]);
    is("/metadata/annotations/a", &json!("1"));
    is("/metadata/labels/b", &json!("2"));
    for name in [
        "terminationGracePeriodSeconds",
        "priorityClassName",
        "topologySpreadConstraints",
    ] {
        is(&format!("{POD}/{name}"), &values[name]);
    }
    is(
        &format!("{POD}/securityContext"),
        &values["podSecurityContext"],
    );
    is(&format!("{POD}/volumes"), &values["extraVolumes"]);
    is(
        &format!("{CONTAINER}/securityContext"),
        &values["securityContext"],
    );
    is(
        &format!("{CONTAINER}/volumeMounts"),
        &values["extraVolumeMounts"],
    );
    let ports = deployment.pointer(&format!("{CONTAINER}/ports"));
    let ports = items(ports.expect("ports")).iter();
    let ports: BTreeSet<_> = ports.map(|it| it["containerPort"].as_u64()).collect();
    assert_eq!(ports, BTreeSet::from([9001, 9002, 9003].map(Some)));
    assert_eq!(
        get("serviceaccount/valued-books-controller-manager")["metadata"]["labels"]["c"],
        "3"
    );
    assert_eq!(
        get("service/valued-books-metrics")["spec"]["ports"][0]["port"],
        9002
    );
    assert_eq!(get("role/valued-books-manager-role")["kind"], "Role");
    assert_eq!(get("configmap/valued-more")["kind"], "ConfigMap");

    upgrade("--reset-values");
    let deployment = get("deployment/valued-controller-manager");
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["terminationGracePeriodSeconds"], 10, "{deployment}");
    assert_eq!(
        pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"],
        true
    );
    assert_eq!(
        get("clusterrole/valued-manager-role")["kind"],
        "ClusterRole"
    );
    for gone in [
        "deployment/valued-books-controller-manager",
        "role/valued-books-manager-role",
        "configmap/valued-more",
    ] {
        assert_eq!(get(gone), Value::Null, "{gone}");
    }
    let mut uninstall = helm(&project.folder());
    let arguments = format!("uninstall valued {namespace}");
    uninstall
        .args(arguments.split_whitespace())
        .env("KUBECONFIG", cluster().kubeconfig());
    run(&mut uninstall);
    assert_eq!(get("deployment/valued-controller-manager"), Value::Null);
}
