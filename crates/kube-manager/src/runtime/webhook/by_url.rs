//! Webhooks of an operator outside of the cluster: the API server calls them at a URL of this machine.
//!
//! The operator applies its own webhook configurations, and deletes them when it ends. Their names differ from the
//! deployed configurations: a webhook has either a Service or a URL, and two field managers of one object would give it
//! both.
//!
//! A CRD has only one conversion, which needs another solution: see `detour.rs`.
//!
//! A laptop may disappear at any moment, so the API server must not depend on it: all of these configurations have the
//! failure policy `Ignore`, except the one that tests a URL, which matches one request of this process. While the operator
//! runs, the effect is the same as with `Fail`: the operator itself refuses a request if its webhook fails.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::{Request, State},
    http::{StatusCode, header::CONTENT_TYPE},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::post,
};
use futures::{FutureExt, future::BoxFuture};
use http::Uri;
use k8s_openapi::{
    ByteString,
    api::{
        admissionregistration::v1::{
            MatchCondition, MutatingWebhookConfiguration, RuleWithOperations, ValidatingWebhook,
            ValidatingWebhookConfiguration, WebhookClientConfig,
        },
        authorization::v1::{
            NonResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
        },
        discovery::v1::EndpointSlice,
    },
    jiff::Timestamp,
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams, Preconditions},
    core::ClusterResourceScope,
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::{
    sync::watch,
    task::{JoinSet, spawn_blocking},
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    authority::{Authorities, Leaf, Lifetimes},
    configurations,
    detour::{self, Detours, Led, RUN_BY, Whose, combined},
    hook::{self, FailurePolicy, Namespaces, Webhook},
    options::{Options, WebhookUrl},
    review::{self, Answer, Handler, Review},
    room,
    verdict::Verdict,
};
use crate::runtime::{
    failure,
    health::Health,
    host::Host,
    leader::identity,
    serve::{self, Certificate, Pair},
    trouble::Trouble,
};

/// The suffixes of the names of the configurations.
const MUTATING: &str = "mutating-webhook-configuration";
const VALIDATING: &str = "validating-webhook-configuration";

/// The end of the name of the configuration that only tests a URL. Until the test ends, another process may serve the
/// webhooks.
const REACHABLE: &str = "reachable-webhook-configuration";

/// The webhook that tests whether the API server reaches this machine.
const TEST: &str = "reachable.webhooks.kb.io";

/// The path of that webhook. Default paths of webhooks have only one part, so they differ from it.
const TEST_PATH: &str = "/kube-manager/reachable";

/// How many seconds a test waits for an answer. With a firewall that drops packets, no answer comes.
const TEST_SECONDS: u8 = 3;

/// The longest time until the API server uses a new configuration.
const HEARS: Duration = Duration::from_secs(10);

/// How often to check the configurations.
const INTERVAL: Duration = Duration::from_secs(2);

/// How long to wait after a failure.
const SOON: Duration = Duration::from_secs(1);

/// The longest time until the API server stops using a deleted configuration.
const FORGETS: Duration = Duration::from_secs(1);

/// How long the operator waits at its end until the configurations are deleted and the conversions are restored.
const PATIENCE: Duration = Duration::from_secs(5);

/// The host of a URL, in the form of a certificate.
fn host(url: &str) -> Option<String> {
    let uri = url.parse::<Uri>().ok()?;
    let host = uri.host()?.trim_matches(['[', ']']);
    Some(host.to_owned())
}

