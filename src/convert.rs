//! Generates the Rust code that converts between two versions of a kind, from the Rust types of both.
//!
//! The code copies each field and value that both versions have. A field that only the target has gets its default, or
//! the first valid value of its type. The operator keeps in annotations what a version cannot hold, so a round trip
//! loses nothing. Users edit a line if another value is better.
//!
//! The types belong to the user. If both versions have a field of the same type, but the code cannot take this type
//! apart, the field is converted by way of JSON, which each type of a custom resource has. So between equal versions,
//! the code compiles whatever the types are.

mod read;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, VecDeque};

use self::read::{Field, Part, Shape, Type, TypeItem, Types, Value, Variant, read};

/// rustfmt leaves the fields of a struct on one line up to this width.
const SHORT: usize = 18;
/// The indentation of the fields in the generated code.
const FIELDS: usize = 12;
/// The longest line of code.
const LINE: usize = 100;

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
    let types = file.text.and_then(|text| read(file.path, text, kind));
    let Some(types) = types else {
        return false;
    };
    let name = format!("{kind}Status");
    if types.status != Some(Type::Own(name.clone())) {
        return false;
    }
    let Some(TypeItem {
        is_default: true,
        shape: Shape::Struct(fields),
    }) = types.items.get(&name)
    else {
        return false;
    };
    let known = fields.iter().filter(|field| match field.ident.as_str() {
        "conditions" => matches!(field.part.ty, Type::List(_)),
        "observed_generation" => matches!(field.part.ty, Type::Option(_)),
        _ => false,
    });
    known.count() == 2
}

/// Generates the code that converts the types of `kind` in `spoke` to those in `hub`, and back.
pub fn convert(kind: &str, spoke: File, hub: File) -> Code {
    let types = |file: File| read(file.path, file.text?, kind);
    let sides = (types(spoke), types(hub));
    let (Some(spoke), Some(hub)) = &sides else {
        // The types are elsewhere: they have the usual names.
        let unseen = Types {
            spec: format!("{kind}Spec"),
            status: Some(Type::Own(format!("{kind}Status"))),
            ..Types::default()
        };
        return Converter::new(&unseen, &unseen).code();
    };
    Converter::new(spoke, hub).code()
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

/// How to convert a value to another type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// The value needs no conversion.
    Same,
    /// The type implements `From`.
    Into,
    /// The function `list` converts the value.
    List,
    /// The function `map` converts the value.
    Map,
}

impl How {
    /// The function that converts a value.
    fn function(self) -> &'static str {
        match self {
            Self::Same => "",
            Self::Into => "Into::into",
            Self::List => "list",
            Self::Map => "map",
        }
    }

    /// The expression that converts `value`.
    fn of(self, value: &str) -> String {
        match self {
            Self::Same => value.to_owned(),
            Self::Into => format!("{value}.into()"),
            Self::List => format!("list({value})"),
            Self::Map => format!("map({value})"),
        }
    }
}

/// A name that generated code uses and that its file must define or import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Used {
    BTreeMap,
    /// The function `list`.
    List,
    /// The function `map`.
    Map,
    /// The function `through_json`.
    Json,
}

/// The names of a type of the spoke and of a type of the hub.
type Pair<'a> = (&'a str, &'a str);

struct Converter<'a> {
    spoke: &'a Types,
    hub: &'a Types,
    /// The pairs that have a conversion, in the order of the file.
    written: Vec<Pair<'a>>,
    /// The pairs whose conversion is not written yet.
    open: VecDeque<Pair<'a>>,
    /// The pairs that cannot be converted field by field.
    closed: BTreeSet<Pair<'a>>,
    /// What the code uses.
    uses: BTreeSet<Used>,
}

impl<'a> Converter<'a> {
    fn new(spoke: &'a Types, hub: &'a Types) -> Self {
        let mut converter = Self {
            spoke,
            hub,
            written: Vec::new(),
            open: VecDeque::new(),
            closed: BTreeSet::new(),
            uses: BTreeSet::new(),
        };
        converter.close();
        converter
    }

