//! Tests projects with two branches: git merges the branches, and `rscaffold apply` resolves the conflicts.

use crate::{
    project::{INIT, Project, assert_same, tree},
    scaffold::{outcome, rscaffold, run},
};

const GUESTBOOK: &str = "create api --group webapp --version v1 --kind Guestbook";
const CAPTAIN: &str = "create api --group crew --version v1 --kind Captain";
const ANIMAL: &str = "create api --group zoo --version v1 --kind Animal";
const VISITOR: &str = "create api --group webapp --version v1 --kind Visitor";

/// Creates a git project with the commands `start`, runs `ours` on one branch and `theirs` on another, and starts a
/// merge of both branches.
pub fn merged(start: &[&str], ours: impl Fn(&Project), theirs: impl Fn(&Project)) -> Project {
    let project = Project::new(start);
    let git = |arguments: &[&str]| run(&mut project.git(arguments));
    git(&["init", "--quiet", "--initial-branch=main"]);
    commit(&project);
    git(&["switch", "--quiet", "--create=theirs"]);
    theirs(&project);
    commit(&project);
    git(&["switch", "--quiet", "main"]);
    ours(&project);
    commit(&project);
    // The merge fails if there are conflicts.
    let merge = project.git(&["merge", "theirs"]).output();
    assert!(merge.is_ok(), "{merge:?}");
    project
}

/// Returns the paths that have unresolved conflicts in git.
pub fn open(project: &Project) -> Vec<String> {
    let mut git = project.git(&["diff", "--name-only", "--diff-filter=U"]);
    run(&mut git).lines().map(str::to_owned).collect()
}

/// Commits all files.
pub fn commit(project: &Project) {
    run(&mut project.git(&["add", "--all"]));
    run(&mut project.git(&["commit", "--quiet", "--allow-empty", "--message=change"]));
}

/// Creates a git project with the commands `start`, and runs each of `ours` and of `theirs` in a commit on its branch.
/// The branch `theirs` is checked out.
fn branched(start: &[&str], ours: &[&str], theirs: &[&str]) -> Project {
    let project = Project::new(start);
    run(&mut project.git(&["init", "--quiet", "--initial-branch=main"]));
    commit(&project);
    run(&mut project.git(&["branch", "theirs"]));
    for (branch, commands) in [("main", ours), ("theirs", theirs)] {
        run(&mut project.git(&["switch", "--quiet", branch]));
        for command in commands {
            commit(project.rscaffold(command));
        }
    }
    project
}

/// What happens on a branch.
type Work<'a> = &'a dyn Fn(&Project);

fn command(line: &str) -> impl Fn(&Project) {
    move |project| _ = project.rscaffold(line)
}

const DEPRECATED: &str =
    "create api --group webapp --version v1 --kind Guestbook --deprecated=outdated --force";
const SECOND: &str = "create api --group webapp --version v2 --kind Guestbook";
const CONVERSION: &str = "create webhook --group webapp --version v1 --kind Guestbook --conversion";

/// git merges lines: here it would give the settings of one kind to another kind.
#[test]
fn each_kind_keeps_its_settings_whatever_lines_git_moves() {
    let (metrics, policy) = ("edit --enable prometheus", "edit --enable network-policy");
    for (ours, theirs) in [
        (vec![DEPRECATED, policy], vec![CAPTAIN, metrics]),
        (vec![SECOND, CONVERSION, policy], vec![CAPTAIN, metrics]),
        // git merges these without a conflict in `PROJECT`.
        (vec![SECOND, CONVERSION], vec![CAPTAIN]),
    ] {
        let run_all = |commands: &[&str]| {
            let commands: Vec<_> = commands.iter().map(|line| (*line).to_owned()).collect();
            move |project: &Project| {
                for line in &commands {
                    project.rscaffold(line);
                }
            }
        };
        let project = merged(&[INIT, GUESTBOOK], run_all(&ours), run_all(&theirs));
        let all = [&[INIT, GUESTBOOK], &*ours, &*theirs].concat();
        assert_same(project.rscaffold("apply"), &Project::new(&all), "settled");
    }
}

/// The system also denies the permission if a folder in `PATH` cannot be searched.
#[test]
fn git_that_may_not_be_run_counts_as_not_installed() {
    let project = Project::new(&[INIT]);
    project.write("programs/git", "");
    run(project
        .command("apply")
        .env("PATH", project.folder().join("programs")));
}

