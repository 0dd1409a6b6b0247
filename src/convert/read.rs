//! Reads the Rust types of one version of a kind.
//!
//! A user writes these types, so they can be any Rust. What this reader does not understand is [`Type::Unclear`] or
//! [`Shape::Closed`]: the conversion then needs no knowledge of it.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{
    Attribute, Expr, ExprLit, Fields, GenericArgument, Item, Lit, Meta, Path, PathArguments, Stmt,
    Token, UnOp, UseTree, Visibility, punctuated::Punctuated,
};

/// The largest depth of code that is read. The parser is recursive, and a stack that overflows ends the program.
const DEPTH: usize = 500;
/// The largest number of aliases behind an alias.
const ALIASES: usize = 10;

/// The types of one version of a kind.
#[derive(Debug, Default)]
pub(super) struct Types {
    /// The name of the type of the spec.
    pub spec: String,
    /// The type of the status.
    pub status: Option<Type>,
    /// The types of the file.
    pub items: BTreeMap<String, TypeItem>,
    /// The functions of the file that return a simple value, with this value.
    pub defaults: BTreeMap<String, Value>,
    /// The path of the module that exports the types, such as `crate::api::shop::v1`.
    pub module: String,
}

/// A type of the file.
#[derive(Debug)]
pub(super) struct TypeItem {
    /// Whether the type implements `Default`.
    pub is_default: bool,
    pub shape: Shape,
}

/// What a type consists of.
#[derive(Debug)]
pub(super) enum Shape {
    Struct(Vec<Field>),
    Enum(Vec<Variant>),
    Newtype(Box<Part>),
    /// A type that other modules cannot take apart, or that the reader does not understand.
    Closed,
}

/// A field of a struct.
#[derive(Debug)]
pub(super) struct Field {
    pub ident: String,
    pub part: Part,
    /// The name of the function that returns the default.
    pub default: Option<String>,
}

/// A variant of an enum, which contains nothing or one value.
#[derive(Debug)]
pub(super) struct Variant {
    pub ident: String,
    /// The name in JSON, unless a rule for the whole enum changes it.
    pub name: String,
    pub part: Option<Part>,
}

/// A part of a type: a field, or the content of a variant.
#[derive(Debug)]
pub(super) struct Part {
    pub ty: Type,
    /// The type as it is in the file.
    pub written: syn::Type,
}

/// The type of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Type {
    Option(Box<Self>),
    List(Box<Self>),
    /// A `BTreeMap` whose keys are of the type `String`.
    Map(Box<Self>),
    /// A type of the file.
    Own(String),
    /// A type of another file or crate, with its full path. Two of them are the same if their paths are equal.
    Other(String),
    Unclear,
}

/// A simple value.
#[derive(Debug)]
pub(super) enum Value {
    /// Rust code that needs no import.
    Plain(String),
    /// A path that begins with a type of the file.
    Own(String),
}

/// Reads the types of `kind` from `text`, the text of the file at `path`. Returns `None` if this is not Rust, or if the
/// kind is not there.
pub(super) fn read(path: &str, text: &str, kind: &str) -> Option<Types> {
    let tokens: TokenStream = text.parse().ok()?;
    if depth(tokens.clone(), DEPTH)? > DEPTH {
        return None;
    }
    let file: syn::File = syn::parse2(tokens).ok()?;
    let module = path.strip_prefix("src/")?.strip_suffix(".rs")?;
    let module = format!("crate::{}", module.replace('/', "::"));
    let scope = Scope::new(&file.items, module)?;
    let mut types = Types {
        module: scope.version.clone(),
        ..Types::default()
    };
    let mut with_default = BTreeSet::new();
    for item in &file.items {
        match item {
            Item::Struct(it) => {
                if let Some(settings) = settings_of(&it.attrs, kind) {
                    types.spec = it.ident.to_string();
                    types.status = status(&settings, &scope);
                }
                let is_open = is_open(&it.vis, &it.attrs) && it.generics.params.is_empty();
                types.items.insert(
                    it.ident.to_string(),
                    TypeItem {
                        is_default: derives_default(&it.attrs),
                        shape: structure(&it.fields, &scope)
                            .filter(|_| is_open)
                            .unwrap_or(Shape::Closed),
                    },
                );
            }
            Item::Enum(it) => {
                let is_open = is_open(&it.vis, &it.attrs) && it.generics.params.is_empty();
                let variants = it
                    .variants
                    .iter()
                    .map(|variant| self::variant(variant, &scope));
                let variants: Option<Vec<_>> = variants.collect();
                types.items.insert(
                    it.ident.to_string(),
                    TypeItem {
                        is_default: derives_default(&it.attrs),
                        shape: variants
                            .filter(|variants| is_open && !variants.is_empty())
                            .map_or(Shape::Closed, Shape::Enum),
                    },
                );
            }
            Item::Impl(it) => {
                let of = it
                    .trait_
                    .as_ref()
                    .and_then(|(_, path, _)| path.segments.last());
                if of.is_some_and(|it| it.ident == "Default")
                    && let syn::Type::Path(path) = &*it.self_ty
                    && let Some(ident) = path.path.get_ident()
                {
                    with_default.insert(ident.to_string());
                }
            }
            Item::Fn(it) => {
                if let [Stmt::Expr(value, None)] = it.block.stmts.as_slice()
                    && let Some(value) = simple(value, &scope)
                {
                    types.defaults.insert(it.sig.ident.to_string(), value);
                }
            }
            _ => {}
        }
    }
    for (name, item) in &mut types.items {
        item.is_default |= with_default.contains(name);
    }
    types.items.contains_key(&types.spec).then_some(types)
}

