//! Tests the tables that state what a command does. Each row is read from its page, so a new row without a case here
//! fails.

mod crds;
mod flags;
mod from_go;
mod guides;
mod numbers;
mod versions;

use std::{collections::BTreeSet, fs};

use rscaffold::{
    command::report::Outcome,
    names::{
        ControllerName, CrateName, Domain, FieldManager, FinalizerName, Group, Kind, LabelKey,
        NamespaceName, Plural, ProjectName, ShortName, Version,
    },
    render::CONVENTIONS,
};

use crate::{
    document::{code, first_code, read, section, tables},
    project::{INIT, Project, Tree},
    scaffold::{refused, root},
};

/// A file whose first line has the name of the project, and that goes with a feature.
const FILE: &str = "AGENTS.md";
const FIRST: &str = "# Working on guestbook\n";

/// The command that changes the first line of [`FILE`], and the one that deletes the file.
const RENAME: &str = "edit --project-name library";
const DISABLE: &str = "edit --disable agents";

const API: &str = "create api --group webapp --version v1 --kind Guestbook";

/// Returns the cells of all rows of the first table in a text, without its head.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines().skip_while(|line| !line.starts_with("|---"));
    let lines = lines.skip(1).map_while(|line| {
        let row = line.strip_prefix("| ")?;
        Some(row.strip_suffix(" |").unwrap_or(row))
    });
    let rows: Vec<Vec<&str>> = lines
        .map(|row| row.split(" |").map(str::trim).collect())
        .collect();
    assert!(!rows.is_empty(), "no table in {text}");
    rows
}

/// Returns the text of [`FILE`], unless there is none.
fn text(project: &Project) -> Option<String> {
    fs::read_to_string(project.folder().join(FILE)).ok()
}

/// A project in which the user has changed the first line of [`FILE`].
fn edited(base: &Project) -> Project {
    let project = base.copy();
    project.replace(FILE, FIRST, "# Working on mine\n");
    project
}

#[test]
fn three_texts() {
    let page = read("docs/loop.md");
    let base = Project::new(&[INIT]);
    let a = base.read(FILE);
    let b = base.copy().rscaffold(RENAME).read(FILE);
    for row in rows(section(&page, "## Three texts")) {
        let [record, yours, theirs, _, result] = row[..] else {
            panic!("{row:?}");
        };
        for theirs in theirs.split(" or ") {
            let project = match record {
                "A" => base.copy(),
                _ => Project::new(&[]),
            };
            let disk = match yours {
                "none" => None,
                _ if record == "none" => Some("A line of the user.\n".to_owned()),
                text if text == record => Some(a.clone()),
                text if text == theirs => Some(b.clone()),
                _ => Some(format!("{a}\nA line of the user.\n")),
            };
            match &disk {
                Some(text) => _ = project.write(FILE, text),
                None => fs::remove_file(project.folder().join(FILE)).expect("the file"),
            }
            let before = project.tree();
            let command = match (record, theirs) {
                ("none", _) => INIT,
                (_, "none") => DISABLE,
                (record, theirs) if record == theirs => "apply",
                _ => RENAME,
            };
            let outcome = project.outcome(command);
            let after = match result {
                "the file stays" | "the file stays B" => disk,
                "the file becomes B" => Some(b.clone()),
                "the file is merged" => Some(format!("{b}\nA line of the user.\n")),
                "the file stays deleted" | "the file is deleted" => None,
                "a conflict" => {
                    assert_eq!(outcome.code, Outcome::FAILURE, "{row:?}");
                    assert_eq!(project.tree(), before, "{row:?}");
                    continue;
                }
                other => panic!("{other}"),
            };
            assert_eq!(outcome.code, 0, "{row:?}: {}", outcome.stderr);
            assert_eq!(text(&project), after, "{row:?}");
        }
    }
}

/// Runs a command, and checks that it prints `word` for the file at `path`.
fn prints(project: &Project, command: &str, word: &str, path: &str) {
    let printed = project.run(command).stderr;
    let line = format!("  {word:<6}  {path}");
    let mut lines = printed.lines();
    assert!(
        lines.any(|printed| printed.starts_with(&line)),
        "{line}: {printed}"
    );
}

