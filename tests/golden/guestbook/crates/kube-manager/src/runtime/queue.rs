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
/// kube's scheduler takes all that it gets, and keeps the order. So the queue hands out a few objects at a time,
/// and keeps the others.
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
    /// Handed out, without a reconcile that has begun.
    handed: HashSet<Arc<T>>,
}

impl<T: Eq + Hash> Queue<T> {
    pub fn new(limit: usize, depth: IntGauge) -> Self {
        Self {
            state: Mutex::new(State {
                normal: VecDeque::new(),
                low: VecDeque::new(),
                waiting: HashMap::new(),
                handed: HashSet::new(),
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
        if state.handed.contains(&object) || waits >= Some(priority) {
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

    /// Takes note that a reconcile of `object` begins, or that `object` is gone.
    pub fn begun(&self, object: &T) {
        let mut state = self.lock();
        // A retry may begin while the object waits.
        let was_waiting = state.waiting.remove(object).is_some();
        if state.handed.remove(object) || was_waiting {
            self.depth.dec();
        }
        if state.waiting.is_empty() {
            // After a start the queue had all objects.
            state.waiting.shrink_to_fit();
            state.normal = VecDeque::new();
            state.low = VecDeque::new();
        }
        drop(state);
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
            if state.handed.len() >= self.limit {
                return Poll::Pending;
            }
            match state.next() {
                Some(object) => {
                    state.handed.insert(object.clone());
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

impl<T: Eq + Hash> State<T> {
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
        queue.begun(&"a");
        queue.push("a", Priority::Normal);
        assert_eq!(next(&queue), "a");
        assert_eq!(queue.depth.get(), 2);
        for object in ["a", "b"] {
            queue.begun(&object);
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
        queue.begun(&"a");
        assert_eq!(next(&queue), "d");
        queue.begun(&"b");
        queue.begun(&"d");
        assert_eq!(next(&queue), "c");
        queue.begun(&"c");
        assert_eq!((next(&queue).as_str(), queue.depth.get()), ("", 0));
    }

    #[test]
    fn a_retry_takes_the_place_of_what_waits() {
        let queue = queue(1);
        for object in ["a", "b", "c"] {
            queue.push(object, Priority::Normal);
        }
        assert_eq!(next(&queue), "a");
        queue.begun(&"b");
        queue.begun(&"a");
        assert_eq!(next(&queue), "c");
        queue.begun(&"c");
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
        queue.begun(&"a");
        assert_eq!(waits.await.expect("no panic"), ["a", "b"]);
    }
}
