//! Creates, corrects and deletes the children of an object, with as few requests as possible. A watch delivers all
//! children, so a child in its desired state needs no request.

use std::{collections::HashSet, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::{
    Api, Resource, ResourceExt,
    api::{
        ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, Preconditions,
    },
    runtime::events::EventType,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    context::{Context, digest},
    owned::{self, Owned},
    rbac::Verb,
    scope::{Kind, Watchable},
};

/// The verbs that a controller needs for its children.
pub const VERBS: &[Verb] = &[
    Verb::Create,
    Verb::Delete,
    Verb::Get,
    Verb::List,
    Verb::Patch,
    Verb::Watch,
];

/// The label of all children. Its value is the name of the operator. Only objects with this label are watched.
const LABEL: &str = "app.kubernetes.io/managed-by";

/// Selects the children from all objects of their kind.
pub(super) fn selector(operator: &str) -> String {
    format!("{LABEL}={operator}")
}

/// Why a child is not in its desired state.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An object with this name exists, and the reconciled object is not its owner.
    #[error("{0} exists already, and this object does not own it")]
    NotOwned(String),
    /// The garbage collector deletes an object whose owner is in another namespace.
    #[error("{0} is in another namespace than this object, so this object cannot own it")]
    OtherNamespace(String),
    /// With `generateName`, each reconcile would create another child.
    #[error(
        "{0} needs a fixed name: with `generateName`, each reconcile would create another object"
    )]
    Unnamed(String),
    /// A request failed.
    #[error("cannot {verb} {child}: {source}")]
    Request {
        /// The action of the request, such as `create`.
        verb: &'static str,
        /// Kind and name of the child.
        child: String,
        /// The error of the request.
        source: kube::Error,
    },
}

impl Error {
    /// The reason for a condition.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NotOwned(_) => "NotOwned",
            Self::OtherNamespace(_) => "OtherNamespace",
            Self::Unnamed(_) => "Unnamed",
            Self::Request { .. } => "ChildFailed",
        }
    }
}

/// Creates, corrects and deletes the objects of kind `C` that the objects of a controller own.
///
/// For a kind that is known only at run time, use [`DynamicObject`]. A child then needs `types`, which
/// [`DynamicObject::new`] sets.
pub struct Children<C: Resource> {
    context: Context,
    kind: Kind<C::DynamicType>,
    owned: Arc<Owned<C>>,
}

