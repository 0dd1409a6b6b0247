//! Creates, corrects and deletes the children of an object, with as few requests as possible. A watch delivers all
//! children, so a child in its desired state needs no request.
//!
//! A child is computed from the children that the reconciler has read. So it is written only over an object in the
//! state that was read: a newer object is put into the index, and the owner is reconciled again with it.

use std::{collections::HashSet, marker::PhantomData, sync::Arc};

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
    child::{Child, Recreate, Unfit},
    context::{Context, digest},
    immutable,
    owned::{self, Owned},
    rbac::Verb,
    reads::{self, Place, Seen},
    scope::{Kind, Watchable},
    settled::Settled,
    tie::{self, Tie},
    watch::key,
};

pub(super) mod error;

pub use error::Error;

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

/// How often a write is tried in a reconcile when other programs write, create and delete the object at the same time.
const TRIES: u8 = 5;

/// Selects the children from all objects of their kind.
pub(super) fn selector(operator: &str) -> String {
    format!("{LABEL}={operator}")
}

/// Creates, corrects and deletes the objects of kind `C` that the objects of kind `K` own.
///
/// For a kind that is known only at run time, use [`DynamicObject`]. A child then needs `types`, which
/// [`DynamicObject::new`] sets.
///
/// # Values that must not change
///
/// A reconciler often makes a value once and keeps it, such as a password. There are three ways:
///
/// - [`Child::keep`]: a field keeps the value that it has in the cluster.
/// - [`Child::create_only`]: the whole object is created once, and never changed.
/// - Look for the value with [`of`](Self::of), and make a new one only if there is none. The runtime writes a child only
///   if the live object is in the state that `of` has returned. Otherwise, the error is [`Error::Stale`], and the object
///   is reconciled again with the live object.
///
/// A value stays although the operator restarts, the watch is late, or somebody removes the labels of the child.
///
/// # Restored objects
///
/// A child is recognized by a label that contains a hash of its desired state, but no uid. So a child that was restored
/// from a backup together with its owner gets the new owner's reference, without another change, if
///
/// - it has no controller, or
/// - its controller was an object with the owner's kind and name that no longer exists, and the child equals the
///   desired one, is [created only once](Child::create_only) or has [kept fields](Child::keep).
///
/// Any other child of a deleted object with the owner's name is deleted and created again. An object without the label
/// is never taken over.
pub struct Children<C: Resource, K> {
    context: Context,
    kind: Kind<C::DynamicType>,
    owned: Arc<Owned<C>>,
    /// The names that children may have; empty for all names.
    names: Arc<[String]>,
    owner: PhantomData<fn(&K)>,
    tie: Tie,
    settled: Arc<Settled>,
}

/// To whom an object with the name of a child belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    /// To the reconciled object.
    Ours,
    /// To nobody, and this controller has created it.
    Orphaned,
    /// To an earlier object with the owner's name, and this controller has created it.
    Earlier,
    Foreign,
}

