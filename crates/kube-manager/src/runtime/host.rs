//! The process and its operator, for all that runs in it.

use http::Uri;
use kube::Client;
use prometheus::Registry;
use tokio_util::sync::CancellationToken;

use super::operator::Operator;

/// What a part of the process needs from the process, whether this replica leads or not.
#[derive(Clone)]
pub struct Host {
    pub operator: Operator,
    /// Sends requests whether this replica leads or not.
    pub client: Client,
    /// The URL of the API server.
    pub server: Uri,
    /// The namespaces to watch; if empty, all of them.
    pub namespaces: Vec<String>,
    pub registry: Registry,
    /// Cancelled when the operator stops.
    pub stop: CancellationToken,
}
