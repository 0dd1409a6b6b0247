// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! Version v1beta1 of group sea.example.com.

// One module for each kind.
pub mod ship;
pub mod type_;
// End of the kinds.

// One module for each kind that is converted.
mod ship_conversion;
// End of the conversions.

// The type of each kind. The module of the kind has its other types.
pub use ship::Ship;
pub use type_::Type;
// End of the types.
