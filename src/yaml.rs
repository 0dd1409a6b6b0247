//! Reads and writes YAML. Cargo.toml gives the crate serde-saphyr the name `serde_yaml`. Outside of tests, only this
//! module uses it.

mod nodes;

use std::borrow::Cow;

use anyhow::{Result, anyhow};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use serde_path_to_error::{Deserializer, Track};
use serde_yaml::{
    DuplicateKeyPolicy, Error, MergeKeyPolicy, MessageFormatter, Options, UserMessageFormatter,
    budget::BudgetBreach,
};

use self::nodes::Node;
use crate::{hint::nearest, visible::visible};

/// Reads the text of `file`. A string that looks like a number needs quotes, and only `true` and `false` are booleans.
///
/// # Errors
/// Give the line and the field.
pub fn read<T: DeserializeOwned>(file: &str, text: &str) -> Result<T> {
    let mut options = limits();
    options.no_schema = true;
    options.strict_booleans = true;
    let mut track = Track::new();
    let read = serde_yaml::with_deserializer_from_str_with_options(text, options, |deserializer| {
        T::deserialize(Deserializer::new(deserializer, &mut track))
    });
    read.map_err(|error| located(file, &error, &track.path().to_string()))
}

/// Reads the fields of `T` from a text that may have other fields, too. Returns the default if that fails.
pub fn read_or_default<T: DeserializeOwned + Default>(text: &str) -> T {
    serde_yaml::from_str_with_options(text, limits()).unwrap_or_default()
}

/// Reads a list. A field without a value, such as `features:` alone, is an empty list: some versions of the YAML library
/// refuse it.
pub fn list<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: serde::Deserializer<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// The documents of a text that rscaffold did not write, such as manifests. Limits keep the time to read it short.
///
/// # Errors
/// Give the line and the reason, such as too many aliases.
pub fn documents(text: &str) -> Result<Vec<Value>> {
    all(text)
}

/// Removes all fields that are null: a field without a value, such as `resources:` alone, counts as missing.
pub fn remove_nulls(value: &mut Value) {
    remove_fields(value, Value::is_null);
}

/// Removes all fields whose value `is_empty`.
pub fn remove_fields(value: &mut Value, is_empty: fn(&Value) -> bool) {
    match value {
        Value::Array(items) => (items.iter_mut()).for_each(|item| remove_fields(item, is_empty)),
        Value::Object(fields) => {
            fields.retain(|_, field| !is_empty(field));
            (fields.values_mut()).for_each(|field| remove_fields(field, is_empty));
        }
        _ => {}
    }
}

/// Refuses a CRD in which YAML reads a name or a text as another value, such as `required: [n]`.
///
/// # Errors
/// Give the line and the value.
pub fn check_names(text: &str) -> Result<()> {
    all::<Node>(text)?.iter().try_for_each(Node::check_names)
}

/// The documents of a text, with the line of each value.
#[derive(Debug)]
pub struct Lines(Vec<Node>);

impl Lines {
    /// The lines of a text; of no document if the text cannot be read.
    pub fn of(text: &str) -> Self {
        Self(all(text).unwrap_or_default())
    }

    /// The line of the value at `path` in a document, or of the deepest value on the way to it, and how many parts of the
    /// path lead there. `document` counts from 0. An item of a list is named by its field `name`, by its text, or by its
    /// number.
    pub fn line(&self, document: usize, path: &[&str]) -> Option<(u64, usize)> {
        self.0.get(document)?.line(path)
    }
}

