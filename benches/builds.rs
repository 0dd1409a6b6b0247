//! Measures the builds that users wait for: the first one of a new operator, beside that of a program which uses kube
//! alone, and one after a change.

use std::{
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

use crate::{
    compile::pin,
    edits, fast_folder,
    scaffold::{by_hand, root},
};

/// The maximum time of the first build, as a multiple of that of the plain program.
const MAX_RATIO: f64 = 1.4;

/// The maximum number of crates in the first build.
const MAX_CRATES: usize = 230;

/// The maximum time of a build after a change.
const MAX_AGAIN: Duration = Duration::from_secs(3);

/// How often the controller is changed. The median time counts.
const CHANGES: usize = 5;

const CONTROLLER: &str = "src/controller/bench/bench.rs";

/// A build that has ended.
struct Build {
    time: Duration,
    /// The names of the compiled crates, with their versions.
    crates: Vec<String>,
}

impl Build {
    /// Runs `cargo build` in `folder`, as a user does.
    fn run(folder: &Path) -> Result<Self> {
        let start = Instant::now();
        let output = by_hand(&mut Command::new(env!("CARGO")))
            .arg("build")
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("CARGO_INCREMENTAL")
            .current_dir(folder)
            .output()
            .context("failed to run cargo")?;
        let time = start.elapsed();
        let told = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "cargo build: {told}");
        let lines = told.lines().map(str::trim_start);
        let crates = lines.filter_map(|line| line.strip_prefix("Compiling "));
        Ok(Self {
            time,
            crates: crates.map(str::to_owned).collect(),
        })
    }
}

/// Measures the builds, and returns whether all are within their limits.
pub fn bench(rscaffold: &Path) -> Result<bool> {
    let folder = fast_folder()?;
    let [operator, plain] = ["bench", "plain"].map(|name| folder.path().join(name));
    scaffold(rscaffold, &operator)?;
    copy_plain(&plain)?;

    eprintln!("building an operator, and a program that uses kube alone");
    let first = Build::run(&operator)?;
    let alone = Build::run(&plain)?;
    let mut again = Vec::new();
    let controller = operator.join(CONTROLLER);
    let scaffolded = fs::read_to_string(&controller).context("failed to read the controller")?;
    ensure!(
        scaffolded.contains(edits::MESSAGE),
        "the controller has no `{}`",
        edits::MESSAGE
    );
    for round in 1..=CHANGES {
        let message = format!("all is well, for the {round}th time");
        let changed = scaffolded.replace(edits::MESSAGE, &message);
        fs::write(&controller, changed).context("failed to write the controller")?;
        let build = Build::run(&operator)?;
        ensure!(build.crates.len() == 1, "compiled: {:?}", build.crates);
        again.push(build.time);
    }
    again.sort_unstable();
    let again = again[CHANGES / 2];

    let ratio = first.time.div_duration_f64(alone.time);
    let crates = first.crates.len();
    println!("\ncargo build, in the dev profile");
    for (build, what) in [
        (&first, "an operator"),
        (&alone, "a program with kube alone"),
    ] {
        let (time, crates) = (build.time, build.crates.len());
        println!("  the first of {what}: {time:.1?}, {crates} crates");
    }
    println!("  - {ratio:.2} times the time, at most {MAX_RATIO}; at most {MAX_CRATES} crates");
    println!("  after a change: {again:.1?}, at most {MAX_AGAIN:?}");
    let is_good = ratio <= MAX_RATIO && crates <= MAX_CRATES && again <= MAX_AGAIN;
    if !is_good {
        println!("MISSED");
    }
    Ok(is_good)
}

/// Scaffolds an operator in `folder`.
fn scaffold(rscaffold: &Path, folder: &Path) -> Result<()> {
    fs::create_dir(folder)?;
    for arguments in [
        "init --domain example.com",
        "create api --group bench --version v1 --kind Bench --owns v1/ConfigMap",
    ] {
        cluster::run(
            Command::new(rscaffold)
                .args(arguments.split(' '))
                .current_dir(folder),
        )?;
    }
    pin(folder).context("failed to copy Cargo.lock")
}

/// Copies the program that uses kube alone to `folder`.
fn copy_plain(folder: &Path) -> Result<()> {
    let source = root().join("benches/plain");
    fs::create_dir_all(folder.join("src"))?;
    for file in ["Cargo.toml", "src/main.rs"] {
        fs::copy(source.join(file), folder.join(file))?;
    }
    pin(folder).context("failed to copy Cargo.lock")
}
