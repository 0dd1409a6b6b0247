// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! The controllers of group on.

// One module for each kind.
pub mod yes;
// End of the kinds.
