// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! Version v1alpha1 of group air-traffic.control.example.com.

// One module for each kind.
pub mod ship;
// End of the kinds.

// The type of each kind. The module of the kind has its other types.
pub use ship::Ship;
// End of the types.
