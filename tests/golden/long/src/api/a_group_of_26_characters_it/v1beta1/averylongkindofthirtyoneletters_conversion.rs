// SPDX-FileCopyrightText: The a-project-with-a-rather-long-name authors
// SPDX-License-Identifier: Apache-2.0

//! Converts Averylongkindofthirtyoneletters from v1beta1 to v1alpha1, the hub, and back. Edit this file: when a type
//! changes, the compiler names each field that is missing here.
//!
//! - Write the code for differences: a field with another name, a value in another unit, one field that becomes two.
//! - Replace a value that the other version does not have by the nearest value that it has. The operator keeps the old
//!   value in an annotation, and restores it in the conversion back, unless a client has changed the field.
//! - Write `field: _` for a field that the other version does not have. The operator keeps its value in the same way.
//! - Use `TryFrom` if a value cannot be converted to a valid one. The error tells the client why, but also makes every
//!   list with such an object fail, so never return it for a value that can be stored.

use super::AverylongkindofthirtyonelettersSpec as Spec;
use super::AverylongkindofthirtyonelettersStatus as Status;
use crate::api::a_group_of_26_characters_it::v1alpha1::AverylongkindofthirtyonelettersSpec as HubSpec;
use crate::api::a_group_of_26_characters_it::v1alpha1::AverylongkindofthirtyonelettersStatus as HubStatus;

impl From<Spec> for HubSpec {
    fn from(spec: Spec) -> Self {
        let Spec { title } = spec;
        Self { title }
    }
}

impl From<HubSpec> for Spec {
    fn from(spec: HubSpec) -> Self {
        let HubSpec { title } = spec;
        Self { title }
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
