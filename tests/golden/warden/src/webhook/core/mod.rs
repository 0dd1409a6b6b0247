// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of group core.

// One module for each kind.
pub mod pod;
// End of the kinds.
