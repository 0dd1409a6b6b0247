//! The work queue of a controller: which objects wait for a reconcile, which are being reconciled, and which are
//! reconciled again after a delay. Each object has at most one reconcile at a time.

use std::{
    collections::{HashMap, VecDeque},
    future::poll_fn,
    mem,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use futures::task::AtomicWaker;
use kube::core::ObjectMeta;
use parking_lot::Mutex;
use tokio_util::time::{DelayQueue, delay_queue};

use super::{
    metrics::{QueueMetrics, Work},
    object::identity,
    watch::Key,
};

/// The longest delay. A longer one has the same effect, because an operator is restarted earlier.
const LONGEST_DELAY: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// How many reconciles of changed objects may precede one of an object that waits and has not changed. Without a limit,
/// such an object would wait for ever if changes arrive as fast as workers finish.
const NORMAL_IN_A_ROW: u32 = 20;

/// The objects of one watched namespace, or of all.
///
/// One task takes the objects to reconcile, with [`waits`](Self::waits) and [`begin`](Self::begin). Another task takes
/// the deleted objects, with [`next_gone`](Self::next_gone).
pub struct Queue {
    state: Mutex<State>,
    /// Wakes the task that takes the objects to reconcile.
    waits: AtomicWaker,
    /// Wakes the task that takes the deleted objects.
    gone: AtomicWaker,
    /// The metrics of all queues of the controller.
    metrics: QueueMetrics,
}

/// The order in which objects are reconciled. Objects of the same priority are reconciled in the order in which they
/// were added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Nothing has changed: the objects of the first list.
    Low,
    /// Something has changed.
    Normal,
}

#[derive(Default)]
struct State {
    entries: HashMap<Arc<Key>, KeyState>,
    /// May contain objects that no longer wait, that now have another priority, or that are being reconciled.
    normal: VecDeque<Arc<Key>>,
    low: VecDeque<Arc<Key>>,
    /// How many objects of `normal` have begun since the last one of `low`.
    normal_in_a_row: u32,
    /// May contain objects that are being reconciled.
    gone: VecDeque<Arc<Key>>,
    delayed: DelayQueue<Arc<Key>>,
}

/// All that the queue knows about the objects of one key. An empty state is removed.
#[derive(Default)]
struct KeyState {
    /// A reconcile that has not begun.
    waiting: Option<Waiting>,
    /// A reconcile after a delay, with its priority.
    delayed: Option<(delay_queue::Key, Priority)>,
    /// The identities of deleted objects of this name, about which the reconciler does not know yet. There may be many,
    /// if reconciles do not begin because a watch is missing.
    gone: Vec<ObjectMeta>,
    is_running: bool,
}

#[derive(Clone, Copy)]
struct Waiting {
    priority: Priority,
    since: Instant,
}

impl KeyState {
    fn is_empty(&self) -> bool {
        self.waiting.is_none() && self.delayed.is_none() && self.gone.is_empty() && !self.is_running
    }
}

impl Queue {
    pub fn new(metrics: QueueMetrics) -> Self {
        Self {
            state: Mutex::default(),
            waits: AtomicWaker::new(),
            gone: AtomicWaker::new(),
            metrics,
        }
    }

    /// Adds an object. If the object waits already, it does not move back. If the object is being reconciled, it is
    /// reconciled again afterwards.
    pub fn push(&self, key: Key, priority: Priority) {
        self.state
            .lock()
            .push(Arc::new(key), priority, &self.metrics);
        self.waits.wake();
    }

    /// Whether the object is being reconciled, or is reconciled again after a delay.
    pub fn is_unfinished(&self, key: &Key) -> bool {
        let state = self.state.lock();
        let entry = state.entries.get(key);
        entry.is_some_and(|entry| entry.is_running || entry.delayed.is_some())
    }

    /// Records that an object is deleted: the deletion is handed out once, and before a reconcile of a later object with this
    /// name. The object itself is no longer reconciled.
    pub fn delete(&self, key: &Key, gone: &ObjectMeta) {
        let key = Arc::new(key.clone());
        let mut state = self.state.lock();
        let entry = state.entries.entry(key.clone()).or_default();
        if entry.waiting.take().is_some() {
            self.metrics.depth.dec();
        }
        let delayed = entry.delayed.take();
        entry.gone.push(identity(gone).metadata);
        if let Some((delayed, _)) = delayed {
            state.delayed.remove(&delayed);
        }
        state.gone.push_back(key);
        drop(state);
        self.gone.wake();
    }

