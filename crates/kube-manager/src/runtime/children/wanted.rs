//! Brings children to their desired state, with as few requests as possible. A watch delivers all children, so a child
//! in its desired state needs no request.
//!
//! A child is computed from the children that the reconciler has read. So it is written only over an object in the
//! state that was read: a newer object is put into the index, and the owner is reconciled again with it.

use std::collections::HashSet;

use kube::{
    Resource,
    api::{DeleteParams, Patch, PatchParams},
    core::{ObjectMeta, Status},
    runtime::events::EventType,
};
use serde_json::{Value, json};

use super::{
    any::{AnyChildren, Result, TRIES, delete_command, deletes_data, is_same, unchanged},
    error::Error,
    field_owners,
    mark::{Claim, LABEL, label, set_namespace},
};
use crate::runtime::{
    child::{AnyChild, Desired, Recreate},
    immutable::{self, Refusal},
    object::{AnyObject, Raw, identity},
    reads::{self, ObservedChild},
    watch::key,
};

/// The mark of a child that this controller has not created, and whose fields it never writes.
const TAKEN_OVER: &str = "taken-over";

/// The mark of a child that was overwritten, until an apply has removed the fields that are no longer desired.
const OVERWRITTEN: &str = "overwritten";

impl AnyChildren {
    /// See [`Children::apply`](super::Children::apply).
    pub async fn apply(
        &self,
        owner: &ObjectMeta,
        desired: Vec<AnyChild>,
    ) -> Result<Vec<AnyObject>> {
        self.check_names(owner, &desired)?;
        let mut applied = Vec::new();
        for child in desired {
            applied.push(self.apply_one(owner, child).await?);
        }
        let wanted: HashSet<_> = applied.iter().map(|child| &child.metadata().uid).collect();
        for child in self.by(owner) {
            let metadata = child.metadata();
            let is_wanted = wanted.contains(&metadata.uid);
            let going = metadata.deletion_timestamp.is_some();
            // The reconciler may not know a child that has just appeared. Its watch event wakes the owner.
            let is_news = matches!(self.observed(owner, metadata), ObservedChild::Absent);
            // Another controller may create children for the same owner.
            if self.marks.of(metadata).is_some() && !is_wanted && !going && !is_news {
                self.delete_if(metadata, unchanged(metadata)).await?;
            }
        }
        Ok(applied)
    }

    /// Refuses two children with one name: each would replace the other in each reconcile.
    fn check_names(&self, owner: &ObjectMeta, desired: &[AnyChild]) -> Result<()> {
        let mut names = HashSet::new();
        for AnyChild { metadata, .. } in desired {
            let namespace = metadata.namespace.as_ref().or(owner.namespace.as_ref());
            let namespace = namespace.filter(|_| self.kind.namespaced);
            if metadata.name.is_some() && !names.insert((namespace, &metadata.name)) {
                return Err(Error::Twice(self.kind.describe(metadata)));
            }
        }
        Ok(())
    }

    /// See [`Children::apply_one`](super::Children::apply_one).
    pub async fn apply_one(&self, owner: &ObjectMeta, mut child: AnyChild) -> Result<AnyObject> {
        set_namespace(&mut child.metadata, &self.kind, owner)?;
        if !self.names.is_empty() && !self.names.contains(&key(&child.metadata).1) {
            return Err(Error::OtherName(self.kind.describe(&child.metadata)));
        }
        let (all, child) = (self, &child);
        let applied = Wanted { all, owner, child }.apply().await;
        if matches!(applied, Err(Error::Stale(_))) {
            reads::outdated(self.lookup(owner));
        }
        applied
    }
}

/// The answer to an update of a child.
enum Update {
    Written(AnyObject),
    /// A field of this child is immutable.
    Refused(AnyObject, Refusal),
}

/// A desired child of an object.
struct Wanted<'a> {
    /// The children of the same kind.
    all: &'a AnyChildren,
    owner: &'a ObjectMeta,
    /// The child, with its namespace.
    child: &'a AnyChild,
}

