//! Enums, which schemars writes as `oneOf` and `anyOf`. kube turns some of them into schemas of Kubernetes; the others
//! are turned here.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{
    cel, integer,
    keys::{
        ALLOWED, INT_OR_STRING, OPEN, Object, RULES, add_rules, fields, list, refuse_null, texts,
    },
    mark,
};

/// The keys of schemas of which a value fits one, or at least one.
const UNIONS: [&str; 2] = ["oneOf", "anyOf"];

/// Rewrites the unions of `schema`: that of an enum, and those of flattened enums.
///
/// `rewrite_schema` rewrites the schema of a variant.
pub fn rewrite(schema: &mut Object, rewrite_schema: fn(&mut Object)) {
    let own: BTreeSet<String> = fields(schema)
        .into_iter()
        .flat_map(Map::keys)
        .cloned()
        .collect();
    // serde flattens several enums into one object: each is a union of its own.
    if let Some(Value::Array(parts)) = schema.remove("allOf") {
        let mut others = Vec::new();
        for part in parts {
            match Union::of_part(&part, rewrite_schema) {
                Some(union) => union.join_flattened(schema, &own, &mut others),
                None => others.push(part),
            }
        }
        if !others.is_empty() {
            schema.insert("allOf".to_owned(), Value::Array(others));
        }
    }
    for key in UNIONS {
        if let Some(Value::Array(variants)) = schema.remove(key) {
            Union::new(key, variants, rewrite_schema).join(schema, &own);
        }
    }
}

/// The variants of an enum.
struct Union {
    /// `oneOf` or `anyOf`.
    key: &'static str,
    /// The schemas of the variants, which are rewritten.
    variants: Vec<Object>,
    /// Whether the value may be null.
    nullable: bool,
    /// Whether the object may have no variant: an optional flattened enum.
    optional: bool,
}

impl Union {
    fn new(key: &'static str, variants: Vec<Value>, rewrite_schema: fn(&mut Object)) -> Self {
        let mut union = Self {
            key,
            variants: Vec::new(),
            nullable: false,
            optional: false,
        };
        for variant in variants {
            match variant {
                Value::Object(variant) if variant.is_empty() => union.optional = true,
                Value::Object(variant) if is_null(&variant) => union.nullable = true,
                Value::Object(variant) => union.variants.push(variant),
                // A variant that takes any value.
                _ => union.variants.push(Object::new()),
            }
        }
        // An optional enum is a union in a union.
        if let [only] = union.variants.as_mut_slice()
            && let Some(inner) = UNIONS.into_iter().find(|key| only.contains_key(*key))
            && only.len() == 1
            && let Some(Value::Array(variants)) = only.remove(inner)
        {
            let inner = Self::new(inner, variants, rewrite_schema);
            return Self {
                nullable: inner.nullable || union.nullable,
                optional: inner.optional || union.optional,
                ..inner
            };
        }
        union.variants.iter_mut().for_each(rewrite_schema);
        union
    }

    /// The union that is `part` of an `allOf`.
    fn of_part(part: &Value, rewrite_schema: fn(&mut Object)) -> Option<Self> {
        let part = part.as_object().filter(|part| part.len() == 1)?;
        let key = UNIONS.into_iter().find(|key| part.contains_key(*key))?;
        let variants = part[key].as_array()?.clone();
        Some(Self::new(key, variants, rewrite_schema))
    }

    /// Adds the union to the schema whose only union it is. The schema has the fields `own` beside the union.
    fn join(self, schema: &mut Object, own: &BTreeSet<String>) {
        if let Err(reason) = self.try_join(schema, own) {
            mark::refuse(schema, reason);
        }
    }

    fn try_join(mut self, schema: &mut Object, own: &BTreeSet<String>) -> Result<(), String> {
        let nullable = self.nullable;
        match self.content(schema)? {
            Content::Tagged(tag) => self.merge(&tag, schema)?,
            Content::Scalars => self.join_scalars(schema)?,
            Content::Objects => {
                self.prepare_fields(schema, own)?;
                self.keep(schema);
                return Ok(());
            }
            Content::OfKube => {
                self.keep(schema);
                return Ok(());
            }
        }
        if nullable {
            schema.insert("nullable".to_owned(), json!(true));
        }
        Ok(())
    }

