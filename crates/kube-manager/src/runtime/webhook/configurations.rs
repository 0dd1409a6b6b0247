//! The `caBundle` of webhook configurations and CRDs in the cluster: the authorities that the API server trusts.
//!
//! The targets are independent: each one is written even if the API server refuses another one.

use std::{collections::HashSet, fmt::Debug, time::Duration};

use futures::future::join_all;
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
    core::ClusterResourceScope,
};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::timeout;

use crate::runtime::{failure, health::Health};

/// The message of the log while the certificates cannot be maintained.
pub(super) const WAITS: &str = "waits with the certificates of the webhooks";

/// How long the requests for one target may take. A target without an answer does not hold up the report of the others.
const PATIENCE: Duration = Duration::from_millis(if cfg!(test) { 500 } else { 10_000 });

/// The configurations of the operator's webhooks.
pub(super) struct Configurations {
    pub client: Client,
    /// The Service of the operator's webhooks, in the operator's namespace.
    pub service: String,
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

/// The authorities to publish, in PEM.
#[derive(Clone, Copy)]
pub(super) struct Bundle<'a> {
    /// All that the API server must trust.
    pub all: &'a str,
    /// Those that may have signed the certificate in use: if the API server trusts one of them, it can call.
    pub signers: &'a str,
}

impl Bundle<'_> {
    /// Whether a client that trusts the authorities in `trusted` can call this operator.
    fn is_trusted(&self, trusted: &[u8]) -> bool {
        let signers: HashSet<_> = certificates(self.signers.as_bytes()).collect();
        certificates(trusted).any(|authority| signers.contains(&authority))
    }
}

/// The certificates in a PEM text, without its invalid parts.
fn certificates(pem: &[u8]) -> impl Iterator<Item = CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem).filter_map(Result::ok)
}

/// A target to which the authorities could not be published.
struct Problem {
    effect: Effect,
    /// Names the target, and has the API server's message.
    says: String,
}

/// The effect of a problem on the calls of webhooks.
#[derive(Clone, Copy, PartialEq)]
enum Effect {
    /// The API server calls this operator, but does not trust its certificate.
    Distrusted,
    /// It is unknown whether the API server trusts the certificate.
    Unknown,
    /// No call fails for this: the API server still trusts the certificate, or succeeds without an answer.
    Harmless,
    /// The API server does not call this operator.
    Elsewhere,
}

/// The result of a publication.
#[derive(Default)]
pub(super) struct Published(Vec<Problem>);

impl Published {
    /// Whether all targets by which the API server calls this operator have all authorities.
    pub fn is_complete(&self) -> bool {
        let mut problems = self.0.iter();
        problems.all(|problem| problem.effect == Effect::Elsewhere)
    }

    /// The problems of all targets, if there are any.
    pub fn says(&self) -> Option<String> {
        let says: Vec<_> = self.0.iter().map(|problem| problem.says.as_str()).collect();
        (!says.is_empty()).then(|| says.join("; "))
    }

    /// Whether the API server can call this operator wherever it calls it. A target that cannot be read counts as
    /// `otherwise`.
    pub fn is_trusted(&self, otherwise: bool) -> bool {
        let mut problems = self.0.iter();
        problems.all(|problem| match problem.effect {
            Effect::Distrusted => false,
            Effect::Unknown => otherwise,
            Effect::Harmless | Effect::Elsewhere => true,
        })
    }
}

/// Reports to `health` whether the API server can call the webhooks. `problem` is why it cannot, or what else does not
/// work.
pub(super) fn report(health: &Health, is_called: bool, problem: Option<&str>) {
    let says = match (is_called, problem) {
        (true, None) => "served".to_owned(),
        (true, Some(problem)) => format!("served, but {problem}"),
        (false, None) => "the API server cannot call them yet".to_owned(),
        (false, Some(problem)) => format!("the API server cannot call them yet: {problem}"),
    };
    if is_called {
        health.ready("webhooks", says);
    } else {
        health.waits("webhooks", says);
    }
}

