//! Logs why a background task cannot do its work, once for each reason.

use super::failure;

/// What is wrong at the moment, for the log.
pub(super) struct Trouble {
    /// What waits, such as `waits with the certificates of the webhooks`.
    waits: &'static str,
    now: String,
}

impl Trouble {
    /// None yet. `waits` is the message that the log has for it.
    pub fn new(waits: &'static str) -> Self {
        let now = String::new();
        Self { waits, now }
    }

    /// Logs `error`, unless it was the last one already: each try finds it again.
    pub fn is(&mut self, error: String) {
        if self.now != error {
            tracing::warn!(error, "{}", self.waits);
            self.now = error;
        }
    }

    pub fn ends(&mut self) {
        self.now.clear();
    }
}

/// What `error` says, with the words of the API server.
pub(super) fn says(error: &anyhow::Error) -> String {
    match error.downcast_ref::<kube::Error>() {
        Some(request) => format!("{error}: {}", failure::says(request)),
        None => format!("{error:#}"),
    }
}
