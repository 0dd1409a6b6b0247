//! Says whether a value fits a schema, as an API server does.

use k8s_openapi::{ByteString, apimachinery::pkg::apis::meta::v1::Time};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{
    integer,
    keys::{
        INT_OR_STRING, OPEN, Object, any, fields, is_true, list, name_of_type, subschema, text_of,
        texts,
    },
    pattern,
    structural::FORMATS,
};

/// Whether `value` fits `schema`, which may be a part of a schema; the error says why not. CEL rules are not checked.
pub fn fits(value: &Value, schema: &Object) -> Result<(), String> {
    let type_name = name_of_type(schema);
    if value.is_null() && (type_name.is_empty() || is_true(schema, "nullable")) {
        return match list(schema, "enum").next() {
            Some(_) => Err(NULL_IN_ENUM.to_owned()),
            None => Ok(()),
        };
    }
    let has_type = match type_name {
        "array" => value.is_array(),
        "boolean" => value.is_boolean(),
        "integer" => is_whole(value),
        "number" => value.is_number(),
        "object" => value.is_object(),
        "string" => value.is_string(),
        _ => true,
    };
    // An API server looks at the format of texts and lists, and then not at their type. It expects them if there is only
    // a format.
    let format = text_of(schema, "format");
    let has_format = value.is_string() || value.is_array();
    let is_number = matches!(type_name, "integer" | "number");
    if !has_type && (format.is_empty() || is_number || !has_format) {
        return Err(format!("{value} is no {type_name}"));
    }
    if type_name.is_empty() && !format.is_empty() && !has_format {
        return Err(format!("{value} is no {format}"));
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array)
        && !values.is_empty()
        && !values.contains(value)
    {
        return Err(format!("{value} is not in the enum"));
    }
    fits_parts(value, schema)?;
    if let Some(number) = value.as_f64() {
        return fits_bounds(value, number, schema);
    }
    if let Some(text) = value.as_str() {
        fits_text(text, schema)?;
    }
    let (length, keys) = match value {
        Value::String(text) => (text.chars().count(), ["minLength", "maxLength"]),
        Value::Array(items) => (items.len(), ["minItems", "maxItems"]),
        Value::Object(fields) => (fields.len(), ["minProperties", "maxProperties"]),
        _ => return Ok(()),
    };
    let [least, most] = keys.map(|key| schema.get(key).and_then(Value::as_u64));
    if least.is_some_and(|least| (length as u64) < least)
        || most.is_some_and(|most| length as u64 > most)
    {
        return Err(format!("{value} is too short or too long"));
    }
    if let (Some(values), Some(items)) = (value.as_array(), subschema(schema, "items")) {
        values.iter().try_for_each(|item| fits(item, items))?;
    }
    match value.as_object() {
        Some(object) => fits_fields(object, schema),
        None => Ok(()),
    }
}

const NULL_IN_ENUM: &str =
    "null is no value of an enum: add `skip_serializing_if = \"Option::is_none\"` to the field";

