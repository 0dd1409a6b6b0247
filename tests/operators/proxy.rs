//! A proxy between an operator and the API server that simulates faults. The API server, which all tests share, keeps
//! running: only the operator behind the proxy sees the faults.

use std::{
    fs,
    future::pending,
    net::SocketAddr,
    panic::Location,
    path::Path,
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

use cluster::{Cluster, PATIENCE, Port, wait_until};
use http_body_util::{Either, Full};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Body, Bytes, Frame, Incoming, SizeHint},
    client::conn::http1::{SendRequest, handshake},
    header::{ACCEPT, CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER},
    server,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    runtime::{Builder, Runtime},
    select,
    sync::oneshot,
    task::{JoinHandle, JoinSet},
    time::sleep,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        pki_types::{CertificateDer, ServerName, pem::PemObject},
    },
};
use tokio_util::sync::CancellationToken;

/// A server for plain HTTP on its own port. By default, the proxy forwards all requests to the API server of a cluster.
///
/// Each connection of a client has its own connection to the API server, and both end together. All connections end on
/// drop.
pub struct Proxy {
    runtime: Runtime,
    port: Port,
    shared: Arc<Shared>,
    /// The listening task, and the token that stops it. `None` while connections are refused.
    listening: Option<(CancellationToken, JoinHandle<()>)>,
}

/// The state that connections share with the proxy.
struct Shared {
    /// The API server for new connections.
    server: Mutex<SocketAddr>,
    tls: TlsConnector,
    /// The token for new connections. Its cancellation makes the simulated network lose all connections that have it.
    lost: Mutex<CancellationToken>,
    rules: Mutex<Vec<Arc<State>>>,
    /// The path of each watch, and a sender that ends the watch. Some of the watches have already ended.
    watches: Mutex<Vec<(String, oneshot::Sender<()>)>>,
    exchanges: Mutex<Vec<Exchange>>,
}

/// A request that was answered.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The time at which the request arrived.
    pub time: Instant,
    pub method: Method,
    /// The path with the query.
    pub path: String,
    /// The `Accept` header.
    pub accept: String,
    pub code: u16,
}

/// A function that decides whether a rule applies to a request, by the method and by the path with the query.
type Matches = Box<dyn Fn(&Method, &str) -> bool + Send + Sync>;

/// A rule for some requests, in effect until it is dropped.
#[must_use = "a rule ends when it is dropped"]
pub struct Rule(Arc<State>);

struct State {
    /// Where the test has made the rule.
    place: &'static Location<'static>,
    matches: Matches,
    effect: Effect,
    met: AtomicUsize,
    over: CancellationToken,
}

enum Effect {
    /// The proxy itself answers the first `times` requests, with `code`.
    Answer { code: StatusCode, times: usize },
    /// The proxy forwards the requests only after the rule has ended.
    Hold,
    /// The proxy forwards the requests at once, and delays the answers by this duration.
    Delay(Duration),
}

impl Proxy {
    /// # Panics
    ///
    /// When no port is free, or when the kubeconfig is not in the format that `cluster` writes.
    pub fn start(cluster: &Cluster) -> Self {
        let kubeconfig = read(cluster.kubeconfig());
        let authority = kubeconfig["clusters"][0]["cluster"]["certificate-authority"].as_str();
        let mut proxy = Self {
            runtime: Builder::new_multi_thread()
                .worker_threads(1)
                .enable_all()
                .build()
                .expect("a runtime"),
            port: Port::reserve().expect("a port"),
            shared: Arc::new(Shared {
                server: Mutex::new(address_of(cluster)),
                tls: tls(Path::new(authority.expect("an authority"))),
                lost: Mutex::default(),
                rules: Mutex::default(),
                watches: Mutex::default(),
                exchanges: Mutex::default(),
            }),
            listening: None,
        };
        proxy.forward();
        proxy
    }

    /// Returns the URL of the proxy, for `--master`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Ends the fault that [`refuse`](Self::refuse) or [`vanish`](Self::vanish) began.
    ///
    /// # Panics
    ///
    /// When the proxy cannot listen on its port.
    pub fn forward(&mut self) {
        let mut lost = lock(&self.shared.lost);
        if lost.is_cancelled() {
            *lost = CancellationToken::new();
        }
        if self.listening.is_none() {
            let _runtime = self.runtime.enter();
            let listener = listen(self.address()).expect("the port is reserved");
            let stop = CancellationToken::new();
            let task = accept(listener, self.shared.clone(), stop.clone());
            self.listening = Some((stop, self.runtime.spawn(task)));
        }
    }

