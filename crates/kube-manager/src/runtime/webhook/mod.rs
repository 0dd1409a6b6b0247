//! Webhooks: typed functions that the API server calls before it stores an object, and to convert an object to
//! another version.
//!
//! A [`Defaulter`] sets defaults for fields that an object leaves out. A [`Validator`] decides whether an object may be
//! created, changed or deleted. Both are independent of the API server's protocol: objects arrive as their Rust type,
//! and the answer is a [`Verdict`].
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
//! `/readyz/controllers` what controllers wait for. After SIGTERM, and after the loss of the lease, they are
//! served for 5 s more.
//! [`Manager::write_manifests`](crate::Manager::write_manifests) writes the webhook configurations.
//!
//! # When a call fails
//!
//! No call fails while certificates are replaced, while a replica stops after SIGTERM, or after it has lost the lease:
//! the replica answers calls until it ends. These calls fail:
//!
//! - calls in a process that is killed. The API server does not repeat a call without an answer, because it cannot know
//!   whether the call had an effect.
//! - calls for which there is no room, with code 429: more than `--webhook-max-calls`, or more than 64 MiB of
//!   reviews at one time. The API server repeats such a call each second until its timeout.
//! - calls that take longer than their timeout, and calls in which the webhook has an error or panics.
//!
//! The [`FailurePolicy`] decides what happens to the request of a failed call.
//!
//! # Certificates
//!
//! There are three sources of certificates, and `rscaffold edit` switches between them.
//!
//! | the certificate is | by the flag | who has the API server trust it |
//! |---|---|---|
//! | made by the operator, and replaced in time | none | the operator |
//! | in a Secret that others keep, such as cert-manager | `--webhook-cert-secret` | others |
//! | in a folder of files | `--webhook-cert-path` | the operator, if `ca.crt` is there; otherwise others |
//!
//! **Made by the operator.** It makes authorities, and under them a certificate for each replica. This needs
//!
//! - a Secret without data, with the rights to `get` and `update` it: `--webhook-ca-secret` has its name;
//! - a Service, for which the certificates are: `--webhook-service`;
//! - the webhook configurations, with the rights to `get` and `patch` them:
//!   `--webhook-mutating-configuration` and `--webhook-validating-configuration`. Their `caBundle` is the
//!   operator's.
//!
//! Replicas agree by the Secret, and no authority signs before all API servers have heard of it, so no
//! request fails meanwhile.
//!
//! **In a Secret.** The operator reads `tls.crt` and `tls.key`, and takes each new pair as soon as it is
//! there. It needs the rights to `list` and `watch` the Secret. Where a certificate is renewed under the same
//! authority, no request fails.
//!
//! **In a folder.** The operator reads `tls.crt` and `tls.key` every 10 s. If `ca.crt` is there too, the
//! operator puts it into the configurations, which needs the same rights to them as above. A new authority
//! must be in `ca.crt`, beside the old one, some minutes before it signs.
//!
//! All of these rights can be limited to the names of the objects. Secret and Service are in the operator's
//! namespace.
//!
//! # Conversion
//!
//! A [`Hub`] converts between the versions of a kind. One version is the hub. For each other version, a spoke,
//! the user writes the conversion to the hub and back, as plain `From` or `TryFrom` implementations. Two spokes
//! are converted through the hub.
//!
//! **Nothing is lost** if a version cannot hold all that another version holds. For each such difference, the
//! object has an annotation, such as `v2.webapp.example.com/spec.colour` on an object of version v1. When
//! the object is converted to v2 again, the difference is put back, unless a client has changed that part of
//! the object in the meantime: what a client writes always wins.
//!
//! - A client that drops the annotations, such as a `PUT` of an object that was not read before, also drops what
//!   they keep. Nothing can prevent that.
//! - The items of a list are told apart by their keys if the list has the type `map`, as with
//!   `ListMerge::Map`. Any other list is kept as a whole: if a client changes one item, all differences of that
//!   list are lost.
//! - The API server limits the annotations of an object to 256 KiB. An object with more to keep is refused when
//!   it is written, in whatever version: the operator serves a webhook for this, such as
//!   `/bound-webapp-example-com-guestbook`. A write that it cannot be asked about goes on without it. If such an
//!   object is stored all the same, it is still converted, without these annotations, and the log has an error.
//! - An object may lack fields that its schema requires, as during a server-side apply. Then the converted
//!   object lacks what would follow from these fields.
//!
//! [`Manager::write_manifests`](crate::Manager::write_manifests) writes the conversion into the CRD. The
//! operator has the API server trust its certificates there too, with the rights to `get` and `patch` the CRD.
//! Without the operator, the API server still serves objects in the version that they are stored in.
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
//! A conversion has one place, in the CRD. While the operator runs, the CRD names the URL, and an annotation keeps
//! what was deployed. The end of the operator puts that back. If the operator is killed, the next one takes over,
//! and `make install` puts the Service back: the operator writes the CRD as the field manager `<name>-make`. It
//! needs the rights to `get` and `patch` the CRD.
//!
//! # When not to use one
//!
//! Where the schema of a CRD can say a rule, as in `#[schemars(range(min = 0))]` or a CEL expression, no code
//! is in the way of a request. Next come the policies of the API server, ValidatingAdmissionPolicy and
//! MutatingAdmissionPolicy. A webhook is for what neither can say.

