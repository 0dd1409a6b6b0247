//! The tables of docs/crds.md: what a project gets from a CRD, what the types keep, and what they lack.

use rscaffold::crd::{self, Crd};
use serde_json::{Value, json};

use super::rows;
use crate::{
    document::{code, first_code, read, section},
    losses::{LOSSES, is_printed},
    project::{INIT, Project},
};

/// A version of a CRD with this schema of the object.
fn version(name: &str, schema: &Value) -> Value {
    json!({
        "name": name, "served": true, "storage": name == "v1", "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    })
}

/// The schema of an object with this schema of a field of its spec.
fn object(field: &Value) -> Value {
    let spec = json!({"type": "object", "properties": {"field": field}});
    json!({"type": "object", "required": ["spec"], "properties": {"spec": spec}})
}

/// A CRD with these versions, after `change`.
fn manifest(versions: Vec<Value>, change: impl Fn(&mut Value)) -> Value {
    let mut crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "books.shop.example.org"},
        "spec": {
            "group": "shop.example.org",
            "names": {"kind": "Book", "plural": "books", "shortNames": ["bk"]},
            "scope": "Cluster",
        },
    });
    crd["spec"]["versions"] = Value::Array(versions);
    change(&mut crd);
    crd
}

/// A project with the kind of `crd`, and what the command prints.
fn project(crd: &Value, flags: &str) -> (Project, String) {
    let project = Project::new(&[INIT]);
    project.write("crd.yaml", &crd.to_string());
    let outcome = project.run(&format!("create api --crd crd.yaml {flags}"));
    (project, outcome.stderr)
}

#[test]
#[expect(clippy::too_many_lines, reason = "there is a case for each row")]
fn what_a_project_gets_from_a_crd() {
    let page = read("docs/crds.md");
    let text = object(&json!({"type": "string"}));
    let number = object(&json!({"type": "integer"}));
    let [v1, other] = [version("v1", &text), version("v2", &number)];
    let same = version("v2", &text);
    for row in rows(&page) {
        match row[0] {
            "group, kind, plural, short names, scope" => {
                let (project, _) = project(&manifest(vec![v1.clone()], |_| ()), "");
                let file = project.read("PROJECT");
                for line in ["domain: example.org", "group: shop", "kind: Book", "- bk"] {
                    assert!(file.contains(line), "{line}: {file}");
                }
                assert!(!file.contains("namespaced: true"), "{file}");
                for (kind, rust) in [("postgresql", "Postgresql"), ("my-kind", "MyKind")] {
                    assert!([kind, rust].iter().all(|name| row[1].contains(name)));
                    let named = manifest(vec![v1.clone()], |crd| {
                        crd["spec"]["names"]["kind"] = json!(kind);
                    });
                    let (project, _) = self::project(&named, "");
                    let module = kind.replace('-', "_");
                    let types = project.read(&format!("src/api/shop/v1/{module}.rs"));
                    assert!(types.contains(&format!("kind = \"{kind}\"")), "{types}");
                    assert!(types.contains(&format!("root = \"{rust}\"")), "{types}");
                }
            }
            "several versions" => {
                let crd = manifest(vec![v1.clone(), other.clone()], |_| ());
                for (flags, has_second) in [("", true), ("--version v1", false)] {
                    let (project, _) = project(&crd, flags);
                    let second = project.folder().join("src/api/shop/v2/book.rs");
                    assert_eq!(second.exists(), has_second);
                    assert!(
                        project
                            .read("src/api/shop/v1/book.rs")
                            .contains("Option<String>")
                    );
                }
            }
            "a stored version" => {
                let (project, _) = project(&manifest(vec![same.clone(), v1.clone()], |_| ()), "");
                assert!(
                    project
                        .read("src/api/mod.rs")
                        .contains("\"v1\", // the version to store")
                );
                let controller = project.read("src/controller/shop/book.rs");
                assert!(controller.contains("api::shop::v1::Book"), "{controller}");
            }
            "served versions with equal schemas" => {
                let (project, _) = project(&manifest(vec![v1.clone(), same.clone()], |_| ()), "");
                let file = project.read("PROJECT");
                assert_eq!(file.matches("conversion: none").count(), 2, "{file}");
                assert!(!file.contains("served: false"), "{file}");
            }
            "served versions with different schemas, and no webhook" => {
                let (project, _) = project(&manifest(vec![v1.clone(), other.clone()], |_| ()), "");
                let file = project.read("PROJECT");
                assert_eq!(file.matches("conversion: lossy").count(), 2, "{file}");
                assert!(!file.contains("served: false"), "{file}");
            }
            "a webhook that converts" => {
                let crd = manifest(vec![v1.clone(), other.clone()], |crd| {
                    crd["spec"]["conversion"] = json!({"strategy": "Webhook"});
                });
                let (project, printed) = project(&crd, "");
                assert_eq!(project.read("PROJECT").matches("served: false").count(), 1);
                assert!(printed.contains("`v2` is not served"), "{printed}");
                let conversion =
                    "create webhook --group shop --version v1 --kind Book --conversion";
                project.rscaffold(conversion);
                assert!(!project.read("PROJECT").contains("served: false"));
            }
            "a description, categories, labels, annotations, printer columns, selectable fields, `scale`, a deprecation" =>
            {
                let mut rich = version("v1", &text);
                rich["schema"]["openAPIV3Schema"]["description"] = json!("A book.");
                let status = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
                rich["schema"]["openAPIV3Schema"]["properties"]["status"] = status;
                let column = json!({"name": "Field", "type": "string", "jsonPath": ".spec.field"});
                rich["additionalPrinterColumns"] = json!([column]);
                rich["selectableFields"] = json!([{"jsonPath": ".spec.field"}]);
                rich["subresources"]["scale"] =
                    json!({"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"});
                rich["deprecated"] = json!(true);
                let crd = manifest(vec![rich], |crd| {
                    crd["spec"]["names"]["categories"] = json!(["all"]);
                    crd["metadata"]["labels"] = json!({"a": "b"});
                    crd["metadata"]["annotations"] = json!({"c": "d"});
                });
                let types = project(&crd, "").0.read("src/api/shop/v1/book.rs");
                for line in [
                    "doc = \"A book.\"",
                    "category = \"all\"",
                    "label(\"a\", \"b\")",
                    "annotation(\"c\", \"d\")",
                    "printcolumn(name = \"Field\"",
                    "selectable = \".spec.field\"",
                    "scale(",
                    "deprecated,",
                ] {
                    assert!(types.contains(line), "{line}: {types}");
                }
            }
            other => panic!("{other}"),
        }
    }
}

