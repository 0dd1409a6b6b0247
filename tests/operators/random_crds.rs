//! Tests that a project keeps random CRDs, with all that the API server takes in one. The manifest that the compiled
//! code writes equals the given CRD, except for the differences that rscaffold printed, and the API server gives the
//! same answers to both.
//!
//! `SEED=7` draws other CRDs, and `CRDS=100` more of them.

mod draw;

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::Path,
    process::{Command, Output},
    slice,
};

use rscaffold::crd;
use serde_json::{Value, json};
use tempfile::TempDir;

use self::draw::{GROUPS, KINDS, draw_crd, draw_object};
use crate::{
    compile::{cargo, clippy, pin, scaffolded, target_folder},
    losses::{LOSSES, is_printed},
    manifests::documents,
    operator::{kubectl, kubectl_succeeds, kubectl_waits},
    random::Random,
    scaffold::{rscaffold, run},
};

/// The number of CRDs in `make test`.
const USUAL: u64 = 25;

/// The number of objects for each version of a CRD.
const OBJECTS: usize = 12;

fn variable(name: &str, usual: u64) -> u64 {
    let text = env::var(name).unwrap_or_default();
    text.parse().unwrap_or(usual)
}

/// A part of the line about versions that only the CRD serves.
const NOT_SERVED: &str = "not served, unlike in the CRD";

/// A CRD, and the differences that rscaffold printed.
struct Given {
    crd: Value,
    printed: Vec<String>,
    /// Whether a webhook of the project converts between its versions.
    is_converted: bool,
}

impl Given {
    fn name(&self) -> &str {
        self.crd["metadata"]["name"].as_str().expect("a name")
    }

    fn group(&self) -> &str {
        self.crd["spec"]["group"].as_str().expect("a group")
    }

    fn file(&self) -> String {
        let plural = self.crd["spec"]["names"]["plural"].as_str();
        format!("{}_{}.yaml", self.group(), plural.expect("a plural"))
    }

    /// The lines that rscaffold has printed about the version of this name, or about the whole CRD.
    fn printed_about(&self, version: &str) -> impl Iterator<Item = &String> {
        let mut others: Vec<_> = versions(&self.crd).iter().map(name_of).collect();
        others.retain(|name| *name != version);
        let lines = self.printed.iter();
        lines.filter(move |line| {
            let first = line.split([' ', ':']).next().unwrap_or_default();
            !others.contains(&first)
        })
    }

    fn has_printed(&self, version: &str, text: &str) -> bool {
        self.printed_about(version).any(|line| line.contains(text))
    }
}

fn versions(crd: &Value) -> &[Value] {
    crd["spec"]["versions"].as_array().expect("versions")
}

fn name_of(version: &Value) -> &str {
    version["name"].as_str().expect("a name")
}

#[test]
fn random_crds_are_kept_or_their_losses_are_printed() {
    let (seed, count) = (variable("SEED", 0), variable("CRDS", USUAL));
    println!("SEED={seed}");
    let folder = scaffolded("all").expect("a folder");
    rscaffold(
        &folder,
        "init --runtime registry --domain example.com --repo random --disable agents,github",
    );
    let mut random = Random(seed);
    let mut all = Vec::new();
    for number in 0..count {
        all.push(take(&folder, draw_crd(&mut random, number)));
    }
    compile(&folder);
    let out = TempDir::new().expect("a temporary folder");
    run(Command::new(target_folder(&folder).join("debug/random"))
        .args(["manifests", "--out"])
        .arg(out.path()));
    let mut pairs = Vec::new();
    for given in all {
        let path = format!("config/crd/bases/{}", given.file());
        let [predicted, written] = [&folder, out.path()]
            .map(|folder: &Path| fs::read_to_string(folder.join(&path)).expect("a manifest"));
        assert!(
            predicted == written,
            "{path}:\n{}",
            diffy::create_patch(&predicted, &written)
        );
        let written = documents(&written).remove(0);
        differences_are_printed(&given, &written);
        pairs.push((given, written));
    }
    the_api_server_gives_the_same_answers(&pairs, &mut random);
}

