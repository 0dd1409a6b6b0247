//! Checks whether several versions of a kind can be served without a conversion.

use std::collections::BTreeSet;

use anyhow::bail;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion,
};
use serde_json::{Map, Value};

/// The annotation of a CRD whose served versions may have different schemas without a conversion.
const CONVERSION: (&str, &str) = ("kube-manager/conversion", "lossy");

/// Schema keywords that are only documentation.
const DOCUMENTATION: [&str; 4] = ["description", "example", "externalDocs", "title"];

/// Returns an error for a CRD that has several served versions, no conversion between them, and different schemas,
/// unless an annotation allows it. The API server would return objects of one version as objects of another version,
/// without the fields that the other version does not have.
pub(super) fn check(crd: &CustomResourceDefinition) -> anyhow::Result<()> {
    let (name, value) = CONVERSION;
    let annotations = crd.metadata.annotations.as_ref();
    if annotations.is_some_and(|annotations| {
        annotations
            .get(name)
            .is_some_and(|annotations| annotations == value)
    }) {
        return Ok(());
    }
    check_beside_stored(crd, |other| other.served)
}

/// Like [`check`], but for the versions in which objects may still be stored. The annotation does not matter here,
/// because a migration writes all objects and must not lose any field.
pub(super) fn check_stored(crd: &CustomResourceDefinition) -> anyhow::Result<()> {
    let status = crd.status.as_ref();
    let stored = status.and_then(|status| status.stored_versions.as_ref());
    check_beside_stored(crd, |other| {
        stored.is_some_and(|versions| versions.contains(&other.name))
    })
}

/// Returns an error if a version that `is_used` has another schema than the stored version.
fn check_beside_stored(
    crd: &CustomResourceDefinition,
    is_used: impl Fn(&CustomResourceDefinitionVersion) -> bool,
) -> anyhow::Result<()> {
    let conversion = crd.spec.conversion.as_ref();
    if conversion.is_some_and(|conversion| conversion.strategy != "None") {
        return Ok(());
    }
    let versions = &crd.spec.versions;
    let Some(stored) = versions.iter().find(|version| version.storage) else {
        return Ok(());
    };
    for other in versions
        .iter()
        .filter(|version| is_used(version) && !version.storage)
    {
        let [stored_schema, other_schema] = [schema(stored)?, schema(other)?];
        if let Some(place) = difference(&stored_schema, &other_schema, "") {
            bail!(
                "`{stored}` and `{other}` of {kind} are both in use, and nothing converts between them, but \
                 their schemas differ in {place}: make the schemas equal, set `served = false` in the \
                     types of one of them, or give the CRD a conversion",
                stored = stored.name,
                other = other.name,
                kind = crd.spec.names.kind,
            );
        }
    }
    Ok(())
}

fn schema(version: &CustomResourceDefinitionVersion) -> serde_json::Result<Value> {
    let schema = version.schema.as_ref();
    serde_json::to_value(schema.and_then(|schema| schema.open_api_v3_schema.as_ref()))
}

/// The first field in which two schemas differ, such as `` `.spec.title` ``. If both have the field, the differing
/// keyword is included: `` `maxLength` of `.spec.title` ``. `field` is the path of the schemas.
fn difference(a: &Value, b: &Value, field: &str) -> Option<String> {
    let (Value::Object(a), Value::Object(b)) = (a, b) else {
        return (a != b).then(|| place(field));
    };
    let mut keywords = keys(a, b);
    keywords.retain(|keyword| !DOCUMENTATION.contains(keyword));
    keywords.into_iter().find_map(|keyword| {
        match (keyword, a.get(keyword), b.get(keyword)) {
            ("properties", Some(Value::Object(a)), Some(Value::Object(b))) => {
                keys(a, b).into_iter().find_map(|name| {
                    let field = format!("{field}.{name}");
                    match (a.get(name), b.get(name)) {
                        (Some(a), Some(b)) => difference(a, b, &field),
                        _ => Some(place(&field)),
                    }
                })
            }
            ("items", Some(a), Some(b)) => difference(a, b, &format!("{field}[]")),
            ("additionalProperties", Some(a), Some(b)) => difference(a, b, &format!("{field}.*")),
            // The order of these lists has no meaning.
            ("required" | "enum", Some(Value::Array(a)), Some(Value::Array(b))) => {
                let is_same = a.len() == b.len() && a.iter().all(|item| b.contains(item));
                (!is_same).then(|| keyword_of(keyword, field))
            }
            (_, a, b) if a == b => None,
            _ => Some(keyword_of(keyword, field)),
        }
    })
}