/// The address of this machine from which packets to `server` are sent.
fn facing(server: IpAddr) -> Option<IpAddr> {
    let any = match server {
        IpAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    // This sends nothing: the system only chooses a route.
    socket.connect((server, 443)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// The URLs at which the API server may reach this machine, the most likely first. `addresses` are the API server's
/// addresses in the cluster, `server` is the URL by which this machine reaches the API server, and `bound` is the
/// address of the webhook server.
fn candidates(mut addresses: Vec<IpAddr>, server: &Uri, bound: SocketAddr) -> Vec<String> {
    if !bound.ip().is_unspecified() {
        return vec![format!("https://{bound}")];
    }
    let host = server.host().unwrap_or_default().trim_matches(['[', ']']);
    let resolved = (host, server.port_u16().unwrap_or(443)).to_socket_addrs();
    let resolved: Vec<_> = resolved
        .into_iter()
        .flatten()
        .map(|address| address.ip())
        .collect();
    let is_local = resolved.iter().any(IpAddr::is_loopback);
    addresses.extend(resolved);
    let mut urls = Vec::new();
    for own in addresses.into_iter().filter_map(facing) {
        let url = format!("https://{}", SocketAddr::new(own, bound.port()));
        if !urls.contains(&url) {
            urls.push(url);
        }
    }
    if is_local {
        // The API server may be in a container of a virtual machine.
        urls.push(format!("https://host.docker.internal:{}", bound.port()));
    }
    urls
}

/// A webhook that allows every request.
struct Allows;

impl Handler for Allows {
    fn handle<'a>(
        &'a self,
        _: &'a Review<'a>,
        _: &'a Arc<room::Permit>,
    ) -> BoxFuture<'a, Result<Answer>> {
        std::future::ready(Ok(Verdict::allowed().into())).boxed()
    }
}

async fn answer_test(State(called): State<Arc<AtomicBool>>, body: Bytes) -> Response {
    called.store(true, Ordering::Relaxed);
    let permit = Arc::new(room::Permit::alone());
    match review::answer(&Allows, &body, &permit).await {
        Ok(answer) => json(answer),
        Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}

fn json(answer: Vec<u8>) -> Response {
    ([(CONTENT_TYPE, "application/json")], answer).into_response()
}

/// Refuses requests if a webhook with the policy `Fail` does not answer. The API server would accept them, because the
/// configurations have the policy `Ignore`.
pub(super) fn refusing(routes: Router, webhooks: &[Webhook]) -> Router {
    let strict: BTreeSet<_> = webhooks
        .iter()
        .filter(|webhook| webhook.failure_policy() == FailurePolicy::Fail)
        .map(|webhook| webhook.path().to_owned())
        .collect();
    routes.layer(middleware::from_fn_with_state(
        Arc::new(strict),
        refuse_failures,
    ))
}

async fn refuse_failures(
    State(strict): State<Arc<BTreeSet<String>>>,
    request: Request,
    next: Next,
) -> Response {
    if !strict.contains(request.uri().path()) {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let body = match to_bytes(body, review::MOST).await {
        Ok(body) => body,
        Err(error) => return (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    };
    let request = Request::from_parts(parts, Body::from(body.clone()));
    let response = next.run(request).await;
    if response.status().is_success() {
        return response;
    }
    let (parts, text) = response.into_parts();
    let text = match to_bytes(text, review::MOST).await {
        Ok(text) => text,
        Err(error) => Bytes::from(format!("the answer cannot be read: {error}")),
    };
    match review::refuse(&body, String::from_utf8_lossy(&text).into_owned()) {
        Some(answer) => json(answer),
        None => Response::from_parts(parts, Body::from(text)),
    }
}

/// Spawns a task in `servers` that deletes the configurations of a killed process, and restores the conversions of
/// `crds`.
pub(super) fn clean_up(host: &Host, crds: Vec<String>, servers: &mut JoinSet<Result<()>>) {
    let here = Here::new(host, crds);
    let stop = host.stop.clone();
    servers.spawn(async move {
        here.leave(Whose::Any).await;
        here.detours.says_off();
        stop.cancelled().await;
        Ok(())
    });
}

/// All objects that make the API server call this machine.
struct Here {
    configurations: Configurations,
    detours: Detours,
}

impl Here {
    fn new(host: &Host, crds: Vec<String>) -> Self {
        let configurations = Configurations::new(host);
        let (client, operator) = (host.client.clone(), host.operator.name);
        let detours = Detours::new(client, operator, configurations.identity.clone(), crds);
        Self {
            configurations,
            detours,
        }
    }

    /// Removes everything that makes the API server call this machine.
    async fn leave(&self, whose: Whose) {
        tokio::join!(
            in_time(
                self.configurations.delete_all(whose),
                "the webhook configurations by URL may still be there"
            ),
            in_time(
                self.detours.end(whose),
                "the API server may still call this machine for conversions: `make install` repairs that"
            ),
        );
    }
}

/// Waits for `work`, and warns if it fails.
async fn in_time(work: impl Future<Output = Result<()>>, warning: &str) {
    let error = match timeout(PATIENCE, work).await {
        Ok(Ok(())) => return,
        Ok(Err(error)) => failure::message(error.as_ref()),
        Err(_) => "the API server does not answer".to_owned(),
    };
    tracing::warn!(error, "{warning}");
}

/// Maintains webhooks at a URL.
pub(super) struct ByUrl {
    client: Client,
    here: Here,
    /// The URL of the API server.
    server: Uri,
    /// The names of the deployed configurations.
    deployed_mutating: String,
    deployed_validating: String,
    /// The namespaces for which webhooks are called; empty for all namespaces.
    only: Vec<String>,
    webhook_url: WebhookUrl,
    /// The address of the webhook server.
    bound: SocketAddr,
    /// More hosts for the certificate, besides the host of the URL.
    hosts: Vec<String>,
    webhooks: Vec<Webhook>,
    lifetimes: Lifetimes,
    /// How long webhooks are still served after their configurations are deleted.
    delay: Duration,
    health: Health,
    stop: CancellationToken,
    /// Whether the API server has called the test webhook.
    called: Arc<AtomicBool>,
}

/// Whether the API server can reach this machine.
enum Reachability {
    /// At this URL.
    At(String),
    /// Why the API server cannot call this machine.
    Nowhere(String),
}

/// The certificates of this process. They are only in memory, because no other process needs them.
#[derive(Default)]
struct Own {
    authorities: Authorities,
    leaf: Option<Leaf>,
}

impl ByUrl {
    /// The webhooks and the conversions of `crds`, which are served at `bound` and called at the URL in `options`.
    pub fn new(
        options: &Options,
        host: &Host,
        health: &Health,
        webhooks: Vec<Webhook>,
        crds: Vec<String>,
        bound: SocketAddr,
    ) -> Result<Self> {
        Ok(Self {
            client: host.client.clone(),
            here: Here::new(host, crds),
            server: host.server.clone(),
            deployed_mutating: options.mutating_configuration(host.operator.name),
            deployed_validating: options.validating_configuration(host.operator.name),
            only: if host.operator.namespaced {
                host.namespaces.clone()
            } else {
                Vec::new()
            },
            webhook_url: options.webhook_url.clone().unwrap_or(WebhookUrl::Auto),
            bound,
            hosts: options.webhook_hosts.clone(),
            webhooks,
            lifetimes: options.lifetimes()?,
            delay: options.webhook_shutdown_delay.min(FORGETS),
            health: health.clone(),
            stop: host.stop.clone(),
            called: Arc::default(),
        })
    }

    /// Spawns tasks in `servers` that serve `routes` until the API server no longer calls them.
    pub fn serve(self, listener: TcpListener, routes: Router, servers: &mut JoinSet<Result<()>>) {
        let routes = refusing(routes, &self.webhooks).merge(self.test_route());
        let (leaves, receiver) = watch::channel(None);
        let (deleted, delay) = (CancellationToken::new(), self.delay);
        servers.spawn(self.keep(leaves, deleted.clone()));
        let stopped = async move {
            deleted.cancelled().await;
            sleep(delay).await;
        };
        let certificate = Certificate::Sent(receiver);
        servers.spawn(serve::secure(
            listener,
            routes,
            certificate,
            "webhooks",
            stopped,
        ));
    }

    /// The route of the test webhook, which the API server calls if it can reach this machine.
    fn test_route(&self) -> Router {
        Router::new().route(TEST_PATH, post(answer_test).with_state(self.called.clone()))
    }

    /// Maintains the configurations and the conversions until the operator stops, and sends each new leaf to `leaves`.
    /// Cancels `deleted` when the API server no longer calls.
    ///
    /// # Errors
    ///
    /// When the API server cannot reach the URL that the user gave.
    async fn keep(
        self,
        leaves: watch::Sender<Option<Pair>>,
        deleted: CancellationToken,
    ) -> Result<()> {
        let ended = self.work(&leaves).await;
        self.here.leave(Whose::Own).await;
        deleted.cancel();
        ended
    }

    async fn work(&self, leaves: &watch::Sender<Option<Pair>>) -> Result<()> {
        let urls = match &self.webhook_url {
            WebhookUrl::Url(url) => vec![url.clone()],
            WebhookUrl::Auto => {
                let Some(addresses) = self.until_stop(self.addresses()).await else {
                    return Ok(());
                };
                let (server, bound) = (self.server.clone(), self.bound);
                spawn_blocking(move || candidates(addresses, &server, bound)).await?
            }
        };
        let mut hosts = self.hosts.clone();
        hosts.extend(urls.iter().filter_map(|url| host(url)));
        let mut own = Own::default();
        let mut trouble = Trouble::new("waits with the webhook configurations");
        let url = loop {
            let bundle = self.renew(&mut own, &hosts, leaves)?;
            match self.find(&urls, &bundle).await {
                _ if self.stop.is_cancelled() => return Ok(()),
                Ok(Reachability::At(url)) => break url,
                Ok(Reachability::Nowhere(why)) => return self.off(&why).await,
                Err(error) => self.waits(&error, &mut trouble).await,
            }
        };
        // If this fails, the configuration stays until the operator ends. It matches no other request.
        let configurations = &self.here.configurations;
        let _ = configurations
            .delete::<ValidatingWebhookConfiguration>(REACHABLE, Whose::Own)
            .await;
        let mut published = None;
        let mut led = Led::default();
        let mut trouble_of_conversions = Trouble::new("waits with the conversions");
        loop {
            let bundle = self.renew(&mut own, &hosts, leaves)?;
            let is_new = published.as_ref() != Some(&bundle);
            match self.publish(&url, &bundle, is_new).await {
                Ok(true) => {
                    if published.is_none() {
                        tracing::info!(url, "webhooks are on: the API server calls this machine");
                        // A failed warning is not retried.
                        let _ = self.warn_of_deployed().await;
                    }
                    let (converts, problem) =
                        match self.here.detours.look(&url, &bundle, &mut led).await {
                            Ok(detour::DetourStatus::Led) => (true, None),
                            // The API server calls no other place for these conversions.
                            Ok(detour::DetourStatus::Missing(what)) => (true, Some(what)),
                            Ok(detour::DetourStatus::Another) => return self.give_way().await,
                            Err(error) => (false, Some(failure::message(error.as_ref()))),
                        };
                    configurations::report(&self.health, converts, problem.as_deref());
                    published = Some(bundle);
                    trouble.ends();
                    match problem {
                        None => {
                            trouble_of_conversions.ends();
                            own.authorities = own
                                .authorities
                                .published(Timestamp::now())
                                .unwrap_or(own.authorities);
                        }
                        Some(problem) => trouble_of_conversions.is(problem),
                    }
                    if self.until_stop(sleep(INTERVAL)).await.is_none() {
                        return Ok(());
                    }
                }
                Ok(false) => return self.give_way().await,
                Err(error) => self.waits(&error, &mut trouble).await,
            }
            if self.stop.is_cancelled() {
                return Ok(());
            }
        }
    }

    /// Leaves the webhooks to another process, and waits until the operator stops.
    async fn give_way(&self) -> Result<()> {
        tracing::warn!("webhooks are off: another process serves them by URL now");
        self.health.ready("webhooks", "another process serves them");
        self.stop.cancelled().await;
        Ok(())
    }

    /// The output of `work`; `None` if the operator stops first.
    async fn until_stop<F: Future>(&self, work: F) -> Option<F::Output> {
        self.stop.run_until_cancelled(work).await
    }

    /// Pauses after a failure, and reports it.
    async fn waits(&self, error: &anyhow::Error, trouble: &mut Trouble) {
        let error = failure::message(error.as_ref());
        self.health.waits("webhooks", error.as_str());
        trouble.is(error);
        self.until_stop(sleep(SOON)).await;
    }

    /// Continues without webhooks. If the user gave a URL, this is an error.
    async fn off(&self, why: &str) -> Result<()> {
        // Including the objects of a killed process.
        self.here.leave(Whose::Any).await;
        if let WebhookUrl::Url(url) = &self.webhook_url {
            return Err(anyhow!(
                "the API server cannot call webhooks at {url}: {why}"
            ));
        }
        tracing::warn!(
            error = why,
            "webhooks are off: the API server cannot call this machine, unless `--webhook-url` says where"
        );
        self.here.detours.says_off();
        self.health.ready("webhooks", "off");
        self.stop.cancelled().await;
        Ok(())
    }

    /// Renews authorities and leaf if necessary. Returns the bundle of authorities, and sends a new leaf to `leaves`.
    fn renew(
        &self,
        own: &mut Own,
        hosts: &[String],
        leaves: &watch::Sender<Option<Pair>>,
    ) -> Result<String> {
        let now = Timestamp::now();
        if let Some(next) = own.authorities.next(now, &self.lifetimes)? {
            own.authorities = next;
        }
        let leaf = own.leaf.as_ref();
        if let Some(made) = own.authorities.leaf(leaf, hosts, now, &self.lifetimes)? {
            leaves.send_replace(Some(made.pair()));
            own.leaf = Some(made);
        }
        Ok(own.authorities.bundle())
    }

    /// The API server's addresses in the cluster, from its EndpointSlice.
    async fn addresses(&self) -> Vec<IpAddr> {
        let slices = Api::<EndpointSlice>::namespaced(self.client.clone(), "default");
        let of_server = ListParams::default().labels("kubernetes.io/service-name=kubernetes");
        match slices.list(&of_server).await {
            Ok(slices) => {
                let endpoints = slices
                    .items
                    .into_iter()
                    .filter_map(|slice| slice.endpoints)
                    .flatten();
                let addresses = endpoints.flat_map(|endpoint| endpoint.addresses);
                addresses
                    .filter_map(|address| address.parse().ok())
                    .collect()
            }
            Err(error) => {
                let error = failure::message(&error);
                tracing::debug!(error, "cannot tell which addresses the API server has");
                Vec::new()
            }
        }
    }

    /// The first of `urls` at which the API server can reach this machine.
    async fn find(&self, urls: &[String], bundle: &str) -> Result<Reachability> {
        let mut failures = Vec::new();
        for url in urls {
            match self.test(url, bundle).await {
                Ok(None) => return Ok(Reachability::At(url.clone())),
                Ok(Some(why)) => failures.push(why),
                Err(kube::Error::Api(status)) if status.is_forbidden() => {
                    return Ok(Reachability::Nowhere(status.message.clone()));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Reachability::Nowhere(failures.join("; ")))
    }

    /// Makes the API server call `url`. Returns the reason if it cannot.
    async fn test(&self, url: &str, bundle: &str) -> kube::Result<Option<String>> {
        let asks = format!("/{}", Timestamp::now().as_nanosecond());
        let webhook = ValidatingWebhook {
            admission_review_versions: vec!["v1".to_owned()],
            client_config: client(url, TEST_PATH, bundle),
            failure_policy: Some("Fail".to_owned()),
            // Matches only the request that is sent here.
            match_conditions: Some(vec![MatchCondition {
                name: "test".to_owned(),
                expression: format!(
                    "has(object.spec.nonResourceAttributes) && object.spec.nonResourceAttributes.path == '{asks}'"
                ),
            }]),
            name: TEST.to_owned(),
            rules: Some(vec![RuleWithOperations {
                api_groups: Some(vec!["authorization.k8s.io".to_owned()]),
                api_versions: Some(vec!["v1".to_owned()]),
                operations: Some(vec!["CREATE".to_owned()]),
                resources: Some(vec!["selfsubjectaccessreviews".to_owned()]),
                scope: None,
            }]),
            side_effects: "None".to_owned(),
            timeout_seconds: Some(TEST_SECONDS.into()),
            ..ValidatingWebhook::default()
        };
        let configuration = ValidatingWebhookConfiguration {
            metadata: self.here.configurations.metadata(REACHABLE),
            webhooks: Some(vec![webhook]),
        };
        self.here.configurations.apply(&configuration).await?;
        // Every user may send this request, and the API server stores nothing.
        let review = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                non_resource_attributes: Some(NonResourceAttributes {
                    path: Some(asks),
                    verb: Some("get".to_owned()),
                }),
                resource_attributes: None,
            },
            ..SelfSubjectAccessReview::default()
        };
        self.called.store(false, Ordering::Relaxed);
        let end = Instant::now() + HEARS;
        while Instant::now() < end {
            let reviews = Api::all(self.client.clone());
            let params = PostParams::default();
            match self.until_stop(reviews.create(&params, &review)).await {
                None => break,
                Some(Err(kube::Error::Api(status))) if status.message.contains(TEST) => {
                    return Ok(Some(status.message.clone()));
                }
                Some(Err(error)) => return Err(error),
                Some(Ok(_)) if self.called.load(Ordering::Relaxed) => return Ok(None),
                // The API server does not know the webhook yet.
                Some(Ok(_)) => {
                    self.until_stop(sleep(Duration::from_millis(100))).await;
                }
            }
        }
        Ok(Some(format!("the API server does not call {url}")))
    }

    /// Makes the API server call all webhooks at `url`, and trust `bundle`. `is_new` is true if the bundle has changed.
    /// Returns `false` if the configurations belong to another process.
    async fn publish(&self, url: &str, bundle: &str, is_new: bool) -> Result<bool> {
        let namespaces = Namespaces {
            own: self.client.default_namespace(),
            only: &self.only,
        };
        let (mut mutating, mut validating) =
            hook::configurations(&self.webhooks, &namespaces, |path| {
                client(url, path, bundle)
            });
        if let Some(configuration) = &mut mutating {
            configuration.metadata = self.here.configurations.metadata(MUTATING);
            for webhook in configuration.webhooks.iter_mut().flatten() {
                // The docs of this module explain why.
                webhook.failure_policy = Some("Ignore".to_owned());
            }
        }
        if let Some(configuration) = &mut validating {
            configuration.metadata = self.here.configurations.metadata(VALIDATING);
            for webhook in configuration.webhooks.iter_mut().flatten() {
                // The docs of this module explain why.
                webhook.failure_policy = Some("Ignore".to_owned());
            }
        }
        let mutating = self.publish_one(MUTATING, mutating, is_new).await;
        if let Ok(false) = mutating {
            return Ok(false);
        }
        let validating = self.publish_one(VALIDATING, validating, is_new).await;
        let is_own = validating.as_ref().is_ok_and(|is_own| *is_own);
        combined([mutating.err(), validating.err()])?;
        Ok(is_own)
    }

    async fn publish_one<K: Configuration>(
        &self,
        end: &str,
        wanted: Option<K>,
        is_new: bool,
    ) -> Result<bool> {
        let Some(wanted) = wanted else {
            if is_new {
                self.here
                    .configurations
                    .delete::<K>(end, Whose::Any)
                    .await?;
            }
            return Ok(true);
        };
        let what = format!("{} `{}`", K::kind(&()), wanted.name_any());
        let api = Api::<K>::all(self.client.clone());
        let there = api
            .get_metadata_opt(&wanted.name_any())
            .await
            .with_context(|| format!("cannot read the {what}"))?;
        match there {
            Some(there) if !is_new => {
                return Ok(self.here.configurations.is_own(there.annotations()));
            }
            None if !is_new => tracing::info!("the {what} was deleted, and is applied again"),
            _ => {}
        }
        let applied = self.here.configurations.apply(&wanted).await;
        applied.with_context(|| format!("cannot apply the {what}"))?;
        Ok(true)
    }

    /// Logs a warning if an operator in the cluster is called as well.
    async fn warn_of_deployed(&self) -> kube::Result<()> {
        let (mutating, validating) = (&self.deployed_mutating, &self.deployed_validating);
        let mutates = Api::<MutatingWebhookConfiguration>::all(self.client.clone());
        let validates = Api::<ValidatingWebhookConfiguration>::all(self.client.clone());
        if mutates.get_metadata_opt(mutating).await?.is_some()
            || validates.get_metadata_opt(validating).await?.is_some()
        {
            tracing::warn!(
                "the API server calls the operator in the cluster too: `make undeploy` removes it"
            );
        }
        Ok(())
    }
}

/// The configurations for webhooks by URL. A cluster has one set for each operator.
struct Configurations {
    client: Client,
    /// The name of the operator.
    operator: &'static str,
    /// The value of the annotation [`RUN_BY`] for this process.
    identity: String,
}

impl Configurations {
    fn new(host: &Host) -> Self {
        Self {
            client: host.client.clone(),
            operator: host.operator.name,
            identity: identity(),
        }
    }

    /// The name of a configuration for webhooks by URL.
    fn name(&self, end: &str) -> String {
        format!("{}-run-{end}", self.operator)
    }

    fn metadata(&self, end: &str) -> ObjectMeta {
        ObjectMeta {
            name: Some(self.name(end)),
            annotations: Some([(RUN_BY.to_owned(), self.identity.clone())].into()),
            ..ObjectMeta::default()
        }
    }

    async fn apply<K: Configuration>(&self, configuration: &K) -> kube::Result<()> {
        let params = PatchParams::apply(&format!("{}-run", self.operator)).force();
        let api = Api::<K>::all(self.client.clone());
        let name = configuration.name_any();
        api.patch(&name, &params, &Patch::Apply(configuration))
            .await?;
        Ok(())
    }

    fn is_own(&self, annotations: &BTreeMap<String, String>) -> bool {
        annotations.get(RUN_BY) == Some(&self.identity)
    }

    /// Deletes the configurations for webhooks by URL.
    async fn delete_all(&self, whose: Whose) -> Result<()> {
        let mutating = self.delete::<MutatingWebhookConfiguration>(MUTATING, whose);
        let validating = self.delete::<ValidatingWebhookConfiguration>(VALIDATING, whose);
        let reachable = self.delete::<ValidatingWebhookConfiguration>(REACHABLE, whose);
        combined([
            mutating.await.err(),
            validating.await.err(),
            reachable.await.err(),
        ])
    }

    async fn delete<K: Configuration>(&self, end: &str, whose: Whose) -> Result<()> {
        let name = self.name(end);
        let deleted = self.delete_named::<K>(&name, whose).await;
        deleted.with_context(|| format!("cannot delete the {} `{name}`", K::kind(&())))
    }

    async fn delete_named<K: Configuration>(&self, name: &str, whose: Whose) -> kube::Result<()> {
        let api = Api::<K>::all(self.client.clone());
        loop {
            let Some(there) = api.get_metadata_opt(name).await? else {
                return Ok(());
            };
            if whose == Whose::Own && !self.is_own(there.annotations()) {
                return Ok(());
            }
            let params = DeleteParams {
                preconditions: Some(Preconditions {
                    resource_version: there.resource_version(),
                    uid: there.uid(),
                }),
                ..DeleteParams::default()
            };
            match api.delete(name, &params).await {
                Ok(_) => return Ok(()),
                Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(()),
                // The object has changed, and may belong to another process now.
                Err(kube::Error::Api(status)) if status.is_conflict() => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// A kind of webhook configurations.
trait Configuration:
    Resource<DynamicType = (), Scope = ClusterResourceScope>
    + Clone
    + Debug
    + DeserializeOwned
    + Serialize
{
}

impl Configuration for MutatingWebhookConfiguration {}
impl Configuration for ValidatingWebhookConfiguration {}

fn client(url: &str, path: &str, bundle: &str) -> WebhookClientConfig {
    WebhookClientConfig {
        ca_bundle: Some(ByteString(bundle.as_bytes().to_vec())),
        service: None,
        url: Some(format!("{url}{path}")),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Method;
    use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
    use serde_json::{Value, json};
    use tower::ServiceExt;

    use super::{
        super::hook::{Hook, Purpose},
        *,
    };

    #[test]
    fn the_host_of_a_url_is_that_of_a_certificate() {
        assert_eq!(host("https://[::1]:1").as_deref(), Some("::1"));
        assert_eq!(host("https://a.b").as_deref(), Some("a.b"));
    }

    #[test]
    fn this_machine_is_looked_for_on_the_way_to_the_api_server() {
        fn bound(text: &str) -> SocketAddr {
            text.parse().expect("an address")
        }

        let server = Uri::from_static("https://127.0.0.1:6443");
        let loopback = IpAddr::from(Ipv4Addr::LOCALHOST);
        let expected = [
            "https://127.0.0.1:9443",
            "https://host.docker.internal:9443",
        ];
        for addresses in [vec![], vec![loopback, loopback]] {
            let found = candidates(addresses, &server, bound("[::]:9443"));
            assert_eq!(found, expected);
        }
        // If the server listens on one address, this address is used.
        let found = candidates(vec![loopback], &server, bound("192.0.2.1:9443"));
        assert_eq!(found, ["https://192.0.2.1:9443"]);
        // A remote API server does not run in a container on this machine.
        let server = Uri::from_static("https://192.0.2.1");
        let found = candidates(vec![loopback], &server, bound("0.0.0.0:1"));
        assert_eq!(found[0], "https://127.0.0.1:1");
        assert!(!found.iter().any(|url| url.contains("docker")), "{found:?}");
    }

    async fn call(routes: &Router, path: &str, body: &str) -> (StatusCode, String) {
        let request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .body(Body::from(body.to_owned()));
        let response = routes.clone().oneshot(request.expect("a request")).await;
        let (parts, body) = response.expect("an answer").into_parts();
        let body = to_bytes(body, review::MOST).await.expect("a body");
        (
            parts.status,
            String::from_utf8(body.to_vec()).expect("text"),
        )
    }

    #[tokio::test]
    async fn a_failed_webhook_refuses_the_request_unless_it_is_to_be_ignored() {
        let strict = Webhook::new::<Pod>(Purpose::Validate, Hook::new());
        let lenient = Hook::new().failure_policy(FailurePolicy::Ignore);
        let lenient = Webhook::new::<Deployment>(Purpose::Validate, lenient);
        let fails = post(async |uri: Uri| {
            let query = uri.query().unwrap_or_default().to_owned();
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                format!("failed after {query}"),
            )
        });
        let routes = Router::new()
            .route(strict.path(), fails.clone())
            .route(lenient.path(), fails)
            .route("/good", post(async || "good"));
        let routes = refusing(routes, &[strict.clone(), lenient.clone()]);
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {"uid": "1", "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "operation": "CREATE", "object": {}}})
        .to_string();

        let path = format!("{}?timeout=10s", strict.path());
        let (code, text) = call(&routes, &path, &review).await;
        assert_eq!(code, StatusCode::OK);
        let answer: Value = serde_json::from_str(&text).expect("JSON");
        let response = &answer["response"];
        assert_eq!(response["allowed"], false);
        assert_eq!(response["uid"], "1");
        assert_eq!(response["status"]["code"], 500);
        assert_eq!(response["status"]["message"], "failed after timeout=10s");

        let path = format!("{}?timeout=10s", lenient.path());
        let (code, text) = call(&routes, &path, &review).await;
        assert_eq!(code, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(text, "failed after timeout=10s");

        // Without a review, there is no request to refuse.
        let (code, text) = call(&routes, strict.path(), "{").await;
        assert_eq!(code, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(text.starts_with("failed after"), "{text}");
        assert_eq!(call(&routes, "/good", "").await.1, "good");
    }
}
