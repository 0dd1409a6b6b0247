use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use proptest::{collection::vec, prelude::*, sample::Index};

use super::*;
use crate::{
    cases::cases,
    command::init::{ported, read_folder},
    crd::tests::is_formatted,
    engine::Texts,
    names::NamespaceName,
    project::{Controller, Resource},
    render::{Templates, render},
    visible::is_hidden,
    yaml,
};

mod deployed;

fn go_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go")
}

/// The Go project of the tests.
fn go_project() -> GoFolder {
    read_folder(&go_folder()).unwrap()
}

/// Reads the Go project of the tests with changes. `None` removes a file.
fn read(changes: &[(&str, Option<&str>)]) -> Result<Port> {
    read_changed(go_project(), changes)
}

fn read_changed(mut files: GoFolder, changes: &[(&str, Option<&str>)]) -> Result<Port> {
    for (path, text) in changes {
        match text {
            Some(text) => {
                let text = (*text).to_owned();
                files.texts.insert((*path).to_owned(), text);
            }
            None => _ = files.texts.remove(*path),
        }
    }
    Port::read(files, "../go")
}

/// A file of the Go project, with the only occurrence of `text` replaced by `by`.
fn with(path: &str, text: &str, by: &str) -> String {
    let file = fs::read_to_string(go_folder().join(path)).unwrap();
    assert_eq!(file.matches(text).count(), 1, "{text}");
    file.replace(text, by)
}

fn texts(port: &Port) -> Texts {
    texts_and_notes(port).0
}

fn texts_and_notes(port: &Port) -> (Texts, Vec<String>) {
    let mut templates = Templates::new(&port.project).unwrap();
    let rendered = templates.render().unwrap();
    ported(port, &port.project, &templates, &rendered).unwrap()
}

/// The files of the new project.
fn all_files(port: &Port) -> Texts {
    let mut files = render(&port.project).unwrap().texts;
    files.extend(texts(port));
    files
}

/// The section of PORTING.md about what could not be taken over.
fn lost(port: &Port) -> String {
    let report = texts(port).remove(REPORT).unwrap();
    let (_, lost) = report
        .split_once("## What could not be taken over\n")
        .unwrap_or_default();
    lost.split("\n## ").next().unwrap_or_default().to_owned()
}

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn resource<'a>(port: &'a Port, kind: &str) -> &'a Resource {
    let mut resources = port.project.resources.iter();
    let found = resources.find(|resource| {
        resource.kind.as_str() == kind && (!resource.has_api() || resource.is_stored())
    });
    found.unwrap()
}

#[test]
fn the_project_has_the_settings_of_the_go_project() {
    let port = read(&[]).unwrap();
    let project = &port.project;

    assert_eq!(project.domain.as_str(), "example.com");
    assert_eq!(project.project_name.as_str(), "library");
    assert_eq!(project.repo.as_str(), "example.com/me/library");
    assert_eq!(project.license, License::Mit);
    assert_eq!(project.lease_name(), "library-lock.example.com");
    let mut features = Feature::usual();
    features.extend([Feature::Helm, Feature::Prometheus]);
    assert_eq!(project.features, features);

    let book = resource(&port, "Book");
    assert!(book.namespaced && book.is_stored() && book.has_given_types());
    assert_eq!(book.short_names[0].as_str(), "bk");
    let controller = Controller {
        field_manager: Some("library-books".parse().unwrap()),
        finalizer: true,
        finalizer_name: Some("shelf.example.com/return".parse().unwrap()),
        watches: vec!["v1/Secret".parse().unwrap()],
        ..Controller::new("book".parse().unwrap())
    };
    assert_eq!(book.controllers, [controller]);
    assert_eq!(book.webhooks.defaulting.as_ref().unwrap().path, None);
    let path = book.webhooks.validation.as_ref().unwrap().path.as_ref();
    assert_eq!(path.unwrap().as_str(), "/check/books");

    let room = resource(&port, "Room");
    assert!(!room.namespaced && room.controllers.is_empty() && room.webhooks.is_empty());
    assert_eq!(room.spokes().into_iter().flatten().count(), 1);
    assert!(resource(&port, "Namespace").is_builtin());
    let certificate = resource(&port, "Certificate");
    assert!(certificate.external().is_some() && certificate.has_given_types());
    assert_eq!(project.full_group(certificate), "cert-manager.io");
    assert_eq!(certificate.controllers.len(), 1);
    assert_eq!(project.resources.len(), 5);
}

/// A CRD of `Certificate`, for which the Go project has a controller.
const CERTIFICATES: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: certificates.cert-manager.io
spec:
  group: cert-manager.io
  names: {kind: Certificate, plural: certificates, singular: certificate}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              secretName: {type: string}
";

#[test]
fn an_external_kind_has_types_if_the_go_project_has_its_crd() {
    const TYPES: &str = "src/external/cert_manager/v1/certificate.rs";
    for file in [
        "config/crd/bases/certificates.yaml",
        "config/crd/external/certificates.yaml",
        "test/crds/certificates.yaml",
    ] {
        assert!(is_wanted(file), "{file}");
        let port = read(&[(file, Some(CERTIFICATES))]).unwrap();
        assert!(
            resource(&port, "Certificate").external().is_some(),
            "{file}"
        );
        let text = &texts(&port)[TYPES];
        assert!(text.contains("pub secret_name: Option<String>"), "{text}");
        assert!(!lost(&port).contains("the fields"), "{}", lost(&port));
    }
    assert!(!texts(&read(&[]).unwrap()).contains_key(TYPES));
}

#[test]
fn a_kind_without_an_api_has_the_crd_of_another_project() {
    const TYPES: &str = "src/external/cert_manager/v1/certificate.rs";
    for (file, api, is_own) in [
        ("test/crds/certificates.yaml", "", false),
        ("charts/library/crds/certificates.yaml", "", false),
        (
            "test/crds/certificates.yaml",
            "api: {namespaced: true}",
            false,
        ),
        (
            "charts/library/crds/certificates.yaml",
            "api: {namespaced: true}",
            true,
        ),
    ] {
        let entry = format!(
            "{{{api}, controller: true, group: cert-manager, kind: Certificate, version: v1}}"
        );
        let entry = entry.replace("{, ", "{");
        let project = mini_project("  controller: true\n", &format!("- {entry}\n"));
        let port = mini(&[("PROJECT", &project), (file, CERTIFICATES)]);
        let certificate = resource(&port, "Certificate");
        let is_external = certificate.external().is_some();
        assert_eq!(is_external, api.is_empty(), "{file} {api}");
        assert_eq!(
            certificate.has_given_types(),
            is_own || is_external,
            "{file} {api}"
        );
        if is_external {
            assert_eq!(port.project.full_group(certificate), "cert-manager.io");
            assert!(texts(&port)[TYPES].contains("pub secret_name"));
        }
    }
}

#[test]
fn a_conversion_webhook_is_taken_over_with_generated_code() {
    let port = read(&[]).unwrap();
    let texts = texts(&port);
    let rendered = render(&port.project).unwrap();
    let [conversion] = rendered.conversions.as_slice() else {
        panic!("{:?}", rendered.conversions);
    };
    assert_eq!(conversion.path, "src/api/shelf/v1beta1/room_conversion.rs");
    let (text, has_status) = conversion.text(|types| texts.get(types).cloned());
    assert!(!has_status);
    is_formatted(&text);
    for expected in [
        // A field of both versions that only one version requires.
        "            opens: Some(opens.into()),\n",
        "                None => spoke::RoomOpens {\n                    at: String::new(),\n",
        // A list of types, a field of only one version, and a value.
        "            tables: self::list(tables),\n            // Without a value in the spoke.\n            seats: None,\n",
        "            hub::RoomDay::Sunday => Self::Weekday,\n",
        "            round: false,\n",
    ] {
        assert!(text.contains(expected), "{expected}{text}");
    }
    let crd = &texts["config/crd/bases/shelf.example.com_rooms.yaml"];
    assert!(crd.contains("strategy: Webhook"), "{crd}");
    let report = &texts[REPORT];
    assert!(
        report.contains("`api/v1beta1/room_conversion.go`: conversions: `src/api/shelf/v1beta1/room_conversion.rs`"),
        "{report}"
    );
    assert!(report.contains("hub of `v1beta1`"), "{report}");
}

#[test]
fn the_hub_is_found_without_a_list_of_spokes() {
    let project = with("PROJECT", "    spoke:\n    - v1beta1\n", "");
    let port = read(&[("PROJECT", Some(&project))]).unwrap();
    let mut hubs = port.project.hubs();
    assert_eq!(hubs.next().unwrap().version.as_str(), "v1");
    // Without PROJECT, the CRD says that a webhook converts.
    let crd = with(
        "config/crd/bases/shelf.example.com_rooms.yaml",
        "  scope: Cluster\n",
        "  scope: Cluster\n  conversion: {strategy: Webhook}\n",
    );
    let port = read(&[
        ("PROJECT", None),
        ("config/crd/bases/shelf.example.com_rooms.yaml", Some(&crd)),
    ]);
    assert_eq!(port.unwrap().project.hubs().count(), 1);
}

#[test]
fn the_report_lists_what_could_not_be_taken_over() {
    let lost = lost(&read(&[]).unwrap());
    for expected in [
        "`kubectl get crd certificates.cert-manager.io -o yaml > crd.yaml`, and run `rscaffold create api --crd \
         crd.yaml --version v1 --resource=false`",
        "`config/rbac/role.yaml:52`: the verb `approve`, which `Verb` does not have",
        "`config/rbac/role.yaml:64`: the verb `*` became create, delete,",
        "`config/samples/shelf_v1_room.yaml:5`: the sample does not fit the schema at `spec`",
    ] {
        assert!(lost.contains(expected), "{expected}: {lost}");
    }
}

