// SPDX-FileCopyrightText: The crddemo authors
// SPDX-License-Identifier: Apache-2.0

//! Tests of the operator on a real API server, with the permissions that `make deploy` gives it.
//! `make setup-envtest` fetches an API server; without one, these tests are listed as ignored.

#![cfg(feature = "operator")]

mod control_plane;

mod controller {
    // One module for each group, and in it one for each of its controllers.
    mod crddemo {
        mod mydemo;
    }
    // End of the groups.
}