#[test]
fn words_for_files() {
    let page = read("docs/commands.md");
    let base = Project::new(&[INIT]);
    let renamed = base.copy().rscaffold(RENAME).read(FILE);
    let mut words = BTreeSet::new();
    for row in rows(section(&page, "## What is printed")) {
        let word = row[0];
        words.insert(word);
        match word {
            "create" => {
                let path = "src/api/webapp/mod.rs";
                let project = base.copy();
                assert!(!project.folder().join(path).exists());
                prints(&project, API, word, path);
                assert!(project.folder().join(path).exists());
            }
            "update" => {
                let project = base.copy();
                prints(&project, RENAME, word, FILE);
                assert_eq!(project.read(FILE), renamed);
                let project = edited(&base);
                prints(
                    &project,
                    &format!("{RENAME} --on-conflict=theirs"),
                    word,
                    FILE,
                );
                assert_eq!(project.read(FILE), renamed);
            }
            "merge" => {
                let project = base.copy();
                let line = "\nA line of the user.\n";
                project.write(FILE, &(base.read(FILE) + line));
                prints(&project, RENAME, word, FILE);
                assert_eq!(project.read(FILE), renamed.clone() + line);
            }
            "mark" => {
                let project = edited(&base);
                prints(
                    &project,
                    &format!("{RENAME} --on-conflict=markers"),
                    word,
                    FILE,
                );
                has_both(&project.read(FILE));
            }
            "delete" => {
                let project = base.copy();
                prints(&project, DISABLE, word, FILE);
                assert_eq!(text(&project), None);
                // A derived file goes, although it differs.
                let project = base.copy();
                let crd = "config/crd/bases/webapp.com_guestbooks.yaml";
                project.rscaffold(API);
                project.write(crd, "# another text\n");
                prints(
                    &project,
                    "delete api --group webapp --version v1 --kind Guestbook",
                    word,
                    crd,
                );
            }
            "keep" => {
                let project = base.copy();
                let role = "config/rbac/role.yaml";
                project.write(role, "# another text\n");
                prints(&project, API, word, role);
                assert_eq!(project.read(role), "# another text\n");
                let project = edited(&base);
                prints(
                    &project,
                    &format!("{RENAME} --on-conflict=ours"),
                    word,
                    FILE,
                );
                assert!(project.read(FILE).starts_with("# Working on mine\n"));
                let project = base.copy();
                fs::remove_file(project.folder().join(FILE)).expect("the file");
                project.replace("PROJECT", "domain: com", "domain: org");
                prints(&project, "apply", word, FILE);
                assert_eq!(text(&project), None);
            }
            "unchanged" => {
                let printed = base.copy().run(RENAME).stderr;
                assert!(printed.contains(" unchanged ("), "{printed}");
                assert!(!printed.contains("  unchanged  "), "{printed}");
            }
            other => panic!("{other}"),
        }
    }
    let source = read("src/command/report/plan.rs");
    let known = source.lines().filter_map(|line| {
        let (_, words) = line.trim().strip_prefix("Self::")?.split_once(" => (\"")?;
        words.split('"').next()
    });
    assert_eq!(words, known.collect());
}