#[test]
fn a_controller_has_the_permissions_and_names_of_the_go_controller() {
    let texts = texts(&read(&[]).unwrap());
    let text = &texts["src/controller/shelf/book.rs"];
    for expected in [
        "        // The finalizer of existing objects.\n        \"shelf.example.com/return\",\n    );\n",
        "        // The owner of fields of existing objects.\n        \"library-books\";\n",
        "        Rule::sub::<Book>(\"finalizers\", &[Verb::Update]),\n",
        "        Rule::url(\"/healthz\", &[Verb::Get]),\n",
        // kustomize moves each Role to the namespace of the operator.
        ".in_namespace(\"books\")",
        "\"library-card\",",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    // The render has the permissions for the controller's own watch already.
    let own = text.split("Rule::of::<Book>").nth(1).unwrap_or_default();
    assert!(
        !own.split(']').next().unwrap().contains("Verb::Watch"),
        "{own}"
    );
    // The controller of a kind has the permissions for that kind.
    let certificate = &texts["src/controller/cert_manager/certificate.rs"];
    assert!(
        certificate.contains("Rule::of::<Certificate>(&[Verb::Get])"),
        "{certificate}"
    );
    let other = &texts["src/controller/core/namespace.rs"];
    assert!(
        other.contains("Rule::of::<Namespace>(&[Verb::Create, Verb::Patch])"),
        "{other}"
    );
    assert!(!other.contains("Secret"), "{other}");
}

#[test]
fn the_deployment_has_the_labels_and_namespace_of_the_go_deployment() {
    let port = read(&[]).unwrap();
    let texts = render(&port.project).unwrap().texts;
    let manager = &texts["config/manager/manager.yaml"];
    assert_eq!(manager.matches("team: readers").count(), 2, "{manager}");
    let (_, selector) = manager.split_once("matchLabels:\n").unwrap();
    let expected = "      control-plane: controller-manager\n  template:";
    assert!(selector.starts_with(expected), "{manager}");
}

#[test]
fn the_namespace_of_the_go_project_is_a_setting_of_the_project() {
    let port = read(&[]).unwrap();
    assert_eq!(port.project.namespace_name(), "books");
    for (namespace, taken) in [
        ("3scale", "3scale"),
        ("library-system", "library-system"),
        ("Bad_Name", "library-system"),
    ] {
        let default = format!("namespace: {namespace}");
        let default = with(
            "config/default/kustomization.yaml",
            "namespace: books",
            &default,
        );
        let port = read(&[("config/default/kustomization.yaml", Some(&default))]).unwrap();
        assert_eq!(port.project.namespace_name(), taken);
        let is_lost = lost(&port).contains("is not the name of a namespace");
        assert_eq!(is_lost, namespace != taken, "{namespace}");
    }
}

#[test]
fn a_kustomization_that_cannot_be_read_is_reported() {
    let path = "config/default/kustomization.yaml";
    let port = read(&[(path, Some("namePrefix: library-\nnamespace: [\n"))]).unwrap();
    let lost = lost(&port);
    for expected in [
        "- [ ] `config/default/kustomization.yaml`: line ",
        "- [ ] `config/default`: no object of this kustomization was found; the manifests in `config` were read, and were not \
         compared with those of the new project",
    ] {
        assert!(lost.contains(expected), "{expected}: {lost}");
    }
}

#[test]
fn samples_that_fit_are_taken_over() {
    let texts = texts(&read(&[]).unwrap());
    let book = &texts["config/samples/shelf_v1_book.yaml"];
    assert!(book.contains("# A book that everybody reads."));
    // The sample of Room has no value for `spec`, so it is not taken over.
    assert!(!texts["config/samples/shelf_v1_room.yaml"].contains("TODO"));
}

#[test]
fn the_report_says_where_to_port_each_go_file() {
    let helper = ("test/utils/utils.go", Some("package utils\n"));
    let report = texts(&read(&[helper]).unwrap()).remove(REPORT).unwrap();
    assert!(!report.contains("test/utils"), "{report}");
    for expected in [
        "| Lease | `library-lock.example.com` | `library-lock.example.com` |",
        "| namespace | `books` | `books` |",
        "| finalizer of Book | `shelf.example.com/return` | `shelf.example.com/return` |",
        "| field manager of Book | `library-books` | `library-books` |",
        "`internal/controller/book_controller.go`: the reconciler of Book: write `reconcile` and `cleanup` in \
         `src/controller/shelf/book.rs`. It owns `corev1.ConfigMap`: `rscaffold create api --group shelf --version v1 \
         --kind Book --owns v1/ConfigMap` adds code",
        "controller `book`, watches `v1/Secret`,",
        "`internal/webhook/v1/book_webhook.go`: webhooks: write the defaults and the rules in \
         `src/webhook/shelf/book.rs`",
        "`api/v1/book_types.go`: types: the fields are in `src/api/shelf/v1/book.rs`",
        "`cmd/main.go`: starts the operator",
        "`internal/controller/`: 1 file; port the functions that the controllers call",
    ] {
        assert!(report.contains(expected), "{expected}: {report}");
    }
}

#[test]
fn the_report_names_the_webhooks_that_a_go_file_registers() {
    const FILE: &str = "internal/webhook/v1/book_webhook.go";
    for (code, expected) in [
        (
            "func a(mgr ctrl.Manager) {\nctrl.NewWebhookManagedBy(mgr).For(&v1.Book{}).Complete()\n}",
            true,
        ),
        (
            "func a(mgr ctrl.Manager) {\nctrl.NewWebhookManagedBy(mgr, &v1.Book{}).Complete()\n}",
            true,
        ),
        (
            "func (r *Book) a(mgr ctrl.Manager) {\nctrl.NewWebhookManagedBy(mgr).For(r).Complete()\n}",
            true,
        ),
        (
            "func a(mgr ctrl.Manager, o client.Object) {\nctrl.NewWebhookManagedBy(mgr, o).Complete()\n}",
            true,
        ),
        (
            "func a(mgr ctrl.Manager) {\nctrl.NewWebhookManagedBy(mgr).For(&v1.Page{}).Complete()\n}",
            false,
        ),
    ] {
        // The file also mentions another kind.
        let text = format!("package v1\n{code}\nfunc b(book *v1.Book) {{}}\n");
        let port = read(&[(FILE, Some(&text))]).unwrap();
        let report = texts(&port).remove(REPORT).unwrap();
        let what = if expected {
            "write the defaults and the rules in `src/webhook/shelf/book.rs`\n"
        } else {
            "add them here with `rscaffold create webhook`\n"
        };
        assert!(
            report.contains(&format!("`{FILE}`: webhooks: {what}")),
            "{code}: {report}"
        );
    }
}

#[test]
fn the_report_names_the_file_of_each_controller_of_a_kind() {
    let project = with(
        "PROJECT",
        "  controller: true\n  domain: example.com\n  group: shelf\n  kind: Book\n",
        "  controllers:\n  - name: book\n  - name: book-backup\n  domain: example.com\n  group: shelf\n  kind: Book\n",
    );
    let backup = "package controller\nfunc (r *BackupReconciler) SetupWithManager(mgr ctrl.Manager) error {\n\
                  return ctrl.NewControllerManagedBy(mgr).For(&v1.Book{}).Named(\"book-backup\").Complete(r)\n}\n";
    let file = "internal/controller/book_backup_controller.go";
    let port = read(&[("PROJECT", Some(&project)), (file, Some(backup))]).unwrap();
    let report = texts(&port).remove(REPORT).unwrap();
    for expected in [
        "`internal/controller/book_backup_controller.go`: the reconciler of Book: write `reconcile` in \
         `src/controller/shelf/book_backup.rs`",
        "`internal/controller/book_controller.go`: the reconciler of Book: write `reconcile` and `cleanup` in \
         `src/controller/shelf/book.rs`",
    ] {
        assert!(report.contains(expected), "{expected}: {report}");
    }
}

#[test]
fn code_that_registers_a_conversion_has_its_place_in_the_report() {
    let hub = "package v1\nfunc (*Room) Hub() {}\n";
    let webhook = "package v1\nfunc SetupRoomWebhookWithManager(mgr ctrl.Manager) error {\n\
                   return ctrl.NewWebhookManagedBy(mgr, &shelfv1.Room{}).Complete()\n}\n";
    let port = read(&[
        ("api/v1/room_conversion.go", Some(hub)),
        ("internal/webhook/v1/room_webhook.go", Some(webhook)),
    ]);
    let report = texts(&port.unwrap()).remove(REPORT).unwrap();
    for file in [
        "api/v1/room_conversion.go",
        "internal/webhook/v1/room_webhook.go",
    ] {
        let expected = format!(
            "`{file}`: registers a conversion: `src/webhook/shelf/room_conversion.rs` does that here"
        );
        assert!(report.contains(&expected), "{expected}: {report}");
    }
}

/// The kinds that the controller of `Book` watches if its builder has these calls, and those that the report names.
fn watched(calls: &str) -> (String, String) {
    const FILE: &str = "internal/controller/book_controller.go";
    let usual = "Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.booksOf)).";
    let code = with(FILE, usual, calls).replace(
        "\tcorev1 ",
        "\t\"k8s.io/api/apps/v1beta9\"\n\trbac \"k8s.io/api/rbac/v1\"\n\tcorev1 ",
    );
    let port = read(&[(FILE, Some(&code))]).unwrap();
    let watches = resource(&port, "Book").controllers[0].watches.iter();
    let ids: Vec<_> = watches.map(ToString::to_string).collect();
    let report = texts(&port).remove(REPORT).unwrap();
    let (_, after) = report.split_once("It also watches ").unwrap_or_default();
    let (named, _) = after.split_once(": `--watches").unwrap_or_default();
    (ids.join(" "), named.to_owned())
}

#[test]
fn watched_kinds_with_a_name_in_the_project_are_taken_over() {
    for (calls, taken, left) in [
        (
            "Watches(&rbac.Role{}, h).",
            "rbac.authorization.k8s.io/v1/Role",
            "",
        ),
        ("Watches(&shelfv1.Room{}, h).", "shelf/v1/Room", ""),
        // The controller's own kind, a kind that it owns, and unknown kinds.
        ("Watches(&shelfv1.Book{}, h).", "", "`shelfv1.Book`"),
        ("Watches(&corev1.ConfigMap{}, h).", "", "`corev1.ConfigMap`"),
        (
            "Watches(&v1beta9.Deployment{}, h).",
            "",
            "`v1beta9.Deployment`",
        ),
        ("Watches(&other.Thing{}, h).", "", "`other.Thing`"),
        (
            "Watches(&corev1.Secret{}, h).Watches(&corev1.Secret{}, i).",
            "v1/Secret",
            "",
        ),
        ("WatchesMetadata(new(corev1.Pod), h).", "v1/Pod", ""),
        (
            "Watches(&source.Kind{Type: &corev1.Pod{}}, h).",
            "v1/Pod",
            "",
        ),
        (
            "WatchesRawSource(source.Kind(mgr.GetCache(), &corev1.Node{}, h)).",
            "v1/Node",
            "",
        ),
        (
            "WatchesRawSource(source.Channel(r.events, h)).",
            "",
            "`source.Channel(r.events, h)`",
        ),
        // The name of a variable says nothing.
        (
            "WatchesRawSource(s).",
            "",
            "the variable `s` (`internal/controller/book_controller.go:52`)",
        ),
    ] {
        assert_eq!(
            watched(calls),
            (taken.to_owned(), left.to_owned()),
            "{calls}"
        );
    }
}

#[test]
fn versions_without_a_conversion_are_a_warning() {
    let project =
        with("PROJECT", "    spoke:\n    - v1beta1\n", "").replace("    conversion: true\n", "");
    let crds = with(
        "config/crd/kustomization.yaml",
        "patches:\n- path: patches/webhook_in_shelf_rooms.yaml\n",
        "",
    );
    let port = read(&[
        ("PROJECT", Some(&project)),
        ("config/crd/kustomization.yaml", Some(&crds)),
    ])
    .unwrap();
    let (mut texts, notes) = texts_and_notes(&port);
    let report = texts.remove(REPORT).unwrap();
    let (_, warnings) = report.split_once("## Warnings\n\n").unwrap();
    assert!(
        warnings.starts_with("- [ ] `Room`: the schemas of `v1`, `v1beta1` differ"),
        "{warnings}"
    );
    assert!(!lost(&port).contains("differ"), "{report}");
    assert!(
        notes[2].contains("1 warning: see `PORTING.md`"),
        "{notes:?}"
    );
}

#[test]
fn config_alone_is_enough() {
    let port = read(&[("PROJECT", None)]).unwrap();
    assert_eq!(port.project.domain.as_str(), "example.com");
    assert_eq!(port.project.project_name.as_str(), "library");
    let book = resource(&port, "Book");
    assert_eq!(book.controllers.len(), 1);
    assert!(book.webhooks.defaulting.is_some());
    assert!(resource(&port, "Room").controllers.is_empty());
}

#[test]
fn version_2_of_project_is_completed_by_code_and_crds() {
    let text = "domain: example.com\nrepo: example.com/me/library\nresources:\n\
                - {group: shelf, kind: Book, version: v1}\n- {group: shelf, kind: Room, version: v1}\n\
                version: \"2\"\n";
    let port = read(&[("PROJECT", Some(text))]).unwrap();
    assert_eq!(resource(&port, "Book").controllers.len(), 1);
    assert!(resource(&port, "Room").controllers.is_empty());
}

#[test]
fn a_kind_may_have_the_domain_as_its_group() {
    let crd = with(
        "config/crd/bases/shelf.example.com_rooms.yaml",
        "group: shelf.example.com",
        "group: example.com",
    )
    .replace("rooms.shelf.example.com", "rooms.example.com");
    let port = read(&[("config/crd/bases/shelf.example.com_rooms.yaml", Some(&crd))]).unwrap();
    let room = resource(&port, "Room");
    assert_eq!(port.project.full_group(room), "example.com");
}

#[test]
fn the_group_in_project_may_be_the_full_one() {
    let types = |marker: &str| format!("// +groupName={marker}\npackage v1\n");
    for (group, marker, full) in [
        ("g.x.io", "", "g.x.io"),
        ("x.io", "", "x.io"),
        ("gx.io", "", "gx.io.x.io"),
        ("io", "", "io.x.io"),
        ("g.x.io", "g.x.io.x.io", "g.x.io.x.io"),
        ("g", "g.y.io", "g.y.io"),
    ] {
        let project = format!(
            "domain: x.io\nlayout: [go.kubebuilder.io/v4]\nprojectName: mini\nrepo: example.com/mini\nresources:\n\
             - {{api: {{crdVersion: v1}}, group: {group}, kind: Foo, path: example.com/mini/api/v1, version: v1}}\n\
             version: '3'\n"
        );
        let port = mini(&[
            ("PROJECT", &project),
            ("config/crd/bases/g.x.io_foos.yaml", ""),
            ("api/v1/groupversion_info.go", &types(marker)),
        ]);
        let foo = resource(&port, "Foo");
        assert_eq!(port.project.full_group(foo), full, "{group} {marker}");
    }
}

#[test]
fn a_bad_name_drops_only_its_kind() {
    for bad in ["Ro om", "../../x", "Room\u{1b}[2J"] {
        let crd = with(
            "config/crd/bases/shelf.example.com_rooms.yaml",
            "    kind: Room\n",
            &format!("    kind: {}\n", json(bad)),
        );
        let text = fs::read_to_string(go_folder().join("PROJECT")).unwrap();
        let project = text.replace("  kind: Room\n", &format!("  kind: {}\n", json(bad)));
        let changes = [
            ("config/crd/bases/shelf.example.com_rooms.yaml", Some(&*crd)),
            ("PROJECT", Some(&project)),
        ];
        let port = read(&changes).unwrap();
        assert_eq!(port.project.resources.len(), 3, "{bad}");
        let report = texts(&port).remove(REPORT).unwrap();
        assert!(!report.contains('\u{1b}'));
    }
}

#[test]
fn a_folder_without_an_operator_is_refused() {
    let nothing = GoFolder::default();
    let error = Port::read(nothing, "../none").unwrap_err();
    assert_eq!(
        error.to_string(),
        "`../none` is not the folder of an operator in Go: it has neither kubebuilder's PROJECT \
         file with a `domain`, nor CRDs in `config/crd`"
    );
    let ansible = "layout:\n- ansible.sdk.operatorframework.io/v1\nversion: \"3\"\n";
    let error = read(&[("PROJECT", Some(ansible))]).unwrap_err();
    let error = format!("{error:#}");
    assert!(
        error.starts_with("`../go/PROJECT` is not the PROJECT file of an operator in Go: "),
        "{error}"
    );
}

#[test]
fn a_computed_name_of_the_lease_is_reported() {
    let main = with(
        "cmd/main.go",
        "operatorName + \"-lock.\" + controller.Domain",
        "os.Getenv(\"LEASE\")",
    );
    let port = read(&[("cmd/main.go", Some(&main))]).unwrap();
    assert_eq!(port.project.lease, None);
    let lost = lost(&port);
    assert!(
        lost.contains("the name of the Lease: the Go code computes it by `os.Getenv(\"LEASE\")`"),
        "{lost}"
    );
}

/// A small Go project, whose finalizer and leader election are set in unusual ways, with more files.
fn mini(files: &[(&str, &str)]) -> Port {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go-mini");
    let mini = read_folder(&folder).unwrap();
    let changes: Vec<_> = files
        .iter()
        .map(|(path, text)| (*path, Some(*text)))
        .collect();
    read_changed(mini, &changes).unwrap()
}

/// The small Go project with more files, whose folders its program imports.
fn mini_using(files: &[(&str, &str)]) -> Port {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go-mini/cmd/main.go");
    let mut main = fs::read_to_string(path).unwrap();
    for (path, _) in files {
        let folder = path::folder(path);
        main += &format!("import _ \"example.com/mini/{folder}\"\n");
    }
    mini(&[&[("cmd/main.go", main.as_str())], files].concat())
}

/// The finalizer that the controller of `Foo` sets, if it has a constant for it.
fn finalizer_of_foo(port: &Port) -> Option<String> {
    let text = texts(port).remove("src/controller/g/foo.rs")?;
    let (_, rest) = text.split_once("FINALIZER_NAME: Option<&'static str> =")?;
    let (_, rest) = rest.split_once('"')?;
    Some(rest.split_once('"')?.0.to_owned())
}

/// A Go project with the kind `Foo` in two groups, `a.x.io` and `b.x.io`, and with these files. `entries` says more about
/// each in PROJECT.
fn namesakes(entries: [&str; 2], files: &[(&str, &str)]) -> Port {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go-mini");
    let mut mini = read_folder(&folder).unwrap();
    mini.texts.retain(|path, _| !path::is_file_of("go", path));
    let crds = "config/crd/kustomization.yaml";
    let crd = mini.texts["config/crd/bases/g.x.io_foos.yaml"].replace("g.x.io", "a.x.io");
    let [a, b] = entries;
    let project = format!(
        "domain: x.io\nmultigroup: true\nprojectName: mini\nrepo: example.com/mini\nresources:\n\
         - {{api: {{namespaced: true}}, group: a, kind: Foo, version: v1, {a}}}\n\
         - {{api: {{namespaced: true}}, group: b, kind: Foo, version: v1, {b}}}\nversion: '3'\n"
    );
    let of_b = crd.replace("a.x.io", "b.x.io");
    let mut changes = vec![
        ("PROJECT", Some(project.as_str())),
        (
            crds,
            Some("resources: [bases/a.x.io_foos.yaml, bases/b.x.io_foos.yaml]\n"),
        ),
        ("config/crd/bases/g.x.io_foos.yaml", None),
        ("config/crd/bases/a.x.io_foos.yaml", Some(crd.as_str())),
        ("config/crd/bases/b.x.io_foos.yaml", Some(of_b.as_str())),
    ];
    changes.extend(files.iter().map(|(path, text)| (*path, Some(*text))));
    read_changed(mini, &changes).unwrap()
}

/// The code of a controller of the type `foov1.Foo` in the package `import`.
fn controller_of(import: &str) -> String {
    format!(
        "package controller\nimport (\n\tcorev1 \"k8s.io/api/core/v1\"\n\tfoov1 \"{import}\"\n)\n\
         func (r *FooReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {{\n\
         \tfoo := &foov1.Foo{{}}\n\tcontrollerutil.AddFinalizer(foo, \"a.x.io/f\")\n\
         \tr.Patch(ctx, foo, client.Apply, client.FieldOwner(\"foos\"))\n}}\n\
         func (r *FooReconciler) SetupWithManager(mgr ctrl.Manager) error {{\n\
         \treturn ctrl.NewControllerManagedBy(mgr).For(&foov1.Foo{{}}).Watches(&corev1.Secret{{}}, h).Complete(r)\n}}\n"
    )
}

/// The controllers of `Foo` in a group.
fn controllers_in<'a>(port: &'a Port, group: &str) -> &'a [Controller] {
    let mut resources = port.project.resources.iter();
    let foo = resources.find(|resource| resource.group.as_str() == group);
    &foo.unwrap().controllers
}

