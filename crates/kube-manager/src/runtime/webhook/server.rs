//! Serves the webhooks: all replicas run an HTTPS server, from the start until the API server no longer calls this Pod.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{
        HeaderValue, StatusCode,
        header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER},
    },
    response::{IntoResponse, Response},
    routing::post,
};
use futures::TryStreamExt;
use prometheus::{
    HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Registry, exponential_buckets,
    register_histogram_vec_with_registry as histogram,
    register_int_counter_vec_with_registry as counter,
    register_int_gauge_vec_with_registry as gauge,
};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{
    endpoint::{Endpoint, Failure},
    room::{Permit, Room},
};
use crate::runtime::flags::duration;

/// The timeout of a call without one in its query. It is the API server's default.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The longest timeout of a call that the API server allows.
const LONGEST: Duration = Duration::from_secs(30);

/// How much earlier than the API server a call gives up: a tenth of the timeout, but not more than this. The API server
/// begins to wait before it connects, and must get the answer before it stops waiting.
const MARGIN: Duration = Duration::from_secs(1);

/// The code in the metrics of a call whose client has not waited for the answer. Proxies use it for the same case.
const CLIENT_GONE: &str = "499";

/// The metrics of webhooks. Names and labels are those of controller-runtime; `webhook` is the path.
#[derive(Clone)]
pub(super) struct Metrics {
    /// `webhook`, `code`
    requests: IntCounterVec,
    /// `webhook`
    seconds: HistogramVec,
    /// `webhook`
    in_flight: IntGaugeVec,
}

impl Metrics {
    #[rustfmt::skip] // A table reads better.
    pub fn new(to: &Registry) -> prometheus::Result<Self> {
        let of = &["webhook"];
        let buckets = exponential_buckets(0.0005, 2.0, 16)?;
        Ok(Self {
            requests: counter!("controller_runtime_webhook_requests_total", "Calls of webhooks, by code", &["webhook", "code"], to)?,
            seconds: histogram!("controller_runtime_webhook_latency_seconds", "How long calls of webhooks take", of, buckets, to)?,
            in_flight: gauge!("controller_runtime_webhook_requests_in_flight", "Calls of webhooks that run now", of, to)?,
        })
    }
}

/// The state of a route.
struct Route {
    endpoint: Endpoint,
    metrics: Metrics,
    room: Arc<Room>,
    stop: CancellationToken,
}

/// The routes of all webhooks, which answer at most `calls` calls at once. After `stop`, each answer asks the client to
/// close its connection.
pub(super) fn routes(
    endpoints: impl IntoIterator<Item = Endpoint>,
    metrics: &Metrics,
    calls: u16,
    stop: &CancellationToken,
) -> Router {
    let room = Arc::new(Room::new(calls));
    let mut routes = Router::new();
    for endpoint in endpoints {
        let path = endpoint.path.clone();
        let state = Arc::new(Route {
            endpoint,
            metrics: metrics.clone(),
            room: room.clone(),
            stop: stop.clone(),
        });
        routes = routes.route(&path, post(call).with_state(state));
    }
    routes
}

async fn call(State(route): State<Arc<Route>>, request: Request) -> Response {
    let (metrics, webhook) = (&route.metrics, route.endpoint.path.as_str());
    let mut counted = Counted::new(metrics, webhook);
    let mut response = match Permit::take(&route.room) {
        Some(permit) => {
            let _in_flight = InFlight::new(metrics.in_flight.with_label_values(&[webhook]));
            let timer = metrics.seconds.with_label_values(&[webhook]).start_timer();
            let limit = limit(request.uri().query().unwrap_or_default());
            let answered = timeout(limit, answer(&route, request, permit)).await;
            timer.observe_duration();
            answered.unwrap_or_else(|_| {
                tracing::error!(webhook, ?limit, "the webhook took too long");
                (StatusCode::GATEWAY_TIMEOUT, "the webhook took too long").into_response()
            })
        }
        None => later(),
    };
    counted.answer = Some(response.status());
    drop(counted);
    if route.stop.is_cancelled() {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    response
}

/// Counts a call when it ends. The server drops a call without an answer when the client closes its connection.
struct Counted<'a> {
    metrics: &'a Metrics,
    webhook: &'a str,
    since: Instant,
    /// The code of the answer, when there is one.
    answer: Option<StatusCode>,
}