impl Configurations {
    /// Writes the authorities into all configurations and CRDs, and changes nothing else in them.
    pub async fn publish(&self, bundle: Bundle<'_>) -> Published {
        let mutating = self.publish_to::<MutatingWebhookConfiguration>(
            &self.mutating,
            |configuration| {
                let webhooks = configuration.webhooks.into_iter().flatten();
                webhooks
                    .map(|webhook| (webhook.name, webhook.client_config))
                    .collect()
            },
            bundle,
        );
        let validating = self.publish_to::<ValidatingWebhookConfiguration>(
            &self.validating,
            |configuration| {
                let webhooks = configuration.webhooks.into_iter().flatten();
                webhooks
                    .map(|webhook| (webhook.name, webhook.client_config))
                    .collect()
            },
            bundle,
        );
        let crds = join_all(
            self.crds
                .iter()
                .map(|name| self.publish_to_crd(name, bundle)),
        );
        let (mutating, validating, crds) = tokio::join!(mutating, validating, crds);
        let of_configurations = mutating.into_iter().chain(validating);
        Published(
            of_configurations
                .chain(crds.into_iter().flatten())
                .collect(),
        )
    }

    async fn publish_to_crd(&self, name: &str, bundle: Bundle<'_>) -> Option<Problem> {
        let registration = Registration {
            what: format!("CustomResourceDefinition `{name}`"),
            is_required: true,
        };
        let what = &registration.what;
        let work = async {
            let api = Api::<CustomResourceDefinition>::all(self.client.clone());
            let there = match api.get_opt(name).await {
                Ok(Some(there)) => there,
                Ok(None) => {
                    let says = format!("there is no {what}: `make install` installs it");
                    return Some(elsewhere(says));
                }
                Err(error) => return Some(registration.unreadable(&error)),
            };
            let webhook = there
                .spec
                .conversion
                .and_then(|conversion| conversion.webhook);
            let Some(client) = webhook.and_then(|webhook| webhook.client_config) else {
                return Some(elsewhere(format!(
                    "the {what} has no conversion by a webhook: `make install` brings it up to date"
                )));
            };
            // Another server has other authorities than this operator.
            if let Some(url) = client.url {
                return Some(elsewhere(format!(
                    "the {what} has the API server call {url}: the end of `make run` there, or `make install`, puts \
                     the Service back"
                )));
            }
            let service = client.service.unwrap_or_default();
            let own = (self.service.as_str(), self.client.default_namespace());
            if (service.name.as_str(), service.namespace.as_str()) != own {
                return Some(elsewhere(format!(
                    "the {what} has the API server call the Service {}/{}, not {}/{}",
                    service.namespace, service.name, own.1, own.0
                )));
            }
            let trusted = client.ca_bundle.unwrap_or_default().0;
            if trusted == bundle.all.as_bytes() {
                return None;
            }
            let all = ByteString(bundle.all.as_bytes().to_vec());
            let conversion = json!({"webhook": {"clientConfig": {"caBundle": all}}});
            let metadata = json!({"resourceVersion": there.metadata.resource_version});
            let patch = json!({"metadata": metadata, "spec": {"conversion": conversion}});
            let params = PatchParams::default();
            let patch = Patch::Merge(patch);
            let patched = api.patch_metadata(name, &params, &patch).await;
            registration.patched(patched, bundle.is_trusted(&trusted))
        };
        registration.in_time(work).await
    }

