// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! How Guestbook of v1 becomes one of v1beta1, the hub, and back. It is yours to edit: when a
//! type changes, the compiler names each field that is missing here.
//!
//! - Write out what differs: a field with another name, a value in another unit, one field that becomes two.
//! - A value that the other version lacks becomes the nearest one that it has. The operator keeps the value that was
//!   there in an annotation, and puts it back on the way back, unless a client has changed the field since.
//! - A field that the other version lacks is taken apart as `field: _`. The operator keeps it in the same way.
//! - Where a value cannot become a valid one at all, make the function a `TryFrom`. Its error tells the client why,
//!   and lists of such objects fail: so do that for nothing that can be stored.

use super::GuestbookSpec as Spec;
use super::GuestbookStatus as Status;
use crate::api::example_com::v1beta1::GuestbookSpec as HubSpec;
use crate::api::example_com::v1beta1::GuestbookStatus as HubStatus;

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
