//! The errors for which a command adds a hint.

/// The reason why a change of a project is refused, in one sentence.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub enum Error {
    /// A setting of a resource would be lost or changed.
    Changes(String),
    /// A version that cannot have controllers would get one.
    Controller(String),
    /// Two resources need the same crate from different sources.
    Crate(String),
    /// The hub of a kind would be removed while it has spokes.
    Hub(String),
    /// A resource names a crate that Cargo.toml always contains.
    NeedlessCrate(String),
    /// A version would be served, but the webhook of its kind does not convert it.
    NoSpoke(String),
    /// Another version would become the stored one, and nothing converts the stored objects.
    Storage(String),
    /// A kind would have both a conversion webhook and a conversion without webhook.
    TwoConversions(String),
    /// A version that cannot have webhooks would get one.
    Webhook(String),
    /// A controller owns or watches the kind that would be removed.
    Related(String),
}
