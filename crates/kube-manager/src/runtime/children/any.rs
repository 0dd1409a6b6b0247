//! Creates, corrects and deletes the children of an object, with as few requests as possible. A watch delivers all
//! children, so a child in its desired state needs no request.
//!
//! A child is computed from the children that the reconciler has read. So it is written only over an object in the
//! state that was read: a newer object is put into the index, and the owner is reconciled again with it.
//!
//! This code does not depend on the types of child and owner, so it is compiled once.

use std::{collections::HashSet, sync::Arc};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::{
    Api, Resource,
    api::{
        ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, Preconditions,
    },
    core::ObjectMeta,
    runtime::{Predicate, events::EventType},
};
use serde_json::{Value, json};

use super::{
    error::Error,
    mark::{Claim, LABEL, Marks, fields_of, label, set_namespace},
};
use crate::runtime::{
    access::Access,
    child::{AnyChild, Desired, Recreate},
    closures::Filter,
    immutable,
    informer::{Follow, Index, States, some_or_all},
    object::{AnyObject, Object, Raw, Write, identity},
    owned::Owned,
    reads::{self, Place, Seen},
    scope::Kind,
    settled::Settled,
    tie::{Tie, controlled_by},
    watch::{Key, Selector, Shown, key, resource},
};

type Result<T, E = Error> = std::result::Result<T, E>;

/// How often a write is tried in a reconcile when other programs write, create and delete the object at the same time.
const TRIES: u8 = 5;

