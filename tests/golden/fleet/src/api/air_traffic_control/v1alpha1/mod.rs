// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! Version v1alpha1 of group air-traffic.control.example.com.

// One module for each kind.
mod ship;
// End of the kinds.

// The types of each kind.
pub use ship::*;
// End of the types.