fn is_whole(value: &Value) -> bool {
    integer::is_in_range(value) && value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// Whether `value`, which is `number`, is within the bounds of `schema`.
fn fits_bounds(value: &Value, number: f64, schema: &Object) -> Result<(), String> {
    for key in ["minimum", "maximum", "multipleOf"] {
        if name_of_type(schema) == "integer" && !schema.get(key).is_none_or(is_whole) {
            return Err(format!("its `{key}` is no integer"));
        }
    }
    let [minimum, maximum] = ["minimum", "maximum"].map(|key| integer::bound(schema, key));
    if let Some(minimum) = minimum.as_ref().and_then(Value::as_f64)
        && (number < minimum || number <= minimum && is_true(schema, "exclusiveMinimum"))
    {
        return Err(format!("{value} is less than the minimum"));
    }
    if let Some(maximum) = maximum.as_ref().and_then(Value::as_f64)
        && (number > maximum || number >= maximum && is_true(schema, "exclusiveMaximum"))
    {
        return Err(format!("{value} is greater than the maximum"));
    }
    if let Some(factor) = schema.get("multipleOf").and_then(Value::as_f64) {
        let times = number / factor;
        if factor <= 0.0 || (times - times.round()).abs() > 1e-9 {
            return Err(format!("{value} is no multiple of {factor}"));
        }
    }
    Ok(())
}

/// Whether `text` has the pattern and the format of `schema`, as far as this can be told.
fn fits_text(text: &str, schema: &Object) -> Result<(), String> {
    let pattern = text_of(schema, "pattern");
    if pattern::matches(pattern, text) == Some(false) {
        return Err(format!("`{text}` does not match the pattern `{pattern}`"));
    }
    let format = text_of(schema, "format");
    let has_format = match format {
        _ if text.is_empty() => !FORMATS.contains(&format) || FORMATS_OF_EMPTY.contains(&format),
        "byte" => is_json_of::<ByteString>(text),
        "date" => text.len() == 10 && is_json_of::<Time>(&format!("{text}T00:00:00Z")),
        "date-time" => is_json_of::<Time>(text),
        _ => true,
    };
    if !has_format {
        return Err(format!("`{text}` is no {format}"));
    }
    Ok(())
}

/// Whether serde reads a `T` from a text.
fn is_json_of<T: DeserializeOwned>(text: &str) -> bool {
    serde_json::from_value::<T>(json!(text)).is_ok()
}

/// The formats that an empty text has. Those of numbers say nothing about texts.
const FORMATS_OF_EMPTY: [&str; 6] = ["byte", "double", "float", "int32", "int64", "password"];

/// Whether `value` fits the schemas in `allOf`, `anyOf`, `oneOf` and `not`.
fn fits_parts(value: &Value, schema: &Object) -> Result<(), String> {
    parts(schema, "allOf").try_for_each(|part| fits(value, part))?;
    for key in ["anyOf", "oneOf"] {
        let mut variants = parts(schema, key).peekable();
        if variants.peek().is_some() && !variants.any(|variant| fits(value, variant).is_ok()) {
            return Err(format!("{value} fits no variant"));
        }
    }
    let mut variants: Vec<_> = parts(schema, "oneOf").collect();
    variants.retain(|variant| is_known(variant) && fits(value, variant).is_ok());
    if variants.len() > 1 {
        return Err(format!("{value} fits several variants"));
    }
    match subschema(schema, "not") {
        Some(refused) if is_known(refused) && fits(value, refused).is_ok() => {
            Err(format!("{value} fits the schema in `not`"))
        }
        _ => Ok(()),
    }
}

/// The schemas in the list `key`.
fn parts<'a>(schema: &'a Object, key: &str) -> impl Iterator<Item = &'a Object> + use<'a> {
    list(schema, key).filter_map(Value::as_object)
}

/// Whether [`fits`] knows each key of `schema`: a value may break a pattern or a format that is not checked
/// here, but by the API server.
fn is_known(schema: &Object) -> bool {
    !any(schema, |part| {
        part.contains_key("pattern") || FORMATS.contains(&text_of(part, "format"))
    })
}

/// Whether `object` has the fields that `schema` requires, and no others than it knows.
fn fits_fields(object: &Object, schema: &Object) -> Result<(), String> {
    if let Some(name) = texts(schema, "required").find(|name| !object.contains_key(*name)) {
        return Err(format!("it lacks {name}"));
    }
    let known = fields(schema);
    let others = subschema(schema, "additionalProperties");
    let is_open = is_true(schema, OPEN) || is_true(schema, "additionalProperties");
    // A part of a schema does not name all fields.
    let is_part = name_of_type(schema).is_empty() && !is_true(schema, INT_OR_STRING);
    for (name, field) in object {
        let of_field = known.and_then(|known| subschema(known, name));
        match of_field.or(others) {
            Some(of_field) => fits(field, of_field)?,
            None if is_open || is_part => {}
            None => return Err(format!("{name} is not in the schema")),
        }
    }
    Ok(())
}
