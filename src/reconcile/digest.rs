//! The record has only a digest of each vendored file: the binary contains the text, and the texts of all vendored
//! files are as long as all other files together.

use std::{collections::BTreeMap, sync::LazyLock};

use kube_manager::source::FILES;

use self::sha256::{PREFIX, digest};
use super::{LineEnds, Text, Texts};
use crate::{project::Runtime, templates};

mod sha256;

/// The digests of the vendored files of this version, from the build script.
const DIGESTS: [&str; FILES.len()] = include!(concat!(env!("OUT_DIR"), "/digests.rs"));

/// A vendored file of this version.
struct Vendored {
    text: &'static str,
    digest: &'static str,
}

/// The vendored files of this version, by their path in the project.
static VENDORED: LazyLock<BTreeMap<String, Vendored>> = LazyLock::new(|| {
    let files = FILES.iter().zip(DIGESTS);
    let files = files.map(|((path, text), digest)| {
        let path = format!("{}/{path}", Runtime::FOLDER);
        (path, Vendored { text, digest })
    });
    files.collect()
});

/// Converts texts to the form in the record.
pub fn recorded(mut texts: Texts) -> Texts {
    for (path, text) in &mut texts {
        if templates::has(path, "vendored") && !is_digest(text) {
            *text = match VENDORED.get(path) {
                Some(file) if file.text == text => file.digest.into(),
                _ => digest(text).into(),
            };
        }
    }
    texts
}

/// The text for `recorded`, the entry of the file at `path` in the record. For a digest, this is the text of this
/// version or the text `on_disk`, with plain line ends. If neither has the digest, the text is unknown, and the digest
/// itself is returned.
pub fn resolve(path: &str, recorded: &Text, on_disk: Option<&str>) -> Text {
    if !is_digest(recorded) {
        return recorded.clone();
    }
    if let Some(file) = VENDORED.get(path)
        && recorded == file.digest
    {
        return file.text.into();
    }
    let on_disk = on_disk.map(|text| LineEnds::strip(text).0);
    on_disk
        .filter(|text| digest(text) == **recorded)
        .map_or_else(|| recorded.clone(), |text| text.into_owned().into())
}

/// The text of the file at `path` on disk. A vendored file that nobody has edited has the text that is part of the
/// program, so the memory of `text` is free for the next file.
pub fn shared(path: &str, text: String) -> Text {
    match VENDORED.get(path) {
        Some(file) if file.text == text => file.text.into(),
        _ => text.into(),
    }
}

/// Whether `text` is the digest of an unknown text.
pub fn is_digest(text: &str) -> bool {
    text.starts_with(PREFIX) && text.lines().count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const VENDORED_FILE: &str = "crates/kube-manager/src/runtime/mod.rs";

    #[test]
    fn a_vendored_file_is_recorded_by_its_digest() {
        let texts = [(VENDORED_FILE, "abc"), ("src/lib.rs", "abc")];
        let texts = texts.map(|(path, text)| (path.to_owned(), text.into()));
        let recorded = recorded(texts.into());
        // A test vector of FIPS 180-2.
        let expected = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n";
        assert_eq!(recorded[VENDORED_FILE], expected);
        assert_eq!(recorded["src/lib.rs"], "abc");
    }

    #[test]
    fn a_digest_is_the_text_that_has_it() {
        let recorded = Text::from(digest("a\nb\n"));
        let resolve = |recorded: &Text, on_disk| resolve(VENDORED_FILE, recorded, on_disk);
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
        let texts = VENDORED
            .iter()
            .map(|(path, file)| (path.clone(), file.text.into()));
        for (path, recorded) in recorded(texts.collect()) {
            let text = VENDORED[&path].text;
            assert_eq!(recorded, digest(text), "{path}");
            assert_eq!(resolve(&path, &recorded, Some("edited\n")), text, "{path}");
        }
    }
}
