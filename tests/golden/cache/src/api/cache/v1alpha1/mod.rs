// SPDX-FileCopyrightText: The cache authors
// SPDX-License-Identifier: Apache-2.0

//! Version v1alpha1 of group cache.example.com.

// One module for each kind.
mod memcached;
// End of the kinds.

// The types of each kind.
pub use memcached::*;
// End of the types.