impl<C> Children<C>
where
    C: Watchable + Serialize,
{
    pub(super) fn new(context: Context, kind: Kind<C::DynamicType>, owned: Arc<Owned<C>>) -> Self {
        Self {
            context,
            kind,
            owned,
        }
    }

    /// The children of `owner`, in the order of their names.
    pub fn of<K: Resource<DynamicType = ()>>(&self, owner: &K) -> Vec<Arc<C>> {
        let uid = owner.meta().uid.as_deref();
        uid.map(|uid| self.owned.by(uid)).unwrap_or_default()
    }

    /// Brings the children of `owner` to their `desired` state: creates missing children, corrects children that
    /// differ, and deletes children that this controller has created and that are not in `desired`. Sets owner
    /// reference, namespace and labels. Returns the children as the API server has them.
    ///
    /// Pass all children of the kind in one call. If the next step depends on the observed children, use
    /// [`apply_one`](Self::apply_one), [`patch_spec`](Self::patch_spec) and [`delete`](Self::delete) for single
    /// children. Fields that are not set are left to other field managers, such as the replicas to an autoscaler. Write
    /// values in the form of the API server, such as `1` for `1000m`: otherwise each reconcile sends the child again,
    /// and logs a warning.
    ///
    /// # Errors
    ///
    /// When another object has the name of a child, when a child has no name or is in another namespace than its owner,
    /// or when a request fails. The children after that child are not changed.
    pub async fn apply<K>(
        &self,
        owner: &K,
        desired: impl IntoIterator<Item = C>,
    ) -> Result<Vec<Arc<C>>, Error>
    where
        K: Resource<DynamicType = ()>,
    {
        let mut applied = Vec::new();
        for child in desired {
            applied.push(self.apply_one(owner, child).await?);
        }
        let wanted: HashSet<_> = applied.iter().map(|child| &child.meta().uid).collect();
        for child in self.of(owner) {
            let wanted = wanted.contains(&child.meta().uid);
            let going = child.meta().deletion_timestamp.is_some();
            // Another controller may create children for the same owner.
            if child.labels().contains_key(&self.mark()) && !wanted && !going {
                self.delete(&child).await?;
            }
        }
        Ok(applied)
    }

    /// The label of the children that this controller has created.
    fn mark(&self) -> String {
        format!("{}/applied", self.context.name())
    }

    /// Creates or corrects one child of `owner`, like [`apply`](Self::apply), and does not touch the other children.
    ///
    /// # Errors
    ///
    /// See [`apply`](Self::apply).
    pub async fn apply_one<K>(&self, owner: &K, child: C) -> Result<Arc<C>, Error>
    where
        K: Resource<DynamicType = ()>,
    {
        let child = adorn(child, &self.kind, owner, self.context.operator, self.mark())?;
        let uid = owner.meta().uid.as_deref();
        match uid.and_then(|uid| self.owned.same(uid, &child)) {
            Some(known) => match difference(&json!(*known), &json!(child)) {
                None => Ok(known),
                Some(field) => self.update(owner, &known, child, field).await,
            },
            None => match self.create(&child).await {
                // The watch may lag behind, or the object may have another owner.
                Err(Error::Request {
                    source: kube::Error::Api(status),
                    ..
                }) if status.is_already_exists() => self.correct(owner, child).await,
                created => created,
            },
        }
    }

    async fn create(&self, child: &C) -> Result<Arc<C>, Error> {
        let params = self.context.post_params();
        let created = self.api(child).create(&params, child).await;
        let created = created.map_err(|source| self.failed("create", child, source))?;
        Ok(Arc::new(created))
    }

    /// Merges `patch` into the `spec` of a child. Returns `false` and changes nothing if the child has changed since it
    /// was read. The watch then delivers the change and requeues the owner.
    ///
    /// # Errors
    ///
    /// When the request fails for another reason.
    pub async fn patch_spec(&self, child: &C, patch: Value) -> Result<bool, Error> {
        let metadata = json!({"resourceVersion": child.resource_version()});
        let patch = Patch::Merge(json!({"metadata": metadata, "spec": patch}));
        let params = PatchParams {
            field_manager: Some(self.context.field_manager()),
            ..PatchParams::default()
        };
        let (api, name) = (self.api(child), child.name_any());
        let patched = api.patch(&name, &params, &patch).await;
        changed(patched).map_err(|source| self.failed("patch", child, source))
    }

    /// Corrects the child `known`, which differs from `child` in `field`.
    async fn update<K>(
        &self,
        owner: &K,
        known: &C,
        child: C,
        field: String,
    ) -> Result<Arc<C>, Error>
    where
        K: Resource<DynamicType = ()>,
    {
        let mark = self.mark();
        let shape = |child: &C| Some(child.labels().get(&mark)?.split_once('-')?.1.to_owned());
        let same_fields = shape(known).is_some_and(|known| shape(&child) == Some(known));
        if same_fields {
            // The fields have not changed, so the apply has no field to remove, and the owner of each field does not
            // matter.
            match self.patch(known, child.clone(), field).await {
                // The watch lags behind.
                Err(Error::Request {
                    source: kube::Error::Api(status),
                    ..
                }) if status.is_conflict() || status.is_not_found() => {}
                patched => return patched,
            }
        }
        self.correct(owner, child).await
    }

    /// Applies `child` to the object `live`, from which it differs in `field`.
    async fn patch(&self, live: &C, mut child: C, field: String) -> Result<Arc<C>, Error> {
        // With the uid, the API server rejects the apply if another object has the name now.
        child.meta_mut().uid = live.uid();
        let params = PatchParams::apply(&self.context.field_manager()).force();
        let (api, name) = (self.api(&child), child.name_any());
        let patched = api.patch(&name, &params, &Patch::Apply(&child)).await;
        let patched = patched.map_err(|source| self.failed("patch", &child, source))?;
        let child = describe(&self.kind, &child);
        if patched.resource_version() == live.resource_version() {
            let says = "the API server writes this field in its own way: write it as it does";
            tracing::warn!(child, field, "{says}");
        } else {
            tracing::info!(child, field, "corrected");
        }
        Ok(Arc::new(patched))
    }

    /// Corrects an existing object to match `child`. Retries on conflicts, because other programs may write the object
    /// at the same time, for example its status.
    async fn correct<K>(&self, owner: &K, child: C) -> Result<Arc<C>, Error>
    where
        K: Resource<DynamicType = ()>,
    {
        let mut tries = 3;
        loop {
            tries -= 1;
            match self.try_correct(owner, child.clone()).await {
                Err(Error::Request {
                    source: kube::Error::Api(status),
                    ..
                }) if status.is_conflict() && tries > 0 => {}
                corrected => return corrected,
            }
        }
    }

    /// Tries once to correct the object, if `owner` owns it.
    async fn try_correct<K>(&self, owner: &K, child: C) -> Result<Arc<C>, Error>
    where
        K: Resource<DynamicType = ()>,
    {
        let (api, name) = (self.api(&child), child.name_any());
        let live = api.get(&name).await;
        let mut live = live.map_err(|source| self.failed("get", &child, source))?;
        if owned::controlled_by(&live).map(|by| &by.uid) != owner.meta().uid.as_ref() {
            if is_of_earlier(&live, owner, &self.mark()) && self.is_current(owner, &live).await? {
                return self.replace(&live, &child).await;
            }
            let error = Error::NotOwned(describe(&self.kind, &child));
            self.context
                .event(owner, EventType::Warning, "NotOwned", error.to_string())
                .await;
            return Err(error);
        }
        let Some(field) = difference(&json!(live), &json!(child)) else {
            return Ok(Arc::new(live));
        };

        // The creation has set the fields with an Update, and an apply cannot remove fields of an Update. So their
        // ownership moves to an Apply of the same field manager.
        let manager = self.context.field_manager();
        let version = live.resource_version();
        let own = |fields: &ManagedFieldsEntry, operation: &str| {
            fields.manager.as_ref() == Some(&manager)
                && fields.operation.as_deref() == Some(operation)
                && fields.subresource.is_none()
        };
        let fields = live.managed_fields_mut();
        if let Some(updated) = fields.iter().position(|it| own(it, "Update")) {
            if fields.iter().any(|it| own(it, "Apply")) {
                // An apply always had all fields, so the Apply owns these fields, too.
                fields.remove(updated);
            } else {
                fields[updated].operation = Some("Apply".to_owned());
            }
            let metadata =
                json!({"resourceVersion": version, "managedFields": live.managed_fields()});
            let patch = Patch::Merge(json!({"metadata": metadata}));
            let patched = api.patch(&name, &PatchParams::default(), &patch).await;
            live = patched.map_err(|source| self.failed("patch", &child, source))?;
        }
        self.patch(&live, child, field).await
    }

    /// Deletes a child. Returns `false` if the child is deleted already, or if another object has its name.
    ///
    /// # Errors
    ///
    /// When the request fails for another reason.
    pub async fn delete(&self, child: &C) -> Result<bool, Error> {
        let preconditions = Preconditions {
            uid: child.uid(),
            ..Preconditions::default()
        };
        self.delete_if(child, preconditions).await
    }

    async fn delete_if(&self, child: &C, preconditions: Preconditions) -> Result<bool, Error> {
        // Without a propagation policy, the Pods of a Job would stay.
        let params = DeleteParams::background().preconditions(preconditions);
        let deleted = self.api(child).delete(&child.name_any(), &params).await;
        changed(deleted).map_err(|source| self.failed("delete", child, source))
    }

    /// Creates `child` in place of `live`, whose owner is deleted.
    async fn replace(&self, live: &C, child: &C) -> Result<Arc<C>, Error> {
        let unchanged = Preconditions {
            uid: live.uid(),
            resource_version: live.resource_version(),
        };
        if self.delete_if(live, unchanged).await? {
            let name = describe(&self.kind, live);
            tracing::info!(child = name, "deleted, because its owner is deleted");
        }
        self.create(child).await
    }

    /// Whether the API server has this very `owner`, and no later object with its name.
    async fn is_current<K>(&self, owner: &K, child: &C) -> Result<bool, Error>
    where
        K: Resource<DynamicType = ()>,
    {
        let home = owner.meta().namespace.as_deref();
        let kind = Kind {
            dyntype: ApiResource::erase::<K>(&()),
            namespaced: home.is_some(),
        };
        let api: Api<DynamicObject> = kind.api(self.context.client.clone(), home);
        // A list, because a controller needs no permission to get its objects.
        let name = format!("metadata.name={}", owner.name_any());
        let params = ListParams::default().fields(&name);
        let found = api.list_metadata(&params).await;
        let found = found.map_err(|source| self.failed("find the owner of", child, source))?;
        let uids = found.items.iter().map(|it| &it.metadata.uid);
        Ok(uids.eq([&owner.meta().uid]))
    }

    fn failed(&self, verb: &'static str, child: &C, source: kube::Error) -> Error {
        let child = describe(&self.kind, child);
        Error::Request {
            verb,
            child,
            source,
        }
    }

    fn api(&self, child: &C) -> Api<C> {
        let client = self.context.client.clone();
        self.kind.api(client, child.meta().namespace.as_deref())
    }
}