#[test]
fn a_branch_without_a_project_is_merged() {
    let project = Project::new(&[]);
    let git = |arguments: &[&str]| run(&mut project.git(arguments));
    git(&["init", "--quiet", "--initial-branch=main"]);
    let manifest = "[package]\nname = \"guestbook\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    commit(project.write("Cargo.toml", manifest));
    git(&["switch", "--quiet", "--create=theirs"]);
    let more = format!("{manifest}\n[dependencies]\nanyhow = \"1\"\n");
    commit(project.write("Cargo.toml", &more));
    git(&["switch", "--quiet", "main"]);
    commit(project.rscaffold(&format!("{INIT} --on-conflict=theirs")));
    let merge = project.git(&["merge", "theirs"]).output();
    assert!(!merge.expect("git runs").status.success());
    let error = project.refused("apply");
    assert!(error.contains("Cargo.toml"), "{error}");
    git(&["checkout", "--quiet", "--ours", "Cargo.toml"]);
    project.rscaffold("apply").rscaffold(GUESTBOOK);
}

/// These commands write the conflicts anew, with other labels and with the common ancestor.
#[test]
fn conflicts_that_git_writes_anew_are_resolved() {
    for again in [
        &["checkout", "--quiet", "--merge", "."][..],
        &["checkout", "--quiet", "--conflict=diff3", "."],
    ] {
        let project = merged(&[INIT, GUESTBOOK], command(VISITOR), |project| {
            project.rscaffold(ANIMAL).rscaffold("edit --enable grafana");
        });
        assert!(!open(&project).is_empty());
        run(&mut project.git(again));
        let all = [INIT, GUESTBOOK, VISITOR, ANIMAL, "edit --enable grafana"];
        assert_same(project.rscaffold("apply"), &Project::new(&all), "settled");
    }
}

/// The lines of the other branch must not count as deleted by the user.
#[test]
fn a_file_that_is_taken_from_one_branch_gets_the_lines_of_the_other_one() {
    let file = "src/api/mod.rs";
    for side in ["--theirs", "--ours"] {
        let remark = |project: &Project| {
            project.replace(file, "pub mod webapp;", "pub mod webapp; // ours");
        };
        let project = merged(&[INIT, GUESTBOOK], remark, command(CAPTAIN));
        assert!(open(&project).contains(&file.to_owned()));
        run(&mut project.git(&["checkout", "--quiet", side, file]));
        let settled = project.rscaffold("apply").read(file);
        assert!(settled.contains("pub mod crew;"), "{side}: {settled}");
        assert_eq!(settled.contains("// ours"), side == "--ours", "{settled}");
    }
}

/// In both cases the file has the text of one branch, as if the user had taken it.
#[test]
fn a_line_that_is_deleted_before_or_after_apply_does_not_come_back() {
    let file = "config/samples/kustomization.yaml";
    let delete = |project: &Project, line| _ = project.replace(file, line, "");
    let [own, other] = ["- webapp_v1_guestbook.yaml\n", "- webapp_v1_visitor.yaml\n"];
    for is_before in [true, false] {
        let ours = |project: &Project| {
            project.rscaffold(GUESTBOOK);
            if is_before {
                delete(project, own);
            }
        };
        let project = merged(&[INIT], ours, command(VISITOR));
        assert!(open(&project).contains(&file.to_owned()));
        project.rscaffold("apply");
        if !is_before {
            delete(&project, other);
        }
        let settled = project.tree();
        assert_eq!(project.read(file).contains(own), !is_before);
        assert_eq!(project.read(file).contains(other), is_before);
        assert_eq!(project.rscaffold("apply").tree(), settled);
    }
}

#[test]
fn edits_of_both_branches_stay_if_git_has_the_record_of_one() {
    let file = "src/controller/crew/captain.rs";
    let edit = "// By the crew.\n";
    let project = merged(&[INIT, GUESTBOOK], command(VISITOR), |project| {
        let text = project.rscaffold(CAPTAIN).read(file);
        project.write(file, &(text + edit));
    });
    run(&mut project.git(&["checkout", "--quiet", "HEAD", "--", ".rscaffold"]));
    project.rscaffold("apply");
    let expected = Project::new(&[INIT, GUESTBOOK, VISITOR, CAPTAIN]);
    expected.write(file, &(expected.read(file) + edit));
    assert_same(&project, &expected, "settled");
}

