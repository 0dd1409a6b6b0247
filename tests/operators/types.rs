//! Tests what Rust types mean to an API server: what it stores, serde reads as it was written, and what it cannot store
//! as it was written, it refuses.

use std::{collections::BTreeSet, fs, net::Ipv4Addr, path::Path, time::Duration};

use k8s_openapi::{
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::Time, util::intstr::IntOrString},
    jiff::Timestamp,
};
use serde_json::{Value, json};

use crate::{
    compile::{cargo, make},
    operator::{Project, kubectl, kubectl_succeeds, kubectl_waits},
    project::tree,
    random::Random,
    scaffold::{refused, run},
    shapes::{
        Adjacent, AdjacentScalar, Amount, CHECKED_BY_SERDE_ALONE, External, Flattened,
        FlattenedBoth, FlattenedExternal, FlattenedMap, FlattenedOptional, FlattenedStruct,
        FlattenedTwice, Level, Nested, Percent, Port, Settings, Shapes, Source, Untagged,
    },
};

/// How many objects are written.
const OBJECTS: usize = 120;

/// How often each object is changed.
const CHANGES: usize = 3;

const CRD: &str = "shapes.types.example.com";

/// The kind whose spec gets the types.
const COMMANDS: [&str; 2] = [
    "init --domain example.com",
    "create api --group types --version v1 --kind Shape --controller=false",
];
const FILE: &str = "src/api/types/v1/shape.rs";

/// A test of the page's example, which has the object that the API server stored.
const READ_BY_SERDE: &str = r#"
#[cfg(test)]
mod tests {
    #[test]
    fn serde_reads_the_stored_object_as_it_was_sent() {
        let sent: super::SiteSpec = serde_json::from_str(include_str!("sent.json")).unwrap();
        let stored: super::SiteSpec = serde_json::from_str(include_str!("stored.json")).unwrap();
        assert_eq!(stored, sent);
    }
}
"#;

#[test]
fn an_api_server_stores_what_serde_reads_and_refuses_the_rest() {
    let project = Project::scaffold("types", &COMMANDS);
    let types = include_str!("../../crates/kube-manager/src/schema/tests/shapes.rs");
    let shapes = project.path().join("src/api/types/v1/shapes.rs");
    fs::write(shapes, types).expect("a writable file");
    let documented = project.path().join("src/api/types/v1/documented.rs");
    fs::write(&documented, code("rust")).expect("a writable file");
    project.edit(
        "src/api/types/v1/mod.rs",
        "pub mod shape;",
        "pub mod documented;\npub mod shape;\npub mod shapes;",
    );
    project.edit(
        FILE,
        "    pub title: String,",
        "    pub title: String,\n\n    pub shapes: super::shapes::Shapes,\n\n    pub documented: Option<super::documented::SiteSpec>,",
    );
    project.compile();
    run(kubectl("apply --server-side -f").arg(project.path().join("config/crd/bases")));
    kubectl_waits(&format!("--for=condition=Established crd/{CRD}"));
    kubectl_succeeds(&format!("get {CRD}"));

    let object = format!(
        "apiVersion: types.example.com/v1\nkind: Shape\nmetadata:\n  name: documented\nspec:\n  title: a\n  \
         shapes: {{}}\n  documented:\n{}",
        indented(&code("yaml"))
    );
    let stored =
        run(kubectl("create --dry-run=server --output=json -f").arg(project.manifest(&object)));
    let stored: Value = serde_json::from_str(&stored).expect("JSON");
    let stored = stored["spec"]["documented"].to_string();
    let sent: Value = serde_yaml::from_str(&code("yaml")).expect("YAML");
    for (name, text) in [("sent.json", sent.to_string()), ("stored.json", stored)] {
        fs::write(documented.with_file_name(name), text).expect("a writable file");
    }
    fs::write(&documented, code("rust") + READ_BY_SERDE).expect("a writable file");
    run(cargo(project.path()).args(["test", "--quiet", "--locked", "--lib", "serde_reads"]));

    let mut random = Random(45);
    let written: Vec<Shapes> = (0..OBJECTS).map(|_| shapes_of(&mut random)).collect();
    let values: Vec<Value> = written.iter().map(json_of).collect();
    let stored = store(&project, &values);
    assert_eq!(stored.len(), OBJECTS);
    for (index, value) in stored {
        assert_eq!(read(&value).as_ref(), Some(&written[index]), "{value}");
    }

    // Values that were changed at random: whatever the API server stores of them, serde reads as it was sent and as it
    // is stored, but for what a schema cannot say.
    let changed: Vec<Value> = (0..CHANGES)
        .flat_map(|_| &values)
        .map(|value| {
            let mut changed = value.clone();
            change(&mut changed, &mut random);
            changed
        })
        .collect();
    let (stored, says) = create(&project, &changed);
    let refused = changed.len() - stored.len();
    let unread = changed.iter().filter(|value| read(value).is_none()).count();
    assert!(
        refused > changed.len() / 10 && refused < changed.len() && unread > changed.len() / 10,
        "{refused} are refused, serde refuses {unread}: {says}"
    );
    for (index, value) in stored {
        let sent = &changed[index];
        // An API server replaces the null of a field that has a default.
        for taken in [without_nulls(sent), value] {
            let read: Result<Shapes, _> = serde_json::from_value(without_checks_of_serde(&taken));
            assert!(read.is_ok(), "{read:?}: {sent}: {taken}");
        }
    }

    for (shapes, reason) in REFUSED {
        let shapes: Value = serde_json::from_str(shapes).expect("JSON");
        let (stored, refused) = create(&project, std::slice::from_ref(&shapes));
        assert!(stored.is_empty(), "{shapes}");
        assert!(refused.contains(reason), "{reason}: {refused}");
    }
}

