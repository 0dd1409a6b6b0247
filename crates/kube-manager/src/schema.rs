//! Schemas of CustomResourceDefinitions, made from Rust types.
//!
//! Rust's types are richer than the schemas that Kubernetes takes. [`structural`](structural()) is a transform of
//! schemars that turns what it can into a schema of Kubernetes: a line above the spec and one above the status is
//! enough, since it sees the whole tree of their types.
//!
//! ```
//! use kube::{CustomResource, KubeSchema};
//! use kube_manager::schema::{self, TypedCrd};
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
//! #[kube(group = "example.com", version = "v1", kind = "Site", namespaced)]
//! #[schemars(transform = kube_manager::schema::structural)]
//! pub struct SiteSpec {
//!     pub source: Source,
//! }
//!
//! #[derive(JsonSchema, Clone, Debug, Deserialize, Serialize)]
//! #[serde(tag = "kind", rename_all = "lowercase")]
//! pub enum Source {
//!     Git { url: String },
//!     Inline { text: String },
//! }
//!
//! assert!(schema::check(&[Site::typed_crd()]).is_ok());
//! ```
//!
//! # Unions
//!
//! An enum with data becomes one object with the fields of all variants. CEL rules say which variant has which field, and
//! the API server refuses a field that the chosen variant lacks. A rule that refuses can be given up later; to begin to
//! refuse would break objects that exist.
//!
//! serde fills the defaults of a variant's fields, not the API server, which would write them into the objects of the
//! other variants.
//!
//! # What has no schema
//!
//! The transform marks a place for which no schema exists, and [`check`](check()) reports it with the ways out. The
//! attribute `#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]` opens a place for any value instead.

mod cel;
mod cel_type;
mod check;
mod crd;
mod expression;
mod fit;
mod functions;
mod integer;
mod keys;
mod mark;
mod overflow;
mod pattern;
mod rule;
mod structural;
mod subresource;
#[cfg(feature = "schema-testing")]
#[rustfmt::skip]
pub mod testing;
mod types;
mod union;

pub use check::{Faults, check, collect};
pub use crd::{Crd, TypedCrd};
#[cfg(feature = "webhook")]
pub(crate) use fit::fits;
pub use structural::structural;
pub use subresource::without_subresource;

#[cfg(any(test, feature = "testing"))]
pub(crate) use cel::{field as field_in_rule, read_text, text as text_in_rule};
#[cfg(any(test, feature = "testing"))]
pub(crate) use keys::{RULES, pattern_of_keys};

#[cfg(all(feature = "testing", feature = "webhook"))]
pub(crate) use keys::{any_in, is_union};

#[cfg(test)]
mod tests;
