// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: Apache-2.0

//! The controllers of group apps.

// One module for each controller.
pub mod deployment;
// End of the controllers.
