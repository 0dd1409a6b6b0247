//! Serves HTTP: probes for the kubelet, metrics for Prometheus. Metrics are served over TLS. A client needs a token
//! with permission to `get` the path. The API server checks the token.

use std::{
    collections::HashMap,
    fs,
    future::pending,
    net::TcpListener,
    path::{Path, PathBuf},
    pin::{Pin, pin},
    sync::Arc,
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
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulShutdown, Watcher},
    service::TowerToHyperService,
};
use k8s_openapi::api::{
    authentication::v1::TokenReview,
    authorization::v1::{NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
};
use kube::{Api, Client, api::PostParams};
use parking_lot::Mutex;
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
#[cfg(feature = "webhook")]
use tokio::sync::watch;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{self, TcpStream},
    sync::Semaphore,
    time::{sleep, timeout},
};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;

use super::{failure, metrics::Metrics};

/// How long a granted permission is cached.
const REMEMBER: Duration = Duration::from_secs(60);

/// How long a refusal is cached. It is short, so that a new permission takes effect soon.
const REFUSED: Duration = Duration::from_secs(5);

/// How many refusals are cached at most. Without a limit, a client with invented tokens could fill the memory.
const REFUSALS: usize = 1000;

/// How many reviews run at once.
const REVIEWS: usize = 4;

/// How long a request waits until its review may run: less than Prometheus waits for an answer.
const TURN: Duration = Duration::from_secs(5);

/// How often the files of the certificate are read again. Kubernetes replaces the whole folder of a
/// mounted Secret, so polling is simpler than file events.
const RELOAD: Duration = Duration::from_secs(10);

/// How long a connection may wait for a request, or take to send the head of a request. Go clients close an idle
/// connection after 90 s. A server with a shorter limit could close it just when the client sends a request.
const IDLE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 120 });

/// The most bytes of the head of a request, and of a buffer. A client without permission could otherwise fill the memory
/// with heads that it does not complete, or with long tokens, which are cached.
const HEAD: usize = 32 << 10;

/// How long a client may take for a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How long a client may take to read the next part of an answer. An answer that nobody reads stays in memory.
const UNREAD: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 30 });

/// How long to wait after a connection could not be accepted, for example because too many files are open.
const RETRY: Duration = Duration::from_millis(50);

/// The current TLS configuration.
type Tls = Arc<Mutex<Arc<ServerConfig>>>;

/// Serves plain HTTP.
pub async fn plain(listener: TcpListener, routes: Router) -> Result<()> {
    serve(listener, routes, None, pin!(pending())).await
}

/// Serves `routes` until `stop` ends. After that, no connection is accepted, and requests in flight are still answered.
async fn serve(
    listener: TcpListener,
    routes: Router,
    tls: Option<&Tls>,
    mut stop: Pin<&mut impl Future<Output = ()>>,
) -> Result<()> {
    let listener = net::TcpListener::from_std(listener)?;
    let connections = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        let Ok((stream, _)) = accepted else {
            sleep(RETRY).await;
            continue;
        };
        let acceptor = tls.map(|tls| TlsAcceptor::from(tls.lock().clone()));
        let watcher = connections.watcher();
        tokio::spawn(connect(stream, acceptor, routes.clone(), watcher));
    }
    drop(listener);
    connections.shutdown().await;
    Ok(())
}

/// Answers the requests of a connection. A connection that fails is the client's problem.
async fn connect(stream: TcpStream, tls: Option<TlsAcceptor>, routes: Router, watcher: Watcher) {
    let Some(acceptor) = tls else {
        return answer(stream, routes, watcher).await;
    };
    if let Ok(Ok(stream)) = timeout(HANDSHAKE, acceptor.accept(stream)).await {
        answer(stream, routes, watcher).await;
    }
}

