//! A random schedule of faults. The same seed produces the same schedule.

use std::{fmt, time::Duration};

use crate::random::Random;

/// The kinds of faults. [`Event::replicas`] names the replicas that a fault concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The API server is killed, and started again.
    ApiServerRestart,
    /// Connections of a replica are refused.
    Refused,
    /// Packets of a replica vanish.
    Vanished,
    /// The API server is slow to answer.
    Slow,
    /// Each second request gets the answer that the API server has too many requests (429).
    TooMany,
    /// Each second request gets the answer that the API server has failed (500).
    Internal,
    /// All watches of a replica expire.
    WatchExpiry,
    /// The wall clock of a replica jumps, and later jumps back.
    ClockJump,
    /// Another client takes the lease before the lease expires.
    LeaseTheft,
    /// The role temporarily lacks one rule or all rules.
    PermissionWithdrawn,
    /// The CRD is changed to store another version.
    CrdReplaced,
    /// The CRD is deleted, with all objects, and created again.
    CrdDeleted,
    /// The certificate authorities of the webhooks are deleted.
    CertificatesLost,
    /// A replica is paused.
    Paused,
    /// A replica is killed.
    Killed,
    /// A replica is stopped, as in a rollout.
    Stopped,
}

/// The kinds of faults in a short run.
const SHORT: [Fault; 15] = [
    Fault::ApiServerRestart,
    Fault::Refused,
    Fault::Vanished,
    Fault::Slow,
    Fault::TooMany,
    Fault::Internal,
    Fault::WatchExpiry,
    Fault::ClockJump,
    Fault::LeaseTheft,
    Fault::PermissionWithdrawn,
    Fault::CrdReplaced,
    Fault::CertificatesLost,
    Fault::Paused,
    Fault::Killed,
    Fault::Stopped,
];

/// The shortest run with all kinds of faults.
const LONG: Duration = Duration::from_secs(10 * 60);

/// A fault and its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub fault: Fault,
    /// The time since the beginning of the soak test.
    pub at: Duration,
    pub lasts: Duration,
    /// The replicas that the fault concerns.
    pub replicas: &'static [usize],
    /// A random number for the details of the fault.
    pub detail: usize,
}

impl fmt::Display for Event {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, lasts) = (self.at.as_secs_f64(), self.lasts.as_secs_f64());
        write!(
            to,
            "{at:6.1} s: {:?} for {lasts:.1} s {:?}",
            self.fault, self.replicas
        )
    }
}

/// Returns faults that overlap, for a run of this length. No kind occurs again before all kinds have occurred.
pub fn schedule(seed: u64, length: Duration) -> Vec<Event> {
    let mut random = Random(seed);
    let all: Vec<_> = if length < LONG {
        SHORT.into()
    } else {
        SHORT.into_iter().chain([Fault::CrdDeleted]).collect()
    };
    // A short run contains each kind once.
    let pause = length.as_millis() / all.len() as u128;
    let pause = usize::try_from(pause).unwrap_or(usize::MAX).min(10_000);
    let milliseconds = |number: usize| Duration::from_millis(number as u64);
    let mut deck = Vec::new();
    let events = (0..).map(|index| {
        if deck.is_empty() {
            deck.clone_from(&all);
        }
        Event {
            fault: deck.swap_remove(random.below(deck.len())),
            at: milliseconds(index * pause + random.below(pause)),
            // A disconnected leader gives up after 8 s, and another replica leads after 12 s.
            lasts: milliseconds(500 + random.below(2 * pause)),
            replicas: random.one::<&[usize]>(&[&[0], &[1], &[0, 1]]),
            detail: random.below(1 << 16),
        }
    });
    events.take_while(|event| event.at < length).collect()
}

mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_seed_gives_the_same_faults_again_and_a_short_run_has_each_kind() {
        let minute = Duration::from_secs(60);
        assert_eq!(schedule(7, minute), schedule(7, minute));
        assert_ne!(schedule(7, minute), schedule(8, minute));
        for seed in 0..100 {
            let events = schedule(seed, minute);
            let kinds: BTreeSet<_> = events.iter().map(|event| event.fault).collect();
            assert_eq!(kinds, BTreeSet::from(SHORT), "{seed}: {events:?}");
            assert!(events.iter().all(|event| event.lasts < minute / 5));
        }
        let hour = schedule(7, 60 * minute);
        assert!(hour.len() > 300, "{}", hour.len());
        let deleted = hour.iter().filter(|it| it.fault == Fault::CrdDeleted);
        assert!(deleted.count() > 10);
    }
}
