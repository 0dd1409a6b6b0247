// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! What the operator does on a real API server, under the role that `make deploy` gives it. `make
//! envtest` says where to get one; without it, these tests are listed as ignored.

#![cfg(feature = "operator")]

mod control_plane;

// One module for each controller.
mod air_traffic_control_http_route;
mod air_traffic_control_policy;
mod air_traffic_control_ship;
mod on_yes;
mod sea_person;
mod sea_ship;
mod sea_type_;
// End of the controllers.