#[test]
fn a_record_with_the_line_ends_of_windows_is_not_written_anew() {
    let project = Project::new(&[INIT, GUESTBOOK]);
    let record = ".rscaffold/last-applied.jsonl";
    let crlf = project.read(record).replace('\n', "\r\n");
    project.write(record, &crlf).rscaffold("apply");
    assert_eq!(project.read(record), crlf);
    project.rscaffold(VISITOR);
    assert!(!project.read(record).contains('\r'));
}

#[test]
fn git_merges_apis_at_different_places() {
    // The new lines are above and below the existing lines.
    let project = merged(&[INIT, GUESTBOOK], command(CAPTAIN), command(ANIMAL));
    // Only the role may conflict: each API adds rules to the same list, above or below the rule for events.
    let open = open(&project);
    assert!(
        open.iter().all(|path| path == "config/rbac/role.yaml"),
        "{open:?}"
    );
    let expected = Project::new(&[INIT, GUESTBOOK, CAPTAIN, ANIMAL]);
    assert_same(project.rscaffold("apply"), &expected, "settled");
}

#[test]
fn apply_merges_apis_at_the_same_place() {
    for (ours, theirs) in [
        (GUESTBOOK, CAPTAIN),
        (CAPTAIN, GUESTBOOK),
        // The same group, which is new on both branches.
        (GUESTBOOK, VISITOR),
        (
            GUESTBOOK,
            "create api --group apps --version v1 --kind Deployment --resource=false",
        ),
        // The same API on both branches.
        (GUESTBOOK, GUESTBOOK),
    ] {
        let project = merged(&[INIT], command(ours), command(theirs));
        if ours != theirs {
            assert!(open(&project).contains(&"PROJECT".to_owned()));
        }
        // Only `apply` accepts a project with unresolved conflicts.
        if ours != theirs {
            let error = project.refused(ANIMAL);
            assert!(
                error.contains("run `rscaffold apply`: it resolves them"),
                "{error}"
            );
        }
        let diff = project.outcome("diff --exit-code");
        assert_eq!(diff.code, u8::from(ours != theirs));
        let expected = Project::new(&[INIT, ours, theirs]);
        let why = format!("{ours}, {theirs}");
        assert_same(project.rscaffold("apply"), &expected, &why);
        let settled = project.tree();
        assert_eq!(project.rscaffold("apply").tree(), settled, "{why}");
    }
}

#[test]
fn apply_merges_a_record_with_conflict_markers() {
    for style in ["merge", "diff3"] {
        let without_union = |line: &'static str| {
            move |project: &Project| {
                run(&mut project.git(&["config", "merge.conflictStyle", style]));
                project.rscaffold(line).write(".gitattributes", "");
            }
        };
        let project = merged(&[INIT], without_union(GUESTBOOK), without_union(CAPTAIN));
        let record = project.read(".rscaffold/last-applied.jsonl");
        assert!(record.contains("<<<<<<< "), "{style}");
        let expected = Project::new(&[INIT, GUESTBOOK, CAPTAIN]);
        expected.write(".gitattributes", "");
        assert_same(project.rscaffold("apply"), &expected, style);
    }
}

