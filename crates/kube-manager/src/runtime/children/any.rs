//! The children of an object: what is known of them, and the requests that read, change and delete them.
//!
//! This code does not depend on the types of child and owner, so it is compiled once.

use std::sync::Arc;

use anyhow::ensure;
use kube::{
    Api,
    api::{
        ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, Preconditions,
    },
    core::ObjectMeta,
    runtime::Predicate,
};
use serde_json::{Value, json};

use super::{
    error::Error,
    mark::{LABEL, Marks},
};
use crate::runtime::{
    access::Access,
    closures::Filter,
    informer::{Follow, Index, States, some_or_all},
    object::{AnyObject, Object, Raw, Write},
    owned::{Known, Owned},
    reads::{self, Lookup, ObservedChild},
    scope::Kind,
    settled::Settled,
    tie::{Tie, controlled_by},
    watch::{Key, Selector, Shown, key, resource},
};

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// How often a write is tried in a reconcile when other programs write, create and delete the object at the same time.
pub const TRIES: u8 = 5;

/// Kinds whose deletion deletes data, or all objects in a namespace or of a kind.
const HOLD_DATA: &[&str] = &[
    "customresourcedefinitions.apiextensions.k8s.io",
    "namespaces",
    "persistentvolumeclaims",
    "persistentvolumes",
];

/// The children of one kind that the objects of one kind own.
#[derive(Clone)]
pub struct AnyChildren {
    pub access: Access,
    pub kind: Kind,
    pub write: Write,
    pub owned: Arc<Owned>,
    /// The names that children may have; empty for all names.
    pub names: Arc<[String]>,
    pub marks: Marks,
    pub settled: Arc<Settled>,
}

/// The children of one name, or of all names.
struct Named {
    owned: Arc<Owned>,
    name: Option<String>,
}

impl Index for Named {
    fn take(&self, shown: &Shown, namespace: Option<&String>) -> Vec<Key> {
        self.owned.take(shown, namespace, self.name.as_ref())
    }
}

impl AnyChildren {
    /// `write` writes a child as JSON. `names` is empty for all names.
    pub fn new(
        access: Access,
        kind: Kind,
        owners: ApiResource,
        write: Write,
        names: Vec<String>,
        tie: Tie,
    ) -> Self {
        let marks = Marks {
            operator: access.operator,
            label: format!("{}/applied", access.name()),
            owners: owners.clone(),
            tie,
        };
        Self {
            access,
            kind,
            write,
            owned: Arc::new(Owned::new(owners)),
            names: names.into(),
            marks,
            settled: Arc::default(),
        }
    }

    /// How the children refer to their owners.
    pub fn tie(&self) -> Tie {
        self.marks.tie
    }

    /// Separates the children from those of `other`, which the same controller owns.
    ///
    /// # Errors
    ///
    /// If both could have the same object: each would delete the children of the other.
    pub fn separate(&self, other: &Self) -> anyhow::Result<()> {
        let [one, another] = [&self.kind, &other.kind].map(|kind| resource(&kind.resource));
        let have_common_names = self.names.is_empty()
            || other.names.is_empty()
            || self.names.iter().any(|name| other.names.contains(name));
        if one != another || !have_common_names {
            return Ok(());
        }
        ensure!(
            self.marks.tie != other.marks.tie,
            "the controller owns {one} twice, and would delete as one what it creates as the other: \
             use one `Children` for all of them, or `owns_named` with different names"
        );
        self.owned.restrict(self.marks.tie);
        other.owned.restrict(other.marks.tie);
        Ok(())
    }

    /// See [`Children::predicate`](super::Children::predicate).
    pub fn filter<C: Object>(&self, predicate: impl Predicate<C> + Send + Sync + 'static) {
        let closures = self.access.closures.clone();
        self.owned.filter(Filter::new(closures, predicate));
    }

