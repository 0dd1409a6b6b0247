use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow};

/// The limit of each wait in the tests: longer than any step takes on a machine that does much else at the same time. A
/// test has another limit only if it asserts this limit.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// Returns the flag that limits how long kubectl waits.
pub fn kubectl_limit(patience: Duration) -> String {
    format!("--timeout={}s", patience.as_secs())
}

/// The limits of the pause after a probe.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The length of the pause after a probe, as a multiple of the probe's own time. A probe that runs a program uses a
/// processor, which the awaited component needs, too.
const PAUSE: u32 = 5;

/// Calls `probe` until it returns `Some`: every 100 ms, and less often if the probe takes long.
///
/// A probe that fails is repeated, like a probe that returns `None`, because errors are expected while a component
/// starts. After `timeout`, the error contains `what`, and its cause is the last error of the probe.
pub fn wait_until<T>(
    what: &str,
    timeout: Duration,
    mut probe: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let deadline = Instant::now() + timeout;
    loop {
        let begin = Instant::now();
        let seen = match probe() {
            Ok(Some(value)) => return Ok(value),
            Ok(None) => None,
            Err(error) => Some(error),
        };
        if Instant::now() >= deadline {
            let message = format!("waited {timeout:?} for {what}");
            return Err(match seen {
                Some(error) => error.context(message),
                None => anyhow!(message),
            });
        }
        thread::sleep((begin.elapsed() * PAUSE).clamp(SHORTEST_PAUSE, LONGEST_PAUSE));
    }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn returns_the_first_value() {
        let mut calls = 0;
        let value = wait_until("the third call", Duration::from_secs(10), || {
            calls += 1;
            match calls {
                1 => bail!("not yet"),
                2 => Ok(None),
                _ => Ok(Some("there")),
            }
        });
        assert_eq!(value.unwrap(), "there");
        assert_eq!(calls, 3);
    }

    #[test]
    fn says_what_was_waited_for_and_last_seen() {
        let error = wait_until::<()>("the moon", Duration::ZERO, || bail!("only clouds"));
        assert_eq!(
            format!("{:#}", error.unwrap_err()),
            "waited 0ns for the moon: only clouds"
        );
    }
}
