// SPDX-FileCopyrightText: The tenant authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of group webapp.

// One module for each kind.
pub mod guestbook;
// End of the kinds.
