// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! Group example.com.

// One module for each version.
pub mod v1;
pub mod v1beta1;
// End of the versions.