/// Checks that the text has the lines of both sides of a conflict between conflict markers.
fn has_both(text: &str) {
    for part in [
        "<<<<<<< ",
        "\n# Working on mine\n",
        "\n=======\n",
        "\n# Working on library\n",
        "\n>>>>>>> ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn exit_codes() {
    let page = read("docs/commands.md");
    let base = Project::new(&[INIT]);
    let conflict = edited(&base);
    let changed = base.copy();
    changed.replace("PROJECT", "domain: com", "domain: org");
    let conflict_of_diff = edited(&base);
    conflict_of_diff.replace("PROJECT", "projectName: guestbook", "projectName: library");
    let broken = base.copy();
    broken.write("PROJECT", "domain: [");
    for row in rows(section(&page, "## Exit codes")) {
        let (commands, diffs) = match row[0] {
            "0" => (
                vec![
                    (&base, "apply"),
                    (&base, "version"),
                    (&base, "edit --dry-run --owner Me"),
                ],
                vec![(&base, "")],
            ),
            "1" => (
                vec![
                    (&conflict, RENAME),
                    (
                        &base,
                        "delete api --group webapp --version v1 --kind Guestbook",
                    ),
                ],
                vec![(&changed, "")],
            ),
            "2" => (
                vec![
                    (&base, "apply --unknown"),
                    (&base, "create api --kind Guestbook"),
                    (&base, "edit --domain Foo"),
                ],
                vec![(&conflict_of_diff, ""), (&broken, ""), (&base, "--unknown")],
            ),
            other => panic!("{other}"),
        };
        let diffs = diffs
            .iter()
            .map(|(project, flag)| (*project, format!("diff --exit-code {flag}")));
        let commands = commands
            .iter()
            .map(|(project, command)| (*project, (*command).to_owned()));
        for (project, command) in commands.chain(diffs) {
            let output = project.command(&command).output().expect("rscaffold runs");
            let (code, printed) = (
                output.status.code(),
                String::from_utf8_lossy(&output.stderr),
            );
            assert_eq!(
                code.map(|code| code.to_string()).as_deref(),
                Some(row[0]),
                "{command}: {printed}"
            );
        }
    }
}

#[test]
fn choices_for_conflicts() {
    let page = read("docs/commands.md");
    let base = Project::new(&[INIT]);
    let renamed = base.copy().rscaffold(RENAME).read(FILE);
    let fresh = base.read(FILE);
    for row in rows(section(&page, "## Conflicts")) {
        let choice = first_code(row[0]);
        let lines = (edited(&base), RENAME, Some(&renamed), row[1]);
        let deleted = (edited(&base), DISABLE, None, row[2]);
        let untracked = Project::new(&[]);
        untracked.write(FILE, "# Working on mine\n");
        let untracked = (untracked, INIT, Some(&fresh), row[2]);
        for (project, command, theirs, result) in [lines, deleted, untracked] {
            let before = project.tree();
            let yours = project.read(FILE);
            let outcome = project.outcome(&format!("{command} --on-conflict={choice}"));
            let result = if result == "the same" { row[1] } else { result };
            assert_eq!(
                outcome.code == 0,
                result != "nothing is written",
                "{choice}: {command}"
            );
            match result {
                "nothing is written" => assert_eq!(project.tree(), before),
                "your lines stay" | "your file stays" => assert_eq!(project.read(FILE), yours),
                "get rscaffold's text" | "gets rscaffold's text, or is deleted" => {
                    assert_eq!(text(&project).as_ref(), theirs);
                }
                "both are written, between git's conflict markers" => {
                    let text = project.read(FILE);
                    for part in ["<<<<<<< ", "# Working on mine\n", "\n=======\n", ">>>>>>> "] {
                        assert!(text.contains(part), "{part}: {text}");
                    }
                    let other =
                        theirs.map_or("", |theirs| theirs.lines().next().unwrap_or_default());
                    assert!(text.contains(other), "{text}");
                }
                other => panic!("{other}"),
            }
        }
    }
}

/// Whether `text` is a name of this sort.
fn is_name(sort: &str, text: &str) -> bool {
    match sort {
        "domain" => text.parse::<Domain>().is_ok(),
        "group" => text.parse::<Group>().is_ok(),
        "version" => text.parse::<Version>().is_ok(),
        "kind" => text.parse::<Kind>().is_ok(),
        "plural" => text.parse::<Plural>().is_ok(),
        "short name" => text.parse::<ShortName>().is_ok(),
        "name of a controller" => text.parse::<ControllerName>().is_ok(),
        "project name" => text.parse::<ProjectName>().is_ok(),
        "namespace" => text.parse::<NamespaceName>().is_ok(),
        "finalizer" => text.parse::<FinalizerName>().is_ok(),
        "key of a label" => text.parse::<LabelKey>().is_ok(),
        "field manager" => text.parse::<FieldManager>().is_ok(),
        "crate" => text.parse::<CrateName>().is_ok(),
        other => panic!("{other}"),
    }
}

/// A name of this sort with `length` characters.
fn long_name(sort: &str, length: usize) -> String {
    match sort {
        // A part of a domain has at most 63 characters.
        "domain" | "group" => {
            let name: Vec<char> = "a".repeat(length).chars().collect();
            let parts: Vec<String> = name
                .chunks(64)
                .map(|part| part.iter().skip(1).collect())
                .collect();
            format!("a{}", parts.join("."))
        }
        "version" => format!("v{}", "1".repeat(length - 1)),
        "kind" => format!("A{}", "a".repeat(length - 1)),
        _ => "a".repeat(length),
    }
}

#[test]
fn names() {
    let page = read("docs/layout.md");
    for row in rows(section(&page, "## Names")) {
        let [sorts, _, length, examples] = row[..] else {
            panic!("{row:?}");
        };
        let (length, start) = match length.strip_suffix(" after the domain") {
            Some(length) => (length, "example.com/"),
            None => (length, ""),
        };
        let length: usize = length.parse().expect("a number");
        for sort in sorts.split(", ") {
            for (length, is_valid) in [(length, true), (length + 1, false)] {
                let name = long_name(sort, length);
                assert_eq!(name.len(), length, "{sort}: {name}");
                assert_eq!(
                    is_name(sort, &format!("{start}{name}")),
                    is_valid,
                    "{sort}: {length}"
                );
            }
        }
        let mut valid = code(examples)
            .flat_map(|example| sorts.split(", ").map(move |sort| is_name(sort, example)));
        assert!(valid.all(|is_valid| is_valid), "{examples}");
    }
}

/// The existing files that the commands change, without derived ones. The group of the CRD counts as the other one.
fn changed_by(project: &Project, commands: &[&str]) -> BTreeSet<String> {
    let mut changed = BTreeSet::new();
    for command in commands {
        let before = project.tree();
        project.rscaffold(command);
        let after = project.tree();
        for (path, text) in before {
            if text.is_some() && after[&path] != text {
                changed.insert(path.display().to_string().replace("lights", "webapp"));
            }
        }
    }
    changed.retain(|path| !CONVENTIONS.is_derived(path) && !path.starts_with(".rscaffold/"));
    changed
}

/// Each list grows with later commands, and a further kind changes nothing else.
#[test]
fn classes_of_files() {
    let page = read("docs/layout.md");
    let files = section(&page, "## Files");
    let classes: BTreeSet<_> = rows(files).iter().map(|row| row[0]).collect();
    assert_eq!(classes, BTreeSet::from(["(none)", "derived", "merged"]));

    let enable =
        "edit --enable certmanager,grafana,helm,network-policy,prometheus,release,user-roles";
    let project = Project::new(&[INIT, enable]);
    // A cluster-scoped kind would also change the role of the chart.
    let crds = read("tests/crds/lamps.yaml").replace("scope: Cluster", "scope: Namespaced");
    let (_, switch) = crds.split_once("---\n").expect("two CRDs");
    let fuse = switch.replace("switch", "fuse").replace("Switch", "Fuse");
    project.write("fuses.yaml", &fuse.replace("name: v1", "name: v2"));
    project.write("lamps.yaml", &crds);
    let lamps = "create api --crd lamps.yaml --resource=false --kind";
    let notes = root().join("tests/crds/notes.yaml");
    let by_first = changed_by(
        &project,
        &[
            API,
            "create webhook --group webapp --version v1 --kind Guestbook --defaulting",
            "create api --group webapp --version v2 --kind Guestbook",
            "create webhook --group webapp --version v1 --kind Guestbook --conversion",
            &format!("{lamps} Lamp"),
            "create api --crd fuses.yaml --resource=false",
        ],
    );
    let by_more = changed_by(
        &project,
        &[
            "create api --group webapp --version v1 --kind Page --finalizer",
            "create webhook --group webapp --version v1 --kind Page --programmatic-validation",
            "create api --group shop --version v1 --kind Order --owns batch/v1/Job",
            "create webhook --group shop --version v1 --kind Order --defaulting",
            &format!("{lamps} Switch"),
            &format!("create api --crd {} --resource=false", notes.display()),
        ],
    );
    let mut merged = BTreeSet::new();
    for row in tables(files).concat().iter().filter(|row| row.len() == 4) {
        for path in code(row[0]) {
            let path = path
                .replace("<group>", "webapp")
                .replace("<version>", "v1")
                .replace("<kind>", "guestbook");
            let path = path
                .replace("<project name>", "guestbook")
                .replace("<plural>", "guestbooks")
                .replace("<domain>", "com");
            if row[1] == "merged" {
                merged.insert(path);
            }
        }
    }
    let all = by_first.union(&by_more).cloned().collect();
    assert_eq!(merged.difference(&all).collect::<Vec<_>>(), [""; 0]);
    assert_eq!(by_more.difference(&merged).collect::<Vec<_>>(), [""; 0]);
}

/// The flags of kubebuilder that have no effect, with the command that takes each of them.
fn accepts(flag: &str) -> &'static [&'static str] {
    match flag.split([' ', '=']).next().unwrap_or_default() {
        "--crd-version" | "--make" | "--ssa" => &["create api"],
        "--webhook-version" => &["create webhook"],
        "--force" => &["edit"],
        "--multigroup" => &["edit", "init"],
        "--fetch-deps" | "--plugins" | "--project-version" | "--skip-go-version-check" => &["init"],
        other => panic!("{other}"),
    }
}

