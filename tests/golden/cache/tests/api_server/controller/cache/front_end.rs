// SPDX-FileCopyrightText: The cache authors
// SPDX-License-Identifier: Apache-2.0

//! The controller `front-end` of Proxy, on a real API server.

use kube::{ResourceExt, api, runtime::wait::conditions::is_deleted};
use kube_manager::testing::faults::Faults;

use cache::api::cache::v1::Proxy;
use cache::controller::cache::front_end::Controller;

use crate::{API_SERVER, CONTROL_PLANE};

fn sample() -> Proxy {
    let text = include_str!(
        // What `kubectl apply -k config/samples` creates.
        "../../../../config/samples/cache_v1_proxy.yaml"
    );
    kube_manager::schema::testing::sample(text)
}

/// Whether the controller has created what the sample asks for. The sample does not become ready, because an API server
/// alone runs no Pods and has no volumes.
fn is_reconciled(object: Option<&Proxy>) -> bool {
    let status = object.and_then(|object| object.status.as_ref());
    let conditions = status.map(|status| status.conditions.as_slice());
    let mut conditions = conditions.into_iter().flatten();
    let ready = "FrontEndReady";
    conditions.any(|condition| condition.type_ == ready && condition.reason == "Progressing")
}

#[tokio::test]
#[ignore = "needs an API server: `make setup-envtest` fetches one"]
async fn a_sample_is_reconciled() {
    let client = CONTROL_PLANE.client().await;
    let objects: api::Api<Proxy> = api::Api::default_namespaced(client);
    // A unique name, because other tests may use the same sample.
    let name = "test-cache-front-end";
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
