//! Tests of what rscaffold generates: they compile and run operators, install charts with Helm, and follow the
//! tutorials. All tests are in one binary, so that they share a control plane and the build folders, `target/projects`.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test ends where something fails"
)]

mod admission;
mod adopt;
mod by_url;
mod certificates;
mod certmanager;
mod children;
mod cleanup;
mod comparison;
mod compile;
mod crds;
#[path = "../../crates/kube-manager/src/runtime/difference.rs"]
mod difference;
mod docs;
#[path = "../document.rs"]
mod document;
mod doors;
mod end_to_end;
mod externals;
mod faults;
mod from_go;
mod golden;
#[path = "../golden_projects.rs"]
mod golden_projects;
mod grafana;
mod helm;
#[path = "../help.rs"]
mod help;
mod http;
mod image;
mod known_bugs;
mod kubebuilder;
mod kustomize;
mod leader;
mod library;
#[path = "../losses.rs"]
mod losses;
mod manifests;
mod migration;
mod node;
mod operator;
mod package;
mod port;
#[expect(dead_code, reason = "the tests of the command line use all of it")]
#[path = "../project.rs"]
mod project;
mod proxy;
mod random;
mod random_crds;
mod reconciler;
mod release;
mod retyped;
mod rights;
#[path = "../scaffold.rs"]
mod scaffold;
mod schemas;
mod sequences;
mod serving;
mod setup_envtest;
#[path = "../../crates/kube-manager/src/schema/tests/shapes.rs"]
mod shapes;
mod sharing;
mod status_in_object;
mod tls;
mod two_servers;
mod types;
mod versions;
mod watching;
mod webhook_input;
#[path = "../wildcards.rs"]
mod wildcards;
mod workflows;
