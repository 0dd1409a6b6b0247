//! For tests of types: reads samples, and evaluates CEL rules.

use kube::{CustomResourceExt, Resource};
use kube_cel::{ErrorKind, ValidationError, Validator};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::keys::{Object, RULES, any};

/// The object in the text of a sample, which may also have objects of other kinds.
///
/// # Panics
///
/// When there is no such object, or when it does not fit its type.
pub fn sample<K: Resource<DynamicType = ()> + DeserializeOwned>(text: &str) -> K {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).expect("YAML");
    let mut own = documents.into_iter();
    let own = own.find(|object| object["kind"] == *K::kind(&()));
    serde_json::from_value(own.expect("an object")).expect("the sample fits the type")
}

/// The CEL rules that `new` breaks, each after its field. `old` is the object before an update, `None` for a new object.
/// Bounds, such as a `range`, are not checked; an API server checks them.
pub fn broken_rules<K: CustomResourceExt + Serialize>(old: Option<&K>, new: &K) -> Vec<String> {
    let crd = json!(K::crd());
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let broken = evaluate(schema, old.map(|old| json!(old)).as_ref(), &json!(new));
    broken.iter().map(ToString::to_string).collect()
}

/// Whether a new `object` may break a CEL rule of `schema`. kube-cel cannot evaluate some rules.
#[cfg(all(feature = "testing", feature = "webhook"))]
pub(crate) fn may_break_rules(object: &Value, schema: &Value) -> bool {
    !evaluate(schema, None, object).is_empty()
}

/// The first CEL rule that the default `value` of `schema` breaks, as far as it is known. An API server looks at the
/// default as a new value, and as one that does not change.
pub(super) fn broken_by_default(value: &Value, schema: &Object) -> Option<String> {
    if !any(schema, |part| part.contains_key(RULES)) {
        return None;
    }
    let mut schema = json!(schema);
    remove_defaults(&mut schema);
    let mut broken = evaluate(&schema, Some(value), value);
    broken.extend(evaluate(&schema, None, value));
    broken.iter().find(is_known).map(ToString::to_string)
}

/// Whether an API server refuses a value with this error, too. kube-cel lacks some functions of Kubernetes, and reads
/// `!!` as `!`, and `--` as `-`.
fn is_known(error: &&ValidationError) -> bool {
    let kinds = [ErrorKind::ValidationFailure, ErrorKind::EvaluationError];
    kinds.contains(&error.kind) && !["!!", "--"].iter().any(|sign| error.rule.contains(sign))
}

/// Removes the defaults in `schema`: an API server does not write them into other defaults.
fn remove_defaults(schema: &mut Value) {
    let Value::Object(object) = schema else {
        return;
    };
    object.remove("default");
    if let Some(Value::Object(fields)) = object.get_mut("properties") {
        fields.values_mut().for_each(remove_defaults);
    }
    for key in ["additionalProperties", "items"] {
        if let Some(inner) = object.get_mut(key) {
            remove_defaults(inner);
        }
    }
}

/// The rules that `new` breaks.
fn evaluate(schema: &Value, old: Option<&Value>, new: &Value) -> Vec<ValidationError> {
    let mut schema = schema.clone();
    make_old_self_optional(&mut schema);
    let old = old.map(|old| without_nulls(old, &schema));
    let checked = Validator::new().validate(&schema, &without_nulls(new, &schema), old.as_ref());
    checked.err().into_iter().flatten().collect()
}

/// `value` without the fields that are null: rules do not see them. They see the keys of a map that are null.
fn without_nulls(value: &Value, schema: &Value) -> Value {
    let fields = &schema["properties"];
    match value {
        Value::Object(object) => {
            let known = object
                .iter()
                .filter(|(_, field)| !fields.is_object() || !field.is_null());
            let inner = |name| fields.get(name).unwrap_or(&schema["additionalProperties"]);
            known
                .map(|(name, field)| (name.clone(), without_nulls(field, inner(name))))
                .collect()
        }
        Value::Array(items) => items
            .iter()
            .map(|item| without_nulls(item, &schema["items"]))
            .collect(),
        _ => value.clone(),
    }
}