impl<'a> Counted<'a> {
    fn new(metrics: &'a Metrics, webhook: &'a str) -> Self {
        Self {
            metrics,
            webhook,
            since: Instant::now(),
            answer: None,
        }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let (webhook, after) = (self.webhook, self.since.elapsed());
        if self.answer.is_none() {
            tracing::warn!(
                webhook,
                ?after,
                "the connection of the call ended before the webhook answered"
            );
        }
        let code = self.answer.as_ref().map_or(CLIENT_GONE, StatusCode::as_str);
        let requests = &self.metrics.requests;
        requests.with_label_values(&[webhook, code]).inc();
    }
}

/// The answer to a call above the limits. The API server repeats the call every second until its timeout.
fn later() -> Response {
    let (status, after) = (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, "1")]);
    (status, after, "too many calls at once").into_response()
}

/// Counts a call while it runs. A call is dropped when the client closes its connection.
struct InFlight(IntGauge);

impl InFlight {
    fn new(gauge: IntGauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// How long a call may take. The query of the call says how long the API server waits: `timeout=10s`.
fn limit(query: &str) -> Duration {
    let mut fields = query.split('&');
    let asked = fields.find_map(|field| field.strip_prefix("timeout="));
    let timeout = asked.and_then(|text| duration(text).ok());
    let waits = timeout.unwrap_or(TIMEOUT).min(LONGEST);
    waits - (waits / 10).min(MARGIN)
}

async fn answer(route: &Route, request: Request, mut permit: Permit) -> Response {
    let json = "application/json";
    let content_type = request.headers().get(CONTENT_TYPE);
    let media_type = content_type.and_then(|value| value.to_str().ok()?.split(';').next());
    if media_type.is_none_or(|name| !name.trim().eq_ignore_ascii_case(json)) {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return (status, "a review is application/json").into_response();
    }
    let Endpoint { path, handler } = &route.endpoint;
    let body = match read(request.into_body(), handler.most(), &mut permit).await {
        Ok(body) => body,
        Err(refusal) => return refusal,
    };
    let permit = Arc::new(permit);
    match handler.respond(body, permit.clone()).await {
        Ok(json_text) => {
            let answer = Bytes::from_owner(Answer {
                json_text,
                _permit: permit,
            });
            ([(CONTENT_TYPE, json)], answer).into_response()
        }
        Err(failure @ Failure::Malformed(_)) => {
            (StatusCode::BAD_REQUEST, failure.to_string()).into_response()
        }
        Err(failure) => {
            let error = failure.to_string();
            tracing::error!(webhook = path, error, "the webhook failed");
            (StatusCode::INTERNAL_SERVER_ERROR, error).into_response()
        }
    }
}

/// An answer, which keeps the permit of its call until the client has read it.
struct Answer {
    json_text: Vec<u8>,
    _permit: Arc<Permit>,
}

impl AsRef<[u8]> for Answer {
    fn as_ref(&self) -> &[u8] {
        &self.json_text
    }
}

/// Reads a body of at most `most` bytes. Each chunk takes room when it arrives, so a body that is announced but not sent
/// takes no room. An error is the answer to the call.
async fn read(body: Body, most: usize, permit: &mut Permit) -> Result<Vec<u8>, Response> {
    let (mut chunks, mut body) = (body.into_data_stream(), Vec::new());
    loop {
        let chunk = match chunks.try_next().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return Ok(body),
            Err(error) => {
                let what = format!("the body cannot be read: {error}");
                return Err((StatusCode::BAD_REQUEST, what).into_response());
            }
        };
        if body.len() + chunk.len() > most {
            let status = StatusCode::PAYLOAD_TOO_LARGE;
            return Err((status, format!("a review has {most} bytes at most")).into_response());
        }
        if !permit.grow(chunk.len()) {
            return Err(later());
        }
        body.extend_from_slice(&chunk);
    }
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Method};
    use futures::{FutureExt, StreamExt, future::BoxFuture};
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use tower::ServiceExt;

    use super::{
        super::{
            review::{Answer, Handler, MOST, Review},
            room::MOST_OF_ALL,
            verdict::Verdict,
        },
        *,
    };

    /// Allows every request, or never answers.
    struct Allows(bool);

