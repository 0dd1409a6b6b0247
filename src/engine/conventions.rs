//! What the engine knows of the files that a program writes.

use std::ops::Range;

use anyhow::Result;

/// What the engine knows of the files that a program writes.
#[derive(Debug)]
pub struct Conventions {
    /// The name of the file that describes the desired state. It is written last.
    pub description: &'static str,
    /// A text in the description of this program. Another program's file may have the same name.
    pub mark: &'static str,
    /// The description as this program writes it: without comments, and in its order. Fails if the text is not a description.
    pub normalized: fn(&str) -> Result<String>,
    /// The list of a description. `None` if its entries are not on lines of their own.
    pub list: fn(&str) -> Option<List>,
    /// The places of the lists in a rendered text to which this program adds lines. Each line of such a list stands for
    /// itself.
    pub growing: fn(&str) -> Vec<Range<usize>>,
    /// Whether the file at a path has an attribute. This depends only on the path, because nothing else is known about
    /// a file that is no longer rendered.
    pub has: fn(&str, Attribute) -> bool,
    /// The text and the digest of the file at a path that this version of the program contains.
    pub vendored: fn(&str) -> Option<Vendored>,
}

impl Conventions {
    /// Whether the file at `path` is derived.
    pub fn is_derived(&self, path: &str) -> bool {
        (self.has)(path, Attribute::Derived)
    }

    /// Whether `text` describes the same as `normalized`, a description as this program writes it.
    pub(super) fn is_same_description(&self, text: &str, normalized: &str) -> bool {
        text == normalized || (self.normalized)(text).is_ok_and(|text| text == normalized)
    }
}

/// The list of a description.
#[derive(Debug)]
pub struct List {
    /// The place of the line with its name.
    pub title: Range<usize>,
    /// The number of spaces before each entry.
    pub indent: usize,
    /// Its entries, which have no lines between them.
    pub entries: Vec<Entry>,
}

/// An entry of the list of a description.
#[derive(Debug)]
pub struct Entry {
    /// What the entry is about. It is the same in each layout.
    pub name: String,
    /// The place of its lines in the text, with comments.
    pub range: Range<usize>,
}

/// What is true of all files at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attribute {
    /// Has code. If the user has another file at the path, the two are not mixed.
    Code,
    /// Another program rewrites the file, so it stays once it differs from the last render. All other files are merged
    /// line by line.
    Derived,
    /// Has independent lines, so a conflict of two new files is resolved by the lines of both.
    Patterns,
    /// Is recorded by its digest.
    Vendored,
}

/// A vendored file of this version.
#[derive(Debug, Clone, Copy)]
pub struct Vendored {
    /// The text of the file.
    pub text: &'static str,
    /// The text that stands for it in the record.
    pub digest: &'static str,
}

/// Conventions for the unit tests of the engine.
#[cfg(test)]
pub const OF_TESTS: Conventions = Conventions {
    description: "PROJECT",
    mark: "layout",
    normalized: |text| {
        let lines = text.split_inclusive('\n');
        Ok(lines.filter(|line| !line.starts_with('#')).collect())
    },
    list: |_| None,
    growing: |text| {
        let (start, end) = ("list:\n", "end\n");
        let place = text.split_once(start).and_then(|(above, list)| {
            let start = above.len() + start.len();
            Some(start..start + list.find(end)?)
        });
        place.into_iter().collect()
    },
    has: |path, attribute| match attribute {
        Attribute::Code => path.starts_with("src/"),
        Attribute::Derived => path.starts_with("config/rbac/") || path.starts_with("config/crd/"),
        Attribute::Patterns => path == ".gitignore",
        Attribute::Vendored => path.starts_with("crates/"),
    },
    vendored: |path| {
        (path == "crates/vendored.rs").then_some(Vendored {
            text: "vendored\n",
            digest: "sha256:31096a67cdc12f090468dc0fb8bdaf5f9a5d6b0505d5e33ae4bd8e9d7e5086a8\n",
        })
    },
};
