//! What the API server would refuse of a CustomResourceDefinition, in the terms of the Rust type.

use std::{
    collections::BTreeSet,
    error::Error,
    fmt::{self, Debug, Display, Formatter},
    panic::{self, AssertUnwindSafe},
};

use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    keys::{INT_OR_STRING, OPEN, Object, RULES, fields, list, name_of_type, texts},
    mark,
};

/// The CustomResourceDefinitions that `make` returns.
///
/// # Errors
///
/// When `make` fails, or when kube panics because it cannot make a schema of a Rust type.
pub fn collect<T, E: Display>(make: impl FnOnce() -> Result<T, E>) -> Result<T, Faults> {
    let hook = panic::take_hook();
    // kube's message shows its own types.
    panic::set_hook(Box::new(|_| {}));
    let made = panic::catch_unwind(AssertUnwindSafe(make));
    panic::set_hook(hook);
    let reason = match made {
        Ok(Ok(crds)) => return Ok(crds),
        Ok(Err(error)) => error.to_string(),
        Err(_) => WITHOUT_TRANSFORM.to_owned(),
    };
    Err(Faults {
        summary: reason,
        faults: Vec::new(),
    })
}

/// What is said when kube panics.
const WITHOUT_TRANSFORM: &str = "kube cannot make a schema of a Rust type: put \
    `#[schemars(transform = kube_manager::schema::structural)]` above the spec and the status of each kind";

/// Checks CustomResourceDefinitions as an API server does when it gets them. Returns a warning for each place that it
/// takes, but that users do not expect.
///
/// Not checked are the types in CEL rules and their cost, and patterns.
///
/// # Errors
///
/// All faults of all kinds, each with the kind, its version and the path of the field.
pub fn check(crds: &[impl Serialize]) -> Result<Vec<String>, Faults> {
    let (mut faults, mut warnings) = (Vec::new(), Vec::new());
    for crd in crds {
        match serde_json::to_value(crd) {
            Ok(crd) => check_crd(&crd, &mut faults, &mut warnings),
            Err(error) => faults.push(error.to_string()),
        }
    }
    if faults.is_empty() {
        return Ok(warnings);
    }
    let summary = "an API server would refuse the CRDs".to_owned();
    Err(Faults { summary, faults })
}

/// Why there are no CustomResourceDefinitions that an API server takes.
pub struct Faults {
    summary: String,
    /// Each with its kind, version and path.
    faults: Vec<String>,
}

impl Display for Faults {
    fn fmt(&self, formatter: &mut Formatter) -> fmt::Result {
        formatter.write_str(&self.summary)?;
        if !self.faults.is_empty() {
            write!(formatter, ":\n  {}", self.faults.join("\n  "))?;
        }
        Ok(())
    }
}

/// As for users: tests print errors in this form.
impl Debug for Faults {
    fn fmt(&self, formatter: &mut Formatter) -> fmt::Result {
        Display::fmt(self, formatter)
    }
}

impl Error for Faults {}

fn check_crd(crd: &Value, faults: &mut Vec<String>, warnings: &mut Vec<String>) {
    let kind = crd["spec"]["names"]["kind"].as_str().unwrap_or_default();
    for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
        let name = version["name"].as_str().unwrap_or_default();
        let mut checker = Checker {
            subject: format!("{kind} {name}"),
            faults,
            warnings,
        };
        let Some(root) = version["schema"]["openAPIV3Schema"].as_object() else {
            continue;
        };
        if root.get("type").is_none_or(|name| *name != "object") {
            checker.says(
                "",
                "a kind is an object: derive `CustomResource` for a struct",
            );
        }
        checker.check_type("", root, true);
        let columns = version["additionalPrinterColumns"].as_array();
        for column in columns.into_iter().flatten() {
            checker.check_column(column);
        }
    }
}

/// The keys that a schema inside of `allOf`, `anyOf`, `oneOf` or `not` must not have.
const NOT_IN_UNIONS: [&str; 6] = [
    "additionalProperties",
    "default",
    "description",
    "nullable",
    "title",
    "type",
];

