//! Generates the Rust code that converts between two versions of a kind, from the Rust types of both.
//!
//! The code copies each field and value that both versions have. A field that only the target has gets its default, or
//! the first valid value of its type. The operator keeps in annotations what a version cannot hold, so a round trip
//! loses nothing. Users edit a line if another value is better.
//!
//! The types belong to the user. If both versions have a field of the same type, but the code cannot take this type
//! apart, the field is converted by way of JSON, which each type of a custom resource has. The field may be optional in
//! one version. So between equal versions, the code compiles whatever the types are.

mod read;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, mem::discriminant};

use self::read::{Field, FieldType, Shape, SimpleValue, TypeItem, Types, Variant, read};
use crate::{
    engine::Text,
    names::in_rust,
    rust::{self, CHAIN, LINE, RustType, braces, on_one_line, one_or_several, width},
};

/// The indentation of the fields in the generated code.
const FIELDS: usize = 12;

/// The largest number of types of the file in the first valid value of a type.
const NESTED: usize = 100;

/// A file that converts between two versions of a kind. Its code depends on the types of both versions.
#[derive(Debug)]
pub struct ConversionFile {
    /// The path of the file.
    pub path: String,
    /// The path of the file that lists the versions that are converted.
    pub list: String,
    /// The name of the version that is converted to the hub.
    pub version: String,
    pub(super) kind: String,
    /// The path of the types of this version.
    pub(super) spoke: String,
    /// The path of the types of the hub.
    pub(super) hub: String,
    /// The text of the file before the code.
    pub(super) head: Text,
}

impl ConversionFile {
    /// Whether `path` is one of the two files with the types.
    pub fn is_of(&self, path: &str) -> bool {
        path == self.spoke || path == self.hub
    }

    /// The text of the file, and whether both versions have a status. `types` returns the text of a file.
    pub fn text(&self, types: impl Fn(&str) -> Option<Text>) -> (Text, bool) {
        let (spoke, hub) = (types(&self.spoke), types(&self.hub));
        let [spoke, hub] = [(&self.spoke, &spoke), (&self.hub, &hub)].map(|(path, text)| File {
            path,
            text: text.as_ref().map(Text::content),
        });
        let code = convert(&self.kind, spoke, hub);
        let text = format!("{}\n{}", self.head.content(), code.text);
        (text.into(), code.has_status)
    }
}

/// A file with the types of one version.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    /// The path in the project.
    pub path: &'a str,
    /// The text; `None` if there is no such file.
    pub text: Option<&'a str>,
}

/// Code that converts between two versions of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The implementations. The file must import the modules of the types as `spoke` and `hub`.
    pub text: String,
    /// Whether both versions have a status.
    pub has_status: bool,
}

/// Whether the types of `kind` in `file` have the status of the example: with `conditions` and `observed_generation`.
pub fn has_example_status(kind: &str, file: File) -> bool {
    let Some(types) = read_file(kind, file) else {
        return false;
    };
    let name = format!("{}Status", in_rust(kind));
    let Some(TypeItem {
        is_default: true,
        shape: Shape::Struct(fields),
    }) = types.items.get(&name)
    else {
        return false;
    };
    let mut known = 0;
    for field in fields {
        known += usize::from(matches!(
            (field.ident.as_str(), &field.ty.rust),
            ("conditions", RustType::List(_)) | ("observed_generation", RustType::Option(_))
        ));
    }
    known == 2 && types.status == Some(RustType::Named(name))
}

/// Generates the code that converts the types of `kind` in `spoke` to those in `hub`, and back.
pub fn convert(kind: &str, spoke: File, hub: File) -> Code {
    let name = in_rust(kind);
    if let (Some(spoke), Some(hub)) = (read_file(kind, spoke), read_file(kind, hub)) {
        return Converter::new(&name, &spoke, &hub).code();
    }
    // The types are elsewhere: they have the usual names.
    let unseen = Types {
        spec: format!("{name}Spec"),
        status: Some(RustType::Named(format!("{name}Status"))),
        ..Types::default()
    };
    Converter::new(&name, &unseen, &unseen).code()
}

fn read_file(kind: &str, file: File) -> Option<Types> {
    read(file.path, file.text?, kind)
}

/// The direction of a conversion: up from the spoke to the hub, or down to the spoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

impl Direction {
    const BOTH: [Self; 2] = [Self::Up, Self::Down];

