//! An index of the children of a controller's objects by owner. A change of a child requeues its owner.
//!
//! The index also has children that the API server has returned and that the watch has not shown yet. Without them, a
//! reconcile right after a creation would not know the child.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, OnceLock},
    time::Instant,
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{api::ApiResource, core::ObjectMeta};
use parking_lot::Mutex;

use super::{
    closures::Filter,
    object::{AnyObject, Guarded},
    requests::PATIENCE,
    tie::{Tie, controlled_by},
    watch::{Key, Shown, is_in, key, version},
};

/// All owned objects of one kind.
pub struct Owned {
    index: Mutex<Index>,
    /// The kind of the owners.
    owners: ApiResource,
    /// Tells which changes requeue the owner; if not set, all do.
    filter: OnceLock<Filter>,
    /// How the objects refer to their owner; if not set, it does not matter.
    tie: OnceLock<Tie>,
}

#[derive(Default)]
struct Index {
    /// By the uid of the owner, sorted by the key of the child. A sorted list needs less memory than a map, and an
    /// owner may have thousands of children.
    children: HashMap<Arc<str>, Vec<AnyObject>>,
    /// The uid of the owner of each child.
    owners: HashMap<Key, Arc<str>>,
    /// The children that an answer of the API server has added, until the watch shows this version or a newer one.
    unshown: HashSet<Key>,
    /// The version in which the watch has shown the deletion of a child, and when. An older answer may arrive later.
    gone: HashMap<Key, (Option<u64>, Instant)>,
    /// The uid of a child that a request has deleted, until the watch shows its end. The watch may show an earlier version
    /// first.
    ended: HashMap<Key, Option<String>>,
}

/// A child in the index.
pub struct Known {
    pub child: AnyObject,
    /// Whether the watch has shown it. Otherwise, it may be deleted: the watch may have shown the deletion before the
    /// answer that added the child arrived.
    pub is_shown: bool,
}

/// An owner to requeue: the namespace of its child, and the owner's name.
pub type Owner = Key;

/// Whether `reference` points to an object of this kind.
pub fn refers_to(reference: &OwnerReference, kind: &ApiResource) -> bool {
    let group = reference.api_version.rsplit_once('/');
    reference.kind == kind.kind && group.map_or("", |(group, _)| group) == kind.group
}

impl Owned {
    /// For owners of the kind `owners`.
    pub fn new(owners: ApiResource) -> Self {
        Self {
            index: Mutex::default(),
            owners,
            filter: OnceLock::new(),
            tie: OnceLock::new(),
        }
    }

    /// Leaves objects that refer to their owner in another way to another index.
    pub fn restrict(&self, tie: Tie) {
        self.tie.get_or_init(|| tie);
    }

    /// The owner of `child`, if `child` belongs to this index.
    fn owner(&self, child: &ObjectMeta) -> Option<OwnerReference> {
        let is_ours = self.tie.get().is_none_or(|tie| tie.holds(child));
        let owner = controlled_by(child).filter(|_| is_ours);
        owner.filter(|owner| refers_to(owner, &self.owners))
    }

    /// Requeues an owner only for changes that count.
    pub fn filter(&self, filter: Filter) {
        self.filter.get_or_init(|| filter);
    }

    /// The children of the object with this uid.
    pub fn by(&self, uid: &str) -> Vec<AnyObject> {
        self.index
            .lock()
            .children
            .get(uid)
            .cloned()
            .unwrap_or_default()
    }

    /// The child of the object with this uid that has this key.
    pub fn same(&self, uid: &str, key: &Key) -> Option<Known> {
        let index = self.index.lock();
        let children = index.children.get(uid)?;
        let position = position(children, key).ok()?;
        Some(Known {
            child: children[position].clone(),
            is_shown: !index.unshown.contains(key),
        })
    }

    /// Adds a child that the API server has returned, unless the watch has shown its deletion, or the index has this version
    /// or a newer one.
    pub fn add(&self, child: AnyObject) {
        let key = key(child.metadata());
        let mut index = self.index.lock();
        let gone = index.gone.get(&key);
        if gone.is_some_and(|(gone, _)| *gone >= version(child.metadata()))
            || index.has_ended(&key, child.metadata())
        {
            return;
        }
        let known = index.get(&key);
        if known.is_none_or(|known| version(known.metadata()) < version(child.metadata())) {
            let owner = self.owner(child.metadata());
            index.put(Guarded(Ok(child)), owner);
            if index.owners.contains_key(&key) {
                index.unshown.insert(key);
            }
        }
    }

