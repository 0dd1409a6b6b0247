//! The `caBundle` of webhook configurations and CRDs in the cluster: the authorities that the API server trusts.

use std::fmt::Debug;

use anyhow::{Context, Result};
use k8s_openapi::{
    ByteString,
    api::admissionregistration::v1::{
        MutatingWebhookConfiguration, ValidatingWebhookConfiguration, WebhookClientConfig,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, Resource,
    api::{Patch, PatchParams},
};
use serde::de::DeserializeOwned;
use serde_json::json;

/// The configurations of the operator's webhooks.
pub(super) struct Configurations {
    pub client: Client,
    pub mutating: Configuration,
    pub validating: Configuration,
    /// The CRDs whose versions the operator converts.
    pub crds: Vec<String>,
}

/// A configuration, and the operator's webhooks in it.
pub(super) struct Configuration {
    pub name: String,
    /// The webhooks that must be in it. If empty, the configuration need not exist.
    pub required: Vec<String>,
    /// The webhooks that may be missing.
    pub optional: Vec<String>,
}

impl Configurations {
    /// Writes the PEM `bundle` of authorities into all configurations, and changes nothing else in them. Returns a
    /// message if a configuration or webhook is missing.
    pub async fn publish(&self, bundle: &str) -> Result<Option<String>> {
        let mutating = self.publish_to::<MutatingWebhookConfiguration>(
            &self.mutating,
            |configuration| {
                let webhooks = configuration.webhooks.unwrap_or_default();
                let webhooks = webhooks.into_iter();
                webhooks.map(|it| (it.name, it.client_config)).collect()
            },
            bundle,
        );
        let validating = self.publish_to::<ValidatingWebhookConfiguration>(
            &self.validating,
            |configuration| {
                let webhooks = configuration.webhooks.unwrap_or_default();
                let webhooks = webhooks.into_iter();
                webhooks.map(|it| (it.name, it.client_config)).collect()
            },
            bundle,
        );
        let mut missing = mutating.await?.or(validating.await?);
        for name in &self.crds {
            missing = self.publish_to_crd(name, bundle).await?.or(missing);
        }
        Ok(missing)
    }

    async fn publish_to_crd(&self, name: &str, bundle: &str) -> Result<Option<String>> {
        let what = format!("CustomResourceDefinition `{name}`");
        let api = Api::<CustomResourceDefinition>::all(self.client.clone());
        let there = api.get_opt(name).await;
        let Some(there) = there.with_context(|| format!("cannot read the {what}"))? else {
            return Ok(Some(format!(
                "there is no {what}: `make install` installs it"
            )));
        };
        let webhook = there.spec.conversion.and_then(|it| it.webhook);
        let Some(client) = webhook.and_then(|it| it.client_config) else {
            return Ok(Some(format!(
                "the {what} has no conversion by a webhook: `make install` brings it up to date"
            )));
        };
        if let Some(url) = client.url {
            // The CRD names another server, which has other authorities than this operator.
            return Ok(Some(format!(
                "the {what} has the API server call {url}: the end of `make run` there, or `make install`, puts \
                 the Service back"
            )));
        }
        if client.ca_bundle.is_some_and(|it| it.0 == bundle.as_bytes()) {
            return Ok(None);
        }
        let bundle = ByteString(bundle.as_bytes().to_vec());
        let conversion = json!({"webhook": {"clientConfig": {"caBundle": bundle}}});
        let metadata = json!({"resourceVersion": there.metadata.resource_version});
        let patch = json!({"metadata": metadata, "spec": {"conversion": conversion}});
        let params = PatchParams::default();
        let patched = api
            .patch_metadata(name, &params, &Patch::Merge(patch))
            .await;
        patched_or_missing(patched, &what)
    }

    async fn publish_to<K>(
        &self,
        Configuration {
            name,
            required,
            optional,
        }: &Configuration,
        webhooks: impl Fn(K) -> Vec<(String, WebhookClientConfig)>,
        bundle: &str,
    ) -> Result<Option<String>>
    where
        K: Resource<DynamicType = (), Scope = kube::core::ClusterResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        if required.is_empty() && optional.is_empty() {
            return Ok(None);
        }
        let what = format!("{} `{name}`", K::kind(&()));
        let api = Api::<K>::all(self.client.clone());
        let there = api.get_opt(name).await;
        let Some(there) = there.with_context(|| format!("cannot read the {what}"))? else {
            let is_missing = !required.is_empty();
            return Ok(is_missing.then(|| format!("there is no {what}")));
        };
        let version = there.meta().resource_version.clone();
        let there = webhooks(there);
        if let Some(missing) = required
            .iter()
            .find(|name| there.iter().all(|it| it.0 != **name))
        {
            return Ok(Some(format!(
                "the {what} has no `{missing}`: `make manifests` writes it"
            )));
        }
        let trusts = |client: &WebhookClientConfig| {
            let bundle_there = client.ca_bundle.as_ref().map(|it| it.0.as_slice());
            bundle_there == Some(bundle.as_bytes())
        };
        let is_own = |name: &String| required.contains(name) || optional.contains(name);
        let stale: Vec<_> = there
            .iter()
            .filter(|(name, client)| is_own(name) && !trusts(client))
            .map(|(name, _)| {
                let bundle = ByteString(bundle.as_bytes().to_vec());
                json!({"name": name, "clientConfig": {"caBundle": bundle}})
            })
            .collect();
        if stale.is_empty() {
            return Ok(None);
        }
        // The API server merges this list by name, so nothing else of a webhook changes.
        let patch = json!({"metadata": {"resourceVersion": version}, "webhooks": stale});
        let params = PatchParams::default();
        let patched = api
            .patch_metadata(name, &params, &Patch::Strategic(patch))
            .await;
        patched_or_missing(patched, &what)
    }
}

/// A message if `what` changed at the same time and must be patched again.
fn patched_or_missing<T>(patched: Result<T, kube::Error>, what: &str) -> Result<Option<String>> {
    match patched {
        Ok(_) => {
            tracing::info!("the {what} trusts the authorities of the certificates");
            Ok(None)
        }
        Err(kube::Error::Api(status)) if status.is_conflict() => {
            Ok(Some(format!("the {what} changes at this moment")))
        }
        Err(error) => Err(error).with_context(|| format!("cannot change the {what}")),
    }
}
