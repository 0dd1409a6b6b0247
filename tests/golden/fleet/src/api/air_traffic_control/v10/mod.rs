// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! Version v10 of group air-traffic.control.example.com.

// One module for each kind.
mod policy;
// End of the kinds.

// The types of each kind.
pub use policy::*;
// End of the types.