/// The children of one kind that the objects of one kind own.
#[derive(Clone)]
pub struct AnyChildren {
    access: Access,
    kind: Kind,
    write: Write,
    owned: Arc<Owned>,
    /// The names that children may have; empty for all names.
    names: Arc<[String]>,
    marks: Marks,
    settled: Arc<Settled>,
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
    ) -> Self {
        let marks = Marks {
            operator: access.operator,
            label: format!("{}/applied", access.name()),
            owners: owners.clone(),
            tie: Tie::Reference,
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

    /// The same children, which refer to their owners by `tie`.
    pub fn tied_by(mut self, tie: Tie) -> Self {
        self.marks.tie = tie;
        self
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
        let children = self.known(owner);
        reads::read(self.place(owner), &children);
        children
    }

    fn known(&self, owner: &ObjectMeta) -> Vec<AnyObject> {
        self.owned.by(uid(owner))
    }

    /// See [`Children::apply`](super::Children::apply).
    pub async fn apply(
        &self,
        owner: &ObjectMeta,
        desired: Vec<AnyChild>,
    ) -> Result<Vec<AnyObject>> {
        let mut applied = Vec::new();
        for child in desired {
            applied.push(self.apply_one(owner, child).await?);
        }
        let wanted: HashSet<_> = applied.iter().map(|child| &child.metadata().uid).collect();
        for child in self.known(owner) {
            let metadata = child.metadata();
            let is_wanted = wanted.contains(&metadata.uid);
            let going = metadata.deletion_timestamp.is_some();
            // The reconciler may not know a child that has just appeared. Its watch event wakes the owner.
            let is_news = matches!(self.seen(owner, metadata), Seen::Absent);
            // Another controller may create children for the same owner.
            if self.marks.of(metadata).is_some() && !is_wanted && !going && !is_news {
                self.delete_if(metadata, unchanged(metadata)).await?;
            }
        }
        Ok(applied)
    }

    /// See [`Children::apply_one`](super::Children::apply_one).
    pub async fn apply_one(&self, owner: &ObjectMeta, mut child: AnyChild) -> Result<AnyObject> {
        set_namespace(&mut child.metadata, &self.kind, owner)?;
        if !self.names.is_empty() && !self.names.contains(&key(&child.metadata).1) {
            return Err(Error::OtherName(self.kind.describe(&child.metadata)));
        }
        // A future with all requests is large, and most children need none of them.
        let applied = match self.find(owner, &child.metadata).await? {
            Some(known) => self.correct(owner, &known, &child).await,
            None => Box::pin(self.create(owner, &child)).await,
        };
        if matches!(applied, Err(Error::Stale(_))) {
            reads::outdated(self.place(owner));
        }
        applied
    }

    /// The known child with the name of `child`.
    async fn find(&self, owner: &ObjectMeta, child: &ObjectMeta) -> Result<Option<AnyObject>> {
        let known = match self.owned.same(uid(owner), &key(child)) {
            None => return Ok(None),
            Some(known) if known.is_shown => return Ok(Some(known.child)),
            Some(known) => known.child,
        };
        match Box::pin(self.get(child)).await? {
            // Without its label, the watch would never show it.
            Some(live) if self.marks.claim(live.metadata(), owner) == Claim::Ours => {
                let labelled = Box::pin(self.label(owner, live)).await?;
                Ok(labelled.map(|live| self.know(live)))
            }
            _ => {
                self.owned.forget(known.metadata());
                Ok(None)
            }
        }
    }

    /// Creates a child that is not known.
    async fn create(&self, owner: &ObjectMeta, child: &AnyChild) -> Result<AnyObject> {
        let desired = self.desired(owner, child, None)?;
        let (metadata, params) = (&desired.metadata, self.access.post_params());
        let object = Raw::of(&desired.object);
        let object = object.map_err(|source| self.failed("create", metadata, source))?;
        for _ in 0..TRIES {
            let created = self.api(metadata).create(&params, &object).await;
            match self.kind.object(created) {
                Ok(created) => {
                    self.settle(&*created, &desired);
                    return Ok(self.wrote(created));
                }
                Err(kube::Error::Api(status)) if status.is_already_exists() => {}
                Err(source) => return Err(self.failed("create", metadata, source)),
            }
            // The object may be deleted meanwhile.
            if let Some(live) = self.get(metadata).await?
                && let Some(existing) = Box::pin(self.take_over(owner, live, child)).await?
            {
                return Ok(existing);
            }
        }
        Err(self.stale(metadata))
    }

    /// Takes the object `live`, which has the name of `child`, into the index, with the labels and the owner reference
    /// of a child. Does not write the fields of `child`, which were computed without `live`. Returns `None` if the name
    /// may be free by now.
    async fn take_over(
        &self,
        owner: &ObjectMeta,
        live: AnyObject,
        child: &AnyChild,
    ) -> Result<Option<AnyObject>> {
        let claim = self.marks.claim(live.metadata(), owner);
        let may_own = match claim {
            Claim::Ours => true,
            // With the reference of an owner that is deleted by now, the garbage collector would delete the object.
            Claim::Orphaned | Claim::Earlier => self.is_current(owner, live.metadata()).await?,
            Claim::Foreign => false,
        };
        if !may_own {
            let error = Error::NotOwned(self.kind.describe(&child.metadata));
            let regarding = identity(owner).object_ref(&self.marks.owners);
            let event = (EventType::Warning, "NotOwned", error.to_string());
            self.access.record(regarding, event);
            return Err(error);
        }
        let metadata = live.metadata();
        if metadata.deletion_timestamp.is_some() {
            return Ok(Some(self.know(live)));
        }
        let desired = self.desired(owner, child, Some(&self.json(&*live)))?;
        let is_same = self.marks.of(metadata) == self.marks.of(&desired.metadata);
        if claim == Claim::Earlier && !child.keeps_values() && !is_same {
            if self.delete_if(metadata, unchanged(metadata)).await? {
                let name = self.kind.describe(metadata);
                tracing::info!(child = name, "deleted, because its owner is deleted");
            }
            return Ok(None);
        }
        let Some(live) = self.label(owner, live).await? else {
            return Ok(None);
        };
        let is_desired =
            child.is_create_only || self.difference(&self.json(&*live), &desired).is_none();
        let live = self.know(live);
        if is_desired {
            Ok(Some(live))
        } else {
            Err(self.stale(&desired.metadata))
        }
    }

    /// Adds the operator's label and the owner reference, if the object lacks them. Returns `None` if the object has
    /// changed since it was read.
    async fn label(&self, owner: &ObjectMeta, live: AnyObject) -> Result<Option<AnyObject>> {
        let metadata = live.metadata();
        let mut change = json!({});
        let operator = self.access.operator;
        if label(metadata, LABEL) != Some(operator) {
            change["labels"] = json!({LABEL: operator});
        }
        if self.marks.claim(metadata, owner) != Claim::Ours || !self.marks.tie.holds(metadata) {
            let tied = self.marks.tie.patch(metadata, self.marks.reference(owner));
            for (field, value) in tied.as_object().into_iter().flatten() {
                change[field] = value.clone();
            }
        }
        if change == json!({}) {
            return Ok(Some(live));
        }
        change["resourceVersion"] = json!(metadata.resource_version);
        let patch = json!({ "metadata": change });
        let params = PatchParams::apply(&self.access.field_manager());
        let patched = self.patch(metadata, &params, &Patch::Merge(patch)).await?;
        if patched.is_some() {
            let child = self.kind.describe(metadata);
            tracing::info!(child, "has its label or its owner reference again");
        }
        Ok(patched)
    }

    /// Corrects the child `known`, if it differs from `child`.
    async fn correct(
        &self,
        owner: &ObjectMeta,
        known: &AnyObject,
        child: &AnyChild,
    ) -> Result<AnyObject> {
        let metadata = known.metadata();
        // The deletion wakes the owner, which then creates the child.
        if metadata.deletion_timestamp.is_some() {
            return Ok(known.clone());
        }
        if !self.marks.tie.holds(metadata) {
            // The code of the operator has changed. The change wakes the owner, which then corrects the other fields.
            let tied = Box::pin(self.label(owner, known.clone())).await?;
            return tied
                .map(|child| self.wrote(child))
                .ok_or_else(|| self.stale(metadata));
        }
        if child.is_create_only {
            return Ok(known.clone());
        }
        let fields = self.json(&**known);
        let desired = self.desired(owner, child, Some(&fields))?;
        let Some(field) = self.difference(&fields, &desired) else {
            return Ok(known.clone());
        };
        match self.seen(owner, metadata) {
            Seen::Unread => {}
            Seen::Child(seen) if is_same(&*seen, &**known, self.write) => {}
            Seen::Child(_) | Seen::Absent => return Err(self.stale(metadata)),
        }
        Box::pin(self.update(owner, known, child, &desired, &field)).await
    }

    /// Writes `desired` over the child `known`, from which it differs in `field`.
    async fn update(
        &self,
        owner: &ObjectMeta,
        known: &AnyObject,
        child: &AnyChild,
        desired: &Desired,
        field: &str,
    ) -> Result<AnyObject> {
        let metadata = &desired.metadata;
        // If the set of fields has not changed, the apply has no field to remove, and the owner of each field does not
        // matter.
        let same_fields = self.marks.have_same_fields(known.metadata(), metadata);
        let mut fresh = same_fields.then(|| known.clone());
        for _ in 0..TRIES {
            let live = match fresh.take() {
                Some(live) => live,
                None => match self.get(metadata).await? {
                    // Other programs write the status.
                    Some(live) if is_same(&*live, &**known, self.write) => live,
                    Some(live) => match Box::pin(self.take_over(owner, live, child)).await? {
                        Some(existing) => return Ok(existing),
                        None => return Box::pin(self.create(owner, child)).await,
                    },
                    None => {
                        self.owned.forget(known.metadata());
                        return Box::pin(self.create(owner, child)).await;
                    }
                },
            };
            match self
                .send_update(live.metadata(), desired, same_fields)
                .await
            {
                Ok(written) => {
                    self.settle(&*written, desired);
                    if written.metadata().resource_version != live.metadata().resource_version {
                        tracing::info!(child = self.kind.describe(metadata), field, "corrected");
                    }
                    return Ok(self.wrote(written));
                }
                Err(kube::Error::Api(status)) if status.is_conflict() || status.is_not_found() => {}
                Err(kube::Error::Api(status)) => {
                    let (fields, desired_fields) = (self.json(&*live), fields_of(&desired.object));
                    let refused = immutable::refusal(&status, &fields, &desired_fields);
                    return match refused {
                        Some(refusal) => {
                            Box::pin(self.refused(owner, live.metadata(), child, refusal)).await
                        }
                        None => Err(self.failed("patch", metadata, kube::Error::Api(status))),
                    };
                }
                Err(source) => return Err(self.failed("patch", metadata, source)),
            }
        }
        Err(self.stale(metadata))
    }

    /// Applies `desired` to `live`. The API server refuses it if `live` has changed since it was read, or if another
    /// object has the name now.
    async fn send_update(
        &self,
        live: &ObjectMeta,
        desired: &Desired,
        same_fields: bool,
    ) -> kube::Result<AnyObject> {
        let (api, name) = (self.api(live), key(live).1);
        let mut version = live.resource_version.clone();
        if !same_fields && let Some(moved) = self.move_fields(&api, live).await? {
            version = moved.metadata().resource_version.clone();
        }
        let mut applied = desired.object.clone();
        applied["metadata"]["uid"] = json!(live.uid);
        applied["metadata"]["resourceVersion"] = json!(version);
        let params = PatchParams::apply(&self.access.field_manager()).force();
        self.kind
            .object(api.patch(&name, &params, &Patch::Apply(applied)).await)
    }

    /// Moves the ownership of the fields that the creation has set to an Apply. The creation has set them with an
    /// Update of the same field manager, and an apply cannot remove fields of an Update. All other Updates have another
    /// field manager, so their values stay.
    async fn move_fields(
        &self,
        api: &Api<Raw>,
        live: &ObjectMeta,
    ) -> kube::Result<Option<AnyObject>> {
        let manager = self.access.field_manager();
        let mut fields = live.managed_fields.clone().unwrap_or_default();
        let Some(updated) = fields
            .iter()
            .position(|entry| is_by(entry, &manager, "Update"))
        else {
            return Ok(None);
        };
        if fields.iter().any(|entry| is_by(entry, &manager, "Apply")) {
            // An apply always had all fields, so the Apply owns these fields, too.
            fields.remove(updated);
        } else {
            fields[updated].operation = Some("Apply".to_owned());
        }
        let metadata = json!({"resourceVersion": live.resource_version, "managedFields": fields});
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        let params = PatchParams::default();
        let moved = api.patch(&key(live).1, &params, &patch).await;
        self.kind.object(moved).map(Some)
    }

    /// The first field in which `live` differs from `desired`, apart from what the API server has made of it before.
    fn difference(&self, live: &Value, desired: &Desired) -> Option<String> {
        self.settled.difference(live, &fields_of(&desired.object))
    }

    /// Remembers in what `answer`, the answer to a write of `desired`, differs from `desired`.
    fn settle(&self, answer: &dyn Object, desired: &Desired) {
        let answer = self.json(answer);
        if let Some(field) = self.settled.settle(&answer, &fields_of(&desired.object)) {
            let child = self.kind.describe(&desired.metadata);
            tracing::warn!(child, field, "the API server has stored another value");
        }
    }

    /// Deletes `live`, because the API server refuses to change a field of it, if the child is declared so.
    async fn refused(
        &self,
        owner: &ObjectMeta,
        live: &ObjectMeta,
        child: &AnyChild,
        refusal: immutable::Refusal,
    ) -> Result<AnyObject> {
        let name = self.kind.describe(live);
        let how = child.recreate.filter(|_| !child.keeps_values());
        let params = match how {
            Some(Recreate::Foreground) => DeleteParams::foreground(),
            Some(Recreate::Orphan) => DeleteParams::orphan(),
            None => {
                return Err(Error::Immutable {
                    child: name,
                    field: refusal.field,
                    text: refusal.text,
                    delete: self.command(live),
                });
            }
        };
        let unchanged_params = params.preconditions(unchanged(live));
        let Some(deleted) = self.send_delete(live, &unchanged_params).await? else {
            return Err(self.stale(live));
        };
        let field = refusal.field;
        tracing::info!(
            child = name,
            field,
            "deleted, because this field cannot change"
        );
        match deleted {
            // The end of the deletion wakes the owner, which then creates the child.
            Some(going) if going.metadata().deletion_timestamp.is_some() => Ok(self.wrote(going)),
            _ => {
                self.owned.forget(live);
                Box::pin(self.create(owner, child)).await
            }
        }
    }

    /// The command that deletes `child` and keeps what `child` owns.
    fn command(&self, child: &ObjectMeta) -> String {
        let flag = match &child.namespace {
            Some(namespace) => format!(" --namespace {namespace}"),
            None => String::new(),
        };
        format!(
            "kubectl delete {} {}{flag} --cascade=orphan",
            resource(&self.kind.resource),
            key(child).1
        )
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
    async fn patch(
        &self,
        child: &ObjectMeta,
        params: &PatchParams,
        patch: &Patch<Value>,
    ) -> Result<Option<AnyObject>> {
        let answer = self.api(child).patch(&key(child).1, params, patch).await;
        unless_changed(self.kind.object(answer))
            .map_err(|source| self.failed("patch", child, source))
    }

    /// See [`Children::delete`](super::Children::delete).
    pub async fn delete(&self, child: &ObjectMeta) -> Result<bool> {
        let mut preconditions = unchanged(child);
        preconditions.resource_version = None;
        self.delete_if(child, preconditions).await
    }

    /// Deletes the children that this controller has created.
    pub async fn delete_all(&self, owner: &ObjectMeta) -> Result<()> {
        for child in self.known(owner) {
            let metadata = child.metadata();
            let is_going = metadata.deletion_timestamp.is_some();
            if self.marks.of(metadata).is_some() && !is_going {
                self.delete(metadata).await?;
            }
        }
        Ok(())
    }

    async fn delete_if(&self, child: &ObjectMeta, preconditions: Preconditions) -> Result<bool> {
        // Without a propagation policy, the Pods of a Job would stay.
        let params = DeleteParams::background().preconditions(preconditions);
        Ok(self.send_delete(child, &params).await?.is_some())
    }

    /// Deletes a child. Returns the child, if the API server has returned it; `None` if it was deleted already, or has
    /// changed since it was read.
    async fn send_delete(
        &self,
        child: &ObjectMeta,
        params: &DeleteParams,
    ) -> Result<Option<Option<AnyObject>>> {
        let answer = self.api(child).delete(&key(child).1, params).await;
        let deleted = answer.and_then(|answer| {
            let left = answer.left().map(|left| self.kind.object(Ok(left)));
            left.transpose()
        });
        unless_changed(deleted).map_err(|source| self.failed("delete", child, source))
    }

    /// Whether the API server has this very `owner`, and no later object with its name.
    async fn is_current(&self, owner: &ObjectMeta, child: &ObjectMeta) -> Result<bool> {
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
        let uids = found.items.iter().map(|object| &object.metadata.uid);
        Ok(uids.eq([&owner.uid]))
    }

    /// The child to write, if the API server has `live`.
    fn desired(
        &self,
        owner: &ObjectMeta,
        child: &AnyChild,
        live: Option<&Value>,
    ) -> Result<Desired> {
        let desired = child.over(live, &self.kind, self.write)?;
        Ok(self.marks.set(desired, owner))
    }

    /// Reads the live object with the name of `child`.
    async fn get(&self, child: &ObjectMeta) -> Result<Option<AnyObject>> {
        let answer = self.api(child).get_opt(&key(child).1).await.transpose();
        let live = answer.map(|live| self.kind.object(live)).transpose();
        live.map_err(|source| self.failed("get", child, source))
    }

    /// Adds an object that the API server has returned to the index.
    fn know(&self, mut live: AnyObject) -> AnyObject {
        // The watch drops them, too. An object that is in the index already has none.
        if let Some(live) = Arc::get_mut(&mut live) {
            live.metadata_mut().managed_fields = None;
        }
        self.owned.add(live.clone());
        live
    }

    /// Adds an object that this reconcile has written to the index.
    fn wrote(&self, written: AnyObject) -> AnyObject {
        let written = self.know(written);
        let metadata = written.metadata();
        if let Some(owner) = controlled_by(metadata) {
            reads::wrote(&self.place_of(&owner.uid), &key(metadata), &written);
        }
        written
    }

    /// The child with the name of `child`, as the current reconcile has read it.
    fn seen(&self, owner: &ObjectMeta, child: &ObjectMeta) -> Seen {
        reads::seen(&self.place(owner), &key(child))
    }

    fn place(&self, owner: &ObjectMeta) -> Place {
        self.place_of(uid(owner))
    }

    fn place_of(&self, owner: &str) -> Place {
        Place {
            index: Arc::as_ptr(&self.owned).addr(),
            owner: owner.to_owned(),
        }
    }

    /// Kind and name of a child.
    pub fn describe(&self, child: &ObjectMeta) -> String {
        self.kind.describe(child)
    }

    fn json(&self, child: &dyn Object) -> Value {
        (self.write)(child)
    }

    fn stale(&self, child: &ObjectMeta) -> Error {
        Error::Stale(self.kind.describe(child))
    }

    fn failed(&self, verb: &'static str, child: &ObjectMeta, source: kube::Error) -> Error {
        Error::Request {
            verb,
            child: self.kind.describe(child),
            source,
        }
    }

    fn api(&self, child: &ObjectMeta) -> Api<Raw> {
        let client = self.access.client.clone();
        self.kind.api(client, child.namespace.as_deref())
    }
}

/// The uid of an owner, which each object of the API server has.
fn uid(owner: &ObjectMeta) -> &str {
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
fn unchanged(child: &ObjectMeta) -> Preconditions {
    Preconditions {
        uid: child.uid.clone(),
        resource_version: child.resource_version.clone(),
    }
}

/// Whether two versions of an object differ at most in what other programs report about it.
fn is_same(one: &dyn Object, other: &dyn Object, write: Write) -> bool {
    let [metadata, others] = [one, other].map(Object::metadata);
    metadata.uid == others.uid
        && (metadata.resource_version == others.resource_version
            || content(write(one)) == content(write(other)))
}

/// `object` without what other programs report about it.
fn content(object: Value) -> Value {
    let mut content = fields_of(&object);
    if let Some(metadata) = content["metadata"].as_object_mut() {
        for field in ["generation", "managedFields", "resourceVersion"] {
            metadata.remove(field);
        }
    }
    content
}

/// Whether `entry` has the fields that `manager` owns by `operation`.
fn is_by(entry: &ManagedFieldsEntry, manager: &str, operation: &str) -> bool {
    entry.manager.as_deref() == Some(manager)
        && entry.operation.as_deref() == Some(operation)
        && entry.subresource.is_none()
}

#[cfg(test)]
mod races;

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus};

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
