// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: Apache-2.0

//! The controllers of group core.

// One module for each controller.
pub mod match_;
pub mod node;
pub mod pod;
// End of the controllers.
