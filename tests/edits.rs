//! Tests that rscaffold keeps the edits of a user in every file of a project.

use std::{fs, path::Path};

use proptest::{
    prelude::*,
    sample::{Index, select},
};
use tempfile::TempDir;
use walkdir::WalkDir;

use crate::{
    cases::cases,
    parallel::sample,
    project::{INIT, Project},
    scaffold::rscaffold,
};

const GUESTBOOK: &str = "create api --group webapp --version v1 --kind Guestbook";

/// Returns the files of a project that its user may edit: all files except rscaffold's record.
fn files(project: &Path) -> Vec<String> {
    WalkDir::new(project)
        .sort_by_file_name()
        .into_iter()
        .map(|entry| entry.expect("a readable folder"))
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            entry
                .path()
                .strip_prefix(project)
                .expect("a path below")
                .display()
                .to_string()
        })
        .filter(|path| path != ".rscaffold/last-applied.jsonl")
        .collect()
}

/// Returns a comment in the language of the file at `path`.
fn remark(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("rs") => "// a remark of the user",
        Some("md") => "<!-- a remark of the user -->",
        _ => "# a remark of the user",
    }
}

#[test]
fn an_edit_of_any_file_survives_the_next_api() {
    let folder = TempDir::new().expect("a temporary folder");
    let project = folder.path();
    rscaffold(
        project,
        "init --domain com --repo guestbook --project-name guestbook --enable grafana,helm",
    );
    // This is the last line above the list that the first API starts.
    let text = fs::read_to_string(project.join("PROJECT")).expect("a text");
    let edited = text.replace("repo: guestbook\n", "repo: guestbook # on our own server\n");
    assert_ne!(edited, text);
    fs::write(project.join("PROJECT"), edited).expect("a writable file");
    rscaffold(
        project,
        "create api --group webapp --version v1 --kind Guestbook",
    );
    let text = fs::read_to_string(project.join("PROJECT")).expect("a text");
    assert!(
        text.contains("repo: guestbook # on our own server\n"),
        "{text}"
    );

    let edited = files(project);
    for path in &edited {
        let text = fs::read_to_string(project.join(path)).expect("a text");
        let remark = remark(path);
        // One comment is above all other text, and one is below.
        fs::write(project.join(path), format!("{remark}\n{text}{remark}\n"))
            .expect("a writable file");
    }
    for command in [
        "create api --group webapp --version v1 --kind Visitor",
        "create api --group webapp --version v2 --kind Guestbook",
        "create api --group crew --version v1beta1 --kind Captain --namespaced=false --finalizer",
        "create api --group apps --version v1 --kind Deployment --resource=false",
        "create api --group webapp --version v1 --kind Guestbook --controller-name backup",
        "create api --group cert-manager --version v1 --kind Certificate \
         --external-api-path cert_manager::v1::Certificate --external-api-domain io \
         --external-api-crate cert-manager@0.1",
        "edit --enable certmanager,network-policy,prometheus",
        "delete api --group webapp --version v1 --kind Visitor",
        "delete controller --group webapp --version v1 --kind Guestbook --controller-name backup",
        "edit --disable certmanager,network-policy,prometheus",
        "apply",
    ] {
        rscaffold(project, command);
        for path in &edited {
            let text = fs::read_to_string(project.join(path)).expect("a text");
            let remark = remark(path);
            assert!(
                text.starts_with(&format!("{remark}\n")),
                "{command}: {path}\n{text}"
            );
            assert!(
                text.ends_with(&format!("\n{remark}\n")),
                "{command}: {path}\n{text}"
            );
        }
    }
    // The commands also wrote their own lines next to the edits.
    let modules = fs::read_to_string(project.join("src/controller/mod.rs")).expect("a text");
    for line in [
        "pub mod crew;",
        "manager.add(crew::captain::Controller::new);",
    ] {
        assert!(modules.contains(line), "{modules}");
    }
}

/// A CRD with two versions that have these fields.
fn crd(fields: &[&str]) -> String {
    let fields = fields
        .iter()
        .map(|field| format!("{field}: {{type: string}}"));
    let fields = fields.collect::<Vec<_>>().join(", ");
    let version = |name: &str| {
        format!(
            "  - name: {name}
    served: true
    storage: {}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {{type: object, properties: {{{fields}}}}}
",
            name == "v1"
        )
    };
    format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: books.lib.com}}
spec:
  group: lib.com
  names: {{kind: Book, plural: books}}
  scope: Namespaced
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {{service: {{name: books, namespace: books}}}}
  versions:
{}{}",
        version("v1"),
        version("v2")
    )
}

/// What a command reports, without the time that it took.
fn report(project: &Project, command: &str) -> String {
    let outcome = project.run(command);
    let lines = outcome.stderr.lines();
    lines.filter(|line| !line.ends_with(" ms)")).collect()
}