    /// The types that the conversion begins with: those of the spec, and those of the status. A type that both versions
    /// share needs no conversion.
    fn roots(&self) -> Vec<Pair<'a>> {
        let pair = |spoke: &'a Type, hub: &'a Type| match (spoke, hub) {
            (Type::Own(spoke), Type::Own(hub)) => Some((spoke.as_str(), hub.as_str())),
            _ => None,
        };
        let status = self.spoke.status.as_ref().zip(self.hub.status.as_ref());
        let status = status.and_then(|(spoke, hub)| pair(spoke, hub));
        let spec = (self.spoke.spec.as_str(), self.hub.spec.as_str());
        [spec].into_iter().chain(status).collect()
    }

    /// Finds the pairs that cannot be converted field by field. A pair with a field of such a pair is closed as well,
    /// because `From` cannot fail, and a conversion by way of JSON can.
    fn close(&mut self) {
        let mut pairs: Vec<Pair> = self.roots();
        let mut at = 0;
        while let Some(pair) = pairs.get(at).copied() {
            for (spoke, hub) in self.common(pair) {
                if let (Some(spoke), Some(hub)) = (core(&spoke.ty), core(&hub.ty))
                    && !pairs.contains(&(spoke, hub))
                {
                    pairs.push((spoke, hub));
                }
            }
            at += 1;
        }
        loop {
            let is_closed = |pair: &&Pair<'a>| {
                let is_unlike = self.sort(**pair).is_none();
                let mut common = self.common(**pair).into_iter();
                is_unlike || common.any(|(spoke, hub)| self.needs_json(spoke, hub))
            };
            let open = pairs.iter().filter(|pair| !self.closed.contains(*pair));
            let closed: Vec<_> = open.filter(is_closed).copied().collect();
            if closed.is_empty() {
                return;
            }
            self.closed.extend(closed);
        }
    }

    /// The types of `pair`, if both are of the same sort: struct, enum or newtype.
    fn sort(&self, (spoke, hub): Pair) -> Option<(&'a TypeItem, &'a TypeItem)> {
        let (spoke, hub) = (self.spoke.items.get(spoke)?, self.hub.items.get(hub)?);
        let is_one_sort = matches!(
            (&spoke.shape, &hub.shape),
            (Shape::Struct(_), Shape::Struct(_))
                | (Shape::Enum(_), Shape::Enum(_))
                | (Shape::Newtype(_), Shape::Newtype(_))
        );
        is_one_sort.then_some((spoke, hub))
    }

    /// The parts that both types of `pair` have.
    fn common(&self, pair: Pair) -> Vec<(&'a Part, &'a Part)> {
        let Some((spoke, hub)) = self.sort(pair) else {
            return Vec::new();
        };
        match (&spoke.shape, &hub.shape) {
            (Shape::Struct(spoke), Shape::Struct(hub)) => {
                let part = |field: &'a Field| {
                    let there = hub.iter().find(|it| it.ident == field.ident)?;
                    Some((&field.part, &there.part))
                };
                spoke.iter().filter_map(part).collect()
            }
            (Shape::Enum(spoke), Shape::Enum(hub)) => {
                let part = |variant: &'a Variant| {
                    let there = hub.iter().find(|it| it.name == variant.name)?;
                    variant.part.as_ref().zip(there.part.as_ref())
                };
                spoke.iter().filter_map(part).collect()
            }
            (Shape::Newtype(spoke), Shape::Newtype(hub)) => vec![(&**spoke, &**hub)],
            _ => Vec::new(),
        }
    }

    /// Whether two parts are converted by way of JSON: nothing else converts them, but they look the same.
    fn needs_json(&self, spoke: &Part, hub: &Part) -> bool {
        spoke.written == hub.written && self.how(&spoke.ty, &hub.ty, Way::Up).is_none()
    }

    /// How to convert `from` to `to`. `None` if there is no conversion between these types.
    fn how(&self, from: &Type, to: &Type, way: Way) -> Option<How> {
        match (from, to) {
            (Type::Own(from), Type::Own(to)) => {
                let pair = match way {
                    Way::Up => (from.as_str(), to.as_str()),
                    Way::Down => (to.as_str(), from.as_str()),
                };
                let is_open = self.sort(pair).is_some() && !self.closed.contains(&pair);
                is_open.then_some(How::Into)
            }
            (Type::Own(own), Type::Other(other)) | (Type::Other(other), Type::Own(own)) => {
                // One version uses a type of the other one.
                let mut modules = [self.spoke, self.hub].into_iter().map(|it| &it.module);
                let is_same = modules.any(|it| *other == format!("{it}::{own}"));
                is_same.then_some(How::Same)
            }
            (Type::Other(from), Type::Other(to)) if from == to => Some(How::Same),
            (Type::Other(from), Type::Other(to)) => {
                (from == "i32" && to == "i64").then_some(How::Into)
            }
            (Type::Option(from), Type::Option(to)) => match (&**from, self.how(from, to, way)?) {
                (_, How::Same) => Some(How::Same),
                (Type::Option(_), _) => None,
                (_, how) => Some(how),
            },
            (Type::List(from), Type::List(to)) => self.inner(from, to, way, How::List),
            (Type::Map(from), Type::Map(to)) => self.inner(from, to, way, How::Map),
            _ => None,
        }
    }

    /// How to convert a list or a map. If the items need a conversion, `whole` converts all of them.
    fn inner(&self, from: &Type, to: &Type, way: Way, whole: How) -> Option<How> {
        match (from, self.how(from, to, way)?) {
            (_, How::Same) => Some(How::Same),
            (Type::Own(_) | Type::Other(_), How::Into) => Some(whole),
            _ => None,
        }
    }

    /// Notes what the code needs for a conversion.
    fn note(&mut self, how: How, from: &'a Type, to: &'a Type, way: Way) {
        match how {
            How::List => _ = self.uses.insert(Used::List),
            How::Map => _ = self.uses.insert(Used::Map),
            How::Same | How::Into => {}
        }
        if how != How::Same
            && let (Some(from), Some(to)) = (core(from), core(to))
        {
            self.write(match way {
                Way::Up => (from, to),
                Way::Down => (to, from),
            });
        }
    }

    /// Adds a conversion of `pair` to the file, unless it is there.
    fn write(&mut self, pair: Pair<'a>) {
        if !self.written.contains(&pair) {
            self.written.push(pair);
            self.open.push_back(pair);
        }
    }

    fn code(mut self) -> Code {
        for root in self.roots() {
            self.write(root);
        }
        let mut text = String::new();
        while let Some(pair) = self.open.pop_front() {
            for way in [Way::Up, Way::Down] {
                text += &self.implementation(pair, way);
            }
        }
        Code {
            text: self.imports() + text.trim_end() + "\n" + &self.functions(),
            has_status: self.spoke.status.is_some() && self.hub.status.is_some(),
        }
    }

    /// The types of the source and of the target.
    fn sides(&self, way: Way) -> [&'a Types; 2] {
        match way {
            Way::Up => [self.spoke, self.hub],
            Way::Down => [self.hub, self.spoke],
        }
    }

    fn implementation(&mut self, pair: Pair<'a>, way: Way) -> String {
        let names = match way {
            Way::Up => [pair.0, pair.1],
            Way::Down => [pair.1, pair.0],
        };
        let modules = way.modules();
        let source = format!("{}::{}", modules[0], names[0]);
        let target = format!("{}::{}", modules[1], names[1]);
        let sides = self.sides(way);
        let shape = |side: usize| sides[side].items.get(names[side]).map(|it| &it.shape);
        let (body, fails) = match (shape(0), shape(1)) {
            (Some(Shape::Struct(from)), Some(Shape::Struct(to))) => {
                self.structure(&source, from, to, way)
            }
            (Some(Shape::Enum(from)), Some(Shape::Enum(to))) if !self.closed.contains(&pair) => {
                (self.enumeration(&source, from, to, way), false)
            }
            (Some(Shape::Newtype(from)), Some(Shape::Newtype(to)))
                if !self.closed.contains(&pair) =>
            {
                let value = self.value("value.0", from, to, way, None);
                (
                    format!("        Self({})\n", value.unwrap_or_default()),
                    false,
                )
            }
            _ => {
                self.uses.insert(Used::Json);
                ("        through_json(&value)\n".to_owned(), true)
            }
        };
        let (name, function, result, error) = if fails {
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
            &format!("impl {name}<{source}> for {target} {{"),
            &format!("impl {name}<{source}>\n    for {target}\n{{"),
        );
        let function = one_or_several(
            &format!("    fn {function}(value: {source}) -> {result} {{"),
            &format!("    fn {function}(\n        value: {source},\n    ) -> {result} {{"),
        );
        format!("{head}\n{error}{function}\n{body}    }}\n}}\n\n")
    }

    /// The body of the conversion of a struct, and whether it can fail.
    fn structure(
        &mut self,
        source: &str,
        from: &'a [Field],
        to: &'a [Field],
        way: Way,
    ) -> (String, bool) {
        let mut given = Vec::new();
        let mut lacking = Vec::new();
        let mut used = BTreeSet::new();
        let mut fails = false;
        for field in to {
            let ident = &field.ident;
            let there = from.iter().find(|it| it.ident == *ident);
            let value = there.and_then(|there| {
                let value = self.value(ident, &there.part, &field.part, way, Some(field));
                let is_alike = there.part.written == field.part.written;
                value.or_else(|| {
                    is_alike.then(|| {
                        self.uses.insert(Used::Json);
                        fails = true;
                        format!("through_json(&{ident})?")
                    })
                })
            });
            if let Some(value) = value {
                used.insert(ident);
                given.push(if value == *ident {
                    value
                } else {
                    format!("{ident}: {value}")
                });
            } else {
                let value = self.missing(field, way, FIELDS);
                lacking.push(format!("{ident}: {value}"));
            }
        }
        let taken = from.iter().map(|field| {
            let rest = ["", ": _"][usize::from(!used.contains(&field.ident))];
            format!("{}{rest}", field.ident)
        });
        let taken: Vec<_> = taken.collect();
        if !lacking.is_empty() {
            let [from, _] = way.modules();
            lacking[0].insert_str(
                0,
                &format!("// Without a value in the {from}.\n            "),
            );
            given.append(&mut lacking);
        }
        let indent = FIELDS - 4;
        let (taken, given) = (
            braces(source, &taken, indent),
            braces("Self", &given, indent),
        );
        let given = if fails { format!("Ok({given})") } else { given };
        (
            format!("        let {taken} = value;\n        {given}\n"),
            fails,
        )
    }

    /// The body of the conversion of an enum. Two variants correspond if they stand for the same value.
    fn enumeration(
        &mut self,
        source: &str,
        from: &'a [Variant],
        to: &'a [Variant],
        way: Way,
    ) -> String {
        let (mut same, mut other) = (String::new(), String::new());
        for variant in from {
            let there = to.iter().find(|it| it.name == variant.name);
            let target = there.and_then(|there| match (&variant.part, &there.part) {
                (None, None) => Some(there.ident.clone()),
                (Some(from), Some(to)) => {
                    let value = self.value("value", from, to, way, None)?;
                    Some(format!("{}({value})", there.ident))
                }
                _ => None,
            });
            let pattern = match &variant.part {
                None => variant.ident.clone(),
                Some(_) if target.is_some() => format!("{}(value)", variant.ident),
                Some(_) => format!("{}(_)", variant.ident),
            };
            let arms = if target.is_some() {
                &mut same
            } else {
                &mut other
            };
            let target = target.unwrap_or_else(|| self.first_variant(to, way, FIELDS + 4));
            *arms += &one_or_several(
                &format!("            {source}::{pattern} => Self::{target},"),
                &format!(
                    "            {source}::{pattern} => {{\n                Self::{target}\n            }}"
                ),
            );
            *arms += "\n";
        }
        // The variants that the other version has come first.
        if !other.is_empty() {
            same += "            // Without a value of the same name.\n";
        }
        format!("        match value {{\n{same}{other}        }}\n")
    }

    /// The first variant of an enum, preferably one without a value.
    fn first_variant(&mut self, variants: &'a [Variant], way: Way, indent: usize) -> String {
        let mut units = variants.iter().filter(|it| it.part.is_none());
        match units.next().or(variants.first()) {
            Some(Variant {
                ident,
                part: Some(part),
                ..
            }) => format!("{ident}({})", self.first(&part.ty, way, indent)),
            Some(variant) => variant.ident.clone(),
            None => String::new(),
        }
    }

    /// The expression that converts `name`, a value of the part `from`, to the part `to`, if there is a conversion.
    /// `field` is the field that `to` belongs to.
    fn value(
        &mut self,
        name: &str,
        from: &'a Part,
        to: &'a Part,
        way: Way,
        field: Option<&'a Field>,
    ) -> Option<String> {
        let (source, target) = (&from.ty, &to.ty);
        if let Some(how) = self.how(source, target, way) {
            self.note(how, source, target, way);
            return Some(match source {
                Type::Option(_) if how != How::Same => format!("{name}.map({})", how.function()),
                _ => how.of(name),
            });
        }
        match (source, target) {
            (Type::Option(_), Type::Option(_)) => None,
            (_, Type::Option(inner)) => {
                let how = self.how(source, inner, way)?;
                self.note(how, source, inner, way);
                Some(format!("Some({})", how.of(name)))
            }
            (Type::Option(inner), _) => {
                let how = self.how(inner, target, way)?;
                self.note(how, inner, target, way);
                let value = how.of("value");
                let missing = self.missing(field?, way, FIELDS + 4);
                Some(match (value.as_str(), missing.as_str()) {
                    ("value", "String::new()" | "false" | "0" | "0.0" | "Vec::new()") => {
                        format!("{name}.unwrap_or_default()")
                    }
                    ("value", literal) if !literal.contains(['(', '{']) => {
                        format!("{name}.unwrap_or({literal})")
                    }
                    _ => format!(
                        "match {name} {{\n                Some(value) => {value},\n                \
                         None => {missing},\n            }}"
                    ),
                })
            }
            _ => None,
        }
    }

    /// The value of `field` if the source does not have this field. `indent` is the indentation of the field.
    fn missing(&mut self, field: &'a Field, way: Way, indent: usize) -> String {
        let [_, module] = way.modules();
        let [_, target] = self.sides(way);
        let default = field
            .default
            .as_ref()
            .and_then(|it| target.defaults.get(it));
        match default {
            Some(Value::Plain(value)) => value.clone(),
            Some(Value::Own(value)) => format!("{module}::{value}"),
            None => self.first(&field.part.ty, way, indent),
        }
    }

    /// The first valid value of a type, such as an empty list.
    fn first(&mut self, ty: &'a Type, way: Way, indent: usize) -> String {
        let [_, module] = way.modules();
        let [_, target] = self.sides(way);
        let name = match ty {
            Type::Option(_) => return "None".to_owned(),
            Type::List(_) => return "Vec::new()".to_owned(),
            Type::Map(_) => {
                self.uses.insert(Used::BTreeMap);
                return "BTreeMap::new()".to_owned();
            }
            Type::Own(name) => name,
            Type::Other(name) => {
                return match name.as_str() {
                    "String" => "String::new()".to_owned(),
                    "bool" => "false".to_owned(),
                    "f32" | "f64" => "0.0".to_owned(),
                    "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" => "0".to_owned(),
                    "serde_json::Value" => "serde_json::Value::Null".to_owned(),
                    name if name.ends_with("::meta::v1::Time") => {
                        format!("{name}(k8s_openapi::jiff::Timestamp::UNIX_EPOCH)")
                    }
                    name if !name.contains('<') && name.contains("::") => {
                        format!("{name}::default()")
                    }
                    _ => "Default::default()".to_owned(),
                };
            }
            Type::Unclear => return "Default::default()".to_owned(),
        };
        let Some(item) = target.items.get(name) else {
            return "Default::default()".to_owned();
        };
        match &item.shape {
            Shape::Closed => "Default::default()".to_owned(),
            _ if item.is_default => format!("{module}::{name}::default()"),
            Shape::Enum(variants) => {
                let first = self.first_variant(variants, way, indent);
                format!("{module}::{name}::{first}")
            }
            Shape::Newtype(part) => {
                format!("{module}::{name}({})", self.first(&part.ty, way, indent))
            }
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
        let mut text = String::new();
        if self.uses.contains(&Used::Map) || self.uses.contains(&Used::BTreeMap) {
            text += "use std::collections::BTreeMap;\n\n";
        }
        if self.uses.contains(&Used::Json) {
            text += "use serde::{Serialize, de::DeserializeOwned};\n\n";
        }
        text
    }

    fn functions(&self) -> String {
        let mut text = String::new();
        if self.uses.contains(&Used::List) {
            text += "
fn list<A, B: From<A>>(values: Vec<A>) -> Vec<B> {
    values.into_iter().map(Into::into).collect()
}
";
        }
        if self.uses.contains(&Used::Map) {
            text += "
fn map<A, B: From<A>>(values: BTreeMap<String, A>) -> BTreeMap<String, B> {
    let values = values.into_iter();
    values.map(|(key, value)| (key, value.into())).collect()
}
";
        }
        if self.uses.contains(&Used::Json) {
            text += "
/// Converts between types that rscaffold could not take apart. This fails if a value of one type is not a value of the
/// other: once the types differ, write the conversion instead.
fn through_json<A: Serialize, B: DeserializeOwned>(value: &A) -> Result<B, serde_json::Error> {
    serde_json::from_value(serde_json::to_value(value)?)
}
";
        }
        text
    }
}

/// The type of the file in `ty`, such as the items of a list.
fn core(ty: &Type) -> Option<&str> {
    match ty {
        Type::Option(inner) | Type::List(inner) | Type::Map(inner) => core(inner),
        Type::Own(name) => Some(name),
        Type::Other(_) | Type::Unclear => None,
    }
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