use std::{fmt::Debug, path::Path};

use anyhow::{Result, ensure};
use futures::{FutureExt, future::BoxFuture};
use http::Uri;
use k8s_openapi::{
    api::admissionregistration::v1::{ServiceReference, WebhookClientConfig},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::{
        self as crd, CustomResourceConversion, CustomResourceDefinition, WebhookConversion,
    },
};
use kube::{Client, Resource};
use serde::{Serialize, de::DeserializeOwned};
use tokio::{sync::watch, task::JoinSet, time::sleep};

mod authority;
mod by_url;
mod certificates;
mod configurations;
mod conversion;
mod detour;
mod files;
mod hook;
mod issued;
mod patch;
mod request;
mod review;
mod server;
mod verdict;

pub use conversion::{Hub, Versioned};
pub use hook::{
    FailurePolicy, Hook, Label, MatchPolicy, NAMESPACE_NAME, OWN_NAMESPACE, Reinvocation,
    SideEffects,
};
pub use request::{Change, Operation, Request};
pub(super) use server::Options;
pub use verdict::{FieldError, Verdict};

use authority::Lifetimes;
use by_url::ByUrl;
use certificates::Certificates;
use configurations::{Configuration, Configurations};
use conversion::Conversions;
use files::Files;
use hook::{Namespaces, Purpose, Webhook};
use issued::Issued;
use review::{Defaults, Handler, Validates};
use server::{Endpoint, Metrics};

use super::{
    Runtime,
    health::Health,
    manifests,
    operator::Operator,
    rbac::Rule,
    serve::{self, Certificate},
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

/// Sets defaults for fields that objects of a kind leave out.
pub trait Defaulter: Send + Sync + 'static {
    /// The type of the objects.
    type Object: Object;

    /// When the API server calls it.
    const HOOK: Hook = Hook::new();

    /// The permissions that it needs, if it sends requests.
    const RULES: &'static [Rule] = &[];

    /// Changes `object` before it is stored. It may be called several times for one request, so a second call must
    /// change nothing.
    ///
    /// Fields that the type does not have stay unchanged. An object that does not fit its type is refused before this
    /// call.
    ///
    /// # Errors
    ///
    /// When it cannot decide. Then the [`FailurePolicy`] decides.
    fn default(
        &self,
        object: &mut Self::Object,
        request: &Request,
    ) -> impl Future<Output = anyhow::Result<Verdict>> + Send;
}

/// Decides which objects of a kind may be stored or deleted.
pub trait Validator: Send + Sync + 'static {
    /// The type of the objects.
    type Object: Object;

    /// When the API server calls it.
    const HOOK: Hook = Hook::new();

    /// The permissions that it needs, if it sends requests.
    const RULES: &'static [Rule] = &[];

    /// Returns what is wrong with `change`, if anything.
    ///
    /// An object that does not fit its type is refused before this call. If such an object is stored already, it can be
    /// deleted and its metadata can change, so that it can lose its finalizers.
    ///
    /// # Errors
    ///
    /// When it cannot decide. Then the [`FailurePolicy`] decides.
    fn validate(
        &self,
        change: Change<'_, Self::Object>,
        request: &Request,
    ) -> impl Future<Output = anyhow::Result<Verdict>> + Send;
}

