//! Tests the Dockerfile of a project: the content of the image.

use std::fs;

use walkdir::WalkDir;

use crate::{
    golden_projects,
    project::{INIT, Project},
};

#[test]
fn the_image_has_no_shell_and_no_root() {
    let golden = WalkDir::new(golden_projects::folder()).into_iter();
    let paths = golden.map(|entry| entry.unwrap().into_path());
    let dockerfiles = paths.filter(|path| path.ends_with("Dockerfile"));
    let mut count = 0;
    for path in dockerfiles {
        let text = fs::read_to_string(&path).unwrap();
        let (_, stage) = text.rsplit_once("\nFROM ").unwrap();
        let lines: Vec<_> = stage.lines().collect();
        let [base, copy, user, entrypoint] = lines[..] else {
            panic!("{}: {stage}", path.display());
        };
        // The base image has glibc and certificates. Images with the tag `debug` have a shell.
        assert_eq!(base, "gcr.io/distroless/cc-debian13:nonroot");
        assert!(copy.starts_with("COPY --from=builder /manager "), "{copy}");
        assert_eq!(user, "USER 65532:65532");
        // This form of `ENTRYPOINT` needs no shell.
        assert!(entrypoint.starts_with("ENTRYPOINT [\"/"), "{entrypoint}");
        count += 1;
    }
    assert!(count > 1);
}

/// A cache mount has the output of other checkouts, whose files can be newer than those of this one.
#[test]
fn what_a_workspace_compiles_is_newer_than_the_output_in_the_cache() {
    let project = Project::new(&[]);
    let workspace = "[workspace]\nmembers = [\"guestbook\"]\n";
    fs::write(project.folder().join("../Cargo.toml"), workspace).unwrap();
    let text = project.rscaffold(INIT).read("Dockerfile");
    let (_, mount) = text.split_once("target=/build/target").expect("a cache");
    let (before, _) = mount.split_once("cargo build").unwrap();
    assert!(before.contains("-exec touch {} +"), "{before}");
}
