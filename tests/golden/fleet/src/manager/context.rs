// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! What a reconciler works with: the client, and what every reconciler does with it.

use std::{
    fmt::Debug,
    hash::Hasher,
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use fnv::FnvHasher;
use futures::{StreamExt, stream::BoxStream};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{
    Client, Resource, ResourceExt,
    api::PostParams,
    core::object::HasStatus,
    runtime::events::{Event, EventType, Recorder, Reporter},
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::SetOnce;

use super::{
    Runtime,
    children::{self, Children},
    failure,
    owned::{Owned, Owner, refers_to},
    scope::Scope,
    watch::Watcher,
    written::Written,
};

/// The client of one controller, and its name.
#[derive(Clone)]
pub struct Context {
    /// For requests of your own.
    pub client: Client,
    watcher: Watcher,
    written: Written,
    refers: fn(&OwnerReference) -> bool,
    recorder: Recorder,
    follows: Arc<Mutex<Vec<Follow>>>,
}

/// Starts to follow children in a namespace, or in all, and tells when their first list is known.
/// Yields the owners to wake up.
pub(super) type Follow =
    Box<dyn Fn(&Runtime, Option<&str>, Arc<SetOnce<()>>) -> BoxStream<'static, Owner> + Send>;

impl Context {
    pub(super) fn new<K>(client: Client, watcher: Watcher, written: Written) -> Self
    where
        K: Resource<DynamicType = ()>,
    {
        let name = watcher.controller;
        let reporter = Reporter {
            // As `<group>/<kind>`, because a name without a prefix has 63 characters at most.
            controller: match name.split_once('.') {
                Some((kind, group)) => format!("{group}/{kind}"),
                None => name.to_owned(),
            },
            // In a Pod this is its name.
            instance: std::env::var("HOSTNAME").ok(),
        };
        Self {
            recorder: Recorder::new(client.clone(), reporter),
            client,
            watcher,
            written,
            refers: refers_to::<K>,
            follows: Arc::default(),
        }
    }

    /// The children of kind `C` that the controller's objects own. A change of one calls for a
    /// reconcile of its owner. To be called by the controller's `new`.
    pub fn children<C>(&self) -> Children<C>
    where
        C: Resource<DynamicType = (), Scope: Scope> + Clone + Debug + DeserializeOwned + Serialize,
        C: Send + Sync + 'static,
    {
        let owned = Arc::new(Owned::new(self.refers));
        let (watcher, followed) = (self.watcher, owned.clone());
        let follow: Follow = Box::new(move |runtime, namespace, synced| {
            let namespace = namespace.filter(|_| C::Scope::NAMESPACED);
            let events = watcher.watch::<C>(runtime, namespace, &children::selector());
            let namespace = namespace.map(str::to_owned);
            followed.clone().follow(events, namespace, synced).boxed()
        });
        let mut follows = self.follows.lock().unwrap_or_else(PoisonError::into_inner);
        follows.push(follow);
        Children::new(self.clone(), owned)
    }

    /// What [`children`](Self::children) was called for.
    pub(super) fn take_follows(&self) -> Vec<Follow> {
        let mut follows = self.follows.lock().unwrap_or_else(PoisonError::into_inner);
        mem::take(&mut follows)
    }

    pub(super) fn name(&self) -> &'static str {
        self.watcher.controller
    }

    /// Who the API server is told to have set a field: 128 characters at most.
    pub(super) fn field_manager(&self) -> String {
        self.name().chars().take(128).collect()
    }

    /// How an object is created or replaced.
    pub(super) fn post_params(&self) -> PostParams {
        PostParams {
            field_manager: Some(self.field_manager()),
            ..PostParams::default()
        }
    }

    /// Writes the status of `object`, unless it has that status already. Says whether it wrote.
    ///
    /// # Errors
    ///
    /// When somebody else has changed `object` meanwhile, which the next try will see, or when the
    /// request fails.
    pub async fn write_status<K>(&self, object: &K, status: &K::Status) -> kube::Result<bool>
    where
        K: Resource<DynamicType = (), Scope: Scope> + HasStatus<Status: PartialEq + Clone>,
        K: Clone + Debug + DeserializeOwned + Serialize + Send + Sync + 'static,
    {
        if object.status() == Some(status) {
            return Ok(false);
        }
        // As a whole, so that what it no longer has goes. The resourceVersion keeps this from
        // undoing what others wrote.
        let mut object = object.clone();
        *object.status_mut() = Some(status.clone());
        let params = self.post_params();
        let api = K::Scope::api::<K>(self.client.clone(), object.meta().namespace.as_deref());
        let name = object.name_any();
        let written = api.replace_status(&name, &params, &object).await?;
        self.written.add(written);
        Ok(true)
    }

    /// Records an event about `object`, which `kubectl describe` shows. One that repeats within
    /// minutes counts up the first. Events are for people: when one cannot be written, that is logged
    /// and the reconcile goes on.
    pub async fn event<K>(
        &self,
        object: &K,
        type_: EventType,
        reason: &'static str,
        note: impl Into<String>,
    ) where
        K: Resource<DynamicType = ()>,
    {
        let note = note.into();
        // The recorder does not look at notes: one that differs from the last would be lost.
        let action = format!("Reconcile-{}", digest(&note));
        let event = Event {
            type_,
            reason: reason.to_owned(),
            note: Some(note),
            action,
            secondary: None,
        };
        if let Err(error) = self.recorder.publish(&event, &object.object_ref(&())).await {
            let hint = failure::hint(&error, self.watcher.rules);
            let error = failure::says(&error);
            tracing::warn!(%error, reason, hint, "cannot record an event");
        }
    }
}

/// 16 characters that tell `text` from others, the same in each version of the program.
pub(super) fn digest(text: &str) -> String {
    let mut hasher = FnvHasher::default();
    hasher.write(text.as_bytes());
    format!("{:016x}", hasher.finish())
}
