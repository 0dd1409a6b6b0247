// SPDX-FileCopyrightText: The tenant authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of group webapp.

// One module for each controller.
pub mod backup;
pub mod guestbook;
// End of the controllers.
