//! Generates the Rust code that converts between two versions of a kind.
//!
//! The code copies each field and value that both versions have. A field that only the target has gets its default, or
//! the first valid value of its type. The operator keeps in annotations what a version cannot hold, so a round trip
//! loses nothing. Users edit a line if another value is better.
use std::collections::{BTreeSet, VecDeque};

use super::{
    layout::{Attribute, LINE, Meta},
    model::{Field, Import, Item, Lowered, Shape},
};

/// rustfmt leaves the fields of a struct on one line up to this width.
const SHORT: usize = 18;
/// The indentation of the fields in the generated code.
const FIELDS: usize = 12;

/// Generates the `From` implementations between the types of a `spoke` and those of its `hub`. The file must import the
/// modules of these types as `spoke` and `hub`.
pub(super) fn convert(spoke: &Lowered, hub: &Lowered) -> String {
    let mut converter = Converter {
        spoke,
        hub,
        seen: BTreeSet::new(),
        open: VecDeque::new(),
        lists: false,
        maps: false,
        map: false,
    };
    converter.pair(&spoke.root.spec, &hub.root.spec);
    if let (Some(spoke), Some(hub)) = (&spoke.root.status, &hub.root.status) {
        converter.pair(spoke, hub);
    }
    let mut text = String::new();
    while let Some((spoke, hub)) = converter.open.pop_front() {
        for way in [Way::Up, Way::Down] {
            text += &converter.implementation(spoke, hub, way);
        }
    }
    converter.imports() + text.trim_end() + "\n" + &converter.functions()
}

/// The direction of a conversion: up from the spoke to the hub, or down to the spoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Up,
    Down,
}

impl Way {
    /// The modules of the source and of the target.
    fn modules(self) -> [&'static str; 2] {
        match self {
            Self::Up => ["spoke", "hub"],
            Self::Down => ["hub", "spoke"],
        }
    }
}

/// The type of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Type<'a> {
    Option(Box<Self>),
    List(Box<Self>),
    Map(Box<Self>),
    Plain(&'a str),
}

impl<'a> Type<'a> {
    fn parse(text: &'a str) -> Self {
        let inner = |start: &str| text.strip_prefix(start)?.strip_suffix('>');
        if let Some(inner) = inner("Option<") {
            return Self::Option(Self::parse(inner).into());
        }
        if let Some(inner) = inner("Vec<") {
            return Self::List(Self::parse(inner).into());
        }
        let name = Import::BTreeMap.path();
        let map = inner("BTreeMap<String, ").or_else(|| inner(&format!("{name}<String, ")));
        match map {
            Some(inner) => Self::Map(Self::parse(inner).into()),
            None => Self::Plain(text),
        }
    }
}

/// How to convert a value to another type.
#[derive(Debug, Clone, PartialEq, Eq)]
enum How {
    /// The value needs no conversion.
    Same,
    /// A function of this name converts the value.
    By(String),
}

struct Converter<'a> {
    spoke: &'a Lowered,
    hub: &'a Lowered,
    /// The pairs of types, of the spoke and of the hub, that get a conversion.
    seen: BTreeSet<(&'a str, &'a str)>,
    /// The pairs whose conversion is not written yet.
    open: VecDeque<(&'a Item, &'a Item)>,
    /// Whether the code calls the function `list`.
    lists: bool,
    /// Whether the code calls the function `map`.
    maps: bool,
    /// Whether the code creates an empty `BTreeMap`.
    map: bool,
}

impl<'a> Converter<'a> {
    /// Adds conversions between the types `spoke` and `hub` if both have the same shape: struct, enum or newtype.
    /// Returns whether they do.
    fn pair(&mut self, spoke: &str, hub: &str) -> bool {
        let (Some(spoke), Some(hub)) = (item(self.spoke, spoke), item(self.hub, hub)) else {
            return false;
        };
        let is_one_sort = matches!(
            (&spoke.shape, &hub.shape),
            (Shape::Struct(_), Shape::Struct(_))
                | (Shape::Enum(_), Shape::Enum(_))
                | (Shape::Newtype(_), Shape::Newtype(_))
        );
        if is_one_sort && self.seen.insert((&spoke.name, &hub.name)) {
            self.open.push_back((spoke, hub));
        }
        is_one_sort
    }

