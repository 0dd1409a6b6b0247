// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! Converts Ship from v1beta1 to v1, the hub, and back. Edit this file: when a type
//! changes, the compiler names each field that is missing here.
//!
//! - Write the code for differences: a field with another name, a value in another unit, one field that becomes two.
//! - Replace a value that the other version does not have by the nearest value that it has. The operator keeps the old
//!   value in an annotation, and restores it in the conversion back, unless a client has changed the field.
//! - Write `field: _` for a field that the other version does not have. The operator keeps its value in the same way.
//! - Use `TryFrom` if a value cannot be converted to a valid one. A client that writes such an object gets the error. If
//!   the object is stored already, each list in the other version fails.

use crate::api::sea::v1::ship as hub;

use crate::api::sea::v1beta1::ship as spoke;

impl From<spoke::ShipSpec> for hub::ShipSpec {
    fn from(value: spoke::ShipSpec) -> Self {
        let spoke::ShipSpec { title } = value;
        Self { title }
    }
}

impl From<hub::ShipSpec> for spoke::ShipSpec {
    fn from(value: hub::ShipSpec) -> Self {
        let hub::ShipSpec { title } = value;
        Self { title }
    }
}

impl From<spoke::ShipStatus> for hub::ShipStatus {
    fn from(value: spoke::ShipStatus) -> Self {
        let spoke::ShipStatus {
            observed_generation,
            conditions,
        } = value;
        Self {
            observed_generation,
            conditions,
        }
    }
}

impl From<hub::ShipStatus> for spoke::ShipStatus {
    fn from(value: hub::ShipStatus) -> Self {
        let hub::ShipStatus {
            observed_generation,
            conditions,
        } = value;
        Self {
            observed_generation,
            conditions,
        }
    }
}
