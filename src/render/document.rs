//! Documents that a command writes once.

use anyhow::{Context as _, Result};
use include_dir::File;
use serde::Serialize;
use serde_json::Value;
use tera::Context;

use super::{syntax::tera, templates::TEMPLATES};
use crate::{engine::Text, visible::visible};

/// The folder of templates that are no part of a project's desired state: what a command writes once.
pub(super) const ONCE: &str = "once";

/// Renders a document that a command writes once, from the template `once/<name>.tera`. The texts in `context` may come
/// from files that nobody checked: each stays on one line, and hidden characters are shown as escapes.
///
/// # Errors
///
/// When the template has a defect.
pub fn document(name: &str, context: &impl Serialize) -> Result<Text> {
    let template = format!("{ONCE}/{name}.tera");
    let text = (TEMPLATES.get_file(&template))
        .and_then(File::contents_utf8)
        .with_context(|| format!("there is no template `{template}`"))?;
    let mut values = serde_json::to_value(context)?;
    show(&mut values);
    let mut tera = tera()?;
    tera.add_raw_template(&template, text)?;
    let rendered = tera.render(&template, &Context::from_serialize(&values)?);
    let rendered =
        rendered.with_context(|| format!("failed to render the template `{template}`"))?;
    Ok(format!("{}\n", rendered.trim_matches('\n')).into())
}

/// Escapes the hidden characters in all texts of `value`.
fn show(value: &mut Value) {
    match value {
        Value::String(text) => *text = visible(text).into_owned(),
        Value::Array(values) => values.iter_mut().for_each(show),
        Value::Object(fields) => fields.values_mut().for_each(show),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
