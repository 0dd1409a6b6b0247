// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! The controllers of group on.

// One module for each controller.
pub mod yes;
// End of the controllers.
