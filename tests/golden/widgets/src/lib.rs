//! Kinds that others define.

/// The version that is stable.
pub mod v1 {
    use kube::CustomResource;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    /// The desired state of a widget.
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

    /// Has the name of a type that generated controllers import.
    #[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
    #[kube(
        group = "toys.example.org",
        version = "v1",
        kind = "Context",
        namespaced
    )]
    pub struct ContextSpec {}
}

/// A version that may change, with a type whose name is not its kind.
pub mod v1alpha1 {
    use kube::CustomResource;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    /// The desired state of a box. No `Default`, as in most crates.
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

    /// The desired state of a lid. No `Default`, as in most crates.
    #[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
    #[kube(group = "toys.example.org", version = "v1beta1", kind = "Lid")]
    pub struct LidSpec {
        /// How wide.
        pub width: u16,
    }
}
