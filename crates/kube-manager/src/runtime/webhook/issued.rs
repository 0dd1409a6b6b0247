//! A certificate that another program, such as cert-manager, maintains in a Secret. The Secret is watched, because a
//! mounted Secret lags behind by minutes, but the API server trusts a new authority within seconds.

use std::pin::pin;

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{
    Api, Client,
    runtime::{
        WatchStreamExt,
        watcher::{self, Event, watcher},
    },
};
use tokio::sync::watch::Sender;

use super::configurations::WAITS;
use crate::runtime::{
    failure,
    health::Health,
    serve::Pair,
    trouble::Trouble,
    watch::{self, Pauses},
};

/// Follows the certificate in a Secret.
pub(super) struct Issued {
    pub client: Client,
    /// The name of the Secret in the operator's namespace.
    pub secret: String,
    pub health: Health,
}

impl Issued {
    /// Sends each new certificate to `pairs`. An unusable certificate is ignored, and the previous one stays in use.
    pub async fn follow(self, pairs: Sender<Option<Pair>>) {
        let secrets = Api::<Secret>::default_namespaced(self.client.clone());
        // A role with the name of the Secret allows lists and watches only with this field selector.
        let field = format!("metadata.name={}", self.secret);
        let config = watcher::Config::default()
            .fields(&field)
            .timeout(watch::length());
        let mut events = pin!(watcher(secrets, config).backoff(Pauses::default()));
        let mut trouble = Trouble::new(WAITS);
        let mut is_there = false;
        while let Some(event) = events.next().await {
            let found = match event {
                Ok(Event::Init) => {
                    is_there = false;
                    continue;
                }
                Ok(Event::InitApply(secret) | Event::Apply(secret)) => {
                    is_there = true;
                    self.take(secret, &pairs)
                }
                Ok(Event::InitDone) if is_there => continue,
                Ok(Event::InitDone | Event::Delete(_)) => {
                    Err(format!("there is no Secret `{}` yet", self.secret))
                }
                Err(error) if watch::is_interruption(&error) => continue,
                Err(error) => {
                    let (name, says) = (&self.secret, failure::message(&error));
                    Err(format!("cannot watch the Secret `{name}`: {says}"))
                }
            };
            match found {
                Ok(()) => {
                    trouble.ends();
                    self.health.ready("webhooks", "served");
                }
                Err(error) => {
                    if pairs.borrow().is_none() {
                        self.health.waits("webhooks", &error);
                    }
                    trouble.is(error);
                }
            }
        }
    }

    /// Sends the certificate of `secret` if it is new. Returns an error if the certificate cannot be used.
    fn take(&self, secret: Secret, pairs: &Sender<Option<Pair>>) -> Result<(), String> {
        let name = &self.secret;
        let pair = read(&secret).map_err(|error| {
            let why = failure::message(error.as_ref());
            format!("the Secret `{name}` {why}")
        })?;
        if pairs.borrow().as_ref() == Some(&pair) {
            return Ok(());
        }
        (pair.clone().config()).map_err(|error| {
            let why = failure::message(error.as_ref());
            format!("the Secret `{name}` has no good certificate: {why}")
        })?;
        pairs.send_replace(Some(pair));
        Ok(())
    }
}

/// The certificate in `secret`.
fn read(secret: &Secret) -> Result<Pair> {
    let (certificates, key) = (field(secret, "tls.crt")?, field(secret, "tls.key")?);
    Pair::from_pem(certificates, key).context("has no good certificate")
}

fn field<'a>(secret: &'a Secret, key: &str) -> Result<&'a [u8]> {
    match secret.data.as_ref().and_then(|data| data.get(key)) {
        Some(ByteString(value)) if !value.is_empty() => Ok(value),
        _ => bail!("has no `{key}` yet"),
    }
}
