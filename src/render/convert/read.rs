//! Reads the Rust types of one version of a kind.
//!
//! A user writes these types, so they can be any Rust. What this reader does not understand is [`RustType::Unclear`] or
//! [`Shape::Opaque`]: the conversion then needs no knowledge of it.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use syn::{
    Attribute, Expr, ExprLit, Fields, GenericArgument, Item, Lit, LitStr, Meta, Path,
    PathArguments, Stmt, Token, Type, UnOp, UseTree, Visibility, punctuated::Punctuated,
};

use crate::rust::RustType;

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
    pub status: Option<RustType>,
    /// The types of the file.
    pub items: BTreeMap<String, TypeItem>,
    /// The functions of the file that return a simple value, with this value.
    pub defaults: BTreeMap<String, SimpleValue>,
    /// The paths of the modules in which other files find the types: the module of the file, such as
    /// `crate::api::shop::v1::book`, and the module of the version, which may export them.
    pub modules: [String; 2],
}

impl Types {
    /// Whether `path` is a path of the file's type `name`.
    pub fn is_at(&self, path: &str, name: &str) -> bool {
        let mut modules = self.modules.iter();
        modules.any(|module| path == format!("{module}::{name}"))
    }
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
    Newtype(Box<FieldType>),
    /// A type that other modules cannot take apart, or that the reader does not understand.
    Opaque,
}

impl Shape {
    /// The types of the fields and variants, each with its name.
    pub fn field_types(&self) -> Vec<(&str, &FieldType)> {
        match self {
            Self::Struct(fields) => {
                let types = fields.iter().map(|field| (field.ident.as_str(), &field.ty));
                types.collect()
            }
            Self::Enum(variants) => {
                let types = variants.iter().filter_map(|variant| {
                    let ty = variant.content.as_ref()?;
                    Some((variant.name.as_str(), ty))
                });
                types.collect()
            }
            Self::Newtype(ty) => vec![("0", ty)],
            Self::Opaque => Vec::new(),
        }
    }
}

/// A field of a struct.
#[derive(Debug)]
pub(super) struct Field {
    pub ident: String,
    pub ty: FieldType,
    /// The name of the function that returns the default.
    pub default: Option<String>,
}

/// A variant of an enum, which contains nothing or one value.
#[derive(Debug)]
pub(super) struct Variant {
    pub ident: String,
    /// The name in JSON, unless a rule for the whole enum changes it.
    pub name: String,
    pub content: Option<FieldType>,
}

/// The type of a field, or of the content of a variant.
#[derive(Debug)]
pub(super) struct FieldType {
    pub rust: RustType,
    /// The type as it is in the file.
    pub written: Type,
}

impl FieldType {
    /// Whether the code of this optional type is that of `content` in an `Option`.
    pub fn is_option_of(&self, content: &Self) -> bool {
        if let Type::Path(path) = &self.written
            && let Some(last) = path.path.segments.last()
            && let PathArguments::AngleBracketed(list) = &last.arguments
        {
            let argument = GenericArgument::Type(content.written.clone());
            return list.args.first() == Some(&argument);
        }
        false
    }
}

/// A simple value.
#[derive(Debug)]
pub(super) enum SimpleValue {
    /// A number or a boolean.
    Literal(String),
    /// The literal of a string.
    Text(String),
    /// A path that begins with a type of the file.
    Named(String),
}

/// Reads the types of `kind` from `text`, the text of the file at `path`. Returns `None` if this is not Rust, or if the
/// kind is not there.
pub(super) fn read(path: &str, text: &str, kind: &str) -> Option<Types> {
    let tokens: TokenStream = text.parse().ok()?;
    if depth(tokens.clone(), DEPTH)? > DEPTH {
        return None;
    }
    let file: syn::File = syn::parse2(tokens).ok()?;
    let below = path.strip_prefix("src/")?.strip_suffix(".rs")?;
    let module = format!("crate::{}", below.replace('/', "::"));
    let scope = ModuleScope::new(&file.items, module)?;
    let mut types = Types {
        modules: [scope.module.clone(), scope.version.clone()],
        ..Types::default()
    };
    let mut with_default = BTreeSet::new();
    for item in &file.items {
        let (ident, attributes, visibility, generics, shape) = match item {
            Item::Struct(item) => {
                if let Some(settings) = settings_of(&item.attrs, kind) {
                    types.spec = item.ident.to_string();
                    types.status = status(&settings, &scope);
                }
                let shape = structure(&item.fields, &scope);
                (&item.ident, &item.attrs, &item.vis, &item.generics, shape)
            }
            Item::Enum(item) => {
                let shape = enumeration(&item.variants, &scope);
                (&item.ident, &item.attrs, &item.vis, &item.generics, shape)
            }
            Item::Impl(item) => {
                if let Some((_, path, _)) = &item.trait_
                    && is_default(path)
                    && let Type::Path(of) = &*item.self_ty
                    && let Some(ident) = of.path.get_ident()
                {
                    with_default.insert(ident.to_string());
                }
                continue;
            }
            Item::Fn(item) => {
                if let [Stmt::Expr(value, None)] = item.block.stmts.as_slice()
                    && let Some(value) = simple(value, &scope)
                {
                    types.defaults.insert(item.sig.ident.to_string(), value);
                }
                continue;
            }
            _ => continue,
        };
        let is_nameable = is_nameable(visibility, attributes) && generics.params.is_empty();
        let item = TypeItem {
            is_default: (settings(attributes, "derive").iter()).any(|name| is_default(name.path())),
            shape: shape.filter(|_| is_nameable).unwrap_or(Shape::Opaque),
        };
        types.items.insert(ident.to_string(), item);
    }
    for (name, item) in &mut types.items {
        item.is_default |= with_default.contains(name);
    }
    types.items.contains_key(&types.spec).then_some(types)
}

