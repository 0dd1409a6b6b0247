//! Tests that the operator answers any input to the port of the webhooks, whoever sends it, and that no input leaks
//! memory or connections.

use std::{
    fmt::Debug,
    io::{self, Read, Write},
    net::{Shutdown, TcpStream},
    ops::RangeBounds,
    sync::Arc,
    thread,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};

use crate::{
    admission::{DEFAULTS, VALIDATES, certify, project, review, serve},
    operator::{Operator, PATIENCE},
    random::Random,
};

/// The number of clients that send at the same time.
const CLIENTS: usize = 4;

/// The additional memory that the operator may use after all inputs, in KiB. In a long run, this is less than 400 bytes
/// for each input.
const MORE: usize = 32 << 10;

/// Returns the number of inputs. `INPUTS=100000 cargo test --package operators --tests -- any_input` is the long run,
/// which takes minutes.
fn inputs() -> usize {
    std::env::var("INPUTS").map_or(4000, |text| text.parse().expect("a number"))
}

#[test]
fn any_input_to_the_port_is_answered_and_leaves_nothing_behind() {
    let folder = TempDir::new().expect("a temporary folder");
    let certificate = certify(folder.path());
    let mut operator = serve(project().operator(), folder.path()).start();
    let target = Target::new(&operator.address("webhooks"), &certificate);
    let good = review(json!({"title": "good"})).to_string();
    let answers_well = || {
        let (code, body) = target.connect().send(&post(VALIDATES, good.as_bytes()));
        assert_eq!(code, 200, "{body}");
        assert!(body.contains(r#""allowed":true"#), "{body}");
    };

    // Connections that send nothing, or only a part of a request, do not block other clients.
    answers_well();
    let files = operator.files();
    let half = send_halves(&target, good.as_bytes());
    // The operator closes connections without a TLS handshake after 10 s, so these connections are opened last.
    let silent: Vec<_> = (0..100).map(|_| target.open()).collect();
    files_become(&operator, files + 150..);
    answers_well();
    drop((silent, half));
    files_become(&operator, ..=files + 5);

    // After the first inputs, the operator uses as much memory as it ever needs.
    let count = inputs();
    send_large(&target);
    send_all(&target, count, count + count / 4);
    let before = operator.memory();
    send_all(&target, 0, count);
    send_large(&target);
    answers_well();
    files_become(&operator, ..=files + 5);
    let after = operator.memory();
    eprintln!("{count} inputs: from {before} to {after} KiB");
    assert!(after <= before + MORE, "from {before} to {after} KiB");
    let log = operator.log();
    assert!(
        !log.contains("panicked") && !log.contains("\"ERROR\""),
        "{log}"
    );
    operator.signal("TERM");
    assert!(operator.ends_within(PATIENCE).success());
}

/// Opens connections that each send a part of a request, from nothing to nearly the whole request.
fn send_halves(target: &Target, body: &[u8]) -> Vec<Connection> {
    const CONNECTIONS: usize = 100;
    // A call starts once the head of its request has arrived. Each call waits for its body, and logs an error when its
    // time is over: so it gets the longest time.
    let request = post(&format!("{VALIDATES}?timeout=30s"), body);
    let send_some = |client: usize| {
        let mut connections = Vec::new();
        for number in (client..CONNECTIONS).step_by(CLIENTS) {
            let mut connection = target.connect();
            let length = number * request.len() / CONNECTIONS;
            let written = connection.stream.write_all(&request[..length]);
            written.expect("half a request");
            connections.push(connection);
        }
        connections
    };
    thread::scope(|scope| {
        let mut clients = Vec::new();
        for client in 0..CLIENTS {
            clients.push(scope.spawn(move || send_some(client)));
        }
        let connections = clients
            .into_iter()
            .map(|client| client.join().expect("no panic"));
        connections.flatten().collect()
    })
}

/// Sends the inputs with these numbers.
fn send_all(target: &Target, from: usize, to: usize) {
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            scope.spawn(move || {
                let mut connection = None;
                for number in (from + client..to).step_by(CLIENTS) {
                    send(target, &mut connection, number);
                }
            });
        }
    });
}

/// Sends reviews of the maximum size, one after the other.
fn send_large(target: &Target) {
    for part in ["0,", "[0],", "{\"a\":0},", "\"a\","] {
        let mut body = review(json!({"title": "large", "colour": "red"})).to_string();
        let times = ((8 << 20) - body.len()) / part.len();
        body = body.replace("\"red\"", &format!("[{}0]", part.repeat(times - 1)));
        let (code, answer) = target.connect().send(&post(DEFAULTS, body.as_bytes()));
        assert_eq!(code, 200, "{answer}");
    }
}

