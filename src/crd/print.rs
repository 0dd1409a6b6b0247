//! Prints types as Rust code, formatted like rustfmt.
#![expect(
    clippy::format_push_string,
    reason = "`+=` is easier to read than `write!`"
)]

use super::{
    Setting,
    docs::comment,
    layout::{Attribute, LINE, Meta},
    literal,
    lower::Purpose,
    model::{Field, Helper, Item, Lowered, Shape},
    read::{Column, Crd, CrdVersion},
};

/// The text of the types file of a kind that the project defines.
pub(super) fn print(
    crd: &Crd,
    version: &CrdVersion,
    lowered: &Lowered,
    setting: &Setting,
) -> String {
    let head = format!(
        "//! The types of {}. Edit them: `make manifests` turns them into the\n\
         //! manifest of its CustomResourceDefinition.\n\n",
        crd.kind
    );
    let kube = kube(crd, version, lowered, setting);
    let text = head + &types(lowered, &kube, Purpose::Define);
    match setting.sample {
        Some(sample) => text + &test(setting.type_name, sample),
        None => format!("{}\n", text.trim_end()),
    }
}

/// The text of the types file of a kind that another project defines.
pub(super) fn print_for_use(
    crd: &Crd,
    version: &CrdVersion,
    lowered: &Lowered,
    type_name: &str,
) -> String {
    let head = format!(
        "//! The types of {}, which another project defines. They were made from its\n\
         //! CustomResourceDefinition. Edit them: you can delete fields that you do not use.\n\n",
        crd.kind
    );
    let kube = kube_for_use(crd, version, lowered, type_name);
    let text = head + &types(lowered, &kube, Purpose::Use);
    format!("{}\n", text.trim_end())
}

/// The types with their imports, defaults and helpers. `kube` is the attribute of the spec.
fn types(lowered: &Lowered, kube: &str, purpose: Purpose) -> String {
    let mut text = lints();
    text += &imports(lowered, purpose);
    for item in &lowered.items {
        let kube = (item.name == lowered.root.spec).then_some(kube);
        text += &print_item(item, kube, purpose);
        text += "\n";
    }
    for default in &lowered.defaults {
        let head = format!("fn {}() -> {} {{", default.name, default.ty);
        let head = if head.chars().count() > LINE {
            format!("fn {}()\n-> {} {{", default.name, default.ty)
        } else {
            head
        };
        text += &format!("{head}\n    {}\n}}\n\n", default.value);
    }
    for helper in &lowered.helpers {
        text += &print_helper(*helper);
    }
    text
}

/// Allows the lints that descriptions and names from a CRD may trigger.
fn lints() -> String {
    let lints = [
        "clippy::doc_lazy_continuation",
        "clippy::doc_overindented_list_items",
        "clippy::enum_variant_names",
        "clippy::too_long_first_doc_paragraph",
        "rustdoc::all",
    ];
    let lints = lints.map(|lint| format!("    {lint}")).join(",\n");
    format!(
        "// Descriptions and names are copied from the CustomResourceDefinition.\n\
         #![allow(\n{lints}\n)]\n\n"
    )
}

fn imports(lowered: &Lowered, purpose: Purpose) -> String {
    let has_schema = purpose == Purpose::Define;
    let mut paths: Vec<_> = lowered
        .imports
        .iter()
        .map(|it| it.path().to_owned())
        .collect();
    let standard: Vec<_> = paths.extract_if(.., |it| it.starts_with("std::")).collect();
    let mut kube = vec!["CustomResource"];
    if has_schema && lowered.items.iter().any(|it| it.is_kube) {
        kube.push("KubeSchema");
    }
    paths.push(match kube.as_slice() {
        [one] => format!("kube::{one}"),
        all => format!("kube::{{{}}}", all.join(", ")),
    });
    let has_plain = lowered.items.iter().any(|it| !it.is_kube);
    if has_schema && has_plain {
        paths.push("schemars::JsonSchema".to_owned());
    }
    paths.push("serde::{Deserialize, Serialize}".to_owned());
    paths.sort();
    let mut text = String::new();
    for path in &standard {
        text += &format!("use {path};\n\n");
    }
    for path in paths {
        text += &format!("use {path};\n");
    }
    text + "\n"
}

