//! The functions that a CEL rule can call, as an API server declares them.

use super::cel_type::Type;

/// The forms of functions: name, types of the arguments, and type of the result. The groups are libraries and types of
/// values.
#[rustfmt::skip] // Words in rows.
const FORMS: [(&str, &[&str]); 10] = [
    ("", &[
        "bool(bool) bool", "bool(text) bool", "bytes(bytes) bytes", "bytes(text) bytes",
        "cidr(text) any", "double(double) double", "double(int) double", "double(text) double",
        "double(uint) double", "duration(duration) duration", "duration(int) duration",
        "duration(text) duration", "dyn(any) dyn", "int(double) int", "int(duration) int",
        "int(int) int", "int(text) int", "int(time) int", "int(uint) int", "ip(text) any",
        "isCIDR(text) bool", "isIP(text) bool", "isQuantity(text) bool", "isSemver(text) bool",
        "isSemver(text, bool) bool", "isURL(text) bool", "matches(text, text) bool",
        "quantity(text) any", "semver(text) any", "semver(text, bool) any", "sign(any) int",
        "size(bytes) int", "size(list) int", "size(map) int", "size(text) int", "string(bool) text",
        "string(bytes) text", "string(double) text", "string(duration) text", "string(int) text",
        "string(text) text", "string(time) text", "string(uint) text", "timestamp(int) time",
        "timestamp(text) time", "timestamp(time) time", "type(any) any", "uint(double) uint",
        "uint(int) uint", "uint(text) uint", "uint(uint) uint", "url(text) any",
    ]),
    ("bytes", &["size() int"]),
    ("ip", &["isCanonical(text) bool"]),
    ("list", &[
        "distinct() list", "first() any", "flatten() list", "flatten(int) list", "indexOf(any) int",
        "isSorted() bool", "join() text", "join(text) text", "last() any", "lastIndexOf(any) int",
        "max() any", "min() any", "reverse() list", "size() int", "slice(int, int) list",
        "sort() list", "sum() any", "unwrapOpt() list",
    ]),
    ("lists", &["range(int) list"]),
    ("map", &["size() int"]),
    ("optional", &[
        "none() optional", "of(any) optional", "ofNonZeroValue(any) optional", "unwrap(list) list",
    ]),
    ("sets", &[
        "contains(list, list) bool", "equivalent(list, list) bool", "intersects(list, list) bool",
    ]),
    ("strings", &["quote(text) text"]),
    ("text", &[
        "charAt(int) text", "contains(text) bool", "endsWith(text) bool", "find(text) text",
        "findAll(text) list", "findAll(text, int) list", "format(list) text", "indexOf(text) int",
        "indexOf(text, int) int", "lastIndexOf(text) int", "lastIndexOf(text, int) int",
        "lowerAscii() text", "matches(text) bool", "replace(text, text) text",
        "replace(text, text, int) text", "size() int", "split(text) list", "split(text, int) list",
        "startsWith(text) bool", "substring(int) text", "substring(int, int) text", "trim() text",
        "upperAscii() text",
    ]),
];

/// The functions of addresses, quantities, versions and formats, by their results.
#[rustfmt::skip] // Words in rows.
const OF_OTHERS: [(&str, &[&str]); 6] = [
    ("any", &["add", "getQuery", "ip", "masked", "or", "orValue", "sub", "value"]),
    ("double", &["asApproximateFloat"]),
    ("int", &[
        "asInteger", "compareTo", "family", "major", "minor", "patch", "prefixLength",
    ]),
    ("bool", &[
        "containsCIDR", "containsIP", "hasValue", "isGlobalUnicast", "isGreaterThan", "isInteger",
        "isLessThan", "isLinkLocalMulticast", "isLinkLocalUnicast", "isLoopback", "isUnspecified",
    ]),
    ("text", &["getEscapedPath", "getHost", "getHostname", "getPort", "getScheme"]),
    ("optional", &["validate"]),
];

/// The parts of times and durations that a function such as `getDate` returns, as an integer.
const PARTS: [&str; 10] = [
    "Date",
    "DayOfMonth",
    "DayOfWeek",
    "DayOfYear",
    "FullYear",
    "Hours",
    "Milliseconds",
    "Minutes",
    "Month",
    "Seconds",
];

/// Names before the dot that are no values.
pub const LIBRARIES: [&str; 6] = ["format", "ip", "lists", "optional", "sets", "strings"];

/// A form of a function.
struct Form {
    name: &'static str,
    parameters: Vec<Type<'static>>,
    result: Type<'static>,
}

impl Form {
    /// Reads `name(types) result`.
    fn read(text: &'static str) -> Option<Self> {
        let (head, result) = text.rsplit_once(") ")?;
        let (name, parameters) = head.split_once('(')?;
        let parameters = parameters.split(", ").filter(|name| !name.is_empty());
        Some(Self {
            name,
            parameters: parameters.map(Type::named).collect(),
            result: Type::named(result),
        })
    }

    fn takes(&self, arguments: &[Type]) -> bool {
        let mut pairs = self.parameters.iter().zip(arguments);
        // The items of two lists have one type.
        let mut parameters = self.parameters.iter();
        let are_lists = parameters.all(|parameter| matches!(parameter, Type::List(_)));
        self.parameters.len() == arguments.len()
            && pairs.all(|(parameter, argument)| parameter.takes(argument))
            && (!are_lists || arguments.windows(2).all(|pair| pair[0].takes(&pair[1])))
    }
}

/// The result of `name(arguments)` of a list with these items.
pub fn call_of_list(items: &Type, name: &str, arguments: &[Type]) -> Result<Type<'static>, String> {
    let is_taken = match name {
        "indexOf" | "lastIndexOf" => arguments.iter().all(|argument| items.takes(argument)),
        "isSorted" | "max" | "min" => items.is_ordered(),
        "sum" => items.is_number() || matches!(items, Type::Any | Type::Dyn | Type::Duration),
        _ => true,
    };
    if !is_taken {
        return Err(format!(
            "`list.{name}` does not take a list of the type {items}"
        ));
    }
    call("list", name, arguments)
}

/// The result of `group.name(arguments)`. `group` is a library, the type of a value, or empty.
pub fn call(group: &str, name: &str, arguments: &[Type]) -> Result<Type<'static>, String> {
    if group == "format" {
        return Ok(Type::Any);
    }
    let is_open = matches!(group, "any" | "dyn");
    let mut forms = Vec::new();
    for (known, texts) in FORMS {
        let is_of_values = !known.is_empty() && !LIBRARIES.contains(&known);
        if known == group || is_open && is_of_values {
            forms.extend(texts.iter().copied().filter_map(Form::read));
        }
    }
    forms.retain(|form| form.name == name);
    if let Some(form) = forms.iter().find(|form| form.takes(arguments)) {
        return Ok(form.result.clone());
    }
    let part = name.strip_prefix("get");
    if (is_open || matches!(group, "duration" | "time"))
        && part.is_some_and(|part| PARTS.contains(&part))
    {
        return Ok(Type::Int);
    }
    let mut others = OF_OTHERS.iter();
    if is_open && let Some((result, _)) = others.find(|(_, known)| known.contains(&name)) {
        return Ok(Type::named(result));
    }
    let shown = match group {
        "" => name.to_owned(),
        "text" => format!("string.{name}"),
        "time" => format!("timestamp.{name}"),
        group => format!("{group}.{name}"),
    };
    if forms.is_empty() {
        return Err(format!("there is no function `{shown}`"));
    }
    let types: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    Err(format!("`{shown}` does not take ({})", types.join(", ")))
}
