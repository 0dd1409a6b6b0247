// SPDX-FileCopyrightText: The a-project-with-a-rather-long-name authors
// SPDX-License-Identifier: Apache-2.0

//! What a reconciler works with: the client, and the two things that every reconciler does with it.

use std::fmt::Debug;

use json_patch::{AddOperation, PatchOperation, TestOperation, jsonptr::PointerBuf};
use kube::{
    Client, Resource, ResourceExt,
    api::{Patch, PatchParams},
    core::object::HasStatus,
    runtime::events::{Event, EventType, Recorder, Reporter},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

use super::scope::Scope;

/// The client of one controller, and its name.
#[derive(Clone)]
pub struct Context {
    /// For requests of your own.
    pub client: Client,
    name: &'static str,
    recorder: Recorder,
}

impl Context {
    pub(super) fn new(client: Client, name: &'static str) -> Self {
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
            name,
        }
    }

    /// Writes the status of `object`, unless it has that status already. Says whether it wrote.
    ///
    /// # Errors
    ///
    /// When the API server refuses it or cannot be reached.
    pub async fn write_status<K>(&self, object: &K, status: &K::Status) -> kube::Result<bool>
    where
        K: Resource<DynamicType = (), Scope: Scope> + HasStatus<Status: PartialEq + Serialize>,
        K: Clone + Debug + DeserializeOwned,
    {
        if object.status() == Some(status) {
            return Ok(false);
        }
        // As a whole: a merge patch would leave the fields that the new status no longer has.
        let status = serde_json::to_value(status).map_err(kube::Error::SerdeError)?;
        let patch = json_patch::Patch(vec![
            // Another object may have the name by now.
            PatchOperation::Test(TestOperation {
                path: PointerBuf::from_tokens(["metadata", "uid"]),
                value: json!(object.meta().uid),
            }),
            PatchOperation::Add(AddOperation {
                path: PointerBuf::from_tokens(["status"]),
                value: status,
            }),
        ]);
        let params = PatchParams {
            // 128 characters at most.
            field_manager: Some(self.name.chars().take(128).collect()),
            ..PatchParams::default()
        };
        K::Scope::api::<K>(self.client.clone(), object.meta().namespace.as_deref())
            .patch_status(&object.name_any(), &params, &Patch::Json::<()>(patch))
            .await?;
        Ok(true)
    }

    /// Records an event about `object`, which `kubectl describe` shows. One that repeats within
    /// minutes counts up the first, whose note stays: what differs belongs into the reason. Events
    /// are for people: when one cannot be written, that is logged and the reconcile goes on.
    pub async fn event<K>(
        &self,
        object: &K,
        type_: EventType,
        reason: &'static str,
        note: impl Into<String>,
    ) where
        K: Resource<DynamicType = ()>,
    {
        let event = Event {
            type_,
            reason: reason.to_owned(),
            note: Some(note.into()),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        if let Err(error) = self.recorder.publish(&event, &object.object_ref(&())).await {
            tracing::warn!(%error, reason, "cannot record an event");
        }
    }
}
