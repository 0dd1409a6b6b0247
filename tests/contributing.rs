//! Tests the changes that CONTRIBUTING.md describes step by step: each patch applies to this repository, and both
//! changes pass `make check`.

use std::{fs, path::Path, process::Command};

use tempfile::TempDir;

use crate::{
    cli::GIT,
    document::{read, section},
    scaffold::{by_hand, root, run},
};

/// A code block of the examples.
enum Block {
    /// Commands for a shell.
    Commands(String),
    /// A patch for `git apply`.
    Patch(String),
}

/// Returns the code blocks of each example.
fn examples() -> Vec<Vec<Block>> {
    let page = read("CONTRIBUTING.md");
    let examples = section(&page, "## Two changes, step by step").split("\n### ");
    let blocks = |example: &str| {
        let mut blocks = Vec::new();
        for block in example.split("\n```").skip(1).step_by(2) {
            let (language, text) = block.split_once('\n').expect("a language");
            let text = format!("{text}\n");
            blocks.push(match language {
                "diff" => Block::Patch(text),
                "sh" => Block::Commands(text),
                _ => panic!("`{language}` is not the language of a block of the examples"),
            });
        }
        blocks
    };
    let examples: Vec<_> = examples.skip(1).map(blocks).collect();
    assert_eq!(examples.len(), 2);
    examples
}

/// Applies `patch` to the files in `folder`, with additional `flags`. Returns whether the patch fits.
fn applies(patch: &str, folder: &Path, flags: &[&str]) -> bool {
    let beside = TempDir::new().expect("a temporary folder");
    let file = beside.path().join("patch");
    fs::write(&file, patch).expect("a writable file");
    let git = Command::new("git")
        .args(["apply", "--whitespace=error-all"])
        .args(flags)
        .arg(file)
        .current_dir(folder)
        // git must not look for a repository above the folder.
        .env("GIT_CEILING_DIRECTORIES", folder)
        .status();
    git.expect("git starts").success()
}

#[test]
fn the_patches_of_the_worked_examples_apply() {
    for example in examples() {
        let folder = TempDir::new().expect("a temporary folder");
        for block in example {
            let Block::Patch(patch) = block else {
                continue;
            };
            let files = patch.lines().filter_map(|line| line.strip_prefix("--- a/"));
            for file in files {
                let copy = folder.path().join(file);
                fs::create_dir_all(copy.parent().expect("a folder")).expect("a writable folder");
                fs::copy(root().join(file), copy).expect("a file of this repository");
            }
            // A developer who follows the page has already applied the patch. `make golden` may have added lines beside
            // it.
            let fits = |flags: &[&str]| applies(&patch, folder.path(), flags);
            assert!(fits(&[]) || fits(&["--reverse", "-C0"]), "{patch}");
        }
    }
}

/// Makes both changes in a copy of this repository's work tree.
#[test]
#[ignore = "compiles rscaffold again: make test-contributing"]
fn the_worked_examples_can_be_followed() {
    let top = root().join("target/contributing");
    let folder = top.join("rscaffold");
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the last copy goes");
    }
    fs::create_dir_all(&folder).expect("a folder");
    let sh = |text: &str, folder: &Path| {
        let mut sh = Command::new("sh");
        by_hand(&mut sh)
            .args(["-e", "-c", text])
            .current_dir(folder)
            .env("CARGO_TARGET_DIR", top.join("target"))
            .envs(GIT);
        println!("{text}");
        println!("{}", run(&mut sh));
    };
    let files = "git ls-files -z --cached --others --exclude-standard";
    let copy = format!(
        "{files} | xargs -0 cp --parents --no-dereference --target-directory '{}'",
        folder.display()
    );
    sh(&copy, root());
    sh(
        "git init --quiet --initial-branch main && git add --all && git commit --quiet --message start",
        &folder,
    );
    for example in examples() {
        for block in example {
            match block {
                Block::Commands(text) => sh(&text, &folder),
                Block::Patch(patch) => assert!(applies(&patch, &folder, &[]), "{patch}"),
            }
        }
        // The commands of the example have committed all files that `make golden` wrote.
        let status = run(Command::new("git")
            .args(["status", "--short"])
            .current_dir(&folder));
        assert_eq!(status, "");
    }
}
