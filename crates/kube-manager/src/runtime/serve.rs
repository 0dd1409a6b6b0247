//! Serves HTTP: probes to the kubelet, metrics to Prometheus. Metrics are served over TLS. A client
//! needs a token with the right to `get` the path, which the API server checks.

use std::{
    collections::HashMap,
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use axum::{
    Router,
    extract::{Request, State},
    http::{
        StatusCode,
        header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE},
    },
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use axum_server::tls_rustls::RustlsConfig;
use k8s_openapi::api::{
    authentication::v1::{TokenReview, TokenReviewSpec},
    authorization::v1::{NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
};
use kube::{Api, Client, api::PostParams};
use tokio::{sync::Semaphore, time::interval};

use super::metrics::Metrics;

/// How long the API server's decision about a token is cached.
const REMEMBER: Duration = Duration::from_secs(60);

/// How often the files of the certificate are read again. Kubernetes replaces the whole folder of a
/// mounted Secret, so polling is simpler than file events.
const RELOAD: Duration = Duration::from_secs(10);

/// Serves plain HTTP.
pub async fn plain(listener: TcpListener, routes: Router) -> Result<()> {
    let server = axum_server::from_tcp(listener)?;
    Ok(server.serve(routes.into_make_service()).await?)
}

/// Serves HTTPS with the certificate in `folder`, which is read again when it changes. Without a
/// folder, the certificate is self-signed.
pub async fn secure(listener: TcpListener, routes: Router, folder: Option<PathBuf>) -> Result<()> {
    let (mut pair, tls);
    match &folder {
        Some(folder) => {
            pair = read(folder)?;
            let (certificate, key) = pair.clone();
            tls = RustlsConfig::from_pem(certificate, key).await?;
        }
        None => {
            let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
            let (certificate, key) = (made.cert.der().to_vec(), made.signing_key.serialize_der());
            pair = (Vec::new(), Vec::new());
            tls = RustlsConfig::from_der(vec![certificate], key).await?;
        }
    }
    let server = axum_server::from_tcp_rustls(listener, tls.clone())?;
    let reload = async {
        let Some(folder) = folder else {
            return std::future::pending().await;
        };
        let mut tick = interval(RELOAD);
        loop {
            tick.tick().await;
            let changed = match read(&folder) {
                Ok(new) if new == pair => continue,
                Ok(new) => {
                    pair = new.clone();
                    tls.reload_from_pem(new.0, new.1)
                        .await
                        .map_err(anyhow::Error::from)
                }
                Err(error) => Err(error),
            };
            match changed {
                Ok(()) => tracing::info!("took the new certificate of the metrics"),
                Err(error) => {
                    tracing::warn!(error = format!("{error:#}"), "keeps the old certificate")
                }
            }
        }
    };
    tokio::select! {
        ended = server.serve(routes.into_make_service()) => Ok(ended?),
        never = reload => never,
    }
}

/// The certificate and its key, as PEM.
fn read(folder: &Path) -> Result<(Vec<u8>, Vec<u8>)> {
    let read = |file| {
        let path = folder.join(file);
        fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))
    };
    Ok((read("tls.crt")?, read("tls.key")?))
}

/// /metrics, without authentication.
pub fn metrics(metrics: Metrics) -> Router {
    let text = async move || match metrics.text() {
        Ok(text) => ([(CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "cannot write the metrics");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    };
    Router::new().route("/metrics", get(text))
}

/// `routes`, for clients whose token has the right to `get` the path.
pub fn authorized(routes: Router, client: Client) -> Router {
    let gate = Arc::new(Gate {
        client,
        allowed: Mutex::default(),
        reviews: Semaphore::new(4),
    });
    routes.layer(middleware::from_fn_with_state(gate, authorize))
}

/// Asks the API server whether a token has the right to `get` a path.
struct Gate {
    client: Client,
    /// The cached decisions, each with the time at which it expires.
    allowed: Mutex<HashMap<Question, Instant>>,
    /// Limits how many reviews run at once, so that a client cannot flood the API server with them.
    reviews: Semaphore,
}

/// Whether a token has a right.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Question {
    token: String,
    verb: String,
    path: String,
}

async fn authorize(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let header = request.headers().get(AUTHORIZATION);
    let token = header.and_then(|header| header.to_str().ok()?.strip_prefix("Bearer "));
    let answer = match token {
        Some(token) => {
            let question = Question {
                token: token.to_owned(),
                verb: request.method().as_str().to_lowercase(),
                path: request.uri().path().to_owned(),
            };
            gate.review(question).await
        }
        None => Ok(StatusCode::UNAUTHORIZED),
    };
    match answer {
        Ok(StatusCode::OK) => next.run(request).await,
        Ok(StatusCode::UNAUTHORIZED) => {
            (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")]).into_response()
        }
        Ok(refusal) => refusal.into_response(),
        Err(error) => {
            tracing::warn!(
                error = format!("{error:#}"),
                "cannot tell who may read the metrics"
            );
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

impl Gate {
    /// 200 if the token has the right, otherwise the status to answer.
    async fn review(&self, asked: Question) -> Result<StatusCode> {
        let known = || {
            let mut allowed = self.allowed.lock().unwrap_or_else(PoisonError::into_inner);
            allowed.retain(|_, until| Instant::now() < *until);
            allowed.contains_key(&asked)
        };
        if known() {
            return Ok(StatusCode::OK);
        }
        let Ok(_permit) = self.reviews.try_acquire() else {
            return Ok(StatusCode::SERVICE_UNAVAILABLE);
        };
        let params = PostParams::default();
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: asked.token.clone(),
                ..TokenReviewSpec::default()
            },
            ..TokenReview::default()
        };
        let review = Api::all(self.client.clone())
            .create(&params, &review)
            .await?;
        let status = review.status.unwrap_or_default();
        let Some(user) = status.user.filter(|_| status.authenticated == Some(true)) else {
            return Ok(StatusCode::UNAUTHORIZED);
        };
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: user.username,
                uid: user.uid,
                groups: user.groups,
                extra: user.extra,
                non_resource_attributes: Some(NonResourceAttributes {
                    path: Some(asked.path.clone()),
                    verb: Some(asked.verb.clone()),
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let review = Api::all(self.client.clone())
            .create(&params, &review)
            .await?;
        if !review.status.is_some_and(|status| status.allowed) {
            return Ok(StatusCode::FORBIDDEN);
        }
        let mut allowed = self.allowed.lock().unwrap_or_else(PoisonError::into_inner);
        allowed.insert(asked, Instant::now() + REMEMBER);
        Ok(StatusCode::OK)
    }
}