/// Answers requests over HTTP/1.1, until the connection ends or its client neither sends nor reads.
///
/// An HTTP/2 client could have any number of requests in flight on one connection. The API server calls webhooks over
/// HTTP/1.1 anyway, except webhooks on its own machine.
async fn answer(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    routes: Router,
    watcher: Watcher,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .max_buf_size(HEAD);
    let service = TowerToHyperService::new(routes);
    let mut limited = TimeoutStream::new(stream);
    limited.set_write_timeout(Some(UNREAD));
    let connection = http.serve_connection(TokioIo::new(Box::pin(limited)), service);
    let _ = watcher.watch(connection).await;
}

/// The certificate for HTTPS.
pub enum Certificate {
    /// A self-signed certificate of this process, which no client trusts.
    SelfSigned,
    /// The files tls.crt and tls.key in a folder, which are read again when they change.
    Folder(PathBuf),
    /// The certificate that was last sent on the channel.
    #[cfg(feature = "webhook")]
    Sent(watch::Receiver<Option<Pair>>),
}

/// A certificate chain, with the server's own certificate first, and its key. All are in DER.
#[derive(Clone, PartialEq)]
pub struct Pair {
    pub certificates: Vec<Vec<u8>>,
    pub key: Vec<u8>,
}

impl Pair {
    fn self_signed() -> Result<Self> {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
        Ok(Self {
            certificates: vec![made.cert.der().to_vec()],
            key: made.signing_key.serialize_der(),
        })
    }

    /// Reads the contents of `tls.crt` and `tls.key`.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self> {
        let certificates = CertificateDer::pem_slice_iter(certificates)
            .map(|certificate| certificate.map(|certificate| certificate.to_vec()))
            .collect::<Result<_, _>>()
            .context("cannot understand `tls.crt`")?;
        let key = PrivateKeyDer::from_pem_slice(key).context("cannot understand `tls.key`")?;
        Ok(Self {
            certificates,
            key: key.secret_der().to_vec(),
        })
    }

    fn read(folder: &Path) -> Result<Self> {
        let certificates = read_file(&folder.join("tls.crt"))?;
        let pair = Self::from_pem(&certificates, &read_file(&folder.join("tls.key"))?);
        pair.with_context(|| format!("cannot use the certificate in `{}`", folder.display()))
    }

    /// The TLS configuration for this certificate.
    ///
    /// # Errors
    ///
    /// When there is no certificate, or the key does not belong to the first one.
    pub fn config(self) -> Result<Arc<ServerConfig>> {
        let certificates = self.certificates.into_iter().map(Into::into).collect();
        let key = PrivateKeyDer::try_from(self.key).map_err(anyhow::Error::msg)?;
        let mut config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(certificates, key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))
}

impl Certificate {
    /// The first certificate; `None` if the sender is gone.
    async fn first(&mut self) -> Result<Option<Pair>> {
        match self {
            Self::SelfSigned => Pair::self_signed().map(Some),
            Self::Folder(folder) => Pair::read(folder).map(Some),
            #[cfg(feature = "webhook")]
            Self::Sent(pairs) => {
                let sent = pairs.wait_for(Option::is_some).await;
                Ok(sent.ok().and_then(|pair| pair.clone()))
            }
        }
    }

    /// The next certificate, which may equal the previous one.
    async fn next(&mut self) -> Result<Pair> {
        match self {
            Self::SelfSigned => pending().await,
            Self::Folder(folder) => {
                sleep(RELOAD).await;
                Pair::read(folder)
            }
            #[cfg(feature = "webhook")]
            Self::Sent(pairs) => match pairs.changed().await {
                Ok(()) => {
                    let pair = pairs.borrow_and_update().clone();
                    pair.context("there is none")
                }
                Err(_) => pending().await,
            },
        }
    }
}

/// Serves HTTPS until `stop` ends. After that, no connection is accepted, and requests in flight are still answered.
/// `what` names the service in the log.
pub async fn secure(
    listener: TcpListener,
    routes: Router,
    mut certificate: Certificate,
    what: &'static str,
    stop: impl Future<Output = ()>,
) -> Result<()> {
    let mut stop = pin!(stop);
    let first = tokio::select! {
        first = certificate.first() => first?,
        () = &mut stop => None,
    };
    let Some(first) = first else {
        return Ok(());
    };
    let tls = Arc::new(Mutex::new(first.clone().config()?));
    tokio::select! {
        ended = serve(listener, routes, Some(&tls), stop) => ended,
        never = reload(certificate, first, &tls, what) => never,
    }
}

