#![doc = include_str!("../README.md")]

#[cfg(feature = "runtime")]
mod runtime;
#[cfg(feature = "schema")]
pub mod schema;

#[cfg(feature = "runtime")]
pub use runtime::*;
