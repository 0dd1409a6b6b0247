//! Texts of files.

use std::{borrow::Cow, collections::BTreeMap};

use super::reconcile::line_ends::is_same;

/// The text of a file. Code can compare and pass on a text. To read its characters, it calls [`Text::content`].
///
/// The texts of vendored files are half of a project. They are part of the program, and are not copied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text(Cow<'static, str>);

/// Texts by project-relative path, with `/` between its parts, such as `src/api/mod.rs`.
pub type Texts = BTreeMap<String, Text>;

impl Text {
    /// The characters of the text. Do not search or change a rendered text: add a field to the view of the project, and
    /// let the template use the field.
    pub fn content(&self) -> &str {
        &self.0
    }

    /// Whether the texts are equal except for line ends.
    pub fn is_same(&self, other: &Self) -> bool {
        is_same(&self.0, &other.0)
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the text has no characters.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<&'static str> for Text {
    fn from(text: &'static str) -> Self {
        Self(text.into())
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, text: &str) -> bool {
        self.0 == text
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, text: &&str) -> bool {
        self.0 == *text
    }
}

/// Tests may look into each text.
#[cfg(test)]
impl std::ops::Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.content()
    }
}

#[cfg(test)]
impl std::fmt::Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.content())
    }
}

#[cfg(test)]
impl PartialEq<String> for Text {
    fn eq(&self, text: &String) -> bool {
        self.0 == *text
    }
}
