//! Tests that docs/from-go.md is correct: its names exist in the code, its example compiles, its markers produce the
//! CRD that it shows, its commands and flags exist, and the features that it lists as missing do not exist.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
    path::PathBuf,
    process::Command,
};

use serde_json::Value;

use crate::{
    compile::{cargo, pin, scaffolded, target_folder},
    document::{code, first_code, read, section, tables},
    help::{commands, flags, help},
    operator::kubectl,
    scaffold::{rscaffold, run},
};

const MARKERS: &str = "## Markers";
const MISSING: &str = "## What has no counterpart yet";

/// The imports for the names in the column "here": rustdoc looks the names up as in a controller with these lines.
const SCOPE: &str = "
use std::sync::Arc;
use kube_manager::*;
use kube::{*, api::*, core::*};
use kube::runtime::{reflector::*, wait::await_condition};
";

const TYPES: &str = "src/api/<group>/<version>/<kind>.rs";
const CONTROLLER: &str = "src/controller/<group>/<kind>.rs";

/// The imports that types with all of the page's markers need, besides the imports of generated types.
const IMPORTS: &str = "
use k8s_openapi::apimachinery::pkg::{apis::meta::v1::Time, util::intstr::IntOrString};
use schemars::JsonSchema;
use std::collections::BTreeMap;
";

fn page() -> String {
    read("docs/from-go.md")
}

/// The project that the page describes.
struct Project(PathBuf);

impl Project {
    fn scaffold(name: &str, runtime: &str) -> Self {
        let project = Self(scaffolded(name).unwrap());
        let page = page();
        let create = "rscaffold create api --group";
        let create = code(section(&page, "## One reconciler, twice"))
            .find(|code| code.starts_with(create))
            .unwrap_or_else(|| panic!("there is no `{create}`"));
        let create = create.strip_prefix("rscaffold ").unwrap();
        let init = format!(
            "init --domain com --project-name from-go --enable grafana,helm --runtime {runtime}"
        );
        let hook = "create webhook --group webapp --version v1 --kind Guestbook --defaulting";
        for command in [&init, create, hook] {
            rscaffold(&project.0, command);
        }
        pin(&project.0).unwrap();
        project
    }

    /// Returns the path in this project for a path on the page.
    fn path(&self, path: &str) -> PathBuf {
        let path = path
            .replace("<group>", "webapp")
            .replace("<version>", "v1")
            .replace("<kind>", "guestbook")
            .replace("<project name>", "from-go");
        self.0.join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.path(path), text).unwrap();
    }
}

/// Returns whether `code` is a command or a flag, and so neither a path nor a name.
fn is_command(code: &str) -> bool {
    ["rscaffold ", "make ", "--"]
        .iter()
        .any(|start| code.starts_with(start))
}

/// Checks with rustdoc that all names of the tables exist. rustdoc looks up names of the generated code in the file
/// that the page says, even if they are private, and all other names as in a controller.
#[test]
fn names_are_found_where_the_page_says() {
    let project = Project::scaffold("names", "vendored");
    let page = page();
    let page = page.replace(section(&page, MARKERS), "");
    let rows = tables(&page).concat();
    assert!(rows.len() > 50, "{}", rows.len());
    let mut links = BTreeMap::<_, BTreeSet<_>>::new();
    for row in &rows {
        for cell in &row[1..] {
            let mut file = None;
            for code in code(cell).filter(|code| !is_command(code)) {
                if project.path(code).is_file() {
                    file = Some(code);
                    continue;
                }
                assert!(!code.contains('/'), "there is no file `{code}`: {row:?}");
                // rustdoc treats anything else as plain text, and ignores it.
                let path_like = |c: char| c.is_ascii_alphanumeric() || "_:()!".contains(c);
                assert!(code.chars().all(path_like), "`{code}` is no path: {row:?}");
                let of_a_crate = ["kube::", "k8s_openapi::"];
                let of_a_crate = of_a_crate.iter().any(|start| code.starts_with(start));
                match file.filter(|_| !of_a_crate) {
                    None => {
                        let links = links.entry("src/lib.rs").or_default();
                        links.insert(code.to_owned());
                    }
                    Some(file) if file.contains("src/") => {
                        let links = links.entry(file).or_default();
                        links.insert(format!("super::{code}"));
                    }
                    Some(file) => {
                        let there = project.read(file).contains(code);
                        assert!(there, "`{code}` is not in its file: {row:?}");
                    }
                }
            }
        }
    }

    for (file, links) in links {
        let mut text = project.read(file);
        text += "\nmod names {\n";
        for link in links {
            writeln!(text, "//! [`{link}`]\n//!").unwrap();
        }
        let scope = if file.starts_with("src/") {
            SCOPE.to_owned()
        } else {
            SCOPE.replace("kube_manager", "crate")
        };
        project.write(file, &(text + &scope + "}\n"));
    }
    let options = "doc --quiet --lib --no-deps --document-private-items";
    for package in ["", " --package kube-manager"] {
        run(cargo(&project.0)
            .args(format!("{options}{package}").split(' '))
            .env("RUSTDOCFLAGS", "-D rustdoc::broken_intra_doc_links"));
    }
}

