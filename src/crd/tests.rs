use std::{
    fmt::Write as _,
    io::Write as _,
    process::{Command, Stdio},
    thread,
    time::Instant,
};

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{cases::cases, visible::is_hidden, yaml};

/// A CRD of a kind `Book` with this schema of its spec.
fn crd(spec: &Value) -> Crd {
    of_object(&json!({
        "type": "object",
        "required": ["spec"],
        "properties": {"spec": spec},
    }))
}

fn of_object(schema: &Value) -> Crd {
    let text = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "books.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Book", "plural": "books", "singular": "book"},
            "scope": "Namespaced",
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    });
    parse("crd.yaml", &text.to_string()).unwrap().remove(0)
}

/// What is generated from a CRD, and the whole text of its types.
struct Made {
    types: String,
    sample: Value,
    losses: Vec<Loss>,
    doubts: Vec<Loss>,
}

fn made(crd: &Crd) -> Made {
    let generated = generate(crd, &crd.versions[0], &crd.kind);
    Made {
        types: file(&generated.types),
        sample: generated.sample,
        losses: generated.losses,
        doubts: generated.doubts,
    }
}

/// A file with this code. A template adds the names in the attribute `kube`.
fn file(code: &TypesCode) -> String {
    format!(
        "{}\n\n{}\n#[kube(\n    group = \"library.example.com\",\n    version = \"v1\",\n    kind = \"Book\",\n    \
         derive = \"PartialEq\",\n{}\n)]\n{}\n",
        code.imports, code.spec_head, code.kube, code.items
    )
}

/// The output for an optional property `it` of the spec.
fn of_field(schema: &Value) -> Made {
    made(&crd(
        &json!({"type": "object", "properties": {"it": schema}}),
    ))
}

/// The lines of the field `it`.
#[track_caller]
fn field(schema: &Value) -> String {
    let made = of_field(schema);
    assert_eq!(made.losses, [], "{schema}");
    is_formatted(&made.types);
    let start = made.types.find("pub struct BookSpec {\n").unwrap();
    let (_, rest) = made.types[start..].split_once("{\n").unwrap();
    let (fields, _) = rest.split_once("\n}").unwrap();
    fields.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

/// Asserts that rustfmt does not change `text`.
#[track_caller]
pub(crate) fn is_formatted(text: &str) {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    rustfmt
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = rustfmt.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}\n{text}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), text);
}

