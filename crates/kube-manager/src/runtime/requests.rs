//! How requests reach the API server. Each request is counted, timed and logged at debug level, has a timeout, and is
//! sent only while this replica leads.

use std::{
    future::poll_fn,
    ops::Range,
    pin::pin,
    sync::Arc,
    task::Poll,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use backon::BackoffBuilder;
use futures::FutureExt;
use http::{
    HeaderMap, Method, Request, Response, StatusCode, Uri,
    header::{CONTENT_TYPE, RETRY_AFTER},
};
use hyper::rt::{Read, Write};
use hyper_timeout::TimeoutConnector;
use hyper_util::{
    client::{
        legacy::connect::{
            Connection, HttpConnector,
            proxy::{SocksV5, Tunnel},
        },
        proxy::matcher::{Intercept, Matcher},
    },
    rt::TokioExecutor,
};
use kube::{
    Client, Config, Error, Result,
    client::{Body, ConfigExt},
};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::{Sleep, sleep, sleep_until, timeout};
use tower::{
    BoxError, Service, ServiceBuilder,
    retry::{Policy, RetryLayer},
    service_fn,
};

use super::{backoff::growing, leader::Leadership, metrics::Metrics};

/// The timeout of a request: a little longer than the API server's own timeout of one minute.
pub(super) const PATIENCE: Duration = Duration::from_secs(65);

/// The time within which the API server begins to answer a watch, even a watch without events.
const BEGIN: Duration = Duration::from_secs(30);

/// The shortest time between the beginnings of two watches. kube starts a watch again as soon as it has ended, so a proxy
/// that ends each watch at once would cause hundreds of requests a second.
const APART: Duration = Duration::from_millis(500);

/// How long a connection may be silent: longer than any request waits for its answer. A watch gets a bookmark each
/// minute, so a watch that is silent for so long has probably lost its connection. TCP notices most lost connections
/// earlier, but not behind a proxy that keeps its side of the connection open.
pub(super) const READ_TIMEOUT: Duration = Duration::from_secs(75);

/// How long an unused connection stays open: less than the time in which TCP notices a dead connection, so that few
/// requests are sent on a connection that the network has lost.
pub(super) const UNUSED: Duration = Duration::from_secs(25);

/// After how much silence TCP asks the other side whether it still has the connection, how often, and how many answers
/// may be missing. So a connection whose other side vanished ends within [`DEAD`].
const KEEPALIVE: Duration = Duration::from_secs(15);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_PROBES: u32 = 3;

/// How long TCP waits until the other side confirms what was sent. Without this limit, Linux repeats a lost packet for
/// a quarter of an hour, and sends no keepalive probes meanwhile.
pub(super) const DEAD: Duration = Duration::from_secs(30);

/// How often a request is sent again, and the pauses in between.
const REPEATS: usize = 3;
const PAUSE: Range<Duration> = Duration::from_millis(100)..Duration::from_secs(5);

/// The longest pause that `Retry-After` can ask for. An overloaded API server asks for at most 32 s. Another program on
/// the way, such as a proxy, can ask for an hour, and the reconcile would hold its slot for so long.
const LONGEST_PAUSE: Duration = Duration::from_secs(32);

/// A client like kube's, with three differences. It turns off Nagle's algorithm, which delays each new connection by 40
/// ms. It notices connections whose other side has vanished. And it does not retry.
///
/// The client belongs to the async runtime in which it is created.
///
/// # Errors
///
/// When `config` has invalid certificates or credentials, or a proxy with a protocol other than HTTP, HTTPS and SOCKS5.
pub fn connect(config: &Config) -> anyhow::Result<Client> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
    tcp.set_keepalive_retries(Some(KEEPALIVE_PROBES));
    #[cfg(target_os = "linux")]
    tcp.set_tcp_user_timeout(Some(DEAD));
    let Some(proxy_url) = &config.proxy_url else {
        return connect_by(tcp, config);
    };
    // The matcher splits the user and the password from the URL.
    let matcher = Matcher::builder().all(proxy_url.to_string()).build();
    let proxy = matcher
        .intercept(&config.cluster_url)
        .context("cannot use a proxy of this protocol")?;
    let url = proxy.uri().clone();
    match url.scheme_str() {
        Some("http") => connect_by(tunnel(&proxy, tcp), config),
        Some("https") => {
            // The proxy's certificate is verified with the system's authorities, not with the cluster's.
            let tls = Config::new(url).rustls_https_connector_with_connector(tcp)?;
            connect_by(tunnel(&proxy, tls), config)
        }
        Some("socks5" | "socks5h") => {
            let mut socks = SocksV5::new(url, tcp);
            if let Some((user, password)) = proxy.raw_auth() {
                socks = socks.with_auth(user.to_owned(), password.to_owned());
            }
            connect_by(socks, config)
        }
        other => bail!(
            "cannot use a proxy that speaks {}",
            other.unwrap_or("nothing")
        ),
    }
}