#[test]
fn a_repository_of_another_user_has_a_hint() {
    let project = merged(&[INIT], command(GUESTBOOK), command(CAPTAIN));
    let mut diff = project.command("diff --exit-code");
    let diff = diff
        .env("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    let diff = diff.output().expect("rscaffold runs");
    let said = String::from_utf8_lossy(&diff.stderr);
    assert_eq!(diff.status.code(), Some(2), "{said}");
    let hint = "hint: if you trust the repository: `git config --global --add safe.directory ";
    assert!(said.contains(hint), "{said}");
}

#[test]
fn edits_on_both_branches_are_kept() {
    let edit = |project: &Project| {
        project.replace(
            "src/main.rs",
            "    let cli = Cli::parse();\n",
            "    // ours\n    let cli = Cli::parse();\n",
        );
        project.replace(
            "config/samples/kustomization.yaml",
            "resources:\n",
            "# ours\nresources:\n",
        );
    };
    let project = merged(
        &[INIT, GUESTBOOK],
        |project| {
            edit(project.rscaffold(CAPTAIN));
        },
        |project| {
            project
                .rscaffold("create api --group crew --version v1 --kind Sailor")
                .replace("Makefile", "CARGO ?= cargo\n", "CARGO ?= cargo\n# theirs\n");
        },
    );
    let expected = Project::new(&[
        INIT,
        GUESTBOOK,
        CAPTAIN,
        "create api --group crew --version v1 --kind Sailor",
    ]);
    edit(&expected);
    expected.replace("Makefile", "CARGO ?= cargo\n", "CARGO ?= cargo\n# theirs\n");
    assert_same(project.rscaffold("apply"), &expected, "settled");
}

#[test]
fn an_api_that_one_branch_deleted_stays_deleted() {
    let delete = "delete api --group webapp --version v1 --kind Guestbook";
    for (ours, theirs) in [(delete, VISITOR), (VISITOR, delete)] {
        let project = merged(&[INIT, GUESTBOOK], command(ours), command(theirs));
        let expected = Project::new(&[INIT, VISITOR]);
        assert_same(project.rscaffold("apply"), &expected, ours);
    }
}

/// The merge takes one side of each conflict, so `PROJECT` lacks the kind of the other side.
#[test]
fn an_api_that_a_merge_drops_from_project_is_named_and_leaves_no_file() {
    const HALL: &str = "create api --group webapp --version v1 --kind Hall";
    let merged = |ours: &str| {
        let project = branched(&[INIT, GUESTBOOK], &[ours], &[VISITOR]);
        run(&mut project.git(&["switch", "--quiet", "main"]));
        run(&mut project.git(&["merge", "--quiet", "-X", "theirs", "theirs"]));
        let kind = ours.rsplit(' ').next().unwrap_or(ours);
        assert!(!project.read("PROJECT").contains(kind), "{kind}");
        project
    };
    let project = merged(HALL);
    let said = project.run("apply").stderr;
    let note = "a merged branch has `webapp/v1/Hall`, and `PROJECT` does not";
    assert!(said.contains(note), "{said}");
    assert_same(
        &project,
        &Project::new(&[INIT, GUESTBOOK, VISITOR]),
        "dropped",
    );

    // Here, git takes lines of both sides into one file.
    let said = merged(ANIMAL).refused("apply");
    assert!(
        said.contains("cannot tell your lines from its own"),
        "{said}"
    );
}

#[test]
fn a_role_that_both_branches_changed_is_what_both_make_of_it() {
    const DEPLOYMENT: &str =
        "create api --group apps --version v1 --kind Deployment --resource=false";
    const CAPTAIN_WITH_CONFIG_MAP: &str =
        "create api --group crew --version v1 --kind Captain --owns v1/ConfigMap";
    // Both branches add and delete equal lines, so the number of lines shows nothing.
    let project = merged(&[INIT, GUESTBOOK], command(DEPLOYMENT), |project| {
        project.rscaffold("delete api --group webapp --version v1 --kind Guestbook");
        project.rscaffold(CAPTAIN_WITH_CONFIG_MAP);
    });
    assert!(open(&project).contains(&"config/rbac/role.yaml".to_owned()));
    let expected = Project::new(&[INIT, DEPLOYMENT, CAPTAIN_WITH_CONFIG_MAP]);
    assert_same(project.rscaffold("apply"), &expected, "settled");
}

#[test]
fn a_feature_that_one_branch_disabled_stays_so() {
    let (on, off) = ("edit --enable prometheus", "edit --disable metrics-secure");
    for (ours, theirs) in [(on, off), (off, on)] {
        let project = merged(&[INIT, GUESTBOOK], command(ours), command(theirs));
        let expected = Project::new(&[INIT, GUESTBOOK, on, off]);
        assert_same(project.rscaffold("apply"), &expected, ours);
    }
}

#[test]
fn conflicting_edits_of_users_are_left_to_the_user() {
    let edit = |comment: &'static str| {
        move |project: &Project| {
            let main = "    let cli = Cli::parse();\n";
            project.replace("src/main.rs", main, &format!("    // {comment}\n{main}"));
        }
    };
    let project = merged(
        &[INIT],
        |project| edit("ours")(project.rscaffold(GUESTBOOK)),
        |project| edit("theirs")(project.rscaffold(CAPTAIN)),
    );
    let before = project.tree();
    let error = project.refused("apply");
    assert!(error.contains("\n  src/main.rs:"), "{error}");
    for line in ["ours   |     // ours", "theirs |     // theirs"] {
        assert!(error.contains(line), "{error}");
    }
    assert_eq!(project.tree(), before, "nothing is written");
    run(&mut project.git(&["checkout", "--quiet", "--ours", "src/main.rs"]));
    let expected = Project::new(&[INIT, GUESTBOOK, CAPTAIN]);
    edit("ours")(&expected);
    assert_same(project.rscaffold("apply"), &expected, "settled");
}

