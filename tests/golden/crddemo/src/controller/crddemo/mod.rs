// SPDX-FileCopyrightText: The crddemo authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of group crddemo.

// One module for each controller.
pub mod mydemo;
// End of the controllers.