    /// The types of the source and of the target.
    fn sides(&self, way: Way) -> [&'a Lowered; 2] {
        match way {
            Way::Up => [self.spoke, self.hub],
            Way::Down => [self.hub, self.spoke],
        }
    }

    fn implementation(&mut self, spoke: &'a Item, hub: &'a Item, way: Way) -> String {
        let [from, to] = match way {
            Way::Up => [spoke, hub],
            Way::Down => [hub, spoke],
        };
        let modules = way.modules();
        let source = format!("{}::{}", modules[0], from.name);
        let target = format!("{}::{}", modules[1], to.name);
        let body = match (&from.shape, &to.shape) {
            (Shape::Struct(from), Shape::Struct(to)) => self.structure(&source, from, to, way),
            (Shape::Enum(from), Shape::Enum(to)) => enumeration(&source, from, to),
            _ => "        Self(value.0)\n".to_owned(),
        };
        let head = one_or_several(
            &format!("impl From<{source}> for {target} {{"),
            &format!("impl From<{source}>\n    for {target}\n{{"),
        );
        let function = one_or_several(
            &format!("    fn from(value: {source}) -> Self {{"),
            &format!("    fn from(\n        value: {source},\n    ) -> Self {{"),
        );
        format!("{head}\n{function}\n{body}    }}\n}}\n\n")
    }

    fn structure(&mut self, source: &str, from: &[Field], to: &[Field], way: Way) -> String {
        let mut taken = Vec::new();
        let mut given = Vec::new();
        let mut lacking = Vec::new();
        for field in to {
            let ident = &field.ident;
            let there = from.iter().find(|it| it.ident == *ident);
            let value = there.and_then(|it| self.value(it, field, way));
            match value {
                Some(value) if value == *ident => given.push(ident.clone()),
                Some(value) => given.push(format!("{ident}: {value}")),
                None => {
                    let value = self.missing(field, way, FIELDS);
                    lacking.push(format!("{ident}: {value}"));
                }
            }
        }
        for field in from {
            let there = to.iter().find(|it| it.ident == field.ident);
            let is_taken = there.is_some_and(|it| self.value(field, it, way).is_some());
            let rest = ["", ": _"][usize::from(!is_taken)];
            taken.push(format!("{}{rest}", field.ident));
        }
        if !lacking.is_empty() {
            let [from, _] = way.modules();
            lacking[0].insert_str(
                0,
                &format!("// Without a value in the {from}.\n            "),
            );
            given.append(&mut lacking);
        }
        let indent = FIELDS - 4;
        format!(
            "        let {} = value;\n        {}\n",
            braces(source, &taken, indent),
            braces("Self", &given, indent)
        )
    }

    /// The expression that converts the field `from` to the type of the field `to`, if there is a conversion.
    fn value(&mut self, from: &Field, to: &Field, way: Way) -> Option<String> {
        let ident = &from.ident;
        let (source, target) = (Type::parse(&from.ty), Type::parse(&to.ty));
        if let Some(how) = self.how(&source, &target, way) {
            return Some(match (how, &source) {
                (How::Same, _) => ident.clone(),
                (How::By(function), Type::Option(_)) => format!("{ident}.map({function})"),
                (How::By(function), _) if function == "Into::into" => format!("{ident}.into()"),
                (How::By(function), _) => format!("{function}({ident})"),
            });
        }
        match (&source, &target) {
            (_, Type::Option(inner)) => Some(match self.how(&source, inner, way)? {
                How::Same => format!("Some({ident})"),
                How::By(function) if function == "Into::into" => format!("Some({ident}.into())"),
                How::By(function) => format!("Some({function}({ident}))"),
            }),
            (Type::Option(inner), _) => {
                let how = self.how(inner, &target, way)?;
                let value = match how {
                    How::Same => "value".to_owned(),
                    How::By(function) if function == "Into::into" => "value.into()".to_owned(),
                    How::By(function) => format!("{function}(value)"),
                };
                let missing = self.missing(to, way, FIELDS + 4);
                Some(match (value.as_str(), missing.as_str()) {
                    ("value", "String::new()" | "false" | "0" | "0.0" | "Vec::new()") => {
                        format!("{ident}.unwrap_or_default()")
                    }
                    ("value", literal) if !literal.contains(['(', '{']) => {
                        format!("{ident}.unwrap_or({literal})")
                    }
                    _ => format!(
                        "match {ident} {{\n                Some(value) => {value},\n                \
                         None => {missing},\n            }}"
                    ),
                })
            }
            _ => None,
        }
    }

