//! The tables of flags in docs/commands.md: each flag changes the fields of `PROJECT` that its row names, or does what its
//! row says.

use std::{collections::BTreeSet, fs, process::Stdio};

use serde_json::Value;

use super::{API, FILE, rows, text};
use crate::{
    document::{code, first_code, read, section},
    project::{INIT, Project},
    scaffold::{refused, root},
};

const V2: &str = "create api --group webapp --version v2 --kind Guestbook";
const V3: &str = "create api --group webapp --version v3 --kind Guestbook";
const WEBHOOK: &str = "create webhook --group webapp --version v1 --kind Guestbook";
const CONTROLLER: &str = "create controller --group webapp --kind Guestbook";
const DELETE: &str = "delete webhook --group webapp --version v1 --kind Guestbook";
const IMAGE: &str = "create api --group webapp --version v1 --kind Guestbook --image memcached:1.6";
const TYPE: &str = "--external-api-path cert_manager::v1::Certificate";
const CRATE: &str = "--external-api-crate cert-manager@0.1";

/// What a flag is tried with.
struct Case {
    /// The commands before.
    before: Vec<String>,
    /// The command without the flag. `None` if the state before is compared.
    without: Option<String>,
    /// Commands with the flag.
    with: Vec<String>,
}

/// Tries a flag with a command that is also run without the flag.
fn case(before: &[&str], command: &str, flags: &[&str]) -> Case {
    Case {
        before: before.iter().map(|command| (*command).to_owned()).collect(),
        without: Some(command.to_owned()),
        with: flags
            .iter()
            .map(|flag| format!("{command} {flag}"))
            .collect(),
    }
}

/// Tries a command that needs the flag.
fn needed(before: &[&str], command: &str, flags: &[&str]) -> Case {
    Case {
        without: None,
        ..case(before, command, flags)
    }
}

