//! Draws CRDs that the API server takes, and objects for them.

use std::{f64::consts::PI, iter};

use serde_json::{Map, Value, json};

use crate::random::Random;

/// The groups of the CRDs. The API server takes CRDs of the last one only with an annotation.
pub const GROUPS: [&str; 2] = ["kinds.example.com", "approved.k8s.io"];

/// Kinds whose names the generated code uses for other things, and kinds that are not in upper camel case.
pub const KINDS: [&str; 67] = [
    "postgresql",
    "BTreeMap",
    "my-kind",
    "Option",
    "Vec",
    "Value",
    "Time",
    "Ok",
    "Result",
    "String",
    "IntOrString",
    "Rule",
    "ListMerge",
    "Message",
    "Reason",
    "Box",
    "Default",
    "JsonSchema",
    "KubeSchema",
    "CustomResource",
    "Serialize",
    "Deserialize",
    "Some",
    "None",
    "Err",
    "Clone",
    "Debug",
    "PartialEq",
    "Eq",
    "Hash",
    "Copy",
    "Schema",
    "SchemaGenerator",
    "StructMerge",
    "MapMerge",
    "Self",
    "New",
    "Repr",
    "Condition",
    "Object",
    "Status",
    "Spec",
    "Type",
    "Send",
    "Sync",
    "Sized",
    "From",
    "Into",
    "Iterator",
    "HTTPRoute",
    "Action",
    "Children",
    "Context",
    "Controller",
    "Error",
    "EventType",
    "Infallible",
    "ObjectMeta",
    "ObjectRef",
    "Reconciler",
    "ResourceExt",
    "Verb",
    "ToString",
    "S",
    "SerializeStruct",
    "Defaulter",
    "Validator",
];

/// Names of fields that are keywords or names of functions in a conversion, or that a lint may refuse, or that are no
/// identifiers.
const FIELDS: [&str; 39] = [
    "list",
    "map",
    "value",
    "alpha",
    "beta",
    "foo",
    "baz",
    "quux",
    "type",
    "self",
    "Self",
    "$ref",
    "x-y",
    "x_y",
    "a.b",
    "1",
    "_",
    "A",
    "URL",
    "podCIDRs",
    "spec",
    "status",
    "metadata",
    "kind",
    "apiVersion",
    "api-version",
    "default",
    "I",
    "L",
    "O",
    "name",
    "names",
    "other",
    "async",
    "gen",
    "match",
    "enum",
    "ünï",
    "",
];

const TEXTS: [&str; 12] = [
    "Plain.",
    "Two\n\nparagraphs.",
    "# A title",
    "    indented",
    "```\npanic!()\n```",
    " spaces ",
    "\"quotes\" and \\ and `code`",
    "- item\n- item\n\n      code",
    "tab\there",
    "A [link] and <html> and https://example.com.",
    "ünïcödé \u{202e}turned",
    "true",
];

impl Random {
    fn chance(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    fn text(&mut self) -> &'static str {
        self.one(&TEXTS)
    }
}

