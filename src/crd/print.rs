//! Prints types as Rust code, formatted like rustfmt.

use std::collections::BTreeSet;

use super::{
    docs::comment,
    model::{Field, Helper, Item, Lowered, Purpose, Shape, TypesCode, Variant},
    read::{Column, Crd, CrdVersion},
};
use crate::rust::{Attribute, LINE, Meta, function_head, is_within, literal, one_or_several};

/// The code of the types.
pub(super) fn print(
    crd: &Crd,
    version: &CrdVersion,
    lowered: &Lowered,
    purpose: Purpose,
) -> TypesCode {
    let (mut spec_head, mut items) = (String::new(), Vec::new());
    for item in &lowered.items {
        if items.is_empty() {
            spec_head = head(item, &["CustomResource"], purpose);
            items.push(body(item));
        } else {
            items.push(format!("{}\n{}", head(item, &[], purpose), body(item)));
        }
    }
    for default in &lowered.defaults {
        let head = function_head(&default.name, &default.rust.to_string());
        items.push(format!("{head}\n    {}\n}}", default.value));
    }
    items.extend(lowered.helpers.iter().map(print_helper));
    TypesCode {
        imports: imports(lowered, purpose),
        spec_head,
        kube: kube(crd, version, lowered, purpose),
        annotations: crd.annotations.keys().cloned().collect(),
        items: items.join("\n\n"),
    }
}

/// The imports, in the order of rustfmt.
fn imports(lowered: &Lowered, purpose: Purpose) -> String {
    let has_kube = lowered.items.iter().any(|item| item.is_kube);
    let has_plain = lowered.items.iter().any(|item| !item.is_kube);
    let mut paths = BTreeSet::from(["serde::{Deserialize, Serialize}".to_owned()]);
    paths.insert(if has_kube && purpose == Purpose::Define {
        "kube::{CustomResource, KubeSchema}".to_owned()
    } else {
        "kube::CustomResource".to_owned()
    });
    if has_plain && purpose == Purpose::Define {
        paths.insert("schemars::JsonSchema".to_owned());
    }
    for item in &lowered.items {
        match &item.shape {
            Shape::Struct(fields) => {
                for field in fields {
                    field.rust.add_imports(&mut paths);
                }
            }
            Shape::Newtype(rust) => rust.add_imports(&mut paths),
            Shape::Enum(_) | Shape::OpenEnum(..) => {}
        }
    }
    let (standard, others): (Vec<_>, Vec<_>) = paths
        .iter()
        .map(|path| format!("use {path};"))
        .partition(|line| line.starts_with("use std::"));
    let groups = [standard, others].map(|lines| lines.join("\n"));
    groups.join("\n\n").trim_start().to_owned()
}