    /// The watches of the children: one for each name, or one for all names.
    pub fn follows(&self) -> Vec<Follow> {
        let mut follows = Vec::new();
        for name in some_or_all(self.names.to_vec()) {
            let fields = name.as_ref().map(|name| format!("metadata.name={name}"));
            follows.push(Follow {
                watcher: self.access.watcher(),
                kind: self.kind.clone(),
                selector: Selector {
                    labels: format!("{LABEL}={}", self.access.operator),
                    fields: fields.unwrap_or_default(),
                },
                namespaces: None,
                index: Arc::new(Named {
                    owned: self.owned.clone(),
                    name,
                }),
                states: States::default(),
            });
        }
        follows
    }

    /// See [`Children::of`](super::Children::of).
    pub fn of(&self, owner: &ObjectMeta) -> Vec<AnyObject> {
        let children = self.by(owner);
        reads::read(self.lookup(owner), &children);
        children
    }

    /// The children of `owner` in the index. A copy of a child in another namespace names the same owner, but is no child.
    pub fn by(&self, owner: &ObjectMeta) -> Vec<AnyObject> {
        let mut children = self.owned.by(uid(owner));
        if owner.namespace.is_some() {
            children.retain(|child| child.metadata().namespace == owner.namespace);
        }
        children
    }

    /// The child with the name of `child`, as the index has it.
    pub fn known(&self, owner: &ObjectMeta, child: &ObjectMeta) -> Option<Known> {
        self.owned.same(uid(owner), &key(child))
    }

    /// See [`Children::patch_spec`](super::Children::patch_spec).
    pub async fn patch_spec(&self, child: &ObjectMeta, patch: Value) -> Result<bool> {
        let metadata = json!({"resourceVersion": child.resource_version});
        let patch = Patch::Merge(json!({"metadata": metadata, "spec": patch}));
        let params = PatchParams::apply(&patch_manager(&self.access.field_manager()));
        let patched = self.patch(child, &params, &patch).await?;
        Ok(patched.map(|patched| self.wrote(patched)).is_some())
    }

    /// Patches a child. Returns `None` if the child is deleted, or has changed since it was read.
    pub async fn patch(
        &self,
        child: &ObjectMeta,
        params: &PatchParams,
        patch: &Patch<Value>,
    ) -> Result<Option<AnyObject>> {
        let answer = self.api(child).patch(&key(child).1, params, patch).await;
        self.answered("patch", child, self.kind.object(answer))
    }

    /// See [`Children::delete`](super::Children::delete).
    pub async fn delete(&self, child: &ObjectMeta) -> Result<bool> {
        let mut preconditions = unchanged(child);
        preconditions.resource_version = None;
        self.delete_if(child, preconditions).await
    }

    /// Deletes the children with the mark of this controller. Nobody finds them after their owner is gone, and the watch may
    /// not have shown all of them. So the API server is asked, for the namespace of the owner or for the `watched` ones.
    pub async fn delete_all(&self, owner: &ObjectMeta, watched: &[Option<String>]) -> Result<()> {
        let home = [owner.namespace.clone()];
        let is_home = owner.namespace.is_some() || !self.kind.namespaced;
        for namespace in if is_home { &home } else { watched } {
            for child in self.live(owner, namespace.as_deref()).await? {
                if child.deletion_timestamp.is_none() {
                    self.delete(&child).await?;
                }
            }
        }
        Ok(())
    }

    /// The children of `owner` in a namespace, or in all, as the API server has them.
    async fn live(&self, owner: &ObjectMeta, namespace: Option<&str>) -> Result<Vec<ObjectMeta>> {
        let client = self.access.client.clone();
        let api = self.kind.api::<false>(client, namespace);
        let mut children = Vec::new();
        for Follow { selector, .. } in self.follows() {
            let params = ListParams {
                // Not the label of the watch, which somebody may have changed.
                label_selector: Some(self.marks.label.clone()),
                field_selector: Some(selector.fields).filter(|fields| !fields.is_empty()),
                ..ListParams::default()
            };
            let listed = api
                .list_metadata(&params)
                .await
                .map_err(|source| Error::Request {
                    verb: "list",
                    child: resource(&self.kind.resource),
                    source,
                })?;
            children.extend(listed.items.into_iter().map(|object| object.metadata));
        }
        children.retain(|child| {
            // The garbage collector deletes children with an owner reference.
            let is_tied = self.marks.tie.holds(child);
            is_tied && controlled_by(child).is_some_and(|controller| controller.uid == uid(owner))
        });
        Ok(children)
    }

