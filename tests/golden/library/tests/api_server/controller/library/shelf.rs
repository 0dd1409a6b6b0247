// SPDX-FileCopyrightText: The library authors
// SPDX-License-Identifier: Apache-2.0

//! The controller of Shelf, on a real API server.

use kube::{ResourceExt, api, runtime::wait::conditions::is_deleted};
use kube_manager::testing::faults::Faults;

use library::api::library::v1::Shelf;
use library::controller::library::shelf::Controller;

use crate::{API_SERVER, CONTROL_PLANE};

fn sample() -> Shelf {
    let text = include_str!(
        // What `kubectl apply -k config/samples` creates.
        "../../../../config/samples/library_v1_shelf.yaml"
    );
    kube_manager::schema::testing::sample(text)
}

#[tokio::test]
#[ignore = "needs an API server: `make setup-envtest` fetches one"]
async fn a_sample_is_reconciled() {
    let client = CONTROL_PLANE.client().await;
    let objects: api::Api<Shelf> = api::Api::all(client);
    // A unique name, because other tests may use the same sample.
    let name = "test-library-shelf";
    let mut object = sample();
    object.metadata.name = Some(name.to_owned());
    let created = objects.create(&api::PostParams::default(), &object).await;
    let created = created.expect("an API server that takes the sample");
    let uid = created.uid().expect("a UID");

    CONTROL_PLANE.wait_for_reconcile(&created).await;

    let deleted = objects.delete(name, &api::DeleteParams::default()).await;
    deleted.expect("an API server that deletes it");
    CONTROL_PLANE
        .wait(&objects, name, "is deleted", is_deleted(&uid))
        .await;
}

/// Runs the controller with a fault in each run: `make test-faults` tries all of them. If the sample refers to
/// other objects, add them with `with_object`.
#[tokio::test]
#[ignore = "needs an API server: `make setup-envtest` fetches one"]
async fn faults_do_not_change_the_result() {
    Faults::new(sample(), |manager| manager.add(Controller::new))
        .run(&API_SERVER)
        .await;
}
