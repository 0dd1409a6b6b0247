//! From a schema to types.
#![expect(
    clippy::format_push_string,
    reason = "a text that grows is easier to read than `write!` into one"
)]

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    docs::is_doc,
    layout::{Attribute, Meta},
    literal,
    model::{DefaultFn, Field, Helper, Import, Item, Lowered, Root, Shape},
    names::{self, Unique},
    read::{Crd, CrdVersion},
    schema::{self, Schema},
};

/// What stands in a file of types besides the types of the kind. Each of them begins with the kind, so few can be
/// called so; those with more than one word come from kube.
const TAKEN: &str = "BTreeMap Box Clone CustomResource Debug Default Deserialize Err IntOrString \
    JsonSchema KubeSchema ListMerge MapMerge Message None Ok Option PartialEq Reason Result Rule Schema \
    SchemaGenerator Self Serialize Some String StructMerge Time Validated Value Vec";

/// Whom the types are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The project that defines the kind: they write its schema.
    Define,
    /// A client: they write no schema, leave out what the client does not set, and take values that a later
    /// version of the schema adds to an enum.
    Use,
}

/// The types of `version`.
pub(super) fn lower(crd: &Crd, version: &CrdVersion, purpose: Purpose) -> Lowered {
    let kind = crd.kind.as_str();
    let taken = TAKEN.split_ascii_whitespace().map(str::to_owned);
    let own = ["", "Spec", "Status"].map(|end| format!("{kind}{end}"));
    let mut lower = Lower {
        kind,
        purpose,
        slots: Vec::new(),
        types: BTreeMap::new(),
        names: Unique::new(taken.chain(own)),
        functions: Unique::new(Helper::ALL.map(|it| it.name().to_owned())),
        defaults: Vec::new(),
        helpers: BTreeSet::new(),
        imports: BTreeSet::new(),
    };
    let (root, written) = lower.root(&version.schema, version.has_status);
    let mut lowered = Lowered {
        items: lower.slots.into_iter().flatten().collect(),
        defaults: lower.defaults,
        helpers: lower.helpers.into_iter().collect(),
        imports: lower.imports.into_iter().collect(),
        root,
        written,
    };
    if purpose == Purpose::Use {
        lowered.leave_out_schema();
    }
    lowered
}

struct Lower<'a> {
    kind: &'a str,
    purpose: Purpose,
    /// The types, each at the place where it was begun.
    slots: Vec<Option<Item>>,
    /// The types by their schema: equal schemas are one type.
    types: BTreeMap<String, Type>,
    names: Unique,
    functions: Unique,
    defaults: Vec<DefaultFn>,
    helpers: BTreeSet<Helper>,
    imports: BTreeSet<Import>,
}

/// The Rust type of a schema.
#[derive(Debug, Clone)]
struct Type {
    rust: String,
    /// Whether it has a default.
    is_default: bool,
    /// Whether it is empty when it is not there: a list or a map.
    empty: Option<&'static str>,
    /// What it writes without attributes of a field.
    written: Schema,
    /// Whether types of the file are in it.
    is_named: bool,
    /// The function that gives the schema.
    helper: Option<Helper>,
    /// Its default, if it is a scalar, from a value of JSON.
    scalar: Scalar,
}