#[test]
fn scalars_have_types_and_bounds() {
    let cases = [
        (
            json!({"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^\\w+$"}),
            "#[serde(default, skip_serializing_if = \"Option::is_none\")]\n\
             #[schemars(with = \"String\", length(min = 1, max = 9), regex(pattern = r\"^\\w+$\"))]\n\
             pub it: Option<String>,",
        ),
        (
            json!({"type": "integer", "format": "int32", "minimum": 1, "default": 3}),
            "#[serde(default = \"default_it\")]\n#[schemars(range(min = 1))]\npub it: i32,",
        ),
        (
            json!({"type": "boolean", "default": false}),
            "#[serde(default)]\npub it: bool,",
        ),
        (
            json!({"type": "integer"}),
            "#[serde(default, skip_serializing_if = \"Option::is_none\")]\n\
             #[schemars(schema_with = \"integer\")]\npub it: Option<i64>,",
        ),
        (
            json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
            "#[serde(default, skip_serializing_if = \"Option::is_none\")]\n\
             #[schemars(schema_with = \"int_or_string\")]\n\
             #[schemars(extend(\"nullable\" = false))]\npub it: Option<IntOrString>,",
        ),
        (
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            "#[serde(default, skip_serializing_if = \"Option::is_none\")]\n\
             #[schemars(with = \"Value\")]\n\
             #[schemars(extend(\"type\" = \"object\", \"x-kubernetes-preserve-unknown-fields\" = true))]\n\
             pub it: Option<Value>,",
        ),
        (
            json!({"type": "string", "nullable": true, "description": "Text."}),
            "/// Text.\n#[serde(default, skip_serializing_if = \"Option::is_none\")]\n\
             #[schemars(with = \"String\")]\n#[schemars(extend(\"nullable\" = true))]\n\
             pub it: Option<String>,",
        ),
        (
            json!({"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "no"}]}),
            "#[serde(default, skip_serializing_if = \"Option::is_none\")]\n\
             #[schemars(with = \"String\")]\n\
             #[x_kube(validation = Rule::new(\"self == oldSelf\").message(\"no\"))]\n\
             pub it: Option<String>,",
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(field(&schema), expected, "{schema}");
    }
}

#[test]
fn lists_and_maps_keep_the_schemas_of_their_items() {
    let cases = [
        (
            json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}),
            "#[serde(default, skip_serializing_if = \"Vec::is_empty\")]\n\
             #[x_kube(merge_strategy = ListMerge::Set)]\npub it: Vec<String>,",
        ),
        (
            json!({"type": "array", "maxItems": 3, "items": {"type": "string", "minLength": 1}}),
            "#[serde(default, skip_serializing_if = \"Vec::is_empty\")]\n\
             #[schemars(length(max = 3))]\n\
             #[schemars(extend(\"items\" = {\"minLength\": 1, \"type\": \"string\"}))]\n\
             pub it: Vec<String>,",
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            "#[serde(default, skip_serializing_if = \"BTreeMap::is_empty\")]\n\
             pub it: BTreeMap<String, String>,",
        ),
        (
            json!({
                "type": "array",
                "items": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            }),
            "#[serde(default, skip_serializing_if = \"Vec::is_empty\")]\n\
             #[x_kube(merge_strategy = ListMerge::Map(vec![\"name\".into()]))]\n\
             pub it: Vec<BookIt>,",
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(field(&schema), expected, "{schema}");
    }
}

#[test]
fn an_empty_or_null_value_does_not_become_the_default() {
    let numbers = |default: Value| json!({"type": "array", "default": default, "items": {"type": "integer", "format": "int32"}});
    let texts = |default: Value| json!({"type": "object", "default": default, "additionalProperties": {"type": "string"}});
    let skip =
        |function: &str| format!("#[serde(default, skip_serializing_if = \"{function}\")]\n");
    let none = skip("Option::is_none");
    let null = "#[serde(default)]\n";
    let cases = [
        (numbers(json!([80, 443])), none.as_str(), "Option<Vec<i32>>"),
        (numbers(json!([])), &skip("Vec::is_empty"), "Vec<i32>"),
        (
            texts(json!({"a": "b"})),
            &none,
            "Option<BTreeMap<String, String>>",
        ),
        (
            texts(json!({})),
            &skip("BTreeMap::is_empty"),
            "BTreeMap<String, String>",
        ),
        (
            json!({"type": "string", "nullable": true, "default": "a"}),
            null,
            "Option<String>",
        ),
        (
            json!({"type": "array", "nullable": true, "default": [], "items": {"type": "string"}}),
            null,
            "Option<Vec<String>>",
        ),
        (
            json!({"type": "string", "nullable": true}),
            &none,
            "Option<String>",
        ),
    ];
    for (schema, serde, rust) in cases {
        let lines = field(&schema);
        assert!(lines.starts_with(serde), "{schema}: {lines}");
        assert!(
            lines.ends_with(&format!("pub it: {rust},")),
            "{schema}: {lines}"
        );
        // A client sends no null.
        let crd = crd(&json!({"type": "object", "properties": {"it": schema}}));
        let types = file(&types_for_use(&crd, &crd.versions[0]));
        let serde = if serde == null { &none } else { serde };
        assert!(
            types.contains(&format!("{serde}    pub it: {rust},")),
            "{schema}: {types}"
        );
    }
}

#[test]
fn an_embedded_resource_keeps_its_name_and_its_kind() {
    let spec = json!({"type": "object", "properties": {"size": {"type": "string"}}});
    let resource = |more: Value| {
        let mut schema = json!({
            "type": "object",
            "x-kubernetes-embedded-resource": true,
            "properties": {"spec": spec},
        });
        for (name, value) in more.as_object().into_iter().flatten() {
            schema["properties"][name] = value.clone();
        }
        schema
    };
    let declared = resource(json!({
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}},
    }));
    let mut open = declared.clone();
    open["x-kubernetes-preserve-unknown-fields"] = true.into();
    let mut required = resource(json!({}));
    required["required"] = json!(["metadata", "spec"]);
    let cases = [
        (declared, "Option<Value>", 0),
        (open, "Option<Value>", 0),
        (
            resource(json!({"metadata": {"type": "object"}})),
            "Option<Value>",
            2,
        ),
        (resource(json!({})), "Option<Value>", 3),
        (required, "Value", 3),
    ];
    for (schema, metadata, skipped) in cases {
        let made = of_field(&schema);
        assert_eq!(made.losses, [], "{schema}");
        is_formatted(&made.types);
        for field in [
            "pub api_version: Option<String>,",
            "pub kind: Option<String>,",
            &format!("pub metadata: {metadata},"),
        ] {
            assert!(made.types.contains(field), "{field}: {}", made.types);
        }
        // A field without a schema leaves the CRD as it was.
        let count = made.types.matches("#[schemars(skip)]").count();
        assert_eq!(count, skipped, "{}", made.types);
    }
}

#[test]
fn names_of_all_sorts_become_fields_and_variants() {
    let names = [
        "type",
        "self",
        "-dash",
        "$ref",
        "9lives",
        "camelCase",
        "snake_case",
        "UPPER",
        "podCIDRs",
        "",
        "a.b/c",
        "A_b",
        "a-b",
    ];
    let properties = names.map(|name| (name.to_owned(), json!({"type": "string"})));
    let spec = json!({"type": "object", "properties": serde_json::Map::from_iter(properties)});
    let made = made(&crd(&spec));
    assert_eq!(made.losses, []);
    is_formatted(&made.types);
    let mut fields = Vec::new();
    for line in made.types.lines() {
        let field = line.trim().strip_prefix("pub ");
        fields.extend(field.and_then(|field| Some(field.split_once(": Option")?.0)));
    }
    assert_eq!(
        fields,
        [
            "field",
            "ref_",
            "dash",
            "_9lives",
            "a_b",
            "upper",
            "a_b2",
            "a_b_c",
            "camel_case",
            "pod_cidrs",
            "self_",
            "snake_case",
            "type_"
        ]
    );
    let values = ["A", "a", "", "*", "1.2", "Self", "a b"];
    let made = of_field(&json!({"type": "string", "enum": values}));
    assert_eq!(made.losses, []);
    is_formatted(&made.types);
    let (_, rest) = made.types.split_once("pub enum BookIt {\n").unwrap();
    let lines = rest.split_once("\n}").unwrap().0.lines().map(str::trim);
    let variants: Vec<_> = lines.filter(|line| !line.starts_with('#')).collect();
    assert_eq!(
        variants,
        ["A,", "A2,", "Empty,", "Any,", "V12,", "Self_,", "AB,"]
    );
}

