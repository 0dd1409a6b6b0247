//! The work queue: the objects that wait for a reconcile, each at most once.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    hash::Hash,
    sync::Arc,
    task::Poll,
    time::Instant,
};

use futures::{Stream, stream::poll_fn, task::AtomicWaker};
use parking_lot::Mutex;

use super::metrics::{QueueMetrics, Work};

/// The objects of one watched namespace, or of all.
///
/// kube's scheduler accepts every object that it gets, and starts the objects in any order, so an object could wait
/// until all others were reconciled. So the queue hands out only a few objects at a time and keeps the others. It also
/// stops when too many objects have overtaken an object that was handed out.
pub struct Queue<T> {
    state: Mutex<State<T>>,
    waker: AtomicWaker,
    /// How many objects may be handed out whose reconcile has not begun.
    limit: usize,
    /// The metrics of all queues of the controller.
    metrics: QueueMetrics,
}

/// The order in which objects are handed out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Nothing has changed: the objects of the first list.
    Low,
    /// Something has changed.
    Normal,
}

struct State<T> {
    /// May contain objects that no longer wait, or that now have another priority.
    normal: VecDeque<Arc<T>>,
    low: VecDeque<Arc<T>>,
    waiting: HashMap<Arc<T>, Waiting>,
    /// Objects that were handed out and whose reconcile has not begun, each with its number and the time since when it
    /// waits.
    handed: HashMap<Arc<T>, (usize, Instant)>,
    /// Objects whose reconcile runs.
    running: HashSet<Arc<T>>,
    /// How many objects were handed out so far.
    count: usize,
}

#[derive(Clone, Copy)]
struct Waiting {
    priority: Priority,
    since: Instant,
}

/// How many objects may be handed out after an object that still waits for its reconcile, as a multiple of the limit.
const OVERTAKEN: usize = 2;

impl<T: Eq + Hash> Queue<T> {
    pub fn new(limit: usize, metrics: QueueMetrics) -> Self {
        Self {
            state: Mutex::new(State {
                normal: VecDeque::new(),
                low: VecDeque::new(),
                waiting: HashMap::new(),
                handed: HashMap::new(),
                running: HashSet::new(),
                count: 0,
            }),
            waker: AtomicWaker::new(),
            limit,
            metrics,
        }
    }

    /// Adds an object. If the object waits already, it does not move back.
    pub fn push(&self, object: T, priority: Priority) {
        let mut state = self.state.lock();
        let object = Arc::new(object);
        let waits = state.waiting.get(&object).copied();
        // A reconcile that has not begun will see the change.
        let is_early = waits.is_some_and(|waiting| waiting.priority >= priority);
        if state.handed.contains_key(&object) || is_early {
            return;
        }
        let since = waits.map_or_else(
            || {
                self.metrics.depth.inc();
                self.metrics.adds.inc();
                Instant::now()
            },
            |waiting| waiting.since,
        );
        let waiting = Waiting { priority, since };
        state.waiting.insert(object.clone(), waiting);
        match priority {
            Priority::Normal => state.normal.push_back(object),
            Priority::Low => state.low.push_back(object),
        }
        drop(state);
        self.waker.wake();
    }

    /// Records that a reconcile of `object` begins. It lasts until the returned value is dropped.
    pub fn begin(&self, object: T) -> Running<'_, T> {
        let object = Arc::new(object);
        let mut state = self.state.lock();
        match state.forget(&object, &self.metrics) {
            Some(since) => self.metrics.waits.observe(since.elapsed().as_secs_f64()),
            // kube's scheduler itself adds objects that are requeued after a delay. It does not report how long they
            // have waited for a worker.
            None => self.metrics.adds.inc(),
        }
        state.running.insert(object.clone());
        drop(state);
        self.waker.wake();
        let _work = self.metrics.work();
        Running {
            queue: self,
            object,
            _work,
        }
    }

    /// Records that `object` is deleted.
    pub fn forget(&self, object: &T) {
        self.state.lock().forget(object, &self.metrics);
        self.waker.wake();
    }

    /// A stream that hands out the objects. Only one such stream may be in use.
    pub fn objects(self: Arc<Self>) -> impl Stream<Item = T>
    where
        T: Clone,
    {
        poll_fn(move |context| {
            // Registered first, so that no change after the check is missed.
            self.waker.register(context.waker());
            let mut state = self.state.lock();
            if !state.may_hand_out(self.limit) {
                return Poll::Pending;
            }
            match state.next() {
                Some((object, since)) => {
                    let number = state.count;
                    state.count += 1;
                    state.handed.insert(object.clone(), (number, since));
                    Poll::Ready(Some(T::clone(&object)))
                }
                None => Poll::Pending,
            }
        })
    }
}

