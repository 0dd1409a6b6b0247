//! Admission webhooks: typed functions that the API server calls before it stores an object.
//!
//! A [`Defaulter`] fills in what an object leaves open. A [`Validator`] says whether an object may be
//! created, changed or deleted. Neither sees anything of the API server's protocol: objects arrive as their
//! type, and answers are a [`Verdict`].
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube_manager::webhook::{Change, FieldError, Hook, Operation, Request, Validator, Verdict};
//!
//! struct Protection;
//!
//! impl Validator for Protection {
//!     type Object = ConfigMap;
//!
//!     const HOOK: Hook = Hook::new().operations(&[Operation::Update, Operation::Delete]);
//!
//!     async fn validate(
//!         &self,
//!         change: Change<'_, ConfigMap>,
//!         request: &Request,
//!     ) -> anyhow::Result<Verdict> {
//!         let mut verdict = Verdict::allowed();
//!         match change {
//!             Change::Update { old, new } if old.data != new.data => {
//!                 verdict.error(FieldError::forbidden("data", "field is immutable"));
//!             }
//!             Change::Delete(_) if request.user.username.as_deref() != Some("admin") => {
//!                 verdict.forbid("only admin may delete it");
//!             }
//!             _ => {}
//!         }
//!         Ok(verdict)
//!     }
//! }
//! ```
//!
//! [`Manager::add_defaulter`](crate::Manager::add_defaulter) and
//! [`Manager::add_validator`](crate::Manager::add_validator) take them. All replicas serve them on port
//! 9443, before the lease and before any watch: `/readyz` then says whether webhooks are served, and
//! `/readyz/controllers` what controllers wait for. After SIGTERM they are served for 5 s more.
//! [`Manager::write_manifests`](crate::Manager::write_manifests) writes the webhook configurations.
//!
//! # Certificates
//!
//! With `--webhook-cert-path`, the certificate is in a folder, as `tls.crt` and `tls.key`. Without it, the
//! operator makes authorities and certificates itself and replaces them in time. In the operator's namespace
//! and with the prefix of `--webhook-name-prefix`, which is the operator's name and a dash by default, this
//! needs
//!
//! - a Secret `<prefix>webhook-ca` without data, with the rights to `get` and `update` it;
//! - a Service `<prefix>webhook-service`, for which the certificates are;
//! - the configurations `<prefix>mutating-webhook-configuration` and
//!   `<prefix>validating-webhook-configuration`, with the rights to `get` and `patch` them. Their `caBundle`
//!   is the operator's.
//!
//! All of these rights can be limited to the names of the objects. Replicas agree by the Secret, and no
//! authority signs before all API servers have heard of it, so no request fails meanwhile.
//!
//! # Outside of a cluster
//!
//! With `--webhook-url=auto`, the API server calls webhooks on the machine that the operator runs on. The
//! operator finds an address of the machine that the API server reaches, makes a certificate for it, and
//! applies the configurations `<name>-run-mutating-webhook-configuration` and
//! `<name>-run-validating-webhook-configuration`. It needs the right to do so, but no Secret and no Service. If
//! the API server reaches no address, the log says why, and the operator goes on without webhooks. A URL such
//! as `--webhook-url=https://192.168.1.2:9443` says where the API server has to reach it.
//!
//! The operator deletes these configurations when it ends. If it is killed they stay, so their failure policy is
//! `Ignore`; while it runs, it refuses requests itself where a webhook with [`FailurePolicy::Fail`] fails.
//!
//! # When not to use one
//!
//! Where the schema of a CRD can say a rule, as in `#[schemars(range(min = 0))]` or a CEL expression, no code
//! is in the way of a request. Next come the policies of the API server, ValidatingAdmissionPolicy and
//! MutatingAdmissionPolicy. A webhook is for what neither can say.

use std::{fmt::Debug, path::Path};

use anyhow::Result;
use http::Uri;
use k8s_openapi::api::admissionregistration::v1::{ServiceReference, WebhookClientConfig};
use kube::{Client, Resource};
use serde::{Serialize, de::DeserializeOwned};
use tokio::{sync::watch, task::JoinSet, time::sleep};

mod authority;
mod by_url;
mod certificates;
mod hook;
mod patch;
mod request;
mod review;
mod server;
mod verdict;

pub use hook::{
    FailurePolicy, Hook, Label, MatchPolicy, NAMESPACE_NAME, Reinvocation, SideEffects,
};
pub use request::{Change, Operation, Request};
pub use server::Options;
pub use verdict::{FieldError, Verdict};

