//! What the API server would refuse of a CustomResourceDefinition, in the terms of the Rust type.

use std::{
    cell::{Cell, LazyCell},
    collections::{BTreeSet, HashSet},
    error::Error,
    fmt::{self, Debug, Display, Formatter},
    panic::{self, AssertUnwindSafe},
    sync::Once,
    thread,
};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceSubresourceScale,
};
use serde_json::{Map, Value, json};

use super::{
    cel_type::{self, OF_RESOURCES, Type},
    crd::{Crd, NoSchema},
    expression::{self, Environment},
    fit::fits,
    integer,
    keys::{
        EMBEDDED, INT_OR_STRING, OPEN, Object, RULES, field, fields, is_true, list, name_of_type,
        subschema, text_of, texts,
    },
    mark, overflow, pattern, rule, types,
};

/// The CustomResourceDefinitions that `make` returns.
///
/// # Errors
///
/// When `make` fails, or when kube cannot make a schema of a Rust type: it panics, or a debug build has seen that the type
/// overflows the stack.
pub fn collect<T, E: Display>(make: impl FnOnce() -> Result<T, E>) -> Result<T, Faults> {
    let made = overflow::look(|| quietly(make));
    let reason = match made {
        Some(Ok(Ok(crds))) => return Ok(crds),
        Some(Ok(Err(error))) => error.to_string(),
        Some(Err(thrown)) => {
            let what = match thrown.downcast_ref::<NoSchema>() {
                Some(NoSchema(name)) => format!("`{name}`"),
                None => "a Rust type".to_owned(),
            };
            format!("kube cannot make a schema of {what}: {WITHOUT_TRANSFORM}")
        }
        None => RECURSION.to_owned(),
    };
    Err(Faults {
        summary: reason,
        faults: Vec::new(),
    })
}

/// Calls `make` without the message of its panic, which shows kube's types. The panic of another thread keeps its
/// message.
fn quietly<T>(make: impl FnOnce() -> T) -> thread::Result<T> {
    thread_local! {
        static IS_QUIET: Cell<bool> = const { Cell::new(false) };
    }
    static HOOK: Once = Once::new();

    HOOK.call_once(|| {
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !IS_QUIET.get() {
                hook(panic);
            }
        }));
    });
    let was_quiet = IS_QUIET.replace(true);
    let made = panic::catch_unwind(AssertUnwindSafe(make));
    IS_QUIET.set(was_quiet);
    made
}

/// What is said when kube panics.
const WITHOUT_TRANSFORM: &str = "put `#[schemars(transform = kube_manager::schema::structural)]` above the spec and the \
    status of each kind";

/// What is said of a place that the transform would give a schema, or would say why it has none.
fn no_schema(what: &str) -> String {
    format!("{what}: {WITHOUT_TRANSFORM}")
}

/// What is said when schemars overflows the stack.
const RECURSION: &str = "a type that derives `KubeSchema` contains itself: derive `JsonSchema` for the type instead, \
    and `make manifests` names its field";

