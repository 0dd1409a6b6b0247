// SPDX-FileCopyrightText: The cache authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of group cache.

// One module for each controller.
pub mod busybox;
pub mod front_end;
pub mod memcached;
pub mod pool;
// End of the controllers.
