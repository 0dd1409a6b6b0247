//! Tests the manifests that kustomize renders for projects, with every combination of features.

use std::{collections::BTreeSet, path::Path};

use cluster::wait_until;
use rscaffold::project::Feature;
use serde_json::{Value, json};

use crate::{
    operator::{PATIENCE, cluster, kubectl, kubectl_succeeds, kubectl_waits},
    project::Project,
    scaffold::{plain_make, run},
};

/// The features that change the manifests. The last feature changes the manifests of namespaced projects only.
const FEATURES: [Feature; 6] = [
    Feature::Certmanager,
    Feature::LeaderElection,
    Feature::MetricsSecure,
    Feature::NetworkPolicy,
    Feature::Prometheus,
    Feature::MetricsAuth,
];

/// Renders a folder with kustomize and returns the manifests.
pub fn kustomize(folder: &Path) -> Vec<Value> {
    documents(&run(kubectl("kustomize").arg(folder)))
}

/// Returns the manifests in a text that separates them with `---`.
pub fn documents(text: &str) -> Vec<Value> {
    serde_yaml::from_multiple(text).expect("YAML")
}

/// Returns the entries of a list.
pub fn items(list: &Value) -> &[Value] {
    list.as_array().expect("a list")
}

/// Returns the text in a JSON value.
pub fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// Returns the only manifest of a kind, if there is one.
pub fn find<'a>(manifests: &'a [Value], kind: &str) -> Option<&'a Value> {
    let mut found = manifests.iter().filter(|manifest| manifest["kind"] == kind);
    let manifest = found.next();
    assert!(found.next().is_none(), "more than one {kind}");
    manifest
}

/// Checks whether `labels` contain all labels that `selector` requires.
fn selects(selector: &Value, labels: &Value) -> bool {
    let selector = selector.as_object().expect("labels");
    !selector.is_empty() && selector.iter().all(|(name, value)| labels[name] == *value)
}

#[test]
fn manifests_fit_together_with_every_combination_of_features() {
    let project = Project::new(&[
        "init --domain com --repo guestbook",
        "create api --group webapp --version v1 --kind Guestbook",
    ]);
    for namespaced in [false, true] {
        let features = &FEATURES[..FEATURES.len() - usize::from(!namespaced)];
        for bits in 0..1 << features.len() {
            let (mut on, mut off) = (BTreeSet::new(), BTreeSet::new());
            for (bit, feature) in features.iter().copied().enumerate() {
                let set = if bits & 1 << bit == 0 {
                    &mut off
                } else {
                    &mut on
                };
                set.insert(feature);
            }
            let mut edit = format!("edit --namespaced={namespaced}");
            for (flag, features) in [("enable", &on), ("disable", &off)] {
                for feature in features {
                    edit.extend([" --", flag, "=", &feature.to_string()]);
                }
            }
            project.rscaffold(&edit);
            let manifests = kustomize(&project.folder().join("config/default"));
            fit_together(&manifests, &on, namespaced);
        }
    }
}

/// Checks the labels of a project whose name YAML reads as a string only with quotes.
#[test]
fn labels_are_strings_even_if_the_project_is_named_null() {
    let features: Vec<_> = Feature::all().iter().map(Feature::to_string).collect();
    let features = features.join(",");
    let project = Project::new(&[
        &format!("init --domain com --repo guestbook --project-name null --enable {features}"),
        "create api --group webapp --version v1 --kind Guestbook",
    ]);
    for folder in ["config/default", "config/samples", "config/grafana"] {
        for manifest in kustomize(&project.folder().join(folder)) {
            // The operator writes its CRDs and its role itself, without labels.
            let derived = ["null-manager-role", "guestbooks.webapp.com"];
            if !derived.contains(&manifest["metadata"]["name"].as_str().expect("a name")) {
                let name = &manifest["metadata"]["labels"]["app.kubernetes.io/name"];
                assert_eq!(name, "null", "{manifest}");
            }
        }
    }
}

