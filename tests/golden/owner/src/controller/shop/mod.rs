// SPDX-FileCopyrightText: The owner authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of group shop.

// One module for each controller.
pub mod book;
pub mod event;
pub mod nightly_index;
pub mod shelf;
// End of the controllers.