/// The doc comment and the traits of a type. `first` are the traits that it derives before the others.
fn head(item: &Item, first: &[&'static str], purpose: Purpose) -> String {
    let is_enum = matches!(item.shape, Shape::Enum(_));
    let is_text = is_enum || matches!(item.shape, Shape::OpenEnum(..));
    let is_defined = purpose == Purpose::Define;
    let mut derives = first.to_vec();
    for (is_derived, name) in [
        (is_defined && item.is_kube, "KubeSchema"),
        (is_defined && !item.is_kube, "JsonSchema"),
        (true, "Clone"),
        (is_enum, "Copy"),
        (true, "Debug"),
        (item.is_default, "Default"),
        (true, "PartialEq"),
        (is_text, "Eq"),
        (is_text, "Hash"),
        (true, "Deserialize"),
        (true, "Serialize"),
    ] {
        if is_derived {
            derives.push(name);
        }
    }
    let attribute = format!("#[derive({})]", derives.join(", "));
    match &item.doc {
        Some(doc) => comment(doc, 0) + &attribute,
        None => attribute,
    }
}

/// A type with its attributes, except for the traits that it derives.
fn body(item: &Item) -> String {
    let mut text = String::new();
    for attribute in &item.attributes {
        text += &attribute.laid_out(0);
    }
    let name = &item.name;
    text += &match &item.shape {
        Shape::Newtype(rust) => format!("pub struct {name}(pub {rust});"),
        Shape::Struct(fields) if fields.is_empty() => format!("pub struct {name} {{}}"),
        Shape::Struct(fields) => {
            let lines: Vec<_> = fields.iter().map(print_field).collect();
            format!("{}\n{}}}", first_line("struct", name), lines.join("\n"))
        }
        Shape::Enum(variants) => {
            let lines: String = variants.iter().map(print_variant).collect();
            format!("{}\n{lines}}}", first_line("enum", name))
        }
        Shape::OpenEnum(variants, other) => {
            let lines: String = variants.iter().map(print_variant).collect();
            format!(
                "{}\n{lines}    /// A value that was not in the schema.\n    \
                 #[serde(untagged)]\n    {other}(String),\n}}",
                first_line("enum", name)
            )
        }
    };
    text
}

/// The first line of a type, with the brace.
fn first_line(keyword: &str, name: &str) -> String {
    one_or_several(
        format!("pub {keyword} {name} {{"),
        format!("pub {keyword} {name}\n{{"),
    )
}

fn print_variant(variant: &Variant) -> String {
    let mut text = String::new();
    if variant.ident != variant.value {
        let rename = Meta::list("serde", vec![Meta::text("rename", &variant.value)]);
        text += &Attribute::Meta(rename).laid_out(4);
    }
    text + &format!("    {},\n", variant.ident)
}

fn print_field(field: &Field) -> String {
    let mut text = String::new();
    if let Some(doc) = &field.doc {
        text += &comment(doc, 4);
    }
    for attribute in &field.attributes {
        text += &attribute.laid_out(4);
    }
    let (ident, rust) = (&field.ident, &field.rust);
    let layouts = [
        format!("    pub {ident}: {rust},"),
        format!("    pub {ident}:\n        {rust},"),
        format!("    pub {ident}: {},", rust.laid_out(4, LINE)),
    ];
    // rustfmt breaks no line if a name alone is too long.
    let fits = layouts.iter().find(|layout| is_within(layout));
    text += fits.unwrap_or(&layouts[0]);
    text + "\n"
}

fn print_helper(Helper { name, doc, schema }: &Helper) -> String {
    format!(
        "/// {doc}
fn {name}(_: &mut schemars::SchemaGenerator) -> schemars::Schema {{
    schemars::json_schema!({{{schema}}})
}}"
    )
}

/// The settings in the attribute `kube` that only types from a CRD have, one in each line. The template has the names.
fn kube(crd: &Crd, version: &CrdVersion, lowered: &Lowered, purpose: Purpose) -> String {
    let mut metas = Vec::new();
    if lowered.has_default() {
        metas.push(Meta::text("derive", "Default"));
    }
    if purpose == Purpose::Define {
        metas.extend((crd.singular.iter()).map(|name| Meta::text("singular", name)));
        metas.extend((crd.categories.iter()).map(|name| Meta::text("category", name)));
        let [labels, annotations] = [(&crd.labels, "label"), (&crd.annotations, "annotation")]
            .map(|(pairs, name)| pairs.iter().map(move |pair| pair_of(name, pair)));
        metas.extend(labels.chain(annotations));
    }
    if lowered.root.no_spec {
        metas.push(Meta::leaf("no_spec"));
    }
    metas.extend((lowered.root.status.iter()).map(|name| Meta::text("status", name)));
    metas.push(Meta::text("doc", &lowered.root.doc));
    if purpose == Purpose::Define {
        metas.extend(version.additional_printer_columns.iter().map(column));
        let fields = version.selectable_fields.iter();
        metas.extend(fields.map(|field| Meta::text("selectable", &field.json_path)));
        if let Some(scale) = &version.subresources.scale {
            let mut paths = vec![
                Meta::text("spec_replicas_path", &scale.spec_replicas_path),
                Meta::text("status_replicas_path", &scale.status_replicas_path),
            ];
            let label = scale.label_selector_path.iter();
            paths.extend(label.map(|path| Meta::text("label_selector_path", path)));
            metas.push(Meta::list("scale", paths));
        }
    }
    let mut lines: Vec<_> = metas
        .iter()
        .map(|meta| format!("    {}", meta.laid_out(4, 1)))
        .collect();
    let rules = lowered.root.rules.iter();
    lines.extend(rules.map(|rule| format!("    validation = {rule}")));
    lines.join(",\n")
}

/// A label or an annotation of the CRD.
fn pair_of(name: &str, (key, value): (&String, &String)) -> Meta {
    Meta::list(
        name,
        [key, value]
            .map(|text| Meta::leaf(literal::text(text)))
            .into(),
    )
}

fn column(column: &Column) -> Meta {
    let mut metas = vec![
        Meta::text("name", &column.name),
        Meta::text("type_", &column.r#type),
        Meta::text("json_path", &column.json_path),
    ];
    metas.extend((column.format.iter()).map(|format| Meta::text("format", format)));
    metas.extend((column.description.iter()).map(|text| Meta::text("description", text)));
    metas.extend((column.priority.iter()).map(|level| Meta::leaf(format!("priority = {level}"))));
    Meta::list("printcolumn", metas)
}
