//! The metrics for Prometheus. A metric that controller-runtime also has uses the same name and labels, so that its
//! dashboards and alerts work, with two exceptions: `controller_runtime_reconcile_errors_total` has the label `reason`,
//! and `rest_client_requests_total` has no `host`. No label has values from objects of the cluster, so the number of time
//! series is bounded.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
    time::Instant,
};

use parking_lot::Mutex;
use prometheus::{
    GaugeVec, Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Registry,
    Result, TextEncoder, exponential_buckets, register_gauge_vec_with_registry as seconds,
    register_histogram_vec_with_registry as histogram,
    register_int_counter_vec_with_registry as counter,
    register_int_gauge_vec_with_registry as gauge,
    register_int_gauge_with_registry as single_gauge,
};
use tokio::runtime::Handle;

use super::operator::Operator;

/// All metrics. Each comment names the labels.
#[derive(Clone)]
pub struct Metrics {
    registry: Registry,
    /// `controller`, `result`
    pub reconciles: IntCounterVec,
    /// `controller`, `reason`
    pub errors: IntCounterVec,
    /// `controller`
    pub seconds: HistogramVec,
    /// `controller`
    pub active: IntGaugeVec,
    /// `controller`
    pub limit: IntGaugeVec,
    queues: Queues,
    /// `controller`, `reason`
    pub watch_errors: IntCounterVec,
    /// `controller`, `reason`
    pub events_dropped: IntCounterVec,
    /// `code`, `method`
    pub requests: IntCounterVec,
    /// `method`
    pub request_seconds: HistogramVec,
    /// `name`: the lease
    pub leads: IntGaugeVec,
    /// Set each time the metrics are collected.
    tasks: IntGauge,
    /// The runtime of the controllers, whose tasks are counted, too.
    workers: Arc<OnceLock<Handle>>,
}

/// The metrics of all work queues. `name` and `controller` both contain the name of the controller, as in
/// controller-runtime.
#[derive(Clone)]
struct Queues {
    depth: IntGaugeVec,
    adds: IntCounterVec,
    retries: IntCounterVec,
    waits: HistogramVec,
    takes: HistogramVec,
    unfinished: GaugeVec,
    longest: GaugeVec,
    /// The start of each running reconcile, by controller. `unfinished` and `longest` are computed from it.
    running: Shared<HashMap<&'static str, Shared<Running>>>,
}

/// The metrics of the work queue of one controller. A controller may have several queues, one for
/// each namespace: they share these metrics.
#[derive(Clone)]
pub struct QueueMetrics {
    /// Objects that wait for a reconcile.
    pub depth: IntGauge,
    /// Objects that were added, including retries.
    pub adds: IntCounter,
    /// Objects that are added again because their reconcile failed.
    pub retries: IntCounter,
    /// The time from the addition of an object to its reconcile, in seconds.
    pub waits: Histogram,
    takes: Histogram,
    running: Shared<Running>,
}

/// A value that several tasks change.
type Shared<T> = Arc<Mutex<T>>;

/// The running reconciles: the start of each, by a unique number.
#[derive(Default)]
struct Running {
    since: HashMap<u64, Instant>,
    next: u64,
}

impl Running {
    /// The seconds that all running reconciles have taken so far: the sum, and the longest one.
    fn seconds(&self) -> (f64, f64) {
        let starts = self.since.values();
        let seconds = starts.map(|since| since.elapsed().as_secs_f64());
        seconds.fold((0.0, 0.0), |(sum, longest), next| {
            (sum + next, next.max(longest))
        })
    }
}

impl QueueMetrics {
    /// Records the start of a reconcile. The reconcile lasts until the returned value is dropped.
    pub fn work(&self) -> Work {
        let since = Instant::now();
        let mut running = self.running.lock();
        let number = running.next;
        running.next += 1;
        running.since.insert(number, since);
        Work {
            takes: self.takes.clone(),
            running: self.running.clone(),
            number,
            since,
        }
    }
}

/// A running reconcile.
pub struct Work {
    takes: Histogram,
    running: Shared<Running>,
    number: u64,
    since: Instant,
}

