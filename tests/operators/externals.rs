//! Tests kinds of well-known projects, with types from their CRDs: no crate has these types. All of them compile. On a
//! real API server, one controller watches cert-manager's Certificates while another one creates some.

use std::{fs, path::Path};

use rscaffold::crd::Crd;

use crate::{
    compile::{cargo, clippy},
    crds::OF_MODULES,
    operator::{Project, get_until, kubectl, kubectl_waits},
    scaffold::{rscaffold, run},
};

const CERT_MANAGER: &str = "cert-manager.io";

/// The code for the spec of a host's Certificate.
const SPEC: &str = "spec: CertificateSpec {
            dns_names: vec![format!(\"{}.example.com\", object.name_any())],
            issuer_ref: CertificateIssuerRef {
                name: \"ca\".to_owned(),
                ..CertificateIssuerRef::default()
            },
            secret_name: object.name_any(),
            ..CertificateSpec::default()
        },
        ..Certificate::default()";

/// Creates a project with kinds of all these other projects, and with controllers that watch and create a Certificate.
/// Also returns the CRD of Certificate.
fn project() -> (Project, String) {
    let project = Project::scaffold("clients", &["init --domain example.com"]);
    let mut certificate = None;
    for (_, all) in OF_MODULES.iter() {
        for (file, crd) in all {
            let rest = if crd.kind == "Certificate" {
                certificate = Some(file.clone());
                "--owns v1/ConfigMap"
            } else {
                "--controller=false"
            };
            take(project.path(), file, crd, rest);
        }
    }
    rscaffold(
        project.path(),
        "create api --group sites --version v1 --kind Host --owns cert-manager.io/v1/Certificate",
    );
    let controller = "src/controller/sites/host.rs";
    project.edit(
        controller,
        "        // Set the fields of `spec` here: the API server may refuse the default values.\n",
        "",
    );
    project.edit(controller, "..Certificate::default()", SPEC);
    let certificate = certificate.expect("the CRD of Certificate");
    // The module of the kind has its other types.
    project.edit(
        controller,
        "use crate::external::cert_manager::v1::Certificate;",
        "use crate::external::cert_manager::v1::certificate::{\n    Certificate, CertificateIssuerRef, CertificateSpec,\n};",
    );
    let crd = fs::read_to_string(certificate).expect("a text");
    (project, crd)
}

/// Adds a kind to the project, and checks that a second time changes nothing.
fn take(project: &Path, file: &Path, crd: &Crd, rest: &str) {
    let command = format!(
        "create api --resource=false --group {} --kind {} --crd {} {rest}",
        crd.group,
        crd.kind,
        file.display()
    );
    let said = rscaffold(project, &command).stderr;
    assert!(!said.contains("config/crd/bases"), "{said}");
    let again = rscaffold(project, &command).stderr;
    assert!(again.starts_with("nothing to do"), "{command}: {again}");
}

#[test]
fn types_of_other_projects_work_on_a_real_api_server() {
    let (project, crd) = project();
    run(cargo(project.path()).args(["fmt", "--check"]));
    run(&mut clippy(project.path(), &[]));
    project.compile();

    // The CRD of a later version of cert-manager has an algorithm and a field that the types do not have.
    let algorithm = "                    - Ed25519\n";
    let field = "              signatureAlgorithm:\n";
    assert!(crd.contains(algorithm) && crd.contains(field));
    let crd = crd.replace(
        algorithm,
        &format!("{algorithm}                    - MLDSA\n"),
    );
    let later = format!("              later:\n                type: string\n{field}");
    let manifest = project.manifest(&crd.replacen(field, &later, 1));
    run(kubectl("apply --server-side -f").arg(manifest));
    let certificates = format!("certificates.{CERT_MANAGER}");
    kubectl_waits(&format!("--for=condition=Established crd/{certificates}"));
    project.make("install");
    let operator = project.start();

    // One controller creates a Certificate, and the other one sees it.
    let host = project.manifest(
        "apiVersion: sites.example.com/v1\nkind: Host\nmetadata: {name: shop}\nspec: {title: shop}\n",
    );
    run(kubectl("apply -f").arg(host));
    let names = get_until(
        &format!("{certificates} shop -o jsonpath={{.spec.dnsNames}}"),
        |names| !names.is_empty(),
    );
    assert_eq!(names, r#"["shop.example.com"]"#);
    get_until("configmap shop -o name", |name| !name.is_empty());

    // The operator reads a Certificate that a later client has written, and keeps values that the types do not have.
    let certificate = project.manifest(
        "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: late}\nspec:\n  later: here\n  \
         secretName: late\n  issuerRef: {name: ca}\n  privateKey: {algorithm: MLDSA}\n",
    );
    run(kubectl("apply -f").arg(certificate));
    get_until("configmap late -o name", |name| !name.is_empty());
    let spec = get_until(
        &format!("{certificates} late -o jsonpath={{.spec.later}}/{{.spec.privateKey.algorithm}}"),
        |spec| !spec.is_empty(),
    );
    assert_eq!(spec, "here/MLDSA");
    operator.stop();
}
