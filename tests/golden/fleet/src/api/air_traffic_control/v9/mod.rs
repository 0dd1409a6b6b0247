// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! Version v9 of group air-traffic.control.example.com.

// One module for each kind.
pub mod http_route;
// End of the kinds.

// The type of each kind. The module of the kind has its other types.
pub use http_route::HTTPRoute;
// End of the types.
