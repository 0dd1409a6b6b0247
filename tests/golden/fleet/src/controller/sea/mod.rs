// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! The controllers of group sea.

// One module for each controller.
pub mod person;
pub mod ship;
pub mod type_;
// End of the controllers.
