//! The access of a controller to the API server: its client, and the status and events of its objects. All calls of the
//! reconciler share it.

use std::{
    any::TypeId,
    fmt::Debug,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use http::header::{CONTENT_TYPE, HeaderValue};
use k8s_openapi::{
    api::core::v1::ObjectReference,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps,
    apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry,
};
use kube::{
    Api, Client, CustomResourceExt, Resource,
    api::{Patch, PatchParams, PostParams},
    core::{Request, object::HasStatus},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    closures::Closures,
    events::{Event, Recorder},
    object::{AnyObject, Raw, typed},
    reads,
    scope::{Kind, Scope},
    services::Services,
    status,
    status_in_object::{self, InObject},
    watch::Watcher,
    written::Written,
};

/// Sends the requests of a controller.
#[derive(Clone)]
pub struct Access {
    /// Sends requests while this replica leads.
    pub client: Client,
    pub operator: &'static str,
    watcher: Watcher,
    pub written: Written,
    status: Shared,
    in_object: InObject,
    recorder: Recorder,
    pub closures: Closures,
}

/// Whether other controllers also write the status of the controller's own kind.
#[derive(Clone, Default)]
struct Shared {
    is_shared: Arc<AtomicBool>,
    /// The schema of the status, if the CRD allows each controller to own conditions.
    schema: Arc<OnceLock<Option<JSONSchemaProps>>>,
}

impl Access {
    pub fn new(services: &Services, watcher: Watcher, written: Written) -> Self {
        let name = watcher.controller;
        // `<group>/<kind>`: a name without a prefix has at most 63 characters.
        let reporter = match name.split_once('.') {
            Some((kind, group)) => format!("{group}/{kind}"),
            None => name.to_owned(),
        };
        Self {
            recorder: Recorder::new(services.events.clone(), name, watcher.rules, reporter),
            closures: Closures::new(name, &services.metrics),
            client: services.client.clone(),
            operator: services.host.operator.name,
            watcher,
            written,
            status: Shared::default(),
            in_object: services.in_object.clone(),
        }
    }

    /// Makes the controller apply its part of the status of its own kind from now on.
    pub fn share_status(&self) {
        self.status.is_shared.store(true, Ordering::Relaxed);
    }

    /// Whether the controller applies its part of the status of its own kind.
    pub fn shares_status(&self) -> bool {
        self.status.is_shared.load(Ordering::Relaxed)
    }

    /// The schema of the status of `K`, if the controller applies its part.
    fn shared<K: CustomResourceExt + 'static>(&self) -> Option<&JSONSchemaProps> {
        let is_shared = self.shares_status() && self.written.is_about(TypeId::of::<K>());
        let schema = &self.status.schema;
        let schema = is_shared.then(|| schema.get_or_init(|| status::schema(K::crd())));
        schema?.as_ref()
    }

    pub fn watcher(&self) -> Watcher {
        self.watcher
    }

    pub fn name(&self) -> &'static str {
        self.watcher.controller
    }

    /// The field manager of the controller's requests: at most 128 characters.
    pub fn field_manager(&self) -> String {
        self.watcher.field_manager()
    }

    /// The parameters of requests that create or replace an object.
    pub fn post_params(&self) -> PostParams {
        PostParams {
            field_manager: Some(self.field_manager()),
            ..PostParams::default()
        }
    }

    /// See [`Context::write_status`](crate::Context::write_status).
    pub async fn write_status<K>(
        &self,
        object: &K,
        status: &K::Status,
    ) -> kube::Result<Option<Arc<K>>>
    where
        K: Resource<DynamicType = (), Scope: Scope> + CustomResourceExt,
        K: HasStatus<Status: PartialEq + Clone + Serialize>,
        K: Clone + Debug + DeserializeOwned + Serialize + Send + Sync + 'static,
    {
        let kind = Kind::of::<K>();
        let (content, status) = {
            // The result of an earlier write, which the watch has not delivered yet.
            let newer = self.written.newer(object);
            let newest = newer.as_deref().unwrap_or(object);
            // A status that was computed from older children would be replaced at once.
            if newest.status() == Some(status) || reads::is_outdated() {
                return Ok(None);
            }
            let content = json!(newest);
            match self.next_status(&kind, object, &content, json!(status)) {
                Some(status) => (content, status),
                None => return Ok(None),
            }
        };
        let shared = self.shared::<K>().map(|schema| (schema, json!(object)));
        let written = self.change_status(&kind, content, status, shared).await?;
        Ok(written.and_then(typed))
    }

    /// The status to write to `newest`, an object of `kind`. `status` was computed from `read`, the same object or an
    /// earlier version. Returns `None` if `newest` has the status.
    pub fn next_status(
        &self,
        kind: &Kind,
        read: &impl Serialize,
        newest: &Value,
        status: Value,
    ) -> Option<Value> {
        if self.in_object.has(&kind.resource) {
            status_in_object::next(&json!(read), newest, status)
        } else {
            Some(status)
        }
    }

    /// Writes the whole status of an object of `kind`, whose `content` has the status until now. This removes unset
    /// fields. Fails if another program has written the object since it was read.
    pub async fn replace_status(
        &self,
        kind: &Kind,
        mut content: Value,
        status: Value,
    ) -> kube::Result<Raw> {
        let metadata = &content["metadata"];
        let name = metadata["name"].as_str().unwrap_or_default().to_owned();
        let api: Api<Raw> = kind.api(self.client.clone(), metadata["namespace"].as_str());
        if !self.in_object.has(&kind.resource) {
            content["status"] = status;
            let params = self.post_params();
            return api
                .replace_status(&name, &params, &Raw::of(&content)?)
                .await;
        }
        let params = PatchParams {
            field_manager: Some(self.field_manager()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(status_in_object::patch(&content, &status));
        let request = Request::new(api.resource_url()).patch(&name, &params, &patch);
        let mut request = request.map_err(kube::Error::BuildRequest)?;
        // kube needs one more crate for a JSON patch.
        let media_type = HeaderValue::from_static("application/json-patch+json");
        request.headers_mut().insert(CONTENT_TYPE, media_type);
        self.client.request(request).await
    }

    /// Writes the status of an object of `kind`, whose newest known state is `content`. If the status is `shared`, writes only
    /// the controller's part, by the schema of the status and by the object from which `status` was computed: others may have
    /// changed their parts since then. Returns `None` if the object is deleted.
    async fn change_status(
        &self,
        kind: &Kind,
        mut content: Value,
        status: Value,
        shared: Option<(&JSONSchemaProps, Value)>,
    ) -> kube::Result<Option<AnyObject>> {
        let metadata = &mut content["metadata"];
        // The watch has removed some of these entries, so they must not be sent.
        let fields = metadata
            .as_object_mut()
            .and_then(|metadata| metadata.remove("managedFields"));
        let name = metadata["name"].as_str().unwrap_or_default().to_owned();
        let namespace = metadata["namespace"].as_str().map(str::to_owned);
        let version = metadata["resourceVersion"].as_str();
        let version = version.and_then(|version| version.parse().ok());
        let (version, key) = (
            version.unwrap_or_default(),
            (namespace.clone(), name.clone()),
        );
        let manager = self.field_manager();
        let shared = shared.filter(|_| !self.in_object.has(&kind.resource));
        let part = shared.and_then(|(schema, read)| {
            // An earlier write may have removed fields that the controller owned in `read`.
            let of_read = read["metadata"].get("managedFields").cloned();
            let mut entries: Vec<ManagedFieldsEntry> = Vec::new();
            for fields in [fields, of_read].into_iter().flatten() {
                entries.extend(serde_json::from_value::<Vec<_>>(fields).unwrap_or_default());
            }
            status::part(&entries, &manager, schema, (&read["status"], &status))
        });
        let unanswered = self.written.begin(kind.type_id, key, version);
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
                let api: Api<Raw> = kind.api(self.client.clone(), namespace.as_deref());
                api.patch_status(&name, &params, &Patch::Apply(patch)).await
            }
            None => self.replace_status(kind, content, status).await,
        };
        match kind.object(answer) {
            Ok(written) => {
                unanswered.answered();
                self.written.add(written.clone());
                Ok(Some(written))
            }
            // Without the name, the status subresource would be missing, not the object.
            Err(kube::Error::Api(error))
                if error.is_not_found()
                    && error
                        .details
                        .as_ref()
                        .is_some_and(|details| details.name == name) =>
            {
                unanswered.answered();
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Records an event about the object that `regarding` names.
    pub fn record(&self, regarding: ObjectReference, event: Event) {
        self.recorder.record(regarding, event);
    }
}

#[cfg(test)]
impl Access {
    /// The access of a controller without a manager. Its events are dropped.
    pub fn for_test(client: Client, watcher: Watcher, written: Written) -> Self {
        let metrics = Metrics::for_test();
        let (queue, _) = events::queue(client.clone(), &metrics);
        Self {
            closures: Closures::new(watcher.controller, &metrics),
            recorder: Recorder::new(
                queue,
                watcher.controller,
                watcher.rules,
                watcher.controller.to_owned(),
            ),
            client,
            operator: "test",
            watcher,
            written,
            status: Shared::default(),
            in_object: InObject::default(),
        }
    }

    /// Adds the events of the controller to `queue`.
    pub fn record_in(&mut self, queue: EventQueue) {
        let Watcher {
            controller, rules, ..
        } = self.watcher;
        self.recorder = Recorder::new(queue, controller, rules, controller.to_owned());
    }
}

#[cfg(test)]
use super::{
    events::{self, EventQueue},
    metrics::Metrics,
};

#[cfg(test)]
mod tests {
    use std::future::pending;

    use futures::FutureExt;
    use http::{Request, Response};
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::{client::Body, core::ObjectMeta};
    use tower::{BoxError, service_fn};

    use super::{super::objects::Stores, *};

    #[tokio::test]
    async fn a_status_that_is_written_twice_keeps_what_others_have_written_meanwhile() {
        let list = json!({
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
        });
        let schema = json!({"type": "object", "properties": {"conditions": list}});
        let schema: JSONSchemaProps = serde_json::from_value(schema).expect("a schema");
        let condition = |of: &str, status: &str| json!({"type": of, "status": status});
        let object = |version: &str, owned: &[&str], conditions: Value| {
            let fields = owned
                .iter()
                .map(|of| (format!(r#"k:{{"type":"{of}"}}"#), json!({"f:status": {}})));
            let fields: serde_json::Map<String, Value> = fields.collect();
            json!({
                "metadata": {"name": "a", "uid": "a", "resourceVersion": version, "managedFields": [{
                    "manager": "test", "operation": "Apply", "subresource": "status",
                    "fieldsV1": {"f:status": {"f:conditions": fields}},
                }]},
                "status": {"conditions": conditions},
            })
        };
        let (read_other, new_other) = (condition("Other", "False"), condition("Other", "True"));
        let read = object(
            "10",
            &["Mine"],
            json!([condition("Mine", "False"), read_other]),
        );
        // The answer to the first write, which has removed the own condition.
        let content = object("12", &[], json!([new_other]));
        for (mine, sent) in [
            (
                vec![condition("Mine", "True")],
                json!({"conditions": [condition("Mine", "True")]}),
            ),
            (
                vec![condition("Mine", "False")],
                json!({"conditions": [condition("Mine", "False")]}),
            ),
            (vec![], json!({})),
        ] {
            let service = service_fn(move |request: Request<Body>| {
                let sent = sent.clone();
                async move {
                    assert_eq!(request.method(), "PATCH");
                    let bytes = request.into_body().collect_bytes().await?;
                    let patch: Value = serde_json::from_slice(&bytes)?;
                    assert_eq!(patch["status"], sent);
                    Ok::<_, BoxError>(Response::new(Body::from(bytes)))
                }
            });
            let written = Written::new(TypeId::of::<ConfigMap>(), Stores::default());
            let client = Client::new(service, "default");
            let access = Access::for_test(client, Watcher::for_test(), written);
            let conditions = [mine, vec![read_other.clone()]].concat();
            let status = json!({ "conditions": conditions });
            let shared = Some((&schema, read.clone()));
            let kind = Kind::of::<ConfigMap>();
            let answer = access.change_status(&kind, content.clone(), status, shared);
            assert!(answer.await.expect("an answer").is_some());
        }
    }

    /// For example, because a limit for the reconcile has ended the call.
    #[tokio::test]
    async fn a_status_write_that_nobody_waits_for_may_be_stored_later() {
        let silent = service_fn(async |_: Request<Body>| {
            pending::<Result<Response<Body>, BoxError>>().await
        });
        let written = Written::new(TypeId::of::<ConfigMap>(), Stores::default());
        let access = Access::for_test(Client::new(silent, "default"), Watcher::for_test(), written);
        let object = |version: u64| ObjectMeta {
            name: Some("a".to_owned()),
            resource_version: Some(version.to_string()),
            ..ObjectMeta::default()
        };
        let kind = Kind::of::<ConfigMap>();
        let content = json!({"metadata": object(10)});
        let write = access.change_status(&kind, content, json!({}), None);
        assert!(write.now_or_never().is_none());
        assert!(!access.written.ends_doubt(&object(10)));
        assert!(access.written.ends_doubt(&object(11)));
    }
}
