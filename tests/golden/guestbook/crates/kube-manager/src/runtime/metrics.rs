//! The metrics, for Prometheus. Names and labels are those of controller-runtime where it has the same
//! metric, so that dashboards and alerts work. No label has values from the cluster, so the number of
//! time series is bounded.

use prometheus::{
    HistogramVec, IntCounterVec, IntGaugeVec, Registry, Result, TextEncoder, exponential_buckets,
    register_histogram_vec_with_registry as histogram,
    register_int_counter_vec_with_registry as counter,
    register_int_gauge_vec_with_registry as gauge,
};

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
    /// `name`: the controller
    pub queued: IntGaugeVec,
    /// `controller`, `reason`
    pub watch_errors: IntCounterVec,
    /// `code`, `method`
    pub requests: IntCounterVec,
    /// `method`
    pub request_seconds: HistogramVec,
    /// `name`: the lease
    pub leads: IntGaugeVec,
    /// `crd`
    pub migrations: IntGaugeVec,
    /// `crd`, `result`
    pub migrated: IntCounterVec,
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
        // CPU, memory, file descriptors and the time of the start.
        #[cfg(target_os = "linux")]
        to.register(Box::new(prometheus::process_collector::ProcessCollector::for_self()))?;

        Ok(Self {
            reconciles: counter!("controller_runtime_reconcile_total", "Reconciles by result", &["controller", "result"], to)?,
            errors: counter!("controller_runtime_reconcile_errors_total", "Reconciles that failed, by reason", &["controller", "reason"], to)?,
            seconds: histogram!("controller_runtime_reconcile_time_seconds", "How long reconciles take", of, buckets.clone(), to)?,
            active: gauge!("controller_runtime_active_workers", "Reconciles that run now", of, to)?,
            limit: gauge!("controller_runtime_max_concurrent_reconciles", "How many reconciles may run at once", of, to)?,
            queued: gauge!("workqueue_depth", "Objects that wait for a reconcile", &["name"], to)?,
            watch_errors: counter!("watch_errors_total", "Lists and watches that failed, by reason", &["controller", "reason"], to)?,
            requests: counter!("rest_client_requests_total", "Requests to the API server", &["code", "method"], to)?,
            request_seconds: histogram!("rest_client_request_duration_seconds", "How long the API server takes to answer", &["method"], buckets, to)?,
            leads: gauge!("leader_election_master_status", "1 in the replica that holds the lease", &["name"], to)?,
            migrations: gauge!("storage_migration_pending", "1 while objects may be stored in an old version", &["crd"], to)?,
            migrated: counter!("storage_migration_objects_total", "Objects that a storage migration has tried to write", &["crd", "result"], to)?,
            registry: to,
        })
    }

    /// All metrics in Prometheus' text format.
    ///
    /// # Errors
    ///
    /// When a metric has no value.
    pub fn text(&self) -> Result<String> {
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }
}
