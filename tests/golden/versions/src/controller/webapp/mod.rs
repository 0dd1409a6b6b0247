// SPDX-FileCopyrightText: The versions authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of group webapp.

// One module for each controller.
pub mod guestbook;
// End of the controllers.
