//! A path that the API server calls, and what answers there.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::room::Permit;

/// Why a call has no answer. The API server treats it as a failed call.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// The body is not a review of version v1.
    #[error("{0}")]
    Malformed(String),
    /// The webhook had an error.
    #[error("{0:#}")]
    Failed(anyhow::Error),
    /// The webhook has a bug.
    #[error("the webhook panicked: {0}")]
    Panicked(String),
}

/// Answers the reviews of an endpoint.
pub(super) trait Respond: Send + Sync {
    /// The maximum size of a review in bytes.
    fn most(&self) -> usize;

    /// The answer to the review in `body`. Work that continues without the returned future must keep `permit`.
    fn respond(
        &self,
        body: Vec<u8>,
        permit: Arc<Permit>,
    ) -> BoxFuture<'_, Result<Vec<u8>, Failure>>;
}

/// A webhook and its path.
pub(super) struct Endpoint {
    pub path: String,
    pub handler: Box<dyn Respond>,
}
