// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! Group air-traffic.control.example.com.

// One module for each version.
pub mod v10;
pub mod v1alpha1;
pub mod v9;
// End of the versions.