/// The depth to which a recursive parser may go: the number of tokens without a separator, at all levels together.
/// Returns `None` if the groups alone are deeper than `most`.
fn depth(tokens: TokenStream, most: usize) -> Option<usize> {
    let most_inside = most.checked_sub(1)?;
    let (mut deepest, mut length, mut inner) = (0, 0, 0);
    for token in tokens {
        let is_end = match &token {
            TokenTree::Punct(sign) => matches!(sign.as_char(), ',' | ';'),
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            _ => false,
        };
        length += 1;
        if let TokenTree::Group(group) = token {
            inner = depth(group.stream(), most_inside)?.max(inner);
        }
        deepest = deepest.max(length + inner);
        if is_end {
            (length, inner) = (0, 0);
        }
    }
    Some(deepest)
}

/// The names that a file uses.
struct ModuleScope<'a> {
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
    /// The full path of each module of which all names are imported.
    globs: BTreeSet<String>,
}

impl<'a> ModuleScope<'a> {
    fn new(items: &'a [Item], module: String) -> Option<Self> {
        let (version, _) = module.rsplit_once("::")?;
        let mut scope = Self {
            version: version.to_owned(),
            module,
            types: BTreeSet::new(),
            aliases: BTreeMap::new(),
            modules: BTreeSet::new(),
            imports: BTreeMap::new(),
            globs: BTreeSet::new(),
        };
        for item in items {
            match item {
                Item::Struct(item) => drop(scope.types.insert(item.ident.to_string())),
                Item::Enum(item) => drop(scope.types.insert(item.ident.to_string())),
                Item::Mod(item) => drop(scope.modules.insert(item.ident.to_string())),
                Item::Type(item) => drop(scope.aliases.insert(item.ident.to_string(), item)),
                _ => {}
            }
        }
        for item in items {
            if let Item::Use(item) = item {
                scope.import(&item.tree, &mut Vec::new());
            }
        }
        Some(scope)
    }

