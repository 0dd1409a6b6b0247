//! Formats attributes like rustfmt.

/// rustfmt leaves several arguments of an attribute on one line up to this width.
const ARGUMENTS: usize = 70;
/// The maximum width of a line.
pub(super) const LINE: usize = 100;

/// An attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Attribute {
    /// An attribute that rustfmt formats.
    Meta(Meta),
    /// An attribute that rustfmt does not change. The lines after the first one are not indented yet.
    Verbatim(String),
}

/// The content of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meta {
    /// `default`, or `rename = "x"`.
    Leaf(String),
    /// `length(min = 1)`
    List(String, Vec<Meta>),
}

impl Meta {
    pub fn leaf(text: impl Into<String>) -> Self {
        Self::Leaf(text.into())
    }

    pub fn list(name: &str, items: Vec<Self>) -> Self {
        Self::List(name.to_owned(), items)
    }

    /// `name = "value"`
    pub fn text(name: &str, value: &str) -> Self {
        Self::Leaf(format!("{name} = {}", super::literal::text(value)))
    }

    fn line(&self) -> String {
        match self {
            Self::Leaf(text) => text.clone(),
            Self::List(name, items) => format!("{name}({})", Self::arguments(items)),
        }
    }

    fn arguments(items: &[Self]) -> String {
        items.iter().map(Self::line).collect::<Vec<_>>().join(", ")
    }

    /// Formats the content at the indentation `indent`. `after` is the number of columns that follow on the last line.
    pub fn laid_out(&self, indent: usize, after: usize) -> String {
        let line = self.line();
        let Self::List(name, items) = self else {
            return line;
        };
        let arguments = Self::arguments(items);
        let width = |text: &str| text.chars().count();
        let is_short = items.len() == 1 || width(&arguments) <= ARGUMENTS;
        if is_short && indent + width(&line) + after <= LINE {
            return line;
        }
        if let [item @ Self::List(..)] = items.as_slice() {
            let item = item.laid_out(indent, after + 1 + width(name) + 1);
            return format!("{name}({item})");
        }
        let inner = indent + 4;
        let pad = " ".repeat(inner);
        let items = items.iter().map(|it| it.laid_out(inner, 1));
        let items = items.map(|it| format!("{pad}{it}")).collect::<Vec<_>>();
        format!("{name}(\n{}\n{})", items.join(",\n"), " ".repeat(indent))
    }
}

impl Attribute {
    /// Returns whether this is an attribute of serde.
    pub fn is_serde(&self) -> bool {
        matches!(self, Self::Meta(Meta::List(name, _)) if name == "serde")
    }

    /// Formats the attribute at the indentation `indent`, with a newline at the end.
    pub fn laid_out(&self, indent: usize) -> String {
        let pad = " ".repeat(indent);
        match self {
            Self::Meta(meta) => format!("{pad}#[{}]\n", meta.laid_out(indent, 3)),
            Self::Verbatim(text) => {
                let text = text.replace('\n', &format!("\n{pad}"));
                format!("{pad}#[{text}]\n")
            }
        }
    }
}
