//! Tests webhook certificates that other programs issue, and the CA bundles that a deployment keeps. The tests
//! themselves do the work of cert-manager, to choose the order of its steps. `certmanager.rs` tests the real
//! cert-manager.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use anyhow::ensure;
use base64::prelude::*;
use cluster::{Cluster, wait_until};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    admission::{self, Balancer, allows, apply, send},
    manifests::{find, items, kustomize, text},
    operator::{Launch, Operator, PACE, PATIENCE, Project, kubectl_on, new_cluster},
    project,
    scaffold::run,
    serving::probe,
};

/// The namespace and the prefix that a user chose for the operator, instead of the usual ones.
const NAMESPACE: &str = "there";
const PREFIX: &str = "my-";

/// A certificate authority that keeps its key, as the manifests request from cert-manager.
struct Authority(String);

impl Authority {
    fn new() -> Self {
        Self(KeyPair::generate().expect("a key").serialize_pem())
    }

    fn key(&self) -> KeyPair {
        KeyPair::from_pem(&self.0).expect("a key")
    }

    fn params() -> CertificateParams {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "pages");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params
    }

    /// Returns a certificate of the authority, in PEM: a new one on each call.
    fn certificate(&self) -> String {
        let made = Self::params().self_signed(&self.key());
        made.expect("a certificate").pem()
    }

    /// Returns a certificate for `hosts` and this machine, and its key, both in PEM.
    fn sign(&self, hosts: &[String]) -> (String, String) {
        let hosts = [hosts, &["127.0.0.1".to_owned()]].concat();
        let mut params = CertificateParams::new(hosts).expect("hosts");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let (key, issuer) = (KeyPair::generate(), Issuer::new(Self::params(), self.key()));
        let key = key.expect("a key");
        let signed = params.signed_by(&key, &issuer);
        (signed.expect("a certificate").pem(), key.serialize_pem())
    }
}

/// A deployment from the manifests that kustomize renders for a project.
pub struct Deployed<'a> {
    pub cluster: &'a Cluster,
    /// The project whose operator is started.
    pub project: &'a Project,
    pub manifests: Vec<Value>,
    pub namespace: String,
    prefix: String,
}

impl<'a> Deployed<'a> {
    /// Deploys a project with these settings, with a namespace and a prefix that its user chose. Other tests use the
    /// same operator: its code does not depend on the settings.
    fn new(cluster: &'a Cluster, settings: &str) -> Self {
        let init = "init --domain example.com --project-name pages --runtime registry";
        let kind = "--group pages --version v1 --kind Page";
        let project = project::Project::new(&[
            &format!("{init} {settings}"),
            &format!("create api {kind}"),
            &format!("create webhook {kind} --defaulting --programmatic-validation"),
        ]);
        for (field, usual, other) in [
            ("namespace", "pages-system", NAMESPACE),
            ("namePrefix", "pages-", PREFIX),
        ] {
            project.replace(
                "config/default/kustomization.yaml",
                &format!("{field}: {usual}\n"),
                &format!("{field}: {other}\n"),
            );
        }
        // The commands create only some of the webhooks in the operator's code, so the manifest is replaced.
        if !settings.contains("--namespaced") {
            let webhooks = "config/webhook/manifests.yaml";
            project.write(webhooks, &admission::project().read(webhooks));
        }
        let deployed = Self {
            cluster,
            project: admission::project(),
            manifests: kustomize(&project.folder().join("config/default")),
            namespace: NAMESPACE.to_owned(),
            prefix: PREFIX.to_owned(),
        };
        admission::project().make_on(cluster, "install");
        let installed = deployed.manifests.iter().filter(|it| {
            let kind = text(&it["kind"]);
            let others = [
                "Certificate",
                "CustomResourceDefinition",
                "Deployment",
                "Issuer",
            ];
            !others.contains(&kind.as_str())
        });
        apply(cluster, &installed.cloned().collect::<Vec<_>>());
        deployed
    }

    /// Deploys a project with its make targets.
    pub fn by_make(cluster: &'a Cluster, project: &'a Project) -> Self {
        project.make_on(cluster, "install deploy");
        Self {
            cluster,
            project,
            manifests: kustomize(&project.path().join("config/default")),
            namespace: project.namespace(),
            prefix: format!("{}-", project.name()),
        }
    }

    fn container(&self) -> &Value {
        let deployment = find(&self.manifests, "Deployment").expect("a Deployment");
        &deployment["spec"]["template"]["spec"]["containers"][0]
    }

