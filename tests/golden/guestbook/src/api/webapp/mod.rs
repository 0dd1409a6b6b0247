// SPDX-FileCopyrightText: The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! Group webapp.com.

// One module for each version.
pub mod v1;
// End of the versions.
