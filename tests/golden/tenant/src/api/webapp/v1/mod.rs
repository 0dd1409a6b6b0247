// SPDX-FileCopyrightText: The tenant authors
// SPDX-License-Identifier: Apache-2.0

//! Version v1 of group webapp.example.com.

// One module for each kind.
pub mod guestbook;
pub mod shelf;
// End of the kinds.

// The type of each kind. The module of the kind has its other types.
pub use guestbook::Guestbook;
pub use shelf::Shelf;
// End of the types.
