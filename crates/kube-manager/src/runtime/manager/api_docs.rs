//! The reference of the API in Markdown, from the `CustomResourceDefinitions`.

use std::{fmt::Write as _, fs, path::Path};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::Manager;

impl Manager {
    /// Writes a reference of all kinds to the file `out`, in Markdown: for each version, a table with one line for each
    /// field.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn write_api_docs(&self, out: &Path) -> Result<()> {
        let crds = self.crds.iter().map(|crd| json!(crd.definition));
        if let Some(folder) = out.parent() {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        fs::write(out, markdown(&crds.collect::<Vec<_>>()))
            .with_context(|| out.display().to_string())
    }
}

/// The reference of these `CustomResourceDefinitions`.
fn markdown(crds: &[Value]) -> String {
    let mut text =
        "# API reference\n\n`make api-docs` writes this file from the Rust types.\n\n".to_owned();
    let mut sections = Vec::new();
    for crd in crds {
        let spec = &crd["spec"];
        for version in spec["versions"].as_array().into_iter().flatten() {
            let title = format!(
                "{} ({}/{})",
                name(&spec["names"]["kind"]),
                name(&spec["group"]),
                name(&version["name"])
            );
            let id = anchor(&title);
            let _ = writeln!(text, "- [{title}](#{id})");
            sections.push(section(&title, &id, spec, version));
        }
    }
    text + "\n" + &sections.join("\n")
}

fn name(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The name of a place in the page.
fn anchor(title: &str) -> String {
    let characters = title.chars().map(|char| match char {
        char if char.is_ascii_alphanumeric() => char.to_ascii_lowercase(),
        _ => '-',
    });
    characters.collect::<String>().trim_matches('-').to_owned()
}

/// A version of a kind.
fn section(title: &str, id: &str, spec: &Value, version: &Value) -> String {
    let schema = &version["schema"]["openAPIV3Schema"];
    let mut stages = Vec::new();
    for (field, stage) in [("storage", "stored"), ("deprecated", "deprecated")] {
        if version[field] == true {
            stages.push(stage);
        }
    }
    if version["served"] != true {
        stages.push("not served");
    }
    let stages = stages.iter().map(|stage| format!(", {stage}"));
    let mut text = format!(
        "<a id=\"{id}\"></a>\n## {title}\n\n{}\n\n`{}.{}`, {}{}\n",
        prose(name(&schema["description"])),
        name(&spec["names"]["plural"]),
        name(&spec["group"]),
        if spec["scope"] == "Cluster" {
            "cluster-scoped"
        } else {
            "namespaced"
        },
        stages.collect::<String>(),
    );
    for part in ["spec", "status"] {
        table(&mut text, id, part, &schema["properties"][part]);
    }
    // The fields of a kind without a spec are fields of the object itself.
    if schema["properties"]["spec"].is_null() {
        table(&mut text, id, "", schema);
    }
    text
}

/// The object whose fields a schema describes: its own, or those of the items of a list or a map.
fn object(schema: &Value) -> Option<&Value> {
    if schema["properties"].is_object() {
        return Some(schema);
    }
    let items = ["items", "additionalProperties"];
    items
        .into_iter()
        .find_map(|field| object(schema.get(field)?))
}

/// A table of the fields of the object at `path`, and the tables of the objects in it.
fn table(text: &mut String, id: &str, path: &str, schema: &Value) {
    let Some(schema) = object(schema) else { return };
    let title = if path.is_empty() { "fields" } else { path };
    let _ = write!(
        text,
        "\n<a id=\"{id}-{}\"></a>\n### `{title}`\n\n| field | type | description |\n|---|---|---|\n",
        anchor(path)
    );
    let mut below = Vec::new();
    let required = schema["required"].as_array();
    for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
        if path.is_empty() && ["apiVersion", "kind", "metadata", "status"].contains(&field.as_str())
        {
            continue;
        }
        let place = format!("{path}.{field}").trim_start_matches('.').to_owned();
        let mut type_ = type_of(schema);
        if object(schema).is_some() {
            type_ = format!("[{type_}](#{id}-{})", anchor(&place));
            below.push((place, schema));
        }
        let is_required = required.is_some_and(|names| names.contains(&json!(field)));
        let mut details = vec![prose(name(&schema["description"]))];
        if is_required {
            details.push("Required.".to_owned());
        }
        details.extend(bounds(schema));
        details.retain(|detail| !detail.is_empty());
        let _ = writeln!(
            text,
            "| {} | {type_} | {} |",
            code(field),
            details.join("<br>")
        );
    }
    for (place, schema) in below {
        table(text, id, &place, schema);
    }
}

