// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! The neighbour operator.
//!
//! `api` holds its types, and `controller` what is done about them. The crate `kube-manager` has what
//! every controller needs to run. Without the feature `operator`, the types are all there is.

pub mod api;
#[cfg(feature = "operator")]
pub mod cli;
#[cfg(feature = "operator")]
pub mod controller;
#[cfg(feature = "operator")]
pub mod external;
#[cfg(feature = "operator")]
pub mod webhook;
