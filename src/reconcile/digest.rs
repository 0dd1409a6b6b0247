//! The record has only a digest of each vendored file: the binary contains the text, and the texts of all vendored
//! files are as long as all other files together.

use std::{borrow::Cow, fmt::Write as _};

use sha2::{Digest as _, Sha256};

use super::{LineEnds, Texts};
use crate::templates;

/// The prefix of a digest.
const PREFIX: &str = "sha256:";

/// Converts texts to the form in the record.
pub fn recorded(mut texts: Texts) -> Texts {
    for (path, text) in &mut texts {
        if templates::has(path, "vendored") && !is_digest(text) {
            *text = digest(text);
        }
    }
    texts
}

/// The text for `recorded`, an entry of the record. For a digest, this is the candidate with that digest, with plain
/// line ends. If no candidate has it, the text is unknown, and the digest itself is returned.
pub fn resolve<'a>(recorded: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    if !is_digest(recorded) {
        return recorded.to_owned();
    }
    let mut candidates = candidates.into_iter().map(|text| LineEnds::strip(text).0);
    let text = candidates.find(|text| digest(text) == recorded);
    text.map_or_else(|| recorded.to_owned(), Cow::into_owned)
}

/// Whether `text` is the digest of an unknown text.
pub fn is_digest(text: &str) -> bool {
    text.starts_with(PREFIX) && text.lines().count() == 1
}

fn digest(text: &str) -> String {
    let mut digest = PREFIX.to_owned();
    for byte in Sha256::digest(text) {
        let _ = write!(digest, "{byte:02x}");
    }
    digest.push('\n');
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    const VENDORED: &str = "crates/kube-manager/src/runtime/mod.rs";

    #[test]
    fn a_vendored_file_is_recorded_by_its_digest() {
        let texts = [(VENDORED, "abc"), ("src/lib.rs", "abc")];
        let texts = texts.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let recorded = recorded(texts.into());
        // A test vector of FIPS 180-2.
        let expected = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n";
        assert_eq!(recorded[VENDORED], expected);
        assert_eq!(recorded["src/lib.rs"], "abc");
    }

    #[test]
    fn a_digest_is_the_text_that_has_it() {
        let recorded = digest("a\nb\n");
        assert_eq!(resolve(&recorded, ["c\n", "a\nb\n"]), "a\nb\n");
        assert_eq!(resolve(&recorded, ["a\r\nb\r\n"]), "a\nb\n");
        assert_eq!(resolve(&recorded, ["a\n"]), recorded);
        assert_eq!(resolve("a\n", ["b\n"]), "a\n");
        // git has merged the digests of two branches.
        let two = recorded.repeat(2);
        assert_eq!(resolve(&two, [two.as_str()]), two);
        assert!(is_digest(&recorded) && !is_digest(&two));
    }
}
