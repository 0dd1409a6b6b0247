//! The list of resources, with an index by kind, because a large project looks up many resources.

use std::{
    collections::HashMap,
    ops::{Deref, DerefMut},
    sync::OnceLock,
};

use serde::Deserialize;

use super::resource::Resource;
use crate::names::Kind;

/// The resources of a project, in the order of `PROJECT`: a `Vec` with an index by kind.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct Resources {
    list: Vec<Resource>,
    /// The positions in `list` of the resources of each kind, by the kind in lower case. Mutable access to the list
    /// clears the index, and the next lookup builds it again.
    #[serde(skip)]
    index: OnceLock<HashMap<String, Vec<usize>>>,
}

impl Resources {
    /// The resources of this kind, in any group.
    pub fn of_kind(&self, kind: &Kind) -> impl Iterator<Item = &Resource> {
        let called = self.called(&kind.lower());
        called.filter(move |resource| resource.kind == *kind)
    }

    /// The resources whose kind is `lower` in lower case, in any group.
    pub fn called(&self, lower: &str) -> impl Iterator<Item = &Resource> + use<'_> {
        self.positions(lower).iter().map(|at| &self.list[*at])
    }

    /// The positions of the resources whose kind is `lower` in lower case.
    pub(super) fn positions(&self, lower: &str) -> &[usize] {
        let index = self.index.get_or_init(|| {
            let mut index = HashMap::<_, Vec<_>>::new();
            for (at, resource) in self.list.iter().enumerate() {
                index.entry(resource.kind.lower()).or_default().push(at);
            }
            index
        });
        index.get(lower).map_or(&[], Vec::as_slice)
    }
}

impl Deref for Resources {
    type Target = Vec<Resource>;

    fn deref(&self) -> &Vec<Resource> {
        &self.list
    }
}

impl DerefMut for Resources {
    fn deref_mut(&mut self) -> &mut Vec<Resource> {
        self.index.take();
        &mut self.list
    }
}

impl PartialEq for Resources {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl Eq for Resources {}

impl From<Vec<Resource>> for Resources {
    fn from(list: Vec<Resource>) -> Self {
        let index = OnceLock::new();
        Self { list, index }
    }
}