/// Sends one input. Most inputs are requests on a connection that is kept open.
fn send(target: &Target, kept: &mut Option<Connection>, number: usize) {
    let mut random = Random(number as u64);
    match random.below(100) {
        0..3 => {
            let noise = random.bytes(2000);
            let mut stream = target.open();
            // The operator may have closed the connection already.
            let _ = stream.write_all(&noise);
            let _ = stream.shutdown(Shutdown::Write);
            ends(&mut stream, number);
        }
        3..6 => {
            let request = random.request();
            let Connection { mut stream, .. } = target.connect();
            let _ = stream.write_all(&request);
            stream.conn.send_close_notify();
            let _ = stream.flush();
            let _ = stream.sock.shutdown(Shutdown::Write);
            let answer = ends(&mut stream, number);
            let is_fine = answer.is_empty()
                || answer.starts_with(b"HTTP/1.1 4")
                || answer.starts_with(b"HTTP/1.1 2")
                || answer.starts_with(b"HTTP/1.0 4");
            assert!(
                is_fine,
                "input {number}: {}",
                String::from_utf8_lossy(&answer)
            );
        }
        _ => {
            let request = random.review();
            let connection = kept.get_or_insert_with(|| target.connect());
            let (code, body) = connection.send(&request);
            let expected = [200, 400, 404, 405, 413, 415];
            assert!(expected.contains(&code), "input {number}: {code} {body}");
            // The operator may close the connection if it has not read the whole request.
            if connection.closes || (code != 200 && code != 400) {
                *kept = None;
            }
        }
    }
}

/// Reads until the operator ends the connection, and returns the answer. Panics on a timeout.
fn ends(stream: &mut impl Read, number: usize) -> Vec<u8> {
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(error) if is_timeout(&error) => panic!("input {number} gets no answer"),
        _ => answer,
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

/// The address of the webhooks, and the TLS settings for clients.
struct Target {
    address: String,
    tls: Arc<ClientConfig>,
}

impl Target {
    fn new(address: &str, certificate: &str) -> Self {
        let mut roots = RootCertStore::empty();
        let certificate = CertificateDer::from_pem_slice(certificate.as_bytes());
        roots.add(certificate.expect("PEM")).expect("a certificate");
        let tls = ClientConfig::builder().with_root_certificates(roots);
        Self {
            address: address.to_owned(),
            tls: Arc::new(tls.with_no_client_auth()),
        }
    }

    fn open(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_nodelay(true).expect("no delay");
        stream
    }

    fn connect(&self) -> Connection {
        let name = ServerName::try_from("127.0.0.1").expect("a name");
        let tls = ClientConnection::new(self.tls.clone(), name).expect("TLS");
        let mut stream = StreamOwned::new(tls, self.open());
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock).expect("TLS");
        }
        let closes = false;
        Connection { stream, closes }
    }
}

/// An established connection.
struct Connection {
    stream: StreamOwned<ClientConnection, TcpStream>,
    /// Whether the server has announced that it closes the connection.
    closes: bool,
}

impl Connection {
    /// Sends a request and returns the status code and the body of the answer.
    fn send(&mut self, request: &[u8]) -> (u16, String) {
        // The answer may arrive before the whole request is sent.
        let written = self
            .stream
            .write_all(request)
            .and_then(|()| self.stream.flush());
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if let Err(error) = self.stream.read_exact(&mut byte) {
                panic!("no answer: {error}; sent: {written:?}");
            }
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).expect("text");
        self.closes = head.contains("\r\nconnection: close\r\n");
        let code = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length = length.map_or(0, |length| length.parse().expect("a number"));
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("a body");
        let body = String::from_utf8_lossy(&body).into_owned();
        (code.expect("a code"), body)
    }
}

fn post(path: &str, body: &[u8]) -> Vec<u8> {
    request("POST", path, "application/json", body)
}

