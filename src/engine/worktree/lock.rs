//! The lock that keeps other commands out of a project's folder.

use std::{
    fs::{File, TryLockError},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow};

use crate::hint::OrHint;

/// How long a command waits for another command: much longer than any command takes.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

/// Opens the folder `root` and locks it, until the returned file is dropped or the process ends for any reason.
///
/// The lock is on the folder itself, not on a file in it. So a refused command leaves no file behind.
pub(super) fn lock(root: &Path, patience: Duration) -> Result<File> {
    let folder = File::open(root)
        .with_context(|| format!("failed to open the folder `{}`", root.display()))?;
    let deadline = Instant::now() + patience;
    // Some network file systems cannot lock a folder. There, a command runs without a lock.
    while let Err(TryLockError::WouldBlock) = folder.try_lock() {
        if Instant::now() >= deadline {
            return Err(anyhow!(
                "another rscaffold process is working in this folder"
            ))
            .or_hint(
                "run the command again when the other process has finished; `pgrep -l rscaffold` \
                 lists all, including those that Ctrl-Z suspended",
            );
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(folder)
}