fn all<T: DeserializeOwned>(text: &str) -> Result<Vec<T>> {
    let options = serde_yaml::options! {
        alias_limits: serde_yaml::alias_limits! { max_total_replayed_events: 10_000 },
        budget: serde_yaml::budget! {
            max_depth: DEPTH,
            max_nodes: 500_000,
            max_events: 2_000_000,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        emit_comments: false,
        // As kubectl reads `010`.
        legacy_octal_numbers: true,
        merge_keys: MergeKeyPolicy::Error,
        with_snippet: false,
    };
    serde_yaml::from_multiple_with_options(text, options).map_err(|error| {
        let line = line_of(&error);
        let mut reason = reason(error.without_snippet());
        if is_helm_template(text, line) {
            reason = "it is a Helm template: render it first, with `helm template`".into();
        }
        let first = reason.lines().next().unwrap_or_default();
        anyhow!("line {line} cannot be read: {}", visible(first))
    })
}

/// Whether a text that is not YAML has actions of Helm: in this line, or as lines of their own.
fn is_helm_template(text: &str, line: u64) -> bool {
    (1..).zip(text.lines()).any(|(number, text)| {
        text.trim_start().starts_with("{{") || number == line && text.contains("{{")
    })
}

/// The largest depth of lists and objects in [`documents`].
const DEPTH: usize = 200;

/// Limits how much aliases can copy, so that every text is read in a short time.
fn limits() -> Options {
    serde_yaml::options! {
        alias_limits: serde_yaml::alias_limits! { max_total_replayed_events: 1_000 },
        duplicate_keys: DuplicateKeyPolicy::Error,
        emit_comments: false,
        merge_keys: MergeKeyPolicy::Error,
        with_snippet: false,
    }
}

fn line_of(error: &Error) -> u64 {
    error.location().map_or(1, |location| location.line())
}

/// An error with file, line, field and reason.
fn located(file: &str, error: &Error, path: &str) -> anyhow::Error {
    let mut cause = error.without_snippet();
    while let Error::AliasError { error, .. } = cause {
        cause = error;
    }
    let field = match cause {
        Error::DuplicateMappingKey { key: Some(key), .. } => path.replace('?', key),
        _ => path.to_owned(),
    };
    let reason = reason(cause);
    // For a missing field, the parser gives a line below the object.
    let line = match cause {
        Error::SerdeMissingField { .. } => String::new(),
        _ => format!(" line {}", line_of(error)),
    };
    // `.` stands for the whole text, and `?` for a field whose name was not read.
    let field = match field.as_str() {
        field if field == "." || field.contains('?') => String::new(),
        field => format!(", `{field}`"),
    };
    anyhow!("`{file}`{line}{field}: {reason}")
}

fn reason(error: &Error) -> Cow<'_, str> {
    match error {
        Error::AliasError { error, .. } => reason(error),
        Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => "its aliases repeat too much text".into(),
        Error::RecursiveReferencesRequireWeakTypes { .. } => "an alias refers to itself".into(),
        Error::Budget {
            breach: BudgetBreach::Depth { .. },
            ..
        } => format!("more than {DEPTH} lists and objects are inside of each other").into(),
        Error::Budget { .. } => "it has too many values".into(),
        Error::DuplicateMappingKey { .. } => "this field occurs twice".into(),
        Error::InvalidBooleanStrict { .. } => "it must be `true` or `false`".into(),
        Error::MergeKeyNotAllowed { .. } => {
            "the merge key `<<` is not supported: write the fields in full".into()
        }
        Error::NullIntoString { .. } => "it has no value".into(),
        Error::QuotingRequired { value, .. } => {
            format!("`{value}` is not a text: put it in quotes, if the value is right").into()
        }
        Error::SerdeUnknownField {
            field, expected, ..
        } => match nearest(field, expected) {
            Some(known) => format!("unknown field; a similar field is `{known}`"),
            None => format!("unknown field, expected one of `{}`", expected.join("`, `")),
        }
        .into(),
        Error::SerdeUnknownVariant {
            variant, expected, ..
        } => match expected.as_slice() {
            [only] => format!("it must be `{only}`"),
            expected => format!("`{variant}` must be one of `{}`", expected.join("`, `")),
        }
        .into(),
        Error::MultipleDocuments { .. } => {
            "a second YAML document begins here, and a file has only one".into()
        }
        Error::Unexpected { expected, .. } => match *expected {
            "mapping start" => "fields are expected, as in `kind: Guestbook`".into(),
            "sequence start" => "a list is expected".into(),
            "string scalar" => "a text is expected".into(),
            _ => UserMessageFormatter.format_message(error),
        },
        // The scanner has a limit of its own, and no error of its own for the limit.
        _ => match UserMessageFormatter.format_message(error) {
            text if text == "recursion limit exceeded" => {
                "too many lists and objects are inside of each other".into()
            }
            text if text == "simple key expected ':'" => {
                "a field needs a colon and a space, as in `kind: Guestbook`".into()
            }
            text if text.starts_with("tab") || text.ends_with("found a tab") => {
                "YAML does not take a tab as indentation: use spaces".into()
            }
            text => text,
        },
    }
}

/// The text of a value. A string gets quotes if YAML 1.2 would read it as another type. The quotes are single, unless
/// the string needs an escape.
pub fn write(value: impl Serialize) -> Result<String> {
    write_as(value, true)
}

/// The same for a manifest, which kubectl reads. A string also gets quotes if YAML 1.1 would read it as another type,
/// such as `y`.
pub fn write_manifest(value: impl Serialize) -> Result<String> {
    write_as(value, false)
}

/// What YAML reads in place of a word without quotes, such as a number; `None` if it reads the word.
pub fn misread(word: &str) -> Option<&'static str> {
    // The library also quotes these two, but YAML writes the numbers as `.inf` and `.nan`.
    if matches!(word, "inf" | "nan") {
        return None;
    }
    let is_quoted = write_manifest(word).is_ok_and(|text| text.starts_with(['\'', '"']));
    is_quoted.then(|| match word {
        "null" => "null",
        word if word.matches('-').count() == 2 => "a date",
        word if word.starts_with(|c: char| c.is_ascii_digit()) => "a number",
        _ => "a boolean",
    })
}

