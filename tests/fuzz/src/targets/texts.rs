//! Checks of the texts that rscaffold writes.

use std::collections::BTreeSet;

use rscaffold::{engine::Texts, visible::is_hidden};
use serde_json::Value;

/// Checks that no two paths differ only in case, that each path is valid, and that no part of a path is too long for a
/// file system.
pub fn check_paths(texts: &Texts) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for path in texts.keys() {
        if !seen.insert(path.to_lowercase()) {
            return Err(format!("{path} is there twice but for case"));
        }
        let is_bad = |part: &str| matches!(part, "" | "." | "..") || part.len() > 255;
        if path.split('/').any(is_bad) || path.contains(is_hidden) {
            return Err(format!("{path} is no path"));
        }
    }
    Ok(())
}

/// Checks that Rust and YAML files can be parsed.
pub fn check_languages(texts: &Texts) -> Result<(), String> {
    for (path, text) in texts {
        let text = text.content();
        let is_template = path.starts_with("charts/") && path.contains("/templates/");
        let read = match path.rsplit('.').next().unwrap_or_default() {
            "rs" => syn::parse_file(text)
                .map(drop)
                .map_err(|error| error.to_string()),
            "yaml" | "yml" if !is_template => yaml(text).map(drop),
            _ => Ok(()),
        };
        read.map_err(|error| format!("{path}: {error}\n{text}"))?;
    }
    Ok(())
}

/// Returns the documents of a YAML text.
pub fn yaml(text: &str) -> Result<Vec<Value>, String> {
    let options = serde_yaml::options! {
        budget: serde_yaml::budget! { max_depth: 1_000, max_nodes: 4_000_000, max_events: 16_000_000 },
    };
    serde_yaml::from_multiple_with_options(text, options)
        .map_err(|error| error.without_snippet().to_string())
}

/// Checks that a message has no characters that control the terminal.
pub fn check_message(text: &str) {
    let hidden = text.chars().find(|c| is_hidden(*c) && !"\n\t".contains(*c));
    assert_eq!(hidden, None, "{text:?}");
}
