//! Exponential backoff for each object: a failure delays the next reconcile of that object only.

use std::{collections::HashMap, hash::Hash, ops::Range, time::Duration};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use parking_lot::Mutex;

/// The shortest and the longest delay.
pub const PAUSE: Range<Duration> = Duration::from_millis(100)..Duration::from_secs(300);

/// The delays of all objects whose last reconcile failed.
pub struct Backoff<K> {
    pauses: Range<Duration>,
    /// The number of failures in a row, and the next delays.
    failed: Mutex<HashMap<K, (u32, ExponentialBackoff)>>,
}

impl<K: Eq + Hash> Backoff<K> {
    /// Delays within `pauses`.
    pub fn new(pauses: Range<Duration>) -> Self {
        Self {
            pauses,
            failed: Mutex::default(),
        }
    }

    /// The number of failures in a row after one more failure, and the delay. With [`PAUSE`], the delays are about 0.1 s, 0.2 s, 0.4 s, and so on, up to 5
    /// minutes.
    pub fn failed(&self, key: K) -> (u32, Duration) {
        let mut failed = self.failed.lock();
        let (count, pauses) = failed
            .entry(key)
            .or_insert_with(|| (0, growing(self.pauses.clone()).build()));
        *count = count.saturating_add(1);
        (*count, pauses.next().unwrap_or(self.pauses.end))
    }

    /// Resets the delay of an object, after a success or a deletion.
    pub fn forget(&self, key: &K) {
        self.failed.lock().remove(key);
    }
}

/// Delays that double, from the start to the end of `range`. Jitter spreads the retries of objects that failed at the
/// same time.
pub fn growing(range: Range<Duration>) -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_min_delay(range.start)
        // The jitter can double a delay.
        .with_max_delay(range.end / 2)
        .with_factor(2.0)
        .with_jitter()
        .without_max_times()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_the_longest_for_each_object_by_itself() {
        let backoff = Backoff::new(PAUSE);
        let pauses: Vec<_> = (0..20).map(|_| backoff.failed("a").1).collect();
        assert!(
            pauses[0] >= PAUSE.start && pauses[0] < 3 * PAUSE.start,
            "{pauses:?}"
        );
        assert!(pauses[3] > 4 * PAUSE.start, "{pauses:?}");
        assert!(pauses[19] >= PAUSE.end / 2, "{pauses:?}");
        assert!(pauses.iter().all(|pause| *pause <= PAUSE.end), "{pauses:?}");
        assert_eq!(backoff.failed("a").0, 21);
        let (count, pause) = backoff.failed("b");
        assert!(count == 1 && pause < 3 * PAUSE.start);
    }

    #[test]
    fn a_success_starts_over() {
        let backoff = Backoff::new(PAUSE);
        for _ in 0..10 {
            backoff.failed("a");
        }
        backoff.forget(&"a");
        let (count, pause) = backoff.failed("a");
        assert!(count == 1 && pause < 3 * PAUSE.start);
    }
}
