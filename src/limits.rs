//! Limits for the size of inputs. Without them, a command in a malicious repository could use up all memory, or run for
//! a very long time. So everything that is read, rendered or recorded has a limit.

use anyhow::{Result, ensure};

/// The largest file that rscaffold reads, in bytes.
pub const FILE: u64 = 4 << 20;

/// The largest total size of all files of a project, in bytes. About 2,000 kinds fit.
pub const FILES_TOGETHER: u64 = 64 << 20;

/// The largest record of the files that rscaffold wrote last, in bytes.
pub const RECORD: u64 = 128 << 20;

/// The largest number of files in a record.
pub const RECORDED_FILES: usize = 100_000;

/// The largest number of projects in a record. A git merge can leave two.
pub const RECORDED_PROJECTS: usize = 100;

/// The largest number of files and folders that rscaffold looks at in a folder outside of the project, such as a Go
/// project or a cargo workspace.
pub const ENTRIES: usize = 20_000;

/// The largest number of versions of kinds in a project.
pub const RESOURCES: usize = 2_000;

/// The total size of several files.
#[derive(Debug, Default)]
pub struct Total(u64);

impl Total {
    /// Adds the size of one file, in bytes.
    ///
    /// # Errors
    /// When the total exceeds [`FILES_TOGETHER`].
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

/// Formats a number of bytes with a unit: `4 MB`.
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
    fn the_total_size_of_files_is_limited() {
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