/// How a scalar is written in Rust.
#[derive(Debug, Clone, PartialEq)]
enum Scalar {
    None,
    Bool,
    Integer(&'static str),
    Float,
    Text,
    /// Values and variants.
    Enum(Vec<(String, String)>),
}

impl Type {
    fn new(rust: impl Into<String>, written: Value) -> Self {
        Self {
            rust: rust.into(),
            is_default: true,
            empty: None,
            written: object(written),
            is_named: false,
            helper: None,
            scalar: Scalar::None,
        }
    }
}

fn object(value: Value) -> Schema {
    match value {
        Value::Object(fields) => fields,
        _ => Schema::new(),
    }
}

/// What describes a field instead of the type of the field.
const OF_FIELD: [&str; 3] = ["default", "description", "nullable"];

impl Lower<'_> {
    /// The kind itself, and what kube writes of it.
    fn root(&mut self, given: &Value, has_status: bool) -> (Root, Value) {
        let given = object(given.clone());
        let schema = schema::kept(&given);
        let mut fields = object(schema.get("properties").cloned().unwrap_or_default());
        let meta = ["apiVersion", "kind", "metadata"];
        fields.retain(|name, _| !meta.contains(&name.as_str()));
        let status = fields.remove("status");
        let status = status.or_else(|| has_status.then(|| json!({"type": "object"})));
        let no_spec = fields.keys().ne(["spec"]);
        let mut spec = match fields.get("spec") {
            Some(spec) if !no_spec => object(spec.clone()),
            _ => {
                let names = schema.get("required").and_then(Value::as_array);
                let names = names.into_iter().flatten();
                let names =
                    names.filter(|it| it.as_str().is_some_and(|it| fields.contains_key(it)));
                let required: Vec<_> = names.cloned().collect();
                object(json!({"type": "object", "properties": fields, "required": required}))
            }
        };
        if schema.get("x-kubernetes-preserve-unknown-fields").is_some() && no_spec {
            spec.insert(
                "x-kubernetes-preserve-unknown-fields".to_owned(),
                true.into(),
            );
        }
        let name = format!("{}Spec", self.kind);
        let (_, spec) = self.own_type(&name, &spec, true);
        let mut root = Root {
            spec: name,
            no_spec,
            ..Root::default()
        };
        let mut written = object(json!({"type": "object"}));
        let mut properties = Schema::new();
        if no_spec {
            properties = object(spec.get("properties").cloned().unwrap_or_default());
            for key in ["required", "x-kubernetes-preserve-unknown-fields"] {
                written.extend(
                    spec.get_key_value(key)
                        .map(|(key, it)| (key.clone(), it.clone())),
                );
            }
        } else {
            properties.insert("spec".to_owned(), spec.into());
            written.insert("required".to_owned(), json!(["spec"]));
        }
        if let Some(status) = status {
            let name = format!("{}Status", self.kind);
            let (_, mut status) = self.own_type(&name, &object(status), false);
            status.insert("nullable".to_owned(), true.into());
            properties.insert("status".to_owned(), status.into());
            root.status = Some(name);
        }
        if !properties.is_empty() {
            written.insert("properties".to_owned(), properties.into());
        }
        written.insert("title".to_owned(), self.kind.into());
        if let Some(Value::String(text)) = schema.get("description") {
            // An attribute cannot say that it is not Markdown.
            if is_doc(text) {
                root.doc.clone_from(text);
                written.insert("description".to_owned(), text.clone().into());
            } else {
                let first = text.split("\n\n").next().unwrap_or_default().trim();
                if is_doc(first) {
                    first.clone_into(&mut root.doc);
                    written.insert("description".to_owned(), first.into());
                }
            }
        }
        if let Some(rules) = schema.get("x-kubernetes-validations")
            && let Some(all) = self::rules(rules)
        {
            root.rules = all;
            written.insert("x-kubernetes-validations".to_owned(), rules.clone());
        }
        (root, written.into())
    }

    /// The type of spec or status, which has all of its schema.
    fn own_type(&mut self, name: &str, schema: &Schema, is_spec: bool) -> (String, Schema) {
        let schema = schema::kept(schema);
        let path = if is_spec {
            Vec::new()
        } else {
            vec!["status".to_owned()]
        };
        let is_struct = schema.get("properties").is_some()
            || schema.get("x-kubernetes-preserve-unknown-fields").is_none()
                && schema.get("additionalProperties").is_none();
        let ty = if is_struct {
            self.structure(name.to_owned(), &schema, &path)
        } else {
            self.newtype(name.to_owned(), &schema)
        };
        (ty.rust, ty.written)
    }

    /// A type around any value.
    fn newtype(&mut self, name: String, schema: &Schema) -> Type {
        let mut schema = object(schema::all_kept(&schema.clone().into()));
        let doc = take_doc(&mut schema);
        let mut written = schema.clone();
        if let Some(doc) = &doc {
            written.insert("description".to_owned(), doc.clone().into());
        }
        let value = self.import(Import::Value);
        self.slots.push(Some(Item {
            name: name.clone(),
            doc,
            attributes: extend(schema.iter()).into_iter().collect(),
            is_default: true,
            is_kube: false,
            shape: Shape::Newtype(value),
        }));
        Type {
            is_named: true,
            ..Type::new(name, written.into())
        }
    }