#[test]
fn contradicting_branches_are_left_to_the_user() {
    let project = merged(
        &[INIT],
        command("create api --group webapp --version v1 --kind Guestbook --plural books"),
        command("create api --group webapp --version v1 --kind Guestbook --plural guests"),
    );
    let error = project.refused("apply");
    assert!(
        error.contains("the branches disagree on `webapp/v1/Guestbook`"),
        "{error}"
    );
}

#[test]
fn what_both_branches_deleted_is_no_edit_of_the_files_that_one_of_them_still_needs() {
    let init = format!("{INIT} --enable helm");
    let delete = "delete api --group crew --version v1 --kind Captain";
    let project = merged(&[&init, CAPTAIN], command(delete), |project| {
        project.rscaffold(GUESTBOOK);
        project.rscaffold(delete);
    });
    let expected = Project::new(&[&init, GUESTBOOK]);
    assert_same(project.rscaffold("apply"), &expected, "settled");
}

#[test]
fn lines_that_git_merges_into_what_no_branch_says_are_for_the_user_to_decide() {
    // git treats the new kind as a rename of the old kind, and adds the second controller to the new kind.
    let project = merged(
        &[INIT, CAPTAIN, GUESTBOOK],
        |project| {
            project.rscaffold("delete api --group webapp --version v1 --kind Guestbook");
            project.rscaffold(VISITOR);
        },
        command(&format!("{GUESTBOOK} --controller-name backup")),
    );
    assert!(!open(&project).contains(&"PROJECT".to_owned()));
    let before = project.tree();
    let refused = project.refused("apply");
    assert!(
        refused.contains("the branches disagree on `webapp/v1/Guestbook`"),
        "{refused}"
    );
    assert_eq!(project.tree(), before);

    // `apply` also refuses after the merge commit.
    run(&mut project.git(&["checkout", "--ours", "."]));
    run(&mut project.git(&["add", "--all"]));
    run(&mut project.git(&["commit", "--quiet", "--message=merge"]));
    let refused = project.refused("apply");
    assert!(refused.contains("the branches disagree on"), "{refused}");
    // With `--on-conflict`, the user decides.
    let decided = project.outcome("apply --on-conflict=ours:PROJECT");
    assert!(!decided.stderr.contains("disagree"), "{}", decided.stderr);
}

#[test]
fn what_one_branch_deletes_does_not_come_back_because_the_other_one_changes_it() {
    const TYPES: &str = "src/api/webapp/v1/guestbook.rs";
    const MANAGER: &str = "config/manager/manager.yaml";
    /// Returns the lines from the line that contains `first` to the line that contains `last`.
    fn lines<'a>(text: &'a str, first: &str, last: &str) -> &'a str {
        let start = text.find(first).expect("the first line");
        let start = text[..start].rfind('\n').map_or(0, |end| end + 1);
        let last = start + text[start..].find(last).expect("the last line");
        let end = last + text[last..].find('\n').expect("a line end");
        &text[start..=end]
    }
    fn delete(path: &'static str, first: &'static str, last: &'static str) -> impl Fn(&Project) {
        move |project| {
            let text = project.read(path);
            project.write(path, &text.replacen(lines(&text, first, last), "", 1));
        }
    }
    let change_the_period = |project: &Project| {
        project.replace(MANAGER, "periodSeconds: 20", "periodSeconds: 30");
    };
    let field = delete(TYPES, "/// An example", "pub title");
    let all_but_the_field = delete(TYPES, "/// An example", "#[x_kube");
    let probe = delete(MANAGER, "livenessProbe:", "periodSeconds: 20");
    let cases: [(&str, Work, Work); 4] = [
        (TYPES, &all_but_the_field, &field),
        (TYPES, &field, &all_but_the_field),
        (MANAGER, &change_the_period, &probe),
        (MANAGER, &probe, &change_the_period),
    ];
    for (path, ours, theirs) in cases {
        let project = merged(&[INIT, GUESTBOOK], ours, theirs);
        assert_eq!(open(&project), [path]);
        let before = project.tree();
        let error = project.refused("apply");
        assert!(error.contains(&format!("\n  {path}:")), "{error}");
        assert_eq!(project.tree(), before, "nothing is written");
    }
}