#[test]
fn line_ends_make_no_difference() {
    let start = Project::new(&[INIT, GUESTBOOK]);
    start.write("crd.yaml", &crd(&["a"])).all(&[
        "create api --crd crd.yaml",
        "create webhook --group lib --kind Book --conversion",
    ]);
    let is_any: fn(&str) -> bool = |_| true;
    let is_types: fn(&str) -> bool = |path| path.starts_with("src/api/");
    let is_first_version: fn(&str) -> bool =
        |path| path.contains("/v1/") || path.ends_with("/mod.rs");
    for (has_crlf, is_edited) in [
        (is_any, false),
        (is_types, false),
        (is_first_version, false),
        (is_any, true),
    ] {
        let (plain, crlf) = (start.copy(), start.copy());
        let mut converted = Vec::new();
        for path in files(&start.folder()) {
            let text = start.read(&path);
            // The editor of the user does not keep the line ends of the file.
            let edit = if is_edited {
                format!("{}\n", remark(&path))
            } else {
                String::new()
            };
            plain.write(&path, &format!("{text}{edit}"));
            if has_crlf(&path) && path != "crd.yaml" {
                crlf.write(&path, &format!("{}{edit}", text.replace('\n', "\r\n")));
                converted.push((path, edit));
            } else {
                crlf.write(&path, &format!("{text}{edit}"));
            }
        }
        for project in [&plain, &crlf] {
            project.write("crd.yaml", &crd(&["a", "b"]));
        }
        for command in [
            "create api --crd crd.yaml",
            "create api --group webapp --version v1 --kind Visitor",
            "create api --group webapp --version v2 --kind Guestbook",
            "edit --enable prometheus,helm",
            "delete api --group webapp --version v1 --kind Visitor",
            "edit --disable prometheus",
            "apply",
        ] {
            let reports = [&plain, &crlf].map(|project| report(project, command));
            assert_eq!(reports[0], reports[1], "{command}");
            let paths = files(&plain.folder());
            assert_eq!(files(&crlf.folder()), paths, "{command}");
            for path in paths {
                let text = crlf.read(&path).replace("\r\n", "\n");
                assert_eq!(text, plain.read(&path), "{command}: {path}");
            }
            for (path, edit) in &converted {
                let text = crlf.read(path);
                let text = text.strip_suffix(edit.as_str()).unwrap_or_default();
                let is_crlf = text
                    .split_inclusive('\n')
                    .all(|line| line.ends_with("\r\n"));
                assert!(is_crlf && !text.is_empty(), "{command}: {path}\n{text:?}");
            }
        }
    }
}

#[test]
fn conflict_markers_stop_each_command_until_they_are_resolved() {
    for (path, command) in [
        (
            "src/api/webapp/v1/guestbook.rs",
            "delete api --group webapp --version v1 --kind Guestbook",
        ),
        (".github/workflows/test.yml", "edit --disable github"),
        ("AGENTS.md", "edit --disable agents"),
        ("LICENSE", "edit --license none"),
    ] {
        let project = Project::new(&[INIT, GUESTBOOK]);
        project.write(path, &format!("{}# ours\n", project.read(path)));
        project.rscaffold(&format!("{command} --on-conflict=markers"));
        let assert_stopped = || {
            for next in [
                "apply",
                "diff",
                "edit --enable grafana",
                "create api --group crew --version v1 --kind Captain",
            ] {
                let error = project.refused(next);
                let expected = format!("there are conflict markers in\n  {path}:1");
                assert!(error.contains(&expected), "{command}, {next}: {error}");
            }
        };
        assert_stopped();
        // Such a command may go on, and later ones stop.
        project.rscaffold("edit --enable helm --on-conflict=markers");
        assert_stopped();
        project.write(path, "resolved\n").rscaffold("apply");
        assert_eq!(project.read(path), "resolved\n");
    }
}

type Layout = fn(&str) -> String;

/// Layouts of PROJECT that say the same, such as that of a formatter.
const LAYOUTS: [(&str, Layout); 11] = [
    ("a comment above an entry", |text| {
        text.replacen("- api:", "# ask Joe\n- api:", 1)
    }),
    ("a comment above the last entry", |text| {
        let (above, last) = text.rsplit_once("- api:").unwrap();
        format!("{above}# ask Joe\n- api:{last}")
    }),
    ("a comment below the fields of each entry", |text| {
        let (above, list, below) = around_list(text);
        let list = list.replace("  version: v1\n", "  version: v1\n  # until June\n");
        format!("{above}{list}{below}")
    }),
    ("a comment below the last entry", |text| {
        text.replace("runtime:", "# that is all\nruntime:")
    }),
    ("an empty line above each entry", |text| {
        text.replace("- api:", "\n- api:")
    }),
    ("a comment beside an entry", |text| {
        text.replace("- api:", "- api: # ours")
    }),
    ("a comment at the end", |text| {
        format!("{text}# that is all\n")
    }),
    ("an indented list", |text| {
        let (above, list, below) = around_list(text);
        let lines = list.lines().map(|line| format!("  {line}\n"));
        format!("{above}{}{below}", lines.collect::<String>())
    }),
    ("fields in another order", |text| {
        let moved = text.replace("  version: v1\n", "");
        moved.replace("- api:", "- version: v1\n  api:")
    }),
    ("entries in another order", |text| {
        let (above, list, below) = around_list(text);
        let (first, second) = list.split_at(list.rfind("- api:").unwrap());
        format!("{above}{second}{first}{below}")
    }),
    ("another first line", |text| {
        format!("# of the harbor\n{text}")
    }),
];

