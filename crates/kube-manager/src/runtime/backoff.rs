//! Exponential backoff for each object: a failure delays the next reconcile of that object only.

use std::{collections::HashMap, hash::Hash, ops::Range, time::Duration};

use anyhow::{Result, ensure};
use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use parking_lot::Mutex;

/// The shortest and the longest delay.
pub const PAUSE: Range<Duration> = Duration::from_millis(100)..Duration::from_secs(300);

/// Checks that delays can grow within `pauses`. A delay of zero would never grow: a failing object would be reconciled
/// without a pause.
///
/// # Errors
///
/// When `pauses` begins with zero, or does not end later than it begins.
pub fn check(pauses: &Range<Duration>) -> Result<()> {
    ensure!(
        !pauses.start.is_zero(),
        "`backoff({pauses:?})`: the shortest delay must not be zero"
    );
    ensure!(
        pauses.start < pauses.end,
        "`backoff({pauses:?})`: the longest delay must be longer than the shortest"
    );
    Ok(())
}

/// The delays of all objects whose last reconcile failed.
pub struct Backoff<K> {
    pauses: Range<Duration>,
    /// The number of failures in a row, and the next delays.
    failed: Mutex<HashMap<K, (u32, ExponentialBackoff)>>,
}

impl<K: Eq + Hash> Backoff<K> {
    /// Delays within `pauses`, for which [`check`] succeeds.
    pub fn new(pauses: Range<Duration>) -> Self {
        Self {
            pauses,
            failed: Mutex::default(),
        }
    }

    /// The number of failures in a row after one more failure, and the delay. With [`PAUSE`], the delays are about 0.1 s,
    /// 0.2 s, 0.4 s, and so on, up to 5 minutes.
    pub fn failed(&self, key: K) -> (u32, Duration) {
        let Range { start, end } = self.pauses;
        let mut failed = self.failed.lock();
        let failures = failed.entry(key);
        let (count, pauses) = failures.or_insert_with(|| (0, growing(start..end).build()));
        *count = count.saturating_add(1);
        // In a narrow range, the jitter could exceed the end.
        let pause = pauses.next().unwrap_or(end).clamp(start, end);
        (*count, pause)
    }

    /// A delay after a failure that a retry soon would not mend: about the longest one. Jitter spreads the retries.
    pub fn longest(&self) -> Duration {
        let Range { start, end } = self.pauses;
        let pause = growing(end / 2..end).build().next();
        pause.unwrap_or(end).clamp(start, end)
    }

    /// The number of failures in a row.
    pub fn failures(&self, key: &K) -> u32 {
        self.failed.lock().get(key).map_or(0, |(count, _)| *count)
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
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn all_pauses_are_within_the_range(start in 1_u64.., longer in 1_u64..) {
            let start = Duration::from_nanos(start);
            let range = start..start.saturating_add(Duration::from_nanos(longer));
            check(&range).expect("a valid range");
            let backoff = Backoff::new(range.clone());
            for _ in 0..20 {
                let (_, pause) = backoff.failed("a");
                prop_assert!(pause >= range.start && pause <= range.end, "{pause:?} of {range:?}");
            }
        }
    }

    #[test]
    fn a_range_in_which_no_pause_can_grow_is_refused() {
        fn refused(start: u64, end: u64) -> String {
            let range = Duration::from_secs(start)..Duration::from_secs(end);
            check(&range).expect_err("a refusal").to_string()
        }

        assert!(refused(0, 5).contains("`backoff(0ns..5s)`: the shortest delay must not be zero"));
        for (start, end) in [(5, 5), (5, 1)] {
            let says = refused(start, end);
            assert!(says.contains("the longest delay must be longer"), "{says}");
        }
        assert!(check(&PAUSE).is_ok());
    }

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
    fn the_longest_pause_has_jitter_and_is_within_the_range() {
        for range in [PAUSE, PAUSE.start..PAUSE.start * 3 / 2] {
            let backoff = Backoff::<()>::new(range.clone());
            let pauses: HashSet<_> = (0..20).map(|_| backoff.longest()).collect();
            let least = range.start.max(range.end / 2);
            assert!(pauses.len() > 1, "{pauses:?}");
            assert!(
                pauses
                    .iter()
                    .all(|pause| *pause >= least && *pause <= range.end),
                "{pauses:?}"
            );
        }
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