#[test]
fn a_user_who_has_begun_to_decide_is_not_overruled() {
    let edit = |who: &'static str| {
        move |project: &Project| {
            for path in ["Makefile", "Dockerfile"] {
                let text = project.read(path);
                project.write(path, &format!("# {who}\n{text}# {who}\n"));
            }
        }
    };
    let project = merged(&[INIT], edit("ours"), edit("theirs"));
    // The user has resolved one of the two conflicts in the Makefile, and both conflicts in the Dockerfile.
    let decided = |text: &str, places: usize| {
        let conflict = "<<<<<<< HEAD\n# ours\n=======\n# theirs\n>>>>>>> theirs\n";
        assert_eq!(text.matches(conflict).count(), 2, "{text}");
        text.replacen(conflict, "# mine\n", places)
    };
    project.write("Makefile", &decided(&project.read("Makefile"), 1));
    project.write("Dockerfile", &decided(&project.read("Dockerfile"), 2));
    let before = project.tree();
    let error = project.refused("apply");
    assert!(error.contains("\n  Makefile:"), "{error}");
    assert!(!error.contains("Dockerfile"), "{error}");
    assert_eq!(project.tree(), before, "nothing is written");
    project.write(
        "Makefile",
        &before[std::path::Path::new("Makefile")]
            .clone()
            .unwrap()
            .replace(
                "<<<<<<< HEAD\n# ours\n=======\n# theirs\n>>>>>>> theirs\n",
                "# mine\n",
            ),
    );
    let settled = project.tree();
    assert_eq!(project.rscaffold("apply").tree(), settled);
}

/// Attributes make git write other markers than usual, or none.
#[test]
fn a_conflict_with_unusual_markers_is_left_to_the_user() {
    let edit = |line: &'static str| {
        move |project: &Project| _ = project.replace("Makefile", "CARGO ?= cargo\n", line)
    };
    for attribute in [
        "",
        "Makefile conflict-marker-size=20\n",
        "Makefile -merge\n",
    ] {
        let attributes = |project: &Project| {
            let text = project.read(".gitattributes");
            project.write(".gitattributes", &format!("{text}{attribute}"));
        };
        let project = merged(
            &[INIT],
            |project| {
                attributes(project);
                edit("CARGO ?= cargo +stable\n")(project.rscaffold(CAPTAIN));
            },
            |project| {
                attributes(project);
                edit("CARGO ?= cargo +nightly\n")(project.rscaffold(ANIMAL));
            },
        );
        let before = project.tree();
        let error = project.refused("apply");
        assert!(error.contains("\n  Makefile:"), "{attribute}: {error}");
        assert_eq!(project.tree(), before, "nothing is written");
    }
}

#[test]
fn an_edit_on_one_branch_of_a_file_that_the_other_one_deletes_is_decided_by_the_policy() {
    let controller = "src/controller/webapp/guestbook.rs";
    let start = [INIT, GUESTBOOK];
    let ours = command("delete api --group webapp --version v1 --kind Guestbook");
    let theirs = |project: &Project| {
        let text = project.read(controller);
        project.write(controller, &format!("{text}// mine\n"));
    };
    for (policy, is_kept) in [("theirs", false), ("ours", true)] {
        let project = merged(&start, &ours, theirs);
        let error = project.refused("apply");
        assert!(
            error.contains("you changed this file, rscaffold deletes it"),
            "{error}"
        );
        project.rscaffold(&format!("apply --on-conflict={policy}"));
        assert_eq!(
            project.folder().join(controller).exists(),
            is_kept,
            "{policy}"
        );
        run(&mut project.git(&["add", "--all"]));
        let settled = project.tree();
        assert_eq!(project.rscaffold("apply").tree(), settled, "{policy}");
    }
}

