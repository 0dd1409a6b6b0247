// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! Tests of the operator on a real API server, with the permissions that `make deploy` gives it.
//! `make setup-envtest` fetches an API server; without one, these tests are listed as ignored.

#![cfg(feature = "operator")]

mod control_plane;

mod controller {
    // One module for each group, and in it one for each of its controllers.
    mod air_traffic_control {
        mod http_route;
        mod policy;
        mod ship;
    }
    mod on {
        mod yes;
    }
    mod sea {
        mod person;
        mod ship;
        mod type_;
    }
    // End of the groups.
}
