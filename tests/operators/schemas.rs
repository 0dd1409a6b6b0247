//! Tests that the check of `make manifests` and a real API server give the same verdicts on random schemas, most of which
//! have a fault.
//!
//! `SCHEMAS=5000` draws more of them, and `SEED=7` others.

use std::{collections::BTreeMap, env, fs, slice};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_manager::schema;
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
    strategy::ValueTree,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use regex_lite::Regex;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::operator::kubectl;

/// The number of schemas in `make test`.
const USUAL: u64 = 1000;

/// The most requests that look for a smaller schema with the same difference.
const MOST_STEPS: usize = 200;

const GROUP: &str = "schemas.example.com";

/// What a message of the API server has when only an API server finds the fault.
const OF_SERVER: &str = "cost";

/// What it has when a default breaks a rule.
const BROKEN: [&str; 2] = ["failed rule", "evaluating rule"];

/// The functions in rules that kube-cel lacks, so that no default is compared with the rule.
const UNKNOWN: [&str; 5] = ["bool(", "dyn(", "isURL(", "type(", "url("];

/// What it has when a text does not match a pattern.
const DOES_NOT_MATCH: &str = " in body should match '";

/// The keys that kube writes at the root of a kind.
const AT_ROOT: [&str; 5] = [
    "description",
    "properties",
    "required",
    "type",
    "x-kubernetes-validations",
];

#[test]
fn the_check_and_an_api_server_give_the_same_verdicts() {
    let [seed, count] = [("SEED", 0), ("SCHEMAS", USUAL)].map(|(name, usual)| {
        let text = env::var(name).unwrap_or_default();
        text.parse().unwrap_or(usual)
    });
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    let strategy = crds();
    let mut trees: Vec<_> = (0..count)
        .map(|_| strategy.new_tree(&mut runner).expect("a CRD"))
        .collect();
    let crds: Vec<Value> = trees.iter().map(ValueTree::current).collect();
    let verdicts = verdicts(&crds);
    let refused = verdicts
        .iter()
        .filter(|verdict| verdict.of_server.is_some());
    let refused = refused.count();
    assert!(
        refused > crds.len() / 10 && refused < crds.len() * 9 / 10,
        "{refused} of {} are refused",
        crds.len()
    );
    let broken = |reasons: &&String| reasons.contains("failed rule");
    let reasons = verdicts
        .iter()
        .filter_map(|verdict| verdict.of_server.as_ref());
    let broken = reasons.filter(broken).count();
    assert!(broken > crds.len() / 50, "{broken} defaults break a rule");
    let mut differences = BTreeMap::new();
    for (tree, verdict) in trees.iter_mut().zip(&verdicts) {
        if verdict.differ() && differences.len() < 8 {
            let (crd, verdict) = smallest(tree);
            let text = format!(
                "{crd}\n  check: {:?}\n  server: {:?}",
                verdict.of_check, verdict.of_server
            );
            differences.insert(text.len(), text);
        }
    }
    let texts: Vec<String> = differences.into_values().collect();
    assert!(texts.is_empty(), "{}", texts.join("\n\n"));
}

/// Why a CRD is refused; `None` if it is taken.
struct Verdict {
    of_check: Option<String>,
    of_server: Option<String>,
}

impl Verdict {
    fn differ(&self) -> bool {
        match (&self.of_check, &self.of_server) {
            (None, Some(reasons)) => !split(reasons).into_iter().all(is_of_server),
            (Some(_), None) => true,
            _ => false,
        }
    }
}

/// Whether only an API server finds the fault. A pattern may have more than the crate `regex-lite` reads, and a rule more
/// than kube-cel.
fn is_of_server(reason: &str) -> bool {
    let has = |parts: &[&str]| parts.iter().any(|part| reason.contains(part));
    match reason.split_once(DOES_NOT_MATCH) {
        Some((_, pattern)) => Regex::new(pattern.trim_end_matches('\'')).is_err(),
        None => reason.contains(OF_SERVER) || has(&BROKEN) && has(&UNKNOWN),
    }
}

/// The reasons of an API server. It puts several into a list.
fn split(reasons: &str) -> Vec<&str> {
    reasons
        .split("\n* ")
        .flat_map(|part| part.split(", spec."))
        .collect()
}

