// SPDX-FileCopyrightText: The cache authors
// SPDX-License-Identifier: Apache-2.0

//! Group cache.example.com.

// One module for each version.
pub mod v1;
pub mod v1alpha1;
// End of the versions.