#[test]
fn types_without_a_schema_end_make_manifests_and_the_tests() {
    let project = Project::scaffold("types-without-schema", &COMMANDS);
    let title = "    pub title: String,";
    let tuple = "    pub range: (u8, u8),";
    project.edit(FILE, title, &format!("{title}\n\n{tuple}"));
    ends(
        project.path(),
        "an API server would refuse the CRDs:\n  Shape v1: spec.range: a tuple has no schema",
    );

    project.edit(FILE, tuple, "    pub nodes: Vec<Node>,");
    let recursive = "#[derive(KubeSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]\n\
                     pub struct Node {\n    pub children: Vec<Node>,\n}\n\n";
    let status = "/// The observed state.";
    project.edit(FILE, status, &format!("{recursive}{status}"));
    ends(
        project.path(),
        "a type that derives `KubeSchema` contains itself",
    );
}

/// Checks that `make manifests` ends with `message` and writes nothing, and that the test of the project fails.
fn ends(project: &Path, message: &str) {
    // cargo removes from Cargo.lock what the project does not use.
    let files = || {
        let mut files = tree(project);
        files.remove(Path::new("Cargo.lock"));
        files
    };
    let before = files();
    let told = refused(&mut make(project, "manifests"));
    assert!(told.contains(&format!("Error: {message}")), "{told}");
    assert!(told.contains("manifests] Error 1"), "{told}");
    assert!(files() == before, "{told}");
    let mut test = cargo(project);
    test.args([
        "test",
        "--quiet",
        "--locked",
        "--lib",
        "an_api_server_takes_the_crds",
    ]);
    let tested = test.output().expect("cargo runs");
    let told = String::from_utf8_lossy(&tested.stdout);
    assert!(!tested.status.success(), "{told}");
    assert!(told.contains(&format!("Error: {message}")), "{told}");
}

/// The examples in a language of the page about types.
fn code(language: &str) -> String {
    let page = include_str!("../../docs/types.md");
    let mut all = String::new();
    for block in page.split(&format!("```{language}\n")).skip(1) {
        all.push_str(block.split("```").next().unwrap_or_default());
    }
    assert!(!all.is_empty(), "no example in {language}");
    all
}

/// `text` as the value of a field of a field.
fn indented(text: &str) -> String {
    let mut indented = String::new();
    for line in text.lines() {
        indented.extend(["    ", line, "\n"]);
    }
    indented
}