#[test]
fn kinds_of_two_groups_with_the_same_name_are_told_apart() {
    let foo = Controller {
        field_manager: Some("foos".parse().unwrap()),
        finalizer: true,
        finalizer_name: Some("a.x.io/f".parse().unwrap()),
        watches: vec!["v1/Secret".parse().unwrap()],
        ..Controller::new("foo".parse().unwrap())
    };
    let first = "path: example.com/mini/pkg/first, controller: true";
    for (entries, path, import) in [
        // The import has the name of the group, or is a package that PROJECT names.
        (
            ["controller: true", ""],
            "internal/controller/a/foo_controller.go",
            "example.com/mini/api/a/v1",
        ),
        (["", ""], CONTROLLER, "example.com/mini/api/a/v1"),
        ([first, ""], CONTROLLER, "example.com/mini/pkg/first"),
        // Only the last folder with the name of a group counts.
        (["", ""], CONTROLLER, "example.com/b/api/a/v1"),
    ] {
        let port = namesakes(entries, &[(path, &controller_of(import))]);
        assert_eq!(
            controllers_in(&port, "a"),
            std::slice::from_ref(&foo),
            "{import}"
        );
        assert_eq!(controllers_in(&port, "b"), [], "{import}");
        assert_eq!(lost_about(&port, "Foo"), [""; 0]);
        assert_eq!(lost_about(&port, "inalizer"), [""; 0]);

        // PROJECT alone says that the other kind has a controller, too.
        let both = [entries[0], "controller: true"];
        let port = namesakes(both, &[(path, &controller_of(import))]);
        assert_eq!(controllers_in(&port, "a"), std::slice::from_ref(&foo));
        let plain = Controller::new("foo".parse().unwrap());
        assert_eq!(controllers_in(&port, "b"), [plain]);
        let report = texts(&port).remove(REPORT).unwrap();
        let target =
            "the reconciler of Foo: write `reconcile` and `cleanup` in `src/controller/a/foo.rs`\n";
        assert!(report.contains(target), "{report}");
    }
}

#[test]
fn code_in_the_folder_of_a_group_is_about_the_kind_of_this_group() {
    let constant = "package controller\nconst fooFinalizer = \"b.x.io/g\"\n\
                    func keep(o client.Object) {\n\tcontrollerutil.AddFinalizer(o, fooFinalizer)\n}\n";
    let [a, b] = ["a", "b"].map(|group| controller_of(&format!("example.com/mini/api/{group}/v1")));
    let b = b.replace("\tcontrollerutil.AddFinalizer(foo, \"a.x.io/f\")\n", "");
    let port = namesakes(
        ["controller: true"; 2],
        &[
            ("internal/controller/a/foo_controller.go", &a),
            ("internal/controller/b/foo_controller.go", &b),
            ("internal/controller/b/keep.go", constant),
        ],
    );
    let names = ["a", "b"].map(|group| {
        let name = controllers_in(&port, group)[0].finalizer_name.as_ref();
        name.unwrap().to_string()
    });
    assert_eq!(names, ["a.x.io/f", "b.x.io/g"]);
    assert_eq!(lost_about(&port, "inalizer"), [""; 0]);
}

#[test]
fn a_kind_that_may_be_in_several_groups_gets_nothing_from_the_code() {
    let code = controller_of("example.com/types/v1");
    for entries in [["controller: true"; 2], [""; 2]] {
        let port = namesakes(entries, &[(CONTROLLER, &code)]);
        let plain = Controller::new("foo".parse().unwrap());
        let expected = if entries[0].is_empty() {
            vec![]
        } else {
            vec![plain]
        };
        for group in ["a", "b"] {
            assert_eq!(controllers_in(&port, group), expected);
        }
        assert_eq!(
            lost_about(&port, "a controller ("),
            [
                "a controller (`internal/controller/foo_controller.go:12`) for Foo: several groups have a kind of this name, \
                 and the code does not say which one it is; if it is not listed above, `rscaffold create controller --group \
                 <GROUP> --version <VERSION> --kind <KIND>` adds it"
            ]
        );
        let [line] = &lost_about(&port, "inalizer")[..] else {
            panic!("{}", lost(&port));
        };
        let start = "the finalizer `a.x.io/f` (`internal/controller/foo_controller.go:8`): the code does not say which";
        assert!(entries[0].is_empty() || line.starts_with(start), "{line}");
    }
}

#[test]
fn an_entry_of_project_is_about_the_kind_of_its_group() {
    let without_crd =
        "}\n- {api: {namespaced: true}, controller: true, group: c, kind: Foo, version: v1";
    for (entries, controlled) in [
        (["controller: true", ""], vec!["a"]),
        (["", "controller: true"], vec!["b"]),
        (["", without_crd], vec!["c"]),
    ] {
        let port = namesakes(entries, &[]);
        let controllers = port.project.controllers();
        let groups: Vec<_> = controllers
            .map(|(resource, _)| resource.group.as_str())
            .collect();
        assert_eq!(groups, controlled);
    }
}

/// The lines of PORTING.md that say something about `word`.
fn lost_about(port: &Port, word: &str) -> Vec<String> {
    let lost = lost(port);
    // The verb `deletecollection` is not about leader election.
    let lines = lost
        .lines()
        .filter(|line| line.contains(word) && !line.contains("deletecollection"));
    lines
        .map(|line| line.trim_start_matches("- [ ] ").to_owned())
        .collect()
}