    impl Handler for Allows {
        fn handle<'a>(
            &'a self,
            _: &'a Review<'a>,
            _: &'a Arc<Permit>,
        ) -> BoxFuture<'a, anyhow::Result<Answer>> {
            if self.0 {
                std::future::ready(Ok(Verdict::allowed().into())).boxed()
            } else {
                std::future::pending().boxed()
            }
        }
    }

    fn served(stop: &CancellationToken) -> (Router, Registry) {
        served_at_once(1000, stop)
    }

    fn served_at_once(calls: u16, stop: &CancellationToken) -> (Router, Registry) {
        let registry = Registry::new();
        let metrics = Metrics::new(&registry).expect("metrics");
        let endpoints = [("/allows", true), ("/hangs", false)].map(|(path, allows)| Endpoint {
            path: path.to_owned(),
            handler: Box::new(Box::new(Allows(allows)) as Box<dyn Handler>),
        });
        (routes(endpoints, &metrics, calls, stop), registry)
    }

    fn review() -> String {
        let kind = json!({"group": "", "version": "v1", "kind": "ConfigMap"});
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "1", "kind": kind, "operation": "CREATE", "object": {}}})
        .to_string()
    }

    async fn send(routes: &Router, method: Method, path: &str, kind: &str, body: Body) -> Response {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(CONTENT_TYPE, kind)
            .body(body);
        let response = routes.clone().oneshot(request.expect("a request")).await;
        response.expect("an answer")
    }

    async fn post(routes: &Router, path: &str, body: impl Into<Body>) -> Response {
        send(
            routes,
            Method::POST,
            path,
            "application/json; charset=utf-8",
            body.into(),
        )
        .await
    }

    #[tokio::test]
    async fn a_review_is_answered_and_counted() {
        let stop = CancellationToken::new();
        let (routes, registry) = served(&stop);
        let response = post(&routes, "/allows?timeout=10s", review()).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()[CONTENT_TYPE], "application/json");
        assert_eq!(response.headers().get(CONNECTION), None);
        let body = axum::body::to_bytes(response.into_body(), MOST).await;
        let body: Value = serde_json::from_slice(&body.expect("a body")).expect("JSON");
        assert_eq!(body["response"], json!({"uid": "1", "allowed": true}));
        let families = registry.gather();
        let requests = families
            .iter()
            .find(|family| family.name().ends_with("requests_total"))
            .map(|family| family.get_metric()[0].get_counter().get_value());
        assert_eq!(requests, Some(1.0));

        // From now on, the API server is to call other replicas.
        stop.cancel();
        let response = post(&routes, "/allows", review()).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()[CONNECTION], "close");
    }

    #[tokio::test]
    async fn what_is_no_review_gets_a_code_of_its_own() {
        let (routes, _) = served(&CancellationToken::new());
        let code = async |path, body: Vec<u8>| post(&routes, path, body).await.status();
        assert_eq!(
            code("/allows", b"{".to_vec()).await,
            StatusCode::BAD_REQUEST
        );
        assert_eq!(
            code("/allows", vec![b' '; MOST]).await,
            StatusCode::BAD_REQUEST
        );
        let large = code("/allows", vec![b' '; MOST + 1]).await;
        assert_eq!(large, StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(code("/other", Vec::new()).await, StatusCode::NOT_FOUND);
        let get = send(
            &routes,
            Method::GET,
            "/allows",
            "application/json",
            Body::empty(),
        )
        .await;
        assert_eq!(get.status(), StatusCode::METHOD_NOT_ALLOWED);
        let text = send(
            &routes,
            Method::POST,
            "/allows",
            "text/plain",
            review().into(),
        )
        .await;
        assert_eq!(text.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }

    #[tokio::test]
    async fn two_objects_of_three_megabytes_fit_in() {
        let (routes, _) = served(&CancellationToken::new());
        let object = json!({"data": {"large": "x".repeat(3 << 20)}});
        let mut large: Value = serde_json::from_str(&review()).expect("JSON");
        large["request"]["operation"] = "UPDATE".into();
        large["request"]["object"] = object.clone();
        large["request"]["oldObject"] = object;
        let response = post(&routes, "/allows", large.to_string()).await;
        assert_eq!(response.status(), StatusCode::OK);
    }

    #[tokio::test]
    async fn calls_above_the_limit_get_code_429() {
        let (routes, registry) = served_at_once(2, &CancellationToken::new());
        let mut running = [(); 2].map(|()| Box::pin(post(&routes, "/hangs", review())));
        for call in &mut running {
            assert!(futures::poll!(call).is_pending());
        }
        // The limit is shared by all webhooks.
        let refused = post(&routes, "/allows", review()).await;
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(refused.headers()[RETRY_AFTER], "1");
        let families = registry.gather();
        let counted = families
            .iter()
            .find(|family| family.name().ends_with("requests_total"));
        let counted = counted
            .map(|family| family.get_metric()[0].clone())
            .expect("one");
        let labels: Vec<_> = counted
            .get_label()
            .iter()
            .map(|label| label.value())
            .collect();
        assert_eq!(labels, ["429", "/allows"]);
        drop(running);
        // An answer counts until the client has read it.
        let unread = [(); 2].map(|()| post(&routes, "/allows", review()));
        let unread = futures::future::join_all(unread).await;
        let codes: Vec<_> = unread.iter().map(Response::status).collect();
        assert_eq!(codes, [StatusCode::OK; 2]);
        let refused = post(&routes, "/allows", review()).await;
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        drop(unread);
        let answered = post(&routes, "/allows", review()).await;
        assert_eq!(answered.status(), StatusCode::OK);
    }

    #[tokio::test]
    async fn the_total_size_of_bodies_is_limited() {
        /// Announces a larger body than it sends.
        fn large() -> Body {
            let sent = futures::stream::once(async { Ok(vec![b' '; MOST]) });
            let silence = futures::stream::pending::<std::io::Result<Vec<u8>>>();
            Body::from_stream(sent.chain(silence))
        }

        let (routes, _) = served(&CancellationToken::new());
        let mut running = Vec::new();
        for _ in 0..MOST_OF_ALL / MOST {
            let mut call = Box::pin(post(&routes, "/allows", large()));
            assert!(futures::poll!(&mut call).is_pending());
            running.push(call);
        }
        let refused = post(&routes, "/allows", review()).await;
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(refused.headers()[RETRY_AFTER], "1");
        drop(running.pop());
        let answered = post(&routes, "/allows", review()).await;
        assert_eq!(answered.status(), StatusCode::OK);
    }

    proptest! {
        #[test]
        fn a_call_ends_before_the_api_server_stops_waiting(waits in 1u64..=30_000) {
            let waits = Duration::from_millis(waits);
            let limit = limit(&format!("a=b&timeout={waits:?}"));
            prop_assert!(limit < waits && limit >= waits / 10 * 9, "{limit:?} of {waits:?}");
        }
    }

    #[test]
    fn a_call_without_a_usual_timeout_has_a_limit_too() {
        let cases = [
            ("timeout=10s", 9),
            ("a=b&timeout=1m", 29),
            ("", 9),
            ("timeout=-1s", 9),
            ("timeout=x", 9),
            ("timeout=999999h", 9),
            ("timeout=99999999999999999999h", 9),
        ];
        for (query, seconds) in cases {
            assert_eq!(limit(query).as_secs(), seconds, "{query}");
        }
    }

    /// The codes of the answers in the metrics, each with the number of calls.
    fn codes(registry: &Registry) -> Vec<(String, f64)> {
        let families = registry.gather();
        let requests = families
            .iter()
            .filter(|family| family.name().ends_with("requests_total"));
        let counted = requests
            .flat_map(|family| family.get_metric())
            .map(|metric| {
                let mut labels = metric.get_label().iter();
                let code = labels.find(|label| label.name() == "code").expect("a code");
                (code.value().to_owned(), metric.get_counter().get_value())
            });
        counted.collect()
    }

    #[tokio::test]
    async fn a_call_whose_client_has_gone_is_counted_and_not_in_flight() {
        let (routes, registry) = served(&CancellationToken::new());
        let in_flight = || {
            let families = registry.gather();
            let gauge = families
                .iter()
                .find(|family| family.name().ends_with("in_flight"));
            gauge.map(|family| family.get_metric()[0].get_gauge().get_value())
        };
        let mut call = Box::pin(post(&routes, "/hangs", review()));
        assert!(futures::poll!(&mut call).is_pending());
        assert_eq!(in_flight(), Some(1.0));
        assert_eq!(codes(&registry), []);
        drop(call);
        assert_eq!(in_flight(), Some(0.0));
        assert_eq!(codes(&registry), [("499".to_owned(), 1.0)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_takes_too_long_is_answered_in_time_and_counted() {
        let (routes, registry) = served(&CancellationToken::new());
        let since = tokio::time::Instant::now();
        let call = post(&routes, "/hangs?timeout=5s", review());
        let response = timeout(Duration::from_secs(5), call)
            .await
            .expect("an answer while the API server waits");
        assert!(since.elapsed() >= Duration::from_secs(4));
        assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
        assert_eq!(codes(&registry), [("504".to_owned(), 1.0)]);
        // This also holds while a client sends its announced body slowly.
        let never = Body::from_stream(futures::stream::pending::<std::io::Result<Vec<u8>>>());
        let response = post(&routes, "/allows?timeout=20ms", never).await;
        assert_eq!(response.status(), StatusCode::GATEWAY_TIMEOUT);
    }
}
