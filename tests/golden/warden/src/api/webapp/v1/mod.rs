// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! Version v1 of group webapp.example.com.

// One module for each kind.
pub mod guestbook;
// End of the kinds.

// The type of each kind. The module of the kind has its other types.
pub use guestbook::Guestbook;
// End of the types.