/// The depth to which a recursive parser may go: the number of tokens without a separator, at all levels together.
/// Returns `None` if the groups alone are deeper than `most`.
fn depth(tokens: TokenStream, most: usize) -> Option<usize> {
    let most = most.checked_sub(1)?;
    let (mut deepest, mut length, mut inner) = (0, 0, 0);
    for token in tokens {
        let is_end = match &token {
            TokenTree::Punct(it) => matches!(it.as_char(), ',' | ';'),
            TokenTree::Group(it) => it.delimiter() == Delimiter::Brace,
            _ => false,
        };
        length += 1;
        if let TokenTree::Group(group) = token {
            inner = depth(group.stream(), most)?.max(inner);
        }
        deepest = deepest.max(length + inner);
        if is_end {
            (length, inner) = (0, 0);
        }
    }
    Some(deepest)
}

/// The names that a file uses.
struct Scope<'a> {
    /// The path of the file's own module.
    module: String,
    /// The path of the module of the version, which exports the types.
    version: String,
    /// The structs and enums of the file.
    types: BTreeSet<String>,
    aliases: BTreeMap<String, &'a syn::ItemType>,
    /// The modules in the file.
    modules: BTreeSet<String>,
    /// The full path of each imported name.
    imports: BTreeMap<String, String>,
}

impl<'a> Scope<'a> {
    fn new(items: &'a [Item], module: String) -> Option<Self> {
        let (version, _) = module.rsplit_once("::")?;
        let mut scope = Self {
            version: version.to_owned(),
            module,
            types: BTreeSet::new(),
            aliases: BTreeMap::new(),
            modules: BTreeSet::new(),
            imports: BTreeMap::new(),
        };
        for item in items {
            match item {
                Item::Struct(it) => drop(scope.types.insert(it.ident.to_string())),
                Item::Enum(it) => drop(scope.types.insert(it.ident.to_string())),
                Item::Mod(it) => drop(scope.modules.insert(it.ident.to_string())),
                Item::Type(it) => drop(scope.aliases.insert(it.ident.to_string(), it)),
                _ => {}
            }
        }
        for item in items {
            if let Item::Use(it) = item {
                scope.import(&it.tree, &mut Vec::new());
            }
        }
        Some(scope)
    }

    /// Adds the names that `tree` imports from the module `parents`.
    fn import(&mut self, tree: &UseTree, parents: &mut Vec<String>) {
        match tree {
            UseTree::Path(it) => {
                parents.push(it.ident.to_string());
                self.import(&it.tree, parents);
                parents.pop();
            }
            UseTree::Group(it) => {
                for tree in &it.items {
                    self.import(tree, parents);
                }
            }
            UseTree::Name(it) => self.import_as(&it.ident.to_string(), None, parents),
            UseTree::Rename(it) => {
                self.import_as(&it.ident.to_string(), Some(it.rename.to_string()), parents);
            }
            UseTree::Glob(_) => {}
        }
    }

    fn import_as(&mut self, name: &str, rename: Option<String>, parents: &[String]) {
        let mut path = parents.to_vec();
        if name != "self" {
            path.push(name.to_owned());
        }
        let rename = rename.or_else(|| path.last().cloned());
        if let Some(rename) = rename {
            let path = self.absolute(&path);
            self.imports.insert(rename, path);
        }
    }

