//! Reads a CEL rule, and follows the types of its values. What is not known here counts as right.

use super::{
    cel,
    cel_type::{OF_RESOURCES, Type, has_type},
    functions,
    keys::{EMBEDDED, Object, fields, is_true},
    rule::{LOOPS, OLD_SELF, Token, tokens},
};

/// The binary operators, those that bind least first.
const OPERATORS: [&[&str]; 5] = [
    &["||"],
    &["&&"],
    &["<", "<=", ">", ">=", "==", "!=", "in"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// Names of types, which are values.
const TYPES: [&str; 10] = [
    "bool",
    "bytes",
    "double",
    "google",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "uint",
];

/// Reads the tokens of a rule from left to right.
struct Reader<'a, 't> {
    tokens: &'t [Token<'t>],
    /// The variables, and their types.
    variables: Vec<(&'t str, Type<'a>)>,
    /// Whether this is inside of the arguments of `format`, whose lists and maps may have values of several types.
    is_in_format: bool,
}

type Result<T> = std::result::Result<T, String>;

/// The environment of a rule: what its variables stand for.
pub struct Environment<'a> {
    /// The schema of the value.
    pub schema: &'a Object,
    /// Whether the value also has the fields of all resources.
    pub is_resource: bool,
    /// Whether the value before an update may be missing.
    pub has_optional_old: bool,
}

/// What is wrong with an expression whose result must be of the type `expected`.
pub fn check(expression: &str, environment: &Environment, expected: &Type) -> Result<()> {
    let own = Type::of(environment.schema, environment.is_resource);
    let old = if environment.has_optional_old {
        optional(own.clone())
    } else {
        own.clone()
    };
    let tokens = tokens(expression)?;
    let mut reader = Reader {
        tokens: &tokens,
        variables: vec![("self", own), (OLD_SELF, old)],
        is_in_format: false,
    };
    let result = reader.expression()?;
    match reader.tokens.first() {
        Some(token) => Err(unexpected(token)),
        None if result == Type::Dyn || !expected.takes(&result) => Err(format!(
            "its result is of the type {result}, and not {expected}"
        )),
        None => Ok(()),
    }
}

fn unexpected(token: &Token) -> String {
    let text = match token {
        Token::Name(text) | Token::Sign(text) => text,
        Token::Value(_) => "a value",
    };
    format!("`{text}` is not expected there")
}

impl<'a, 't> Reader<'a, 't> {
    fn next(&mut self) -> Result<&'t Token<'t>> {
        let (first, rest) = self.tokens.split_first().ok_or("it is not complete")?;
        self.tokens = rest;
        Ok(first)
    }

