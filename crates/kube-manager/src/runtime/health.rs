//! The probes. /healthz answers while not all threads of the controllers are blocked. /readyz succeeds once the API
//! server has answered all watches; until then, it says what each controller waits for.
//!
//! A Pod has one readiness, and callers of its webhooks need the Pod to be ready before any watch is answered: an API
//! server that lists objects may have to call a webhook first. So with webhooks, /readyz reports only the state of the
//! webhooks: whether they are served, and whether the API server trusts their certificate. /readyz/controllers always reports the state of the controllers.

use std::{collections::BTreeMap, fmt::Write, sync::Arc};

use axum::{Router, extract::State, http::StatusCode, routing::get};
use parking_lot::Mutex;
use tokio::runtime::Handle;

/// What the process waits for. A replica that waits for the lease is ready, because it has no work to do.
#[derive(Clone, Default)]
pub struct Health(Arc<Mutex<BTreeMap<String, Check>>>);

struct Check {
    ready: bool,
    says: String,
}

impl Health {
    /// Reports that `name` is ready.
    pub fn ready(&self, name: &str, says: impl Into<String>) {
        self.set(name, true, says.into());
    }

    /// Reports what `name` waits for.
    pub fn waits(&self, name: &str, says: impl Into<String>) {
        self.set(name, false, says.into());
    }

    fn set(&self, name: &str, ready: bool, says: String) {
        // Each check has one line, but a message of the API server may have several.
        let check = Check {
            ready,
            says: says.replace('\n', " "),
        };
        self.0.lock().insert(name.to_owned(), check);
    }

    /// The routes of the probes. /readyz/controllers reports `controllers`, which run on the threads of `workers`.
    pub fn routes(&self, controllers: &Self, workers: &Handle) -> Router {
        Router::new()
            .route("/healthz", get(healthz).with_state(workers.clone()))
            .route("/readyz", get(readyz).with_state(self.clone()))
            .route(
                "/readyz/controllers",
                get(readyz).with_state(controllers.clone()),
            )
    }
}

/// Gives no answer while all threads of the controllers are blocked, so that Kubernetes restarts the Pod.
async fn healthz(State(workers): State<Handle>) -> &'static str {
    // The task is cancelled if the controllers have ended: the process may still serve webhooks.
    let _ = workers.spawn(async {}).await;
    "ok"
}

async fn readyz(State(health): State<Health>) -> (StatusCode, String) {
    let checks = health.0.lock();
    let mut text = String::new();
    for (name, Check { ready, says }) in &*checks {
        let mark = if *ready { '+' } else { '-' };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "[{mark}] {name}: {says}");
    }
    if checks.values().all(|check| check.ready) {
        (StatusCode::OK, text + "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, text + "not ready\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn readiness_says_what_it_waits_for() {
        let health = Health::default();
        health.ready("lease", "another process has it");
        health.waits("guestbooks", "there is no\nsuch kind");
        let (code, text) = readyz(State(health.clone())).await;
        assert_eq!(code, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(
            text,
            "[-] guestbooks: there is no such kind\n[+] lease: another process has it\nnot ready\n"
        );

        health.ready("guestbooks", "in sync");
        let (code, _) = readyz(State(health)).await;
        assert_eq!(code, StatusCode::OK);
    }
}
