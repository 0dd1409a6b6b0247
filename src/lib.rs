//! Scaffolding as a control loop: `PROJECT` is the desired state, and the work tree is the observed state. Every
//! command changes `PROJECT` and reconciles the work tree with it.
//!
//! The modules are listed in the order in which a command uses them.

pub mod cli;
pub mod command;

// edit: the desired state
pub mod names;
pub mod project;

// render: desired state -> files
pub mod render;

// import: a CRD or a Go project -> desired state, values for templates
pub mod crd;
pub mod from_crd;
pub mod port;

// reconcile: files -> plan -> disk
pub mod engine;

// How much tests try
#[cfg(test)]
mod cases;

// Rust code as data, YAML, hints of errors, limits, and escapes for invisible characters
pub mod hint;
pub mod limits;
mod rust;
pub mod visible;
pub(crate) mod yaml;
