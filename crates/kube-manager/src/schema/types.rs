//! The names of Rust types. The schema in a CRD has none, because each type is a part of it. So a message gets the name
//! from a second schema of the same type, in which schemars refers to types by their names.

use std::ptr;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

use super::keys::{Object, any};

/// The folder of the types in the second schema, which no other schema has.
const TYPES: &str = "/rust-types/";

/// The schema of `T` with the names of types.
pub fn named_schema<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::default();
    settings.definitions_path = TYPES.into();
    let schema = settings.into_generator().into_root_schema_for::<T>();
    schema.to_value()
}

/// Whether `schema` is a part of a schema with the names of types.
pub fn is_named(schema: &Object) -> bool {
    any(schema, |part| reference(part).is_some())
}

/// The pointer to the schema of the type that `schema` refers to, and the name of the type.
fn reference(schema: &Object) -> Option<(&str, &str)> {
    let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
    Some((pointer, pointer.strip_prefix(TYPES)?))
}

/// Says which Rust type the field at `path` has, or else in which type it is. `root` is a schema with the names of types,
/// which types that derive `KubeSchema` do not have.
pub fn describe(root: &Value, path: &str) -> Option<String> {
    let mut places = Vec::new();
    add_variants(root, root, None, &mut places);
    let steps = path.replace("[]", ".[]").replace("{}", ".{}");
    for step in steps.split('.') {
        let mut inner = Vec::new();
        for (schema, name) in places {
            let next = match step {
                "[]" => schema.get("items"),
                "{}" => match &schema["patternProperties"] {
                    Value::Object(patterns) => patterns.values().next(),
                    _ => schema.get("additionalProperties"),
                },
                field => schema["properties"].get(field),
            };
            if let Some(next) = next {
                add_variants(root, next, name, &mut inner);
            }
        }
        places = inner;
    }
    let mut references = places
        .iter()
        .filter_map(|(schema, _)| reference(schema.as_object()?));
    if let Some((_, name)) = references.next() {
        return Some(format!("Rust type `{name}`"));
    }
    let name = places.iter().find_map(|(_, name)| *name)?;
    Some(format!("in the Rust type `{name}`"))
}

/// Adds `schema` and all of its variants to `places`, each with the innermost type that it is a part of.
fn add_variants<'a>(
    root: &'a Value,
    schema: &'a Value,
    name: Option<&'a str>,
    places: &mut Vec<(&'a Value, Option<&'a str>)>,
) {
    // A type can be a variant of itself.
    if places.iter().any(|(known, _)| ptr::eq(*known, schema)) {
        return;
    }
    places.push((schema, name));
    if let Some((pointer, name)) = schema.as_object().and_then(reference)
        && let Some(schema) = root.pointer(pointer)
    {
        add_variants(root, schema, Some(name), places);
    }
    let variants = ["allOf", "anyOf", "oneOf"].map(|key| schema[key].as_array());
    for variant in variants.into_iter().flatten().flatten() {
        add_variants(root, variant, name, places);
    }
}
