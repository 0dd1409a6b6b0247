//! Where a rendered file comes from: its template and its item.

use std::fmt;

use super::view::Kind;

/// The template and the item from which a file is rendered. An origin contains neither the name nor the domain of the
/// project: when these change, a file may get another path, but keeps its origin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    pub(super) template: &'static str,
    pub(super) item: Item,
}

/// The item for which a template is rendered, such as `webapp/v1/Guestbook`. Parts that do not apply are empty; for the
/// project itself, all of them are.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Item {
    /// The group, spelled as in `PROJECT`.
    group: String,
    version: String,
    /// The kind or the controller.
    name: String,
}

impl Item {
    pub fn new(group: &str, version: &str, name: &str) -> Self {
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            name: name.to_owned(),
        }
    }

    pub fn of_kind(kind: &Kind) -> Self {
        Self::new(kind.group.key.as_str(), "", &kind.kind)
    }

    pub fn of_version(kind: &Kind) -> Self {
        Self::new(kind.group.key.as_str(), &kind.version, &kind.kind)
    }
}

impl Origin {
    /// The API group of the item; empty for the project itself, and if the domain is the whole group.
    pub fn group(&self) -> &str {
        &self.item.group
    }

    /// The version of the item; empty if the item has none.
    pub fn version(&self) -> &str {
        &self.item.version
    }

    /// The kind of the item, if the item is a version of a kind of the project.
    pub fn kind(&self) -> Option<&str> {
        let Item { version, name, .. } = &self.item;
        (!version.is_empty() && !name.is_empty()).then_some(name)
    }

    /// The origin of the same template for an item of another group.
    #[must_use]
    pub fn in_group(&self, group: &str) -> Self {
        let mut origin = self.clone();
        group.clone_into(&mut origin.item.group);
        origin
    }

    /// The origin of the same template for another version.
    #[must_use]
    pub fn in_version(&self, version: &str) -> Self {
        let mut origin = self.clone();
        version.clone_into(&mut origin.item.version);
        origin
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let item = &self.item;
        let mut parts = vec![item.group.as_str(), &item.version, &item.name];
        parts.retain(|part| !part.is_empty());
        write!(f, "`{}`", self.template)?;
        if !parts.is_empty() {
            write!(f, " for `{}`", parts.join("/"))?;
        }
        Ok(())
    }
}