struct Checker<'a> {
    /// Kind and version.
    subject: String,
    faults: &'a mut Vec<String>,
    warnings: &'a mut Vec<String>,
}

impl Checker<'_> {
    fn says(&mut self, path: &str, fault: &str) {
        let at = if path.is_empty() { "" } else { ": " };
        let line = format!("{}{at}{path}: {fault}", self.subject);
        // Several variants of an enum can have the same fault.
        if !self.faults.contains(&line) {
            self.faults.push(line);
        }
    }

    /// Checks the schema of a value at `path`: `spec.steps[].from`.
    fn check_type(&mut self, path: &str, schema: &Object, is_root: bool) {
        if let Some(reason) = mark::reason(schema) {
            return self.says(path, reason);
        }
        let type_name = name_of_type(schema);
        let is_int_or_string = is_true(schema, INT_OR_STRING);
        match type_name {
            "" if is_true(schema, OPEN) || is_int_or_string => {}
            "" => self.says(path, "the schema has no type"),
            "array" | "boolean" | "integer" | "number" | "object" | "string" => {}
            _ => self.says(path, &format!("`{type_name}` is no type of a schema")),
        }
        if is_true(schema, OPEN) && !matches!(type_name, "" | "object") {
            self.says(
                path,
                "only an object, or a place without a type, is open for unknown fields",
            );
        }
        for key in [
            "$ref",
            "definitions",
            "dependencies",
            "patternProperties",
            "additionalItems",
        ] {
            if schema.contains_key(key) {
                self.says(path, &format!("Kubernetes has no `{key}` in schemas"));
            }
        }
        if is_true(schema, "uniqueItems") {
            self.says(
                path,
                "Kubernetes has no `uniqueItems`: use `#[x_kube(merge_strategy = ListMerge::Set)]`",
            );
        }
        if is_std_duration(schema) {
            self.warnings.push(format!(
                "{}: {path}: users write `std::time::Duration` as seconds and nanoseconds; `kube::core::Duration` is a \
                 text such as `30s`",
                self.subject
            ));
        }
        self.check_fields(path, schema, is_root);
        self.check_list(path, schema, type_name);
        self.check_map_type(path, schema, type_name);
        for key in ["allOf", "anyOf", "oneOf"] {
            for part in list(schema, key) {
                self.check_part(path, part, schema, is_int_or_string);
            }
        }
        if let Some(part) = schema.get("not") {
            self.check_part(path, part, schema, is_int_or_string);
        }
        // A default that is null is none.
        if let Some(value) = schema.get("default").filter(|value| !value.is_null())
            && let Err(reason) = fits(value, schema)
        {
            self.says(
                path,
                &format!("the default does not fit the schema: {reason}"),
            );
        }
        let values: Vec<&Value> = list(schema, "enum").collect();
        for (index, value) in values.iter().enumerate() {
            if values[..index].contains(value) {
                self.says(path, &format!("the enum has {value} twice"));
            }
        }
        for rule in list(schema, RULES) {
            if rule["rule"]
                .as_str()
                .is_none_or(|rule| rule.trim().is_empty())
            {
                self.says(path, "a CEL rule is empty");
            }
        }
    }

    fn check_fields(&mut self, path: &str, schema: &Object, is_root: bool) {
        let known = fields(schema);
        if is_root {
            let metadata = known.and_then(|known| known.get("metadata"));
            let keys = metadata
                .and_then(Value::as_object)
                .into_iter()
                .flat_map(Map::keys);
            if let Some(key) = keys
                .into_iter()
                .find(|key| !matches!(key.as_str(), "type" | "properties" | "description"))
            {
                self.says(
                    "metadata",
                    &format!("the API server alone checks `metadata`: `{key}` cannot be set"),
                );
            }
        }
        for (name, field) in known.into_iter().flatten() {
            let path = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}.{name}")
            };
            match field.as_object() {
                Some(field) => self.check_type(&path, field, false),
                None => self.says(&path, "the schema has no type"),
            }
        }
        match schema.get("additionalProperties") {
            Some(Value::Object(values)) => {
                if known.is_some_and(|known| !known.is_empty()) {
                    self.says(
                        path,
                        "an object has either fields or the keys of a map: make the map a field",
                    );
                }
                self.check_type(&format!("{path}{{}}"), values, false);
            }
            Some(Value::Bool(false)) => {
                self.says(
                    path,
                    "the API server drops unknown fields: it has no `additionalProperties: false`",
                );
            }
            _ => {}
        }
    }

    fn check_list(&mut self, path: &str, schema: &Object, type_name: &str) {
        let list_type = schema.get("x-kubernetes-list-type").and_then(Value::as_str);
        if type_name != "array" {
            if list_type.is_some() {
                self.says(
                    path,
                    "a merge strategy of lists is set for a value that is no list",
                );
            }
            return;
        }
        let Some(items) = schema.get("items").and_then(Value::as_object) else {
            return self.says(path, "the items of the list have no schema");
        };
        self.check_type(&format!("{path}[]"), items, false);
        let keys: Vec<&str> = texts(schema, "x-kubernetes-list-map-keys").collect();
        match list_type {
            None | Some("atomic") => {}
            Some("set") => {
                let is_atomic = items.get("x-kubernetes-list-type") == Some(&"atomic".into())
                    || items.get("x-kubernetes-map-type") == Some(&"atomic".into());
                if matches!(name_of_type(items), "object" | "array") && !is_atomic {
                    self.says(
                        path,
                        "the items of a set are texts, numbers or bools, not objects",
                    );
                }
            }
            Some("map") => self.check_keys(path, items, &keys),
            Some(other) => self.says(path, &format!("`{other}` is no merge strategy of a list")),
        }
        if list_type != Some("map") && !keys.is_empty() {
            self.says(path, "only a list that is merged as a map has keys");
        }
    }

    /// Checks the keys of a list that is merged as a map.
    fn check_keys(&mut self, path: &str, items: &Object, keys: &[&str]) {
        if keys.is_empty() {
            self.says(
                path,
                "a list that is merged as a map needs the names of its keys",
            );
        }
        let unique: BTreeSet<&&str> = keys.iter().collect();
        if unique.len() < keys.len() {
            self.says(path, "a key of the list is named twice");
        }
        for key in keys {
            let field = fields(items).and_then(|fields| fields.get(*key));
            let Some(field) = field.and_then(Value::as_object) else {
                self.says(
                    path,
                    &format!("the items have no field `{key}`, which is a key of the list"),
                );
                continue;
            };
            if matches!(name_of_type(field), "array" | "object") {
                self.says(
                    path,
                    &format!("the key `{key}` of the list is no text, number or bool"),
                );
            }
            let is_required = texts(items, "required").any(|name| name == *key);
            if !is_required && !field.contains_key("default") {
                self.says(
                    path,
                    &format!("the key `{key}` of the list is neither required nor has a default"),
                );
            }
            if is_true(field, "nullable") {
                self.says(
                    path,
                    &format!("the key `{key}` of the list may be null: remove the `Option`"),
                );
            }
        }
    }

    fn check_map_type(&mut self, path: &str, schema: &Object, type_name: &str) {
        let map_type = schema.get("x-kubernetes-map-type").and_then(Value::as_str);
        if map_type.is_some() && type_name != "object" {
            self.says(
                path,
                "a merge strategy of objects is set for a value that is no object",
            );
        }
    }

    /// Checks a schema inside of `allOf`, `anyOf`, `oneOf` or `not`, which may only limit the values of `whole`.
    fn check_part(&mut self, path: &str, part: &Value, whole: &Object, is_int_or_string: bool) {
        let Some(part) = part.as_object() else { return };
        for key in part.keys() {
            let is_idiom = is_int_or_string && key == "type";
            let is_extension = key.starts_with("x-kubernetes-");
            if (NOT_IN_UNIONS.contains(&key.as_str()) && !is_idiom) || is_extension {
                self.says(
                    path,
                    &format!(
                        "a variant of the enum sets `{key}`, which Kubernetes takes only outside of variants: put \
                         `#[schemars(transform = kube_manager::schema::structural)]` above the spec and the status"
                    ),
                );
            }
        }
        let known = fields(whole);
        for (name, field) in fields(part).into_iter().flatten() {
            match known
                .and_then(|known| known.get(name))
                .and_then(Value::as_object)
            {
                Some(whole) => self.check_part(path, field, whole, is_true(whole, INT_OR_STRING)),
                None => self.says(
                    path,
                    &format!("a variant checks the field `{name}`, which the object lacks"),
                ),
            }
        }
        for key in ["allOf", "anyOf", "oneOf"] {
            for inner in list(part, key) {
                self.check_part(path, inner, whole, is_int_or_string);
            }
        }
    }

    fn check_column(&mut self, column: &Value) {
        let name = column["name"].as_str().unwrap_or_default();
        let path = column["jsonPath"].as_str().unwrap_or_default();
        if !path.starts_with('.') {
            self.says(
                "",
                &format!("the path `{path}` of the column {name} must begin with a dot"),
            );
        }
        let type_name = column["type"].as_str().unwrap_or_default();
        if !["boolean", "date", "integer", "number", "string"].contains(&type_name) {
            self.says(
                "",
                &format!(
                    "the column {name} has the type `{type_name}`: it must be boolean, date, integer, number or string"
                ),
            );
        }
    }
}

