// SPDX-FileCopyrightText: The a-project-with-a-rather-long-name authors
// SPDX-License-Identifier: Apache-2.0

//! Group a-group-of-26-characters-it.a-rather-long-domain.example.com.

// One module for each version.
pub mod v1alpha1;
pub mod v1beta1;
// End of the versions.
