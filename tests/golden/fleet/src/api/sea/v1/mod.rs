// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! Version v1 of group sea.example.com.

// One module for each kind.
pub mod person;
pub mod ship;
pub mod type_;
// End of the kinds.

// The type of each kind. The module of the kind has its other types.
pub use person::Person;
pub use ship::Ship;
pub use type_::Type;
// End of the types.
