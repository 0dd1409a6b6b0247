// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! Version v1 of group shop.example.com.

// One module for each kind.
mod order;
// End of the kinds.

// The types of each kind.
pub use order::*;
// End of the types.
