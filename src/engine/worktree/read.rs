//! Reads files, each with a size limit.

use std::{
    io::{self, Read},
    os::unix::fs::FileTypeExt,
    path::Path,
};

use anyhow::{Context, Result, anyhow, ensure};
use cap_fs_ext::OpenOptionsSyncExt;
use cap_std::{
    ambient_authority,
    fs::{File, OpenOptions},
};

use super::{last_applied::LAST_APPLIED, refusal::Refusal};
use crate::{
    hint::OrHint,
    limits::{self, size},
};

/// The most bytes that the file at `path` in the project may have.
pub(super) fn max(path: &str) -> u64 {
    if path == LAST_APPLIED {
        limits::RECORD
    } else {
        limits::FILE
    }
}

/// The bytes of `file`; `None` if there are more than `max`. `size` is the number of bytes that the metadata gives. The
/// file may have more or less by now.
pub(super) fn read(file: impl Read, size: u64, max: u64) -> io::Result<Option<Vec<u8>>> {
    // One byte more than needed, so that the read that finds the end does not enlarge the buffer.
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(max)).unwrap_or_default() + 1);
    file.take(max + 1).read_to_end(&mut bytes)?;
    Ok(u64::try_from(bytes.len())
        .is_ok_and(|size| size <= max)
        .then_some(bytes))
}

/// The text of an input that the user names on the command line: a file, relative to `folder`, a pipe, which is read to
/// its end, or standard input by the name `-`.
///
/// # Errors
/// As [`read_text`].
pub fn read_input(path: &Path, folder: &Path, max: u64) -> Result<String> {
    if path == Path::new("-") {
        return text(io::stdin().lock(), 0, max);
    }
    let path = folder.join(path);
    if std::fs::metadata(&path)?.file_type().is_fifo() {
        return text(std::fs::File::open(&path)?, 0, max);
    }
    read_text(&path, max)
}

fn text(file: impl Read, size_on_disk: u64, max: u64) -> Result<String> {
    let bytes = read(file, size_on_disk, max)?;
    let bytes = bytes.with_context(|| format!("it has more than {}", size(max)))?;
    String::from_utf8(bytes).context("it is not UTF-8 text")
}

/// The text of a file anywhere on the disk, whose path comes from the user. The file must be regular and have at most
/// `max` bytes. Devices and named pipes are refused: a read of them may block or never end.
///
/// # Errors
/// Give the reason only, without the path.
pub fn read_text(path: &Path, max: u64) -> Result<String> {
    let mut options = OpenOptions::new();
    // A named pipe may replace the file after the check. Without `nonblock`, opening the pipe would wait for a writer.
    options.read(true).nonblock(true);
    // Checked before the file is opened, because the error of opening a socket is not helpful.
    ensure!(std::fs::metadata(path)?.is_file(), "it is not a file");
    let file = File::open_ambient_with(path, &options, ambient_authority())?;
    let metadata = file.metadata()?;
    ensure!(metadata.is_file(), "it is not a file");
    text(file.into_std(), metadata.len(), max)
}

/// The error for the file at `path` in the project, which has more than `max` bytes.
pub(super) fn refuse<T>(path: &str, max: u64) -> Result<T> {
    if path == LAST_APPLIED {
        return Err(Refusal::LargeRecord.into());
    }
    Err(anyhow!(
        "`{path}` has more than {}, the most that rscaffold reads",
        size(max)
    ))
    .or_hint(format!(
        "restore what was there, for example with `git restore {path}`, or move it away; then run \
         the command again"
    ))
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn no_more_is_read_than_the_limit() {
        for size in [0, 3, 4, u64::MAX] {
            assert_eq!(read(&b"abc"[..], size, 3).unwrap().unwrap(), b"abc");
            assert_eq!(read(&b"abcd"[..], size, 3).unwrap(), None);
            assert_eq!(read(io::repeat(0), size, 3).unwrap(), None);
        }
    }

    #[test]
    fn a_file_of_the_user_is_regular_small_and_text() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("file");
        for (bytes, expected) in [
            (&b"abc"[..], Ok("abc")),
            (b"abcd", Err("it has more than 3 bytes")),
            (b"\xff", Err("it is not UTF-8 text")),
        ] {
            std::fs::write(&file, bytes).unwrap();
            let read = read_text(&file, 3).map_err(|error| error.to_string());
            assert_eq!(read.as_deref().map_err(String::as_str), expected);
        }
        for path in [folder.path(), Path::new("/dev/zero")] {
            let error = read_text(path, 3).unwrap_err().to_string();
            assert_eq!(error, "it is not a file");
        }
    }
}
