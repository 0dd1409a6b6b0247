//! Repairs the record after git has merged it.

use std::{collections::BTreeSet, mem};

use super::Turn;
use crate::{
    engine::Texts, engine::reconcile::branches::three_way, project::Project, render::render,
};

impl Turn<'_> {
    /// The texts that the tool wrote last.
    ///
    /// Where two branches changed neighbouring lines of the record, git keeps the lines of both, including lines that
    /// one branch has deleted. So a record with two projects is recomputed: the recorded files of both branches are
    /// merged in the same way as git merged the files on disk. While git still knows the commits, the files come from
    /// the records in these commits. Later, they are rendered.
    pub(super) fn base(&mut self) -> Texts {
        let mut base = mem::take(&mut self.record.texts);
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
            let [parent, ours, theirs] =
                [&parent, &ours, &theirs].map(|texts| texts.get(&path).cloned());
            // On a conflict, the record keeps the lines of both: other lines on disk conflict with them anyway.
            match three_way(parent, ours, theirs) {
                Ok(Some(text)) => _ = base.insert(path, text),
                Ok(None) => _ = base.remove(&path),
                Err(_) => {}
            }
        }
        base
    }

    /// The texts that the tool wrote last in the common ancestor and on each branch; `None` if git does not know the
    /// commits.
    fn recorded(&self) -> Option<[Texts; 3]> {
        let commits = self.branches.as_ref()?.commits.as_ref()?;
        let commits = [commits.parent.as_ref()?, &commits.ours, &commits.theirs];
        Some(commits.map(|commit| commit.record.texts.clone()))
    }

    /// The rendered files of the projects in the common ancestor and on the branches; `None` if another version of
    /// rscaffold wrote them.
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