    /// Adds the union of a flattened enum that is not the only one. `others` gets what is left for `allOf`.
    fn join_flattened(
        mut self,
        schema: &mut Object,
        own: &BTreeSet<String>,
        others: &mut Vec<Value>,
    ) {
        let joined = match self.content(schema) {
            Ok(Content::Tagged(tag)) => self.merge(&tag, schema),
            Ok(Content::Objects) => self
                .prepare_fields(schema, own)
                .map(|()| others.push(self.hoist(schema))),
            // This union was joined before.
            Ok(Content::OfKube) => {
                others.push(self.hoist(schema));
                Ok(())
            }
            Ok(Content::Scalars) => Err(mark::UNIT.to_owned()),
            Err(reason) => Err(reason),
        };
        if let Err(reason) = joined {
            mark::refuse(schema, reason);
        }
    }

    /// Puts the union back, for kube.
    fn keep(self, schema: &mut Object) {
        let mut variants: Vec<Value> = self.variants.into_iter().map(Value::Object).collect();
        let mut key = self.key;
        if self.optional {
            if key == "oneOf" {
                variants = vec![json!({key: variants})];
            }
            key = "anyOf";
            variants.push(json!({}));
        }
        if self.nullable {
            // kube knows an optional value by these two variants.
            if variants.len() > 1 {
                variants = vec![json!({key: variants})];
            }
            key = "anyOf";
            variants.push(json!({"type": "null"}));
        }
        schema.insert(key.to_owned(), Value::Array(variants));
    }

    /// Moves the fields of the variants to `schema`, and returns which of them a variant needs.
    fn hoist(self, schema: &mut Object) -> Value {
        let mut needed = Vec::new();
        for mut variant in self.variants {
            if let Some(Value::Object(fields)) = variant.remove("properties") {
                let mut all = object(schema.remove("properties"));
                for (name, field) in fields {
                    all.entry(name).or_insert(field);
                }
                schema.insert("properties".to_owned(), Value::Object(all));
            }
            let required = variant.remove("required").unwrap_or_else(|| json!([]));
            needed.push(json!({"required": required}));
        }
        if self.optional {
            needed.push(json!({}));
            return json!({"anyOf": needed});
        }
        json!({self.key: needed})
    }

    /// What the variants have in common. They are the variants of `schema`, or of an enum that is flattened into it.
    fn content(&self, schema: &Object) -> Result<Content, String> {
        let has_fields = self
            .variants
            .iter()
            .any(|variant| fields(variant).is_some());
        // In an open object, the API server keeps the keys of a map.
        if has_fields && is_map(schema) && !mark::is_open(schema) {
            return Err(MAP_BESIDE.to_owned());
        }
        if let Some(tag) = self.tag() {
            return Ok(Content::Tagged(tag));
        }
        if let Some(reason) = self.variants.iter().find_map(mark::reason) {
            return Err(reason.to_owned());
        }
        let types: BTreeSet<&str> = self.variants.iter().map(type_of).collect();
        let types: Vec<&str> = types.into_iter().collect();
        let is_texts_of_kube = self.key == "oneOf" && types == ["string"];
        let is_optional_value = self.variants.len() == 1 && self.nullable;
        let has_map = self.variants.iter().any(is_map);
        match types.as_slice() {
            ["object"] if has_map => Err(MAP_AS_VARIANT.to_owned()),
            // The texts of an enum without data, or one value that may be null.
            _ if is_texts_of_kube || is_optional_value => Ok(Content::OfKube),
            ["object"] => Ok(Content::Objects),
            _ if self.variants.len() == 1 => Ok(Content::OfKube),
            ["object", "string"] if self.key == "oneOf" => Err(mark::MIXED_VARIANTS.to_owned()),
            ["boolean"]
            | ["integer"]
            | ["number"]
            | ["string"]
            | ["integer", "number"]
            | ["integer", "string"]
            | ["int-or-string", ..] => Ok(Content::Scalars),
            // A union of what a schema elsewhere describes, such as `required` alone.
            [""] => Ok(Content::OfKube),
            _ => Err(mark::MIXED_TYPES.to_owned()),
        }
    }

    /// The field that tells the variants apart: a text that is different in each variant.
    fn tag(&self) -> Option<String> {
        let first = fields(self.variants.first()?)?;
        first.keys().find(|name| self.is_tag(name)).cloned()
    }

