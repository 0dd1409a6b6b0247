//! Conversion between the versions of a kind. The user's code converts between one version, the hub, and each other
//! version. This module does the rest: it converts between any two versions, and saves the values that a version cannot
//! hold.

mod annotations;
mod bound;
mod change;
#[cfg(any(test, feature = "testing"))]
mod check;
pub(super) mod conversions;
mod harmless;
pub(super) mod header;
mod hop;
pub(super) mod hub;
mod incomplete;
mod kind;
mod version;
mod worker;

#[cfg(test)]
mod tests;
