//! The record has only a digest of each vendored file: the binary contains the text, and the texts of all vendored
//! files are as long as all other files together.

use std::{borrow::Cow, collections::BTreeMap, fmt::Write as _, sync::LazyLock};

use sha2::{Digest as _, Sha256};

use super::{LineEnds, Texts};
use crate::{project::Runtime, templates};

/// The prefix of a digest.
const PREFIX: &str = "sha256:";

/// A vendored file of this version.
struct Vendored {
    text: &'static str,
    digest: String,
}

/// The vendored files of this version, by their path in the project. Their digests are computed once.
static VENDORED: LazyLock<BTreeMap<String, Vendored>> = LazyLock::new(|| {
    let files = kube_manager::source::FILES.iter();
    let files = files.map(|(path, text)| {
        let digest = digest(text);
        (
            format!("{}/{path}", Runtime::FOLDER),
            Vendored { text, digest },
        )
    });
    files.collect()
});

/// Converts texts to the form in the record.
pub fn recorded(mut texts: Texts) -> Texts {
    for (path, text) in &mut texts {
        if templates::has(path, "vendored") && !is_digest(text) {
            *text = match VENDORED.get(path) {
                Some(file) if file.text == text => file.digest.clone(),
                _ => digest(text),
            };
        }
    }
    texts
}

/// The text for `recorded`, the entry of the file at `path` in the record. For a digest, this is the text of this
/// version or the text `on_disk`, with plain line ends. If neither has the digest, the text is unknown, and the digest
/// itself is returned.
pub fn resolve(path: &str, recorded: &str, on_disk: Option<&str>) -> String {
    if !is_digest(recorded) {
        return recorded.to_owned();
    }
    if let Some(file) = VENDORED.get(path)
        && file.digest == recorded
    {
        return file.text.to_owned();
    }
    let on_disk = on_disk.map(|text| LineEnds::strip(text).0);
    on_disk
        .filter(|text| digest(text) == recorded)
        .map_or_else(|| recorded.to_owned(), Cow::into_owned)
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

    const VENDORED_FILE: &str = "crates/kube-manager/src/runtime/mod.rs";

    #[test]
    fn a_vendored_file_is_recorded_by_its_digest() {
        let texts = [(VENDORED_FILE, "abc"), ("src/lib.rs", "abc")];
        let texts = texts.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let recorded = recorded(texts.into());
        // A test vector of FIPS 180-2.
        let expected = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n";
        assert_eq!(recorded[VENDORED_FILE], expected);
        assert_eq!(recorded["src/lib.rs"], "abc");
    }

    #[test]
    fn a_digest_is_the_text_that_has_it() {
        let recorded = digest("a\nb\n");
        let resolve = |recorded: &str, on_disk| resolve(VENDORED_FILE, recorded, on_disk);
        assert_eq!(resolve(&recorded, Some("a\nb\n")), "a\nb\n");
        assert_eq!(resolve(&recorded, Some("a\r\nb\r\n")), "a\nb\n");
        for unknown in [Some("a\n"), None] {
            assert_eq!(resolve(&recorded, unknown), recorded);
        }
        assert_eq!(resolve("a\n", Some("b\n")), "a\n");
        // git has merged the digests of two branches.
        let two = recorded.repeat(2);
        assert_eq!(resolve(&two, Some(&two)), two);
        assert!(is_digest(&recorded) && !is_digest(&two));
    }

    #[test]
    fn the_digest_of_a_vendored_file_of_this_version_is_its_text() {
        let (path, file) = VENDORED.first_key_value().unwrap();
        let texts = Texts::from([(path.clone(), file.text.to_owned())]);
        let recorded = recorded(texts);
        assert_eq!(recorded[path], digest(file.text));
        assert_eq!(resolve(path, &recorded[path], Some("edited\n")), file.text);
    }
}