    /// Whether a work item of the object has begun and not ended.
    pub fn is_running(&self, key: &Key) -> bool {
        let state = self.state.lock();
        state.entries.get(key).is_some_and(|entry| entry.is_running)
    }

    /// Waits until an object can be reconciled.
    pub async fn waits(&self) {
        poll_fn(|context| {
            // Registered first, so that no change after the check is missed.
            self.waits.register(context.waker());
            let mut state = self.state.lock();
            state.expire(context, &self.metrics);
            match state.peek() {
                Some(_) => Poll::Ready(()),
                None => Poll::Pending,
            }
        })
        .await;
    }

    /// Begins a reconcile of the next object; `None` if no object can be reconciled.
    pub fn begin(self: &Arc<Self>) -> Option<WorkItem> {
        let mut state = self.state.lock();
        let (key, waiting) = state.next()?;
        drop(state);
        self.metrics.depth.dec();
        let waited = waiting.since.elapsed().as_secs_f64();
        self.metrics.waits.observe(waited);
        Some(self.item(key, waiting.priority, Some(self.metrics.work())))
    }

    /// Waits for deleted objects. Returns all deleted objects of one name. No reconcile of an object with this name
    /// runs until the returned item ends.
    pub async fn next_gone(self: &Arc<Self>) -> (WorkItem, Vec<ObjectMeta>) {
        poll_fn(|context| {
            self.gone.register(context.waker());
            match self.state.lock().next_gone() {
                Some((key, gone)) => Poll::Ready((self.item(key, Priority::Normal, None), gone)),
                None => Poll::Pending,
            }
        })
        .await
    }

    fn item(self: &Arc<Self>, key: Arc<Key>, priority: Priority, work: Option<Work>) -> WorkItem {
        WorkItem {
            key,
            priority,
            queue: self.clone(),
            _work: work,
        }
    }
}

/// What a worker takes from the queue: an object to reconcile, or deleted objects to report. Its work ends when it is
/// dropped.
pub struct WorkItem {
    key: Arc<Key>,
    priority: Priority,
    queue: Arc<Queue>,
    _work: Option<Work>,
}

impl WorkItem {
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Reconciles the object again after `delay`, unless a change does so earlier.
    pub fn repeat(&self, delay: Duration) {
        let mut state = self.queue.state.lock();
        let delayed = state
            .delayed
            .insert(self.key.clone(), delay.min(LONGEST_DELAY));
        let entry = state.entries.entry(self.key.clone()).or_default();
        let earlier = entry.delayed.replace((delayed, self.priority));
        if let Some((earlier, _)) = earlier {
            state.delayed.remove(&earlier);
        }
        drop(state);
        self.queue.waits.wake();
    }
}

impl Drop for WorkItem {
    fn drop(&mut self) {
        self.queue.state.lock().end(&self.key);
        self.queue.gone.wake();
        self.queue.waits.wake();
    }
}

impl State {
    fn push(&mut self, key: Arc<Key>, priority: Priority, metrics: &QueueMetrics) {
        let entry = self.entries.entry(key.clone()).or_default();
        let since = match entry.waiting {
            Some(waiting) if waiting.priority >= priority => return,
            Some(waiting) => waiting.since,
            None => {
                metrics.depth.inc();
                metrics.adds.inc();
                Instant::now()
            }
        };
        entry.waiting = Some(Waiting { priority, since });
        if !entry.is_running {
            self.of(priority).push_back(key);
        }
    }

    fn of(&mut self, priority: Priority) -> &mut VecDeque<Arc<Key>> {
        match priority {
            Priority::Normal => &mut self.normal,
            Priority::Low => &mut self.low,
        }
    }

    /// Moves the objects whose delay has ended to those that wait.
    fn expire(&mut self, context: &mut Context, metrics: &QueueMetrics) {
        while let Poll::Ready(Some(expired)) = self.delayed.poll_expired(context) {
            let key = expired.into_inner();
            let delayed = self.entries.get_mut(&key).map(|entry| entry.delayed.take());
            if let Some(Some((_, priority))) = delayed {
                self.push(key, priority, metrics);
            }
        }
    }

    /// The priority of the next object that can be reconciled. Drops all objects before it.
    fn peek(&mut self) -> Option<Priority> {
        let mut order = [Priority::Normal, Priority::Low];
        if self.normal_in_a_row >= NORMAL_IN_A_ROW {
            order.reverse();
        }
        for priority in order {
            while let Some(key) = self.of(priority).front().cloned() {
                if self.can_begin(&key, priority) {
                    return Some(priority);
                }
                self.of(priority).pop_front();
            }
        }
        None
    }

