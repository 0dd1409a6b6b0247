//! Turns the keywords of a schema into attributes of schemars and kube. Keywords without an attribute of their own go
//! into `schemars(extend(..))`.
#![expect(
    clippy::format_push_string,
    reason = "`+=` is easier to read than `write!`"
)]

use serde_json::Value;

use crate::crd::{
    layout::{Attribute, Meta},
    literal,
    schema::Schema,
};

/// Moves the keywords for which schemars or kube has an attribute from `want` to `written`. Adds the attributes of
/// schemars to `schemars`, and returns those of kube.
pub(super) fn words(
    want: &mut Schema,
    written: &mut Schema,
    schemars: &mut Vec<Meta>,
) -> Vec<Attribute> {
    // schemars ignores a validation that does not apply to the type.
    let bounds = match written.get("type").and_then(Value::as_str) {
        Some("string") => Some(("length", ["minLength", "maxLength"])),
        Some("array") => Some(("length", ["minItems", "maxItems"])),
        Some("integer" | "number") => Some(("range", ["minimum", "maximum"])),
        _ => None,
    };
    if let Some((word, keys)) = bounds {
        let bounds = ["min", "max"]
            .into_iter()
            .zip(keys)
            .filter_map(|(word, key)| {
                let value = want.remove(key)?;
                let bound = literal::number(value.as_number()?);
                written.insert(key.to_owned(), value);
                Some(Meta::Leaf(format!("{word} = {bound}")))
            });
        let bounds: Vec<_> = bounds.collect();
        if !bounds.is_empty() {
            schemars.push(Meta::list(word, bounds));
        }
    }
    let is_text = written.get("type").is_some_and(|it| it == "string");
    if let Some(pattern) = want.get("pattern").and_then(Value::as_str)
        && is_text
    {
        schemars.push(Meta::list("regex", vec![Meta::text("pattern", pattern)]));
        written.extend(want.remove_entry("pattern"));
    }
    let mut of_kube = Vec::new();
    let keys = want
        .get("x-kubernetes-list-map-keys")
        .and_then(Value::as_array);
    let strategy = match want.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("atomic") if keys.is_none() => Some("ListMerge::Atomic".to_owned()),
        Some("set") if keys.is_none() => Some("ListMerge::Set".to_owned()),
        Some("map") => keys.map(|keys| {
            let keys = keys.iter().filter_map(Value::as_str);
            let keys = keys.map(|it| format!("{}.into()", literal::text(it)));
            format!(
                "ListMerge::Map(vec![{}])",
                keys.collect::<Vec<_>>().join(", ")
            )
        }),
        _ => None,
    };
    if let Some(strategy) = strategy {
        of_kube.push(kube(&format!("merge_strategy = {strategy}")));
        written.extend(want.remove_entry("x-kubernetes-list-type"));
        written.extend(want.remove_entry("x-kubernetes-list-map-keys"));
    }
    if let Some(given) = want.get("x-kubernetes-validations")
        && let Some(all) = rules(given)
    {
        let all = all
            .into_iter()
            .map(|rule| kube(&format!("validation = {rule}")));
        of_kube.extend(all);
        written.extend(want.remove_entry("x-kubernetes-validations"));
    }
    of_kube
}

pub(super) fn kube(text: &str) -> Attribute {
    Attribute::Verbatim(format!("x_kube({text})"))
}

/// The attribute `schemars(extend(..))` with `keywords`, which have no attribute of their own.
pub(super) fn extend<'a>(
    keywords: impl Iterator<Item = (&'a String, &'a Value)>,
) -> Option<Attribute> {
    let keywords: Vec<_> = keywords.collect();
    let line = |(key, value): &(&String, &Value)| {
        format!("{} = {}", literal::text(key), literal::json(value))
    };
    let all = keywords.iter().map(line).collect::<Vec<_>>().join(", ");
    if keywords.is_empty() {
        return None;
    }
    if all.chars().count() <= 70 {
        return Some(Attribute::Verbatim(format!("schemars(extend({all}))")));
    }
    let lines = keywords.iter().map(|(key, value)| {
        let key = literal::text(key);
        let width = 80_usize.saturating_sub(key.chars().count());
        format!("    {key} = {},\n", literal::json_lines(value, 4, width))
    });
    Some(Attribute::Verbatim(format!(
        "schemars(extend(\n{}))",
        lines.collect::<String>()
    )))
}

/// CEL rules as Rust expressions, if kube supports every field of the rules.
pub(super) fn rules(rules: &Value) -> Option<Vec<String>> {
    let rules = rules.as_array()?.iter().map(|rule| {
        let fields = rule.as_object()?;
        let mut rust = String::new();
        let mut has_message = false;
        for (key, value) in fields {
            let text = || value.as_str().map(literal::text);
            match key.as_str() {
                "rule" => rust = format!("Rule::new({}){rust}", text()?),
                "message" | "messageExpression" if has_message => return None,
                "message" => {
                    has_message = true;
                    rust += &format!(".message({})", text()?);
                }
                "messageExpression" => {
                    has_message = true;
                    rust += &format!(".message(Message::Expression({}.into()))", text()?);
                }
                "reason" => {
                    let reasons = ["Invalid", "Forbidden", "Required", "Duplicate"];
                    let reason = value.as_str()?.strip_prefix("FieldValue")?;
                    let reason = reasons.into_iter().find(|it| *it == reason)?;
                    rust += &format!(".reason(Reason::FieldValue{reason})");
                }
                "fieldPath" => rust += &format!(".field_path({})", text()?),
                "optionalOldSelf" => rust += &format!(".optional_old_self({})", value.as_bool()?),
                _ => return None,
            }
        }
        fields.contains_key("rule").then_some(rust)
    });
    rules.collect()
}
