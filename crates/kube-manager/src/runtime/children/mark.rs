//! The metadata by which a child is recognized: its owner, the label of the operator, and the mark of the controller.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource, api::ApiResource, core::ObjectMeta};
use serde_json::{Value, json};

use super::error::Error;
use crate::runtime::{
    child::Desired,
    digest::{digest, sorted_json},
    object::identity,
    owned::refers_to,
    scope::Kind,
    tie::{self, Tie, controlled_by},
    watch::key,
};

/// The label of all children. Its value is the name of the operator. Only objects with this label are watched.
pub const LABEL: &str = "app.kubernetes.io/managed-by";

/// How a controller marks its children of one kind.
#[derive(Clone)]
pub struct Marks {
    pub operator: &'static str,
    /// The label of the children that this controller has created, corrected or taken over. Its value has two hashes,
    /// unless this controller has never written the child's fields. The first hash covers the whole child. It shows that a
    /// field is no longer desired, which a comparison with the live object cannot show, because other programs may set
    /// fields too. The second hash covers only which fields are set.
    pub label: String,
    /// The kind of the owners.
    pub owners: ApiResource,
    pub tie: Tie,
}

/// To whom an object with the name of a child belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// To the reconciled object.
    Ours,
    /// To nobody, and it has the mark of this controller.
    Orphaned,
    /// To an earlier object with the owner's name, and it has the mark of this controller.
    Earlier,
    Foreign,
}

impl Marks {
    /// Sets owner and labels of a desired child.
    pub fn set(&self, mut desired: Desired, owner: &ObjectMeta) -> Desired {
        // What the API server sets, if the object is a copy of a live one.
        let metadata = &mut desired.metadata;
        metadata.creation_timestamp = None;
        metadata.generation = None;
        metadata.managed_fields = None;
        metadata.resource_version = None;
        metadata.uid = None;
        // The hashes do not depend on the place of the child and on its controller, so a restored child has the same ones.
        tie::untie(metadata);
        let namespace = metadata.namespace.take();
        let labels = metadata.labels.get_or_insert_default();
        labels.remove(LABEL);
        labels.remove(&self.label);
        desired.object["metadata"] = json!(metadata);
        let hashes =
            [&desired.object, &fields(&desired.object)].map(|value| digest(&sorted_json(value)));
        metadata.namespace = namespace;
        self.tie.set(metadata, self.reference(owner));
        let labels = metadata.labels.get_or_insert_default();
        labels.insert(LABEL.to_owned(), self.operator.to_owned());
        labels.insert(self.label.clone(), hashes.join("-"));
        desired.object["metadata"] = json!(metadata);
        desired
    }

    /// The reference to `owner`.
    pub fn reference(&self, owner: &ObjectMeta) -> Option<OwnerReference> {
        identity(owner).controller_owner_ref(&self.owners)
    }

    /// Whether `child` refers to its owner as a new child does.
    ///
    /// The garbage collector cannot delete a child whose reference has a version that the CRD has lost.
    pub fn is_tied(&self, child: &ObjectMeta) -> bool {
        let has_version = |owner: OwnerReference| owner.api_version == self.owners.api_version;
        self.tie.holds(child) && controlled_by(child).is_none_or(has_version)
    }

    /// The mark of an object, if this controller has created, corrected or taken it over.
    pub fn of<'a>(&self, object: &'a ObjectMeta) -> Option<&'a str> {
        label(object, &self.label)
    }

    /// Whether two objects have marks for the same set of fields.
    pub fn have_same_fields(&self, one: &ObjectMeta, other: &ObjectMeta) -> bool {
        let [one, other] = [one, other].map(|object| self.of(object)?.split_once('-'));
        one.is_some_and(|(_, fields)| other.is_some_and(|(_, others)| fields == others))
    }

    /// To whom `live`, which has the name of a child of `owner`, belongs.
    pub fn claim(&self, live: &ObjectMeta, owner: &ObjectMeta) -> Claim {
        match controlled_by(live) {
            Some(controller) if Some(&controller.uid) == owner.uid.as_ref() => Claim::Ours,
            Some(controller) if self.is_of_earlier(live, owner, &controller) => Claim::Earlier,
            None if self.of(live).is_some() => Claim::Orphaned,
            _ => Claim::Foreign,
        }
    }

    /// Whether this controller created `live` for an earlier object with the name of `owner`, and nothing else than its
    /// `controller` owns it.
    ///
    /// The garbage collector deletes such a child, but it can miss the deletion of the owner: when a CRD is deleted while
    /// the collector has no connection, the children of its objects stay until kube-controller-manager restarts.
    fn is_of_earlier(
        &self,
        live: &ObjectMeta,
        owner: &ObjectMeta,
        controller: &OwnerReference,
    ) -> bool {
        let references = live.owner_references.as_deref().unwrap_or_default();
        references.len() < 2
            && self.of(live).is_some()
            && refers_to(controller, &self.owners)
            && controller.name == key(owner).1
            && (owner.namespace.is_none() || live.namespace == owner.namespace)
    }
}