    /// Adds the names that `tree` imports from the module `parents`.
    fn import(&mut self, tree: &UseTree, parents: &mut Vec<String>) {
        match tree {
            UseTree::Path(below) => {
                parents.push(below.ident.to_string());
                self.import(&below.tree, parents);
                parents.pop();
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, parents);
                }
            }
            UseTree::Name(item) => self.import_as(&item.ident, &item.ident, parents),
            UseTree::Rename(item) => self.import_as(&item.ident, &item.rename, parents),
            UseTree::Glob(_) => drop(self.globs.insert(self.absolute(parents))),
        }
    }

    fn import_as(&mut self, name: &Ident, alias: &Ident, parents: &[String]) {
        let mut path = parents.to_vec();
        if name != "self" {
            path.push(name.to_string());
        }
        let absolute = self.absolute(&path);
        if alias != "self" {
            self.imports.insert(alias.to_string(), absolute);
        } else if let Some(parent) = path.pop() {
            self.imports.insert(parent, absolute);
        }
    }

    /// The full path of `parts`, a path of several parts, or an imported one.
    fn absolute(&self, parts: &[String]) -> String {
        let mut names = parts.iter();
        let start = names.position(|part| part != "self" && part != "super");
        let relative = start.unwrap_or(parts.len());
        let mut path = match parts.first() {
            Some(_) if relative > 0 => self.module.clone(),
            Some(name) if self.modules.contains(name) => format!("{}::{name}", self.module),
            Some(name) => self.imports.get(name).unwrap_or(name).clone(),
            None => return String::new(),
        };
        for part in &parts[..relative] {
            if part == "super" {
                path.truncate(path.rfind("::").unwrap_or(0));
            }
        }
        for part in &parts[relative.max(1)..] {
            path += "::";
            path += part;
        }
        path
    }

    fn rust(&self, ty: &Type, aliases: usize) -> RustType {
        match ty {
            Type::Paren(inner) => self.rust(&inner.elem, aliases),
            Type::Path(path) if path.qself.is_none() => self.of_path(&path.path, aliases),
            _ => RustType::Unclear,
        }
    }

    fn of_path(&self, path: &Path, aliases: usize) -> RustType {
        let mut arguments = Vec::new();
        for (position, segment) in path.segments.iter().enumerate() {
            match &segment.arguments {
                PathArguments::None => {}
                PathArguments::AngleBracketed(list) if position + 1 == path.segments.len() => {
                    for argument in &list.args {
                        let GenericArgument::Type(ty) = argument else {
                            return RustType::Unclear;
                        };
                        arguments.push(self.rust(ty, aliases));
                    }
                }
                _ => return RustType::Unclear,
            }
        }
        let idents = path.segments.iter().map(|segment| &segment.ident);
        let parts: Vec<_> = idents.map(ToString::to_string).collect();
        let full = match parts.as_slice() {
            [name] if self.types.contains(name) => format!("{}::{name}", self.module),
            [name] if self.aliases.contains_key(name) => {
                let alias = self.aliases[name];
                return if alias.generics.params.is_empty() && aliases > 0 {
                    self.rust(&alias.ty, aliases - 1)
                } else {
                    RustType::Unclear
                };
            }
            [name] if self.imports.contains_key(name) => self.imports[name].clone(),
            [name] if is_in_prelude(name) => name.clone(),
            [_] => return RustType::Unclear,
            parts => self.absolute(parts),
        };
        if let Some((module, name)) = full.rsplit_once("::")
            && (module == self.module || module == self.version)
            && self.types.contains(name)
            && arguments.is_empty()
        {
            return RustType::Named(name.to_owned());
        }
        match (full.as_str(), arguments.as_slice()) {
            ("Option" | "std::option::Option", [inner]) => RustType::Option(inner.clone().into()),
            ("Vec" | "std::vec::Vec", [inner]) => RustType::List(inner.clone().into()),
            (_, [RustType::Text, inner]) if full.ends_with("collections::BTreeMap") => {
                RustType::Map(inner.clone().into())
            }
            (_, []) => RustType::of_path(full),
            (_, arguments) if arguments.iter().all(RustType::is_shared) => {
                let names: Vec<_> = arguments.iter().map(RustType::to_string).collect();
                RustType::Path(format!("{full}<{}>", names.join(", ")))
            }
            _ => RustType::Unclear,
        }
    }

    fn field_type(&self, ty: &Type) -> FieldType {
        FieldType {
            rust: self.rust(ty, ALIASES),
            written: ty.clone(),
        }
    }
}

/// Whether Rust knows the type `name` without an import.
fn is_in_prelude(name: &str) -> bool {
    let is_primitive = !matches!(RustType::of_path(name.to_owned()), RustType::Path(_));
    is_primitive || ["char", "Box", "Option", "Vec"].contains(&name)
}

/// The settings of kube in `attributes`, if they make a struct the spec of `kind`.
fn settings_of(attributes: &[Attribute], kind: &str) -> Option<Vec<Meta>> {
    let settings = settings(attributes, "kube");
    (text_named(&settings, "kind").as_deref() == Some(kind)).then_some(settings)
}

/// The type of the status in the settings of kube.
fn status(settings: &[Meta], scope: &ModuleScope) -> Option<RustType> {
    let text = text_named(settings, "status")?;
    // The parser is recursive.
    if text.len() > DEPTH {
        return None;
    }
    let path: Path = syn::parse_str(&text).ok()?;
    let rust = scope.of_path(&path, ALIASES);
    if let (RustType::Unclear, Some(name)) = (&rust, path.get_ident())
        && !scope.globs.is_empty()
        && !scope.aliases.contains_key(&name.to_string())
    {
        // One of the modules of which all names are imported has the type.
        let paths = scope.globs.iter().map(|module| format!("{module}::{name}"));
        return Some(RustType::Path(paths.collect::<Vec<_>>().join(" or ")));
    }
    Some(rust)
}

/// The settings in the attributes `name`, such as `serde(default, rename = "a")`.
fn settings(attributes: &[Attribute], name: &str) -> Vec<Meta> {
    let mut settings = Vec::new();
    for attribute in attributes {
        if attribute.path().is_ident(name) {
            let parser = Punctuated::<Meta, Token![,]>::parse_terminated;
            settings.extend(attribute.parse_args_with(parser).into_iter().flatten());
        }
    }
    settings
}

