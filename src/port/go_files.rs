//! Which kinds the files of the Go code belong to.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    crds::Crds,
    file::GoProject,
    path::{file_name, folder},
    source::Source,
};

/// Which kinds the files of the Go code belong to.
pub(super) struct GoFiles<'a> {
    /// For each file, the kinds for which it sets up controllers.
    pub setups: BTreeMap<&'a str, BTreeSet<String>>,
    /// For each file, the kind whose name begins the file name.
    pub about: BTreeMap<&'a str, String>,
    /// All kinds, by their names in lower case.
    pub kinds: BTreeMap<String, String>,
}

impl<'a> GoFiles<'a> {
    pub fn new(source: &'a Source, go: &GoProject, crds: &Crds) -> Self {
        let mut files = Self {
            setups: BTreeMap::new(),
            about: BTreeMap::new(),
            kinds: BTreeMap::new(),
        };
        let in_project = go.resources.iter().map(|resource| &resource.kind);
        let in_crds = crds.own.iter().map(|(_, crd)| &crd.kind);
        for kind in in_project.chain(in_crds) {
            files.kinds.insert(kind.to_ascii_lowercase(), kind.clone());
        }
        for file in source.go.files() {
            if file.mentions("NewControllerManagedBy") {
                let kinds = file.kinds("For").into_iter().map(|(_package, kind)| kind);
                files.setups.insert(&file.path, kinds.collect());
            }
            if let Some(kind) = files.called(file_name(&file.path)) {
                let name = kind.to_owned();
                files.about.insert(&file.path, name);
            }
        }
        files
    }

    /// The kind that a name begins with. If several kinds match, the longest: `Bookcase` for `bookcase_types.go`, not
    /// `Book`.
    pub fn called(&self, name: &str) -> Option<&str> {
        let joined = name.replace('_', "").to_ascii_lowercase();
        // Of two names that begin the name, the longer one is sorted after the shorter one.
        let mut called = self.kinds.iter().rev();
        let (_, kind) = called.find(|(lower, _)| joined.starts_with(*lower))?;
        Some(kind)
    }

    /// Whether the file at `path` sets up a controller of `kind`.
    pub fn sets_up(&self, path: &str, kind: &str) -> bool {
        let kinds = self.setups.get(path);
        kinds.is_some_and(|kinds| kinds.contains(kind))
    }

    /// Whether the file at `path` is beside a controller of `kind`, and not about another kind.
    pub fn is_beside(&self, path: &str, kind: &str) -> bool {
        let is_of_other = self.about.get(path).is_some_and(|about| about != kind);
        if is_of_other && !self.sets_up(path, kind) {
            return false;
        }
        let mut setups = self.setups.iter();
        setups.any(|(setup, kinds)| kinds.contains(kind) && folder(setup) == folder(path))
    }
}
