//! Runs controllers and the services that they share.

use std::{
    any::TypeId, collections::BTreeSet, fmt::Display, path::Path, pin::pin, sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, Result, anyhow, bail};
use kube::{Client, Config};
use prometheus::Registry;
use tokio::{
    signal::unix::{SignalKind, signal},
    task::JoinSet,
    time::{Instant, sleep, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

use crate::schema::{self, Crd};

use super::{
    builder::Builder,
    controller, events,
    extension::Extension,
    failure,
    health::Health,
    host::Host,
    informer::Informers,
    leader::Candidate,
    manifests,
    metrics::Metrics,
    name,
    operator::Operator,
    options::{self, Options, Versions, Webhooks},
    rbac::{Grant, Rule},
    reconciler::Reconciler,
    requests::{self, Requests},
    serve::{self, Certificate},
    services::{Observer, Services},
    status_in_object::InObject,
    task::{self, Pending, Replicas, Task},
    workers::Workers,
};

// rustfmt refuses a missing file, and a copy of the crate without the feature lacks it.
#[cfg(feature = "api-docs")]
#[rustfmt::skip]
mod api_docs;
#[cfg(feature = "webhook")]
#[rustfmt::skip]
mod webhooks;

/// How long a second signal counts as the first one. For example, `kill %1` of `make run` reaches this process twice.
const ONE_SIGNAL: Duration = Duration::from_secs(1);

/// How long the end may take after the last work or call of a webhook: aborted work ends, and the lease is released.
const CLOSE: Duration = Duration::from_secs(1);

/// Starts the tasks of a controller.
type Start = Box<dyn FnOnce(&Services, &mut Informers, &mut JoinSet<()>) -> Result<()> + Send>;

/// Runs controllers and the services that they share: client, lease, probes and metrics.
pub struct Manager {
    operator: Operator,
    starts: Vec<Start>,
    /// The name of each controller.
    names: Vec<&'static str>,
    /// The kind of each controller.
    kinds: Vec<TypeId>,
    rules: Vec<&'static [Rule]>,
    crds: Vec<Crd>,
    tasks: Vec<Pending>,
    webhooks: Webhooks,
    versions: Versions,
    registry: Registry,
}

impl Manager {
    /// The manager of `operator`, without controllers.
    pub fn new(operator: Operator) -> Self {
        Self {
            operator,
            starts: Vec::new(),
            names: Vec::new(),
            kinds: Vec::new(),
            rules: Vec::new(),
            crds: Vec::new(),
            tasks: Vec::new(),
            webhooks: Webhooks::default(),
            versions: Versions::default(),
            registry: Registry::new(),
        }
    }

    /// Adds a controller. `new` is called when this replica leads.
    ///
    /// A [name](Reconciler::NAME) that the API server would refuse does not compile:
    ///
    /// ```compile_fail,E0080
    /// # use std::convert::Infallible;
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # use kube_manager::{Action, Context, Manager, Operator, Reconciler, rbac::Rule};
    /// # struct Controller;
    /// impl Reconciler for Controller {
    /// #   type Object = ConfigMap;
    /// #   type Error = Infallible;
    ///     const NAME: &'static str = "My_Controller";
    /// #   const RULES: &'static [Rule] = &[];
    /// #   async fn reconcile(&self, _: &ConfigMap, _: &Context) -> Result<Action, Infallible> {
    /// #       Ok(Action::await_change())
    /// #   }
    /// }
    /// # fn main() {
    /// # let mut manager = Manager::new(Operator::new("test", "example.com"));
    /// manager.add(|_| Controller);
    /// # }
    /// ```
    pub fn add<R: Reconciler>(
        &mut self,
        new: impl FnOnce(&mut Builder<R::Object>) -> R + Send + 'static,
    ) {
        const {
            assert!(
                name::is_valid(R::NAME),
                "`const NAME` of this reconciler is part of finalizers, of labels and of the reporter of events, so it must \
                 consist of lower-case letters, digits, `-` and `.`, such as `guestbook.example.com`, with at most 253 \
                 characters, 63 of them before the first dot"
            );
        }
        self.names.push(R::NAME);
        self.rules.push(R::RULES);
        self.kinds.push(TypeId::of::<R::Object>());
        self.starts.push(Box::new(|services, informers, tasks| {
            controller::start(new, services, informers, tasks)
        }));
    }

    /// Adds the CRDs of the operator's own kinds, each with all of its versions.
    ///
    /// After a change of the stored version, the leader makes the API server store all objects of the kind again, and
    /// then removes the old versions from `status.storedVersions` of the CRD. This migration begins when the CRD has
    /// not changed for `--storage-migration-delay`. The condition `StorageMigrated` of the CRD shows its progress. An
    /// operator for single namespaces has no permission to migrate.
    ///
    /// # Errors
    ///
    /// When `crds` fails, or when kube cannot make a schema of a Rust type.
    pub fn add_crds<E: Display>(
        &mut self,
        crds: impl FnOnce() -> Result<Vec<Crd>, E>,
    ) -> Result<()> {
        self.crds.extend(schema::collect(crds)?);
        Ok(())
    }

    /// Adds permissions that no controller needs, such as the permissions of a task.
    pub fn add_rules(&mut self, rules: &'static [Rule]) {
        self.rules.push(rules);
    }

    /// Adds a task that runs beside the controllers, such as a server or an hourly report. If a task fails, the
    /// operator ends; if it returns, only the task ends. `name` is for the log.
    #[doc(alias = "Runnable")]
    pub fn add_task<F>(
        &mut self,
        name: &'static str,
        replicas: Replicas,
        task: impl FnOnce(Task) -> F + Send + 'static,
    ) where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        self.tasks.push(Pending::new(name, replicas, task));
    }

    /// The registry of the metrics that the operator serves. Register your own metrics here.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Writes the manifests that are generated from the code, below the folder `out`: each CRD to
    /// `config/crd/bases/<group>_<plural>.yaml`, the role of all controllers to `config/rbac/role.yaml`, and copies of
    /// them to the operator's chart, if it has one. With webhooks, also their configurations to
    /// `config/webhook/manifests.yaml`.
    ///
    /// # Errors
    ///
    /// When a file cannot be written, when an API server would refuse a CRD, when two webhooks have the same name or path, and when several
    /// versions of a kind are served with unequal schemas, although the CRD has no conversion.
    pub fn write_manifests(&self, out: &Path) -> Result<()> {
        for warning in schema::check(&self.crds)? {
            eprintln!("warning: {warning}");
        }
        let definitions = self.crds.iter().map(|crd| crd.definition.clone());
        let mut crds: Vec<_> = definitions.collect();
        self.webhooks.complete(&mut crds)?;
        self.versions.complete(&mut crds)?;
        self.webhooks.write_manifests(&self.operator, out)?;
        let mut grants: Vec<_> = self
            .rules
            .iter()
            .copied()
            .flatten()
            .map(Grant::from)
            .collect();
        grants.extend(self.webhooks.grants(&self.operator, &crds));
        grants.extend(self.versions.grants(&self.operator, &crds));
        manifests::write(&self.operator, out, &crds, grants)
    }

    /// Runs the controllers until SIGTERM or SIGINT. Controllers and tasks run in an async runtime of their own. When
    /// the operator stops, it releases the lease only if all work in this runtime has ended, including calls of
    /// [`spawn_blocking`](tokio::task::spawn_blocking). Otherwise, the lease expires by itself.
    ///
    /// # Errors
    ///
    /// When no cluster is configured, an address is in use, a controller has an invalid setting, the lease is lost, or
    /// a controller or a server ends unexpectedly. After the loss of the lease, the process ends within seconds, even
    /// if the caller continues, unless all work has ended. If all controllers and tasks have ended, webhooks are served
    /// a little longer, so that no call of a webhook fails.
    pub async fn run(self, options: Options) -> Result<()> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let stopped = async || {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        self.run_until(stopped, options, requests::connect, Arc::new(()))
            .await
    }

    /// Runs the controllers until `stopped` returns, with clients that `connect` makes.
    pub(super) async fn run_until(
        self,
        mut stopped: impl AsyncFnMut(),
        options: Options,
        connect: impl Fn(&Config) -> Result<Client>,
        observer: Arc<dyn Observer>,
    ) -> Result<()> {
        // If another crate enables more features, rustls may have several providers and choose none of them.
        let _ = rustls::crypto::ring::default_provider().install_default();
        options.election.validate()?;
        let mut names = BTreeSet::new();
        if let Some(name) = self.names.iter().find(|name| !names.insert(**name)) {
            bail!("two controllers have the name `{name}`: change `const NAME` of one of them");
        }

        let crds: Vec<_> = self.crds.into_iter().map(|crd| crd.definition).collect();
        // The probes start first, because a Pod that does not answer them is killed.
        let (health, metrics) = (
            Health::default(),
            Metrics::new(&self.operator, self.registry.clone())?,
        );
        health.waits("manager", "starts");
        let drain = options.graceful_shutdown_timeout;
        let (pod_health, serving_end) = match self.webhooks.serving(&options.webhooks) {
            Some(serving) => (serving.health, serving.shutdown_delay),
            None => (health.clone(), Duration::ZERO),
        };
        let longest_stop = drain.max(serving_end).saturating_add(CLOSE);
        if let Some(warning) = options::too_slow(longest_stop) {
            tracing::warn!("{warning}");
        }
        let workers = Workers::start()?;
        metrics.count_tasks_of(workers.handle());
        let mut servers = JoinSet::new();
        if let Some(listener) = options.health_probe_bind_address.listen("probes")? {
            let routes = pod_health.routes(&health, workers.handle());
            servers.spawn(serve::plain(listener, routes));
        }

        let leadership = options.election.leadership();
        let config = options.cluster().await?;
        let manager_client = Requests {
            connections: connect(&config)?,
            metrics: metrics.clone(),
            leadership: None,
        }
        .client();
        // The connections end with the workers, so nothing else uses them.
        let (guarded, unguarded) = {
            let _workers = workers.enter();
            let unguarded = Requests {
                connections: connect(&config)?,
                metrics: metrics.clone(),
                leadership: None,
            };
            let guarded = Requests {
                leadership: Some(leadership.clone()),
                ..unguarded.clone()
            };
            (guarded.client(), unguarded.client())
        };
        let own_namespace = self
            .operator
            .namespaced
            .then(|| manager_client.default_namespace());
        let host = Host {
            operator: self.operator,
            client: manager_client.clone(),
            server: config.cluster_url,
            namespaces: options.namespaces(own_namespace),
            registry: self.registry,
            stop: CancellationToken::new(),
        };
        let (event_queue, event_sender) = events::queue(guarded.clone(), &metrics);
        let services = Services {
            host: Host {
                client: unguarded,
                ..host.clone()
            },
            client: guarded,
            kinds: self.kinds,
            in_object: InObject::of(&crds),
            observer,
            concurrency: options.concurrency,
            leadership: leadership.clone(),
            health: health.clone(),
            metrics: metrics.clone(),
            events: event_queue,
        };
        // Webhooks start before the lease and the watches, because the API server may call them for these requests.
        // They have their own servers, which end by themselves.
        let mut webhooks = JoinSet::new();
        self.webhooks
            .serve(&options.webhooks, &host, &pod_health, &mut webhooks)?;
        if let Some(listener) = options.metrics_bind_address.listen("metrics")? {
            let routes = serve::metrics(metrics.clone());
            if options.metrics_secure {
                let routes = serve::authorized(routes, manager_client.clone());
                let certificate = match options.metrics_cert_path.clone() {
                    Some(folder) => Certificate::Folder(folder),
                    None => Certificate::SelfSigned,
                };
                let never = std::future::pending();
                servers.spawn(serve::secure(
                    listener,
                    routes,
                    certificate,
                    "metrics",
                    never,
                ));
            } else {
                servers.spawn(serve::plain(listener, routes));
            }
        }
        let watched = match host.namespaces.as_slice() {
            [] => "all".to_owned(),
            some => some.join(","),
        };
        tracing::info!(
            version = host.operator.version,
            server = %host.server,
            namespaces = %watched,
            "starting"
        );

        let end_of_events = CancellationToken::new();
        let events_sent = workers
            .handle()
            .spawn(event_sender.run(end_of_events.clone()));
        let mut background = JoinSet::new();
        let mut all_tasks = self.tasks;
        if options.storage_migration && !host.operator.namespaced {
            let delay = options.storage_migration_delay;
            all_tasks.extend(self.versions.tasks(&host, &crds, delay)?);
        }
        {
            let _workers = workers.enter();
            for task in all_tasks {
                task.start(&services, &mut background);
            }
        }
        let mut candidate = Candidate::new(
            &host,
            options.election,
            leadership.clone(),
            &workers,
            health.clone(),
            metrics.clone(),
        );
        health.ready("manager", "started");
        let mut tasks = JoinSet::new();
        let work = async {
            leadership.acquired().await;
            {
                let _workers = workers.enter();
                let mut informers = Informers::default();
                for start in self.starts {
                    start(&services, &mut informers, &mut tasks)?;
                }
                informers.start(&services, &mut tasks);
            }
            match tasks.join_next().await {
                Some(ended) => ended.context("a controller failed"),
                None => std::future::pending().await,
            }
        };
        let mut has_lost = false;
        let mut ended = tokio::select! {
            () = stopped() => Ok(()),
            lost = candidate.run() => {
                has_lost = true;
                lost
            }
            failed = task::failure(&mut background) => Err(failed),
            ended = work => ended.and(Err(anyhow!("a controller ended by itself"))),
            Some(ended) = async {
                tokio::select! {
                    ended = servers.join_next(), if !servers.is_empty() => ended,
                    ended = webhooks.join_next(), if !webhooks.is_empty() => ended,
                    else => None,
                }
            } => {
                let served = ended.context("a server failed").flatten();
                served.and(Err(anyhow!("a server ended by itself")))
            }
        };

        tracing::info!("stopping");
        let mut stop_limit = pin!(sleep(longest_stop));
        host.stop.cancel();
        let mut stopped_again = Box::pin(async {
            let _ = timeout(ONE_SIGNAL, async {
                loop {
                    stopped().await;
                }
            })
            .await;
            stopped().await;
        });
        let (mut has_ended, mut hurries) = (false, false);
        if !has_lost {
            let drained = async {
                while tasks.join_next().await.is_some() {}
                // Reconciles record no more events, so those that wait are the last ones.
                end_of_events.cancel();
                let background_ended = async { while background.join_next().await.is_some() {} };
                let _ = tokio::join!(events_sent, background_ended);
                workers.end().await;
            };
            tokio::select! {
                drained = timeout(drain, drained) => has_ended = drained.is_ok(),
                lost = candidate.run() => {
                    has_lost = true;
                    ended = ended.and(lost);
                }
                () = &mut stopped_again => hurries = true,
            }
        }
        if has_lost {
            // If blocking calls keep the workers from ending, the guard ends the process before another replica leads.
            workers.end().await;
            if !webhooks.is_empty() {
                pod_health.waits("lease", "lost, this process ends");
            }
        } else {
            let close = if hurries {
                Instant::now() + CLOSE
            } else {
                stop_limit.deadline()
            };
            if !has_ended {
                let (controllers, tasks_left) = (tasks.len(), background.len());
                tracing::warn!(controllers, tasks = tasks_left, "gave up waiting");
                has_ended = timeout_at(close, workers.end()).await.is_ok();
            }
            if has_ended {
                match timeout_at(close, candidate.release()).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => {
                        let error = failure::message(&error);
                        tracing::warn!(%error, "cannot give the lease back");
                    }
                    Err(_) => tracing::warn!("gave up giving the lease back"),
                }
            } else {
                tracing::warn!(
                    "calls that block did not end, the end of the process cuts them off"
                );
                candidate.let_expire();
            }
        }
        // Another replica may lead now, but the API server may still call the webhooks of this one.
        let answered = async { while webhooks.join_next().await.is_some() {} };
        if !hurries {
            tokio::select! {
                () = answered => {}
                () = &mut stop_limit => {}
                () = stopped_again => hurries = true,
            }
        }
        if hurries {
            ended = ended.and(Err(anyhow!("stopped a second time")));
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use clap::Parser;
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;
    use crate::runtime::{action::Action, context::Context};

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        options: Options,
    }

    struct Idle;

    impl Reconciler for Idle {
        type Object = ConfigMap;
        type Error = Infallible;

        const NAME: &'static str = "idle.example.com";
        const RULES: &'static [Rule] = &[];

        async fn reconcile(
            &self,
            _: &ConfigMap,
            _: &Context,
        ) -> std::result::Result<Action, Infallible> {
            Ok(Action::await_change())
        }
    }

    #[tokio::test]
    async fn two_controllers_of_one_name_are_refused() {
        let mut manager = Manager::new(Operator::new("test", "example.com"));
        manager.add(|_| Idle);
        manager.add(|_| Idle);
        let error = manager.run(Cli::parse_from(["test"]).options).await;
        assert_eq!(
            error.expect_err("a refusal").to_string(),
            "two controllers have the name `idle.example.com`: change `const NAME` of one of them"
        );
    }
}