fn parsed(crd: &Value) -> Crd {
    let mut crds = crd::parse("crd.yaml", &crd.to_string()).expect("a CRD");
    crds.remove(0)
}

/// The text of the types of an object with this schema.
fn types(version: Value) -> String {
    let crd = parsed(&manifest(vec![version], |_| ()));
    let types = crd::generate(&crd, &crd.versions[0], "Book").types;
    [types.imports, types.spec_head, types.kube, types.items].join("\n")
}

#[test]
fn what_the_types_keep() {
    let page = read("docs/crds.md");
    for row in rows(section(&page, "## What the types keep")) {
        let text = json!({"type": "string"});
        let fields = match row[0] {
            "`description`" => vec![json!({"type": "string", "description": "    some code"})],
            "`minimum`, `maximum`, `minLength`, `maxLength`, `minItems`, `maxItems`, `pattern`" => {
                vec![
                    json!({"type": "integer", "minimum": 1, "maximum": 2}),
                    json!({"type": "string", "minLength": 1, "maxLength": 2, "pattern": "a"}),
                    json!({"type": "array", "items": text, "minItems": 1, "maxItems": 2}),
                ]
            }
            "`default` of a text, number, boolean or enum" => vec![
                json!({"type": "string", "default": "a"}),
                json!({"type": "integer", "default": 0}),
            ],
            "any other `default`" => {
                let fields = json!({"a": text});
                vec![json!({"type": "object", "properties": fields, "default": {"a": "b"}})]
            }
            "a field that is not required" => vec![
                text.clone(),
                json!({"type": "array", "items": text}),
                json!({"type": "object", "additionalProperties": text}),
            ],
            "`nullable`" => {
                vec![json!({"type": "array", "items": {"type": "string", "nullable": true}})]
            }
            "`enum` of texts" => vec![json!({"type": "string", "enum": ["a", "b"]})],
            "`format: date-time`" => vec![json!({"type": "string", "format": "date-time"})],
            "`x-kubernetes-int-or-string`" => vec![json!({"x-kubernetes-int-or-string": true})],
            "`x-kubernetes-embedded-resource`" => vec![json!({
                "type": "object", "x-kubernetes-embedded-resource": true,
                "properties": {"spec": {"type": "object", "properties": {"a": text}}},
            })],
            "`x-kubernetes-preserve-unknown-fields`" => {
                let open = "x-kubernetes-preserve-unknown-fields";
                vec![
                    json!({"type": "object", open: true}),
                    json!({"type": "object", "properties": {"a": text}, open: true}),
                ]
            }
            "`x-kubernetes-validations`" => {
                vec![
                    json!({"type": "string", "x-kubernetes-validations": [{"rule": "self != ''"}]}),
                ]
            }
            "`x-kubernetes-list-type`, `x-kubernetes-list-map-keys`" => vec![json!({
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"],
                "items": {"type": "object", "required": ["a"], "properties": {"a": text}},
            })],
            "anything else" => vec![json!({"type": "string", "format": "odd"})],
            "a status without the subresource `status`"
            | "an object without `spec`"
            | "a `spec` or a `status` that is not an object, such as a list" => Vec::new(),
            other => panic!("{other}"),
        };
        let mut all: Vec<_> = fields
            .iter()
            .map(|field| types(version("v1", &object(field))))
            .collect();
        if fields.is_empty() {
            let status = if row[0].starts_with("a `spec` or") {
                json!({"type": "array", "items": text})
            } else {
                json!({"type": "object", "properties": {"a": text}})
            };
            let schema = json!({"type": "object", "properties": {"status": status, "b": {"type": "string"}}});
            let mut version = version("v1", &schema);
            version["subresources"] = json!({});
            all.push(types(version));
        }
        let all = all.join("\n");
        for fragment in code(row[1]) {
            // An attribute is shortened.
            let start = fragment.split('…').next().unwrap_or_default();
            let start = start.strip_prefix("serde_json::").unwrap_or(start);
            // Several attributes of schemars share the brackets.
            let start = start.strip_prefix("schemars(").unwrap_or(start);
            let start = match start.strip_prefix("kube(") {
                Some(rest) => rest.trim_end_matches(')'),
                None => start,
            };
            assert!(all.contains(start), "{}: {start}:\n{all}", row[0]);
        }
        if row[0] == "`enum` of texts" {
            assert!(all.contains("pub enum "), "{all}");
        }
    }
}

