//! The context of a reconciler: its client, and the status and events of its objects.

use std::{
    any::TypeId,
    fmt::Debug,
    hash::Hasher,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use fnv::FnvHasher;
use k8s_openapi::{
    api::core::v1::ObjectReference,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps,
    apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry,
};
use kube::{
    Client, CustomResourceExt, Resource,
    api::{Patch, PatchParams, PostParams},
    core::object::HasStatus,
    runtime::events::EventType,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    diagnosis,
    events::Recorder,
    failure,
    object::Raw,
    reads,
    scope::{Kind, Scope},
    services::Services,
    status,
    watch::Watcher,
    written::Written,
};

/// Sends the requests of a reconciler: contains a client, writes the status of objects, and records events about them.
#[derive(Clone)]
pub struct Context {
    /// Sends requests while this replica leads.
    pub client: Client,
    pub(super) operator: &'static str,
    watcher: Watcher,
    written: Written,
    status: Shared,
    recorder: Recorder,
}

/// Whether other controllers also write the status of the controller's own kind.
#[derive(Clone, Default)]
pub(super) struct Shared {
    is_shared: Arc<AtomicBool>,
    /// The schema of the status, if the CRD allows each controller to own conditions.
    schema: Arc<OnceLock<Option<JSONSchemaProps>>>,
}

impl Context {
    pub(super) fn new(services: &Services, watcher: Watcher, written: Written) -> Self {
        let name = watcher.controller;
        // `<group>/<kind>`: a name without a prefix has at most 63 characters.
        let reporter = match name.split_once('.') {
            Some((kind, group)) => format!("{group}/{kind}"),
            None => name.to_owned(),
        };
        Self {
            recorder: Recorder::new(services.client.clone(), reporter),
            client: services.client.clone(),
            operator: services.host.operator.name,
            watcher,
            written,
            status: Shared::default(),
        }
    }

    /// Makes the controller apply its part of the status of its own kind from now on.
    pub(super) fn share_status(&self) {
        self.status.is_shared.store(true, Ordering::Relaxed);
    }

    /// Whether the controller applies its part of the status of its own kind.
    pub(super) fn shares_status(&self) -> bool {
        self.status.is_shared.load(Ordering::Relaxed)
    }

    /// The schema of the status of `K`, if the controller applies its part.
    fn shared<K: CustomResourceExt + 'static>(&self) -> Option<&JSONSchemaProps> {
        let is_shared = self.shares_status() && self.written.is_about(TypeId::of::<K>());
        let schema = &self.status.schema;
        let schema = is_shared.then(|| schema.get_or_init(|| status::schema(K::crd())));
        schema?.as_ref()
    }

    pub(super) fn watcher(&self) -> Watcher {
        self.watcher
    }

    pub(super) fn name(&self) -> &'static str {
        self.watcher.controller
    }

    /// The field manager of the controller's requests: at most 128 characters.
    pub(super) fn field_manager(&self) -> String {
        self.watcher.field_manager()
    }

    /// The parameters of requests that create or replace an object.
    pub(super) fn post_params(&self) -> PostParams {
        PostParams {
            field_manager: Some(self.field_manager()),
            ..PostParams::default()
        }
    }

    /// Writes the status of `object`. Returns `false` if `object` has that status already, which needs no request, or
    /// if the object is deleted. It also returns `false` without a request if a child has changed since this reconcile
    /// has read it: the object is then reconciled again. A reconcile can write the status several times, with the same
    /// `object`.
    ///
    /// By default, the status is written as a whole. If several controllers of the operator reconcile the kind, or with
    /// [`Builder::shares_status`](super::Builder::shares_status), each controller applies only its part: the values
    /// that differ from the status of `object`, and the values that the controller has written before. Applying a part
    /// needs the verb `Patch` instead of `Update`, and a CRD whose list of conditions is a map, by
    /// `#[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]`. Without such a list, the status is written as
    /// a whole. It is also written as a whole to remove a field that another program has written, or that this
    /// controller has written before it shared the status.
    ///
    /// # Errors
    ///
    /// When the request fails; and when the status is written as a whole and `object` has changed since it
    /// was read.
    pub async fn write_status<K>(&self, object: &K, status: &K::Status) -> kube::Result<bool>
    where
        K: Resource<DynamicType = (), Scope: Scope> + CustomResourceExt,
        K: HasStatus<Status: PartialEq + Clone + Serialize>,
        K: Clone + Debug + DeserializeOwned + Serialize + Send + Sync + 'static,
    {
        let content = {
            // The result of an earlier write, which the watch has not delivered yet.
            let newer = self.written.newer(object);
            let object = newer.as_deref().unwrap_or(object);
            // A status that was computed from older children would be replaced at once.
            if object.status() == Some(status) || reads::is_outdated() {
                return Ok(false);
            }
            json!(object)
        };
        let schema = self.shared::<K>();
        self.change_status(&Kind::of::<K>(), content, json!(status), schema)
            .await
    }

    /// Writes the status of an object of `kind`, whose `content` has the status until now.
    async fn change_status(
        &self,
        kind: &Kind,
        mut content: Value,
        status: Value,
        schema: Option<&JSONSchemaProps>,
    ) -> kube::Result<bool> {
        let metadata = &mut content["metadata"];
        // The watch has removed some of these entries, so they must not be sent.
        let fields = metadata
            .as_object_mut()
            .and_then(|metadata| metadata.remove("managedFields"));
        let name = metadata["name"].as_str().unwrap_or_default().to_owned();
        let api = kind.api::<false>(self.client.clone(), metadata["namespace"].as_str());
        let manager = self.field_manager();
        let part = schema.and_then(|schema| {
            let fields = fields.and_then(|fields| serde_json::from_value(fields).ok());
            let fields: Vec<ManagedFieldsEntry> = fields.unwrap_or_default();
            status::part(&fields, &manager, schema, (&content["status"], &status))
        });
        let answer = match part {
            Some(part) => {
                let patch = json!({
                    "apiVersion": kind.resource.api_version,
                    "kind": kind.resource.kind,
                    // With the uid, the API server rejects the apply if another object has the name now.
                    "metadata": {"name": name, "uid": content["metadata"]["uid"]},
                    "status": part,
                });
                let params = PatchParams::apply(&manager).force();
                api.patch_status(&name, &params, &Patch::Apply(patch)).await
            }
            // The whole status removes unset fields. With the resourceVersion, the request fails if another program has
            // written the object since it was read.
            None => {
                content["status"] = status;
                let params = self.post_params();
                api.replace_status(&name, &params, &Raw::of(&content)?)
                    .await
            }
        };
        match kind.object(answer) {
            Ok(written) => {
                self.written.add(written);
                Ok(true)
            }
            // Without the name, the status subresource would be missing, not the object.
            Err(kube::Error::Api(error))
                if error.is_not_found()
                    && error
                        .details
                        .as_ref()
                        .is_some_and(|details| details.name == name) =>
            {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Records an event about `object`, which `kubectl describe` shows. If the same event with the same note repeats
    /// within minutes, the count of the first event increases. A failure to write an event is only logged.
    pub async fn event<K>(
        &self,
        object: &K,
        type_: EventType,
        reason: &'static str,
        note: impl Into<String>,
    ) where
        K: Resource<DynamicType = ()>,
    {
        let event = (type_, reason, note.into());
        self.record(object.object_ref(&()), event).await;
    }

    /// Records an event about the object that `regarding` names.
    pub(super) async fn record(
        &self,
        regarding: ObjectReference,
        (type_, reason, note): (EventType, &'static str, String),
    ) {
        let recorded = self.recorder.publish(regarding, type_, reason, &note);
        if let Err(error) = recorded.await {
            let hint = diagnosis::hint(&error, self.watcher.rules);
            let error = failure::message(&error);
            tracing::warn!(%error, reason, hint, "cannot record an event");
        }
    }
}

/// A hash of `text` with 16 characters, the same in each version of the program.
pub(super) fn digest(text: &str) -> String {
    let mut hasher = FnvHasher::default();
    hasher.write(text.as_bytes());
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
impl Context {
    /// A context without a manager.
    pub(super) fn for_test(client: Client, watcher: Watcher, written: Written) -> Self {
        Self {
            recorder: Recorder::new(client.clone(), watcher.controller.to_owned()),
            client,
            operator: "test",
            watcher,
            written,
            status: Shared::default(),
        }
    }
}