/// Draws the CRD with this number.
pub fn draw_crd(random: &mut Random, number: u64) -> Value {
    let at = usize::try_from(number).expect("a small number");
    let kind = KINDS
        .get(at)
        .map_or_else(|| format!("Kind{number}"), |kind| (*kind).to_owned());
    let plural = format!("{}s{number}", kind.to_lowercase());
    let mut names = json!({"kind": kind, "plural": plural});
    if random.chance(3) {
        names["singular"] = json!(format!("one{number}"));
    }
    if random.chance(4) {
        names["listKind"] = json!(format!("Many{number}"));
    }
    if random.chance(2) {
        names["shortNames"] = json!([format!("s{number}"), format!("sh{number}")]);
    }
    if random.chance(3) {
        names["categories"] = json!(["all", "things"]);
    }
    let is_approved = random.chance(8);
    let group = GROUPS[usize::from(is_approved)];
    let mut metadata = json!({"name": format!("{plural}.{group}")});
    if random.chance(2) {
        metadata["labels"] = json!({"policy.example.com/v1": "direct", "empty": ""});
    }
    if random.chance(2) {
        metadata["annotations"] = json!({
            "helm.sh/resource-policy": "keep",
            "example.com/text": random.text(),
            "controller-gen.kubebuilder.io/version": "v0.19.0",
        });
    }
    if random.chance(6) {
        metadata["annotations"]["cert-manager.io/inject-ca-from"] = json!("system/serving");
    }
    if is_approved {
        let approval = random.one(&[
            "https://github.com/kubernetes/kubernetes/pull/78458",
            "unapproved, experimental-only",
        ]);
        metadata["annotations"]["api-approved.kubernetes.io"] = json!(approval);
    }
    let count = random.one(&[1, 1, 2, 3]);
    let first = draw_version(random);
    let mut versions = Vec::new();
    for (index, name) in ["v1", "v1beta1", "v1api20230701preview"]
        .into_iter()
        .take(count)
        .enumerate()
    {
        let mut version = if random.chance(2) {
            first.clone()
        } else {
            draw_version(random)
        };
        version["name"] = json!(name);
        version["storage"] = json!(index == 0);
        version["served"] = json!(if index == 0 {
            !random.chance(8)
        } else {
            !random.chance(3)
        });
        if random.chance(5) {
            version["deprecated"] = json!(true);
            if random.chance(2) {
                version["deprecationWarning"] = json!("use \"another\" version");
            }
        }
        versions.push(version);
    }
    let mut spec = json!({
        "group": group,
        "names": names,
        "scope": random.one(&["Namespaced", "Cluster"]),
        "versions": versions,
    });
    match random.below(5) {
        0 => spec["conversion"] = json!({"strategy": "None"}),
        1 => spec["preserveUnknownFields"] = json!(false),
        2 => {
            let service = json!({"name": "other", "namespace": "system", "path": "/convert"});
            spec["conversion"] = json!({"strategy": "Webhook", "webhook": {
                "clientConfig": {"service": service}, "conversionReviewVersions": ["v1"],
            }});
        }
        _ => {}
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    })
}

fn draw_version(random: &mut Random) -> Value {
    let mut root = json!({"type": "object", "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
    }});
    let mut required = Vec::new();
    let has_spec = !random.chance(6);
    if has_spec {
        let mut spec = draw_object_schema(random, 3, true);
        spec["properties"]["plain"] = json!({"type": "string"});
        root["properties"]["spec"] = spec;
        required.extend((!random.chance(3)).then_some("spec"));
    } else {
        for _ in 0..random.below(3) {
            let name = random.one(&FIELDS);
            if !["spec", "status", "metadata", "kind", "apiVersion"].contains(&name) {
                root["properties"][name] = draw_schema(random, 2);
            }
        }
        if random.chance(3) {
            root["x-kubernetes-preserve-unknown-fields"] = json!(true);
        }
    }
    let mut version = json!({});
    if random.chance(2) {
        let mut status = draw_object_schema(random, 2, true);
        status["properties"]["replicas"] = json!({"type": "integer"});
        root["properties"]["status"] = status;
        if random.chance(10) {
            required.push("status");
        }
        if !random.chance(3) {
            version["subresources"] = json!({"status": {}});
        }
        if has_spec && random.chance(3) {
            version["subresources"]["scale"] = json!({
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
            });
            if random.chance(2) {
                version["subresources"]["scale"]["labelSelectorPath"] = json!(".status.selector");
            }
        }
    } else if random.chance(if has_spec { 10 } else { 3 }) {
        version["subresources"] = json!({"status": {}});
    }
    if random.chance(8) {
        required.push("metadata");
    }
    if random.chance(10) {
        root["properties"]["metadata"] =
            json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 20}}});
    }
    if random.chance(2) {
        root["description"] = json!(random.text());
    }
    if random.chance(10) {
        root["title"] = json!("A title");
    }
    if random.chance(4) {
        root["x-kubernetes-validations"] =
            json!([{"rule": "self.metadata.name != 'bad'", "message": "it is \"bad\""}]);
    }
    if !required.is_empty() {
        root["required"] = json!(required);
    }
    version["schema"] = json!({"openAPIV3Schema": root});
    if random.chance(2) {
        let mut column = json!({"name": "Plain", "type": "string", "jsonPath": ".spec.plain"});
        if random.chance(2) {
            column["description"] = json!(random.text());
        }
        if random.chance(2) {
            column["priority"] = json!(1);
        }
        if random.chance(3) {
            column["format"] = json!("password");
        }
        let path = ".status.conditions[?(@.type==\"Ready\")].status";
        let ready = json!({"name": "Is \"ready\"", "type": "string", "jsonPath": path});
        version["additionalPrinterColumns"] = json!([column, ready]);
    }
    if has_spec && random.chance(3) {
        version["selectableFields"] = json!([{"jsonPath": ".spec.plain"}]);
    }
    version
}

