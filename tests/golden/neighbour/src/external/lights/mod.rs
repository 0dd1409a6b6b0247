// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! Group lights.example.org, of another project.

// One module for each version.
pub mod v1;
// End of the versions.