fn request(method: &str, path: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: webhooks\r\ncontent-type: {kind}\r\n\
         content-length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

impl Random {
    /// Returns a request that is valid in HTTP, with any content instead of a review.
    fn review(&mut self) -> Vec<u8> {
        let path = self.one(&[DEFAULTS, VALIDATES]);
        match self.below(1000) {
            0..600 => {
                let body = self.valid().to_string().into_bytes();
                post(path, &self.damaged(body))
            }
            600..800 => {
                let mut review = self.valid();
                self.replace_part(&mut review);
                post(path, review.to_string().as_bytes())
            }
            800..900 => post(path, &self.bytes(3000)),
            900..950 => {
                let (open, times) = (self.one(&["[", "{\"a\":", "[{\"request\":"]), 100_000);
                post(path, open.repeat(self.below(times)).as_bytes())
            }
            950..996 => {
                let method = self.one(&["GET", "PUT", "DELETE", "POST", "OPTIONS", "PURGE"]);
                let path = self.one(&[
                    "/",
                    "/validate",
                    "/convert",
                    "//",
                    "/%00",
                    "/?timeout=1h",
                    path,
                ]);
                let kind = self.one(&["text/plain", "application/yaml", "", "application/json"]);
                request(method, path, kind, &self.bytes(100))
            }
            _ => {
                let query = self.one(&[
                    "?timeout=1h",
                    "?timeout=-1s",
                    "?timeout=9999999999999999h",
                    "?timeout",
                ]);
                post(
                    &format!("{path}{query}"),
                    self.valid().to_string().as_bytes(),
                )
            }
        }
    }

    fn valid(&mut self) -> Value {
        let mut review = review(json!({"title": "fine", "size": 7, "colour": "red"}));
        let operation = self.one(&["CREATE", "UPDATE", "DELETE", "CONNECT"]);
        let object = review["request"]["object"].clone();
        review["request"]["operation"] = operation.into();
        if matches!(operation, "UPDATE" | "DELETE") {
            review["request"]["oldObject"] = object;
        }
        review
    }

    /// Returns `body` with a few bytes removed, repeated, inserted or replaced.
    fn damaged(&mut self, mut body: Vec<u8>) -> Vec<u8> {
        for _ in 0..=self.below(4) {
            let at = self.below(body.len().max(1));
            match self.below(5) {
                0 => body.truncate(at),
                1 if at < body.len() => drop(body.remove(at)),
                2 if at < body.len() => body[at] = self.byte(),
                3 => body.insert(at.min(body.len()), self.one(b"{}[]\",:\\0-\xff\x00e")),
                _ => {
                    let end = (at + self.below(40)).min(body.len());
                    let part = body[at.min(end)..end].to_vec();
                    body.splice(end..end, part);
                }
            }
        }
        body
    }

    /// Replaces a part of `value` with another value.
    fn replace_part(&mut self, value: &mut Value) {
        let stays = self.below(5) > 0;
        match value {
            Value::Object(fields) if stays && !fields.is_empty() => {
                let at = self.below(fields.len());
                let field = fields.values_mut().nth(at).expect("a field");
                self.replace_part(field);
            }
            Value::Array(items) if stays && !items.is_empty() => {
                let at = self.below(items.len());
                self.replace_part(&mut items[at]);
            }
            other => {
                *other = match self.below(9) {
                    0 => Value::Null,
                    1 => json!(-1),
                    2 => json!(1e300),
                    3 => json!(u64::MAX),
                    4 => json!("\u{0}\u{202e}\u{10ffff}"),
                    5 => json!("x".repeat(self.below(10_000))),
                    6 => json!([[[], {}], null, {"": {"": []}}]),
                    7 => json!({"~/": true, "metadata": {"labels": 3}, "spec": {"title": []}}),
                    _ => json!(false),
                };
            }
        }
    }

    /// Returns noise, an invalid request, a part of a request, or several requests at once.
    fn request(&mut self) -> Vec<u8> {
        let good = post(VALIDATES, self.valid().to_string().as_bytes());
        match self.below(7) {
            0 => self.bytes(2000),
            1 => good[..self.below(good.len())].to_vec(),
            2 => {
                // Only the head is damaged and sent, so that the length may not match the body.
                let head = good.windows(4).position(|it| it == b"\r\n\r\n");
                let head = good[..head.expect("a head")].to_vec();
                self.damaged(head)
            }
            3 => {
                let header = format!("a: {}\r\n", "x".repeat(self.below(2000)));
                let many = header.repeat(self.below(400));
                format!("GET / HTTP/1.1\r\nhost: a\r\n{many}\r\n").into_bytes()
            }
            4 => {
                let size = self.one(&["0", "-1", "5", "ffffffffffffffffff", "x"]);
                format!(
                    "POST {VALIDATES} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n\
                     transfer-encoding: chunked\r\n\r\n{size}\r\n{{}}\r\n"
                )
                .into_bytes()
            }
            5 => {
                let lengths = [
                    "-1",
                    "99999999999999999999",
                    "1, 2",
                    "7\r\ncontent-length: 8",
                    "9000000",
                ];
                let length = self.one(&lengths);
                format!(
                    "POST {VALIDATES} HTTP/1.1\r\nhost: a\r\ncontent-length: {length}\r\n\r\n{{}}"
                )
                .into_bytes()
            }
            // Several requests one after the other, without waiting for the answers.
            _ => good.repeat(1 + self.below(5)),
        }
    }
}

/// Waits until the operator has this number of open files and connections.
#[track_caller]
fn files_become(operator: &Operator, expected: impl RangeBounds<usize> + Debug) {
    let what = format!("{expected:?} open files and connections");
    let waited = cluster::wait_until(&what, PATIENCE, || {
        let files = operator.files();
        anyhow::ensure!(expected.contains(&files), "there are {files}");
        Ok(Some(()))
    });
    waited.unwrap_or_else(|error| panic!("{error:#}"));
}