    /// Closes all connections and refuses new ones, as if the API server had ended.
    ///
    /// # Panics
    ///
    /// When the proxy panicked.
    pub fn refuse(&mut self) {
        if let Some((stop, task)) = self.listening.take() {
            stop.cancel();
            self.runtime.block_on(task).expect("no panic in the proxy");
        }
    }

    /// Closes all connections, and forwards new ones to `cluster`, another API server with the same certificate.
    ///
    /// # Panics
    ///
    /// When the proxy panicked, or cannot listen on its port.
    pub fn move_to(&mut self, cluster: &Cluster) {
        self.refuse();
        *lock(&self.shared.server) = address_of(cluster);
        self.forward();
    }

    /// Simulates a network that drops each packet: connections stay open and new ones can be opened, but all are
    /// silent. Connections opened before or during the fault do not work again after the fault.
    pub fn vanish(&mut self) {
        lock(&self.shared.lost).cancel();
    }

    /// Answers matching requests with the error `code`, until this happened `times` times or until the rule is dropped.
    ///
    /// # Panics
    ///
    /// When `code` is not an HTTP status code.
    #[track_caller]
    pub fn answer<M>(&self, matches: M, code: u16, times: usize) -> Rule
    where
        M: Fn(&Method, &str) -> bool + Send + Sync + 'static,
    {
        let code = StatusCode::from_u16(code).expect("a status code");
        self.rule(Box::new(matches), Effect::Answer { code, times })
    }

    /// Holds matching requests back, and forwards them to the API server when the rule is dropped.
    #[track_caller]
    pub fn hold<M>(&self, matches: M) -> Rule
    where
        M: Fn(&Method, &str) -> bool + Send + Sync + 'static,
    {
        self.rule(Box::new(matches), Effect::Hold)
    }

    /// Delays the answers to matching requests by `late`.
    #[track_caller]
    pub fn delay<M>(&self, matches: M, late: Duration) -> Rule
    where
        M: Fn(&Method, &str) -> bool + Send + Sync + 'static,
    {
        self.rule(Box::new(matches), Effect::Delay(late))
    }

    #[track_caller]
    fn rule(&self, matches: Matches, effect: Effect) -> Rule {
        let state = Arc::new(State {
            place: Location::caller(),
            matches,
            effect,
            met: AtomicUsize::new(0),
            over: CancellationToken::new(),
        });
        lock(&self.shared.rules).push(state.clone());
        Rule(state)
    }

    /// Ends the watches whose path with query contains `part`, as the API server does when it no longer has the changes
    /// that the client needs. Returns the number of these watches.
    pub fn expire_watches(&self, part: &str) -> usize {
        let mut watches = lock(&self.shared.watches);
        let expired = watches.extract_if(.., |(path, _)| path.contains(part));
        expired.filter_map(|(_, end)| end.send(()).ok()).count()
    }

    /// Returns all requests that were answered so far, in the order of the answers.
    pub fn exchanges(&self) -> Vec<Exchange> {
        lock(&self.shared.exchanges).clone()
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port.number()))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.refuse();
    }
}

impl Rule {
    /// Returns the number of requests to which the rule has applied so far.
    pub fn met(&self) -> usize {
        self.0.met.load(Ordering::Relaxed)
    }

    /// Waits until the rule has applied to this number of requests.
    ///
    /// # Panics
    ///
    /// When there are fewer requests within [`PATIENCE`].
    #[track_caller]
    pub fn wait(&self, requests: usize) {
        self.wait_within(requests, PATIENCE);
    }

    /// Waits as [`wait`](Self::wait) does, but for at most `patience`.
    #[track_caller]
    pub fn wait_within(&self, requests: usize, patience: Duration) {
        let what = format!(
            "{requests} requests that the rule of {} is for",
            self.0.place
        );
        let met = wait_until(&what, patience, || {
            let met = self.met();
            anyhow::ensure!(met >= requests, "there are {met}");
            Ok(Some(()))
        });
        met.unwrap_or_else(|error| panic!("{error:#}"));
    }
}

impl Drop for Rule {
    fn drop(&mut self) {
        self.0.over.cancel();
    }
}

impl State {
    /// Checks whether the rule applies to a request. If so, counts the request.
    fn takes(&self, method: &Method, path: &str) -> bool {
        if self.over.is_cancelled() || !(self.matches)(method, path) {
            return false;
        }
        let left = |met: usize| match self.effect {
            Effect::Answer { times, .. } => (met < times).then_some(met + 1),
            Effect::Hold | Effect::Delay(_) => Some(met + 1),
        };
        let order = Ordering::Relaxed;
        self.met.fetch_update(order, order, left).is_ok()
    }
}