    /// Removes a child that the API server no longer has.
    pub fn forget(&self, child: &ObjectMeta) {
        self.index.lock().forget(child);
    }

    /// Removes a child that a request has deleted.
    pub fn end(&self, child: &ObjectMeta) {
        let mut index = self.index.lock();
        // Otherwise, the watch has shown the end already, or the index never had the child.
        if index.forget(child) {
            index.ended.insert(key(child), child.uid.clone());
        }
    }

    /// Applies what a watch has shown. The watch is of `namespace`, or of all namespaces, and of `name`, or of all
    /// names. Returns the owners to requeue.
    pub fn take(
        &self,
        shown: &Shown,
        namespace: Option<&String>,
        name: Option<&String>,
    ) -> Vec<Owner> {
        match shown {
            Shown::All(children) => self.replace(children, namespace, name),
            Shown::Put(child) => {
                let counts = self.counts(child);
                let owner = self.owner(child.metadata());
                self.index.lock().show(child, owner, counts)
            }
            Shown::Gone(child) => {
                let key = key(child.metadata());
                let mut index = self.index.lock();
                if index.has_ended(&key, child.metadata()) {
                    index.ended.remove(&key);
                }
                if index.is_ahead_of(child) {
                    return Vec::new();
                }
                index.bury(child.metadata());
                // A child that was forgotten has an owner, too.
                let owner = self.owner(child.metadata());
                let owner = owner.map(|owner| (child.metadata().namespace.clone(), owner.name));
                Vec::from_iter(index.take(&key).or(owner))
            }
        }
    }

    /// Whether a changed child requeues its owner. Calls the predicate without a lock, because the predicate may read
    /// children.
    fn counts(&self, child: &Guarded) -> bool {
        let (Some(filter), Ok(after)) = (self.filter.get(), &child.0) else {
            return true;
        };
        let before = self.index.lock().get(&key(child.metadata())).cloned();
        before.is_none_or(|before| {
            controlled_by(before.metadata()) != controlled_by(after.metadata())
                || filter.counts(&*before, &**after)
        })
    }

    /// Replaces the children that a watch selects with the children of a new list.
    fn replace(
        &self,
        list: &[Guarded],
        namespace: Option<&String>,
        name: Option<&String>,
    ) -> Vec<Owner> {
        let counts = Vec::from_iter(list.iter().map(|child| self.counts(child)));
        let mut index = self.index.lock();
        let listed: HashSet<_> = list.iter().map(|child| key(child.metadata())).collect();
        let is_missing = |key: &Key| {
            let is_covered = is_in(key, namespace) && name.is_none_or(|name| key.1 == *name);
            is_covered && !listed.contains(key)
        };
        index.ended.retain(|key, _| !is_missing(key));
        let known = index.owners.keys();
        let gone: Vec<_> = known.filter(|key| is_missing(key)).cloned().collect();
        let mut woken: Vec<_> = gone.iter().filter_map(|key| index.take(key)).collect();
        for (child, counts) in list.iter().zip(counts) {
            if !index.has(child) || index.unshown.contains(&key(child.metadata())) {
                woken.extend(index.show(child, self.owner(child.metadata()), counts));
            }
        }
        woken
    }
}

impl Index {
    fn get(&self, key: &Key) -> Option<&AnyObject> {
        let children = self.children.get(self.owners.get(key)?)?;
        Some(&children[position(children, key).ok()?])
    }

    /// Whether the index has this version of a child.
    fn has(&self, child: &Guarded) -> bool {
        let known = self.get(&key(child.metadata()));
        known.is_some_and(|known| {
            known.metadata().resource_version == child.metadata().resource_version
        })
    }

    /// Removes this very child. Returns whether it was there.
    fn forget(&mut self, child: &ObjectMeta) -> bool {
        let key = key(child);
        let known = self.get(&key);
        let is_there = known.is_some_and(|known| known.metadata().uid == child.uid);
        if is_there {
            self.take(&key);
        }
        is_there
    }

    /// Whether a request has deleted this very child with this key, and the watch has not shown its end.
    fn has_ended(&self, key: &Key, child: &ObjectMeta) -> bool {
        let ended = self.ended.get(key);
        ended.is_some_and(|uid| *uid == child.uid)
    }