/// Checks CustomResourceDefinitions as an API server does when it gets them. Returns a warning for each place that it
/// takes, but that users do not expect.
///
/// The cost of CEL rules is not checked. Without the feature `schema-testing`, defaults are not compared with CEL rules, and
/// without the feature `runtime` or `schema-testing`, only an empty default is compared with its pattern.
///
/// # Errors
///
/// All faults of all kinds, each with the kind, its version, the path of the field and the Rust type.
pub fn check(crds: &[Crd]) -> Result<Vec<String>, Faults> {
    let (mut faults, mut warnings) = (Vec::new(), Vec::new());
    for crd in crds {
        check_crd(crd, &mut faults, &mut warnings);
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
    /// Each with its kind, version, path and Rust type.
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

fn check_crd(crd: &Crd, faults: &mut Vec<String>, warnings: &mut Vec<String>) {
    let spec = &crd.definition.spec;
    let kind = &spec.names.kind;
    let size = json!(crd.definition).to_string().len();
    if size > MOST_IN_ETCD {
        faults.push(format!(
            "{kind}: the CRD has {size} bytes, and etcd takes {MOST_IN_ETCD}: use fewer types of others, such as PodSpec"
        ));
    } else if size > MOST_IN_ANNOTATION {
        warnings.push(format!(
            "{kind}: the CRD has {size} bytes: only `kubectl apply --server-side` takes more than {MOST_IN_ANNOTATION}"
        ));
    }
    let mut names = vec![spec.names.plural.clone(), kind.to_lowercase()];
    names.extend(spec.names.singular.clone());
    names.extend(spec.names.short_names.clone().unwrap_or_default());
    names.extend(spec.names.categories.clone().unwrap_or_default());
    if is_label(&kind.to_lowercase()) {
        let lists = spec.names.list_kind.clone();
        let lists = lists.unwrap_or_else(|| format!("{kind}List"));
        names.push(lists.to_lowercase());
    }
    for name in names.iter().filter(|name| !is_label(name)) {
        faults.push(format!(
            "{kind}: the name `{name}` must have at most 63 small letters, digits and `-`, and begin with a letter"
        ));
    }
    for version in &spec.versions {
        let schema = json!(version.schema);
        let Some(root) = schema["openAPIV3Schema"].as_object() else {
            continue;
        };
        let mut checker = Checker::default();
        checker.check_root(root);
        let is_line = |text: &String| {
            !text.is_empty() && text.len() <= MOST_IN_WARNING && !text.contains(char::is_control)
        };
        let is_wrong = version
            .deprecation_warning
            .as_ref()
            .is_some_and(|text| !is_line(text));
        let text =
            format!("the text of `deprecated` must be one line of at most {MOST_IN_WARNING} bytes");
        checker.says_if(is_wrong, "", &text);
        for column in version.additional_printer_columns.iter().flatten() {
            checker.check_column(column, root);
        }
        let selectable = version.selectable_fields.iter().flatten();
        checker.check_selectable(selectable.map(|field| field.json_path.as_str()), root);
        let subresources = version.subresources.as_ref();
        if let Some(scale) = subresources.and_then(|subresources| subresources.scale.as_ref()) {
            checker.check_scale(scale, root);
        }
        let subject = format!("{kind} {}", version.name);
        // Made only if there is something to say.
        let named_schema = LazyCell::new(|| crd.named_schema(&version.name));
        let line = |fault: &Fault| fault.line(&subject, named_schema.as_ref());
        faults.extend(checker.faults.iter().map(line));
        warnings.extend(checker.warnings.iter().map(line));
    }
}

/// What is wrong with a place of a schema.
#[derive(PartialEq)]
struct Fault {
    /// As in YAML: `spec.steps[].from`.
    path: String,
    text: String,
}

impl Fault {
    fn line(&self, subject: &str, named_schema: Option<&Value>) -> String {
        let Self { path, text } = self;
        let type_name = named_schema.and_then(|schema| types::describe(schema, path));
        match type_name {
            Some(name) => format!("{subject}: {path} ({name}): {text}"),
            None if path.is_empty() => format!("{subject}: {text}"),
            None => format!("{subject}: {path}: {text}"),
        }
    }
}

/// The size of a request that etcd takes.
const MOST_IN_ETCD: usize = 1_572_864;

/// The size of the warning that a version is deprecated.
const MOST_IN_WARNING: usize = 256;

/// The size of all annotations: `kubectl apply` keeps the manifest in one.
const MOST_IN_ANNOTATION: usize = 262_144;

/// The keys that Kubernetes does not take.
const UNKNOWN: [&str; 7] = [
    "$ref",
    "additionalItems",
    "definitions",
    "dependencies",
    "id",
    "patternProperties",
    "uniqueItems",
];

/// The keys that a schema inside of `allOf`, `anyOf`, `oneOf` or `not` must not have.
const NOT_IN_UNIONS: [&str; 6] = [
    "additionalProperties",
    "default",
    "description",
    "nullable",
    "title",
    "type",
];

/// The types of a schema.
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// The reasons that a rule may give.
const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

/// A node in the tree of schemas.
struct SchemaNode {
    /// As in YAML: `spec.steps[].from`.
    path: String,
    is_root: bool,
    /// Whether this is the metadata, the kind or the version of a resource.
    is_meta: bool,
    /// Whether the API server finds the value before an update, so that a rule can name it.
    has_old: bool,
    /// Whether an object has such a value as often as a list or map has items, without a limit.
    is_repeated: bool,
}

impl SchemaNode {
    fn field(&self, name: &str, schema: &Object) -> Self {
        let path = if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        };
        let is_resource = self.is_root || is_true(schema, EMBEDDED);
        Self {
            path,
            is_root: false,
            is_meta: self.is_meta || is_resource && OF_RESOURCES.contains(&name),
            ..*self
        }
    }

    /// The node of the items of a list or map that `schema` describes.
    fn items(&self, brackets: &str, schema: &Object) -> Self {
        let is_list = brackets == "[]";
        let most = if is_list { "maxItems" } else { "maxProperties" };
        Self {
            path: format!("{}{brackets}", self.path),
            is_root: false,
            has_old: self.has_old
                && (!is_list || text_of(schema, "x-kubernetes-list-type") == "map"),
            is_repeated: self.is_repeated || !schema.contains_key(most),
            ..*self
        }
    }
}

/// Checks the schema of a version.
#[derive(Default)]
struct Checker {
    faults: Vec<Fault>,
    warnings: Vec<Fault>,
}

/// Adds a fault. A KubeSchema type checks a field with a rule twice, with the same fault.
fn add(faults: &mut Vec<Fault>, path: &str, text: &str) {
    let fault = Fault {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    if !faults.contains(&fault) {
        faults.push(fault);
    }
}

impl Checker {
    fn says(&mut self, path: &str, text: &str) {
        add(&mut self.faults, path, text);
    }

    fn says_if(&mut self, is_wrong: bool, path: &str, text: &str) {
        if is_wrong {
            self.says(path, text);
        }
    }

    fn warns(&mut self, path: &str, text: &str) {
        add(&mut self.warnings, path, text);
    }

    /// Checks the schema of a kind.
    fn check_root(&mut self, root: &Object) {
        let text = "a kind is an object: derive `CustomResource` for a struct";
        self.says_if(name_of_type(root) != "object", "", text);
        let text = "a kind has fields and is no map: `additionalProperties` cannot be set";
        let is_map = root
            .get("additionalProperties")
            .is_some_and(|values| *values != false);
        self.says_if(is_map, "", text);
        if let Some(metadata) = fields(root).and_then(|fields| subschema(fields, "metadata")) {
            let set = metadata.iter().filter(|(_, value)| is_set(value));
            let keys = set.map(|(key, _)| key);
            let wrong_keys = keys.filter(|key| !matches!(key.as_str(), "properties" | "type"));
            let names = fields(metadata).into_iter().flat_map(Map::keys);
            let wrong_names =
                names.filter(|name| !matches!(name.as_str(), "generateName" | "name"));
            for key in wrong_keys.chain(wrong_names) {
                let text = format!("the API server alone checks `metadata`: `{key}` cannot be set");
                self.says("metadata", &text);
            }
        }
        let node = SchemaNode {
            path: String::new(),
            is_root: true,
            is_meta: false,
            has_old: true,
            is_repeated: false,
        };
        self.check_type(&node, root);
    }

    /// Checks the schema of a value.
    fn check_type(&mut self, node: &SchemaNode, schema: &Object) {
        let path = node.path.as_str();
        if let Some(reason) = mark::reason(schema) {
            return self.says(path, reason);
        }
        let type_name = name_of_type(schema);
        let is_open = is_true(schema, OPEN);
        let is_int_or_string = is_true(schema, INT_OR_STRING);
        let has_type = !type_name.is_empty() || is_open || is_int_or_string;
        self.says_if(!has_type, path, &no_schema("the schema has no type"));
        let text = format!("`{OPEN}` is either true or left out");
        self.says_if(schema.get(OPEN) == Some(&json!(false)), path, &text);
        let text = "an integer or a text is not open for unknown fields";
        self.says_if(is_open && is_int_or_string, path, text);
        self.check_value(path, schema);
        if is_std_duration(schema) {
            let text = "users write `std::time::Duration` as seconds and nanoseconds; `kube::core::Duration` is a text \
                        such as `30s`";
            self.warns(path, text);
        }
        self.check_fields(node, schema);
        self.check_list(node, schema);
        let map_type = text_of(schema, "x-kubernetes-map-type");
        let is_wrong = !map_type.is_empty() && type_name != "object";
        let text = "a merge strategy of objects is set for a value that is no object";
        self.says_if(is_wrong, path, text);
        let is_known = matches!(map_type, "" | "atomic" | "granular");
        let text = format!("`{map_type}` is no merge strategy of an object");
        self.says_if(!is_known, path, &text);
        self.check_parts(node, schema, 2);
        // A default that is null is none.
        if let Some(value) = schema.get("default").filter(|value| !value.is_null()) {
            self.check_default(path, value, schema);
        }
        let is_wrong = schema.contains_key(RULES) && !cel_type::has_type(schema);
        self.says_if(is_wrong, path, "a place for any value has no CEL rules");
        for rule in list(schema, RULES) {
            self.check_rule(node, rule, schema);
        }
    }

    fn check_default(&mut self, path: &str, value: &Value, schema: &Object) {
        if let Err(reason) = fits(value, schema) {
            let text = format!("the default does not fit the schema: {reason}");
            return self.says(path, &text);
        }
        if has_twice(value, schema) {
            let text = "a list in the default has the same item or key twice: the API server would refuse each object \
                        with this default";
            self.warns(path, text);
        }
        #[cfg(feature = "schema-testing")]
        if let Some(reason) = super::testing::broken_by_default(value, schema) {
            let text = format!("the default breaks a CEL rule: {reason}");
            self.says(path, &text);
        }
    }

    /// Checks what the schema of a value, or a part of it, says about single values.
    fn check_value(&mut self, path: &str, schema: &Object) {
        let type_name = name_of_type(schema);
        let is_known = type_name.is_empty() || TYPES.contains(&type_name);
        let text = format!("`{type_name}` is no type of a schema");
        self.says_if(!is_known, path, &text);
        for key in UNKNOWN {
            let text = format!("Kubernetes has no `{key}` in schemas");
            self.says_if(schema.get(key).is_some_and(is_set), path, &text);
        }
        for key in ["minimum", "maximum"] {
            let is_in_range = schema.get(key).is_none_or(integer::is_in_range);
            if type_name == "integer" && !is_in_range {
                let text = format!(
                    "`{key}` is no integer of 64 bits: the API server would refuse each value"
                );
                self.warns(path, &text);
            }
        }
        let pattern = text_of(schema, "pattern");
        if let Err(reason) = pattern::check(pattern) {
            let text = format!("the pattern `{pattern}` does not compile: {reason}");
            self.says(path, &text);
        }
    }

    fn check_fields(&mut self, node: &SchemaNode, schema: &Object) {
        let path = node.path.as_str();
        let known = fields(schema);
        let has_fields = known.is_some_and(|known| !known.is_empty());
        let is_embedded = is_true(schema, EMBEDDED);
        if is_embedded {
            let is_map = schema.contains_key("additionalProperties");
            let text = "an embedded resource is an object that is no map";
            self.says_if(name_of_type(schema) != "object" || is_map, path, text);
            let text = "an embedded resource needs fields, or is open for unknown fields";
            self.says_if(!has_fields && !is_true(schema, OPEN), path, text);
            self.says_if(node.is_meta, path, "metadata has no embedded resource");
        }
        for (name, field) in known.into_iter().flatten() {
            let inner = node.field(name, schema);
            let Some(field) = field.as_object() else {
                self.says(&inner.path, &no_schema("the schema has no type"));
                continue;
            };
            if (node.is_root || is_embedded) && OF_RESOURCES.contains(&name.as_str()) {
                let is_metadata = name == "metadata";
                let expected = if is_metadata { "object" } else { "string" };
                let text = format!("the type must be {expected}");
                self.says_if(name_of_type(field) != expected, &inner.path, &text);
            }
            self.check_type(&inner, field);
        }
        match schema.get("additionalProperties") {
            Some(Value::Object(values)) => {
                let text = "an object has either fields or the keys of a map: make the map a field";
                self.says_if(has_fields, path, text);
                self.check_type(&node.items("{}", schema), values);
            }
            Some(Value::Bool(false)) => {
                let text =
                    "the API server drops unknown fields: it has no `additionalProperties: false`";
                self.says_if(has_fields, path, text);
            }
            _ => {}
        }
    }

    fn check_list(&mut self, node: &SchemaNode, schema: &Object) {
        let path = node.path.as_str();
        let list_type = text_of(schema, "x-kubernetes-list-type");
        let is_list = name_of_type(schema) == "array";
        let text = "a merge strategy of lists is set for a value that is no list";
        self.says_if(!is_list && !list_type.is_empty(), path, text);
        let keys: Vec<&str> = texts(schema, "x-kubernetes-list-map-keys").collect();
        let text = "only a list that is merged as a map has keys";
        self.says_if(list_type != "map" && !keys.is_empty(), path, text);
        let Some(items) = subschema(schema, "items") else {
            let has_none = is_list || schema.contains_key("items");
            let text = no_schema("the items of the list have no schema");
            return self.says_if(has_none, path, &text);
        };
        self.check_type(&node.items("[]", schema), items);
        let has_null = matches!(list_type, "set" | "map") && is_true(items, "nullable");
        let text = "an item of the list may be null: remove the `Option`";
        self.says_if(has_null, path, text);
        match list_type {
            "" | "atomic" => {}
            "set" => {
                let is_wrong = match name_of_type(items) {
                    "array" => !matches!(text_of(items, "x-kubernetes-list-type"), "" | "atomic"),
                    "object" => text_of(items, "x-kubernetes-map-type") != "atomic",
                    _ => false,
                };
                let text = "the items of a set are texts, numbers or bools, not objects";
                self.says_if(is_wrong, path, text);
            }
            "map" => self.check_keys(path, items, &keys),
            _ => self.says(
                path,
                &format!("`{list_type}` is no merge strategy of a list"),
            ),
        }
    }

    /// Checks the keys of a list that is merged as a map.
    fn check_keys(&mut self, path: &str, items: &Object, keys: &[&str]) {
        let text = "a list that is merged as a map needs the names of its keys";
        self.says_if(keys.is_empty(), path, text);
        let text = "the items of a list that is merged as a map are objects";
        self.says_if(name_of_type(items) != "object", path, text);
        let unique: BTreeSet<&&str> = keys.iter().collect();
        let text = "a key of the list is named twice";
        self.says_if(unique.len() < keys.len(), path, text);
        for key in keys {
            let Some(field) = fields(items).and_then(|fields| subschema(fields, key)) else {
                let text = format!("the items have no field `{key}`, which is a key of the list");
                self.says(path, &text);
                continue;
            };
            let subject = format!("the key `{key}` of the list");
            let is_value = !matches!(name_of_type(field), "array" | "object");
            let text = format!("{subject} is no text, number or bool");
            self.says_if(!is_value, path, &text);
            let is_required = texts(items, "required").any(|name| name == *key);
            let has_default = field.get("default").is_some_and(|value| !value.is_null());
            let text = format!("{subject} is neither required nor has a default");
            self.says_if(!is_required && !has_default, path, &text);
            let text = format!("{subject} may be null: remove the `Option`");
            self.says_if(is_true(field, "nullable"), path, &text);
        }
    }

    /// Checks the schemas in `allOf`, `anyOf`, `oneOf` and `not` of `schema`, which may only limit values. An `anyOf` may
    /// say that a value is an integer or a text, so many levels deep.
    fn check_parts(&mut self, node: &SchemaNode, schema: &Object, levels: u8) {
        let either = json!([{"type": "integer"}, {"type": "string"}]);
        if levels == 0 || schema.get("anyOf") != Some(&either) {
            for part in list(schema, "anyOf") {
                self.check_part(node, part, 0);
            }
        }
        for (index, part) in list(schema, "allOf").enumerate() {
            let is_first = index == 0;
            let inner = if is_first {
                levels.saturating_sub(1)
            } else {
                0
            };
            self.check_part(node, part, inner);
        }
        for part in list(schema, "oneOf").chain(schema.get("not")) {
            self.check_part(node, part, 0);
        }
    }

    fn check_part(&mut self, node: &SchemaNode, part: &Value, levels: u8) {
        let Some(part) = part.as_object() else { return };
        for (key, value) in part {
            let is_wrong =
                NOT_IN_UNIONS.contains(&key.as_str()) || key.starts_with("x-kubernetes-");
            let text = format!(
                "a variant of the enum sets `{key}`, which Kubernetes takes only outside of variants: {WITHOUT_TRANSFORM}"
            );
            self.says_if(is_wrong && is_set(value), &node.path, &text);
        }
        self.check_value(&node.path, part);
        self.check_parts(node, part, levels);
        let inner = fields(part).into_iter().flat_map(Map::values);
        for part in inner.chain(part.get("items")) {
            self.check_part(node, part, 0);
        }
        let has_metadata = fields(part).is_some_and(|fields| fields.contains_key("metadata"));
        self.says_if(has_metadata, &node.path, "a variant checks `metadata`");
    }

    fn check_rule(&mut self, node: &SchemaNode, rule: &Value, schema: &Object) {
        let path = node.path.as_str();
        let code = rule["rule"].as_str().unwrap_or_default();
        let message = rule["message"].as_str().unwrap_or_default();
        let is_resource = node.is_root || is_true(schema, EMBEDDED);
        if code.trim().is_empty() {
            return self.says(path, "a CEL rule is empty");
        }
        let has_old = rule::has_old_self(code);
        let texts = ["message", "messageExpression", "fieldPath"].map(|key| rule[key].as_str());
        let mut texts = texts.into_iter().flatten();
        let has_blank = texts.any(|text| !text.is_empty() && text.trim().is_empty());
        let reason = rule["reason"].as_str();
        let environment = Environment {
            schema,
            is_resource,
            has_optional_old: rule["optionalOldSelf"] == true,
        };
        let expression = rule["messageExpression"].as_str().unwrap_or_default();
        let wrong = if let Err(fault) = expression::check(code, &environment, &Type::Bool) {
            fault
        } else if message.trim().contains(['\n', '\r']) {
            "its message has several lines".to_owned()
        } else if code.trim().contains(['\n', '\r']) && message.trim().is_empty() {
            "a rule with several lines needs a message".to_owned()
        } else if has_blank {
            "a text beside it is blank".to_owned()
        } else if has_old && !node.has_old {
            "`oldSelf` is not known inside of a list, but for a list that is merged as a map"
                .to_owned()
        } else if !has_old && !rule["optionalOldSelf"].is_null() {
            "`optionalOldSelf` is set for a rule without `oldSelf`".to_owned()
        } else if !expression.is_empty()
            && let Err(fault) = expression::check(expression, &environment, &Type::Text)
        {
            format!("its message `{expression}`: {fault}")
        } else if let Some(path) = rule["fieldPath"].as_str()
            && !leads_to_field(path, schema)
        {
            format!("its `fieldPath` must lead to a field, as in `.name`, and not to `{path}`")
        } else if reason.is_some_and(|reason| !REASONS.contains(&reason)) {
            format!("the reason must be one of {}", REASONS.join(", "))
        } else {
            if node.is_repeated && rule::has_loop(code) {
                let text = "a CEL rule with a loop is inside of a list or map without `maxItems`: an API server may \
                            refuse its cost";
                self.warns(path, text);
            }
            return;
        };
        let text = format!("the CEL rule `{code}` does not compile: {wrong}");
        self.says(path, &text);
    }

    fn check_column(&mut self, column: &CustomResourceColumnDefinition, root: &Object) {
        let (name, path, type_name) = (&column.name, &column.json_path, &column.type_);
        let text = format!("the path `{path}` of the column {name} must begin with a dot");
        self.says_if(!path.starts_with('.'), "", &text);
        let types = ["boolean", "date", "integer", "number", "string"];
        let text = format!(
            "the column {name} has the type `{type_name}`: it must be boolean, date, integer, number or string"
        );
        self.says_if(!types.contains(&type_name.as_str()), "", &text);
        let format = column.format.as_deref().unwrap_or_default();
        let text = format!(
            "the column {name} has the format `{format}`: it must be {}",
            FORMATS_OF_COLUMNS[1..].join(", ")
        );
        self.says_if(!FORMATS_OF_COLUMNS.contains(&format), "", &text);
        self.says_if(name.is_empty(), "", "a column has no name");
        if is_unclosed(path) {
            let text = format!(
                "the path `{path}` has a bracket or a quote that is not closed: kubectl would show neither this column nor those after it"
            );
            self.warns(&format!("column {name}"), &text);
        }
        let plain = |part: &&str| !part.contains(['[', '\\']);
        let parts = path.split('.').skip(1).take_while(plain);
        self.check_path(&format!("column {name}"), path, parts, root);
    }

    /// Checks the paths of the subresource `scale`, which have names only.
    fn check_scale(&mut self, scale: &CustomResourceSubresourceScale, root: &Object) {
        let [spec, status] = [&scale.spec_replicas_path, &scale.status_replicas_path];
        let label = scale.label_selector_path.as_ref();
        let paths = [
            ("specReplicasPath", Some(spec), &[".spec."][..]),
            ("statusReplicasPath", Some(status), &[".status."]),
            (
                "labelSelectorPath",
                label.filter(|path| !path.is_empty()),
                &[".spec.", ".status."],
            ),
        ];
        for (key, path, starts) in paths {
            let Some(path) = path else { continue };
            let is_wrong = !starts.iter().any(|start| path.starts_with(start));
            let text = format!(
                "the {key} `{path}` must begin with `{}`",
                starts.join("` or `")
            );
            self.says_if(is_wrong, "", &text);
            self.check_path(key, path, path.split('.').skip(1), root);
        }
    }

    /// Warns about `subject` if the `parts` of `path` lead to no field.
    fn check_path<'a>(
        &mut self,
        subject: &str,
        path: &str,
        parts: impl Iterator<Item = &'a str>,
        root: &Object,
    ) {
        let mut known = root;
        for part in parts {
            let Some(known_fields) = fields(known).filter(|_| part != "metadata") else {
                return;
            };
            let Some(field) = subschema(known_fields, part) else {
                if is_true(known, OPEN) {
                    return;
                }
                let text = format!("the path `{path}` leads to no field");
                return self.warns(subject, &text);
            };
            known = field;
        }
    }

    /// Checks the paths of the fields that select objects of a list.
    fn check_selectable<'a>(&mut self, paths: impl Iterator<Item = &'a str>, root: &Object) {
        let mut selected = BTreeSet::new();
        for path in paths {
            let mut names = path.split('.');
            let has_dot = names.next() == Some("");
            let selected_field = names.try_fold(root, field);
            let type_name = selected_field.filter(|_| has_dot).map(name_of_type);
            let wrong = match type_name {
                _ if path.starts_with(".metadata.") => "is in the metadata",
                None => "leads to no field",
                Some("boolean" | "integer" | "string") if selected.insert(path) => continue,
                Some("boolean" | "integer" | "string") => "is named twice",
                Some(_) => "is no text, integer or bool",
            };
            self.says("", &format!("the selectable field `{path}` {wrong}"));
        }
        let text = format!("a version has at most {MOST_SELECTABLE} selectable fields");
        self.says_if(selected.len() > MOST_SELECTABLE, "", &text);
    }
}