/// A reconcile of an object.
pub struct Running<'a, T: Eq + Hash> {
    queue: &'a Queue<T>,
    object: Arc<T>,
    _work: Work,
}

impl<T: Eq + Hash> Drop for Running<'_, T> {
    fn drop(&mut self) {
        self.queue.state.lock().running.remove(&self.object);
        self.queue.waker.wake();
    }
}

impl<T: Eq + Hash> State<T> {
    /// Removes a waiting object. Returns the time since when it has waited, if it has waited.
    fn forget(&mut self, object: &T, metrics: &QueueMetrics) -> Option<Instant> {
        // A retry may begin while the object is in the queue.
        let waited = self.waiting.remove(object).map(|waiting| waiting.since);
        let handed = self.handed.remove(object).map(|(_, since)| since);
        let since = handed.or(waited);
        if since.is_some() {
            metrics.depth.dec();
        }
        if self.waiting.is_empty() {
            // The queue had all objects after the start, so this frees much memory.
            self.waiting.shrink_to_fit();
            self.normal = VecDeque::new();
            self.low = VecDeque::new();
        }
        since
    }

    fn may_hand_out(&self, limit: usize) -> bool {
        // An object that is being reconciled has to wait for the end of its reconcile. The other objects must not wait
        // for that.
        let handed = self.handed.iter();
        let handed = handed.filter(|(object, _)| !self.running.contains(*object));
        let oldest = handed.map(|(_, (number, _))| *number).min();
        let overtaken = oldest.map_or(0, |oldest| self.count - oldest);
        self.handed.len() < limit && overtaken <= OVERTAKEN.saturating_mul(limit)
    }

