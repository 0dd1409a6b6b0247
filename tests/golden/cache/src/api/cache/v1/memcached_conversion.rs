// SPDX-FileCopyrightText: The cache authors
// SPDX-License-Identifier: Apache-2.0

//! Converts Memcached from v1 to v1alpha1, the hub, and back. Edit this file: when a type
//! changes, the compiler names each field that is missing here.
//!
//! - Write the code for differences: a field with another name, a value in another unit, one field that becomes two.
//! - Replace a value that the other version does not have by the nearest value that it has. The operator keeps the old
//!   value in an annotation, and restores it in the conversion back, unless a client has changed the field.
//! - Write `field: _` for a field that the other version does not have. The operator keeps its value in the same way.
//! - Use `TryFrom` if a value cannot be converted to a valid one. The error tells the client why, but also makes every
//!   list with such an object fail, so never return it for a value that can be stored.

use super::MemcachedSpec as Spec;
use super::MemcachedStatus as Status;
use crate::api::cache::v1alpha1::MemcachedSpec as HubSpec;
use crate::api::cache::v1alpha1::MemcachedStatus as HubStatus;

impl From<Spec> for HubSpec {
    fn from(spec: Spec) -> Self {
        let Spec {
            size,
            container_port,
        } = spec;
        Self {
            size,
            container_port,
        }
    }
}

impl From<HubSpec> for Spec {
    fn from(spec: HubSpec) -> Self {
        let HubSpec {
            size,
            container_port,
        } = spec;
        Self {
            size,
            container_port,
        }
    }
}

impl From<Status> for HubStatus {
    fn from(status: Status) -> Self {
        let Status {
            observed_generation,
            conditions,
        } = status;
        Self {
            observed_generation,
            conditions,
        }
    }
}

impl From<HubStatus> for Status {
    fn from(status: HubStatus) -> Self {
        let HubStatus {
            observed_generation,
            conditions,
        } = status;
        Self {
            observed_generation,
            conditions,
        }
    }
}
