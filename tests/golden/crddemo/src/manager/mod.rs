// SPDX-FileCopyrightText: The crddemo authors
// SPDX-License-Identifier: Apache-2.0

//! What every controller needs to run. For an operator in Go this is the library controller-runtime;
//! here it is a few small files that are yours to read and to change.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use tokio::{
    signal::unix::{SignalKind, signal},
    task::JoinSet,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

mod backoff;
mod changes;
pub mod condition;
mod context;
mod controller;
pub mod manifests;
pub mod rbac;
mod scope;

pub use context::Context;
pub use controller::Reconciler;
use rbac::Rule;

/// How long reconciles in flight may go on after a signal to stop: less than the 10 s of a Pod.
const DRAIN: Duration = Duration::from_secs(8);

/// How long the API server may take for an answer: a little longer than it gives itself.
const READ_TIMEOUT: Duration = Duration::from_secs(65);

/// How long a watch may be silent: the API server ends each one before that.
const WATCH_READ_TIMEOUT: Duration = Duration::from_secs(300);

/// How the operator reaches the cluster, and how much it does at once.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Kubeconfig to use; by default $KUBECONFIG, ~/.kube/config, or the Pod's ServiceAccount
    #[arg(long)]
    pub kubeconfig: Option<PathBuf>,

    /// Namespace to watch, may be repeated; by default all of them
    #[arg(long = "namespace", env = "WATCH_NAMESPACE", value_delimiter = ',')]
    pub namespaces: Vec<String>,

    /// How many objects each controller reconciles at the same time, in each watched namespace
    #[arg(long, env, default_value = "10", value_parser = clap::value_parser!(u16).range(1..))]
    pub concurrency: u16,
}

/// What a running controller gets from its manager.
#[derive(Clone)]
struct Runtime {
    /// For requests.
    client: Client,
    /// For watches, which are silent for minutes.
    watch_client: Client,
    /// The namespaces to watch; none means all.
    namespaces: Vec<String>,
    concurrency: u16,
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
        self.starts.push(Box::new(move |runtime, tasks| {
            let context = Context::new(runtime.client.clone(), R::NAME);
            controller::start(new(context), runtime, tasks);
        }));
    }

    /// What the controllers may do, taken together.
    pub fn rules(&self) -> impl Iterator<Item = &'static Rule> {
        self.rules.iter().copied().flatten()
    }

    /// Runs the controllers until SIGTERM or SIGINT.
    ///
    /// # Errors
    ///
    /// When no cluster is configured, or when a controller ends by itself.
    pub async fn run(self, options: Options) -> anyhow::Result<()> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;

        let mut config = config(options.kubeconfig.as_deref()).await?;
        let server = config.cluster_url.clone();
        config.reset_reader_on_write = true;
        config.read_timeout = Some(WATCH_READ_TIMEOUT);
        let watch_client = Client::try_from(config.clone())?;
        config.read_timeout = Some(READ_TIMEOUT);
        let client = Client::try_from(config)?;
        let namespaces = distinct(options.namespaces);
        let watched = match namespaces.as_slice() {
            [] => "all".to_owned(),
            some => some.join(","),
        };
        tracing::info!(version = env!("CARGO_PKG_VERSION"), %server, namespaces = watched, "starting");

        let runtime = Runtime {
            client,
            watch_client,
            namespaces,
            concurrency: options.concurrency,
            stop: CancellationToken::new(),
        };
        let mut tasks = JoinSet::new();
        for start in self.starts {
            start(&runtime, &mut tasks);
        }
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            Some(ended) = tasks.join_next() => {
                ended.context("a controller failed")?;
                anyhow::bail!("a controller ended by itself");
            }
        }

        tracing::info!("stopping");
        runtime.stop.cancel();
        // A controller whose first list never succeeded (no CRD, no permission) does not hear this.
        let drained = async { while tasks.join_next().await.is_some() {} };
        tokio::select! {
            _ = timeout(DRAIN, drained) => {}
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        if !tasks.is_empty() {
            tracing::warn!(controllers = tasks.len(), "gave up waiting");
        }
        Ok(())
    }
}

/// The namespaces without repetition. An empty one, as in `WATCH_NAMESPACE=`, names none.
fn distinct(mut namespaces: Vec<String>) -> Vec<String> {
    namespaces.retain(|namespace| !namespace.is_empty());
    namespaces.sort_unstable();
    namespaces.dedup();
    namespaces
}

/// The configuration of the cluster: from `kubeconfig`, or from where kubectl would find it.
async fn config(kubeconfig: Option<&Path>) -> anyhow::Result<Config> {
    let Some(path) = kubeconfig else {
        return Config::infer().await.context("no cluster is configured");
    };
    let kubeconfig = Kubeconfig::read_from(path)
        .with_context(|| format!("cannot read the kubeconfig `{}`", path.display()))?;
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .with_context(|| format!("cannot use the kubeconfig `{}`", path.display()))
}
