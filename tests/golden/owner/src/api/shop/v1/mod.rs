// SPDX-FileCopyrightText: The owner authors
// SPDX-License-Identifier: Apache-2.0

//! Version v1 of group shop.example.com.

// One module for each kind.
mod book;
mod event;
mod page;
mod shelf;
// End of the kinds.

// The types of each kind.
pub use book::*;
pub use event::*;
pub use page::*;
pub use shelf::*;
// End of the types.
