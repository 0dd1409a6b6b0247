//! Lowers the kind itself: its spec, its status, and its attributes.

use serde_json::{Value, json};

use super::{
    Lower,
    attributes::{extend, rules},
};
use crate::{
    crd::{
        docs::{is_doc, take_doc},
        model::{Item, Root, Shape},
        names::Unique,
        read::Subresources,
        schema::{self, OF_EVERY_KIND, OPEN, Schema, object},
    },
    rust::{Attribute, RustType},
};

impl Lower<'_> {
    /// Lowers the kind itself. Returns it with the schema that kube generates.
    pub(super) fn root(&mut self, of_crd: Schema, subresources: &Subresources) -> (Root, Value) {
        let mut schema = schema::supported(of_crd);
        let mut fields = schema::properties(&mut schema);
        for name in OF_EVERY_KIND {
            fields.remove(name);
        }
        let mut status = fields.remove("status");
        if status.is_none() && subresources.status.is_some() {
            let mut added = json!({"type": "object"});
            // An open kind keeps all fields of a status that its schema lacks.
            if schema.contains_key(OPEN) {
                added[OPEN] = true.into();
            }
            status = Some(added);
        }
        let no_spec = fields.keys().ne(["spec"]);
        let mut spec = if no_spec {
            let required: Vec<_> = schema::texts(schema.get("required"))
                .filter(|name| fields.contains_key(*name))
                .collect();
            object(json!({"type": "object", "required": required, "properties": fields}))
        } else {
            object(fields.remove("spec").unwrap_or_default())
        };
        if no_spec {
            // Fields of the object that kube adds.
            let taken = ["api_version", "kind", "metadata", "status"];
            self.reserved = Unique::new(taken.map(str::to_owned));
            if schema.contains_key(OPEN) {
                spec.insert(OPEN.to_owned(), true.into());
            }
        }
        let mut root = Root {
            no_spec,
            ..Root::default()
        };
        let mut generated_spec = self.own_type(format!("{}Spec", self.kind), spec, &[]);
        let mut generated = object(json!({"type": "object"}));
        let mut properties = Schema::new();
        if no_spec {
            properties = schema::properties(&mut generated_spec);
            for keyword in ["required", OPEN] {
                generated.extend(generated_spec.remove_entry(keyword));
            }
        } else {
            properties.insert("spec".to_owned(), generated_spec.into());
            generated.insert("required".to_owned(), json!(["spec"]));
        }
        if let Some(status) = status {
            let name = format!("{}Status", self.kind);
            let path = ["status".to_owned()];
            let mut generated_status = self.own_type(name.clone(), object(status), &path);
            schema::in_option(&mut generated_status);
            if subresources.status.is_none() {
                self.mark_without_subresource(&name);
            } else if generated_status.contains_key("type") {
                generated_status.insert("nullable".to_owned(), true.into());
            }
            properties.insert("status".to_owned(), generated_status.into());
            root.status = Some(name);
        }
        if !properties.is_empty() {
            generated.insert("properties".to_owned(), properties.into());
        }
        if let Some(Value::String(text)) = schema.get("description") {
            // kube takes the description from a doc comment only. If the whole text cannot be a doc
            // comment, keep the first paragraph, or nothing.
            let paragraph = text.split("\n\n").next().unwrap_or(text).trim();
            if let Some(doc) = [text, paragraph].into_iter().find(|text| is_doc(text)) {
                doc.clone_into(&mut root.doc);
                generated.insert("description".to_owned(), doc.into());
            }
        }
        if let Some(validations) = schema.get("x-kubernetes-validations")
            && let Some(rules) = rules(validations)
        {
            root.rules = rules;
            generated.insert("x-kubernetes-validations".to_owned(), validations.clone());
        }
        (root, generated.into())
    }

    /// Adds the type of the spec or the status, and returns the schema that kube generates for it. The attributes of
    /// the type hold its whole schema, because no field of a generated type refers to it.
    fn own_type(&mut self, name: String, of_crd: Schema, path: &[String]) -> Schema {
        let schema = schema::supported(of_crd);
        let is_struct = schema.get("type").is_none_or(|name| name == "object")
            && !schema.contains_key("x-kubernetes-int-or-string")
            && (schema.contains_key("properties")
                || !schema.contains_key(OPEN) && !schema.contains_key("additionalProperties"));
        if is_struct {
            self.structure(name, schema, path).generated
        } else {
            self.newtype(name, schema)
        }
    }

    /// Makes the runtime remove what kube adds for the status with the type `name`: the subresource and `nullable`.
    fn mark_without_subresource(&mut self, name: &str) {
        let mut types = self.slots.iter_mut().flatten();
        if let Some(status) = types.find(|item| item.name == name) {
            let attribute = "schemars(transform = kube_manager::schema::without_subresource)";
            let attribute = Attribute::Verbatim(attribute.to_owned());
            status.attributes.push(attribute);
        }
    }

    /// Adds a newtype around `serde_json::Value`.
    fn newtype(&mut self, name: String, of_crd: Schema) -> Schema {
        let mut schema = object(schema::all_supported(of_crd.into()));
        let doc = take_doc(&mut schema);
        self.slots.push(Some(Item {
            name,
            doc: doc.clone(),
            attributes: extend(&schema).into_iter().collect(),
            is_default: true,
            is_kube: false,
            shape: Shape::Newtype(RustType::Value),
        }));
        schema.extend(doc.map(|doc| ("description".to_owned(), doc.into())));
        schema
    }
}
