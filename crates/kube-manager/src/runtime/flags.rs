//! The values of flags: times and addresses.

use std::{io, net::TcpListener, str::FromStr, time::Duration};

use anyhow::{Context, ensure};

/// A duration in Go's format, such as `15s` or `1m30s`.
pub(super) fn duration(text: &str) -> anyhow::Result<Duration> {
    // kube panics for very long durations, and for a sign in the middle.
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    ensure!(
        text.len() <= MOST_CHARACTERS && !digits.contains(['+', '-']),
        "it must look like `1m30s`, and be `{LONGEST_TIME}` at most"
    );
    let duration = kube::core::Duration::from_str(text)?;
    ensure!(!duration.is_negative(), "it must not be negative");
    let duration = Duration::from(duration);
    ensure!(duration <= LONGEST, "it must be `{LONGEST_TIME}` at most");
    Ok(duration)
}

/// The most characters in the text of a duration.
const MOST_CHARACTERS: usize = 16;

/// The longest duration, 100 years, as it is typed. No sum of a few of them and of the current time overflows.
const LONGEST_TIME: &str = "876000h";
pub(super) const LONGEST: Duration = Duration::from_secs(876_000 * 60 * 60);

/// The address to listen on: `:8081` for all interfaces, `0` for none.
#[derive(Clone, Debug)]
pub struct Address(String);

impl FromStr for Address {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let port = text.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
        ensure!(
            text == "0" || matches!(port, Some(Ok(_))),
            "it must look like `:8081`, `127.0.0.1:8081` or `[::1]:8081`, or be `0`"
        );
        Ok(Self(text.to_owned()))
    }
}

impl Address {
    /// Whether nothing is served.
    #[cfg(feature = "webhook")]
    pub(super) fn is_none(&self) -> bool {
        self.0 == "0"
    }

    /// Listens on the address, and logs it with `what`, the name of the service. Falls back to IPv4, because some
    /// systems have no IPv6.
    pub(super) fn listen(&self, what: &str) -> anyhow::Result<Option<TcpListener>> {
        if self.0 == "0" {
            return Ok(None);
        }
        let listener = self
            .bind()
            .with_context(|| format!("cannot listen on `{}`", self.0))?;
        tracing::info!(address = %listener.local_addr()?, "serves {what}");
        Ok(Some(listener))
    }

    fn bind(&self) -> io::Result<TcpListener> {
        let listener = match self.0.strip_prefix(':') {
            Some(port) => TcpListener::bind(format!("[::]:{port}"))
                .or_else(|_| TcpListener::bind(format!("0.0.0.0:{port}")))?,
            None => TcpListener::bind(&self.0)?,
        };
        listener.set_nonblocking(true)?;
        Ok(listener)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_that_of_go() {
        fn seconds(text: &str) -> Option<u64> {
            duration(text).ok().map(|time| time.as_secs())
        }

        assert_eq!(seconds("1m30s"), Some(90));
        assert_eq!(seconds(LONGEST_TIME), Some(LONGEST.as_secs()));
        for bad in [
            "876001h",
            "999999999999999h",
            "9999999999999999h",
            "1h-2h",
            "-1s",
            "5",
            "x",
        ] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }

    #[test]
    fn addresses() {
        for text in [":0", "127.0.0.1:0"] {
            let address = text.parse::<Address>().expect("an address");
            assert!(address.listen("tests").expect("a free port").is_some());
        }
        let none = "0".parse::<Address>().expect("none");
        assert!(none.listen("tests").expect("nothing to do").is_none());
        for wrong in ["", "8081", ":99999", "localhost"] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
    }
}
