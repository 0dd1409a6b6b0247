//! Tests the real cert-manager, as a process beside the control plane: cert-manager issues the certificates that the
//! manifests of a project request, and makes the API server trust them.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Result, ensure};
use base64::prelude::*;
use cluster::{Cluster, wait_until};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    admission::{Balancer, client},
    certificates::{Deployed, under_load},
    compile::{go_build, go_source},
    http,
    manifests::items,
    operator::{
        Operator, PATIENCE, Project, kubectl_on, kubectl_waits_on, new_cluster_with_controllers,
    },
    scaffold::run,
    serving::probe,
};

const NAMESPACE: &str = "bookshop-system";
const SERVICE: &str = "service/bookshop-webhook-service";
const WEBHOOKS: &str = "bookshop-webhook-certs";
const METRICS: &str = "bookshop-metrics-certs";
const AUTHORITY: &str = "bookshop-certificate-authority";

/// The objects that make the API server call the operator.
const CALLERS: [&str; 3] = [
    "mutatingwebhookconfiguration/bookshop-mutating-webhook-configuration",
    "validatingwebhookconfiguration/bookshop-validating-webhook-configuration",
    "crd/books.shop.example.com",
];

/// Creates a project with webhooks of all types, which refuse a title. A client that writes
/// v1alpha1 makes the API server call all of them.
fn project() -> Project {
    let kind = "--group shop --kind Book --controller=false";
    let project = Project::scaffold(
        "bookshop",
        &[
            "init --domain example.com --enable certmanager",
            &format!("create api {kind} --version v1"),
            &format!("create api {kind} --version v1alpha1"),
            "create webhook --group shop --version v1 --kind Book --defaulting \
             --programmatic-validation --conversion",
        ],
    );
    let old = "src/api/shop/v1alpha1";
    project.edit(&format!("{old}/book.rs"), "pub title: ", "pub name: ");
    for (from, to) in [
        (
            "let spoke::BookSpec { title } = value;\n        Self { title }",
            "let spoke::BookSpec { name } = value;\n        Self { title: name }",
        ),
        (
            "let hub::BookSpec { title } = value;\n        Self { title }",
            "let hub::BookSpec { title } = value;\n        Self { name: title }",
        ),
    ] {
        project.edit(&format!("{old}/book_conversion.rs"), from, to);
    }
    let webhook = "src/webhook/shop/book.rs";
    project.trim_title(webhook, "Book");
    project.refuse_title(webhook, "Book");
    project.compile();
    project
}

/// A running cert-manager. It ends when its stdin is closed, and so with this process.
struct CertManager {
    process: Child,
    folder: TempDir,
}

impl CertManager {
    fn start(cluster: &Cluster) -> Self {
        let source = go_source("certmanager", "github.com/cert-manager/cert-manager");
        let crds = source.join("deploy/crds");
        run(kubectl_on(cluster, "apply --server-side -f").arg(crds));
        kubectl_waits_on(cluster, "--for=condition=Established crd --all");
        let folder = TempDir::new().expect("a temporary folder");
        let log = File::create(folder.path().join("log")).expect("a file");
        let process = Command::new(go_build("certmanager", "."))
            .arg(cluster.kubeconfig())
            .stdin(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("cert-manager starts");
        Self { process, folder }
    }
}

impl Drop for CertManager {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
        if thread::panicking() {
            let log = fs::read_to_string(self.folder.path().join("log"));
            eprintln!("cert-manager: {}", log.unwrap_or_default());
        }
    }
}

/// A control plane, and a client with the permissions of an administrator.
struct Library<'a> {
    cluster: &'a Cluster,
    client: http::Client,
}

