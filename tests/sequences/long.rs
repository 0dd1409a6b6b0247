//! Draws projects whose names have each length that an API server takes.

use proptest::{
    collection::{btree_set, vec},
    prelude::*,
    sample::select,
};
use serde_json::{Map, Value, json};

use super::draw::Step;

/// The longest label of a name in DNS.
const LABEL: usize = 63;

/// Draws a name in lower case with at most `longest` characters.
fn lower(longest: usize) -> impl Strategy<Value = String> {
    "[a-z]{1,63}".prop_map(move |mut name| {
        name.truncate(longest);
        name
    })
}

/// Draws a name in upper camel case, of words with each length, or a name that needs another one in Rust. The names have few
/// first letters: the modules of `IPPool` and `Ingredient` have another order than the kinds.
fn kind() -> impl Strategy<Value = String> {
    let long = (1..=LABEL, vec("[A-C]{1,2}[a-z]{1,20}", 1..20)).prop_map(|(length, words)| {
        let mut name = words.concat();
        name.truncate(length);
        name
    });
    prop_oneof![
        9 => long,
        1 => select(&["Condition", "Controller", "Error", "New", "Validator"]).prop_map(str::to_owned),
    ]
}

/// Draws the name of a field in camel case.
fn field() -> impl Strategy<Value = String> {
    (1_usize..70, vec("[A-Z][a-z]{1,20}", 1..5)).prop_map(|(length, words)| {
        let name = format!("f{}", words.concat());
        name[..length.min(name.len())].to_owned()
    })
}

/// Draws the schema of a field.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        "[a-z]{50,80}".prop_map(|pattern| json!({"type": "string", "pattern": pattern})),
        Just(json!({"type": "string", "format": "date-time"})),
        Just(json!({"type": "integer", "format": "int64"})),
        Just(json!({"x-kubernetes-int-or-string": true})),
        Just(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
        vec(field(), 1..4).prop_map(|values| json!({"type": "string", "enum": values})),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            (inner.clone()).prop_map(|schema| json!({"type": "array", "items": schema})),
            (inner.clone())
                .prop_map(|schema| json!({"type": "object", "additionalProperties": schema})),
            object(inner),
        ]
    })
}

/// Draws an object whose fields have the schemas that `inner` draws. Some fields are required.
fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    vec((field(), inner, any::<bool>()), 1..5).prop_map(|mut fields| {
        fields.sort_by_key(|(name, ..)| name.to_lowercase());
        fields.dedup_by_key(|(name, ..)| name.to_lowercase());
        let mut properties = Map::new();
        let mut required = Vec::new();
        for (name, schema, is_required) in fields {
            if is_required {
                required.push(name.clone());
            }
            properties.insert(name, schema);
        }
        let mut object = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            object["required"] = json!(required);
        }
        object
    })
}

/// Draws a CRD with two versions.
fn crd() -> impl Strategy<Value = Value> {
    (kind(), lower(LABEL), object(schema()), object(schema())).prop_map(
        |(kind, group, first, second)| {
            let lower = kind.to_lowercase();
            let (group, plural) = (format!("{group}.example.com"), lower.clone());
            let version = |name: &str, stored: bool, spec: Value| {
                let schema = json!({"type": "object", "properties": {"spec": spec}});
                json!({
                    "name": name,
                    "served": true,
                    "storage": stored,
                    "schema": {"openAPIV3Schema": schema},
                })
            };
            json!({
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": format!("{plural}.{group}")},
                "spec": {
                    "group": group,
                    "scope": "Namespaced",
                    "names": {"kind": kind, "plural": plural, "singular": lower},
                    "versions": [version("v1", true, first), version("v1beta1", false, second)],
                },
            })
        },
    )
}

/// Draws the commands of a project.
pub fn project() -> impl Strategy<Value = Vec<Step>> {
    let (kinds, groups) = (btree_set(kind(), 5), btree_set(lower(LABEL), 4));
    let names = (kinds, groups, lower(50), lower(LABEL), crd());
    names.prop_map(|(kinds, groups, domain, controller, crd)| {
        let mut kinds: Vec<_> = kinds.iter().collect();
        // A kind of this name cannot have webhooks.
        kinds.sort_by_key(|kind| *kind == "Validator");
        let groups: Vec<_> = groups.iter().collect();
        let [own, owned, watched, second, other] = &*kinds else {
            unreachable!("five kinds");
        };
        let [group, first, last, foreign] = &*groups else {
            unreachable!("four groups");
        };
        let uses = format!(
            "--owns {first}/v1/{owned},{last}/v1/{owned},batch/v1/CronJob \
             --watches {first}/v1/{watched},{last}/v1/{watched} --finalizer"
        );
        let mut commands = vec![format!(
            "init --domain {domain}.com --repo guestbook --runtime registry"
        )];
        for group in [first, last] {
            for kind in [owned, watched] {
                commands.push(format!(
                    "create api --group {group} --version v1 --kind {kind} --controller=false"
                ));
            }
        }
        commands.extend([
            format!("create api --group {group} --version v1 --kind {own} {uses}"),
            format!(
                "create api --group {group} --version v1 --kind {second} --namespaced=false \
                 --controller-name {controller}"
            ),
            format!(
                "create webhook --group {group} --version v1 --kind {own} --defaulting \
                 --programmatic-validation"
            ),
            format!("create webhook --group {group} --version v1 --kind {second} --defaulting"),
            format!("create api --group {group} --version v2 --kind {own} --controller=false"),
            format!("create webhook --group {group} --version v2 --kind {own} --conversion"),
            format!(
                "create api --group {foreign} --version v1 --kind {other} --resource=false {uses} \
                 --external-api-path widgets::v1::{other} --external-api-domain example.org \
                 --external-api-crate widgets@1"
            ),
            "create api --crd {file}".to_owned(),
        ]);
        let step = |command: String| Step {
            arguments: command.split(' ').map(str::to_owned).collect(),
            file: Some(crd.to_string()),
        };
        commands.into_iter().map(step).collect()
    })
}
