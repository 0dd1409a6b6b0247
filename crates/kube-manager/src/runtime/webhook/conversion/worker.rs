//! The thread that converts large objects, one after the other.
//!
//! An object takes a hundred times more memory while it is converted than its text has bytes. On several threads, these
//! peaks would add up, even at different times: the allocator keeps freed memory for the thread that has used it. An
//! object that would take too much memory is refused.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::{Sender, channel},
    thread,
};

use anyhow::{Context, Result, anyhow};
use tokio::sync::oneshot;

use crate::runtime::webhook::room::memory;

/// The most memory that the conversion of one object may take, in bytes. Large objects are converted one after the
/// other, so all of them together take no more.
pub const MOST_OF_VALUES: usize = 256 << 20;

/// How many copies of an object exist while it is converted: the object before and after, the result of its conversion
/// back, and the typed object.
const COPIES: usize = 4;

/// Why an object cannot be converted, if that would take too much memory.
pub fn too_many_values(object: &str) -> Option<String> {
    let (bytes, most) = (memory(object).saturating_mul(COPIES), MOST_OF_VALUES);
    let [bytes, most] = [bytes, most].map(|bytes| bytes.div_ceil(1 << 20));
    (bytes > most).then(|| {
        format!(
            "it has too many values: its conversion would take up to {bytes} MiB of memory, but may take {most} MiB"
        )
    })
}

/// How deeply lists and objects may be nested in an object that a client writes. `serde_json` reads 127 levels, and the
/// API server stores far more. An object may need some more levels in another version, and for its managed fields.
const MOST_LEVELS: usize = 100;

/// Why an object with this many levels must not be stored, if they are too many.
pub fn too_many_levels(levels: usize) -> Option<String> {
    (levels > MOST_LEVELS).then(|| {
        format!(
            "it has {levels} levels of nested lists and objects, but a conversion needs {MOST_LEVELS} or fewer"
        )
    })
}

type Job = Box<dyn FnOnce() + Send>;

/// The thread. It ends when the last clone is dropped.
#[derive(Clone)]
pub struct Worker(Sender<Job>);

/// The call for which the thread works.
pub struct Call<'a>(&'a dyn Fn() -> bool);

impl Call<'_> {
    /// Whether nobody waits for the result any longer.
    pub fn has_ended(&self) -> bool {
        (self.0)()
    }
}

impl Worker {
    pub fn start() -> Result<Self> {
        let (jobs, receiver) = channel::<Job>();
        let thread = thread::Builder::new().name("conversions".to_owned());
        let started = thread.spawn(move || {
            for job in receiver {
                // Nothing is shared with the next job.
                let _ = catch_unwind(AssertUnwindSafe(job));
            }
        });
        started.context("cannot start the thread of the conversions")?;
        Ok(Self(jobs))
    }

    /// The result of `work`, which waits for its turn. It is not started if this future is dropped before.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Call) -> T + Send + 'static,
    ) -> Result<T> {
        let (sender, result) = oneshot::channel();
        let sent = self.0.send(Box::new(move || {
            if !sender.is_closed() {
                let result = work(&Call(&|| sender.is_closed()));
                let _ = sender.send(result);
            }
        }));
        sent.map_err(|_| anyhow!("the thread of the conversions has ended"))?;
        result.await.context("the conversion panicked")
    }
}