/// Passes each new certificate to `tls`, which currently uses `last`.
async fn reload(mut certificate: Certificate, mut last: Pair, tls: &Tls, what: &str) -> Result<()> {
    loop {
        let taken = match certificate.next().await {
            Ok(next) if next == last => continue,
            Ok(next) => {
                last = next.clone();
                let config = next.config();
                config.map(|config| *tls.lock() = config)
            }
            Err(error) => Err(error),
        };
        match taken {
            Ok(()) => tracing::info!("took the new certificate of the {what}"),
            Err(error) => {
                let error = failure::message(error.as_ref());
                tracing::warn!(error, "keeps the old certificate of the {what}");
            }
        }
    }
}

/// /metrics, without authentication.
pub fn metrics(metrics: Metrics) -> Router {
    Router::new().route("/metrics", get(metrics_text).with_state(metrics))
}

async fn metrics_text(State(metrics): State<Metrics>) -> Response {
    match metrics.text() {
        Ok(text) => ([(CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "cannot write the metrics");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Limits `routes` to clients whose token has permission to `get` the path.
pub fn authorized(routes: Router, client: Client) -> Router {
    let gate = Arc::new(Gate {
        client,
        decisions: Mutex::default(),
        reviews: Semaphore::new(REVIEWS),
    });
    routes.layer(middleware::from_fn_with_state(gate, authorize))
}

/// Asks the API server whether a token has permission to `get` a path.
struct Gate {
    client: Client,
    decisions: Mutex<Decisions>,
    /// Limits how many reviews run at once, so that a client cannot flood the API server.
    reviews: Semaphore,
}

/// The cached decisions, each with the time at which it expires.
#[derive(Default)]
struct Decisions(HashMap<Question, (StatusCode, Instant)>);

impl Decisions {
    fn get(&mut self, asked: &Question, now: Instant) -> Option<StatusCode> {
        self.0.retain(|_, (_, until)| now < *until);
        self.0.get(asked).map(|(decision, _)| *decision)
    }

    fn put(&mut self, asked: Question, decision: StatusCode, now: Instant) {
        if decision == StatusCode::OK {
            self.0.insert(asked, (decision, now + REMEMBER));
        } else if self.refusals() < REFUSALS {
            self.0.insert(asked, (decision, now + REFUSED));
        }
    }

    fn refusals(&self) -> usize {
        let decisions = self.0.values();
        decisions
            .filter(|(decision, _)| *decision != StatusCode::OK)
            .count()
    }
}

/// Whether a token has a permission.
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
            let error = failure::message(error.as_ref());
            tracing::warn!(error, "cannot tell who may read the metrics");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

impl Gate {
    /// 200 if the token has the permission; otherwise the status code of the answer.
    async fn review(&self, asked: Question) -> Result<StatusCode> {
        if let Some(decision) = self.decisions.lock().get(&asked, Instant::now()) {
            return Ok(decision);
        }
        let Ok(_permit) = timeout(TURN, self.reviews.acquire()).await else {
            return Ok(StatusCode::SERVICE_UNAVAILABLE);
        };
        // A request with the same token may have been reviewed in the meantime.
        if let Some(decision) = self.decisions.lock().get(&asked, Instant::now()) {
            return Ok(decision);
        }
        let decision = self.ask(&asked).await?;
        self.decisions.lock().put(asked, decision, Instant::now());
        Ok(decision)
    }

    /// Asks the API server.
    async fn ask(&self, asked: &Question) -> Result<StatusCode> {
        let params = PostParams::default();
        let mut review = TokenReview::default();
        review.spec.token.clone_from(&asked.token);
        let reviews = Api::all(self.client.clone());
        let review = reviews.create(&params, &review).await?;
        // Without a status, nobody is authenticated.
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
        let reviews = Api::all(self.client.clone());
        let review = reviews.create(&params, &review).await?;
        let allowed = review.status.is_some_and(|status| status.allowed);
        Ok(if allowed {
            StatusCode::OK
        } else {
            StatusCode::FORBIDDEN
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::{body::Bytes, routing::post};
    use futures::{future::join_all, poll};
    use kube::client::Body;
    use serde_json::{Value, json};
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
        sync::SetOnce,
    };
    use tower::service_fn;

    use super::*;

    #[tokio::test]
    async fn a_silent_connection_is_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a listener");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(plain(
            listener,
            Router::new().route("/", get(async || "hello")),
        ));
        let asked = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
        // Silent from the start, within the head of a request, and after an answer.
        let connections = ["", "G", "GET / HTTP/1.1\r\nhost:", asked].map(async |sent| {
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            let written = stream.write_all(sent.as_bytes()).await;
            written.expect("a request");
            let mut answer = String::new();
            let read = timeout(IDLE * 10, stream.read_to_string(&mut answer)).await;
            read.expect("in time").expect("an end");
            assert_eq!(answer.ends_with("hello"), sent == asked, "{answer}");
        });
        futures::future::join_all(connections).await;
    }

    #[tokio::test]
    async fn a_connection_is_closed_if_nobody_reads_the_answer() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a listener");
        let address = listener.local_addr().expect("an address");
        // Kept by the answer until it is sent or given up.
        let unread = Arc::new(());
        let held = unread.clone();
        let route = get(async move || Bytes::from_owner(Held(vec![0; 20 << 20], held.clone())));
        tokio::spawn(plain(listener, Router::new().route("/", route)));
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        let asked = stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
        asked.expect("a request");
        let given_up = async {
            while Arc::strong_count(&unread) < 3 {
                sleep(RETRY).await;
            }
            while Arc::strong_count(&unread) > 2 {
                sleep(RETRY).await;
            }
        };
        timeout(UNREAD * 20, given_up).await.expect("in time");
    }

    struct Held(
        Vec<u8>,
        #[expect(dead_code, reason = "counts who holds it")] Arc<()>,
    );

    impl AsRef<[u8]> for Held {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    #[tokio::test]
    async fn a_request_in_flight_is_answered_after_the_stop() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a listener");
        let address = listener.local_addr().expect("an address");
        let (arrived, stop, go) = (
            Arc::new(SetOnce::new()),
            Arc::new(SetOnce::new()),
            Arc::new(SetOnce::new()),
        );
        let (in_flight, answered) = (arrived.clone(), go.clone());
        let slow = get(async move || {
            in_flight.set(()).expect("one request");
            answered.wait().await;
            "hello"
        });
        let stopped = stop.clone();
        let server = tokio::spawn(async move {
            let stopped = pin!(async { *stopped.wait().await });
            serve(listener, Router::new().route("/", slow), None, stopped).await
        });
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        let written = stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
        written.expect("a request");
        arrived.wait().await;
        stop.set(()).expect("once");
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
        assert!(!server.is_finished());
        go.set(()).expect("once");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("an end");
        assert!(answer.ends_with("hello"), "{answer}");
        server.await.expect("no panic").expect("no error");
    }

    #[tokio::test]
    async fn a_long_token_is_refused_and_a_long_body_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a listener");
        let address = listener.local_addr().expect("an address");
        let (gate, reviews) = gate(&Arc::default());
        let gate = Arc::new(gate);
        let routes = Router::new()
            .route("/", post(async |body: Bytes| body.len().to_string()))
            .layer(middleware::from_fn_with_state(gate.clone(), authorize));
        tokio::spawn(plain(listener, routes));
        let send = async |token: &str, length: usize| {
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            let head = format!(
                "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: {length}\r\n\
                 authorization: Bearer {token}\r\n\r\n"
            );
            let request = [head.into_bytes(), vec![b' '; length]].concat();
            let mut answer = String::new();
            // The server may close the connection before it has read all.
            let _ = stream.write_all(&request).await;
            let _ = stream.read_to_string(&mut answer).await;
            answer
        };
        let answer = send(&"a".repeat(100_000), 0).await;
        let is_refused = answer.is_empty() || answer.starts_with("HTTP/1.1 431");
        assert!(is_refused, "{answer}");
        assert_eq!(reviews.load(Ordering::Relaxed), 0);
        assert!(gate.decisions.lock().0.is_empty());
        let answer = send("good", 1_000_000).await;
        assert!(answer.ends_with("1000000"), "{answer}");
    }

    /// A gate, and the number of its reviews. Only `good` is a valid token. A review of `slow` waits for `go`.
    fn gate(go: &Arc<SetOnce<()>>) -> (Gate, Arc<AtomicUsize>) {
        let reviews = Arc::new(AtomicUsize::new(0));
        let (count, go) = (reviews.clone(), go.clone());
        let client = service_fn(move |request: axum::http::Request<Body>| {
            let (count, go) = (count.clone(), go.clone());
            async move {
                let body = request.into_body().collect_bytes().await?;
                let review: Value = serde_json::from_slice(&body)?;
                let token = review["spec"]["token"].as_str().map(str::to_owned);
                count.fetch_add(usize::from(token.is_some()), Ordering::Relaxed);
                if token.as_deref() == Some("slow") {
                    go.wait().await;
                }
                let authenticated = token.as_deref() == Some("good");
                let status = json!({"authenticated": authenticated, "user": {}, "allowed": true});
                let answer = json!({"metadata": {}, "spec": {}, "status": status}).to_string();
                anyhow::Ok(Response::new(Body::from(answer.into_bytes())))
            }
        });
        let gate = Gate {
            client: Client::new(client, "default"),
            decisions: Mutex::default(),
            reviews: Semaphore::new(REVIEWS),
        };
        (gate, reviews)
    }

    fn question(token: &str) -> Question {
        Question {
            token: token.to_owned(),
            verb: "get".to_owned(),
            path: "/metrics".to_owned(),
        }
    }

    #[tokio::test]
    async fn a_valid_token_is_accepted_after_many_invalid_tokens() {
        let go = Arc::new(SetOnce::new());
        let (gate, _) = gate(&go);
        let slow = (0..REVIEWS).map(|_| gate.review(question("slow")));
        let mut slow = Box::pin(join_all(slow));
        assert!(poll!(&mut slow).is_pending());
        let mut good = Box::pin(gate.review(question("good")));
        assert!(poll!(&mut good).is_pending());
        go.set(()).expect("once");
        for answer in slow.await {
            assert_eq!(answer.expect("an answer"), StatusCode::UNAUTHORIZED);
        }
        assert_eq!(good.await.expect("an answer"), StatusCode::OK);
    }

    #[tokio::test]
    async fn a_decision_is_cached() {
        let (gate, reviews) = gate(&Arc::default());
        for (token, decision) in [("good", StatusCode::OK), ("bad", StatusCode::UNAUTHORIZED)] {
            let before = reviews.load(Ordering::Relaxed);
            for _ in 0..3 {
                let answer = gate.review(question(token)).await;
                assert_eq!(answer.expect("an answer"), decision);
            }
            assert_eq!(reviews.load(Ordering::Relaxed), before + 1, "{token}");
        }
        let mut decisions = Decisions::default();
        let now = Instant::now();
        decisions.put(question("bad"), StatusCode::FORBIDDEN, now);
        let known = decisions.get(&question("bad"), now);
        assert_eq!(known, Some(StatusCode::FORBIDDEN));
        assert_eq!(decisions.get(&question("bad"), now + REFUSED), None);
        for number in 0..=REFUSALS {
            let bad = question(&number.to_string());
            decisions.put(bad, StatusCode::UNAUTHORIZED, now);
        }
        assert_eq!(decisions.refusals(), REFUSALS);
    }
}