    fn account(&self) -> String {
        format!("{}controller-manager", self.prefix)
    }

    /// Starts the operator as its ServiceAccount, with the environment variables of its Deployment.
    pub fn start(&self, arguments: impl Fn(Launch<'_>) -> Launch<'_>) -> Operator {
        let account = self.account();
        let launch = self.project.operator().on(self.cluster);
        let mut launch = launch.within(&self.namespace).account(&account);
        for variable in items(&self.container()["env"]) {
            launch = launch.env(&text(&variable["name"]), &text(&variable["value"]));
        }
        arguments(launch.args("--webhook-bind-address=127.0.0.1:0")).start()
    }

    fn configurations(&self) -> impl Iterator<Item = &Value> {
        self.manifests.iter().filter(|it| {
            let kind = text(&it["kind"]);
            kind.ends_with("WebhookConfiguration")
        })
    }

    /// Makes the API server call the webhooks at `address` instead of the Service.
    fn reach(&self, address: &str) {
        let configurations = self.configurations().cloned().map(|mut configuration| {
            for webhook in configuration["webhooks"].as_array_mut().expect("a list") {
                let path = text(&webhook["clientConfig"]["service"]["path"]);
                webhook["clientConfig"] = json!({"url": format!("https://{address}{path}")});
            }
            configuration
        });
        apply(self.cluster, &configurations.collect::<Vec<_>>());
    }

    /// Returns the Certificate for webhooks.
    fn certificate(&self) -> &Value {
        let mut certificates = self.manifests.iter().filter(|it| {
            let name = &it["metadata"]["name"];
            it["kind"] == "Certificate" && *name == format!("{}webhook-certs", self.prefix)
        });
        certificates.next().expect("a Certificate")
    }

    /// Writes the Secret of the Certificate, as cert-manager does.
    fn issue(&self, authority: &Authority, of_authority: &str) {
        let spec = &self.certificate()["spec"];
        let hosts = items(&spec["dnsNames"]).iter().map(text);
        let (certificate, key) = authority.sign(&hosts.collect::<Vec<_>>());
        self.keep(&[
            ("ca.crt", of_authority),
            ("tls.crt", &certificate),
            ("tls.key", &key),
        ]);
    }

    fn keep(&self, files: &[(&str, &str)]) {
        let certificate = self.certificate();
        let files = files.iter();
        let data = files.map(|(name, text)| ((*name).to_owned(), BASE64_STANDARD.encode(text)));
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": certificate["spec"]["secretName"],
                "namespace": certificate["metadata"]["namespace"],
            },
            "type": "kubernetes.io/tls",
            "data": data.collect::<BTreeMap<_, _>>(),
        });
        apply(self.cluster, &[secret]);
    }

    /// Makes the API server trust the authority, as the cainjector of cert-manager does. Checks that each configuration
    /// names the Certificate.
    fn inject(&self, of_authority: &str) {
        for configuration in self.configurations() {
            let (certificate, metadata) = (self.certificate(), &configuration["metadata"]);
            let from = &metadata["annotations"]["cert-manager.io/inject-ca-from"];
            let [namespace, name] = ["namespace", "name"].map(|it| &certificate["metadata"][it]);
            assert_eq!(text(from), format!("{}/{}", text(namespace), text(name)));
            inject(self.cluster, configuration, of_authority);
        }
    }

    /// Returns the CA bundle of each webhook configuration. The bundle is empty if the configuration has none.
    fn bundles(&self) -> Vec<String> {
        let bundles = self.configurations().map(|configuration| {
            let get = format!(
                "get {} {} -o jsonpath={{.webhooks[0].clientConfig.caBundle}}",
                text(&configuration["kind"]),
                text(&configuration["metadata"]["name"])
            );
            run(&mut kubectl_on(self.cluster, &get))
        });
        bundles.collect()
    }

    fn wait_for_bundles(&self, good: impl Fn(&str) -> bool) -> Vec<String> {
        wait_until("the API server to trust the certificates", PATIENCE, || {
            let bundles = self.bundles();
            ensure!(bundles.iter().all(|it| good(it)), "{bundles:?}");
            Ok(Some(bundles))
        })
        .expect("it does")
    }

    /// Creates an object in the operator's namespace as a dry run. Returns whether kubectl succeeds, and its output.
    fn defaults(&self) -> (bool, String) {
        let create = format!(
            "create --dry-run=server -o json --namespace {}",
            self.namespace
        );
        send(self.cluster, &create, "first", "title: first")
    }

    /// Waits until the defaulter is called.
    fn wait_for_defaults(&self) {
        wait_until("the defaulter to be called", PATIENCE, || {
            let (_, text) = self.defaults();
            ensure!(text.contains("\"size\": 3"), text);
            Ok(Some(()))
        })
        .expect("the webhooks are called");
    }

    /// Returns the operator's requests for Secrets and webhook configurations, as resource and verb. Checks that none
    /// of them was forbidden.
    pub fn requests(&self) -> BTreeSet<(String, String)> {
        let user = format!(
            "system:serviceaccount:{}:{}",
            self.namespace,
            self.account()
        );
        let requests = self.cluster.requests_by(&user).expect("an audit log");
        let requests = requests.into_iter().filter(|request| {
            request.group == "admissionregistration.k8s.io" || request.resource == "secrets"
        });
        let requests = requests.inspect(|request| assert_ne!(request.code, 403, "{request:?}"));
        requests.map(|it| (it.resource, it.verb)).collect()
    }

    /// Returns the permissions of the operator's roles for webhooks, as resource and verb.
    pub fn rights(&self) -> BTreeSet<(String, String)> {
        let roles = self.manifests.iter().filter(|it| {
            let name = text(&it["metadata"]["name"]);
            name.starts_with(&format!("{}webhook-", self.prefix)) && it["rules"].is_array()
        });
        let mut rights = BTreeSet::new();
        for rule in roles.flat_map(|role| items(&role["rules"])) {
            let [name] = items(&rule["resourceNames"]) else {
                panic!("{rule}");
            };
            assert!(text(name).starts_with(&self.prefix), "{rule}");
            for resource in items(&rule["resources"]) {
                let verbs = items(&rule["verbs"]).iter();
                rights.extend(verbs.map(|verb| (text(resource), text(verb))));
            }
        }
        rights
    }
}