    /// How to convert `from` to `to`. `None` if there is no conversion between these types.
    fn how(&mut self, from: &Type, to: &Type, way: Way) -> Option<How> {
        match (from, to) {
            (Type::Plain(from), Type::Plain(to)) => {
                let [source, target] = self.sides(way);
                match (item(source, from), item(target, to)) {
                    (None, None) if from == to => Some(How::Same),
                    (None, None) if [*from, *to] == ["i32", "i64"] => {
                        Some(How::By("Into::into".to_owned()))
                    }
                    (Some(_), Some(_)) => {
                        let (spoke, hub) = match way {
                            Way::Up => (from, to),
                            Way::Down => (to, from),
                        };
                        self.pair(spoke, hub)
                            .then(|| How::By("Into::into".to_owned()))
                    }
                    _ => None,
                }
            }
            (Type::Option(from), Type::Option(to)) => self.how(from, to, way),
            (Type::List(from), Type::List(to)) => self.inner(from, to, way, "list"),
            (Type::Map(from), Type::Map(to)) => self.inner(from, to, way, "map"),
            _ => None,
        }
    }

    /// How to convert a list or a map. If the items need a conversion, `function` converts the whole.
    fn inner(&mut self, from: &Type, to: &Type, way: Way, function: &str) -> Option<How> {
        Some(match self.how(from, to, way)? {
            How::Same => How::Same,
            How::By(inner) if inner == "Into::into" => {
                self.lists |= function == "list";
                self.maps |= function == "map";
                How::By(function.to_owned())
            }
            // Lists and maps of lists or maps are not supported.
            How::By(_) => return None,
        })
    }

    /// The value of `field` if the source does not have this field. `indent` is the indentation of the field.
    fn missing(&mut self, field: &Field, way: Way, indent: usize) -> String {
        let [_, module] = way.modules();
        let [_, target] = self.sides(way);
        if let Some(name) = default_of(field) {
            let default = target.defaults.iter().find(|it| it.name == name);
            if let Some(default) = default {
                // The default of an enum is a path that begins with a type of the module.
                let is_own = item(target, &default.ty).is_some();
                let module = if is_own {
                    format!("{module}::")
                } else {
                    String::new()
                };
                return format!("{module}{}", default.value);
            }
        }
        self.first(&Type::parse(&field.ty), way, indent)
    }

    /// The first valid value of a type, such as an empty list.
    fn first(&mut self, ty: &Type, way: Way, indent: usize) -> String {
        let [_, module] = way.modules();
        let [_, target] = self.sides(way);
        let name = match ty {
            Type::Option(_) => return "None".to_owned(),
            Type::List(_) => return "Vec::new()".to_owned(),
            Type::Map(_) => {
                self.map = true;
                return "BTreeMap::new()".to_owned();
            }
            Type::Plain(name) => *name,
        };
        let Some(item) = item(target, name) else {
            return match name {
                "String" => "String::new()".to_owned(),
                "bool" => "false".to_owned(),
                "f64" => "0.0".to_owned(),
                "i32" | "i64" => "0".to_owned(),
                it if it.ends_with("IntOrString") => {
                    format!("{}::default()", Import::IntOrString.path())
                }
                it if it.ends_with("Value") => "serde_json::Value::Null".to_owned(),
                _ => format!(
                    "{}(k8s_openapi::jiff::Timestamp::UNIX_EPOCH)",
                    Import::Time.path()
                ),
            };
        };
        match &item.shape {
            _ if item.is_default => format!("{module}::{name}::default()"),
            Shape::Enum(variants) | Shape::OpenEnum(variants, _) => {
                let first = variants.first().map_or("", |(variant, _)| variant);
                format!("{module}::{name}::{first}")
            }
            Shape::Newtype(_) => format!("{module}::{name}::default()"),
            Shape::Struct(fields) => {
                let fields = fields.iter().map(|field| {
                    let value = self.missing(field, way, indent + 4);
                    format!("{}: {value}", field.ident)
                });
                let fields: Vec<_> = fields.collect();
                braces(&format!("{module}::{name}"), &fields, indent)
            }
        }
    }

