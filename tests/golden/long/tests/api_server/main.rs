// SPDX-FileCopyrightText: The a-project-with-a-rather-long-name authors
// SPDX-License-Identifier: Apache-2.0

//! What the operator does on a real API server, under the role that `make deploy` gives it. `make
//! envtest` says where to get one; without it, these tests are listed as ignored.

#![cfg(feature = "operator")]

mod control_plane;

// One module for each controller.
mod a_group_of_26_characters_it_averylongkindofthirtythreeletters;
// End of the controllers.