/// The differences that are printed for a CRD.
fn losses(crd: &Value) -> Vec<String> {
    let crd = parsed(crd);
    let mut losses = crd::generate(&crd, &crd.versions[0], "Book").losses;
    losses.extend(crd::losses_of_all_versions(&crd));
    losses.iter().map(ToString::to_string).collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "there is a case for each row")]
fn what_the_types_lack() {
    const ADDED_STATUS: &str = "a status is added to a version that has only the subresource";
    let page = read("docs/crds.md");
    let text = json!({"type": "string"});
    let table = rows(section(&page, "## What the types lack"));
    for (row, _) in LOSSES {
        assert!(table.iter().any(|cells| cells[0] == row), "{row}");
    }
    for row in table {
        let mut schema = object(&text);
        let mut change: fn(&mut Value) = |_| ();
        let mut status = None;
        let field = |field: Value| object(&field);
        match row[0] {
            "`spec` is required" => {
                schema["required"] = json!([]);
            }
            "`status` is not required" => {
                schema["required"] = json!(["spec", "status"]);
                status = Some(json!({"type": "object"}));
            }
            "`metadata`, `apiVersion` or `kind` is not required" => {
                schema["required"] = json!(["spec", "metadata"]);
            }
            "a name without a field in `required` of the object is left out" => {
                schema["required"] = json!(["spec", "missing"]);
            }
            ADDED_STATUS => {}
            "`served` is true for the stored version" => {
                change = |crd| crd["spec"]["versions"][0]["served"] = json!(false);
            }
            "`listKind` is `<kind>List`" => {
                change = |crd| crd["spec"]["names"]["listKind"] = json!("Books");
            }
            "the `description` of the object is shortened or left out" => {
                schema["description"] = json!("    some code");
            }
            "the `description` of a status, or of a value in a list or map that may be null, is left out beside `oneOf`, `anyOf` or `allOf`" =>
            {
                status = Some(json!({
                    "type": "object", "description": "A status.", "properties": {"a": text},
                    "anyOf": [{"required": ["a"]}],
                }));
            }
            "the `title` of the object is the name of the Rust type" => {
                schema["title"] = json!("A title");
            }
            "any other keyword of the object itself is left out, such as `x-kubernetes-preserve-unknown-fields` beside a `spec`" =>
            {
                schema["x-kubernetes-preserve-unknown-fields"] = json!(true);
            }
            "`oneOf`, `anyOf`, `allOf`, `not` are left out if they have properties or types" => {
                schema = field(json!({
                    "type": "object", "properties": {"a": text},
                    "oneOf": [{"properties": {"a": {"minLength": 1}}}],
                }));
            }
            "`uniqueItems` is left out" => {
                schema = field(json!({"type": "array", "items": text, "uniqueItems": true}));
            }
            "`minItems`, `maxItems`, `minProperties`, `maxProperties` above 4294967295 are left out" =>
            {
                schema =
                    field(json!({"type": "array", "items": text, "maxItems": 4_294_967_296_u64}));
            }
            "a keyword of a list or a map inside of another list or map is left out, if the innermost items are structs" =>
            {
                let item = json!({"type": "object", "properties": {"a": text}});
                let inner = json!({"type": "array", "items": item, "maxItems": 3});
                schema = field(json!({"type": "array", "items": inner}));
            }
            "the subresource `scale` is left out without a status" => {
                change = |crd| {
                    crd["spec"]["versions"][0]["subresources"] = json!({
                        "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"},
                    });
                };
            }
            "rules for `metadata`, `apiVersion` or `kind` are left out" => {
                schema["properties"]["metadata"] =
                    json!({"type": "object", "properties": {"name": {"maxLength": 9}}});
            }
            "the annotations `cert-manager.io/inject-…` are left out" => {
                change = |crd| {
                    let annotations = json!({"cert-manager.io/inject-ca-from": "a/b"});
                    crd["metadata"]["annotations"] = annotations;
                };
            }
            "the conversion by a webhook is left out, if the CRD serves one version" => {
                change = |crd| crd["spec"]["conversion"] = json!({"strategy": "Webhook"});
            }
            "`preserveUnknownFields: true` is left out" => {
                change = |crd| crd["spec"]["preserveUnknownFields"] = json!(true);
            }
            "a keyword that the API server does not know or refuses is left out, such as `const` or `$ref`" =>
            {
                schema = field(json!({"type": "string", "const": "a"}));
            }
            "a keyword is left out if its value has the wrong type, such as `maxLength: \"3\"`" => {
                schema = field(json!({"type": "string", "maxLength": "3"}));
            }
            other => panic!("{other}"),
        }
        if let Some(status) = status {
            schema["properties"]["status"] = status;
        }
        let mut version = version("v1", &schema);
        if row[0] != ADDED_STATUS && schema["properties"]["status"].is_null() {
            version["subresources"] = json!({});
        }
        let losses = losses(&manifest(vec![version], change));
        // Nothing else is printed, so the case is about this row alone.
        let [loss] = losses.as_slice() else {
            panic!("{}: {losses:?}", row[0]);
        };
        let mut of_row = LOSSES.iter().filter(|(of, _)| *of == row[0]);
        assert!(
            of_row.any(|(_, text)| is_printed(text, loss)),
            "{}: {loss}",
            row[0]
        );
    }
}

