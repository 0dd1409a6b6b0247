//! Tests the parts of a release: archives, an installer, a formula, man pages, a changelog.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use kube_manager::source;
use tempfile::TempDir;
use walkdir::WalkDir;

use crate::{
    cli::GIT,
    scaffold::{program, refused, root, run},
};

#[path = "../release/pages.rs"]
#[expect(dead_code, reason = "an example has a main function")]
mod pages;

const VERSION: &str = env!("CARGO_PKG_VERSION");
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

const TARGETS: [&str; 4] = [
    "aarch64-apple-darwin",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "x86_64-unknown-linux-gnu",
];

/// Releases in the layout of GitHub: the files of one version, which is also the latest version. Each program prints
/// its target.
pub struct Releases {
    folder: TempDir,
}

impl Releases {
    pub fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let path = folder.path();
        pages::write(&path.join("pages")).expect("pages");
        for target in TARGETS {
            let folder = path.join("binaries").join(target);
            fs::create_dir_all(&folder).expect("a folder");
            // The file is not executable, because an upload does not keep the mode.
            let program = format!("#!/bin/sh\necho \"rscaffold of {target}\"\n");
            fs::write(folder.join("rscaffold"), program).expect("a program");
        }
        let releases = Self { folder };
        let files = releases.path(&format!("download/v{VERSION}"));
        releases.archives(&files);
        fs::create_dir(releases.path("latest")).expect("a folder");
        run(Command::new("cp")
            .arg("-r")
            .args([&files, &releases.path("latest/download")]));
        releases
    }

    /// Returns the URL that replaces the address of the releases.
    pub fn url(&self) -> String {
        format!("file://{}", self.folder.path().display())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn archives(&self, out: &Path) {
        run(Command::new("sh")
            .arg(root().join("release/archives.sh"))
            .args([&self.path("binaries"), &self.path("pages")])
            .arg(out));
    }

    /// Returns a command that installs `version` into the folder `bin`.
    fn install(&self, version: &str) -> Command {
        let mut install = Command::new("sh");
        install
            .arg(root().join("install.sh"))
            .env("RSCAFFOLD_RELEASES", self.url())
            .env("RSCAFFOLD_INSTALL_DIR", self.path("bin"))
            .env("RSCAFFOLD_VERSION", version);
        install
    }

    /// Returns the names of the files in `bin`.
    fn installed(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("bin")).into_iter().flatten();
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        names.map(|name| name.to_string_lossy().into()).collect()
    }
}

/// Shell scripts in place of programs.
pub struct StandIns(TempDir);

impl StandIns {
    pub fn new(programs: &[(&str, &str)]) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        for (name, script) in programs {
            let path = folder.path().join(name);
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a program");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
        }
        Self(folder)
    }

    /// Returns the folder with these programs alone.
    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    /// Returns a PATH with these programs before all others.
    fn path(&self) -> OsString {
        let others = env::var_os("PATH").expect("a PATH");
        let folders = [self.0.path().to_owned()].into_iter();
        env::join_paths(folders.chain(env::split_paths(&others))).expect("a PATH")
    }
}

/// Returns a command that prints the Homebrew formula for the archives in `files`.
fn formula(files: &Path) -> Command {
    let mut command = Command::new("sh");
    command.arg(root().join("release/formula.sh")).arg(files);
    command
}

/// Returns the files of a folder by their paths in the folder.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = WalkDir::new(folder).into_iter();
    let paths = entries.map(|entry| entry.expect("an entry").into_path());
    let files = paths.filter(|path| path.is_file()).map(|path| {
        let name = path.strip_prefix(folder).expect("a path in it");
        (name.to_owned(), fs::read(&path).expect("a file"))
    });
    files.collect()
}

