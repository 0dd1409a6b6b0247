// SPDX-FileCopyrightText: The owner authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of group shop.

// One module for each kind.
pub mod book;
pub mod event;
pub mod shelf;
// End of the kinds.
