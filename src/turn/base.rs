//! What the tool wrote last, after git has merged the record.

use std::collections::BTreeSet;

use super::{Turn, put};
use crate::{
    project::Project,
    reconcile::{Texts, branches::three_way},
    render::render,
};

impl Turn<'_> {
    /// The files that the tool wrote last.
    ///
    /// Where two branches changed neighbouring lines of the record, git keeps the lines of both, and with
    /// them some that one branch has deleted. So a record of two projects is made anew: the files of both
    /// are merged, as git has merged those on disk. As long as git tells the commits, their records have
    /// these files; after that, they are rendered.
    pub(super) fn base(&self) -> Texts {
        let mut base = self.record.texts.clone();
        let [ours, theirs] = self.record.projects.as_slice() else {
            return base;
        };
        let files = self.recorded().or_else(|| self.renders(ours, theirs));
        let Some([parent, ours, theirs]) = files else {
            return base;
        };
        let paths = [&base, &parent, &ours, &theirs].map(|texts| texts.keys().cloned());
        let paths: BTreeSet<String> = paths.into_iter().flatten().collect();
        for path in paths {
            let [parent, ours, theirs] = [&parent, &ours, &theirs].map(|it| it.get(&path).cloned());
            // Where they clash, the lines of both will do: whatever else is on disk clashes with one of
            // them.
            if let Ok(text) = three_way(parent, ours, theirs) {
                put(&mut base, &path, text);
            }
        }
        base
    }

    /// The files that the tool wrote last where the branches parted, and on each of them; `None` if git
    /// does not tell.
    fn recorded(&self) -> Option<[Texts; 3]> {
        let commits = self.branches.as_ref()?.commits.as_ref()?;
        let commits = [commits.parent.as_ref()?, &commits.ours, &commits.theirs];
        Some(commits.map(|commit| commit.record.texts.clone()))
    }

    /// The files of the projects that the branches come from and that they have; `None` if this rscaffold
    /// does not know them.
    fn renders(&self, ours: &str, theirs: &str) -> Option<[Texts; 3]> {
        let merged = self.before.as_ref().unwrap_or(&self.after);
        let (ours, theirs) = (Project::parse(ours).ok()?, Project::parse(theirs).ok()?);
        if ours.is_older() || theirs.is_older() {
            return None;
        }
        let parent = Project::parent(&ours, &theirs, merged).ok()?;
        let texts = |project: &Project| Some(render(project).ok()?.texts);
        Some([texts(&parent)?, texts(&ours)?, texts(&theirs)?])
    }
}
