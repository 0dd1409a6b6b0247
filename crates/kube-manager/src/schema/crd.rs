//! CustomResourceDefinitions that know their Rust types.

use std::{any::type_name, collections::BTreeMap, panic};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    CustomResourceExt,
    core::crd::{MergeError, merge_crds},
};
use schemars::JsonSchema;
use serde_json::{Value, json};

use super::{keys, subresource::remove_marks, types};

/// Makes the CRD of a kind, which knows the Rust types.
pub trait TypedCrd: CustomResourceExt + JsonSchema + Sized {
    /// The CRD, with one version.
    ///
    /// # Panics
    ///
    /// When kube cannot make a schema of the type.
    fn typed_crd() -> Crd {
        let Ok(definition) = panic::catch_unwind(Self::crd) else {
            panic::resume_unwind(Box::new(NoSchema(type_name::<Self>())))
        };
        let mut crd = Crd::from(definition);
        for version in &crd.definition.spec.versions {
            crd.named_schemas
                .insert(version.name.clone(), types::named_schema::<Self>);
        }
        crd
    }
}

impl<K: CustomResourceExt + JsonSchema> TypedCrd for K {}

/// A CustomResourceDefinition. If [`TypedCrd`] made it, the messages of [`check`](super::check()) name the Rust types of
/// its fields.
pub struct Crd {
    /// What `make manifests` writes.
    pub definition: CustomResourceDefinition,
    named_schemas: NamedSchemas,
}

/// For each version, what makes its schema with the names of types.
type NamedSchemas = BTreeMap<String, fn() -> Value>;

impl Crd {
    /// The CRD of a kind with several versions, which stores objects in the version `stored`.
    ///
    /// # Errors
    ///
    /// When the versions disagree on the scope or on the names of the kind.
    pub fn merge(versions: Vec<Self>, stored: &str) -> Result<Self, MergeError> {
        let mut definitions = Vec::new();
        let mut named_schemas = BTreeMap::new();
        for version in versions {
            definitions.push(version.definition);
            named_schemas.extend(version.named_schemas);
        }
        Ok(Self {
            definition: merge_crds(definitions, stored)?,
            named_schemas,
        })
    }

    /// The schema of a version with the names of types; `None` if the Rust type is unknown.
    pub(super) fn named_schema(&self, version: &str) -> Option<Value> {
        self.named_schemas.get(version).map(|make| make())
    }
}

impl From<CustomResourceDefinition> for Crd {
    /// The CRD, with the subresources that its Rust types say.
    fn from(mut definition: CustomResourceDefinition) -> Self {
        remove_marks(&mut definition);
        for version in &mut definition.spec.versions {
            let mut schema = json!(version.schema);
            if let Some(root) = schema.get_mut("openAPIV3Schema") {
                keys::change_each(root, keys::remove_not_nullable);
                open_map(root);
            }
            // This cannot fail: a schema without an optional keyword is one.
            version.schema = serde_json::from_value(schema).unwrap_or(version.schema.take());
        }
        Self {
            definition,
            named_schemas: BTreeMap::new(),
        }
    }
}

/// Opens a kind that is a map. kube does so if the kind has other fields, too; the API server refuses the map itself.
fn open_map(root: &mut Value) {
    if let Some(keywords) = root.as_object_mut()
        && keywords.get("additionalProperties") == Some(&Value::Bool(true))
    {
        keywords.remove("additionalProperties");
        keywords.insert(keys::OPEN.to_owned(), true.into());
    }
}

/// What is thrown when kube panics: the name of the Rust type.
pub struct NoSchema(pub &'static str);
