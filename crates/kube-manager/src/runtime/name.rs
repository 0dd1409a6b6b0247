//! What may be the name of a controller: it is part of finalizers, of keys of labels and annotations, and of the reporter
//! of events, which the API server checks.

/// The most characters of the name, and of its part before the first dot.
const LONGEST: usize = 253;
const LONGEST_START: usize = 63;

/// Whether `name` can be the name of a controller: lower-case letters, digits, dots and minus signs, as in
/// `guestbook.example.com`.
pub const fn is_valid(name: &str) -> bool {
    let bytes = name.as_bytes();
    let (mut index, mut dots) = (0, 0);
    // As if a dot stood before the name.
    let mut before = b'.';
    while index < bytes.len() {
        let byte = bytes[index];
        let is_alphanumeric = byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_between = match byte {
            b'.' => before != b'.' && before != b'-',
            b'-' => before != b'.',
            _ => false,
        };
        if byte == b'.' {
            dots += 1;
        }
        let is_too_long = dots == 0 && index >= LONGEST_START;
        if is_too_long || !is_alphanumeric && !is_between {
            return false;
        }
        before = byte;
        index += 1;
    }
    before != b'.' && before != b'-' && bytes.len() <= LONGEST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_fits_into_labels_finalizers_and_reporters() {
        let start = "a".repeat(LONGEST_START);
        let longest = format!("a.{}", "b".repeat(LONGEST - 2));
        for name in [
            "a",
            "guestbook.webapp.com",
            "a-b.9",
            "0.b-1.c",
            &start,
            &longest,
        ] {
            assert!(is_valid(name), "{name}");
        }
        let (long_start, too_long) = (format!("{start}a.b"), format!("{longest}b"));
        for name in [
            "",
            ".",
            "-",
            "a.",
            "a-",
            ".a",
            "-a",
            "a..b",
            "a.-b",
            "a-.b",
            "A",
            "a_b",
            "a/b",
            "a b",
            "\u{e9}",
            &long_start,
            &too_long,
        ] {
            assert!(!is_valid(name), "{name}");
        }
    }
}
