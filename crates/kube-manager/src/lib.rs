#![doc = include_str!("../README.md")]
//! # Features
//!
//! - `runtime`, enabled by default: everything but `source`.
//! - `webhook`: admission and conversion, in the module `webhook`.
//! - `testing`: helpers for the tests of users' webhooks, such as `Hub::assert_lossless`.
//! - `source`: the text of the crate's own files, for tools that write them into projects.
#![cfg_attr(
    not(feature = "runtime"),
    allow(rustdoc::broken_intra_doc_links, reason = "they are about the runtime")
)]

#[cfg(feature = "runtime")]
mod runtime;
#[cfg(feature = "source")]
pub mod source;

#[cfg(feature = "runtime")]
pub use runtime::*;
