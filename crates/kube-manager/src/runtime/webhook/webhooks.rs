//! The webhooks of a manager: their manifests, and how they are served.

use std::path::Path;

use anyhow::{Result, ensure};
use k8s_openapi::{
    api::admissionregistration::v1::{ServiceReference, WebhookClientConfig},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::{
        self as crd, CustomResourceConversion, CustomResourceDefinition, WebhookConversion,
    },
};
use kube::Client;
use tokio::{sync::watch, task::JoinSet, time::sleep};

use super::{
    admission::{Defaulter, Validator},
    by_url::{self, ByUrl},
    certificates::Certificates,
    configurations::{Configuration, Configurations},
    conversion::{
        conversions::{Conversions, PATH},
        hub::{Hub, Versioned},
    },
    endpoint::Endpoint,
    files::Files,
    hook::{self, FailurePolicy, Namespaces, OWN_NAMESPACE, Purpose, Webhook},
    issued::Issued,
    options::Options,
    review::{Defaults, Handler, Validates},
    server::{self, Metrics},
};
use crate::runtime::{
    extension::{Extension, Serving},
    health::Health,
    host::Host,
    manifests,
    operator::Operator,
    rbac::{Grant, Rule},
    serve::{self, Certificate},
};

/// The name of the webhooks' Service in config/webhook.
const SERVICE: &str = "webhook-service";

/// The webhooks of a manager.
#[derive(Default)]
pub struct Webhooks {
    admission: Vec<Pending>,
    conversions: Conversions,
}

/// A webhook that is not served yet.
struct Pending {
    webhook: Webhook,
    rules: &'static [Rule],
    new: New,
}

type New = Box<dyn FnOnce(&Client) -> Box<dyn Handler> + Send>;

impl Webhooks {
    pub fn add_defaulter<D: Defaulter>(&mut self, new: impl FnOnce(&Client) -> D + Send + 'static) {
        self.admission.push(Pending {
            webhook: Webhook::new::<D::Object>(Purpose::Default, D::HOOK),
            rules: D::RULES,
            new: Box::new(|client| Box::new(Defaults(new(client)))),
        });
    }

    pub fn add_validator<V: Validator>(&mut self, new: impl FnOnce(&Client) -> V + Send + 'static) {
        self.admission.push(Pending {
            webhook: Webhook::new::<V::Object>(Purpose::Validate, V::HOOK),
            rules: V::RULES,
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
        let admission = self.admission.iter().map(|pending| pending.webhook.clone());
        admission.chain(self.conversions.bounds()).collect()
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
            .filter(|version| version.served || version.storage)
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
                        path: Some(PATH.to_owned()),
                        port: None,
                    }),
                    ..crd::WebhookClientConfig::default()
                }),
                conversion_review_versions: vec!["v1".to_owned()],
            }),
        });
        Ok(())
    }
}

impl Extension for Webhooks {
    type Options = Options;

    fn grants(&self, _: &Operator, _: &[CustomResourceDefinition]) -> Vec<Grant> {
        let rules = self.admission.iter().flat_map(|pending| pending.rules);
        rules.map(Grant::from).collect()
    }

    /// Adds the conversions.
    ///
    /// # Errors
    ///
    /// See [`convert`](Self::convert).
    fn complete(&self, crds: &mut [CustomResourceDefinition]) -> Result<()> {
        crds.iter_mut().try_for_each(|crd| self.convert(crd))
    }