    /// The full path of `parts`, a path of several parts, or an imported one.
    fn absolute(&self, parts: &[String]) -> String {
        let mut start = match parts.first().map(String::as_str) {
            Some("self" | "super") => self.module.clone(),
            Some(name) if self.modules.contains(name) => format!("{}::{name}", self.module),
            Some(name) => self
                .imports
                .get(name)
                .cloned()
                .unwrap_or_else(|| name.to_owned()),
            None => String::new(),
        };
        let rest = parts
            .iter()
            .skip_while(|it| *it == "self" || *it == "super");
        let supers = parts.iter().filter(|it| *it == "super").count();
        for _ in 0..supers {
            start = start
                .rsplit_once("::")
                .map_or(String::new(), |(parent, _)| parent.to_owned());
        }
        let is_relative = parts
            .first()
            .is_some_and(|it| it == "self" || it == "super");
        let rest = rest.skip(usize::from(!is_relative));
        rest.fold(start, |path, part| format!("{path}::{part}"))
    }

    fn ty(&self, ty: &syn::Type, aliases: usize) -> Type {
        match ty {
            syn::Type::Paren(it) => self.ty(&it.elem, aliases),
            syn::Type::Path(it) if it.qself.is_none() => self.path(&it.path, aliases),
            _ => Type::Unclear,
        }
    }

    fn path(&self, path: &Path, aliases: usize) -> Type {
        let mut arguments = Vec::new();
        for (at, segment) in path.segments.iter().enumerate() {
            match &segment.arguments {
                PathArguments::None => {}
                PathArguments::AngleBracketed(it) if at + 1 == path.segments.len() => {
                    for argument in &it.args {
                        let GenericArgument::Type(ty) = argument else {
                            return Type::Unclear;
                        };
                        arguments.push(self.ty(ty, aliases));
                    }
                }
                _ => return Type::Unclear,
            }
        }
        let parts = path.segments.iter().map(|it| it.ident.to_string());
        let parts: Vec<_> = parts.collect();
        let name = match parts.as_slice() {
            [name] if self.types.contains(name) => format!("{}::{name}", self.module),
            [name] if self.aliases.contains_key(name) => {
                let alias = self.aliases[name];
                return if alias.generics.params.is_empty() && aliases > 0 {
                    self.ty(&alias.ty, aliases - 1)
                } else {
                    Type::Unclear
                };
            }
            [name] if self.imports.contains_key(name) => self.imports[name].clone(),
            [name] if is_in_prelude(name) => name.clone(),
            [_] => return Type::Unclear,
            parts => self.absolute(parts),
        };
        if let Some((module, name)) = name.rsplit_once("::")
            && [&self.module, &self.version].contains(&&module.to_owned())
            && self.types.contains(name)
            && arguments.is_empty()
        {
            return Type::Own(name.to_owned());
        }
        let is_map = name.ends_with("collections::BTreeMap");
        match (name.as_str(), arguments.as_mut_slice()) {
            ("Option" | "std::option::Option", [inner]) => Type::Option(inner.clone().into()),
            ("Vec" | "std::vec::Vec", [inner]) => Type::List(inner.clone().into()),
            (_, [Type::Other(key), inner]) if is_map && key == "String" => {
                Type::Map(inner.clone().into())
            }
            (_, []) => Type::Other(name),
            (_, arguments) => {
                let names = arguments.iter().map(|it| match it {
                    Type::Other(name) => Some(name.as_str()),
                    _ => None,
                });
                let names: Option<Vec<_>> = names.collect();
                names.map_or(Type::Unclear, |names| {
                    Type::Other(format!("{name}<{}>", names.join(", ")))
                })
            }
        }
    }

    fn part(&self, ty: &syn::Type) -> Part {
        Part {
            ty: self.ty(ty, ALIASES),
            written: ty.clone(),
        }
    }
}

/// Whether Rust knows the type `name` without an import.
fn is_in_prelude(name: &str) -> bool {
    let numbers = [
        "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64",
        "u128", "usize",
    ];
    ["bool", "char", "Box", "Option", "String", "Vec"].contains(&name) || numbers.contains(&name)
}

/// The settings of kube in `attributes`, if they make a struct the spec of `kind`.
fn settings_of(attributes: &[Attribute], kind: &str) -> Option<Vec<Meta>> {
    let attributes = attributes.iter().filter(|it| it.path().is_ident("kube"));
    let settings: Vec<_> = attributes.flat_map(metas).collect();
    let mut kinds = settings.iter().filter(|it| it.path().is_ident("kind"));
    let is_kind = kinds.any(|it| text_of(it).as_deref() == Some(kind));
    is_kind.then_some(settings)
}