    async fn publish_to<K>(
        &self,
        Configuration {
            name,
            required,
            optional,
        }: &Configuration,
        webhooks: impl Fn(K) -> Vec<(String, WebhookClientConfig)>,
        bundle: Bundle<'_>,
    ) -> Vec<Problem>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        if required.is_empty() && optional.is_empty() {
            return Vec::new();
        }
        let registration = Registration {
            what: format!("{} `{name}`", K::kind(&())),
            is_required: !required.is_empty(),
        };
        let what = &registration.what;
        let mut problems = Vec::new();
        let work = async {
            let api = Api::<K>::all(self.client.clone());
            let there = match api.get_opt(name).await {
                Ok(Some(there)) => there,
                Ok(None) => {
                    let says = format!("there is no {what}");
                    return registration.is_required.then(|| elsewhere(says));
                }
                Err(error) => return Some(registration.unreadable(&error)),
            };
            let version = there.meta().resource_version.clone();
            let there = webhooks(there);
            let missing = required
                .iter()
                .filter(|name| there.iter().all(|(webhook, _)| webhook != *name));
            problems.extend(missing.map(|missing| {
                elsewhere(format!(
                    "the {what} has no `{missing}`: `make manifests` writes it"
                ))
            }));
            let own = there
                .iter()
                .filter(|(name, _)| required.contains(name) || optional.contains(name));
            let stale: Vec<_> = own
                .filter(|(_, client)| trusted_authorities(client) != bundle.all.as_bytes())
                .collect();
            if stale.is_empty() {
                return None;
            }
            let mut stale_and_required = stale.iter().filter(|(name, _)| required.contains(name));
            let is_trusted = stale_and_required
                .all(|(_, client)| bundle.is_trusted(trusted_authorities(client)));
            let all = ByteString(bundle.all.as_bytes().to_vec());
            let changes = stale
                .iter()
                .map(|(name, _)| json!({"name": name, "clientConfig": {"caBundle": all}}));
            // The API server merges this list by name, so nothing else of a webhook changes.
            let patch = json!({
                "metadata": {"resourceVersion": version},
                "webhooks": changes.collect::<Vec<_>>(),
            });
            let (params, patch) = (PatchParams::default(), Patch::Strategic(patch));
            let patched = api.patch_metadata(name, &params, &patch).await;
            registration.patched(patched, is_trusted)
        };
        let problem = registration.in_time(work).await;
        problems.extend(problem);
        problems
    }
}

/// What registers webhooks: a configuration or a CRD.
struct Registration {
    /// Its kind and name.
    what: String,
    /// Whether requests may fail if the API server cannot call the webhooks in it.
    is_required: bool,
}

fn elsewhere(says: String) -> Problem {
    Problem {
        effect: Effect::Elsewhere,
        says,
    }
}

impl Registration {
    fn problem(&self, effect: Effect, says: String) -> Problem {
        Problem {
            effect: if self.is_required {
                effect
            } else {
                Effect::Harmless
            },
            says,
        }
    }

    fn unreadable(&self, error: &kube::Error) -> Problem {
        let (what, error) = (&self.what, failure::message(error));
        self.problem(Effect::Unknown, format!("cannot read the {what}: {error}"))
    }

    /// The problem of a patch, if it has one. `is_trusted` is whether the API server can call without the patch.
    fn patched<T>(&self, patched: kube::Result<T>, is_trusted: bool) -> Option<Problem> {
        let what = &self.what;
        let effect = if is_trusted {
            Effect::Harmless
        } else {
            Effect::Distrusted
        };
        match patched {
            Ok(_) => {
                tracing::info!("the {what} trusts the authorities of the certificates");
                None
            }
            Err(kube::Error::Api(status)) if status.is_conflict() => {
                Some(self.problem(effect, format!("the {what} changes at this moment")))
            }
            Err(error) => {
                let error = failure::message(&error);
                Some(self.problem(effect, format!("cannot change the {what}: {error}")))
            }
        }
    }

    async fn in_time(&self, work: impl Future<Output = Option<Problem>>) -> Option<Problem> {
        timeout(PATIENCE, work).await.unwrap_or_else(|_| {
            let what = &self.what;
            let says = format!("the API server does not answer a request for the {what}");
            Some(self.problem(Effect::Unknown, says))
        })
    }
}