#[test]
fn keywords_that_kube_would_change_are_left_out_and_reported() {
    let cases = [
        (
            json!({"type": "string", "oneOf": [{"type": "string", "format": "date"}]}),
            "spec.it: `oneOf` is left out: kube would move the properties and types that it \
             contains",
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
            "spec.it: `uniqueItems` is left out: kube removes it",
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "maxItems": 1_i64 << 53}),
            "spec.it: `maxItems` is left out: kube takes numbers up to 4294967295",
        ),
    ];
    for (schema, expected) in cases {
        let losses = of_field(&schema).losses;
        assert_eq!(
            losses.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [expected]
        );
    }
    let allowed = [
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "oneOf": [{"required": ["a"]}]}),
        json!({"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]}),
        json!({"type": "string", "not": {"pattern": "^a"}}),
        json!({"type": "string", "allOf": [{"maxLength": 3}, {"pattern": "a"}]}),
    ];
    for schema in allowed {
        assert_eq!(of_field(&schema).losses, [], "{schema}");
    }
}

#[test]
fn a_keyword_whose_value_has_the_wrong_type_is_left_out_and_reported() {
    let one = "it must be one type, such as `string`";
    let bool = "it must be `true` or `false`";
    for (schema, place, keyword, reason) in [
        (json!({"type": ["string", "null"]}), "", "type", one),
        (json!({"type": "strin"}), "", "type", one),
        (
            json!({"type": "array", "items": {"type": ["string"]}}),
            "[]",
            "type",
            one,
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": ["x"]}}),
            ".*",
            "type",
            one,
        ),
        (
            json!({"type": "string", "nullable": 7}),
            "",
            "nullable",
            bool,
        ),
        (
            json!({"type": "string", "enum": "a"}),
            "",
            "enum",
            "it must be a list",
        ),
        (
            json!({"type": "string", "maxLength": "3"}),
            "",
            "maxLength",
            "it must be a number",
        ),
        (
            json!({"type": "string", "pattern": ["a"]}),
            "",
            "pattern",
            "it must be a text",
        ),
    ] {
        let made = of_field(&schema);
        let losses: Vec<_> = made.losses.iter().map(ToString::to_string).collect();
        let expected = format!("spec.it{place}: `{keyword}` is left out: {reason}");
        assert_eq!(losses, [expected], "{schema}");
        assert!(
            !made.types.contains(&format!("\"{keyword}\"")),
            "{}",
            made.types
        );
    }
}

#[test]
fn descriptions_cannot_become_code() {
    let texts = [
        "plain",
        "two\n\nparagraphs",
        "# title",
        "    indented",
        "a\n\n    indented",
        "```\npanic!()\n```",
        " spaces ",
        "trailing \nspace",
        "tab\there",
        "\u{202e}turned",
        "zero\u{200b}width",
        "quote\" and \\ and \"# and */ and //",
        "carriage\rreturn",
        "nul\u{0}",
        "{braces} {}",
        "- item\n- item\n\n      code",
    ];
    for text in texts {
        let made = of_field(
            &json!({"type": "string", "description": text, "default": text, "enum": [text, "b"]}),
        );
        assert_eq!(made.losses, [], "{text:?}");
        is_formatted(&made.types);
        assert!(
            !made.types.lines().any(|line| line.trim() == "panic!()"),
            "{}",
            made.types
        );
        let mut chars = made.types.chars();
        assert!(
            !chars.any(|char| char != '\n' && is_hidden(char)),
            "{text:?}"
        );
    }
}

/// What is generated, without a loss, from a CRD with this schema.
#[track_caller]
fn kept(schema: &Value) -> Made {
    let made = made(&of_object(schema));
    is_formatted(&made.types);
    assert_eq!(made.losses, []);
    made
}

#[test]
fn a_kind_may_have_no_spec_or_no_status() {
    let data = kept(&json!({
        "type": "object",
        "properties": {"data": {"type": "string"}},
        "required": ["data"],
    }));
    assert!(data.types.contains("    no_spec,\n"), "{}", data.types);
    assert!(!data.types.contains("status ="), "{}", data.types);
    let open = kept(&json!({
        "type": "object",
        "required": ["spec"],
        "properties": {
            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        },
    }));
    assert!(
        open.types.contains("pub struct BookSpec(pub Value);"),
        "{}",
        open.types
    );
}