fn tunnel<C>(proxy: &Intercept, connector: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.uri().clone(), connector);
    match proxy.basic_auth() {
        Some(credentials) => tunnel.with_auth(credentials.clone()),
        None => tunnel,
    }
}

/// A client whose connections `connector` opens.
fn connect_by<C>(connector: C, config: &Config) -> anyhow::Result<Client>
where
    C: Service<Uri, Response: Connection + Read + Write + Unpin + Send + 'static>,
    C: Clone + Send + Sync + 'static,
    C::Future: Send + 'static,
    C::Error: std::error::Error + Send + Sync + 'static,
{
    let tls = config.rustls_https_connector_with_connector(connector)?;
    let mut connector = TimeoutConnector::new(tls);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    connector.set_reset_reader_on_write(true);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(
            hyper_util::client::legacy::Client::builder(TokioExecutor::new())
                .pool_idle_timeout(UNUSED)
                .build(connector),
        );
    Ok(Client::new(service, &config.default_namespace))
}

/// Sends requests.
#[derive(Clone)]
pub struct Requests {
    /// Shared by all clients, because a new connection takes time.
    pub connections: Client,
    pub metrics: Metrics,
    /// `None` for a client that also sends requests while this replica does not lead.
    pub leadership: Option<Leadership>,
}

impl Requests {
    /// A client that sends requests in this way. If the API server is overloaded, the client sends a request again a
    /// few times within seconds, or after the time that the API server asks for.
    pub fn client(self) -> Client {
        let namespace = self.connections.default_namespace().to_owned();
        let service = ServiceBuilder::new()
            .layer(RetryLayer::new(Repeat::default()))
            .map_err(BoxError::from)
            .service_fn(move |request| self.clone().send(request));
        Client::new(service, namespace)
    }

    async fn send(self, request: Request<Body>) -> Result<Response<Body>> {
        let (method, path) = (request.method().clone(), request.uri().clone());
        let watches = is_watch(&request);
        let start = Instant::now();
        let mut answer = pin!(self.connections.send(request));
        let answer = poll_fn(|context| match &self.leadership {
            // Checked before each request and each retry: a process that was paused finds out here that its lease has
            // expired.
            Some(leadership) if !leadership.holds() => Poll::Ready(Err(Error::Service(
                "this process does not hold the lease".into(),
            ))),
            _ => answer.as_mut().poll(context),
        });
        let patience = if watches { BEGIN } else { PATIENCE };
        let answer = match timeout(patience, answer).await {
            Ok(answer) => answer,
            Err(late) => Err(Error::Service(late.into())),
        };
        let status = answer.as_ref().map(Response::status);
        let code = status.as_ref().map_or("<error>", StatusCode::as_str);
        let (method, duration) = (method.as_str(), start.elapsed());
        tracing::debug!(method, %path, status = code, ?duration, "request");
        self.metrics
            .requests
            .with_label_values(&[code, method])
            .inc();
        let seconds = self.metrics.request_seconds.with_label_values(&[method]);
        seconds.observe(duration.as_secs_f64());
        answer
    }
}

/// Sends a request again if the API server was overloaded.
#[derive(Clone, Default)]
struct Repeat {
    /// How often the request was sent again.
    repeats: usize,
}

impl<E> Policy<Request<Body>, Response<Body>, E> for Repeat {
    type Future = Sleep;

    fn retry(
        &mut self,
        request: &mut Request<Body>,
        answer: &mut Result<Response<Body>, E>,
    ) -> Option<Sleep> {
        let response = answer.as_ref().ok()?;
        if self.repeats == REPEATS || !may_repeat(request, response.status()) {
            return None;
        }
        let pause = growing(PAUSE).build().nth(self.repeats)?;
        self.repeats += 1;
        Some(sleep(pause.max(asked_pause(response.headers()))))
    }

