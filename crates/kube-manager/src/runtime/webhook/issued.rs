//! A certificate that another program, such as cert-manager, maintains in a Secret. The Secret is watched, because a
//! mounted Secret lags behind by minutes, but the API server trusts a new authority within seconds.

use std::pin::pin;

use anyhow::{Context, Result};
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
        let config = watcher::Config::default().fields(&field);
        let config = config.timeout(watch::length());
        let events = watcher(secrets, config).backoff(Pauses::default());
        let mut events = pin!(events);
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
        let message = |error: &anyhow::Error| failure::message(error.as_ref());
        let pair =
            read(&secret).map_err(|error| format!("the Secret `{name}` {}", message(&error)))?;
        if pairs.borrow().as_ref() == Some(&pair) {
            return Ok(());
        }
        (pair.clone().config()).map_err(|error| {
            format!(
                "the Secret `{name}` has no good certificate: {}",
                message(&error)
            )
        })?;
        pairs.send_replace(Some(pair));
        Ok(())
    }
}

/// The certificate in `secret`.
fn read(secret: &Secret) -> Result<Pair> {
    let data = secret.data.as_ref();
    let field = |key: &str| {
        let value = data.and_then(|data| data.get(key));
        let value = value.filter(|ByteString(value)| !value.is_empty());
        value.with_context(|| format!("has no `{key}` yet"))
    };
    let (ByteString(certificates), ByteString(key)) = (field("tls.crt")?, field("tls.key")?);
    Pair::from_pem(certificates, key).context("has no good certificate")
}