    /// Turns what belongs to the spoke and to the hub into what belongs to the source and to the target, and back.
    fn order<T>(self, (one, other): (T, T)) -> (T, T) {
        match self {
            Self::Up => (one, other),
            Self::Down => (other, one),
        }
    }

    /// The modules of the source and of the target.
    fn modules(self) -> (&'static str, &'static str) {
        self.order(("spoke", "hub"))
    }
}

/// How to convert a value to another type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Conversion {
    /// The value needs no conversion.
    Same,
    /// The type implements `From`.
    Into,
    /// The function `list` converts the value.
    List,
    /// The function `map` converts the value.
    Map,
    /// The type implements `TryFrom`.
    TryInto,
    /// The function `try_list` converts the value.
    TryList,
    /// The function `try_map` converts the value.
    TryMap,
    /// The function `through_json` converts the value.
    Json,
}

impl Conversion {
    /// Whether the conversion of some values fails.
    fn can_fail(self) -> bool {
        matches!(
            self,
            Self::TryInto | Self::TryList | Self::TryMap | Self::Json
        )
    }

    /// The expression that converts `value`.
    fn of(self, value: &str) -> String {
        match self {
            Self::Same => value.to_owned(),
            Self::Into => format!("{value}.into()"),
            Self::List => format!("self::list({value})"),
            Self::Map => format!("self::map({value})"),
            Self::TryInto => format!("{value}.try_into()?"),
            Self::TryList => format!("self::try_list({value})?"),
            Self::TryMap => format!("self::try_map({value})?"),
            Self::Json => format!("through_json(&{value})?"),
        }
    }

    /// The expression that converts the value in the option `option`.
    fn in_option(self, option: &str) -> String {
        let function = match self {
            Self::Same | Self::Json => return self.of(option),
            Self::Into => "Into::into",
            Self::List => "self::list",
            Self::Map => "self::map",
            Self::TryInto => "TryInto::try_into",
            Self::TryList => "self::try_list",
            Self::TryMap => "self::try_map",
        };
        if self.can_fail() {
            let pad = " ".repeat(FIELDS + 4);
            let calls = format!("{option}\n{pad}.map({function})\n{pad}.transpose()?");
            on_one_line(&calls, CHAIN - "?".len())
        } else {
            format!("{option}.map({function})")
        }
    }
}

/// The only optional one of two types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Optional {
    Source,
    Target,
}

/// How to convert the type of a field to the type of another field.
struct TypeMapping<'a> {
    conversion: Conversion,
    /// The types between which `conversion` converts.
    source: &'a RustType,
    target: &'a RustType,
    /// Which of the two is an `Option` of its type above; `None` if neither is.
    optional: Option<Optional>,
}

/// A value as a Rust expression.
struct Expression {
    code: String,
    form: Form,
}

/// What an expression for a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `Default` of the type returns the value.
    Default,
    /// A literal or a path.
    Constant,
    /// Anything else.
    Computed,
}

impl Expression {
    fn new(form: Form, code: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            form,
        }
    }
}

/// The names of a type of the spoke and of a type of the hub.
type Pair<'a> = (&'a str, &'a str);

struct Converter<'a> {
    /// The name of the type of the kind.
    kind: &'a str,
    spoke: &'a Types,
    hub: &'a Types,
    /// The pairs that have a conversion, in the order of the file.
    written: Vec<Pair<'a>>,
    /// The pairs whose conversion fails for some values.
    fallible: BTreeSet<Pair<'a>>,
    /// How the code converts values.
    uses: BTreeSet<Conversion>,
    /// Whether the code makes a map.
    makes_maps: bool,
    /// The types that the current value is in, from the outermost one.
    outer: Vec<&'a str>,
    /// The number of types of the file in the current value.
    nested: usize,
}

impl<'a> Converter<'a> {
    fn new(kind: &'a str, spoke: &'a Types, hub: &'a Types) -> Self {
        let mut converter = Self {
            kind,
            spoke,
            hub,
            written: Vec::new(),
            fallible: BTreeSet::new(),
            uses: BTreeSet::new(),
            makes_maps: false,
            outer: Vec::new(),
            nested: 0,
        };
        converter.find_fallible();
        converter
    }

