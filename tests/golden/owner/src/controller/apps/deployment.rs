// SPDX-FileCopyrightText: The owner authors
// SPDX-License-Identifier: Apache-2.0

//! The controller of Deployment: write your code here. After a change of `RULES`, run
//! `make manifests`.

use std::collections::BTreeMap;

use kube::{ResourceExt, api::ObjectMeta, runtime::reflector::ObjectRef};
use kube_manager::{
    Action, Children, Context, Reconciler, children,
    rbac::{Rule, Verb},
};

// The kinds that this controller uses.
use crate::api::press::v1::Page;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::storage::v1::StorageClass;

/// Creates the objects that each Deployment owns.
pub struct Controller {
    // One field for each kind that it owns.
    pages: Children<Page, Deployment>,
    services: Children<Service, Deployment>,
    // End of the kinds.
    // One field for each kind that its objects refer to.
    storage_classes: kube_manager::Watched<StorageClass>,
    // End of these kinds.
}

impl Reconciler for Controller {
    type Object = Deployment;
    type Error = children::Error;

    const NAME: &'static str = "deployment.apps.owner.example.com";

    const RULES: &'static [Rule] = &[
        // For the watch.
        Rule::of::<Deployment>(&[Verb::List, Verb::Watch]),
        // For the finalizer.
        Rule::of::<Deployment>(&[Verb::Patch]),
        // For owned objects: read, create, correct and delete.
        Rule::of::<Page>(children::VERBS),
        Rule::of::<Service>(children::VERBS),
        // For the objects that are referred to: read.
        Rule::of::<StorageClass>(&[Verb::List, Verb::Watch]),
        // End of what it owns.
    ];

    // Each Deployment that the operator watches gets the finalizer, and cannot be deleted while no operator runs.
    // `builder.labels(..)` in `new` limits the controller to some objects.
    const FINALIZER: bool = true;

    // A change of the status also causes a reconcile. Remove this line if only this controller writes the status.
    const EVERY_CHANGE: bool = true;

    async fn reconcile(
        &self,
        object: &Deployment,
        _context: &Context,
    ) -> Result<Action, Self::Error> {
        // Your work goes here. It must be safe to do again: this runs after each start and change.
        let names = referenced_storage_classes(object);
        let found = self.storage_classes.get_all(&names);
        tracing::debug!(
            kind = "StorageClass",
            count = found.len(),
            "found the objects that it refers to"
        );
        self.apply(object).await?;
        Ok(Action::await_change())
    }

    async fn cleanup(
        &self,
        object: &Deployment,
        _context: &Context,
    ) -> Result<kube_manager::Cleanup, Self::Error> {
        // Remove here what `object` would leave behind. Like the work above, it may be done again.
        tracing::info!(
            name = object.name_any(),
            namespace = object.namespace(),
            "is being deleted"
        );
        Ok(kube_manager::Cleanup::Done)
    }

    async fn deleted(&self, object: &ObjectRef<Deployment>, _context: &Context) {
        tracing::info!(name = object.name, namespace = object.namespace, "is gone");
    }
}

impl Controller {
    /// Declares the kinds that the controller uses.
    pub fn new(builder: &mut kube_manager::Builder<Deployment>) -> Self {
        Self {
            // One field for each kind that it owns.
            pages: builder.owns(),
            services: builder.owns(),
            // End of the kinds.
            // One field for each kind that its objects refer to.
            storage_classes: builder.refers_to(referenced_storage_classes),
            // End of these kinds.
        }
    }

    /// Applies the objects that the functions below return.
    async fn apply(&self, object: &Deployment) -> Result<(), children::Error> {
        // For each kind, all desired objects: owned objects that are not in this list are deleted.
        let all = [page(object)];
        self.pages.apply(object, all).await?;
        let all = [service(object)];
        self.services.apply(object, all).await?;
        // End of the kinds.
        Ok(())
    }
}

/// The desired Page of `object`. `apply` sets `object` as its owner.
fn page(object: &Deployment) -> Page {
    Page {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            ..ObjectMeta::default()
        },
        // Set the fields of `spec` here: the API server may refuse the default values.
        ..Page::default()
    }
}

/// The desired Service of `object`. `apply` sets `object` as its owner.
fn service(object: &Deployment) -> Service {
    use k8s_openapi::api::core::v1::{ServicePort, ServiceSpec};

    Service {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            ..ObjectMeta::default()
        },
        spec: Some(ServiceSpec {
            selector: Some(labels(object)),
            ports: Some(vec![ServicePort {
                port: 80,
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

/// The labels of the Pods of `object`: other objects select the Pods by them. The value of a label has at most 63
/// characters, and the name of a StatefulSet at most 52. A CEL rule of the kind can limit `self.metadata.name`.
fn labels(object: &Deployment) -> BTreeMap<String, String> {
    let name = "deployment".to_owned();
    BTreeMap::from([
        ("app.kubernetes.io/name".to_owned(), name),
        ("app.kubernetes.io/instance".to_owned(), object.name_any()),
    ])
}

/// The objects of the kind StorageClass that `object` refers to. A change of one of them reconciles `object`.
fn referenced_storage_classes(
    // The object that refers.
    object: &Deployment,
) -> Vec<ObjectRef<StorageClass>> {
    // An example, which refers to the StorageClass with the name of `object`: return the names in the spec instead.
    let storage_class = ObjectRef::new(&object.name_any());
    vec![storage_class]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Deployment {
        Deployment {
            metadata: ObjectMeta {
                name: Some("sample".to_owned()),
                ..ObjectMeta::default()
            },
            ..Deployment::default()
        }
    }

    #[test]
    fn what_is_owned_has_the_name_of_its_owner() {
        let object = sample();
        let name = &object.metadata.name;
        let owned = page(&object);
        assert_eq!(owned.metadata.name, *name);
        let owned = service(&object);
        assert_eq!(owned.metadata.name, *name);
    }
}
