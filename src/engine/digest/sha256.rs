//! Computes digests: in commands, and in the build script.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// The prefix of a digest.
pub const PREFIX: &str = "sha256:";

/// The digest of `text`, as one line.
pub fn digest(text: &str) -> String {
    let mut digest = PREFIX.to_owned();
    for byte in Sha256::digest(text) {
        let _ = write!(digest, "{byte:02x}");
    }
    digest.push('\n');
    digest
}
