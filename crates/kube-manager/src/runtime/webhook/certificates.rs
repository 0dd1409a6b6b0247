//! Maintains the certificates of the webhooks: reads and writes the Secret of the authorities, adds them to the webhook
//! configurations, and creates the leaf certificate of this replica.
//!
//! All replicas do the same. The first replica that writes the Secret under its resourceVersion decides, and the others
//! read the result. The Secret is read by requests, because a mounted Secret lags behind by minutes.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use k8s_openapi::{ByteString, api::core::v1::Secret, jiff::Timestamp};
use kube::{Api, Client, api::PostParams};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use super::{
    authority::{Authorities, Leaf, Lifetimes},
    configurations::{Bundle, Configurations, Published, WAITS, report},
};
use crate::runtime::{failure, health::Health, serve::Pair, trouble::Trouble};

/// The key in the Secret.
const KEY: &str = "authorities.json";

/// The pause after a failure, which doubles if the API server accepts the certificate nevertheless.
const SOON: Duration = Duration::from_secs(1);

/// How long one round of requests may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Maintains the certificates of the webhooks.
pub(super) struct Certificates {
    pub client: Client,
    /// The name of the Secret.
    pub secret: String,
    /// The names and addresses in the leaf.
    pub hosts: Vec<String>,
    pub lifetimes: Lifetimes,
    pub configurations: Configurations,
    pub health: Health,
}

/// The certificate that this replica serves.
#[derive(Default)]
struct Served {
    leaf: Option<Leaf>,
    /// Whether the API server trusts the authority of the leaf, wherever it calls this operator.
    is_trusted: bool,
}

impl Served {
    /// Whether the API server accepts the certificate.
    fn is_accepted(&self) -> bool {
        let leaf = self.leaf.as_ref();
        self.is_trusted && leaf.is_some_and(|leaf| leaf.is_valid(Timestamp::now()))
    }
}

impl Certificates {
    /// Maintains the certificates, and sends each new leaf to `leaves`.
    pub async fn keep(self, leaves: watch::Sender<Option<Pair>>) {
        let mut served = Served::default();
        let mut trouble = Trouble::new(WAITS);
        let mut soon = SOON;
        loop {
            let problem = match timeout(PATIENCE, self.look(&mut served, &leaves)).await {
                Ok(Ok(published)) => published.says(),
                Ok(Err(error)) => Some(failure::message(error.as_ref())),
                Err(_) => Some("the API server does not answer".to_owned()),
            };
            self.report(&served, problem.as_deref());
            let interval = self.lifetimes.interval();
            let pause = match problem {
                None => {
                    trouble.ends();
                    soon = SOON;
                    interval
                }
                Some(problem) => {
                    trouble.is(problem);
                    let pause = soon.min(interval);
                    // A problem that stops no request may last, such as a CRD that is not installed.
                    soon = if served.is_accepted() {
                        pause * 2
                    } else {
                        SOON
                    };
                    pause
                }
            };
            sleep(pause).await;
        }
    }

    fn report(&self, served: &Served, problem: Option<&str>) {
        match &served.leaf {
            None => {
                let says = problem.unwrap_or("there is no certificate yet");
                self.health.waits("webhooks", says);
            }
            Some(leaf) if !leaf.is_valid(Timestamp::now()) => {
                let why = problem.unwrap_or("it is replaced soon");
                let says = format!("the certificate has expired: {why}");
                self.health.waits("webhooks", says);
            }
            Some(_) => report(&self.health, served.is_trusted, problem),
        }
    }

    /// Reconciles the certificates with the current time.
    async fn look(
        &self,
        served: &mut Served,
        leaves: &watch::Sender<Option<Pair>>,
    ) -> Result<Published> {
        let (mut secret, mut authorities) = self.read().await?;
        // The wall clock, which also advances while the machine sleeps.
        let now = Timestamp::now();
        if let Some(next) = authorities.next(now, &self.lifetimes)? {
            (secret, authorities) = match self.write(secret, next).await? {
                Some(written) => written,
                None => self.read().await?,
            };
            tracing::info!("the authorities of the webhooks have changed");
        }
        let leaf = served.leaf.as_ref();
        if let Some(made) = authorities.leaf(leaf, &self.hosts, now, &self.lifetimes)? {
            leaves.send_replace(Some(made.pair()));
            served.leaf = Some(made);
        }
        let signer = authorities
            .signer(now, &self.lifetimes)
            .context("there is no authority")?;
        let bundle = Bundle {
            all: &authorities.bundle(),
            signers: signer.certificate(),
        };
        let published = self.configurations.publish(bundle).await;
        // If a replica cannot read a configuration, another replica may have published the authority there before.
        served.is_trusted = published.is_trusted(signer.was_published());
        if published.is_complete()
            && let Some(next) = authorities.published(now)
        {
            // If another replica was faster, it has written the same.
            self.write(secret, next).await?;
        }
        Ok(published)
    }

    fn secrets(&self) -> Api<Secret> {
        Api::default_namespaced(self.client.clone())
    }

    async fn read(&self) -> Result<(Secret, Authorities)> {
        let name = &self.secret;
        let found = self.secrets().get_opt(name).await;
        let Some(secret) = found.with_context(|| format!("cannot read the Secret `{name}`"))?
        else {
            bail!("there is no Secret `{name}`, which the manifests have without data");
        };
        let data = secret.data.as_ref().and_then(|data| data.get(KEY));
        let authorities = match data {
            Some(ByteString(text)) => serde_json::from_slice(text)
                .with_context(|| format!("cannot understand `{KEY}` of the Secret `{name}`"))?,
            None => Authorities::default(),
        };
        Ok((secret, authorities))
    }

    /// Writes `authorities` to the Secret; returns `None` if the Secret has changed since it was read.
    async fn write(
        &self,
        mut secret: Secret,
        authorities: Authorities,
    ) -> Result<Option<(Secret, Authorities)>> {
        let text = serde_json::to_vec(&authorities)?;
        let data = secret.data.get_or_insert_default();
        data.insert(KEY.to_owned(), ByteString(text));
        let name = secret.metadata.name.clone().unwrap_or_default();
        let (secrets, params) = (self.secrets(), PostParams::default());
        match secrets.replace(&name, &params, &secret).await {
            Ok(secret) => Ok(Some((secret, authorities))),
            Err(kube::Error::Api(status)) if status.is_conflict() => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot write the Secret `{name}`")),
        }
    }
}