    /// The name of an imported type.
    fn import(&mut self, import: Import) -> String {
        if self.kind == import.name() {
            return import.path().to_owned();
        }
        self.imports.insert(import);
        import.name().to_owned()
    }

    /// The type of `schema`, which stands at `path`. All that the type cannot write is for the field.
    fn ty(&mut self, schema: &Schema, path: &[String]) -> Type {
        let is = |key: &str| schema.get(key) == Some(&Value::Bool(true));
        if is("x-kubernetes-int-or-string") {
            let rust = self.import(Import::IntOrString);
            return Type {
                helper: Some(Helper::IntOrString),
                ..Type::new(rust, json!({"x-kubernetes-int-or-string": true}))
            };
        }
        let format = schema.get("format").and_then(Value::as_str);
        match schema.get("type").and_then(Value::as_str) {
            Some("string") => self.string(schema, format, path),
            Some("boolean") => Type {
                scalar: Scalar::Bool,
                ..Type::new("bool", json!({"type": "boolean"}))
            },
            Some("integer") => {
                let (rust, format) = match format {
                    Some("int32") => ("i32", Some("int32")),
                    Some("int64") => ("i64", Some("int64")),
                    _ => ("i64", None),
                };
                let mut written = json!({"type": "integer"});
                if let Some(format) = format {
                    written["format"] = format.into();
                }
                Type {
                    helper: format.is_none().then_some(Helper::Integer),
                    scalar: Scalar::Integer(rust),
                    ..Type::new(rust, written)
                }
            }
            Some("number") => {
                let is_double = format == Some("double");
                let mut written = json!({"type": "number"});
                if is_double {
                    written["format"] = "double".into();
                }
                Type {
                    helper: (!is_double).then_some(Helper::Number),
                    scalar: Scalar::Float,
                    ..Type::new("f64", written)
                }
            }
            Some("array") => self.list(schema, path),
            Some("object") => self.object(schema, path),
            _ => self.any(),
        }
    }

    fn any(&mut self) -> Type {
        Type::new(self.import(Import::Value), json!({}))
    }

    fn string(&mut self, schema: &Schema, format: Option<&str>, path: &[String]) -> Type {
        if let Some(values) = values(schema) {
            return self.enumeration(Schema::new(), &values, path);
        }
        if format == Some("date-time") && schema.get("enum").is_none() {
            let rust = self.import(Import::Time);
            return Type {
                is_default: false,
                helper: Some(Helper::DateTime),
                ..Type::new(rust, json!({"type": "string", "format": "date-time"}))
            };
        }
        Type {
            scalar: Scalar::Text,
            ..Type::new("String", json!({"type": "string"}))
        }
    }

    /// An enum of `values`, which writes `rest` as well.
    fn enumeration(&mut self, mut rest: Schema, values: &[&str], path: &[String]) -> Type {
        let mut written = rest.clone();
        written.insert("type".to_owned(), "string".into());
        written.insert("enum".to_owned(), json!(values));
        let key = Value::Object(written.clone()).to_string();
        if let Some(there) = self.types.get(&key) {
            return there.clone();
        }
        let mut unique = Unique::default();
        let variant = |value: &&str| ((*value).to_owned(), unique.first([names::variant(value)]));
        let variants: Vec<_> = values.iter().map(variant).collect();
        let name = self.name(path);
        let flip = |(value, variant): &(String, String)| (variant.clone(), value.clone());
        let flipped = variants.iter().map(flip).collect();
        self.slots.push(Some(Item {
            name: name.clone(),
            doc: take_doc(&mut rest),
            attributes: extend(rest.iter()).into_iter().collect(),
            is_default: false,
            is_kube: false,
            shape: match self.purpose {
                Purpose::Define => Shape::Enum(flipped),
                Purpose::Use => Shape::OpenEnum(
                    flipped,
                    unique.first(["Other", "Unknown"].map(str::to_owned)),
                ),
            },
        }));
        let ty = Type {
            is_default: false,
            is_named: true,
            scalar: Scalar::Enum(variants),
            ..Type::new(name, written.into())
        };
        self.types.insert(key, ty.clone());
        ty
    }