impl Library<'_> {
    fn kubectl(&self, arguments: &str) -> String {
        run(&mut kubectl_on(self.cluster, arguments))
    }

    fn get(&self, what: &str) -> Value {
        let text = self.kubectl(&format!("get {what} --namespace {NAMESPACE} -o json"));
        serde_json::from_str(&text).expect("JSON")
    }

    fn patch(&self, what: &str, how: &str, patch: &Value) {
        let patch = format!("--patch={patch}");
        let command = format!("patch {what} --namespace {NAMESPACE} {how}");
        run(kubectl_on(self.cluster, &command).arg(patch));
    }

    /// Returns the files that a Pod would find in the Secret of a certificate. The Secret has the name of the
    /// certificate.
    fn secret(&self, certificate: &str) -> BTreeMap<String, String> {
        let data = self.get(&format!("secret/{certificate}"))["data"].take();
        let data: BTreeMap<String, String> = serde_json::from_value(data).expect("texts");
        let files = data.into_iter().map(|(name, value)| {
            let value = BASE64_STANDARD.decode(value).expect("base64");
            (name, String::from_utf8(value).expect("PEM"))
        });
        files.collect()
    }

    /// Waits until `certificate` has been issued `times` times and the Secret contains the last one.
    fn wait_for_issue(&self, certificate: &str, times: u64) {
        wait(&format!("{certificate} to be issued {times} times"), || {
            let status = self.get(&format!("certificate/{certificate}"))["status"].take();
            let is = |kind: &str| {
                let mut conditions = status["conditions"].as_array().into_iter().flatten();
                conditions.any(|it| it["type"] == kind && it["status"] == "True")
            };
            let issued = status["revision"] == times && is("Ready") && !is("Issuing");
            ensure!(issued, "{status}");
            Ok(())
        });
    }

    /// Renews a certificate as `cmctl renew` does.
    fn renew(&self, certificate: &str) {
        let what = format!("certificate/{certificate}");
        let issued = self.get(&what)["status"]["revision"].as_u64();
        let condition = json!({"type": "Issuing", "status": "True", "reason": "ManuallyTriggered"});
        let add = json!([{"op": "add", "path": "/status/conditions/-", "value": condition}]);
        self.patch(&what, "--subresource=status --type=json", &add);
        self.wait_for_issue(certificate, issued.expect("a number") + 1);
    }

    /// Returns the `clientConfig` of each webhook, with the object that contains it and its path in that object.
    fn clients(&self) -> Vec<(&'static str, String, Value)> {
        let mut clients = Vec::new();
        for caller in CALLERS {
            let object = self.get(caller);
            if object["kind"] == "CustomResourceDefinition" {
                let path = "/spec/conversion/webhook/clientConfig";
                let client = object.pointer(path).expect("a conversion").clone();
                clients.push((caller, path.to_owned(), client));
            } else {
                for (index, webhook) in items(&object["webhooks"]).iter().enumerate() {
                    let path = format!("/webhooks/{index}/clientConfig");
                    clients.push((caller, path, webhook["clientConfig"].clone()));
                }
            }
        }
        clients
    }

    /// Waits until the API server trusts the authority of the certificate: until all CA bundles contain it.
    fn wait_for_trust(&self) {
        let authority = &self.secret(WEBHOOKS)["ca.crt"];
        wait("the authority to be trusted", || {
            for (caller, path, client) in self.clients() {
                let bundle = client["caBundle"].as_str().unwrap_or_default();
                let bundle = String::from_utf8(BASE64_STANDARD.decode(bundle)?)?;
                ensure!(bundle.contains(authority), "{caller} {path}: {bundle}");
            }
            Ok(())
        });
    }

    /// Makes the Service lead to `address` without kube-proxy: the Service becomes an alias for the host, and each
    /// caller gets the port. The API server still requires a certificate for the host of the Service.
    fn lead_to(&self, address: &str) {
        let (host, port) = address.split_once(':').expect("a port");
        let alias = json!({"spec": {"type": "ExternalName", "externalName": host}});
        self.patch(SERVICE, "--type=merge", &alias);
        let port: u16 = port.parse().expect("a number");
        for (caller, path, _) in self.clients() {
            let add = json!([{"op": "add", "path": format!("{path}/service/port"), "value": port}]);
            self.patch(caller, "--type=json", &add);
        }
    }

    /// Creates a book in v1alpha1 as a dry run, which calls all webhooks.
    fn create(&self, name: &str) -> http::Answer {
        let server = self.cluster.server();
        let books = "apis/shop.example.com/v1alpha1/namespaces/default/books?dryRun=All";
        let book = json!({
            "apiVersion": "shop.example.com/v1alpha1",
            "kind": "Book",
            "metadata": {"name": "first"},
            "spec": {"name": name},
        });
        let answer = self
            .client
            .post(&format!("{server}/{books}"), &book.to_string());
        answer.expect("an answer")
    }

    /// Creates a book, and returns an error unless the webhooks set its defaults, convert it and accept it.
    fn create_good(&self) -> Result<()> {
        let answer = self.create(" Dune ");
        let good = answer.code == 201 && answer.text.contains(r#""spec":{"name":"Dune"}"#);
        ensure!(good, "{answer:?}");
        Ok(())
    }
}

