//! Tests the GitHub workflows of projects and of this repository.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;
use walkdir::WalkDir;

use crate::{
    golden_projects,
    project::{INIT, Project},
    release::Releases,
    scaffold::{program, refused, root, run},
    update::older,
};

/// Returns the workflows of all golden projects and of this repository.
fn workflows() -> Vec<PathBuf> {
    let folders = [golden_projects::folder().to_owned(), root().join(".github")];
    let workflows: Vec<_> = folders
        .iter()
        .flat_map(|folder| WalkDir::new(folder).sort_by_file_name())
        .map(|entry| entry.unwrap().into_path())
        .filter(|path| path.is_file() && path.parent().unwrap().ends_with(".github/workflows"))
        .collect();
    assert!(!workflows.is_empty());
    workflows
}

/// A tag can be moved to other code, a commit cannot. A comment names the tag, because a commit does not show the
/// version.
#[test]
fn actions_are_pinned_to_commits() {
    let mut count = 0;
    for workflow in workflows() {
        let text = fs::read_to_string(&workflow).unwrap();
        for line in text.lines() {
            let Some((_, action)) = line.split_once("uses: ") else {
                continue;
            };
            // An action of this repository comes from the same commit as the workflow.
            if action.starts_with("./") {
                continue;
            }
            let pinned = action.split_once('@').and_then(|(_, pin)| {
                let (commit, tag) = pin.split_once(" # v")?;
                let is_commit = commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit());
                Some(is_commit && tag.split('.').count() == 3)
            });
            assert_eq!(pinned, Some(true), "{}: {line}", workflow.display());
            count += 1;
        }
    }
    assert!(count > 0);
}

/// A workflow on a pull request runs code of the author of the pull request. So its token can only read, and is not
/// stored in the work tree.
#[test]
fn pull_requests_get_no_permissions() {
    let mut checkouts = 0;
    for workflow in workflows() {
        let text = fs::read_to_string(&workflow).unwrap();
        let yaml: serde_json::Value = serde_yaml::from_str(&text).unwrap();
        let path = workflow.display();
        // An event without settings has the value null.
        let events = yaml["on"].as_object().unwrap();
        assert!(!events.contains_key("pull_request_target"), "{path}");
        let read = serde_yaml::from_str::<serde_json::Value>("contents: read").unwrap();
        assert_eq!(yaml["permissions"], read, "{path}");
        for (name, job) in yaml["jobs"].as_object().unwrap() {
            let of_pushes =
                !events.contains_key("pull_request") || job["if"] == "github.event_name == 'push'";
            assert!(
                of_pushes || job["permissions"].is_null(),
                "{path}: {name:?}"
            );
            assert!(job["timeout-minutes"].is_u64(), "{path}: {name:?}");
            for step in job["steps"].as_array().unwrap() {
                let uses = step["uses"].as_str().unwrap_or_default();
                if uses.starts_with("actions/checkout@") {
                    let keeps = &step["with"]["persist-credentials"];
                    assert_eq!(*keeps, false, "{path}: {name:?}");
                    checkouts += 1;
                }
            }
        }
    }
    assert!(checkouts > 0);
}

/// Returns the names of modules after `mod` in a Rust file.
fn modules(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
}

/// A test that no shard names would not run on a pull request.
#[test]
fn each_test_of_operators_is_in_one_shard() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let workflow: serde_json::Value =
        serde_yaml::from_str(&read(".github/workflows/ci.yml")).unwrap();
    let shards = &workflow["jobs"]["test-operators"]["strategy"]["matrix"]["include"];
    let shards = shards.as_array().unwrap().iter();
    let mut named: Vec<_> = shards
        .flat_map(|shard| shard["tests"].as_str().unwrap().split(' '))
        .map(|filter| filter.strip_suffix("::").unwrap())
        .collect();
    named.sort_unstable();

    let main = read("tests/operators/main.rs");
    let has_tests = |module: &&str| {
        let folder = root().join("tests/operators");
        let paths = [folder.join(format!("{module}.rs")), folder.join(module)];
        let files = paths.iter().flat_map(WalkDir::new).filter_map(Result::ok);
        let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
        let counts = texts.map(|text| {
            let ignored = text.matches("#[test]\n#[ignore").count();
            text.matches("#[test]\n").count() - ignored
        });
        counts.sum::<usize>() > 0
    };
    let mut expected: Vec<_> = modules(&main).filter(has_tests).collect();
    expected.sort_unstable();
    assert_eq!(named, expected);
}