/// The code of a controller uses more names than the types do.
#[test]
fn kinds_with_names_of_the_code_around_them_have_controllers() {
    let folder = scaffolded("controllers").expect("a folder");
    rscaffold(
        &folder,
        "init --runtime registry --domain example.com --repo names --disable agents,github",
    );
    for (kind, number) in KINDS.into_iter().zip(0..) {
        if kind.starts_with(char::is_uppercase) {
            let command = format!("create api --group names --version v1 --kind {kind}");
            rscaffold(&folder, &command);
        } else {
            let crd = draw_crd(&mut Random(0), number).to_string();
            fs::write(folder.join("given.yaml"), crd).expect("a writable file");
            rscaffold(&folder, "create api --crd given.yaml");
        }
    }
    pin(&folder).expect("a copy of the lock file");
    run(&mut clippy(&folder, &["--all-targets"]));
}

/// Adds the kind of a CRD to the project, and checks that a second time changes nothing.
fn take(folder: &Path, crd: Value) -> Given {
    let file = folder.join("given.yaml");
    fs::write(&file, serde_json::to_string_pretty(&crd).expect("JSON")).expect("a writable file");
    let command = "create api --controller=false --crd given.yaml";
    let dry = rscaffold(folder, &format!("{command} --dry-run")).stderr;
    println!("{dry}");
    let (_, notes) = dry
        .split_once("differences from the CRD:\n")
        .unwrap_or_default();
    let lines = notes.lines().take_while(|line| line.starts_with("  "));
    let mut printed: Vec<_> = lines.map(|line| line.trim().to_owned()).collect();
    for line in &printed {
        let of_version = versions(&crd).iter().find_map(|version| {
            let rest = line.strip_prefix(name_of(version))?;
            rest.strip_prefix(": ").or_else(|| rest.strip_prefix(' '))
        });
        let line = of_version.unwrap_or(line);
        assert!(
            LOSSES.iter().any(|(_, text)| is_printed(text, line)),
            "docs/crds.md has no row for this line: {line}"
        );
    }
    printed.extend(
        dry.lines()
            .filter(|line| line.contains("nothing converts") || line.contains(NOT_SERVED))
            .map(str::to_owned),
    );
    rscaffold(folder, command);
    let again = rscaffold(folder, command).stderr;
    assert!(again.starts_with("nothing to do"), "{crd:#}: {again}");
    // A conversion has names of fields, too.
    let is_converted = versions(&crd).len() > 1 && crd["spec"]["scope"] == "Cluster";
    if is_converted {
        let kind = crd["spec"]["names"]["kind"].as_str().expect("a kind");
        let group = crd["spec"]["group"].as_str().expect("a group");
        let webhook =
            format!("create webhook --group {group} --version v1 --kind {kind} --conversion");
        rscaffold(folder, &webhook);
        rscaffold(folder, &format!("{command} --force"));
    }
    fs::remove_file(file).expect("the file");
    Given {
        crd,
        printed,
        is_converted,
    }
}

fn compile(folder: &Path) {
    pin(folder).expect("a copy of the lock file");
    run(cargo(folder).args(["fmt", "--check"]));
    run(&mut clippy(folder, &["--all-targets"]));
    run(cargo(folder).args(["build", "--quiet"]));
    run(cargo(folder).args(["test", "--quiet", "--lib"]));
}

/// Checks that each difference of the written manifest from the given CRD was printed.
fn differences_are_printed(given: &Given, written: &Value) {
    let crds = [&given.crd, written].map(|crd| {
        crd::parse("crd.yaml", &crd.to_string())
            .expect("a CRD")
            .remove(0)
    });
    let [wanted, made] = &crds;
    for version in &wanted.versions {
        let mut made = made.versions.iter();
        let Some(made) = made.find(|made| made.name == version.name) else {
            panic!("{}: {} is missing", given.name(), version.name);
        };
        for loss in crd::compare(&version.schema, &made.schema) {
            let text = loss.to_string();
            assert!(
                given.has_printed(&version.name, &text),
                "{}, {}: {text}: {:#?}",
                given.name(),
                version.name,
                given.printed
            );
        }
    }
    let [wanted, made] = [&given.crd, written].map(outside_of_schemas);
    let paths: BTreeSet<_> = wanted.keys().chain(made.keys()).collect();
    for path in paths {
        let (wanted, made) = (wanted.get(path), made.get(path));
        let (version, field) = path.split_once(' ').unwrap_or(("", path));
        let text = match field {
            "/spec/names/listKind" => "`listKind` is",
            "/served" if wanted == Some(&json!(true)) => NOT_SERVED,
            "/served" => "`served` is true",
            field if field.starts_with("/subresources/scale") => "`scale` is left out",
            field => match field.strip_prefix("/metadata/annotations/") {
                Some("controller-gen.kubebuilder.io~1version") => continue,
                Some("kube-manager~1conversion") => "nothing converts between them",
                Some(name) => &format!("the annotation `{}`", name.replace("~1", "/")),
                None => field,
            },
        };
        assert!(
            wanted == made || given.has_printed(version, text),
            "{}: {path}: {wanted:?} became {made:?}: {:#?}",
            given.name(),
            given.printed
        );
    }
}