/// The smallest schema that proptest finds with a difference.
fn smallest(tree: &mut impl ValueTree<Value = Value>) -> (Value, Verdict) {
    let mut found = tree.current();
    let mut moves = tree.simplify();
    for _ in 0..MOST_STEPS {
        if !moves {
            break;
        }
        let crd = tree.current();
        let differs = verdicts(slice::from_ref(&crd)).remove(0).differ();
        if differs {
            found = crd;
        }
        moves = if differs {
            tree.simplify()
        } else {
            tree.complicate()
        };
    }
    let verdict = verdicts(slice::from_ref(&found)).remove(0);
    (found["spec"].take(), verdict)
}

fn verdicts(crds: &[Value]) -> Vec<Verdict> {
    let items: Vec<Value> = crds
        .iter()
        .enumerate()
        .map(|(index, crd)| {
            let mut named = crd.clone();
            let plural = format!("schemas{index}");
            named["metadata"] = json!({"name": format!("{plural}.{GROUP}")});
            named["spec"]["names"]["plural"] = json!(plural);
            named
        })
        .collect();
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("list.json");
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    fs::write(&file, list.to_string()).expect("a writable file");
    let output = kubectl("create --dry-run=server --validate=false --output=name -f")
        .arg(&file)
        .output()
        .expect("kubectl runs");
    let [taken, refused] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    let mut verdicts = Vec::new();
    for item in items {
        let name = item["metadata"]["name"]
            .as_str()
            .expect("a name")
            .to_owned();
        let parts = ["\nThe CustomResourceDefinition ", "\nError from server"];
        let text = format!("\n{refused}").replace(parts[1], parts[0]);
        let of_server = text
            .split(parts[0])
            .find(|part| part.contains(&format!("\"{name}\"")));
        let is_taken = taken
            .lines()
            .any(|line| line.ends_with(&format!("/{name}")));
        let reasons = match of_server {
            Some(text) => {
                let (_, reasons) = text.split_once("is invalid: ").unwrap_or(("", text));
                Some(reasons.trim_start_matches("\n* ").trim().to_owned())
            }
            None => (!is_taken).then(|| "no answer".to_owned()),
        };
        let typed: CustomResourceDefinition = serde_json::from_value(item).expect("a CRD");
        verdicts.push(Verdict {
            of_check: schema::check(&[typed.into()])
                .err()
                .map(|faults| faults.to_string()),
            of_server: reasons,
        });
    }
    verdicts
}

/// CRDs whose schemas are structural, but for up to three changes.
fn crds() -> BoxedStrategy<Value> {
    let changes = vec((any::<Index>(), select(changes())), 0..4);
    let short_names = select(vec![
        json!([]),
        json!(["sc"]),
        json!(["Sc"]),
        json!(["s_c"]),
    ]);
    let names = prop_oneof![9 => Just(json!([])), 1 => short_names];
    let shown = prop_oneof![9 => Just("{}"), 1 => select(SHOWN)];
    (types(), changes, any::<bool>(), names, shown)
        .prop_map(|(spec, changes, has_status, short_names, shown)| {
            let mut root = json!({"type": "object", "properties": {"spec": spec}});
            for (index, (key, value)) in changes {
                let mut places: Vec<String> = Vec::new();
                collect("", &root, &mut places);
                let path = &places[index.index(places.len())];
                // The API server does not check the defaults of a map's values.
                let is_in_map = key == "default" && path.contains("additionalProperties");
                if is_in_map || path.is_empty() && !AT_ROOT.contains(&key) {
                    continue;
                }
                let place = root.pointer_mut(path).expect("a schema");
                // No Rust type has values of two forms. An API server fails if rules of such values differ.
                let has_one_form = match key {
                    "items" => place["type"] == "array",
                    "x-kubernetes-int-or-string" => !place["default"].is_number(),
                    _ => true,
                };
                if has_one_form {
                    place[key] = value;
                }
            }
            let subresources = if has_status {
                json!({"status": {}})
            } else {
                json!({})
            };
            let mut version = json!({
                "name": "v1",
                "served": true,
                "storage": true,
                "subresources": subresources,
                "schema": {"openAPIV3Schema": root},
            });
            let shown: Value = serde_json::from_str(shown).expect("an object");
            for (key, value) in shown.as_object().into_iter().flatten() {
                version[key] = value.clone();
            }
            json!({
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "spec": {
                    "group": GROUP,
                    "scope": "Namespaced",
                    "names": {"kind": "Schema", "shortNames": short_names},
                    "versions": [version],
                },
            })
        })
        .boxed()
}

