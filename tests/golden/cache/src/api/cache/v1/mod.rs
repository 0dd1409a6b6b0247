// SPDX-FileCopyrightText: The cache authors
// SPDX-License-Identifier: Apache-2.0

//! Version v1 of group cache.example.com.

// One module for each kind.
mod busybox;
mod memcached;
mod pool;
mod proxy;
// End of the kinds.

// One module for each kind that is converted.
mod memcached_conversion;
// End of the conversions.

// The types of each kind.
pub use busybox::*;
pub use memcached::*;
pub use pool::*;
pub use proxy::*;
// End of the types.