    pub async fn delete_if(
        &self,
        child: &ObjectMeta,
        preconditions: Preconditions,
    ) -> Result<bool> {
        // Without a propagation policy, the Pods of a Job would stay.
        let params = DeleteParams::background().preconditions(preconditions);
        Ok(self.send_delete(child, &params).await?.is_some())
    }

    /// Deletes a child, and takes the result into the index. Returns the child if its deletion has only begun; `None` if
    /// it was deleted already, or has changed since it was read.
    pub async fn send_delete(
        &self,
        child: &ObjectMeta,
        params: &DeleteParams,
    ) -> Result<Option<Option<AnyObject>>> {
        let answer = self.api(child).delete(&key(child).1, params).await;
        let deleted = answer.and_then(|answer| {
            let left = answer.left().map(|left| self.kind.object(Ok(left)));
            left.transpose()
        });
        let Some(left) = self.answered("delete", child, deleted)? else {
            return Ok(None);
        };
        let going = left.filter(|left| left.metadata().deletion_timestamp.is_some());
        if going.is_none() {
            self.owned.end(child);
        }
        Ok(Some(going.map(|going| self.wrote(going))))
    }

    /// The answer to a request about a child, or `None` if the child is deleted, or has changed since it was read.
    fn answered<T>(
        &self,
        verb: &'static str,
        child: &ObjectMeta,
        answer: kube::Result<T>,
    ) -> Result<Option<T>> {
        // The conflict may be about another object, such as a quota. Then no event of the child follows, so the object is
        // reconciled again.
        if let Err(kube::Error::Api(status)) = &answer
            && status.is_conflict()
            && let Some(owner) = controlled_by(child)
        {
            reads::outdated(self.lookup_of(&owner.uid));
        }
        unless_changed(answer).map_err(|source| self.failed(verb, child, source))
    }

    /// Whether the API server has this very `owner`, and no later object with its name, and nobody has begun to delete it
    /// since it was read.
    pub async fn is_current(&self, owner: &ObjectMeta, child: &ObjectMeta) -> Result<bool> {
        let client = self.access.client.clone();
        let api: Api<DynamicObject> = match &owner.namespace {
            Some(home) => Api::namespaced_with(client, home, &self.marks.owners),
            None => Api::all_with(client, &self.marks.owners),
        };
        // A list, because a controller needs no permission to get its objects.
        let name = format!("metadata.name={}", key(owner).1);
        let params = ListParams::default().fields(&name);
        let found = api
            .list_metadata(&params)
            .await
            .map_err(|source| self.failed("find the owner of", child, source))?;
        let going = owner.deletion_timestamp.is_some();
        // A deletion with `--cascade=orphan` removes the references of the children. With a new reference, the garbage
        // collector would delete the child.
        let mut live = found.items.iter().map(|object| &object.metadata);
        Ok(live.any(|live| live.uid == owner.uid && live.deletion_timestamp.is_some() == going))
    }

    /// Reads the live object with the name of `child`.
    pub async fn get(&self, child: &ObjectMeta) -> Result<Option<AnyObject>> {
        let answer = self.api(child).get_opt(&key(child).1).await.transpose();
        let live = answer.map(|live| self.kind.object(live)).transpose();
        live.map_err(|source| self.failed("get", child, source))
    }

    /// Adds an object that the API server has returned to the index.
    pub fn know(&self, mut live: AnyObject) -> AnyObject {
        // The watch drops them, too. An object that is in the index already has none.
        if let Some(live) = Arc::get_mut(&mut live) {
            live.metadata_mut().managed_fields = None;
        }
        self.owned.add(live.clone());
        live
    }