impl Shared {
    /// Returns the first rule that applies to a request.
    fn rule(&self, method: &Method, path: &str) -> Option<Arc<State>> {
        let mut rules = lock(&self.rules);
        rules.retain(|rule| !rule.over.is_cancelled());
        rules.iter().find(|rule| rule.takes(method, path)).cloned()
    }

    /// Answers a request according to a rule, or with the answer of `server`.
    async fn answer(
        &self,
        request: Request<Incoming>,
        server: &tokio::sync::Mutex<SendRequest<Incoming>>,
    ) -> hyper::Result<Response<Answer>> {
        let time = Instant::now();
        let method = request.method().clone();
        let path = request.uri().to_string();
        let accept = request.headers().get(ACCEPT);
        let accept = accept.map_or("", |accept| accept.to_str().unwrap_or_default());
        let accept = accept.to_owned();
        let rule = self.rule(&method, &path);
        let response = match rule.as_deref().map(|rule| (&rule.effect, &rule.over)) {
            Some((Effect::Answer { code, .. }, _)) => failure(*code),
            Some((Effect::Delay(late), _)) => {
                let response = self.forward(request, &path, server).await?;
                sleep(*late).await;
                response
            }
            Some((Effect::Hold, over)) => {
                over.cancelled().await;
                self.forward(request, &path, server).await?
            }
            None => self.forward(request, &path, server).await?,
        };
        let code = response.status().as_u16();
        lock(&self.exchanges).push(Exchange {
            time,
            method,
            path,
            accept,
            code,
        });
        Ok(response)
    }

    async fn forward(
        &self,
        mut request: Request<Incoming>,
        path: &str,
        server: &tokio::sync::Mutex<SendRequest<Incoming>>,
    ) -> hyper::Result<Response<Answer>> {
        let host = HeaderValue::from_str(&lock(&self.server).to_string()).expect("an address");
        request.headers_mut().insert(HOST, host);
        let mut server = server.lock().await;
        server.ready().await?;
        let response = server.send_request(request).await?;
        let expired = ["watch=true", "watch=1"]
            .iter()
            .any(|watch| path.contains(watch))
            .then(|| {
                let (end, expired) = oneshot::channel();
                lock(&self.watches).push((path.to_owned(), end));
                expired
            });
        Ok(response.map(|body| {
            Either::Right(Forwarded {
                body,
                expired,
                ended: false,
            })
        }))
    }
}

type Answer = Either<Full<Bytes>, Forwarded>;

/// The body of a forwarded answer. The body of a watch that expires ends early.
struct Forwarded {
    body: Incoming,
    expired: Option<oneshot::Receiver<()>>,
    ended: bool,
}

impl Body for Forwarded {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        if let Some(expired) = &mut self.expired
            && let Poll::Ready(expired) = Pin::new(expired).poll(context)
        {
            self.expired = None;
            if expired.is_ok() {
                self.ended = true;
                let event = json!({"type": "ERROR", "object": status(StatusCode::GONE)});
                return Poll::Ready(Some(Ok(Frame::data(format!("{event}\n").into()))));
            }
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.ended || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Accepts connections until `stop` is cancelled, then ends all of them.
async fn accept(listener: TcpListener, shared: Arc<Shared>, stop: CancellationToken) {
    let mut connections = JoinSet::new();
    loop {
        select! {
            () = stop.cancelled() => break,
            Ok((client, _)) = listener.accept() => {
                let lost = lock(&shared.lost).clone();
                connections.spawn(until_lost(client, shared.clone(), lost));
            }
        }
    }
    drop(listener);
    connections.shutdown().await;
}

/// Serves a connection until the simulated network loses it. After that, the connection stays open, but no data is read
/// or written.
async fn until_lost(client: TcpStream, shared: Arc<Shared>, lost: CancellationToken) {
    let mut served = pin!(serve(client, shared));
    select! {
        biased;
        () = lost.cancelled() => pending().await,
        // If serving fails, the client sees that the connection ends.
        _ = &mut served => {}
    }
}

/// Serves a connection until it ends, or until the connection to the API server ends.
async fn serve(client: TcpStream, shared: Arc<Shared>) -> anyhow::Result<()> {
    let address = *lock(&shared.server);
    let name = ServerName::from(address.ip());
    let server = TcpStream::connect(address).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let server = shared.tls.connect(name, server).await?;
    let (requests, server) = handshake(TokioIo::new(server)).await?;
    let requests = tokio::sync::Mutex::new(requests);
    let answer = service_fn(|request| shared.answer(request, &requests));
    let client = server::conn::http1::Builder::new().serve_connection(TokioIo::new(client), answer);
    let mut client = pin!(client);
    select! {
        ended = client.as_mut() => return Ok(ended?),
        // The client may not have received the end of an answer yet.
        _ = server => client.as_mut().graceful_shutdown(),
    }
    Ok(client.await?)
}

/// Listens on the reserved port. `TcpListener::bind` cannot do this: it does not set `SO_REUSEPORT`.
fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    socket.listen(128)
}

/// Returns the address of the API server of `cluster`.
fn address_of(cluster: &Cluster) -> SocketAddr {
    let address = cluster.server().strip_prefix("https://");
    address
        .and_then(|address| address.parse().ok())
        .expect("an address")
}

/// Returns a connector that trusts the certificates in a file.
fn tls(authority: &Path) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(authority).expect("certificates");
    roots.add_parsable_certificates(certificates.map(|certificate| certificate.expect("PEM")));
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config).into()
}

