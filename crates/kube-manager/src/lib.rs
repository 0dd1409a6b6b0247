#![doc = include_str!("../README.md")]
//! # Features
//!
//! - `runtime`, enabled by default: everything that an operator needs.
//! - `schema`: schemas of CustomResourceDefinitions, made from Rust types, in the module `schema`. `runtime` has it, too.
//! - `versions`: several versions of a kind, with a check of their schemas and the migration of stored objects.
//! - `webhook`: admission and conversion, in the module `webhook`.
//! - `testing`: an API server and faults for the tests of users' controllers, in the module `testing`; and arbitrary
//!   objects for the tests of users' conversions: `Hub::assert_lossless`.
//! - `schema-testing`: an evaluator of CEL rules for the tests of users' types, in the module `schema::testing`.
//! - `source`: the text of the crate's own files, for tools that write them into projects.
#![cfg_attr(
    not(feature = "runtime"),
    allow(rustdoc::broken_intra_doc_links, reason = "they are about the runtime")
)]

#[cfg(feature = "runtime")]
mod runtime;
#[cfg(feature = "schema")]
pub mod schema;
#[cfg(feature = "source")]
pub mod source;

#[cfg(feature = "runtime")]
pub use runtime::*;

// The modules that rustfmt skips where they are declared, because a copy of the crate may lack them. Here, rustfmt finds
// them, and rustc does not.
#[cfg(any())]
#[path = "runtime/arbitrary.rs"]
mod arbitrary;
#[cfg(any())]
#[path = "runtime/manager/api_docs.rs"]
mod manager_api_docs;
#[cfg(any())]
#[path = "runtime/manager/webhooks.rs"]
mod manager_webhooks;
#[cfg(any())]
#[path = "schema/testing.rs"]
mod schema_testing;
#[cfg(any())]
#[path = "runtime/storage.rs"]
mod storage;
#[cfg(any())]
#[path = "runtime/testing/mod.rs"]
mod testing;
#[cfg(any())]
#[path = "runtime/versions.rs"]
mod versions;
#[cfg(any())]
#[path = "runtime/webhook/mod.rs"]
mod webhook;