/// A new folder with what `command` needs, and the command.
fn before(command: &str) -> (Project, String) {
    let setup: &[&str] = match command {
        "init" => &[],
        "create webhook" => &[INIT, API],
        _ => &[INIT],
    };
    let command = match command {
        "init" => INIT,
        "create api" => API,
        "create webhook" => {
            "create webhook --group webapp --version v1 --kind Guestbook --defaulting"
        }
        "edit" => "edit --owner Me",
        other => panic!("{other}"),
    };
    (Project::new(setup), command.to_owned())
}

/// The files that `command` writes with `flag`, and what it prints.
fn with(command: &str, flag: &str) -> (Tree, String) {
    let (project, command) = before(command);
    let printed = project.run(&format!("{command} {flag}")).stderr;
    (project.tree(), printed)
}

#[test]
fn flags_of_kubebuilder() {
    let page = read("docs/commands.md");
    let external = "create api --group cert-manager.io --version v1 --kind Certificate";
    for row in rows(section(&page, "## Commands of other tools")) {
        for (number, flag) in code(row[0]).enumerate() {
            let flag = flag.trim_start_matches("edit ");
            match (flag, row[1]) {
                ("--plugins=deploy-image/v1-alpha", _) => {
                    let image = format!("{API} --image memcached:1.6");
                    let trees = [image.clone(), format!("{image} {flag}")]
                        .map(|command| Project::new(&[INIT, &command]).tree());
                    assert_eq!(trees[0], trees[1]);
                    Project::new(&[INIT]).refused(&format!("{API} {flag}"));
                }
                ("--license-file FILE", _) => {
                    let project = Project::new(&[]);
                    project.write("header.txt", "A header.\n");
                    let file = project.folder().join("header.txt");
                    project.run(&format!("{INIT} --license-file {}", file.display()));
                    assert!(project.read("src/main.rs").starts_with("// A header.\n"));
                }
                ("--external-api-module", _) => {
                    let [given, same] =
                        ["--external-api-module", "--external-api-crate"].map(|flag| {
                            let path = "--external-api-path cert_manager::v1::Certificate";
                            let command = format!("{external} {path} {flag} cert-manager@0.1");
                            Project::new(&[INIT, &command]).tree()
                        });
                    assert_eq!(given, same);
                }
                ("--external-api-path", _) => {
                    let path = "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1";
                    let error = refused(
                        &mut Project::new(&[INIT]).command(&format!("{external} {flag} {path}")),
                    );
                    assert!(error.contains("Rust type"), "{error}");
                }
                (_, effect) if effect.starts_with("no effect") => {
                    for command in accepts(flag) {
                        let ((tree, _), (same, printed)) = (with(command, ""), with(command, flag));
                        assert_eq!(tree, same, "{command} {flag}");
                        let name = flag.split([' ', '=']).next().unwrap_or_default();
                        assert!(printed.contains(name), "{command} {flag}: {printed}");
                    }
                }
                (_, effect) if effect.starts_with("the same as ") => {
                    let same = code(effect).nth(number).expect("a flag");
                    assert_eq!(with("init", flag).0, with("init", same).0, "{flag}");
                }
                (_, effect) if effect.starts_with("an error") => {
                    let command = match flag.strip_prefix("alpha ") {
                        Some(_) => flag.to_owned(),
                        None => format!("{API} {flag}"),
                    };
                    let error = refused(&mut Project::new(&[INIT]).command(&command));
                    let named: Vec<_> = code(effect).collect();
                    let says = named.get(number).copied().unwrap_or("server-side apply");
                    assert!(error.contains(says), "{flag}: {error}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
