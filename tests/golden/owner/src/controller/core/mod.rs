// SPDX-FileCopyrightText: The owner authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of group core.

// One module for each controller.
pub mod namespace;
// End of the controllers.