impl Drop for Work {
    fn drop(&mut self) {
        self.running.lock().since.remove(&self.number);
        self.takes.observe(self.since.elapsed().as_secs_f64());
    }
}

impl Queues {
    #[rustfmt::skip] // A table reads better.
    fn new(buckets: Vec<f64>, to: &Registry) -> Result<Self> {
        let of = &["name", "controller"];
        // At the start, an object may wait for thousands of others: up to 4 minutes.
        let waits = exponential_buckets(0.001, 4.0, 10)?;
        Ok(Self {
            depth: gauge!("workqueue_depth", "Objects that wait for a reconcile", of, to)?,
            adds: counter!("workqueue_adds_total", "Objects that were added to the work queue", of, to)?,
            retries: counter!("workqueue_retries_total", "Objects that were added again after an error", of, to)?,
            waits: histogram!("workqueue_queue_duration_seconds", "How long objects wait for a reconcile", of, waits, to)?,
            takes: histogram!("workqueue_work_duration_seconds", "How long objects of the work queue are worked on", of, buckets, to)?,
            unfinished: seconds!("workqueue_unfinished_work_seconds", "How long all reconciles that run now have taken so far", of, to)?,
            longest: seconds!("workqueue_longest_running_processor_seconds", "How long the longest reconcile that runs now has taken so far", of, to)?,
            running: Arc::default(),
        })
    }

    /// Updates the metrics of running reconciles.
    fn look(&self) {
        for (name, running) in &*self.running.lock() {
            let (sum, longest) = running.lock().seconds();
            self.unfinished.with_label_values(&[name, name]).set(sum);
            self.longest.with_label_values(&[name, name]).set(longest);
        }
    }
}

impl Metrics {
    /// # Errors
    ///
    /// When two metrics have the same name.
    #[rustfmt::skip] // A table reads better.
    pub fn new(operator: &Operator, to: Registry) -> Result<Self> {
        let buckets = exponential_buckets(0.002, 2.0, 14)?;
        let of = &["controller"];

        let build = gauge!("build_info", "Always 1", &["name", "version"], to)?;
        build.with_label_values(&[operator.name, operator.version]).set(1);
        // CPU, memory, file descriptors and start time of the process.
        #[cfg(target_os = "linux")]
        to.register(Box::new(prometheus::process_collector::ProcessCollector::for_self()))?;

        Ok(Self {
            reconciles: counter!("controller_runtime_reconcile_total", "Reconciles by result", &["controller", "result"], to)?,
            errors: counter!("controller_runtime_reconcile_errors_total", "Reconciles that failed, by reason", &["controller", "reason"], to)?,
            seconds: histogram!("controller_runtime_reconcile_time_seconds", "How long reconciles take", of, buckets.clone(), to)?,
            active: gauge!("controller_runtime_active_workers", "Reconciles that run now", of, to)?,
            limit: gauge!("controller_runtime_max_concurrent_reconciles", "How many reconciles may run at once", of, to)?,
            queues: Queues::new(buckets.clone(), &to)?,
            watch_errors: counter!("watch_errors_total", "Lists and watches that failed, by reason", &["controller", "reason"], to)?,
            events_dropped: counter!("events_dropped_total", "Kubernetes events that were not sent, by reason", &["controller", "reason"], to)?,
            requests: counter!("rest_client_requests_total", "Requests to the API server", &["code", "method"], to)?,
            request_seconds: histogram!("rest_client_request_duration_seconds", "How long the API server takes to answer", &["method"], buckets, to)?,
            leads: gauge!("leader_election_master_status", "1 in the replica that holds the lease", &["name"], to)?,
            tasks: single_gauge!("tokio_alive_tasks", "Tasks of the Tokio runtimes that have not ended", to)?,
            workers: Arc::default(),
            registry: to,
        })
    }

    /// The metrics of the work queue of `controller`. From this call on, they are exported, even with the value 0.
    pub fn queue(&self, controller: &'static str) -> QueueMetrics {
        let (queues, of) = (&self.queues, &[controller, controller]);
        QueueMetrics {
            depth: queues.depth.with_label_values(of),
            adds: queues.adds.with_label_values(of),
            retries: queues.retries.with_label_values(of),
            waits: queues.waits.with_label_values(of),
            takes: queues.takes.with_label_values(of),
            running: queues.running.lock().entry(controller).or_default().clone(),
        }
    }