/// The manifests of a project with some features enabled.
struct Deployed<'a> {
    manifests: &'a [Value],
    features: &'a BTreeSet<Feature>,
    namespaced: bool,
    /// The settings, for messages of failed assertions.
    why: String,
}

fn fit_together(manifests: &[Value], features: &BTreeSet<Feature>, namespaced: bool) {
    let deployed = Deployed {
        manifests,
        features,
        namespaced,
        why: format!("{features:?}, namespaced: {namespaced}"),
    };
    deployed.leader_election();
    deployed.metrics();
    let secret = deployed.certificate();
    deployed.monitor(secret.as_deref());
    deployed.policy();
    deployed.scope();
}

impl Deployed<'_> {
    fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    /// Checks whether metrics are served over HTTPS, and only to clients with permission.
    fn is_secure(&self) -> bool {
        let is_allowed = !self.namespaced || self.has(Feature::MetricsAuth);
        self.has(Feature::MetricsSecure) && is_allowed
    }

    fn is_there(&self, name: &str) -> bool {
        let name = format!("guestbook-{name}");
        let mut names = self.manifests.iter().map(|it| &it["metadata"]["name"]);
        names.any(|it| *it == *name)
    }

    fn one(&self, kind: &str) -> &Value {
        find(self.manifests, kind).unwrap_or_else(|| panic!("{}: no {kind}", self.why))
    }

    fn pod(&self) -> &Value {
        &self.one("Deployment")["spec"]["template"]
    }

    fn container(&self) -> &Value {
        &self.pod()["spec"]["containers"][0]
    }

    fn has_argument(&self, argument: &str) -> bool {
        items(&self.container()["args"]).contains(&argument.into())
    }

    fn port(&self, name: &Value) -> Value {
        let mut ports = items(&self.container()["ports"]).iter();
        let port = ports.find(|port| port["name"] == *name);
        port.unwrap_or_else(|| panic!("{}: no port {name}", self.why))["containerPort"].clone()
    }

    /// Returns the only port of the Service, which serves the metrics.
    fn served(&self) -> &Value {
        match items(&self.one("Service")["spec"]["ports"]) {
            [served] => served,
            ports => panic!("{}: {ports:?}", self.why),
        }
    }

    fn host(&self) -> String {
        let service = &self.one("Service")["metadata"];
        format!(
            "{}.{}.svc",
            text(&service["name"]),
            text(&service["namespace"])
        )
    }

    /// Checks that replicas elect a leader, or that the Deployment never runs two Pods at the same time.
    fn leader_election(&self) {
        let elects = self.has(Feature::LeaderElection);
        assert_eq!(self.has_argument("--leader-elect"), elects, "{}", self.why);
        for object in ["leader-election-role", "leader-election-rolebinding"] {
            assert_eq!(self.is_there(object), elects, "{}", self.why);
        }
        let strategy = &self.one("Deployment")["spec"]["strategy"]["type"];
        assert_eq!(*strategy == "Recreate", !elects, "{}", self.why);
    }

    fn metrics(&self) {
        let (why, secure, served) = (&self.why, self.is_secure(), self.served());
        let metrics = self.port(&served["targetPort"]);
        assert_eq!(metrics, served["port"], "{why}");
        assert!(
            self.has_argument(&format!("--metrics-bind-address=:{metrics}")),
            "{why}"
        );
        assert_eq!(
            self.has_argument("--metrics-secure=false"),
            !secure,
            "{why}"
        );
        assert_eq!(self.is_there("metrics-auth-role"), secure, "{why}");
        assert_eq!(self.is_there("metrics-auth-rolebinding"), secure, "{why}");
        assert_eq!(self.is_there("metrics-reader"), secure, "{why}");
        let labels = &self.pod()["metadata"]["labels"];
        let deployment = &self.one("Deployment")["spec"];
        assert!(
            selects(&self.one("Service")["spec"]["selector"], labels),
            "{why}"
        );
        assert!(
            selects(&deployment["selector"]["matchLabels"], labels),
            "{why}"
        );
        for probe in ["livenessProbe", "readinessProbe"] {
            let port = self.port(&self.container()[probe]["httpGet"]["port"]);
            assert_eq!(port, 8081, "{why}");
        }
    }

    /// Returns the name of the Secret with the certificate, if cert-manager creates the certificate.
    fn certificate(&self) -> Option<String> {
        let why = &self.why;
        let expected = self.is_secure() && self.has(Feature::Certmanager);
        let certificate = of_cert_manager(self.manifests, "metrics-certs");
        assert_eq!(certificate.is_some(), expected, "{why}");
        let spec = &certificate?["spec"];
        assert!(
            items(&spec["dnsNames"]).contains(&self.host().into()),
            "{why}"
        );
        let secret = text(&spec["secretName"]);
        let [volume] = items(&self.pod()["spec"]["volumes"]) else {
            panic!("{why}: no volume");
        };
        assert_eq!(volume["secret"]["secretName"], *secret, "{why}");
        let [mount] = items(&self.container()["volumeMounts"]) else {
            panic!("{why}: no mount");
        };
        assert_eq!(mount["name"], volume["name"], "{why}");
        let path = format!("--metrics-cert-path={}", text(&mount["mountPath"]));
        assert!(self.has_argument(&path), "{why}");
        Some(secret)
    }

    fn monitor(&self, secret: Option<&str>) {
        let (why, secure) = (&self.why, self.is_secure());
        let monitor = find(self.manifests, "ServiceMonitor");
        assert_eq!(monitor.is_some(), self.has(Feature::Prometheus), "{why}");
        let Some(monitor) = monitor else {
            return;
        };
        let [endpoint] = items(&monitor["spec"]["endpoints"]) else {
            panic!("{why}: {monitor}");
        };
        assert_eq!(endpoint["port"], self.served()["name"], "{why}");
        assert_eq!(
            endpoint["scheme"],
            if secure { "https" } else { "http" },
            "{why}"
        );
        assert_eq!(endpoint["path"], "/metrics", "{why}");
        assert_eq!(endpoint["bearerTokenFile"].is_string(), secure, "{why}");
        if let Some(secret) = secret {
            let tls = &endpoint["tlsConfig"];
            assert_eq!(tls["ca"]["secret"]["name"], *secret, "{why}");
            assert_eq!(tls["serverName"], self.host(), "{why}");
            assert!(tls["insecureSkipVerify"].is_null(), "{why}");
        }
        let selector = &monitor["spec"]["selector"]["matchLabels"];
        let labels = &self.one("Service")["metadata"]["labels"];
        assert!(selects(selector, labels), "{why}");
    }

    fn policy(&self) {
        let why = &self.why;
        let policy = find(self.manifests, "NetworkPolicy");
        let expected = self.namespaced || self.has(Feature::NetworkPolicy);
        assert_eq!(policy.is_some(), expected, "{why}");
        if let Some(policy) = policy {
            let selector = &policy["spec"]["podSelector"]["matchLabels"];
            assert!(
                selects(selector, &self.pod()["metadata"]["labels"]),
                "{why}"
            );
            let [rule] = items(&policy["spec"]["ingress"]) else {
                panic!("{why}: {policy}");
            };
            let port = self.port(&rule["ports"][0]["port"]);
            assert_eq!(port, self.port(&self.served()["targetPort"]), "{why}");
        }
    }

    /// Checks which manifests are in the project's namespace, and which are not.
    fn scope(&self) {
        let why = &self.why;
        for manifest in self.manifests {
            let (kind, name) = (text(&manifest["kind"]), text(&manifest["metadata"]["name"]));
            // The roles that let users access the operator's kinds are cluster-wide, also in a namespaced project.
            let people = ["-admin-role", "-editor-role", "-viewer-role"];
            let is_for_people = people.iter().any(|role| name.ends_with(role));
            // A namespaced operator has no other cluster-wide permissions than these roles for metrics.
            let of_metrics = ["auth-role", "auth-rolebinding", "reader"];
            let of_metrics = of_metrics.map(|name| format!("guestbook-metrics-{name}"));
            let is_of_metrics = self.is_secure() && of_metrics.contains(&name);
            match kind.as_str() {
                "CustomResourceDefinition" | "Namespace" => {}
                "ClusterRole" => {
                    let is_allowed = !self.namespaced || is_for_people || is_of_metrics;
                    assert!(is_allowed, "{why}: {name}");
                }
                "ClusterRoleBinding" => {
                    assert!(!self.namespaced || is_of_metrics, "{why}: {name}");
                }
                _ => assert_eq!(
                    manifest["metadata"]["namespace"], "guestbook-system",
                    "{why}"
                ),
            }
        }
    }
}