#[test]
fn a_finalizer_and_a_lease_that_are_set_in_an_unusual_way_are_taken_over() {
    let port = mini(&[]);
    assert_eq!(port.project.lease_name(), "mini");
    assert!(port.project.features.contains(&Feature::LeaderElection));
    assert!(resource(&port, "Foo").controllers[0].finalizer);
    assert_eq!(finalizer_of_foo(&port).unwrap(), "x.io/volume-guard");
    let report = texts(&port).remove(REPORT).unwrap();
    for row in [
        "| Lease | `mini` | `mini` |",
        "| finalizer of Foo | `x.io/volume-guard` | `x.io/volume-guard` |",
    ] {
        assert!(report.contains(row), "{report}");
    }
    for word in ["inalizer", "Lease", "lection"] {
        assert_eq!(lost_about(&port, word), [""; 0]);
    }
}

const CONTROLLER: &str = "internal/controller/foo_controller.go";

/// The controller of `Foo` with this code in place of the call that adds the finalizer.
fn controller(code: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/go-mini")
        .join(CONTROLLER);
    let text = fs::read_to_string(path).unwrap();
    let start = text.find("\tif _, err := finalize").unwrap();
    let end = text.find("\treturn ctrl.Result{}, nil").unwrap();
    format!("{}{code}\n{}", &text[..start], &text[end..])
}

#[test]
fn a_finalizer_is_taken_over_from_each_form_of_code() {
    for code in [
        "controllerutil.AddFinalizer(foo, \"a.io/b\")",
        "controllerutil.AddFinalizer(foo, names.Guard)",
        "const name = \"a.io/b\"\ncontrollerutil.AddFinalizer(foo, name)",
        "foo.SetFinalizers(append(foo.GetFinalizers(), names.Guard))",
        "foo.Finalizers = append(foo.Finalizers, string(names.Guard))",
        "foo.ObjectMeta.Finalizers = []string{names.Guard}",
        "foo.SetFinalizers([]string{names.Guard})",
        "r.finalizers.Register(names.Guard, &cleaner{})",
        "kubehelper.EnsureFinalizer(ctx, r.Client, foo, names.Guard)",
        "r.set(ctx, foo)\n}\nfunc (r *FooReconciler) set(ctx context.Context, o client.Object) {\n\
         controllerutil.AddFinalizer(o, names.Guard)",
        "set(foo, names.Guard)\n}\nfunc set(o client.Object, name string) {\nadd(o, name)\n}\n\
         func add(o client.Object, name string) {\ncontrollerutil.AddFinalizer(o, name)",
        "other := r.Foo()\ncontrollerutil.AddFinalizer(other, r.Finalizer)\n}\nfunc New() *FooReconciler {\n\
         return &FooReconciler{Finalizer: names.Guard}",
    ] {
        let names = "package names\nconst Guard = \"a.io/b\"\n";
        let port = mini(&[
            (CONTROLLER, &controller(code)),
            ("internal/names/names.go", names),
        ]);
        assert_eq!(finalizer_of_foo(&port).as_deref(), Some("a.io/b"), "{code}");
        let lost = lost_about(&port, "inalizer");
        // No code calls the helper of the project any more.
        let helper = lost
            .iter()
            .all(|line| line.contains("`name` (`internal/finalize/finalize.go:14`)"));
        assert!(lost.len() <= 1 && helper, "{code}: {lost:?}");
    }
}

/// PROJECT of the small Go project, with `by` in place of its line about the controller, and with more resources.
fn mini_project(by: &str, more: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go-mini/PROJECT");
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains("  controller: true\n"));
    text.replace("  controller: true\n", by)
        .replace("resources:\n", &format!("resources:\n{more}"))
}

/// The controllers of a kind: their finalizers, field managers and watched kinds.
fn controllers(port: &Port, kind: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for controller in &resource(port, kind).controllers {
        let (finalizer, manager) = (&controller.finalizer_name, &controller.field_manager);
        let watches: Vec<_> = controller.watches.iter().map(ToString::to_string).collect();
        let finalizer = finalizer.as_ref().map_or("-", |name| name.as_str());
        let manager = manager.as_ref().map_or("-", |name| name.as_str());
        lines.push(format!(
            "{} {finalizer} {manager} {}",
            controller.name,
            watches.join(",")
        ));
    }
    lines
}