#[test]
fn the_installer_takes_an_archive_only_with_its_checksum() {
    let releases = Releases::new();
    let own = if cfg!(target_os = "macos") {
        format!("{}-apple-darwin", env::consts::ARCH)
    } else {
        format!("{}-unknown-linux-gnu", env::consts::ARCH)
    };
    let program = releases.path("bin/rscaffold");

    // The latest version, and a given version with and without its `v`.
    for version in ["", VERSION, &format!("v{VERSION}")] {
        run(&mut releases.install(version));
        assert_eq!(releases.installed(), ["rscaffold"], "{version}");
        let printed = run(&mut Command::new(&program));
        assert_eq!(printed, format!("rscaffold of {own}\n"));
    }

    let before = fs::read(&program).expect("a program");
    for (version, expected) in [
        ("99.0.0", "error: failed to fetch"),
        (
            "../0.1.0",
            "error: RSCAFFOLD_VERSION is `../0.1.0`, which is not a version such as 0.4.0",
        ),
    ] {
        let error = refused(&mut releases.install(version));
        assert!(error.contains(expected), "{error}");
    }
    let files = releases.path("latest/download");
    let archive = files.join(format!("rscaffold-{own}.tar.gz"));
    let mut text = fs::read(&archive).expect("an archive");
    text.push(b'\n');
    fs::write(&archive, text).expect("an archive");
    let error = refused(&mut releases.install(""));
    assert!(error.contains("nothing was installed"), "{error}");
    fs::write(files.join("SHA256SUMS"), "").expect("a file");
    let error = refused(&mut releases.install(""));
    assert!(error.contains("has no checksum of"), "{error}");
    // After a failure, `bin` still contains the previous program, and nothing else.
    assert_eq!(releases.installed(), ["rscaffold"]);
    assert_eq!(fs::read(&program).expect("a program"), before);
}

#[test]
fn the_installer_says_what_it_cannot_install() {
    let releases = Releases::new();
    let windows = StandIns::new(&[("uname", "echo MINGW64_NT-10.0")]);
    let error = refused(releases.install("").env("PATH", windows.path()));
    assert!(error.contains("does not run on Windows"), "{error}");
    let without_tar = StandIns::new(&[("curl", ""), ("sh", "exec /bin/sh \"$@\"")]);
    let error = refused(releases.install("").env("PATH", without_tar.folder()));
    assert!(
        error.starts_with("error: `tar` is not installed\nhint: "),
        "{error}"
    );
    let curl = StandIns::new(&[("curl", "echo \"$@\" >&2; exit 1")]);
    let error = refused(releases.install("").env("PATH", curl.path()));
    assert!(
        error.contains("--speed-limit 1 --speed-time 60 "),
        "{error}"
    );

    fs::create_dir(releases.path("bin/rscaffold")).expect("a folder");
    let error = refused(&mut releases.install(""));
    assert!(error.contains("bin/rscaffold` is a folder\n"), "{error}");
    assert!(error.contains("RSCAFFOLD_INSTALL_DIR"), "{error}");
    assert_eq!(tree(&releases.path("bin")), BTreeMap::new());
}

#[test]
fn the_folder_of_an_installation_may_be_relative() {
    let releases = Releases::new();
    let top = fs::canonicalize(releases.folder.path()).expect("a path");
    fs::create_dir_all(top.join("other/a\\b")).expect("a folder");
    let installed = |is_on_path: bool| {
        let others = env::var_os("PATH").expect("a PATH");
        let folder = is_on_path.then(|| top.join("a\\b"));
        let folders = folder.into_iter().chain(env::split_paths(&others));
        let output = releases
            .install("")
            .env("RSCAFFOLD_INSTALL_DIR", "a\\b/")
            .env("PATH", env::join_paths(folders).expect("a PATH"))
            .env("CDPATH", top.join("other"))
            .current_dir(&top)
            .output()
            .expect("sh starts");
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{printed}");
        assert!(top.join("a\\b/rscaffold").is_file());
        printed
    };
    let hint = format!("export PATH=\"{}:$PATH\"\n", top.join("a\\b").display());
    let printed = installed(false);
    assert!(printed.ends_with(&hint), "{printed}");
    let printed = installed(true);
    assert!(!printed.contains("hint"), "{printed}");
}