#[test]
fn an_open_kind_keeps_a_status_that_its_schema_lacks() {
    for (root, expected, ty) in [
        (
            "type: object",
            json!({"type": "object", "nullable": true}),
            "pub struct BookStatus {}",
        ),
        (
            "type: object, x-kubernetes-preserve-unknown-fields: true",
            json!({
                "type": "object",
                "nullable": true,
                "x-kubernetes-preserve-unknown-fields": true,
            }),
            "pub struct BookStatus(pub Value);",
        ),
    ] {
        let version = format!(
            "served: true\n    subresources: {{status: {{}}}}\n    schema: {{openAPIV3Schema: {{{root}}}}}"
        );
        let crd = parse("crd.yaml", &manifest("", "", &version))
            .unwrap()
            .remove(0);
        let generated = generate(&crd, &crd.versions[0], &crd.kind);
        assert_eq!(generated.schema["properties"]["status"], expected);
        let types = file(&generated.types);
        assert!(types.contains(ty), "{types}");
    }
}

#[test]
fn only_a_status_with_a_type_can_be_null() {
    let version = "served: true\n    subresources: {status: {}}\n    schema: {openAPIV3Schema: {type: object, \
                   properties: {spec: {type: object}, status: {x-kubernetes-preserve-unknown-fields: true}}}}";
    let crd = parse("crd.yaml", &manifest("", "", version))
        .unwrap()
        .remove(0);
    let schema = generate(&crd, &crd.versions[0], &crd.kind).schema;
    let expected = json!({"x-kubernetes-preserve-unknown-fields": true});
    assert_eq!(schema["properties"]["status"], expected);
}

#[test]
fn functions_have_the_layout_of_rustfmt() {
    for length in 55..65 {
        let field = "a".repeat(length);
        let made = kept(&json!({
            "type": "object",
            "required": ["spec"],
            "properties": {"spec": {"type": "object", "properties": {
                field: {"type": "string", "enum": ["one", "two"], "default": "two"},
            }}},
        }));
        assert!(made.types.contains("fn default_aaa"), "{}", made.types);
    }
}

/// The CRDs of capsule and accurate have versions with these schemas.
#[test]
fn a_spec_or_a_status_that_is_no_object_is_a_value_with_its_schema() {
    for schema in [
        json!({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}),
        json!({"type": "string", "enum": ["ok", "conflict"], "description": "A state."}),
        json!({"x-kubernetes-int-or-string": true}),
    ] {
        let made = kept(&json!({
            "type": "object",
            "required": ["spec"],
            "properties": {"spec": schema, "status": schema},
        }));
        let crd = of_object(&json!({"type": "object", "properties": {"status": schema}}));
        let written = generate(&crd, &crd.versions[0], &crd.kind).schema;
        let is_null_added = match written["properties"]["status"]["enum"].as_array() {
            Some(values) => values.contains(&Value::Null),
            None => schema.get("enum").is_none(),
        };
        assert!(is_null_added, "{written}");
        for name in ["Spec", "Status"] {
            let line = format!("pub struct Book{name}(pub Value);");
            assert!(made.types.contains(&line), "{}", made.types);
        }
    }
}

/// A CRD with this metadata, these names and these keywords of its version, in a file of YAML.
fn manifest(metadata: &str, names: &str, version: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: books.example.com{metadata}}}
spec:
  group: example.com
  names: {{kind: Book, plural: books{names}}}
  scope: Namespaced
  versions:
  - name: v1
    storage: true
    {version}
"
    )
}

#[test]
fn what_kube_cannot_write_is_reported_in_the_terms_of_the_crd() {
    let text = manifest(
        ", annotations: {cert-manager.io/inject-ca-from: a/b, controller-gen.kubebuilder.io/version: v1}",
        ", listKind: Books, shortNames: [b, bk, b]",
        "served: false
    schema:
      openAPIV3Schema:
        type: object
        title: A book
        required: [spec, status, metadata]
        properties:
          metadata: {type: object, properties: {name: {maxLength: 9}}}
          spec: {type: object}
          status: {type: object}",
    );
    let crd = parse("crd.yaml", &text).unwrap().remove(0);
    assert_eq!(crd.short_names, ["b", "bk"]);
    let mut losses = made(&crd).losses;
    losses.extend(losses_of_all_versions(&crd));
    assert_eq!(
        losses.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "`metadata` is not required: each object has it",
            "`served` is true, because the project serves the version that it stores",
            "`status` is not required: the Rust type of a kind never requires one",
            "`title` is changed: kube writes the name of the Rust type",
            "metadata: its schema is left out: kube has none for this field",
            "`listKind` is `BookList` instead of `Books`: kube cannot set it",
            "the annotation `cert-manager.io/inject-ca-from` is left out: it is for the webhook of the other operator",
        ]
    );
}

