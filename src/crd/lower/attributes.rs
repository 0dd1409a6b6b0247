//! Turns the keywords of a schema into attributes of schemars and kube. Keywords without an attribute of their own go
//! into `schemars(extend(..))`.

use serde_json::Value;

use crate::{
    crd::schema::Schema,
    rust::{ARGUMENTS, Attribute, Meta, literal, width},
};

/// Moves the keywords for which schemars or kube has an attribute from `want` to `generated`. Adds the attributes of
/// schemars to `schemars`, and returns those of kube.
pub(super) fn words(
    want: &mut Schema,
    generated: &mut Schema,
    schemars: &mut Vec<Meta>,
) -> Vec<Attribute> {
    // schemars ignores a validation that does not apply to the type.
    let bounds = match generated.get("type").and_then(Value::as_str) {
        Some("string") => Some(("length", "minLength", "maxLength")),
        Some("array") => Some(("length", "minItems", "maxItems")),
        Some("integer" | "number") => Some(("range", "minimum", "maximum")),
        _ => None,
    };
    if let Some((word, least, most)) = bounds {
        let mut metas = Vec::new();
        for (name, keyword) in [("min", least), ("max", most)] {
            if let Some(Value::Number(bound)) = want.remove(keyword) {
                metas.push(Meta::leaf(format!("{name} = {}", literal::number(&bound))));
                generated.insert(keyword.to_owned(), bound.into());
            }
        }
        if !metas.is_empty() {
            schemars.push(Meta::list(word, metas));
        }
    }
    let is_text = generated.get("type").is_some_and(|name| name == "string");
    if let Some(pattern) = want.get("pattern").and_then(Value::as_str)
        && is_text
    {
        schemars.push(Meta::list("regex", vec![Meta::text("pattern", pattern)]));
        generated.extend(want.remove_entry("pattern"));
    }
    let mut of_kube = Vec::new();
    if let Some(strategy) = merge_strategy(want) {
        of_kube.push(kube(&format!("merge_strategy = {strategy}")));
        generated.extend(want.remove_entry("x-kubernetes-list-type"));
        generated.extend(want.remove_entry("x-kubernetes-list-map-keys"));
    }
    of_kube.extend(validations(want, generated));
    of_kube
}

/// The merge strategy of a list, as a Rust expression.
fn merge_strategy(schema: &Schema) -> Option<String> {
    let keys = schema
        .get("x-kubernetes-list-map-keys")
        .and_then(Value::as_array);
    match (schema.get("x-kubernetes-list-type")?.as_str()?, keys) {
        ("atomic", None) => Some("ListMerge::Atomic".to_owned()),
        ("set", None) => Some("ListMerge::Set".to_owned()),
        ("map", Some(keys)) => {
            let literals = keys.iter().filter_map(literal_of);
            let texts: Vec<_> = literals.map(|key| format!("{key}.into()")).collect();
            Some(format!("ListMerge::Map(vec![{}])", texts.join(", ")))
        }
        _ => None,
    }
}

/// Moves the CEL rules from `want` to `generated`, and returns the attributes for them.
pub(super) fn validations(want: &mut Schema, generated: &mut Schema) -> Vec<Attribute> {
    let rules = want.get("x-kubernetes-validations").and_then(rules);
    let Some(rules) = rules else {
        return Vec::new();
    };
    generated.extend(want.remove_entry("x-kubernetes-validations"));
    rules
        .iter()
        .map(|rule| kube(&format!("validation = {rule}")))
        .collect()
}

fn kube(text: &str) -> Attribute {
    Attribute::Verbatim(format!("x_kube({text})"))
}

/// The attribute `schemars(extend(..))` with `keywords`, which have no attribute of their own.
pub(super) fn extend(keywords: &Schema) -> Option<Attribute> {
    if keywords.is_empty() {
        return None;
    }
    let assignments: Vec<_> = keywords
        .iter()
        .map(|(keyword, value)| format!("{} = {}", literal::text(keyword), literal::json(value)))
        .collect();
    let line = assignments.join(", ");
    if width(&line) <= ARGUMENTS {
        return Some(Attribute::Verbatim(format!("schemars(extend({line}))")));
    }
    let mut lines = String::new();
    for (keyword, value) in keywords {
        let name = literal::text(keyword);
        let room = 80_usize.saturating_sub(width(&name));
        lines += &format!("    {name} = {},\n", literal::json_lines(value, 4, room));
    }
    Some(Attribute::Verbatim(format!("schemars(extend(\n{lines}))")))
}

/// CEL rules as Rust expressions, if kube supports every field of the rules.
pub(super) fn rules(rules: &Value) -> Option<Vec<String>> {
    rules.as_array()?.iter().map(rule).collect()
}

fn rule(rule: &Value) -> Option<String> {
    const REASONS: [&str; 4] = ["Invalid", "Forbidden", "Required", "Duplicate"];
    let fields = rule.as_object()?;
    let mut rust = format!("Rule::new({})", literal_of(fields.get("rule")?)?);
    let mut has_message = false;
    for (key, value) in fields {
        match key.as_str() {
            "rule" => {}
            "message" | "messageExpression" if has_message => return None,
            "message" => {
                has_message = true;
                rust += &format!(".message({})", literal_of(value)?);
            }
            "messageExpression" => {
                has_message = true;
                rust += &format!(
                    ".message(Message::Expression({}.into()))",
                    literal_of(value)?
                );
            }
            "reason" => {
                let reason = value.as_str()?.strip_prefix("FieldValue")?;
                if !REASONS.contains(&reason) {
                    return None;
                }
                rust += &format!(".reason(Reason::FieldValue{reason})");
            }
            "fieldPath" => rust += &format!(".field_path({})", literal_of(value)?),
            "optionalOldSelf" => rust += &format!(".optional_old_self({})", value.as_bool()?),
            _ => return None,
        }
    }
    Some(rust)
}

/// A string as a Rust literal.
fn literal_of(value: &Value) -> Option<String> {
    value.as_str().map(literal::text)
}