/// Values that are refused, and why.
const REFUSED: &[(&str, &str)] = &[
    (
        r#"{"tagged": {"kind": "git"}}"#,
        "url is required when kind is git or inline",
    ),
    (
        r#"{"tagged": {"kind": "git", "url": "a", "text": "b"}}"#,
        "text is allowed only when kind is inline",
    ),
    (
        r#"{"list": [{"kind": "newtype"}]}"#,
        "in is required when kind is newtype",
    ),
    (r#"{"tagged": {"kind": "svn"}}"#, "Unsupported value"),
    (
        r#"{"adjacent": {"type": "First", "value": {"a": 1}}}"#,
        "value.shared is required when type is First or Second",
    ),
    (
        r#"{"port": 65536}"#,
        "should be less than or equal to 65535",
    ),
    (
        r#"{"amount": 8589934592}"#,
        "should be less than or equal to 2147483647",
    ),
    (
        r#"{"middle": 4294967296}"#,
        "should be less than or equal to 4294967295",
    ),
    (
        r#"{"large": 18446744073709551615}"#,
        "must be of type int64",
    ),
    (
        r#"{"by_number": {"one": "a"}}"#,
        "each key must be a number without a sign",
    ),
    (
        r#"{"flattened": {"name": "a", "kind": "nothing"}}"#,
        "flattened",
    ),
];

/// Sends an object for each of `values`. Returns what the API server would store, with the index of the value, and what
/// it says of the others.
fn create(project: &Project, values: &[Value]) -> (Vec<(usize, Value)>, String) {
    let output = kubectl("create --dry-run=server --validate=false --output=json -f")
        .arg(project.manifest(&list(values)))
        .output()
        .expect("kubectl runs");
    let stored = values_in(&output.stdout);
    (stored, String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Stores an object for each of `values`, reads all of them, and deletes them.
fn store(project: &Project, values: &[Value]) -> Vec<(usize, Value)> {
    let manifest = project.manifest(&list(values));
    run(kubectl("create --validate=false -f").arg(&manifest));
    let stored = run(&mut kubectl(&format!(
        "get {CRD} --namespace=default --output=json"
    )));
    run(kubectl("delete -f").arg(&manifest));
    values_in(stored.as_bytes())
}

/// The manifest of an object for each of `values`.
fn list(values: &[Value]) -> String {
    let items: Vec<Value> = values
        .iter()
        .enumerate()
        .map(|(index, shapes)| {
            json!({
                "apiVersion": "types.example.com/v1",
                "kind": "Shape",
                "metadata": {"name": format!("shape-{index}"), "namespace": "default"},
                "spec": {"title": "a", "shapes": shapes},
            })
        })
        .collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

/// The values in the objects that kubectl shows, each with its index.
fn values_in(objects: &[u8]) -> Vec<(usize, Value)> {
    let mut values = Vec::new();
    let documents = serde_json::Deserializer::from_slice(objects).into_iter::<Value>();
    for document in documents {
        let document = document.expect("JSON");
        let objects = match document["items"].as_array() {
            Some(items) => items.clone(),
            None => vec![document],
        };
        for object in objects {
            let name = object["metadata"]["name"].as_str().expect("a name");
            let index = name.strip_prefix("shape-").expect("a name of this test");
            values.push((
                index.parse().expect("a number"),
                object["spec"]["shapes"].clone(),
            ));
        }
    }
    values
}

/// `shapes` without the fields of which a schema says less than serde checks.
fn without_checks_of_serde(shapes: &Value) -> Value {
    let mut rest = shapes.clone();
    if let Some(fields) = rest.as_object_mut() {
        fields.retain(|name, _| !CHECKED_BY_SERDE_ALONE.contains(&name.as_str()));
    }
    rest
}

/// `shapes` without the fields that are null.
fn without_nulls(shapes: &Value) -> Value {
    let mut rest = shapes.clone();
    if let Some(fields) = rest.as_object_mut() {
        fields.retain(|_, field| !field.is_null());
    }
    rest
}

/// What serde reads.
fn read(value: &Value) -> Option<Shapes> {
    serde_json::from_value(value.clone()).ok()
}

fn json_of(shapes: &Shapes) -> Value {
    serde_json::to_value(shapes).expect("shapes are JSON")
}

/// Removes a value in `value`, or replaces it by another one.
fn change(value: &mut Value, random: &mut Random) {
    let others = [
        json!(null),
        json!("text"),
        json!(-1),
        json!(300),
        // A number without a fraction would be an integer to an API server, however it is written.
        json!(2.5),
        json!(true),
        json!([]),
        json!({}),
        json!({"kind": "git"}),
    ];
    let is_last = random.below(4) == 0;
    match value {
        Value::Object(fields) if !fields.is_empty() && !is_last => {
            let names: Vec<String> = fields.keys().cloned().collect();
            let name = &names[random.below(names.len())];
            if random.below(6) == 0 {
                fields.remove(name);
            } else {
                change(&mut fields[name], random);
            }
        }
        Value::Array(items) if !items.is_empty() && !is_last => {
            let index = random.below(items.len());
            change(&mut items[index], random);
        }
        _ => *value = others[random.below(others.len())].clone(),
    }
}

fn text(random: &mut Random) -> String {
    random
        .one(&["", "a", "it's", "main", "null", "1", "ä\n"])
        .to_owned()
}

fn maybe<T>(random: &mut Random, value: impl Fn(&mut Random) -> T) -> Option<T> {
    (random.below(3) > 0).then(|| value(random))
}

fn many<T>(random: &mut Random, value: impl Fn(&mut Random) -> T) -> Vec<T> {
    (0..random.below(3)).map(|_| value(random)).collect()
}

fn middle(random: &mut Random) -> u32 {
    random.one(&[0, 7, u32::MAX])
}

fn settings(random: &mut Random) -> Settings {
    Settings {
        r#in: text(random),
        a_b: maybe(random, middle),
        namespace: maybe(random, text),
    }
}

fn source(random: &mut Random) -> Source {
    match random.below(4) {
        0 => Source::Git {
            url: text(random),
            branch: text(random),
        },
        1 => Source::Inline {
            url: text(random),
            text: text(random),
        },
        2 => Source::Newtype(settings(random)),
        _ => Source::Nothing,
    }
}

fn adjacent(random: &mut Random) -> Adjacent {
    let shared = random.below(2) == 0;
    match random.below(4) {
        0 => Adjacent::First {
            a: random.byte(),
            shared,
        },
        1 => Adjacent::Second {
            b: maybe(random, text),
            shared,
        },
        2 => Adjacent::Third(settings(random)),
        _ => Adjacent::Nothing,
    }
}

fn scalar(random: &mut Random) -> AdjacentScalar {
    // The largest integer that the API server takes.
    let most = u64::try_from(i64::MAX).expect("a positive number");
    match random.below(2) {
        0 => AdjacentScalar::First(random.one(&[0, most])),
        _ => AdjacentScalar::Second(1),
    }
}

fn port(random: &mut Random) -> Port {
    match random.below(2) {
        0 => Port::Number(random.one(&[0, 80, u16::MAX])),
        _ => Port::Name(text(random)),
    }
}

fn amount(random: &mut Random) -> Amount {
    match random.below(2) {
        0 => Amount::Number(random.one(&[i32::MIN, 0, i32::MAX])),
        _ => Amount::Name(text(random)),
    }
}

fn untagged(random: &mut Random) -> Untagged {
    match random.below(2) {
        0 => Untagged::Address {
            url: text(random),
            timeout: maybe(random, middle),
        },
        _ => Untagged::Name {
            name: text(random),
            timeout: maybe(random, middle),
            branch: text(random),
        },
    }
}

fn external(random: &mut Random) -> External {
    match random.below(3) {
        0 => External::Git { url: text(random) },
        1 => External::Inline(settings(random)),
        _ => External::Nothing {},
    }
}

fn flattened(random: &mut Random) -> Flattened {
    Flattened {
        name: text(random),
        source: source(random),
        external: external(random),
    }
}

fn flattened_optional(random: &mut Random) -> FlattenedOptional {
    FlattenedOptional {
        name: text(random),
        source: maybe(random, source),
    }
}

fn flattened_twice(random: &mut Random) -> FlattenedTwice {
    FlattenedTwice {
        source: maybe(random, source),
        adjacent: maybe(random, adjacent),
    }
}

fn flattened_external(random: &mut Random) -> FlattenedExternal {
    FlattenedExternal {
        external: maybe(random, external),
    }
}

fn flattened_both(random: &mut Random) -> FlattenedBoth {
    FlattenedBoth {
        external: maybe(random, external),
        untagged: maybe(random, untagged),
    }
}

fn nested(random: &mut Random) -> Nested {
    match random.below(2) {
        0 => Nested::Inner(source(random)),
        _ => Nested::List {
            items: many(random, source),
        },
    }
}

fn flattened_map(random: &mut Random) -> FlattenedMap {
    let others = many(random, |random| {
        (random.one(&["x", "y"]).to_owned(), json!(text(random)))
    });
    FlattenedMap {
        name: text(random),
        others: others.into_iter().collect(),
    }
}

fn number_or_text(random: &mut Random) -> IntOrString {
    match random.below(2) {
        0 => IntOrString::Int(random.one(&[i32::MIN, 0, i32::MAX])),
        _ => IntOrString::String(text(random)),
    }
}

fn level(random: &mut Random) -> Level {
    random.one(&[Level::Low, Level::High])
}

fn shapes_of(random: &mut Random) -> Shapes {
    Shapes {
        tagged: maybe(random, source),
        list: many(random, source),
        map: many(random, |random| (text(random), source(random)))
            .into_iter()
            .collect(),
        adjacent: maybe(random, adjacent),
        scalar: maybe(random, scalar),
        port: maybe(random, port),
        ports: many(random, port),
        amount: maybe(random, amount),
        untagged: maybe(random, untagged),
        external: maybe(random, external),
        flattened: maybe(random, flattened),
        flattened_optional: maybe(random, flattened_optional),
        flattened_twice: maybe(random, flattened_twice),
        flattened_external: maybe(random, flattened_external),
        flattened_both: maybe(random, flattened_both),
        nested: maybe(random, nested),
        level: maybe(random, level),
        levels: many(random, level).into_iter().collect::<BTreeSet<_>>(),
        by_level: many(random, |random| (level(random), text(random)))
            .into_iter()
            .collect(),
        by_number: many(random, |random| (middle(random), text(random)))
            .into_iter()
            .collect(),
        by_signed: many(random, |random| {
            (random.one(&[i64::MIN, -1, 0]), source(random))
        })
        .into_iter()
        .collect(),
        small: random.byte(),
        middle: maybe(random, middle),
        large: random.one(&[0, 1 << 62]),
        signed: random.one(&[i8::MIN, 0, i8::MAX]),
        size: random.below(1000),
        float: random.one(&[0.0, -1.5, 1e10]),
        character: maybe(random, |random| random.one(&['a', 'ä', '\''])),
        address: maybe(random, |_| Ipv4Addr::LOCALHOST.into()),
        array: maybe(random, |random| [random.byte(), 0, 1]),
        open: maybe(random, |random| random.one(&[1, 2]).into()),
        flattened_struct: maybe(random, |random| FlattenedStruct {
            name: text(random),
            settings: settings(random),
        }),
        flattened_map: maybe(random, flattened_map),
        // A schema cannot tell a null from a field that is missing.
        twice: maybe(random, |random| Some(random.byte())),
        quantity: maybe(random, |random| {
            Quantity(random.one(&["500m", "2Gi", "1"]).to_owned())
        }),
        number_or_text: maybe(random, number_or_text),
        time: maybe(random, |random| {
            let time = random.one(&["1970-01-01T00:00:00Z", "2026-02-28T23:59:59Z"]);
            Time(time.parse::<Timestamp>().expect("a time"))
        }),
        duration: maybe(random, |random| {
            let time = random.one(&[Duration::ZERO, Duration::from_millis(90_500)]);
            time.into()
        }),
        percent: Percent(random.byte()),
        number32: random.one(&[i32::MIN, 0, i32::MAX]),
        number64: random.one(&[i64::MIN, 0, i64::MAX]),
        number16: random.one(&[0, u16::MAX]),
        // The largest integer that the API server takes.
        number128: random.one(&[0, i64::MAX.unsigned_abs().into()]),
        enabled: random.below(2) == 0,
        double: random.one(&[0.0, -0.1, 1e300]),
    }
}
