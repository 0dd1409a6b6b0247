//! The tests that need neither a cluster nor a compiler, in one binary, so that the linker runs only once. The package
//! `operators` has the other tests.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test ends where something fails"
)]

mod adopt;
mod bench;
mod branches;
mod builtin;
#[path = "../src/cases.rs"]
mod cases;
mod cli;
mod contributing;
mod dashboard;
mod dockerfile;
mod docs;
mod document;
mod edits;
mod golden;
mod golden_projects;
mod help;
mod hostile;
mod inputs;
mod kill;
mod layers;
mod losses;
mod make;
mod merges;
mod newer_crds;
mod notes;
mod obstacles;
mod parallel;
mod project;
mod recording;
mod release;
mod removal;
mod retyped;
mod rows;
mod runtime;
mod scaffold;
mod scale;
mod scripts;
mod sequences;
mod settings;
mod typed;
mod update;
mod wildcards;
mod workflows;