/// The authorities that the API server trusts when it calls `client`.
fn trusted_authorities(client: &WebhookClientConfig) -> &[u8] {
    match &client.ca_bundle {
        Some(ByteString(authorities)) => authorities,
        None => &[],
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, sync::Arc};

    use axum::http::{Method, Request, Response};
    use kube::client::Body;
    use parking_lot::Mutex;
    use proptest::prelude::*;
    use serde_json::Value;
    use tower::service_fn;

    use super::*;

    const CRDS: [&str; 2] = ["books.example.com", "pens.example.com"];

    /// How the API server answers requests for a target.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Answers {
        /// It writes what it is asked to.
        Well,
        /// There is no such object.
        Missing,
        /// The operator may not read it.
        Hidden,
        /// A policy denies the change. The target trusts the authority already, or does not.
        Denied { trusts: bool },
        /// Another client changes it at the same time.
        Conflict,
        /// No answer comes.
        Never,
        /// The CRD has the API server call the Service of another operator.
        Foreign,
    }

    use Answers::{Conflict, Denied, Foreign, Hidden, Missing, Never, Well};

    /// An authority in PEM.
    fn authority() -> String {
        let made = rcgen::generate_simple_self_signed(["a".to_owned()]);
        made.expect("a certificate").cert.pem()
    }

    fn webhooks(names: &[&str], bundle: &str) -> Value {
        let bundle = ByteString(bundle.as_bytes().to_vec());
        let webhooks = names.iter().map(|name| {
            json!({"name": name, "clientConfig": {"caBundle": bundle},
                "admissionReviewVersions": ["v1"], "sideEffects": "None"})
        });
        json!({"metadata": {"resourceVersion": "1"}, "webhooks": webhooks.collect::<Vec<_>>()})
    }

    fn crd(name: &str, service: &str, bundle: &str) -> Value {
        let service = json!({"name": service, "namespace": "default"});
        let bundle = ByteString(bundle.as_bytes().to_vec());
        json!({
            "metadata": {"name": name, "resourceVersion": "1"},
            "spec": {"group": "example.com", "names": {"kind": "A", "plural": "a"},
                "scope": "Namespaced", "versions": [],
                "conversion": {"strategy": "Webhook", "webhook": {
                    "conversionReviewVersions": ["v1"],
                    "clientConfig": {"caBundle": bundle, "service": service}}}},
        })
    }

    fn failed(code: u16, reason: &str, message: &str) -> Response<Body> {
        let status = json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason,
            "message": message});
        Response::builder()
            .status(code)
            .body(Body::from(status.to_string().into_bytes()))
            .expect("a response")
    }

    fn configuration(name: &str, required: &[&str]) -> Configuration {
        Configuration {
            name: name.to_owned(),
            required: required.iter().map(|name| (*name).to_owned()).collect(),
            optional: Vec::new(),
        }
    }

    /// The configurations of an operator at an API server that `answers` for the mutating configuration, the validating
    /// one, and the CRDs. The paths that are written are collected.
    fn configurations(
        answers: [Answers; 4],
        old: &str,
        own: &str,
    ) -> (Configurations, Arc<Mutex<BTreeSet<String>>>) {
        let written = Arc::new(Mutex::new(BTreeSet::new()));
        let (paths, both) = (written.clone(), format!("{old}{own}"));
        let old_bundle = old.to_owned();
        let server = service_fn(move |request: Request<Body>| {
            let (paths, old, both) = (paths.clone(), old_bundle.clone(), both.clone());
            async move {
                let path = request.uri().path().to_owned();
                let target = ["/mutating", "/validating", "/books", "/pens"]
                    .iter()
                    .position(|part| path.contains(part))
                    .expect("a known path");
                let answers = answers[target];
                let trusted = match answers {
                    Denied { trusts: true } => &both,
                    _ => &old,
                };
                let object = match target {
                    0 => webhooks(&["a", "b"], trusted),
                    1 => webhooks(&["c"], trusted),
                    index if answers == Foreign => crd(CRDS[index - 2], "other", trusted),
                    index => crd(CRDS[index - 2], "own", trusted),
                };
                let is_get = request.method() == Method::GET;
                anyhow::Ok(match answers {
                    Never => std::future::pending().await,
                    Missing => failed(404, "NotFound", "not found"),
                    Hidden => failed(403, "Forbidden", "you may not read this"),
                    Denied { .. } if !is_get => failed(403, "Forbidden", "a policy says no"),
                    Conflict if !is_get => failed(409, "Conflict", "changed"),
                    _ => {
                        if !is_get {
                            paths.lock().insert(path);
                        }
                        Response::new(Body::from(object.to_string().into_bytes()))
                    }
                })
            }
        });
        let configurations = Configurations {
            client: Client::new(server, "default"),
            service: "own".to_owned(),
            mutating: configuration("mutates", &["a", "b"]),
            validating: configuration("validates", &["c"]),
            crds: CRDS.map(str::to_owned).into(),
        };
        (configurations, written)
    }

    fn answers() -> impl Strategy<Value = Answers> {
        prop_oneof![
            3 => Just(Well),
            1 => Just(Missing),
            1 => Just(Hidden),
            1 => any::<bool>().prop_map(|trusts| Denied { trusts }),
            1 => Just(Conflict),
            1 => Just(Never),
            1 => Just(Foreign),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn a_target_that_fails_is_named_and_stops_no_other(
            answers in prop::array::uniform4(answers()),
        ) {
            let (old, own) = (authority(), authority());
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .start_paused(true)
                .build()
                .expect("a runtime");
            let _entered = runtime.enter();
            let (configurations, written) = configurations(answers, &old, &own);
            // The bundle has an authority that no target has yet.
            let all = format!("{own}{}", authority());
            let bundle = Bundle { all: &all, signers: &own };
            let published = runtime.block_on(configurations.publish(bundle));

            // Only a CRD has a Service that several operators may write.
            let is_good = |(target, answers): (usize, &Answers)| {
                *answers == Well || target < 2 && *answers == Foreign
            };
            let good = answers.iter().enumerate().filter(|answers| is_good(*answers));
            prop_assert_eq!(written.lock().len(), good.count());
            let mut concerned = answers.iter().filter(|answers| !matches!(answers, Missing | Foreign));
            prop_assert_eq!(published.is_complete(), concerned.all(|answers| *answers == Well));
            let names = ["`mutates`", "`validates`", "`books.example.com`", "`pens.example.com`"];
            let says = published.says().unwrap_or_default();
            for (target, name) in names.into_iter().enumerate() {
                let is_named = !is_good((target, &answers[target]));
                prop_assert_eq!(says.contains(name), is_named, "{}: {}", name, says);
            }
            prop_assert_eq!(says.contains("a policy says no"), answers.iter().any(|answer| matches!(answer, Denied { .. })));
            prop_assert_eq!(says.contains("you may not read this"), answers.contains(&Hidden));

            // The API server cannot call what it knows, but does not trust.
            let distrusts = answers.iter().any(|answer| matches!(answer, Denied { trusts: false } | Conflict));
            let is_unknown = answers.iter().any(|answer| matches!(answer, Hidden | Never));
            prop_assert_eq!(published.is_trusted(true), !distrusts);
            prop_assert_eq!(published.is_trusted(false), !distrusts && !is_unknown);
        }
    }

    #[tokio::test]
    async fn a_webhook_that_is_missing_does_not_stop_the_others() {
        let (old, own) = (authority(), authority());
        let (mut configurations, written) = configurations([Well; 4], &old, &own);
        configurations.mutating.required.push("new".to_owned());
        let bundle = Bundle {
            all: &own,
            signers: &own,
        };
        let published = configurations.publish(bundle).await;
        assert_eq!(written.lock().len(), 4);
        let says = published.says().expect("a problem");
        assert_eq!(
            says,
            "the MutatingWebhookConfiguration `mutates` has no `new`: `make manifests` writes it"
        );
        // The API server does not call it.
        assert!(published.is_trusted(false) && published.is_complete());
    }

    #[tokio::test]
    async fn optional_webhooks_do_not_make_the_operator_unready() {
        let (old, own) = (authority(), authority());
        let untrusted = Denied { trusts: false };
        for answers in [Hidden, untrusted, Conflict, Missing] {
            let answers = [Well, answers, Well, Well];
            let (mut configurations, _) = configurations(answers, &old, &own);
            let validating = &mut configurations.validating;
            validating.optional = std::mem::take(&mut validating.required);
            let bundle = Bundle {
                all: &own,
                signers: &own,
            };
            let published = configurations.publish(bundle).await;
            assert!(published.is_trusted(false), "{:?}", published.says());
        }
    }

    #[tokio::test]
    async fn readiness_says_why_the_api_server_cannot_call() {
        let (health, controllers) = (Health::default(), Health::default());
        let workers = tokio::runtime::Handle::current();
        let routes = health.routes(&controllers, &workers);
        let cases = [
            (true, None, "[+] webhooks: served\nready\n"),
            (true, Some("a"), "[+] webhooks: served, but a\nready\n"),
            (
                false,
                Some("a policy\nsays no"),
                "[-] webhooks: the API server cannot call them yet: a policy says no\nnot ready\n",
            ),
        ];
        for (is_called, problem, expected) in cases {
            report(&health, is_called, problem);
            let request = Request::get("/readyz").body(axum::body::Body::empty());
            let response = tower::ServiceExt::oneshot(routes.clone(), request.expect("a request"));
            let body = response.await.expect("an answer").into_body();
            let body = axum::body::to_bytes(body, 1000).await.expect("a body");
            assert_eq!(String::from_utf8_lossy(&body), expected);
        }
    }
}
