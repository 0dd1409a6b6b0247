// SPDX-FileCopyrightText: The versions authors
// SPDX-License-Identifier: Apache-2.0

//! Group webapp.example.com.

// One module for each version.
pub mod v1;
pub mod v1alpha1;
pub mod v1beta1;
// End of the versions.
