// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of group lights.

// One module for each controller.
pub mod lamp;
pub mod switch;
// End of the controllers.
