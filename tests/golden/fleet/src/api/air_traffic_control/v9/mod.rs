// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! Version v9 of group air-traffic.control.example.com.

// One module for each kind.
mod http_route;
// End of the kinds.

// The types of each kind.
pub use http_route::*;
// End of the types.
