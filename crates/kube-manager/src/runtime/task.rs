//! Tasks that run beside the controllers.

use std::future::Future;

use anyhow::{Context as _, Error, Result};
use futures::{FutureExt, future::BoxFuture};
use kube::Client;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::services::Services;

/// Which replicas of the operator run a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replicas {
    /// All replicas, from the start.
    All,
    /// Only the leader, as soon as it leads. After it loses the lease, it cannot send requests.
    Leader,
}

/// The handle that a task of [`Manager::add_task`](crate::Manager::add_task) gets.
#[derive(Clone)]
pub struct Task {
    /// Sends requests; for [`Replicas::Leader`], while this replica leads.
    pub client: Client,
    stop: CancellationToken,
}

impl Task {
    /// Waits until the operator stops. The task then has a few seconds to end.
    pub async fn stopped(&self) {
        self.stop.cancelled().await;
    }
}

/// A task that has not started.
pub(super) struct Pending {
    name: &'static str,
    replicas: Replicas,
    run: Box<dyn FnOnce(Task) -> BoxFuture<'static, Result<()>> + Send>,
}

impl Pending {
    pub fn new<F>(
        name: &'static str,
        replicas: Replicas,
        run: impl FnOnce(Task) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        Self {
            name,
            replicas,
            run: Box::new(|task| run(task).boxed()),
        }
    }

    /// Spawns the task in `tasks`.
    pub fn start(self, services: &Services, tasks: &mut JoinSet<Result<()>>) {
        let (name, replicas) = (self.name, self.replicas);
        let (stop, leadership) = (services.host.stop.clone(), services.leadership.clone());
        let client = match replicas {
            Replicas::All => services.host.client.clone(),
            Replicas::Leader => services.client.clone(),
        };
        tasks.spawn(async move {
            if replicas == Replicas::Leader {
                tokio::select! {
                    () = leadership.acquired() => {}
                    () = stop.cancelled() => return Ok(()),
                }
            }
            tracing::info!(task = name, "starting");
            let ended = (self.run)(Task { client, stop }).await;
            ended.with_context(|| format!("the task `{name}` failed"))
        });
    }
}

/// Waits for the first failure in `tasks`. Tasks that end without a failure are ignored.
pub(super) async fn failure(tasks: &mut JoinSet<Result<()>>) -> Error {
    loop {
        match tasks.join_next().await {
            Some(Ok(Ok(()))) => {}
            Some(Ok(Err(error))) => return error,
            Some(Err(error)) => return Error::new(error).context("a task failed"),
            None => std::future::pending().await,
        }
    }
}