/// Makes the first webhook of a configuration trust an authority, and changes nothing else.
fn inject(cluster: &Cluster, configuration: &Value, of_authority: &str) {
    let bundle = BASE64_STANDARD.encode(of_authority);
    let field = "/webhooks/0/clientConfig/caBundle";
    let patch = json!([{"op": "add", "path": field, "value": bundle}]);
    let target = format!(
        "patch {} {} --type=json --field-manager=cert-manager-cainjector",
        text(&configuration["kind"]),
        text(&configuration["metadata"]["name"])
    );
    run(kubectl_on(cluster, &target).arg(format!("--patch={patch}")));
}

/// A guard that ends the load of a test, even if the test fails.
pub struct Ends<'a>(pub &'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Lets two clients send requests until `work` is done, and prints the number of requests. `request` panics if a
/// request fails.
pub fn under_load(request: impl Fn() + Sync, work: impl FnOnce()) {
    let ends = AtomicBool::new(false);
    let sent = thread::scope(|scope| {
        let load = || {
            let mut sent = 0;
            while !ends.load(Ordering::Relaxed) {
                request();
                sent += 1;
                thread::sleep(PACE);
            }
            sent
        };
        let loads = [scope.spawn(load), scope.spawn(load)];
        {
            let _ends = Ends(&ends);
            work();
        }
        let sent = loads.map(|load| load.join().expect("no request fails"));
        sent.iter().sum::<usize>()
    });
    eprintln!("{sent} requests");
    assert!(sent > 0);
}

/// Starts a control plane when the operator of these tests is compiled.
fn new_cluster_for_operator() -> Cluster {
    admission::project();
    new_cluster()
}