/// The JSON pointers of a schema and of all schemas in it.
fn collect(path: &str, schema: &Value, places: &mut Vec<String>) {
    places.push(path.to_owned());
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let name = name.replace('~', "~0").replace('/', "~1");
        collect(&format!("{path}/properties/{name}"), field, places);
    }
    for key in ["items", "additionalProperties"] {
        if schema[key].is_object() {
            collect(&format!("{path}/{key}"), &schema[key], places);
        }
    }
}

/// Structural schemas.
fn types() -> BoxedStrategy<Value> {
    let unruled = select(vec![
        json!({"type": "string"}),
        json!({"type": "integer", "format": "int32"}),
        json!({"type": "boolean"}),
        json!({"type": "number"}),
        json!({"x-kubernetes-int-or-string": true}),
        json!({"x-kubernetes-preserve-unknown-fields": true}),
    ]);
    let leaf = prop_oneof![4 => unruled, 1 => ruled()];
    let names = select(vec![
        "a", "name", "metadata", "kind", "in", "a-b", "$x", "a__b",
    ]);
    leaf.prop_recursive(3, 10, 3, move |inner| {
        let fields = proptest::collection::btree_map(names.clone(), inner.clone(), 0..4);
        prop_oneof![
            3 => fields.prop_map(|fields| json!({"type": "object", "properties": fields})),
            1 => inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            1 => inner.prop_map(|values| {
                let values = without_defaults(values);
                json!({"type": "object", "additionalProperties": values})
            }),
        ]
    })
    .boxed()
}

/// The API server does not check the defaults of a map's values.
fn without_defaults(mut schema: Value) -> Value {
    let mut places = Vec::new();
    collect("", &schema, &mut places);
    for place in places {
        let place = schema.pointer_mut(&place).and_then(Value::as_object_mut);
        place.expect("a schema").remove("default");
    }
    schema
}

/// Schemas of a value with a default and a CEL rule that compiles.
fn ruled() -> impl Strategy<Value = Value> {
    let mut ruled = Vec::new();
    for (schema, defaults, rules) in RULED {
        let schema: Value = serde_json::from_str(schema).expect("a schema");
        let defaults: Vec<Value> = serde_json::from_str(defaults).expect("a list");
        for rule in *rules {
            for default in &defaults {
                let mut schema = schema.clone();
                schema["default"] = default.clone();
                let is_optional = rule.contains("oldSelf.");
                schema["x-kubernetes-validations"] = if is_optional {
                    json!([{"rule": rule, "optionalOldSelf": true}])
                } else {
                    json!([{"rule": rule}])
                };
                ruled.push(schema);
            }
        }
    }
    select(ruled)
}

/// A key of a schema, and a value for it: some are right only in some schemas, others nowhere.
fn changes() -> Vec<(&'static str, Value)> {
    let mut changes = Vec::new();
    for (key, values) in CHANGES {
        let values: Vec<Value> = serde_json::from_str(values).expect("a list");
        changes.extend(values.into_iter().map(|value| (*key, value)));
    }
    for rule in RULES {
        let rules = json!([{"rule": rule}]);
        changes.push(("x-kubernetes-validations", rules));
    }
    for pattern in PATTERNS {
        changes.push(("pattern", json!(pattern)));
    }
    for parts in PARTS {
        let parts: Value = serde_json::from_str(parts).expect("a list");
        for key in ["allOf", "anyOf", "oneOf"] {
            changes.push((key, parts.clone()));
        }
        changes.push(("not", parts[0].clone()));
    }
    changes
}

