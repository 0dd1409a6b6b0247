//! Errors for which a command adds a hint.

/// Why a change of a project is refused, in one sentence.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub enum Error {
    /// A resource would lose something, or change what its users rely on.
    Changes(String),
    /// A controller of a version that cannot have any.
    Controller(String),
    /// Two resources would take one crate from two sources.
    Crate(String),
    /// The hub of a kind would be removed, and spokes are there.
    Hub(String),
    /// Cargo.toml always has the crate of a resource.
    NeedlessCrate(String),
    /// A version would be served, but the webhook of its kind does not convert it.
    NoSpoke(String),
    /// Another version would be stored, and nothing converts the stored objects.
    Storage(String),
    /// A kind would be converted with a webhook and without one.
    TwoConversions(String),
    /// A webhook of a version that cannot have any.
    Webhook(String),
    /// A controller owns or watches what would be removed.
    Related(String),
}
