//! What keeps certificates from being as they should be.

use crate::runtime::failure;

/// What is wrong at the moment, for the log.
#[derive(Default)]
pub(super) struct Trouble(String);

impl Trouble {
    /// Logs `error`, unless it was the last one already: each try finds it again.
    pub fn is(&mut self, error: String) {
        if self.0 != error {
            tracing::warn!(error, "waits with the certificates of the webhooks");
            self.0 = error;
        }
    }

    pub fn ends(&mut self) {
        self.0.clear();
    }
}

/// What `error` says, with the words of the API server.
pub(super) fn says(error: &anyhow::Error) -> String {
    match error.downcast_ref::<kube::Error>() {
        Some(request) => format!("{error}: {}", failure::says(request)),
        None => format!("{error:#}"),
    }
}