fn print_item(item: &Item, kube: Option<&str>, purpose: Purpose) -> String {
    let mut text = item
        .doc
        .as_deref()
        .map(|doc| comment(doc, 0))
        .unwrap_or_default();
    let mut derives = Vec::new();
    if kube.is_some() {
        derives.push("CustomResource");
    }
    if purpose == Purpose::Define {
        derives.push(["JsonSchema", "KubeSchema"][usize::from(item.is_kube)]);
    }
    let is_enum = matches!(item.shape, Shape::Enum(_) | Shape::OpenEnum(..));
    derives.push("Clone");
    if matches!(item.shape, Shape::Enum(_)) {
        derives.push("Copy");
    }
    derives.push("Debug");
    if item.is_default {
        derives.push("Default");
    }
    derives.push("PartialEq");
    if is_enum {
        derives.extend(["Eq", "Hash"]);
    }
    derives.extend(["Deserialize", "Serialize"]);
    text += &format!("#[derive({})]\n", derives.join(", "));
    text += kube.unwrap_or_default();
    for attribute in &item.attributes {
        text += &attribute.laid_out(0);
    }
    let name = &item.name;
    match &item.shape {
        Shape::Newtype(ty) => text += &format!("pub struct {name}(pub {ty});\n"),
        Shape::Struct(fields) if fields.is_empty() => text += &format!("pub struct {name} {{}}\n"),
        Shape::Struct(fields) => {
            let fields: Vec<_> = fields.iter().map(print_field).collect();
            text += &format!("pub struct {name} {{\n{}}}\n", fields.join("\n"));
        }
        Shape::Enum(all) => text += &format!("pub enum {name} {{\n{}}}\n", variants(all)),
        Shape::OpenEnum(all, other) => {
            text += &format!(
                "pub enum {name} {{\n{}    /// A value that was not in the schema.\n    \
                 #[serde(untagged)]\n    {other}(String),\n}}\n",
                variants(all)
            );
        }
    }
    text
}

/// The variants of an enum, each with its value.
fn variants(variants: &[(String, String)]) -> String {
    let mut text = String::new();
    for (variant, value) in variants {
        if variant != value {
            let rename = Meta::list("serde", vec![Meta::text("rename", value)]);
            text += &Attribute::Meta(rename).laid_out(4);
        }
        text += &format!("    {variant},\n");
    }
    text
}

fn print_field(field: &Field) -> String {
    let mut text = field
        .doc
        .as_deref()
        .map(|doc| comment(doc, 4))
        .unwrap_or_default();
    for attribute in &field.attributes {
        text += &attribute.laid_out(4);
    }
    let line = format!("    pub {}: {},", field.ident, field.ty);
    if line.chars().count() > LINE {
        return text + &format!("    pub {}:\n        {},\n", field.ident, field.ty);
    }
    text + &line + "\n"
}

fn print_helper(helper: Helper) -> String {
    let (what, schema) = match helper {
        Helper::DateTime => (
            "A point in time.",
            "\"type\": \"string\", \"format\": \"date-time\"",
        ),
        Helper::IntOrString => (
            "An integer or a text.",
            "\"x-kubernetes-int-or-string\": true",
        ),
        Helper::Integer => ("An integer of any size.", "\"type\": \"integer\""),
        Helper::Number => ("A number of any precision.", "\"type\": \"number\""),
    };
    format!(
        "/// {what}
fn {}(_: &mut schemars::SchemaGenerator) -> schemars::Schema {{
    schemars::json_schema!({{{schema}}})
}}

",
        helper.name()
    )
}

/// The attribute `kube`, with the parts of the CRD that are outside of the schema.
fn kube(crd: &Crd, version: &CrdVersion, lowered: &Lowered, setting: &Setting) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut text = |name: &str, value: &str| {
        lines.push(format!("    {name} = {}", literal::text(value)));
    };
    text("group", &crd.group);
    text("version", &version.name);
    match (version.deprecated, &version.warning) {
        (true, Some(warning)) => text("deprecated", warning),
        (true, None) => lines.push("    deprecated".to_owned()),
        (false, _) => {}
    }
    if !setting.served {
        lines.push("    served = false".to_owned());
    }
    let mut text = |name: &str, value: &str| {
        lines.push(format!("    {name} = {}", literal::text(value)));
    };
    text("kind", &crd.kind);
    if setting.type_name != crd.kind {
        text("root", setting.type_name);
    }
    text("plural", &crd.plural);
    for short_name in &crd.short_names {
        text("shortname", short_name);
    }
    if crd.namespaced {
        lines.push("    namespaced".to_owned());
    }
    for it in setting.annotations {
        let (name, value) = (literal::text(it.name), literal::text(it.value));
        lines.push(format!(
            "    // {}\n    annotation({name}, {value})",
            it.reason
        ));
    }
    lines.extend(rest(crd, version, lowered));
    format!("#[kube(\n{}\n)]\n", lines.join(",\n"))
}

