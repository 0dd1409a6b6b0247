// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! Version v1 of group shop.example.com.

// One module for each kind.
pub mod lantern;
pub mod order;
// End of the kinds.

// The type of each kind. The module of the kind has its other types.
pub use lantern::Lantern;
pub use order::Order;
// End of the types.