/// What the log says while certificates are not as they should be.
const WAITS: &str = "waits with the certificates of the webhooks";

/// What the Service of the webhooks is called in config/webhook.
const SERVICE: &str = "webhook-service";

/// The webhooks of a manager.
#[derive(Default)]
pub(super) struct Webhooks {
    admission: Vec<Pending>,
    conversions: Conversions,
}

/// A webhook that is not served yet.
struct Pending {
    webhook: Webhook,
    new: New,
}

type New = Box<dyn FnOnce(&Client) -> Box<dyn Handler> + Send>;

impl Webhooks {
    pub fn add_defaulter<D: Defaulter>(&mut self, new: impl FnOnce(&Client) -> D + Send + 'static) {
        self.admission.push(Pending {
            webhook: Webhook::new::<D::Object>(Purpose::Default, D::HOOK),
            new: Box::new(|client| Box::new(Defaults(new(client)))),
        });
    }

    pub fn add_validator<V: Validator>(&mut self, new: impl FnOnce(&Client) -> V + Send + 'static) {
        self.admission.push(Pending {
            webhook: Webhook::new::<V::Object>(Purpose::Validate, V::HOOK),
            new: Box::new(|client| Box::new(Validates(new(client)))),
        });
    }

    pub fn add_conversion<H: Versioned>(&mut self, hub: Hub<H>) {
        self.conversions.add(hub.into());
    }

    fn is_empty(&self) -> bool {
        self.admission.is_empty() && self.conversions.is_empty()
    }

    fn all(&self) -> Vec<Webhook> {
        let admission = self.admission.iter().map(|it| it.webhook.clone());
        admission.chain(self.conversions.bounds()).collect()
    }

    /// `crds`, with the conversions of the kinds that the operator converts.
    ///
    /// # Errors
    ///
    /// As for [`convert`](Self::convert).
    pub fn convert_all(
        &self,
        mut crds: Vec<CustomResourceDefinition>,
    ) -> Result<Vec<CustomResourceDefinition>> {
        crds.iter_mut().try_for_each(|crd| self.convert(crd))?;
        Ok(crds)
    }

    /// Sets the operator as the conversion webhook of `crd`, if it converts that kind. kustomize inserts the names of
    /// the Service and of its namespace.
    ///
    /// # Errors
    ///
    /// When a version is served that is not converted.
    pub fn convert(&self, crd: &mut CustomResourceDefinition) -> Result<()> {
        let (group, kind) = (&crd.spec.group, &crd.spec.names.kind);
        let Some(conversion) = self.conversions.of(group, kind) else {
            return Ok(());
        };
        for version in crd
            .spec
            .versions
            .iter()
            .filter(|it| it.served || it.storage)
        {
            let version = &version.name;
            ensure!(
                conversion.has(version),
                "version `{version}` of {kind} is in use, but not converted: make it a spoke of \
                 the `Hub`, or set `served = false` in its types"
            );
        }
        crd.spec.conversion = Some(CustomResourceConversion {
            strategy: "Webhook".to_owned(),
            webhook: Some(WebhookConversion {
                client_config: Some(crd::WebhookClientConfig {
                    service: Some(crd::ServiceReference {
                        name: SERVICE.to_owned(),
                        namespace: OWN_NAMESPACE.to_owned(),
                        path: Some(conversion::PATH.to_owned()),
                        port: None,
                    }),
                    ..crd::WebhookClientConfig::default()
                }),
                conversion_review_versions: vec!["v1".to_owned()],
            }),
        });
        Ok(())
    }