    /// Whether the object waits in the queue of this priority, and nothing works on it. The end of this work adds the object
    /// again.
    fn can_begin(&self, key: &Arc<Key>, priority: Priority) -> bool {
        let Some(entry) = self.entries.get(key) else {
            return false;
        };
        let waits = entry
            .waiting
            .is_some_and(|waiting| waiting.priority == priority);
        waits && entry.gone.is_empty() && !entry.is_running
    }

    /// Takes the next object, and begins to reconcile it.
    fn next(&mut self) -> Option<(Arc<Key>, Waiting)> {
        let priority = self.peek()?;
        self.normal_in_a_row = match priority {
            Priority::Normal => self.normal_in_a_row.saturating_add(1),
            Priority::Low => 0,
        };
        let key = self.of(priority).pop_front()?;
        let entry = self.entries.get_mut(&key)?;
        let waiting = entry.waiting.take()?;
        entry.is_running = true;
        // The reconcile that begins now decides about the next delay.
        if let Some((delayed, _)) = entry.delayed.take() {
            self.delayed.remove(&delayed);
        }
        Some((key, waiting))
    }

    fn next_gone(&mut self) -> Option<(Arc<Key>, Vec<ObjectMeta>)> {
        loop {
            let key = self.gone.pop_front()?;
            let Some(entry) = self.entries.get_mut(&key) else {
                continue;
            };
            if !entry.is_running && !entry.gone.is_empty() {
                entry.is_running = true;
                return Some((key, mem::take(&mut entry.gone)));
            }
        }
    }

