// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of group press.

// One module for each kind.
pub mod guestbook;
// End of the kinds.
