// SPDX-FileCopyrightText: The cache authors
// SPDX-License-Identifier: Apache-2.0

//! Converts Memcached from v1 to v1alpha1, the hub, and back. Edit this file: when a type
//! changes, the compiler names each field that is missing here.
//!
//! - Write the code for differences: a field with another name, a value in another unit, one field that becomes two.
//! - Replace a value that the other version does not have by the nearest value that it has. The operator keeps the old
//!   value in an annotation, and restores it in the conversion back, unless a client has changed the field.
//! - Write `field: _` for a field that the other version does not have. The operator keeps its value in the same way.
//! - Use `TryFrom` if a value cannot be converted to a valid one. A client that writes such an object gets the error. If
//!   the object is stored already, each list in the other version fails.

use crate::api::cache::v1alpha1::memcached as hub;

use crate::api::cache::v1::memcached as spoke;

impl From<spoke::MemcachedSpec> for hub::MemcachedSpec {
    fn from(value: spoke::MemcachedSpec) -> Self {
        let spoke::MemcachedSpec {
            size,
            container_port,
        } = value;
        Self {
            size,
            container_port,
        }
    }
}

impl From<hub::MemcachedSpec> for spoke::MemcachedSpec {
    fn from(value: hub::MemcachedSpec) -> Self {
        let hub::MemcachedSpec {
            size,
            container_port,
        } = value;
        Self {
            size,
            container_port,
        }
    }
}

impl From<spoke::MemcachedStatus> for hub::MemcachedStatus {
    fn from(value: spoke::MemcachedStatus) -> Self {
        let spoke::MemcachedStatus {
            observed_generation,
            conditions,
        } = value;
        Self {
            observed_generation,
            conditions,
        }
    }
}

impl From<hub::MemcachedStatus> for spoke::MemcachedStatus {
    fn from(value: hub::MemcachedStatus) -> Self {
        let hub::MemcachedStatus {
            observed_generation,
            conditions,
        } = value;
        Self {
            observed_generation,
            conditions,
        }
    }
}