/// How a flag is tried that changes fields of `PROJECT`.
#[allow(clippy::too_many_lines, reason = "each flag is a case")]
fn tried(command: &str, flag: &str) -> Case {
    let new = "init --domain com --repo guestbook";
    let notes = root().join("tests/crds/notes.yaml");
    let certificate = |command: &str| {
        format!("{command} --group cert-manager.io --version v1 --kind Certificate")
    };
    match (command, flag) {
        ("", "--group") => needed(
            &[INIT],
            "create api --version v1 --kind Page",
            &["--group shop"],
        ),
        ("", "--version") => needed(
            &[INIT],
            "create api --group shop --kind Page",
            &["--version v1"],
        ),
        ("", "--kind") => needed(
            &[INIT],
            "create api --group shop --version v1",
            &["--kind Page"],
        ),
        ("", "--controller-name") => case(&[INIT], API, &["--controller-name backup"]),
        ("", "--external-api-path") => case(
            &[INIT],
            &certificate("create api"),
            &[&format!("{TYPE} {CRATE}")],
        ),
        ("", "--external-api-domain") => {
            let command = "create api --group cert-manager --version v1 --kind Certificate";
            let command = format!("{command} {TYPE} {CRATE}");
            needed(&[INIT], &command, &["--external-api-domain io"])
        }
        ("", "--external-api-crate") => case(
            &[INIT],
            &format!("{} {TYPE}", certificate("create api")),
            &[CRATE],
        ),
        ("init", "--domain") => needed(&[], "init --repo guestbook", &["--domain com"]),
        ("init", "--repo") => case(&[], "init --domain com", &["--repo github.com/me/books"]),
        ("init", "--project-name") => case(&[], INIT, &["--project-name library"]),
        ("init", "--license") => case(&[], INIT, &["--license mit"]),
        ("init", "--owner") => case(&[], INIT, &["--owner Me"]),
        ("init", "--license-file") => {
            let file = root().join("clippy.toml");
            case(&[], INIT, &[&format!("--license-file {}", file.display())])
        }
        ("init", "--namespaced") => case(&[], INIT, &["--namespaced"]),
        // Which of them is the default depends on the build.
        ("init", "--runtime") => case(&[], new, &["--runtime registry", "--runtime vendored"]),
        ("init", "--enable") => case(&[], INIT, &["--enable helm"]),
        ("init", "--disable") => case(&[], INIT, &["--disable agents"]),
        ("create api", "--plural") => case(&[INIT], API, &["--plural books"]),
        ("create api", "--short-name") => case(&[INIT], API, &["--short-name gb"]),
        ("create api", "--resource") => {
            let mut case = case(&[INIT], API, &[]);
            let deployment = "create api --group apps --version v1 --kind Deployment";
            let certificate = format!("{} {TYPE} {CRATE}", certificate("create api"));
            case.with = vec![
                format!("{deployment} --resource=false"),
                format!("{certificate} --resource=false"),
            ];
            case
        }
        ("create api", "--controller") => case(&[INIT], API, &["--controller=false"]),
        ("create api", "--namespaced") => case(&[INIT], API, &["--namespaced=false"]),
        ("create api", "--finalizer") => case(&[INIT], API, &["--finalizer"]),
        ("create api", "--owns") => {
            case(&[INIT], API, &["--owns v1/ConfigMap", "--owns Deployment"])
        }
        ("create api", "--watches") => case(&[INIT], API, &["--watches v1/Secret"]),
        ("create api", "--image") => case(&[INIT], API, &["--image memcached:1.6"]),
        ("create api", "--image-container-command") => {
            case(&[INIT], IMAGE, &["--image-container-command memcached,-v"])
        }
        ("create api", "--image-container-port") => {
            case(&[INIT], IMAGE, &["--image-container-port 80"])
        }
        ("create api", "--run-as-user") => case(&[INIT], IMAGE, &["--run-as-user 1001"]),
        ("create api", "--storage") => {
            // Without a conversion, the other version is no longer served.
            let command = format!("{V2} --conversion none");
            let mut case = case(&[INIT, API], &command, &["--storage"]);
            case.with.push(format!("{V2} --storage --force"));
            case
        }
        ("create api", "--served") => case(
            &[INIT, API],
            &format!("{V2} --conversion none"),
            &["--served=false"],
        ),
        ("create api", "--deprecated") => case(&[INIT], API, &["--deprecated", "--deprecated=old"]),
        ("create api", "--conversion") => case(
            &[INIT, API],
            V2,
            &["--conversion none", "--conversion lossy"],
        ),
        ("create api", "--crd") => needed(
            &[INIT],
            "create api",
            &[&format!("--crd {}", notes.display())],
        ),
        ("create webhook", "--defaulting" | "--programmatic-validation") => {
            needed(&[INIT, API], WEBHOOK, &[flag])
        }
        ("create webhook", "--conversion") => needed(&[INIT, API, V2], WEBHOOK, &[flag]),
        ("create webhook", "--spoke") => case(
            &[INIT, API, V2, V3],
            &format!("{WEBHOOK} --conversion"),
            &["--spoke v2"],
        ),
        ("create webhook", "--defaulting-path") => case(
            &[INIT, API],
            &format!("{WEBHOOK} --defaulting"),
            &["--defaulting-path /a"],
        ),
        ("create webhook", "--validation-path") => {
            let command = format!("{WEBHOOK} --programmatic-validation");
            case(&[INIT, API], &command, &["--validation-path /a"])
        }
        ("create webhook", "--plural" | "--namespaced") => {
            let command = format!(
                "{} --defaulting {TYPE} {CRATE}",
                certificate("create webhook")
            );
            let value = if flag == "--plural" { "certs" } else { "false" };
            case(&[INIT], &command, &[&format!("{flag}={value}")])
        }
        ("delete webhook", "--defaulting" | "--programmatic-validation" | "--conversion") => {
            let all = format!("{WEBHOOK} --defaulting --programmatic-validation --conversion");
            // Without the conversion, only one version can be served.
            let unserved = format!("{V2} --served=false --force");
            needed(&[INIT, API, V2, &all, &unserved], DELETE, &[flag])
        }
        other => panic!("{other:?}"),
    }
}

