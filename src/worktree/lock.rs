//! One command at a time in one folder.

use std::{
    fs::{File, TryLockError},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow};

use crate::hint::OrHint;

/// How long a command waits for another one: many times the duration of any command.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

/// Opens the folder `root` and locks it, until the returned file is dropped or its process ends in
/// whatever way.
///
/// The folder itself is locked, not a file in it: so a command that is refused leaves nothing
/// behind.
pub(super) fn lock(root: &Path, patience: Duration) -> Result<File> {
    let folder = File::open(root)
        .with_context(|| format!("failed to open the folder `{}`", root.display()))?;
    let deadline = Instant::now() + patience;
    // Some network file systems cannot lock a folder: there, a command runs without a lock.
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