/// The type of the status in the settings of kube.
fn status(settings: &[Meta], scope: &Scope) -> Option<Type> {
    let mut statuses = settings.iter().filter(|it| it.path().is_ident("status"));
    // The parser is recursive.
    let text = statuses.find_map(text_of).filter(|it| it.len() <= DEPTH)?;
    let path = syn::parse_str(&text).ok()?;
    Some(scope.ty(&path, ALIASES))
}

/// The settings in an attribute such as `serde(default, rename = "a")`.
fn metas(attribute: &Attribute) -> Vec<Meta> {
    let parsed = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
    parsed.into_iter().flatten().collect()
}

/// The text of a setting such as `rename = "a"`.
fn text_of(meta: &Meta) -> Option<String> {
    match meta {
        Meta::NameValue(it) => match &it.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// The text of the setting `name` of serde.
fn serde(attributes: &[Attribute], name: &str) -> Option<String> {
    let attributes = attributes.iter().filter(|it| it.path().is_ident("serde"));
    let mut settings = attributes.flat_map(metas);
    settings.find_map(|it| text_of(&it).filter(|_| it.path().is_ident(name)))
}

/// Whether each module of the crate can name an item, in each build.
fn is_open(visibility: &Visibility, attributes: &[Attribute]) -> bool {
    let is_visible = match visibility {
        Visibility::Public(_) => true,
        Visibility::Restricted(it) => it.path.is_ident("crate"),
        Visibility::Inherited => false,
    };
    is_visible && !is_conditional(attributes)
}

fn is_conditional(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|it| it.path().is_ident("cfg"))
}

fn derives_default(attributes: &[Attribute]) -> bool {
    let derives = attributes.iter().filter(|it| it.path().is_ident("derive"));
    let mut names = derives.flat_map(metas);
    names.any(|name| {
        let last = name.path().segments.last();
        last.is_some_and(|it| it.ident == "Default")
    })
}

fn structure(fields: &Fields, scope: &Scope) -> Option<Shape> {
    match fields {
        Fields::Named(it) => {
            let fields = it.named.iter().map(|field| {
                let ident = field.ident.as_ref()?;
                is_open(&field.vis, &field.attrs).then(|| Field {
                    ident: ident.to_string(),
                    part: scope.part(&field.ty),
                    default: serde(&field.attrs, "default"),
                })
            });
            fields.collect::<Option<_>>().map(Shape::Struct)
        }
        Fields::Unnamed(it) => match it.unnamed.iter().collect::<Vec<_>>().as_slice() {
            [field] if is_open(&field.vis, &field.attrs) => {
                Some(Shape::Newtype(Box::new(scope.part(&field.ty))))
            }
            _ => None,
        },
        Fields::Unit => None,
    }
}

fn variant(variant: &syn::Variant, scope: &Scope) -> Option<Variant> {
    let part = match &variant.fields {
        Fields::Unit => None,
        Fields::Unnamed(it) if it.unnamed.len() == 1 => {
            it.unnamed.first().map(|field| scope.part(&field.ty))
        }
        _ => return None,
    };
    let ident = variant.ident.to_string();
    (!is_conditional(&variant.attrs)).then(|| Variant {
        name: serde(&variant.attrs, "rename").unwrap_or_else(|| ident.clone()),
        ident,
        part,
    })
}

/// The value of `value`, if it is simple enough to stand in another file.
fn simple(value: &Expr, scope: &Scope) -> Option<Value> {
    let plain = |text: String| Some(Value::Plain(text));
    match value {
        Expr::Lit(it) => match &it.lit {
            Lit::Int(it) => plain(it.to_string()),
            Lit::Float(it) => plain(it.to_string()),
            Lit::Bool(it) => plain(it.value.to_string()),
            _ => None,
        },
        Expr::Unary(it) if matches!(it.op, UnOp::Neg(_)) => match simple(&it.expr, scope)? {
            Value::Plain(text) => plain(format!("-{text}")),
            Value::Own(_) => None,
        },
        Expr::MethodCall(it) if it.args.is_empty() => match &*it.receiver {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) if ["to_owned", "to_string", "into"]
                .iter()
                .any(|name| it.method == name) =>
            {
                plain(format!("{}.to_owned()", text.token()))
            }
            _ => None,
        },
        Expr::Path(it) if it.path.segments.len() == 2 => {
            let parts = it.path.segments.iter().map(|it| it.ident.to_string());
            let parts: Vec<_> = parts.collect();
            let is_own = scope.types.contains(&parts[0]);
            is_own.then(|| Value::Own(parts.join("::")))
        }
        _ => None,
    }
}
