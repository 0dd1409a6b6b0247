//! One command at a time in one folder.

use std::{
    fs::{File, TryLockError},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

/// How long a command waits for another one: many times what any command takes.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

/// Locks the folder `root` until the returned file is dropped, or its process ends in whatever way.
///
/// The folder itself is what is locked, not a file in it: a command that is refused leaves nothing
/// behind.
pub(super) fn lock(root: &Path, patience: Duration) -> Result<File> {
    let folder = File::open(root)
        .with_context(|| format!("failed to open the folder `{}`", root.display()))?;
    let deadline = Instant::now() + patience;
    loop {
        match folder.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => bail!(
                "another rscaffold is running in `{}`; run the command again once it has finished",
                root.display()
            ),
            // Some network file systems cannot lock a folder: better unlocked there than of no use.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(folder),
        }
    }
}
