//! The input of a plan: what is known of each file.

use std::{collections::BTreeMap, sync::LazyLock};

use super::{markers::Marked, plan::Conflict};
use crate::engine::{
    conventions::Conventions,
    text::{Text, Texts},
};

/// The input of a plan: what is known of the file at each path.
///
/// All adjustments are made to the sides: [`reconcile`](super::reconcile) runs once, and its plan is never changed.
#[derive(Debug)]
pub struct Sides {
    conventions: &'static Conventions,
    files: BTreeMap<String, File>,
}

/// What is known of one file. A text is `None` if that side has no such file.
#[derive(Debug, Default)]
pub struct File {
    /// The text that the tool wrote last.
    pub base: Option<Text>,
    /// The text of the new render.
    pub theirs: Option<Text>,
    /// The text on disk.
    pub disk: Option<Text>,
    /// The user's version.
    ours: Ours,
    /// What the file starts as.
    pub start: Start,
    /// Whether the user's version comes from an input of the command.
    pub is_given: bool,
    /// Whether the file has conflict markers that the tool wrote and that the user has not resolved.
    pub is_marked: bool,
    /// The conflict of two branches that changed the file in ways that cannot be merged.
    pub clash: Option<Conflict>,
}

/// The user's version of a file.
#[derive(Debug, Default)]
enum Ours {
    /// The text on disk.
    #[default]
    OnDisk,
    /// Another text: of a file that starts as a copy of another file, that git left unmerged, or that is an input of
    /// the command. `None` for a deleted file.
    Elsewhere(Option<Text>),
}

/// What a file starts as.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Its own render.
    #[default]
    Render,
    /// The file at another path, which gives the base, and also ours until the new file is on disk.
    Carried,
    /// The same, but the new file is not on disk yet, and the other file stays. Their lines cannot conflict.
    Copied,
}

impl File {
    /// The user's version; `None` if the user has no such file.
    pub fn ours(&self) -> Option<&str> {
        match &self.ours {
            Ours::OnDisk => self.disk.as_ref().map(Text::content),
            Ours::Elsewhere(text) => text.as_ref().map(Text::content),
        }
    }

    /// Sets the user's version, if it is not the text on disk.
    pub fn set_ours(&mut self, text: Option<Text>) {
        self.ours = Ours::Elsewhere(text);
    }

    /// The two sides of the text on disk, if it has conflict markers.
    pub fn marked(&self) -> Option<Marked> {
        Marked::parse(self.disk.as_ref()?.content())
    }

    /// Whether the tool wrote the file, and no longer renders it.
    pub fn is_gone(&self) -> bool {
        self.base.is_some() && self.theirs.is_none()
    }

    /// Whether any side has the file.
    fn exists(&self) -> bool {
        let is_on_a_side = self.base.is_some() || self.theirs.is_some() || self.disk.is_some();
        is_on_a_side || self.ours().is_some()
    }
}

impl Sides {
    /// The sides of files whose user's version is the text on disk.
    pub fn new(conventions: &'static Conventions, base: Texts, disk: Texts, theirs: Texts) -> Self {
        let mut sides = Self {
            conventions,
            files: BTreeMap::new(),
        };
        for (path, text) in base {
            sides.files.entry(path).or_default().base = Some(text);
        }
        for (path, text) in disk {
            sides.files.entry(path).or_default().disk = Some(text);
        }
        for (path, text) in theirs {
            sides.files.entry(path).or_default().theirs = Some(text);
        }
        sides
    }

    /// What is known of the files.
    pub(super) fn conventions(&self) -> &'static Conventions {
        self.conventions
    }

    /// The file at `path`, to change it.
    pub fn at(&mut self, path: &str) -> &mut File {
        self.files.entry(path.to_owned()).or_default()
    }

    /// The file at `path`.
    pub fn get(&self, path: &str) -> &File {
        static UNKNOWN: LazyLock<File> = LazyLock::new(File::default);
        self.files.get(path).unwrap_or_else(|| &UNKNOWN)
    }

    /// Each file that the tool writes or wrote, with its path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &File)> {
        let files = self.files.iter().filter(|(_, file)| file.exists());
        files.map(|(path, file)| (path.as_str(), file))
    }

    /// The texts of the new render.
    pub fn into_theirs(self) -> Texts {
        let files = self.files.into_iter();
        files
            .filter_map(|(path, file)| Some((path, file.theirs?)))
            .collect()
    }
}
