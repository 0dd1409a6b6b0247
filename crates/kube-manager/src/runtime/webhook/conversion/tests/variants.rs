//! Two versions of a kind with enums that the transform of `schema` turns into one object.

use crate::runtime::webhook::conversion::hub::Hub;

mod v1 {
    use std::collections::BTreeMap;

    use kube::{CustomResource, KubeSchema};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
    #[kube(group = "example.com", version = "v1", kind = "Site", namespaced)]
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
}

mod v2 {
    use std::collections::BTreeMap;

    use kube::{CustomResource, KubeSchema};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::v1::Port;

    #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
    #[kube(group = "example.com", version = "v2", kind = "Site", namespaced)]
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

#[test]
fn arbitrary_objects_have_only_the_fields_of_their_variant() {
    Hub::<v1::Site>::new()
        .spoke_without_status::<v2::Site>()
        .assert_lossless();
}