impl<C, K> Children<C, K>
where
    C: Watchable + Serialize,
    K: Resource<DynamicType = ()>,
{
    /// `names` is empty for all names.
    pub(super) fn new(
        context: Context,
        kind: Kind<C::DynamicType>,
        owned: Arc<Owned<C>>,
        names: Vec<String>,
    ) -> Self {
        Self {
            context,
            kind,
            owned,
            names: names.into(),
            owner: PhantomData,
            tie: Tie::Reference,
            settled: Arc::default(),
        }
    }

    /// The same children, which refer to their owners by `tie`.
    pub(super) fn tied_by(&self, tie: Tie) -> Self {
        Self {
            context: self.context.clone(),
            kind: self.kind.clone(),
            owned: self.owned.clone(),
            names: self.names.clone(),
            owner: PhantomData,
            tie,
            settled: self.settled.clone(),
        }
    }

    /// The children of `owner`, in the order of their names.
    pub fn of(&self, owner: &K) -> Vec<Arc<C>> {
        let children = self.known(owner);
        if let Some(uid) = &owner.meta().uid {
            reads::read(self.place(uid), &children);
        }
        children
    }

    fn known(&self, owner: &K) -> Vec<Arc<C>> {
        let uid = owner.meta().uid.as_deref();
        uid.map(|uid| self.owned.by(uid)).unwrap_or_default()
    }

    /// Brings the children of `owner` to their `desired` state: creates missing children, corrects children that
    /// differ, and deletes children that this controller has created and that are not in `desired`. Sets owner
    /// reference, namespace and labels. Returns the children as the API server has them.
    ///
    /// A desired child is an object or a [`Child`], which says more. Pass all children of the kind in one call. If the
    /// next step depends on the observed children, use [`apply_one`](Self::apply_one), [`patch_spec`](Self::patch_spec)
    /// and [`delete`](Self::delete) for single children. Fields that are not set are left to other field managers, such
    /// as the replicas to an autoscaler. The status is left to the controller of the child.
    ///
    /// A value that the API server stores in another form, such as `1` for `1000m`, or drops, such as an empty map, is no
    /// difference. If the API server stores another value, such as that of a mutating webhook, a warning says it once, and
    /// the child is not sent again until one of the two values changes.
    ///
    /// A child that is being deleted is left alone until it is gone.
    ///
    /// # Errors
    ///
    /// When another object has the name of a child, when a child has no name or a namespace that its owner cannot have
    /// children in, when the live child is newer than what the reconciler knew, when a field is immutable, or when a
    /// request fails. The children after that child are not changed.
    pub async fn apply(
        &self,
        owner: &K,
        desired: impl IntoIterator<Item = impl Into<Child<C>>>,
    ) -> Result<Vec<Arc<C>>, Error> {
        let mut applied = Vec::new();
        for child in desired {
            applied.push(self.apply_one(owner, child).await?);
        }
        let wanted: HashSet<_> = applied.iter().map(|child| &child.meta().uid).collect();
        for child in self.known(owner) {
            let is_wanted = wanted.contains(&child.meta().uid);
            let going = child.meta().deletion_timestamp.is_some();
            // The reconciler may not know a child that has just appeared. Its watch event wakes the owner.
            let is_news = matches!(self.seen(owner, &child), Seen::Absent);
            // Another controller may create children for the same owner.
            if child.labels().contains_key(&self.mark()) && !is_wanted && !going && !is_news {
                self.delete_if(&child, unchanged(&*child)).await?;
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
    pub async fn apply_one(&self, owner: &K, child: impl Into<Child<C>>) -> Result<Arc<C>, Error> {
        let mut child: Child<C> = child.into();
        set_namespace(&mut child.object, &self.kind, owner)?;
        if !self.names.is_empty() && !self.names.contains(&child.object.name_any()) {
            return Err(Error::OtherName(describe(&self.kind, &child.object)));
        }
        // A future with all requests is large, and most children need none of them.
        let applied = match self.find(owner, &child.object).await? {
            Some(known) => self.correct(owner, &known, &child).await,
            None => Box::pin(self.create(owner, &child)).await,
        };
        if let (Err(Error::Stale(_)), Some(uid)) = (&applied, &owner.meta().uid) {
            reads::outdated(self.place(uid));
        }
        applied
    }

    /// The known child with the name of `child`.
    async fn find(&self, owner: &K, child: &C) -> Result<Option<Arc<C>>, Error> {
        let uid = owner.meta().uid.as_deref();
        let known = match uid.and_then(|uid| self.owned.same(uid, child)) {
            None => return Ok(None),
            Some(known) if known.is_shown => return Ok(Some(known.child)),
            Some(known) => known.child,
        };
        match Box::pin(self.get(child)).await? {
            // Without its label, the watch would never show it.
            Some(live) if claim(&live, owner, &self.mark()) == Claim::Ours => {
                let labelled = Box::pin(self.label(owner, live)).await?;
                Ok(labelled.map(|live| self.know(live)))
            }
            _ => {
                self.owned.forget(&known);
                Ok(None)
            }
        }
    }

    /// Creates a child that is not known.
    async fn create(&self, owner: &K, child: &Child<C>) -> Result<Arc<C>, Error> {
        let desired = self.desired(owner, child, None)?;
        let params = self.context.post_params();
        for _ in 0..TRIES {
            match self.api(&desired).create(&params, &desired).await {
                Ok(created) => {
                    self.settle(&created, &desired);
                    return Ok(self.wrote(created));
                }
                Err(kube::Error::Api(status)) if status.is_already_exists() => {}
                Err(source) => return Err(self.failed("create", &desired, source)),
            }
            // The object may be deleted meanwhile.
            if let Some(live) = self.get(&desired).await?
                && let Some(existing) = Box::pin(self.take_over(owner, live, child)).await?
            {
                return Ok(existing);
            }
        }
        Err(self.stale(&desired))
    }

    /// Takes the object `live`, which has the name of `child`, into the index, with the labels and the owner reference
    /// of a child. Does not write the fields of `child`, which were computed without `live`. Returns `None` if the name
    /// may be free by now.
    async fn take_over(
        &self,
        owner: &K,
        live: C,
        child: &Child<C>,
    ) -> Result<Option<Arc<C>>, Error> {
        let claim = claim(&live, owner, &self.mark());
        let may_own = match claim {
            Claim::Ours => true,
            // With the reference of an owner that is deleted by now, the garbage collector would delete the object.
            Claim::Orphaned | Claim::Earlier => self.is_current(owner, &live).await?,
            Claim::Foreign => false,
        };
        if !may_own {
            let error = Error::NotOwned(describe(&self.kind, &child.object));
            self.context
                .event(owner, EventType::Warning, "NotOwned", error.to_string())
                .await;
            return Err(error);
        }
        if live.meta().deletion_timestamp.is_some() {
            return Ok(Some(self.know(live)));
        }
        let fields = json!(live);
        let desired = self.desired(owner, child, Some(&fields))?;
        let is_same = live.labels().get(&self.mark()) == desired.labels().get(&self.mark());
        if claim == Claim::Earlier && !child.keeps_values() && !is_same {
            if self.delete_if(&live, unchanged(&live)).await? {
                let name = describe(&self.kind, &live);
                tracing::info!(child = name, "deleted, because its owner is deleted");
            }
            return Ok(None);
        }
        let Some(live) = self.label(owner, live).await? else {
            return Ok(None);
        };
        let is_desired = child.is_create_only || self.difference(&json!(live), &desired).is_none();
        let live = self.know(live);
        if is_desired {
            Ok(Some(live))
        } else {
            Err(self.stale(&desired))
        }
    }

    /// Adds the operator's label and the owner reference, if the object lacks them. Returns `None` if the object has
    /// changed since it was read.
    async fn label(&self, owner: &K, live: C) -> Result<Option<C>, Error> {
        let mut metadata = json!({});
        let operator = self.context.operator;
        if live
            .labels()
            .get(LABEL)
            .is_none_or(|label| label != operator)
        {
            metadata["labels"] = json!({LABEL: operator});
        }
        if claim(&live, owner, &self.mark()) != Claim::Ours || !self.tie.holds(live.meta()) {
            let tied = self.tie.patch(live.meta(), owner.controller_owner_ref(&()));
            for (field, value) in tied.as_object().into_iter().flatten() {
                metadata[field] = value.clone();
            }
        }
        if metadata == json!({}) {
            return Ok(Some(live));
        }
        metadata["resourceVersion"] = json!(live.resource_version());
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        let params = PatchParams {
            field_manager: Some(self.context.field_manager()),
            ..PatchParams::default()
        };
        let patched = self
            .api(&live)
            .patch(&live.name_any(), &params, &patch)
            .await;
        let patched =
            unless_changed(patched).map_err(|source| self.failed("patch", &live, source))?;
        if patched.is_some() {
            let child = describe(&self.kind, &live);
            tracing::info!(child, "has its label or its owner reference again");
        }
        Ok(patched)
    }

    /// Corrects the child `known`, if it differs from `child`.
    async fn correct(&self, owner: &K, known: &Arc<C>, child: &Child<C>) -> Result<Arc<C>, Error> {
        // The deletion wakes the owner, which then creates the child.
        if known.meta().deletion_timestamp.is_some() {
            return Ok(known.clone());
        }
        if !self.tie.holds(known.meta()) {
            // The code of the operator has changed. The change wakes the owner, which then corrects the other fields.
            let tied = self.label(owner, C::clone(known)).await?;
            return tied
                .map(|child| self.wrote(child))
                .ok_or_else(|| self.stale(&child.object));
        }
        if child.is_create_only {
            return Ok(known.clone());
        }
        let fields = json!(**known);
        let desired = self.desired(owner, child, Some(&fields))?;
        let Some(field) = self.difference(&fields, &desired) else {
            return Ok(known.clone());
        };
        match self.seen(owner, known) {
            Seen::Unread => {}
            Seen::Child(seen) if is_same(&*seen, &**known) => {}
            Seen::Child(_) | Seen::Absent => return Err(self.stale(&desired)),
        }
        Box::pin(self.update(owner, known, child, &desired, &field)).await
    }

    /// Writes `desired` over the child `known`, from which it differs in `field`.
    async fn update(
        &self,
        owner: &K,
        known: &Arc<C>,
        child: &Child<C>,
        desired: &C,
        field: &str,
    ) -> Result<Arc<C>, Error> {
        // If the set of fields has not changed, the apply has no field to remove, and the owner of each field does not
        // matter.
        let mark = self.mark();
        let known_fields = hash_of_fields(&**known, &mark);
        let same_fields = known_fields.is_some() && known_fields == hash_of_fields(desired, &mark);
        let mut fresh = same_fields.then(|| C::clone(known));
        for _ in 0..TRIES {
            let live = match fresh.take() {
                Some(live) => live,
                None => match self.get(desired).await? {
                    // Other programs write the status.
                    Some(live) if is_same(&live, &**known) => live,
                    Some(live) => match Box::pin(self.take_over(owner, live, child)).await? {
                        Some(existing) => return Ok(existing),
                        None => return Box::pin(self.create(owner, child)).await,
                    },
                    None => {
                        self.owned.forget(known);
                        return Box::pin(self.create(owner, child)).await;
                    }
                },
            };
            match self.write(&live, desired, same_fields).await {
                Ok(written) => {
                    self.settle(&written, desired);
                    return Ok(self.corrected(&live, written, field));
                }
                Err(kube::Error::Api(status)) if status.is_conflict() || status.is_not_found() => {}
                Err(kube::Error::Api(status)) => {
                    let (fields, desired_fields) = (json!(live), fields_of(desired));
                    return match immutable::refusal(&status, &fields, &desired_fields) {
                        Some(refusal) => Box::pin(self.refused(owner, &live, child, refusal)).await,
                        None => Err(self.failed("patch", desired, kube::Error::Api(status))),
                    };
                }
                Err(source) => return Err(self.failed("patch", desired, source)),
            }
        }
        Err(self.stale(desired))
    }

    /// Applies `desired` to `live`. The API server refuses it if `live` has changed since it was read, or if another
    /// object has the name now.
    async fn write(&self, live: &C, desired: &C, same_fields: bool) -> kube::Result<C> {
        let (api, name) = (self.api(desired), desired.name_any());
        let manager = self.context.field_manager();
        let mut applied = desired.clone();
        applied.meta_mut().uid = live.uid();
        applied.meta_mut().resource_version = live.resource_version();
        let moved = if same_fields {
            None
        } else {
            self.move_fields(&api, live).await?
        };
        if let Some(moved) = moved {
            applied.meta_mut().resource_version = moved.resource_version();
        }
        let params = PatchParams::apply(&manager).force();
        api.patch(&name, &params, &Patch::Apply(&applied)).await
    }

    /// Moves the ownership of the fields that the creation has set to an Apply. The creation has set them with an
    /// Update of the same field manager, and an apply cannot remove fields of an Update. All other Updates have another
    /// field manager, so their values stay.
    async fn move_fields(&self, api: &Api<C>, live: &C) -> kube::Result<Option<C>> {
        let manager = self.context.field_manager();
        let mut fields = live.managed_fields().to_vec();
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
        let metadata = json!({"resourceVersion": live.resource_version(), "managedFields": fields});
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        let moved = api
            .patch(&live.name_any(), &PatchParams::default(), &patch)
            .await?;
        Ok(Some(moved))
    }

    /// Logs the correction of `live`.
    fn corrected(&self, live: &C, written: C, field: &str) -> Arc<C> {
        if written.resource_version() != live.resource_version() {
            tracing::info!(child = describe(&self.kind, live), field, "corrected");
        }
        self.wrote(written)
    }

    /// The first field in which `live` differs from `desired`, apart from what the API server has made of it before.
    fn difference(&self, live: &Value, desired: &C) -> Option<String> {
        self.settled.difference(live, &fields_of(desired))
    }

    /// Remembers in what `answer`, the answer to a write of `desired`, differs from `desired`.
    fn settle(&self, answer: &C, desired: &C) {
        if let Some(field) = self.settled.settle(&json!(answer), &fields_of(desired)) {
            let child = describe(&self.kind, desired);
            tracing::warn!(child, field, "the API server has stored another value");
        }
    }

    /// Deletes `live`, because the API server refuses to change a field of it, if the child is declared so.
    async fn refused(
        &self,
        owner: &K,
        live: &C,
        child: &Child<C>,
        refusal: immutable::Refusal,
    ) -> Result<Arc<C>, Error> {
        let name = describe(&self.kind, live);
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
        let deleted = self
            .api(live)
            .delete(&live.name_any(), &unchanged_params)
            .await;
        let deleted =
            unless_changed(deleted).map_err(|source| self.failed("delete", live, source))?;
        let Some(deleted) = deleted else {
            return Err(self.stale(live));
        };
        let field = refusal.field;
        tracing::info!(
            child = name,
            field,
            "deleted, because this field cannot change"
        );
        match deleted.left() {
            // The end of the deletion wakes the owner, which then creates the child.
            Some(going) if going.meta().deletion_timestamp.is_some() => Ok(self.wrote(going)),
            _ => {
                self.owned.forget(live);
                Box::pin(self.create(owner, child)).await
            }
        }
    }

    /// The command that deletes `child` and keeps what `child` owns.
    fn command(&self, child: &C) -> String {
        let dyntype = &self.kind.dyntype;
        let resource = format!("{}.{}", C::plural(dyntype), C::group(dyntype));
        let flag = match child.namespace() {
            Some(namespace) => format!(" --namespace {namespace}"),
            None => String::new(),
        };
        format!(
            "kubectl delete {} {}{flag} --cascade=orphan",
            resource.trim_end_matches('.'),
            child.name_any()
        )
    }

    /// Merges `patch` into the `spec` of a child. Returns `false` and changes nothing if the child has changed since it
    /// was read. The watch then delivers the change and requeues the owner.
    ///
    /// The patch has its own field manager, which ends in `-patch`, so its values stay when [`apply`](Self::apply) does
    /// not set them.
    ///
    /// # Errors
    ///
    /// When the request fails for another reason.
    pub async fn patch_spec(&self, child: &C, patch: Value) -> Result<bool, Error> {
        let metadata = json!({"resourceVersion": child.resource_version()});
        let patch = Patch::Merge(json!({"metadata": metadata, "spec": patch}));
        let params = PatchParams {
            field_manager: Some(patch_manager(&self.context.field_manager())),
            ..PatchParams::default()
        };
        let (api, name) = (self.api(child), child.name_any());
        let patched = unless_changed(api.patch(&name, &params, &patch).await)
            .map_err(|source| self.failed("patch", child, source))?;
        Ok(patched.map(|patched| self.wrote(patched)).is_some())
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

    /// Deletes the children that this controller has created.
    pub(super) async fn delete_all(&self, owner: &K) -> Result<(), Error> {
        for child in self.known(owner) {
            let is_going = child.meta().deletion_timestamp.is_some();
            if child.labels().contains_key(&self.mark()) && !is_going {
                self.delete(&child).await?;
            }
        }
        Ok(())
    }

    async fn delete_if(&self, child: &C, preconditions: Preconditions) -> Result<bool, Error> {
        // Without a propagation policy, the Pods of a Job would stay.
        let params = DeleteParams::background().preconditions(preconditions);
        let deleted = self.api(child).delete(&child.name_any(), &params).await;
        let deleted =
            unless_changed(deleted).map_err(|source| self.failed("delete", child, source))?;
        Ok(deleted.is_some())
    }

    /// Whether the API server has this very `owner`, and no later object with its name.
    async fn is_current(&self, owner: &K, child: &C) -> Result<bool, Error> {
        let home = owner.meta().namespace.as_deref();
        let kind = Kind {
            dyntype: ApiResource::erase::<K>(&()),
            namespaced: home.is_some(),
        };
        let api: Api<DynamicObject> = kind.api(self.context.client.clone(), home);
        // A list, because a controller needs no permission to get its objects.
        let name = format!("metadata.name={}", owner.name_any());
        let params = ListParams::default().fields(&name);
        let found = api
            .list_metadata(&params)
            .await
            .map_err(|source| self.failed("find the owner of", child, source))?;
        let uids = found.items.iter().map(|object| &object.metadata.uid);
        Ok(uids.eq([&owner.meta().uid]))
    }

    /// The child to write, if the API server has `live`.
    fn desired(&self, owner: &K, child: &Child<C>, live: Option<&Value>) -> Result<C, Error> {
        adorn(
            child,
            live,
            &self.kind,
            (owner, self.tie),
            (self.context.operator, self.mark()),
        )
    }

    /// Reads the live object with the name of `child`.
    async fn get(&self, child: &C) -> Result<Option<C>, Error> {
        let live = self.api(child).get_opt(&child.name_any()).await;
        live.map_err(|source| self.failed("get", child, source))
    }

    /// Adds an object that the API server has returned to the index.
    fn know(&self, mut live: C) -> Arc<C> {
        // The watch drops them, too.
        live.meta_mut().managed_fields = None;
        let live = Arc::new(live);
        self.owned.add(live.clone());
        live
    }

    /// Adds an object that this reconcile has written to the index.
    fn wrote(&self, written: C) -> Arc<C> {
        let written = self.know(written);
        if let Some(owner) = owned::controlled_by(&*written) {
            reads::wrote(&self.place(&owner.uid), &key(&*written), &written);
        }
        written
    }

    /// The child with the name of `child`, as the current reconcile has read it.
    fn seen(&self, owner: &K, child: &C) -> Seen<C> {
        match &owner.meta().uid {
            Some(uid) => reads::seen(&self.place(uid), &key(child)),
            None => Seen::Unread,
        }
    }

    fn place(&self, owner: &str) -> Place {
        Place {
            index: Arc::as_ptr(&self.owned).addr(),
            owner: owner.to_owned(),
        }
    }

    fn stale(&self, child: &C) -> Error {
        Error::Stale(describe(&self.kind, child))
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
fn unchanged<C: Resource>(child: &C) -> Preconditions {
    Preconditions {
        uid: child.meta().uid.clone(),
        resource_version: child.meta().resource_version.clone(),
    }
}

/// Whether two versions of an object differ at most in what other programs report about it.
fn is_same<C: Resource + Serialize>(one: &C, other: &C) -> bool {
    let (version, other_version) = (&one.meta().resource_version, &other.meta().resource_version);
    one.meta().uid == other.meta().uid
        && (version == other_version || content(one) == content(other))
}

/// `object` without what other programs report about it.
fn content(object: &impl Serialize) -> Value {
    let mut content = json!(object);
    if let Some(fields) = content.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = content["metadata"].as_object_mut() {
        for field in ["generation", "managedFields", "resourceVersion"] {
            metadata.remove(field);
        }
    }
    content
}

/// The hash of the set of fields in the label `mark` of `child`.
fn hash_of_fields<'a>(child: &'a impl ResourceExt, mark: &str) -> Option<&'a str> {
    let (_, hash) = child.labels().get(mark)?.split_once('-')?;
    Some(hash)
}

/// Whether `entry` has the fields that `manager` owns by `operation`.
fn is_by(entry: &ManagedFieldsEntry, manager: &str, operation: &str) -> bool {
    entry.manager.as_deref() == Some(manager)
        && entry.operation.as_deref() == Some(operation)
        && entry.subresource.is_none()
}

/// To whom `live`, which has the name of a child of `owner`, belongs.
fn claim<C: Resource, K: Resource<DynamicType = ()>>(live: &C, owner: &K, mark: &str) -> Claim {
    match owned::controlled_by(live) {
        Some(controller) if Some(&controller.uid) == owner.meta().uid.as_ref() => Claim::Ours,
        Some(_) if is_of_earlier(live, owner, mark) => Claim::Earlier,
        None if live.labels().contains_key(mark) => Claim::Orphaned,
        _ => Claim::Foreign,
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
    let Some(reference) = owned::controlled_by(live).filter(|_| live.owner_references().len() < 2)
    else {
        return false;
    };
    let home = &owner.meta().namespace;
    live.labels().contains_key(mark)
        && owned::refers_to::<K>(&reference)
        && reference.name == owner.name_any()
        && (home.is_none() || live.meta().namespace == *home)
}

/// Sets the namespace of a child of `owner`, and checks that `owner` can own it.
fn set_namespace<C, K>(child: &mut C, kind: &Kind<C::DynamicType>, owner: &K) -> Result<(), Error>
where
    C: Resource,
    K: Resource<DynamicType = ()>,
{
    if child.meta().name.is_none() {
        return Err(Error::Unnamed(C::kind(&kind.dyntype).into_owned()));
    }
    match &owner.meta().namespace {
        Some(_) if !kind.namespaced => Err(Error::ClusterScoped(describe(kind, child))),
        Some(home) => {
            let namespace = &mut child.meta_mut().namespace;
            if namespace.get_or_insert_with(|| home.clone()) == home {
                Ok(())
            } else {
                Err(Error::OtherNamespace(describe(kind, child)))
            }
        }
        None if kind.namespaced && child.meta().namespace.is_none() => {
            Err(Error::NoNamespace(describe(kind, child)))
        }
        None => Ok(()),
    }
}

/// Sets owner reference and labels of a child of `owner`, and the values that it keeps from `live`. `labels` are the
/// name of the operator, and the key of the label with the hash.
fn adorn<C, K>(
    child: &Child<C>,
    live: Option<&Value>,
    kind: &Kind<C::DynamicType>,
    (owner, tie): (&K, Tie),
    (operator, mark): (&str, String),
) -> Result<C, Error>
where
    C: Watchable + Serialize,
    K: Resource<DynamicType = ()>,
{
    let mut object = match child.over(live, &kind.dyntype) {
        Ok(object) => object,
        Err(Unfit::Path(field)) => {
            let child = describe(kind, &child.object);
            return Err(Error::CannotKeep { child, field });
        }
        Err(Unfit::Value(error)) => {
            return Err(Error::Request {
                verb: "keep the values of",
                child: describe(kind, &child.object),
                source: kube::Error::SerdeError(error),
            });
        }
    };
    // What the API server sets, if the object is a copy of a live one.
    let meta = object.meta_mut();
    meta.creation_timestamp = None;
    meta.generation = None;
    meta.managed_fields = None;
    meta.resource_version = None;
    meta.uid = None;
    // The hashes do not depend on the place of the child, so a restored child has the same ones.
    tie::untie(meta);
    let namespace = meta.namespace.take();
    let labels = object.labels_mut();
    labels.remove(LABEL);
    labels.remove(&mark);
    // The first hash covers the whole child. It shows that a field is no longer desired, which a comparison with the
    // live object cannot show, because other programs may set fields too. The second hash covers only which fields are
    // set.
    let desired = fields_of(&object);
    let [all, fields] = [&desired, &fields(&desired)].map(|value| digest(&value.to_string()));
    object.meta_mut().namespace = namespace;
    tie.set(object.meta_mut(), owner.controller_owner_ref(&()));
    let labels = object.labels_mut();
    labels.insert(LABEL.to_owned(), operator.to_owned());
    labels.insert(mark, format!("{all}-{fields}"));
    Ok(object)
}

/// The fields of a desired child. Its status is not desired: only a copy of a live object has one.
fn fields_of<C: Serialize>(desired: &C) -> Value {
    let mut fields = json!(desired);
    if let Some(fields) = fields.as_object_mut() {
        fields.remove("status");
    }
    fields
}

/// The fields of `value`, without their values. Lists stay unchanged, because any part of an item may identify the
/// item.
fn fields(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let shapes = object
                .iter()
                .map(|(name, value)| (name.clone(), fields(value)));
            Value::Object(shapes.collect())
        }
        Value::Array(_) => value.clone(),
        _ => Value::Null,
    }
}

fn describe<C: Resource>(kind: &Kind<C::DynamicType>, child: &C) -> String {
    format!("{} {}", C::kind(&kind.dyntype), child.name_any())
}

#[cfg(test)]
mod races;

#[cfg(test)]
mod tests {
    use k8s_openapi::{
        api::{
            apps::v1::{Deployment, DeploymentStatus},
            core::v1::{ConfigMap, Namespace},
        },
        apimachinery::pkg::apis::meta::v1::OwnerReference,
    };
    use kube::{api::ObjectMeta, discovery::Scope};

    use super::*;

    fn meta(name: &str, namespace: Option<&str>) -> ObjectMeta {
        ObjectMeta {
            name: Some(name.to_owned()),
            namespace: namespace.map(str::to_owned),
            uid: Some(format!("uid of {name}")),
            ..ObjectMeta::default()
        }
    }

    const MARK: &str = "test/applied";

    fn adorned_for<K>(mut child: ConfigMap, owner: &K) -> Result<ConfigMap, Error>
    where
        K: Resource<DynamicType = ()>,
    {
        let kind = Kind::of::<ConfigMap>();
        set_namespace(&mut child, &kind, owner)?;
        adorn(
            &child.into(),
            None,
            &kind,
            (owner, Tie::Reference),
            ("test", MARK.to_owned()),
        )
    }

    fn owner(name: &str, namespace: Option<&str>) -> Deployment {
        Deployment {
            metadata: meta(name, namespace),
            ..Deployment::default()
        }
    }

    /// A child in `namespace` of a Deployment in `home`.
    fn adorned(namespace: Option<&str>, data: &str) -> Result<ConfigMap, Error> {
        let owner = owner("owner", Some("home"));
        let child = ConfigMap {
            metadata: meta("child", namespace),
            data: Some([("key".to_owned(), data.to_owned())].into()),
            ..ConfigMap::default()
        };
        adorned_for(child, &owner)
    }

    #[test]
    fn only_a_child_of_an_earlier_owner_is_left_over() {
        fn reference(meta: &mut ObjectMeta) -> &mut OwnerReference {
            &mut meta.owner_references.as_mut().expect("an owner")[0]
        }
        fn is_left(change: fn(&mut ObjectMeta)) -> bool {
            let mut child = adorned(None, "a").expect("a child");
            change(&mut child.metadata);
            is_of_earlier(&child, &owner("owner", Some("home")), MARK)
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
        let child = ConfigMap {
            metadata: meta("child", None),
            ..ConfigMap::default()
        };
        let error = adorned_for(child, &owner).expect_err("a child nowhere");
        assert_eq!(error.reason(), "NoNamespace");
    }

    #[test]
    fn an_object_in_a_namespace_owns_no_cluster_scoped_object() {
        let kind = Kind::dynamic(ApiResource::erase::<Namespace>(&()), Scope::Cluster);
        let owned_by = |home| {
            let mut child = DynamicObject::new("child", &kind.dyntype);
            set_namespace(&mut child, &kind, &owner("owner", home))
        };
        assert!(owned_by(None).is_ok());
        let error = owned_by(Some("home")).expect_err("a child that is never collected");
        assert_eq!(error.reason(), "ClusterScoped");
        assert!(
            error
                .to_string()
                .starts_with("Namespace child is cluster-scoped")
        );
    }

    #[test]
    fn a_child_has_a_name() {
        let mut child = ConfigMap::default();
        child.metadata.generate_name = Some("child-".to_owned());
        let error = adorned_for(child, &owner("owner", Some("home")));
        assert_eq!(error.expect_err("no name").reason(), "Unnamed");
    }

    #[test]
    fn what_is_desired_can_be_told_from_the_mark() {
        let [a, same, b] = ["a", "a", "b"].map(|data| adorned(None, data).expect("a child"));
        assert_eq!(a.labels(), same.labels());
        assert_ne!(a.labels()[MARK], b.labels()[MARK]);
        assert!(hash_of_fields(&a, MARK).is_some());
        assert_eq!(hash_of_fields(&a, MARK), hash_of_fields(&b, MARK));
    }

    #[test]
    fn the_mark_does_not_depend_on_what_a_backup_changes() {
        fn mark(object: ConfigMap, owner: &Deployment) -> (String, ConfigMap) {
            let child = adorned_for(object, owner).expect("a child");
            (child.labels()[MARK].clone(), child)
        }
        fn object() -> ConfigMap {
            let mut object = ConfigMap::default();
            object.metadata.name = Some("child".to_owned());
            object.labels_mut().insert("a".to_owned(), "b".to_owned());
            object
        }

        let (first, child) = mark(object(), &owner("one", Some("home")));
        assert_eq!(mark(object(), &owner("two", Some("away"))).0, first);
        // A copy of the live object.
        let mut copy = child;
        copy.metadata.uid = Some("uid".to_owned());
        copy.metadata.resource_version = Some("7".to_owned());
        let (second, copy) = mark(copy, &owner("one", Some("home")));
        assert_eq!((second, copy.metadata.resource_version), (first, None));
    }

    #[test]
    fn an_object_belongs_to_one_owner() {
        type Change = fn(&mut ObjectMeta);
        fn reference(meta: &mut ObjectMeta) -> &mut OwnerReference {
            &mut meta.owner_references.as_mut().expect("an owner")[0]
        }
        let owner = owner("owner", Some("home"));
        let cases: [(Change, Claim); 6] = [
            (|_| {}, Claim::Ours),
            (|meta| meta.labels = None, Claim::Ours),
            (
                |meta| reference(meta).uid = "earlier".to_owned(),
                Claim::Earlier,
            ),
            (|meta| meta.owner_references = None, Claim::Orphaned),
            (
                |meta| (meta.owner_references, meta.labels) = (None, None),
                Claim::Foreign,
            ),
            (
                |meta| (reference(meta).uid, reference(meta).name) = ("x".into(), "x".into()),
                Claim::Foreign,
            ),
        ];
        for (index, (change, expected)) in cases.into_iter().enumerate() {
            let mut child = adorned(None, "a").expect("a child");
            change(&mut child.metadata);
            assert_eq!(claim(&child, &owner, MARK), expected, "{index}");
        }
    }

    #[test]
    fn only_the_status_may_change_between_read_and_write() {
        type Edit = fn(&mut Deployment);
        let known = owner("a", Some("home"));
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
            assert_eq!(is_same(&live, &known), expected, "{index}");
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
    fn sets_of_fields_differ_by_fields_and_by_list_items() {
        let one = json!({"a": {"b": 1}});
        assert_eq!(fields(&one), fields(&json!({"a": {"b": "2"}})));
        let others = [
            (one.clone(), json!({"a": {}})),
            (one, json!({"a": {"c": 1}})),
            (json!({"a": [1]}), json!({"a": [2]})),
            (json!({"a": [{"b": 1}]}), json!({"a": [{"b": 2}]})),
        ];
        for (one, other) in others {
            assert_ne!(fields(&one), fields(&other));
        }
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
