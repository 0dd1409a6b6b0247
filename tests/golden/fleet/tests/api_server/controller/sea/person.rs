// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! The controller of Person, on a real API server.

use kube::{ResourceExt, api, runtime::wait::conditions::is_deleted};
use kube_manager::testing::faults::Faults;

use fleet_operator::api::sea::v1::Person;
use fleet_operator::controller::sea::person::Controller;

use crate::{API_SERVER, CONTROL_PLANE};

fn sample() -> Person {
    let text = include_str!(
        // What `kubectl apply -k config/samples` creates.
        "../../../../config/samples/sea_v1_person.yaml"
    );
    kube_manager::schema::testing::sample(text)
}

/// Whether the controller has reported that the desired state is reached.
fn is_reconciled(object: Option<&Person>) -> bool {
    let status = object.and_then(|object| object.status.as_ref());
    let conditions = status.map(|status| status.conditions.as_slice());
    let mut conditions = conditions.into_iter().flatten();
    let ready = "Ready";
    conditions.any(|condition| condition.type_ == ready && condition.status == "True")
}

#[tokio::test]
#[ignore = "needs an API server: `make setup-envtest` fetches one"]
async fn a_sample_is_reconciled() {
    let client = CONTROL_PLANE.client().await;
    let objects: api::Api<Person> = api::Api::default_namespaced(client);
    // A unique name, because other tests may use the same sample.
    let name = "test-sea-person";
    let mut object = sample();
    object.metadata.name = Some(name.to_owned());
    let created = objects.create(&api::PostParams::default(), &object).await;
    let uid = created.expect("an object that fits").uid().expect("a UID");

    CONTROL_PLANE
        .wait(&objects, name, "is reconciled", is_reconciled)
        .await;

    let deleted = objects.delete(name, &api::DeleteParams::default()).await;
    deleted.expect("an API server that deletes it");
    CONTROL_PLANE
        .wait(&objects, name, "is deleted", is_deleted(&uid))
        .await;
}

/// Runs the controller with a fault in each run: `make test-faults` tries all of them.
#[tokio::test]
#[ignore = "needs an API server: `make setup-envtest` fetches one"]
async fn faults_do_not_change_the_result() {
    Faults::new(sample(), |manager| manager.add(Controller::new))
        .run(&API_SERVER)
        .await;
}
