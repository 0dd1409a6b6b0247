//! Changes of a project that are refused. The commands add hints to these errors.

use crate::names::{ControllerName, Dependency, GroupVersionKind, Kind, Version};

/// Why a project, or a change of it, is refused.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages name the fields")]
pub enum Error {
    /// kubebuilder wrote the file.
    #[error(
        "`PROJECT` describes a Go project of kubebuilder, but rscaffold is for projects in Rust"
    )]
    GoProject,
    /// A version wrote the file whose projects this version does not read.
    #[error(
        "`PROJECT` was written by rscaffold {theirs}, but rscaffold {} reads projects of {oldest} or newer",
        env!("CARGO_PKG_VERSION")
    )]
    TooOld { theirs: String, oldest: String },
    /// A setting of a resource would be lost or changed.
    #[error("`{id}` exists with other settings: {}", .changes.join("; "))]
    Changes {
        id: GroupVersionKind,
        changes: Vec<String>,
    },
    /// Someone else defines the kind.
    #[error("{existing} exists already, defined by {definer}")]
    OtherDefiner {
        existing: String,
        definer: &'static str,
    },
    /// A version of a kind would have another CRD than a version that the project has.
    #[error("`{id}` must share the CRD of {}, but differs: {change}", .other.version())]
    OtherCrd {
        id: GroupVersionKind,
        other: GroupVersionKind,
        change: String,
    },
    /// A second version of a kind would get controllers.
    #[error("`{id}` cannot have a controller: `{other}` has the controllers of the kind")]
    SecondControllers {
        id: GroupVersionKind,
        other: Version,
    },
    /// A version that is not stored would get a controller.
    #[error("`{id}` cannot have a controller: the API server does not store this version")]
    UnstoredController { id: GroupVersionKind },
    /// A version that is not stored would get webhooks.
    #[error("`{id}` cannot have webhooks: the API server does not store this version")]
    UnstoredWebhook { id: GroupVersionKind },
    /// Two resources need the same crate from different sources.
    #[error("`{id}` cannot take the crate `{wanted}`: `{other}` has `{there}`")]
    Crate {
        id: GroupVersionKind,
        wanted: Dependency,
        other: GroupVersionKind,
        there: Dependency,
    },
    /// A resource names a crate that Cargo.toml always contains.
    #[error("`{id}` needs no crate `{name}`: every project has it")]
    NeedlessCrate { id: GroupVersionKind, name: String },
    /// The only version of a kind would be converted.
    #[error("`{id}` is the only version of its kind, so there is nothing to convert")]
    OnlyVersion { id: GroupVersionKind },
    /// A kind would get another hub.
    #[error(
        "`{hub}` is the hub of the kind: with `{wanted}` as the hub, you would have to rewrite the code of each \
         conversion"
    )]
    OtherHub {
        hub: GroupVersionKind,
        wanted: Version,
    },
    /// The hub of a kind would be removed while it has spokes.
    #[error("`{id}` is the hub of {spokes}")]
    Hub {
        id: GroupVersionKind,
        spokes: String,
    },
    /// A version would be served, but the webhook of its kind does not convert it.
    #[error("`{id}` cannot be served: it is not a spoke of `{hub}`, the hub of the kind")]
    NoSpoke {
        id: GroupVersionKind,
        hub: GroupVersionKind,
    },
    /// A kind would have both a conversion webhook and a conversion without webhook.
    #[error(
        "`{hub}` has a webhook that converts, so its kind cannot also have the conversion `{other}`"
    )]
    TwoConversions {
        hub: GroupVersionKind,
        other: &'static str,
    },
    /// Another version would become the stored one, and nothing converts the stored objects. `hub` is the hub of the kind, or
    /// the other version if the kind has no hub yet.
    #[error(
        "`{id}` would no longer be served, and nothing would convert the objects that are stored in this version"
    )]
    StoredObjects {
        id: GroupVersionKind,
        hub: GroupVersionKind,
    },
    /// The conversion of served versions would be removed.
    #[error("`{other}` and `{stored}` are served, and nothing would convert between them")]
    ServedVersions {
        other: GroupVersionKind,
        stored: GroupVersionKind,
    },
    /// A version would be removed while clients can use it and another version. `successor` is the version to store in
    /// its place, if it is the stored version.
    #[error("`{id}` is still served, so clients may use it")]
    StillServed {
        id: GroupVersionKind,
        successor: Option<GroupVersionKind>,
    },
    /// Several versions would be served without a conversion.
    #[error(
        "{count} versions of `{kind}` in `{group}` are served, and nothing converts between them"
    )]
    Unconverted {
        count: usize,
        kind: Kind,
        group: String,
    },
    /// Two kinds of a group would have the same name, plural or short name.
    #[error("kinds `{one}` and `{other}` of group `{group}` would both be called `{name}`")]
    SameName {
        one: Kind,
        other: Kind,
        group: String,
        name: String,
    },
    /// A namespaced kind would own a cluster-scoped kind.
    #[error("{owner} cannot own `{id}`: a namespaced object cannot own a cluster-scoped object")]
    ClusterScoped {
        owner: String,
        id: GroupVersionKind,
        has_api: bool,
    },
    /// A controller owns or watches the kind that would be removed.
    #[error("the controller `{controller}` of `{of}` {verb} `{id}`")]
    Related {
        id: GroupVersionKind,
        controller: ControllerName,
        of: GroupVersionKind,
        verb: &'static str,
    },
}
