// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! Version v1 of group sea.example.com.

// One module for each kind.
mod person;
mod ship;
mod type_;
// End of the kinds.

// The types of each kind.
pub use person::*;
pub use ship::*;
pub use type_::*;
// End of the types.