    fn clone_request(&mut self, request: &Request<Body>) -> Option<Request<Body>> {
        let mut copy = Request::new(request.body().try_clone()?);
        *copy.method_mut() = request.method().clone();
        *copy.uri_mut() = request.uri().clone();
        *copy.version_mut() = request.version();
        *copy.headers_mut() = request.headers().clone();
        *copy.extensions_mut() = request.extensions().clone();
        Some(copy)
    }
}

/// Whether a request may be sent again after an answer with the code `answer`.
fn may_repeat(request: &Request<Body>, answer: StatusCode) -> bool {
    match answer {
        // The API server has not begun to process the request.
        StatusCode::TOO_MANY_REQUESTS => true,
        // The API server, or a proxy before it, does not say whether the request was processed.
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
            let media_type = match request.headers().get(CONTENT_TYPE) {
                Some(value) => value.as_bytes(),
                None => b"",
            };
            let body = request.body().try_clone().map(Body::collect_bytes);
            let Some(Some(Ok(body))) = body.map(FutureExt::now_or_never) else {
                return false;
            };
            is_idempotent(request.method(), media_type, &body)
        }
        _ => false,
    }
}

/// Whether it makes no difference if the API server processes a request a second time.
fn is_idempotent(method: &Method, media_type: &[u8], body: &[u8]) -> bool {
    match *method {
        Method::GET | Method::HEAD => true,
        // Otherwise, the second request could undo a change that another client made in between.
        Method::PUT => has_text(body, "/metadata/resourceVersion"),
        // An apply or a merge sets the same values. A JSON patch can add to a list twice, and its tests fail if the
        // first request was processed.
        Method::PATCH => media_type != b"application/json-patch+json",
        // Otherwise, the second request could delete a new object with the same name.
        Method::DELETE => {
            has_text(body, "/preconditions/uid") || has_text(body, "/preconditions/resourceVersion")
        }
        // With `generateName`, a second POST creates a second object. With a name, it fails, and the object looks like
        // that of another program.
        _ => false,
    }
}

/// Whether `body` is JSON with a text at `pointer`.
fn has_text(body: &[u8], pointer: &str) -> bool {
    let parsed = serde_json::from_slice::<Value>(body);
    parsed.is_ok_and(|value| value.pointer(pointer).is_some_and(Value::is_string))
}

/// The pause that an answer asks for: zero if it asks for none, and at most [`LONGEST_PAUSE`].
fn asked_pause(headers: &HeaderMap) -> Duration {
    let asked = headers
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.parse().ok());
    Duration::from_secs(asked.unwrap_or(0)).min(LONGEST_PAUSE)
}

pub(super) fn is_watch(request: &Request<Body>) -> bool {
    let query = request.uri().query();
    query.is_some_and(|query| query.contains("watch=true"))
}