/// What selects or shows fields.
const SHOWN: &[&str] = &[
    r#"{"selectableFields": [{"jsonPath": ".spec"}]}"#,
    r#"{"selectableFields": [{"jsonPath": ".spec.a"}]}"#,
    r#"{"selectableFields": [{"jsonPath": ".spec.missing"}]}"#,
    r#"{"selectableFields": [{"jsonPath": ".spec.a"}, {"jsonPath": ".spec.a"}]}"#,
    r#"{"selectableFields": [{"jsonPath": "spec"}]}"#,
    r#"{"selectableFields": [{"jsonPath": ".spec[0]"}]}"#,
    r#"{"selectableFields": [{"jsonPath": ".metadata.name"}]}"#,
    r#"{"additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".spec", "format": "byte"}]}"#,
    r#"{"additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".spec", "format": "odd"}]}"#,
    r#"{"additionalPrinterColumns": [{"name": "A", "type": "odd", "jsonPath": "spec"}]}"#,
    r#"{"additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".spec[?(@.a=="}]}"#,
    r#"{"additionalPrinterColumns": [{"name": "", "type": "string", "jsonPath": ".spec"}]}"#,
    r#"{"deprecated": true, "deprecationWarning": "a"}"#,
    r#"{"deprecated": true, "deprecationWarning": ""}"#,
    r#"{"deprecated": true, "deprecationWarning": "a\nb"}"#,
    r#"{"subresources": {"scale": {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a"}}}"#,
    r#"{"subresources": {"scale": {"specReplicasPath": ".status.a", "statusReplicasPath": ".status.a"}}}"#,
    r#"{"subresources": {"scale": {"specReplicasPath": "spec.a", "statusReplicasPath": ".status.a"}}}"#,
    r#"{"subresources": {"scale": {"specReplicasPath": ".spec.a", "statusReplicasPath": ".spec.a"}}}"#,
    r#"{"subresources": {"scale": {"specReplicasPath": ".spec.a[0]", "statusReplicasPath": ".status.a", "labelSelectorPath": ""}}}"#,
    r#"{"subresources": {"scale": {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a", "labelSelectorPath": ".spec.b"}}}"#,
    r#"{"subresources": {"scale": {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a", "labelSelectorPath": ".metadata.name"}}}"#,
];

/// A type, its defaults, and its rules. Some rules have no value for some defaults.
const RULED: &[(&str, &str, &[&str])] = &[
    (
        r#"{"type": "string"}"#,
        r#"["", "a", "A", "abc", "7", "10s"]"#,
        &[
            "self.size() > 1",
            "self == 'a' || self in ['7', 'A']",
            "self.matches('^[a-z]+$')",
            "self.lowerAscii() == self",
            "self.startsWith('a') ? self.endsWith('c') : true",
            "int(self) > 5",
            "duration(self) > duration('1s')",
            "self.split(',').all(part, part.trim().size() > 0)",
            "self.find('[0-9]+') != ''",
            "self.charAt(0) == 'a'",
            "self == oldSelf",
            "self != oldSelf",
            "oldSelf.hasValue() || self.size() > 0",
            "!oldSelf.hasValue() || self.size() > 0",
            "oldSelf.orValue('a') == self",
            "quantity(self).isGreaterThan(quantity('1'))",
            "isQuantity(self)",
        ],
    ),
    (
        r#"{"type": "integer"}"#,
        "[0, 1, 7]",
        &[
            "self > 0",
            "self % 2 == 1 && self < 5",
            "7 / self > 1",
            "self - oldSelf == 0",
            "self > oldSelf",
            "double(self) > 0.5",
            "self in [1, 7]",
            "oldSelf.orValue(0) < self",
        ],
    ),
    (
        r#"{"type": "number"}"#,
        "[0.25, 0.5, 7.5]",
        &["self > 0.1", "self < 1.0 || self == 7.5", "int(self) == 0"],
    ),
    (
        r#"{"type": "boolean"}"#,
        "[true, false]",
        &["self", "!self"],
    ),
    (
        r#"{"type": "array", "items": {"type": "string"}}"#,
        r#"[[], ["a"], ["b", "a"]]"#,
        &[
            "self.size() > 0",
            "self.all(item, item.size() == 1)",
            "self.exists_one(item, item == 'a')",
            "self[0] == 'b'",
            "self.isSorted()",
            "'a' in self",
            "self.map(item, item + 'x').exists(item, item == 'ax')",
            "self.filter(item, item != 'a').size() == 0",
            "sets.contains(self, ['a'])",
            "self.indexOf('a') == 1",
        ],
    ),
    (
        r#"{"type": "object", "properties": {"a": {"type": "string"}, "n": {"type": "integer"}}}"#,
        r#"[{}, {"a": "x"}, {"n": 1}, {"a": "", "n": 7}]"#,
        &[
            "has(self.a)",
            "has(self.a) == has(self.n)",
            "self.n > 1",
            "!has(self.n) || self.n > 1",
            "has(self.a) && self.a != ''",
            "self == oldSelf",
        ],
    ),
    (
        r#"{"type": "object", "properties": {"a": {"type": "string", "x-kubernetes-validations": [{"rule": "self != ''"}]}}}"#,
        r#"[{}, {"a": "x"}, {"a": ""}]"#,
        &["true", "size(self.a) == 1"],
    ),
    (
        r#"{"type": "object", "properties": {"a": {"type": "string", "default": "y"}}}"#,
        r#"[{}, {"a": "x"}, {"a": "y"}]"#,
        &["has(self.a)", "self.a == 'y'"],
    ),
    (
        r#"{"type": "object", "properties": {"a": {"type": "string", "nullable": true}, "n": {"type": "string", "nullable": true, "enum": ["x"]}}}"#,
        r#"[{}, {"a": null}, {"n": null}, {"n": "x", "a": "y"}]"#,
        &[
            "true",
            "has(self.a) == has(self.n)",
            "!has(self.a) || self.a == 'y'",
        ],
    ),
    (
        r#"{"type": "object", "additionalProperties": {"type": "string"}}"#,
        r#"[{}, {"a": "x"}, {"b": ""}]"#,
        &[
            "self.all(key, key == 'a')",
            "self['a'] == 'x'",
            "'b' in self",
            "self.exists(key, self[key] == '')",
        ],
    ),
    (
        r#"{"x-kubernetes-int-or-string": true}"#,
        r#"[1, "a", "1"]"#,
        &["string(self) == '1'", "self == 1 || self == 'a'"],
    ),
];