    /// Whether an answer of the API server had a newer version of a child than the watch shows now.
    fn is_ahead_of(&self, shown: &Guarded) -> bool {
        let key = key(shown.metadata());
        self.unshown.contains(&key)
            && self
                .get(&key)
                .is_some_and(|known| version(known.metadata()) > version(shown.metadata()))
    }

    /// Puts a child that the watch shows. Returns the owners to requeue. `counts` says whether the child differs from the
    /// child in the index.
    fn show(&mut self, child: &Guarded, owner: Option<OwnerReference>, counts: bool) -> Vec<Owner> {
        let key = key(child.metadata());
        if self.is_ahead_of(child) || self.has_ended(&key, child.metadata()) {
            return Vec::new();
        }
        self.ended.remove(&key);
        // The child in the index comes from an answer. Nothing was compared with the versions that the watch has shown
        // before, and that the answer may have skipped.
        let is_news = self.unshown.contains(&key);
        let woken = self.put(child.clone(), owner);
        if counts || is_news { woken } else { Vec::new() }
    }

    /// Remembers a deletion as long as an answer to an earlier request may arrive.
    fn bury(&mut self, child: &ObjectMeta) {
        let now = Instant::now();
        self.gone.insert(key(child), (version(child), now));
        // A look at all of them for each deletion would take too long.
        if self.gone.len().is_power_of_two() {
            self.gone
                .retain(|_, (_, shown)| now.duration_since(*shown) < PATIENCE);
        }
    }

    /// Adds a new or changed child of `owner`. Returns its owner, and its previous owner if that is another one.
    fn put(&mut self, child: Guarded, owner: Option<OwnerReference>) -> Vec<Owner> {
        let key = key(child.metadata());
        let mut woken = Vec::from_iter(self.take(&key));
        if let Some(owner) = owner {
            woken.push((key.0.clone(), owner.name));
            woken.dedup();
            // A child that does not fit its type is added once a change makes it fit.
            if let Ok(child) = child.0 {
                let uid = Arc::<str>::from(owner.uid);
                let entry = self.children.entry(uid.clone());
                // Most owners have one child of a kind.
                let children = entry.or_insert_with(|| Vec::with_capacity(1));
                // The child was removed above, so the search finds no entry.
                let (Ok(position) | Err(position)) = position(children, &key);
                children.insert(position, child);
                self.owners.insert(key, uid);
            }
        }
        woken
    }

    /// Removes a child, and returns its owner.
    fn take(&mut self, key: &Key) -> Option<Owner> {
        self.unshown.remove(key);
        let uid = self.owners.remove(key)?;
        let children = self.children.get_mut(&uid)?;
        let child = children.remove(position(children, key).ok()?);
        if children.is_empty() {
            self.children.remove(&uid);
        }
        let owner = controlled_by(child.metadata())?;
        Some((key.0.clone(), owner.name.clone()))
    }
}

/// The index of the child with this key, or the index at which it would be inserted.
pub fn position(children: &[AnyObject], key: &Key) -> Result<usize, usize> {
    children.binary_search_by(|child| {
        let metadata = child.metadata();
        (&metadata.namespace, metadata.name.as_deref()).cmp(&(&key.0, Some(key.1.as_str())))
    })
}

#[cfg(test)]
mod tests {
    use std::{
        borrow::Cow,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use k8s_openapi::{
        api::{
            apps::v1::Deployment,
            core::v1::{ConfigMap, Pod},
        },
        apimachinery::pkg::apis::meta::v1::ObjectMeta,
    };
    use kube::{Resource, core::NamespaceResourceScope, runtime::predicates};

    use super::{
        super::{closures::Closures, metrics::Metrics},
        *,
    };

    fn child(name: &str, version: &str, owner_name: Option<&str>) -> Guarded {
        let owner = owner_name.map(|owner| OwnerReference {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            name: owner.to_owned(),
            uid: format!("uid of {owner}"),
            controller: Some(true),
            ..OwnerReference::default()
        });
        Guarded(Ok(Arc::new(ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                namespace: Some("default".to_owned()),
                resource_version: Some(version.to_owned()),
                owner_references: Some(Vec::from_iter(owner)),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        })))
    }

    /// The names of the owners that `shown` requeues after a list with one child of `a`.
    fn woken(shown: Vec<Shown>) -> (Vec<String>, Owned) {
        let owned = Owned::new(ApiResource::erase::<Deployment>(&()));
        owned.take(&Shown::All(vec![child("one", "1", Some("a"))]), None, None);
        let woken = shown
            .into_iter()
            .flat_map(|shown| owned.take(&shown, None, None));
        let names = woken.map(|(_, name)| name).collect();
        (names, owned)
    }

