// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! The types of kinds that other projects define: a module for each group, with a module for each version.

// One module for each group.
pub mod lights;
// End of the groups.