fn type_of(schema: &Value) -> String {
    if schema["x-kubernetes-int-or-string"] == true {
        return "integer or string".to_owned();
    }
    let format = name(&schema["format"]);
    match name(&schema["type"]) {
        "array" => format!("list of {}", type_of(&schema["items"])),
        "object" if schema["additionalProperties"].is_object() => {
            format!("map of {}", type_of(&schema["additionalProperties"]))
        }
        "" => "any".to_owned(),
        type_ if format.is_empty() => type_.to_owned(),
        type_ => format!("{type_} ({format})"),
    }
}

/// What a schema says besides type and description: default, values, bounds and rules, also of the items of a list and
/// the values of a map.
fn bounds(schema: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    if !schema["default"].is_null() {
        lines.push(format!(
            "Default: {}.",
            code(&schema["default"].to_string())
        ));
    }
    if let Some(values) = schema["enum"].as_array() {
        let values = values.iter().map(|value| code(&value.to_string()));
        lines.push(format!("One of {}.", values.collect::<Vec<_>>().join(", ")));
    }
    let is_exclusive = |field: &str| schema[field] == true;
    for (field, what) in [
        (
            "minimum",
            if is_exclusive("exclusiveMinimum") {
                "More than"
            } else {
                "At least"
            },
        ),
        (
            "maximum",
            if is_exclusive("exclusiveMaximum") {
                "Less than"
            } else {
                "At most"
            },
        ),
        ("multipleOf", "A multiple of"),
        ("minLength", "Shortest length:"),
        ("maxLength", "Longest length:"),
        ("minItems", "Fewest items:"),
        ("maxItems", "Most items:"),
        ("minProperties", "Fewest entries:"),
        ("maxProperties", "Most entries:"),
        ("pattern", "Pattern:"),
    ] {
        match &schema[field] {
            Value::Null => {}
            Value::String(text) => lines.push(format!("{what} {}.", code(text))),
            value => lines.push(format!("{what} {value}.")),
        }
    }
    for rule in schema["x-kubernetes-validations"]
        .as_array()
        .into_iter()
        .flatten()
    {
        lines.push(match name(&rule["message"]).trim_end_matches('.') {
            "" => format!("Rule: {}.", code(name(&rule["rule"]))),
            message => format!("Rule: {}.", prose(message)),
        });
    }
    for (field, what) in [
        ("items", "Each item"),
        ("additionalProperties", "Each value"),
    ] {
        let of_each = schema.get(field).map(bounds).unwrap_or_default();
        lines.extend(of_each.iter().map(|line| format!("{what}: {line}")));
    }
    lines
}

/// A description in Markdown, in one line, because a cell of a table has one. As in Markdown, the lines of a paragraph are
/// joined.
fn prose(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let (mut is_code, mut is_paragraph) = (false, false);
    for line in text.lines() {
        let words = line.trim();
        if words.starts_with("```") {
            is_code = !is_code;
            is_paragraph = false;
        } else if is_code && !words.is_empty() {
            let indent = line.len() - line.trim_start().len();
            lines.push("&nbsp;".repeat(indent) + &code(words));
        } else if is_paragraph
            && !words.is_empty()
            && !is_item(words)
            && let Some(last) = lines.last_mut()
        {
            *last += " ";
            *last += &escaped(words);
        } else {
            is_paragraph = !is_code && !words.is_empty();
            lines.push(escaped(words));
        }
    }
    lines.join("<br>")
}

