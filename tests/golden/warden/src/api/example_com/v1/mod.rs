// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! Version v1 of group example.com.

// One module for each kind.
mod guestbook;
// End of the kinds.

// One module for each kind that is converted.
mod guestbook_conversion;
// End of the conversions.

// The types of each kind.
pub use guestbook::*;
// End of the types.
