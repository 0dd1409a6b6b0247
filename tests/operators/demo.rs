//! Runs the main job as a user would: two commands create an operator, and a cluster runs it. `make demo` runs this
//! program.
//!
//! However the program ends, it leaves only compiled artifacts behind.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, anyhow, ensure};
use cluster::{PATIENCE, kubectl_limit, wait_until};
use tempfile::TempDir;

#[expect(dead_code, reason = "the tests use all of it")]
mod compile;
#[path = "demo/control_plane.rs"]
mod control_plane;
#[path = "../golden_projects.rs"]
mod golden_projects;
#[path = "demo/process.rs"]
mod process;
#[expect(dead_code, reason = "the tests use all of it")]
#[path = "../scaffold.rs"]
mod scaffold;
#[path = "demo/screen.rs"]
mod screen;

use compile::{cargo, pin};
use control_plane::{ControlPlane, Source};
use process::Process;
use scaffold::{plain_make, root};
use screen::{Screen, command_line, say};

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
    build
        .args(["build", "--release", "--locked"])
        .env_remove("CARGO_BUILD_BUILD_DIR")
        .env_remove("CARGO_TARGET_DIR");
    compile(screen, "cargo build --release --locked", &mut build)?;

    screen.step("scaffold an operator");
    let folder = TempDir::new().context("failed to create a temporary folder")?;
    let project = folder.path().join("guestbook");
    command_line("mkdir guestbook && cd guestbook");
    fs::create_dir(&project).with_context(|| format!("failed to create {}", project.display()))?;
    for arguments in [
        "init --domain com --repo guestbook",
        "create api --group webapp --version v1 --kind Guestbook",
    ] {
        let mut rscaffold = Command::new(root().join("target/release/rscaffold"));
        rscaffold.args(arguments.split(' ')).current_dir(&project);
        let output = screen.run(&format!("rscaffold {arguments}"), &mut rscaffold)?;
        say(&output);
    }

    screen.step("find a control plane");
    let source = Source::find(screen, &project)?;

    screen.step("compile the operator");
    pin(&project).context("failed to copy the lock file")?;
    compile(screen, "cargo build", cargo(&project).arg("build"))?;

    screen.step("start the control plane");
    let control_plane = source.start(screen)?;
    command_line(&format!(
        "export KUBECONFIG={}",
        control_plane.kubeconfig().display()
    ));

    let site = Site {
        project,
        control_plane,
    };
    screen.step("install the CustomResourceDefinition");
    let output = screen.run("make install", &mut site.make("install")?)?;
    say(&output);

    screen.step("run the operator");
    command_line("make run &");
    let mut operator = Process::start(&mut site.make("run")?)?;
    site.reconcile(screen, &mut operator)
        .map_err(|error| anyhow!("{error:#}\n\nthe operator said:\n{}", operator.last_lines()))?;

    screen.step("stop the operator");
    command_line("pkill guestbook");
    operator.terminate("guestbook")?;
    let status = screen.to_end(&mut operator)?;
    say(&operator.new_output());
    ensure!(
        status.success() && operator.output().contains("stopping"),
        "it did not stop in good order: make ended with {status}"
    );

    screen.step("clean up");
    drop(site);
    folder
        .close()
        .context("failed to remove the temporary folder")
}

/// Compiles, which can take minutes. Shows the last line of cargo, which contains the duration.
fn compile(screen: &Screen, line: &str, cargo: &mut Command) -> Result<()> {
    // Otherwise, cargo shows no progress bar if there is no terminal.
    cargo.envs([
        ("CARGO_TERM_PROGRESS_WHEN", "always"),
        ("CARGO_TERM_PROGRESS_WIDTH", "80"),
    ]);
    let output = screen.run(line, cargo)?;
    say(output.lines().last().unwrap_or_default());
    Ok(())
}

/// A project, and the control plane on which its operator runs.
struct Site {
    project: PathBuf,
    control_plane: ControlPlane,
}

impl Site {
    /// Lets the operator reconcile an object, and shows the result.
    fn reconcile(&self, screen: &mut Screen, operator: &mut Process) -> Result<()> {
        screen.until(operator, "starting")?;
        say(&operator.new_output());

        screen.step("apply the sample");
        for arguments in [
            "apply -k config/samples",
            &format!(
                "wait --for=condition=Ready guestbook/guestbook-sample {}",
                kubectl_limit(PATIENCE)
            ),
        ] {
            say(&self.kubectl(screen, arguments)?);
        }
        screen.until(operator, "reconciled")?;
        say(&operator.new_output());
        // The operator sends the event in the background.
        wait_until("an event", PATIENCE, || {
            let mut kubectl = self.control_plane.kubectl();
            let events = kubectl.args(["get", "events", "--output=name"]).output()?;
            Ok((!events.stdout.is_empty()).then_some(()))
        })?;

        screen.step("look at what the operator did");
        for arguments in [
            "get guestbooks",
            "get guestbook guestbook-sample -o yaml",
            "events --for guestbook/guestbook-sample",
        ] {
            say(&self.kubectl(screen, arguments)?);
        }
        Ok(())
    }

    fn kubectl(&self, screen: &Screen, arguments: &str) -> Result<String> {
        let mut kubectl = self.control_plane.kubectl();
        kubectl
            .args(arguments.split(' '))
            .current_dir(&self.project);
        screen.run(&format!("kubectl {arguments}"), &mut kubectl)
    }

    /// Returns a make command with the setup of a user: the cluster, and kubectl and cargo on `PATH`.
    fn make(&self, goal: &str) -> Result<Command> {
        let programs = [
            Some(env!("CARGO").as_ref()),
            self.control_plane.kubectl_path(),
        ];
        let folders = programs.into_iter().flatten().filter_map(Path::parent);
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(folders.map(Path::to_owned).chain(env::split_paths(&path)))?;

        let mut make = plain_make();
        make.arg(goal)
            .current_dir(&self.project)
            .env("PATH", path)
            .env("CARGO_TARGET_DIR", compile::target_folder(&self.project))
            .envs(compile::build_environment(&self.project))
            .env("KUBECONFIG", self.control_plane.kubeconfig())
            .env("KUBECACHEDIR", self.project.with_file_name("kubectl-cache"))
            .envs([
                ("CARGO", "cargo"),
                ("KUBECTL", "kubectl"),
                ("KUBERC", "off"),
            ]);
        // These variables would change what the operator does.
        for variable in [
            "ARGS",
            "KUBE_MANAGER_LOG_FORMAT",
            "KUBE_MANAGER_NAMESPACE",
            "RUST_LOG",
        ] {
            make.env_remove(variable);
        }
        Ok(make)
    }
}
