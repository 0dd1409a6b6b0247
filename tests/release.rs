//! Tests the parts of a release: archives, an installer, a formula, man pages, a changelog.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

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
    let mut count = 0;
    for top in [
        ".github",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "README.md",
        "docs",
        "install.sh",
        "release",
    ] {
        for (path, text) in tree(&root().join(top)) {
            let Ok(text) = String::from_utf8(text) else {
                continue;
            };
            for line in text.lines() {
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
    assert!(count > 3, "{count}");
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

/// A copy of what `release/prepare.sh` reads and changes, with a version under development. cargo and make do nothing.
struct Repository(TempDir);

impl Repository {
    const MANIFESTS: [&str; 2] = ["Cargo.toml", "crates/kube-manager/Cargo.toml"];

    fn new() -> Self {
        let repository = Self(TempDir::new().expect("a temporary folder"));
        let copy = "cp --parents -r \"$@\" \"$0\" && mkdir -p \"$0/target/debug\" && ln -s \"$RSCAFFOLD\" \"$0/target/debug\" &&
            echo target > \"$0/.gitignore\"";
        run(Command::new("sh")
            .args(["-c", copy])
            .arg(repository.0.path())
            .args(Self::MANIFESTS)
            .args(["CHANGELOG.md", "release", "tests/update"])
            .env("RSCAFFOLD", program())
            .current_dir(root()));
        let changelog = repository.0.path().join("CHANGELOG.md");
        let text = repository.read("CHANGELOG.md");
        let heading = "## [Unreleased]\n";
        let text = text.replacen(heading, &format!("{heading}\n- A change.\n"), 1);
        fs::write(changelog, text).expect("a writable file");
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
            .envs([("CARGO", "true"), ("MAKE", "true")])
            .current_dir(self.0.path());
        prepare
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

    run(&mut repository.prepare(release));
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

    let error = refused(&mut repository.prepare(next));
    assert!(error.contains("changes that are not committed"), "{error}");
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