    fn list(&mut self, schema: &Schema, path: &[String]) -> Type {
        let Some(Value::Object(items)) = schema.get("items") else {
            return self.any();
        };
        let mut path = path.to_vec();
        if let Some(last) = path.last_mut() {
            *last = names::singular(last);
        }
        let items = self.inner(items, &path);
        Type {
            empty: Some("Vec::is_empty"),
            is_named: items.is_named,
            ..Type::new(
                format!("Vec<{}>", items.rust),
                json!({"type": "array", "items": items.written}),
            )
        }
    }

    fn object(&mut self, schema: &Schema, path: &[String]) -> Type {
        let is_open = schema.get("x-kubernetes-preserve-unknown-fields").is_some();
        match schema.get("additionalProperties") {
            Some(Value::Object(values)) if !schema.contains_key("properties") => {
                let mut path = path.to_vec();
                if let Some(last) = path.last_mut() {
                    *last = names::singular(last);
                }
                let values = self.inner(values, &path);
                let rust = format!("{}<String, {}>", self.import(Import::BTreeMap), values.rust);
                Type {
                    empty: Some("BTreeMap::is_empty"),
                    is_named: values.is_named,
                    ..Type::new(
                        rust,
                        json!({"type": "object", "additionalProperties": values.written}),
                    )
                }
            }
            None | Some(Value::Bool(false)) if !is_open || schema.contains_key("properties") => {
                let mut own = schema.clone();
                own.retain(|key, _| !OF_FIELD.contains(&key.as_str()));
                self.structure_at(&own, path)
            }
            _ => self.any(),
        }
    }

    /// The type of items or of the values of a map. A struct writes all of its schema, as there is no
    /// field to do so.
    fn inner(&mut self, schema: &Schema, path: &[String]) -> Type {
        let schema = schema::kept(schema);
        let is_struct = schema.get("type").is_some_and(|it| it == "object")
            && schema
                .get("additionalProperties")
                .is_none_or(|it| *it == false)
            && (schema.contains_key("properties")
                || schema.get("x-kubernetes-preserve-unknown-fields").is_none());
        if is_struct {
            return self.structure_at(&schema, path);
        }
        if let Some(values) = values(&schema)
            && schema.get("type").is_some_and(|it| it == "string")
        {
            let mut rest = schema.clone();
            rest.retain(|key, _| key != "type" && key != "enum");
            return self.enumeration(rest, &values, path);
        }
        let mut ty = self.ty(&schema, path);
        if ty.helper.is_some() {
            // There is no field that could name the function, so the field says all of it.
            ty.written = object(json!({"x-unknown": true}));
        }
        ty
    }

    /// The struct of `schema`, which may be there already.
    fn structure_at(&mut self, schema: &Schema, path: &[String]) -> Type {
        let key = Value::Object(schema.clone()).to_string();
        if let Some(there) = self.types.get(&key) {
            return there.clone();
        }
        let name = self.name(path);
        let ty = self.structure(name, schema, path);
        self.types.insert(key, ty.clone());
        ty
    }

