// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! Version v1 of group shop.example.com.

// One module for each kind.
mod lantern;
mod order;
// End of the kinds.

// The types of each kind.
pub use lantern::*;
pub use order::*;
// End of the types.
