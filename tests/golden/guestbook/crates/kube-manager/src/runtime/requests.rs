//! How requests reach the API server. Each request is counted, timed and logged at debug level, has a timeout, and is
//! sent only while this replica leads.

use std::{
    future::poll_fn,
    pin::pin,
    task::Poll,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use http::{Request, Response, Uri};
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
    client::{Body, ConfigExt, retry::RetryPolicy},
};
use tokio::time::timeout;
use tower::{BoxError, Service, ServiceBuilder, retry::RetryLayer, service_fn};

use super::{leader::Leadership, metrics::Metrics};

/// The timeout of a request: a little longer than the API server's own timeout of one minute.
pub(super) const PATIENCE: Duration = Duration::from_secs(65);

/// The time within which the API server begins to answer a watch, even a watch without events.
const BEGIN: Duration = Duration::from_secs(30);

/// How long an unused connection is kept: less than the shortest watch. So when a silent watch times out because the
/// network has lost the connections, the next watch cannot use an old one.
pub(super) const UNUSED: Duration = Duration::from_secs(25);

/// A client like kube's, with two differences. It turns off Nagle's algorithm, which delays each new connection by 40
/// ms. And it does not retry.
///
/// # Errors
///
/// When `config` has invalid certificates or credentials, or a proxy with a protocol other than HTTP, HTTPS and SOCKS5.
pub fn connect(config: &Config) -> anyhow::Result<Client> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let Some(proxy) = &config.proxy_url else {
        return connect_by(tcp, config);
    };
    // The matcher splits the user and the password from the URL.
    let proxy = Matcher::builder().all(proxy.to_string()).build();
    let proxy = proxy.intercept(&config.cluster_url);
    let proxy = proxy.context("cannot use a proxy of this protocol")?;
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
    /// A client that sends requests in this way. If the API server is overloaded, the client retries a few times within
    /// seconds, or after the time that the API server requests.
    ///
    /// # Errors
    ///
    /// When the range of the pauses between retries is not valid.
    pub fn client(self) -> anyhow::Result<Client> {
        let (first, longest) = (Duration::from_millis(100), Duration::from_secs(5));
        let retries = RetryPolicy::new(first, longest, 3, true)?;
        let namespace = self.connections.default_namespace().to_owned();
        let service = ServiceBuilder::new()
            .layer(RetryLayer::new(retries))
            .map_err(BoxError::from)
            .service_fn(move |request| self.clone().send(request));
        Ok(Client::new(service, namespace))
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
        let code = answer.as_ref().map(Response::status);
        let code = code.as_ref().map_or("<error>", |code| code.as_str());
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

fn is_watch(request: &Request<Body>) -> bool {
    let query = request.uri().query();
    query.is_some_and(|query| query.contains("watch=true"))
}

/// A client that sends its requests with `client`, and calls `begun` each time the API server starts to answer a watch.
/// Watch events cannot show that a watch has started, because there are none while nothing changes.
pub fn watching(client: Client, begun: impl Fn() + Clone + Send + 'static) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = service_fn(move |request| {
        let (client, begun) = (client.clone(), begun.clone());
        async move {
            let watches = is_watch(&request);
            let answer = client.send(request).await?;
            if watches && answer.status().is_success() {
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

    use super::*;

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

    #[tokio::test]
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
        let begun = move || {
            counts.fetch_add(1, Ordering::Relaxed);
        };
        let client = watching(Client::new(answers, "default"), begun);
        for (uri, expected) in [("/", 0), ("/forbidden?watch=true", 0), ("/?watch=true", 1)] {
            let request = Request::get(uri).body(Body::empty()).expect("a request");
            client.send(request).await.expect("an answer");
            assert_eq!(count.load(Ordering::Relaxed), expected, "{uri}");
        }
    }
}