/// Returns an error response as the API server sends it.
fn failure(code: StatusCode) -> Response<Answer> {
    let body = status(code).to_string();
    let mut response = Response::new(Either::Left(body.into()));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if code == StatusCode::TOO_MANY_REQUESTS {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

fn status(code: StatusCode) -> Value {
    let reason = match code {
        StatusCode::FORBIDDEN => "Forbidden",
        StatusCode::CONFLICT => "Conflict",
        StatusCode::GONE => "Expired",
        StatusCode::TOO_MANY_REQUESTS => "TooManyRequests",
        StatusCode::INTERNAL_SERVER_ERROR => "InternalError",
        StatusCode::SERVICE_UNAVAILABLE => "ServiceUnavailable",
        _ => "Unknown",
    };
    json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": format!("the proxy says {code}"),
        "reason": reason,
        "code": code.as_u16(),
    })
}

fn read(kubeconfig: &Path) -> Value {
    let text = fs::read_to_string(kubeconfig).expect("a kubeconfig");
    serde_json::from_str(&text).expect("JSON, which the cluster writes")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

mod tests {
    use std::{
        io::{ErrorKind, Read, Write},
        net::TcpStream,
    };

    use super::*;
    use crate::operator::{cluster, kubectl};
    use crate::scaffold::run;

    /// Sends a request as the cluster's administrator, on a new connection.
    fn send(proxy: &Proxy, method: &str, path: &str) -> TcpStream {
        let kubeconfig = read(cluster().kubeconfig());
        let token = kubeconfig["users"][0]["user"]["token"].as_str().unwrap();
        let mut stream = TcpStream::connect(proxy.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: proxy\r\nAuthorization: Bearer {token}\r\n\
             Connection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// Reads until the connection ends, and returns the text.
    fn rest(stream: &mut TcpStream) -> String {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    fn get(proxy: &Proxy, path: &str) -> String {
        rest(&mut send(proxy, "GET", path))
    }

    /// Reads until an event with `part` has arrived, with its end: an event is a line, and a line ends a chunk.
    fn read_until(stream: &mut TcpStream, part: &str) {
        let mut seen = String::new();
        loop {
            let after = seen.split_once(part).map_or("", |(_, after)| after);
            if after.contains("\n\r\n") {
                return;
            }
            let mut bytes = [0; 4096];
            let read = stream.read(&mut bytes).unwrap();
            assert_ne!(read, 0, "the end before {part:?}: {seen}");
            seen.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
    }

    fn is_silent(stream: &mut TcpStream) -> bool {
        let wait = Duration::from_millis(300);
        stream.set_read_timeout(Some(wait)).unwrap();
        let result = stream.read(&mut [0]);
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let silent = [ErrorKind::WouldBlock, ErrorKind::TimedOut];
        result.is_err_and(|error| silent.contains(&error.kind()))
    }

    const NAMESPACE: &str = "/api/v1/namespaces/default";

    #[test]
    fn forwards_and_records() {
        let proxy = Proxy::start(cluster());
        let answer = get(&proxy, NAMESPACE);
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        assert!(answer.contains(r#""kind":"Namespace""#), "{answer}");
        get(&proxy, "/api/v1/namespaces/missing");
        let exchanges = proxy.exchanges();
        let [found, missing] = &exchanges[..] else {
            panic!("{exchanges:?}");
        };
        assert_eq!((found.path.as_str(), found.code), (NAMESPACE, 200));
        assert_eq!((&missing.method, missing.code), (&Method::GET, 404));
        assert!(found.time < missing.time);
    }

    #[test]
    fn refuses_connections_for_a_while() {
        let mut proxy = Proxy::start(cluster());
        let mut watch = send(&proxy, "GET", "/api/v1/namespaces?watch=true");
        read_until(&mut watch, r#""ADDED""#);
        proxy.refuse();
        while let Ok(1..) = watch.read(&mut [0; 4096]) {}
        let refused = TcpStream::connect(proxy.address()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        proxy.forward();
        assert!(get(&proxy, NAMESPACE).contains("200 OK"));
    }

    #[test]
    fn vanishes_for_a_while() {
        let mut proxy = Proxy::start(cluster());
        // A namespace in which no other test creates ConfigMaps.
        run(&mut kubectl("create namespace vanishing"));
        let path = "/api/v1/namespaces/vanishing/configmaps?watch=true";
        let mut watch = send(&proxy, "GET", path);
        read_until(&mut watch, "kube-root-ca.crt");
        proxy.vanish();
        run(&mut kubectl(
            "create configmap unheard --namespace=vanishing",
        ));
        let mut request = send(&proxy, "GET", NAMESPACE);
        assert!(is_silent(&mut watch));
        assert!(is_silent(&mut request));
        proxy.forward();
        assert!(get(&proxy, NAMESPACE).contains("200 OK"));
        assert!(is_silent(&mut watch));
        assert!(is_silent(&mut request));
        assert_eq!(proxy.exchanges().len(), 2, "{:?}", proxy.exchanges());
    }

    #[test]
    fn answers_in_the_place_of_the_api_server() {
        let proxy = Proxy::start(cluster());
        let rule = proxy.answer(
            |method, path| method == Method::GET && path == NAMESPACE,
            429,
            2,
        );
        assert!(get(&proxy, "/api/v1/namespaces").contains("200 OK"));
        for _ in 0..2 {
            let answer = get(&proxy, NAMESPACE);
            assert!(answer.starts_with("HTTP/1.1 429 "), "{answer}");
            assert!(answer.contains("retry-after: 1\r\n"), "{answer}");
            assert!(answer.contains(r#""reason":"TooManyRequests""#), "{answer}");
        }
        assert!(get(&proxy, NAMESPACE).contains("200 OK"));
        assert_eq!(rule.met(), 2);
        drop(rule);

        let rule = proxy.answer(|_, _| true, 500, usize::MAX);
        assert!(get(&proxy, NAMESPACE).contains("500 Internal"));
        drop(rule);
        assert!(get(&proxy, NAMESPACE).contains("200 OK"));
    }

    #[test]
    fn holds_a_request_back() {
        let proxy = Proxy::start(cluster());
        let hold = proxy.hold(|method, _| method == Method::DELETE);
        run(&mut kubectl("create configmap held"));
        let path = "/api/v1/namespaces/default/configmaps/held";
        let mut request = send(&proxy, "DELETE", path);
        hold.wait(1);
        assert!(get(&proxy, path).contains("200 OK"));
        assert!(is_silent(&mut request));
        drop(hold);
        assert!(rest(&mut request).contains("200 OK"));
        assert!(get(&proxy, path).contains("404 Not Found"));
    }

    #[test]
    fn delays_an_answer_but_not_the_request() {
        let proxy = Proxy::start(cluster());
        let late = Duration::from_millis(300);
        let delay = proxy.delay(|method, _| method == Method::DELETE, late);
        run(&mut kubectl("create configmap delayed"));
        let path = "/api/v1/namespaces/default/configmaps/delayed";
        let start = Instant::now();
        assert!(rest(&mut send(&proxy, "DELETE", path)).contains("200 OK"));
        assert!(start.elapsed() >= late);
        assert_eq!(delay.met(), 1);
        assert!(get(&proxy, path).contains("404 Not Found"));
    }

    #[test]
    fn expires_watches() {
        let proxy = Proxy::start(cluster());
        let mut expired = send(&proxy, "GET", "/api/v1/namespaces?watch=true");
        let mut other = send(&proxy, "GET", "/api/v1/serviceaccounts?watch=true");
        for watch in [&mut expired, &mut other] {
            read_until(watch, r#""ADDED""#);
        }
        assert_eq!(proxy.expire_watches("/namespaces?"), 1);
        let end = rest(&mut expired);
        assert!(end.contains(r#""type":"ERROR""#), "{end}");
        assert!(end.contains(r#""code":410"#), "{end}");
        assert!(end.ends_with("\r\n0\r\n\r\n"), "{end}");
        run(&mut kubectl("create serviceaccount heard"));
        read_until(&mut other, r#""name":"heard""#);
        assert_eq!(proxy.expire_watches("/namespaces?"), 0);
    }
}
