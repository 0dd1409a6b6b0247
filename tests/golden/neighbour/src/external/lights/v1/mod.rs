// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! Version v1 of group lights.example.org, of another project.

// One module for each kind.
pub mod lamp;
pub mod switch;
// End of the kinds.

// The type of each kind. The module of the kind has its other types.
pub use lamp::Lamp;
pub use switch::Switch;
// End of the types.