    fn is_tag(&self, name: &str) -> bool {
        let values = self
            .variants
            .iter()
            .map(|variant| value_of_tag(variant, name));
        let Some(values) = values.collect::<Option<BTreeSet<&str>>>() else {
            return false;
        };
        values.len() == self.variants.len()
    }

    /// Makes fields equal that differ only in their description, and removes the defaults of fields, which the API
    /// server would write into the objects of the other variants.
    fn prepare_fields(&mut self, schema: &Object, own: &BTreeSet<String>) -> Result<(), String> {
        let beside = fields(schema).into_iter().flatten();
        let mut known: BTreeMap<String, (String, Value)> = beside
            .map(|(name, field)| (name.clone(), (BESIDE.to_owned(), field.clone())))
            .collect();
        // Each variant of the others has one field, which it requires, and which may be optional in Rust.
        if self.key == "anyOf" {
            self.refuse_nulls();
        }
        for (index, variant) in self.variants.iter_mut().enumerate() {
            let place = format!("variant {}", index + 1);
            if self.key == "anyOf" {
                variant.remove("description");
                variant.remove("title");
            }
            let Some(Value::Object(fields)) = variant.get_mut("properties") else {
                continue;
            };
            for (name, field) in fields {
                if let Some(field) = field.as_object_mut() {
                    field.remove("default");
                }
                match known.get(name) {
                    Some(_) if own.contains(name) => return Err(is_taken(name, &place)),
                    Some((_, other)) if is_same(other, field) => *field = other.clone(),
                    Some(_) if field.get("const").is_some() => return Err(partly_tagged(name)),
                    Some((other, _)) => return Err(differs(name, [other, &place])),
                    None => {
                        known.insert(name.clone(), (place.clone(), field.clone()));
                    }
                }
            }
        }
        Ok(())
    }

    /// Makes the fields that are integers or texts take no null, but for those that are optional in a variant.
    fn refuse_nulls(&mut self) {
        let mut refusing = BTreeMap::new();
        for variant in &self.variants {
            let required = names(variant);
            for (name, field) in fields(variant).into_iter().flatten() {
                let is_refusing = required.contains(name) || field["nullable"] == false;
                *refusing.entry(name.clone()).or_insert(true) &= is_refusing;
            }
        }
        for variant in &mut self.variants {
            let fields = variant.get_mut("properties").and_then(Value::as_object_mut);
            for (name, field) in fields.into_iter().flatten() {
                if refusing[name] {
                    refuse_null(field);
                } else if field["nullable"] == false
                    && let Some(field) = field.as_object_mut()
                {
                    field.remove("nullable");
                }
            }
        }
    }

    /// Joins variants that are not objects.
    fn join_scalars(self, schema: &mut Object) -> Result<(), String> {
        let types: BTreeSet<&str> = self.variants.iter().map(type_of).collect();
        let types: Vec<&str> = types.into_iter().collect();
        let texts_or_integers = ["int-or-string", "integer", "string"];
        match types.as_slice() {
            // Each integer is a number.
            ["integer", "number"] => schema.insert("type".to_owned(), json!("number")),
            [name] if *name != "int-or-string" => schema.insert("type".to_owned(), json!(name)),
            _ if types.iter().all(|name| texts_or_integers.contains(name)) => {
                schema.insert(INT_OR_STRING.to_owned(), json!(true))
            }
            _ => return Err(mark::MIXED_TYPES.to_owned()),
        };
        let all = self.variants.iter();
        let numbers = all.filter(|variant| matches!(type_of(variant), "integer" | "number"));
        let numbers: Vec<&Object> = numbers.collect();
        // A bound of all numbers is a bound of the union.
        for (key, is_lower) in [("minimum", true), ("maximum", false)] {
            let bounds = numbers.iter().map(|number| integer::bound(number, key));
            let Some(bounds) = bounds.collect::<Option<Vec<Value>>>() else {
                continue;
            };
            let outermost = bounds.into_iter().reduce(|one, other| {
                let is_outer = (one.as_f64() <= other.as_f64()) == is_lower;
                if is_outer { one } else { other }
            });
            schema.extend(outermost.map(|bound| (key.to_owned(), bound)));
        }
        let of_text = self
            .variants
            .iter()
            .filter(|variant| type_of(variant) == "string");
        let of_text: Vec<&Object> = of_text.collect();
        if types.contains(&"int-or-string") {
            return Ok(());
        }
        // The checks of a text do not affect numbers. Those of several kinds of texts would all have to hold.
        if let [text] = of_text.as_slice() {
            for key in ["pattern", "minLength", "maxLength", "format"] {
                schema.extend(text.get(key).map(|value| (key.to_owned(), value.clone())));
            }
        }
        let values: BTreeSet<&str> = of_text
            .iter()
            .flat_map(|text| texts(text, "enum"))
            .collect();
        if values.is_empty() || !of_text.iter().all(|text| text.contains_key("enum")) {
            return Ok(());
        }
        // An API server takes no null for an enum.
        if types == ["string"] && !self.nullable {
            schema.insert("enum".to_owned(), json!(values));
        } else {
            let values: Vec<String> = values.into_iter().map(literal).collect();
            let pattern = format!("^({})$", values.join("|"));
            schema.insert("pattern".to_owned(), json!(pattern));
        }
        Ok(())
    }

