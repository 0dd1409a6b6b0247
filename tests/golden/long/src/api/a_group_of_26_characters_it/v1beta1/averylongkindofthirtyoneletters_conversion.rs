// SPDX-FileCopyrightText: The a-project-with-a-rather-long-name authors
// SPDX-License-Identifier: Apache-2.0

//! Converts Averylongkindofthirtyoneletters from v1beta1 to v1alpha1, the hub, and back. Edit this file: when a type
//! changes, the compiler names each field that is missing here.
//!
//! - Write the code for differences: a field with another name, a value in another unit, one field that becomes two.
//! - Replace a value that the other version does not have by the nearest value that it has. The operator keeps the old
//!   value in an annotation, and restores it in the conversion back, unless a client has changed the field.
//! - Write `field: _` for a field that the other version does not have. The operator keeps its value in the same way.
//! - Use `TryFrom` if a value cannot be converted to a valid one. A client that writes such an object gets the error. If
//!   the object is stored already, each list in the other version fails.

use crate::api::a_group_of_26_characters_it::v1alpha1::averylongkindofthirtyoneletters as hub;

use crate::api::a_group_of_26_characters_it::v1beta1::averylongkindofthirtyoneletters as spoke;

impl From<spoke::AverylongkindofthirtyonelettersSpec> for hub::AverylongkindofthirtyonelettersSpec {
    fn from(value: spoke::AverylongkindofthirtyonelettersSpec) -> Self {
        let spoke::AverylongkindofthirtyonelettersSpec { title } = value;
        Self { title }
    }
}

impl From<hub::AverylongkindofthirtyonelettersSpec> for spoke::AverylongkindofthirtyonelettersSpec {
    fn from(value: hub::AverylongkindofthirtyonelettersSpec) -> Self {
        let hub::AverylongkindofthirtyonelettersSpec { title } = value;
        Self { title }
    }
}

impl From<spoke::AverylongkindofthirtyonelettersStatus>
    for hub::AverylongkindofthirtyonelettersStatus
{
    fn from(value: spoke::AverylongkindofthirtyonelettersStatus) -> Self {
        let spoke::AverylongkindofthirtyonelettersStatus {
            observed_generation,
            conditions,
        } = value;
        Self {
            observed_generation,
            conditions,
        }
    }
}

impl From<hub::AverylongkindofthirtyonelettersStatus>
    for spoke::AverylongkindofthirtyonelettersStatus
{
    fn from(value: hub::AverylongkindofthirtyonelettersStatus) -> Self {
        let hub::AverylongkindofthirtyonelettersStatus {
            observed_generation,
            conditions,
        } = value;
        Self {
            observed_generation,
            conditions,
        }
    }
}