impl Wanted<'_> {
    /// Creates or corrects the child. Returns the child as the API server has it.
    async fn apply(&self) -> Result<AnyObject> {
        // A future with all requests is large, and most children need none of them.
        match self.find().await? {
            Some(known) => self.correct(&known).await,
            None => Box::pin(self.create()).await,
        }
    }

    /// The known child with this name.
    async fn find(&self) -> Result<Option<AnyObject>> {
        let metadata = &self.child.metadata;
        let known = match self.all.known(self.owner, metadata) {
            None => return Ok(None),
            Some(known) if known.is_shown => return Ok(Some(known.child)),
            Some(known) => known.child,
        };
        match Box::pin(self.all.get(metadata)).await? {
            // Without its label, the watch would never show it.
            Some(live) if self.claim(live.metadata()) == Claim::Ours => {
                let labelled = Box::pin(self.label(live, None)).await?;
                Ok(labelled.map(|live| self.all.know(live)))
            }
            _ => {
                self.all.owned.forget(known.metadata());
                Ok(None)
            }
        }
    }

    /// Creates a child that is not known.
    async fn create(&self) -> Result<AnyObject> {
        let desired = self.desired(None)?;
        let (metadata, params) = (&desired.metadata, self.all.access.post_params());
        let object = Raw::of(&desired.object);
        let object = object.map_err(|source| self.all.failed("create", metadata, source))?;
        for _ in 0..TRIES {
            let created = self.all.api(metadata).create(&params, &object).await;
            match self.all.kind.object(created) {
                Ok(created) => {
                    self.settle(&created, &desired);
                    return Ok(self.all.wrote(created));
                }
                Err(kube::Error::Api(status)) if status.is_already_exists() => {}
                Err(source) => return Err(self.all.failed("create", metadata, source)),
            }
            // The object may be deleted meanwhile.
            if let Some(live) = self.all.get(metadata).await?
                && let Some(existing) = Box::pin(self.take_over(live)).await?
            {
                return Ok(existing);
            }
        }
        Err(self.stale())
    }

    /// Takes the object `live`, which has the name of the child, into the index, with the labels and the owner reference
    /// of a child. Does not write the other fields of the child, which were computed without `live`. Returns `None` if
    /// the name may be free by now.
    async fn take_over(&self, live: AnyObject) -> Result<Option<AnyObject>> {
        let metadata = live.metadata();
        let claim = self.claim(metadata);
        let may_own = match claim {
            Claim::Ours => true,
            // With the reference of an owner that is deleted by now, the garbage collector would delete the object.
            Claim::Orphaned | Claim::Earlier => {
                if !self.all.is_current(self.owner, metadata).await? {
                    // The watch has not shown the deletion of the owner yet.
                    return Err(self.stale());
                }
                true
            }
            Claim::Foreign => false,
        };
        if !may_own {
            let error = Error::NotOwned(self.all.describe(metadata));
            let regarding = identity(self.owner).object_ref(&self.all.marks.owners);
            let event = (EventType::Warning, "NotOwned", error.to_string());
            self.all.access.record(regarding, event);
            return Err(error);
        }
        if metadata.deletion_timestamp.is_some() {
            // The watch shows only objects with the label, and wakes only the owner that an object names.
            let is_labelled = label(metadata, LABEL) == Some(self.all.marks.operator);
            if claim == Claim::Orphaned || !is_labelled {
                return Err(Error::Terminating(self.all.describe(metadata)));
            }
            return Ok(Some(self.all.know(live)));
        }
        let fields = self.all.json(&live);
        let desired = self.desired(Some(&fields))?;
        let is_same = self.all.marks.of(metadata) == self.all.marks.of(&desired.metadata);
        let holds_data =
            self.child.keeps_values() || deletes_data(&self.all.kind.resource, &fields);
        if claim == Claim::Earlier && !holds_data && !is_same {
            if self.all.delete_if(metadata, unchanged(metadata)).await? {
                let name = self.all.describe(metadata);
                tracing::info!(child = name, "deleted, because its owner is deleted");
            }
            return Ok(None);
        }
        let Some(live) = self.label(live, Some(&desired)).await? else {
            return Ok(None);
        };
        let fields = self.all.json(&live);
        let is_desired = self.child.is_create_only
            || self
                .all
                .settled
                .difference(&fields, &desired.object)
                .is_none();
        let live = self.all.know(live);
        is_desired.then_some(Some(live)).ok_or_else(|| self.stale())
    }

    /// Adds the operator's label and the owner reference, if the object lacks them. If somebody has restored the object, and
    /// it has the fields of `desired`, also makes this controller their owner: an apply would never remove them otherwise.
    /// Returns `None` if the object has changed since it was read.
    async fn label(&self, live: AnyObject, desired: Option<&Desired>) -> Result<Option<AnyObject>> {
        let (metadata, marks) = (live.metadata(), &self.all.marks);
        let mut change = json!({});
        if self.claim(metadata) != Claim::Ours || !marks.is_tied(metadata) {
            change = marks.tie.patch(metadata, marks.reference(self.owner));
        }
        let mut labels = json!({});
        if label(metadata, LABEL) != Some(marks.operator) {
            labels[LABEL] = json!(marks.operator);
        }
        if self.lacks_mark(metadata) {
            labels[&marks.label] = json!(TAKEN_OVER);
        }
        if let Some(desired) = desired
            && marks.have_same_fields(metadata, &desired.metadata)
            && let Some(owners) = field_owners::taken_over(
                metadata.managed_fields.clone().unwrap_or_default(),
                &self.all.access.field_manager(),
                &marks.label,
                &desired.object,
            )
        {
            change["managedFields"] = json!(owners);
        }
        if labels != json!({}) {
            change["labels"] = labels;
        }
        if change == json!({}) {
            return Ok(Some(live));
        }
        change["resourceVersion"] = json!(metadata.resource_version);
        let patch = Patch::Merge(json!({ "metadata": change }));
        let params = PatchParams::apply(&self.all.access.field_manager());
        let patched = self.all.patch(metadata, &params, &patch).await?;
        if patched.is_some() {
            let child = self.all.describe(metadata);
            tracing::info!(child, "has its label or its owner reference again");
        }
        Ok(patched)
    }

    /// Corrects the child `known`, if it differs.
    async fn correct(&self, known: &AnyObject) -> Result<AnyObject> {
        let metadata = known.metadata();
        // The deletion wakes the owner, which then creates the child.
        if metadata.deletion_timestamp.is_some() {
            return Ok(known.clone());
        }
        if !self.all.marks.is_tied(metadata) || self.lacks_mark(metadata) {
            // The code of the operator has changed, or somebody has removed the mark. The change wakes the owner, which then
            // corrects the other fields. So the reference is right even if the API server refuses the other fields.
            let tied = Box::pin(self.label(known.clone(), None)).await?;
            let written = tied.map(|child| self.all.wrote(child));
            return written.ok_or_else(|| self.stale());
        }
        if self.child.is_create_only {
            return Ok(known.clone());
        }
        let fields = self.all.json(known);
        let desired = self.desired(Some(&fields))?;
        let Some(field) = self.all.settled.difference(&fields, &desired.object) else {
            return Ok(known.clone());
        };
        match self.all.observed(self.owner, metadata) {
            ObservedChild::Unread => {}
            ObservedChild::Child(observed) if is_same(&*observed, &**known, self.all.write) => {}
            ObservedChild::Child(_) | ObservedChild::Absent => return Err(self.stale()),
        }
        Box::pin(self.update(known, &desired, &field)).await
    }

    /// Writes `desired` over the child `known`, from which it differs in `field`.
    async fn update(&self, known: &AnyObject, desired: &Desired, field: &str) -> Result<AnyObject> {
        let metadata = &desired.metadata;
        // The watch does not deliver the owners of fields. They do not matter if the set of fields has not changed: then
        // the apply has no field to remove.
        let has_same_fields = self.all.marks.have_same_fields(known.metadata(), metadata);
        let mut fresh = has_same_fields.then(|| known.clone());
        for _ in 0..TRIES {
            let found = match fresh.take() {
                Some(known) => Some(known),
                None => self.all.get(metadata).await?,
            };
            let Some(live) = found else {
                self.all.owned.forget(known.metadata());
                return Box::pin(self.create()).await;
            };
            // Other programs write the status.
            if !is_same(&*live, &**known, self.all.write) {
                return match Box::pin(self.take_over(live)).await? {
                    Some(existing) => Ok(existing),
                    None => Box::pin(self.create()).await,
                };
            }
            let sent = match self.move_fields(live.clone(), desired).await {
                Ok(moved) => self.send_update(moved, desired).await,
                Err(error) => Err(error),
            };
            match sent {
                Ok(Update::Written(written)) => {
                    self.settle(&written, desired);
                    if written.metadata().resource_version != live.metadata().resource_version {
                        tracing::info!(child = self.all.describe(metadata), field, "corrected");
                    }
                    return Ok(self.all.wrote(written));
                }
                Ok(Update::Refused(live, refusal)) => {
                    return Box::pin(self.refused(live.metadata(), refusal)).await;
                }
                Err(kube::Error::Api(status)) if status.is_conflict() || status.is_not_found() => {}
                Err(source) => return Err(self.all.failed("patch", metadata, source)),
            }
        }
        Err(self.stale())
    }

    /// Applies `desired` to `live`, or else overwrites it.
    async fn send_update(&self, live: AnyObject, desired: &Desired) -> kube::Result<Update> {
        let error = match self.send_apply(live.metadata(), desired).await {
            Ok(written) => return Ok(Update::Written(written)),
            Err(error) => error,
        };
        let kube::Error::Api(status) = &error else {
            return Err(error);
        };
        if !immutable::is_by_validation(status) {
            return Err(error);
        }
        if let Some(refusal) = immutable::refusal(status, &self.all.json(&live), &desired.object) {
            return Ok(Update::Refused(live, refusal));
        }
        let mut causes = status.details.iter().flat_map(|details| &details.causes);
        if causes.any(|cause| is_left_alone(&cause.field)) {
            return Err(error);
        }
        let status = match Box::pin(self.overwrite(&live, desired, status)).await {
            Ok(Some(written)) => return Ok(Update::Written(written)),
            Err(kube::Error::Api(status)) => status,
            // The apply says why.
            _ => return Err(error),
        };
        if status.is_conflict() {
            return Err(kube::Error::Api(status));
        }
        // Without the defaults that do not fit, only immutable fields may be left.
        match immutable::refusal(&status, &self.all.json(&live), &desired.object) {
            Some(refusal) => Ok(Update::Refused(live, refusal)),
            None => Err(error),
        }
    }

    /// Applies `desired` to `live`. The API server refuses it if `live` has changed since it was read, or if another
    /// object has the name now.
    async fn send_apply(&self, live: &ObjectMeta, desired: &Desired) -> kube::Result<AnyObject> {
        let mut applied = desired.object.clone();
        applied["metadata"]["uid"] = json!(live.uid);
        applied["metadata"]["resourceVersion"] = json!(live.resource_version);
        let params = PatchParams::apply(&self.all.access.field_manager()).force();
        let (api, name) = (self.all.api(live), key(live).1);
        let answer = api.patch(&name, &params, &Patch::Apply(applied)).await;
        self.all.kind.object(answer)
    }

    /// Writes `desired` over `live`, and applies it then. Returns `None` if the object is as it was before, so that
    /// another apply would fail, too.
    ///
    /// An apply keeps what nobody has applied, and may be invalid with it: `refusal` says why. It keeps the elements that
    /// another client has added to a list: of two ports of a Service, each needs a name. It keeps the fields that the API
    /// server has set: a Deployment with the strategy `Recreate` must not have the parameters of the strategy before.
    async fn overwrite(
        &self,
        live: &AnyObject,
        desired: &Desired,
        refusal: &Status,
    ) -> kube::Result<Option<AnyObject>> {
        let metadata = live.metadata();
        let mut merged = desired.object.clone();
        if let Some(fields) = merged["metadata"].as_object_mut() {
            fields.retain(|name, _| matches!(&**name, "annotations" | "labels"));
        }
        merged["metadata"]["uid"] = json!(metadata.uid);
        merged["metadata"]["resourceVersion"] = json!(metadata.resource_version);
        // If the apply below is not sent, another one follows, whatever is desired then.
        merged["metadata"]["labels"][&self.all.marks.label] = json!(OVERWRITTEN);
        let fields = self.all.json(live);
        let causes = refusal.details.iter().flat_map(|details| &details.causes);
        let mut removed: Vec<_> = causes.map(|cause| &cause.field).collect();
        removed.retain(|field| remove(&mut merged, &fields, &desired.object, field));
        let params = PatchParams::apply(&self.all.access.field_manager());
        let (api, name) = (self.all.api(metadata), key(metadata).1);
        let answer = api.patch(&name, &params, &Patch::Merge(merged)).await;
        let overwritten = self.all.kind.object(answer)?;
        if overwritten.metadata().resource_version == metadata.resource_version {
            return Ok(None);
        }
        if !removed.is_empty() {
            let child = self.all.describe(metadata);
            tracing::info!(child, fields = ?removed, "removed, because the desired state is invalid with them");
        }
        let moved = self.move_fields(overwritten, desired).await?;
        self.send_apply(moved.metadata(), desired).await.map(Some)
    }

    /// Moves the ownership of the fields that this controller has set with an Update to its Apply, unless the apply of
    /// `desired` has no field to remove. An apply cannot remove fields of an Update: a creation is one, and so are
    /// [`Wanted::overwrite`] and [`Wanted::label`]. All other Updates have another field manager, so their values stay,
    /// except for [those of a restore](field_owners::taken_over).
    async fn move_fields(&self, live: AnyObject, desired: &Desired) -> kube::Result<AnyObject> {
        let metadata = live.metadata();
        let has_same_fields = self.all.marks.have_same_fields(metadata, &desired.metadata);
        let entries = metadata.managed_fields.clone().unwrap_or_default();
        let moved = field_owners::moved(entries, &self.all.access.field_manager());
        let Some(entries) = moved.filter(|_| !has_same_fields) else {
            return Ok(live);
        };
        let change =
            json!({"resourceVersion": metadata.resource_version, "managedFields": entries});
        let patch = Patch::Merge(json!({ "metadata": change }));
        let (api, name) = (self.all.api(metadata), key(metadata).1);
        let moved = api.patch(&name, &PatchParams::default(), &patch).await;
        self.all.kind.object(moved)
    }

    /// Deletes `live`, because the API server refuses to change a field of it, if the child is declared so.
    async fn refused(&self, live: &ObjectMeta, refusal: Refusal) -> Result<AnyObject> {
        let name = self.all.describe(live);
        let how = self.child.recreate.filter(|_| !self.child.keeps_values());
        let params = match how {
            Some(Recreate::Foreground) => DeleteParams::foreground(),
            Some(Recreate::Orphan) => DeleteParams::orphan(),
            None => {
                return Err(Error::Immutable {
                    child: name,
                    field: refusal.field,
                    text: refusal.text,
                    delete: delete_command(&self.all.kind.resource, live),
                });
            }
        };
        let unchanged_params = params.preconditions(unchanged(live));
        let Some(deleted) = self.all.send_delete(live, &unchanged_params).await? else {
            return Err(self.stale());
        };
        let (child, field) = (name, refusal.field);
        tracing::info!(child, field, "deleted, because this field cannot change");
        match deleted {
            // The end of the deletion wakes the owner, which then creates the child.
            Some(going) => Ok(going),
            None => Box::pin(self.create()).await,
        }
    }

    /// Remembers in what `answer`, the answer to a write of `desired`, differs from `desired`.
    fn settle(&self, answer: &AnyObject, desired: &Desired) {
        if let Some(field) = self
            .all
            .settled
            .settle(&self.all.json(answer), &desired.object)
        {
            let child = self.all.describe(&desired.metadata);
            tracing::warn!(child, field, "the API server has stored another value");
        }
    }

    /// The child to write, if the API server has `live`.
    fn desired(&self, live: Option<&Value>) -> Result<Desired> {
        let desired = self.child.over(live, &self.all.kind, self.all.write)?;
        Ok(self.all.marks.set(desired, self.owner))
    }

    /// Whether `live` needs the mark now. Without the mark, the child would never be deleted. Other children get the mark with
    /// their first correction, but a child that is created only once is never corrected.
    fn lacks_mark(&self, live: &ObjectMeta) -> bool {
        self.child.is_create_only && self.all.marks.of(live).is_none()
    }

    /// To whom `live`, which has the name of the child, belongs.
    fn claim(&self, live: &ObjectMeta) -> Claim {
        self.all.marks.claim(live, self.owner)
    }

    fn stale(&self) -> Error {
        Error::Stale(self.all.describe(&self.child.metadata))
    }
}

/// Whether [`Wanted::overwrite`] does not write the field at the path `field`: others write most metadata and the status,
/// too.
fn is_left_alone(field: &str) -> bool {
    let written = ["metadata.annotations", "metadata.labels"];
    ["metadata", "status"]
        .iter()
        .any(|start| field.starts_with(start))
        && !written.iter().any(|start| field.starts_with(start))
}

/// Makes a merge patch remove the field at the path `field`, such as `spec.strategy.rollingUpdate`, if `live` has it and
/// `desired` does not. Returns whether it does. A path into a list is left alone, because a patch replaces a list with all
/// of its elements. So are labels and annotations, which others may have added.
fn remove(patch: &mut Value, live: &Value, desired: &Value, field: &str) -> bool {
    let pointer = format!("/{}", field.replace('.', "/"));
    let is_there = live.pointer(&pointer).is_some() && desired.pointer(&pointer).is_none();
    if !is_there || field.starts_with("metadata") {
        return false;
    }
    let mut place = patch;
    for name in field.split('.') {
        let Some(fields) = place.as_object_mut() else {
            return false;
        };
        place = fields.entry(name).or_insert_with(|| json!({}));
    }
    *place = Value::Null;
    true
}