#[test]
fn a_status_without_a_subresource_gets_none() {
    const MARK: &str = "#[schemars(transform = kube_manager::schema::without_subresource)]\n";

    for status in [
        "{type: object, properties: {phase: {type: string}}}",
        "{type: object, x-kubernetes-preserve-unknown-fields: true}",
    ] {
        for (subresources, expected) in [
            ("", Value::Null),
            ("subresources: {status: {}}\n    ", json!({"status": {}})),
            (
                "subresources: {scale: {specReplicasPath: .spec.n, statusReplicasPath: .status.n}}\n    ",
                json!({"scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}}),
            ),
        ] {
            let text = manifest(
                "",
                "",
                &format!(
                    "served: true\n    {subresources}schema: {{openAPIV3Schema: {{type: object, required: [spec], properties: \
                     {{spec: {{type: object}}, status: {status}}}}}}}"
                ),
            );
            let crd = parse("crd.yaml", &text).unwrap().remove(0);
            let version = &crd.versions[0];
            let generated = generate(&crd, version, &crd.kind);
            let types = file(&generated.types);
            is_formatted(&types);
            assert_eq!(generated.losses, []);
            let is_marked = types.contains(&format!("{MARK}pub struct BookStatus"));
            assert_eq!(is_marked, expected["status"].is_null(), "{types}");
            let written = manifest_version(version, generated.schema);
            assert_eq!(written["subresources"], expected, "{written}");
            let types = types_for_use(&crd, version);
            assert!(!types.items.contains(MARK), "{}", types.items);
        }
    }
}

#[test]
fn labels_and_annotations_are_kept() {
    let text = manifest(
        ", labels: {policy: direct}, annotations: {helm.sh/resource-policy: keep}",
        "",
        "served: true\n    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}",
    );
    let crd = parse("crd.yaml", &text).unwrap().remove(0);
    let made = made(&crd);
    is_formatted(&made.types);
    for line in [
        "    label(\"policy\", \"direct\"),\n",
        "    annotation(\"helm.sh/resource-policy\", \"keep\"),\n",
    ] {
        assert!(made.types.contains(line), "{}", made.types);
    }
}

#[test]
fn a_value_that_may_be_null_is_an_option() {
    let text = json!({"type": "string", "nullable": true});
    let list = field(&json!({"type": "array", "items": text}));
    assert!(list.ends_with("pub it: Vec<Option<String>>,"), "{list}");
    let map = field(&json!({"type": "object", "additionalProperties": text}));
    assert!(
        map.ends_with("pub it: BTreeMap<String, Option<String>>,"),
        "{map}"
    );
}

#[test]
fn fields_beside_the_metadata_of_a_kind_without_spec_have_other_names_in_rust() {
    let made = made(&of_object(
        &json!({"type": "object", "properties": {"Status": {"type": "string"}, "api-version": {"type": "string"}}}),
    ));
    assert_eq!(made.losses, []);
    for field in ["pub status2:", "pub api_version2:"] {
        assert!(made.types.contains(field), "{}", made.types);
    }
}

/// The value of the required field `it` in the sample, and what the user must check.
fn sample_of(schema: &Value) -> (Value, Vec<String>) {
    let made = made(&crd(
        &json!({"type": "object", "required": ["it"], "properties": {"it": schema}}),
    ));
    let text = yaml::write_manifest(&made.sample).unwrap();
    let sample = yaml::documents(&text).unwrap().remove(0);
    let doubts = made.doubts.iter().map(ToString::to_string);
    (sample["spec"]["it"].clone(), doubts.collect())
}

/// The schema of a text, with these keywords.
fn text(mut keywords: Value) -> Value {
    keywords["type"] = "string".into();
    keywords
}

fn pattern(pattern: &str) -> Value {
    json!({"type": "string", "pattern": pattern})
}

#[test]
fn a_sample_fits_its_schema() {
    let cases = [
        (json!({"type": "string"}), json!("sample")),
        (text(json!({"minLength": 9})), json!("samplesam")),
        (text(json!({"maxLength": 2})), json!("sa")),
        (
            text(json!({"format": "date-time"})),
            json!("2026-01-01T00:00:00Z"),
        ),
        (text(json!({"format": "ipv6"})), json!("2001:db8::1")),
        (text(json!({"enum": ["b", "a"]})), json!("b")),
        // A text that YAML could read as a boolean gets quotes.
        (text(json!({"enum": ["off"]})), json!("off")),
        // YAML has read `enum: [On, "off"]` before.
        (json!({"type": "integer", "enum": ["off", 2]}), json!(2)),
        (text(json!({"not": {"pattern": "^s"}})), json!("a")),
        (
            text(json!({"anyOf": [{"format": "ipv4"}, {"pattern": "^$"}]})),
            json!("192.0.2.1"),
        ),
        (pattern("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"), json!("sample")),
        (pattern("^https?://.+$"), json!("https://example.com")),
        (pattern(r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"), json!("1m")),
        (pattern(r"^\d{4}$"), json!("1111")),
        (
            pattern(r"^arn:aws:iam::\d{12}:role/\S+$"),
            json!("arn:aws:iam::111111111111:role/a"),
        ),
        (pattern("^(x-[a-c]{2})?y$"), json!("y")),
        (pattern(r"^[^:/]+:[0-9]+$"), json!("a:1")),
        (
            text(json!({"pattern": "^[0-9]+$", "minLength": 20})),
            json!("1".repeat(24)),
        ),
        (json!({"type": "integer", "minimum": 3}), json!(3)),
        (
            json!({"type": "integer", "minimum": 3, "exclusiveMinimum": true}),
            json!(4),
        ),
        (json!({"type": "integer", "maximum": -2}), json!(-2)),
        (
            json!({"type": "integer", "multipleOf": 5, "minimum": 11}),
            json!(15),
        ),
        (json!({"type": "integer", "enum": [7]}), json!(7)),
        (
            json!({"type": "number", "minimum": 0, "maximum": 0.5}),
            json!(0.0),
        ),
        (
            json!({"type": "number", "minimum": 0.25, "maximum": 0.5}),
            json!(0.375),
        ),
        (json!({"x-kubernetes-int-or-string": true}), json!(1)),
        (
            json!({"type": "array", "minItems": 2, "items": {"type": "string"}, "x-kubernetes-list-type": "set"}),
            json!(["sample", "sample2"]),
        ),
        (
            json!({"type": "array", "minItems": 2, "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["port", "protocol"], "items": {"type": "object",
                "required": ["port"], "properties": {"port": {"type": "integer", "maximum": 9},
                "protocol": {"type": "string", "default": "TCP"}}}}),
            json!([{"port": 1, "protocol": "TCP"}, {"port": 2, "protocol": "sample2"}]),
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1}),
            json!({"key0": 1}),
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                "oneOf": [{"required": ["a"], "properties": {"a": {"enum": ["x"]}}}, {"required": ["b"]}]}),
            json!({"a": "x"}),
        ),
    ];
    for (schema, expected) in cases {
        let (value, doubts) = sample_of(&schema);
        assert_eq!(value, expected, "{schema}");
        assert_eq!(doubts, [""; 0], "{schema}");
    }
}

