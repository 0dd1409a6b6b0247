//! Draws projects whose names have each length that an API server takes.

use proptest::{collection::vec, prelude::*};

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

/// Draws a name in upper camel case, of words with each length. The plural has one more character.
fn kind() -> impl Strategy<Value = String> {
    (1..LABEL, vec("[A-Z][a-z]{1,20}", 1..20)).prop_map(|(length, words)| {
        let mut name = words.concat();
        name.truncate(length.min(LABEL - 1));
        name
    })
}

/// Draws the name of a field in camel case.
fn field() -> impl Strategy<Value = String> {
    (1_usize..70, vec("[A-Z][a-z]{1,20}", 1..5)).prop_map(|(length, words)| {
        let name = format!("f{}", words.concat());
        name[..length.min(name.len())].to_owned()
    })
}

/// Draws the schema of a field, as JSON.
fn schema() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(r#"{"type":"string"}"#.to_owned()),
        Just(r#"{"type":"integer","format":"int64"}"#.to_owned()),
        Just(r#"{"x-kubernetes-int-or-string":true}"#.to_owned()),
        Just(r#"{"type":"object","x-kubernetes-preserve-unknown-fields":true}"#.to_owned()),
        vec(field(), 1..4).prop_map(|values| {
            format!(
                r#"{{"type":"string","enum":["{}"]}}"#,
                values.join(r#"",""#)
            )
        }),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            inner
                .clone()
                .prop_map(|schema| format!(r#"{{"type":"array","items":{schema}}}"#)),
            inner.clone().prop_map(|schema| format!(
                r#"{{"type":"object","additionalProperties":{schema}}}"#
            )),
            object(inner),
        ]
    })
}

/// Draws an object whose fields have the schemas that `inner` draws. Some fields are required.
fn object(inner: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    vec((field(), inner, any::<bool>()), 1..5).prop_map(|mut fields| {
        fields.sort_by_key(|(name, ..)| name.to_lowercase());
        fields.dedup_by_key(|(name, ..)| name.to_lowercase());
        let shown: Vec<_> = fields
            .iter()
            .map(|(name, schema, _)| format!("{name:?}:{schema}"))
            .collect();
        let required = fields.iter().filter(|(.., is_required)| *is_required);
        let required: Vec<_> = required.map(|(name, ..)| format!("{name:?}")).collect();
        let required = match required.join(",") {
            names if names.is_empty() => names,
            names => format!(r#","required":[{names}]"#),
        };
        format!(
            r#"{{"type":"object","properties":{{{}}}{required}}}"#,
            shown.join(",")
        )
    })
}

/// Draws a CRD with two versions.
fn crd() -> impl Strategy<Value = String> {
    (kind(), lower(LABEL), object(schema()), object(schema())).prop_map(
        |(kind, group, first, second)| {
            let lower = kind.to_lowercase();
            let version = |name: &str, stored: bool, spec: &str| {
                format!(
                    r#"{{"name":"{name}","served":true,"storage":{stored},"schema":{{"openAPIV3Schema":{{"type":"object","properties":{{"spec":{spec}}}}}}}}}"#
                )
            };
            let versions = [version("v1", true, &first), version("v1beta1", false, &second)];
            format!(
                r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"{lower}s.{group}.example.com"}},"spec":{{"group":"{group}.example.com","scope":"Namespaced","names":{{"kind":"{kind}","plural":"{lower}s","singular":"{lower}"}},"versions":[{}]}}}}"#,
                versions.join(",")
            )
        },
    )
}

/// Draws the commands of a project.
pub fn project() -> impl Strategy<Value = Vec<Step>> {
    let names = (
        vec(kind(), 5),
        vec(lower(LABEL), 3),
        lower(50),
        lower(LABEL),
    );
    (names, crd()).prop_map(|((kinds, groups, domain, controller), crd)| {
        let [own, owned, watched, other, second] = &*kinds else {
            unreachable!("five kinds");
        };
        let [group, shared, foreign] = &*groups else {
            unreachable!("three groups");
        };
        let uses = format!(
            "--owns {shared}/v1/{owned},batch/v1/CronJob --watches {shared}/v1/{watched} --finalizer"
        );
        let commands = [
            format!("init --domain {domain}.com --repo guestbook --runtime registry"),
            format!("create api --group {shared} --version v1 --kind {owned} --controller=false"),
            format!("create api --group {shared} --version v1 --kind {watched} --controller=false"),
            format!("create api --group {group} --version v1 --kind {own} {uses}"),
            format!(
                "create api --group {group} --version v1 --kind {second} --namespaced=false \
                 --controller-name {controller}"
            ),
            format!(
                "create webhook --group {group} --version v1 --kind {own} --defaulting \
                 --programmatic-validation"
            ),
            format!(
                "create api --group {group} --version v2 --kind {own} --controller=false"
            ),
            format!(
                "create webhook --group {group} --version v2 --kind {own} --conversion"
            ),
            format!(
                "create api --group {foreign} --version v1 --kind {other} --resource=false {uses} \
                 --external-api-path widgets::v1::{other} --external-api-domain example.org \
                 --external-api-crate widgets@1"
            ),
            "create api --crd {file}".to_owned(),
        ];
        let step = |command: String| Step {
            arguments: command.split(' ').map(str::to_owned).collect(),
            file: Some(crd.clone()),
        };
        commands.map(step).to_vec()
    })
}