/// Whether `path`, such as `.a.b` or `['a'].b`, leads to a field of `schema`.
fn leads_to_field(path: &str, schema: &Object) -> bool {
    let (mut rest, mut known) = (path, schema);
    while !rest.is_empty() {
        let parts = match rest.strip_prefix("['") {
            Some(quoted) => quoted.split_once("']"),
            None => rest.strip_prefix('.').map(|part| {
                let end = part.find(['.', '[']).unwrap_or(part.len());
                part.split_at(end)
            }),
        };
        let Some((name, after)) = parts else {
            return false;
        };
        let Some(inner) = field(known, name) else {
            let values = known.get("additionalProperties");
            let is_map = fields(known).is_none() && values.is_some_and(Value::is_boolean);
            return is_map && after.is_empty();
        };
        (rest, known) = (after, inner);
    }
    true
}

/// Whether a bracket or a quote in the path of a column is not closed. Quotes are letters outside of brackets.
fn is_unclosed(path: &str) -> bool {
    let mut awaited = Vec::new();
    let mut letters = path.chars();
    while let Some(letter) = letters.next() {
        match (letter, awaited.last().copied()) {
            ('\\', _) => _ = letters.next(),
            (_, Some(end)) if letter == end => _ = awaited.pop(),
            (_, Some('"' | '\'')) => {}
            ('"' | '\'', Some(_)) => awaited.push(letter),
            ('[', _) => awaited.push(']'),
            ('(', Some(_)) => awaited.push(')'),
            (']', _) => return true,
            _ => {}
        }
    }
    !awaited.is_empty()
}

