//! Lays out code like rustfmt.

use super::literal::{self, width};

/// The longest line of code.
pub(crate) const LINE: usize = 100;
/// rustfmt leaves the fields of a struct on one line up to this width.
const FIELDS: usize = 18;
/// rustfmt leaves several arguments of an attribute on one line up to this width.
pub(crate) const ARGUMENTS: usize = 70;
/// rustfmt leaves the items of a list, and the arguments of a call, on one line up to this width.
const ITEMS: usize = 60;
/// rustfmt leaves a chain of several method calls on one line up to this width.
pub(crate) const CHAIN: usize = 60;

/// Whether no line of `code` is too long.
pub(crate) fn is_within(code: &str) -> bool {
    code.lines().all(|line| width(line) <= LINE)
}

/// Returns `line`, or `lines` if `line` is too long. A newline at its end does not count.
pub(crate) fn one_or_several(line: String, lines: String) -> String {
    if is_within(&line) { line } else { lines }
}

/// The head of a function without parameters, up to its `{`.
pub(crate) fn function_head(name: &str, result: &str) -> String {
    let signature = format!("fn {name}() -> {result}");
    match LINE.checked_sub(width(&signature)) {
        Some(2..) => format!("{signature} {{"),
        // rustfmt breaks a signature only if it is two columns too long.
        _ if width(&signature) <= LINE + 1 => format!("{signature}\n{{"),
        _ => format!("fn {name}()\n-> {result} {{"),
    }
}

/// Puts the lines of `code` on one line, if it fits into `columns`, or if rustfmt breaks no line because one of `code` is
/// too long. Puts a method with its arguments on a line of its own, if that fits. Otherwise, returns `code`.
pub(crate) fn on_one_line(code: &str, columns: usize) -> String {
    let mut line = String::new();
    for part in code.lines() {
        let next = part.trim_start();
        if line.is_empty() {
            line.push_str(part);
        } else if next.starts_with([')', '>', ']']) {
            line.truncate(line.trim_end_matches(',').len());
            line.push_str(next);
        } else if let Some(next) = next.strip_prefix('}')
            && line.contains("| ")
        {
            // The braces of a closure.
            line.push_str(next);
        } else if let Some(closure) = line.strip_suffix("| {") {
            line = format!("{closure}| {next}");
        } else if line.ends_with(['(', '<', '[']) || next.starts_with('.') {
            line.push_str(next);
        } else {
            line = format!("{line} {next}");
        }
    }
    let is_too_long = !is_within(code);
    if width(&line) <= columns || is_too_long {
        return line;
    }
    let is_call = code
        .lines()
        .next()
        .is_some_and(|first| first.ends_with(['(', '{']));
    if is_call && let Some((value, method)) = line.split_once('.') {
        let indent = line.len() - line.trim_start().len() + 4;
        let call = format!("{:indent$}.{method}", "");
        if width(&call) <= LINE {
            return format!("{value}\n{call}");
        }
    }
    code.to_owned()
}

/// `name` with `fields` in braces, as a pattern or an expression at the indentation `indent`.
pub(crate) fn braces(name: &str, fields: &[String], indent: usize) -> String {
    let line = fields.join(", ");
    if fields.is_empty() {
        format!("{name} {{}}")
    } else if width(&line) <= FIELDS && !line.contains('\n') {
        format!("{name} {{ {line} }}")
    } else {
        let pad = " ".repeat(indent);
        let mut lines = String::new();
        for field in fields {
            lines += &format!("{pad}    {field},\n");
        }
        format!("{name} {{\n{lines}{pad}}}")
    }
}

/// Formats the calls of `calls` after `start` at the indentation `indent`.
pub(crate) fn chain(start: &str, calls: &[String], indent: usize) -> String {
    let line = format!("{start}{}", calls.join("."));
    let [first, others @ ..] = calls else {
        return line;
    };
    let Some((_, before)) = others.split_last() else {
        return line;
    };
    // The limit of a chain applies only from the second method call on.
    let most = if before.is_empty() { LINE } else { CHAIN };
    if line.len() <= most && indent + line.len() < LINE && !line.contains('\n') {
        return line;
    }
    let is_broken_before = first.contains('\n') || before.iter().any(|call| call.contains('\n'));
    if let Some((first_line, _)) = line.split_once('\n')
        && !is_broken_before
        && indent + first_line.len() <= LINE
    {
        return line;
    }
    // If the first call has several lines, rustfmt does not indent the other calls.
    let deeper = if first.contains('\n') { "" } else { "    " };
    let mut text = format!("{start}{first}");
    for other in others {
        let indented = other.replace('\n', &format!("\n{deeper}"));
        text += &format!("\n{}{deeper}.{indented}", " ".repeat(indent));
    }
    text
}

/// An expression.
#[derive(Debug)]
pub(crate) enum Code {
    /// An expression on one line.
    Text(String),
    /// `&["a", "b"]`
    List(Vec<Self>),
    /// The call of the function of this name.
    Call(String, Vec<Self>),
}

impl Code {
    /// A string literal.
    pub fn text(text: &str) -> Self {
        Self::Text(literal::text(text))
    }