    #[test]
    fn children_are_known_by_their_owner() {
        let (_, owned) = woken(vec![]);
        assert_eq!(owned.by("uid of a").len(), 1);
        assert!(owned.by("uid of b").is_empty());
    }

    #[test]
    fn a_change_wakes_the_owner_and_the_one_before() {
        let (names, owned) = woken(vec![
            Shown::Put(child("one", "2", Some("a"))),
            Shown::Put(child("one", "3", Some("b"))),
            Shown::Put(child("one", "4", None)),
        ]);
        assert_eq!(names, ["a", "a", "b", "b"]);
        assert!(owned.by("uid of a").is_empty() && owned.by("uid of b").is_empty());
    }

    #[test]
    fn a_change_that_does_not_count_wakes_no_owner_and_is_known() {
        fn list(version: &str) -> Shown {
            Shown::All(vec![child("one", version, Some("a"))])
        }
        fn put(version: &str, owner: &str) -> Shown {
            Shown::Put(child("one", version, Some(owner)))
        }

        let owned = Owned::new(ApiResource::erase::<Deployment>(&()));
        let closures = Closures::new("test", &Metrics::for_test());
        owned.filter(Filter::new(closures, predicates::labels::<ConfigMap>));
        owned.take(&list("1"), None, None);
        assert!(owned.take(&list("2"), None, None).is_empty());
        assert!(owned.take(&put("3", "a"), None, None).is_empty());
        let known = &owned.by("uid of a")[0];
        assert_eq!(known.metadata().resource_version.as_deref(), Some("3"));
        // Another owner, and a deletion.
        assert_eq!(owned.take(&put("4", "b"), None, None).len(), 2);
        let gone = Shown::Gone(child("one", "5", Some("b")));
        assert_eq!(owned.take(&gone, None, None).len(), 1);
    }

    /// The answer has skipped the version 2 of another program.
    #[test]
    fn the_first_event_after_an_own_write_wakes_the_owner() {
        fn one(version: &str) -> Guarded {
            child("one", version, Some("a"))
        }

        for (shown, wakes) in [
            (vec![Shown::Put(one("2")), Shown::Put(one("3"))], [0, 1]),
            (
                vec![Shown::All(vec![one("3")]), Shown::Put(one("3"))],
                [1, 0],
            ),
        ] {
            let owned = Owned::new(ApiResource::erase::<Deployment>(&()));
            let closures = Closures::new("test", &Metrics::for_test());
            owned.filter(Filter::new(closures, predicates::labels::<ConfigMap>));
            owned.take(&Shown::All(vec![one("1")]), None, None);
            owned.add(one("3").0.expect("a child"));
            let woken = shown
                .iter()
                .map(|shown| owned.take(shown, None, None).len());
            assert_eq!(Vec::from_iter(woken), wakes);
            assert!(owned.take(&Shown::Put(one("4")), None, None).is_empty());
        }
    }

    #[test]
    fn children_that_refer_to_their_owner_in_another_way_belong_to_another_index() {
        let [references, annotations] = [Tie::Reference, Tie::Annotation].map(|tie| {
            let owned = Owned::new(ApiResource::erase::<Deployment>(&()));
            owned.restrict(tie);
            owned
        });
        let reference = child("one", "1", Some("a"));
        let mut annotated = ConfigMap {
            metadata: child("two", "1", None).metadata().clone(),
            ..ConfigMap::default()
        };
        Tie::Annotation.set(&mut annotated.metadata, controlled_by(reference.metadata()));
        let list = Shown::All(vec![reference, Guarded(Ok(Arc::new(annotated)))]);
        for (owned, name) in [(references, "one"), (annotations, "two")] {
            assert_eq!(owned.take(&list, None, None).len(), 1);
            let children = owned.by("uid of a");
            let names = children
                .iter()
                .map(|child| child.metadata().name.as_deref());
            assert_eq!(Vec::from_iter(names), [Some(name)]);
        }
    }

    #[test]
    fn a_deletion_wakes_the_owner() {
        let (names, owned) = woken(vec![Shown::Gone(child("one", "2", Some("a")))]);
        assert_eq!(names, ["a"]);
        assert!(owned.by("uid of a").is_empty());
    }

