//! Types for names. Each name is checked when it is created, so a value of these types is always
//! valid.

mod carried;
mod check;
mod dns;
mod external;
mod group_version_kind;
mod header;
mod image;
mod kind;
mod kubernetes;
mod plural;
mod rust;
mod warning;
mod webhook_path;

use std::fmt::Display;

pub use carried::{FieldManager, FinalizerName, LabelKey, LabelValue};
pub use external::{Dependency, TypePath};
pub use group_version_kind::GroupVersionKind;
pub use header::Header;
pub use image::{CommandWord, ImageName, Port, UserId};
pub(crate) use kind::in_rust;
pub use kind::{Identifiers, Kind};
pub use kubernetes::{
    ControllerName, Domain, Group, LeaseName, NamespaceName, Plural, ProjectName, ShortName,
    Version,
};
pub(crate) use rust::is_keyword;
pub(crate) use rust::without_major_version;
pub use rust::{CrateName, Repo, WorkspaceRoot, is_dependency};
pub use warning::Warning;
pub use webhook_path::WebhookPath;

/// Names as a message lists them: "`v1`, `v2`".
pub fn in_backticks(names: impl IntoIterator<Item: Display>) -> String {
    let names = names.into_iter().map(|name| format!("`{name}`"));
    names.collect::<Vec<_>>().join(", ")
}

/// How many names a message lists.
pub const LISTED: usize = 10;

/// The first `most` names as a message lists them, and how many others there are: "`v1`, `v2` and 3 more".
pub fn first_in_backticks(names: &[impl Display], most: usize) -> String {
    let first = in_backticks(names.iter().take(most));
    match names.len().saturating_sub(most) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