#[test]
fn each_long_test_runs_at_night() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let workflow: serde_json::Value =
        serde_yaml::from_str(&read(".github/workflows/nightly.yml")).unwrap();
    let targets = workflow["jobs"]["test-long"]["strategy"]["matrix"]["target"].as_array();
    let targets: Vec<_> = targets
        .unwrap()
        .iter()
        .map(|target| target.as_str().unwrap())
        .collect();
    let makefile = read("Makefile");
    let rule = makefile
        .lines()
        .find_map(|line| line.strip_prefix("test-long: "));
    let (prerequisites, _) = rule.unwrap().split_once(" ##").unwrap();
    assert_eq!(targets, prerequisites.split(' ').collect::<Vec<_>>());
}

/// The action installs what install.sh installs, and adds the folder of the program to PATH.
#[test]
fn the_action_installs_the_version_of_its_commit() {
    let action = root().join(".github/actions/setup-rscaffold");
    let text = fs::read_to_string(action.join("action.yml")).unwrap();
    let text: serde_json::Value = serde_yaml::from_str(&text).unwrap();
    let steps = text["runs"]["steps"].as_array().unwrap();
    let script = steps[0]["run"].as_str().unwrap();
    let releases = Releases::new();
    let runner = TempDir::new().unwrap();
    let install = |version: &str| {
        let mut bash = Command::new("bash");
        bash.args(["-e", "-o", "pipefail", "-c", script])
            .env("GITHUB_ACTION_PATH", &action)
            .env("GITHUB_PATH", runner.path().join("path"))
            .env("RSCAFFOLD_RELEASES", releases.url())
            .env("RUNNER_TEMP", runner.path())
            .env("VERSION", version);
        bash
    };
    run(&mut install(""));
    let folder = fs::read_to_string(runner.path().join("path")).unwrap();
    run(&mut Command::new(
        Path::new(folder.trim_end()).join("rscaffold"),
    ));
    let error = refused(&mut install("99.0.0"));
    assert!(error.contains("download/v99.0.0/SHA256SUMS"), "{error}");
}

/// Returns the script of the step `name` in a job of fleet's workflow `file`.
fn script(file: &str, job: &str, name: &str) -> String {
    let folder = golden_projects::folder().join("fleet/.github/workflows");
    let text = fs::read_to_string(folder.join(file)).unwrap();
    let workflow: serde_json::Value = serde_yaml::from_str(&text).unwrap();
    let mut steps = workflow["jobs"][job]["steps"].as_array().unwrap().iter();
    let step = steps.find(|step| step["name"] == name).expect("a step");
    step["run"].as_str().unwrap().to_owned()
}

/// Returns bash that runs `script`. Its programs are those in `folder`, and those on the path.
fn bash(script: &str, folder: &Path) -> Command {
    let others = env::var_os("PATH").unwrap();
    let folders = [folder, program().parent().unwrap()].map(Path::to_owned);
    let path = env::join_paths(folders.into_iter().chain(env::split_paths(&others))).unwrap();
    let mut bash = Command::new("bash");
    bash.args(["-e", "-c", script]).env("PATH", path);
    bash
}