    pub fn call(name: &str, arguments: Vec<Self>) -> Self {
        Self::Call(name.to_owned(), arguments)
    }

    /// Formats the expression at the indentation `indent`. Its line has `around` columns besides the expression.
    pub fn laid_out(&self, indent: usize, around: usize) -> String {
        let line = self.line();
        if self.is_short() && around + width(&line) <= LINE {
            return line;
        }
        let (start, items, end) = self.parts();
        match (self, items) {
            (Self::Text(_), _) => line,
            (Self::Call(..), [list @ Self::List(_)]) => {
                let list = list.laid_out(indent, around + width(&start) + width(end));
                format!("{start}{list}{end}")
            }
            (Self::List(_), [call @ Self::Call(..)]) => {
                format!("{start}{}{end}", call.on_lines(indent))
            }
            _ => self.on_lines(indent),
        }
    }

    fn line(&self) -> String {
        let (start, items, end) = self.parts();
        let items: Vec<_> = items.iter().map(Self::line).collect();
        format!("{start}{}{end}", items.join(", "))
    }

    /// Whether rustfmt leaves the expression on one line, if the line is long enough.
    fn is_short(&self) -> bool {
        let (start, items, end) = self.parts();
        // The limit does not apply to a single item that rustfmt cannot break.
        let is_within = matches!(items, [Self::Text(_) | Self::List(_)])
            || width(&self.line()) <= ITEMS + width(&start) + width(end);
        is_within && items.iter().all(Self::is_short)
    }

    /// What is before the items or arguments, these, and what is after them.
    fn parts(&self) -> (String, &[Self], &'static str) {
        match self {
            Self::Text(text) => (text.clone(), &[], ""),
            Self::List(items) => ("&[".to_owned(), items, "]"),
            Self::Call(name, arguments) => (format!("{name}("), arguments, ")"),
        }
    }

    fn on_lines(&self, indent: usize) -> String {
        let pad = " ".repeat(indent);
        let (start, items, end) = self.parts();
        let mut lines = String::new();
        for item in items {
            let text = item.laid_out(indent + 4, indent + 4 + ",".len());
            lines += &format!("{pad}    {text},\n");
        }
        format!("{start}\n{lines}{pad}{end}")
    }
}

/// An attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Attribute {
    /// An attribute that rustfmt formats.
    Meta(Meta),
    /// An attribute that rustfmt does not change. The lines after the first one are not indented yet.
    Verbatim(String),
}

/// The content of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Meta {
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
        Self::Leaf(format!("{name} = {}", literal::text(value)))
    }

    fn line(&self) -> String {
        match self {
            Self::Leaf(text) => text.clone(),
            Self::List(name, items) => format!("{name}({})", Self::arguments(items)),
        }
    }

    /// The number of lists around the only value; `None` if there are several values.
    fn depth(&self) -> Option<usize> {
        match self {
            Self::Leaf(_) => Some(0),
            Self::List(_, items) => match items.as_slice() {
                [item] => Some(item.depth()? + 1),
                _ => None,
            },
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
        let is_short = items.len() == 1 || width(&Self::arguments(items)) <= ARGUMENTS;
        // A single value ends a column earlier for each list around it.
        let limit = LINE - self.depth().unwrap_or(0);
        if is_short && indent + width(&line) + after <= limit {
            return line;
        }
        if let [item @ Self::List(..)] = items.as_slice() {
            let around = width(name) + 2 + usize::from(item.depth().is_some());
            let argument = item.laid_out(indent, after + around);
            return format!("{name}({argument})");
        }
        let pad = " ".repeat(indent + 4);
        let lines: Vec<_> = items
            .iter()
            .map(|item| format!("{pad}{}", item.laid_out(indent + 4, 1)))
            .collect();
        format!("{name}(\n{}\n{})", lines.join(",\n"), " ".repeat(indent))
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
                format!("{pad}#[{}]\n", text.replace('\n', &format!("\n{pad}")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_one_line_if_it_fits() {
        for (lines, line) in [
            ("fn a(\n    b: &B,\n) -> C {", "fn a(b: &B) -> C {"),
            ("let a =\n    b;", "let a = b;"),
            ("    a\n        .b()\n        .await?;", "    a.b().await?;"),
            ("a: B<\n    C,\n    D,\n>,", "a: B<C, D>,"),
        ] {
            assert_eq!(on_one_line(lines, LINE), line);
            assert_eq!(on_one_line(lines, 9), lines);
        }
        for (letters, expected) in [
            (LINE - 20, "    manager.b(|_| LONG);"),
            (LINE - 19, "    manager\n        .b(|_| LONG);"),
            (LINE - 16, "    manager.b(|_| {\n        LONG\n    });"),
        ] {
            let long = "a".repeat(letters);
            let lines = format!("    manager.b(|_| {{\n        {long}\n    }});");
            let expected = expected.replace("LONG", &long);
            assert_eq!(on_one_line(&lines, LINE), expected);
        }
        let long = "a".repeat(LINE);
        let lines = format!("let a =\n    {long};");
        assert_eq!(on_one_line(&lines, LINE), format!("let a = {long};"));
    }
}