/// A client for one watch that sends its requests with `client`, and calls `begun` each time the API server starts to answer
/// the watch. Watch events cannot show that a watch has started, because there are none while nothing changes.
pub fn watching(client: Client, begun: impl Fn() + Clone + Send + 'static) -> Client {
    let namespace = client.default_namespace().to_owned();
    let last = Arc::new(Mutex::new(None));
    let service = service_fn(move |request| {
        let (client, begun, last) = (client.clone(), begun.clone(), last.clone());
        async move {
            let watches = is_watch(&request);
            let before = *last.lock();
            if watches && let Some(before) = before {
                sleep_until(before + APART).await;
            }
            let answer = client.send(request).await?;
            if watches && answer.status().is_success() {
                *last.lock() = Some(tokio::time::Instant::now());
                begun();
            }
            Ok::<_, Error>(answer)
        }
    });
    Client::new(service, namespace)
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{TcpListener, TcpStream},
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        thread,
    };

    use http::HeaderValue;
    use prometheus::Registry;

    use super::{super::operator::Operator, *};

    /// Reads the head of a request.
    fn head(stream: &mut TcpStream) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("the rest");
            head.extend(byte);
        }
        String::from_utf8(head).expect("a text").to_lowercase()
    }

    #[tokio::test]
    async fn requests_pass_a_proxy() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let proxy = listener.local_addr().expect("an address");
        let passed = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let heads = [head(&mut stream), {
                stream
                    .write_all(b"HTTP/1.1 200 OK\r\n\r\n")
                    .expect("an answer");
                head(&mut stream)
            }];
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
            stream.write_all(answer).expect("an answer");
            heads
        });
        let mut config = Config::new("http://api.example.com:8080".parse().expect("a URL"));
        let proxy = format!("http://user:p%40ss@{proxy}");
        config.proxy_url = Some(proxy.parse().expect("a URL"));
        let client = connect(&config).expect("a client");
        let request = Request::get("/livez").body(Vec::new()).expect("a request");
        assert_eq!(client.request_text(request).await.expect("a text"), "ok");

        let [connect, get] = passed.join().expect("no panic");
        assert!(
            connect.starts_with("connect api.example.com:8080 "),
            "{connect}"
        );
        // `user:p@ss`
        let credentials = "proxy-authorization: basic dxnlcjpwqhnz\r\n";
        assert!(connect.contains(credentials), "{connect}");
        assert!(get.starts_with("get /livez "), "{get}");
    }

    #[tokio::test]
    async fn a_proxy_of_an_unknown_protocol_is_refused() {
        let mut config = Config::new("http://api.example.com".parse().expect("a URL"));
        for proxy in ["ftp://user:secret@proxy", "socks4://user:secret@proxy"] {
            config.proxy_url = Some(proxy.parse().expect("a URL"));
            let error = connect(&config).err().expect("an error").to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_has_begun_when_its_request_succeeds() {
        let answers = service_fn(|request: Request<Body>| async move {
            let code = if request.uri().path() == "/forbidden" {
                403
            } else {
                200
            };
            Response::builder().status(code).body(Body::empty())
        });
        let count = Arc::new(AtomicUsize::new(0));
        let counts = count.clone();
        let client = watching(Client::new(answers, "default"), move || {
            counts.fetch_add(1, Ordering::Relaxed);
        });
        let watch = "/?watch=true";
        let start = tokio::time::Instant::now();
        for (uri, expected) in [
            ("/", 0),
            ("/forbidden?watch=true", 0),
            (watch, 1),
            (watch, 2),
        ] {
            let request = Request::get(uri).body(Body::empty()).expect("a request");
            client.send(request).await.expect("an answer");
            assert_eq!(count.load(Ordering::Relaxed), expected, "{uri}");
            // Only the second watch waits.
            assert_eq!(start.elapsed() >= APART, expected == 2, "{uri}");
        }
    }
    const NAMED: &str = r#"{"metadata": {"name": "a"}}"#;
    const GENERATED: &str = r#"{"metadata": {"generateName": "a-"}}"#;
    const READ: &str = r#"{"metadata": {"name": "a", "resourceVersion": "7"}}"#;
    const APPLY: &str = "application/apply-patch+yaml";
    const JSON_PATCH: &str = "application/json-patch+json";

    fn request(method: &str, media_type: &str, body: &str) -> Request<Body> {
        Request::builder()
            .method(method)
            .uri("/api/v1/namespaces/default/configmaps")
            .header(CONTENT_TYPE, media_type)
            .body(Body::from(body.as_bytes().to_vec()))
            .expect("a request")
    }

    #[test]
    fn a_request_is_repeated_only_if_that_changes_nothing_more() {
        let uid = r#"{"preconditions": {"uid": "1"}}"#;
        let version = r#"{"preconditions": {"resourceVersion": "7"}}"#;
        let empty = r#"{"preconditions": {"uid": null}}"#;
        // The last column says whether the request may be processed twice.
        #[rustfmt::skip] // A table reads better.
        let table = [
            ("GET", "", "", true),
            ("HEAD", "", "", true),
            ("PUT", "application/json", READ, true),
            ("PUT", "application/json", NAMED, false),
            ("PUT", "application/json", "not JSON", false),
            ("PATCH", APPLY, NAMED, true),
            ("PATCH", "application/merge-patch+json", "{}", true),
            ("PATCH", "application/strategic-merge-patch+json", "{}", true),
            ("PATCH", JSON_PATCH, "[]", false),
            ("DELETE", "application/json", uid, true),
            ("DELETE", "application/json", version, true),
            ("DELETE", "application/json", empty, false),
            ("DELETE", "application/json", "{}", false),
            ("DELETE", "", "", false),
            ("POST", "application/json", GENERATED, false),
            ("POST", "application/json", NAMED, false),
            ("OPTIONS", "", "", false),
        ];
        for (method, media_type, body, is_idempotent) in table {
            for code in 200..600 {
                let expected = match code {
                    429 => true,
                    503 | 504 => is_idempotent,
                    _ => false,
                };
                let request = request(method, media_type, body);
                let code = StatusCode::from_u16(code).expect("a code");
                let repeats = may_repeat(&request, code);
                assert_eq!(repeats, expected, "{method} {media_type} {body}, {code}");
            }
        }
    }

    #[test]
    fn no_answer_can_ask_for_a_long_pause() {
        fn asked(value: &'static str) -> u64 {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_static(value));
            asked_pause(&headers).as_secs()
        }

        assert_eq!(asked("0"), 0);
        assert_eq!(asked("7"), 7);
        for long in ["33", "3600", "18446744073709551615"] {
            assert_eq!(asked(long), LONGEST_PAUSE.as_secs());
        }
        for odd in ["", "-1", "1.5", "x", "Wed, 21 Oct 2015 07:28:00 GMT"] {
            assert_eq!(asked(odd), 0, "{odd}");
        }
        assert_eq!(asked_pause(&HeaderMap::new()), Duration::ZERO);
    }

    /// How often the API server gets a request, if it answers each time with `code`.
    async fn arrivals(request: Request<Body>, code: u16) -> usize {
        let count = Arc::new(AtomicUsize::new(0));
        let counts = count.clone();
        let copy = request.body().try_clone().expect("a copy");
        let expected = copy.collect_bytes().await.expect("a body");
        let answers = service_fn(move |request: Request<Body>| {
            counts.fetch_add(1, Ordering::Relaxed);
            let expected = expected.clone();
            async move {
                assert_eq!(request.headers()[CONTENT_TYPE], "application/json");
                let body = request.into_body().collect_bytes().await;
                assert_eq!(body.expect("a body"), expected);
                Response::builder().status(code).body(Body::empty())
            }
        });
        let operator = Operator::new("test", "example.com");
        let requests = Requests {
            connections: Client::new(answers, "default"),
            metrics: Metrics::new(&operator, Registry::new()).expect("metrics"),
            leadership: None,
        };
        let answer = requests.client().send(request).await.expect("an answer");
        assert_eq!(answer.status().as_u16(), code);
        count.load(Ordering::Relaxed)
    }

    #[tokio::test(start_paused = true)]
    async fn a_creation_that_may_have_succeeded_is_sent_once() {
        fn creation() -> Request<Body> {
            request("POST", "application/json", GENERATED)
        }
        fn update() -> Request<Body> {
            request("PUT", "application/json", READ)
        }

        for code in [500, 503, 504] {
            assert_eq!(arrivals(creation(), code).await, 1, "{code}");
        }
        assert_eq!(arrivals(creation(), 429).await, 1 + REPEATS);
        assert_eq!(arrivals(update(), 503).await, 1 + REPEATS);
        assert_eq!(arrivals(update(), 500).await, 1);
    }

    /// `/proc/net/tcp` has a line for each connection, with the timer that runs: 2 is that of keepalive.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn tcp_asks_whether_the_other_side_of_a_silent_connection_is_there() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let server = format!("http://127.0.0.1:{port}").parse().expect("a URL");
        let client = connect(&Config::new(server)).expect("a client");
        let request = Request::get("/").body(Body::empty()).expect("a request");
        let request = tokio::spawn(async move { client.send(request).await.map(drop) });
        // The thread of the test sends the request.
        let accepted = tokio::task::spawn_blocking(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            head(&mut stream);
            stream
        });
        let _stream = accepted.await.expect("no panic");
        let far = format!(":{port:04X}");
        let timer = || {
            let connections = std::fs::read_to_string("/proc/net/tcp").expect("Linux");
            let mut fields = connections.lines().map(str::split_whitespace);
            let timer = fields.find_map(|mut fields| {
                let other = fields.nth(2)?;
                let timer = fields.nth(2)?;
                other.ends_with(&far).then(|| timer.to_owned())
            });
            timer.expect("the connection")
        };
        // First, the timer of the request itself runs, until the other side has confirmed the request.
        let limit = Instant::now() + Duration::from_secs(10);
        while !timer().starts_with("02:") {
            assert!(Instant::now() < limit, "{}", timer());
            tokio::task::yield_now().await;
        }
        request.abort();
    }

    #[test]
    fn limits_fit_together() {
        assert!(KEEPALIVE + KEEPALIVE_INTERVAL * KEEPALIVE_PROBES == DEAD);
        assert!(UNUSED < DEAD && DEAD < PATIENCE);
    }
}
