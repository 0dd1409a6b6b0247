// SPDX-FileCopyrightText: The a-project-with-a-rather-long-name authors
// SPDX-License-Identifier: Apache-2.0

//! Tests of the operator on a real API server, with the permissions that `make deploy` gives it.
//! `make setup-envtest` fetches an API server; without one, these tests are listed as ignored.

#![cfg(feature = "operator")]

use std::sync::LazyLock;

use kube_manager::testing::ControlPlane;

mod controller {
    // One module for each group, and in it one for each of its controllers.
    mod a_group_of_26_characters_it {
        mod averylongkindofthirtyoneletters;
    }
    // End of the groups.
}

/// An API server with the operator on it. The first test starts both, and all tests share them.
static CONTROL_PLANE: LazyLock<ControlPlane> = LazyLock::new(|| {
    ControlPlane::start(env!("CARGO_TARGET_TMPDIR"))
        .deploy(
            concat!(env!("CARGO_MANIFEST_DIR"), "/config/default"),
            "a-project-with-a-rather-long-name-system",
        )
        .run(
            // As the Deployment runs it, but for what needs a Pod.
            env!("CARGO_BIN_EXE_a-project-with-a-rather-long-name"),
            "a-project-with-a-rather-long-name-controller-manager",
            &["--webhooks=false"],
        )
});

/// An API server without the operator: the tests of faults run the controllers in this program.
static API_SERVER: LazyLock<ControlPlane> = LazyLock::new(|| {
    ControlPlane::start(env!("CARGO_TARGET_TMPDIR")).deploy(
        concat!(env!("CARGO_MANIFEST_DIR"), "/config/default"),
        "a-project-with-a-rather-long-name-system",
    )
});
