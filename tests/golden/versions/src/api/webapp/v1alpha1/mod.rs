// SPDX-FileCopyrightText: The versions authors
// SPDX-License-Identifier: Apache-2.0

//! Version v1alpha1 of group webapp.example.com.

// One module for each kind.
pub mod guestbook;
// End of the kinds.

// One module for each kind that is converted.
mod guestbook_conversion;
// End of the conversions.

// The type of each kind. The module of the kind has its other types.
pub use guestbook::Guestbook;
// End of the types.