use authority::Lifetimes;
use by_url::ByUrl;
use certificates::Certificates;
use hook::{Purpose, Webhook};
use review::{Defaults, Handler, Validates};
use server::{Endpoint, Metrics};

use super::{
    Runtime,
    health::Health,
    manifests,
    operator::Operator,
    rbac::Rule,
    serve::{self, Certificate, Pair},
};

/// A type of objects that a webhook can be about.
pub trait Object:
    Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize + Send + Sync + 'static
{
}

impl<K> Object for K where
    K: Resource<DynamicType = ()>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize
        + Send
        + Sync
        + 'static
{
}

/// Fills in what objects of a kind leave open.
pub trait Defaulter: Send + Sync + 'static {
    /// The type of the objects.
    type Object: Object;

    /// When the API server calls it.
    const HOOK: Hook = Hook::new();

    /// What it needs rights for, if it sends requests.
    const RULES: &'static [Rule] = &[];

    /// Changes `object` as it is to be stored. It may be called several times for one request, so it must
    /// not change again what it has changed.
    ///
    /// Fields that the type does not have stay as they are. An object that does not fit its type is refused
    /// before.
    ///
    /// # Errors
    ///
    /// When it cannot tell. Then the [`FailurePolicy`] decides.
    fn default(
        &self,
        object: &mut Self::Object,
        request: &Request,
    ) -> impl Future<Output = anyhow::Result<Verdict>> + Send;
}

/// Says which objects of a kind may be stored or deleted.
pub trait Validator: Send + Sync + 'static {
    /// The type of the objects.
    type Object: Object;

    /// When the API server calls it.
    const HOOK: Hook = Hook::new();

    /// What it needs rights for, if it sends requests.
    const RULES: &'static [Rule] = &[];

    /// Says what is wrong with `change`, if anything.
    ///
    /// An object that does not fit its type is refused before. If it is stored already, it can be deleted
    /// and its metadata can change, so that it can lose its finalizers.
    ///
    /// # Errors
    ///
    /// When it cannot tell. Then the [`FailurePolicy`] decides.
    fn validate(
        &self,
        change: Change<'_, Self::Object>,
        request: &Request,
    ) -> impl Future<Output = anyhow::Result<Verdict>> + Send;
}

/// The webhooks of a manager.
#[derive(Default)]
pub(super) struct Webhooks(Vec<Pending>);

/// A webhook that is not served yet.
struct Pending {
    webhook: Webhook,
    new: New,
}

type New = Box<dyn FnOnce(&Client) -> Box<dyn Handler> + Send>;

impl Webhooks {
    pub fn add_defaulter<D: Defaulter>(&mut self, new: impl FnOnce(&Client) -> D + Send + 'static) {
        self.0.push(Pending {
            webhook: Webhook::new::<D::Object>(Purpose::Default, D::HOOK),
            new: Box::new(|client| Box::new(Defaults(new(client)))),
        });
    }

    pub fn add_validator<V: Validator>(&mut self, new: impl FnOnce(&Client) -> V + Send + 'static) {
        self.0.push(Pending {
            webhook: Webhook::new::<V::Object>(Purpose::Validate, V::HOOK),
            new: Box::new(|client| Box::new(Validates(new(client)))),
        });
    }

    fn all(&self) -> Vec<Webhook> {
        self.0.iter().map(|it| it.webhook.clone()).collect()
    }

    /// Writes `config/webhook/manifests.yaml` below `out`, and a copy to the chart. kustomize puts the names of the Service and its
    /// namespace in.
    pub fn write_manifests(&self, operator: &Operator, out: &Path) -> Result<()> {
        let webhooks = self.all();
        if webhooks.is_empty() {
            return Ok(());
        }
        hook::check(&webhooks)?;
        let (mutating, validating) = hook::configurations(&webhooks, |path| WebhookClientConfig {
            service: Some(ServiceReference {
                name: "webhook-service".to_owned(),
                namespace: "system".to_owned(),
                path: Some(path.to_owned()),
                port: None,
            }),
            ..WebhookClientConfig::default()
        });
        let mut documents = Vec::new();
        if let Some(mutating) = mutating {
            documents.push(serde_json::to_value(mutating)?);
        }
        if let Some(validating) = validating {
            documents.push(serde_json::to_value(validating)?);
        }
        manifests::write_file(&out.join("config/webhook/manifests.yaml"), &documents)?;
        match operator.chart.map(|chart| out.join(chart)) {
            Some(chart) => manifests::write_file(&chart.join("files/webhook.yaml"), &documents),
            None => Ok(()),
        }
    }

