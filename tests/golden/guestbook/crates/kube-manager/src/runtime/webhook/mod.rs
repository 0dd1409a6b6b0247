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
//! [`Manager::add_validator`](crate::Manager::add_validator) register them. All replicas serve them on port 9443,
//! before the lease and before any watch: `/readyz` then reports whether webhooks are served, and `/readyz/controllers`
//! reports what the controllers wait for. After SIGTERM and after the loss of the lease, the webhooks are served for
//! 5 more seconds. [`Manager::write_manifests`](crate::Manager::write_manifests) writes the webhook configurations.
//!
//! # When a call fails
//!
//! No call fails while certificates are replaced, while a replica stops after SIGTERM, or after it has lost the lease:
//! the replica answers calls until it ends. These calls fail:
//!
//! - calls in a process that is killed. The API server does not repeat a call without an answer, because it cannot know
//!   whether the call had an effect.
//! - calls above the limits, with code 429: more than `--webhook-max-calls` calls, or more than 64 MiB of reviews at
//!   one time. The API server repeats such a call each second until its timeout. A conversion counts until it has ended,
//!   even if its call has timed out.
//! - calls that take too long, and calls in which the webhook returns an error or panics. A webhook has nine tenths of
//!   the timeout, or all but its last second: then the answer, with code 504, arrives while the API server still waits.
//!   A call whose client does not wait is logged too, and has the code 499 in the metrics.
//!
//! The [`FailurePolicy`] decides what happens to the request of a failed call.
//!
//! # Certificates
//!
//! There are three sources of certificates, and `rscaffold edit` switches between them.
//!
//! | source of the certificate | flag | who makes the API server trust it |
//! |---|---|---|
//! | the operator, which also renews it | none | the operator |
//! | a Secret that another program maintains, such as cert-manager | `--webhook-cert-secret` | the other program |
//! | a folder of files | `--webhook-cert-path` | the operator, if `ca.crt` is there; otherwise another program |
//!
//! **The operator.** It creates authorities, and with them a certificate for each replica. It needs
//!
//! - a Secret without data, with permission to `get` and `update` it: `--webhook-ca-secret` sets its name;
//! - the name of the Service for which the certificates are issued: `--webhook-service`;
//! - the webhook configurations, with permission to `get` and `patch` them: `--webhook-mutating-configuration` and
//!   `--webhook-validating-configuration`. The operator sets their `caBundle`.
//!
//! The replicas share the authorities in the Secret. No authority signs before all API servers know it, so no request
//! fails during a change.
//!
//! **A Secret.** The operator reads `tls.crt` and `tls.key`, and uses each new pair at once. It needs permission to
//! `list` and `watch` the Secret. If the certificate is renewed by the same authority, no request fails.
//!
//! **A folder.** The operator reads `tls.crt` and `tls.key` every 10 s. If `ca.crt` is there too, the operator writes
//! it into the webhook configurations, which needs the same permissions for them as above. Add a new authority to
//! `ca.crt`, next to the old one, some minutes before it signs.
//!
//! **A Pod is ready** when the API server can call it. `/readyz` has the reason if it cannot:
//!
//! | a webhook configuration, or a CRD with a conversion | the Pod |
//! |---|---|
//! | trusts the authority of the certificate | is ready, even if the operator may not change the configuration |
//! | does not trust it, and the API server refuses the change | is not ready: each call would fail |
//! | cannot be read | is ready if a replica has published the authority before; with a folder, always |
//! | is missing, or does not name the operator | is ready: the API server does not call the operator |
//! | has only webhooks that the API server may skip | is ready |
//!
//! Each configuration and CRD is changed on its own: `/readyz` and the log name all that cannot be changed.
//!
//! All of these permissions can be limited to the names of the objects. The Secret and the Service are in the
//! operator's namespace.
//!
//! # Conversion
//!
//! A [`Hub`] converts between the versions of a kind. One version is the hub, and the other versions are spokes. For
//! each spoke, the user writes the conversion to the hub and back, as plain `From` or `TryFrom` implementations. An
//! object of one spoke is converted to another spoke through the hub.
//!
//! **No data is lost** if a version cannot hold everything that another version holds. Each such difference is kept in
//! an annotation of the object, such as `v2.webapp.example.com/spec.colour` on an object of version v1. When the object
//! is converted to v2 again, the difference is restored, unless a client has changed that part of the object in the
//! meantime: the client's value always wins.
//!
//! - A client that drops the annotations also drops the differences in them, for example a `PUT` of an object that the
//!   client has not read before. This cannot be prevented.
//! - Items of a list are matched by their keys if the list has the type `map`, as with `ListMerge::Map`. Any other list
//!   is kept as a whole: if a client changes one item, all differences of that list are lost.
//! - The API server limits the annotations of an object to 256 KiB. A write of an object with more differences is
//!   refused in every version: the operator serves a webhook for this, such as `/bound-webapp-example-com-guestbook`.
//!   If the webhook cannot be called, the write succeeds without this check. If such an object is stored nevertheless,
//!   it is still converted, but without these annotations, and the log has an error.
//! - The conversion of an object may take 256 MiB of memory. An object that would take more, such as 600 KB of objects
//!   with one field each, is refused when it is written. Large objects are converted one after the other, so all
//!   conversions together take this memory, and the texts of the reviews and of the answers.
//! - An object may lack fields that its schema requires, for example during a server-side apply. Then the converted
//!   object lacks the values that depend on these fields.
//!
//! [`Manager::write_manifests`](crate::Manager::write_manifests) writes the conversion into the CRD. The operator also
//! sets the `caBundle` there, which needs permission to `get` and `patch` the CRD. While the operator does not run, the
//! API server still serves objects in the version in which they are stored.
//!
//! # Outside of a cluster
//!
//! With `--webhook-url=auto`, the API server calls webhooks on the machine on which the operator runs. The operator
//! finds an address of the machine that the API server can reach, creates a certificate for it, and applies the
//! configurations `<name>-run-mutating-webhook-configuration` and `<name>-run-validating-webhook-configuration`. It
//! needs permission to do so, but no Secret and no Service. If the API server cannot reach any address, the log shows
//! the reason, and the operator continues without webhooks. A URL such as `--webhook-url=https://192.168.1.2:9443` sets
//! the address explicitly.
//!
//! The operator deletes these configurations when it ends. If the operator is killed, they stay; so their failure
//! policy is `Ignore`. While the operator runs, it refuses a request itself if a webhook with [`FailurePolicy::Fail`]
//! fails.
//!
//! A kind has only one conversion, in its CRD. While the operator runs, the CRD has the URL, and an annotation keeps
//! the deployed conversion. When the operator ends, it restores the deployed conversion. If the operator is killed, the
//! next run takes over, and `make install` restores the Service: the operator writes the CRD as the field manager
//! `<name>-make`. It needs permission to `get` and `patch` the CRD.
//!
//! # When not to use a webhook
//!
//! If the schema of a CRD can express a rule, as in `#[schemars(range(min = 0))]` or a CEL expression, the API server
//! checks the rule without a call. The next choice are the policies of the API server, ValidatingAdmissionPolicy and
//! MutatingAdmissionPolicy. Use a webhook for rules that neither of them can express.

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
mod room;
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
    Runtime, failure,
    health::Health,
    manifests,
    operator::Operator,
    rbac::Rule,
    serve::{self, Certificate},
};

