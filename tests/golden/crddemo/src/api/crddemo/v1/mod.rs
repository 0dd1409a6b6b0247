// SPDX-FileCopyrightText: The crddemo authors
// SPDX-License-Identifier: Apache-2.0

//! Version v1 of group crddemo.k8s.io.

// One module for each kind.
pub mod mydemo;
// End of the kinds.

// The type of each kind. The module of the kind has its other types.
pub use mydemo::Mydemo;
// End of the types.
