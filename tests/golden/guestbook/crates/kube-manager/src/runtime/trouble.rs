//! Logs why a background task cannot do its work, once for each error.

/// The current error, for the log.
pub(super) struct Trouble {
    /// The message of the log, such as `waits with the certificates of the webhooks`.
    waits: &'static str,
    now: String,
}

impl Trouble {
    /// No error yet. `waits` is the message of the log.
    pub fn new(waits: &'static str) -> Self {
        let now = String::new();
        Self { waits, now }
    }

    /// Logs `error`, unless the previous try had the same error.
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
