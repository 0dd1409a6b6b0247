//! A client for what an operator serves.

use std::time::Duration;

use ureq::{
    Agent, Body,
    http::{
        HeaderValue, Response,
        header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE},
    },
    tls::{Certificate, RootCerts, TlsConfig},
};

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub code: u16,
    /// Empty if it has none.
    pub content_type: String,
    /// What becomes of the connection; empty if nothing is said.
    pub connection: String,
    pub text: String,
}

/// A client that keeps its connections, and can be used by several threads.
pub struct Client {
    agent: Agent,
    token: Option<String>,
}

impl Client {
    /// Looks at no certificate.
    pub fn new() -> Self {
        Self::with(TlsConfig::builder().disable_verification(true).build())
    }

    fn with(tls: TlsConfig) -> Self {
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(20)))
            .tls_config(tls)
            .build();
        Self {
            agent: agent.into(),
            token: None,
        }
    }

    /// The same, with a token.
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
        let mut request = self.agent.patch(url);
        request = request.content_type("application/merge-patch+json");
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token);
        }
        Answer::read(request.send(body)?)
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

/// Gets `url` on a connection of its own. A certificate is not looked at.
pub fn get(url: &str) -> Result<Answer, ureq::Error> {
    Client::new().get(url)
}

/// The same, with a token.
pub fn get_as(url: &str, token: &str) -> Result<Answer, ureq::Error> {
    Client::new().token(token).get(url)
}

/// Gets `url` if the server has `certificate`, which is PEM.
pub fn get_trusting(url: &str, certificate: &str) -> Result<Answer, ureq::Error> {
    let certificate = Certificate::from_pem(certificate.as_bytes())?;
    let roots = RootCerts::new_with_certs(&[certificate]);
    Client::with(TlsConfig::builder().root_certs(roots).build()).get(url)
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