/// The lines of the attribute `kube` that only types from a CRD have.
fn rest(crd: &Crd, version: &CrdVersion, lowered: &Lowered) -> Vec<String> {
    // Begin with a line that every types file has. This unchanged line keeps a change of the lines
    // above apart from the lines below in a merge.
    let mut metas = vec![Meta::text("derive", "PartialEq")];
    if lowered.has_default() {
        metas.push(Meta::text("derive", "Default"));
    }
    if let Some(singular) = &crd.singular {
        metas.push(Meta::text("singular", singular));
    }
    metas.extend(crd.categories.iter().map(|it| Meta::text("category", it)));
    if lowered.root.no_spec {
        metas.push(Meta::leaf("no_spec"));
    }
    if let Some(status) = &lowered.root.status {
        metas.push(Meta::text("status", status));
    }
    metas.push(Meta::text("doc", &lowered.root.doc));
    metas.extend(version.columns.iter().map(column));
    metas.extend(
        version
            .selectable
            .iter()
            .map(|it| Meta::text("selectable", it)),
    );
    if let Some(scale) = &version.scale {
        let label = scale.label_selector_path.as_ref();
        let mut all: Vec<_> = label
            .map(|it| Meta::text("label_selector_path", it))
            .into_iter()
            .collect();
        all.insert(
            0,
            Meta::text("spec_replicas_path", &scale.spec_replicas_path),
        );
        all.insert(
            1,
            Meta::text("status_replicas_path", &scale.status_replicas_path),
        );
        metas.push(Meta::list("scale", all));
    }
    let rules = &lowered.root.rules;
    let lines = metas.iter().map(|it| format!("    {}", it.laid_out(4, 1)));
    lines
        .chain(rules.iter().map(|rule| format!("    validation = {rule}")))
        .collect()
}

/// The attribute `kube` of a kind that another project defines.
fn kube_for_use(crd: &Crd, version: &CrdVersion, lowered: &Lowered, type_name: &str) -> String {
    let mut names = vec![
        ("group", crd.group.as_str()),
        ("version", &version.name),
        ("kind", &crd.kind),
    ];
    if type_name != crd.kind {
        names.push(("root", type_name));
    }
    names.push(("plural", &crd.plural));
    let line = |meta: &Meta| format!("    {},\n", meta.laid_out(4, 1));
    let mut text = String::from("#[kube(\n");
    for (name, value) in names {
        text += &line(&Meta::text(name, value));
    }
    if crd.namespaced {
        text += "    namespaced,\n";
    }
    text += "    // The schema is in the project that defines the kind.\n";
    let mut metas = vec![
        Meta::text("schema", "disabled"),
        Meta::text("derive", "PartialEq"),
    ];
    if lowered.has_default() {
        metas.push(Meta::text("derive", "Default"));
    }
    if lowered.root.no_spec {
        metas.push(Meta::leaf("no_spec"));
    }
    if let Some(status) = &lowered.root.status {
        metas.push(Meta::text("status", status));
    }
    metas.push(Meta::text("doc", &lowered.root.doc));
    for meta in &metas {
        text += &line(meta);
    }
    text.truncate(text.len() - 2);
    text + "\n)]\n"
}

fn column(column: &Column) -> Meta {
    let mut all = vec![
        Meta::text("name", &column.name),
        Meta::text("type_", &column.r#type),
        Meta::text("json_path", &column.json_path),
    ];
    all.extend(column.format.as_ref().map(|it| Meta::text("format", it)));
    all.extend(
        column
            .description
            .as_ref()
            .map(|it| Meta::text("description", it)),
    );
    all.extend(
        column
            .priority
            .map(|it| Meta::leaf(format!("priority = {it}"))),
    );
    Meta::list("printcolumn", all)
}

/// The generated test that the sample fits the types.
fn test(type_name: &str, sample: &str) -> String {
    format!(
        "#[cfg(test)]
mod tests {{
    use super::*;

    fn sample() -> {} {{
        let text = include_str!(
            // What `kubectl apply -k config/samples` creates.
            {}
        );
        serde_saphyr::from_str(text).expect(\"the sample fits the type\")
    }}

    #[test]
    fn the_sample_fits_the_types() {{
        assert!(sample().metadata.name.is_some());
    }}
}}
",
        type_name,
        literal::text(sample)
    )
}
