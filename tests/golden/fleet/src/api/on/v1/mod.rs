// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! Version v1 of group on.example.com.

// One module for each kind.
mod yes;
// End of the kinds.

// The types of each kind.
pub use yes::*;
// End of the types.