    /// A struct that writes all of `schema`.
    fn structure(&mut self, name: String, schema: &Schema, path: &[String]) -> Type {
        let slot = self.slots.len();
        self.slots.push(None);
        let mut rest = schema.clone();
        let required = texts(rest.remove("required").as_ref());
        let properties = object(rest.remove("properties").unwrap_or_default());
        rest.remove("type");
        if rest.get("additionalProperties") == Some(&Value::Bool(false)) {
            rest.remove("additionalProperties");
        }
        let doc = take_doc(&mut rest);
        let mut fields = Vec::new();
        let mut written_fields = Schema::new();
        let (mut is_default, mut is_kube) = (true, false);
        let mut idents = Unique::default();
        for (json_name, schema) in &properties {
            let ident = idents.first([names::field(json_name)]);
            let place = Place {
                json: json_name,
                ident: &ident,
                is_required: required.contains(json_name),
                path,
            };
            let lowered = self.field(&place, schema);
            is_default &= lowered.is_default;
            is_kube |= lowered.is_kube;
            written_fields.insert(json_name.clone(), lowered.written.into());
            fields.push(lowered.field);
        }
        let has_camel = rename_all(&mut fields, &properties);
        let mut written = object(json!({"type": "object"}));
        let missing: Vec<_> = required
            .iter()
            .filter(|it| !properties.contains_key(*it))
            .collect();
        if !required.is_empty() {
            let all: Vec<_> = required.iter().collect();
            written.insert("required".to_owned(), json!(all));
            if !missing.is_empty() {
                rest.insert("required".to_owned(), json!(all));
            }
        }
        if !properties.is_empty() {
            written.insert("properties".to_owned(), written_fields.into());
        }
        let open = "x-kubernetes-preserve-unknown-fields";
        if let Some(value) = rest.remove(open) {
            written.insert(open.to_owned(), value);
            let map = self.import(Import::BTreeMap);
            let value = self.import(Import::Value);
            fields.push(Field {
                doc: None,
                attributes: vec![Attribute::Meta(Meta::list(
                    "serde",
                    vec![Meta::leaf("flatten")],
                ))],
                ident: idents.first(["other", "other_fields"].map(str::to_owned)),
                ty: format!("{map}<String, {value}>"),
            });
        }
        let mut attributes = Vec::new();
        if has_camel {
            let all = Meta::text("rename_all", "camelCase");
            attributes.push(Attribute::Meta(Meta::list("serde", vec![all])));
        }
        let mut of_kube = Vec::new();
        if let Some(rules) = rest.get("x-kubernetes-validations")
            && let Some(all) = self::rules(rules)
        {
            of_kube.extend(
                all.into_iter()
                    .map(|rule| kube(&format!("validation = {rule}"))),
            );
            written.extend(rest.remove_entry("x-kubernetes-validations"));
            is_kube = true;
        }
        if let Some(doc) = &doc {
            written.insert("description".to_owned(), doc.clone().into());
        }
        attributes.extend(extend(rest.iter()));
        attributes.extend(of_kube);
        written.extend(rest);
        self.slots[slot] = Some(Item {
            name: name.clone(),
            doc,
            attributes,
            is_default,
            is_kube,
            shape: Shape::Struct(fields),
        });
        Type {
            is_default,
            is_named: true,
            ..Type::new(name, written.into())
        }
    }

    /// A name for the type at `path`: the kind and the last part, and more of them if others have it.
    fn name(&mut self, path: &[String]) -> String {
        let parts: Vec<_> = path.iter().map(|it| names::part(it)).collect();
        let is_status = parts.first().is_some_and(|it| it == "Status");
        let (start, parts) = match parts.as_slice() {
            [_, rest @ ..] if is_status => (format!("{}Status", self.kind), rest),
            rest => (self.kind.to_owned(), rest),
        };
        let long = |from: usize| parts[from..].concat().chars().count() > 48;
        let candidates = (0..parts.len()).rev();
        let candidates = candidates.filter(|from| *from + 1 == parts.len() || !long(*from));
        let mut candidates: Vec<_> = candidates
            .map(|from| {
                let tail: String = parts[from..].concat().chars().take(60).collect();
                format!("{start}{tail}")
            })
            .filter(|name| !name.ends_with("Validated"))
            .collect();
        if candidates.is_empty() {
            candidates.push(format!("{start}Value"));
        }
        self.names.first(candidates)
    }
}

/// Where a field stands.
struct Place<'a> {
    json: &'a str,
    ident: &'a str,
    is_required: bool,
    path: &'a [String],
}

/// A field, and what it says of its struct.
struct LoweredField {
    field: Field,
    written: Schema,
    is_default: bool,
    is_kube: bool,
}