/// The value of a label.
pub fn label<'a>(object: &'a ObjectMeta, name: &str) -> Option<&'a str> {
    Some(object.labels.as_ref()?.get(name)?)
}

/// Sets the namespace of a child of `owner`, and checks that `owner` can own it.
pub fn set_namespace(child: &mut ObjectMeta, kind: &Kind, owner: &ObjectMeta) -> Result<(), Error> {
    if child.name.is_none() {
        return Err(Error::Unnamed(kind.resource.kind.clone()));
    }
    match (&owner.namespace, &child.namespace) {
        (Some(_), _) if !kind.namespaced => Err(Error::ClusterScoped(kind.describe(child))),
        (Some(home), Some(namespace)) if namespace != home => {
            Err(Error::OtherNamespace(kind.describe(child)))
        }
        (None, None) if kind.namespaced => Err(Error::NoNamespace(kind.describe(child))),
        // The API server removes the namespace, too.
        (None, _) if !kind.namespaced => {
            child.namespace = None;
            Ok(())
        }
        (home, _) => {
            child.namespace = home.clone().or(child.namespace.take());
            Ok(())
        }
    }
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

#[cfg(test)]
mod tests {
    use k8s_openapi::{
        api::{
            apps::v1::Deployment,
            core::v1::{ConfigMap, Namespace},
        },
        apimachinery::pkg::apis::meta::v1::OwnerReference,
    };
    use kube::{ResourceExt, core::DynamicObject, discovery::Scope};

    use super::*;
    use crate::runtime::{child::Child, object::write};

    fn marks(owners: ApiResource) -> Marks {
        Marks {
            operator: "test",
            label: MARK.to_owned(),
            owners,
            tie: Tie::Reference,
        }
    }

    fn meta(name: &str, namespace: Option<&str>) -> ObjectMeta {
        ObjectMeta {
            name: Some(name.to_owned()),
            namespace: namespace.map(str::to_owned),
            uid: Some(format!("uid of {name}")),
            ..ObjectMeta::default()
        }
    }

    const MARK: &str = "test/applied";

    fn adorned_for<K>(child: ConfigMap, owner: &K) -> Result<ConfigMap, Error>
    where
        K: Resource<DynamicType = ()>,
    {
        let kind = Kind::of::<ConfigMap>();
        let mut child = Child::new(child).any();
        set_namespace(&mut child.metadata, &kind, owner.meta())?;
        let Ok(desired) = child.over(None, &kind, write::<ConfigMap>) else {
            panic!("nothing is kept");
        };
        let marks = marks(ApiResource::erase::<K>(&()));
        let desired = marks.set(desired, owner.meta());
        let child: ConfigMap = serde_json::from_value(desired.object).expect("a ConfigMap");
        assert_eq!(child.metadata, desired.metadata);
        Ok(child)
    }

    fn owners() -> ApiResource {
        ApiResource::erase::<Deployment>(&())
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
            reference(&mut child.metadata).uid = "earlier".to_owned();
            change(&mut child.metadata);
            let owner = owner("owner", Some("home")).metadata;
            marks(owners()).claim(&child.metadata, &owner) == Claim::Earlier
        }

        assert!(is_left(|_| {}));
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
        let owner = controlled_by(&child.metadata).expect("an owner");
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
        let resource = ApiResource::erase::<Namespace>(&());
        let kind = Kind::dynamic::<DynamicObject>(resource, &Scope::Cluster);
        let mut child = meta("child", None);
        assert!(set_namespace(&mut child, &kind, &owner("owner", None).metadata).is_ok());
        // The API server removes a namespace.
        let mut copied = meta("child", Some("home"));
        assert!(set_namespace(&mut copied, &kind, &owner("owner", None).metadata).is_ok());
        assert_eq!(copied.namespace, None);
        let error = set_namespace(&mut child, &kind, &owner("owner", Some("home")).metadata)
            .expect_err("a child that is never collected");
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
        let [a, b] = [a.metadata, b.metadata];
        assert!(marks(owners()).have_same_fields(&a, &b));
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
        type MutateFn = fn(&mut ObjectMeta);
        fn reference(meta: &mut ObjectMeta) -> &mut OwnerReference {
            &mut meta.owner_references.as_mut().expect("an owner")[0]
        }
        let owner = owner("owner", Some("home"));
        let cases: [(MutateFn, Claim); 6] = [
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
        for (index, (mutate, expected)) in cases.into_iter().enumerate() {
            let mut child = adorned(None, "a").expect("a child");
            mutate(&mut child.metadata);
            let claim = marks(owners()).claim(&child.metadata, &owner.metadata);
            assert_eq!(claim, expected, "{index}");
        }
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
}
