//! Scaffolding as a control loop: `PROJECT` is the desired state, the work tree the actual one, and every command
//! changes the first and reconciles the second with it.
//!
//! The modules stand in the order in which a command runs through them.

pub mod cli;
pub mod command;

// edit: the desired state
pub mod builtin;
pub mod crd;
pub mod names;
pub mod project;

// render: desired state -> files
pub mod render;
mod templates;

// reconcile: files -> plan
pub mod reconcile;
pub mod turn;

// apply: plan -> disk, and what the user sees of it
pub mod report;
pub mod worktree;

// what an error tells the user to do, and which characters the user can see
pub mod hint;
pub mod visible;
