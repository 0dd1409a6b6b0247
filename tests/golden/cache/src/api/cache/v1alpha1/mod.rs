// SPDX-FileCopyrightText: The cache authors
// SPDX-License-Identifier: Apache-2.0

//! Version v1alpha1 of group cache.example.com.

// One module for each kind.
pub mod memcached;
// End of the kinds.

// The type of each kind. The module of the kind has its other types.
pub use memcached::Memcached;
// End of the types.