#[test]
fn a_deleted_file_is_restored_after_a_merge() {
    let project = merged(&[INIT, GUESTBOOK], command(CAPTAIN), command(ANIMAL));
    project.rscaffold("apply");
    run(&mut project.git(&["add", "--all"]));
    run(&mut project.git(&["commit", "--quiet", "--message=merge"]));
    let expected = project.read("LICENSE");
    std::fs::remove_file(project.folder().join("LICENSE")).unwrap();
    project.rscaffold("apply --restore LICENSE");
    assert_eq!(project.read("LICENSE"), expected);
}

/// A file that is away for a while, as in a sparse checkout, gets the lines of the commands that have run meanwhile.
#[test]
fn a_file_that_comes_back_from_git_is_brought_up_to_date() {
    let project = Project::new(&[INIT]);
    let script = "tests/e2e.sh";
    let before = project.read(script);
    std::fs::remove_file(project.folder().join(script)).unwrap();
    project.all(&[GUESTBOOK, CAPTAIN]);
    let settled = project.tree();
    assert_eq!(
        project.rscaffold("apply").tree(),
        settled,
        "it stays deleted"
    );
    project.write(script, &before);
    let expected = Project::new(&[INIT, GUESTBOOK, CAPTAIN]);
    assert_same(project.rscaffold("apply"), &expected, "updated");
}

#[test]
fn a_rebase_of_several_commits_loses_no_file() {
    const EARLY: &str = "create api --group aaa --version v1 --kind Early";
    let init = format!("{INIT} --enable certmanager");
    let start = [&init, GUESTBOOK];
    let project = branched(
        &start,
        &["edit --disable certmanager"],
        &[EARLY, "edit --owner Me"],
    );
    run(&mut project.git(&["rebase", "--quiet", "main"]));
    // The last command ends the difference between the branches.
    let expected = Project::new(&[
        &init,
        GUESTBOOK,
        EARLY,
        "edit --owner Me",
        "edit --disable certmanager",
        "edit --enable certmanager",
    ]);
    project.rscaffold("edit --enable certmanager");
    assert_same(&project, &expected, "enabled again");
}

#[test]
fn a_rebase_of_several_commits_loses_no_line() {
    const MID: &str = "create api --group mid --version v1 --kind Middle";
    const EARLY: &str = "create api --group aaa --version v1 --kind Early";
    let theirs = [
        EARLY,
        "edit --enable prometheus",
        "edit --enable network-policy",
    ];
    let project = branched(
        &[INIT, GUESTBOOK, MID],
        &[ANIMAL, "edit --owner Me"],
        &theirs,
    );
    run(&mut project.git(&["rebase", "--quiet", "main"]));
    let start = [INIT, GUESTBOOK, MID, ANIMAL];
    for edit in ["edit --owner=", "edit --owner Other"] {
        let expected = Project::new(&start);
        expected.all(&theirs).rscaffold(edit);
        let settled = project.copy();
        settled.rscaffold(edit);
        assert_same(&settled, &expected, edit);
    }
}

#[test]
fn two_merges_in_a_row_lose_no_line() {
    const EARLY: &str = "create api --group aaa --version v1 --kind Early";
    let start = [INIT, GUESTBOOK];
    let project = branched(&start, &["edit --owner Me"], &[EARLY]);
    let git = |arguments: &[&str]| run(&mut project.git(arguments));
    git(&["switch", "--quiet", "--create=third", "main~1"]);
    commit(project.rscaffold("edit --enable prometheus"));
    git(&["switch", "--quiet", "main"]);
    for branch in ["theirs", "third"] {
        git(&["merge", "--quiet", branch]);
    }
    let expected = Project::new(&start);
    expected.all(&[EARLY, "edit --enable prometheus"]);
    assert_same(project.rscaffold("edit --owner="), &expected, "merged");
}