/// Returns the lines above the entries of PROJECT, the entries, and the lines below.
fn around_list(text: &str) -> (&str, &str, &str) {
    let start = text.find("- api:").unwrap();
    let end = text.find("runtime:").unwrap();
    (&text[..start], &text[start..end], &text[end..])
}

/// Returns a project with two kinds.
fn harbor() -> Project {
    Project::new(&[
        INIT,
        "create api --group fleet --version v1 --kind Berth",
        "create api --group fleet --version v1 --kind Dock",
    ])
}

#[test]
fn each_layout_of_project_survives_each_command() {
    let project = harbor();
    let commands = [
        "create api --group aa --version v1 --kind Buoy",
        "create api --group fleet --version v1 --kind Crew",
        "create api --group fleet --version v1 --kind Zoo",
        "create webhook --group fleet --version v1 --kind Dock --defaulting",
        "delete api --group fleet --version v1 --kind Crew",
        "edit --enable grafana",
        "create api --group fleet --version v1 --kind Dock --short-name dk --force",
    ];
    for (name, layout) in sample(&LAYOUTS, 4) {
        let project = project.copy();
        let text = layout(&project.read("PROJECT"));
        project.write("PROJECT", &text).rscaffold("apply");
        for command in commands {
            let outcome = project.outcome(command);
            assert_eq!(outcome.code, 0, "{name}: {command}: {}", outcome.stderr);
        }
        let after = project.read("PROJECT");
        for line in text.lines() {
            let count = |text: &str| text.lines().filter(|other| *other == line).count();
            let least = if line.contains('#') { count(&text) } else { 1 };
            let is_there = count(&after) >= least;
            assert!(is_there, "{name}: `{line}` is gone from\n{after}");
        }
        let below = after.matches("  version: v1\n  # until June\n").count();
        assert_eq!(
            below,
            text.matches("# until June").count(),
            "{name}:\n{after}"
        );
        project.rscaffold("apply");
        assert_eq!(project.read("PROJECT"), after, "{name}");
    }
}

/// The commands of the random test, which add, change and delete entries and other fields.
const COMMANDS: [&str; 5] = [
    "create api --group aa --version v1 --kind Buoy",
    "create api --group fleet --version v1 --kind Crew",
    "create webhook --group fleet --version v1 --kind Dock --defaulting",
    "delete api --group fleet --version v1 --kind Berth",
    "edit --enable grafana",
];

#[test]
fn no_comment_in_project_is_lost_wherever_it_is() {
    let base = harbor();
    let comment = (
        any::<Index>(),
        select(&["", "# ", "  # ", "    # ", " # "][..]),
    );
    let comments = proptest::collection::vec(comment, 1..5);
    let commands = Just(COMMANDS.to_vec()).prop_shuffle();
    proptest!(cases(8), |(comments in comments, commands in commands)| {
        let project = base.copy();
        let mut lines: Vec<_> = project.read("PROJECT").lines().map(str::to_owned).collect();
        for (number, (at, indent)) in comments.iter().enumerate() {
            let at = at.index(lines.len());
            match *indent {
                "" => lines.insert(at, String::new()),
                // Beside a line.
                " # " => lines[at] += &format!(" # remark {number}"),
                indent => lines.insert(at, format!("{indent}remark {number}")),
            }
        }
        project.write("PROJECT", &(lines.join("\n") + "\n")).rscaffold("apply");
        for command in commands {
            let before = project.read("PROJECT");
            let outcome = project.outcome(command);
            let after = project.read("PROJECT");
            if outcome.code != 0 {
                prop_assert_eq!(&after, &before, "{}", outcome.stderr);
            }
            for (number, _) in comments.iter().enumerate() {
                let remark = format!("# remark {number}");
                prop_assert!(!before.contains(&remark) || after.contains(&remark), "{command}:\n{after}");
            }
            prop_assert!(project.run("apply").stderr.contains("nothing to do"), "{command}");
        }
    });
}

#[test]
fn a_deleted_comment_above_the_empty_list_does_not_stop_the_first_api() {
    let project = Project::new(&[INIT]);
    let comment = "# One entry for each version of a kind.\n";
    project.replace("PROJECT", comment, "").rscaffold(GUESTBOOK);
    let text = project.read("PROJECT");
    assert!(
        text.contains("kind: Guestbook") && !text.contains(comment),
        "{text}"
    );
}