#[test]
fn a_whole_number_with_a_fraction_is_an_integer() {
    for schema in [
        json!({"type": "integer"}),
        json!({"x-kubernetes-int-or-string": true}),
    ] {
        for (value, fits) in [(json!(1.0), true), (json!(-2), true), (json!(1.5), false)] {
            assert_eq!(
                fit::misfits(&value, &schema).is_empty(),
                fits,
                "{value} {schema}"
            );
        }
    }
}

#[test]
fn constraints_that_a_sample_may_not_fit_are_reported() {
    let cases = [
        (
            text(json!({"x-kubernetes-validations": [{"rule": "self\n  != 'a'"}]})),
            "spec.it: the rule `self != 'a'`",
        ),
        (pattern(r"^\pN$"), r"spec.it: the pattern `^\pN$`"),
        (
            json!({"type": "string", "pattern": "^a$", "minLength": 2}),
            "spec.it: no value was found that fits `pattern`",
        ),
        (
            json!({"type": "array", "minItems": 2, "uniqueItems": true, "items": {"type": "string", "enum": ["a"]}}),
            "spec.it: no value was found that fits `uniqueItems`",
        ),
    ];
    for (schema, expected) in cases {
        let (_, doubts) = sample_of(&schema);
        assert!(
            doubts.contains(&expected.to_owned()),
            "{schema}: {doubts:?}"
        );
    }
    // A rule with `oldSelf` does not apply to a new object.
    let rule = text(json!({"x-kubernetes-validations": [{"rule": "self == oldSelf"}]}));
    assert_eq!(sample_of(&rule).1, [""; 0]);
    // A kind without `spec` has its required fields.
    let shelf = of_object(
        &json!({"type": "object", "required": ["width", "metadata"], "properties": {
        "metadata": {"type": "object"}, "status": {"type": "object"},
        "width": {"type": "integer"}, "colour": {"type": "string"}}}),
    );
    let made = made(&shelf);
    assert_eq!(made.sample, json!({"width": 1}));
    assert_eq!(made.doubts, []);
}

#[test]
fn a_schema_with_many_branches_is_fast() {
    let mut schema = json!({"type": "string"});
    for _ in 0..12 {
        // No object fits exactly one of these branches.
        let branch = json!({"required": ["a", "b"]});
        schema = json!({"type": "object", "properties": {"a": schema, "b": {"type": "string"}},
            "required": ["a"], "oneOf": vec![branch; 16]});
    }
    let start = Instant::now();
    assert!(!sample_of(&schema).1.is_empty());
    // A pattern with many repetitions.
    let pattern = json!({"type": "string", "pattern": "^((a{900}){900}b?){900}$"});
    assert!(!sample_of(&pattern).1.is_empty());
    assert!(start.elapsed().as_secs() < 20);
}

#[test]
fn types_for_a_client_have_no_schema_and_accept_later_values() {
    let text = include_str!("../../tests/crds/lamps.yaml");
    let [lamp, switch] = parse("lamps.yaml", text).unwrap().try_into().unwrap();
    let types = file(&types_for_use(&lamp, &lamp.versions[0]));
    is_formatted(&types);
    for of_schema in [
        "emars",
        "x_kube",
        "Schema,",
        "fn ",
        "printcolumn",
        "shortname",
    ] {
        assert!(!types.contains(of_schema), "{of_schema}: {types}");
    }
    for expected in [
        "    derive = \"PartialEq\",\n    derive = \"Default\",\n",
        // The API server sets the default of a missing field.
        "    /// Percent.\n    #[serde(default, skip_serializing_if = \"Option::is_none\")]\n    \
         pub brightness: Option<i32>,\n",
        "    pub is_on: Option<bool>,\n",
        "    MotionSensor,\n    /// A value that was not in the schema.\n    #[serde(untagged)]\n    \
         Other(String),\n}\n",
        "    Other,\n    /// A value that was not in the schema.\n    #[serde(untagged)]\n    \
         Unknown(String),\n}\n",
        "#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]\npub enum LampMode {\n",
        "    pub until: Option<Time>,\n",
    ] {
        assert!(types.contains(expected), "{expected}: {types}");
    }
    // A required enum has no default, and so the object has none.
    let types = file(&types_for_use(&switch, &switch.versions[0]));
    is_formatted(&types);
    assert!(types.contains("    no_spec,\n"), "{types}");
    assert!(!types.contains("Default"), "{types}");
}