/// Whether a list in `value` that is merged by its items or by their keys has the same twice.
fn has_twice(value: &Value, schema: &Object) -> bool {
    match value {
        Value::Array(items) => {
            let inner = subschema(schema, "items");
            let keys: Vec<&str> = texts(schema, "x-kubernetes-list-map-keys").collect();
            let mut seen = HashSet::new();
            let mut is_seen = |item: &Value| match text_of(schema, "x-kubernetes-list-type") {
                "set" => !seen.insert(item.to_string()),
                "map" => {
                    let own: Value = keys.iter().map(|key| item[*key].clone()).collect();
                    !seen.insert(own.to_string())
                }
                _ => false,
            };
            let mut items = items.iter();
            items.any(|item| is_seen(item) || inner.is_some_and(|inner| has_twice(item, inner)))
        }
        Value::Object(object) => {
            let mut values = object.iter();
            values.any(|(name, value)| {
                field(schema, name).is_some_and(|field| has_twice(value, field))
            })
        }
        _ => false,
    }
}

/// The formats that a column may have; empty if it has none.
const FORMATS_OF_COLUMNS: [&str; 9] = [
    "",
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];

const MOST_SELECTABLE: usize = 8;

/// Whether a key with this value is not as if the key was missing.
fn is_set(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

/// Whether `name` can be a name in a CRD.
fn is_label(name: &str) -> bool {
    let mut letters = name.bytes();
    letters.all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'-')
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && !name.ends_with('-')
        && name.len() <= 63
}

/// Whether `schema` is that of `std::time::Duration`.
fn is_std_duration(schema: &Object) -> bool {
    fields(schema).is_some_and(|fields| fields.keys().eq(["nanos", "secs"]))
}
