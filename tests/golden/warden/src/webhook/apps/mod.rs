// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of group apps.

// One module for each kind.
pub mod deployment;
// End of the kinds.
