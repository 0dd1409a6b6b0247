//! Limits on sizes and counts. A hostile repository could otherwise make a command use all memory and time, so every
//! read, render and record has a limit.

use anyhow::{Result, ensure};

/// The largest file, in bytes.
pub const FILE: u64 = 4 << 20;

/// The most bytes that all files of a project have together: about the files of 2,000 kinds.
pub const FILES_TOGETHER: u64 = 64 << 20;

/// The largest record of the project's files, in bytes.
pub const RECORD: u64 = 128 << 20;

/// The most files that a record names.
pub const RECORDED_FILES: usize = 100_000;

/// The most `PROJECT` texts that a record has. A merge by git leaves two of them.
pub const RECORDED_PROJECTS: usize = 100;

/// The most files and folders that are listed in a folder that rscaffold did not write, such as a Go project.
pub const ENTRIES: usize = 20_000;

/// The most entries in `resources`: one for each version of a kind.
pub const RESOURCES: usize = 2_000;

/// The number of bytes of several files together.
#[derive(Debug, Default)]
pub struct Total(u64);

impl Total {
    /// Adds the bytes of one file.
    ///
    /// # Errors
    /// When all files together have more than [`FILES_TOGETHER`] bytes.
    pub fn add(&mut self, bytes: usize) -> Result<()> {
        self.0 = self.0.saturating_add(u64::try_from(bytes)?);
        ensure!(
            self.0 <= FILES_TOGETHER,
            "all files of the project together have more than {}, the most that rscaffold takes",
            size(FILES_TOGETHER)
        );
        Ok(())
    }
}

/// A number of bytes in a readable unit, such as `64 KB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1 << 20 => format!("{} MB", bytes >> 20),
        bytes if bytes >= 1 << 10 => format!("{} KB", bytes >> 10),
        bytes => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_shown_in_its_unit() {
        for (bytes, shown) in [(1023, "1023 bytes"), (1 << 16, "64 KB"), (RECORD, "128 MB")] {
            assert_eq!(size(bytes), shown);
        }
    }

    #[test]
    fn files_have_a_limit_together() {
        let mut total = Total::default();
        for _ in 0..16 {
            total.add(4 << 20).unwrap();
        }
        total.add(0).unwrap();
        assert_eq!(
            total.add(1).unwrap_err().to_string(),
            "all files of the project together have more than 64 MB, the most that rscaffold takes"
        );
    }
}