/// In a rule with `optionalOldSelf`, kube-cel makes `oldSelf` the former value or null, and Kubernetes an optional value.
fn make_old_self_optional(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.get("optionalOldSelf") == Some(&json!(true))
                && let Some(Value::String(rule)) = object.get("rule").cloned()
            {
                let optional = "(oldSelf == null ? optional.none() : optional.of(oldSelf))";
                object.insert("rule".to_owned(), rule.replace("oldSelf", optional).into());
                let message = object.entry("message");
                message.or_insert_with(|| format!("failed rule: {rule}").into());
            }
            object.values_mut().for_each(make_old_self_optional);
        }
        Value::Array(items) => items.iter_mut().for_each(make_old_self_optional),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_sees_no_field_that_is_null() {
        let inner = json!({
            "type": "object",
            "properties": {"a": {"type": "string", "nullable": true}},
            "x-kubernetes-validations": [{"rule": "!has(self.a) || self.a.size() > 1"}],
        });
        let rules = json!([{"rule": "!('b' in self) || self.b == null"}]);
        let schema = json!({"type": "object", "properties": {
            "one": inner,
            "list": {"type": "array", "items": inner},
            "map": {"type": "object", "additionalProperties": inner},
            "keys": {
                "type": "object",
                "additionalProperties": {"type": "string", "nullable": true},
                "x-kubernetes-validations": rules,
            },
            "some": {
                "type": "object",
                "properties": {"a": {"type": "string", "nullable": true}},
                "x-kubernetes-validations": [{"rule": "has(self.a)"}],
            },
        }});
        let none = json!({"a": null});
        let old = json!({"one": none, "list": [none], "map": {"b": none}, "keys": {"b": null}});
        let broken = |new: &Value| evaluate(&schema, Some(&old), new).len();
        assert_eq!(broken(&old), 0);
        assert_eq!(broken(&json!({"one": null})), 0);
        assert_eq!(broken(&json!({"some": none})), 1);
        assert_eq!(broken(&json!({"some": {"a": "x"}, "one": {"a": "x"}})), 1);
    }

    #[test]
    fn a_default_breaks_a_rule_as_on_an_api_server() {
        let number = |rule: Value| json!({"type": "integer", "x-kubernetes-validations": [rule]});
        let fields = json!({"a": {"type": "string", "default": "a"}});
        for (schema, default, expected) in [
            (number(json!({"rule": "self > 1"})), json!(2), None),
            (
                number(json!({"rule": "self > 1"})),
                json!(1),
                Some("failed rule: self > 1"),
            ),
            (
                number(json!({"rule": "self > 1", "message": "too few"})),
                json!(1),
                Some("too few"),
            ),
            // A default is also a value that does not change.
            (
                number(json!({"rule": "self > oldSelf"})),
                json!(1),
                Some("failed rule: self > oldSelf"),
            ),
            (
                number(json!({"rule": "!oldSelf.hasValue() || self > 1", "optionalOldSelf": true})),
                json!(1),
                Some("failed rule: !oldSelf.hasValue() || self > 1"),
            ),
            (
                number(json!({"rule": "oldSelf.orValue(1) == self", "optionalOldSelf": true})),
                json!(1),
                None,
            ),
            // kube-cel has no `type`.
            (
                number(json!({"rule": "type(self) == string"})),
                json!(1),
                None,
            ),
            (number(json!({"rule": "!!(self == 1)"})), json!(1), None),
            (
                json!({"type": "object", "properties": fields, "x-kubernetes-validations": [{"rule": "has(self.a)"}]}),
                json!({}),
                Some("failed rule: has(self.a)"),
            ),
        ] {
            let schema = schema.as_object().expect("a schema");
            let broken = broken_by_default(&default, schema);
            assert_eq!(broken.as_deref(), expected, "{schema:?}");
        }
    }
}
