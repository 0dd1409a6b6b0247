// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of group shop.

// One module for each controller.
pub mod lantern;
pub mod order;
// End of the controllers.