#[test]
fn an_object_has_a_default_where_all_fields_of_its_spec_have_one() {
    let (one, sort) = (
        json!({"type": "string"}),
        json!({"type": "string", "enum": ["a", "b"]}),
    );
    for (required, schema, has_default) in [
        (vec![], &one, true),
        (vec!["it"], &one, true),
        (vec![], &sort, true),
        (vec!["it"], &sort, false),
        (
            vec!["it"],
            &json!({"type": "string", "format": "date-time"}),
            false,
        ),
        // `Default` would return another value than the default of the schema.
        (vec![], &json!({"type": "integer", "default": 3}), false),
    ] {
        let spec = json!({"type": "object", "required": required, "properties": {"it": schema}});
        let types = made(&crd(&spec)).types;
        is_formatted(&types);
        assert_eq!(
            types.contains("    derive = \"Default\",\n"),
            has_default,
            "{spec}"
        );
    }
}

#[test]
fn files_without_a_valid_crd_are_refused() {
    let v1beta1 = "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\nmetadata: {name: a.b}";
    let scope = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b}\n\
        spec: {group: b, names: {kind: A, plural: a}, scope: Here, versions: []}";
    let cases = [
        ("", "`crd.yaml` has no CustomResourceDefinition"),
        (
            "kind: Pod",
            "`crd.yaml` has no CustomResourceDefinition: it has a `Pod`",
        ),
        (v1beta1, "has the apiVersion `apiextensions.k8s.io/v1beta1`"),
        (
            scope,
            "has the scope `Here`, which must be `Namespaced` or `Cluster`",
        ),
        ("a: b: c", "`crd.yaml` line 1 cannot be read: "),
        (
            "a: &a {b: c}\nd:\n  <<: *a",
            "`crd.yaml` line 3 cannot be read: the merge key `<<` is not supported: write the fields in full",
        ),
        (
            &("[".repeat(201) + &"]".repeat(201)),
            "`crd.yaml` line 1 cannot be read: more than 200 lists and objects are inside of each other",
        ),
        (
            "a: &a [*a]",
            "`crd.yaml` line 1 cannot be read: an alias refers to itself",
        ),
        (
            "a: b\n{{- if .Values.crds }}\nc: d\n{{- end }}",
            "line 2 cannot be read: it is a Helm template: render it first, with `helm template`",
        ),
        (
            "a:\n  b: {{ .Values.b }}",
            "line 2 cannot be read: it is a Helm template: render it first, with `helm template`",
        ),
    ];
    for (text, expected) in cases {
        let file = text.to_owned();
        // As much as the main thread has.
        let thread = thread::Builder::new().stack_size(8 << 20);
        let read = thread.spawn(move || parse("crd.yaml", &file).unwrap_err().to_string());
        let error = read.unwrap().join().unwrap();
        assert!(error.contains(expected), "{error}");
    }
}

/// A CRD with `line` instead of one of its lines, which starts in the same way.
fn crd_with(line: &str) -> String {
    const LINES: &str = "\
kind: CustomResourceDefinition
apiVersion: apiextensions.k8s.io/v1
metadata:
  name: lamps.example.com
  annotations: {}
  labels: {}
spec:
  group: example.com
  scope: Cluster
  names:
    kind: Lamp
    plural: lamps
    shortNames: []
    categories: []
  versions:
  - name: v1
    served: true
    storage: true
    deprecationWarning: use v2
    additionalPrinterColumns: []
    schema:
      openAPIV3Schema:
        type: object
        properties:
          it: {}
          metadata: {}
";
    let start = line.split(':').next().unwrap();
    let mut text = String::new();
    for known in LINES.lines() {
        let is_same = known.trim_start().split(':').next() == Some(start);
        let indent = &known[..known.len() - known.trim_start().len()];
        let _ = if is_same {
            writeln!(text, "{indent}{line}")
        } else {
            writeln!(text, "{known}")
        };
    }
    text
}

