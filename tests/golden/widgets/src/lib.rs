//! Kinds that others define.

/// The version that is stable.
pub mod v1 {
    use kube::CustomResource;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    /// What a widget shall be.
    #[derive(CustomResource, Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
    #[kube(
        group = "toys.example.org",
        version = "v1",
        kind = "Widget",
        namespaced,
        derive = "Default"
    )]
    pub struct WidgetSpec {
        /// How big.
        #[serde(default)]
        pub size: i32,
    }
}

/// A version that may change, with a type that is not called as its kind.
pub mod v1alpha1 {
    use kube::CustomResource;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    /// What a box shall be. No `Default`, as in most crates.
    #[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
    #[kube(
        group = "toys.example.org",
        version = "v1alpha1",
        kind = "HTTPBox",
        root = "HttpBox",
        plural = "crates"
    )]
    pub struct HttpBoxSpec {
        /// Where it opens.
        pub port: u16,
    }
}

/// A version that is to become stable, with a kind that has webhooks and no controller.
pub mod v1beta1 {
    use kube::CustomResource;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    /// What a lid shall be. No `Default`, as in most crates.
    #[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
    #[kube(group = "toys.example.org", version = "v1beta1", kind = "Lid")]
    pub struct LidSpec {
        /// How wide.
        pub width: u16,
    }
}
