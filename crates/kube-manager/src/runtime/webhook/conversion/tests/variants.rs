//! Two versions of a kind with enums that the transform of `schema` turns into one object.

use proptest::prelude::*;
use serde_json::json;

use crate::runtime::webhook::conversion::{hub::Hub, kind::Conversion};

mod v1 {
    use std::collections::BTreeMap;

    use kube::{CustomResource, KubeSchema};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
    #[kube(group = "example.com", version = "v1", kind = "Site", namespaced)]
    #[kube(status = "SiteStatus")]
    #[schemars(transform = crate::schema::structural)]
    pub struct SiteSpec {
        pub source: Source,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub ports: BTreeMap<u16, Port>,
    }

    #[derive(JsonSchema, Clone, Debug, Deserialize, Serialize)]
    #[serde(tag = "kind", rename_all = "lowercase")]
    pub enum Source {
        Git { url: String, depth: Option<u8> },
        Inline { text: String },
        Nothing,
    }

    #[derive(JsonSchema, Clone, Debug, Deserialize, Serialize)]
    #[serde(untagged)]
    pub enum Port {
        Number(u16),
        Name(String),
    }

    #[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
    #[schemars(transform = crate::schema::structural)]
    #[serde(tag = "phase", rename_all = "lowercase")]
    pub enum SiteStatus {
        Ready { at: String },
        Failed { reason: String, tries: Option<u8> },
    }

    /// A spec with untagged variants alone.
    #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
    #[kube(group = "example.com", version = "v1", kind = "Door", namespaced)]
    #[schemars(transform = crate::schema::structural)]
    pub struct DoorSpec {
        pub key: Key,
    }

    #[derive(JsonSchema, Clone, Debug, Deserialize, Serialize)]
    #[serde(untagged)]
    pub enum Key {
        Code {
            code: String,
        },
        Card {
            card: String,
            issuer: Option<String>,
        },
    }
}

mod v2 {
    use std::collections::BTreeMap;

    use kube::{CustomResource, KubeSchema};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    pub use super::v1::SiteStatus;
    use super::v1::{Key, Port};

    #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
    #[kube(group = "example.com", version = "v2", kind = "Site", namespaced)]
    #[kube(status = "SiteStatus")]
    #[schemars(transform = crate::schema::structural)]
    pub struct SiteSpec {
        pub content: Content,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub ports: BTreeMap<u16, Port>,
    }

    #[derive(JsonSchema, Clone, Debug, Deserialize, Serialize)]
    #[serde(tag = "from", content = "value", rename_all = "lowercase")]
    pub enum Content {
        Repository { address: String },
        Inline { text: String },
        Nothing,
    }

    #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
    #[kube(group = "example.com", version = "v2", kind = "Door", namespaced)]
    #[schemars(transform = crate::schema::structural)]
    pub struct DoorSpec {
        pub opens_with: Key,
    }
}

impl From<v1::SiteSpec> for v2::SiteSpec {
    fn from(v1::SiteSpec { source, ports }: v1::SiteSpec) -> Self {
        let content = match source {
            v1::Source::Git { url, depth: _ } => v2::Content::Repository { address: url },
            v1::Source::Inline { text } => v2::Content::Inline { text },
            v1::Source::Nothing => v2::Content::Nothing,
        };
        Self { content, ports }
    }
}

impl From<v2::SiteSpec> for v1::SiteSpec {
    fn from(v2::SiteSpec { content, ports }: v2::SiteSpec) -> Self {
        let source = match content {
            v2::Content::Repository { address } => v1::Source::Git {
                url: address,
                depth: None,
            },
            v2::Content::Inline { text } => v1::Source::Inline { text },
            v2::Content::Nothing => v1::Source::Nothing,
        };
        Self { source, ports }
    }
}

impl From<v1::DoorSpec> for v2::DoorSpec {
    fn from(v1::DoorSpec { key }: v1::DoorSpec) -> Self {
        Self { opens_with: key }
    }
}

impl From<v2::DoorSpec> for v1::DoorSpec {
    fn from(v2::DoorSpec { opens_with }: v2::DoorSpec) -> Self {
        Self { key: opens_with }
    }
}

fn sites() -> Hub<v1::Site> {
    Hub::<v1::Site>::new().spoke::<v2::Site>()
}

#[test]
fn arbitrary_objects_have_only_the_fields_of_their_variant() {
    sites().assert_lossless();
}

#[test]
fn arbitrary_objects_have_a_variant_of_an_untagged_enum() {
    Hub::<v1::Door>::new()
        .spoke_without_status::<v2::Door>()
        .assert_lossless();
}

proptest! {
    #[test]
    fn an_arbitrary_status_has_only_the_fields_of_its_variant(
        (object, _) in Conversion::from(sites()).ways(),
    ) {
        if let Some(status) = object.get("status") {
            let read: v1::SiteStatus = serde_json::from_value(status.clone()).expect("a status");
            prop_assert_eq!(&json!(read), status);
        }
    }
}
