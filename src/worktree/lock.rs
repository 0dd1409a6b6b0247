//! One command at a time in one folder.

use std::{
    fs::{File, TryLockError},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow};

use super::holder::Holder;
use crate::hint::OrHint;

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
    // Some network file systems cannot lock a folder: better unlocked there than of no use.
    while let Err(TryLockError::WouldBlock) = folder.try_lock() {
        if Instant::now() < deadline {
            thread::sleep(Duration::from_millis(20));
            continue;
        }
        let holder = Holder::of(&folder);
        // It may have ended while it was asked for.
        if let Err(TryLockError::WouldBlock) = folder.try_lock() {
            return Err(anyhow!("{holder} is working in this folder")).or_hint(holder.hint());
        }
        break;
    }
    Ok(folder)
}