#[test]
fn what_a_project_gets_of_a_kind_of_another_project() {
    let page = read("docs/crds.md");
    let text = object(&json!({"type": "string"}));
    let crd = manifest(vec![version("v1", &text)], |_| ());
    let command = "--resource=false";
    let (with, _) = project(&crd, command);
    for row in rows(section(&page, "## A kind of another project")) {
        let path = first_code(row[0])
            .replace("<group>", "shop")
            .replace("<version>", "v1")
            .replace("<kind>", "book");
        let file = with.read(&path);
        match first_code(row[0]) {
            "src/external/<group>/<version>/<kind>.rs" => {
                let edited = file + "// A line of the user.\n";
                with.write(&path, &edited);
                with.rscaffold(&format!("create api --crd crd.yaml {command}"));
                assert_eq!(with.read(&path), edited);
            }
            "src/controller/<group>/<kind>.rs" => {
                let flag = code(row[1]).last().expect("a flag");
                let (without, _) = project(&crd, &format!("{command} {flag}"));
                assert!(!without.folder().join(&path).exists());
            }
            "PROJECT" => {
                for line in code(row[1]).chain(["plural: books"]) {
                    assert!(file.contains(line), "{line}: {file}");
                }
                let namespaced = manifest(vec![version("v1", &text)], |crd| {
                    crd["spec"]["scope"] = json!("Namespaced");
                });
                let (other, _) = project(&namespaced, command);
                let line = "namespaced: true";
                assert!(!file.contains(line) && other.read(&path).contains(line));
            }
            other => panic!("{other}"),
        }
    }
}
