//! Runs controllers and the services that they share.
//!
//! The files form four layers, and a file imports nothing from a layer above its own:
//!
//! - testing: `testing/`, which tests of controllers use
//! - top: this file, `manager.rs`, `manager/` and `options.rs`
//! - extensions: `webhook/`, and `storage.rs` and `versions.rs` for several versions of a kind
//! - core: all other files
//!
//! Each extension is a feature. A copy of the crate in a project lacks the files of features that the project does not
//! use. rustfmt refuses a module without a file, so it skips these modules.

mod access;
mod action;
#[cfg(any(test, feature = "testing"))]
#[rustfmt::skip]
mod arbitrary;
mod backoff;
mod builder;
mod changes;
mod child;
pub mod children;
mod closures;
pub mod condition;
mod context;
mod controller;
mod diagnosis;
mod difference;
mod digest;
mod events;
mod extension;
mod failure;
mod flags;
mod health;
mod host;
mod immutable;
mod informer;
mod leader;
mod manager;
mod manifests;
mod metrics;
mod name;
mod object;
mod objects;
mod operator;
mod options;
mod owned;
mod proxy;
mod queue;
pub mod rbac;
mod readiness;
mod reads;
mod reconciler;
mod reference;
mod requests;
mod scope;
mod serve;
mod services;
mod settled;
mod status;
mod status_in_object;
#[cfg(feature = "versions")]
#[rustfmt::skip]
mod storage;
mod task;
#[cfg(any(test, feature = "testing"))]
#[rustfmt::skip]
pub mod testing;
mod tie;
mod trigger;
#[cfg(any(feature = "versions", feature = "webhook"))]
mod trouble;
#[cfg(feature = "versions")]
#[rustfmt::skip]
mod versions;
mod watch;
mod watched;
#[cfg(feature = "webhook")]
#[rustfmt::skip]
pub mod webhook;
mod workers;
mod written;

pub use action::{Action, Cleanup};
pub use builder::Builder;
pub use child::{Child, Recreate};
pub use children::Children;
pub use context::Context;
pub use failure::message;
pub use manager::Manager;
pub use objects::Objects;
pub use operator::Operator;
pub use options::Options;
/// The crate of the metrics. Its types are part of the interface of this crate.
pub use prometheus;
pub use readiness::Readiness;
pub use reconciler::Reconciler;
pub use scope::{MayOwn, Scope, Watchable};
pub use task::{Replicas, Task};
pub use trigger::Trigger;
pub use watched::{Watched, Watches};