    fn name_of_field(&mut self) -> Result<&'t str> {
        match self.next()? {
            token @ Token::Name("in" | "true" | "false" | "null") => Err(unexpected(token)),
            Token::Name(name) => Ok(name),
            token => Err(unexpected(token)),
        }
    }

    /// Whether the next token is `sign`, which is read then.
    fn reads(&mut self, sign: &str) -> bool {
        let is_next = self.tokens.first() == Some(&Token::Sign(sign));
        self.tokens = &self.tokens[usize::from(is_next)..];
        is_next
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        match self.next()? {
            Token::Sign(next) if *next == sign => Ok(()),
            token => Err(unexpected(token)),
        }
    }

    fn expression(&mut self) -> Result<Type<'a>> {
        let condition = self.binary(0)?;
        if !self.reads("?") {
            return Ok(condition);
        }
        needs("?", &Type::Bool, &condition)?;
        let one = self.binary(0)?;
        self.expect(":")?;
        let other = self.expression()?;
        if !one.takes(&other) {
            return Err(format!("`?` has results of two types: {one} and {other}"));
        }
        Ok(if one == Type::Any || other == Type::Dyn {
            other
        } else {
            one
        })
    }

    fn binary(&mut self, level: usize) -> Result<Type<'a>> {
        let Some(operators) = OPERATORS.get(level) else {
            return self.unary();
        };
        let mut left = self.binary(level + 1)?;
        while let Some(Token::Sign(sign) | Token::Name(sign)) = self.tokens.first()
            && operators.contains(sign)
        {
            self.tokens = &self.tokens[1..];
            let right = self.binary(level + 1)?;
            left = operate(sign, left, &right)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Type<'a>> {
        if self.reads("!") {
            let value = self.unary()?;
            needs("!", &Type::Bool, &value)?;
            return Ok(Type::Bool);
        }
        if self.reads("-") {
            let value = self.unary()?;
            return match value {
                Type::Any | Type::Double | Type::Dyn | Type::Int => Ok(value),
                _ => Err(format!("`-` does not take a value of the type {value}")),
            };
        }
        self.member()
    }

    fn member(&mut self) -> Result<Type<'a>> {
        let start = self.tokens;
        let mut value = self.primary()?;
        loop {
            let path = &start[..start.len() - self.tokens.len()];
            if self.reads(".") {
                let name = self.name_of_field()?;
                value = if self.reads("(") {
                    self.method(&value, name)?
                } else {
                    select(&value, name, path)?
                };
            } else if self.reads(".?") {
                let name = self.name_of_field()?;
                value = optional(select(&value, name, path)?);
            } else if self.reads("[") {
                let is_optional = self.reads("?");
                let index = self.expression()?;
                self.expect("]")?;
                let found = at(&value, &index)?;
                value = if is_optional { optional(found) } else { found };
            } else if value == Type::Any && self.reads("{") {
                self.entries()?;
            } else {
                return Ok(value);
            }
        }
    }

    fn primary(&mut self) -> Result<Type<'a>> {
        let token = self.next()?;
        match token {
            Token::Value(type_) => Ok(type_.clone()),
            Token::Sign("(") => {
                let value = self.expression()?;
                self.expect(")")?;
                Ok(value)
            }
            Token::Sign("[") => {
                let items = self.arguments("]")?;
                Ok(Type::List(Box::new(self.same(&items)?)))
            }
            Token::Sign("{") => {
                let (keys, values) = self.entries()?;
                let (key, value) = (self.same(&keys)?, self.same(&values)?);
                Ok(Type::Map(Box::new(key), Box::new(value)))
            }
            Token::Name("true" | "false") => Ok(Type::Bool),
            Token::Name("null") => Ok(Type::Null),
            Token::Name("has") if self.reads("(") => {
                let start = self.tokens;
                self.member()?;
                let path = &start[..start.len() - self.tokens.len()];
                if !matches!(path, [.., Token::Sign("."), Token::Name(_)]) {
                    return Err("`has` needs a field, as in `has(self.name)`".to_owned());
                }
                self.expect(")")?;
                Ok(Type::Bool)
            }
            Token::Name(name) => self.name(name),
            Token::Sign(_) => Err(unexpected(token)),
        }
    }

    /// A variable, a type, or the call of a function. The name is read already.
    fn name(&mut self, name: &'t str) -> Result<Type<'a>> {
        if let [
            Token::Sign("."),
            Token::Name(function),
            Token::Sign("("),
            rest @ ..,
        ] = self.tokens
            && functions::LIBRARIES.contains(&name)
        {
            self.tokens = rest;
            let arguments = self.arguments(")")?;
            return functions::call(name, function, &arguments);
        }
        if self.reads("(") {
            let arguments = self.arguments(")")?;
            return functions::call("", name, &arguments);
        }
        let mut variables = self.variables.iter().rev();
        if let Some((_, type_)) = variables.find(|(known, _)| *known == name) {
            return Ok(type_.clone());
        }
        if TYPES.contains(&name) {
            return Ok(Type::Any);
        }
        Err(format!(
            "`{name}` is no variable: the value is `self`, and that before an update `oldSelf`"
        ))
    }

    fn method(&mut self, value: &Type<'a>, name: &str) -> Result<Type<'a>> {
        if !LOOPS.contains(&name) && !matches!(name, "optFlatMap" | "optMap") {
            let was_in_format = self.is_in_format;
            self.is_in_format |= name == "format";
            let arguments = self.arguments(")")?;
            self.is_in_format = was_in_format;
            return match value {
                Type::Optional(inner) => of_optional(inner, name, &arguments),
                Type::List(items) => functions::call_of_list(items, name, &arguments),
                _ => functions::call(value.group(), name, &arguments),
            };
        }
        let (key, item) = match value {
            Type::Optional(item) if name.starts_with("opt") => (Type::Any, (**item).clone()),
            Type::List(item) => (Type::Int, (**item).clone()),
            Type::Map(key, item) => ((**key).clone(), (**item).clone()),
            Type::Any | Type::Dyn => (Type::Any, Type::Any),
            _ => {
                return Err(format!(
                    "`{name}` does not take a value of the type {value}"
                ));
            }
        };
        let before = self.variables.len();
        let most = if matches!(name, "filter" | "map" | "optFlatMap" | "optMap" | "sortBy") {
            1
        } else {
            2
        };
        while let [Token::Name(variable), Token::Sign(","), rest @ ..] = self.tokens
            && self.variables.len() - before < most
        {
            self.tokens = rest;
            self.variables.push((variable, Type::Any));
        }
        match &mut self.variables[before..] {
            [] => return Err(format!("`{name}` needs the name of a variable")),
            [(_, one)] => {
                *one = if matches!(value, Type::Map(..)) {
                    key.clone()
                } else {
                    item
                }
            }
            [(_, one), (_, other), ..] => (*one, *other) = (key.clone(), item),
        }
        let arguments = self.arguments(")")?;
        self.variables.truncate(before);
        match (name, &arguments[..]) {
            ("all" | "exists" | "existsOne" | "exists_one", [condition]) => {
                needs(name, &Type::Bool, condition)?;
                Ok(Type::Bool)
            }
            ("filter", [condition]) => {
                needs(name, &Type::Bool, condition)?;
                Ok(match value {
                    Type::Map(..) => Type::List(Box::new(key)),
                    _ => value.clone(),
                })
            }
            ("map", [result] | [_, result]) => Ok(Type::List(Box::new(result.clone()))),
            ("sortBy", [key]) if key.is_ordered() && !matches!(value, Type::Map(..)) => {
                Ok(value.clone())
            }
            ("sortBy", _) => Err("`sortBy` needs a list, and keys that have an order".to_owned()),
            ("optMap", [result]) => Ok(optional(result.clone())),
            ("optFlatMap", [result]) => Ok(result.clone()),
            (_, [_] | [_, _]) => Ok(Type::Any),
            _ => Err(format!("`{name}` has the wrong number of arguments")),
        }
    }

    /// The type of the items of a list, which is the same for all.
    fn same(&self, items: &[Type<'a>]) -> Result<Type<'a>> {
        let Some(first) = items.first() else {
            return Ok(Type::Any);
        };
        match items.iter().find(|item| !first.is_same(item)) {
            Some(_) if self.is_in_format => Ok(Type::Any),
            Some(other) => Err(format!(
                "a list or map has values of two types: {first} and {other}"
            )),
            None => Ok(first.clone()),
        }
    }

    /// The arguments of a call, or the items of a list, until `end`. Only a list may end with a comma.
    fn arguments(&mut self, end: &str) -> Result<Vec<Type<'a>>> {
        let mut all = Vec::new();
        while !self.reads(end) {
            if end == "]" {
                self.reads("?");
            }
            all.push(self.expression()?);
            if self.reads(end) {
                break;
            }
            self.expect(",")?;
            if end == ")" && self.tokens.first() == Some(&Token::Sign(")")) {
                return Err(unexpected(&Token::Sign(")")));
            }
        }
        Ok(all)
    }

    /// The keys and values of a map, until its brace. The keys of a message are names.
    fn entries(&mut self) -> Result<(Vec<Type<'a>>, Vec<Type<'a>>)> {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        while !self.reads("}") {
            self.reads("?");
            if let [Token::Name(_), Token::Sign(":"), ..] = self.tokens {
                self.tokens = &self.tokens[1..];
            } else {
                keys.push(self.expression()?);
            }
            self.expect(":")?;
            values.push(self.expression()?);
            if self.reads("}") {
                break;
            }
            self.expect(",")?;
        }
        Ok((keys, values))
    }
}

/// A value that may be missing.
fn optional(value: Type) -> Type {
    match value {
        Type::Optional(_) => value,
        _ => Type::Optional(Box::new(value)),
    }
}

/// The result of a function of an optional value.
fn of_optional<'a>(inner: &Type<'a>, name: &str, arguments: &[Type<'a>]) -> Result<Type<'a>> {
    match (name, arguments) {
        ("hasValue", []) => Ok(Type::Bool),
        ("value", []) => Ok(inner.clone()),
        ("orValue", [other]) if inner.takes(other) => Ok(if *inner == Type::Any {
            other.clone()
        } else {
            inner.clone()
        }),
        ("or", [Type::Optional(other)]) if inner.takes(other) => Ok(optional(inner.clone())),
        ("or" | "orValue", [other]) => Err(format!(
            "`{name}` of an optional {inner} does not take a value of the type {other}"
        )),
        _ => Err(format!(
            "there is no function `{name}` of an optional value"
        )),
    }
}

fn needs(operator: &str, needed: &Type, found: &Type) -> Result<()> {
    if needed.takes(found) {
        return Ok(());
    }
    Err(format!(
        "`{operator}` needs a {needed}, and not a value of the type {found}"
    ))
}

/// The field `name` of `value`, which `path` reads.
fn select<'a>(value: &Type<'a>, name: &str, path: &[Token]) -> Result<Type<'a>> {
    let (schema, is_resource) = match value {
        Type::Any | Type::Dyn => return Ok(value.clone()),
        Type::Metadata if matches!(name, "name" | "generateName") => return Ok(Type::Text),
        Type::Optional(inner) => return Ok(optional(select(inner, name, path)?)),
        Type::Map(key, item) if Type::Text.takes(key) => return Ok((**item).clone()),
        Type::Object(schema, is_resource) => (*schema, *is_resource),
        _ => return Err(format!("a value of the type {value} has no field `{name}`")),
    };
    if is_resource && OF_RESOURCES.contains(&name) {
        return Ok(if name == "metadata" {
            Type::Metadata
        } else {
            Type::Text
        });
    }
    let mut all = fields(schema).into_iter().flatten();
    let field = all.find(|(key, _)| cel::field(key).as_deref() == Some(name));
    let field = field.and_then(|(_, field)| field.as_object());
    match field.filter(|field| has_type(field)) {
        Some(field) => Ok(Type::of(field, is_true(field, EMBEDDED))),
        None => {
            let path: String = path.iter().map(ToString::to_string).collect();
            Err(format!(
                "`{path}` has no field `{name}` that a rule can read"
            ))
        }
    }
}

/// The value at `index`.
fn at<'a>(value: &Type<'a>, index: &Type<'a>) -> Result<Type<'a>> {
    match value {
        Type::Any | Type::Dyn => Ok(value.clone()),
        Type::Optional(inner) => Ok(optional(at(inner, index)?)),
        Type::List(item) if Type::Int.takes(index) => Ok((**item).clone()),
        Type::Map(key, item) if key.takes(index) => Ok((**item).clone()),
        _ => Err(format!(
            "a value of the type {value} has no index of the type {index}"
        )),
    }
}

/// The result of a binary operator.
fn operate<'a>(sign: &str, left: Type<'a>, right: &Type<'a>) -> Result<Type<'a>> {
    use Type::{Any, Bool, Duration, Dyn, Time};
    let are_same = left.takes(right);
    let are_numbers = left.is_number() && right.is_number();
    let result = match (sign, &left, right) {
        ("&&" | "||", ..) if Bool.takes(&left) && Bool.takes(right) => Bool,
        ("==" | "!=", ..) if are_same => Bool,
        ("<" | "<=" | ">" | ">=", ..)
            if left.is_ordered() && right.is_ordered() && (are_same || are_numbers) =>
        {
            Bool
        }
        ("in", _, Any | Dyn) => Bool,
        ("in", _, Type::List(item) | Type::Map(item, _)) if item.takes(&left) => Bool,
        ("+" | "-", Duration, Duration) => Duration,
        ("-", Time, Time) => Duration,
        ("+" | "-", Time, Duration) | ("+", Duration, Time) => Time,
        ("+", Type::Bytes | Type::Text | Type::List(_), _) if are_same => left.clone(),
        ("+" | "-" | "*" | "/", ..) if are_same && left.is_number() => left.clone(),
        ("%", Type::Int | Type::Uint, _) if are_same => left.clone(),
        ("+" | "-" | "*" | "/" | "%", Any | Dyn, _)
        | ("+" | "-" | "*" | "/" | "%", _, Any | Dyn) => Any,
        _ => {
            return Err(format!(
                "`{sign}` does not take values of the types {left} and {right}"
            ));
        }
    };
    Ok(result)
}
