// SPDX-FileCopyrightText: The library authors
// SPDX-License-Identifier: Apache-2.0

//! Version v1 of group library.example.com.

// One module for each kind.
pub mod book;
pub mod shelf;
// End of the kinds.

// The type of each kind. The module of the kind has its other types.
pub use book::Book;
pub use shelf::Shelf;
// End of the types.
