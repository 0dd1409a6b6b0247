//! A client for what an operator serves.

use std::time::Duration;

use ureq::{
    Agent,
    http::header::{AUTHORIZATION, CONTENT_TYPE},
    tls::{Certificate, RootCerts, TlsConfig},
};

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub code: u16,
    /// Empty if it has none.
    pub content_type: String,
    pub text: String,
}

/// Gets `url` on a connection of its own. A certificate is not looked at.
pub fn get(url: &str) -> Result<Answer, ureq::Error> {
    let tls = TlsConfig::builder().disable_verification(true);
    send(url, None, tls.build())
}

/// The same, with a token.
pub fn get_as(url: &str, token: &str) -> Result<Answer, ureq::Error> {
    let tls = TlsConfig::builder().disable_verification(true);
    send(url, Some(token), tls.build())
}

/// Gets `url` if the server has `certificate`, which is PEM.
pub fn get_trusting(url: &str, certificate: &str) -> Result<Answer, ureq::Error> {
    let certificate = Certificate::from_pem(certificate.as_bytes())?;
    let roots = RootCerts::new_with_certs(&[certificate]);
    send(url, None, TlsConfig::builder().root_certs(roots).build())
}

fn send(url: &str, token: Option<&str>, tls: TlsConfig) -> Result<Answer, ureq::Error> {
    let agent: Agent = Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(20)))
        .tls_config(tls)
        .build()
        .into();
    let mut request = agent.get(url);
    if let Some(token) = token {
        request = request.header(AUTHORIZATION, format!("Bearer {token}"));
    }
    let mut response = request.call()?;
    let content_type = response.headers().get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    Ok(Answer {
        code: response.status().as_u16(),
        content_type: content_type.unwrap_or_default().to_owned(),
        text: response.body_mut().read_to_string()?,
    })
}
