// SPDX-FileCopyrightText: The library authors
// SPDX-License-Identifier: Apache-2.0

//! Version v1beta1 of group library.example.com.

// One module for each kind.
mod book;
// End of the kinds.

// The types of each kind.
pub use book::*;
// End of the types.
