//! Runs Kubernetes operators, on top of [kube](https://kube.rs): what [controller-runtime] is for Go.
//!
//! A [`Reconciler`] brings the cluster to what one object asks for. A [`Manager`] calls it for each
//! object that changes, and does what all operators have in common: watches that recover, retries,
//! finalizers, owned objects, leader election, probes, metrics, and an orderly end.
//!
//! [controller-runtime]: https://pkg.go.dev/sigs.k8s.io/controller-runtime
//!
//! # Features
//!
//! - `runtime`, a default one: everything but `source`.
//! - `source`: the text of the crate's own files, for tools that write them into projects.
#![cfg_attr(
    not(feature = "runtime"),
    allow(rustdoc::broken_intra_doc_links, reason = "they are about the runtime")
)]

#[cfg(feature = "runtime")]
mod manager;
#[cfg(feature = "source")]
pub mod source;

#[cfg(feature = "runtime")]
pub use manager::*;
