//! The record has only a digest of each vendored file: the binary contains the text, and the texts of all vendored
//! files are as long as all other files together.

use self::sha256::PREFIX;
pub use self::sha256::digest;
use super::{
    conventions::{Attribute, Conventions},
    reconcile::line_ends::LineEnds,
    text::{Text, Texts},
};

mod sha256;

impl Conventions {
    /// Converts texts to the form in the record.
    pub fn recorded(&self, mut texts: Texts) -> Texts {
        for (path, text) in &mut texts {
            if (self.has)(path, Attribute::Vendored) && !is_digest(text.content()) {
                *text = match (self.vendored)(path) {
                    Some(file) if *text == file.text => file.digest.into(),
                    _ => digest(text.content()).into(),
                };
            }
        }
        texts
    }

    /// The text for `recorded`, the entry of the file at `path` in the record. For a digest, this is the text of this
    /// version or the text `on_disk`, with plain line ends. If neither has the digest, the text is unknown, and the
    /// digest itself is returned.
    pub fn resolve(&self, path: &str, recorded: &Text, on_disk: Option<&str>) -> Text {
        if !is_digest(recorded.content()) {
            return recorded.clone();
        }
        if let Some(file) = (self.vendored)(path)
            && *recorded == file.digest
        {
            return file.text.into();
        }
        let on_disk = on_disk.map(|text| LineEnds::strip(text).0);
        on_disk
            .filter(|text| *recorded == *digest(text))
            .map_or_else(|| recorded.clone(), |text| text.into_owned().into())
    }

    /// The text of the file at `path` on disk. A vendored file that nobody has edited has the text that is part of the
    /// program, so the memory of `text` is free for the next file.
    pub(super) fn shared(&self, path: &str, text: String) -> Text {
        match (self.vendored)(path) {
            Some(file) if file.text == text => file.text.into(),
            _ => text.into(),
        }
    }
}

/// Whether `text` is the digest of an unknown text.
pub fn is_digest(text: &str) -> bool {
    text.starts_with(PREFIX) && text.lines().count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    use super::super::OF_TESTS;

    const VENDORED: &str = "crates/vendored.rs";

    #[test]
    fn a_vendored_file_is_recorded_by_its_digest() {
        let texts = [(VENDORED, "abc"), ("src/lib.rs", "abc")];
        let texts = texts.map(|(path, text)| (path.to_owned(), text.into()));
        let recorded = OF_TESTS.recorded(texts.into());
        // A test vector of FIPS 180-2.
        let expected = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n";
        assert_eq!(recorded[VENDORED], expected);
        assert_eq!(recorded["src/lib.rs"], "abc");
    }

    #[test]
    fn a_digest_is_the_text_that_has_it() {
        let recorded = Text::from(digest("a\nb\n"));
        let resolve = |recorded: &Text, on_disk| OF_TESTS.resolve(VENDORED, recorded, on_disk);
        assert_eq!(resolve(&recorded, Some("a\nb\n")), "a\nb\n");
        assert_eq!(resolve(&recorded, Some("a\r\nb\r\n")), "a\nb\n");
        for unknown in [Some("a\n"), None] {
            assert_eq!(resolve(&recorded, unknown), recorded);
        }
        assert_eq!(resolve(&"a\n".into(), Some("b\n")), "a\n");
        // git has merged the digests of two branches.
        let two = Text::from(recorded.repeat(2));
        assert_eq!(resolve(&two, Some(&two)), two);
        assert!(is_digest(&recorded) && !is_digest(&two));
    }

    #[test]
    fn the_digest_of_a_vendored_file_of_this_version_stands_for_its_text() {
        let file = (OF_TESTS.vendored)(VENDORED).unwrap();
        let texts = Texts::from([(VENDORED.to_owned(), file.text.into())]);
        let recorded = &OF_TESTS.recorded(texts)[VENDORED];
        assert_eq!(recorded, file.digest);
        assert_eq!(*recorded, digest(file.text));
        assert_eq!(
            OF_TESTS.resolve(VENDORED, recorded, Some("edited\n")),
            file.text
        );
    }
}
