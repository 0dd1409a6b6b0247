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

/// The code of a function in a file.
fn function(path: &str, name: &str) -> String {
    let text = read(path);
    let (_, rest) = text.split_once(&format!("fn {name}()")).expect("a test");
    rest.split("\n}\n").next().unwrap_or_default().to_owned()
}

/// The cluster tests in tests/operators/by_url.rs have a step for each row.
#[test]
fn conversions_on_your_machine() {
    const TESTS: &str = "tests/operators/by_url.rs";
    let page = read("docs/versions.md");
    let restores = function(
        TESTS,
        "make_run_converts_and_restores_the_deployed_conversion",
    );
    let installs = function(
        TESTS,
        "install_and_deploy_restore_the_conversion_after_a_killed_run",
    );
    for row in rows(section(&page, "### Make and conversions")) {
        let (says, test, steps): (_, _, &[&str]) = match row[0] {
            "runs" => (
                "the URL of your machine",
                &restores,
                &["site.converts();", "site.is_led();"],
            ),
            "runs, and you install or deploy" => {
                // How often the operator looks at the CRD.
                let runtime = read("crates/kube-manager/src/runtime/webhook/by_url.rs");
                assert!(runtime.contains("const INTERVAL: Duration = Duration::from_secs(2);"));
                let says = "the Service, and two seconds later the URL again";
                let steps = &[
                    "site.make(\"deploy\");",
                    "the CRD was installed anew",
                    "site.is_led();",
                ];
                (says, &installs, steps)
            }
            "has ended, for example by Ctrl-C" => {
                let says = "the deployed conversion, byte for byte";
                (
                    says,
                    &restores,
                    &[
                        "operator.end_by(\"INT\");",
                        "assert_eq!(site.crd(), deployed);",
                    ],
                )
            }
            "was killed" => {
                let says = "the URL, which does not answer, until the next `make run`, `make install` or `make deploy`";
                let restored = [
                    "[\"install\", \"deploy\"]",
                    "end_by(\"KILL\");",
                    "site.make(target);",
                    "site.is_put_back();",
                ];
                contains(&installs, &restored);
                (
                    says,
                    &restores,
                    &[
                        "end_by(\"KILL\");",
                        "site.is_led();",
                        "site.run_and_convert();",
                    ],
                )
            }
            "runs with `ENABLE_WEBHOOKS=false`" => (
                "the deployed conversion",
                &restores,
                &["ENABLE_WEBHOOKS=false", "assert_eq!(site.crd(), deployed);"],
            ),
            other => panic!("{other}"),
        };
        assert_eq!(row[1], says, "{}", row[0]);
        contains(test, steps);
    }
}

/// Checks that the code of a test has these steps, in this order.
fn contains(test: &str, steps: &[&str]) {
    let mut rest = test;
    for step in steps {
        let (_, after) = rest
            .split_once(step)
            .unwrap_or_else(|| panic!("no step `{step}`"));
        rest = after;
    }
}