/// Waits until `good` succeeds. Panics with its error if it does not.
#[track_caller]
fn wait(what: &str, good: impl Fn() -> Result<()>) {
    let waited = wait_until(what, PATIENCE, || good().map(Some));
    waited.unwrap_or_else(|error| panic!("{error:#}"));
}

#[test]
#[ignore = "builds cert-manager, which takes minutes the first time: `make test-e2e`"]
fn cert_manager_issues_what_the_manifests_ask_for() {
    let (project, cluster) = (&project(), &new_cluster_with_controllers());
    let _cert_manager = CertManager::start(cluster);
    let deployed = &Deployed::by_make(cluster, project);
    let library = &Library {
        cluster,
        client: client(cluster),
    };
    for certificate in [AUTHORITY, WEBHOOKS, METRICS] {
        library.wait_for_issue(certificate, 1);
    }
    library.wait_for_trust();

    let metrics = TempDir::new().expect("a temporary folder");
    for (name, text) in library.secret(METRICS) {
        fs::write(metrics.path().join(name), text).expect("a writable file");
    }
    let arguments = format!(
        "--metrics-bind-address=127.0.0.1:0 --metrics-cert-path={}",
        metrics.path().display()
    );
    let mut replicas = [(); 3].map(|()| deployed.start(|launch| launch.args(&arguments)));
    for operator in &replicas {
        probe(operator, "/readyz", 200, &["[+] webhooks: served\n"]);
    }
    library.lead_to(&Balancer::start(&replicas).address);
    wait("the webhooks to be called", || library.create_good());
    let refused = library.create("forbidden");
    assert!(
        refused.text.contains("spec.title: Invalid value"),
        "{refused:?}"
    );

    // The certificate for metrics is valid for the host that Prometheus uses.
    let address = replicas[0].address("metrics").parse().expect("an address");
    let url = format!("https://bookshop-metrics.{NAMESPACE}.svc/metrics");
    let authority = &library.secret(METRICS)["ca.crt"];
    let answer = http::get_from(address, &url, authority).expect("a certificate for the Service");
    assert_eq!(answer.code, 401, "{answer:?}");

    certificates_are_renewed(deployed, library, &replicas);

    assert_eq!(deployed.requests(), deployed.rights());
    for operator in &mut replicas {
        operator.signal("TERM");
        assert!(operator.ends_within(PATIENCE).success());
    }
}

/// Renews the certificates, and checks that no request fails meanwhile.
fn certificates_are_renewed(deployed: &Deployed<'_>, library: &Library<'_>, replicas: &[Operator]) {
    let took = |times| {
        for operator in replicas {
            operator.repeats(&["took the new certificate of the webhooks"], times);
        }
    };
    let create = || {
        if let Err(error) = library.create_good() {
            panic!("{error}");
        }
        // Other tests need the processors too.
        thread::sleep(Duration::from_millis(20));
    };
    under_load(create, || {
        library.renew(WEBHOOKS);
        took(1);
        // The authority keeps its key when its certificate is renewed, so both of its certificates verify the same
        // signatures.
        let before = library.secret(AUTHORITY);
        library.renew(AUTHORITY);
        let after = library.secret(AUTHORITY);
        assert_eq!(before["tls.key"], after["tls.key"]);
        assert_ne!(before["tls.crt"], after["tls.crt"]);
        library.renew(WEBHOOKS);
        assert_eq!(library.secret(WEBHOOKS)["ca.crt"], after["tls.crt"]);
        library.wait_for_trust();
        took(2);
        // cert-manager creates a deleted Secret again.
        library.kubectl(&format!("delete secret {WEBHOOKS} --namespace {NAMESPACE}"));
        library.wait_for_issue(WEBHOOKS, 4);
        took(3);
        // A deployment keeps the CA bundles that cert-manager injected.
        deployed
            .project
            .make_on(library.cluster, "install deploy install");
        library.wait_for_trust();
    });
}
