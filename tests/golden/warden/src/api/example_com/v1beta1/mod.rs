// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! Version v1beta1 of group example.com.

// One module for each kind.
mod guestbook;
// End of the kinds.

// The types of each kind.
pub use guestbook::*;
// End of the types.
