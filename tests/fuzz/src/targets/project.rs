//! Fuzzes the text of `PROJECT`.

use rscaffold::{project::Project, render::render};

use super::{
    files,
    texts::{check_languages, check_paths},
};
use crate::golden_projects;

/// The largest number of kinds to render. A project with more kinds takes too long to render for every input.
const RENDERED: usize = 3;

pub fn seeds() -> Vec<Vec<u8>> {
    let projects = files(golden_projects::folder(), |path| path.ends_with("PROJECT"));
    projects
        .into_iter()
        .map(|(_, text)| text.into_bytes())
        .collect()
}

pub fn run(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let Ok(project) = Project::parse(text) else {
        return;
    };
    let written = project
        .to_text()
        .expect("a project that was read can be written");
    let again = Project::parse(&written).expect("what was written can be read");
    assert_eq!(again, project, "{written}");
    assert_eq!(
        Project::merge(Some(&project), &project, &again)
            .ok()
            .as_ref(),
        Some(&project)
    );
    if project.resources.len() <= RENDERED {
        let texts = render(&project)
            .expect("a project that was read can be rendered")
            .texts;
        check_paths(&texts)
            .and_then(|()| check_languages(&texts))
            .unwrap_or_else(|it| panic!("{it}"));
    }
}
