// SPDX-FileCopyrightText: The library authors
// SPDX-License-Identifier: Apache-2.0

//! The controller of Shelf, which is yours to edit. After a change of `RULES`, run
//! `make manifests`.

use kube::{
    ResourceExt,
    api::ObjectMeta,
    runtime::{controller::Action, reflector::ObjectRef},
};
use kube_manager::{
    Children, Reconciler, children,
    rbac::{Rule, Verb},
};

// Kinds that this controller works with.
use crate::api::library::v1::Book;
use crate::api::library::v1::Shelf;
use k8s_openapi::api::core::v1::ConfigMap;

/// Makes what belongs to each Shelf.
pub struct Controller {
    // One field for each kind that it owns.
    config_maps: Children<ConfigMap>,
    // End of the kinds.
    // One field for each kind that its objects refer to.
    books: kube_manager::Watched<Book>,
    // End of these kinds.
}

impl Reconciler for Controller {
    type Object = Shelf;
    type Error = children::Error;

    const NAME: &'static str = "shelf.library.example.com";

    const RULES: &'static [Rule] = &[
        // What a watch needs.
        Rule::of::<Shelf>(&[Verb::List, Verb::Watch]),
        // What it owns: read, made, corrected and removed.
        Rule::of::<ConfigMap>(children::VERBS),
        // What its objects refer to: read.
        Rule::of::<Book>(&[Verb::List, Verb::Watch]),
        // End of what it owns.
    ];

    // Others write the status of these objects, and a new status calls for a reconcile.
    const EVERY_CHANGE: bool = true;

    async fn reconcile(&self, object: &Shelf) -> Result<Action, Self::Error> {
        // Your work goes here. It must be safe to do again: this runs after each start and change.
        let names = referenced_books(object);
        let found = self.books.find(&names);
        tracing::debug!(count = found.len(), "books that it refers to");
        self.apply(object).await?;
        Ok(Action::await_change())
    }

    async fn gone(&self, object: &ObjectRef<Shelf>) {
        tracing::info!(name = object.name, namespace = object.namespace, "is gone");
    }
}

impl Controller {
    /// Declares what the controller works with.
    pub fn new(builder: &mut kube_manager::Builder<Shelf>) -> Self {
        Self {
            // One field for each kind that it owns.
            config_maps: builder.owns(),
            // End of the kinds.
            // One field for each kind that its objects refer to.
            books: builder.refers_to(referenced_books),
            // End of these kinds.
        }
    }

    /// Makes what `object` owns as the functions below say.
    async fn apply(&self, object: &Shelf) -> Result<(), children::Error> {
        // For each kind, all objects that are wanted: others that were made before are deleted.
        let all = [config_map(object)];
        self.config_maps.apply(object, all).await?;
        // End of the kinds.
        Ok(())
    }
}

/// The ConfigMap that `object` asks for. `apply` makes `object` its owner.
fn config_map(object: &Shelf) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            // The owner has no namespace to give.
            namespace: Some("default".to_owned()),
            ..ObjectMeta::default()
        },
        // The rest of its content goes here.
        ..ConfigMap::default()
    }
}

/// The books that `object` refers to. A change of one of them reconciles `object`.
fn referenced_books(
    // Its spec names them.
    object: &Shelf,
) -> Vec<ObjectRef<Book>> {
    // The names that `object` has of them go here, instead of its own.
    let book = ObjectRef::new(&object.name_any());
    vec![book.within("default")]
}
