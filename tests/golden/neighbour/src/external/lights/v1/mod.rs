// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! Version v1 of group lights.example.org, of another project.

// One module for each kind.
mod lamp;
mod switch;
// End of the kinds.

// The types of each kind.
pub use lamp::*;
pub use switch::*;
// End of the types.