#[test]
fn a_name_or_a_text_that_kubectl_reads_as_another_value_is_refused() {
    for (line, number, value) in [
        ("annotations: {x: y}", 5, "true"),
        ("labels: {x: 1}", 6, "1"),
        ("kind: Y", 11, "true"),
        ("shortNames: [on]", 13, "true"),
        ("categories: [a, y]", 14, "true"),
        ("deprecationWarning: 2", 19, "2"),
        ("additionalPrinterColumns: [{name: Y}]", 20, "true"),
        ("it: {required: [a, n]}", 25, "false"),
        ("it: {x-kubernetes-list-map-keys: [on]}", 25, "true"),
        ("it: {properties: {yes: {type: string}}}", 25, "true"),
        ("it: {properties: {1.50: {type: string}}}", 25, "1.5"),
        ("it: {default: {a: {no: b}}}", 25, "false"),
        ("it: {items: {type: string, enum: [a, off]}}", 25, "false"),
        ("it: {type: string, default: yes}", 25, "true"),
        ("it: {anyOf: [{type: string, default: 1}]}", 25, "1"),
        ("it: {default: [y], items: {type: string}}", 25, "true"),
        (
            "it: {default: {a: y}, properties: {a: {type: string}}}",
            25,
            "true",
        ),
        (
            "it: {default: {a: y}, additionalProperties: {type: string}}",
            25,
            "true",
        ),
        ("it: {x-kubernetes-validations: [{rule: true}]}", 25, "true"),
    ] {
        let text = match line {
            "kind: Y" => crd_with("-").replace("kind: Lamp", line),
            line => crd_with(line),
        };
        let in_list = format!("kind: List\nitems:\n- {}", text.replace('\n', "\n  "));
        for (text, number) in [(text, number), (in_list, number + 2)] {
            let expected = format!(
                "`crd.yaml` line {number} cannot be read: YAML reads this as `{value}`, not as a text: put it in quotes"
            );
            assert_eq!(parse("crd.yaml", &text).unwrap_err().to_string(), expected);
        }
    }
    let error = parse("-", &crd_with("it: {required: a}")).unwrap_err();
    let expected = "standard input line 25 cannot be read: `required` must be a list";
    assert_eq!(error.to_string(), expected);
    // In these places, the values are no names and no texts.
    for line in [
        "it: {default: {required: [1]}, example: {required: [y]}}",
        "it: {properties: {required: {type: object}, default: {type: object}}}",
        "it: {properties: {1: {type: string}, 'yes': {type: string}}}",
        "it: {type: string, enum: ['on', a, null], default: null, nullable: true}",
        "it: {enum: [on, 1], default: 2}",
        "it: {default: {type: 1}, properties: {type: {type: integer}}}",
        "it: {required: null}",
    ] {
        parse("crd.yaml", &crd_with(line)).unwrap();
    }
    let other = "kind: ConfigMap\ndata: {on: y, required: no}\n---\n";
    parse("crd.yaml", &format!("{other}{}", crd_with("-"))).unwrap();
}

#[test]
fn a_number_is_read_as_kubectl_reads_it() {
    let crds = parse("crd.yaml", &crd_with("it: {type: string, maxLength: 010}")).unwrap();
    let schema = &crds[0].versions[0].schema;
    assert_eq!(schema["properties"]["it"]["maxLength"], 8);
}

#[test]
fn hostile_texts_are_refused_at_once() {
    let brackets = "[".repeat(200_000);
    let mut bomb = "a0: &a0 [x]\n".to_owned();
    for at in 1..30 {
        let refs = vec![format!("*a{}", at - 1); 10].join(", ");
        let _ = writeln!(bomb, "a{at}: &a{at} [{refs}]");
    }
    let start = Instant::now();
    for text in [brackets, bomb] {
        let error = parse("crd.yaml", &text).unwrap_err().to_string();
        let (_, reason) = error.split_once(" cannot be read: ").unwrap();
        let reasons = [
            "too many lists and objects are inside of each other",
            "its aliases repeat too much text",
        ];
        assert!(reasons.contains(&reason), "{error}");
    }
    assert!(start.elapsed().as_secs() < 5);
}

/// Schemas, some of which no CRD can have.
fn schemas() -> impl Strategy<Value = Value> {
    let text = "[ -~]{0,12}";
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!({"type": "boolean", "default": true})),
        (any::<i64>(), any::<i32>())
            .prop_map(|(a, b)| json!({"type": "integer", "minimum": a, "default": b})),
        any::<f64>()
            .prop_map(|maximum| json!({"type": "number", "maximum": maximum, "format": "double"})),
        (text, text, text).prop_map(|(a, b, c)| {
            json!({"type": "string", "pattern": a, "default": b, "description": c})
        }),
        proptest::collection::btree_set(text, 1..4)
            .prop_map(|values| json!({"type": "string", "enum": values})),
        Just(json!({"x-kubernetes-int-or-string": true})),
        Just(json!({"type": "string", "format": "date-time", "nullable": true})),
        Just(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            inner
                .clone()
                .prop_map(|schema| json!({"type": "array", "items": schema, "maxItems": 3})),
            inner
                .clone()
                .prop_map(|schema| json!({"type": "object", "additionalProperties": schema})),
            (
                proptest::collection::btree_map(text, inner, 0..4),
                any::<bool>()
            )
                .prop_map(|(fields, all)| {
                    let names: Vec<_> = fields.keys().filter(|_| all).collect();
                    json!({"type": "object", "properties": fields, "required": names})
                }),
        ]
    })
}

#[test]
fn a_pattern_of_each_length_is_formatted() {
    let mut fields = serde_json::Map::new();
    for length in 50..80 {
        let schema = json!({"type": "string", "pattern": "a".repeat(length)});
        fields.insert(format!("a{length}"), schema);
    }
    let of_items = json!({"type": "array", "items": {"type": "object", "properties": fields}});
    is_formatted(&of_field(&of_items).types);
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn types_of_any_schema_are_formatted(schema in schemas()) {
        is_formatted(&of_field(&schema).types);
        let crd = crd(&json!({"type": "object", "properties": {"it": schema}}));
        is_formatted(&file(&types_for_use(&crd, &crd.versions[0])));
        let fields = json!({"spec": schema, "status": schema});
        is_formatted(&made(&of_object(&json!({"type": "object", "properties": fields}))).types);
    }
}