/// Adds the names of all fields, at any depth, that differ.
fn add_changed(before: &Value, after: &Value, names: &mut BTreeSet<String>) {
    if before == after {
        return;
    }
    let lists = [before, after].map(|value| value.as_array().map_or(0, Vec::len));
    for index in 0..lists[0].max(lists[1]) {
        add_changed(&before[index], &after[index], names);
    }
    for (name, _) in [before, after]
        .into_iter()
        .filter_map(Value::as_object)
        .flatten()
    {
        if before[name] != after[name] {
            names.insert(name.clone());
            add_changed(&before[name], &after[name], names);
        }
    }
}

/// The fields of `PROJECT`, which a project without a command does not have.
fn fields(project: &Project) -> Value {
    let path = project.folder().join("PROJECT");
    let text = fs::read_to_string(path).unwrap_or_default();
    serde_yaml::from_str(&text).expect("YAML")
}

/// Checks that a flag changes the fields that its row names, and no other webhook.
fn sets(command: &str, flag: &str, named: &BTreeSet<&str>) {
    let Case {
        before,
        without,
        with,
    } = tried(command, flag);
    let before: Vec<_> = before.iter().map(String::as_str).collect();
    let before = Project::new(&before);
    let base = before.copy();
    match &without {
        Some(without) => _ = base.rscaffold(without),
        // Without the flag, the command is refused.
        None if command != "delete webhook" => {
            let mut command = before.command(with[0].split(flag).next().unwrap_or_default());
            refused(command.stdin(Stdio::null()));
        }
        None => {}
    }
    let mut changed = BTreeSet::new();
    for with in with {
        let project = before.copy();
        project.rscaffold(&with);
        add_changed(&fields(&base), &fields(&project), &mut changed);
    }
    for name in named {
        assert!(
            changed.contains(*name),
            "{command} {flag}: {name}: {changed:?}"
        );
    }
    for webhook in ["conversion", "defaulting", "validation"] {
        if command.ends_with("webhook") && flag.starts_with("--") && changed.contains(webhook) {
            assert!(named.contains(webhook), "{command} {flag}: {webhook}");
        }
    }
}