    /// The types that the conversion begins with: those of the spec, and those of the status if the files have them.
    fn roots(&self) -> Vec<Pair<'a>> {
        let mut roots = vec![(self.spoke.spec.as_str(), self.hub.spec.as_str())];
        if let (Some(RustType::Named(spoke)), Some(RustType::Named(hub))) =
            (&self.spoke.status, &self.hub.status)
        {
            roots.push((spoke, hub));
        }
        roots
    }

    /// Whether the types of the status differ, and are not both in the files. A type that both versions share needs no
    /// conversion.
    fn has_distant_status(&self) -> bool {
        match (&self.spoke.status, &self.hub.status) {
            (Some(RustType::Named(_)), Some(RustType::Named(_))) => false,
            (Some(spoke), Some(hub)) => {
                self.how(spoke, hub, Direction::Up) != Some(Conversion::Same)
            }
            _ => false,
        }
    }

    /// Finds the pairs whose conversion can fail, because it is one by way of JSON, or contains such a conversion.
    fn find_fallible(&mut self) {
        let mut pairs: Vec<Pair> = self.roots();
        let mut next = 0;
        while let Some(pair) = pairs.get(next).copied() {
            for (spoke, hub) in self.common(pair) {
                if let (Some(spoke), Some(hub)) = (spoke.rust.named(), hub.rust.named())
                    && !pairs.contains(&(spoke, hub))
                {
                    pairs.push((spoke, hub));
                }
            }
            next += 1;
        }
        loop {
            let mut found = pairs.clone();
            found.retain(|pair| !self.fallible.contains(pair) && self.can_fail(*pair));
            if found.is_empty() {
                return;
            }
            self.fallible.extend(found);
        }
    }

    /// Whether the conversion of `pair` can fail, because of those pairs that are known to be fallible.
    fn can_fail(&self, pair: Pair<'a>) -> bool {
        let Some((item, _)) = self.same_shape(pair) else {
            return true;
        };
        let is_field = matches!(item.shape, Shape::Struct(_));
        // Without a conversion of its content, a newtype is converted by way of JSON.
        let is_newtype = matches!(item.shape, Shape::Newtype(_));
        self.common(pair).into_iter().any(|types| {
            Direction::BOTH.into_iter().any(|direction| {
                let (from, to) = direction.order(types);
                let mapping = self.mapping(from, to, direction, is_field);
                mapping.map_or(is_newtype, |mapping| mapping.conversion.can_fail())
            })
        })
    }

    /// The types of `pair`, if both have the same shape: struct, enum or newtype.
    fn same_shape(&self, (spoke, hub): Pair) -> Option<(&'a TypeItem, &'a TypeItem)> {
        let (spoke, hub) = (self.spoke.items.get(spoke)?, self.hub.items.get(hub)?);
        let is_same_shape = discriminant(&spoke.shape) == discriminant(&hub.shape);
        (is_same_shape && !matches!(spoke.shape, Shape::Opaque)).then_some((spoke, hub))
    }

    /// The types of the fields and variants that both types of `pair` have.
    fn common(&self, pair: Pair) -> Vec<(&'a FieldType, &'a FieldType)> {
        let mut common = Vec::new();
        if let Some((spoke, hub)) = self.same_shape(pair) {
            let others = hub.shape.field_types();
            for (name, ty) in spoke.shape.field_types() {
                let other = others.iter().find(|(other, _)| *other == name);
                common.extend(other.map(|(_, other)| (ty, *other)));
            }
        }
        common
    }

    /// How to convert the type `from` to the type `to`: by way of JSON if nothing else converts them, but their code is
    /// the same, and can stand for the same type. Only a field that is required has a value in place of `None`.
    fn mapping(
        &self,
        from: &'a FieldType,
        to: &'a FieldType,
        direction: Direction,
        is_field: bool,
    ) -> Option<TypeMapping<'a>> {
        let (is_same_code, source, target, optional) = match (&from.rust, &to.rust) {
            (source, RustType::Option(target)) if !matches!(source, RustType::Option(_)) => {
                let optional = Some(Optional::Target);
                (to.is_option_of(from), source, &**target, optional)
            }
            (RustType::Option(source), target)
                if !matches!(target, RustType::Option(_)) && is_field =>
            {
                let optional = Some(Optional::Source);
                (from.is_option_of(to), &**source, target, optional)
            }
            (source, target) => (from.written == to.written, source, target, None),
        };
        let may_be_same = is_same_code && !self.differ(source, target, direction);
        let conversion = self.how(source, target, direction);
        Some(TypeMapping {
            conversion: conversion.or(may_be_same.then_some(Conversion::Json))?,
            source,
            target,
            optional,
        })
    }

    /// Whether the files define these types with different shapes, such as an enum and a struct. The JSON of one is then
    /// not that of the other.
    fn differ(&self, from: &RustType, to: &RustType, direction: Direction) -> bool {
        match (from, to) {
            (RustType::Named(from), RustType::Named(to)) => {
                let (source, target) = direction.order((self.spoke, self.hub));
                let items = source.items.get(from).zip(target.items.get(to));
                items.is_some_and(|(one, other)| {
                    discriminant(&one.shape) != discriminant(&other.shape)
                        && !matches!(one.shape, Shape::Opaque)
                        && !matches!(other.shape, Shape::Opaque)
                })
            }
            (RustType::Option(from), RustType::Option(to))
            | (RustType::List(from), RustType::List(to))
            | (RustType::Map(from), RustType::Map(to)) => self.differ(from, to, direction),
            _ => false,
        }
    }

    /// How to convert `from` to `to`. `None` if there is no conversion between these types.
    fn how(&self, from: &RustType, to: &RustType, direction: Direction) -> Option<Conversion> {
        let (source, target) = direction.order((self.spoke, self.hub));
        match (from, to) {
            (RustType::Named(from), RustType::Named(to)) => {
                let pair = direction.order((from.as_str(), to.as_str()));
                self.same_shape(pair)?;
                Some(if self.fallible.contains(&pair) {
                    Conversion::TryInto
                } else {
                    Conversion::Into
                })
            }
            // One version uses a type of the other one.
            (RustType::Named(name), RustType::Path(path)) => {
                source.is_at(path, name).then_some(Conversion::Same)
            }
            (RustType::Path(path), RustType::Named(name)) => {
                target.is_at(path, name).then_some(Conversion::Same)
            }
            (RustType::Integer("i32"), RustType::Integer("i64")) => Some(Conversion::Into),
            (RustType::Option(from), RustType::Option(to)) => {
                match (&**from, self.how(from, to, direction)?) {
                    (_, Conversion::Same) => Some(Conversion::Same),
                    (RustType::Option(_), _) => None,
                    (_, conversion) => Some(conversion),
                }
            }
            (RustType::List(from), RustType::List(to)) => {
                self.inner(from, to, direction, (Conversion::List, Conversion::TryList))
            }
            (RustType::Map(from), RustType::Map(to)) => {
                self.inner(from, to, direction, (Conversion::Map, Conversion::TryMap))
            }
            (from, to) => (from == to && from.is_shared()).then_some(Conversion::Same),
        }
    }

    /// How to convert a list or a map. If the items need a conversion, `whole` converts all of them, and `try_whole` if
    /// that can fail.
    fn inner(
        &self,
        from: &RustType,
        to: &RustType,
        direction: Direction,
        (whole, try_whole): (Conversion, Conversion),
    ) -> Option<Conversion> {
        match (from, self.how(from, to, direction)?) {
            (_, Conversion::Same) => Some(Conversion::Same),
            (RustType::Named(_) | RustType::Integer(_), Conversion::Into) => Some(whole),
            (RustType::Named(_), Conversion::TryInto) => Some(try_whole),
            _ => None,
        }
    }

    /// Notes what the code needs for a mapping.
    fn note(&mut self, mapping: &TypeMapping<'a>, direction: Direction) {
        self.uses.insert(mapping.conversion);
        if !matches!(mapping.conversion, Conversion::Same | Conversion::Json)
            && let (Some(source), Some(target)) = (mapping.source.named(), mapping.target.named())
        {
            self.write(direction.order((source, target)));
        }
    }

    /// Adds a conversion of `pair` to the file, unless it is there.
    fn write(&mut self, pair: Pair<'a>) {
        if !self.written.contains(&pair) {
            self.written.push(pair);
        }
    }

    fn code(mut self) -> Code {
        for root in self.roots() {
            self.write(root);
        }
        let mut text = String::new();
        // The code of a pair adds pairs.
        let mut next = 0;
        while let Some(pair) = self.written.get(next).copied() {
            for direction in Direction::BOTH {
                text += &self.implementation(pair, direction);
            }
            next += 1;
        }
        if self.has_distant_status() {
            text += &self.distant_status();
        }
        Code {
            text: self.imports() + text.trim_end() + "\n" + &self.functions(),
            has_status: self.spoke.status.is_some() && self.hub.status.is_some(),
        }
    }

    fn implementation(&mut self, pair: Pair<'a>, direction: Direction) -> String {
        let (source_module, target_module) = direction.modules();
        let (source_name, target_name) = direction.order(pair);
        let source = format!("{source_module}::{source_name}");
        let target = format!("{target_module}::{target_name}");
        let items = self.same_shape(pair).map(|items| direction.order(items));
        let taken_apart = match items.map(|(from, to)| (&from.shape, &to.shape)) {
            Some((Shape::Struct(from), Shape::Struct(to))) => {
                Some(self.structure(&source, from, to, direction))
            }
            Some((Shape::Enum(from), Shape::Enum(to))) => {
                let value = self.enumeration(&source, from, to, direction);
                Some((String::new(), value))
            }
            Some((Shape::Newtype(from), Shape::Newtype(to))) => {
                let value = self.value("value.0", from, to, direction, None);
                value.map(|value| (String::new(), format!("Self({value})")))
            }
            _ => None,
        };
        let can_fail = self.fallible.contains(&pair);
        let body = match taken_apart {
            Some((start, value)) if can_fail => format!("{start}        Ok({value})\n"),
            Some((start, value)) => format!("{start}        {value}\n"),
            None => self.through_json(),
        };
        laid_out(&source, &target, can_fail, &body)
    }

    fn through_json(&mut self) -> String {
        self.uses.insert(Conversion::Json);
        "        through_json(&value)\n".to_owned()
    }

    /// The conversion of the status between types of other files. This file may be unable to name them, because their
    /// modules can be private.
    fn distant_status(&mut self) -> String {
        let mut text = String::new();
        for (name, module) in [("SpokeStatus", "spoke"), ("HubStatus", "hub")] {
            let of = format!(
                "<{module}::{} as kube::core::object::HasStatus>::Status;\n",
                self.kind
            );
            text += &one_or_several(
                format!("type {name} = {of}"),
                format!("type {name} =\n    {of}"),
            );
        }
        text += "\n";
        for (source, target) in [("SpokeStatus", "HubStatus"), ("HubStatus", "SpokeStatus")] {
            text += &laid_out(source, target, true, &self.through_json());
        }
        text
    }

    /// The conversion of a struct: the statements, and the value after them.
    fn structure(
        &mut self,
        source: &str,
        from: &'a [Field],
        to: &'a [Field],
        direction: Direction,
    ) -> (String, String) {
        let mut values = Vec::new();
        let (mut lacking, mut differing) = (Vec::new(), Vec::new());
        let mut used = BTreeSet::new();
        for field in to {
            let ident = &field.ident;
            let counterpart = from.iter().find(|other| other.ident == *ident);
            let value = counterpart
                .and_then(|other| self.value(ident, &other.ty, &field.ty, direction, Some(field)));
            if let Some(value) = value {
                used.insert(ident);
                values.push(if value == *ident {
                    value
                } else {
                    converted_field(ident, &value)
                });
            } else {
                let value = self.missing(field, direction, FIELDS).code;
                // clippy refuses a default such as 3.14, the shortest number that it takes for a constant.
                let may_be_constant =
                    value.len() >= 4 && value.contains('.') && value.parse::<f64>().is_ok();
                let lint = if may_be_constant {
                    "#[allow(clippy::approx_constant)]\n            "
                } else {
                    ""
                };
                let unconverted = match counterpart {
                    Some(_) => &mut differing,
                    None => &mut lacking,
                };
                unconverted.push(format!("{lint}{}", field_of(ident, &value, FIELDS)));
            }
        }
        let mut pattern = Vec::new();
        for Field { ident, .. } in from {
            let unused = if used.contains(ident) { "" } else { ": _" };
            pattern.push(format!("{ident}{unused}"));
        }
        let (module, _) = direction.modules();
        for (mut fields, comment) in [
            (lacking, format!("Without a value in the {module}.")),
            (
                differing,
                format!("With another type in the {module}. Convert the value."),
            ),
        ] {
            if let Some(first) = fields.first_mut() {
                *first = format!("// {comment}\n            {first}");
            }
            values.extend(fields);
        }
        let pattern = braces(source, &pattern, FIELDS - 4);
        let target = braces("Self", &values, FIELDS - 4);
        let start = if pattern.contains('\n') {
            format!("        let {pattern} = value;")
        } else {
            on_one_line(
                &format!("        let {pattern} =\n            value;"),
                LINE,
            )
        };
        (start + "\n", target)
    }

    /// The value of the conversion of an enum. Two variants correspond if they stand for the same value.
    fn enumeration(
        &mut self,
        source: &str,
        from: &'a [Variant],
        to: &'a [Variant],
        direction: Direction,
    ) -> String {
        let (mut same, mut differing, mut other) = (String::new(), String::new(), String::new());
        for Variant {
            ident,
            name,
            content,
        } in from
        {
            let counterpart = to.iter().find(|counterpart| counterpart.name == *name);
            let target = match counterpart.map(|to| (&to.ident, content, &to.content)) {
                Some((ident, None, None)) => Some(ident.clone()),
                Some((ident, Some(from), Some(to))) => self
                    .value("value", from, to, direction, None)
                    .map(|value| format!("{ident}({value})")),
                _ => None,
            };
            let pattern = match content {
                None => ident.clone(),
                Some(_) if target.is_some() => format!("{ident}(value)"),
                Some(_) => format!("{ident}(_)"),
            };
            let arms = match (&target, counterpart) {
                (Some(_), _) => &mut same,
                (None, Some(_)) => &mut differing,
                (None, None) => &mut other,
            };
            let target =
                target.unwrap_or_else(|| self.first_variant(to, direction, FIELDS + 4).code);
            *arms += &one_or_several(
                format!("            {source}::{pattern} => Self::{target},\n"),
                format!(
                    "            {source}::{pattern} => {{\n                Self::{target}\n            }}\n"
                ),
            );
        }
        // The variants that the other version has come first.
        for (arms, comment) in [
            (
                differing,
                "With a value of another type. Convert the value.",
            ),
            (other, "Without a value of the same name."),
        ] {
            if !arms.is_empty() {
                same += &format!("            // {comment}\n{arms}");
            }
        }
        format!("match value {{\n{same}        }}")
    }

    /// The first variant of an enum, preferably one without a value.
    fn first_variant(
        &mut self,
        variants: &'a [Variant],
        direction: Direction,
        indent: usize,
    ) -> Expression {
        let unit = variants.iter().find(|variant| variant.content.is_none());
        match unit.or(variants.first()) {
            Some(Variant {
                ident,
                content: Some(content),
                ..
            }) => {
                let value = self.first(&content.rust, direction, indent).code;
                Expression::new(Form::Computed, format!("{ident}({value})"))
            }
            Some(variant) => Expression::new(Form::Constant, variant.ident.as_str()),
            None => Expression::new(Form::Constant, ""),
        }
    }

    /// The expression that converts `name`, a value of the type `from`, to the type `to`, if there is a conversion.
    /// `field` is the field that `to` belongs to.
    fn value(
        &mut self,
        name: &str,
        from: &'a FieldType,
        to: &'a FieldType,
        direction: Direction,
        field: Option<&'a Field>,
    ) -> Option<String> {
        let mapping = self.mapping(from, to, direction, field.is_some())?;
        self.note(&mapping, direction);
        let conversion = mapping.conversion;
        match (mapping.optional, mapping.source, field) {
            (Some(Optional::Target), ..) => Some(format!("Some({})", conversion.of(name))),
            (Some(Optional::Source), _, Some(field)) => {
                let Expression { code, form } = self.missing(field, direction, FIELDS + 4);
                Some(match (conversion, form) {
                    (Conversion::Same, Form::Default) => format!("{name}.unwrap_or_default()"),
                    (Conversion::Same, Form::Constant) => format!("{name}.unwrap_or({code})"),
                    _ => format!(
                        "match {name} {{\n                Some(value) => {},\n                \
                         None => {code},\n            }}",
                        conversion.of("value")
                    ),
                })
            }
            (_, RustType::Option(_), _) => Some(conversion.in_option(name)),
            _ => Some(conversion.of(name)),
        }
    }

    /// The value of `field` if the source does not have this field. `indent` is the indentation of the field.
    fn missing(&mut self, field: &'a Field, direction: Direction, indent: usize) -> Expression {
        let (_, module) = direction.modules();
        let (_, target) = direction.order((self.spoke, self.hub));
        let function = field.default.as_ref();
        match function.and_then(|function| target.defaults.get(function)) {
            Some(SimpleValue::Literal(code)) if ["false", "0", "0.0"].contains(&code.as_str()) => {
                Expression::new(Form::Default, code.as_str())
            }
            Some(SimpleValue::Literal(code)) => Expression::new(Form::Constant, code.as_str()),
            Some(SimpleValue::Text(literal)) => {
                Expression::new(Form::Computed, format!("{literal}.to_owned()"))
            }
            Some(SimpleValue::Named(path)) => {
                Expression::new(Form::Constant, format!("{module}::{path}"))
            }
            None => self.first(&field.ty.rust, direction, indent),
        }
    }

    /// The first valid value of a type, such as an empty list.
    fn first(&mut self, rust: &'a RustType, direction: Direction, indent: usize) -> Expression {
        match rust {
            RustType::Bool => Expression::new(Form::Default, "false"),
            RustType::Integer(_) => Expression::new(Form::Default, "0"),
            RustType::Float(_) => Expression::new(Form::Default, "0.0"),
            RustType::Text => Expression::new(Form::Default, "String::new()"),
            RustType::List(_) => Expression::new(Form::Default, "Vec::new()"),
            RustType::Map(_) => {
                self.makes_maps = true;
                Expression::new(Form::Computed, "BTreeMap::new()")
            }
            RustType::Option(_) => Expression::new(Form::Constant, "None"),
            RustType::Value => Expression::new(Form::Constant, "serde_json::Value::Null"),
            RustType::Named(name) => self.first_named(name, direction, indent),
            RustType::Time | RustType::IntOrString | RustType::Path(_) | RustType::Unclear => {
                let code = match rust.path() {
                    Some(path) if *rust == RustType::Time => {
                        let time = "k8s_openapi::jiff::Timestamp::UNIX_EPOCH".to_owned();
                        rust::Code::call(path, vec![rust::Code::Text(time)])
                            .laid_out(indent, indent)
                    }
                    Some(path) if !path.contains('<') && path.contains("::") => {
                        format!("{path}::default()")
                    }
                    _ => "Default::default()".to_owned(),
                };
                Expression::new(Form::Computed, code)
            }
        }
    }

    /// The first valid value of a type of the file. If the type contains itself, or many other types, the author writes
    /// the value.
    fn first_named(&mut self, name: &'a str, direction: Direction, indent: usize) -> Expression {
        if self.outer.is_empty() {
            self.nested = 0;
        }
        self.nested += 1;
        if self.nested > NESTED || self.outer.contains(&name) {
            return Expression::new(Form::Computed, "Default::default()");
        }
        self.outer.push(name);
        let value = self.first_inside(name, direction, indent);
        self.outer.pop();
        value
    }

    fn first_inside(&mut self, name: &str, direction: Direction, indent: usize) -> Expression {
        let (_, module) = direction.modules();
        let (_, target) = direction.order((self.spoke, self.hub));
        let path = format!("{module}::{name}");
        let item = target.items.get(name);
        match item.map(|item| (&item.shape, item.is_default)) {
            None | Some((Shape::Opaque, _)) => {
                Expression::new(Form::Computed, "Default::default()")
            }
            Some((_, true)) => Expression::new(Form::Computed, format!("{path}::default()")),
            Some((Shape::Enum(variants), _)) => {
                let Expression { code, form } = self.first_variant(variants, direction, indent);
                Expression::new(form, format!("{path}::{code}"))
            }
            Some((Shape::Newtype(content), _)) => {
                let value = self.first(&content.rust, direction, indent).code;
                Expression::new(Form::Computed, format!("{path}({value})"))
            }
            Some((Shape::Struct(fields), _)) => {
                let mut values = Vec::new();
                for field in fields {
                    let value = self.missing(field, direction, indent + 4).code;
                    values.push(field_of(&field.ident, &value, indent + 4));
                }
                Expression::new(Form::Computed, braces(&path, &values, indent))
            }
        }
    }

    fn imports(&self) -> String {
        let mut text = String::new();
        let maps = [Conversion::Map, Conversion::TryMap];
        if self.makes_maps || maps.iter().any(|conversion| self.uses.contains(conversion)) {
            text += "use std::collections::BTreeMap;\n\n";
        }
        if self.uses.contains(&Conversion::Json) {
            text += "use serde::{Serialize, de::DeserializeOwned};\n\n";
        }
        text
    }

    /// The functions that the conversions call.
    fn functions(&self) -> String {
        let used = FUNCTIONS.iter().filter(|(of, _)| self.uses.contains(of));
        used.map(|(_, function)| *function).collect()
    }
}