/// All values of a CRD that are not in a schema, by their paths. The path of a value of a version begins with the name
/// of the version.
fn outside_of_schemas(crd: &Value) -> BTreeMap<String, Value> {
    let mut top = crd.clone();
    let mut values = BTreeMap::new();
    for version in versions(crd) {
        let mut rest = version.clone();
        rest.as_object_mut().expect("an object").remove("schema");
        flatten(&format!("{} ", name_of(version)), &rest, &mut values);
    }
    let spec = top["spec"].as_object_mut().expect("an object");
    spec.remove("versions");
    spec.remove("conversion");
    spec.remove("preserveUnknownFields");
    let names = spec["names"].as_object_mut().expect("an object");
    let kind = names["kind"].as_str().expect("a kind").to_owned();
    // The API server adds these names.
    names
        .entry("listKind")
        .or_insert_with(|| format!("{kind}List").into());
    names
        .entry("singular")
        .or_insert_with(|| kind.to_lowercase().into());
    flatten("", &top, &mut values);
    values
}

fn flatten(path: &str, value: &Value, values: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                flatten(
                    &format!("{path}/{}", name.replace('/', "~1")),
                    value,
                    values,
                );
            }
        }
        value => _ = values.insert(path.to_owned(), value.clone()),
    }
}

/// Creates both CRDs of each pair, in two groups, and random objects of each kind in both groups.
fn the_api_server_gives_the_same_answers(pairs: &[(Given, Value)], random: &mut Random) {
    let mut installed = Vec::new();
    let mut objects = Vec::new();
    for (given, written) in pairs {
        let [one, other] =
            [(&given.crd, "given"), (written, "taken")].map(|(crd, group)| in_group(crd, group));
        let answers = [&one, &other].map(|crd| {
            let output = kubectl_create(slice::from_ref(crd), "--dry-run=server");
            (
                output.status.success(),
                String::from_utf8_lossy(&output.stderr).into_owned(),
            )
        });
        assert_eq!(answers[0].0, answers[1].0, "{answers:?}");
        println!("{answers:?}");
        if !answers[0].0 {
            continue;
        }
        for version in versions(written) {
            let is_served = versions(&given.crd)
                .iter()
                .any(|of_given| of_given["name"] == version["name"] && of_given["served"] == true);
            let has_webhook =
                given.is_converted || given.crd["spec"]["conversion"]["strategy"] == "Webhook";
            let needs_webhook = has_webhook && version["storage"] != true;
            if version["served"] != true
                || needs_webhook
                || !is_served
                || differs_for_clients(given, name_of(version))
            {
                continue;
            }
            for number in 0..OBJECTS {
                let schema = &version["schema"]["openAPIV3Schema"];
                let mut object = draw_object(random, schema);
                object["apiVersion"] = json!(format!("{}/{}", given.group(), name_of(version)));
                object["kind"] = given.crd["spec"]["names"]["kind"].clone();
                object["metadata"]["name"] = json!(format!("{}-{number}", name_of(version)));
                objects.push(object);
            }
        }
        installed.extend([one, other]);
    }
    assert!(
        installed.len() > pairs.len(),
        "the API server takes most CRDs"
    );
    let created = kubectl_create(&installed, "");
    assert!(
        created.status.success(),
        "{}",
        String::from_utf8_lossy(&created.stderr)
    );
    let mut names = String::new();
    let mut served = Vec::new();
    for crd in &installed {
        names.push(' ');
        names.push_str(crd["metadata"]["name"].as_str().expect("a name"));
        let (plural, group) = (&crd["spec"]["names"]["plural"], &crd["spec"]["group"]);
        for version in versions(crd).iter().filter(|it| it["served"] == true) {
            let (plural, group) = (plural.as_str(), group.as_str());
            let (plural, group) = (plural.expect("a plural"), group.expect("a group"));
            served.push(format!("{plural}.{}.{group}", name_of(version)));
        }
    }
    kubectl_waits(&format!("--for=condition=Established crd{names}"));
    kubectl_succeeds(&format!("get {}", served.join(",")));
    let [one, other] = ["given", "taken"].map(|group| {
        let objects: Vec<_> = objects
            .iter()
            .map(|object| in_group(object, group))
            .collect();
        answers(
            &kubectl_create(&objects, "--dry-run=server --validate=false --output=json"),
            group,
        )
    });
    assert!(!one.accepted.is_empty() && !one.refused.is_empty());
    println!(
        "{} accepted, {} refused",
        one.accepted.len(),
        one.refused.len()
    );
    assert_eq!(one.refused, other.refused);
    assert_eq!(one.accepted, other.accepted);
    // Each CRD would use the processor of the API server until it ends.
    run(&mut kubectl(&format!("delete crd --wait=false{names}")));
}

