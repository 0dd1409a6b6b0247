//! Objects as a watch delivers them, including those that do not fit their type.

use std::{borrow::Cow, sync::Arc};

use kube::{
    Resource,
    core::{DeserializeGuard, ObjectMeta, error_boundary::InvalidObject},
};
use serde::{Deserialize, Deserializer};

/// An object, or only its metadata if the object does not fit its type. A clone shares the object.
#[derive(Debug)]
pub struct Guarded<K>(pub Result<Arc<K>, Arc<InvalidObject>>);

impl<K> Clone for Guarded<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'de, K: Resource + Deserialize<'de>> Deserialize<'de> for Guarded<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let DeserializeGuard(object) = DeserializeGuard::deserialize(deserializer)?;
        Ok(Self(object.map(Arc::new).map_err(Arc::new)))
    }
}

impl<K: Resource + Clone> Resource for Guarded<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    /// kube's own guard requests whole objects, even for a type with only metadata.
    fn metadata_api() -> bool {
        K::metadata_api()
    }

    fn kind(dyntype: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(dyntype)
    }

    fn group(dyntype: &Self::DynamicType) -> Cow<'_, str> {
        K::group(dyntype)
    }

    fn version(dyntype: &Self::DynamicType) -> Cow<'_, str> {
        K::version(dyntype)
    }

    fn plural(dyntype: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(dyntype)
    }

    fn meta(&self) -> &ObjectMeta {
        match &self.0 {
            Ok(object) => object.meta(),
            Err(invalid) => &invalid.metadata,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match &mut self.0 {
            Ok(object) => Arc::make_mut(object).meta_mut(),
            Err(invalid) => &mut Arc::make_mut(invalid).metadata,
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use kube::core::PartialObjectMeta;
    use serde_json::{Value, json};

    use super::*;

    fn pod(containers: &Value) -> Guarded<Pod> {
        let pod = json!({"metadata": {"name": "a"}, "spec": {"containers": containers}});
        serde_json::from_value(pod).expect("a name at least")
    }

    #[test]
    fn an_object_that_does_not_fit_its_type_has_metadata() {
        assert!(pod(&json!([])).0.is_ok());
        let mut invalid = pod(&json!("none"));
        assert!(invalid.0.is_err());
        assert_eq!(invalid.meta_mut().name.as_deref(), Some("a"));
    }

    #[test]
    fn a_clone_shares_the_object() {
        let pod = pod(&json!([]));
        let (one, two) = (pod.0.expect("a Pod"), Guarded(Ok(Arc::default())));
        assert!(Arc::ptr_eq(
            &one,
            &Guarded(Ok(one.clone())).clone().0.expect("it")
        ));
        assert!(!Arc::ptr_eq(&one, &two.0.expect("another")));
    }

    #[test]
    fn only_a_type_of_metadata_asks_for_metadata() {
        assert!(!Guarded::<Pod>::metadata_api());
        assert!(Guarded::<PartialObjectMeta<Pod>>::metadata_api());
    }
}
