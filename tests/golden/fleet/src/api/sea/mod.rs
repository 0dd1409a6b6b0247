// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! Group sea.example.com.

// One module for each version.
pub mod v1;
pub mod v1alpha1;
pub mod v1beta1;
pub mod v2;
// End of the versions.