    /// Writes `config/webhook/manifests.yaml` below `out`, and a copy to the chart. kustomize inserts the names of the
    /// Service and of its namespace.
    fn write_manifests(&self, operator: &Operator, out: &Path) -> Result<()> {
        let webhooks = self.all();
        if webhooks.is_empty() {
            return Ok(());
        }
        hook::check(&webhooks)?;
        // kustomize replaces this name with the operator's namespace.
        let only = [OWN_NAMESPACE.to_owned()];
        let namespaces = Namespaces {
            own: OWN_NAMESPACE,
            only: if operator.namespaced { &only } else { &[] },
        };
        let (mutating, validating) = hook::configurations(&webhooks, &namespaces, by_service);
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

    fn serving(&self, options: &Options) -> Option<Serving> {
        if self.is_empty() {
            return None;
        }
        if let Some(why) = options.off() {
            tracing::info!("webhooks are off: {why}");
            return None;
        }
        let health = Health::default();
        health.waits("webhooks", "not served yet");
        Some(Serving {
            health,
            shutdown_delay: options.webhook_shutdown_delay,
        })
    }

    fn serve(
        self,
        options: &Options,
        host: &Host,
        health: &Health,
        servers: &mut JoinSet<Result<()>>,
    ) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        if options.off().is_some() {
            if options.webhook_url.is_some() {
                by_url::clean_up(host, self.conversions.crds(), servers);
            }
            return Ok(());
        }
        let webhooks = self.all();
        hook::check(&webhooks)?;
        let Some(listener) = options.webhook_bind_address.listen("webhooks")? else {
            return Ok(());
        };
        let (client, stop) = (&host.client, host.stop.clone());
        let crds = self.conversions.crds();
        let admission = self
            .admission
            .into_iter()
            .map(|Pending { webhook, new, .. }| {
                tracing::info!(webhook = webhook.name(), path = webhook.path(), "serves");
                Endpoint {
                    path: webhook.path().to_owned(),
                    handler: Box::new(new(client)),
                }
            });
        let all_endpoints = admission.chain(self.conversions.endpoints()?);
        let (metrics, calls) = (Metrics::new(&host.registry)?, options.webhook_max_calls);
        let routes = server::routes(all_endpoints, &metrics, calls, &stop);
        if options.webhook_url.is_some() {
            let by_url = ByUrl::new(
                options,
                host,
                health,
                webhooks,
                crds,
                listener.local_addr()?,
            )?;
            by_url.serve(listener, routes, servers);
            return Ok(());
        }
        let certificate = certificate(options, host, health, &webhooks, crds, servers)?;
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

/// Makes the API server call `path` of the Service.
fn by_service(path: &str) -> WebhookClientConfig {
    WebhookClientConfig {
        service: Some(ServiceReference {
            name: SERVICE.to_owned(),
            namespace: OWN_NAMESPACE.to_owned(),
            path: Some(path.to_owned()),
            port: None,
        }),
        ..WebhookClientConfig::default()
    }
}

/// The configuration `name` with all of `webhooks` that have this purpose.
fn configuration(name: String, webhooks: &[Webhook], purpose: Purpose) -> Configuration {
    let (mut required, mut optional) = (Vec::new(), Vec::new());
    for webhook in webhooks
        .iter()
        .filter(|webhook| webhook.purpose() == purpose)
    {
        let names = match webhook.failure_policy() {
            FailurePolicy::Fail => &mut required,
            FailurePolicy::Ignore => &mut optional,
        };
        names.push(webhook.name().to_owned());
    }
    Configuration {
        name,
        required,
        optional,
    }
}

/// The source of the server's certificate. Spawns a task in `servers` that maintains the certificate, or the API
/// server's trust in it.
fn certificate(
    options: &Options,
    host: &Host,
    health: &Health,
    webhooks: &[Webhook],
    crds: Vec<String>,
    servers: &mut JoinSet<Result<()>>,
) -> Result<Certificate> {
    let client = host.client.clone();
    let operator = host.operator.name;
    let configurations = Configurations {
        client: client.clone(),
        service: options.service(operator),
        mutating: configuration(
            options.mutating_configuration(operator),
            webhooks,
            Purpose::Default,
        ),
        validating: configuration(
            options.validating_configuration(operator),
            webhooks,
            Purpose::Validate,
        ),
        crds,
    };
    if let Some(folder) = options.webhook_cert_path.clone() {
        let files = Files {
            folder: folder.clone(),
            configurations,
            health: health.clone(),
        };
        maintain(files.publish(), host, servers);
        return Ok(Certificate::Folder(folder));
    }
    let (sender, receiver) = watch::channel(None);
    if let Some(secret) = options.webhook_cert_secret.clone() {
        let issued = Issued {
            client,
            secret,
            health: health.clone(),
        };
        maintain(issued.follow(sender), host, servers);
        return Ok(Certificate::Sent(receiver));
    }
    let lifetimes = options.lifetimes()?;
    let (service, namespace) = (&configurations.service, client.default_namespace());
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
    maintain(certificates.keep(sender), host, servers);
    Ok(Certificate::Sent(receiver))
}

/// Spawns `task` in `servers`. The task ends when the operator stops.
fn maintain(
    task: impl Future<Output = ()> + Send + 'static,
    host: &Host,
    servers: &mut JoinSet<Result<()>>,
) {
    let stop = host.stop.clone();
    servers.spawn(async move {
        let _ = stop.run_until_cancelled(task).await;
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};

    use super::*;
    use crate::webhook::Hook;

    #[test]
    fn a_webhook_that_the_api_server_may_skip_is_not_required() {
        let skipped = Hook::new().failure_policy(FailurePolicy::Ignore);
        let webhooks = [
            Webhook::new::<Pod>(Purpose::Validate, Hook::new()),
            Webhook::new::<Secret>(Purpose::Validate, skipped),
            Webhook::new::<ConfigMap>(Purpose::Default, Hook::new()),
        ];
        let found = configuration("name".to_owned(), &webhooks, Purpose::Validate);
        assert_eq!(found.required, ["vpod-v1.kb.io"]);
        assert_eq!(found.optional, ["vsecret-v1.kb.io"]);
    }
}