    /// Ends a work item.
    fn end(&mut self, key: &Arc<Key>) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        entry.is_running = false;
        if !entry.gone.is_empty() {
            // The end of the report about the deletion adds an object that waits.
            self.gone.push_back(key.clone());
        } else if let Some(waiting) = entry.waiting {
            self.of(waiting.priority).push_back(key.clone());
        } else if entry.is_empty() {
            self.entries.remove(key);
            if self.entries.is_empty() {
                // The queue had all objects after the start, so this frees much memory.
                self.entries = HashMap::new();
                self.normal = VecDeque::new();
                self.low = VecDeque::new();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use prometheus::Registry;

    use super::*;
    use crate::runtime::{metrics::Metrics, operator::Operator};

    type TestQueue = Arc<Queue>;

    fn queue() -> TestQueue {
        let operator = Operator::new("test", "example.com");
        let metrics = Metrics::new(&operator, Registry::new()).expect("different names");
        Arc::new(Queue::new(metrics.queue("test")))
    }

    /// A deleted object, and its uid.
    fn deleted(uid: &str) -> ObjectMeta {
        ObjectMeta {
            uid: Some(uid.to_owned()),
            ..ObjectMeta::default()
        }
    }

    fn uids(deleted: &[ObjectMeta]) -> Vec<&str> {
        let uids = deleted.iter().map(|object| object.uid.as_deref());
        uids.flatten().collect()
    }

    fn key(name: &str) -> Key {
        (None, name.to_owned())
    }

    fn push(queue: &TestQueue, names: &str, priority: Priority) {
        for name in names.split_whitespace() {
            queue.push(key(name), priority);
        }
    }

    /// Begins a reconcile of each object that can be reconciled now.
    fn begin_all(queue: &TestQueue) -> Vec<WorkItem> {
        std::iter::from_fn(|| queue.begin()).collect()
    }

    fn names(items: &[WorkItem]) -> String {
        let names: Vec<_> = items.iter().map(|item| item.key().1.as_str()).collect();
        names.join(" ")
    }

    /// The names of all objects that can be reconciled now.
    fn next(queue: &TestQueue) -> String {
        names(&begin_all(queue))
    }

    #[tokio::test]
    async fn an_object_waits_once() {
        let queue = queue();
        push(&queue, "a b a", Priority::Normal);
        assert_eq!(queue.metrics.depth.get(), 2);
        assert_eq!(next(&queue), "a b");
        assert_eq!((next(&queue).as_str(), queue.metrics.depth.get()), ("", 0));
        assert!(queue.state.lock().entries.is_empty());
    }

    #[tokio::test]
    async fn a_change_overtakes_what_has_not_changed() {
        let queue = queue();
        push(&queue, "a b c d", Priority::Low);
        push(&queue, "d", Priority::Normal);
        push(&queue, "d", Priority::Low);
        assert_eq!(next(&queue), "d a b c");
    }

    #[tokio::test]
    async fn what_has_not_changed_does_not_wait_for_ever() {
        let queue = queue();
        push(&queue, "unchanged", Priority::Low);
        let in_a_row = (0..).find(|number| {
            push(&queue, &format!("changed-{number}"), Priority::Normal);
            queue.begin().expect("an object").key().1 == "unchanged"
        });
        assert_eq!(in_a_row, Some(NORMAL_IN_A_ROW));
    }

    #[tokio::test]
    async fn an_object_that_changes_during_its_reconcile_is_reconciled_again_afterwards() {
        let queue = queue();
        push(&queue, "slow", Priority::Normal);
        let slow = begin_all(&queue);
        push(&queue, "slow other", Priority::Normal);
        assert_eq!(next(&queue), "other");
        drop(slow);
        assert_eq!(next(&queue), "slow");
    }

    #[tokio::test]
    async fn a_repetition_waits_for_its_delay_and_keeps_its_priority() {
        let queue = queue();
        push(&queue, "a", Priority::Low);
        for item in begin_all(&queue) {
            assert!(queue.is_unfinished(&(None, "a".to_owned())));
            item.repeat(Duration::from_millis(20));
        }
        assert!(queue.is_unfinished(&(None, "a".to_owned())));
        assert_eq!(queue.waits().now_or_never(), None);
        queue.waits().await;
        push(&queue, "b", Priority::Normal);
        assert_eq!(next(&queue), "b a");
        // A change comes earlier than the delay, and takes its place.
        push(&queue, "a", Priority::Normal);
        for item in begin_all(&queue) {
            item.repeat(Duration::MAX);
            item.repeat(Duration::from_secs(9));
        }
        push(&queue, "a", Priority::Normal);
        assert_eq!(next(&queue), "a");
        assert!(queue.state.lock().delayed.is_empty());
        assert!(queue.state.lock().entries.is_empty());
    }

    #[tokio::test]
    async fn a_deleted_object_is_reported_and_not_reconciled() {
        let queue = queue();
        push(&queue, "a b", Priority::Normal);
        for item in begin_all(&queue) {
            item.repeat(Duration::from_secs(1));
        }
        push(&queue, "a", Priority::Normal);
        queue.delete(&key("a"), &deleted("first a"));
        queue.delete(&key("b"), &deleted("b"));
        assert_eq!(queue.metrics.depth.get(), 0);
        let (item, gone) = queue.next_gone().await;
        assert_eq!((item.key().1.as_str(), uids(&gone)), ("a", vec!["first a"]));
        // A later object with the same name waits for the end of the report.
        push(&queue, "a", Priority::Normal);
        queue.delete(&key("a"), &deleted("second a"));
        push(&queue, "a", Priority::Normal);
        assert_eq!(next(&queue), "");
        drop(item);
        assert_eq!(next(&queue), "");
        let (item, gone) = queue.next_gone().await;
        assert_eq!((item.key().1.as_str(), uids(&gone)), ("b", vec!["b"]));
        let (other, gone) = queue.next_gone().await;
        assert_eq!(uids(&gone), ["second a"]);
        drop((item, other));
        assert_eq!(next(&queue), "a");
        assert!(queue.state.lock().delayed.is_empty());
        assert!(queue.state.lock().entries.is_empty());
    }

    #[tokio::test]
    async fn what_is_added_and_how_long_it_waits_is_counted() {
        fn counts(queue: &Queue) -> (u64, u64) {
            let metrics = &queue.metrics;
            (metrics.adds.get(), metrics.waits.get_sample_count())
        }

        let queue = queue();
        // Neither a repetition nor a higher priority counts as another object.
        for priority in [Priority::Low, Priority::Low, Priority::Normal] {
            push(&queue, "a", priority);
        }
        assert_eq!(counts(&queue), (1, 0));
        let items = begin_all(&queue);
        assert_eq!(counts(&queue), (1, 1));
        // A change during a reconcile needs another reconcile.
        push(&queue, "a", Priority::Normal);
        assert_eq!(counts(&queue), (2, 1));
        drop(items);
        assert_eq!(next(&queue), "a");
        assert_eq!(counts(&queue), (2, 2));
    }

    #[tokio::test]
    async fn a_task_that_waits_for_an_object_is_woken() {
        let queue = queue();
        let waits = {
            let waiting = queue.clone();
            tokio::spawn(async move {
                waiting.waits().await;
                let (_turn, gone) = waiting.next_gone().await;
                gone
            })
        };
        tokio::task::yield_now().await;
        push(&queue, "a", Priority::Low);
        tokio::task::yield_now().await;
        queue.delete(&key("a"), &deleted("a"));
        assert_eq!(uids(&waits.await.expect("no panic")), ["a"]);
    }
}