    /// The next object, and the time since when it has waited.
    fn next(&mut self) -> Option<(Arc<T>, Instant)> {
        loop {
            let (object, priority) = match self.normal.pop_front() {
                Some(object) => (object, Priority::Normal),
                None => (self.low.pop_front()?, Priority::Low),
            };
            let waiting = self.waiting.get(&object).copied();
            if let Some(waiting) = waiting.filter(|waiting| waiting.priority == priority) {
                self.waiting.remove(&object);
                return Some((object, waiting.since));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, StreamExt};
    use prometheus::Registry;

    use super::*;
    use crate::runtime::{Metrics, Operator};

    /// All objects that `queue` hands out now.
    fn next(queue: &Arc<Queue<&'static str>>) -> String {
        let mut objects = queue.clone().objects();
        let mut all = Vec::new();
        while let Some(Some(object)) = objects.next().now_or_never() {
            all.push(object);
        }
        all.join(" ")
    }

    fn queue(limit: usize) -> Arc<Queue<&'static str>> {
        let operator = Operator::new("test", "example.com");
        let metrics = Metrics::new(&operator, Registry::new()).expect("different names");
        Arc::new(Queue::new(limit, metrics.queue("test")))
    }

    #[test]
    fn an_object_waits_once() {
        let queue = queue(9);
        for object in ["a", "b", "a"] {
            queue.push(object, Priority::Normal);
        }
        assert_eq!(queue.metrics.depth.get(), 2);
        assert_eq!(next(&queue), "a b");
        // A change is ignored while the object is handed out, but not once its reconcile may have read the object.
        queue.push("a", Priority::Normal);
        assert_eq!(next(&queue), "");
        drop(queue.begin("a"));
        queue.push("a", Priority::Normal);
        assert_eq!(next(&queue), "a");
        assert_eq!(queue.metrics.depth.get(), 2);
        for object in ["a", "b"] {
            drop(queue.begin(object));
        }
        assert_eq!(queue.metrics.depth.get(), 0);
    }

    #[test]
    fn a_change_overtakes_what_has_not_changed() {
        let queue = queue(2);
        for object in ["a", "b", "c", "d"] {
            queue.push(object, Priority::Low);
        }
        assert_eq!(next(&queue), "a b");
        queue.push("d", Priority::Normal);
        queue.push("d", Priority::Low);
        drop(queue.begin("a"));
        assert_eq!(next(&queue), "d");
        drop(queue.begin("b"));
        drop(queue.begin("d"));
        assert_eq!(next(&queue), "c");
        drop(queue.begin("c"));
        assert_eq!((next(&queue).as_str(), queue.metrics.depth.get()), ("", 0));
    }

    #[test]
    fn a_waiting_object_is_not_overtaken_by_all_others() {
        let queue = queue(2);
        for object in ["a", "b", "c", "d", "e", "f", "g"] {
            queue.push(object, Priority::Low);
        }
        assert_eq!(next(&queue), "a b");
        for (begun, handed) in [("b", "c"), ("c", "d"), ("d", "e"), ("e", ""), ("a", "f g")] {
            drop(queue.begin(begun));
            assert_eq!(next(&queue), handed, "after {begun}");
        }
    }

    #[test]
    fn an_object_that_is_reconciled_delays_no_other() {
        let queue = queue(2);
        queue.push("slow", Priority::Normal);
        assert_eq!(next(&queue), "slow");
        let slow = queue.begin("slow");
        queue.push("slow", Priority::Normal);
        assert_eq!(next(&queue), "slow");
        for object in ["a", "b", "c", "d", "e", "f", "g"] {
            queue.push(object, Priority::Normal);
            assert_eq!(next(&queue), object);
            drop(queue.begin(object));
        }
        drop(slow);
        // Now the other objects have to wait.
        queue.push("h", Priority::Normal);
        assert_eq!(next(&queue), "");
        drop(queue.begin("slow"));
        assert_eq!(next(&queue), "h");
    }

    #[test]
    fn a_retry_takes_the_place_of_what_waits() {
        let queue = queue(1);
        for object in ["a", "b", "c"] {
            queue.push(object, Priority::Normal);
        }
        assert_eq!(next(&queue), "a");
        drop(queue.begin("b"));
        drop(queue.begin("a"));
        assert_eq!(next(&queue), "c");
        drop(queue.begin("c"));
        assert_eq!(queue.metrics.depth.get(), 0);
    }

    #[test]
    fn what_is_added_and_how_long_it_waits_is_counted() {
        let queue = queue(1);
        let counts = || {
            let metrics = &queue.metrics;
            (metrics.adds.get(), metrics.waits.get_sample_count())
        };
        // Neither a repetition nor a higher priority counts as another object.
        for priority in [Priority::Low, Priority::Low, Priority::Normal] {
            queue.push("a", priority);
        }
        assert_eq!(counts(), (1, 0));
        assert_eq!(next(&queue), "a");
        queue.push("a", Priority::Normal);
        assert_eq!(counts(), (1, 0));
        let running = queue.begin("a");
        assert_eq!(counts(), (1, 1));
        // A change during a reconcile needs another reconcile.
        queue.push("a", Priority::Normal);
        assert_eq!(counts(), (2, 1));
        drop(running);
        drop(queue.begin("a"));
        assert_eq!(counts(), (2, 2));
        // A retried object is not in the queue.
        drop(queue.begin("a"));
        assert_eq!(counts(), (3, 2));
        // A deleted object no longer waits.
        queue.push("b", Priority::Normal);
        queue.forget(&"b");
        assert_eq!(counts(), (4, 2));
        assert_eq!(queue.metrics.depth.get(), 0);
    }

    #[tokio::test]
    async fn who_waits_for_an_object_is_woken() {
        let queue = queue(1);
        let waits = tokio::spawn(queue.clone().objects().take(2).collect::<Vec<_>>());
        tokio::task::yield_now().await;
        queue.push("a", Priority::Low);
        queue.push("b", Priority::Low);
        tokio::task::yield_now().await;
        drop(queue.begin("a"));
        assert_eq!(waits.await.expect("no panic"), ["a", "b"]);
    }
}
