//! Compiles scaffolded projects, programs in Go, and rscaffold as a release has it.

#![allow(
    clippy::expect_used,
    reason = "tests and the programs of `make demo` and `make bench` end where something fails"
)]

use std::{
    fs, io,
    panic::Location,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
    time::Duration,
};

use cluster::GARBAGE;

use crate::{
    golden_projects::{self, RUNTIME},
    scaffold::{by_hand, plain_make, root, rscaffold, run},
};

/// The time limit for a build: also for the first one on a machine, which waits for builds of other tests.
pub const BUILD_PATIENCE: Duration = Duration::from_secs(1200);

/// Returns the build folder of the project in `folder`. Cargo builds one project at a time in a build folder, and
/// rarely has work for two processors, so the projects of tests have two build folders. A project elsewhere is the only
/// one of its program.
pub fn build_folder(folder: &Path) -> PathBuf {
    static FOLDERS: LazyLock<[PathBuf; 2]> = LazyLock::new(build_folders);
    let Ok(below) = folder.strip_prefix(root().join("target")) else {
        return first_build_folder();
    };
    // `golden`, or `scaffolded/<file of the test>/<project>`. The number is the same in each run.
    let project: PathBuf = below.iter().take(3).collect();
    let bytes = project.as_os_str().as_encoded_bytes().iter();
    let number: usize = bytes.map(|byte| usize::from(*byte)).sum();
    FOLDERS[number % FOLDERS.len()].clone()
}

fn first_build_folder() -> PathBuf {
    root().join("target/projects/first")
}

/// Returns the build folders of scaffolded projects. The second one starts as a copy of the first one, so that the
/// runtime and the dependencies are built once.
fn build_folders() -> [PathBuf; 2] {
    let [first, second] = [first_build_folder(), root().join("target/projects/second")];
    if !second.exists() {
        let project = scaffolded("first").expect("a folder");
        rscaffold(
            &project,
            "init --domain com --repo first --runtime registry",
        );
        rscaffold(
            &project,
            "create api --group webapp --version v1 --kind Guestbook",
        );
        pin(&project).expect("a copy of the lock file");
        run(cargo_in(&project, &first).args(["clippy", "--quiet", "--all-targets"]));
        run(cargo_in(&project, &first).args(["test", "--quiet", "--no-run"]));
        let copy = second.with_extension("copy");
        run(Command::new("cp").arg("-a").args([&first, &copy]));
        run(Command::new("mv").args([&copy, &second]));
    }
    [first, second]
}

/// Returns the target folder of the project in `folder`, for finished programs. Two projects may have programs of the
/// same name, so each project in this repository has a target folder of its own.
pub fn target_folder(folder: &Path) -> PathBuf {
    let below = folder.strip_prefix(root());
    below.map_or_else(
        |_| build_folder(folder),
        |path| root().join("target/programs").join(path),
    )
}

/// Returns the folder for scaffolded projects that are compiled.
fn projects() -> PathBuf {
    root().join("target/scaffolded")
}

