//! Tests that rscaffold keeps the edits of a user in every file of a project.

use std::{fs, path::Path};

use tempfile::TempDir;
use walkdir::WalkDir;

use crate::scaffold::rscaffold;

/// Returns the files of a project that its user may edit: all files except rscaffold's record.
fn files(project: &Path) -> Vec<String> {
    WalkDir::new(project)
        .sort_by_file_name()
        .into_iter()
        .map(|entry| entry.expect("a readable folder"))
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            entry
                .path()
                .strip_prefix(project)
                .expect("a path below")
                .display()
                .to_string()
        })
        .filter(|path| path != ".rscaffold/last-applied.jsonl")
        .collect()
}

/// Returns a comment in the language of the file at `path`.
fn remark(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("rs") => "// a remark of the user",
        Some("md") => "<!-- a remark of the user -->",
        _ => "# a remark of the user",
    }
}

#[test]
fn an_edit_of_any_file_survives_the_next_api() {
    let folder = TempDir::new().expect("a temporary folder");
    let project = folder.path();
    rscaffold(
        project,
        "init --domain com --repo guestbook --project-name guestbook --enable grafana,helm",
    );
    // This is the last line above the list that the first API starts.
    let text = fs::read_to_string(project.join("PROJECT")).expect("a text");
    let edited = text.replace("repo: guestbook\n", "repo: guestbook # on our own server\n");
    assert_ne!(edited, text);
    fs::write(project.join("PROJECT"), edited).expect("a writable file");
    rscaffold(
        project,
        "create api --group webapp --version v1 --kind Guestbook",
    );
    let text = fs::read_to_string(project.join("PROJECT")).expect("a text");
    assert!(
        text.contains("repo: guestbook # on our own server\n"),
        "{text}"
    );

    let edited = files(project);
    for path in &edited {
        let text = fs::read_to_string(project.join(path)).expect("a text");
        let remark = remark(path);
        // One comment is above all other text, and one is below.
        fs::write(project.join(path), format!("{remark}\n{text}{remark}\n"))
            .expect("a writable file");
    }
    for command in [
        "create api --group webapp --version v1 --kind Visitor",
        "create api --group webapp --version v2 --kind Guestbook",
        "create api --group crew --version v1beta1 --kind Captain --namespaced=false --finalizer",
        "create api --group apps --version v1 --kind Deployment --resource=false",
        "create api --group webapp --version v1 --kind Guestbook --controller-name backup",
        "create api --group cert-manager --version v1 --kind Certificate \
         --external-api-path cert_manager::v1::Certificate --external-api-domain io \
         --external-api-crate cert-manager@0.1",
        "edit --enable certmanager,network-policy,prometheus",
        "delete api --group webapp --version v1 --kind Visitor",
        "delete controller --group webapp --version v1 --kind Guestbook --controller-name backup",
        "edit --disable certmanager,network-policy,prometheus",
        "apply",
    ] {
        rscaffold(project, command);
        for path in &edited {
            let text = fs::read_to_string(project.join(path)).expect("a text");
            let remark = remark(path);
            assert!(
                text.starts_with(&format!("{remark}\n")),
                "{command}: {path}\n{text}"
            );
            assert!(
                text.ends_with(&format!("\n{remark}\n")),
                "{command}: {path}\n{text}"
            );
        }
    }
    // The commands also wrote their own lines next to the edits.
    let modules = fs::read_to_string(project.join("src/controller/mod.rs")).expect("a text");
    for line in [
        "pub mod crew;",
        "manager.add(crew::captain::Controller::new);",
    ] {
        assert!(modules.contains(line), "{modules}");
    }
}