    /// Makes one object of the variants, which `tag` tells apart.
    fn merge(mut self, tag: &str, schema: &mut Object) -> Result<(), String> {
        self.refuse_nulls();
        let mut merged = Merged::new(tag, self.optional)?;
        let content = self.content_field(tag);
        for variant in self.variants {
            merged.add(variant, content.as_deref())?;
        }
        merged.join(schema, content.as_deref())
    }

    /// The one field beside the tag of an adjacently tagged enum, if the contents of its variants differ.
    fn content_field(&self, tag: &str) -> Option<String> {
        let mut contents: Vec<(&String, &Value)> = Vec::new();
        for variant in &self.variants {
            let mut others = fields(variant)?.iter().filter(|(name, _)| *name != tag);
            contents.extend(others.next());
            if others.next().is_some() {
                return None;
            }
        }
        let (name, first) = contents.first()?;
        let is_one_field = contents.iter().all(|(other, _)| other == name);
        let are_equal = contents.iter().all(|(_, content)| is_same(content, first));
        let are_objects = contents
            .iter()
            .all(|(_, content)| content["type"] == "object");
        (is_one_field && are_objects && !are_equal).then(|| (*name).clone())
    }
}

/// What the variants of an enum have in common.
enum Content {
    /// They are objects that the value of this field tells apart.
    Tagged(String),
    /// They are objects.
    Objects,
    /// They are numbers, texts or bools.
    Scalars,
    /// kube knows what to do.
    OfKube,
}

/// One object with the fields of all variants of a tagged enum.
struct Merged<'a> {
    tag: &'a str,
    /// The tag in a rule.
    tag_in_rule: String,
    /// Whether the tag may be missing.
    optional: bool,
    /// The values of the tag, with the descriptions of the variants.
    values: Vec<(String, Option<String>)>,
    fields: Vec<Field>,
    /// The rules of single variants.
    rules: Vec<Value>,
}

/// A field of some variants.
struct Field {
    /// The path of the field: its name, or the names of the content and of the field.
    path: Vec<String>,
    schema: Value,
    /// The values of the tag with which the field may be present.
    allowed: Vec<String>,
    /// The values of the tag with which the field must be present.
    required: Vec<String>,
}

impl<'a> Merged<'a> {
    fn new(tag: &'a str, optional: bool) -> Result<Self, String> {
        let tag_in_rule = cel::field(tag).ok_or_else(|| unreachable(tag))?;
        Ok(Self {
            tag,
            tag_in_rule,
            optional,
            values: Vec::new(),
            fields: Vec::new(),
            rules: Vec::new(),
        })
    }

