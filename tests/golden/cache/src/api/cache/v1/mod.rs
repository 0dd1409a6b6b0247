// SPDX-FileCopyrightText: The cache authors
// SPDX-License-Identifier: Apache-2.0

//! Version v1 of group cache.example.com.

// One module for each kind.
pub mod busybox;
pub mod memcached;
pub mod pool;
pub mod proxy;
// End of the kinds.

// One module for each kind that is converted.
mod memcached_conversion;
// End of the conversions.

// The type of each kind. The module of the kind has its other types.
pub use busybox::Busybox;
pub use memcached::Memcached;
pub use pool::Pool;
pub use proxy::Proxy;
// End of the types.
