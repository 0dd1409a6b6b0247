//! Fuzzes the files of a Go project. A line `=== <path>` is above each file.

use rscaffold::{
    command::init::ported,
    engine::Texts,
    port::{GoFolder, Port, WITHOUT, is_wanted},
    render::Templates,
};

use super::{files, tests, texts::check_languages};

const MARK: &str = "=== ";

pub fn seeds() -> Vec<Vec<u8>> {
    let files = files(&tests("go"), is_wanted);
    let archive = |files: &[&(String, String)]| {
        let files = files
            .iter()
            .map(|(path, text)| format!("{MARK}{path}\n{text}\n"));
        files.collect::<String>().into_bytes()
    };
    let all: Vec<_> = files.iter().collect();
    let of = |folder: &str| {
        let is_of = |path: &str| path == "PROJECT" || path == "go.mod" || path.starts_with(folder);
        let files = files.iter().filter(|(path, _)| is_of(path));
        archive(&files.collect::<Vec<_>>())
    };
    let folders = [
        "-",
        "api/",
        "cmd/",
        "config/",
        "config/crd/",
        "config/manager/",
        "internal/",
    ];
    [archive(&all)].into_iter().chain(folders.map(of)).collect()
}

/// Returns the files of an archive.
fn folder(text: &str) -> GoFolder {
    let mut files = GoFolder::default();
    let (mut path, mut lines) = (None, String::new());
    for line in text.split_inclusive('\n').chain([MARK]) {
        let Some(next) = line.strip_prefix(MARK) else {
            lines += line;
            continue;
        };
        let text = std::mem::take(&mut lines);
        if let Some(path) = path.replace(next.trim_end().to_owned()) {
            let is_left_out = |path: &str| path.split('/').any(|part| WITHOUT.contains(&part));
            if is_wanted(&path) && !is_left_out(&path) {
                files.texts.insert(path, text);
            } else {
                files.others.insert(path, 0);
            }
        }
    }
    files
}

pub fn run(data: &[u8]) {
    let files = folder(&String::from_utf8_lossy(data));
    let Ok(port) = Port::read(files, "../go") else {
        return;
    };
    let mut project = port.project.clone();
    project.runtime = "registry".parse().expect("a runtime");
    if project.validate().is_ok() {
        let mut templates = Templates::new(&project).expect("a valid project can be rendered");
        let rendered = templates.render().expect("a valid project can be rendered");
        let (texts, notes): (Texts, _) =
            ported(&port, &project, &templates, &rendered).expect("a valid project has texts");
        assert!(notes.iter().all(|note| !note.is_empty()));
        check_languages(&texts).unwrap_or_else(|error| panic!("{error}"));
    }
}