    /// The health that decides on the Pod's readiness, if webhooks are served.
    pub fn health(&self, options: &Options) -> Option<Health> {
        if self.0.is_empty() {
            return None;
        }
        if let Some(why) = options.off() {
            tracing::info!("webhooks are off: {why}");
            return None;
        }
        let health = Health::default();
        health.waits("webhooks", "not served yet");
        Some(health)
    }

    /// Serves the webhooks as one of `servers`, until some time after `stop`. `server` is the URL of the API
    /// server.
    pub fn serve(
        self,
        options: &Options,
        runtime: &Runtime,
        server: &Uri,
        health: &Health,
        servers: &mut JoinSet<Result<()>>,
    ) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        if options.off().is_some() {
            if options.webhook_url.is_some() {
                by_url::clean_up(runtime, servers);
            }
            return Ok(());
        }
        let webhooks = self.all();
        hook::check(&webhooks)?;
        let Some(listener) = options.webhook_bind_address.listen("webhooks")? else {
            return Ok(());
        };
        let (client, stop) = (&runtime.unguarded, runtime.stop.clone());
        let endpoints = self.0.into_iter().map(|Pending { webhook, new }| {
            tracing::info!(webhook = webhook.name(), path = webhook.path(), "serves");
            Endpoint {
                path: webhook.path().to_owned(),
                handler: new(client),
            }
        });
        let routes = server::routes(endpoints, &Metrics::new(&runtime.registry)?, &stop);
        if options.webhook_url.is_some() {
            let by_url = ByUrl::new(
                options,
                runtime,
                server,
                health,
                webhooks,
                listener.local_addr()?,
            )?;
            by_url.serve(listener, routes, servers);
            return Ok(());
        }
        let certificate = match options.webhook_cert_path.clone() {
            Some(folder) => {
                health.ready("webhooks", "served");
                Certificate::Folder(folder)
            }
            None => Certificate::Sent(certified(options, runtime, health, &webhooks, servers)?),
        };
        let delay = options.webhook_shutdown_delay;
        let stopped = async move {
            stop.cancelled().await;
            sleep(delay).await;
        };
        servers.spawn(serve::secure(
            listener,
            routes,
            certificate,
            "webhooks",
            stopped,
        ));
        Ok(())
    }
}

/// Makes certificates beside the server, as one of `servers`.
fn certified(
    options: &Options,
    runtime: &Runtime,
    health: &Health,
    webhooks: &[Webhook],
    servers: &mut JoinSet<Result<()>>,
) -> Result<watch::Receiver<Option<Pair>>> {
    let lifetimes = lifetimes(options)?;
    let prefix = prefix(options, runtime);
    let client = runtime.unguarded.clone();
    let service = format!("{prefix}webhook-service.{}", client.default_namespace());
    let mut hosts = vec![format!("{service}.svc"), service];
    hosts.extend(options.webhook_hosts.iter().cloned());
    let names = |purpose| {
        let webhooks = webhooks.iter().filter(|it| it.purpose() == purpose);
        webhooks.map(|it| it.name().to_owned()).collect()
    };
    let certificates = Certificates {
        client,
        prefix,
        hosts,
        lifetimes,
        mutating: names(Purpose::Default),
        validating: names(Purpose::Validate),
        health: health.clone(),
    };
    let (sender, receiver) = watch::channel(None);
    let stop = runtime.stop.clone();
    servers.spawn(async move {
        let _ = stop.run_until_cancelled(certificates.keep(sender)).await;
        Ok(())
    });
    Ok(receiver)
}

fn lifetimes(options: &Options) -> Result<Lifetimes> {
    let lifetimes = Lifetimes {
        authority: options.webhook_ca_lifetime,
        leaf: options.webhook_cert_lifetime,
        delay: options.webhook_ca_delay,
    };
    lifetimes.validate()?;
    Ok(lifetimes)
}

/// What the names of the deployed objects begin with.
fn prefix(options: &Options, runtime: &Runtime) -> String {
    let prefix = options.webhook_name_prefix.clone();
    prefix.unwrap_or_else(|| format!("{}-", runtime.operator.name))
}
