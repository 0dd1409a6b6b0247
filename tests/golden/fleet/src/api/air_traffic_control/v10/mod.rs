// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! Version v10 of group air-traffic.control.example.com.

// One module for each kind.
pub mod policy;
// End of the kinds.

// The type of each kind. The module of the kind has its other types.
pub use policy::Policy;
// End of the types.