#[test]
fn a_release_fails_with_its_programs() {
    let releases = Releases::new();
    let out = releases.path("failed");
    let tar = StandIns::new(&[("tar", "exit 2")]);
    refused(
        Command::new("sh")
            .arg(root().join("release/archives.sh"))
            .args([&releases.path("binaries"), &releases.path("pages"), &out])
            .env("PATH", tar.path()),
    );
    assert_eq!(tree(&out), BTreeMap::new());

    let broken = StandIns::new(&[("rscaffold", "echo a reason >&2; exit 3")]);
    let error = refused(
        Command::new("sh")
            .arg(root().join("release/record.sh"))
            .arg(broken.folder().join("rscaffold")),
    );
    assert!(
        error.starts_with("a reason\nerror: `rscaffold init "),
        "{error}"
    );
}

#[test]
fn the_license_is_that_of_the_repository() {
    let (path, license) = source::LICENSE;
    let whole = fs::read_to_string(root().join(path)).expect("a license");
    assert_eq!(whole, license);
}

#[test]
fn archives_hold_program_completions_and_man_pages() {
    let releases = Releases::new();
    let files = releases.path("latest/download");
    let again = releases.path("again");
    releases.archives(&again);
    assert!(tree(&files) == tree(&again), "two runs differ");

    for target in TARGETS {
        let name = format!("rscaffold-{target}");
        let unpacked = TempDir::new().expect("a temporary folder");
        run(Command::new("tar")
            .arg("-xzf")
            .arg(files.join(format!("{name}.tar.gz")))
            .arg("-C")
            .arg(unpacked.path()));
        let folder = unpacked.path().join(name);
        for path in [
            "CHANGELOG.md",
            "LICENSE",
            "README.md",
            "completions/_rscaffold",
            "completions/rscaffold.bash",
            "completions/rscaffold.fish",
            "man/man1/rscaffold.1",
            "man/man1/rscaffold-create-api.1",
        ] {
            assert!(folder.join(path).is_file(), "{path}");
        }
        let program = folder.join("rscaffold");
        let mode = program.metadata().expect("a program").permissions().mode();
        assert_eq!(mode & 0o777, 0o755, "{target}");
    }
    run(Command::new("sha256sum")
        .args(["--check", "--quiet", "SHA256SUMS"])
        .current_dir(&files));
}

#[test]
fn the_formula_has_the_checksum_of_each_archive() {
    let releases = Releases::new();
    let files = releases.path("latest/download");
    let formula = run(&mut formula(&files));
    let sums = fs::read_to_string(files.join("SHA256SUMS")).expect("checksums");
    for target in TARGETS {
        let name = format!("rscaffold-{target}.tar.gz");
        let sum = sums.lines().find_map(|line| line.strip_suffix(&name));
        let sum = sum.expect("a checksum").trim_end();
        let lines = format!(
            "      url \"{REPOSITORY}/releases/download/v{VERSION}/{name}\"\n      sha256 \"{sum}\"\n"
        );
        assert!(formula.contains(&lines), "{lines}\n{formula}");
    }
    assert!(!formula.contains('@'), "{formula}");
    assert!(formula.contains(&format!("version \"{VERSION}\"")));
    // A limit of Homebrew.
    assert!(env!("CARGO_PKG_DESCRIPTION").len() <= 80);
}

/// `make dist` packs the program of one target. Homebrew needs all.
#[test]
fn one_target_is_enough_for_an_archive_but_not_for_the_formula() {
    let releases = Releases::new();
    for target in &TARGETS[1..] {
        fs::remove_dir_all(releases.path("binaries").join(target)).expect("a folder");
    }
    let files = releases.path("one");
    releases.archives(&files);
    let names: Vec<_> = tree(&files).into_keys().collect();
    let archive = format!("rscaffold-{}.tar.gz", TARGETS[0]);
    assert_eq!(
        names,
        ["SHA256SUMS", "install.sh", &archive].map(PathBuf::from)
    );

    let error = refused(&mut formula(&files));
    let (_, missing) = error.split_once("has no archive of: ").expect(&error);
    let (missing, _) = missing.split_once(';').expect(&error);
    let missing: BTreeSet<_> = missing.split(' ').collect();
    let expected: BTreeSet<_> = TARGETS[1..].iter().copied().collect();
    assert_eq!(missing, expected);
}