const CHANGES: &[(&str, &str)] = &[
    (
        "type",
        r#"["", "null", "object", "array", "string", "integer", "text"]"#,
    ),
    (
        "items",
        r#"[{}, {"type": "string"}, {"type": "string", "nullable": true}, {"type": "array", "items": {"type": "string"}},
            {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
            {"type": "object", "properties": {"name": {"type": "string", "default": ""}}},
            {"type": "object", "properties": {"name": {"type": "object"}}, "x-kubernetes-map-type": "atomic"}]"#,
    ),
    (
        "properties",
        r#"[{}, {"a": {}}, {"metadata": {"type": "object"}}, {"kind": {"type": "integer"}},
            {"metadata": {"type": "object", "description": "a"}},
            {"metadata": {"type": "object", "properties": {"name": {"type": "string", "pattern": "a"}}}},
            {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}]"#,
    ),
    (
        "additionalProperties",
        r#"[true, false, {"type": "string"}, {}]"#,
    ),
    ("nullable", "[true]"),
    (
        "default",
        r#"[null, 1, 1.5, -1, "a", "", true, [], ["a"], ["a", "a"], [1], [null], {}, {"a": "x"}, {"a": 1}, {"a": null},
            {"name": null}, 18446744073709551615, 9223372036854775807]"#,
    ),
    ("enum", r#"[["a"], ["a", "a"], [1, 2], [], [null]]"#),
    ("minimum", "[0, 3]"),
    ("maximum", "[2, 2.5, 18446744073709551615]"),
    ("exclusiveMinimum", "[true]"),
    ("exclusiveMaximum", "[true]"),
    ("multipleOf", "[2, 0]"),
    ("minLength", "[1]"),
    ("maxLength", "[0]"),
    ("minItems", "[1]"),
    ("maxItems", "[0]"),
    ("minProperties", "[1]"),
    ("maxProperties", "[0]"),
    ("required", r#"[["a"], ["missing"], ["a", "a"], []]"#),
    ("format", r#"["date-time", "odd", "int32", "byte"]"#),
    ("title", r#"["a"]"#),
    ("description", r#"["a"]"#),
    ("example", r#"["a"]"#),
    ("uniqueItems", "[true, false]"),
    ("$ref", r##"["#/a"]"##),
    ("id", r#"["a"]"#),
    ("definitions", r#"[{"a": {"type": "string"}}]"#),
    ("dependencies", r#"[{"a": ["b"]}]"#),
    ("patternProperties", r#"[{"a": {"type": "string"}}]"#),
    ("additionalItems", "[true]"),
    ("x-kubernetes-preserve-unknown-fields", "[true, false]"),
    ("x-kubernetes-int-or-string", "[true, false]"),
    ("x-kubernetes-embedded-resource", "[true, false]"),
    (
        "x-kubernetes-list-type",
        r#"["atomic", "set", "map", "map", "odd"]"#,
    ),
    (
        "x-kubernetes-list-map-keys",
        r#"[["name"], ["name"], ["name", "name"], ["missing"], []]"#,
    ),
    ("x-kubernetes-map-type", r#"["atomic", "granular", "odd"]"#),
    (
        "x-kubernetes-validations",
        r#"[[{"rule": ""}], [{"rule": "true", "message": " "}], [{"rule": "true", "message": "a\nb"}],
            [{"rule": "true\n&& true"}], [{"rule": "true", "reason": "odd"}], [{"rule": "true", "reason": "FieldValueInvalid"}],
            [{"rule": "true", "optionalOldSelf": true}], [{"rule": "self == oldSelf", "message": "a"}],
            [{"rule": "true", "messageExpression": " "}], [{"rule": "true", "messageExpression": "'a'"}],
            [{"rule": "true", "messageExpression": "self.size()"}], [{"rule": "true", "messageExpression": "self.a"}],
            [{"rule": "true", "messageExpression": "'a' + string(size(self))"}], [{"rule": "true", "messageExpression": "'a"}],
            [{"rule": "!oldSelf.hasValue() || self == oldSelf.value()", "optionalOldSelf": true}],
            [{"rule": "oldSelf.orValue(self) == self", "optionalOldSelf": true}],
            [{"rule": "oldSelf == self", "optionalOldSelf": true}], [{"rule": "oldSelf.hasValue()"}],
            [{"rule": "true", "fieldPath": ".a"}], [{"rule": "true", "fieldPath": ".missing"}],
            [{"rule": "true", "fieldPath": "a"}], [{"rule": "true", "fieldPath": "['a']"}],
            [{"rule": "true", "fieldPath": ".a.a"}], [{"rule": "true", "fieldPath": "[0]"}],
            [{"rule": "true", "fieldPath": ".a[0]"}], [{"rule": "true", "fieldPath": ""}],
            [{"rule": "true", "fieldPath": ".name"}]]"#,
    ),
];

const RULES: &[&str] = &[
    "true",
    "self == self",
    "self == oldSelf",
    "!has(self.a) || self.a == self.a",
    "has(self.name)",
    "has(self.missing)",
    "self.all(item, item == item)",
    "self.exists(item, self.size() > 1 && item in ['a', \"b\", r'\\d'])",
    "self.a.all(a, a.matches('^\\\\d+$'))",
    "has(self.__in__) ? self.__in__ == self.__in__ : true",
    "has(self.in)",
    "has(self.a__dash__b) && has(self.a__underscores__b)",
    "self.metadata.name.startsWith('a')",
    "self[0] == 'a' && [1, 2, -3,].size() == 3 && {'a': 1}.a == 1",
    "self.?a.orValue('b') == 'b' || optional.none().hasValue()",
    "size(self) > 1 && self.size() < 5u && 1.5 >= -1e3",
    "self.a == 'b' // a comment",
    "cel.bind(x, self, x == x)",
    "sets.contains([1], [1])",
    "format.dns1123Label().validate('a').hasValue()",
    "type(self) == string",
    "self",
    "self ==",
    "== self",
    "self self",
    "(self == self",
    "self == self)",
    "[1, 2",
    "self.",
    "self.a.(b)",
    "self = self",
    "self & self",
    "self == 'a",
    "self == 'a\\d'",
    "self == \"a\nb\"",
    "request.a == 1",
    "a == 1",
    "oldself == self",
    "unknown(self)",
    "true ? true",
    "true : true",
    "size(,)",
    "size(self,) > 0",
    "()",
    "[] == []",
    "{} == {}",
    "self in [self]",
    "in self",
    "#",
    "1 + 'a' == 2",
    "!true || !!true",
    "--1 == 1",
    "true || false && !(1 < 2)",
    "self.a > 1",
    "self.a > 'a'",
    "self.a == null",
    "self == null",
    "self.name == self.a",
    "self.a + 1 == 2",
    "self.a + 'b' == 'ab'",
    "self.size() > 1",
    "size(self.a) > 1",
    "self.a.startsWith('a')",
    "self.a.startsWith(1)",
    "self.startsWith('a', 'b')",
    "self.a.missing()",
    "missing(self)",
    "sets.missing([1], [1])",
    "self.a ? true : false",
    "true ? self.a : 'a'",
    "!self.a",
    "-self.a == 1",
    "self.a && true",
    "self.a in ['a']",
    "'a' in self.a",
    "'a' in self",
    "self['a'] == 'a'",
    "self[0] == self[1]",
    "self.map(item, item).size() == 1",
    "self.map(item, item + 'a').exists(item, item == 'a')",
    "self.filter(item, item == 'a').size() == 1",
    "self.filter(item, item).size() == 1",
    "self.exists_one(item, item > 1)",
    "self.all(key, self[key] == 'a')",
    "self.all(index, item, index >= 0 && item == item)",
    "self.a.exists(a, a)",
    "[1, 'a'].size() == 2",
    "[1, 2.5].size() == 2",
    "{'a': 1, 'b': 'c'}.size() == 2",
    "{'a': 1}['a'] == 1 && {1: 'a'}[1] == 'a'",
    "1 < 2.5 && 1u < 2",
    "1 == 1.0",
    "1 + 1.0 == 2.0",
    "5 % 2 == 1 && 5.0 / 2.0 > 2.0",
    "5.0 % 2.0 == 1.0",
    "'a' + 'b' < 'c' && 'a' * 2 == 'aa'",
    "b'a' + b'b' == b'ab'",
    "[1] + [2] == [1, 2]",
    "[1] + ['a'] == []",
    "duration('1h') + duration('1h') > duration('1s')",
    "timestamp('2024-01-01T00:00:00Z') - duration('1h') < timestamp('2024-01-01T00:00:00Z')",
    "timestamp('2024-01-01T00:00:00Z') + timestamp('2024-01-01T00:00:00Z') == 1",
    "self.a < duration('1h')",
    "self.a.getFullYear() > 2000",
    "duration(self.a) > duration('1h')",
    "int(self.a) == 1",
    "string(self.a) == '1'",
    "bool(self.a)",
    "double(self.a) > 1.5",
    "dyn(self.a) == 1",
    "quantity('1').isLessThan(quantity('2'))",
    "quantity('1').add(1) == quantity('2')",
    "isQuantity(self.a) && isIP(self.a) && isCIDR(self.a)",
    "ip('127.0.0.1').isLoopback() && ip.isCanonical('127.0.0.1')",
    "cidr('10.0.0.0/8').containsIP('10.0.0.1')",
    "url('https://a').getHost() == 'a' && isURL('a')",
    "semver('1.0.0').compareTo(semver('1.0.1')) < 0",
    "['a', 'b'].join(',') == 'a,b' && 'a'.split(',').size() == 1",
    "[1, 2].sum() == 3 && [1, 2].max() == 2 && [1].isSorted()",
    "[1, 2].indexOf(1) == 0 && 'a'.indexOf('a') == 0",
    "lists.range(3).size() == 3 && [1, 1].distinct().size() == 1",
    "[1, 2].sortBy(item, -item)[0] == 2",
    "[1, 2].sortBy(item, [item]).size() == 2",
    "{'a': 1}.sortBy(item, item).size() == 1",
    "[1, 2].transformMapEntry(index, item, {item: index}).size() == 2",
    "optional.unwrap([optional.of(1)])[0] == 1",
    "[optional.of(1)].unwrapOpt()[0] == 1",
    "'a'.find('a') == 'a' && 'a'.findAll('a').size() == 1",
    "'A'.lowerAscii() == 'a' && 'a'.trim().charAt(0) == 'a'",
    "'%s'.format(['a']) == 'a' && strings.quote('a') != ''",
    "'abc'.reverse() == 'cba'",
    "self.?a.optMap(a, a).hasValue()",
    "self.?a.hasValue() && self.a[?0].hasValue()",
    "self.metadata.name == 1",
    "self.kind == 'A' || self.apiVersion == 'b'",
    "size(1) == 1",
    "type(self.a) == int || type(self.a) == type(1)",
    "has(self.a) && has(self.a.a)",
    "has(self)",
    "1",
    "'a'",
    "[true]",
    "self.a",
    "dyn(true)",
    "0x1F == 31 && 1e-3 < 1.0 && .5 < 1.0",
    "self.a.a.a == 'a'",
    "self.a[0].a == 'a'",
    "self.a.name.startsWith('a')",
    "'%s-%d'.format(['a', 1]) == 'a-1'",
    "'%s'.format([[1, 'a'].size() > 1 ? 'a' : 'b']) == 'a'",
    "'%s'.format([self.a]) == 'a' && [1, 'a'].size() == 2",
    "[self.a, 1].size() == 2",
    "{'a': 1, 'b': self.a}.size() == 2",
    "[dyn(1), 'a'].size() == 2",
    "[dyn(1), dyn('a')].size() == 2",
    "[[], [1]].size() == 2",
    "[[1], [dyn(1)]].size() == 2",
    "[null, self].size() == 2",
    "[null, self.a].size() == 2",
    "(true ? 1 : self.a) == 'a'",
    "(true ? self.a : 1) == 'a'",
    "true ? true : self.a",
    "sign(quantity('1')) == 1",
    "quantity('1').sign() == 1",
    "base64.encode(b'a') == 'YQ==' && base64.decode('YQ==') == b'a'",
];

const PATTERNS: &[&str] = &[
    "",
    "a",
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
    "(",
    ")",
    "a)",
    "[a",
    "[]a]",
    "[^]a]",
    "[z-a]",
    "[a-]",
    "[a-z-9]",
    "[[:alpha:]]",
    "[[:odd:]]",
    "[[]",
    "*",
    "a**",
    "a*?",
    "a*??",
    "a+?",
    "a++",
    "(*)",
    "a|*",
    "^*",
    "a{2}",
    "a{2,1}",
    "a{,2}",
    "{",
    "a{",
    "a{x}",
    "a{1001}",
    "a{2}{3}",
    "(?=a)",
    "(?!a)",
    "(?<=a)",
    "(?<!a)",
    "(?i)a",
    "(?i:a)",
    "(?-i)a",
    "(?P<n>a)",
    "(?<n>a)",
    "(?P=n)",
    "(?P<n",
    "(?P<n-m>a)",
    "(?x)a",
    "(?",
    "(?:a)",
    "(?)",
    r"(a)\1",
    r"\d\w\s\b",
    r"\h",
    r"\Z",
    r"\z",
    r"\p{Greek}",
    r"\pL",
    r"\x41",
    r"\x{41}",
    r"\Qa(\E",
    r"\-\.\/\_",
    r"\",
    r"[\d]",
    r"[\1]",
    r"[\",
    r"[a-\d]",
    r"\u0041",
    r"\e",
    r"\C",
    r"\0",
    r"\123",
    "a|",
    "|",
    "()",
    "ä{2}",
    r"\ä",
    "[ä-ü]",
    "x{0}",
    r"^([a-z0-9]{1,63}\.){1,20}$",
    "((a{10}b){10}c){10}",
    "(a{2}|b{501}){2}",
    "(a{500}){0,}",
    "(a{33}){31,}",
    "((a{500}){0}){500}",
    "(a{500}b{500})+",
    r"\x{10FFFF}\x{2014}?\x{41}{2}",
    r"\x{110000}",
    r"\x{4",
    r"\x+4",
    r"\p{Greek}\pL[\P{^Lu}]\p{Any}",
    r"\p{Foo}",
    r"[\pX]",
    r"\p{L",
    r"[\x{41}-\x{5a}\.-z-a\t-\r\060-9]",
    r"[\x5A-C]",
];

const PARTS: &[&str] = &[
    r#"[{"required": ["a"]}]"#,
    r#"[{"required": ["a"]}, {"required": ["name"]}]"#,
    r#"[{"type": "integer"}, {"type": "string"}]"#,
    r#"[{"anyOf": [{"type": "integer"}, {"type": "string"}]}]"#,
    r#"[{"type": "string"}]"#,
    r#"[{"properties": {"a": {"minimum": 1}}}]"#,
    r#"[{"properties": {"a": {"type": "string"}}}]"#,
    r#"[{"properties": {"missing": {}}}]"#,
    r#"[{"properties": {"metadata": {}}}]"#,
    r#"[{"items": {"minLength": 1}}]"#,
    r#"[{"additionalProperties": {"minLength": 1}}]"#,
    r#"[{"pattern": "("}]"#,
    r#"[{"enum": ["a", "a"]}]"#,
    r#"[{"nullable": true}]"#,
    r#"[{"nullable": false}]"#,
    r#"[{"default": "a"}]"#,
    r#"[{"description": "a"}]"#,
    r#"[{"description": ""}]"#,
    r#"[{"title": "a"}]"#,
    r#"[{"x-kubernetes-validations": [{"rule": "true"}]}]"#,
    r#"[{"x-kubernetes-list-type": "set"}]"#,
    r#"[{"x-kubernetes-preserve-unknown-fields": true}]"#,
    r#"[{"x-kubernetes-int-or-string": true}]"#,
    r#"[{"oneOf": [{"required": ["a"]}, {"not": {"maximum": 3}}]}]"#,
    r#"[{"not": {"type": "string"}}]"#,
    r#"[{"uniqueItems": true}]"#,
    r#"[{"format": "odd", "maxLength": 3}]"#,
    "[{}]",
];
