// SPDX-FileCopyrightText: The owner authors
// SPDX-License-Identifier: Apache-2.0

//! The controller of Shelf: write your code here. After a change of `RULES`, run
//! `make manifests`.

use k8s_openapi::api::events;
use kube::{ResourceExt, api::ObjectMeta, runtime::events::EventType};
use kube_manager::{
    Action, Children, Context, Reconciler, children, condition,
    rbac::{Rule, Verb},
};

use crate::api::shop::v1::shelf::*;

// The kinds that this controller uses.
use crate::api::press::v1::Page as PressPage;
use crate::api::shop::v1::Page as ShopPage;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::core::v1::Secret;

/// Brings the cluster to the desired state of each Shelf.
pub struct Controller {
    // One field for each kind that it owns.
    press_pages: Children<PressPage, Shelf>,
    shop_pages: Children<ShopPage, Shelf>,
    namespaces: Children<Namespace, Shelf>,
    secrets: Children<Secret, Shelf>,
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
    type Object = Shelf;
    type Error = Error;

    const NAME: &'static str = "shelf.shop.example.com";

    const RULES: &'static [Rule] = &[
        Rule::of::<Shelf>(&[Verb::List, Verb::Watch]),
        Rule::sub::<Shelf>("status", &[Verb::Update]),
        // For the finalizer.
        Rule::of::<Shelf>(&[Verb::Patch]),
        // For owned objects: read, create, correct and delete.
        Rule::of::<PressPage>(children::VERBS),
        Rule::of::<ShopPage>(children::VERBS),
        Rule::of::<Namespace>(children::VERBS),
        Rule::of::<Secret>(children::VERBS),
        // A repeated event is patched, not created again.
        Rule::of::<events::v1::Event>(&[Verb::Create, Verb::Patch]),
    ];

    const FINALIZER: bool = true;

    async fn reconcile(&self, object: &Shelf, context: &Context) -> Result<Action, Error> {
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

    async fn cleanup(
        &self,
        object: &Shelf,
        context: &Context,
    ) -> Result<kube_manager::Cleanup, Error> {
        // Remove here what `object` would leave behind outside of the cluster. Like the work above,
        // it may be done again.
        let note = "Nothing is left behind";
        context.event(object, EventType::Normal, "CleanedUp", note);
        Ok(kube_manager::Cleanup::Done)
    }
}

impl Controller {
    /// Declares the kinds that the controller uses.
    pub fn new(builder: &mut kube_manager::Builder<Shelf>) -> Self {
        Self {
            // One field for each kind that it owns.
            press_pages: builder.owns(),
            shop_pages: builder.owns(),
            namespaces: builder.owns(),
            secrets: builder.owns(),
            // End of the kinds.
        }
    }

    /// Applies the objects that the functions below return. Returns whether all of them are ready.
    async fn apply(
        &self,
        // The owner of these objects.
        object: &Shelf,
    ) -> Result<kube_manager::Readiness, children::Error> {
        let mut readiness = kube_manager::Readiness::Ready;
        // For each kind, all desired objects: owned objects that are not in this list are deleted.
        let all = [press_page(object)];
        let all = self.press_pages.apply(object, all).await?;
        readiness.include(&all);
        let all = [shop_page(object)];
        let all = self.shop_pages.apply(object, all).await?;
        readiness.include(&all);
        let all = [namespace(object)];
        let all = self.namespaces.apply(object, all).await?;
        readiness.include(&all);
        let all = [secret(object)];
        let all = self.secrets.apply(object, all).await?;
        readiness.include(&all);
        // End of the kinds.
        Ok(readiness)
    }
}

/// The desired Page of `object`. `apply` sets `object` as its owner.
fn press_page(object: &Shelf) -> PressPage {
    PressPage {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            // The owner is cluster-scoped, so choose a namespace here.
            namespace: Some("default".to_owned()),
            ..ObjectMeta::default()
        },
        // Set the fields of `spec` here: the API server may refuse the default values.
        ..PressPage::default()
    }
}

/// The desired Page of `object`. `apply` sets `object` as its owner.
fn shop_page(object: &Shelf) -> ShopPage {
    ShopPage {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            // The owner is cluster-scoped, so choose a namespace here.
            namespace: Some("default".to_owned()),
            ..ObjectMeta::default()
        },
        // Set the fields of `spec` here: the API server may refuse the default values.
        ..ShopPage::default()
    }
}

/// The desired Namespace of `object`. `apply` sets `object` as its owner.
fn namespace(object: &Shelf) -> Namespace {
    Namespace {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            ..ObjectMeta::default()
        },
        // The rest of its content goes here.
        ..Namespace::default()
    }
}

/// The desired Secret of `object`. `apply` sets `object` as its owner.
fn secret(object: &Shelf) -> Secret {
    Secret {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            // The owner is cluster-scoped, so choose a namespace here.
            namespace: Some("default".to_owned()),
            ..ObjectMeta::default()
        },
        // The rest of its content goes here.
        ..Secret::default()
    }
}

/// Computes the status from the observed state. Sends no request, so that it can be tested without
/// a cluster.
fn observe(
    object: &Shelf,
    // Whether all owned objects have the desired state and are ready.
    applied: &Result<kube_manager::Readiness, children::Error>,
) -> ShelfStatus {
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

    fn sample() -> Shelf {
        let text = include_str!(
            // What `kubectl apply -k config/samples` creates.
            "../../../config/samples/shop_v1_shelf.yaml"
        );
        kube_manager::schema::testing::sample(text)
    }

    #[test]
    fn what_is_owned_has_the_name_of_its_owner() {
        let object = sample();
        let name = &object.metadata.name;
        let owned = press_page(&object);
        assert_eq!(owned.metadata.name, *name);
        let owned = shop_page(&object);
        assert_eq!(owned.metadata.name, *name);
        let owned = namespace(&object);
        assert_eq!(owned.metadata.name, *name);
        let owned = secret(&object);
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
        let kind = "Page".to_owned();
        let error = children::Error::NotOwned(kind);
        let status = observe(&sample(), &Err(error));
        assert_eq!(status.conditions[0].status, "False");
        assert_eq!(status.conditions[0].reason, "NotOwned");
    }
}