/// The text of a setting such as `rename = "a"`.
fn text_of(meta: &Meta) -> Option<String> {
    let Meta::NameValue(setting) = meta else {
        return None;
    };
    text_literal(&setting.value).map(LitStr::value)
}

/// The literal of a string, if `value` is one.
fn text_literal(value: &Expr) -> Option<&LitStr> {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => Some(text),
        _ => None,
    }
}

/// The text of the setting `name`.
fn text_named(settings: &[Meta], name: &str) -> Option<String> {
    let mut named = settings.iter().filter(|meta| meta.path().is_ident(name));
    named.find_map(text_of)
}

/// The text of the setting `name` of serde.
fn serde(attributes: &[Attribute], name: &str) -> Option<String> {
    text_named(&settings(attributes, "serde"), name)
}

/// Whether each module of the crate can name an item, in each build.
fn is_nameable(visibility: &Visibility, attributes: &[Attribute]) -> bool {
    let is_visible = match visibility {
        Visibility::Public(_) => true,
        Visibility::Restricted(restricted) => restricted.path.is_ident("crate"),
        Visibility::Inherited => false,
    };
    is_visible && !is_conditional(attributes)
}

fn is_conditional(attributes: &[Attribute]) -> bool {
    (attributes.iter()).any(|attribute| attribute.path().is_ident("cfg"))
}

/// Whether `path` is that of the trait `Default`.
fn is_default(path: &Path) -> bool {
    let last = path.segments.last();
    last.is_some_and(|part| part.ident == "Default")
}

fn enumeration(
    variants: &Punctuated<syn::Variant, Token![,]>,
    scope: &ModuleScope,
) -> Option<Shape> {
    let known: Option<Vec<_>> = variants.iter().map(|item| variant(item, scope)).collect();
    known
        .filter(|variants| !variants.is_empty())
        .map(Shape::Enum)
}

fn structure(fields: &Fields, scope: &ModuleScope) -> Option<Shape> {
    match fields {
        Fields::Named(named) => {
            let mut fields = Vec::new();
            for field in &named.named {
                if !is_nameable(&field.vis, &field.attrs) {
                    return None;
                }
                fields.push(Field {
                    ident: field.ident.as_ref()?.to_string(),
                    ty: scope.field_type(&field.ty),
                    default: serde(&field.attrs, "default"),
                });
            }
            Some(Shape::Struct(fields))
        }
        Fields::Unnamed(unnamed) => match unnamed.unnamed.iter().collect::<Vec<_>>().as_slice() {
            [field] if is_nameable(&field.vis, &field.attrs) => {
                Some(Shape::Newtype(Box::new(scope.field_type(&field.ty))))
            }
            _ => None,
        },
        Fields::Unit => None,
    }
}

fn variant(variant: &syn::Variant, scope: &ModuleScope) -> Option<Variant> {
    let content = match &variant.fields {
        Fields::Unit => None,
        Fields::Unnamed(unnamed) if unnamed.unnamed.len() == 1 => {
            (unnamed.unnamed.first()).map(|field| scope.field_type(&field.ty))
        }
        _ => return None,
    };
    let ident = variant.ident.to_string();
    (!is_conditional(&variant.attrs)).then(|| Variant {
        name: serde(&variant.attrs, "rename").unwrap_or_else(|| ident.clone()),
        ident,
        content,
    })
}

/// The value of `value`, if it is simple enough to stand in another file.
fn simple(value: &Expr, scope: &ModuleScope) -> Option<SimpleValue> {
    match value {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => Some(SimpleValue::Literal(number.to_string())),
            Lit::Float(number) => Some(SimpleValue::Literal(number.to_string())),
            Lit::Bool(boolean) => Some(SimpleValue::Literal(boolean.value.to_string())),
            _ => None,
        },
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => match simple(&unary.expr, scope)?
        {
            SimpleValue::Literal(number) => Some(SimpleValue::Literal(format!("-{number}"))),
            SimpleValue::Text(_) | SimpleValue::Named(_) => None,
        },
        Expr::MethodCall(call) if call.args.is_empty() => {
            let mut owning = ["to_owned", "to_string", "into"].iter();
            let text = text_literal(&call.receiver)?.token().to_string();
            owning
                .any(|name| call.method == name)
                .then_some(SimpleValue::Text(text))
        }
        Expr::Path(path) => {
            let segments = path.path.segments.iter();
            let parts: Vec<_> = segments.map(|segment| segment.ident.to_string()).collect();
            let is_named = parts.len() == 2 && scope.types.contains(&parts[0]);
            is_named.then(|| SimpleValue::Named(parts.join("::")))
        }
        _ => None,
    }
}
