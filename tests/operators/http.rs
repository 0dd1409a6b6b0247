//! An HTTP client for the servers of an operator.

use std::net::SocketAddr;

use cluster::PATIENCE;
use ureq::{
    Agent, Body,
    config::Config,
    http::{
        HeaderValue, Response, Uri,
        header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE},
    },
    tls::{Certificate, RootCerts, TlsConfig},
    unversioned::{
        resolver::{ResolvedSocketAddrs, Resolver},
        transport::{DefaultConnector, NextTimeout},
    },
};

/// The response to a request.
#[derive(Debug)]
pub struct Answer {
    pub code: u16,
    /// The header `Content-Type`; empty if the response has none.
    pub content_type: String,
    /// The header `Connection`; empty if the response has none.
    pub connection: String,
    pub text: String,
}

/// A client that keeps its connections open. Several threads can use it.
pub struct Client {
    agent: Agent,
    token: Option<String>,
}

impl Client {
    /// Creates a client that verifies no certificates.
    pub fn new() -> Self {
        Self::with(TlsConfig::builder().disable_verification(true).build())
    }

    fn with(tls: TlsConfig) -> Self {
        Self {
            agent: config(tls).into(),
            token: None,
        }
    }

    /// Adds a token to all requests of the client.
    pub fn token(self, token: &str) -> Self {
        let token = Some(format!("Bearer {token}"));
        Self { token, ..self }
    }

    pub fn get(&self, url: &str) -> Result<Answer, ureq::Error> {
        let mut request = self.agent.get(url);
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token);
        }
        Answer::read(request.call()?)
    }

    /// Sends a merge patch.
    pub fn patch(&self, url: &str, body: &str) -> Result<Answer, ureq::Error> {
        self.patch_as("application/merge-patch+json", url, body)
    }

    /// Sends a server-side apply.
    pub fn apply(&self, url: &str, body: &str) -> Result<Answer, ureq::Error> {
        self.patch_as("application/apply-patch+yaml", url, body)
    }

    fn patch_as(&self, format: &str, url: &str, body: &str) -> Result<Answer, ureq::Error> {
        let mut request = self.agent.patch(url).content_type(format);
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token);
        }
        Answer::read(request.send(body)?)
    }

    /// Deletes the object at `url`.
    pub fn delete(&self, url: &str) -> Result<Answer, ureq::Error> {
        let mut request = self.agent.delete(url);
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token);
        }
        Answer::read(request.call()?)
    }

    /// Posts JSON.
    pub fn post(&self, url: &str, body: &str) -> Result<Answer, ureq::Error> {
        let mut request = self.agent.post(url).content_type("application/json");
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token);
        }
        Answer::read(request.send(body)?)
    }
}

/// Gets `url` on a new connection, and does not verify the certificate.
pub fn get(url: &str) -> Result<Answer, ureq::Error> {
    Client::new().get(url)
}

/// Gets `url` as [`get`] does, with a token.
pub fn get_as(url: &str, token: &str) -> Result<Answer, ureq::Error> {
    Client::new().token(token).get(url)
}

/// Gets `url`, and trusts only `certificate`, which is PEM.
pub fn get_trusting(url: &str, certificate: &str) -> Result<Answer, ureq::Error> {
    Client::with(trusting(certificate)?).get(url)
}

/// Gets `url` from the server at `address`. The server needs a certificate for the host in `url`, signed by
/// `authority`.
pub fn get_from(address: SocketAddr, url: &str, authority: &str) -> Result<Answer, ureq::Error> {
    let config = config(trusting(authority)?);
    let agent = Agent::with_parts(config, DefaultConnector::new(), Only(address));
    Client { agent, token: None }.get(url)
}

/// A resolver that returns this address for each host.
#[derive(Debug)]
struct Only(SocketAddr);

impl Resolver for Only {
    fn resolve(
        &self,
        _: &Uri,
        _: &Config,
        _: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let mut addresses = self.empty();
        addresses.push(self.0);
        Ok(addresses)
    }
}

fn config(tls: TlsConfig) -> Config {
    Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(PATIENCE))
        .tls_config(tls)
        .build()
}

/// Returns a TLS configuration that trusts only a certificate in PEM, and certificates that it signed.
fn trusting(certificate: &str) -> Result<TlsConfig, ureq::Error> {
    let certificate = Certificate::from_pem(certificate.as_bytes())?;
    let roots = RootCerts::new_with_certs(&[certificate]);
    Ok(TlsConfig::builder().root_certs(roots).build())
}

impl Answer {
    fn read(mut response: Response<Body>) -> Result<Self, ureq::Error> {
        let header = |name| {
            let value = response.headers().get(name).map(HeaderValue::to_str);
            value.and_then(Result::ok).unwrap_or_default().to_owned()
        };
        let (content_type, connection) = (header(CONTENT_TYPE), header(CONNECTION));
        Ok(Self {
            code: response.status().as_u16(),
            content_type,
            connection,
            text: response.body_mut().read_to_string()?,
        })
    }
}
