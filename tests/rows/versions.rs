//! Tables of docs/versions.md: a change of a kind that is in use, and the conversion while an operator runs on your
//! machine.

use rscaffold::project;

use super::{API, rows};
use crate::{
    document::{code, read, section},
    project::{INIT, Project},
};

/// The versions of the kind, with what the API server does with each.
fn versions(project: &Project) -> Vec<String> {
    let project = project::Project::parse(&project.read("PROJECT")).expect("a project");
    let resources = project.resources.iter();
    let versions = resources.map(|resource| {
        let served = if resource.is_served() { " served" } else { "" };
        let stored = if resource.is_stored() { " stored" } else { "" };
        format!("{}{served}{stored}", resource.version)
    });
    versions.collect()
}

/// Runs a command of the table, which names neither the group nor the kind.
fn run(project: &Project, command: &str) {
    project.rscaffold(&format!("{command} --group webapp --kind Guestbook"));
}

#[test]
fn a_kind_that_is_in_use_changes_in_several_releases() {
    let page = read("docs/versions.md");
    let project = Project::new(&[INIT, API]);
    let mut before = vec!["v1 served stored".to_owned(), "v2".to_owned()];
    for row in rows(section(&page, "## The stored version")) {
        let [release, commands, _, revert] = row[..] else {
            panic!("{row:?}");
        };
        for command in code(commands) {
            run(&project, command);
        }
        let expected: &[&str] = match release {
            "the operator converts the new version" => &["v1 served stored", "v2"],
            "the new version is served" => &["v1 served stored", "v2 served"],
            "the new version is stored" => &["v1 served", "v2 served stored"],
            "the old version is removed" => &["v2 served stored"],
            other => panic!("{other}"),
        };
        let after = versions(&project);
        assert_eq!(after, expected, "{release}");
        let reverted = project.copy();
        for command in code(revert) {
            let command = match command.strip_prefix("--") {
                Some(flags) => format!("create api --version v2 --{flags}"),
                None => command.to_owned(),
            };
            run(&reverted, &command);
        }
        assert_eq!(versions(&reverted), before, "{release}: {revert}");
        before = after;
    }
}
