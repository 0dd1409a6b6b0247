//! The thread that converts large objects, one after the other.
//!
//! An object takes a hundred times more memory while it is converted than its text has bytes. On several threads, these
//! peaks would add up, even at different times: the allocator keeps freed memory for the thread that has used it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::{Sender, channel},
    thread,
};

use anyhow::{Context, Result, anyhow};
use tokio::sync::oneshot;

type Job = Box<dyn FnOnce() + Send>;

/// The thread. It ends when the last clone is dropped.
#[derive(Clone)]
pub(super) struct Worker(Sender<Job>);

/// The call for which the thread works.
pub(super) struct Call<'a>(&'a dyn Fn() -> bool);

impl Call<'_> {
    /// Whether nobody waits for the result any longer.
    pub fn has_ended(&self) -> bool {
        (self.0)()
    }
}

impl Worker {
    pub fn start() -> Result<Self> {
        let (jobs, receiver) = channel::<Job>();
        let work = move || {
            for job in receiver {
                // Nothing is shared with the next job.
                let _ = catch_unwind(AssertUnwindSafe(job));
            }
        };
        let thread = thread::Builder::new().name("conversions".to_owned());
        let started = thread.spawn(work);
        started.context("cannot start the thread of the conversions")?;
        Ok(Self(jobs))
    }

    /// The result of `work`, which waits for its turn. It is not started if this future is dropped before.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Call) -> T + Send + 'static,
    ) -> Result<T> {
        let (sender, result) = oneshot::channel();
        let job = move || {
            if !sender.is_closed() {
                let result = work(&Call(&|| sender.is_closed()));
                let _ = sender.send(result);
            }
        };
        let sent = self.0.send(Box::new(job));
        sent.map_err(|_| anyhow!("the thread of the conversions has ended"))?;
        result.await.context("the conversion panicked")
    }
}