/// Whether `schema` is that of `std::time::Duration`.
fn is_std_duration(schema: &Object) -> bool {
    fields(schema).is_some_and(|fields| fields.keys().eq(["nanos", "secs"]))
}

fn is_true(schema: &Object, key: &str) -> bool {
    schema.get(key) == Some(&Value::Bool(true))
}

/// Whether `value` fits `schema`; the error says why not. Patterns and formats are not checked.
fn fits(value: &Value, schema: &Object) -> Result<(), String> {
    if value.is_null() {
        if is_true(schema, "nullable") {
            return Ok(());
        }
        return Err("it is null".to_owned());
    }
    let type_name = name_of_type(schema);
    let has_type = match type_name {
        "array" => value.is_array(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "object" => value.is_object(),
        "string" => value.is_string(),
        _ => !is_true(schema, INT_OR_STRING) || value.is_string() || value.is_i64(),
    };
    if !has_type {
        return Err(format!("{value} is no {type_name}"));
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array)
        && !values.contains(value)
    {
        return Err(format!("{value} is not in the enum"));
    }
    if let Some(number) = value.as_f64() {
        return fits_bounds(value, number, schema);
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
    let items = schema.get("items").and_then(Value::as_object);
    for item in value.as_array().into_iter().flatten() {
        items.map_or(Ok(()), |items| fits(item, items))?;
    }
    match value.as_object() {
        Some(object) => fits_fields(object, schema),
        None => Ok(()),
    }
}

/// Whether `value`, which is `number`, is within the bounds of `schema`.
fn fits_bounds(value: &Value, number: f64, schema: &Object) -> Result<(), String> {
    if let Some(minimum) = schema.get("minimum").and_then(Value::as_f64)
        && (number < minimum || number <= minimum && is_true(schema, "exclusiveMinimum"))
    {
        return Err(format!("{value} is less than the minimum"));
    }
    if let Some(maximum) = schema.get("maximum").and_then(Value::as_f64)
        && (number > maximum || number >= maximum && is_true(schema, "exclusiveMaximum"))
    {
        return Err(format!("{value} is greater than the maximum"));
    }
    Ok(())
}

/// Whether `object` has the fields that `schema` requires, and no others than it knows.
fn fits_fields(object: &Object, schema: &Object) -> Result<(), String> {
    if let Some(name) = texts(schema, "required").find(|name| !object.contains_key(*name)) {
        return Err(format!("it lacks {name}"));
    }
    let known = fields(schema);
    let others = schema
        .get("additionalProperties")
        .and_then(Value::as_object);
    let is_open = is_true(schema, OPEN) || is_true(schema, "additionalProperties");
    for (name, field) in object {
        let of_field = known
            .and_then(|known| known.get(name))
            .and_then(Value::as_object);
        match of_field.or(others) {
            Some(of_field) => fits(field, of_field)?,
            None if is_open => {}
            None => return Err(format!("{name} is not in the schema")),
        }
    }
    Ok(())
}
