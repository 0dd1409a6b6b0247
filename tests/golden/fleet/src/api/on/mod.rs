// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! Group on.example.com.

// One module for each version.
pub mod v1;
// End of the versions.
