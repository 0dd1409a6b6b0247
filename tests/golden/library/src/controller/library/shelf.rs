// SPDX-FileCopyrightText: The library authors
// SPDX-License-Identifier: Apache-2.0

//! The controller of Shelf: write your code here. After a change of `RULES`, run
//! `make manifests`.

use kube::{ResourceExt, api::ObjectMeta, runtime::reflector::ObjectRef};
use kube_manager::{
    Action, Children, Context, Reconciler, children,
    rbac::{Rule, Verb},
};

// The kinds that this controller uses.
use crate::api::library::v1::Book;
use crate::api::library::v1::Shelf;
use k8s_openapi::api::core::v1::ConfigMap;

/// Creates the objects that each Shelf owns.
pub struct Controller {
    // One field for each kind that it owns.
    config_maps: Children<ConfigMap, Shelf>,
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
        // For the watch.
        Rule::of::<Shelf>(&[Verb::List, Verb::Watch]),
        // For owned objects: read, create, correct and delete.
        Rule::of::<ConfigMap>(children::VERBS),
        // For the objects that are referred to: read.
        Rule::of::<Book>(&[Verb::List, Verb::Watch]),
        // End of what it owns.
    ];

    // A change of the status also causes a reconcile. Remove this line if only this controller writes the status.
    const EVERY_CHANGE: bool = true;

    async fn reconcile(&self, object: &Shelf, _context: &Context) -> Result<Action, Self::Error> {
        // Your work goes here. It must be safe to do again: this runs after each start and change.
        let names = referenced_books(object);
        let found = self.books.get_all(&names);
        tracing::debug!(
            kind = "Book",
            count = found.len(),
            "found the objects that it refers to"
        );
        self.apply(object).await?;
        Ok(Action::await_change())
    }

    async fn deleted(&self, object: &ObjectRef<Shelf>, _context: &Context) {
        tracing::info!(name = object.name, namespace = object.namespace, "is gone");
    }
}

impl Controller {
    /// Declares the kinds that the controller uses.
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

    /// Applies the objects that the functions below return.
    async fn apply(&self, object: &Shelf) -> Result<(), children::Error> {
        // For each kind, all desired objects: owned objects that are not in this list are deleted.
        let all = [config_map(object)];
        self.config_maps.apply(object, all).await?;
        // End of the kinds.
        Ok(())
    }
}

/// The desired ConfigMap of `object`. `apply` sets `object` as its owner.
fn config_map(object: &Shelf) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            // The owner is cluster-scoped, so choose a namespace here.
            namespace: Some("default".to_owned()),
            ..ObjectMeta::default()
        },
        // The rest of its content goes here.
        ..ConfigMap::default()
    }
}

/// The objects of the kind Book that `object` refers to. A change of one of them reconciles `object`.
fn referenced_books(
    // The object that refers.
    object: &Shelf,
) -> Vec<ObjectRef<Book>> {
    // An example, which refers to the Book with the name of `object`: return the names in the spec instead.
    let book = ObjectRef::new(&object.name_any());
    vec![book.within("default")]
}
