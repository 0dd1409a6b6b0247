// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! The neighbour operator.
//!
//! `api` holds its types, `controller` what is done about them, and `manager` what every controller
//! needs to run.

pub mod api;
pub mod cli;
pub mod controller;
pub mod manager;