impl Lower<'_> {
    fn field(&mut self, place: &Place, given: &Value) -> LoweredField {
        let mut want = schema::kept(&object(given.clone()));
        let mut path = place.path.to_vec();
        path.push(place.json.to_owned());
        let ty = self.ty(&want, &path);
        let mut attributes = Vec::new();
        let mut serde = Vec::new();
        let mut schemars = Vec::new();
        let mut written = ty.written.clone();
        let mut rust = ty.rust.clone();
        let mut is_default = ty.is_default;
        let nullable = want.get("nullable").is_some();

        // The Rust type, and where it comes from if it is not there.
        let default = want.get("default").cloned();
        let value = default.as_ref().and_then(|it| Self::default_value(&ty, it));
        // The API server gives a client's object the defaults of its schema, which may change.
        let value = value.filter(|_| self.purpose == Purpose::Define);
        match (place.is_required, value) {
            (false, Some(value)) if !nullable => {
                if value.is_usual {
                    serde.push(Meta::leaf("default"));
                } else {
                    let name = self.default_fn(place.ident, &ty.rust, value.rust);
                    serde.push(Meta::text("default", &name));
                    is_default = false;
                }
                written.insert("default".to_owned(), value.written);
                want.remove("default");
            }
            (false, _) => {
                let is_empty = ty.empty.filter(|_| !nullable);
                if is_empty.is_none() {
                    rust = format!("Option<{rust}>");
                }
                serde.push(Meta::leaf("default"));
                let is_empty = is_empty.unwrap_or("Option::is_none");
                serde.push(Meta::text("skip_serializing_if", is_empty));
                is_default = true;
            }
            (true, _) if nullable => {
                rust = format!("Option<{rust}>");
                is_default = true;
            }
            (true, _) => {}
        }
        let is_option = rust != ty.rust;
        if let Some(helper) = ty.helper {
            self.helpers.insert(helper);
            schemars.push(Meta::text("schema_with", helper.name()));
        } else if is_option {
            schemars.push(Meta::text("with", &ty.rust));
        }
        if ty.helper == Some(Helper::IntOrString) && !place.is_required && !nullable {
            // Else kube would allow null.
            want.insert("nullable".to_owned(), false.into());
        }

        let doc = take_doc(&mut want);
        if let Some(doc) = &doc {
            written.insert("description".to_owned(), doc.clone().into());
        }
        want.retain(|key, value| written.get(key) != Some(value));
        if ty.is_named {
            // An attribute would replace what the types write.
            want.retain(|key, _| {
                !["items", "additionalProperties", "properties"].contains(&key.as_str())
            });
        }
        for inner in ["items", "additionalProperties"] {
            if let Some(value) = want.get_mut(inner) {
                *value = schema::all_kept(value);
                if written.get(inner) == Some(value) {
                    want.remove(inner);
                }
            }
        }
        let of_kube = words(&mut want, &mut written, &mut schemars);
        if !serde.is_empty() {
            attributes.push(Attribute::Meta(Meta::list("serde", serde)));
        }
        if !schemars.is_empty() {
            attributes.push(Attribute::Meta(Meta::list("schemars", schemars)));
        }
        attributes.extend(extend(want.iter()));
        let is_kube = !of_kube.is_empty();
        attributes.extend(of_kube);
        written.extend(want);
        LoweredField {
            field: Field {
                doc,
                attributes,
                ident: place.ident.to_owned(),
                ty: rust,
            },
            written,
            is_default,
            is_kube,
        }
    }

    /// `default` as a value of Rust, if `ty` is a scalar that has it.
    fn default_value(ty: &Type, default: &Value) -> Option<RustValue> {
        let value = |rust: String, is_usual: bool, written: Value| {
            Some(RustValue {
                rust,
                is_usual,
                written,
            })
        };
        match (&ty.scalar, default) {
            (Scalar::Bool, Value::Bool(it)) => value(it.to_string(), !it, default.clone()),
            (Scalar::Integer(rust), Value::Number(it)) => {
                let it = it.as_i64()?;
                let fits = *rust == "i64" || i32::try_from(it).is_ok();
                fits.then(|| value(it.to_string(), it == 0, default.clone()))?
            }
            (Scalar::Float, Value::Number(it)) => {
                let it = it.as_f64()?;
                value(
                    literal::float(it),
                    it == 0.0 && it.is_sign_positive(),
                    json!(it),
                )
            }
            (Scalar::Text, Value::String(it)) => value(
                format!("{}.to_owned()", literal::text(it)),
                it.is_empty(),
                default.clone(),
            ),
            (Scalar::Enum(variants), Value::String(it)) => {
                let (_, variant) = variants.iter().find(|(value, _)| value == it)?;
                value(format!("{}::{variant}", ty.rust), false, default.clone())
            }
            _ => None,
        }
    }

    fn default_fn(&mut self, ident: &str, ty: &str, value: String) -> String {
        let mut there = self.defaults.iter();
        if let Some(there) = there.find(|it| it.ty == ty && it.value == value) {
            return there.name.clone();
        }
        let name = format!("default_{}", ident.trim_matches('_'));
        let name = self.functions.first([name]);
        self.defaults.push(DefaultFn {
            name: name.clone(),
            ty: ty.to_owned(),
            value,
        });
        name
    }
}