/// An object with properties. `has_rules` says whether it can have CEL rules, which cost too much inside of lists.
fn draw_object_schema(random: &mut Random, depth: usize, has_rules: bool) -> Value {
    let mut properties = Map::new();
    for _ in 0..=random.below(5) {
        let mut schema = draw_schema(random, depth.saturating_sub(1));
        if has_rules && random.chance(4) {
            add_rule(random, &mut schema);
        }
        properties.insert(random.one(&FIELDS).to_owned(), schema);
    }
    let mut required: Vec<_> = properties.keys().cloned().collect();
    required.retain(|_| random.chance(3));
    if random.chance(12) {
        required.push("missing".to_owned());
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    } else if depth > 0 && random.chance(4) {
        schema["default"] = json!({});
    }
    match random.below(14) {
        0 => schema["x-kubernetes-preserve-unknown-fields"] = json!(true),
        1 => schema["maxProperties"] = json!(random.one(&[9_u64, 5_000_000_000])),
        2 => schema["x-kubernetes-map-type"] = json!(random.one(&["atomic", "granular"])),
        3 => schema["oneOf"] = json!([{"required": ["alpha"]}, {"not": {"required": ["alpha"]}}]),
        4 => {
            schema["anyOf"] =
                json!([{"required": ["alpha"]}, {"properties": {"foo": {"minLength": 1}}}]);
        }
        5 => schema["not"] = json!({"required": ["alpha", "beta"]}),
        6 => schema["nullable"] = json!(true),
        7 => schema["minProperties"] = json!(0),
        _ => {}
    }
    described(random, schema)
}

fn described(random: &mut Random, mut schema: Value) -> Value {
    if random.chance(3) {
        schema["description"] = json!(random.text());
    }
    if random.chance(16) {
        schema["title"] = json!("A title");
    }
    if random.chance(16) {
        schema["example"] = json!({"required": [1]});
    }
    if random.chance(16) {
        schema["externalDocs"] = json!({"url": "https://example.com", "description": "More."});
    }
    schema
}

/// Whether the items of a list, or the values of a map, have a simple type.
fn has_simple(items: &Value) -> bool {
    ["string", "integer", "boolean"]
        .iter()
        .any(|simple| items["type"] == *simple)
}

fn add_rule(random: &mut Random, schema: &mut Value) {
    let mut rule = match schema["type"].as_str() {
        Some("string") if random.chance(3) => json!({
            "rule": "!oldSelf.hasValue() || self == oldSelf.value()",
            "optionalOldSelf": true,
        }),
        Some("string") => json!({"rule": "self != 'bad'"}),
        Some("integer") => json!({"rule": "self != 13"}),
        Some("boolean" | "number") => json!({"rule": "true"}),
        Some("object") if schema["properties"].is_object() => {
            let mut rule = json!({"rule": "true"});
            for field in ["alpha", "beta", "foo"] {
                if !schema["properties"][field].is_null() && random.chance(2) {
                    rule["fieldPath"] = json!(format!(".{field}"));
                }
            }
            rule
        }
        Some("object") if has_simple(&schema["additionalProperties"]) => {
            json!({"rule": "!('missing' in self)"})
        }
        Some("array") if has_simple(&schema["items"]) => json!({"rule": "self.size() != 2"}),
        // The API server refuses rules for a value of which the schema says little.
        _ => return,
    };
    match random.below(4) {
        0 => rule["message"] = json!("it is \"bad\""),
        1 => rule["messageExpression"] = json!("'it is ' + \"bad\""),
        _ => {}
    }
    if random.chance(3) {
        rule["reason"] = json!(random.one(&["FieldValueForbidden", "FieldValueInvalid"]));
    }
    schema["x-kubernetes-validations"] = json!([rule]);
}

fn draw_schema(random: &mut Random, depth: usize) -> Value {
    let mut schema = match random.below(if depth == 0 { 6 } else { 11 }) {
        0 => draw_text(random),
        1 => draw_integer(random),
        2 => draw_number(random),
        3 => json!({"type": "boolean"}),
        4 => draw_int_or_string(random),
        5 => draw_open(random),
        6 | 7 => return draw_object_schema(random, depth, false),
        8 => draw_map(random, depth),
        _ => draw_list(random, depth),
    };
    if schema["type"] == "boolean" && random.chance(2) {
        schema["default"] = json!(random.chance(2));
    }
    if random.chance(8) {
        schema["nullable"] = json!(true);
        if random.chance(3) {
            schema["default"] = json!(null);
        }
    }
    described(random, schema)
}

