//! Files that the engine refuses. The commands add hints to these errors.

use super::last_applied::LAST_APPLIED;
use crate::limits::{RECORD, size};

/// Why files on disk are refused.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// A line of the record is not valid.
    #[error("`{LAST_APPLIED}` is damaged")]
    DamagedRecord,
    /// The record is too large.
    #[error(
        "`{LAST_APPLIED}` has more than {}, the most that rscaffold reads",
        size(RECORD)
    )]
    LargeRecord,
    /// These files have conflict markers of the tool.
    #[error("there are conflict markers in{0}")]
    Marked(String),
    /// These files have conflict markers of git.
    #[error("there are conflict markers in{0}")]
    Unmerged(String),
}
