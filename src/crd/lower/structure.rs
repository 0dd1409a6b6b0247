//! Lowers an object with properties to a struct.

use std::{collections::BTreeSet, mem};

use heck::ToLowerCamelCase as _;
use serde_json::{Value, json};

use super::{
    Lower, TypeWithSchema,
    attributes::{extend, validations},
    field::FieldContext,
};
use crate::{
    crd::{
        docs::take_doc,
        model::{Field, Item, Shape},
        names,
        schema::{self, EMBEDDED, OF_EVERY_KIND, OPEN, Schema, object},
    },
    rust::{Attribute, Meta, RustType},
};

impl Lower<'_> {
    /// The struct for `schema`. If an equal schema was lowered before, returns its struct.
    pub(super) fn structure_at(&mut self, schema: &Schema, path: &[String]) -> TypeWithSchema {
        let key = Value::Object(schema.clone()).to_string();
        if let Some(known) = self.types.get(&key) {
            return known.clone();
        }
        let name = self.name(path);
        let ty = self.structure(name, schema.clone(), path);
        self.types.insert(key, ty.clone());
        ty
    }

    /// A new struct whose attributes and fields hold all of `schema`.
    pub(super) fn structure(
        &mut self,
        name: String,
        schema: Schema,
        path: &[String],
    ) -> TypeWithSchema {
        let slot = self.slots.len();
        self.slots.push(None);
        let mut rest = schema;
        let required: BTreeSet<String> = schema::texts(rest.remove("required").as_ref())
            .map(str::to_owned)
            .collect();
        let mut properties = schema::properties(&mut rest);
        let is_resource = rest.contains_key(EMBEDDED);
        // The API server keeps the fields of every kind in a resource, even if the schema lacks them.
        let is_incomplete = is_resource && !rest.contains_key(OPEN);
        let mut undeclared = OF_EVERY_KIND.to_vec();
        undeclared.retain(|name| is_incomplete && !properties.contains_key(*name));
        for name in &undeclared {
            properties.insert((*name).to_owned(), json!({"type": "string"}));
        }
        rest.remove("type");
        if rest.get("additionalProperties") == Some(&Value::Bool(false)) {
            rest.remove("additionalProperties");
        }
        let doc = take_doc(&mut rest);
        let mut fields = Vec::new();
        let mut generated_fields = Schema::new();
        let (mut is_default, mut is_kube) = (true, false);
        let mut idents = mem::take(&mut self.reserved);
        for (json_name, schema) in properties {
            let ident = idents.first([names::field(&json_name)]);
            let context = FieldContext {
                json: &json_name,
                ident: &ident,
                is_required: required.contains(&json_name),
                // Its schema declares the name at most, and the API server keeps the rest.
                is_open: is_resource && json_name == "metadata",
                path,
            };
            let mut lowered = self.field(&context, schema);
            if undeclared.contains(&json_name.as_str()) {
                lowered.field.attributes.retain(Attribute::is_serde);
                let skip = Attribute::Verbatim("schemars(skip)".to_owned());
                lowered.field.attributes.push(skip);
            }
            is_default &= lowered.is_default;
            is_kube |= lowered.is_kube;
            generated_fields.insert(json_name, lowered.generated.into());
            fields.push(lowered.field);
        }
        let has_camel = rename_all(&mut fields, &generated_fields);
        generated_fields.retain(|name, _| !undeclared.contains(&name.as_str()));
        let mut generated = object(json!({"type": "object"}));
        if !required.is_empty() {
            generated.insert("required".to_owned(), json!(required));
            if !required
                .iter()
                .all(|name| generated_fields.contains_key(name))
            {
                rest.insert("required".to_owned(), json!(required));
            }
        }
        if !generated_fields.is_empty() {
            generated.insert("properties".to_owned(), generated_fields.into());
        }
        if let Some(value) = rest.remove(OPEN) {
            generated.insert(OPEN.to_owned(), value);
            fields.push(Field {
                doc: None,
                attributes: vec![serde(Meta::leaf("flatten"))],
                ident: idents.first(["other", "other_fields"].map(str::to_owned)),
                rust: RustType::Map(Box::new(RustType::Value)),
            });
        }
        let mut attributes = Vec::new();
        if has_camel {
            attributes.push(serde(Meta::text("rename_all", "camelCase")));
        }
        let of_kube = validations(&mut rest, &mut generated);
        is_kube |= !of_kube.is_empty();
        if let Some(doc) = &doc {
            generated.insert("description".to_owned(), doc.clone().into());
        }
        attributes.extend(extend(&rest));
        attributes.extend(of_kube);
        generated.extend(rest);
        self.slots[slot] = Some(Item {
            name: name.clone(),
            doc,
            attributes,
            is_default,
            is_kube,
            shape: Shape::Struct(fields),
        });
        TypeWithSchema {
            is_default,
            ..TypeWithSchema::new(RustType::Named(name), generated.into())
        }
    }
}

fn serde(meta: Meta) -> Attribute {
    Attribute::Meta(Meta::list("serde", vec![meta]))
}

/// Adds serde attributes that rename the fields to the names of the properties. Returns whether the struct needs
/// `rename_all = "camelCase"`: whether this rule gives the right name to at least one field that needs another name.
fn rename_all(fields: &mut [Field], properties: &Schema) -> bool {
    let has_camel = fields
        .iter()
        .zip(properties.keys())
        .any(|(field, name)| field.ident != *name && field.ident.to_lower_camel_case() == *name);
    for (field, name) in fields.iter_mut().zip(properties.keys()) {
        let is_usual = if has_camel {
            field.ident.to_lower_camel_case() == *name
        } else {
            field.ident == *name
        };
        if is_usual {
            continue;
        }
        let rename = Meta::text("rename", name);
        match field.attributes.first_mut() {
            Some(Attribute::Meta(Meta::List(list, items))) if list == "serde" => {
                items.insert(0, rename);
            }
            _ => field.attributes.insert(0, serde(rename)),
        }
    }
    has_camel
}
