// SPDX-FileCopyrightText: The crddemo authors
// SPDX-License-Identifier: Apache-2.0

//! Group crddemo.k8s.io.

// One module for each version.
pub mod v1;
// End of the versions.
