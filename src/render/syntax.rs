//! The syntax of templates: delimiters and filters.

use anyhow::Result;
use tera::{Delimiters, Kwargs, State, Tera, TeraResult};

use crate::{
    rust::{LINE, on_one_line},
    yaml::as_in_manifest,
};

/// The template engine, without templates.
pub(super) fn tera() -> Result<Tera> {
    let mut tera = Tera::new();
    // None of these delimiters occurs in a rendered file, unlike `{{` in Rust and `{#` in shells.
    tera.set_delimiters(Delimiters {
        block_start: "[%".into(),
        block_end: "%]".into(),
        variable_start: "[=".into(),
        variable_end: "=]".into(),
        comment_start: "[#".into(),
        comment_end: "#]".into(),
    })?;
    tera.autoescape_on([""; 0]);
    tera.register_filter("cell", cell);
    tera.register_filter("fit", fit);
    tera.register_filter("rust", rust);
    tera.register_filter("yaml", yaml);
    Ok(tera)
}

/// A filter: a text as a YAML scalar.
fn yaml(text: &str, _: Kwargs, _: &State) -> TeraResult<String> {
    as_in_manifest(text).map_err(tera::Error::message)
}

/// A filter: a text as a Rust literal.
#[expect(clippy::unnecessary_wraps, reason = "what a filter is")]
fn rust(text: &str, _: Kwargs, _: &State) -> TeraResult<String> {
    Ok(format!("{text:?}"))
}

/// A filter: a text as code in a cell of a Markdown table, or `-` for an empty text.
#[expect(clippy::unnecessary_wraps, reason = "what a filter is")]
fn cell(text: &str, _: Kwargs, _: &State) -> TeraResult<String> {
    Ok(match text {
        "" => "-".to_owned(),
        text => format!("`{}`", text.replace('|', "\\|").replace('`', "'")),
    })
}

/// A filter: code on one line, if it fits into `columns`. The template has the lines that rustfmt makes of it for a long
/// name. rustfmt breaks a chain of calls earlier than other lines.
#[expect(clippy::needless_pass_by_value, reason = "what a filter is")]
fn fit(text: &str, arguments: Kwargs, _: &State) -> TeraResult<String> {
    let columns = arguments.get("columns")?.unwrap_or(LINE);
    Ok(on_one_line(text, columns))
}