/// Whether rscaffold has printed a difference that clients notice: another one than that each object has a spec, which
/// [`draw_object`] gives it.
fn differs_for_clients(given: &Given, version: &str) -> bool {
    const HARMLESS: [&str; 9] = [
        "`spec` is required",
        "`metadata` is not required",
        "`listKind`",
        "`description`",
        "`title`",
        "the annotation",
        "nothing converts",
        "the conversion by a webhook",
        NOT_SERVED,
    ];
    let mut lines = given.printed_about(version);
    lines.any(|line| !HARMLESS.iter().any(|text| line.contains(text)))
}

/// `manifest` with another group, which begins with `start`.
fn in_group(manifest: &Value, start: &str) -> Value {
    let mut text = manifest.to_string();
    for group in GROUPS {
        text = text.replace(group, &format!("{start}.{group}"));
    }
    serde_json::from_str(&text).expect("JSON")
}

fn kubectl_create(manifests: &[Value], flags: &str) -> Output {
    let folder = TempDir::new().expect("a temporary folder");
    let file = "list.json";
    let list = json!({"apiVersion": "v1", "kind": "List", "items": manifests});
    fs::write(folder.path().join(file), list.to_string()).expect("a writable file");
    let mut create = kubectl("create");
    create.args(flags.split_whitespace()).args(["-f", file]);
    // The answers name the file, so its path is a short one.
    create
        .current_dir(folder.path())
        .output()
        .expect("kubectl runs")
}

/// The answers of the API server to requests for objects.
struct Answers {
    accepted: Vec<Value>,
    refused: Vec<Vec<String>>,
}

/// The answers for objects of the groups that begin with `start`.
fn answers(output: &Output, start: &str) -> Answers {
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|text| {
        let mut text = String::from_utf8_lossy(text).into_owned();
        for group in GROUPS {
            text = text.replace(&format!("{start}.{group}"), group);
        }
        text
    });
    let objects = serde_json::Deserializer::from_str(&stdout).into_iter::<Value>();
    let mut accepted: Vec<_> = objects.map(|object| object.expect("JSON")).collect();
    for object in &mut accepted {
        let metadata = object["metadata"].as_object_mut().expect("metadata");
        metadata.retain(|name, _| name == "name");
    }
    // The API server lists the reasons in any order.
    let refused = stderr.lines().map(|line| {
        let (object, reasons) = line.split_once(" is invalid: ").unwrap_or((line, ""));
        let reasons = reasons.trim_start_matches('[').trim_end_matches(']');
        let mut parts: Vec<_> = reasons.split(", ").map(str::to_owned).collect();
        parts.push(object.to_owned());
        parts.sort();
        parts
    });
    Answers {
        accepted,
        refused: refused.collect(),
    }
}
