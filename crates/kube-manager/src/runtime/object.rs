//! Objects of any kind, with their metadata. Code that needs no more is compiled once, and not for each kind.

use std::{any::Any, borrow::Cow, sync::Arc};

use kube::{
    Resource,
    api::ApiResource,
    core::{DynamicObject, DynamicResourceScope, ObjectMeta, error_boundary::InvalidObject},
};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};

/// An object of any kind.
pub trait Object: Any + Send + Sync {
    fn metadata(&self) -> &ObjectMeta;

    fn metadata_mut(&mut self) -> &mut ObjectMeta;
}

impl<K: Resource + Send + Sync + 'static> Object for K {
    fn metadata(&self) -> &ObjectMeta {
        self.meta()
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        self.meta_mut()
    }
}

/// A shared object of any kind.
pub type AnyObject = Arc<dyn Object>;

/// `object` in its type; `None` if it has another type.
pub fn typed<K: Object>(object: AnyObject) -> Option<Arc<K>> {
    let any: Arc<dyn Any + Send + Sync> = object;
    any.downcast().ok()
}

/// Like [`typed`], for a reference.
pub fn typed_ref<K: Object>(object: &dyn Object) -> Option<&K> {
    let any: &dyn Any = object;
    any.downcast_ref()
}

/// Reads a `K`.
pub fn read<K: Object + DeserializeOwned>(text: &str) -> serde_json::Result<AnyObject> {
    let object: K = serde_json::from_str(text)?;
    Ok(Arc::new(object))
}

/// Writes an object of a kind as JSON.
pub type Write = fn(&dyn Object) -> Value;

/// Writes a `K`.
pub fn write<K: Object + Serialize>(object: &dyn Object) -> Value {
    json!(typed_ref::<K>(object))
}

/// What identifies an object, for references to it.
pub fn identity(object: &ObjectMeta) -> DynamicObject {
    DynamicObject {
        types: None,
        metadata: ObjectMeta {
            name: object.name.clone(),
            namespace: object.namespace.clone(),
            uid: object.uid.clone(),
            ..ObjectMeta::default()
        },
        data: Value::Null,
    }
}

/// An object of a watch, or only its metadata if the object does not fit its type. A clone shares the object.
#[derive(Clone)]
pub struct Guarded(pub Result<AnyObject, Arc<InvalidObject>>);

impl Guarded {
    pub fn new<const METADATA: bool>(
        shown: &Raw<METADATA>,
        read: impl Fn(&str) -> serde_json::Result<AnyObject>,
    ) -> Self {
        Self(read(shown.text()).map_err(|error| {
            // The API server has checked the metadata, so it can be read.
            let partial = serde_json::from_str::<Partial>(shown.text()).unwrap_or_default();
            Arc::new(InvalidObject {
                error: error.to_string(),
                metadata: partial.metadata,
            })
        }))
    }

    pub fn metadata(&self) -> &ObjectMeta {
        match &self.0 {
            Ok(object) => object.metadata(),
            Err(invalid) => &invalid.metadata,
        }
    }

    /// `None` for an object with clones.
    pub fn metadata_mut(&mut self) -> Option<&mut ObjectMeta> {
        match &mut self.0 {
            Ok(object) => Some(Arc::get_mut(object)?.metadata_mut()),
            Err(invalid) => Some(&mut Arc::get_mut(invalid)?.metadata),
        }
    }
}

/// The part of an object that does not depend on its type.
#[derive(Default, Deserialize)]
struct Partial {
    metadata: ObjectMeta,
}

/// The JSON text of an object of any kind. `METADATA` says whether the API server sends only its metadata.
#[derive(Clone, Debug)]
pub struct Raw<const METADATA: bool = false> {
    /// Only the resourceVersion, which a watch needs.
    metadata: ObjectMeta,
    text: Box<RawValue>,
}

#[derive(Deserialize)]
struct Versioned {
    #[serde(default)]
    metadata: ResourceVersion,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceVersion {
    resource_version: Option<String>,
}

impl Raw {
    /// The text of `object`.
    pub fn of(object: &Value) -> kube::Result<Self> {
        let text = to_raw_value(object).map_err(kube::Error::SerdeError)?;
        let metadata = ObjectMeta::default();
        Ok(Self { metadata, text })
    }
}

impl<const METADATA: bool> Raw<METADATA> {
    pub fn text(&self) -> &str {
        self.text.get()
    }
}

impl<'de, const METADATA: bool> Deserialize<'de> for Raw<METADATA> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let object: Versioned = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
        let metadata = ObjectMeta {
            resource_version: object.metadata.resource_version,
            ..ObjectMeta::default()
        };
        Ok(Self { metadata, text })
    }
}

impl<const METADATA: bool> Serialize for Raw<METADATA> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}

impl<const METADATA: bool> Resource for Raw<METADATA> {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn metadata_api() -> bool {
        METADATA
    }

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Pod};
    use kube::core::{ObjectList, PartialObjectMeta, WatchEvent};

    use super::*;
    use crate::runtime::scope::Kind;

    fn pod(containers: &Value) -> Guarded {
        let pod = json!({"metadata": {"name": "a"}, "spec": {"containers": containers}});
        Guarded::new::<false>(&Raw::of(&pod).expect("JSON"), read::<Pod>)
    }

    #[test]
    fn an_object_that_does_not_fit_its_type_has_metadata() {
        assert!(pod(&json!([])).0.is_ok());
        let mut invalid = pod(&json!("none"));
        assert!(invalid.0.is_err());
        assert_eq!(invalid.metadata().name.as_deref(), Some("a"));
        assert!(invalid.metadata_mut().is_some());
    }

    #[test]
    fn a_clone_shares_the_object() {
        let mut one = pod(&json!([]));
        assert!(one.metadata_mut().is_some());
        let two = one.clone();
        assert!(one.metadata_mut().is_none());
        let (one, two) = (one.0.expect("a Pod"), two.0.expect("a Pod"));
        assert!(Arc::ptr_eq(&one, &two));
    }

    #[test]
    fn only_a_type_of_metadata_asks_for_metadata() {
        assert!(!Kind::of::<Pod>().is_metadata);
        assert!(Kind::of::<PartialObjectMeta<Pod>>().is_metadata);
        assert!(Kind::of::<Pod>().metadata().is_metadata);
        assert!(Raw::<true>::metadata_api() && !Raw::<false>::metadata_api());
    }

    #[test]
    fn an_object_has_one_type() {
        let object: Arc<dyn Object> = Arc::new(Pod::default());
        assert!(typed_ref::<ConfigMap>(&*object).is_none());
        assert!(typed_ref::<Pod>(&*object).is_some());
        assert!(typed::<ConfigMap>(object.clone()).is_none());
        assert!(typed::<Pod>(object).is_some());
    }

    #[test]
    fn lists_and_events_of_a_watch_have_the_text_of_their_objects() {
        let object = r#"{"metadata":{"name":"a","resourceVersion":"7"},"data":{"b":"c"}}"#;
        let list = format!(r#"{{"kind":"List","metadata":{{}},"items":[{object}]}}"#);
        let list: ObjectList<Raw> = serde_json::from_str(&list).expect("a list");
        let event = format!(r#"{{"type":"ADDED","object":{object}}}"#);
        let event: WatchEvent<Raw> = serde_json::from_str(&event).expect("an event");
        let WatchEvent::Added(added) = event else {
            panic!("{event:?}");
        };
        for raw in [&list.items[0], &added] {
            assert_eq!(raw.text(), object);
            assert_eq!(raw.meta().resource_version.as_deref(), Some("7"));
        }
    }
}
