//! Projects of random sequences of commands, compiled as one workspace: clippy finds nothing, their own tests pass,
//! their manifests are what their code writes, and an API server takes their CRDs.
//!
//! `SEQUENCES=200` tries more of them, and `SEED=7` begins with another one.

#[path = "../sequences/draw.rs"]
mod draw;
#[path = "../sequences/names.rs"]
mod names;

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use self::names::DOMAINS;
use crate::{
    compile::{building, cargo, clippy, pin, scaffolded, target},
    golden::assert_derived,
    operator::kubectl,
    scaffold::{root, rscaffold, run},
};

/// Kinds whose Rust type has the name of their group before it.
const TAKEN: [&str; 26] = [
    "Action",
    "BTreeMap",
    "Children",
    "Condition",
    "Context",
    "Controller",
    "Default",
    "Deserialize",
    "Error",
    "EventType",
    "Infallible",
    "JsonSchema",
    "New",
    "ObjectMeta",
    "ObjectRef",
    "Option",
    "Reconciler",
    "ResourceExt",
    "Result",
    "Rule",
    "Self",
    "Serialize",
    "String",
    "ToString",
    "Vec",
    "Verb",
];

/// How many projects are compiled at once: what is built of them takes space.
const AT_ONCE: usize = 10;

/// A number that a variable of the environment gives.
fn variable(name: &str, usual: u64) -> u64 {
    let number = |text: String| {
        text.parse()
            .unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    env::var(name).map_or(usual, number)
}

#[test]
fn whatever_is_accepted_compiles_and_has_crds_that_an_api_server_takes() {
    let (seed, count) = (variable("SEED", 0), variable("SEQUENCES", 5));
    let seeds: Vec<_> = (seed..seed + count).collect();
    let _building = building();
    for seeds in seeds.chunks(AT_ONCE) {
        println!("sequences from SEED={} SEQUENCES={}", seeds[0], seeds.len());
        let workspace = Workspace::new();
        for seed in seeds {
            workspace.add(&format!("seed-{seed}"), |project| {
                let steps = draw::of_seed(*seed);
                let accepted = steps.iter().filter(|step| step.run(project).code == 0);
                let accepted: Vec<_> = accepted.map(|step| step.arguments.join(" ")).collect();
                println!("SEED={seed}\n    {}", accepted.join("\n    "));
            });
        }
        workspace.check();
        if seeds.len() < count.try_into().unwrap_or(usize::MAX) {
            workspace.clean();
        }
    }
}

/// Kinds whose Rust type has the name of the group, because the code around it needs their name: each with a
/// controller, which owns the next kind, with webhooks, and with a conversion.
#[test]
fn kinds_whose_names_the_code_needs_compile() {
    let _building = building();
    let workspace = Workspace::new();
    workspace.add("taken", |project| {
        rscaffold(
            project,
            &format!("init --runtime=registry --domain={}", DOMAINS[0]),
        );
        let create = |what: &str, version: &str, kind: &str, flags: &str| {
            let id = format!("--group=shop --version={version} --kind={kind}");
            rscaffold(project, &format!("create {what} {id} {flags}"));
        };
        for (index, kind) in TAKEN.iter().enumerate() {
            let next = TAKEN[(index + 1) % TAKEN.len()];
            create("api", "v1", kind, "");
            if index + 1 < TAKEN.len() {
                create("api", "v1", next, "");
            }
            create("api", "v1", kind, &format!("--owns=shop/v1/{next}"));
            create(
                "webhook",
                "v1",
                kind,
                "--defaulting --programmatic-validation",
            );
        }
        for kind in TAKEN {
            create("api", "v1beta1", kind, "");
            create("webhook", "v1", kind, "--conversion");
        }
    });
    workspace.check();
}

/// Projects that cargo builds together.
struct Workspace {
    folder: PathBuf,
}

impl Workspace {
    fn new() -> Self {
        let folder = scaffolded("workspace").expect("a folder");
        let golden = root().join("tests/golden");
        let manifest = fs::read_to_string(golden.join("Cargo.toml")).expect("a manifest");
        let runtime = golden
            .join("guestbook/crates/kube-manager")
            .display()
            .to_string();
        let manifest = manifest.replace("guestbook/crates/kube-manager", &runtime);
        fs::write(folder.join("manifest"), manifest).expect("a writable file");
        let widgets = folder.join("widgets");
        fs::create_dir_all(widgets.join("src")).expect("a folder");
        for file in ["Cargo.toml", "src/lib.rs"] {
            fs::copy(golden.join("widgets").join(file), widgets.join(file)).expect("a file");
        }
        Self { folder }
    }

    /// Adds the project that `make` makes in a folder.
    fn add(&self, name: &str, make: impl Fn(&Path)) {
        let others: BTreeSet<_> = self
            .projects()
            .iter()
            .map(|project| package(project))
            .collect();
        let project = self.folder.join(name);
        fs::create_dir(&project).expect("a folder");
        make(&project);
        // One runtime for all of them, and one package of a name.
        rscaffold(&project, "edit --runtime=registry");
        if others.contains(&package(&project)) {
            rscaffold(&project, &format!("edit --repo={name}"));
        }
    }

    fn projects(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).expect("a folder");
        let folders = entries.map(|entry| entry.expect("a readable folder").path());
        let mut projects: Vec<_> = folders.filter(|it| it.join("PROJECT").is_file()).collect();
        projects.sort();
        projects
    }

    /// Checks all that holds of a project.
    fn check(&self) {
        let folder = &self.folder;
        fs::rename(folder.join("manifest"), folder.join("Cargo.toml")).expect("a manifest");
        pin(folder).expect("the versions of dependencies");
        run(cargo(folder).args(["fmt", "--all", "--check"]));
        run(&mut clippy(folder, &["--workspace", "--all-targets"]));
        run(cargo(folder).args(["test", "--quiet", "--workspace"]));
        run(cargo(folder).args(["build", "--quiet", "--workspace"]));
        for project in self.projects() {
            let out = TempDir::new().expect("a temporary folder");
            run(Command::new(target().join("debug").join(package(&project)))
                .args(["manifests", "--out"])
                .arg(out.path()));
            assert_derived(&project, out.path());
            let crds = project.join("config/crd/bases");
            if !crds.exists() {
                continue;
            }
            let of_all = |arguments: &str| run(kubectl(arguments).arg("--filename").arg(&crds));
            of_all("create");
            of_all("wait --for condition=Established");
            of_all("delete");
        }
    }

    /// Removes what was built of the projects alone.
    fn clean(&self) {
        let projects = self.projects();
        let names = projects
            .iter()
            .map(|project| format!("--package={}", package(project)));
        run(cargo(&self.folder).args(["clean", "--quiet"]).args(names));
    }
}

/// The name of the package in a folder.
fn package(project: &Path) -> String {
    let manifest = fs::read_to_string(project.join("Cargo.toml")).expect("Cargo.toml");
    manifest
        .split('"')
        .nth(1)
        .expect("the name of the package")
        .to_owned()
}
