//! Kinds in the form that requests need: namespaced or cluster-scoped, known at compile time or only at run time.

use std::{
    any::TypeId,
    fmt::Debug,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use kube::{
    Api, Client, Resource,
    api::ApiResource,
    core::{
        ClusterResourceScope, DynamicObject, DynamicResourceScope, NamespaceResourceScope,
        ObjectMeta, PartialObjectMeta,
    },
    discovery,
};
use serde::de::{DeserializeOwned, Error as _};
use serde_json::{Map, Value, json};

use super::object::{AnyObject, Guarded, Object, Raw, read};

/// The scope of a kind, in generic code.
pub trait Scope {
    /// Whether objects of the kind are in a namespace. For a kind that is known only at run time: whether they may be.
    const NAMESPACED: bool;
}

impl Scope for NamespaceResourceScope {
    const NAMESPACED: bool = true;
}

impl Scope for ClusterResourceScope {
    const NAMESPACED: bool = false;
}

impl Scope for DynamicResourceScope {
    const NAMESPACED: bool = true;
}

/// A scope whose objects may own objects of the scope `Child`. The garbage collector deletes a cluster-scoped object
/// whose owner is in a namespace.
#[diagnostic::on_unimplemented(
    message = "an object in a namespace cannot own a cluster-scoped object",
    label = "the kind of the owner is namespaced, and the kind of the child is cluster-scoped",
    note = "the garbage collector would delete the child, and a change of the child would not reconcile its owner"
)]
pub trait MayOwn<Child>: Scope {}

impl MayOwn<NamespaceResourceScope> for NamespaceResourceScope {}
impl MayOwn<NamespaceResourceScope> for ClusterResourceScope {}
impl MayOwn<ClusterResourceScope> for ClusterResourceScope {}

/// A kind that can be watched, for generic code. All types of kinds implement it, including types of kinds that are
/// known only at run time.
pub trait Watchable:
    Resource<Scope: Scope> + Clone + Debug + DeserializeOwned + Send + Sync + 'static
{
}

impl<K> Watchable for K where
    K: Resource<Scope: Scope> + Clone + Debug + DeserializeOwned + Send + Sync + 'static
{
}

/// Reads an object of a kind from JSON.
type Read = fn(&str, &ApiResource) -> serde_json::Result<AnyObject>;

/// Reads a `K`, whose kind is known only at run time. The items of a list of a built-in kind have no `apiVersion` and no
/// `kind`; objects in events and other answers have them.
fn read_dynamic<K>(text: &str, resource: &ApiResource) -> serde_json::Result<AnyObject>
where
    K: Object + DeserializeOwned,
{
    let mut fields: Map<String, Value> = serde_json::from_str(text)?;
    for (name, value) in [
        ("apiVersion", &resource.api_version),
        ("kind", &resource.kind),
    ] {
        fields.entry(name).or_insert_with(|| json!(value));
    }
    let object: K = serde_json::from_value(Value::Object(fields))?;
    Ok(Arc::new(object))
}

/// A kind in the form that requests need, with the type of its objects.
#[derive(Clone)]
pub struct Kind {
    pub resource: ApiResource,
    /// Whether objects of the kind are in a namespace.
    pub namespaced: bool,
    /// Whether the type has only metadata, so that the API server sends no more.
    pub is_metadata: bool,
    pub type_id: TypeId,
    read: Read,
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.type_id == other.type_id
            && self.resource == other.resource
            && self.namespaced == other.namespaced
    }
}

impl Kind {
    /// The kind of the type `K`.
    pub fn of<K: Watchable + Resource<DynamicType = (), Scope: Scope>>() -> Self {
        let resource = ApiResource::erase::<K>(&());
        Self::new::<K>(resource, K::Scope::NAMESPACED, |text, _| read::<K>(text))
    }

    /// A kind that is known only at run time.
    pub fn dynamic<K: Watchable>(resource: ApiResource, scope: &discovery::Scope) -> Self {
        let namespaced = *scope == discovery::Scope::Namespaced;
        Self::new::<K>(resource, namespaced, read_dynamic::<K>)
    }

    fn new<K: Watchable>(resource: ApiResource, namespaced: bool, read: Read) -> Self {
        Self {
            resource,
            namespaced,
            is_metadata: K::metadata_api(),
            type_id: TypeId::of::<K>(),
            read,
        }
    }

    /// The same kind, of which the API server sends only the metadata of objects.
    pub fn metadata(&self) -> Self {
        type Metadata = PartialObjectMeta<DynamicObject>;
        Self::new::<Metadata>(self.resource.clone(), self.namespaced, |text, _| {
            read::<Metadata>(text)
        })
    }

    /// The objects in `namespace`, or in all namespaces. A cluster-scoped kind ignores `namespace`.
    pub fn api<const METADATA: bool>(
        &self,
        client: Client,
        namespace: Option<&str>,
    ) -> Api<Raw<METADATA>> {
        match namespace.filter(|_| self.namespaced) {
            Some(namespace) => Api::namespaced_with(client, namespace, &self.resource),
            None => Api::all_with(client, &self.resource),
        }
    }

    /// Kind and name of an object, for people.
    pub fn describe(&self, object: &ObjectMeta) -> String {
        let name = object.name.as_deref().unwrap_or_default();
        format!("{} {name}", self.resource.kind)
    }

    /// Reads an object from JSON.
    pub fn parse(&self, text: &str) -> serde_json::Result<AnyObject> {
        (self.read)(text, &self.resource)
    }

    /// The object that an answer of the API server contains.
    pub fn object(&self, answer: kube::Result<Raw>) -> kube::Result<AnyObject> {
        self.parse(answer?.text()).map_err(kube::Error::SerdeError)
    }

    /// An object of a watch.
    pub fn guarded<const METADATA: bool>(&self, shown: &Raw<METADATA>) -> Guarded {
        Guarded::new(shown, |text| {
            catch_unwind(AssertUnwindSafe(|| self.parse(text)))
                .unwrap_or_else(|_| Err(serde_json::Error::custom("its `Deserialize` panicked")))
        })
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::core::{Object, TypeMeta};
    use serde_json::{Value, json};

    use super::{super::object::typed, *};

    /// The objects of a built-in kind in the answer to a list, and in events.
    fn listed_and_shown<K: Watchable>() -> [K; 2] {
        let kind = Kind::dynamic::<K>(
            ApiResource::erase::<ConfigMap>(&()),
            &discovery::Scope::Namespaced,
        );
        let listed = json!({"metadata": {"name": "a"}, "data": {"b": "c"}});
        let mut shown = listed.clone();
        shown["apiVersion"] = json!("v1");
        shown["kind"] = json!("ConfigMap");
        [listed, shown].map(|object| {
            let raw = Raw::of(&object).expect("JSON");
            let Ok(object) = kind.guarded(&raw).0 else {
                panic!("{object} does not fit");
            };
            (*typed::<K>(object).expect("its type")).clone()
        })
    }

    #[test]
    fn an_object_of_a_dynamic_kind_is_the_same_in_a_list_and_in_an_event() {
        let [listed, shown] = listed_and_shown::<DynamicObject>();
        assert_eq!(listed.types, Some(TypeMeta::resource::<ConfigMap>()));
        assert_eq!(listed, shown);
        let [listed, shown] =
            listed_and_shown::<Object<Option<Value>, Value>>().map(|object| object.types);
        assert_eq!(listed, shown);
    }
}
