//! What every controller needs to run. For an operator in Go this is the library controller-runtime;
//! here it is a few small files that are yours to read and to change.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use kube::Client;
use tokio::{
    signal::unix::{SignalKind, signal},
    task::JoinSet,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

mod backoff;
mod changes;
pub mod children;
pub mod condition;
mod context;
mod controller;
mod failure;
mod health;
mod leader;
pub mod manifests;
mod metrics;
mod options;
mod owned;
pub mod rbac;
mod reconciler;
mod requests;
mod scope;
mod serve;
mod watch;
mod written;

pub use children::Children;
pub use context::Context;
use health::Health;
use leader::{Candidate, Leadership};
use metrics::Metrics;
pub use options::Options;
use rbac::Rule;
pub use reconciler::Reconciler;
use requests::Requests;

/// How long reconciles in flight may go on after a signal to stop: less than the 10 s of a Pod.
const DRAIN: Duration = Duration::from_secs(8);

/// How long the API server may take to take the lease back.
const RELEASE: Duration = Duration::from_secs(1);

/// How long a connection may be silent: as long as a watch, which the API server ends before that.
const READ_TIMEOUT: Duration = Duration::from_secs(300);

/// What a running controller gets from its manager.
#[derive(Clone)]
struct Runtime {
    client: Client,
    /// The namespaces to watch; none means all.
    namespaces: Vec<String>,
    concurrency: u16,
    leadership: Leadership,
    health: Health,
    metrics: Metrics,
    stop: CancellationToken,
}

/// Starts a controller as one or more tasks.
type Start = Box<dyn FnOnce(&Runtime, &mut JoinSet<()>) + Send>;

/// Collects the controllers, then runs them.
#[derive(Default)]
pub struct Manager {
    starts: Vec<Start>,
    rules: Vec<&'static [Rule]>,
}

impl Manager {
    /// Adds the controller that `new` makes.
    pub fn add<R: Reconciler>(&mut self, new: impl FnOnce(Context) -> R + Send + 'static) {
        self.rules.push(R::RULES);
        let start = |runtime: &_, tasks: &mut _| controller::start(new, runtime, tasks);
        self.starts.push(Box::new(start));
    }

    /// What the controllers may do, taken together.
    pub fn rules(&self) -> impl Iterator<Item = &'static Rule> {
        self.rules.iter().copied().flatten()
    }

    /// Runs the controllers until SIGTERM or SIGINT.
    ///
    /// # Errors
    ///
    /// When no cluster is configured, when an address is taken, when the lease is lost, or when a
    /// controller or a server ends by itself.
    pub async fn run(self, options: Options) -> Result<()> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut stopped = async || {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        options.election.validate()?;

        // Before all else: a Pod that does not answer is killed.
        let (health, metrics) = (Health::default(), Metrics::new()?);
        health.waits("manager", "starts");
        let mut servers = JoinSet::new();
        if let Some(listener) = options.health_probe_bind_address.listen("probes")? {
            servers.spawn(serve::plain(listener, health.routes()));
        }

        let leadership = Leadership::new(&options.election);
        let mut config = options.cluster().await?;
        let server = config.cluster_url.clone();
        config.read_timeout = Some(READ_TIMEOUT);
        let connections = requests::connect(&config)?;
        let client = |leadership| {
            let requests = Requests {
                connections: connections.clone(),
                metrics: metrics.clone(),
                leadership,
            };
            requests.client()
        };
        let manager_client = client(None)?;
        let runtime = Runtime {
            client: client(Some(leadership.clone()))?,
            namespaces: options.namespaces(),
            concurrency: options.concurrency,
            leadership: leadership.clone(),
            health: health.clone(),
            metrics: metrics.clone(),
            stop: CancellationToken::new(),
        };
        if let Some(listener) = options.metrics_bind_address.listen("metrics")? {
            let routes = serve::metrics(metrics.clone());
            if options.metrics_secure {
                let routes = serve::authorized(routes, manager_client.clone());
                let folder = options.metrics_cert_path.clone();
                servers.spawn(serve::secure(listener, routes, folder));
            } else {
                servers.spawn(serve::plain(listener, routes));
            }
        }
        let watched = match runtime.namespaces.as_slice() {
            [] => "all".to_owned(),
            some => some.join(","),
        };
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            %server,
            namespaces = %watched,
            "starting"
        );

        let mut candidate = Candidate::new(&runtime, manager_client, options.election);
        health.ready("manager", "started");
        let mut tasks = JoinSet::new();
        let work = async {
            leadership.acquired().await;
            for start in self.starts {
                start(&runtime, &mut tasks);
            }
            match tasks.join_next().await {
                Some(ended) => ended.context("a controller failed"),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stopped() => {}
            lost = candidate.run() => return lost,
            ended = work => {
                ended?;
                bail!("a controller ended by itself");
            }
            Some(ended) = servers.join_next() => {
                ended.context("a server failed")??;
                bail!("a server ended by itself");
            }
        }

        tracing::info!("stopping");
        runtime.stop.cancel();
        let drained = async { while tasks.join_next().await.is_some() {} };
        tokio::select! {
            _ = timeout(DRAIN, drained) => {}
            lost = candidate.run() => return lost,
            () = stopped() => bail!("stopped a second time"),
        }
        if !tasks.is_empty() {
            tracing::warn!(controllers = tasks.len(), "gave up waiting");
            tasks.shutdown().await;
        }
        match timeout(RELEASE, candidate.release()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                let error = failure::says(&error);
                tracing::warn!(%error, "cannot give the lease back");
            }
            Err(_) => tracing::warn!("gave up giving the lease back"),
        }
        Ok(())
    }
}