#[test]
fn a_certificate_of_cert_manager_is_renewed_without_a_failed_request() {
    let cluster = &new_cluster_for_operator();
    let deployed = &Deployed::new(cluster, "--namespaced --enable certmanager");
    let start = || deployed.start(|launch| launch);
    let mut replicas = [start(), start(), start()];
    for operator in &replicas {
        let waits = "[-] webhooks: there is no Secret `my-webhook-certs` yet\n";
        probe(operator, "/readyz", 503, &[waits]);
    }
    let authority = Authority::new();
    let first = authority.certificate();
    deployed.issue(&authority, &first);
    for operator in &replicas {
        probe(operator, "/readyz", 200, &["[+] webhooks: served\n"]);
    }
    deployed.reach(&Balancer::start(&replicas).address);
    deployed.inject(&first);
    deployed.wait_for_defaults();

    let took = |times| {
        for operator in &replicas {
            operator.repeats(&["took the new certificate of the webhooks"], times);
        }
    };
    let warned = |why: &str| {
        for operator in &replicas {
            operator.says(&["waits with the certificates", why]);
        }
    };
    let defaults = || {
        let text = allows(deployed.defaults());
        assert!(text.contains("\"size\": 3"), "{text}");
    };
    under_load(defaults, || {
        deployed.issue(&authority, &first);
        took(1);
        // The authority is renewed too: first the certificate changes before the CA bundle, then after it.
        let second = authority.certificate();
        deployed.issue(&authority, &second);
        took(2);
        deployed.inject(&second);
        let third = authority.certificate();
        deployed.inject(&third);
        deployed.issue(&authority, &third);
        took(3);
        // The operator does not load an invalid certificate, and waits for a missing one.
        deployed.keep(&[("tls.crt", "nonsense"), ("tls.key", "nonsense")]);
        warned("no good certificate");
        let secret = text(&deployed.certificate()["spec"]["secretName"]);
        let delete = format!("delete secret {secret} --namespace {NAMESPACE}");
        run(&mut kubectl_on(cluster, &delete));
        warned("there is no Secret `my-webhook-certs` yet");
        deployed.issue(&authority, &third);
        took(4);
    });

    // With another authority, the API server connects again and trusts only the new certificate.
    let other = Authority::new();
    let trusted = other.certificate();
    deployed.issue(&other, &trusted);
    took(5);
    deployed.inject(&trusted);
    deployed.wait_for_defaults();

    // The webhooks are not called for objects in other namespaces.
    let elsewhere = send(
        cluster,
        "create --dry-run=server -o json --namespace default",
        "first",
        "title: first",
    );
    let says = allows(elsewhere);
    assert!(!says.contains("\"size\""), "{says}");

    let rights = ["list", "watch"].map(|verb| ("secrets".to_owned(), verb.to_owned()));
    assert_eq!(deployed.rights(), rights.into());
    assert_eq!(deployed.requests(), deployed.rights());
    let kinds = deployed.manifests.iter().map(|it| text(&it["kind"]));
    let of_cluster: BTreeSet<_> = kinds.filter(|kind| kind == "ClusterRoleBinding").collect();
    assert_eq!(of_cluster, BTreeSet::new());
    for operator in &mut replicas {
        operator.signal("TERM");
        assert!(operator.ends_within(PATIENCE).success());
    }
}

#[test]
fn a_certificate_in_a_folder_is_trusted_and_reloaded() {
    let cluster = &new_cluster_for_operator();
    let deployed = &Deployed::new(cluster, "--enable webhook-files");
    let folder = TempDir::new().expect("a temporary folder");
    let write = |file: &str, text: &str| {
        fs::write(folder.path().join(file), text).expect("a writable file");
    };
    let issue = |authority: &Authority| {
        let (certificate, key) = authority.sign(&[]);
        write("tls.key", &key);
        write("tls.crt", &certificate);
    };
    let (old, new) = (Authority::new(), Authority::new());
    let (of_old, of_new) = (old.certificate(), new.certificate());
    issue(&old);
    write("ca.crt", &of_old);
    let path = format!("--webhook-cert-path={}", folder.path().display());
    let mut operator = deployed.start(|launch| launch.args(&path));
    deployed.reach(&operator.address("webhooks"));
    let is = |bundle: &str| {
        let expected = BASE64_STANDARD.encode(bundle);
        move |actual: &str| actual == expected
    };
    deployed.wait_for_bundles(is(&of_old));
    deployed.wait_for_defaults();
    // The CA bundle contains the new authority before that authority signs a certificate.
    let both = format!("{of_old}{of_new}");
    write("ca.crt", &both);
    deployed.wait_for_bundles(is(&both));
    deployed.wait_for_defaults();
    issue(&new);
    operator.says(&["took the new certificate of the webhooks"]);
    allows(deployed.defaults());

    assert_eq!(deployed.requests(), deployed.rights());
    operator.signal("TERM");
    assert!(operator.ends_within(PATIENCE).success());
}

#[test]
fn a_deployment_keeps_the_injected_authorities() {
    let cluster = &new_cluster_for_operator();
    let deployed = Deployed::by_make(cluster, admission::project());
    let deploy = || deployed.project.make_on(cluster, "install deploy install");
    assert_eq!(deployed.bundles(), ["", ""]);
    let mut operator = deployed.start(|launch| launch);
    deployed.wait_for_bundles(|bundle| !bundle.is_empty());
    // A running operator would restore a missing CA bundle.
    operator.signal("TERM");
    assert!(operator.ends_within(PATIENCE).success());
    let secret = "get secret pages-webhook-ca --namespace pages-system -o jsonpath={.data}";
    let secret = || run(&mut kubectl_on(cluster, secret));
    let (bundles, authority) = (deployed.bundles(), secret());
    assert!(authority.contains("authorities.json"), "{authority}");
    deploy();
    assert_eq!(deployed.bundles(), bundles);
    assert_eq!(secret(), authority);

    let others = Authority::new().certificate();
    for configuration in deployed.configurations() {
        inject(cluster, configuration, &others);
    }
    deploy();
    let others = BASE64_STANDARD.encode(&others);
    assert_eq!(deployed.bundles(), [others.clone(), others]);
}