/// Returns an empty folder for a project of the test file that calls this function. The path is the same in each run,
/// so that cargo finds the artifacts of the last run.
#[track_caller]
pub fn scaffolded(name: &str) -> io::Result<PathBuf> {
    let file = Path::new(Location::caller().file()).file_stem();
    let file = file.unwrap_or_default();
    let folder = projects().join(file).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Pins the dependencies of the package in `folder` to the versions that the golden projects were tested with. These
/// versions are already built.
pub fn pin(folder: &Path) -> io::Result<()> {
    let lock = root().join("tests/golden/Cargo.lock");
    fs::copy(lock, folder.join("Cargo.lock")).map(drop)
}

/// Returns the path of a script that replaces cargo. The script keeps the artifacts of each state of a scaffolded
/// project, so that the next run finds them.
pub fn cargo_by_state() -> PathBuf {
    root().join("tests/operators/compile/cargo")
}

/// Returns the environment variables for [`cargo_by_state`] and for each cargo that is to find what it has compiled of the
/// project in `folder`.
pub fn build_environment(folder: &Path) -> [(&'static str, String); 7] {
    environment(folder, &build_folder(folder))
}

fn environment(folder: &Path, build_folder: &Path) -> [(&'static str, String); 7] {
    [
        (
            "RUNTIME_OF_TESTS",
            shared_runtime(folder).display().to_string(),
        ),
        // Builds of several tests keep all processors busy, so more units only cost more.
        ("CARGO_PROFILE_DEV_CODEGEN_UNITS", "4".to_owned()),
        ("CARGO_OF_TESTS", env!("CARGO").to_owned()),
        ("CARGO_BUILD_BUILD_DIR", build_folder.display().to_string()),
        // Nobody debugs these builds, and debug information needs most of the space.
        ("CARGO_PROFILE_DEV_DEBUG", "0".to_owned()),
        // Incremental builds do not help, because nothing changes between two builds of one state.
        ("CARGO_INCREMENTAL", "0".to_owned()),
        // For the API servers that the tests of a project start.
        ("GOGC", GARBAGE.to_owned()),
    ]
}

/// Returns a cargo command in `folder` that builds into [`build_folder`] and [`target_folder`].
pub fn cargo(folder: &Path) -> Command {
    cargo_in(folder, &build_folder(folder))
}

fn cargo_in(folder: &Path, build_folder: &Path) -> Command {
    let mut cargo = Command::new(cargo_by_state());
    by_hand(&mut cargo)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target_folder(folder))
        .envs(environment(folder, build_folder));
    cargo
}

/// Returns a clippy command in `folder` that treats each warning as an error.
pub fn clippy(folder: &Path, arguments: &[&str]) -> Command {
    let mut clippy = cargo(folder);
    clippy.args(["clippy", "--quiet"]).args(arguments);
    clippy.args(["--", "-D", "warnings"]);
    clippy
}

/// Returns the folder of the runtime of the golden projects, which have the features that they name.
pub fn runtime() -> PathBuf {
    golden_projects::folder().join(RUNTIME)
}

/// Returns the folder of the runtime that the project in `folder` has if it takes its runtime from the registry.
fn shared_runtime(folder: &Path) -> PathBuf {
    if folder.starts_with(projects()) {
        runtime_with_all_features().to_owned()
    } else {
        runtime()
    }
}

/// Returns the arguments with which cargo compiles a project with [`runtime_with_all_features`] instead of its copy of the
/// runtime.
pub fn with_shared_runtime() -> [String; 2] {
    let folder = runtime_with_all_features().display();
    ["--config".to_owned(), format!("paths=[\"{folder}\"]")]
}

/// Returns the environment variable with which each cargo in a scaffolded project compiles
/// [`runtime_with_all_features`] instead of a copy of the runtime.
pub fn without_copies() -> (&'static str, &'static Path) {
    ("RUNTIME_OF_COPIES", runtime_with_all_features())
}

/// Returns the folder of a copy of the runtime all of whose features are always enabled, and those of clap and tokio that
/// operators enable. Cargo compiles a crate once for each set of its features: so this copy is compiled once for all
/// scaffolded projects, for their tests, and for crates that use their types. The golden projects, and those with copies
/// of the runtime, show that the named features are enough.
fn runtime_with_all_features() -> &'static Path {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(write_runtime_with_all_features);
    &FOLDER
}

fn write_runtime_with_all_features() -> PathBuf {
    let folder = root().join("target/projects/kube-manager");
    let mut texts = golden_projects::texts(&runtime());
    let manifest = texts.get_mut("Cargo.toml").expect("a manifest");
    let (_, features) = manifest.split_once("\n[features]\n").expect("features");
    let (features, _) = features.split_once("\n[").expect("another section");
    let names = features.lines().filter_map(|line| line.split_once(" = ["));
    let others = names.filter(|(name, _)| !["runtime", "schema"].contains(name));
    let others: Vec<_> = others.map(|(name, _)| format!("{name:?}, ")).collect();
    for (feature, more) in [
        (
            "runtime",
            format!("\"clap/default\", \"tokio/io-util\", {}", others.concat()),
        ),
        ("schema", "\"runtime\", ".to_owned()),
    ] {
        let start = format!("\n{feature} = [");
        *manifest = manifest.replacen(&start, &(start.clone() + &more), 1);
    }
    golden_projects::write(&folder, &texts);
    folder
}

/// Returns a make command in `folder`, with arguments separated by spaces. Its cargo builds into [`build_folder`] and
/// [`target_folder`].
pub fn make(folder: &Path, arguments: &str) -> Command {
    let mut make = plain_make();
    make.args(arguments.split(' '))
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target_folder(folder))
        .envs(build_environment(folder))
        .arg(format!("CARGO={}", cargo_by_state().display()));
    make
}

/// Builds `package` in the Go module `<module>` beside this file, which pins its version. Returns the path of the
/// program.
pub fn go_build(module: &str, package: &str) -> PathBuf {
    let program = root().join("target").join(module);
    run(go("build", module)
        .args(["-trimpath", "-buildvcs=false", "-o"])
        .arg(&program)
        .arg(package)
        .env("CGO_ENABLED", "0"));
    program
}

/// Returns the folder with the source of `dependency`, in the version that the Go module `<module>` beside this file
/// pins.
pub fn go_source(module: &str, dependency: &str) -> PathBuf {
    let format = ["-m", "-f", "{{.Dir}}", dependency];
    let folder = run(go("list", module).args(format));
    PathBuf::from(folder.trim())
}

/// Returns a Go command in the Go module `<module>` beside this file. The command must not change the module.
fn go(command: &str, module: &str) -> Command {
    let mut go = Command::new("go");
    go.args([command, "-mod=readonly"])
        .current_dir(root().join("tests/operators").join(module))
        .env("GOWORK", "off");
    go
}

/// Returns the target for which the compiler of this machine builds.
pub fn host() -> String {
    let rustc = run(Command::new("rustc").arg("-vV"));
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: "));
    host.unwrap_or_else(|| panic!("no host in {rustc}")).into()
}

/// Builds the program of a release from the work tree in `folder`, and returns its path.
pub fn release(folder: &Path) -> PathBuf {
    let printed = run(by_hand(&mut Command::new("sh"))
        .arg(folder.join("release/build.sh"))
        .arg(host())
        .env("CARGO", env!("CARGO")));
    PathBuf::from(printed.trim_end())
}
