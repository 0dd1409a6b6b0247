//! What an operator does outside the cluster.

use std::sync::Arc;

use parking_lot::Mutex;

use super::state::comparable;

/// The journal of a fake of an external system, such as a cloud: the fake records each change that it makes. A run has
/// failed if its journal differs from the journal of a run without faults: then something was done twice, or never.
///
/// A request that changes nothing is not recorded. For example, a second request to create the same bucket changes
/// nothing if the external system refuses it.
#[derive(Clone, Debug, Default)]
pub struct Journal(Arc<Mutex<Vec<String>>>);

impl Journal {
    /// Records a change, such as `create the bucket photos`. The same change must have the same text in each run, but for
    /// UIDs and times in it.
    pub fn record(&self, change: impl Into<String>) {
        self.0.lock().push(change.into());
    }

    /// The changes in alphabetical order, because several may happen at the same time.
    pub(super) fn changes(&self) -> Vec<String> {
        let mut changes: Vec<_> = self
            .0
            .lock()
            .iter()
            .map(|change| comparable(change))
            .collect();
        changes.sort_unstable();
        changes
    }
}
