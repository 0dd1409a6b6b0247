//! Fuzzes the text of a file of CRDs. The CRDs become kinds of a project.

use std::{path::Path, sync::LazyLock};

use rscaffold::{
    crd::{self, Crd},
    engine::Texts,
    from_crd::KindFromCrd,
    project::Project,
    render::Templates,
    render::convert::{File, convert},
};

use super::{files, tests, texts::check_languages};
use crate::golden_projects;

pub fn seeds() -> Vec<Vec<u8>> {
    let crds = files(&tests("crds"), |path| {
        Path::new(path).extension().is_some_and(|end| end == "yaml")
    })
    .into_iter();
    let is_base = |path: &str| path.contains("/config/crd/bases/");
    let bases = files(golden_projects::folder(), is_base)
        .into_iter()
        .filter(|(_, text)| text.len() < 10_000);
    crds.chain(bases)
        .map(|(_, text)| text.into_bytes())
        .collect()
}

static EMPTY: LazyLock<Project> = LazyLock::new(|| {
    let [domain, name] = ["example.org", "guestbook"];
    let [name, repo] = [name, name];
    let mut project = Project::new(
        domain.parse().expect("a domain"),
        name.parse().expect("a name"),
        repo.parse().expect("a repository"),
    );
    project.runtime = "registry".parse().expect("a runtime");
    project
});

pub fn run(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    for crd in crd::parse("crd.yaml", text)
        .unwrap_or_default()
        .iter()
        .take(3)
    {
        let made = [
            KindFromCrd::of_project(crd, None, &EMPTY),
            KindFromCrd::of_others(crd, None, &EMPTY),
        ];
        let [own, others] = made.map(|made| made.ok().and_then(|made| texts(&made)));
        for texts in [&own, &others].into_iter().flatten() {
            check_languages(texts).unwrap_or_else(|error| panic!("{error}"));
        }
        // If the project cannot have the kind, for example because of its name, there is no conversion.
        if let Some(texts) = own {
            check_conversion(crd, &texts);
        }
    }
}

/// Returns the texts of the files, if a project can have the kind.
fn texts(made: &KindFromCrd) -> Option<Texts> {
    let mut project = EMPTY.clone();
    for (_, resource) in made.resources(&project).ok()? {
        project.add(resource, false).ok()?;
    }
    let mut templates = Templates::new(&project).expect("a valid project can be rendered");
    let rendered = templates.render().expect("a valid project can be rendered");
    let files = made
        .files(&project)
        .expect("a kind that was added has texts");
    let texts = rendered
        .files(&templates, &files.additions)
        .expect("the templates take the values");
    assert!(files.losses.iter().all(|loss| !loss.to_string().is_empty()));
    let notes = [made.lossy(&project), made.unserved(&project)];
    assert!(notes.iter().flatten().all(|note| !note.is_empty()));
    Some(texts)
}

/// Checks that the conversion between the first two versions is valid Rust. `texts` has the types.
fn check_conversion(crd: &Crd, texts: &Texts) {
    let types = texts
        .iter()
        .filter(|(path, _)| path.starts_with("src/api/"))
        .map(|(path, text)| File {
            path,
            text: Some(text.content()),
        });
    if let [spoke, hub, ..] = types.collect::<Vec<_>>().as_slice() {
        let text = convert(&crd.kind, *spoke, *hub).text;
        syn::parse_file(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    }
}
