//! The threads of the controllers and tasks. They have an async runtime of their own, because only the end of a runtime
//! proves that all work in it has ended. The work includes calls that block a thread, and calls that nobody waits for.

use std::thread;

use anyhow::{Context, Result};
use tokio::runtime::{Builder, EnterGuard, Handle};
use tokio_util::sync::CancellationToken;

/// An async runtime for all work that needs the lease. A drop stops the runtime without waiting for its end.
pub struct Workers {
    handle: Handle,
    stop: CancellationToken,
    ended: CancellationToken,
}

impl Workers {
    /// Starts as many threads as the machine has processors, or as the variable `TOKIO_WORKER_THREADS` says.
    ///
    /// # Errors
    ///
    /// When the system refuses a thread.
    pub fn start() -> Result<Self> {
        let context = "cannot start the threads of the controllers";
        let mut builder = Builder::new_multi_thread();
        builder.thread_name("worker").enable_all();
        let runtime = builder.build().context(context)?;
        let handle = runtime.handle().clone();
        let (stop, ended) = (CancellationToken::new(), CancellationToken::new());
        let (stopped, all_ended) = (stop.clone(), ended.clone());
        // The end of a runtime blocks until all work has ended, so the runtime belongs to a thread that may wait.
        let thread = thread::Builder::new().name("workers".to_owned());
        let started = thread.spawn(move || {
            runtime.block_on(stopped.cancelled());
            drop(runtime);
            all_ended.cancel();
        });
        started.context(context)?;
        Ok(Self {
            handle,
            stop,
            ended,
        })
    }

    /// While the guard lives, this thread spawns tasks on the threads of the workers.
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// A token that is cancelled when all work has ended.
    pub fn ended(&self) -> CancellationToken {
        self.ended.clone()
    }

    /// Aborts all tasks, and waits until no task and no blocking call runs. A call that blocks cannot be aborted. A
    /// thread that user code starts with [`std::thread`] is not part of the work.
    pub async fn end(&self) {
        self.stop.cancel();
        self.ended.cancelled().await;
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use tokio::{
        sync::oneshot,
        task::{JoinSet, spawn_blocking},
        time::timeout,
    };

    use super::*;

    /// Long enough for the workers to end if nothing keeps them.
    const SOON: Duration = Duration::from_millis(300);

    /// Checks that the workers end after the blocking call that `start` starts, and not before.
    async fn outlives_no_call(start: impl FnOnce(Box<dyn FnOnce() + Send>)) {
        let workers = Workers::start().expect("threads");
        let (end, ends) = mpsc::channel::<()>();
        let (begins, begun) = oneshot::channel();
        let call = Box::new(move || {
            begins.send(()).expect("the test waits");
            ends.recv().expect_err("the sender is dropped");
        });
        {
            let _workers = workers.enter();
            start(call);
        }
        begun.await.expect("it begins");
        timeout(SOON, workers.end()).await.expect_err("it runs");
        drop(end);
        workers.end().await;
    }

    #[tokio::test]
    async fn a_call_that_nobody_waits_for_keeps_the_workers() {
        outlives_no_call(|call| drop(spawn_blocking(call))).await;
    }

    #[tokio::test]
    async fn a_call_whose_reconcile_was_aborted_keeps_the_workers() {
        outlives_no_call(|call| {
            tokio::spawn(async move { spawn_blocking(call).await });
        })
        .await;
    }

    #[tokio::test]
    async fn a_call_that_blocks_a_nested_task_keeps_the_workers() {
        outlives_no_call(|call| {
            tokio::spawn(async move {
                let mut nested = JoinSet::new();
                nested.spawn(async move { call() });
                nested.join_all().await;
            });
        })
        .await;
    }

    #[tokio::test]
    async fn tasks_that_only_wait_end_at_once() {
        let workers = Workers::start().expect("threads");
        let task = workers.handle().spawn(std::future::pending::<()>());
        workers.end().await;
        assert!(task.await.expect_err("it was aborted").is_cancelled());
        workers.end().await;
    }

    #[tokio::test]
    async fn a_drop_stops_the_workers() {
        let workers = Workers::start().expect("threads");
        let task = workers.handle().spawn(std::future::pending::<()>());
        let ended = workers.ended.clone();
        drop(workers);
        ended.cancelled().await;
        assert!(task.await.expect_err("it was aborted").is_cancelled());
    }
}