    /// Writes `config/webhook/manifests.yaml` below `out`, and a copy to the chart. kustomize inserts the names of the
    /// Service and of its namespace.
    pub fn write_manifests(&self, operator: &Operator, out: &Path) -> Result<()> {
        let webhooks = self.all();
        if webhooks.is_empty() {
            return Ok(());
        }
        hook::check(&webhooks)?;
        let client = |path: &str| WebhookClientConfig {
            service: Some(ServiceReference {
                name: SERVICE.to_owned(),
                namespace: OWN_NAMESPACE.to_owned(),
                path: Some(path.to_owned()),
                port: None,
            }),
            ..WebhookClientConfig::default()
        };
        // kustomize knows how the namespace is called.
        let only = [OWN_NAMESPACE.to_owned()];
        let namespaces = Namespaces {
            own: OWN_NAMESPACE,
            only: if operator.namespaced { &only } else { &[] },
        };
        let (mutating, validating) = hook::configurations(&webhooks, &namespaces, client);
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
        if self.is_empty() {
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
        if self.is_empty() {
            return Ok(());
        }
        if options.off().is_some() {
            if options.webhook_url.is_some() {
                by_url::clean_up(runtime, self.conversions.crds(), servers);
            }
            return Ok(());
        }
        let webhooks = self.all();
        hook::check(&webhooks)?;
        let Some(listener) = options.webhook_bind_address.listen("webhooks")? else {
            return Ok(());
        };
        let (client, stop) = (&runtime.unguarded, runtime.stop.clone());
        let crds = self.conversions.crds();
        let endpoints = self.admission.into_iter().map(|Pending { webhook, new }| {
            tracing::info!(webhook = webhook.name(), path = webhook.path(), "serves");
            Endpoint {
                path: webhook.path().to_owned(),
                handler: Box::new(new(client)),
            }
        });
        let endpoints = endpoints.chain(self.conversions.endpoints());
        let (metrics, calls) = (Metrics::new(&runtime.registry)?, options.webhook_max_calls);
        let routes = server::routes(endpoints, &metrics, calls, &stop);
        if options.webhook_url.is_some() {
            let by_url = ByUrl::new(
                options,
                runtime,
                server,
                health,
                webhooks,
                crds,
                listener.local_addr()?,
            )?;
            by_url.serve(listener, routes, servers);
            return Ok(());
        }
        let certificate = certificate(options, runtime, health, &webhooks, crds, servers)?;
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

/// Where the server gets its certificate from: one of three ways, with what is to be done for it beside the
/// server, as one of `servers`.
fn certificate(
    options: &Options,
    runtime: &Runtime,
    health: &Health,
    webhooks: &[Webhook],
    crds: Vec<String>,
    servers: &mut JoinSet<Result<()>>,
) -> Result<Certificate> {
    let client = runtime.unguarded.clone();
    let operator = runtime.operator.name;
    let configuration = |name, purpose| {
        let names = |is_required| {
            let webhooks = webhooks.iter().filter(|it| it.purpose() == purpose);
            let webhooks = webhooks.filter(|it| it.is_required() == is_required);
            webhooks.map(|it| it.name().to_owned()).collect()
        };
        Configuration {
            name,
            required: names(true),
            optional: names(false),
        }
    };
    let configurations = Configurations {
        client: client.clone(),
        mutating: configuration(options.mutating_configuration(operator), Purpose::Default),
        validating: configuration(
            options.validating_configuration(operator),
            Purpose::Validate,
        ),
        crds,
    };
    let stop = runtime.stop.clone();
    let mut beside = |task: BoxFuture<'static, ()>| {
        let stop = stop.clone();
        servers.spawn(async move {
            let _ = stop.run_until_cancelled(task).await;
            Ok(())
        });
    };
    if let Some(folder) = options.webhook_cert_path.clone() {
        health.ready("webhooks", "served");
        let files = Files {
            folder: folder.clone(),
            configurations,
        };
        beside(files.publish().boxed());
        return Ok(Certificate::Folder(folder));
    }
    let (sender, receiver) = watch::channel(None);
    if let Some(secret) = options.webhook_cert_secret.clone() {
        let issued = Issued {
            client,
            secret,
            health: health.clone(),
        };
        beside(issued.follow(sender).boxed());
        return Ok(Certificate::Sent(receiver));
    }
    let lifetimes = lifetimes(options)?;
    let (service, namespace) = (options.service(operator), client.default_namespace());
    let service = format!("{service}.{namespace}");
    let mut hosts = vec![format!("{service}.svc"), service];
    hosts.extend(options.webhook_hosts.iter().cloned());
    let certificates = Certificates {
        client,
        secret: options.ca_secret(operator),
        hosts,
        lifetimes,
        configurations,
        health: health.clone(),
    };
    beside(certificates.keep(sender).boxed());
    Ok(Certificate::Sent(receiver))
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