/// `value` as in the manifests that the rendered operator writes with the same library. A text is quoted if YAML would
/// read it as something else, such as `on` or `1.5`.
pub fn as_in_manifest<T: Serialize + ?Sized>(value: &T) -> Result<String> {
    let mut options = serde_yaml::SerializerOptions::default();
    // Never wrap a long text.
    options.folded_wrap_chars = usize::MAX;
    let mut text = String::new();
    serde_yaml::to_fmt_writer_with_options(&mut text, &value, options)?;
    text.truncate(text.trim_end().len());
    Ok(text)
}

fn write_as(value: impl Serialize, yaml_12: bool) -> Result<String> {
    let options = serde_yaml::ser_options! {
        no_lang_directive: true,
        prefer_block_scalars: false,
        yaml_12: yaml_12,
    };
    let text = serde_yaml::to_string_with_options(&value, options)?;
    let mut quoted = String::new();
    for line in text.lines() {
        quoted += &with_single_quotes(line);
        quoted.push('\n');
    }
    Ok(quoted)
}

fn with_single_quotes(line: &str) -> Cow<'_, str> {
    let entry = line.trim_start_matches([' ', '-']);
    let value = match entry.split_once(": ") {
        Some((_, value)) if !entry.starts_with('"') => value,
        _ => entry,
    };
    let quoted = value
        .strip_prefix('"')
        .and_then(|value| value.strip_suffix('"'));
    let Some(quoted) = quoted else {
        return line.into();
    };
    let text = quoted.replace("\\\"", "\"").replace("\\\\", "\\");
    if text.replace('\\', "\\\\").replace('"', "\\\"") != quoted {
        return line.into();
    }
    let before = &line[..line.len() - value.len()];
    format!("{before}'{}'", text.replace('\'', "''")).into()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, time::Instant};

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Book {
        #[serde(default)]
        lent: bool,
        #[serde(default)]
        pages: Vec<Page>,
        title: String,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Page {
        text: String,
        #[serde(default)]
        size: Size,
    }

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Size {
        #[default]
        Small,
        Large,
    }

    #[track_caller]
    fn assert_error(text: &str, expected: &str) {
        let error = read::<Book>("BOOK", text).unwrap_err().to_string();
        assert_eq!(error, expected, "{text}");
    }

    #[test]
    fn an_error_has_line_field_and_reason() {
        let cases = [
            (
                "title: 12",
                "`BOOK` line 1, `title`: `12` is not a text: put it in quotes, if the value is right",
            ),
            (
                "title: true",
                "`BOOK` line 1, `title`: `true` is not a text: put it in quotes, if the value is right",
            ),
            ("title:", "`BOOK` line 1, `title`: it has no value"),
            ("title: [a]", "`BOOK` line 1, `title`: a text is expected"),
            (
                "lent: no",
                "`BOOK` line 1, `lent`: it must be `true` or `false`",
            ),
            ("pages: a", "`BOOK` line 1, `pages`: a list is expected"),
            (
                "lent: true\n\ttitle: a",
                "`BOOK` line 1: YAML does not take a tab as indentation: use spaces",
            ),
            (
                "lent: true\ntitle",
                "`BOOK` line 2: a field needs a colon and a space, as in `kind: Guestbook`",
            ),
            (
                "Title: a",
                "`BOOK` line 1, `Title`: unknown field; a similar field is `title`",
            ),
            (
                "page: []",
                "`BOOK` line 1, `page`: unknown field; a similar field is `pages`",
            ),
            (
                "name: a",
                "`BOOK` line 1, `name`: unknown field, expected one of `lent`, `pages`, `title`",
            ),
            (
                "a book",
                "`BOOK` line 1: fields are expected, as in `kind: Guestbook`",
            ),
            (
                "pages:\n- text: a\n- b",
                "`BOOK` line 3, `pages[1]`: fields are expected, as in `kind: Guestbook`",
            ),
            (
                "pages:\n- text: a\n  size: tiny",
                "`BOOK` line 3, `pages[0].size`: `tiny` must be one of `small`, `large`",
            ),
            (
                "pages:\n- text: a\n- texd: b",
                "`BOOK` line 3, `pages[1].texd`: unknown field; a similar field is `text`",
            ),
            (
                "pages:\n- size: small",
                "`BOOK`, `pages[0]`: missing field `text`",
            ),
            (
                "title: a\ntitle: b",
                "`BOOK` line 2, `title`: this field occurs twice",
            ),
            (
                "pages:\n- text: a\n  text: b",
                "`BOOK` line 3, `pages[0].text`: this field occurs twice",
            ),
            ("lent: true", "`BOOK`: missing field `title`"),
            (
                "title: a: b",
                "`BOOK` line 1: mapping values are not allowed in this context",
            ),
            (
                "lent: true\n<<: {}",
                "`BOOK` line 2: the merge key `<<` is not supported: write the fields in full",
            ),
            (
                "title: a\n---\ntitle: b",
                "`BOOK` line 3: a second YAML document begins here, and a file has only one",
            ),
        ];
        for (text, expected) in cases {
            assert_error(text, expected);
        }
    }

    #[test]
    fn yaml_that_would_take_long_to_read_is_refused_at_once() {
        let start = Instant::now();
        let brackets = "[".repeat(100_000);
        assert_error(
            &brackets,
            "`BOOK` line 1: too many lists and objects are inside of each other",
        );
        assert_error(
            &format!("lent: true\npages: {brackets}"),
            "`BOOK` line 2, `pages`: too many lists and objects are inside of each other",
        );
        let mut lines = vec!["a0: &a0 [x, x, x, x, x, x, x, x, x]".to_owned()];
        for level in 1..12 {
            let below = vec![format!("*a{}", level - 1); 9].join(", ");
            lines.push(format!("a{level}: &a{level} [{below}]"));
        }
        let bomb = lines.join("\n");
        let error = read::<BTreeMap<String, serde_json::Value>>("BOMB", &bomb).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`BOMB` line 3, `a2[8][8]`: its aliases repeat too much text"
        );
        assert_eq!(read_or_default::<Book>(&bomb), Book::default());
        assert!(start.elapsed().as_secs() < 1, "{:?}", start.elapsed());
    }

    #[test]
    fn a_value_has_a_line() {
        let text =
            "a: 1\n---\nb:\n  c: [x,\n    y]\nd:\n- name: e\n  f: 2\n- name: g\n  f: {h: 3}\n";
        for (document, path, expected) in [
            (0, vec!["a"], Some((1, 1))),
            (1, vec!["b", "c"], Some((4, 2))),
            (1, vec!["b", "c", "1"], Some((5, 3))),
            (1, vec!["d", "g", "f", "h"], Some((10, 4))),
            (1, vec!["d", "e", "f", "unknown"], Some((8, 3))),
            (1, vec!["z"], None),
            (2, vec!["a"], None),
        ] {
            assert_eq!(Lines::of(text).line(document, &path), expected, "{path:?}");
        }
    }

    #[test]
    fn a_text_may_have_many_lines_of_comments() {
        // kubebuilder writes 58 of them before the first item of `replacements`.
        let text = format!("title: a\npages:\n{}- text: b\n", "# - c\n".repeat(58));
        assert_eq!(read::<Book>("BOOK", &text).unwrap().pages.len(), 1);
        assert_eq!(documents(&text).unwrap()[0]["pages"][0]["text"], "b");
    }

    #[test]
    fn the_default_replaces_an_unreadable_text() {
        let read = read_or_default::<BTreeMap<String, String>>("title: 12");
        assert_eq!(read["title"], "12");
        let unreadable = read_or_default::<BTreeMap<String, String>>("title: [");
        assert!(unreadable.is_empty());
    }

    #[test]
    fn texts_are_quoted_where_they_need_it() {
        let cases = [
            ("guestbook", "guestbook"),
            ("0.1.0", "0.1.0"),
            ("no", "no"),
            ("3", "'3'"),
            ("1e3", "'1e3'"),
            ("true", "'true'"),
            ("null", "'null'"),
            ("Me: & you", "'Me: & you'"),
            ("O'Brien", "O'Brien"),
            ("O'Brien: us", "'O''Brien: us'"),
            ("say \"x\"", "say \"x\""),
            ("\"x\": \\y", "'\"x\": \\y'"),
            ("\\\": ", "'\\\": '"),
            ("- a", "'- a'"),
            ("a\\nb", "a\\nb"),
            ("a: \u{feff}", "\"a: \\uFEFF\""),
        ];
        for (text, expected) in cases {
            let entries = write(vec![text]).unwrap();
            assert_eq!(entries, format!("- {expected}\n"));
            assert_eq!(read::<Vec<String>>("", &entries).unwrap(), [text]);
            let fields = BTreeMap::from([("k".to_owned(), text.to_owned())]);
            let written = write(&fields).unwrap();
            assert_eq!(written, format!("k: {expected}\n"));
            assert_eq!(read::<BTreeMap<_, _>>("", &written).unwrap(), fields);
            let nested = write([&fields]).unwrap();
            assert_eq!(nested, format!("- k: {expected}\n"));
        }
        let long = "long ".repeat(50) + "text";
        assert_eq!(write(&long).unwrap(), format!("{long}\n"));
    }
}