/// Checks who is ready when the operator may not change, or not even read, one of its two webhook configurations.
#[test]
fn a_configuration_that_cannot_be_changed_is_named_and_does_not_stop_the_other() {
    let cluster = &new_cluster_for_operator();
    let deployed = &Deployed::new(cluster, "");
    let (mutating, validating) = (
        "my-mutating-webhook-configuration",
        "my-validating-webhook-configuration",
    );
    let role = deployed.manifests.iter().find(|it| {
        let is_role = it["kind"] == "ClusterRole";
        is_role && text(&it["metadata"]["name"]).starts_with("my-webhook-")
    });
    let role = role.expect("a role");
    // The role, but with these verbs for the validating configuration.
    let may = |verbs: &[&str]| {
        let mut role = role.clone();
        let rules = [
            (
                "mutatingwebhookconfigurations",
                mutating,
                &["get", "patch"][..],
            ),
            ("validatingwebhookconfigurations", validating, verbs),
        ];
        let rules = rules.into_iter().filter(|(.., verbs)| !verbs.is_empty());
        let rules = rules.map(|(resource, name, verbs)| {
            json!({"apiGroups": ["admissionregistration.k8s.io"], "resources": [resource],
                "resourceNames": [name], "verbs": verbs})
        });
        role["rules"] = rules.collect();
        apply(cluster, &[role]);
    };
    let start = || deployed.start(|launch| launch);
    let refused = format!(
        "[-] webhooks: the API server cannot call them yet: cannot change the ValidatingWebhookConfiguration \
         `{validating}`: validatingwebhookconfigurations.admissionregistration.k8s.io \"{validating}\" is forbidden"
    );

    may(&["get"]);
    let mut first = start();
    probe(&first, "/readyz", 503, &[&refused, "\nnot ready\n"]);
    let bundles = deployed.bundles();
    let [of_mutating, of_validating] = bundles.as_slice() else {
        panic!("{bundles:?}");
    };
    assert!(
        !of_mutating.is_empty() && of_validating.is_empty(),
        "{bundles:?}"
    );

    may(&["get", "patch"]);
    probe(&first, "/readyz", 200, &["[+] webhooks: served\nready\n"]);
    deployed.wait_for_bundles(|bundle| !bundle.is_empty());

    // A rollout goes on while the API server trusts the certificates, although the new replica cannot see that.
    may(&[]);
    let mut second = start();
    let unknown = format!(
        "[+] webhooks: served, but cannot read the ValidatingWebhookConfiguration `{validating}`: "
    );
    probe(
        &second,
        "/readyz",
        200,
        &[&unknown, "cannot get resource", "\nready\n"],
    );

    // A replica that finds out that the API server does not trust it any longer is not ready.
    inject(
        cluster,
        deployed
            .configurations()
            .find(|it| it["kind"] == "ValidatingWebhookConfiguration")
            .expect("a configuration"),
        &Authority::new().certificate(),
    );
    may(&["get"]);
    probe(&second, "/readyz", 503, &[&refused, "\nnot ready\n"]);
    for operator in [&mut first, &mut second] {
        operator.signal("TERM");
        assert!(operator.ends_within(PATIENCE).success());
    }
}

/// Checks that the operator finds its Secret, its Service and its webhook configurations under the names that kustomize
/// gave them.
#[test]
fn names_follow_the_namespace_and_the_prefix() {
    let cluster = &new_cluster_for_operator();
    let deployed = &Deployed::new(cluster, "");
    let mut operator = deployed.start(|launch| launch.args("--webhook-host=127.0.0.1"));
    probe(&operator, "/readyz", 200, &["[+] webhooks: served\n"]);
    deployed.reach(&operator.address("webhooks"));
    deployed.wait_for_bundles(|bundle| !bundle.is_empty());
    deployed.wait_for_defaults();
    assert_eq!(deployed.requests(), deployed.rights());
    operator.signal("TERM");
    assert!(operator.ends_within(PATIENCE).success());
}