fn keys<'a>(a: &'a Map<String, Value>, b: &'a Map<String, Value>) -> BTreeSet<&'a str> {
    a.keys().chain(b.keys()).map(String::as_str).collect()
}

fn keyword_of(keyword: &str, field: &str) -> String {
    format!("`{keyword}` of {}", place(field))
}

fn place(field: &str) -> String {
    match field {
        "" => "the object itself".to_owned(),
        field => format!("`{field}`"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::{
        super::{Manager, Operator},
        *,
    };

    /// A CRD with the versions `v1`, which is stored, and `v2`, with these schemas of `spec`.
    fn crd(v1: &Value, v2: &Value, change: impl Fn(&mut Value)) -> CustomResourceDefinition {
        fn version(name: &str, spec: &Value) -> Value {
            let schema =
                json!({"type": "object", "description": name, "properties": {"spec": spec}});
            json!({"name": name, "served": true, "storage": name == "v1",
                "schema": {"openAPIV3Schema": schema}})
        }

        let names = json!({"kind": "Book", "plural": "books"});
        let mut crd = json!({"metadata": {}, "spec": {"group": "shop.example.com", "names": names,
            "scope": "Namespaced", "versions": [version("v1", v1), version("v2", v2)]}});
        change(&mut crd);
        serde_json::from_value(crd).expect("a CRD")
    }

    /// The error of such a CRD.
    fn error(v1: &Value, v2: &Value, change: impl Fn(&mut Value)) -> Option<String> {
        let error = check(&crd(v1, v2, change)).err();
        error.map(|error| error.to_string())
    }

    fn place_of(v1: &Value, v2: &Value) -> Option<String> {
        let error = error(v1, v2, |_| ())?;
        let (_, place) = error.split_once("differ in ").expect("a place");
        Some(place.split_once(": make").expect("advice").0.to_owned())
    }

    #[test]
    fn equal_schemas_need_no_conversion() {
        let v1 = json!({"type": "object", "description": "One.", "required": ["a", "b"],
            "properties": {"title": {"type": "string", "enum": ["x", "y"], "title": "One"}}});
        let v2 = json!({"type": "object", "description": "Two.", "required": ["b", "a"],
            "properties": {"title": {"type": "string", "enum": ["y", "x"], "description": "Two"}}});
        assert_eq!(place_of(&v1, &v2), None);
    }

    #[test]
    fn a_difference_is_reported_with_its_place() {
        fn of(title: &Value) -> Value {
            json!({"type": "object", "properties": {"title": title}})
        }

        let text = of(&json!({"type": "string", "maxLength": 80}));
        let cases = [
            (
                of(&json!({"type": "string"})),
                "`maxLength` of `.spec.title`",
            ),
            (
                of(&json!({"type": "integer", "maxLength": 80})),
                "`type` of `.spec.title`",
            ),
            (
                of(&json!({"type": "string", "maxLength": 80, "default": "a"})),
                "`default` of `.spec.title`",
            ),
            (json!({"type": "object", "properties": {}}), "`.spec.title`"),
            (json!({"type": "object"}), "`properties` of `.spec`"),
            // The name of a field may equal a keyword.
            (
                json!({"type": "object", "properties": {
                    "description": {"type": "string"}, "title": {"type": "string", "maxLength": 80}}}),
                "`.spec.description`",
            ),
        ];
        for (other, expected) in cases {
            assert_eq!(place_of(&text, &other).as_deref(), Some(expected));
            assert_eq!(place_of(&other, &text).as_deref(), Some(expected));
        }
        let elements = [json!({"type": "string"}), json!({"type": "integer"})];
        let [texts, numbers] = elements
            .each_ref()
            .map(|items| of(&json!({"type": "array", "items": items})));
        let expected = Some("`type` of `.spec.title[]`".to_owned());
        assert_eq!(place_of(&texts, &numbers), expected);
        let [texts, numbers] = elements
            .each_ref()
            .map(|values| of(&json!({"type": "object", "additionalProperties": values})));
        let expected = Some("`type` of `.spec.title.*`".to_owned());
        assert_eq!(place_of(&texts, &numbers), expected);
    }

    #[test]
    fn versions_that_are_not_in_use_or_converted_may_differ() {
        type MutateFn = fn(&mut Value);

        let (v1, v2) = (json!({"type": "object"}), json!({"type": "string"}));
        assert_eq!(
            error(&v1, &v2, |_| ()).as_deref(),
            Some(
                "`v1` and `v2` of Book are both in use, and nothing converts between them, but their \
                 schemas differ in `type` of `.spec`: make the schemas equal, set `served = false` \
                     in the types of one of them, or give the CRD a conversion"
            )
        );
        let cases: [(MutateFn, bool); 4] = [
            (
                |crd| crd["spec"]["conversion"] = json!({"strategy": "None"}),
                false,
            ),
            // The stored version is in use even if it is not served.
            (
                |crd| crd["spec"]["versions"][0]["served"] = false.into(),
                false,
            ),
            (
                |crd| crd["spec"]["versions"][1]["served"] = false.into(),
                true,
            ),
            (
                |crd| crd["spec"]["conversion"] = json!({"strategy": "Webhook"}),
                true,
            ),
        ];
        for (number, (mutate, is_good)) in cases.into_iter().enumerate() {
            assert_eq!(error(&v1, &v2, mutate).is_none(), is_good, "{number}");
        }
        for (value, is_good) in [("lossy", true), ("none", false)] {
            let annotated = crd(&v1, &v2, |crd| {
                crd["metadata"]["annotations"] = json!({"kube-manager/conversion": value});
            });
            assert_eq!(super::check(&annotated).is_ok(), is_good, "{value}");
        }
    }

    #[test]
    fn what_is_stored_is_in_use_although_it_is_not_served() {
        let (v1, v2) = (json!({"type": "object"}), json!({"type": "string"}));
        for (stored, is_good) in [(json!(["v1"]), true), (json!(["v1", "v2"]), false)] {
            let crd = crd(&v1, &v2, |crd| {
                crd["metadata"]["annotations"] = json!({"kube-manager/conversion": "lossy"});
                crd["spec"]["versions"][1]["served"] = false.into();
                crd["status"] = json!({"storedVersions": stored});
            });
            assert_eq!(check_stored(&crd).is_ok(), is_good, "{stored}");
        }
    }

    #[test]
    fn no_manifest_is_written_for_a_refused_kind() {
        /// Writes to a folder in which no file can be written.
        fn written<const N: usize>(crds: [CustomResourceDefinition; N]) -> String {
            let mut manager = Manager::new(Operator::new("shop", "example.com"));
            let crds = Vec::from(crds.map(Into::into));
            let added = manager.add_crds(|| Ok::<_, anyhow::Error>(crds));
            added.expect("schemas");
            let error = manager.write_manifests(Path::new("/dev/null")).unwrap_err();
            error.to_string()
        }

        let (v1, v2) = (json!({"type": "object"}), json!({"type": "string"}));
        let error = written([crd(&v1, &v2, |_| ())]);
        assert!(error.starts_with("`v1` and `v2` of Book"), "{error}");
        let error = written([crd(&v1, &v1, |_| ())]);
        assert!(error.starts_with("cannot write"), "{error}");

        // The faults of all kinds are told at once.
        let faulty = json!({"type": "array"});
        let film = crd(&faulty, &v1, |crd| {
            crd["spec"]["names"]["kind"] = json!("Film");
        });
        let error = written([crd(&faulty, &faulty, |_| ()), film]);
        let (summary, faults) = error.split_once('\n').expect("lines of faults");
        assert_eq!(summary, "an API server would refuse the CRDs:");
        let mut lines = faults.lines();
        for kind in ["Book v1", "Book v2", "Film v1"] {
            let fault = format!("  {kind}: spec: the items of the list have no schema: ");
            assert!(lines.next().is_some_and(|line| line.starts_with(&fault)));
        }
        assert_eq!(lines.next(), None);
    }
}
