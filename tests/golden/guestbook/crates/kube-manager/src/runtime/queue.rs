//! The work queue: the objects that wait for a reconcile, each at most once.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
};

use futures::{Stream, stream::poll_fn, task::AtomicWaker};
use prometheus::IntGauge;

/// The objects of one watched namespace, or of all.
///
/// kube's scheduler takes all that it gets. So the queue hands out a few objects at a time, and keeps the others.
/// The scheduler begins with any of those that it has: an object that it leaves aside could wait until all others
/// were reconciled. So the queue stops handing out when too many others have overtaken an object.
pub struct Queue<T> {
    state: Mutex<State<T>>,
    waker: AtomicWaker,
    /// How many objects may be handed out without a reconcile that has begun.
    limit: usize,
    /// How many objects wait, in all queues of the controller.
    depth: IntGauge,
}

/// Which objects are handed out first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Nothing has changed: the objects of the first list.
    Low,
    /// Something has changed.
    Normal,
}

struct State<T> {
    /// May have objects that do not wait any more, or with another priority.
    normal: VecDeque<Arc<T>>,
    low: VecDeque<Arc<T>>,
    waiting: HashMap<Arc<T>, Priority>,
    /// Handed out, without a reconcile that has begun: as which one of all.
    handed: HashMap<Arc<T>, usize>,
    /// Those that are reconciled now.
    running: HashSet<Arc<T>>,
    /// How many objects were handed out so far.
    count: usize,
}

/// How many objects may be handed out after one that waits for its reconcile: so many times the limit.
const OVERTAKEN: usize = 2;

impl<T: Eq + Hash> Queue<T> {
    pub fn new(limit: usize, depth: IntGauge) -> Self {
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
            depth,
        }
    }

    /// Adds an object. If the object waits already, it waits no longer than before.
    pub fn push(&self, object: T, priority: Priority) {
        let mut state = self.lock();
        let object = Arc::new(object);
        let waits = state.waiting.get(&object).copied();
        // A reconcile that has not begun will see what is new.
        if state.handed.contains_key(&object) || waits >= Some(priority) {
            return;
        }
        if waits.is_none() {
            self.depth.inc();
        }
        state.waiting.insert(object.clone(), priority);
        match priority {
            Priority::Normal => state.normal.push_back(object),
            Priority::Low => state.low.push_back(object),
        }
        drop(state);
        self.waker.wake();
    }

    /// Takes note that a reconcile of `object` begins, which lasts until the answer is dropped.
    pub fn begin(&self, object: T) -> Running<'_, T> {
        let object = Arc::new(object);
        let mut state = self.lock();
        state.forget(&object, &self.depth);
        state.running.insert(object.clone());
        drop(state);
        self.waker.wake();
        let queue = self;
        Running { queue, object }
    }

    /// Takes note that `object` is gone.
    pub fn forget(&self, object: &T) {
        self.lock().forget(object, &self.depth);
        self.waker.wake();
    }

    /// Hands the objects out. Only one such stream may be in use.
    pub fn objects(self: Arc<Self>) -> impl Stream<Item = T>
    where
        T: Clone,
    {
        poll_fn(move |context| {
            // First, so that no change after the look is missed.
            self.waker.register(context.waker());
            let mut state = self.lock();
            if !state.may_hand_out(self.limit) {
                return Poll::Pending;
            }
            match state.next() {
                Some(object) => {
                    let number = state.count;
                    state.count += 1;
                    state.handed.insert(object.clone(), number);
                    Poll::Ready(Some(T::clone(&object)))
                }
                None => Poll::Pending,
            }
        })
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reconcile of an object.
pub struct Running<'a, T: Eq + Hash> {
    queue: &'a Queue<T>,
    object: Arc<T>,
}

impl<T: Eq + Hash> Drop for Running<'_, T> {
    fn drop(&mut self) {
        self.queue.lock().running.remove(&self.object);
        self.queue.waker.wake();
    }
}

impl<T: Eq + Hash> State<T> {
    fn forget(&mut self, object: &T, depth: &IntGauge) {
        // A retry may begin while the object waits.
        let was_waiting = self.waiting.remove(object).is_some();
        if self.handed.remove(object).is_some() || was_waiting {
            depth.dec();
        }
        if self.waiting.is_empty() {
            // After a start the queue had all objects.
            self.waiting.shrink_to_fit();
            self.normal = VecDeque::new();
            self.low = VecDeque::new();
        }
    }

    fn may_hand_out(&self, limit: usize) -> bool {
        // An object that is reconciled now waits for the end of that, so no other object is to wait for it.
        let handed = self.handed.iter();
        let handed = handed.filter(|(object, _)| !self.running.contains(*object));
        let oldest = handed.map(|(_, number)| *number).min();
        let overtaken = oldest.map_or(0, |oldest| self.count - oldest);
        self.handed.len() < limit && overtaken <= OVERTAKEN.saturating_mul(limit)
    }

    fn next(&mut self) -> Option<Arc<T>> {
        loop {
            let (object, priority) = match self.normal.pop_front() {
                Some(object) => (object, Priority::Normal),
                None => (self.low.pop_front()?, Priority::Low),
            };
            if self.waiting.get(&object) == Some(&priority) {
                self.waiting.remove(&object);
                return Some(object);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, StreamExt};

    use super::*;

    /// All that `queue` hands out at once.
    fn next(queue: &Arc<Queue<&'static str>>) -> String {
        let mut objects = queue.clone().objects();
        let mut all = Vec::new();
        while let Some(Some(object)) = objects.next().now_or_never() {
            all.push(object);
        }
        all.join(" ")
    }

    fn queue(limit: usize) -> Arc<Queue<&'static str>> {
        let depth = IntGauge::new("depth", "of the queue").expect("a name");
        Arc::new(Queue::new(limit, depth))
    }

    #[test]
    fn an_object_waits_once() {
        let queue = queue(9);
        for object in ["a", "b", "a"] {
            queue.push(object, Priority::Normal);
        }
        assert_eq!(queue.depth.get(), 2);
        assert_eq!(next(&queue), "a b");
        // Not while it has been handed out, but once the reconcile may have looked at it.
        queue.push("a", Priority::Normal);
        assert_eq!(next(&queue), "");
        drop(queue.begin("a"));
        queue.push("a", Priority::Normal);
        assert_eq!(next(&queue), "a");
        assert_eq!(queue.depth.get(), 2);
        for object in ["a", "b"] {
            drop(queue.begin(object));
        }
        assert_eq!(queue.depth.get(), 0);
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
        assert_eq!((next(&queue).as_str(), queue.depth.get()), ("", 0));
    }

    #[test]
    fn an_object_that_is_left_aside_is_not_overtaken_by_all_others() {
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
        // Now it is the others that have to wait.
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
        assert_eq!(queue.depth.get(), 0);
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