/// Whether a request found its object. `false` if the object is deleted, or has changed since it was read.
fn changed<T>(answer: kube::Result<T>) -> kube::Result<bool> {
    match answer {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether this controller created `live` for an earlier object with the name of `owner`, and nothing else owns it.
///
/// The garbage collector deletes such a child, but it can miss the deletion of the owner: when a CRD is deleted while
/// the collector has no connection, the children of its objects stay until kube-controller-manager restarts.
fn is_of_earlier<C, K>(live: &C, owner: &K, mark: &str) -> bool
where
    C: Resource,
    K: Resource<DynamicType = ()>,
{
    let [reference] = live.owner_references() else {
        return false;
    };
    let home = &owner.meta().namespace;
    live.labels().contains_key(mark)
        && reference.controller == Some(true)
        && owned::refers_to::<K>(reference)
        && reference.name == owner.name_any()
        && (home.is_none() || live.meta().namespace == *home)
}

/// Sets owner reference, namespace and labels of a child of `owner`. `mark` is the key of the label with its hash.
fn adorn<C, K>(
    mut child: C,
    kind: &Kind<C::DynamicType>,
    owner: &K,
    operator: &str,
    mark: String,
) -> Result<C, Error>
where
    C: Watchable + Serialize,
    K: Resource<DynamicType = ()>,
{
    if child.meta().name.is_none() {
        return Err(Error::Unnamed(C::kind(&kind.dyntype).into_owned()));
    }
    if kind.namespaced
        && let Some(home) = &owner.meta().namespace
    {
        let namespace = &mut child.meta_mut().namespace;
        if namespace.get_or_insert_with(|| home.clone()) != home {
            return Err(Error::OtherNamespace(describe(kind, &child)));
        }
    }
    child.meta_mut().owner_references = owner.controller_owner_ref(&()).map(|owner| vec![owner]);
    let labels = child.labels_mut();
    labels.insert(LABEL.to_owned(), operator.to_owned());
    // The first hash covers the whole child. It shows that a field is no longer desired, which a comparison with the
    // live object cannot show, because other programs may set fields too. The second hash covers only which fields are
    // set.
    let desired = json!(child);
    let [all, fields] = [&desired, &fields(&desired)].map(|it| digest(&it.to_string()));
    child.labels_mut().insert(mark, format!("{all}-{fields}"));
    Ok(child)
}

/// The fields of `value`, without their values. Lists stay unchanged, because any part of an item may identify the
/// item.
fn fields(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let inner = object.iter();
            let inner = inner.map(|(name, value)| (name.clone(), fields(value)));
            Value::Object(inner.collect())
        }
        Value::Array(_) => value.clone(),
        _ => Value::Null,
    }
}