/// A type of objects that a webhook can handle.
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

    /// When and how the API server calls the defaulter.
    const HOOK: Hook = Hook::new();

    /// The permissions of the defaulter, if it sends requests.
    const RULES: &'static [Rule] = &[];

    /// Changes `object` before it is stored. The API server may call it several times for one request, so a second call
    /// must change nothing.
    ///
    /// Fields that the type does not have stay unchanged. An object that does not fit its type is refused before this
    /// call.
    ///
    /// # Errors
    ///
    /// When the defaulter cannot decide. Then the [`FailurePolicy`] decides.
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

    /// When and how the API server calls the validator.
    const HOOK: Hook = Hook::new();

    /// The permissions of the validator, if it sends requests.
    const RULES: &'static [Rule] = &[];

    /// Returns the errors and warnings for `change`.
    ///
    /// An object that does not fit its type is refused before this call. If such an object is stored already, it can be
    /// deleted and its metadata can change, so that it can lose its finalizers.
    ///
    /// # Errors
    ///
    /// When the validator cannot decide. Then the [`FailurePolicy`] decides.
    fn validate(
        &self,
        change: Change<'_, Self::Object>,
        request: &Request,
    ) -> impl Future<Output = anyhow::Result<Verdict>> + Send;
}

/// The message of the log while the certificates cannot be maintained.
const WAITS: &str = "waits with the certificates of the webhooks";

/// The name of the webhooks' Service in config/webhook.
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
    /// See [`convert`](Self::convert).
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
    /// When a served or stored version is not converted.
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
        // kustomize replaces this name with the operator's namespace.
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

    /// The readiness of the Pod, if webhooks are served.
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

    /// Spawns a task in `servers` that serves the webhooks until some time after `stop`. `server` is the URL of the API
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
        let endpoints = endpoints.chain(self.conversions.endpoints()?);
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

/// The source of the server's certificate. Spawns a task in `servers` that maintains the certificate, or the API
/// server's trust in it.
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
        let files = Files {
            folder: folder.clone(),
            configurations,
            health: health.clone(),
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

/// All of these errors as one error, if there are any.
fn combined(errors: impl IntoIterator<Item = Option<anyhow::Error>>) -> Result<()> {
    let errors = errors.into_iter().flatten();
    let errors: Vec<_> = errors
        .map(|error| failure::message(error.as_ref()))
        .collect();
    ensure!(errors.is_empty(), "{}", errors.join("; "));
    Ok(())
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
