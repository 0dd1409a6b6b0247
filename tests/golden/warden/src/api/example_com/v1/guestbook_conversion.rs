// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! Converts Guestbook from v1 to v1beta1, the hub, and back. Edit this file: when a type
//! changes, the compiler names each field that is missing here.
//!
//! - Write the code for differences: a field with another name, a value in another unit, one field that becomes two.
//! - Replace a value that the other version does not have by the nearest value that it has. The operator keeps the old
//!   value in an annotation, and restores it in the conversion back, unless a client has changed the field.
//! - Write `field: _` for a field that the other version does not have. The operator keeps its value in the same way.
//! - Use `TryFrom` if a value cannot be converted to a valid one. A client that writes such an object gets the error. If
//!   the object is stored already, each list in the other version fails.

use crate::api::example_com::v1beta1::guestbook as hub;

use crate::api::example_com::v1::guestbook as spoke;

impl From<spoke::GuestbookSpec> for hub::GuestbookSpec {
    fn from(value: spoke::GuestbookSpec) -> Self {
        let spoke::GuestbookSpec { title } = value;
        Self { title }
    }
}

impl From<hub::GuestbookSpec> for spoke::GuestbookSpec {
    fn from(value: hub::GuestbookSpec) -> Self {
        let hub::GuestbookSpec { title } = value;
        Self { title }
    }
}

impl From<spoke::GuestbookStatus> for hub::GuestbookStatus {
    fn from(value: spoke::GuestbookStatus) -> Self {
        let spoke::GuestbookStatus {
            observed_generation,
            conditions,
        } = value;
        Self {
            observed_generation,
            conditions,
        }
    }
}

impl From<hub::GuestbookStatus> for spoke::GuestbookStatus {
    fn from(value: hub::GuestbookStatus) -> Self {
        let hub::GuestbookStatus {
            observed_generation,
            conditions,
        } = value;
        Self {
            observed_generation,
            conditions,
        }
    }
}