/// Checks a flag that changes no field.
fn does(command: &str, flag: &str) {
    let base = Project::new(&[INIT]);
    match (command, flag) {
        ("", "--dry-run") => {
            let before = base.tree();
            let printed = base.run(&format!("{API} --dry-run")).stderr;
            assert!(
                printed.contains("src/api/webapp/v1/guestbook.rs"),
                "{printed}"
            );
            assert_eq!(base.tree(), before);
        }
        // The tables of conflicts and of exit codes.
        ("", "--on-conflict") | ("diff", "--exit-code") => {}
        ("init", "--from") => {
            let project = Project::new(&[]);
            let go = root().join("tests/go");
            project.rscaffold(&format!("init --runtime registry --from {}", go.display()));
            assert!(project.read("PROJECT").contains("kind: Book\n"));
            assert!(project.folder().join("PORTING.md").is_file());
        }
        ("create api", "--force") => {
            base.rscaffold(&format!(
                "{API} --short-name gb --finalizer --owns v1/ConfigMap"
            ));
            for change in [
                "--plural books",
                "--short-name book",
                "--namespaced=false",
                "--finalizer=false",
                "--controller=false",
            ] {
                let command = format!("{API} {change}");
                assert!(base.refused(&command).contains("`--force`"), "{change}");
                base.copy().rscaffold(&format!("{command} --force"));
            }
            replaces(&base, API, "--owns v1/Secret", "v1/ConfigMap");
        }
        ("create controller", "--force") => {
            base.rscaffold(&format!("{API} --owns v1/ConfigMap --watches v1/Secret"));
            let command = format!("{CONTROLLER} --finalizer");
            assert!(base.refused(&command).contains("`--force`"));
            base.copy().rscaffold(&format!("{command} --force"));
            replaces(&base, CONTROLLER, "--owns v1/Service", "v1/ConfigMap");
            replaces(&base, CONTROLLER, "--watches v1/Service", "v1/Secret");
        }
        ("create webhook", "--force") => {
            base.all(&[API, &format!("{WEBHOOK} --defaulting")]);
            let command = format!("{WEBHOOK} --defaulting --defaulting-path /a");
            assert!(base.refused(&command).contains("`--force`"));
            base.rscaffold(&format!("{command} --force"));
            assert!(base.read("PROJECT").contains("defaultingPath: /a"));
        }
        ("delete api", "--force") => {
            base.all(&[API, V2, &format!("{WEBHOOK} --conversion")]);
            let command = V2.replace("create", "delete");
            assert!(base.refused(&command).contains("`--force`"));
            base.rscaffold(&format!("{command} --force"));
            assert!(!base.read("PROJECT").contains("version: v2"));
        }
        ("apply", "--rebuild-base") => {
            let record = ".rscaffold/last-applied.jsonl";
            let before = base.read(record);
            base.write(record, "damaged\n");
            base.refused("apply");
            base.rscaffold("apply --rebuild-base");
            assert_eq!(base.read(record), before);
        }
        ("apply", "--restore") => {
            let before = base.read(FILE);
            fs::remove_file(base.folder().join(FILE)).expect("the file");
            base.rscaffold("apply");
            assert_eq!(text(&base), None);
            base.rscaffold(&format!("apply --restore {FILE}"));
            assert_eq!(text(&base), Some(before));
        }
        ("update", "--exclude") => {
            let before = base.read(FILE);
            base.replace("PROJECT", "projectName: guestbook", "projectName: library");
            let version = format!("cliVersion: {}", env!("CARGO_PKG_VERSION"));
            base.replace("PROJECT", &version, "cliVersion: 0.3.0-rc.1");
            base.rscaffold(&format!("update --exclude {FILE}"));
            assert_eq!(base.read(FILE), before);
            assert!(base.read("PROJECT").contains(&version));
            // The next command brings the file up to date.
            base.rscaffold("apply");
            assert_ne!(base.read(FILE), before);
        }
        ("version", "-o") => {
            let printed = base.run("version -o json").stdout;
            let version: Value = serde_json::from_str(&printed).expect("JSON");
            assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
            assert_eq!(
                base.run("version -o text").stdout,
                base.run("version").stdout
            );
        }
        other => panic!("{other:?}"),
    }
}

/// Checks that a flag adds a kind, and with `--force` replaces the former kind.
fn replaces(base: &Project, command: &str, flag: &str, former: &str) {
    for (force, stays) in [("", true), ("--force", false)] {
        let project = base.copy();
        project.rscaffold(&format!("{command} {flag} {force}"));
        let (file, added) = (project.read("PROJECT"), flag.split(' ').next_back());
        assert!(file.contains(added.expect("a kind")), "{flag}: {file}");
        assert_eq!(file.contains(former), stays, "{flag} {force}: {file}");
    }
}

#[test]
fn flags() {
    let page = read("docs/commands.md");
    let headings = page.lines().filter(|line| line.starts_with("## "));
    let mut count = 0;
    for heading in headings {
        let section = section(&page, heading);
        if !section.contains("\n| flag | default |") {
            continue;
        }
        // The common flags belong to no command.
        let command = first_code(heading).trim_start_matches("rscaffold").trim();
        for row in rows(section) {
            let flag = first_code(row[0])
                .split([' ', ','])
                .next()
                .unwrap_or_default();
            let named: BTreeSet<_> = code(row[3]).collect();
            if named.is_empty() {
                does(command, flag);
            } else {
                sets(command, flag, &named);
            }
            count += 1;
        }
    }
    assert!(count > 50, "{count} rows");
}