    /// Adds a variant. `content` is the name of the field whose contents are merged, too.
    fn add(&mut self, mut variant: Object, content: Option<&str>) -> Result<(), String> {
        let value = value_of_tag(&variant, self.tag)
            .unwrap_or_default()
            .to_owned();
        let description = variant.get("description").and_then(Value::as_str);
        self.values
            .push((value.clone(), description.map(str::to_owned)));
        let required = names(&variant);
        let properties = variant.remove("properties");
        let rules: Vec<Value> = list(&variant, RULES).cloned().collect();
        variant.remove(RULES);
        check_variant(&variant, &value)?;
        for (name, field) in object(properties) {
            if name == self.tag {
                continue;
            }
            // For a rule, a field that is null is missing.
            let is_required = required.contains(&name) && !may_be_null(&field);
            if Some(name.as_str()) == content {
                self.add_content(&name, field, &value, is_required)?;
            } else {
                self.add_field(vec![name], field, &value, is_required)?;
            }
        }
        for rule in &rules {
            self.rules.push(self.rule_of_variant(rule, &value));
        }
        Ok(())
    }

    /// Adds the content of a variant: an object, whose fields become fields of the one content.
    fn add_content(
        &mut self,
        name: &str,
        content: Value,
        value: &str,
        is_required: bool,
    ) -> Result<(), String> {
        let mut content = object(Some(content));
        if content.contains_key(RULES) {
            return Err(format!(
                "the content of the variant `{value}` has rules of its own, which would hold for each variant: remove \
                 `content` from the attribute of serde, so that the fields are beside the tag"
            ));
        }
        let required = names(&content);
        let properties = content.remove("properties");
        content.remove("default");
        check_variant(&content, value)?;
        let empty = json!({"type": "object", "properties": {}});
        self.add_field(vec![name.to_owned()], empty, value, is_required)?;
        for (inner, field) in object(properties) {
            let is_required = is_required && required.contains(&inner);
            self.add_field(vec![name.to_owned(), inner], field, value, is_required)?;
        }
        Ok(())
    }

    fn add_field(
        &mut self,
        path: Vec<String>,
        mut schema: Value,
        value: &str,
        is_required: bool,
    ) -> Result<(), String> {
        if let Some(schema) = schema.as_object_mut() {
            schema.remove("default");
        }
        let mut known = self.fields.iter_mut();
        let field = match known.find(|field| field.path == path) {
            Some(field) if is_same(&field.schema, &schema) => field,
            Some(field) => {
                let places = [&field.allowed[0], value].map(|value| format!("variant `{value}`"));
                return Err(differs(&path.join("."), [&places[0], &places[1]]));
            }
            None => {
                self.fields.push(Field {
                    path,
                    schema,
                    allowed: Vec::new(),
                    required: Vec::new(),
                });
                let last = self.fields.len() - 1;
                &mut self.fields[last]
            }
        };
        field.allowed.push(value.to_owned());
        if is_required {
            field.required.push(value.to_owned());
        }
        Ok(())
    }

    /// A rule that holds only for one variant.
    fn rule_of_variant(&self, rule: &Value, value: &str) -> Value {
        let text = rule["rule"].as_str().unwrap_or_default();
        let mut unless = self.is_other("self", &[value]);
        if rule["optionalOldSelf"] == true {
            // The rule holds for a new object, too.
            let was_other = self.is_other("oldSelf.value()", &[value]);
            unless = format!("{unless} || oldSelf.hasValue() && ({was_other})");
        } else if text.contains("oldSelf") {
            unless = format!("{unless} || {}", self.is_other("oldSelf", &[value]));
        }
        let mut limited = rule.clone();
        limited["rule"] = json!(format!("{unless} || ({text})"));
        limited
    }

    /// The condition that the tag of `object` has one of `values`.
    fn is_one_of(&self, object: &str, values: &[&str]) -> String {
        let tag = format!("{object}.{}", self.tag_in_rule);
        let is = match values {
            [value] => format!("{tag} == {}", cel::text(value)),
            _ => format!("{tag} in {}", cel::list(values)),
        };
        if self.optional {
            format!("has({tag}) && {is}")
        } else {
            is
        }
    }

    /// The condition that the tag of `object` has none of `values`.
    fn is_other(&self, object: &str, values: &[&str]) -> String {
        let tag = format!("{object}.{}", self.tag_in_rule);
        let is_not = match values {
            [value] => format!("{tag} != {}", cel::text(value)),
            _ => format!("!({tag} in {})", cel::list(values)),
        };
        if self.optional {
            format!("!has({tag}) || {is_not}")
        } else {
            is_not
        }
    }

    /// Whether `values` are those of each object.
    fn is_all(&self, values: &[String]) -> bool {
        !self.optional && values.len() == self.values.len()
    }

