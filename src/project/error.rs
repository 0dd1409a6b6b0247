//! Errors for which a command can name a way out.

use std::fmt;

/// Why a change of a project is refused.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A resource would lose something, or change what its users rely on.
    #[error("{resource} exists with other settings: {}", join(.changes))]
    Changes {
        /// The resource.
        resource: String,
        /// What would change.
        changes: Vec<Change>,
    },
    /// Two versions of a kind would have a controller, or one that is not served.
    #[error("{resource} cannot have a controller: {reason}")]
    Controller {
        /// The resource.
        resource: String,
        /// What stands against it.
        reason: String,
    },
    /// Two resources would take one crate from two sources.
    #[error("{resource} cannot take the crate `{wanted}`: {other} has `{there}`")]
    Crate {
        /// The resource.
        resource: String,
        /// The crate as it wants it.
        wanted: String,
        /// The resource that has the crate.
        other: String,
        /// The crate as that has it.
        there: String,
    },
    /// Cargo.toml has the crate anyway.
    #[error("{resource} needs no crate `{name}`: every project has it")]
    NeedlessCrate {
        /// The resource.
        resource: String,
        /// The crate.
        name: String,
    },
    /// A controller owns what would be removed.
    #[error("the controller `{controller}` of {owner} owns {resource}")]
    Owned {
        /// The resource that would be removed.
        resource: String,
        /// The controller.
        controller: String,
        /// The resource that has the controller.
        owner: String,
    },
}

/// A setting that would change.
#[derive(Debug)]
pub struct Change {
    /// The setting: `plural`.
    pub what: String,
    /// What it is.
    pub before: String,
    /// What it would be.
    pub after: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} -> {}", self.what, self.before, self.after)
    }
}

fn join(changes: &[Change]) -> String {
    let changes: Vec<_> = changes.iter().map(ToString::to_string).collect();
    changes.join("; ")
}
