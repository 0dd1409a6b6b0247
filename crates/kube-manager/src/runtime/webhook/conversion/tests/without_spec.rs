//! Kinds whose fields are fields of the object itself, in some versions or in all of them.

use serde_json::{Value, json};

use super::super::{hub::Hub, kind::Conversion};

/// The hub: fields of the object, and a status.
mod v1 {
    use std::collections::BTreeMap;

    use kube::{CustomResource, KubeSchema};
    use serde::{Deserialize, Serialize};

    #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
    #[kube(group = "example.com", version = "v1", kind = "Shelf", namespaced)]
    #[kube(no_spec, status = "ShelfStatus")]
    pub struct ShelfSpec {
        pub width: i64,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub room: Option<String>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub books: BTreeMap<String, i64>,
    }

    #[derive(KubeSchema, Clone, Debug, Deserialize, Serialize)]
    pub struct ShelfStatus {
        #[serde(skip_serializing_if = "Option::is_none")]
        pub weight: Option<i64>,
    }
}

/// The same without a room, and with an own name for the width.
mod v1beta1 {
    use std::collections::BTreeMap;

    use kube::{CustomResource, KubeSchema};
    use serde::{Deserialize, Serialize};

    #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
    #[kube(group = "example.com", version = "v1beta1", kind = "Shelf", namespaced)]
    #[kube(no_spec, status = "ShelfStatus")]
    pub struct ShelfSpec {
        pub wide: i64,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub books: BTreeMap<String, i64>,
    }

    pub use super::v1::ShelfStatus;
}

/// With a spec.
mod v2 {
    use kube::{CustomResource, KubeSchema};
    use serde::{Deserialize, Serialize};

    #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
    #[kube(group = "example.com", version = "v2", kind = "Shelf", namespaced)]
    #[kube(status = "ShelfStatus")]
    pub struct ShelfSpec {
        pub width: i64,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub height: Option<i64>,
    }

    pub use super::v1::ShelfStatus;
}

impl From<v1beta1::ShelfSpec> for v1::ShelfSpec {
    fn from(v1beta1::ShelfSpec { wide, books }: v1beta1::ShelfSpec) -> Self {
        Self {
            width: wide,
            room: None,
            books,
        }
    }
}

impl TryFrom<v1::ShelfSpec> for v1beta1::ShelfSpec {
    type Error = &'static str;

    fn try_from(value: v1::ShelfSpec) -> Result<Self, Self::Error> {
        let v1::ShelfSpec {
            width,
            room: _,
            books,
        } = value;
        if width == 1000 {
            return Err("it is too wide");
        }
        Ok(Self { wide: width, books })
    }
}

impl From<v2::ShelfSpec> for v1::ShelfSpec {
    fn from(v2::ShelfSpec { width, height: _ }: v2::ShelfSpec) -> Self {
        Self {
            width,
            room: None,
            books: std::collections::BTreeMap::new(),
        }
    }
}

impl From<v1::ShelfSpec> for v2::ShelfSpec {
    fn from(value: v1::ShelfSpec) -> Self {
        let v1::ShelfSpec {
            width,
            room: _,
            books: _,
        } = value;
        Self {
            width,
            height: None,
        }
    }
}

fn hub() -> Hub<v1::Shelf> {
    Hub::<v1::Shelf>::new()
        .spoke::<v1beta1::Shelf>()
        .spoke::<v2::Shelf>()
}

/// Converts an object that has these fields.
fn convert(version: &str, fields: &Value, to: &str) -> Result<Value, String> {
    let head = json!({
        "apiVersion": format!("example.com/{version}"), "kind": "Shelf", "metadata": {"name": "a"},
    });
    let mut object = head.as_object().expect("an object").clone();
    object.extend(fields.as_object().expect("fields").clone());
    let conversion = Conversion::from(hub());
    let mut converted = conversion.convert(object, to)?;
    let fields = converted.as_object_mut().expect("an object");
    assert_eq!(fields["apiVersion"], format!("example.com/{to}"));
    for name in ["apiVersion", "kind", "metadata"] {
        fields.remove(name);
    }
    Ok(converted)
}

#[test]
fn objects_without_a_spec_come_back_unchanged() {
    hub().assert_lossless();
}

#[test]
fn the_fields_of_the_object_are_converted() {
    let hub = json!({"width": 2, "room": "hall", "books": {"dune": 3}, "status": {"weight": 4}});
    let beta = json!({"wide": 2, "books": {"dune": 3}, "status": {"weight": 4}});
    let with_spec = json!({"spec": {"width": 2}, "status": {"weight": 4}});
    assert_eq!(convert("v1", &hub, "v1beta1").as_ref(), Ok(&beta));
    assert_eq!(convert("v1", &hub, "v2").as_ref(), Ok(&with_spec));
    assert_eq!(convert("v1beta1", &beta, "v2").as_ref(), Ok(&with_spec));
    let back = json!({"wide": 2, "status": {"weight": 4}});
    assert_eq!(convert("v2", &with_spec, "v1beta1").as_ref(), Ok(&back));
}

#[test]
fn an_object_without_required_fields_is_converted() {
    let lacking = json!({"books": {"dune": 3}});
    assert_eq!(convert("v1beta1", &lacking, "v1").as_ref(), Ok(&lacking));
    assert_eq!(convert("v1", &lacking, "v2"), Ok(json!({"spec": {}})));
}

#[test]
fn an_error_names_the_field() {
    fn error(fields: &Value) -> String {
        convert("v1", fields, "v1beta1").unwrap_err()
    }

    assert_eq!(
        error(&json!({"width": "two"})),
        "width: invalid type: string \"two\", expected i64"
    );
    assert_eq!(error(&json!({"width": 1000})), "it is too wide");
}