/// A default in Rust.
struct RustValue {
    rust: String,
    /// Whether the type has it by itself.
    is_usual: bool,
    /// As it is written.
    written: Value,
}

impl Helper {
    const ALL: [Self; 4] = [
        Self::DateTime,
        Self::IntOrString,
        Self::Integer,
        Self::Number,
    ];
}

/// The values of an enum, if all are texts, and each is there once.
fn values(schema: &Schema) -> Option<Vec<&str>> {
    let values = schema.get("enum")?.as_array()?;
    let texts: Vec<_> = values.iter().map(Value::as_str).collect::<Option<_>>()?;
    let distinct: BTreeSet<_> = texts.iter().collect();
    (distinct.len() == texts.len() && !texts.is_empty()).then_some(texts)
}

/// The texts of a list.
fn texts(list: Option<&Value>) -> BTreeSet<String> {
    let texts = list.and_then(Value::as_array).into_iter().flatten();
    texts
        .filter_map(|it| it.as_str().map(str::to_owned))
        .collect()
}

/// Takes the description out of `schema` if it can be a doc comment.
fn take_doc(schema: &mut Schema) -> Option<String> {
    let text = schema.get("description")?.as_str()?.to_owned();
    is_doc(&text).then(|| schema.remove("description"))?;
    Some(text)
}

/// Takes out of `want` what schemars and kube have words for, and adds these words. Gives those of kube.
fn words(want: &mut Schema, written: &mut Schema, schemars: &mut Vec<Meta>) -> Vec<Attribute> {
    // schemars leaves a word out that is not for the type.
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

fn kube(text: &str) -> Attribute {
    Attribute::Verbatim(format!("x_kube({text})"))
}

/// The attribute that writes `keywords`, for which schemars has no word.
fn extend<'a>(keywords: impl Iterator<Item = (&'a String, &'a Value)>) -> Option<Attribute> {
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

/// CEL rules as Rust, if kube has a word for all that they say.
fn rules(rules: &Value) -> Option<Vec<String>> {
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

/// Has the fields renamed as the properties are called: all by one rule if that is enough for one of them.
fn rename_all(fields: &mut [Field], properties: &Schema) -> bool {
    let pairs = || {
        fields
            .iter()
            .map(|it| it.ident.as_str())
            .zip(properties.keys())
    };
    let has_camel = pairs().any(|(ident, name)| ident != name && names::camel(ident) == *name);
    let names: Vec<_> = properties.keys().collect();
    for (field, name) in fields.iter_mut().zip(names) {
        let usual = if has_camel {
            names::camel(&field.ident)
        } else {
            field.ident.clone()
        };
        if usual != *name {
            let rename = Meta::text("rename", name);
            match field.attributes.first_mut() {
                Some(Attribute::Meta(Meta::List(list, items))) if list == "serde" => {
                    items.insert(0, rename);
                }
                _ => field
                    .attributes
                    .insert(0, Attribute::Meta(Meta::list("serde", vec![rename]))),
            }
        }
    }
    has_camel
}
