//! The two operators and their builds. Both operators write a `ConfigMap` and the status for each Bench, reconcile ten
//! objects at the same time, and log a line for each object.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use cluster::run;
use tempfile::TempDir;

use crate::{
    compile::{cargo, pin, target_folder},
    edits,
    scaffold::root,
};

/// The namespace of both operators' `ServiceAccount`.
pub const NAMESPACE: &str = "bench-system";

const ARGUMENTS: [&str; 2] = ["--leader-elect", "--health-probe-bind-address=127.0.0.1:0"];

/// An operator that can be started.
pub struct Contender {
    pub name: &'static str,
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// The name of its ServiceAccount.
    pub account: &'static str,
    /// A manifest to apply in addition to the manifests of the Rust project.
    pub manifest: Option<PathBuf>,
}

impl Contender {
    /// Returns the size of the program.
    pub fn megabytes(&self) -> Result<f64> {
        let bytes = self.program.metadata()?.len();
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        Ok(bytes as f64 / 1e6)
    }
}

/// The project that rscaffold creates, with the few lines that its user adds.
pub struct Project {
    folder: TempDir,
}

pub const CONTROLLER: &str = "src/controller/bench/bench.rs";

impl Project {
    /// Scaffolds the project, and makes the edits.
    pub fn scaffold(rscaffold: &Path) -> Result<Self> {
        let folder = TempDir::new().context("failed to create a temporary folder")?;
        let project = Self { folder };
        fs::create_dir(project.path()).context("failed to create a folder")?;
        for arguments in [
            "init --domain example.com",
            "create api --group bench --version v1 --kind Bench --owns v1/ConfigMap",
        ] {
            run(Command::new(rscaffold)
                .args(arguments.split(' '))
                .current_dir(project.path()))?;
        }
        pin(&project.path()).context("failed to copy Cargo.lock")?;
        project.edit(CONTROLLER, edits::DATA)?;
        project.edit(CONTROLLER, edits::NO_EVENTS)?;
        Ok(project)
    }

    /// Adds kinds that own nothing. Each kind has a controller that reports no event.
    pub fn add_kinds(&self, rscaffold: &Path, kinds: &[String]) -> Result<()> {
        for kind in kinds {
            let create = format!("create api --group bench --version v1 --kind {kind}");
            run(Command::new(rscaffold)
                .args(create.split(' '))
                .current_dir(self.path()))?;
            let controller = format!("src/controller/bench/{}.rs", kind.to_lowercase());
            self.edit(&controller, edits::NO_EVENTS)?;
        }
        Ok(())
    }

    /// Adds webhooks with the code `code`.
    pub fn add_webhooks(&self, rscaffold: &Path, code: &str) -> Result<()> {
        let create = "create webhook --group bench --version v1 --kind Bench --defaulting \
                      --programmatic-validation";
        run(Command::new(rscaffold)
            .args(create.split_whitespace())
            .current_dir(self.path()))?;
        let path = self.path().join("src/webhook/bench/bench.rs");
        fs::write(path, code).context("failed to write the webhooks")
    }

    /// Adds Book, a kind with two versions and a conversion webhook. `files` has the code, each file with its path
    /// below src/api/bench. After the build, the operator writes its manifests.
    pub fn add_conversion(&self, rscaffold: &Path, files: &[(&str, &str)]) -> Result<()> {
        for command in [
            "create api --group bench --version v1 --kind Book --controller=false",
            "create api --group bench --version v1alpha1 --kind Book --controller=false",
            "create webhook --group bench --version v1 --kind Book --conversion",
        ] {
            run(Command::new(rscaffold)
                .args(command.split(' '))
                .current_dir(self.path()))?;
        }
        for (file, text) in files {
            let path = self.path().join("src/api/bench").join(file);
            fs::write(path, text).with_context(|| format!("failed to write `{file}`"))?;
        }
        Ok(())
    }

    /// Runs the built program to do the work of `make manifests`.
    pub fn write_manifests(&self, contender: &Contender) -> Result<()> {
        run(Command::new(&contender.program)
            .arg("manifests")
            .current_dir(self.path()))?;
        Ok(())
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("bench")
    }

    /// Replaces the text `old` of the `controller` with `new`.
    pub fn edit(&self, controller: &str, (old, new): (&str, &str)) -> Result<()> {
        let path = self.path().join(controller);
        let text = fs::read_to_string(&path).context("failed to read the controller")?;
        ensure!(text.contains(old), "`{controller}` has no `{old}`");
        fs::write(path, text.replace(old, new)).context("failed to write the controller")
    }

    /// Builds the operator with the release profile of its project.
    pub fn build(&self) -> Result<Contender> {
        run(cargo(&self.path()).args(["build", "--release"]))?;
        Ok(Contender {
            name: "Rust",
            program: target_folder(&self.path()).join("release/bench"),
            arguments: ARGUMENTS.map(str::to_owned).into(),
            account: "bench-controller-manager",
            manifest: None,
        })
    }
}

/// Builds the operator of benches/go.
pub fn go() -> Result<Contender> {
    Ok(Contender {
        program: go_program("go", ".")?,
        manifest: Some(root().join("benches/go/rbac.yaml")),
        ..go_contender()
    })
}

/// Returns the fields that both operators in Go have in common.
fn go_contender() -> Contender {
    Contender {
        name: "Go",
        program: PathBuf::new(),
        arguments: ARGUMENTS.map(str::to_owned).into(),
        account: "go",
        manifest: None,
    }
}

/// Builds the operator of benches/go with additional kinds, whose controllers only write the status. The role of the
/// operator covers all kinds of the group.
pub fn go_with_kinds(kinds: &[String]) -> Result<Contender> {
    let [source, folder] = ["benches/go", "target/bench/kinds"].map(|it| root().join(it));
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    for entry in fs::read_dir(&source)? {
        let path = entry?.path();
        if path.is_file() {
            fs::copy(&path, folder.join(path.file_name().context("no name")?))?;
        }
    }
    let template = fs::read_to_string(source.join("kind.go.txt"))?;
    for kind in kinds {
        let file = format!("kind_{}.go", kind.to_lowercase());
        fs::write(folder.join(file), template.replace("KIND", kind))?;
    }
    let role = fs::read_to_string(source.join("rbac.yaml"))?;
    let manifest = folder.join("rbac.yaml");
    fs::write(
        &manifest,
        role.replace("[benches]", r#"["*"]"#)
            .replace("[benches/status]", r#"["*/status"]"#),
    )?;
    Ok(Contender {
        program: build_go(&folder, "go-kinds", ".")?,
        manifest: Some(manifest),
        ..go_contender()
    })
}

/// Builds a program of benches/go with the flags of a release.
pub fn go_program(name: &str, package: &str) -> Result<PathBuf> {
    build_go(&root().join("benches/go"), name, package)
}

/// Builds a program of the module in `folder` with the flags of a release.
fn build_go(folder: &Path, name: &str, package: &str) -> Result<PathBuf> {
    let program = root().join("target/bench").join(name);
    run(Command::new("go")
        .args(["build", "-mod=readonly", "-trimpath", "-ldflags=-s -w"])
        .args(["-buildvcs=false", "-o"])
        .args([program.as_path(), Path::new(package)])
        .current_dir(folder)
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .env_remove("GOOS")
        .env_remove("GOARCH"))?;
    Ok(program)
}
