// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! The fleet operator.
//!
//! `api` has the types, and `controller` the controllers. The crate `kube-manager` runs them.
//! Without the feature `operator`, this crate has only the types.

pub mod api;
#[cfg(feature = "operator")]
pub mod cli;
#[cfg(feature = "operator")]
pub mod controller;
#[cfg(feature = "operator")]
pub mod webhook;
