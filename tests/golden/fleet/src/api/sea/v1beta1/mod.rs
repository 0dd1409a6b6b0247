// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! Version v1beta1 of group sea.example.com.

// One module for each kind.
mod ship;
mod type_;
// End of the kinds.

// One module for each kind that is converted.
mod ship_conversion;
// End of the conversions.

// The types of each kind.
pub use ship::*;
pub use type_::*;
// End of the types.