/// Checks that an object has the same content in each version, whichever version is stored, and that clients of a
/// deprecated version get a warning.
#[test]
fn versions_with_equal_schemas_are_served_beside_each_other() {
    let project = Project::new(&[
        "init --domain versions.example.com",
        "create api --group shop --version v1alpha1 --kind Book --controller=false",
    ]);
    let install = || {
        run(kubectl("apply --server-side -k").arg(project.folder().join("config/crd")));
        kubectl_waits("--for=condition=Established crd/books.shop.versions.example.com");
        kubectl_succeeds("get books.shop.versions.example.com");
    };
    let book = |version: &str| {
        let arguments = format!("get books.{version}.shop.versions.example.com tale -o json");
        let output = kubectl(&arguments).output().expect("kubectl");
        let book: Value = serde_json::from_slice(&output.stdout).expect("an object");
        (
            book["spec"].clone(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    install();
    project.write(
        "../book.yaml",
        "apiVersion: shop.versions.example.com/v1alpha1\nkind: Book\nmetadata: {name: tale}\n\
         spec: {title: A tale}\n",
    );
    run(kubectl("apply -f").arg(project.folder().join("../book.yaml")));
    let (stored, warning) = book("v1alpha1");
    assert_eq!(
        (text(&stored["title"]).as_str(), warning.as_str()),
        ("A tale", "")
    );

    project.all(&[
        "create api --group shop --version v1 --kind Book --storage --conversion=none",
        "create api --group shop --version v1alpha1 --kind Book --deprecated=v1-is-\"stable\"",
    ]);
    install();
    // The CRD was established before, and the API server follows its change a moment later.
    kubectl_succeeds("get books.v1.shop.versions.example.com tale");
    assert_eq!(book("v1"), (stored.clone(), String::new()));
    let warned = wait_until("a warning", PATIENCE, || {
        Ok(Some(book("v1alpha1")).filter(|(_, warning)| !warning.is_empty()))
    });
    let (old, warning) = warned.unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(old, stored);
    assert_eq!(warning, "Warning: v1-is-\"stable\"\n");
}

/// Returns the Certificate whose name ends with `name`, if there is one. Checks that a self-signed authority signs it.
fn of_cert_manager<'a>(manifests: &'a [Value], name: &str) -> Option<&'a Value> {
    let named = |kind: &str, name: &Value| {
        let mut found = manifests.iter().filter(|it| it["kind"] == kind);
        let found = found.find(|it| it["metadata"]["name"] == *name);
        &found.unwrap_or_else(|| panic!("no {kind} {name}"))["spec"]
    };
    let mut certificates = manifests.iter().filter(|it| it["kind"] == "Certificate");
    let is_it = |it: &&Value| text(&it["metadata"]["name"]).ends_with(name);
    let certificate = certificates.find(is_it)?;
    let issuer = named("Issuer", &certificate["spec"]["issuerRef"]["name"]);
    // The Certificate of the authority has the same name as its Secret.
    let authority = named("Certificate", &issuer["ca"]["secretName"]);
    assert_eq!(authority["secretName"], issuer["ca"]["secretName"]);
    assert_eq!(authority["isCA"], true);
    // The authority keeps its key at a renewal, so clients that trust it still trust it afterwards.
    assert_eq!(authority["privateKey"]["rotationPolicy"], "Never");
    let signs_itself = named("Issuer", &authority["issuerRef"]["name"]);
    assert_eq!(signs_itself["selfSigned"], serde_json::json!({}));
    Some(certificate)
}

/// Creates a project with webhooks. `settings` are additional flags for `init`.
fn with_webhooks(settings: &str) -> Project {
    let kind = "--group webapp --version v1 --kind Guestbook";
    Project::new(&[
        &format!("init --domain com --repo guestbook --project-name shelf {settings}"),
        &format!("create api {kind}"),
        &format!("create webhook {kind} --defaulting --programmatic-validation"),
        "create webhook --group core --version v1 --kind Pod --defaulting",
        "create api --group webapp --version v2 --kind Guestbook",
        &format!("create webhook {kind} --conversion"),
    ])
}

/// The flags for each source of certificates.
const WAYS: [&str; 4] = [
    "",
    "--enable=certmanager,prometheus",
    "--enable=webhook-files",
    "--enable=certmanager,prometheus,webhook-files",
];

#[test]
fn the_objects_for_certificates_are_found_with_every_source() {
    for way in WAYS {
        for namespaced in ["", " --namespaced"] {
            let settings = format!("{way}{namespaced}");
            let project = with_webhooks(&settings);
            let manifests = kustomize(&project.folder().join("config/default"));
            let deployment = find(&manifests, "Deployment").expect("a Deployment");
            let pod = &deployment["spec"]["template"]["spec"];
            let container = &pod["containers"][0];
            let variable = |name: &str| {
                let name = format!("KUBE_MANAGER_WEBHOOK_{name}");
                let mut variables = items(&container["env"]).iter();
                let variable = variables.find(|it| it["name"] == *name);
                variable.map(|it| text(&it["value"]))
            };
            let is_there = |kind: &str, name: &str| {
                let mut found = manifests.iter().filter(|it| it["kind"] == kind);
                found.any(|it| it["metadata"]["name"] == *name)
            };
            let mut names = Vec::new();
            for (name, kind) in [
                ("SERVICE", "Service"),
                ("CA_SECRET", "Secret"),
                ("MUTATING_CONFIGURATION", "MutatingWebhookConfiguration"),
                ("VALIDATING_CONFIGURATION", "ValidatingWebhookConfiguration"),
                ("CERT_SECRET", "Certificate"),
            ] {
                if let Some(object) = variable(name) {
                    assert!(is_there(kind, &object), "{settings}: {name} {object}");
                    names.push(name);
                }
            }
            let certificate = of_cert_manager(&manifests, "webhook-certs");
            let configurations = [
                "MutatingWebhookConfiguration",
                "ValidatingWebhookConfiguration",
                "CustomResourceDefinition",
            ]
            .map(|kind| find(&manifests, kind).expect("a configuration"));
            let converts = &configurations[2]["spec"]["conversion"]["webhook"]["clientConfig"];
            let (service, namespace) = ("shelf-webhook-service", "shelf-system");
            let expected =
                serde_json::json!({"name": service, "namespace": namespace, "path": "/convert"});
            assert_eq!(converts["service"], expected, "{settings}");
            assert!(is_there("Service", service), "{settings}");
            let from = "cert-manager.io/inject-ca-from";
            let injected = configurations.map(|it| it["metadata"]["annotations"][from].as_str());
            let names = names.join(" ");
            let publishes = "MUTATING_CONFIGURATION VALIDATING_CONFIGURATION";
            let path = serde_json::json!("--webhook-cert-path=/webhook-certs");
            let of_files = way.contains("webhook-files");
            assert_eq!(items(&container["args"]).contains(&path), of_files);
            if of_files {
                assert_eq!(names, format!("SERVICE {publishes}"), "{settings}");
                assert!(certificate.is_none(), "{settings}");
                let mut mounts = items(&container["volumeMounts"]).iter();
                let mount = mounts.find(|it| it["mountPath"] == "/webhook-certs");
                let volume = &mount.expect("a mount")["name"];
                let mut volumes = items(&pod["volumes"]).iter();
                let volume = volumes.find(|it| it["name"] == *volume).expect("a volume");
                assert_eq!(volume["secret"]["secretName"], "webhook-certs");
            } else if way.contains("certmanager") {
                assert_eq!(names, "CERT_SECRET", "{settings}");
                let certificate = certificate.expect("a Certificate");
                let host = "shelf-webhook-service.shelf-system.svc";
                assert!(items(&certificate["spec"]["dnsNames"]).contains(&host.into()));
                let expected = Some("shelf-system/shelf-webhook-certs");
                assert_eq!(injected, [expected; 3], "{settings}");
            } else {
                assert_eq!(
                    names,
                    format!("SERVICE CA_SECRET {publishes}"),
                    "{settings}"
                );
                assert!(certificate.is_none(), "{settings}");
            }
            if certificate.is_none() {
                assert_eq!(injected, [None; 3], "{settings}");
            }
            // The Pod webhook of a namespaced operator applies only in the operator's namespace. With any other
            // operator, the webhook excludes the operator's namespace.
            let pods = &configurations[0]["webhooks"];
            let pods = items(pods).iter().find(|it| it["name"] == "mpod-v1.kb.io");
            let pods = &pods.expect("the webhook of Pods")["namespaceSelector"];
            let (operator, values): (_, &[&str]) = match namespaced {
                "" => ("NotIn", &["kube-system", "shelf-system"]),
                _ => ("In", &["shelf-system"]),
            };
            let key = "kubernetes.io/metadata.name";
            let expected =
                serde_json::json!([{"key": key, "operator": operator, "values": values}]);
            assert_eq!(pods["matchExpressions"], expected, "{settings}");
        }
    }
}

/// Checks that another namespace and prefix change only the namespace and the prefix in the manifests.
#[test]
fn names_follow_the_namespace_and_the_prefix() {
    let by_name = |manifests: Vec<Value>| {
        let mut manifests: Vec<_> = manifests.iter().map(Value::to_string).collect();
        manifests.sort_unstable();
        manifests
    };
    for way in WAYS {
        let project = with_webhooks(way);
        let folder = project.folder().join("config/default");
        let usual = kustomize(&folder).into_iter().map(|manifest| {
            let text = manifest.to_string().replace("shelf-system", "there");
            serde_json::from_str(&text.replace("shelf-", "my-")).expect("JSON")
        });
        let usual = by_name(usual.collect());
        let kustomization = "config/default/kustomization.yaml";
        for (old, new) in [
            ("namespace: shelf-system\n", "namespace: there\n"),
            ("namePrefix: shelf-\n", "namePrefix: my-\n"),
        ] {
            project.replace(kustomization, old, new);
        }
        let edited = by_name(kustomize(&folder));
        assert_eq!(edited.len(), usual.len(), "{way}");
        for (edited, usual) in edited.iter().zip(&usual) {
            assert_eq!(edited, usual, "{way}");
        }
    }
}

/// Checks that `make install` applies only the CRDs. kubectl looks up every kind in its input, and a cluster may not
/// have kinds such as `ServiceMonitor`.
#[test]
fn make_install_gives_kubectl_nothing_but_the_crds() {
    let project = Project::new(&[
        "init --domain com --enable certmanager,network-policy,prometheus",
        "create api --group webapp --version v1 --kind Guestbook",
        "create api --group webapp --version v2 --kind Guestbook",
        "create api --group webapp --version v1 --kind Page",
        "create webhook --group webapp --version v1 --kind Guestbook --conversion",
    ]);
    let folder = project.folder();
    // A kubectl that writes its input to a file instead of applying it.
    let real = kubectl("").get_program().display().to_string();
    let script =
        format!("case $1 in\napply) cat > applied.yaml ;;\n*) exec {real} \"$@\" ;;\nesac\n");
    project.write("kubectl.sh", &script);
    // `CARGO=true` generates no manifests, so make uses the manifests that rscaffold wrote.
    run(plain_make()
        .args(["install", "CARGO=true", "KUBECTL=sh kubectl.sh"])
        .current_dir(&folder));
    let mut manifests = kustomize(&folder.join("config/default"));
    manifests.retain(|it| it["kind"] == "CustomResourceDefinition");
    assert_eq!(manifests.len(), 2);
    assert_eq!(documents(&project.read("applied.yaml")), manifests);
}

/// Server-side apply removes a field only if the manifest had it before, and the API server sets the strategy of a
/// Deployment that has none.
#[test]
fn make_deploy_follows_the_feature_leader_election() {
    let project =
        Project::new(&["init --domain com --project-name alone --disable leader-election"]);
    let deploy = || {
        // `CARGO=true` generates no manifests, so make uses the manifests that rscaffold wrote.
        run(plain_make()
            .args(["deploy", "CARGO=true"])
            .arg(format!("KUBECTL={}", kubectl("").get_program().display()))
            .env("KUBECONFIG", cluster().kubeconfig())
            .current_dir(project.folder()))
    };
    let deployment = "deployment alone-controller-manager --namespace alone-system";
    let strategy = || -> Value {
        let get = format!("get {deployment} --output jsonpath={{.spec.strategy}}");
        serde_json::from_str(&run(&mut kubectl(&get))).expect("JSON")
    };
    let recreate = json!({"type": "Recreate"});
    let usual = json!({
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
    });
    deploy();
    assert_eq!(strategy(), recreate);

    // The Deployment of an operator in Go, or of a project that an older rscaffold has made.
    let patch = r#"[{"op":"replace","path":"/spec/strategy","value":{}}]"#;
    run(kubectl(&format!("patch {deployment} --type=json --patch")).arg(patch));
    assert_eq!(strategy(), usual);
    deploy();
    assert_eq!(strategy(), recreate);

    project.rscaffold("edit --enable leader-election");
    deploy();
    assert_eq!(strategy(), usual);

    // Another tool than make applies the manifests.
    project.rscaffold("edit --disable leader-election");
    let apply = "apply --server-side --force-conflicts --field-manager=alone-make -k";
    run(kubectl(apply).arg(project.folder().join("config/default")));
    assert_eq!(strategy(), recreate);
}

#[test]
fn an_api_server_accepts_the_manifests() {
    for settings in ["", " --namespaced"] {
        let project = Project::new(&[
            &format!("init --domain com --enable certmanager,network-policy,prometheus{settings}"),
            "create api --group webapp --version v1 --kind Guestbook",
            "create webhook --group webapp --version v1 --kind Guestbook --defaulting \
             --programmatic-validation",
        ]);
        let mut manifests = kustomize(&project.folder().join("config/default"));
        // Keeps only the manifests of kinds that the API server has.
        manifests.retain(|manifest| {
            let version = text(&manifest["apiVersion"]);
            let others = ["cert-manager.io/", "monitoring.coreos.com/"];
            !others.iter().any(|other| version.starts_with(other))
        });
        for manifest in &mut manifests {
            // A dry run does not create the namespace of the manifests.
            if manifest["metadata"]["namespace"].is_string() {
                manifest["metadata"]["namespace"] = "default".into();
            }
        }
        let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": manifests});
        project.write("../manifests.json", &list.to_string());
        run(kubectl("apply --server-side --dry-run=server -f")
            .arg(project.folder().join("../manifests.json")));
    }
}
