// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! Version v1 of group sea.example.com.

// One module for each kind.
mod person;
mod ship;
// End of the kinds.

// The types of each kind.
pub use person::*;
pub use ship::*;
// End of the types.