/// The field `name` with `value`, which converts the field of this name. rustfmt breaks a line that is too long in the
/// value, and else before it.
fn converted_field(name: &str, value: &str) -> String {
    let start = format!("{name}: ");
    let is_one_line = !value.contains('\n');
    let can_fail = value.ends_with('?');
    // The columns after the value, and after the first line of a broken one. rustfmt keeps some free after a chain.
    let (after, after_first) = match value.starts_with(name) {
        true if can_fail => (3, 1),
        true => (1, 1),
        false => (1, 0),
    };
    let column = FIELDS + width(&start);
    if is_one_line && column + width(value) + after <= LINE {
        return start + value;
    }
    let lines = broken(value, FIELDS);
    let first = lines.lines().next().unwrap_or_default();
    if column + width(first) + after_first <= LINE {
        return start + &lines;
    }
    let indent = FIELDS + 4;
    let below = if is_one_line && indent + width(value) + usize::from(can_fail) <= LINE {
        value.to_owned()
    } else {
        broken(value, indent)
    };
    format!("{name}:\n{:indent$}{below}", "")
}

/// `value`, a call or a chain of calls, on several lines at the indentation `indent`.
fn broken(value: &str, indent: usize) -> String {
    let pad = " ".repeat(indent);
    if value.contains('\n') {
        let deeper = " ".repeat(indent - FIELDS);
        return value.replace('\n', &format!("\n{deeper}"));
    }
    if let Some((name, call)) = value.split_once('.')
        && !name.contains('(')
    {
        return format!("{name}\n{pad}    .{call}");
    }
    // The argument of a call may be a call, whose argument is then on the line.
    let (mut start, mut end) = (0, value.len());
    while let Some(open) = value[start..end].find(['.', '('])
        && value[start + open..].starts_with('(')
        && let Some(close) = value[..end].rfind(')')
    {
        (start, end) = (start + open + 1, close);
    }
    let [head, argument, tail] = [&value[..start], &value[start..end], &value[end..]];
    format!("{head}\n{pad}    {argument},\n{pad}{tail}")
}