fn describe<C: Resource>(kind: &Kind<C::DynamicType>, child: &C) -> String {
    format!("{} {}", C::kind(&kind.dyntype), child.name_any())
}

/// The path of the first field in which `live` differs from `desired`. Fields that `desired` does not set may have any
/// value. The same holds for list elements with other names.
fn difference(live: &Value, desired: &Value) -> Option<String> {
    let named = |list: &[Value]| list.iter().all(|element| element["name"].is_string());
    match (live, desired) {
        (_, Value::Null) => None,
        (Value::Null, Value::Array(desired)) if desired.is_empty() => None,
        (Value::Object(live), Value::Object(desired)) => {
            // The metadata comes last: its hash label always differs, and the other fields are more helpful in the log.
            let metadata = desired.get_key_value("metadata");
            let rest = desired.iter().filter(|(key, _)| *key != "metadata");
            rest.chain(metadata).find_map(|(key, desired)| {
                let inside = difference(live.get(key).unwrap_or(&Value::Null), desired)?;
                Some(format!(".{key}{inside}"))
            })
        }
        (Value::Array(live), Value::Array(desired)) if !desired.is_empty() && named(desired) => {
            desired.iter().find_map(|desired| {
                let name = &desired["name"];
                let live = live.iter().find(|live| live["name"] == *name);
                let inside = difference(live.unwrap_or(&Value::Null), desired)?;
                Some(format!("[name={name}]{inside}"))
            })
        }
        (Value::Array(live), Value::Array(desired)) if live.len() == desired.len() => {
            let mut pairs = live.iter().zip(desired).enumerate();
            pairs.find_map(|(index, (live, desired))| {
                let inside = difference(live, desired)?;
                Some(format!("[{index}]{inside}"))
            })
        }
        _ => (live != desired).then(String::new),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{
        api::{
            apps::v1::Deployment,
            core::v1::{ConfigMap, Namespace},
        },
        apimachinery::pkg::apis::meta::v1::OwnerReference,
    };
    use kube::api::ObjectMeta;

    use super::*;

    fn meta(name: &str, namespace: Option<&str>) -> ObjectMeta {
        ObjectMeta {
            name: Some(name.to_owned()),
            namespace: namespace.map(str::to_owned),
            uid: Some(format!("uid of {name}")),
            ..ObjectMeta::default()
        }
    }

    fn adorned_for<K>(child: ConfigMap, owner: &K) -> Result<ConfigMap, Error>
    where
        K: Resource<DynamicType = ()>,
    {
        let kind = Kind::of::<ConfigMap>();
        adorn(child, &kind, owner, "test", "test/applied".to_owned())
    }

    /// A child in `namespace` of a Deployment in `home`.
    fn adorned(namespace: Option<&str>, data: &str) -> Result<ConfigMap, Error> {
        let owner = Deployment {
            metadata: meta("owner", Some("home")),
            ..Deployment::default()
        };
        let child = ConfigMap {
            metadata: meta("child", namespace),
            data: Some([("key".to_owned(), data.to_owned())].into()),
            ..ConfigMap::default()
        };
        adorned_for(child, &owner)
    }

    #[test]
    fn only_a_child_of_an_earlier_owner_is_left_over() {
        let owner = Deployment {
            metadata: meta("owner", Some("home")),
            ..Deployment::default()
        };
        let is_left = |change: fn(&mut ObjectMeta)| {
            let mut child = adorned(None, "a").expect("a child");
            change(&mut child.metadata);
            is_of_earlier(&child, &owner, "test/applied")
        };
        fn reference(meta: &mut ObjectMeta) -> &mut OwnerReference {
            &mut meta.owner_references.as_mut().expect("an owner")[0]
        }
        assert!(is_left(|meta| reference(meta).uid = "earlier".to_owned()));
        assert!(is_left(
            |meta| reference(meta).api_version = "apps/v1beta1".to_owned()
        ));
        let others: [fn(&mut ObjectMeta); 8] = [
            |meta| meta.owner_references = None,
            |meta| reference(meta).controller = None,
            |meta| reference(meta).name = "other".to_owned(),
            |meta| reference(meta).kind = "StatefulSet".to_owned(),
            |meta| reference(meta).api_version = "example.com/v1".to_owned(),
            |meta| {
                let second = reference(meta).clone();
                meta.owner_references
                    .as_mut()
                    .expect("an owner")
                    .push(second);
            },
            |meta| meta.labels = None,
            |meta| meta.namespace = None,
        ];
        for (index, change) in others.into_iter().enumerate() {
            assert!(!is_left(change), "{index}");
        }
    }

    #[test]
    fn a_child_lives_where_its_owner_does() {
        let child = adorned(None, "a").expect("a child");
        assert_eq!(child.metadata.namespace.as_deref(), Some("home"));
        let owner = owned::controlled_by(&child).expect("an owner");
        assert_eq!((&*owner.kind, &*owner.uid), ("Deployment", "uid of owner"));
        assert!(adorned(Some("home"), "a").is_ok());
        let error = adorned(Some("away"), "a").expect_err("a child elsewhere");
        assert_eq!(error.reason(), "OtherNamespace");

        let owner = Namespace {
            metadata: meta("owner", None),
            ..Namespace::default()
        };
        let child = ConfigMap {
            metadata: meta("child", Some("away")),
            ..ConfigMap::default()
        };
        assert!(adorned_for(child, &owner).is_ok());
    }

    #[test]
    fn a_child_has_a_name() {
        let mut child = ConfigMap::default();
        child.metadata.generate_name = Some("child-".to_owned());
        let owner = Deployment {
            metadata: meta("owner", Some("home")),
            ..Deployment::default()
        };
        let error = adorned_for(child, &owner);
        assert_eq!(error.expect_err("no name").reason(), "Unnamed");
    }

    #[test]
    fn what_is_desired_can_be_told_from_the_mark() {
        let mark = |data| {
            let child = adorned(None, data).expect("a child");
            child.labels()["test/applied"].clone()
        };
        assert_eq!(mark("a"), mark("a"));
        assert_ne!(mark("a"), mark("b"));
        let (a, b) = (mark("a"), mark("b"));
        let fields = |mark: &str| mark.split_once('-').expect("two hashes").1.to_owned();
        assert_eq!(fields(&a), fields(&b));
    }

    #[test]
    fn sets_of_fields_differ_by_fields_and_by_list_items() {
        let same = |a, b| fields(&a) == fields(&b);
        assert!(same(json!({"a": {"b": 1}}), json!({"a": {"b": "2"}})));
        assert!(!same(json!({"a": {"b": 1}}), json!({"a": {}})));
        assert!(!same(json!({"a": {"b": 1}}), json!({"a": {"c": 1}})));
        assert!(!same(json!({"a": [1]}), json!({"a": [2]})));
        assert!(!same(json!({"a": [{"b": 1}]}), json!({"a": [{"b": 2}]})));
    }

    #[test]
    fn what_is_gone_or_another_one_by_now_is_not_changed() {
        let answer = |reason| {
            let status = kube::core::Status::failure("", reason);
            changed(Err::<(), _>(kube::Error::Api(status.boxed()))).ok()
        };
        assert_eq!(answer("NotFound"), Some(false));
        assert_eq!(answer("Conflict"), Some(false));
        assert_eq!(answer("Forbidden"), None);
        assert_eq!(changed(Ok(())).ok(), Some(true));
    }

    #[test]
    fn a_difference_is_one_of_what_is_desired() {
        let live = json!({"spec": {"replicas": 1, "paused": false, "ports": [{"port": 80}],
            "containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]}});
        let same = [
            json!({}),
            json!({"spec": {"replicas": 1, "selector": null}}),
            json!({"spec": {"ports": [{"port": 80}], "volumes": []}}),
            json!({"spec": {"containers": [{"name": "b", "image": "2"}]}}),
        ];
        for desired in same {
            assert_eq!(difference(&live, &desired), None, "{desired}");
        }
        let other = [
            (json!({"spec": {"replicas": 2}}), ".spec.replicas"),
            (
                json!({"spec": {"ports": [{"port": 8080}]}}),
                ".spec.ports[0].port",
            ),
            (json!({"spec": {"ports": []}}), ".spec.ports"),
            (
                json!({"spec": {"containers": [{"name": "b", "image": "1"}]}}),
                ".spec.containers[name=\"b\"].image",
            ),
            (
                json!({"spec": {"containers": [{"name": "c"}]}}),
                ".spec.containers[name=\"c\"]",
            ),
            (json!({"metadata": {"labels": {}}}), ".metadata"),
            (
                json!({"metadata": {"labels": {}}, "spec": {"paused": true}}),
                ".spec.paused",
            ),
        ];
        for (desired, field) in other {
            assert_eq!(difference(&live, &desired).as_deref(), Some(field));
        }
    }
}
