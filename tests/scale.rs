//! Tests that the time of a command grows no faster than the number of APIs, and that its memory is limited. `make
//! bench ONLY=scale` measures a project of 1,000 APIs.

mod apis;

use std::{fs, path::Path, process::Command};

use tempfile::TempDir;

use self::apis::with_apis;
use crate::scaffold::{program, run};

/// How often each time is measured. The shortest time counts, because other work of the machine only adds time.
const ROUNDS: usize = 3;

/// The maximum growth of a command's time between two projects, where the larger one has four times as many APIs. The
/// growth is 4 if the time is linear, and 16 if it is quadratic.
const MAX_GROWTH: f64 = 7.0;

/// The maximum memory of `create api` in a project of 200 APIs, in KiB.
const MAX_MEMORY: usize = 22 << 10;

/// Creates a project with this number of APIs.
fn project(apis: usize) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    shell(
        folder.path(),
        "\"$@\"",
        "init --domain com --project-name shop --repo shop",
    );
    let file = folder.path().join("PROJECT");
    let text = fs::read_to_string(&file).unwrap();
    let text = with_apis(&text, apis);
    fs::write(file, text).unwrap();
    shell(folder.path(), "\"$@\"", "apply");
    folder
}

/// Runs `script` in a shell, and returns its stdout. In the script, `"$@"` is rscaffold with these arguments.
fn shell(folder: &Path, script: &str, arguments: &str) -> String {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("set -e; {script}"), "sh"]);
    shell.arg(program()).args(arguments.split(' '));
    run(shell.current_dir(folder))
}

const CREATE: &str = "create api --group group00 --version v1 --kind Extra --dry-run";

/// Returns the user CPU time of `create api`, in seconds.
fn time(folder: &Path) -> f64 {
    // The first line contains the times of the shell, the second line those of rscaffold: user time, then system time.
    let times = shell(folder, "\"$@\" 2>/dev/null; times", CREATE);
    let user = times.lines().nth(1).unwrap().split(' ').next().unwrap();
    let (minutes, seconds) = user.split_once('m').unwrap();
    let [minutes, seconds] = [minutes, seconds.trim_end_matches('s')].map(str::parse::<f64>);
    60.0 * minutes.unwrap() + seconds.unwrap()
}

#[test]
fn time_and_memory_grow_with_the_number_of_apis() {
    let [small, large] = [50, 200].map(project);
    let shortest = |folder: &TempDir| {
        let times = (0..ROUNDS).map(|_| time(folder.path()));
        times.fold(f64::INFINITY, f64::min)
    };
    let [before, after] = [shortest(&small), shortest(&large)];
    assert!(
        after <= MAX_GROWTH * before.max(0.01),
        "{before} s with 50 APIs, {after} s with 200"
    );
    let limited = format!("ulimit -d {MAX_MEMORY}; \"$@\" 2>&1");
    let said = shell(large.path(), &limited, CREATE);
    assert!(said.contains("nothing was written"), "{said}");
}