/// Replaces items in `text` with the items of `code` that have the same first lines.
fn replace_items(text: &mut String, code: &str) {
    const END: &str = "\n}\n";
    for item in code.split_inclusive(END).map(str::trim_start) {
        let first = item.lines().next().unwrap();
        let start = text.find(&format!("\n{first}\n"));
        let start = start.unwrap_or_else(|| panic!("no `{first}` is generated")) + 1;
        let end = start + text[start..].find(END).unwrap() + END.len();
        text.replace_range(start..end, item);
    }
}

/// A row of the table of markers.
struct Marker<'a> {
    row: &'a [&'a str],
    /// The field that has the marker. Without a field, the marker belongs to the struct.
    field: Option<&'a str>,
    /// The part of the CRD that the marker produces.
    gives: Value,
}

/// Returns types with all attributes and fields of the table, and the marker of each row.
fn types<'a>(rows: &'a [Vec<&'a str>], generated: &str) -> (String, Vec<Marker<'a>>) {
    let (mut of_the_struct, mut fields, mut items) = (String::new(), String::new(), String::new());
    let markers = rows.iter().map(|row| {
        let mut field = None;
        for code in code(row[1]) {
            let named = code.split_once(": ").map(|(name, _)| name);
            let named =
                named.filter(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
            if code.starts_with("#[derive(") || code.starts_with("#[kube(") {
                writeln!(of_the_struct, "{code}").unwrap();
            } else if code.starts_with("#[") || code.starts_with("///") {
                writeln!(fields, "{code}").unwrap();
            } else if code.starts_with("enum ") {
                items += "#[derive(JsonSchema, Clone, Debug, Deserialize, Serialize)]\npub ";
                writeln!(items, "{code}").unwrap();
            } else if code.starts_with("fn ") {
                writeln!(items, "{code}").unwrap();
            } else if named.is_some() {
                field = named;
                writeln!(fields, "pub {code},").unwrap();
            } else {
                panic!("`{code}` cannot be tried: {row:?}");
            }
        }
        let gives = serde_yaml::from_str(first_code(row[2])).unwrap();
        Marker { row, field, gives }
    });
    let markers = markers.collect();
    let (imports, _) = generated.split_once("/// The desired state.").unwrap();
    let (_, status) = generated.split_once("/// The observed state.").unwrap();
    let spec = format!(
        "{of_the_struct}#[serde(rename_all = \"camelCase\")]\npub struct GuestbookSpec {{\n{fields}}}"
    );
    let text = format!("{imports}{IMPORTS}\n{spec}\n{items}{status}");
    (text, markers)
}

/// Returns whether `value` contains everything in `part`.
fn says(value: &Value, part: &Value) -> bool {
    match (value, part) {
        (Value::Object(value), Value::Object(part)) => part
            .iter()
            .all(|(key, part)| value.get(key).is_some_and(|value| says(value, part))),
        (Value::Array(value), Value::Array(part)) => part
            .iter()
            .all(|part| value.iter().any(|value| says(value, part))),
        // 1 may be written as 1.0.
        (Value::Number(value), Value::Number(part)) => value.as_f64() == part.as_f64(),
        _ => value == part,
    }
}

/// Returns whether `value`, or any value inside it, contains everything in `part`.
fn has(value: &Value, part: &Value) -> bool {
    says(value, part)
        || match value {
            Value::Object(value) => value.values().any(|value| has(value, part)),
            Value::Array(value) => value.iter().any(|value| has(value, part)),
            _ => false,
        }
}

#[test]
fn the_example_compiles_and_markers_give_the_crd_that_is_shown() {
    let project = Project::scaffold("markers", "registry");
    let page = page();

    let (_, example) = page.split_once("```rust\n").expect("the example");
    let (example, _) = example.split_once("```\n").expect("its end");
    let mut controller = project.read(CONTROLLER);
    replace_items(&mut controller, example);
    project.write(CONTROLLER, &controller);

    let rows = tables(section(&page, MARKERS)).concat();
    let (text, markers) = types(&rows, &project.read(TYPES));
    project.write(TYPES, &text);

    run(cargo(&project.0).args(["run", "--quiet", "--", "manifests"]));
    let operator = run(Command::new(target_folder(&project.0).join("debug/from-go")).arg("--help"));

    let path = project.path("config/crd/bases/webapp.com_guestbooks.yaml");
    let crd = fs::read_to_string(&path).unwrap();
    let mut crd: Value = serde_yaml::from_str(&crd).unwrap();
    let schema = std::mem::take(&mut crd["spec"]["versions"][0]["schema"]);
    let spec = &schema["openAPIV3Schema"]["properties"]["spec"];
    assert!(markers.len() > 30, "{}", markers.len());
    for Marker { row, field, gives } in markers {
        let there = match field {
            Some(field) => has(&spec["properties"][field], &gives) || says(spec, &gives),
            None => has(&crd, &gives),
        };
        assert!(
            there,
            "{row:?} is not what the CRD says:\n{crd:#?}{spec:#?}"
        );
    }
    // The API server accepts all markers together. Another test may have installed a CRD of this name.
    let apply = "apply --server-side --force-conflicts --dry-run=server -f";
    run(kubectl(apply).arg(&path));

    commands_and_flags(&page, &flags(&operator).into_keys().collect());
    variables(&operator);
}

/// Checks that docs/layout.md has the flags of an operator and their variables. `help` is the help text of the
/// operator.
fn variables(help: &str) {
    let layout = read("docs/layout.md");
    let rows = tables(section(&layout, "## The operator's command line")).concat();
    let documented = rows.iter().map(|row| {
        let flag = first_code(row[0]);
        let name = flag.trim_start_matches('-').split([' ', '[']).next();
        let name = name.unwrap_or_default().to_uppercase().replace('-', "_");
        // The page names these two exceptions.
        let variable = match &*name {
            "KUBECONFIG" => String::new(),
            "LOG_LEVEL" => "RUST_LOG".to_owned(),
            _ => format!("KUBE_MANAGER_{name}"),
        };
        (flag, variable)
    });
    let (_, options) = help.split_once("\nOptions:").expect("options");
    let names = options.match_indices("\n      --").map(|(at, _)| {
        let (name, text) = options[at..].trim_start().split_once('\n').expect("a text");
        let text = text.split("\n      --").next().unwrap_or_default();
        let variable = text.split_once("[env: ").map(|(_, rest)| rest);
        let variable = variable.and_then(|rest| rest.split(['=', ']']).next());
        (name, variable.unwrap_or_default().to_owned())
    });
    let (documented, names): (BTreeMap<_, _>, BTreeMap<_, _>) =
        (documented.collect(), names.collect());
    assert!(names.len() > 10, "{help}");
    assert_eq!(documented, names);
}

/// Checks that the commands and flags of the page exist, and that those listed as missing do not exist. `operator` has
/// the flags of an operator, as its help prints them.
fn commands_and_flags(page: &str, operator: &BTreeSet<String>) {
    let all = commands("");
    let has_flag = |flags: &BTreeSet<String>, flag: &str| {
        let mut names = flags.iter().map(|text| text.split(['[', ' ']));
        names.any(|mut words| words.any(|word| word == flag))
    };
    let flags_of = |command: &str| flags(&help(command)).into_keys().collect::<BTreeSet<_>>();
    let mut known = operator.clone();
    known.extend(all.iter().flat_map(|command| flags_of(command)));

    let missing = section(page, MISSING);
    for row in tables(missing).concat() {
        for code in code(row[0]) {
            assert!(!has_flag(&known, code), "it is there: {row:?}");
            let command = code.strip_prefix("kubebuilder ");
            let there = command.is_some_and(|command| all.iter().any(|known| known == command));
            assert!(!there, "it is there: {row:?}");
        }
    }

    let page = page.replace(section(page, MARKERS), "");
    for row in tables(&page).concat() {
        for code in row[1..].iter().flat_map(|cell| code(cell)) {
            if code.starts_with("--") {
                assert!(has_flag(&known, code), "there is no `{code}`: {row:?}");
            } else if let Some(line) = code.strip_prefix("rscaffold ") {
                let command = line.split(" --").next().unwrap_or_default();
                assert!(all.iter().any(|known| known == command), "{row:?}");
                let known = flags_of(command);
                for word in line.split(' ').filter(|word| word.starts_with("--")) {
                    let flag = word.split('=').next().unwrap_or_default();
                    assert!(has_flag(&known, flag), "there is no `{code}`: {row:?}");
                }
            }
        }
    }
}
