//! How much there may be. A repository may be made to take all memory and time of whoever runs a command
//! in it, so nothing is read, rendered or recorded without a limit.

use anyhow::{Result, ensure};

/// The largest file, in bytes.
pub const FILE: u64 = 4 << 20;

/// The most that all files of a project have together, in bytes: about those of 2,000 kinds.
pub const FILES_TOGETHER: u64 = 64 << 20;

/// The largest record of these files, in bytes.
pub const RECORD: u64 = 128 << 20;

/// The most files that a record names.
pub const RECORDED_FILES: usize = 100_000;

/// The most projects that a record has. A merge of git leaves two of them.
pub const RECORDED_PROJECTS: usize = 100;

/// The most files and folders that are looked at in a folder of others.
pub const ENTRIES: usize = 20_000;

/// The most versions of kinds that a project has.
pub const RESOURCES: usize = 2_000;

/// The bytes of several files together.
#[derive(Debug, Default)]
pub struct Total(u64);

impl Total {
    /// Adds those of one file.
    ///
    /// # Errors
    /// When all together have more than [`FILES_TOGETHER`].
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

/// A number of bytes as people read it.
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
