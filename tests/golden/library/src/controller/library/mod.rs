// SPDX-FileCopyrightText: The library authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of group library.

// One module for each controller.
pub mod book;
pub mod shelf;
// End of the controllers.
