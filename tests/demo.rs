//! The main job for real, as a user would do it: two commands make an operator, and a cluster runs
//! it. `make demo` runs this.
//!
//! However it ends, it leaves nothing behind but what was compiled.

use std::{
    fs,
    path::PathBuf,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, anyhow, ensure};
use cluster::Cluster;
use tempfile::TempDir;

#[path = "demo/process.rs"]
mod process;
#[expect(dead_code, reason = "the tests use all of it")]
mod scaffold;
#[path = "demo/screen.rs"]
mod screen;

use process::Process;
use scaffold::{cargo, make, root};
use screen::Screen;

fn main() -> ExitCode {
    let mut screen = Screen::default();
    let result = screen.catch_signals().and_then(|()| main_job(&mut screen));
    match result {
        Ok(()) => {
            screen.summary();
            ExitCode::SUCCESS
        }
        Err(_) if screen.is_interrupted() => {
            eprintln!("\ninterrupted: all processes are stopped, all temporary files removed");
            ExitCode::from(130)
        }
        Err(error) => {
            eprintln!("\nerror: failed to {}: {error:#}", screen.title());
            ExitCode::FAILURE
        }
    }
}

fn main_job(screen: &mut Screen) -> Result<()> {
    screen.step("build rscaffold");
    let mut build = cargo(root());
    build.args(["build", "--release", "--locked"]).env_remove("CARGO_TARGET_DIR");
    compile(screen, "cargo build --release --locked", &mut build)?;

    screen.step("scaffold an operator");
    let folder = TempDir::new().context("failed to create a temporary folder")?;
    let project = folder.path().join("guestbook");
    screen.command("mkdir guestbook && cd guestbook");
    fs::create_dir(&project).with_context(|| format!("failed to create {}", project.display()))?;
    for arguments in [
        "init --domain com --repo guestbook",
        "create api --group webapp --version v1 --kind Guestbook",
    ] {
        let mut rscaffold = Command::new(root().join("target/release/rscaffold"));
        rscaffold.args(arguments.split(' ')).current_dir(&project);
        let output = screen.run(&format!("rscaffold {arguments}"), &mut rscaffold)?;
        screen.say(&output);
    }

    screen.step("compile the operator");
    // The versions of dependencies that the golden projects were tested with.
    fs::copy(root().join("tests/golden/Cargo.lock"), project.join("Cargo.lock"))
        .context("failed to copy the lock file")?;
    compile(screen, "cargo build", cargo(&project).arg("build"))?;

    screen.step("start a throwaway cluster");
    let cluster = screen.work(Cluster::start)?;
    screen.command(&format!("export KUBECONFIG={}", cluster.kubeconfig().display()));

    let site = Site { project, cluster };
    screen.step("install the CustomResourceDefinition");
    let output = screen.run("make install", &mut site.make("install"))?;
    screen.say(&output);

    screen.step("run the operator");
    screen.command("make run &");
    let mut operator = Process::start(&mut site.make("run"))?;
    screen.until(&operator, "starting")?;
    site.reconcile(screen).map_err(|error| {
        anyhow!("{error:#}\n\nthe operator said:\n{}", operator.last_lines())
    })?;

    screen.step("stop the operator");
    screen.command("kill %1");
    operator.terminate()?;
    ...
    screen.step("clean up");
    drop(site);
    folder.close()
}
