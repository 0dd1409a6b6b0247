// SPDX-FileCopyrightText: The owner authors
// SPDX-License-Identifier: Apache-2.0

//! Version v1 of group press.example.com.

// One module for each kind.
pub mod page;
// End of the kinds.

// The type of each kind. The module of the kind has its other types.
pub use page::Page;
// End of the types.
