//! Follows the tutorials of `docs/tutorials` as a reader would: runs every command, writes every file and applies every
//! patch, in order, on a separate control plane with a simulated node. The commands must print what the text shows.

#[path = "docs/markdown.rs"]
mod markdown;
#[path = "docs/terminal.rs"]
mod terminal;

use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use cluster::{Cluster, run};
use tempfile::TempDir;
use walkdir::WalkDir;

use crate::{
    compile::{build_environment, cargo_by_state, pin, scaffolded},
    scaffold::{program, root},
};
use markdown::{Action, steps};
use terminal::Terminal;

macro_rules! tutorials {
    ($($(#[$attribute:meta])* $name:ident: $document:literal,)*) => {
        /// The file names of the tutorials that are tested.
        const TUTORIALS: &[&str] = &[$($document),*];

        $(#[test]
        $(#[$attribute])*
        fn $name() {
            follow($document).unwrap_or_else(|error| panic!("{error:#}"));
        })*
    };
}

tutorials! {
    demo_controller: "demo-controller.md",
    guestbook: "guestbook.md",
    #[ignore = "long: `make test-operators-long`"]
    pod_watcher: "pod-watcher.md",
    #[ignore = "long: `make test-operators-long`"]
    mini_controller_manager: "mini-controller-manager.md",
    #[ignore = "long: `make test-operators-long`"]
    crddemo: "crddemo.md",
    #[ignore = "long: `make test-operators-long`"]
    versions: "versions.md",
    webhooks: "webhooks.md",
}

const FOLDER: &str = "docs/tutorials";

#[test]
fn every_tutorial_is_followed() {
    let mut documents: Vec<_> = fs::read_dir(root().join(FOLDER))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    documents.sort_unstable();
    let mut followed = TUTORIALS.to_vec();
    followed.sort_unstable();
    assert_eq!(documents, followed);
}

/// Follows a tutorial in an empty folder.
fn follow(document: &str) -> Result<()> {
    let text = fs::read_to_string(root().join(FOLDER).join(document))
        .with_context(|| format!("failed to read `{document}`"))?;
    let mut reader = Reader::new(document)?;
    for step in steps(&text)? {
        let line = step.line;
        reader
            .act(step.action)
            .with_context(|| format!("{FOLDER}/{document}:{line}"))?;
    }
    reader.leave().with_context(|| document.to_owned())
}

/// A reader with a cluster, an empty folder, and some terminals.
struct Reader {
    /// The terminals by name. The name of the first one is empty.
    terminals: BTreeMap<String, Terminal>,
    environment: Vec<(&'static str, String)>,
    /// The folder in which the reader works.
    work: PathBuf,
    /// The folder for files that are not the reader's work: caches, programs, patches.
    beside: TempDir,
    // Dropped last, so that no program is left without its API server.
    cluster: Cluster,
}

impl Reader {
    fn new(document: &str) -> Result<Self> {
        let silent = |_: &str| {};
        let mut cluster = Cluster::start(&silent)?;
        cluster.add_simulated_node(&silent)?;
        let beside = TempDir::new().context("failed to create a temporary folder")?;
        let cargo = cargo_by_state();
        let rscaffold = beside.path().join("rscaffold");
        symlink(program(), &rscaffold)?;
        let programs = [&rscaffold, cluster.kubectl_path(), &cargo];
        let programs =
            programs.map(|program| program.parent().unwrap_or(Path::new("/")).to_owned());
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(programs.into_iter().chain(env::split_paths(&path)))?;
        let text = |path: &Path| path.display().to_string();
        let mut environment = vec![
            (
                "PATH",
                path.into_string().ok().context("PATH is not UTF-8")?,
            ),
            ("KUBECONFIG", text(cluster.kubeconfig())),
            ("KUBECACHEDIR", text(&beside.path().join("kube"))),
            ("KUBERC", "off".to_owned()),
            ("CARGO_TARGET_DIR", text(&beside.path().join("target"))),
            // Other programs on this machine use the default ports.
            (
                "KUBE_MANAGER_HEALTH_PROBE_BIND_ADDRESS",
                "127.0.0.1:0".to_owned(),
            ),
            (
                "KUBE_MANAGER_WEBHOOK_BIND_ADDRESS",
                "127.0.0.1:0".to_owned(),
            ),
            ("LC_ALL", "C".to_owned()),
            // Git must not find the repository of rscaffold.
            ("GIT_CEILING_DIRECTORIES", text(root())),
        ];
        let work = scaffolded(document.trim_end_matches(".md"))?;
        environment.extend(build_environment(&work));
        Ok(Self {
            terminals: BTreeMap::new(),
            environment,
            work,
            beside,
            cluster,
        })
    }

    fn act(&mut self, action: Action) -> Result<()> {
        self.pin()?;
        if let Action::Type { lines, .. } = &action
            && lines.iter().any(|line| line == "$ make setup-envtest")
        {
            self.set_up_envtest()?;
        }
        match action {
            Action::Type { terminal, lines } if terminal.is_empty() => {
                self.terminal("")?.play(&lines)
            }
            Action::Type { terminal, lines } => self.terminal(&terminal)?.follow(&lines),
            Action::Write { path, text } => {
                let path = self.terminal("")?.folder()?.join(path);
                let parent = path.parent().context("a path with no folder")?;
                fs::create_dir_all(parent)?;
                fs::write(&path, text)
                    .with_context(|| format!("failed to write {}", path.display()))
            }
            Action::Patch { text } => {
                let patch = self.beside.path().join("patch.diff");
                fs::write(&patch, text)?;
                let folder = self.terminal("")?.folder()?;
                run(Command::new("git")
                    .arg("apply")
                    .arg(patch)
                    .env("GIT_CEILING_DIRECTORIES", root())
                    .current_dir(folder))?;
                Ok(())
            }
        }
    }

    /// Returns the terminal of this name. A new terminal starts in the current folder of the first one.
    fn terminal(&mut self, name: &str) -> Result<&mut Terminal> {
        if !self.terminals.contains_key(name) {
            let folder = match self.terminals.get_mut("") {
                Some(first) => first.folder()?,
                None => self.work.clone(),
            };
            let terminal = Terminal::open(&folder, &self.environment)?;
            self.terminals.insert(name.to_owned(), terminal);
        }
        self.terminals.get_mut(name).context("no terminal")
    }

    /// Puts the programs of the cluster where `make setup-envtest` finds programs that were fetched before.
    fn set_up_envtest(&mut self) -> Result<()> {
        let folder = self.terminal("")?.folder()?;
        let makefile = fs::read_to_string(folder.join("Makefile"))?;
        let version = makefile
            .lines()
            .find_map(|line| line.strip_prefix("ENVTEST_K8S_VERSION ?= "));
        let fetched = folder.join("target/envtest");
        fs::create_dir_all(&fetched)?;
        let programs = self.cluster.assets()?;
        symlink(programs, fetched.join(version.context("no version")?))?;
        Ok(())
    }

    /// Pins the dependencies of each new package.
    fn pin(&self) -> Result<()> {
        for entry in WalkDir::new(&self.work).max_depth(3) {
            let path = entry?.into_path();
            let Some(folder) = path.parent().filter(|_| path.ends_with("Cargo.toml")) else {
                continue;
            };
            if !folder.join("Cargo.lock").exists() {
                pin(folder)?;
            }
        }
        Ok(())
    }

    /// Checks that no command still runs, and that the tutorial used a terminal.
    fn leave(self) -> Result<()> {
        for (name, terminal) in &self.terminals {
            ensure!(
                terminal.is_idle(),
                "something still runs in the terminal `{name}`"
            );
        }
        if self.terminals.is_empty() {
            bail!("the tutorial does nothing");
        }
        Ok(())
    }
}