    /// The rules for the presence of `field`.
    fn rules_of(&self, field: &Field) -> Result<Vec<Value>, String> {
        let mut reached = "self".to_owned();
        let mut present = Vec::new();
        for name in &field.path {
            let escaped = cel::field(name).ok_or_else(|| unreachable(name))?;
            reached = format!("{reached}.{escaped}");
            present.push(format!("has({reached})"));
        }
        let name = field.path.join(".");
        let mut rules = Vec::new();
        if !field.required.is_empty() && !self.is_all(&field.required) {
            let required: Vec<&str> = field.required.iter().map(String::as_str).collect();
            rules.push(json!({
                "rule": format!("{} || {}", self.is_other("self", &required), present.join(" && ")),
                "message": format!("{name} is required when {} is {}", self.tag, or(&required)),
            }));
        }
        if !self.is_all(&field.allowed) {
            let allowed: Vec<&str> = field.allowed.iter().map(String::as_str).collect();
            let absent: Vec<String> = present.iter().map(|has| format!("!{has}")).collect();
            rules.push(json!({
                "rule": format!("{} || {}", self.is_one_of("self", &allowed), absent.join(" || ")),
                "message": format!("{name} {ALLOWED} {} is {}", self.tag, or(&allowed)),
            }));
        }
        Ok(rules)
    }

    /// Adds the object to `schema`, which may have fields already.
    fn join(mut self, schema: &mut Object, content: Option<&str>) -> Result<(), String> {
        let mut rules = Vec::new();
        for field in &self.fields {
            if fields(schema).is_some_and(|known| known.contains_key(&field.path[0])) {
                let place = format!("variant `{}`", field.allowed[0]);
                return Err(is_taken(&field.path[0], &place));
            }
            rules.extend(self.rules_of(field)?);
        }
        rules.append(&mut self.rules);
        if fields(schema).is_some_and(|known| known.contains_key(self.tag)) {
            return Err(is_taken(self.tag, "the tag of the enum"));
        }
        schema.insert("type".to_owned(), json!("object"));
        let mut tag = json!({"type": "string"});
        tag["enum"] = self.values.iter().map(|(value, _)| json!(value)).collect();
        let described = self.values.iter().filter_map(|(value, description)| {
            let description = description.as_ref()?;
            Some(format!("{value}: {description}"))
        });
        let described: Vec<String> = described.collect();
        if !described.is_empty() {
            tag["description"] = json!(described.join("\n\n"));
        }
        let mut all = object(schema.remove("properties"));
        all.insert(self.tag.to_owned(), tag);
        let (mut required, mut content_required) = (Vec::new(), Vec::new());
        if !self.optional {
            required.push(json!(self.tag));
        }
        for field in &self.fields {
            let (name, needed) = match field.path.as_slice() {
                [content, name] => {
                    all[content]["properties"][name] = field.schema.clone();
                    (name, &mut content_required)
                }
                path => {
                    all.insert(path[0].clone(), field.schema.clone());
                    (&path[0], &mut required)
                }
            };
            if self.is_all(&field.required) {
                needed.push(json!(name));
            }
        }
        if let Some(content) = content
            && !content_required.is_empty()
        {
            all[content]["required"] = Value::Array(content_required);
        }
        schema.insert("properties".to_owned(), Value::Object(all));
        if !required.is_empty() {
            let known = schema.entry("required").or_insert_with(|| json!([]));
            if let Some(known) = known.as_array_mut() {
                known.extend(required);
            }
        }
        schema.remove("additionalProperties");
        schema.remove("unevaluatedProperties");
        add_rules(schema, rules);
        Ok(())
    }
}

/// Refuses a variant that has more than fields, such as the values of a map.
fn check_variant(variant: &Object, value: &str) -> Result<(), String> {
    const KNOWN: [&str; 7] = [
        "additionalProperties",
        "description",
        "required",
        "title",
        "type",
        "unevaluatedProperties",
        "nullable",
    ];
    let has_more = variant.keys().any(|key| !KNOWN.contains(&key.as_str()));
    if is_map(variant) || has_more || variant.contains_key(OPEN) {
        return Err(format!(
            "the variant `{value}` has more than fields of its own, such as a map or another enum: put this into a \
             field of the variant"
        ));
    }
    Ok(())
}