    fn imports(&self) -> String {
        if self.maps || self.map {
            format!("use {};\n\n", Import::BTreeMap.path())
        } else {
            String::new()
        }
    }

    fn functions(&self) -> String {
        let mut text = String::new();
        if self.lists {
            text += "
fn list<A, B: From<A>>(values: Vec<A>) -> Vec<B> {
    values.into_iter().map(Into::into).collect()
}
";
        }
        if self.maps {
            text += "
fn map<A, B: From<A>>(values: BTreeMap<String, A>) -> BTreeMap<String, B> {
    let values = values.into_iter();
    values.map(|(key, value)| (key, value.into())).collect()
}
";
        }
        text
    }
}

/// The body of the conversion of an enum. Two variants correspond if they stand for the same value.
fn enumeration(source: &str, from: &[(String, String)], to: &[(String, String)]) -> String {
    let first = to.first().map_or("", |(variant, _)| variant.as_str());
    let arm = |(variant, value): &(String, String)| {
        let same = to.iter().find(|(_, it)| it == value);
        let target = same.map_or(first, |(variant, _)| variant);
        one_or_several(
            &format!("            {source}::{variant} => Self::{target},"),
            &format!(
                "            {source}::{variant} => {{\n                Self::{target}\n            }}"
            ),
        ) + "\n"
    };
    // The variants that the other version has come first.
    let is_there = |(_, value): &&(String, String)| to.iter().any(|(_, it)| it == value);
    let (same, other): (Vec<_>, Vec<_>) = from.iter().partition(is_there);
    let mut arms: String = same.into_iter().map(arm).collect();
    if !other.is_empty() {
        arms += "            // Without a value of the same name.\n";
        arms.extend(other.into_iter().map(arm));
    }
    format!("        match value {{\n{arms}        }}\n")
}

/// `name` with `fields` in braces, as a pattern or an expression at the indentation `indent`.
fn braces(name: &str, fields: &[String], indent: usize) -> String {
    let line = fields.join(", ");
    let pad = " ".repeat(indent);
    if fields.is_empty() {
        format!("{name} {{}}")
    } else if line.chars().count() <= SHORT && !line.contains('\n') {
        format!("{name} {{ {line} }}")
    } else {
        let fields = fields.iter().map(|it| format!("{pad}    {it},\n"));
        format!("{name} {{\n{}{pad}}}", fields.collect::<String>())
    }
}

/// Returns `line`, or `lines` if `line` is too long.
fn one_or_several(line: &str, lines: &str) -> String {
    let is_short = line.chars().count() <= LINE;
    [lines, line][usize::from(is_short)].to_owned()
}

/// Finds the type `name` of a types file.
fn item<'a>(lowered: &'a Lowered, name: &str) -> Option<&'a Item> {
    lowered.items.iter().find(|it| it.name == name)
}

/// The name of the function that returns the default of `field`.
fn default_of(field: &Field) -> Option<String> {
    let metas = field.attributes.iter().filter_map(|it| match it {
        Attribute::Meta(Meta::List(name, metas)) if name == "serde" => Some(metas),
        _ => None,
    });
    metas.flatten().find_map(|it| match it {
        Meta::Leaf(text) => {
            let name = text.strip_prefix("default = \"")?.strip_suffix('"')?;
            Some(name.to_owned())
        }
        Meta::List(..) => None,
    })
}