/// Writes a stand-in for the program `name` to `folder`.
pub fn stand_in(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{text}")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Checks the step that compares `config` with the code. The step before it runs the tests, which write `Cargo.lock`.
#[test]
fn a_first_run_without_a_lock_file_fails_only_for_manifests() {
    let project = Project::new(&[
        INIT,
        "create api --group webapp --version v1 --kind Guestbook",
        "edit --enable helm",
    ]);
    run(&mut project.git(&["init", "--quiet"]));
    run(&mut project.git(&["add", "--all"]));
    run(&mut project.git(&["commit", "--quiet", "--message=Begin"]));
    fs::write(project.folder().join("Cargo.lock"), "").unwrap();
    let beside = TempDir::new().unwrap();
    let step = "Check that CRDs and role are what the code gives";
    let mut check = bash(&script("test.yml", "test", step), beside.path());
    check.current_dir(project.folder());

    stand_in(beside.path(), "make", "true\n");
    run(&mut check);
    for change in [
        "echo >> config/rbac/role.yaml\n",
        "echo a > config/crd/bases/new.yaml\n",
        "echo >> charts/guestbook/values.yaml\n",
    ] {
        stand_in(beside.path(), "make", change);
        refused(&mut check);
        run(&mut project.git(&["add", "config", "charts"]));
        run(&mut project.git(&["commit", "--quiet", "--message=Change"]));
    }
}

/// A clone of a project of an older rscaffold. The workflow runs in this clone.
struct Runner {
    project: Project,
    beside: TempDir,
}

impl Runner {
    fn new() -> Self {
        let project = older(&root().join("tests/update/0.3.0.jsonl"));
        project.replace("PROJECT", "cliVersion: 0.3.0", "cliVersion: 0.3.0-rc.1");
        // With this feature, the update has a workflow to write.
        project.replace("PROJECT", "- agents\n", "- agents\n- autoupdate\n");
        let beside = TempDir::new().unwrap();
        // It accepts only the commands that the workflow runs. A fork has a pull request from a branch with the same name.
        let text = "case \"$1 $2\" in\n\
            'pr list') case \"$*\" in\n\
            *' --jq map(select(.isCrossRepository | not)) | length') echo \"$OPEN\" ;;\n\
            *) echo 1 ;;\n\
            esac ;;\n\
            'auth setup-git') ;;\n\
            'pr create') cp \"$8\" \"$RUNNER_TEMP/opened\" ;;\n\
            *) exit 1 ;;\n\
            esac\n";
        stand_in(beside.path(), "gh", text);
        let origin = beside.path().join("origin");
        run(Command::new("git")
            .args(["init", "--quiet", "--bare"])
            .arg(&origin));
        run(&mut project.git(&["init", "--quiet", "--initial-branch=main"]));
        run(&mut project.git(&["add", "--all"]));
        run(&mut project.git(&["commit", "--quiet", "--message=Begin"]));
        run(project.git(&["remote", "add", "origin"]).arg(origin));
        Self { project, beside }
    }

    /// Runs the workflow, and returns the text of the pull request that the workflow opens; `None` without a pull
    /// request.
    fn run(&self, token: &str, open: &str) -> Option<String> {
        let opened = self.beside.path().join("opened");
        let step = "Update the project, and open a pull request";
        run(bash(
            &script("autoupdate.yml", "update", step),
            self.beside.path(),
        )
        .current_dir(self.project.folder())
        .env("RUNNER_TEMP", self.beside.path())
        .env("AUTOUPDATE_TOKEN", token)
        .env("OPEN", open));
        fs::read_to_string(opened).ok()
    }

    /// Returns the files that the branch of the pull request changes.
    fn changed(&self) -> Vec<String> {
        let diff = ["diff", "--name-only", "main", "origin/rscaffold-update"];
        run(&mut self.project.git(&["fetch", "--quiet", "origin"]));
        let changed = run(&mut self.project.git(&diff));
        changed.lines().map(str::to_owned).collect()
    }
}

#[test]
fn the_weekly_update_opens_one_pull_request() {
    let has_workflows = |changed: &[String]| {
        let mut changed = changed.iter();
        changed.any(|path| path.starts_with(".github/workflows"))
    };
    let runner = Runner::new();
    let text = runner.run("", "0").expect("a pull request");
    assert!(text.contains("from rscaffold 0.3.0-rc.1 to"), "{text}");
    let changed = runner.changed();
    assert!(changed.iter().any(|path| path == "PROJECT"), "{changed:?}");
    assert!(!has_workflows(&changed), "{changed:?}");

    // With a token that may change workflows, the pull request contains the whole update, and the Cargo.lock for it.
    let runner = Runner::new();
    stand_in(runner.beside.path(), "cargo", "echo \"$@\" >Cargo.lock\n");
    runner.project.write("Cargo.lock", "");
    run(&mut runner.project.git(&["add", "--all"]));
    run(&mut runner.project.git(&["commit", "--quiet", "--message=Lock"]));
    runner.run("secret", "0").expect("a pull request");
    let changed = runner.changed();
    assert!(has_workflows(&changed), "{changed:?}");
    assert!(
        changed.iter().any(|path| path == "Cargo.lock"),
        "{changed:?}"
    );
    assert_eq!(runner.project.read("Cargo.lock"), "update --workspace\n");
    // After the merge, there is nothing left to update.
    run(&mut runner.project.git(&["branch", "--move", "merged"]));
    fs::remove_file(runner.beside.path().join("opened")).unwrap();
    assert_eq!(runner.run("secret", "0"), None);

    // The workflow does not change an open pull request, because people may have made decisions there.
    let runner = Runner::new();
    assert_eq!(runner.run("", "1"), None);
    let branches = run(&mut runner.project.git(&["ls-remote", "--heads", "origin"]));
    assert_eq!(branches, "");
}
