// SPDX-FileCopyrightText: The cache authors
// SPDX-License-Identifier: Apache-2.0

//! The controller of Pool: write your code here. After a change of `RULES`, run
//! `make manifests`.

use k8s_openapi::api::events;
use kube::{
    ResourceExt,
    api::ObjectMeta,
    runtime::{events::EventType, reflector::ObjectRef},
};
use kube_manager::{
    Action, Children, Context, Reconciler, children, condition,
    rbac::{Rule, Verb},
};

use crate::api::cache::v1::pool::*;

// The kinds that this controller uses.
use crate::api::cache::v1alpha1::Memcached;

/// Brings the cluster to the desired state of each Pool.
pub struct Controller {
    // One field for each kind that it owns.
    memcacheds: Children<Memcached, Pool>,
    // End of the kinds.
}

/// Why a reconcile failed. It is logged, and retried with an increasing backoff.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Children(#[from] children::Error),
    #[error("cannot write the status")]
    WriteStatus(#[source] kube::Error),
}

impl Reconciler for Controller {
    type Object = Pool;
    type Error = Error;

    const NAME: &'static str = "pool.cache.example.com";

    const RULES: &'static [Rule] = &[
        Rule::of::<Pool>(&[Verb::List, Verb::Watch]),
        Rule::sub::<Pool>("status", &[Verb::Update]),
        // For owned objects: read, create, correct and delete.
        Rule::of::<Memcached>(children::VERBS),
        // A repeated event is patched, not created again.
        Rule::of::<events::v1::Event>(&[Verb::Create, Verb::Patch]),
    ];

    async fn reconcile(&self, object: &Pool, context: &Context) -> Result<Action, Error> {
        // Your work goes here: compare the cluster with `object.spec` and change what differs. It
        // must be safe to do again, because this runs after each start and each change.

        let applied = self.apply(object).await;
        let status = observe(object, &applied);
        let written = context.write_status(object, &status).await;
        let ready = matches!(applied, Ok(kube_manager::Readiness::Ready));
        if written.map_err(Error::WriteStatus)?.is_some() && ready {
            let note = "Desired state reached";
            context.event(object, EventType::Normal, "Reconciled", note);
        }
        applied?;
        Ok(Action::await_change())
    }

    async fn deleted(&self, object: &ObjectRef<Pool>, _context: &Context) {
        tracing::info!(name = object.name, namespace = object.namespace, "is gone");
    }
}

impl Controller {
    /// Declares the kinds that the controller uses.
    pub fn new(builder: &mut kube_manager::Builder<Pool>) -> Self {
        Self {
            // One field for each kind that it owns.
            memcacheds: builder.owns(),
            // End of the kinds.
        }
    }

    /// Applies the objects that the functions below return. Returns whether all of them are ready.
    async fn apply(
        &self,
        // The owner of these objects.
        object: &Pool,
    ) -> Result<kube_manager::Readiness, children::Error> {
        let mut readiness = kube_manager::Readiness::Ready;
        // For each kind, all desired objects: owned objects that are not in this list are deleted.
        let all = [memcached(object)];
        let all = self.memcacheds.apply(object, all).await?;
        readiness.include(&all);
        // End of the kinds.
        Ok(readiness)
    }
}

/// The desired Memcached of `object`. `apply` sets `object` as its owner.
fn memcached(object: &Pool) -> Memcached {
    Memcached {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            ..ObjectMeta::default()
        },
        // Set the fields of `spec` here: the API server may refuse the default values.
        ..Memcached::default()
    }
}

/// Computes the status from the observed state. Sends no request, so that it can be tested without
/// a cluster.
fn observe(
    object: &Pool,
    // Whether all owned objects have the desired state and are ready.
    applied: &Result<kube_manager::Readiness, children::Error>,
) -> PoolStatus {
    let mut status = object.status.clone().unwrap_or_default();
    status.observed_generation = object.metadata.generation;
    let ready = match applied {
        Ok(kube_manager::Readiness::Ready) => {
            condition::new_true(object, "Ready", "Reconciled", "Desired state reached")
        }
        Ok(waits) => condition::new_false(object, "Ready", waits.reason(), waits.message()),
        Err(error) => {
            let message = kube_manager::message(error);
            condition::new_false(object, "Ready", error.reason(), message)
        }
    };
    condition::set(&mut status.conditions, ready);
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Pool {
        let text = include_str!(
            // What `kubectl apply -k config/samples` creates.
            "../../../config/samples/cache_v1_pool.yaml"
        );
        kube_manager::schema::testing::sample(text)
    }

    #[test]
    fn what_is_owned_has_the_name_of_its_owner() {
        let object = sample();
        let name = &object.metadata.name;
        let owned = memcached(&object);
        assert_eq!(owned.metadata.name, *name);
    }

    #[test]
    fn an_object_becomes_ready_in_its_generation() {
        let mut object = sample();
        object.metadata.generation = Some(3);
        let applied = Ok(kube_manager::Readiness::Ready);
        let status = observe(&object, &applied);
        assert_eq!(status.observed_generation, Some(3));
        assert_eq!(status.conditions[0].type_, "Ready");
        assert_eq!(status.conditions[0].status, "True");
        assert_eq!(status.conditions[0].observed_generation, Some(3));
    }

    #[test]
    fn with_nothing_new_the_status_stays_as_it_is() {
        let mut object = sample();
        let applied = Ok(kube_manager::Readiness::Ready);
        object.status = Some(observe(&object, &applied));
        assert_eq!(object.status, Some(observe(&object, &applied)));
    }

    #[test]
    fn an_object_is_not_ready_before_what_it_owns() {
        let waits = kube_manager::Readiness::Progressing("has no Pods".to_owned());
        let status = observe(&sample(), &Ok(waits));
        assert_eq!(status.conditions[0].status, "False");
        assert_eq!(status.conditions[0].reason, "Progressing");
    }

    #[test]
    fn an_object_is_not_ready_without_what_it_owns() {
        let kind = "Memcached".to_owned();
        let error = children::Error::NotOwned(kind);
        let status = observe(&sample(), &Err(error));
        assert_eq!(status.conditions[0].status, "False");
        assert_eq!(status.conditions[0].reason, "NotOwned");
    }
}
