//! All integration tests, in one binary: one link instead of many, and they share a control plane.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test ends where something fails"
)]

mod adopt;
mod branches;
mod builtin;
mod children;
mod cli;
mod docs;
mod edits;
mod end_to_end;
mod envtest;
mod faults;
mod from_go;
mod golden;
mod grafana;
mod helm;
mod http;
mod kill;
mod leader;
mod library;
mod manifests;
mod node;
mod operator;
mod project;
mod proxy;
mod removal;
mod scaffold;
mod serving;
mod settings;
mod tutorials;
mod update;
mod workflows;
