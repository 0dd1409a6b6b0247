// SPDX-FileCopyrightText: The owner authors
// SPDX-License-Identifier: Apache-2.0

//! Version v1 of group press.example.com.

// One module for each kind.
mod page;
// End of the kinds.

// The types of each kind.
pub use page::*;
// End of the types.
