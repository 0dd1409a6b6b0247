//! Runs a throwaway control plane, and a command against it.

use std::{
    env,
    ffi::OsString,
    fs,
    os::unix::{fs::symlink, process::ExitStatusExt},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    sync::{Arc, atomic::AtomicBool},
    thread,
    time::Instant,
};

use anyhow::{Context, Result, bail};
use cluster::Cluster;
use signal_hook::{consts::SIGINT, flag};

const USAGE: &str = "\
Starts a throwaway Kubernetes control plane

Usage: cluster [--node|--real-node] [--kubeconfig FILE] [--] [COMMAND [ARGUMENT]...]

With a COMMAND, runs it with KUBECONFIG set and kubectl on PATH, then stops the control plane and
exits with the command's code. Without one, runs until Ctrl-C.

Options:
  --node             Adds a simulated node: Pods are said to run, but do not
  --real-node        Adds a node that runs Pods: takes Linux, root and a container runtime
  --kubeconfig FILE  Makes FILE a link to the kubeconfig, which is gone when the control plane is
  -h, --help         Prints this
";

#[derive(Default)]
struct Arguments {
    help: bool,
    node: bool,
    real_node: bool,
    kubeconfig: Option<PathBuf>,
    command: Vec<OsString>,
}

fn main() -> ExitCode {
    match parse(env::args_os().skip(1)).and_then(|arguments| run(&arguments)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Arguments> {
    let mut parsed = Arguments::default();
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("-h" | "--help") => parsed.help = true,
            Some("--node") => parsed.node = true,
            Some("--real-node") => parsed.real_node = true,
            Some("--kubeconfig") => {
                let file = arguments.next().context("--kubeconfig takes a file")?;
                parsed.kubeconfig = Some(file.into());
            }
            Some("--") => break,
            Some(option) if option.starts_with('-') => {
                bail!("unknown option `{option}`\nhint: `--help` lists the options")
            }
            _ => {
                parsed.command.push(argument);
                break;
            }
        }
    }
    parsed.command.extend(arguments);
    Ok(parsed)
}

fn run(arguments: &Arguments) -> Result<u8> {
    if arguments.help {
        print!("{USAGE}");
        return Ok(0);
    }
    if arguments.node && arguments.real_node {
        bail!("a cluster has one node: `--node` or `--real-node`");
    }
    let started = Instant::now();
    let progress = |line: &str| eprintln!("{line}");
    let mut cluster = if arguments.real_node {
        Cluster::start_with_node(&progress)?
    } else {
        Cluster::start(&progress)?
    };
    if arguments.node {
        cluster.add_simulated_node(&progress)?;
    }
    let file = match &arguments.kubeconfig {
        Some(file) => link(cluster.kubeconfig(), file)?,
        None => cluster.kubeconfig(),
    };
    eprintln!(
        "ready after {:.1} s: KUBECONFIG={}",
        started.elapsed().as_secs_f32(),
        file.display()
    );

    let Some((program, options)) = arguments.command.split_first() else {
        eprintln!("Ctrl-C stops it");
        loop {
            thread::park();
        }
    };
    // Ctrl-C also reaches the command. The command may need the API server for its last requests.
    flag::register(SIGINT, Arc::new(AtomicBool::new(false))).context("failed to catch SIGINT")?;
    let status = Command::new(program)
        .args(options)
        .env("KUBECONFIG", cluster.kubeconfig())
        .env("PATH", path_with(cluster.kubectl_path())?)
        .status()
        .with_context(|| format!("failed to run `{}`", program.display()))?;
    let code = status
        .code()
        .or_else(|| Some(128 + status.signal()?))
        .unwrap_or(1);
    Ok(code.try_into().unwrap_or(1))
}

/// Creates the symbolic link `link` to `target`. Replaces a broken link that an earlier run left.
fn link<'a>(target: &Path, link: &'a Path) -> Result<&'a Path> {
    if link.is_symlink() && !link.exists() {
        fs::remove_file(link).with_context(|| format!("failed to remove `{}`", link.display()))?;
    }
    symlink(target, link).with_context(|| format!("failed to create `{}`", link.display()))?;
    Ok(link)
}

/// Returns `PATH` with the folder of `program` first, unless `PATH` already finds `program`.
fn path_with(program: &Path) -> Result<OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let name = program.file_name().unwrap_or_default();
    let found = env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|p| p.is_file());
    if found.as_deref() == Some(program) {
        return Ok(path);
    }
    let folder = program.parent().map(Path::to_owned);
    env::join_paths(folder.into_iter().chain(env::split_paths(&path)))
        .context("failed to extend PATH")
}