/// The field `name` with a value that was laid out at the indentation `indent`. The value is below a long one.
fn field_of(name: &str, value: &str, indent: usize) -> String {
    let line = format!("{name}: {value}");
    let below = format!("    {}", value.replace('\n', "\n    "));
    let [is_line_within, is_below_within] = [&line, &below].map(|text| {
        let comma = usize::from(!text.contains('\n'));
        let first = text.lines().next().unwrap_or_default();
        indent + width(first) + comma <= LINE
    });
    if is_line_within || !is_below_within {
        return line;
    }
    format!("{name}:\n{:indent$}{below}", "")
}

/// The functions that convert a value, by how they do.
const FUNCTIONS: [(Conversion, &str); 5] = [
    (
        Conversion::List,
        "
fn list<A, B: From<A>>(values: Vec<A>) -> Vec<B> {
    values.into_iter().map(Into::into).collect()
}
",
    ),
    (
        Conversion::Map,
        "
fn map<A, B: From<A>>(values: BTreeMap<String, A>) -> BTreeMap<String, B> {
    let values = values.into_iter();
    values.map(|(key, value)| (key, value.into())).collect()
}
",
    ),
    (
        Conversion::TryList,
        "
fn try_list<A, B: TryFrom<A>>(values: Vec<A>) -> Result<Vec<B>, B::Error> {
    values.into_iter().map(TryInto::try_into).collect()
}
",
    ),
    (
        Conversion::TryMap,
        "
fn try_map<A, B: TryFrom<A>>(values: BTreeMap<String, A>) -> Result<BTreeMap<String, B>, B::Error> {
    let values = values.into_iter();
    let converted = values.map(|(key, value)| Ok((key, value.try_into()?)));
    converted.collect()
}
",
    ),
    (
        Conversion::Json,
        "
/// Converts between types that rscaffold could not take apart. This fails if a value of one type is not a value of the
/// other: once the types differ, write the conversion instead.
fn through_json<A: Serialize, B: DeserializeOwned>(value: &A) -> Result<B, serde_json::Error> {
    serde_json::from_value(serde_json::to_value(value)?)
}
",
    ),
];

/// The conversion of the type `source` to the type `target`, with this body.
fn laid_out(source: &str, target: &str, can_fail: bool, body: &str) -> String {
    let (name, function, result, error) = if can_fail {
        (
            "TryFrom",
            "try_from",
            "Result<Self, Self::Error>",
            "    type Error = serde_json::Error;\n\n",
        )
    } else {
        ("From", "from", "Self", "")
    };
    let head = one_or_several(
        format!("impl {name}<{source}> for {target} {{"),
        format!("impl {name}<{source}>\n    for {target}\n{{"),
    );
    let signature = one_or_several(
        format!("    fn {function}(value: {source}) -> {result} {{"),
        format!("    fn {function}(\n        value: {source},\n    ) -> {result} {{"),
    );
    format!("{head}\n{error}{signature}\n{body}    }}\n}}\n\n")
}
