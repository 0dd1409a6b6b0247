//! Lowers the kind itself: its spec, its status, and its attributes.

use serde_json::{Value, json};

use super::{
    Lower,
    attributes::{extend, rules},
    object, take_doc,
    types::Type,
};
use crate::crd::{
    docs::is_doc,
    model::{Import, Item, Root, Shape},
    schema::{self, Schema},
};

impl Lower<'_> {
    /// Lowers the kind itself. Returns it with the schema that kube generates.
    pub(super) fn root(&mut self, given: Schema, has_status: bool) -> (Root, Value) {
        let mut schema = schema::kept(given);
        let mut fields = object(schema.remove("properties").unwrap_or_default());
        let meta = ["apiVersion", "kind", "metadata"];
        fields.retain(|name, _| !meta.contains(&name.as_str()));
        let status = fields.remove("status");
        let status = status.or_else(|| has_status.then(|| json!({"type": "object"})));
        let no_spec = fields.keys().ne(["spec"]);
        let mut spec = match fields.remove("spec") {
            Some(spec) if !no_spec => object(spec),
            spec => {
                fields.extend(spec.map(|spec| ("spec".to_owned(), spec)));
                let names = schema.get("required").and_then(Value::as_array);
                let names = names.into_iter().flatten();
                let names =
                    names.filter(|it| it.as_str().is_some_and(|it| fields.contains_key(it)));
                let required: Vec<_> = names.cloned().collect();
                let mut spec = object(json!({"type": "object", "required": required}));
                spec.insert("properties".to_owned(), fields.into());
                spec
            }
        };
        if schema.get("x-kubernetes-preserve-unknown-fields").is_some() && no_spec {
            spec.insert(
                "x-kubernetes-preserve-unknown-fields".to_owned(),
                true.into(),
            );
        }
        let name = format!("{}Spec", self.kind);
        let (_, mut spec) = self.own_type(&name, spec, true);
        let mut root = Root {
            spec: name,
            no_spec,
            ..Root::default()
        };
        let mut written = object(json!({"type": "object"}));
        let mut properties = Schema::new();
        if no_spec {
            properties = object(spec.remove("properties").unwrap_or_default());
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
            let (_, mut status) = self.own_type(&name, object(status), false);
            status.insert("nullable".to_owned(), true.into());
            properties.insert("status".to_owned(), status.into());
            root.status = Some(name);
        }
        if !properties.is_empty() {
            written.insert("properties".to_owned(), properties.into());
        }
        written.insert("title".to_owned(), self.kind.into());
        if let Some(Value::String(text)) = schema.get("description") {
            // kube takes the description from a doc comment only. If the whole text cannot be a doc
            // comment, keep the first paragraph, or nothing.
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

    /// The type of the spec or the status. The attributes of the type hold its whole schema,
    /// because no field of a generated type refers to it.
    fn own_type(&mut self, name: &str, schema: Schema, is_spec: bool) -> (String, Schema) {
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
            self.structure(name.to_owned(), schema, &path)
        } else {
            self.newtype(name.to_owned(), schema)
        };
        (ty.rust, ty.written)
    }

    /// A newtype around `serde_json::Value`.
    fn newtype(&mut self, name: String, schema: Schema) -> Type {
        let mut schema = object(schema::all_kept(schema.into()));
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
}