fn draw_text(random: &mut Random) -> Value {
    const FORMATS: [&str; 12] = [
        "date-time",
        "date",
        "duration",
        "byte",
        "ipv4",
        "ipv6",
        "email",
        "uri",
        "uuid",
        "cidr",
        "hostname",
        "unknown",
    ];
    let mut schema = json!({"type": "string"});
    match random.below(9) {
        0 => schema["format"] = json!(random.one(&FORMATS)),
        1 => {
            schema["minLength"] = json!(random.below(3));
            schema["maxLength"] = json!(random.one(&[3_u64, 63, 5_000_000_000]));
        }
        2 => schema["pattern"] = json!(random.one(&["^[a-z]+$", r#"^\w"?\S*$"#])),
        3 => schema["enum"] = json!(["abc", "Self", "1", "", "a b", "ABC", "*"]),
        4 => schema["anyOf"] = json!([{"format": "ipv4"}, {"pattern": "^abc"}]),
        5 => schema["not"] = json!({"pattern": "^bad"}),
        6 => schema["allOf"] = json!([{"maxLength": 99}, {"pattern": "a"}]),
        _ => {}
    }
    if !schema
        .as_object()
        .is_some_and(|schema| schema.contains_key("format"))
        && random.chance(3)
    {
        schema["default"] = json!("abc");
    }
    schema
}

fn draw_integer(random: &mut Random) -> Value {
    let mut schema = json!({"type": "integer"});
    match random.below(4) {
        0 => schema["format"] = json!("int32"),
        1 => schema["format"] = json!("int64"),
        _ => {}
    }
    match random.below(7) {
        0 => schema["minimum"] = json!(random.one(&[-1, 0, 3])),
        1 => {
            schema["maximum"] = json!(9_007_199_254_740_993_i64);
            schema["format"] = json!("int64");
        }
        2 => {
            schema["minimum"] = json!(0);
            schema["exclusiveMinimum"] = json!(true);
        }
        3 => {
            schema["maximum"] = json!(13);
            schema["exclusiveMaximum"] = json!(true);
        }
        4 => schema["multipleOf"] = json!(3),
        5 => schema["enum"] = json!([1, 3]),
        _ => {}
    }
    if random.chance(3) {
        schema["default"] = json!(3);
    }
    schema
}

fn draw_number(random: &mut Random) -> Value {
    let mut schema = json!({"type": "number"});
    match random.below(6) {
        0 => schema["format"] = json!("double"),
        1 => schema["format"] = json!("float"),
        2 => schema["minimum"] = json!(0.1),
        3 => schema["maximum"] = json!(1e30),
        4 => schema["multipleOf"] = json!(0.5),
        _ => schema["default"] = json!(random.one(&[PI, 0.0, 0.1, -2.5, 1e21])),
    }
    schema
}

fn draw_int_or_string(random: &mut Random) -> Value {
    let mut schema = json!({"x-kubernetes-int-or-string": true});
    match random.below(4) {
        0 => schema["anyOf"] = json!([{"type": "integer"}, {"type": "string"}]),
        1 => schema["pattern"] = json!("^[0-9]+%?$"),
        2 => schema["default"] = json!(random.one(&["50%", "3"])),
        _ => schema["default"] = json!(3),
    }
    schema
}

/// A value of which the schema says little.
fn draw_open(random: &mut Random) -> Value {
    match random.below(6) {
        0 => json!({"x-kubernetes-preserve-unknown-fields": true}),
        1 => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        2 => json!({
            "type": "object",
            "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true,
        }),
        3 => json!({
            "type": "object",
            "x-kubernetes-embedded-resource": true,
            "properties": {"spec": {"type": "object", "properties": {"alpha": draw_text(random)}}},
        }),
        4 => json!({"type": "object", "additionalProperties": true}),
        _ => json!({"type": "object"}),
    }
}

fn draw_map(random: &mut Random, depth: usize) -> Value {
    let mut schema = json!({
        "type": "object",
        "additionalProperties": draw_schema(random, depth - 1),
    });
    match random.below(5) {
        0 => schema["maxProperties"] = json!(9),
        1 => schema["default"] = json!({}),
        2 => schema["x-kubernetes-map-type"] = json!("granular"),
        _ => {}
    }
    schema
}

fn draw_list(random: &mut Random, depth: usize) -> Value {
    let mut schema = json!({"type": "array"});
    match random.below(5) {
        0 => {
            schema["items"] = draw_text(random);
            schema["x-kubernetes-list-type"] = json!("set");
        }
        1 => {
            let mut items = draw_object_schema(random, depth - 1, false);
            items.as_object_mut().expect("an object").remove("nullable");
            items.as_object_mut().expect("an object").remove("default");
            items["properties"]["name"] = json!({"type": "string"});
            items["properties"]["port"] = json!({"type": "integer", "default": 3});
            items["required"] = json!(["name"]);
            schema["items"] = items;
            schema["x-kubernetes-list-type"] = json!("map");
            schema["x-kubernetes-list-map-keys"] = json!(["name", "port"]);
        }
        _ => {
            schema["items"] = draw_schema(random, depth - 1);
            schema["items"]
                .as_object_mut()
                .expect("an object")
                .remove("default");
            match random.below(4) {
                0 => schema["x-kubernetes-list-type"] = json!("atomic"),
                1 => schema["default"] = json!([]),
                _ => {}
            }
        }
    }
    match random.below(5) {
        0 => {
            schema["maxItems"] =
                json!(random.one(&[2_u64, 5_000_000_000, 9_223_372_036_854_775_807]));
        }
        1 => schema["minItems"] = json!(0),
        _ => {}
    }
    schema
}

/// Draws an object for a kind with this schema: most of its values fit.
pub fn draw_object(random: &mut Random, schema: &Value) -> Value {
    let mut object = json!({});
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        if !["apiVersion", "kind", "metadata"].contains(&name.as_str()) {
            let value = draw_value(random, schema);
            // For the API server, a spec that is null is missing.
            object[name] = match name.as_str() {
                "spec" if value.is_null() => json!({}),
                _ => value,
            };
        }
    }
    object["metadata"] = json!({});
    object
}

fn draw_value(random: &mut Random, schema: &Value) -> Value {
    // A wrong type beside `anyOf` has more reasons, all of which say the same.
    if schema["x-kubernetes-int-or-string"] != true && random.chance(40) {
        let values = [
            json!("abc"),
            json!(7),
            json!(true),
            json!(null),
            json!([]),
            json!({}),
            json!(1.5),
        ];
        let at = random.below(values.len());
        return values[at].clone();
    }
    if schema["nullable"] == true && random.chance(4) {
        return Value::Null;
    }
    if let Some(values) = schema["enum"].as_array() {
        return values[random.below(values.len())].clone();
    }
    match schema["type"].as_str() {
        Some("string") => json!(match schema["format"].as_str() {
            Some("date-time") => "2026-01-01T00:00:00Z",
            Some("date") => "2026-01-01",
            Some("duration") => "1m",
            Some("byte") => "c2FtcGxl",
            Some("ipv4") => "192.0.2.1",
            Some("ipv6") => "2001:db8::1",
            Some("email") => "me@example.com",
            Some("uri") => "https://example.com",
            Some("uuid") => "00000000-0000-4000-8000-000000000000",
            Some("cidr") => "192.0.2.0/24",
            _ => random.one(&["abc", "abc", "abc", "abd", "bad", ""]),
        }),
        Some("integer") => json!(random.one(&[3, 3, 3, 13, -1])),
        Some("number") => json!(random.one(&[3.0, 3.5, 0.05])),
        Some("boolean") => json!(random.chance(2)),
        Some("array") => iter::repeat_with(|| draw_value(random, &schema["items"]))
            .take(2)
            .collect(),
        Some("object") => {
            let mut object = Map::new();
            let required = schema["required"].as_array();
            for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
                let is_required = required.is_some_and(|names| names.contains(&json!(name)));
                if is_required || random.chance(2) {
                    object.insert(name.clone(), draw_value(random, inner));
                }
            }
            if schema["additionalProperties"].is_object() {
                object.insert(
                    "key".to_owned(),
                    draw_value(random, &schema["additionalProperties"]),
                );
            }
            if required.is_some_and(|names| names.contains(&json!("missing"))) || random.chance(8) {
                object.insert("missing".to_owned(), json!("abc"));
            }
            if schema["x-kubernetes-embedded-resource"] == true {
                object.insert("apiVersion".to_owned(), json!("v1"));
                object.insert("kind".to_owned(), json!("Pod"));
                object.insert("metadata".to_owned(), json!({"name": "a"}));
            }
            object.into()
        }
        _ => random.one(&[3, 3, 50]).into(),
    }
}
