//! Lowers an object with properties to a struct.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    Lower,
    attributes::{extend, kube, rules},
    field::Place,
    object, take_doc,
    types::Type,
};
use crate::crd::{
    layout::{Attribute, Meta},
    model::{Field, Import, Item, Shape},
    names::{self, Unique},
    schema::Schema,
};

impl Lower<'_> {
    /// The struct for `schema`. If an equal schema was lowered before, returns its struct.
    pub(super) fn structure_at(&mut self, schema: &Schema, path: &[String]) -> Type {
        let key = Value::Object(schema.clone()).to_string();
        if let Some(there) = self.types.get(&key) {
            return there.clone();
        }
        let name = self.name(path);
        let ty = self.structure(name, schema.clone(), path);
        self.types.insert(key, ty.clone());
        ty
    }

    /// A new struct whose attributes and fields hold all of `schema`.
    pub(super) fn structure(&mut self, name: String, mut rest: Schema, path: &[String]) -> Type {
        let slot = self.slots.len();
        self.slots.push(None);
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
        for (json_name, schema) in properties {
            let ident = idents.first([names::field(&json_name)]);
            let place = Place {
                json: &json_name,
                ident: &ident,
                is_required: required.contains(&json_name),
                path,
            };
            let lowered = self.field(&place, schema);
            is_default &= lowered.is_default;
            is_kube |= lowered.is_kube;
            written_fields.insert(json_name, lowered.written.into());
            fields.push(lowered.field);
        }
        let has_camel = rename_all(&mut fields, &written_fields);
        let mut written = object(json!({"type": "object"}));
        let missing: Vec<_> = required
            .iter()
            .filter(|it| !written_fields.contains_key(*it))
            .collect();
        if !required.is_empty() {
            let all: Vec<_> = required.iter().collect();
            written.insert("required".to_owned(), json!(all));
            if !missing.is_empty() {
                rest.insert("required".to_owned(), json!(all));
            }
        }
        if !written_fields.is_empty() {
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
}

/// The strings in a list.
fn texts(list: Option<&Value>) -> BTreeSet<String> {
    let texts = list.and_then(Value::as_array).into_iter().flatten();
    texts
        .filter_map(|it| it.as_str().map(str::to_owned))
        .collect()
}

/// Adds serde attributes that rename the fields to the names of the properties. Returns whether the struct needs
/// `rename_all = "camelCase"`: whether this rule gives the right name to at least one field that needs another name.
fn rename_all(fields: &mut [Field], properties: &Schema) -> bool {
    let names = || properties.keys();
    let mut pairs = fields.iter().map(|it| it.ident.as_str()).zip(names());
    let has_camel = pairs.any(|(ident, name)| ident != name && names::camel(ident) == *name);
    for (field, name) in fields.iter_mut().zip(names()) {
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
