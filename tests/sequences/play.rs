//! Runs a sequence of commands in a folder, and checks after each command what must be true after every command. Only
//! rscaffold changes the files, so no command may conflict.

use std::path::Path;

use heck::ToSnakeCase;

use super::draw::Step;
use crate::project::{Project, Tree, assert_same};

const RECORD: &str = ".rscaffold/last-applied.jsonl";

/// A project after a sequence of commands, with the results of the commands.
pub struct Played {
    /// The project.
    pub project: Project,
    /// The commands that were accepted.
    pub accepted: Vec<String>,
    /// The number of refused commands.
    pub refused: usize,
    /// The texts of all Rust files that commands created or changed.
    pub rust: Vec<String>,
    /// Parts of the paths of files whose text comes from a CRD. `PROJECT` does not contain this text.
    given: Vec<String>,
}

impl Played {
    /// Runs `steps`.
    ///
    /// # Panics
    /// When a check fails.
    pub fn new(steps: &[Step]) -> Self {
        let mut played = Self {
            project: Project::new(&[]),
            accepted: Vec::new(),
            refused: 0,
            rust: Vec::new(),
            given: Vec::new(),
        };
        for step in steps {
            played.step(step);
        }
        played
    }

    fn step(&mut self, step: &Step) {
        let shown = step.arguments.join(" ");
        let before = self.project.tree();
        let outcome = step.run(&self.project.folder());
        let (code, stderr) = (outcome.code, outcome.stderr);
        let after = self.project.tree();
        if code != 0 {
            assert!(
                [1, 2].contains(&code) && stderr.starts_with("error: "),
                "{shown}: {code}: {stderr}"
            );
            assert!(
                before == after,
                "{shown} was refused and has changed files: {stderr}"
            );
            assert!(
                !stderr.contains("with the new text"),
                "{shown} conflicts, but nobody has edited a file: {stderr}"
            );
            self.refused += 1;
            return;
        }
        self.accepted.push(shown.clone());
        if step.arguments.iter().any(|it| it == "--dry-run") {
            assert!(before == after, "{shown} has changed files");
        }
        if before == after {
            return;
        }
        if step.arguments.iter().any(|it| it.starts_with("--crd=")) {
            self.given
                .extend(given(step.file.as_deref().unwrap_or_default()));
        }
        let is_rust = |path: &Path| path.extension().is_some_and(|it| it == "rs");
        let texts = after
            .iter()
            .filter(|(path, text)| is_rust(path) && before.get(*path) != Some(*text));
        self.rust.extend(texts.filter_map(|(_, text)| text.clone()));

        self.project.rscaffold("apply");
        assert!(
            self.project.tree() == after,
            "`apply` has changed files after {shown}"
        );
        let fresh = Project::new(&[]);
        fresh.write("PROJECT", &self.project.read("PROJECT"));
        fresh.rscaffold("apply");
        if self.given.is_empty() {
            assert_same(
                &fresh,
                &self.project,
                &format!("PROJECT alone, after {shown}"),
            );
        } else {
            let [fresh, own] = [fresh.tree(), after].map(|tree| self.without_given(tree));
            for path in fresh.keys().chain(own.keys()) {
                let (fresh, own) = (fresh.get(path), own.get(path));
                assert!(
                    fresh == own,
                    "{} of PROJECT alone, after {shown}: {fresh:?}",
                    path.display()
                );
            }
        }
    }

    /// Returns `tree` without the files whose text comes from a CRD.
    fn without_given(&self, tree: Tree) -> Tree {
        let folders = [
            "src/api/",
            "src/external/",
            "config/crd/bases/",
            "config/samples/",
            "charts/",
        ];
        let is_given = |path: &Path| {
            let path = path.to_string_lossy().into_owned();
            let is_there = folders.iter().any(|folder| path.starts_with(folder));
            path == RECORD || is_there && self.given.iter().any(|part| path.contains(part))
        };
        tree.into_iter()
            .filter(|(path, _)| !is_given(path))
            .collect()
    }
}

/// Returns parts of the paths of the files for the kind of a CRD.
fn given(crd: &str) -> Vec<String> {
    let kind = crd
        .split("{kind: ")
        .nth(1)
        .and_then(|rest| rest.split(',').next());
    let kind = kind.expect("a CRD has a kind");
    vec![kind.to_snake_case(), kind.to_ascii_lowercase()]
}