    /// Adds an object that this reconcile has written to the index.
    pub fn wrote(&self, written: AnyObject) -> AnyObject {
        let written = self.know(written);
        let metadata = written.metadata();
        if let Some(owner) = controlled_by(metadata) {
            reads::wrote(&self.lookup_of(&owner.uid), &key(metadata), &written);
        }
        written
    }

    /// The child with the name of `child`, as the current reconcile has read it.
    pub fn observed(&self, owner: &ObjectMeta, child: &ObjectMeta) -> ObservedChild {
        reads::observed(&self.lookup(owner), &key(child))
    }

    pub fn lookup(&self, owner: &ObjectMeta) -> Lookup {
        self.lookup_of(uid(owner))
    }

    fn lookup_of(&self, owner: &str) -> Lookup {
        Lookup {
            index: Arc::as_ptr(&self.owned).addr(),
            owner: owner.to_owned(),
        }
    }

    /// Kind and name of a child.
    pub fn describe(&self, child: &ObjectMeta) -> String {
        self.kind.describe(child)
    }

    pub fn json(&self, child: &AnyObject) -> Value {
        (self.write)(&**child)
    }

    pub fn failed(&self, verb: &'static str, child: &ObjectMeta, source: kube::Error) -> Error {
        Error::Request {
            verb,
            child: self.kind.describe(child),
            source,
        }
    }

    pub fn api(&self, child: &ObjectMeta) -> Api<Raw> {
        let client = self.access.client.clone();
        self.kind.api(client, child.namespace.as_deref())
    }
}

/// Whether the deletion of an object of `kind` deletes data.
fn holds_data(kind: &ApiResource) -> bool {
    HOLD_DATA.contains(&&*resource(kind))
}

/// Whether the deletion of `object`, which is of `kind`, and of what it owns deletes data.
pub fn deletes_data(kind: &ApiResource, object: &Value) -> bool {
    // A StatefulSet then owns its PersistentVolumeClaims.
    let when_deleted = object.pointer("/spec/persistentVolumeClaimRetentionPolicy/whenDeleted");
    holds_data(kind) || when_deleted.is_some_and(|policy| policy == "Delete")
}

/// The command that deletes an object of `kind` and keeps what the object owns. `None` for a kind that holds data.
pub fn delete_command(kind: &ApiResource, object: &ObjectMeta) -> Option<String> {
    if holds_data(kind) {
        return None;
    }
    let resource = resource(kind);
    let flag = match &object.namespace {
        Some(namespace) => format!(" --namespace {namespace}"),
        None => String::new(),
    };
    let name = key(object).1;
    Some(format!(
        "kubectl delete {resource} {name}{flag} --cascade=orphan"
    ))
}

/// The uid of an owner, which each object of the API server has.
pub fn uid(owner: &ObjectMeta) -> &str {
    owner.uid.as_deref().unwrap_or_default()
}

/// The field manager of patches of single fields: at most 128 characters.
fn patch_manager(manager: &str) -> String {
    const SUFFIX: &str = "-patch";
    let start: String = manager.chars().take(128 - SUFFIX.len()).collect();
    start + SUFFIX
}

/// The answer to a request, or `None` if the object is deleted, or has changed since it was read.
fn unless_changed<T>(answer: kube::Result<T>) -> kube::Result<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(None),
        Err(error) => Err(error),
    }
}

/// The preconditions that hold while `child` does not change.
pub fn unchanged(child: &ObjectMeta) -> Preconditions {
    Preconditions {
        uid: child.uid.clone(),
        resource_version: child.resource_version.clone(),
    }
}

/// Whether two versions of an object differ at most in what other programs report about it.
pub fn is_same(one: &dyn Object, other: &dyn Object, write: Write) -> bool {
    let [metadata, others] = [one, other].map(Object::metadata);
    metadata.uid == others.uid
        && (metadata.resource_version == others.resource_version
            || content(write(one)) == content(write(other)))
}