/// The second controller of `Foo`.
const BACKUP: &str = "package controller
import (
\tv1 \"example.com/mini/api/v1\"
\tappsv1 \"k8s.io/api/apps/v1\"
\tcorev1 \"k8s.io/api/core/v1\"
)
const backupFinalizer = \"x.io/backup\"
func (r *FooBackupReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
\tfoo := &v1.Foo{}
\tcontrollerutil.AddFinalizer(foo, backupFinalizer)
\tr.Patch(ctx, cm, client.Apply, client.FieldOwner(\"backup-manager\"))
}
func (r *FooBackupReconciler) SetupWithManager(mgr ctrl.Manager) error {
\treturn ctrl.NewControllerManagedBy(mgr).For(&v1.Foo{}).Owns(&appsv1.Deployment{}).
\t\tWatches(&corev1.Secret{}, h).Named(\"foo-backup\").Complete(r)
}
";

#[test]
fn two_controllers_of_a_kind_have_their_own_names_and_kinds() {
    const FILE: &str = "internal/controller/foo_backup_controller.go";
    const BOTH: &str = "  controllers: [{name: foo}, {name: foo-backup}]\n";
    let expected = [
        "foo x.io/volume-guard - ",
        "foo-backup x.io/backup backup-manager v1/Secret",
    ];
    // PROJECT need not name the second one.
    for by in [BOTH, "  controller: true\n"] {
        let port = mini(&[("PROJECT", &mini_project(by, "")), (FILE, BACKUP)]);
        assert_eq!(controllers(&port, "Foo"), expected);
        for word in ["inalizer", "controller of"] {
            assert_eq!(lost_about(&port, word), [""; 0]);
        }
        let report = texts(&port).remove(REPORT).unwrap();
        let of_file = |file: &str| {
            let start = format!("- [ ] `internal/controller/{file}`: ");
            let (_, rest) = report.split_once(&start).unwrap();
            rest.lines().next().unwrap().to_owned()
        };
        assert!(
            !of_file("foo_controller.go").contains("Deployment"),
            "{report}"
        );
        assert!(
            of_file("foo_backup_controller.go")
                .contains("--owns apps/v1/Deployment --controller-name foo-backup"),
            "{report}"
        );
        let row =
            "| finalizer of Foo by the controller `foo-backup` | `x.io/backup` | `x.io/backup` |";
        assert!(report.contains(row), "{report}");
    }
    // Code that no controller has for itself.
    let shared = "package controller\nfunc keep(f *v1.Foo) {\ncontrollerutil.AddFinalizer(f, \"x.io/more\")\n\
                  c.Patch(ctx, f, client.Apply, client.FieldOwner(\"more\"))\n}\n";
    let port = mini(&[
        ("PROJECT", &mini_project(BOTH, "")),
        (FILE, BACKUP),
        ("internal/controller/keep.go", shared),
    ]);
    assert_eq!(controllers(&port, "Foo"), expected);
    let unclear = [
        "the finalizer `x.io/more` of Foo (`internal/controller/keep.go:3`): the code does not say which of its \
         controllers adds it; set `FINALIZER_NAME` in this controller; until then, objects with this finalizer cannot be \
         deleted",
        "the field manager `more` (`internal/controller/keep.go:4`): the code does not say which controller has it; set \
         `FIELD_MANAGER` in this controller",
    ];
    assert_eq!(lost_about(&port, "which"), unclear);
    // A controller that PROJECT does not name.
    let one = mini_project("  controllers: [{name: foo}]\n", "");
    let port = mini(&[("PROJECT", &one), (FILE, BACKUP)]);
    assert_eq!(controllers(&port, "Foo"), expected[..1]);
    let line = "a controller of Foo (`internal/controller/foo_backup_controller.go:14`), which PROJECT does not name:";
    assert!(
        lost_about(&port, "which PROJECT")[0].starts_with(line),
        "{}",
        lost(&port)
    );
    let line = "the finalizer `x.io/backup` of Foo (`internal/controller/foo_backup_controller.go:10`): PROJECT does not";
    let lines = lost_about(&port, "inalizer");
    assert!(lines[0].starts_with(line), "{lines:?}");
}

#[test]
fn a_controller_of_project_that_no_code_builds_is_named() {
    let pod = "- {controller: true, core: true, group: core, kind: Pod, version: v1}\n";
    let port = mini(&[("PROJECT", &mini_project("  controller: true\n", pod))]);
    assert_eq!(controllers(&port, "Pod"), ["pod - - "]);
    let expected = "the controller of `Pod`: PROJECT has it, but in no Go code was \
                    `NewControllerManagedBy(mgr).For(..)` found for it; here, it watches this kind: if the Go operator does not, run \
                    `rscaffold delete controller --group core --version v1 --kind Pod`";
    assert_eq!(lost_about(&port, "PROJECT has it"), [expected]);
}

#[test]
fn a_field_manager_is_taken_over_or_named() {
    let controller = controller("r.Apply(ctx, foo, owner)");
    let owner = "package controller\nconst owner client.FieldOwner = \"foo-owner\"\n";
    let port = mini(&[
        (CONTROLLER, &controller),
        ("internal/controller/owner.go", owner),
    ]);
    assert_eq!(controllers(&port, "Foo"), ["foo - foo-owner "]);
    assert_eq!(lost_about(&port, "field manager"), [""; 0]);

    // The value has a name in another package.
    let names = "package names\nconst FieldOwner = \"foo-owner\"\n";
    let by_name = controller.replace("owner)", "client.FieldOwner(names.FieldOwner))");
    let port = mini(&[(CONTROLLER, &by_name), ("internal/names/names.go", names)]);
    assert_eq!(lost_about(&port, "field manager"), [""; 0]);

    let helper = "package apply\nfunc Apply(o client.Object) {\nc.Patch(ctx, o, client.Apply, client.FieldOwner(\"mini\"))\n\
                  c.Patch(ctx, o, client.Apply, client.FieldOwner(\"mini\"))\n}\n";
    let port = mini_using(&[(CONTROLLER, &controller), ("pkg/apply/apply.go", helper)]);
    assert_eq!(controllers(&port, "Foo"), ["foo - - "]);
    let expected = [
        "the field manager `mini` (`pkg/apply/apply.go:3`): the code does not say which controller has it; set \
         `FIELD_MANAGER` in this controller",
    ];
    assert_eq!(lost_about(&port, "field manager"), expected);
}

#[test]
fn the_command_for_owned_kinds_is_complete() {
    let line = |files: &[(&str, &str)]| {
        let port = mini(files);
        let report = texts(&port).remove(REPORT).unwrap();
        let mut lines = report.lines();
        let line = lines.find(|line| line.contains("the reconciler of Foo"));
        (line.unwrap().to_owned(), lost_about(&port, "owned kind"))
    };
    let code = controller("")
        .replace(
            "import (",
            "import (\n\tcorev1 \"k8s.io/api/core/v1\"\n\trbacv1 \"k8s.io/api/rbac/v1\"",
        )
        .replace(
            "For(&v1.Foo{})",
            "For(&v1.Foo{}).Owns(&corev1.Secret{}).Owns(&rbacv1.ClusterRole{})",
        );
    let (command, left) = line(&[(CONTROLLER, &code)]);
    let expected = "It owns `corev1.Secret`: `rscaffold create api --group g --version v1 --kind Foo --owns v1/Secret` adds";
    assert!(command.contains(expected), "{command}");
    let expected = "the owned kind `rbacv1.ClusterRole`: `g/v1/Foo` cannot own `rbac.authorization.k8s.io/v1/ClusterRole`: a \
                    namespaced object cannot own a cluster-scoped object; write the code for it by hand";
    assert_eq!(left, [expected]);

    let crd = "config/crd/bases/g.x.io_foos.yaml";
    let crd_text = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/go-mini")
            .join(crd),
    )
    .unwrap();
    let project = mini_project("  controller: true\n", "").replace("  group: g\n", "");
    let (command, _) = line(&[
        (CONTROLLER, &code),
        (crd, &crd_text.replace("g.x.io", "x.io")),
        ("PROJECT", &project),
    ]);
    assert!(
        command.contains("create api --group \"\" --version v1 --kind Foo"),
        "{command}"
    );
}

#[test]
fn the_period_of_the_manager_is_named() {
    let main = "package main\nvar a, b = Other{SyncPeriod: &day}, ctrl.Options{Cache: cache.Options{SyncPeriod: &hour}}\n\
                var m = ctrl.NewManager(c, b)\n";
    let expected = "`SyncPeriod` of the manager, which is `&hour` in Go (`cmd/main.go:2`): here, no object is reconciled only \
                    because time has passed; return `Action::requeue` in the reconcilers that must check something outside of \
                    the cluster";
    assert_eq!(
        lost_about(&mini(&[("cmd/main.go", main)]), "SyncPeriod"),
        [expected]
    );
}

#[test]
fn a_kind_that_two_controllers_watch_is_named_once() {
    const FILE: &str = "internal/controller/foo_backup_controller.go";
    let code = controller("")
        .replace("import (", "import (\n\tcorev1 \"k8s.io/api/core/v1\"")
        .replace(
            "For(&v1.Foo{})",
            "For(&v1.Foo{}).Watches(&corev1.Secret{}, h)",
        );
    let port = mini(&[(CONTROLLER, &code), (FILE, BACKUP)]);
    let report = texts(&port).remove(REPORT).unwrap();
    let line = "controller `foo`, `foo-backup`, watches `v1/Secret`, validating webhook\n";
    assert!(report.contains(line), "{report}");
}

/// The small Go project with the kind `FooBar` in place of `Foo`, and with more files. `by` is in place of the line of
/// PROJECT about the controller, and `named` is behind `For`.
fn foo_bar(by: &str, named: &str, files: &[(&str, &str)]) -> Port {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go-mini");
    let mut mini = read_folder(&folder).unwrap();
    mini.texts
        .insert("PROJECT".to_owned(), mini_project(by, ""));
    for (path, text) in files {
        mini.texts.insert((*path).to_owned(), (*text).to_owned());
    }
    let texts = mini.texts.into_iter().map(|(path, text)| {
        let text = text
            .replace(
                "For(&v1.Foo{}).Complete",
                &format!("For(&v1.Foo{{}}){named}.Complete"),
            )
            .replace("Foo", "FooBar")
            .replace("foos", "foobars")
            .replace("singular: foo,", "singular: foobar,");
        (path.replace("foos", "foobars"), text)
    });
    mini.texts = texts.collect();
    read_changed(mini, &[]).unwrap()
}

#[test]
fn the_controller_of_a_kind_may_have_another_form_of_its_name() {
    const FILE: &str = "internal/controller/foo_backup_controller.go";
    const ONE: &str = "  controllers: [{name: foo-bar}]\n";
    const BOTH: &str = "  controllers: [{name: foo-bar}, {name: foo-backup}]\n";
    const NAMED: &str = ".Named(\"foo-bar\")";
    let of_kind = "foobar x.io/volume-guard - ";
    let backup = "foo-backup x.io/backup backup-manager v1/Secret";
    for (by, named, files, expected) in [
        (ONE, "", &[][..], vec![of_kind]),
        (ONE, NAMED, &[], vec![of_kind]),
        (BOTH, NAMED, &[(FILE, BACKUP)], vec![of_kind, backup]),
        (BOTH, "", &[(FILE, BACKUP)], vec![of_kind, backup]),
        (
            "  controller: true\n",
            NAMED,
            &[(FILE, BACKUP)],
            vec![of_kind, backup],
        ),
    ] {
        let port = foo_bar(by, named, files);
        assert_eq!(controllers(&port, "FooBar"), expected, "{by}{named}");
        assert_eq!(lost_about(&port, "controller of"), [""; 0]);
    }
}

#[test]
fn a_controller_with_the_name_of_another_kind_is_left_out_without_its_kind() {
    const CRDS: &str = "config/crd/kustomization.yaml";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go-mini");
    let file = |path: &str| fs::read_to_string(folder.join(path)).unwrap();
    let crd = file("config/crd/bases/g.x.io_foos.yaml");
    let listed = file(CRDS);
    // The other kind comes before the kind or after it.
    for other in ["Bar", "Zoo"] {
        let name = other.to_lowercase();
        let code = BACKUP.replace("\"foo-backup\"", &format!("\"{name}\""));
        let of_other = crd.replace("Foo", other).replace("foo", &name);
        let path = format!("config/crd/bases/g.x.io_{name}s.yaml");
        let list = format!("resources: [bases/g.x.io_foos.yaml, bases/g.x.io_{name}s.yaml]");
        let listed = listed.replace("resources: [bases/g.x.io_foos.yaml]", &list);
        let port = mini(&[
            ("internal/controller/foo_backup_controller.go", &code),
            (&path, &of_other),
            (CRDS, &listed),
        ]);
        assert_eq!(controllers(&port, "Foo"), ["foo x.io/volume-guard - "]);
        assert!(resource(&port, "Foo").webhooks.validation.is_some());
        assert!(resource(&port, other).has_api());
        let line = format!(
            "a controller of `Foo`: `g/v1/Foo` cannot have a controller `{name}`: the controller of `{other}` has this name, \
             so add a word, as in `foo-{name}`"
        );
        assert_eq!(lost_about(&port, "a controller of"), [line]);
        let line = "the finalizer `x.io/backup` of Foo (`internal/controller/foo_backup_controller.go:10`): the controller \
                    that adds it is left out; set `FINALIZER_NAME` in the controller that you add instead; until then, \
                    objects with this finalizer cannot be deleted";
        assert_eq!(lost_about(&port, "x.io/backup"), [line]);
    }
}

#[test]
fn two_controllers_in_a_file_have_their_own_names_and_kinds() {
    let code = "package controller
import (
\tv1 \"example.com/mini/api/v1\"
\tappsv1 \"k8s.io/api/apps/v1\"
\tcorev1 \"k8s.io/api/core/v1\"
)
func (r *DeploymentReconciler) SetupWithManager(mgr ctrl.Manager) error {
\treturn ctrl.NewControllerManagedBy(mgr).For(&appsv1.Deployment{}).Complete(r)
}
func (r *FooReconciler) SetupWithManager(mgr ctrl.Manager) error {
\treturn ctrl.NewControllerManagedBy(mgr).For(&v1.Foo{}).Owns(&appsv1.ReplicaSet{}).Watches(&corev1.Secret{}, h).Complete(r)
}
func (r *FooReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
\tr.Patch(ctx, o, client.Apply, client.FieldOwner(\"foos\"))
\tcontrollerutil.AddFinalizer(object, \"x.io/foo\")
}
";
    let deployment =
        "- {controller: true, core: true, group: apps, kind: Deployment, version: v1}\n";
    let project = mini_project("  controller: true\n", deployment);
    let port = mini(&[
        ("PROJECT", &project),
        (CONTROLLER, code),
        ("internal/finalize/finalize.go", "package finalize"),
        ("internal/names/names.go", "package names"),
    ]);
    assert_eq!(controllers(&port, "Foo"), ["foo x.io/foo foos v1/Secret"]);
    assert_eq!(controllers(&port, "Deployment"), ["deployment - - "]);
    let report = texts(&port).remove(REPORT).unwrap();
    assert_eq!(
        report.matches("It owns `appsv1.ReplicaSet`").count(),
        1,
        "{report}"
    );
    // A function that both controllers may call.
    let shared = format!(
        "{code}func apply(o Object) {{\nc.Patch(ctx, o, client.Apply, client.FieldOwner(\"both\"))\n}}\n"
    );
    let port = mini(&[("PROJECT", &project), (CONTROLLER, &shared)]);
    assert_eq!(lost_about(&port, "the field manager `both`").len(), 1);
    assert_eq!(controllers(&port, "Deployment"), ["deployment - - "]);
}

#[test]
fn a_finalizer_that_other_code_sets_is_taken_over_with_its_kind() {
    for (path, code) in [
        (
            "internal/webhook/v1/foo_webhook.go",
            "func (d *Defaulter) Default(ctx context.Context, object runtime.Object) error {\n\
             foo, ok := object.(*v1.Foo)\ncontrollerutil.AddFinalizer(foo, names.Guard)\n}",
        ),
        (
            "pkg/lifecycle/keep.go",
            "func Keep(f *v1.Foo) {\nf.SetFinalizers(append(f.GetFinalizers(), names.Guard))\n}",
        ),
        (
            "pkg/lifecycle/create.go",
            "func Create() client.Object {\n\
             return &v1.Foo{ObjectMeta: metav1.ObjectMeta{Name: \"a\", Finalizers: []string{names.Guard}}}\n}",
        ),
        (
            "pkg/lifecycle/scope.go",
            "func (s *scope) keep() {\ncontrollerutil.AddFinalizer(s.Foo, names.Guard)\n}",
        ),
        // The controller removes what other code adds.
        (
            "pkg/lifecycle/any.go",
            "func (s *scope) keep() {\ncontrollerutil.AddFinalizer(s.object, names.Guard)\n}",
        ),
    ] {
        let names = "package names\nconst Guard = \"a.io/b\"\n";
        let remove = controller("controllerutil.RemoveFinalizer(foo, names.Guard)");
        let port = mini_using(&[
            (CONTROLLER, &remove),
            ("internal/finalize/finalize.go", "package finalize"),
            ("internal/names/names.go", names),
            (path, code),
        ]);
        assert_eq!(finalizer_of_foo(&port).as_deref(), Some("a.io/b"), "{code}");
        assert_eq!(lost_about(&port, "inalizer"), [""; 0], "{code}");
    }
}

#[test]
fn a_kind_that_gets_a_finalizer_from_its_own_code_does_not_get_that_of_other_objects() {
    let own = controller(
        "controllerutil.AddFinalizer(foo, names.FooFinalizer)\ncontrollerutil.RemoveFinalizer(foo, names.FooFinalizer)",
    );
    let any = "func keep(owner Owner) {\ncontrollerutil.AddFinalizer(owner.Object(), names.FooFinalizer)\n}";
    let port = mini_using(&[
        (CONTROLLER, &own),
        ("internal/finalize/finalize.go", "package finalize"),
        ("pkg/lifecycle/any.go", any),
    ]);
    assert_eq!(finalizer_of_foo(&port).unwrap(), "x.io/volume-guard");
    let expected = "the finalizer `x.io/volume-guard` (`pkg/lifecycle/any.go:2`): the code does not say which kind has it; \
                    set `FINALIZER_NAME` in the controller of this kind; until then, objects with this finalizer cannot be \
                    deleted";
    assert_eq!(lost_about(&port, "inalizer"), [expected]);
}

/// The small Go project whose controller has this code, without its helper for finalizers.
fn mini_with_code(code: &str) -> Port {
    let controller = controller(code).replace(
        "import (",
        "import (\n\tcorev1 \"k8s.io/api/core/v1\"\n\tcmv1 \"github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1\"\n\
         \t\"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil\"",
    );
    mini(&[
        (CONTROLLER, &controller),
        ("internal/finalize/finalize.go", "package finalize"),
        ("internal/names/names.go", "package names"),
    ])
}

#[test]
fn a_finalizer_is_taken_over_from_each_form_of_list() {
    for code in [
        "fs := finalizer.NewFinalizers()\n_ = fs.Register(\"a.io/b\", nil)",
        "foo.Finalizers = append([]string{\"a.io/b\"}, foo.Finalizers...)",
        "foo.Finalizers = slices.Insert(foo.Finalizers, 0, \"a.io/b\")",
        "foo.Finalizers = slices.Concat(foo.Finalizers, []string{\"a.io/b\"})",
        "foo.Finalizers[0] = \"a.io/b\"",
        "fs := foo.GetFinalizers()\nfs = append(fs, \"a.io/b\")\nfoo.SetFinalizers(fs)",
        "add(foo, \"a.io/b\")\n}\nfunc add(o client.Object, name string) {\nfs := o.GetFinalizers()\n\
         fs = append(fs, name)\no.SetFinalizers(fs)",
        "foo.SetFinalizers(append([]string{}, \"a.io/b\"))",
        "foo.SetFinalizers(addString(foo.GetFinalizers(), \"a.io/b\"))",
        "accessor, err := meta.Accessor(foo)\naccessor.SetFinalizers(append(accessor.GetFinalizers(), \"a.io/b\"))",
        "ac := v1ac.Foo(\"a\", \"b\").WithFinalizers(\"a.io/b\")",
    ] {
        let port = mini_with_code(code);
        assert_eq!(finalizer_of_foo(&port).as_deref(), Some("a.io/b"), "{code}");
        assert_eq!(lost_about(&port, "inalizer"), [""; 0], "{code}");
    }
}

#[test]
fn each_list_of_finalizers_that_is_not_understood_is_reported() {
    const UNCLEAR: &str = "the finalizer `a.io/b` (`internal/controller/foo_controller.go:26`): the code does not say";
    for (code, expected) in [
        ("foo.SetFinalizers(compute(foo))", "by `compute(foo)` ("),
        (
            "foo.Finalizers = sets.New(\"a.io/b\").List()",
            "by `sets.New(",
        ),
        ("x := metav1.ObjectMeta{Finalizers: all()}", "by `all()` ("),
        (
            "foo.Finalizers = append(foo.Finalizers, r.Config.Finalizers...)",
            "by `append(",
        ),
        (
            "x := v1ac.Foo(\"a\", \"b\").WithFinalizers(all...)",
            "by `all...` (",
        ),
        (
            "set(foo, all)\n}\nfunc set(o client.Object, all []string) {\no.SetFinalizers(all)",
            "by `all` (",
        ),
        (
            "r.registry = finalizer.NewFinalizers()",
            "by `NewFinalizers` (",
        ),
        (
            "text, err := sjson.Set(text, \"metadata.finalizers\", all)",
            "by `\"metadata.finalizers\"` (",
        ),
        (
            "u := &unstructured.Unstructured{}\nunstructured.SetNestedStringSlice(u.Object, all, \"metadata\", \"finalizers\")",
            "by `all` (",
        ),
        (
            "u := get()\nu.SetFinalizers([]string{\"a.io/b\"})",
            &UNCLEAR.replace(":26", ":27"),
        ),
        (
            "u.SetUnstructuredContent(map[string]any{\"metadata\": map[string]any{\"finalizers\": []any{\"a.io/b\"}}})",
            UNCLEAR,
        ),
        ("metadata[\"finalizers\"] = []string{\"a.io/b\"}", UNCLEAR),
    ] {
        let port = mini_with_code(code);
        assert_eq!(finalizer_of_foo(&port), None, "{code}");
        let lines = lost_about(&port, "inalizer");
        assert!(
            lines.len() == 1 && lines[0].contains(expected),
            "{code}: {lines:?}"
        );
    }
    for code in [
        "foo.SetFinalizers(nil)",
        "foo.SetFinalizers(removeString(foo.GetFinalizers(), \"a.io/b\"))",
        "foo.Finalizers = foo.Finalizers[1:]",
        "var kept []string\nfor _, f := range foo.Finalizers {\nif f != \"a.io/b\" {\nkept = append(kept, f)\n}\n}\n\
         foo.Finalizers = kept",
        "delete(metadata, \"finalizers\")",
        "metadata[\"finalizers\"] = nil",
        "unstructured.RemoveNestedField(u.Object, \"metadata\", \"finalizers\")",
        "patch := `{\"metadata\":{\"finalizers\":null}}`",
        "patch := `[{\"op\":\"remove\",\"path\":\"/metadata/finalizers\"}]`",
    ] {
        let port = mini_with_code(code);
        assert_eq!(lost_about(&port, "inalizer"), [""; 0], "{code}");
    }
}

#[test]
fn a_finalizer_of_another_object_is_not_one_of_the_kind() {
    const POD: &str = "the finalizer `x.io/guard` that the Go code adds to a Pod (";
    const UNCLEAR: &str = "the finalizer `x.io/guard` (";
    for (code, expected) in [
        (
            "pods := &corev1.PodList{}\nfor _, pod := range pods.Items { controllerutil.AddFinalizer(&pod, \"x.io/guard\") }",
            POD,
        ),
        (
            "pods := &corev1.PodList{}\nfor i := range pods.Items {\ncontrollerutil.AddFinalizer(&pods.Items[i], \"x.io/guard\")\n}",
            POD,
        ),
        (
            "for _, o := range []client.Object{&corev1.Pod{}} {\ncontrollerutil.AddFinalizer(o, \"x.io/guard\")\n}",
            POD,
        ),
        (
            "var o client.Object\nif is {\no = &corev1.Pod{}\n}\ncontrollerutil.AddFinalizer(o, \"x.io/guard\")",
            POD,
        ),
        (
            "pod := &corev1.Pod{}\nother := pod.DeepCopy()\ncontrollerutil.AddFinalizer(other, \"x.io/guard\")",
            POD,
        ),
        (
            "pod, err := r.find(ctx)\ncontrollerutil.AddFinalizer(pod, \"x.io/guard\")\n}\n\
             func (r *FooReconciler) find(ctx context.Context) (*corev1.Pod, error) {\nreturn nil, nil",
            POD,
        ),
        (
            "for _, pod := range r.pods(ctx) {\ncontrollerutil.AddFinalizer(pod, \"x.io/guard\")\n}\n}\n\
             func (r *FooReconciler) pods(ctx context.Context) (found []*corev1.Pod) {\nreturn nil",
            POD,
        ),
        (
            "controllerutil.AddFinalizer(scope.Worker, \"x.io/guard\")\n}\ntype Scope struct {\nWorker *corev1.Pod",
            POD,
        ),
        (
            "guard(&corev1.Pod{})\n}\nfunc guard(o client.Object) {\ncontrollerutil.AddFinalizer(o, \"x.io/guard\")",
            POD,
        ),
        (
            "pod := corev1.Pod{}\nguard(&pod, \"x.io/guard\")\n}\nfunc guard(o client.Object, name string) {\n\
             controllerutil.AddFinalizer(o, name)",
            POD,
        ),
        (
            "ac := corev1.Pod(\"a\", \"b\").WithFinalizers(\"x.io/guard\")",
            POD,
        ),
        (
            "var cert cmv1.Certificate\ncontrollerutil.AddFinalizer(&cert, \"x.io/guard\")",
            "the finalizer `x.io/guard` that the Go code adds to a Certificate (",
        ),
        (
            "pod, err := other.find(ctx)\ncontrollerutil.AddFinalizer(pod, \"x.io/guard\")",
            UNCLEAR,
        ),
        (
            "controllerutil.AddFinalizer(other.find(ctx), \"x.io/guard\")",
            UNCLEAR,
        ),
        (
            "pods := make([]corev1.Pod, 1)\nfor i := range pods {\n\
             pods[i].Finalizers = append(pods[i].Finalizers, \"x.io/guard\")\n}",
            POD,
        ),
        (
            "pod, err := other.find(ctx)\nhelper.EnsureFinalizer(ctx, r.Client, pod, \"x.io/guard\")",
            UNCLEAR,
        ),
    ] {
        let port = mini_with_code(code);
        assert_eq!(finalizer_of_foo(&port), None, "{code}");
        let lines = lost_about(&port, "inalizer");
        assert!(
            lines.len() == 1 && lines[0].starts_with(expected),
            "{code}: {lines:?}"
        );
    }
    for code in [
        "other := foo.DeepCopy()\ncontrollerutil.AddFinalizer(other, \"x.io/guard\")",
        "for _, pod := range pods.Items {\nfoo := &corev1.Pod{}\n}\ncontrollerutil.AddFinalizer(foo, \"x.io/guard\")",
        "foos := &v1.FooList{}\nfor i := range foos.Items {\no := &foos.Items[i]\n\
         controllerutil.AddFinalizer(o, \"x.io/guard\")\n}",
        "guard(foo)\n}\nfunc guard(o client.Object) {\ncontrollerutil.AddFinalizer(o, \"x.io/guard\")",
    ] {
        let port = mini_with_code(code);
        assert_eq!(
            finalizer_of_foo(&port).as_deref(),
            Some("x.io/guard"),
            "{code}"
        );
        assert_eq!(lost_about(&port, "inalizer"), [""; 0], "{code}");
    }
    let both = "for _, o := range []client.Object{&corev1.Pod{}, foo} {\ncontrollerutil.AddFinalizer(o, \"x.io/guard\")\n}";
    let port = mini_with_code(both);
    assert_eq!(finalizer_of_foo(&port).as_deref(), Some("x.io/guard"));
    assert!(lost_about(&port, "inalizer")[0].starts_with(POD));
}

#[test]
fn a_call_of_a_method_that_several_types_have_is_of_the_type_before_the_dot() {
    for (object, expected) in [
        (
            "r",
            "the finalizer `x.io/guard` that the Go code adds to a Pod (",
        ),
        ("other", "the finalizer `x.io/guard` ("),
    ] {
        let port = mini_with_code(&format!(
            "pod := {object}.find(ctx)\ncontrollerutil.AddFinalizer(pod, \"x.io/guard\")\n}}\n\
             func (r *Other) find(ctx context.Context) *v1.Foo {{\nreturn nil\n}}\n\
             func (r *FooReconciler) find(ctx context.Context) *corev1.Pod {{\nreturn nil"
        ));
        assert_eq!(finalizer_of_foo(&port), None, "{object}");
        let lines = lost_about(&port, "inalizer");
        assert!(
            lines.len() == 1 && lines[0].starts_with(expected),
            "{lines:?}"
        );
    }
}

#[test]
fn a_finalizer_that_cannot_be_taken_over_is_reported_once_with_its_place() {
    const PATH: &str = "pkg/other.go";
    for (code, expected) in [
        (
            "const OldFinalizer = \"x.io/old\"\nvar again = OldFinalizer",
            "the finalizer `x.io/old` (`pkg/other.go:1`): the code does not say which kind has it; set \
             `FINALIZER_NAME` in the controller of this kind; until then, objects with this finalizer cannot be deleted",
        ),
        (
            "const fooFinalizer = \"keep-foo\"",
            "the finalizer `keep-foo` (`pkg/other.go:1`): the code does not say which kind has it; set \
             `FINALIZER_NAME` in the controller of this kind; until then, objects with this finalizer cannot be deleted",
        ),
        (
            "var all = []string{\"finalizer.x.io\"}",
            "the finalizer `finalizer.x.io` (`pkg/other.go:1`): the code does not say which kind has it; set \
             `FINALIZER_NAME` in the controller of this kind; until then, objects with this finalizer cannot be deleted",
        ),
        (
            "func init() {\nfinalizers[\"x.io/old\"] = remove\n}",
            "the finalizer `x.io/old` (`pkg/other.go:2`): the code does not say which kind has it; set \
             `FINALIZER_NAME` in the controller of this kind; until then, objects with this finalizer cannot be deleted",
        ),
        (
            "func keep(o client.Object) {\n\ncontrollerutil.AddFinalizer(o, os.Getenv(\"KEEP\"))\n}",
            "a finalizer that the Go code computes by `os.Getenv(\"KEEP\")` (`pkg/other.go:3`): set `FINALIZER_NAME` in \
             the controller of its kind; until then, objects with the finalizer cannot be deleted",
        ),
        (
            "import corev1 \"k8s.io/api/core/v1\"\nfunc keep(s *corev1.Secret) {\n\
             controllerutil.AddFinalizer(s, \"x.io/secret\")\n}",
            "the finalizer `x.io/secret` that the Go code adds to a Secret (`pkg/other.go:3`): add it and remove it in \
             the controller that works with the Secret; until then, objects with it cannot be deleted",
        ),
        (
            "import corev1 \"k8s.io/api/core/v1\"\nfunc keep(s *corev1.Foo) {\n\
             controllerutil.AddFinalizer(s, \"x.io/other\")\n}",
            "the finalizer `x.io/other` that the Go code adds to a Foo (`pkg/other.go:3`): add it and remove it in the \
             controller that works with the Foo; until then, objects with it cannot be deleted",
        ),
        (
            "func old(f *v1.Foo) {\ncontrollerutil.RemoveFinalizer(f, \"x.io/old\")\n}",
            "the finalizer `x.io/old`, which the Go code removes (`pkg/other.go:2`) but does not add: if objects have \
             it, remove it in `reconcile` and in `cleanup`",
        ),
        (
            "const patch = `{\"metadata\":{\"finalizers\":[\"x.io/a\"]}}`",
            "the finalizers that the Go code sets by a patch (`pkg/other.go:1`): set `FINALIZER_NAME` in the controller",
        ),
        (
            "func keep(o client.Object) {\nhelper.AddFinalizers(o, all()...)\n}",
            "what `AddFinalizers` does with finalizers (`pkg/other.go:2`)",
        ),
        // What the unknown function adds is not only removed.
        (
            "func keep(f *v1.Foo) {\nhelper.EnsureFinalizer(ctx, c, f, other.GuardFinalizer)\n\
             controllerutil.RemoveFinalizer(f, other.GuardFinalizer)\n}",
            "what `EnsureFinalizer` does with the finalizer `other.GuardFinalizer` (`pkg/other.go:2`)",
        ),
        (
            "import corev1 \"k8s.io/api/core/v1\"\nfunc keep(s *corev1.Secret) {\n\
             controllerutil.AddFinalizer(s, os.Getenv(\"KEEP\"))\n}",
            "a finalizer that the Go code computes by `os.Getenv(\"KEEP\")` and adds to a Secret (`pkg/other.go:3`): add it \
             and remove it in the controller that works with the Secret; until then, objects with it cannot be deleted",
        ),
    ] {
        let port = mini_using(&[(PATH, code)]);
        assert_eq!(finalizer_of_foo(&port).unwrap(), "x.io/volume-guard");
        assert_eq!(lost_about(&port, "inalizer"), [expected], "{code}");
    }
}

#[test]
fn a_computed_finalizer_is_not_the_constant_of_the_same_name() {
    let code = controller("guard := r.guardOf(foo)\ncontrollerutil.AddFinalizer(foo, guard)");
    let other = "package controller\nconst guard = \"x.io/other\"\n";
    let port = mini(&[
        (CONTROLLER, &code),
        ("internal/controller/other.go", other),
        ("internal/finalize/finalize.go", "package finalize"),
    ]);
    assert_eq!(finalizer_of_foo(&port), None);
    let lines = lost_about(&port, "inalizer");
    let expected = "the finalizer of Foo, which is `guard` (`internal/controller/foo_controller.go:24`) in Go: set \
                    `FINALIZER_NAME` in its controller;";
    assert!(lines[0].starts_with(expected), "{lines:?}");
}

#[test]
fn two_finalizers_of_a_kind_are_reported_with_their_places() {
    let code = "func keep(f *v1.Foo) {\ncontrollerutil.AddFinalizer(f, \"x.io/more\")\n}";
    let port = mini_using(&[("pkg/other.go", code)]);
    assert_eq!(finalizer_of_foo(&port), None);
    let expected = "the finalizer of Foo, which is `x.io/more` (`pkg/other.go:2`) and `x.io/volume-guard` \
        (`internal/controller/foo_controller.go:23`) in Go: set `FINALIZER_NAME` in its controller; until then, objects \
        with the finalizer of the Go operator cannot be deleted";
    assert_eq!(lost_about(&port, "inalizer"), [expected]);
}

#[test]
fn code_that_only_mentions_finalizers_is_not_reported() {
    for (path, code) in [
        (
            "internal/controller/foo_test.go",
            "controllerutil.AddFinalizer(foo, \"x.io/test\")",
        ),
        ("test/utils/utils.go", "const Finalizer = \"x.io/test\""),
        (
            "api/v1/zz_generated.deepcopy.go",
            "func a() { controllerutil.AddFinalizer(foo, \"x.io/test\") }",
        ),
        (
            "pkg/applyconfiguration/foo.go",
            "// Code generated by applyconfiguration-gen. DO NOT EDIT.\npackage a\n\
             func a() { controllerutil.AddFinalizer(foo, \"x.io/test\") }",
        ),
        (
            "pkg/log.go",
            "import \"example.com/mini/pkg/finalizers.v1\"\n\
             func a() {\nlog.Error(err, \"failed to add the finalizer\", \"finalizer\", names.FooFinalizer)\n\
             if controllerutil.ContainsFinalizer(foo, names.FooFinalizer) {}\n\
             rules := []string{\"foos/finalizers\"}\nfinalizers := foo.GetFinalizers()\n}",
        ),
        (
            "pkg/events.go",
            "const (\nreasonAddFinalizer = \"AddFinalizer\"\nskipFinalizerAnnotation = \"x.io/skip-finalizer\"\n\
             FinalizerFieldManager = \"mini/finalizer\"\n)\n\
             func a() {\nfoo.Annotations[\"x.io/no-finalizer\"] = \"\"\n}",
        ),
        (
            "api/v1/more_types.go",
            "type A struct {\nFinalizers []string `json:\"finalizers,omitempty\"`\n}",
        ),
    ] {
        let port = mini_using(&[(path, code)]);
        assert_eq!(lost_about(&port, "inalizer"), [""; 0], "{path}");
    }
}

#[test]
fn code_that_no_program_uses_is_not_of_the_operator() {
    let code = "package testutil\nimport v1 \"example.com/mini/api/v1\"\n\
                func (b *Builder) WithFinalizer(f *v1.Foo, name string) {\nf.Finalizers = append(f.Finalizers, name)\n}\n\
                func apply() {\nc.Patch(ctx, o, client.Apply, client.FieldOwner(\"test\"))\n}\n";
    let file = ("internal/testutil/builders.go", code);
    let port = mini(&[file]);
    assert_eq!(controllers(&port, "Foo"), ["foo x.io/volume-guard - "]);
    assert!(!texts(&port)[REPORT].contains("testutil"));
    // The same code of the operator.
    let report = texts(&mini_using(&[file])).remove(REPORT).unwrap();
    for line in [
        "`internal/testutil/builders.go:4`",
        "the field manager `test`",
        "`internal/testutil/`: 1 file",
    ] {
        assert!(report.contains(line), "{line}: {report}");
    }
    // A module in a folder of the project, and a program without a manager.
    let main = "package main\nimport \"example.com/mini/internal/testutil\"\nfunc main() {\n}\n";
    let other = "package main\nimport \"x.io/builders/testutil\"\n";
    let go_mod = "module example.com/mini/v2\n";
    let in_module = ("testutil/builders.go", code);
    for files in [
        [file, ("cmd/more.go", main), ("go.mod", go_mod)],
        [
            file,
            ("cmd/agent/main.go", main),
            ("a.go", "package mini\n"),
        ],
        [in_module, ("cmd/more.go", other), ("go.mod", go_mod)],
    ] {
        let port = mini(&files);
        let lost = lost_about(&port, "the field manager `test`");
        assert_eq!(lost.len(), 1, "{files:?}");
    }
}

#[test]
fn an_operator_may_get_its_manager_from_a_library() {
    let main = "package main\nimport \"example.com/mini/internal/controller\"\n\
                func main() {\nrunner.Run(controller.Setup)\n}\n";
    let bench = "package main\nfunc main() {\nctrl.NewManager(config, ctrl.Options{})\n}\n";
    let port = mini(&[("cmd/main.go", main), ("hack/bench/main.go", bench)]);
    assert_eq!(controllers(&port, "Foo"), ["foo x.io/volume-guard - "]);
}

#[test]
fn leader_election_is_on_unless_the_go_operator_has_it_off() {
    const MAIN: &str = "cmd/main.go";
    const MANAGER: &str = "config/manager/manager.yaml";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go-mini");
    let manager = fs::read_to_string(folder.join(MANAGER)).unwrap();
    let (on, off) = (Some(true), Some(false));
    let by_flag = ["false", "true"].map(|default| {
        format!(
            "flag.BoolVar(&elects, \"leader-elect\", {default}, \"\")\n\
             ctrl.Options{{LeaderElection: elects, LeaderElectionID: \"a\"}}"
        )
    });
    let [off_by_flag, on_by_flag] = by_flag.each_ref().map(String::as_str);
    for (code, argument, expected, lease) in [
        (
            "ctrl.Options{LeaderElection: true, LeaderElectionID: \"a\"}",
            "",
            on,
            "a",
        ),
        (
            "ctrl.Options{LeaderElection: false, LeaderElectionID: \"a\"}",
            "",
            off,
            "a",
        ),
        ("ctrl.Options{}", "", off, ""),
        (off_by_flag, "", off, "a"),
        (off_by_flag, "--leader-elect", on, "a"),
        (on_by_flag, "", on, "a"),
        (on_by_flag, "--leader-elect=false", off, "a"),
        // A default in a struct.
        (
            "func defaults() Config { return Config{LeaderElection: true, LeaderElectionID: \"a\"} }\n\
             func main() { ctrl.Options{LeaderElection: config.LeaderElection, LeaderElectionID: config.LeaderElectionID} }",
            "",
            on,
            "a",
        ),
        (
            "options.LeaderElection = true\noptions.LeaderElectionID = id(x)",
            "",
            on,
            "",
        ),
        (
            "id := flag.String(\"leader-election-id\", \"mini\", \"\")\n\
             ctrl.Options{LeaderElection: true, LeaderElectionID: *id}",
            "--leader-election-id=other",
            on,
            "other",
        ),
        (
            "lock := &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Name: \"a\", Namespace: b}}\n\
             leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{Lock: lock})",
            "",
            on,
            "a",
        ),
        (
            "ctrl.Options{LeaderElection: elects(), LeaderElectionID: \"a\"}",
            "",
            on,
            "a",
        ),
    ] {
        let deployed = manager.replace("\"--metrics-bind-address=:8080\"", argument);
        let port = mini(&[(MAIN, code), (MANAGER, &deployed)]);
        let is_on = port.project.features.contains(&Feature::LeaderElection);
        assert_eq!(Some(is_on), expected, "{code} {argument}");
        let name = port
            .project
            .lease
            .as_ref()
            .map_or("", |lease| lease.as_str());
        assert_eq!(name, lease, "{code} {argument}");
    }
}

#[test]
fn leader_election_is_read_from_configuration_files_of_any_folder() {
    let main = "ctrl.NewManager(config, options)";
    let settings = "apiVersion: config.x.io/v1\nkind: Configuration\n\
                    leaderElection: {leaderElect: true, resourceName: held.x.io}\n";
    let map = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\ndata:\n  config.yaml: |\n    {}\n",
        settings.trim_end().replace('\n', "\n    ")
    );
    for (path, text) in [
        (
            "config/components/manager/controller_manager_config.yaml",
            settings,
        ),
        ("deploy/manager/config.yaml", settings),
        ("config/manager/settings.yaml", map.as_str()),
    ] {
        assert!(is_wanted(path));
        let port = mini(&[("cmd/main.go", main), (path, text)]);
        assert!(
            port.project.features.contains(&Feature::LeaderElection),
            "{path}"
        );
        assert_eq!(port.project.lease_name(), "held.x.io", "{path}");
    }
    let port = mini(&[("cmd/main.go", main), ("test/config.yaml", settings)]);
    assert_eq!(port.project.lease, None);
}

#[test]
fn what_leader_election_cannot_take_over_is_reported_once_with_its_place() {
    for (code, expected) in [
        (
            "ctrl.Options{\nLeaderElection: true,\nLeaderElectionID: \"mini\",\nLeaseDuration: ptr.To(30 * time.Second),\n}",
            "`LeaseDuration` of leader election, which is `ptr.To(30*time.Second)` in Go (`cmd/main.go:4`): add \
             `--leader-elect-lease-duration` to the arguments in `config/manager/manager.yaml`",
        ),
        (
            "ctrl.Options{LeaderElection: true, LeaderElectionID: \"mini\", LeaderElectionNamespace: \"leases\"}",
            "`LeaderElectionNamespace` of leader election, which is `leases` in Go (`cmd/main.go:1`): add \
             `--leader-elect-resource-namespace` to the arguments in `config/manager/manager.yaml`",
        ),
        (
            "ctrl.Options{LeaderElection: env.Bool(\"X\"), LeaderElectionID: \"mini\"}",
            "whether leader election is on: the Go code computes it by `env.Bool(\"X\")` (`cmd/main.go:1`); here it is on",
        ),
        (
            "ctrl.Options{LeaderElection: true, LeaderElectionID: name(x)}",
            "the name of the Lease: the Go code computes it by `name(x)` (`cmd/main.go:1`); set `lease` in PROJECT",
        ),
        (
            "ctrl.Options{LeaderElection: true, LeaderElectionID: \"mini\"}\n\
             func (r *Runner) NeedLeaderElection() bool { return false }",
            "`NeedLeaderElection`: code that may run in each replica (`cmd/main.go:2`)",
        ),
        (
            "import coordinationv1 \"k8s.io/api/coordination/v1\"\n\
             ctrl.Options{LeaderElection: true, LeaderElectionID: \"mini\"}\nlease := &coordinationv1.Lease{}",
            "the Leases that the Go code works with (`cmd/main.go:3`)",
        ),
        (
            "ctrl.Options{LeaderElection: true, LeaderElectionID: \"mini\"}\nlock, err := resourcelock.New(a, b)",
            "the leader election by client-go: here, each controller waits for the Lease (`cmd/main.go:2`)",
        ),
    ] {
        let port = mini(&[("cmd/main.go", code)]);
        assert!(
            port.project.features.contains(&Feature::LeaderElection),
            "{code}"
        );
        let mut lost = lost_about(&port, "lection");
        lost.extend(
            lost_about(&port, "Lease")
                .into_iter()
                .filter(|line| !line.contains("lection")),
        );
        assert_eq!(lost, [expected], "{code}");
    }
    let usual = "lease := VaultLease{LeaseDuration: response.LeaseDuration}\nctrl.Options{LeaderElection: true, \
        LeaderElectionID: \"mini\", LeaderElectionNamespace: \"mini-system\", LeaderElectionResourceLock: resourcelock.LeasesResourceLock, \
        LeaderElectionReleaseOnCancel: true}\nreleases := helm.Releases()";
    let port = mini(&[("cmd/main.go", usual)]);
    assert_eq!(
        (lost_about(&port, "lection"), lost_about(&port, "ease")),
        (vec![], vec![])
    );
    // Two names in one file.
    let code = "a(ctrl.Options{LeaderElectionID: \"b\"})\na(ctrl.Options{LeaderElectionID: \"a\"})";
    let expected = "the name of the Lease: the Go code has `a` (`cmd/main.go:2`) and `b` (`cmd/main.go:1`); set `lease` in \
        PROJECT to the right one";
    assert_eq!(
        lost_about(&mini(&[("cmd/main.go", code)]), "Lease"),
        [expected]
    );
}

/// The report about the small Go project.
#[test]
fn the_report_about_a_small_project_is_complete() {
    let report = texts(&mini(&[])).remove(REPORT).unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go-mini.md");
    if std::env::var_os("SNAPSHOTS").is_some_and(|value| value == "overwrite") {
        fs::write(&file, report.content()).unwrap();
    }
    assert_eq!(report, fs::read_to_string(file).unwrap());
    for line in lost(&mini(&[])).lines().filter(|line| !line.is_empty()) {
        let place = line
            .strip_prefix("- [ ] `config/")
            .and_then(|line| line.split_once("`: "));
        let number = place.and_then(|(place, _)| place.split_once(".yaml:"));
        assert!(
            number.is_some_and(|(_, number)| number.parse::<u32>().is_ok()),
            "{line}"
        );
    }
}

#[test]
fn hidden_characters_of_names_are_escaped_in_the_report() {
    let code = "internal/controller/book_controller.go";
    let odd = "\u{1b}[2J\u{202e}";
    for (path, before, after) in [
        (code, "\"shelf.\"", "\"shelfODD.\""),
        (code, "Named(\"book\")", "Named(\"bookODD\")"),
        (
            code,
            "client.FieldOwner(r.Owner)",
            "client.FieldOwner(\"booksODD\")",
        ),
        (
            code,
            "client.FieldOwner(r.Owner)",
            "client.FieldOwner(owner(\"ODD\"))",
        ),
        ("cmd/main.go", "\"-lock.\"", "\"-lockODD.\""),
        (
            "config/crd/bases/shelf.example.com_books.yaml",
            "kind: Book\n",
            "kind: \"BookODD\"\n",
        ),
    ] {
        let text = with(path, before, &after.replace("ODD", odd));
        let report = texts(&read(&[(path, Some(&text))]).unwrap())
            .remove(REPORT)
            .unwrap();
        assert_eq!(report.find(|c| is_hidden(c) && c != '\n'), None, "{report}");
    }
}

#[test]
fn only_rendered_files_and_the_report_get_texts() {
    let port = read(&[]).unwrap();
    let rendered = render(&port.project).unwrap().texts;
    let others: Vec<_> = texts(&port)
        .into_keys()
        .filter(|path| !rendered.contains_key(path))
        .collect();
    assert_eq!(others, [REPORT]);
}

/// Texts that a hostile file may have in any place.
const ODD: [&str; 24] = [
    "\u{1b}[2J",
    "\u{202e}",
    "\0",
    "\"",
    "`",
    "'",
    "{",
    "}",
    "]",
    "(",
    "\n",
    "\n- ",
    "\n  ",
    ": ",
    "#",
    "//",
    "*/",
    "%s",
    "../../",
    "&a [*a, *a]",
    "| |",
    "é",
    "Default",
    "-----------------------------------------------------------------",
];

/// A mutation of one of the files.
#[derive(Debug, Clone)]
enum Mutation {
    Cut(Index, Index, Index),
    Repeat(Index, Index, Index),
    Insert(Index, Index, &'static str),
    Replace(Index, Index, Index),
}

fn mutations() -> impl Strategy<Value = Mutation> {
    let place = any::<Index>;
    prop_oneof![
        (place(), place(), place()).prop_map(|(file, a, b)| Mutation::Cut(file, a, b)),
        (place(), place(), place()).prop_map(|(file, a, b)| Mutation::Repeat(file, a, b)),
        (place(), place(), proptest::sample::select(ODD.to_vec()))
            .prop_map(|(file, at, text)| Mutation::Insert(file, at, text)),
        (place(), place(), place()).prop_map(|(file, a, b)| Mutation::Replace(file, a, b)),
    ]
}

impl Mutation {
    fn make(&self, files: &mut BTreeMap<String, String>) {
        let paths: Vec<_> = files.keys().cloned().collect();
        let (Self::Cut(file, ..)
        | Self::Repeat(file, ..)
        | Self::Insert(file, ..)
        | Self::Replace(file, ..)) = self;
        let text = files.get_mut(file.get(&paths)).unwrap();
        match self {
            Self::Cut(_, a, b) => text.replace_range(range(text, *a, *b), ""),
            Self::Repeat(_, a, b) => {
                let range = range(text, *a, *b);
                let again = text[range.clone()].to_owned();
                text.insert_str(range.end, &again);
            }
            Self::Insert(_, at, odd) => text.insert_str(range(text, *at, *at).start, odd),
            // Replaces a word by another word of the file.
            Self::Replace(_, a, b) => {
                let words: Vec<_> = text.split_whitespace().collect();
                if !words.is_empty() {
                    let (from, to) = (*a.get(&words), *b.get(&words));
                    *text = text.replacen(from, to, 1);
                }
            }
        }
    }
}

/// At most forty characters between two places of `text`.
fn range(text: &str, a: Index, b: Index) -> Range<usize> {
    let places: Vec<_> = text
        .char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .collect();
    let start = a.index(places.len());
    let length = b.index(40).min(places.len() - 1 - start);
    places[start]..places[start + length]
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn text_of_a_go_project_is_data_and_never_code(mutations in vec(mutations(), 1..8)) {
        let mut files = go_project();
        for mutation in &mutations {
            mutation.make(&mut files.texts);
        }
        let Ok(port) = Port::read(files, "../go") else { return Ok(()) };
        let text = port.project.to_text().unwrap();
        prop_assert_eq!(&Project::parse(&text).unwrap(), &port.project);

        let rendered = render(&port.project).unwrap().texts;
        let (texts, _) = texts_and_notes(&port);
        for (path, text) in &texts {
            // The texts of a CRD are data, and stay unchanged.
            let is_crd = path.contains("/bases/") || path.contains("/crds/");
            let mut chars = text.chars().filter(|_| !is_crd);
            let hidden = chars.find(|c| is_hidden(*c) && *c != '\n' && *c != '\t');
            prop_assert_eq!(hidden, None, "{}", path);
            prop_assert!(path == REPORT || rendered.contains_key(path), "{}", path);
            if path::is_file_of("yaml", path) && !path.starts_with("charts/") {
                prop_assert!(yaml::documents(text).is_ok(), "{}: {}", path, text);
            }
            if path.starts_with("src/") && rendered[path] != *text {
                is_formatted(text);
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn a_name_of_each_length_is_formatted_like_rustfmt(
        length in prop_oneof![40..70_usize, 90..110_usize, 3..318_usize],
    ) {
        // The part after the slash has at most 63 characters, and the part before it 253.
        let after = (length - 2).min(63);
        let after = after - (length - after) % 2;
        let before = "x.".repeat((length - after) / 2 - 1);
        let name = format!("{before}x/{}", "a".repeat(after));
        prop_assert_eq!(name.len(), length);
        let manager = &name[length.saturating_sub(128)..];
        let code = format!(
            "controllerutil.AddFinalizer(foo, \"{name}\")\nclient.FieldOwner(\"{manager}\")"
        );
        let port = mini(&[(CONTROLLER, &controller(&code))]);
        let text = &texts(&port)["src/controller/g/foo.rs"];
        prop_assert_eq!(finalizer_of_foo(&port), Some(name.clone()));
        let constant = format!("\"{manager}\";\n");
        prop_assert!(text.contains(&constant), "{}", text);
        is_formatted(text);
    }
}

/// A name that is part of many words, or a random one.
fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(vec![
            "a",
            "be",
            "e",
            "on",
            "system",
            "kube",
            "kube-system",
            "namespace",
            "webhook",
            "s-s",
        ])
        .prop_map(str::to_owned),
        "[a-z]([a-z0-9-]{0,8}[a-z0-9])?",
    ]
}

/// The files of the project that replaces the Go project with these names. The Go project has webhooks for a kind of
/// Kubernetes: its files name `kube-system`.
fn files_of(name: &str, namespace: &str) -> Texts {
    let pod =
        "- core: true\n  group: core\n  kind: Pod\n  version: v1\n  webhooks: {defaulting: true}\n";
    let project = with(
        "PROJECT",
        "projectName: library",
        &format!("projectName: {}", json(name)),
    )
    .replace("resources:\n", &format!("resources:\n{pod}"));
    let default = format!("namespace: {}\nnamePrefix: {name}-\n", json(namespace));
    let changes = [
        ("PROJECT", Some(project.as_str())),
        ("config/default/kustomization.yaml", Some(&default)),
    ];
    let port = read(&changes).unwrap();
    assert_eq!(port.project.project_name.as_str(), name);
    all_files(&port)
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn only_what_means_the_namespace_has_it(
        name in names(),
        // Another namespace is left out. Projects do not make those of Kubernetes, so their files differ in more.
        namespace in names().prop_filter("a namespace that a project makes", |name| {
            let is_of_kubernetes = name == "default" || name.starts_with("kube-");
            name.parse::<NamespaceName>().is_ok() && !is_of_kubernetes
        }),
    ) {
        const MARK: &str = "zq-namespace-zq";
        let marked = files_of(&name, MARK);
        let found = files_of(&name, &namespace);
        prop_assert!(marked["src/webhook/core/pod.rs"].contains("\"kube-system\""));
        prop_assert!(marked["config/default/kustomization.yaml"].contains(MARK));
        prop_assert!(marked.keys().eq(found.keys()));
        for (path, marked) in &marked {
            prop_assert_eq!(&found[path], &marked.replace(MARK, &namespace), "{}", path);
        }
    }
}
