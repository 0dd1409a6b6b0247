// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of group toys.

// One module for each controller.
pub mod http_box;
pub mod paint;
pub mod widget;
// End of the controllers.