#[test]
fn each_command_has_a_man_page() {
    let folder = TempDir::new().expect("a temporary folder");
    pages::write(folder.path()).expect("pages");
    let commands = fs::read_to_string(root().join("docs/commands.md")).expect("a file");
    let headings = commands.lines().filter_map(|line| {
        let name = line.strip_prefix("## `rscaffold ")?;
        name.strip_suffix('`')
    });
    let mut count = 0;
    for command in headings {
        let name = format!("man/man1/rscaffold-{}.1", command.replace(' ', "-"));
        let page = fs::read_to_string(folder.path().join(&name));
        let page = page.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(page.contains(".SH OPTIONS"), "{name}");
        count += 1;
    }
    assert!(count > 5, "{count}");
}

/// To publish rscaffold elsewhere, change the address in Cargo.toml. Then this test names the other files to change.
#[test]
fn every_file_has_the_address_of_the_repository_that_cargo_toml_has() {
    let (site, repository) = REPOSITORY
        .strip_prefix("https://")
        .and_then(|address| address.split_once('/'))
        .expect("an address");
    let (_, name) = repository.split_once('/').expect("owner and name");
    let (mut count, mut actions) = (0, 0);
    for top in [
        ".github",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "README.md",
        "SECURITY.md",
        "crates",
        "docs",
        "install.sh",
        "release",
        "templates",
    ] {
        for (path, text) in tree(&root().join(top)) {
            let Ok(text) = String::from_utf8(text) else {
                continue;
            };
            for line in text.lines() {
                // A workflow names an action without the site.
                for (at, _) in line.match_indices(&format!("/{name}/.github/actions/")) {
                    let before =
                        line[..at].rsplit(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
                    let found = format!("{}/{name}", before.take(1).collect::<String>());
                    actions += 1;
                    assert_eq!(found, repository, "{top}/{}: {line}", path.display());
                }
                for (at, _) in line.match_indices(&format!("{site}/")) {
                    let path_there = &line[at + site.len() + 1..];
                    let mut parts =
                        path_there.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
                    let address = (parts.next(), parts.next());
                    if address.1 != Some(name) {
                        continue;
                    }
                    count += 1;
                    let found = format!("{}/{name}", address.0.unwrap_or_default());
                    assert_eq!(found, repository, "{top}/{}: {line}", path.display());
                }
            }
        }
    }
    assert!(count > 3 && actions > 0, "{count}, {actions}");
}

/// `make release` uses the lines below `Unreleased` as the section of the release.
#[test]
fn the_changelog_has_a_section_and_a_link_for_each_version() {
    let text = fs::read_to_string(root().join("CHANGELOG.md")).expect("a changelog");
    let headings = text.lines().filter_map(|line| line.strip_prefix("## ["));
    let versions: Vec<_> = headings
        .map(|heading| heading.split(']').next().expect("a name"))
        .collect();
    assert_eq!(versions.first(), Some(&"Unreleased"));
    // A version under development has no section of its own yet.
    let is_release = !VERSION.contains('-');
    assert_eq!(versions.contains(&VERSION), is_release, "{versions:?}");
    for version in versions {
        let link = format!("\n[{version}]: {REPOSITORY}/");
        assert!(text.contains(&link), "{version}");
    }
}

/// A copy of what `release/prepare.sh` reads and changes, with a version under development. make does nothing, and cargo
/// puts the program where prepare.sh has it built.
struct Repository(TempDir, StandIns);

impl Repository {
    const MANIFESTS: [&str; 2] = ["Cargo.toml", "crates/kube-manager/Cargo.toml"];

    fn new() -> Self {
        let build = format!(
            "case \"$*\" in build*' --target-dir target') ;; *) exit ;; esac
            mkdir -p target/debug && ln -sf '{}' target/debug",
            program().display()
        );
        let cargo = StandIns::new(&[("cargo", &build)]);
        let repository = Self(TempDir::new().expect("a temporary folder"), cargo);
        let copy = "cp --parents -r \"$@\" \"$0\" && echo target > \"$0/.gitignore\"";
        run(Command::new("sh")
            .args(["-c", copy])
            .arg(repository.0.path())
            .args(Self::MANIFESTS)
            .args(["CHANGELOG.md", "release", "tests/update"])
            .current_dir(root()));
        let text = repository.read("CHANGELOG.md");
        let heading = "## [Unreleased]\n";
        let text = text.replacen(heading, &format!("{heading}\n- A change.\n"), 1);
        repository.write("CHANGELOG.md", &text);
        repository.git(&["init", "--quiet"]);
        repository.commit();
        repository
    }

    fn git(&self, arguments: &[&str]) {
        let mut git = Command::new("git");
        run(git.args(arguments).envs(GIT).current_dir(self.0.path()));
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message=change"]);
    }

    fn prepare(&self, version: &str) -> Command {
        let mut prepare = Command::new("sh");
        prepare
            .args(["release/prepare.sh", version])
            .env("CARGO", self.1.folder().join("cargo"))
            .env("MAKE", "true")
            .current_dir(self.0.path());
        prepare
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.0.path().join(path), text).expect("a writable file");
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.path().join(path)).expect("a file")
    }
}

