// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! The controllers of group air-traffic.control.

// One module for each controller.
pub mod http_route;
pub mod policy;
pub mod ship;
// End of the controllers.
