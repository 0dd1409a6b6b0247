// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of group example.com.

// One module for each controller.
pub mod guestbook;
// End of the controllers.