#[test]
fn a_release_follows_its_version_under_development_and_the_next_one_follows_it() {
    let repository = Repository::new();
    let (before, release, next) = ("90.4.0-dev", "90.4.0", "90.5.0-dev");
    run(&mut repository.prepare(before));
    repository.commit();
    for (version, reason) in [
        ("", "VERSION is missing"),
        (before, "which is not above"),
        (VERSION, "which is not above"),
        ("90.3.9", "which is not above"),
        ("v100.0.0", "which is not a version such as 0.4.0"),
        ("100.0", "which is not a version such as 0.4.0"),
        ("100.0.0-rc.1", "which is not a version such as 0.4.0"),
    ] {
        let error = refused(&mut repository.prepare(version));
        assert!(error.contains(reason), "{error}");
    }

    for sentence in [
        "Nothing is published yet.\n",
        "As soon as a release is published, it installs it.\n",
    ] {
        repository.write("README.md", sentence);
        repository.commit();
        let error = refused(&mut repository.prepare(release));
        assert!(
            error.contains("README.md says that nothing is published"),
            "{error}"
        );
    }
    repository.write("README.md", "");
    repository.commit();
    let error = refused(repository.prepare(release).env("GIT_DIR", "/none"));
    assert!(error.contains("git cannot list the changes"), "{error}");

    let output = repository.prepare(release).output().expect("sh starts");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
    let steps = [
        "git commit ",
        "cargo publish --package kube-manager ",
        &format!("git tag v{release} && git push --atomic origin main v{release}\n"),
        "cargo publish --package rscaffold ",
    ];
    let places = steps.map(|step| printed.find(step).expect(step));
    assert!(places.is_sorted(), "{printed}");
    for manifest in Repository::MANIFESTS {
        let text = repository.read(manifest);
        assert!(!text.contains(before), "{manifest}: {text}");
        assert!(
            text.contains(&format!("version = \"{release}\"")),
            "{manifest}: {text}"
        );
    }
    let changelog = repository.read("CHANGELOG.md");
    assert!(
        changelog.contains(&format!("\n## [{release}] - 2")),
        "{changelog}"
    );
    let record = repository.read(&format!("tests/update/{release}.jsonl"));
    assert!(record.starts_with("{\"project\""), "{record}");

    // The same release again is a release that failed before.
    for version in [release, next] {
        let error = refused(&mut repository.prepare(version));
        assert!(error.contains("changes that are not committed"), "{error}");
        assert!(error.contains("git stash --include-untracked"), "{error}");
    }
    repository.commit();
    run(&mut repository.prepare(next));
    for manifest in Repository::MANIFESTS {
        let text = repository.read(manifest);
        assert!(
            text.contains(&format!("version = \"{next}\"")),
            "{manifest}: {text}"
        );
    }
    repository.commit();
    let error = refused(&mut repository.prepare(before));
    assert!(error.contains("which is not above"), "{error}");
}
