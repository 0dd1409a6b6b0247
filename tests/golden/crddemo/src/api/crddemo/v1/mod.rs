// SPDX-FileCopyrightText: The crddemo authors
// SPDX-License-Identifier: Apache-2.0

//! Version v1 of group crddemo.k8s.io.

// One module for each kind.
mod mydemo;
// End of the kinds.

// The types of each kind.
pub use mydemo::*;
// End of the types.
