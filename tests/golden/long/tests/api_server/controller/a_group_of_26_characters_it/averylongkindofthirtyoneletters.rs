// SPDX-FileCopyrightText: The a-project-with-a-rather-long-name authors
// SPDX-License-Identifier: Apache-2.0

//! The controller of Averylongkindofthirtyoneletters, on a real API server.

use kube::{ResourceExt, api, runtime::wait::conditions::is_deleted};
use kube_manager::testing::faults::Faults;

use a_project_with_a_rather_long_name::api::a_group_of_26_characters_it::v1alpha1::Averylongkindofthirtyoneletters;
use a_project_with_a_rather_long_name::controller::a_group_of_26_characters_it::averylongkindofthirtyoneletters::Controller;

use crate::{API_SERVER, CONTROL_PLANE};

fn sample() -> Averylongkindofthirtyoneletters {
    let text = include_str!(
        // What `kubectl apply -k config/samples` creates.
        "../../../../config/samples/a-group-of-26-characters-it_v1alpha1_averylongkindofthirtyoneletters.yaml"
    );
    kube_manager::schema::testing::sample(text)
}

/// Whether the controller has created what the sample asks for. The sample does not become ready, because an API server
/// alone runs no Pods and has no volumes.
fn is_reconciled(object: Option<&Averylongkindofthirtyoneletters>) -> bool {
    let status = object.and_then(|object| object.status.as_ref());
    let conditions = status.map(|status| status.conditions.as_slice());
    let mut conditions = conditions.into_iter().flatten();
    let ready = "Ready";
    conditions.any(|condition| condition.type_ == ready && condition.reason == "Progressing")
}

#[tokio::test]
#[ignore = "needs an API server: `make setup-envtest` fetches one"]
async fn a_sample_is_reconciled() {
    let client = CONTROL_PLANE.client().await;
    let objects: api::Api<Averylongkindofthirtyoneletters> = api::Api::default_namespaced(client);
    // A unique name, because other tests may use the same sample.
    let name = "test-a-group-of-26-c-averylongkindofthirtyoneletters";
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

/// Runs the controller with a fault in each run: `make test-faults` tries all of them. If the sample refers to
/// other objects, add them with `with_object`.
#[tokio::test]
#[ignore = "needs an API server: `make setup-envtest` fetches one"]
async fn faults_do_not_change_the_result() {
    Faults::new(sample(), |manager| manager.add(Controller::new))
        .run(&API_SERVER)
        .await;
}