#[test]
fn a_file_that_git_moves_into_a_renamed_folder_stops_the_merge() {
    let rename = |project: &Project| {
        let text = project.read("PROJECT");
        project.write("PROJECT", &text.replace("group: webapp", "group: web"));
        project.rscaffold("apply");
    };
    let visitor = command(VISITOR);
    // With this setting, git adds the files to the index as if the branch had them there.
    let moving = |project: &Project| {
        run(&mut project.git(&["config", "merge.directoryRenames", "true"]));
        rename(project);
    };
    let cases: [(Work, Work); 4] = [
        (&rename, &visitor),
        (&visitor, &rename),
        (&moving, &visitor),
        (&visitor, &moving),
    ];
    for (ours, theirs) in cases {
        let project = merged(&[INIT, GUESTBOOK], ours, theirs);
        let before = project.tree();
        for command in ["apply", "diff"] {
            let error = project.refused(command);
            let moved = "src/api/webapp/v1/visitor.rs -> src/api/web/v1/visitor.rs";
            assert!(error.contains(moved), "{error}");
            assert!(error.contains("hint: undo the merge"), "{error}");
        }
        assert_eq!(project.tree(), before, "nothing is written");
    }
    // As the hint says: both branches have the new name.
    let project = merged(&[INIT, GUESTBOOK], rename, |project| {
        visitor(project);
        rename(project);
    });
    let expected = Project::new(&[INIT, GUESTBOOK, VISITOR]);
    rename(&expected);
    assert_same(project.rscaffold("apply"), &expected, "settled");
}

/// Moves the project from the top of its repository into the folder `operator`.
fn move_project(project: &Project) {
    let shell =
        "git add --all && mkdir operator && git mv $(git ls-files | cut -d / -f 1 | uniq) operator";
    run(std::process::Command::new("sh")
        .args(["-c", shell])
        .current_dir(project.folder()));
}

#[test]
fn a_project_that_one_branch_moved_is_merged_once_both_have_it_in_the_same_folder() {
    let file = "src/controller/crew/captain.rs";
    let edit = |project: &Project| {
        let text = project.read(file);
        project.write(file, &(text + "// By the crew.\n"));
    };
    let captain = |project: &Project| edit(project.rscaffold(CAPTAIN));
    let guestbook = |project: &Project| move_project(project.rscaffold(GUESTBOOK));
    let expected = Project::new(&[INIT, GUESTBOOK, CAPTAIN]);
    edit(&expected);
    let cases: [(Work, Work, &str); 2] = [
        (&guestbook, &captain, "theirs"),
        (&captain, &guestbook, "main"),
    ];
    for (ours, theirs, behind) in cases {
        let project = merged(&[INIT], ours, theirs);
        let git = |arguments: &[&str]| run(&mut project.git(arguments));
        let before = project.tree();
        let operator = project.folder().join("operator");
        let refused = outcome(&operator, "apply").stderr;
        // git has left the new files in the old folder.
        assert!(
            refused.contains(&format!("{file} -> :/{file}")),
            "{refused}"
        );
        assert_eq!(project.tree(), before, "nothing is written");
        // As the hint says.
        git(&["merge", "--abort"]);
        git(&["switch", "--quiet", behind]);
        move_project(&project);
        commit(&project);
        git(&["switch", "--quiet", "main"]);
        let merge = project.git(&["merge", "theirs"]).output();
        assert!(!merge.expect("git runs").status.success());
        rscaffold(&operator, "apply");
        assert_eq!(tree(&operator), expected.tree());
    }
}

/// `git subtree pull` merges in this way.
#[test]
fn a_branch_that_has_the_project_at_another_place_is_merged() {
    let edit = |project: &Project| {
        project.replace("Makefile", "CARGO ?= cargo\n", "CARGO ?= cargo +nightly\n");
    };
    let project = branched(&[INIT], &[GUESTBOOK], &[CAPTAIN]);
    edit(&project);
    commit(&project);
    run(&mut project.git(&["switch", "--quiet", "main"]));
    move_project(&project);
    commit(&project);
    let merge = project
        .git(&["merge", "-Xsubtree=operator", "theirs"])
        .output();
    assert!(!merge.expect("git runs").status.success());
    let operator = project.folder().join("operator");
    // An alias of git in a linked work tree has this variable.
    run(project
        .command("apply")
        .current_dir(&operator)
        .env("GIT_DIR", project.folder().join(".git")));
    let expected = Project::new(&[INIT, GUESTBOOK, CAPTAIN]);
    edit(&expected);
    assert_eq!(tree(&operator), expected.tree());
}
