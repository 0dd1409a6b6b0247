//! What a reconciler works with: the client, the status and events of its objects.

use std::{fmt::Debug, hash::Hasher};

use fnv::FnvHasher;
use kube::{
    Client, Resource, ResourceExt, api::PostParams, core::object::HasStatus,
    runtime::events::EventType,
};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    Runtime,
    events::Recorder,
    failure,
    scope::{Kind, Scope},
    watch::Watcher,
    written::Written,
};

/// The client of one controller, and its name.
#[derive(Clone)]
pub struct Context {
    /// Sends requests while this replica leads.
    pub client: Client,
    pub(super) operator: &'static str,
    watcher: Watcher,
    written: Written,
    recorder: Recorder,
}

impl Context {
    pub(super) fn new(runtime: &Runtime, watcher: Watcher, written: Written) -> Self {
        let name = watcher.controller;
        // `<group>/<kind>`: a name without a prefix has at most 63 characters.
        let reporter = match name.split_once('.') {
            Some((kind, group)) => format!("{group}/{kind}"),
            None => name.to_owned(),
        };
        Self {
            recorder: Recorder::new(runtime.client.clone(), reporter),
            client: runtime.client.clone(),
            operator: runtime.operator.name,
            watcher,
            written,
        }
    }

    pub(super) fn watcher(&self) -> Watcher {
        self.watcher
    }

    pub(super) fn name(&self) -> &'static str {
        self.watcher.controller
    }

    /// The field manager of the controller's requests: at most 128 characters.
    pub(super) fn field_manager(&self) -> String {
        self.name().chars().take(128).collect()
    }

    /// The parameters of requests that create or replace an object.
    pub(super) fn post_params(&self) -> PostParams {
        PostParams {
            field_manager: Some(self.field_manager()),
            ..PostParams::default()
        }
    }

    /// Writes the status of `object`. Returns `false` if `object` has that status already, which takes
    /// no request, or if it is deleted.
    ///
    /// # Errors
    ///
    /// When `object` has changed since it was read, or when the request fails.
    pub async fn write_status<K>(&self, object: &K, status: &K::Status) -> kube::Result<bool>
    where
        K: Resource<DynamicType = (), Scope: Scope> + HasStatus<Status: PartialEq + Clone>,
        K: Clone + Debug + DeserializeOwned + Serialize + Send + Sync + 'static,
    {
        if object.status() == Some(status) {
            return Ok(false);
        }
        // As a whole, so that fields which are no longer set are removed. The resourceVersion makes the
        // request fail if another program has written meanwhile.
        let mut object = object.clone();
        *object.status_mut() = Some(status.clone());
        let params = self.post_params();
        let namespace = object.meta().namespace.as_deref();
        let api = Kind::of::<K>().api::<K>(self.client.clone(), namespace);
        let name = object.name_any();
        match api.replace_status(&name, &params, &object).await {
            Ok(written) => {
                self.written.add(written);
                Ok(true)
            }
            // Without the name it would be the subresource that is missing.
            Err(kube::Error::Api(error))
                if error.is_not_found()
                    && error.details.as_ref().is_some_and(|it| it.name == name) =>
            {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Records an event about `object`, which `kubectl describe` shows. An event that repeats within
    /// minutes, with the same note, increases the count of the first one. A failure to write an event is
    /// only logged.
    pub async fn event<K>(
        &self,
        object: &K,
        type_: EventType,
        reason: &'static str,
        note: impl Into<String>,
    ) where
        K: Resource<DynamicType = ()>,
    {
        let (object, note) = (object.object_ref(&()), note.into());
        let recorded = self.recorder.publish(object, type_, reason, &note);
        if let Err(error) = recorded.await {
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