/// Whether a line begins an item of a list.
fn is_item(line: &str) -> bool {
    let Some((mark, _)) = line.split_once(' ') else {
        return false;
    };
    let number = mark.trim_end_matches(['.', ')']);
    ["-", "*", "+"].contains(&mark) || number.len() < mark.len() && number.parse::<u32>().is_ok()
}

/// A line of a description, without HTML and columns. The text between backticks has no HTML.
fn escaped(line: &str) -> String {
    let parts: Vec<&str> = line.split('`').collect();
    let last = parts.len() - 1;
    let parts = parts.iter().enumerate().map(|(index, part)| {
        let is_code = index % 2 == 1 && index < last;
        if is_code {
            (*part).to_owned()
        } else {
            part.replace('<', "&lt;")
        }
    });
    parts.collect::<Vec<_>>().join("`").replace('|', "\\|")
}

/// A text between backticks, in one line.
fn code(text: &str) -> String {
    let line = text.replace('\n', " ").replace('|', "\\|");
    if line.contains('`') {
        format!("`` {line} ``")
    } else {
        format!("`{line}`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_has_a_line_for_each_field_of_each_version() {
        let version = |name: &str, is_stored: bool| {
            json!({
                "name": name, "served": true, "storage": is_stored,
                "schema": {"openAPIV3Schema": {
                    "description": "A shop.",
                    "properties": {
                        "spec": {
                            "required": ["size"],
                            "properties": {
                                "size": {"type": "integer", "format": "int32", "minimum": 1, "default": 3,
                                    "description": "How many\nbooks | pages.\n\n- a `Vec<u8>`\n- <b>\n```yaml\na:\n  b: <c>\n```\nMore."},
                                "tags": {"type": "object", "additionalProperties": {"type": "string", "enum": ["a", "b"]}},
                                "weights": {"type": "array", "items": {"type": "array", "items": {"type": "number",
                                    "minimum": 0, "exclusiveMinimum": true, "maximum": 1, "exclusiveMaximum": true, "multipleOf": 0.1}}},
                                "steps": {"type": "array", "maxItems": 5, "items": {
                                    "type": "object", "minProperties": 1, "maxProperties": 2, "properties": {"from": {"type": "string", "pattern": "^a|<b`$",
                                        "x-kubernetes-validations": [{"rule": "self !=\n'a'"}, {"rule": "true", "message": "is good."}]}},
                                }},
                            },
                        },
                        "status": {"properties": {"ready": {"type": "boolean"}}},
                    },
                }},
            })
        };
        let crd = json!({"spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"kind": "Shop", "plural": "shops"},
            "versions": [version("v1", true), version("v1beta1", false)],
        }});
        let text = markdown(&[crd]);
        for line in [
            "- [Shop (example.com/v1)](#shop--example-com-v1)",
            "- [Shop (example.com/v1beta1)](#shop--example-com-v1beta1)",
            "<a id=\"shop--example-com-v1\"></a>",
            "`shops.example.com`, namespaced, stored",
            "### `spec`",
            "| `size` | integer (int32) | How many books \\| pages.<br><br>- a `Vec<u8>`<br>- &lt;b><br>`a:`<br>&nbsp;&nbsp;`b: <c>`<br>More.<br>Required.<br>Default: `3`.<br>At least 1. |",
            "| `tags` | map of string | Each value: One of `\"a\"`, `\"b\"`. |",
            "| `weights` | list of list of number | Each item: Each item: More than 0.<br>Each item: Each item: Less than 1.<br>Each item: Each item: A multiple of 0.1. |",
            "| `steps` | [list of object](#shop--example-com-v1-spec-steps) | Most items: 5.<br>Each item: Fewest entries: 1.<br>Each item: Most entries: 2. |",
            "<a id=\"shop--example-com-v1-spec-steps\"></a>",
            "| `from` | string | Pattern: `` ^a\\|<b`$ ``.<br>Rule: `self != 'a'`.<br>Rule: is good. |",
            "| `ready` | boolean |  |",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
    }
}