    /// Also counts the tasks of `workers`, the runtime of the controllers.
    pub fn count_tasks_of(&self, workers: &Handle) {
        self.workers.get_or_init(|| workers.clone());
    }

    /// All metrics in Prometheus' text format.
    ///
    /// # Errors
    ///
    /// When a metric has no value.
    pub fn text(&self) -> Result<String> {
        self.queues.look();
        let (own, workers) = (Handle::try_current().ok(), self.workers.get());
        let runtimes = own.iter().chain(workers);
        let tasks: usize = runtimes
            .map(|runtime| runtime.metrics().num_alive_tasks())
            .sum();
        self.tasks.set(i64::try_from(tasks).unwrap_or(i64::MAX));
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }
}

#[cfg(test)]
impl Metrics {
    /// The metrics of an operator without a manager.
    pub fn for_test() -> Self {
        let operator = Operator::new("test", "example.com");
        Self::new(&operator, Registry::new()).expect("different names")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The value of the series `metric` of the controller `a`.
    fn value(metrics: &Metrics, metric: &str) -> f64 {
        let series = format!("{metric}{{controller=\"a\",name=\"a\"}} ");
        let text = metrics.text().expect("text");
        let mut values = text.lines().filter_map(|line| line.strip_prefix(&series));
        let value = values.next().unwrap_or_else(|| panic!("{series}: {text}"));
        value.parse().expect("a number")
    }

    #[tokio::test]
    async fn tasks_are_counted_while_they_live() {
        fn has_one_task(metrics: &Metrics) -> bool {
            let text = metrics.text().expect("text");
            text.contains("\ntokio_alive_tasks 1\n")
        }

        let metrics = Metrics::for_test();
        assert!(!has_one_task(&metrics));
        let task = tokio::spawn(std::future::pending::<()>());
        assert!(has_one_task(&metrics));
        task.abort();
        task.await.expect_err("it was aborted");
        assert!(!has_one_task(&metrics));
    }

    #[test]
    fn a_queue_has_all_metrics_from_the_start() {
        let metrics = Metrics::for_test();
        metrics.queue("a");
        for metric in [
            "adds_total",
            "depth",
            "longest_running_processor_seconds",
            "queue_duration_seconds_count",
            "retries_total",
            "unfinished_work_seconds",
            "work_duration_seconds_count",
        ] {
            let value = value(&metrics, &format!("workqueue_{metric}"));
            assert!(value == 0.0, "{metric} is {value}");
        }
    }

    /// This also holds if the controller has a queue for each namespace.
    #[test]
    fn work_is_told_while_it_runs_and_once_it_has_ended() {
        let metrics = Metrics::for_test();
        let (here, there) = (metrics.queue("a"), metrics.queue("a"));
        metrics.queue("b");
        let works = [here.work(), there.work()];
        // As if the first reconcile began 2 s ago, and the second 1 s ago.
        for (number, seconds) in [(0, 2), (1, 1)] {
            let mut running = here.running.lock();
            let since = running.since.get_mut(&number).expect("it runs");
            *since -= Duration::from_secs(seconds);
        }
        let longest = value(&metrics, "workqueue_longest_running_processor_seconds");
        let sum = value(&metrics, "workqueue_unfinished_work_seconds");
        // Both values grow a little while the test runs.
        assert!((2.0..12.0).contains(&longest), "{longest}");
        assert!(sum >= longest + 1.0 && sum < 13.0, "{longest} of {sum}");
        let ended = "workqueue_work_duration_seconds_count";
        assert!(value(&metrics, ended) == 0.0);

        drop(works);
        assert!(value(&metrics, "workqueue_unfinished_work_seconds") == 0.0);
        assert!(value(&metrics, "workqueue_longest_running_processor_seconds") == 0.0);
        assert!(value(&metrics, ended) == 2.0);
    }
}