/// Whether an object has keys that are no fields.
fn is_map(schema: &Object) -> bool {
    let mut keys = ["additionalProperties", "unevaluatedProperties"].into_iter();
    keys.any(|key| {
        schema
            .get(key)
            .is_some_and(|values| *values != json!(false))
    })
}

/// What an object says that has the keys of a map and an enum.
const MAP_BESIDE: &str = "a map is flattened beside an enum, so that the API server would drop its keys: make the map a field";

/// What an untagged enum with a map as variant says. kube keeps only the fields of variants.
const MAP_AS_VARIANT: &str = "a variant of the untagged enum is a map or has one flattened, so that the API server would \
                              drop its keys: make the map a field of the variant";

/// The place of a field of the object that an enum is flattened into.
const BESIDE: &str = "the object that has the enum";

/// What a field says that means different things in two places.
fn differs(name: &str, [one, other]: [&str; 2]) -> String {
    format!(
        "the field `{name}` is in {one} and in {other}, with different types: give one of them another name, or make \
         both the same type, or both structs"
    )
}

/// What a tag says that one variant lacks.
fn partly_tagged(name: &str) -> String {
    format!(
        "the tag `{name}` tells variants apart, but another variant has no tag: remove `untagged` from that variant"
    )
}

/// What a field says that the object around a flattened enum has, too: serde gives it to only one of them.
fn is_taken(name: &str, place: &str) -> String {
    format!("the field `{name}` is in {BESIDE} and in {place}: give one of them another name")
}

/// What a field says whose name no rule can write.
fn unreachable(name: &str) -> String {
    format!(
        "no CEL rule can name the field `{name}`: begin it with a letter, and use letters, digits and `_`"
    )
}

/// `a`, `a or b`, or `a, b or c`.
fn or(values: &[&str]) -> String {
    match values {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => values.concat(),
    }
}

/// A pattern that matches `text` alone.
fn literal(text: &str) -> String {
    let mut pattern = String::new();
    for character in text.chars() {
        if r"\.+*?()|[]{}^$".contains(character) {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

fn is_null(variant: &Object) -> bool {
    variant.get("type").is_some_and(|name| *name == "null")
}

/// Whether a value of `schema` may be null.
fn may_be_null(schema: &Value) -> bool {
    let mut parts = schema["anyOf"].as_array().into_iter().flatten();
    let has_null = |part: &Value| {
        part["type"] == "null"
            || part["type"]
                .as_array()
                .is_some_and(|names| names.contains(&json!("null")))
    };
    schema["nullable"] == true || has_null(schema) || parts.any(has_null)
}

/// The type of a variant's values; empty if the schema does not say it.
fn type_of(variant: &Object) -> &str {
    if variant.contains_key(INT_OR_STRING) {
        return "int-or-string";
    }
    match variant.get("type") {
        Some(Value::String(name)) => name,
        // A variant that may be null: no other variant is.
        Some(Value::Array(names)) => names.first().and_then(Value::as_str).unwrap_or_default(),
        _ => "",
    }
}

fn object(value: Option<Value>) -> Object {
    match value {
        Some(Value::Object(object)) => object,
        _ => Object::new(),
    }
}

/// The names of the fields that `schema` requires.
fn names(schema: &Object) -> BTreeSet<String> {
    texts(schema, "required").map(str::to_owned).collect()
}

/// The text that the field `name` must be in `variant`.
fn value_of_tag<'a>(variant: &'a Object, name: &str) -> Option<&'a str> {
    let tag = fields(variant)?.get(name)?;
    if !names(variant).contains(name) {
        return None;
    }
    if let Some(value) = tag.get("const") {
        return value.as_str();
    }
    match tag.get("enum")?.as_array()?.as_slice() {
        [value] => value.as_str(),
        _ => None,
    }
}

/// Whether two schemas are equal but for their descriptions.
fn is_same(one: &Value, other: &Value) -> bool {
    fn bare(schema: &Value) -> Value {
        let mut bare = schema.clone();
        if let Some(bare) = bare.as_object_mut() {
            bare.remove("description");
            bare.remove("title");
            bare.remove("default");
            if bare.get("nullable") == Some(&json!(false)) {
                bare.remove("nullable");
            }
        }
        bare
    }
    bare(one) == bare(other)
}