    #[test]
    fn a_second_list_wakes_the_owners_of_what_changed_meanwhile() {
        let same = woken(vec![Shown::All(vec![child("one", "1", Some("a"))])]);
        assert!(same.0.is_empty());
        let (names, _) = woken(vec![Shown::All(vec![child("two", "2", Some("b"))])]);
        assert_eq!(names, ["a", "b"]);
    }

    /// How often the metadata of a [`Counted`] was read.
    static LOOKS: AtomicUsize = AtomicUsize::new(0);

    #[derive(Clone)]
    struct Counted(ObjectMeta);

    impl Resource for Counted {
        type DynamicType = ();
        type Scope = NamespaceResourceScope;

        fn kind(_: &()) -> Cow<'_, str> {
            "Counted".into()
        }

        fn group(_: &()) -> Cow<'_, str> {
            "example.com".into()
        }

        fn version(_: &()) -> Cow<'_, str> {
            "v1".into()
        }

        fn plural(_: &()) -> Cow<'_, str> {
            "counteds".into()
        }

        fn meta(&self) -> &ObjectMeta {
            LOOKS.fetch_add(1, Ordering::Relaxed);
            &self.0
        }

        fn meta_mut(&mut self) -> &mut ObjectMeta {
            &mut self.0
        }
    }

    #[test]
    fn a_child_is_found_without_a_look_at_each_other_one() {
        let owned = Owned::new(ApiResource::erase::<Deployment>(&()));
        let count = 2000;
        let children: Vec<_> = (0..count)
            .map(|number| {
                let child = child(&format!("child-{number:04}"), "1", Some("a"));
                Counted(child.metadata().clone())
            })
            .collect();
        for child in children.iter().rev() {
            let owner = owned.owner(&child.0);
            let child = Guarded(Ok(Arc::new(child.clone())));
            owned.index.lock().put(child, owner);
        }
        for child in &children {
            let found = owned.same("uid of a", &key(&child.0)).expect("it is there");
            assert_eq!(found.child.metadata().name, child.0.name);
        }
        for child in &children {
            assert!(
                owned
                    .index
                    .lock()
                    .has(&Guarded(Ok(Arc::new(child.clone()))))
            );
        }
        let looks = LOOKS.load(Ordering::Relaxed);
        assert!(looks < 200 * count, "{looks}");
        let sorted = owned.by("uid of a");
        assert!(sorted.is_sorted_by_key(|child| child.metadata().name.clone()));
        assert!(owned.index.lock().take(&key(&children[7].0)).is_some());
        assert!(owned.same("uid of a", &key(&children[7].0)).is_none());
        assert_eq!(owned.by("uid of a").len(), count - 1);
    }

    /// An index to which an answer of the API server has added the child `one` of `a` in version 5.
    fn ahead() -> Owned {
        let owned = Owned::new(ApiResource::erase::<Deployment>(&()));
        owned.add(child("one", "5", Some("a")).0.expect("a child"));
        owned
    }

    fn known(owned: &Owned) -> Option<(String, bool)> {
        let key = (Some("default".to_owned()), "one".to_owned());
        let known = owned.same("uid of a", &key)?;
        let version = known.child.metadata().resource_version.clone();
        Some((version?, known.is_shown))
    }

    #[test]
    fn an_answer_counts_until_the_watch_shows_as_much() {
        fn one(version: &str) -> Guarded {
            child("one", version, Some("a"))
        }

        let unshown = Some(("5".to_owned(), false));
        for (shown, after, wakes) in [
            (Shown::Put(one("4")), unshown.clone(), false),
            (Shown::Gone(one("4")), unshown.clone(), false),
            (Shown::All(vec![one("4")]), unshown, false),
            (Shown::Put(one("5")), Some(("5".to_owned(), true)), true),
            (
                Shown::All(vec![one("5")]),
                Some(("5".to_owned(), true)),
                true,
            ),
            (Shown::Put(one("6")), Some(("6".to_owned(), true)), true),
            (Shown::Gone(one("6")), None, true),
            (Shown::All(vec![]), None, true),
        ] {
            let owned = ahead();
            assert_eq!(!owned.take(&shown, None, None).is_empty(), wakes);
            assert_eq!(known(&owned), after);
        }
    }

    #[test]
    fn an_answer_from_before_a_deletion_adds_no_child() {
        let owned = Owned::new(ApiResource::erase::<Deployment>(&()));
        let answer = |version| child("one", version, Some("a")).0.expect("a child");
        owned.take(&Shown::Put(child("one", "5", Some("a"))), None, None);
        owned.take(&Shown::Gone(child("one", "6", Some("a"))), None, None);
        owned.add(answer("5"));
        owned.add(answer("6"));
        assert!(owned.by("uid of a").is_empty());
        owned.add(answer("7"));
        assert_eq!(known(&owned), Some(("7".to_owned(), false)));
    }

    #[test]
    fn an_earlier_version_does_not_bring_a_deleted_child_back() {
        fn one(version: &str) -> Guarded {
            child("one", version, Some("a"))
        }

        for earlier in [Shown::Put(one("2")), Shown::All(vec![one("2")])] {
            let (_, owned) = woken(vec![]);
            owned.end(one("1").metadata());
            assert!(owned.take(&earlier, None, None).is_empty());
            owned.add(one("2").0.expect("a child"));
            assert!(owned.by("uid of a").is_empty());
        }
        for end in [Shown::Gone(one("3")), Shown::All(vec![])] {
            let (_, owned) = woken(vec![]);
            owned.end(one("1").metadata());
            owned.take(&end, None, None);
            assert!(owned.index.lock().ended.is_empty());
        }
        // The watch has shown the end before the answer arrives.
        let (_, owned) = woken(vec![Shown::Gone(one("2"))]);
        owned.end(one("1").metadata());
        assert!(owned.index.lock().ended.is_empty());
    }

    #[test]
    fn a_child_with_the_name_of_a_deleted_child_is_shown() {
        let (_, owned) = woken(vec![]);
        owned.end(child("one", "1", Some("a")).metadata());
        let mut metadata = child("one", "4", Some("a")).metadata().clone();
        metadata.uid = Some("other".to_owned());
        let other = ConfigMap {
            metadata,
            ..ConfigMap::default()
        };
        let shown = Shown::All(vec![Guarded(Ok(Arc::new(other)))]);
        assert_eq!(owned.take(&shown, None, None).len(), 1);
        assert_eq!(owned.by("uid of a").len(), 1);
        assert!(owned.index.lock().ended.is_empty());
    }

    #[test]
    fn old_deletions_are_forgotten() {
        let mut index = Index::default();
        let long_ago = Instant::now().checked_sub(PATIENCE).expect("an uptime");
        let keys = (0..63).map(|number| (None, number.to_string()));
        index.gone = keys.map(|key| (key, (Some(1), long_ago))).collect();
        index.bury(child("one", "2", None).metadata());
        assert_eq!(index.gone.len(), 1);
    }

    #[test]
    fn the_deletion_of_a_forgotten_child_wakes_its_owner() {
        let (_, owned) = woken(vec![]);
        let gone = child("one", "2", Some("a"));
        owned.forget(gone.metadata());
        assert_eq!(owned.take(&Shown::Gone(gone), None, None).len(), 1);
    }

    #[test]
    fn a_list_of_one_name_keeps_the_children_with_other_names() {
        let owned = Owned::new(ApiResource::erase::<Deployment>(&()));
        let name = "one".to_owned();
        owned.take(&Shown::Put(child("two", "1", Some("a"))), None, None);
        owned.take(
            &Shown::All(vec![child("one", "1", Some("a"))]),
            None,
            Some(&name),
        );
        assert_eq!(owned.by("uid of a").len(), 2);
        owned.take(&Shown::All(Vec::new()), None, Some(&name));
        assert_eq!(owned.by("uid of a").len(), 1);
    }

    #[test]
    fn an_older_answer_does_not_replace_what_the_watch_has_shown() {
        let owned = ahead();
        owned.take(&Shown::Put(child("one", "6", Some("a"))), None, None);
        owned.add(child("one", "5", Some("a")).0.expect("a child"));
        assert_eq!(known(&owned), Some(("6".to_owned(), true)));
        owned.add(child("one", "7", Some("a")).0.expect("a child"));
        assert_eq!(known(&owned), Some(("7".to_owned(), false)));
        owned.forget(child("one", "7", Some("a")).metadata());
        assert_eq!(known(&owned), None);
    }

    #[test]
    fn owners_of_other_kinds_are_not_woken() {
        let owned = Owned::new(ApiResource::erase::<Pod>(&()));
        let woken = owned.take(&Shown::Put(child("one", "1", Some("a"))), None, None);
        assert_eq!(woken, []);
    }
}
