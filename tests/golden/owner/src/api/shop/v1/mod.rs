// SPDX-FileCopyrightText: The owner authors
// SPDX-License-Identifier: Apache-2.0

//! Version v1 of group shop.example.com.

// One module for each kind.
pub mod book;
pub mod event;
pub mod page;
pub mod shelf;
// End of the kinds.

// The type of each kind. The module of the kind has its other types.
pub use book::Book;
pub use event::Event;
pub use page::Page;
pub use shelf::Shelf;
// End of the types.
