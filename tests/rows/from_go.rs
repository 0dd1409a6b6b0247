//! The table of docs/commands.md about `init --from`: what a project takes over from an operator in Go.

use std::{fs, process::Command};

use super::rows;
use crate::{
    document::{code, read, section},
    project::Project,
    scaffold::{root, run},
};

/// A folder with the project of tests/go, which has more features and settings of the Deployment.
fn go() -> Project {
    let go = Project::new(&[]);
    let original = root().join("tests/go/.");
    run(Command::new("cp").arg("-r").arg(original).arg(go.folder()));
    go.replace(
        "PROJECT",
        "plugins:\n",
        "plugins:\n  autoupdate.kubebuilder.io/v1-alpha: {}\n  grafana.kubebuilder.io/v1-alpha: {}\n",
    );
    for folder in ["certmanager", "network-policy"] {
        let line = format!("- ../{folder}");
        go.replace(
            "config/default/kustomization.yaml",
            &format!("#{line}"),
            &line,
        );
        go.write(
            &format!("config/{folder}/kustomization.yaml"),
            "resources: []\n",
        );
    }
    let list = "resources:\n";
    let file = "config/rbac/kustomization.yaml";
    go.replace(file, list, &format!("{list}- book_viewer_role.yaml\n"));
    go.write(
        "config/rbac/book_viewer_role.yaml",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n\
         metadata:\n  name: book-viewer-role\nrules: []\n",
    );
    let file = "config/manager/manager.yaml";
    go.replace(file, "replicas: 1", "replicas: 3");
    go.replace(
        file,
        "image: controller:latest",
        "image: registry.example.com/library:1",
    );
    go
}

#[test]
fn what_a_project_takes_over_from_one_in_go() {
    let page = read("docs/commands.md");
    let go = go();
    let project = Project::new(&[&format!(
        "init --runtime registry --from {}",
        go.folder().display()
    )]);
    let file = project.read("PROJECT");
    for row in rows(section(&page, "### From an operator in Go")) {
        let [what, _, fields] = row[..] else {
            panic!("{row:?}");
        };
        for field in code(fields) {
            assert!(file.contains(&format!("{field}:")), "{field}: {file}");
        }
        let expected: &[(&str, &str)] = match what {
            "domain, repository, name" => &[
                ("PROJECT", "\ndomain: example.com\n"),
                ("PROJECT", "\nrepo: example.com/me/library\n"),
                ("PROJECT", "\nprojectName: library\n"),
            ],
            "kinds, versions, scope, plural, short names, types" => &[
                ("PROJECT", "    namespaced: true\n    types: given\n"),
                ("PROJECT", "  plural: books\n  shortNames:\n  - bk\n"),
                ("PROJECT", "  version: v1beta1\n"),
                ("src/api/shelf/v1/book.rs", "pub title: String,"),
            ],
            "controllers, webhooks with their settings, kinds of Kubernetes and of other projects" => {
                &[
                    ("src/controller/shelf/book.rs", "type Object = Book;"),
                    ("src/controller/core/namespace.rs", "for Controller"),
                    (
                        "src/controller/cert_manager/certificate.rs",
                        "for Controller",
                    ),
                    ("PROJECT", "    validationPath: /check/books\n"),
                ]
            }
            "the hub of a conversion, and [its code](crds.md#conversion-between-versions)" => &[
                ("PROJECT", "    spoke:\n    - v1beta1\n"),
                ("src/api/shelf/v1beta1/room_conversion.rs", "Room"),
            ],
            what if what.starts_with("features: ") => {
                for feature in code(what) {
                    assert!(
                        file.contains(&format!("\n- {feature}\n")),
                        "{feature}: {file}"
                    );
                }
                &[]
            }
            "license" => &[("PROJECT", "\nlicense: mit\n")],
            "whether it is namespaced" => &[],
            "`RULES` of the controllers" => &[(
                "src/controller/shelf/book.rs",
                "Rule::of::<k8s_openapi::api::core::v1::ConfigMap>(&[",
            )],
            "samples that fit their schema" => &[
                ("config/samples/shelf_v1_book.yaml", "name: hamlet"),
                ("config/samples/shelf_v1_book.yaml", "pages: 342"),
            ],
            "whether leader election is on, and the name of the Lease" => &[
                ("PROJECT", "\n- leader-election\n"),
                ("PROJECT", "\nlease: library-lock.example.com\n"),
            ],
            "finalizers" => &[("PROJECT", "  finalizerName: shelf.example.com/return\n")],
            "field managers" => &[("PROJECT", "  fieldManager: library-books\n")],
            "watched kinds, if they are kinds of Kubernetes or of the project" => {
                &[("PROJECT", "  watches:\n  - v1/Secret\n")]
            }
            "the namespace" => &[("PROJECT", "\nnamespace: books\n")],
            "the labels and the selector of the Deployment" => &[
                ("PROJECT", "  labels:\n    team: readers\n"),
                (
                    "PROJECT",
                    "  selector:\n    control-plane: controller-manager\n",
                ),
            ],
            "replicas, image, variables, volumes, resources and other settings of the Deployment" => {
                &[
                    ("config/manager/manager.yaml", "replicas: 3\n"),
                    ("Makefile", "registry.example.com/library"),
                    ("charts/library/values.yaml", "replicas: 3\n"),
                ]
            }
            other => panic!("{other}"),
        };
        for (path, text) in expected {
            let found = fs::read_to_string(project.folder().join(path)).unwrap_or_default();
            assert!(found.contains(text), "{what}: {path}: {text}:\n{found}");
        }
    }
}