/// `object` without what other programs report about it.
fn content(object: Value) -> Value {
    let mut content = object;
    content["status"].take();
    if let Some(metadata) = content["metadata"].as_object_mut() {
        for field in ["generation", "managedFields", "resourceVersion"] {
            metadata.remove(field);
        }
    }
    content
}

#[cfg(test)]
mod races;

#[cfg(test)]
mod tests {
    use k8s_openapi::{
        api::{
            apps::v1::{Deployment, DeploymentStatus, StatefulSet},
            core::v1::{Namespace, PersistentVolume, PersistentVolumeClaim},
        },
        apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    };

    use super::*;
    use crate::runtime::object::write;

    #[test]
    fn only_the_status_may_change_between_read_and_write() {
        type Edit = fn(&mut Deployment);
        let mut known = Deployment::default();
        known.metadata.uid = Some("1".to_owned());
        let changes: [(Edit, bool); 4] = [
            (|live| live.status = Some(DeploymentStatus::default()), true),
            (|live| live.spec.replicas = Some(2), false),
            (|live| live.metadata.labels = Some([].into()), false),
            (|live| live.metadata.uid = None, false),
        ];
        for (index, (change, expected)) in changes.into_iter().enumerate() {
            let mut live = known.clone();
            live.metadata.resource_version = Some("2".to_owned());
            change(&mut live);
            assert_eq!(
                is_same(&live, &known, write::<Deployment>),
                expected,
                "{index}"
            );
        }
    }

    #[test]
    fn the_command_that_deletes_an_object_loses_no_data() {
        let object = ObjectMeta {
            name: Some("a".to_owned()),
            namespace: Some("home".to_owned()),
            ..ObjectMeta::default()
        };
        let command = |kind: ApiResource| delete_command(&kind, &object);
        assert_eq!(
            command(ApiResource::erase::<Deployment>(&())).as_deref(),
            Some("kubectl delete deployments.apps a --namespace home --cascade=orphan")
        );
        for kind in [
            ApiResource::erase::<CustomResourceDefinition>(&()),
            ApiResource::erase::<Namespace>(&()),
            ApiResource::erase::<PersistentVolume>(&()),
            ApiResource::erase::<PersistentVolumeClaim>(&()),
        ] {
            assert_eq!(command(kind), None);
        }
    }

    #[test]
    fn the_deletion_of_some_stateful_sets_deletes_data() {
        let kind = ApiResource::erase::<StatefulSet>(&());
        for (policy, expected) in [
            (Value::Null, false),
            (
                json!({"whenDeleted": "Retain", "whenScaled": "Delete"}),
                false,
            ),
            (json!({"whenDeleted": "Delete"}), true),
        ] {
            let object = json!({"spec": {"persistentVolumeClaimRetentionPolicy": policy}});
            assert_eq!(deletes_data(&kind, &object), expected, "{object}");
        }
    }

    #[test]
    fn a_patch_has_its_own_field_manager() {
        assert_eq!(patch_manager("a.example.com"), "a.example.com-patch");
        let long = patch_manager(&"a".repeat(128));
        assert_eq!(long.len(), 128);
        assert!(long.ends_with("-patch"));
    }

    #[test]
    fn an_error_has_no_rust_value() {
        let status = kube::core::Status::failure("a policy says \"no\"", "Forbidden");
        let error = Error::Request {
            verb: "create",
            child: "Secret a".to_owned(),
            source: kube::Error::Api(status.with_code(403).boxed()),
        };
        assert_eq!(
            error.to_string(),
            "cannot create Secret a: a policy says \"no\""
        );
    }

    #[test]
    fn what_is_gone_or_another_one_by_now_is_not_changed() {
        fn answer(reason: &str) -> Option<Option<()>> {
            let status = kube::core::Status::failure("", reason);
            unless_changed(Err(kube::Error::Api(status.boxed()))).ok()
        }

        assert_eq!(answer("NotFound"), Some(None));
        assert_eq!(answer("Conflict"), Some(None));
        assert_eq!(answer("Forbidden"), None);
        assert_eq!(unless_changed(Ok(())).ok(), Some(Some(())));
    }
}
