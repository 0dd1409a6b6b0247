//! Leader election: only one of several replicas works. The leader holds a Lease and renews it. The others wait until
//! the leader releases the Lease, or has not renewed it for the lease duration. The algorithm is that of client-go. It
//! does not compare the clocks of machines: a replica measures how long it has seen the Lease unchanged. Unlike
//! client-go, it also counts the time in which the machine is suspended.

use std::{future::pending, process, sync::Arc, thread, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, builder::NonEmptyStringValueParser};
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::Timestamp,
};
use kube::{
    Api,
    api::{ObjectMeta, PostParams},
};
use rustix::time::{ClockId, clock_gettime};
use tokio::{
    runtime::Handle,
    sync::watch,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    failure, flags::duration, health::Health, host::Host, metrics::Metrics, workers::Workers,
};

/// The flags of leader election.
#[derive(Clone, Debug, Args)]
pub(super) struct Election {
    /// Whether only one of several replicas works: the one that holds a Lease
    #[arg(long, env = "KUBE_MANAGER_LEADER_ELECT")]
    #[arg(action = clap::ArgAction::Set, default_value = "false", value_name = "BOOL")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) leader_elect: bool,

    /// How long other replicas wait before they take the Lease of a leader that does not renew it
    #[arg(long, env = "KUBE_MANAGER_LEADER_ELECT_LEASE_DURATION")]
    #[arg(default_value = "15s", value_parser = duration, value_name = "TIME")]
    pub(super) leader_elect_lease_duration: Duration,

    /// How long a leader tries to renew its Lease before it gives up
    #[arg(long, env = "KUBE_MANAGER_LEADER_ELECT_RENEW_DEADLINE")]
    #[arg(default_value = "10s", value_parser = duration, value_name = "TIME")]
    pub(super) leader_elect_renew_deadline: Duration,

    /// Time between two tries to renew the Lease
    #[arg(long, env = "KUBE_MANAGER_LEADER_ELECT_RETRY_PERIOD")]
    #[arg(default_value = "2s", value_parser = duration, value_name = "TIME")]
    pub(super) leader_elect_retry_period: Duration,

    /// Name of the Lease [default: name and domain of the operator]
    #[arg(
        long,
        env = "KUBE_MANAGER_LEADER_ELECT_RESOURCE_NAME",
        value_name = "NAME",
        value_parser = NonEmptyStringValueParser::new()
    )]
    pub(super) leader_elect_resource_name: Option<String>,

    /// Namespace of the Lease; by default that of the Pod or of the kubeconfig
    #[arg(
        long,
        env = "KUBE_MANAGER_LEADER_ELECT_RESOURCE_NAMESPACE",
        value_name = "NAMESPACE",
        value_parser = NonEmptyStringValueParser::new()
    )]
    pub(super) leader_elect_resource_namespace: Option<String>,
}

impl Election {
    /// Without leader election, this process leads from the start.
    pub(super) fn leadership(&self) -> Leadership {
        Leadership::with(if self.leader_elect {
            Term::Standby
        } else {
            Term::Always
        })
    }

    /// Checks that the durations do not allow two replicas to lead at the same time.
    pub(super) fn validate(&self) -> anyhow::Result<()> {
        ensure!(
            self.leader_elect_lease_duration > self.leader_elect_renew_deadline,
            "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline"
        );
        ensure!(
            self.leader_elect_renew_deadline > self.leader_elect_retry_period,
            "--leader-elect-renew-deadline must be longer than --leader-elect-retry-period"
        );
        ensure!(
            !self.leader_elect_retry_period.is_zero(),
            "--leader-elect-retry-period must not be zero"
        );
        Ok(())
    }
}

/// The clock of the election, which goes on while the machine is suspended. [`Instant`](std::time::Instant) does not on
/// Linux and macOS: after a suspended hour, this process would still lead, together with another replica.
#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;

/// The time of [`CLOCK`]. Only differences between times have a meaning.
fn now() -> Duration {
    let time = clock_gettime(CLOCK);
    // The clock counts from the start of the machine, so it is never negative.
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), nanoseconds)
}

/// How often the thread that guards the lease reads the clock. A thread sleeps longer than intended while the machine
/// is suspended.
const STEP: Duration = Duration::from_secs(1);

/// Whether this process leads. All parts of the process share this state.
#[derive(Clone)]
pub struct Leadership {
    term: Arc<watch::Sender<Term>>,
    now: Arc<dyn Fn() -> Duration + Send + Sync>,
}

/// How long this process leads.
#[derive(Clone, Copy, PartialEq)]
enum Term {
    Standby,
    /// Until a time of the clock.
    Until(Duration),
    /// Leader election is off.
    Always,
}

impl Leadership {
    fn with(term: Term) -> Self {
        Self {
            term: Arc::new(watch::Sender::new(term)),
            now: Arc::new(now),
        }
    }

    fn term(&self) -> Term {
        *self.term.borrow()
    }

    /// The current time of the clock.
    fn now(&self) -> Duration {
        (self.now)()
    }

    /// Whether this process leads now. This is also correct right after the process was paused or the machine was
    /// suspended, before the election has run again.
    pub fn holds(&self) -> bool {
        match self.term() {
            Term::Standby => false,
            Term::Until(end) => self.now() < end,
            Term::Always => true,
        }
    }

    /// Waits until this process leads.
    pub async fn acquired(&self) {
        let mut term = self.term.subscribe();
        // This cannot fail, because `self` holds the sender.
        let _ = term.wait_for(|term| *term != Term::Standby).await;
    }

    /// Ends the process if work still runs longer than twice `margin` after the end of its term. It needs its own
    /// thread, because blocking calls may occupy all threads of the runtime. Returns when `work_ended` is cancelled, or
    /// the lease is released.
    fn guard(&self, margin: Duration, work_ended: &CancellationToken) {
        let mut is_over = false;
        loop {
            let Term::Until(end) = self.term() else {
                return;
            };
            if work_ended.is_cancelled() {
                return;
            }
            let left = end.saturating_add(margin).saturating_sub(self.now());
            if is_over && left.is_zero() {
                tracing::error!(
                    "lost the lease, and calls that block kept the process from ending"
                );
                process::exit(1);
            }
            // A process that was paused gets here late, and gets the time to end by itself.
            is_over = left.is_zero();
            thread::sleep(if is_over { margin } else { left.min(STEP) });
        }
    }
}

/// A unique identity for this process. Each call returns a new one.
pub fn identity() -> String {
    // The host name is that of the Pod. The rest distinguishes two processes on one machine.
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "localhost".to_owned());
    let started = Timestamp::now().as_nanosecond();
    format!("{host}_{}_{started}", std::process::id())
}

/// A participant of the election.
pub struct Candidate {
    leases: Api<Lease>,
    /// The name of the Lease.
    lease: String,
    identity: String,
    election: Election,
    leadership: Leadership,
    /// The threads of the controllers. A leader whose controllers are all blocked does not renew its Lease.
    workers: Handle,
    /// Cancelled when the workers have ended.
    work_ended: CancellationToken,
    health: Health,
    metrics: Metrics,
    stop: CancellationToken,
    /// The Lease at its last observed change, and the time of the observation.
    seen: Option<(LeaseSpec, Duration)>,
    /// Whether the Lease may have this process as its holder. This is also true while a request to take it has no
    /// answer.
    may_hold: bool,
}

impl Candidate {
    pub fn new(
        host: &Host,
        election: Election,
        leadership: Leadership,
        workers: &Workers,
        health: Health,
        metrics: Metrics,
    ) -> Self {
        let client = host.client.clone();
        let name = election.leader_elect_resource_name.clone();
        let leases = match &election.leader_elect_resource_namespace {
            Some(namespace) => Api::namespaced(client, namespace),
            None => Api::default_namespaced(client),
        };
        Self {
            leases,
            lease: name.unwrap_or_else(|| host.operator.lease_name()),
            identity: identity(),
            election,
            leadership,
            workers: workers.handle().clone(),
            work_ended: workers.ended(),
            health,
            metrics,
            stop: host.stop.clone(),
            seen: None,
            may_hold: false,
        }
    }

    /// Acquires the Lease and renews it; ends when the Lease is lost. When the process stops, a leader continues to
    /// renew the Lease, but a standby does not acquire it.
    ///
    /// # Errors
    ///
    /// Always: another replica may lead by now, so the process must end.
    pub async fn run(&mut self) -> Result<()> {
        if self.leadership.term() == Term::Always {
            return pending().await;
        }
        self.report();
        let ended = self.keep().await;
        let now = self.leadership.now();
        self.leadership.term.send_modify(|term| {
            if let Term::Until(end) = term {
                *end = now.min(*end);
            }
        });
        self.report();
        ended
    }

    async fn keep(&mut self) -> Result<()> {
        let (retry, deadline) = (
            self.election.leader_elect_retry_period,
            self.election.leader_elect_renew_deadline,
        );
        loop {
            let start = self.leadership.now();
            let renewed = start.saturating_add(deadline);
            let term = self.leadership.term();
            if term == Term::Standby && self.stop.is_cancelled() {
                return pending().await;
            }
            // Half of the time, so that after a try without an answer there is time for another one.
            let mut patience = deadline / 2;
            if let Term::Until(end) = term {
                patience = patience.min(end.saturating_sub(start));
            }
            let tried = timeout(patience, self.hold()).await;
            let now = self.leadership.now();
            // Even if the lease was just renewed: requests have been refused since the end of the term.
            if let Term::Until(end) = term
                && now >= end
            {
                bail!("lost the lease: it could not be renewed for {deadline:?}");
            }
            match tried {
                Ok(Ok(true)) if now < renewed => {
                    self.leadership.term.send_replace(Term::Until(renewed));
                    if term == Term::Standby {
                        tracing::info!(identity = self.identity, "leads");
                        self.start_guard()?;
                    }
                }
                // This process was paused. It reads the Lease again before it leads.
                Ok(Ok(true)) => {}
                Ok(Ok(false)) if term != Term::Standby => bail!("another process has the lease"),
                Ok(Ok(false)) => {}
                // Another replica was faster. The next try sees its Lease.
                Ok(Err(kube::Error::Api(status))) if status.is_conflict() => {}
                Ok(Err(error)) => {
                    let error = failure::message(&error);
                    tracing::warn!(%error, "cannot take or renew the lease");
                }
                Err(_) => tracing::warn!("the lease could not be taken or renewed in time"),
            }
            self.report();
            let next = match self.leadership.term() {
                Term::Until(end) => end.min(start.saturating_add(retry)),
                // A standby tries more often, so that it soon takes a released Lease.
                _ => start.saturating_add(retry / 2),
            };
            sleep(next.saturating_sub(self.leadership.now())).await;
        }
    }

    /// Makes the process end before another replica leads, even if its other threads are blocked.
    fn start_guard(&self) -> Result<()> {
        let election = &self.election;
        let (duration, deadline) = (
            election.leader_elect_lease_duration,
            election.leader_elect_renew_deadline,
        );
        let margin = duration.saturating_sub(deadline) / 4;
        let (leadership, work_ended) = (self.leadership.clone(), self.work_ended.clone());
        let thread = thread::Builder::new().name("lease".to_owned());
        let started = thread.spawn(move || leadership.guard(margin, &work_ended));
        started.map(drop).context("cannot start a thread")
    }

    /// Releases the Lease, if this process holds it, so that the other replicas need not wait until it expires. Call
    /// this when all work has ended.
    pub async fn release(self) -> kube::Result<()> {
        // From here on, no request is sent.
        if self.leadership.term() != Term::Always {
            self.leadership.term.send_replace(Term::Standby);
            self.metrics.leads.with_label_values(&[&self.lease]).set(0);
            self.health
                .ready("lease", "not needed any more: the operator stops");
        }
        if !self.may_hold {
            return Ok(());
        }
        loop {
            match self.give_back().await {
                // A renewal was still in progress.
                Err(kube::Error::Api(status)) if status.is_conflict() => {}
                ended => return ended,
            }
        }
    }

    /// Renews the Lease no longer, without releasing it: another replica leads when the Lease has expired. Call this
    /// when work may still run. The process ends before the Lease expires, even if calls block.
    pub fn let_expire(self) {
        if self.may_hold {
            tracing::warn!(
                "the lease is not released, because work still runs; it expires by itself"
            );
        }
    }

    async fn give_back(&self) -> kube::Result<()> {
        let name = &self.lease;
        let mut lease = self.leases.get(name).await?;
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_deref() == Some(&self.identity) {
            spec.holder_identity = Some(String::new());
            spec.lease_duration_seconds = Some(1);
            let params = PostParams::default();
            self.leases.replace(name, &params, &lease).await?;
        }
        Ok(())
    }

    /// Tries once to acquire or renew the Lease. Returns whether this process holds it.
    async fn hold(&mut self) -> kube::Result<bool> {
        // Another replica should lead if all threads of the controllers are blocked. The task does not run then. It is
        // cancelled if the threads have ended.
        let _ = self.workers.spawn(async {}).await;
        let name = self.lease.clone();
        let lease = self.leases.get_opt(&name).await?;
        let spec = lease.as_ref().and_then(|lease| lease.spec.clone());
        if !self.may_take(spec.as_ref()) {
            self.may_hold = false;
            return Ok(false);
        }
        self.may_hold = true;
        let claim = Some(self.claim(spec));
        let params = PostParams::default();
        match lease {
            Some(mut lease) => {
                lease.spec = claim;
                // The resourceVersion makes this fail if another replica was faster.
                self.leases.replace(&name, &params, &lease).await?;
            }
            None => {
                let metadata = ObjectMeta {
                    name: Some(name),
                    ..ObjectMeta::default()
                };
                let lease = Lease {
                    metadata,
                    spec: claim,
                };
                self.leases.create(&params, &lease).await?;
            }
        }
        Ok(true)
    }

    /// Shows the leader in readiness and metrics.
    fn report(&self) {
        let leads = self.leadership.holds();
        let gauge = self.metrics.leads.with_label_values(&[&self.lease]);
        gauge.set(i64::from(leads));
        let holder = self
            .seen
            .as_ref()
            .map(|(lease, _)| lease.holder_identity.as_deref().unwrap_or_default());
        match holder {
            _ if leads => self.health.ready("lease", "held by this process"),
            Some("") => self.health.ready("lease", "held by nobody"),
            Some(holder) => self.health.ready("lease", format!("held by {holder}")),
            None => self.health.waits("lease", "not read yet"),
        }
    }

    /// Whether no other replica holds the Lease, whose current state is `now`. A replica that has seen a Lease respects
    /// it even after its deletion, because the holder may not know of the deletion yet.
    fn may_take(&mut self, now: Option<&LeaseSpec>) -> bool {
        if let Some(now) = now
            && self.seen.as_ref().is_none_or(|(last, _)| last != now)
        {
            self.seen = Some((now.clone(), self.leadership.now()));
        }
        let time = self.leadership.now();
        self.seen.as_ref().is_none_or(|(spec, since)| {
            let holder = spec.holder_identity.as_deref().unwrap_or_default();
            let seconds = spec.lease_duration_seconds.unwrap_or_default();
            // A negative duration has always expired.
            let duration = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
            holder.is_empty() || holder == self.identity || time.saturating_sub(*since) > duration
        })
    }

    /// The Lease with this process as its holder.
    fn claim(&self, found: Option<LeaseSpec>) -> LeaseSpec {
        let now = Some(MicroTime(Timestamp::now()));
        let changes_hands = found.is_some();
        let old = found.unwrap_or_default();
        let renews = old.holder_identity.as_deref() == Some(&self.identity);
        // In whole seconds, rounded up, so that the Lease does not expire before this process gives up.
        let duration = self.election.leader_elect_lease_duration.as_millis();
        let seconds = i32::try_from(duration.div_ceil(1000)).unwrap_or(i32::MAX);
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(seconds),
            acquire_time: if renews {
                old.acquire_time
            } else {
                now.clone()
            },
            renew_time: now,
            lease_transitions: Some(
                old.lease_transitions
                    .unwrap_or_default()
                    .saturating_add(i32::from(changes_hands && !renews)),
            ),
            ..old
        }
    }
}

#[cfg(test)]
impl Leadership {
    /// For a process without other replicas.
    pub fn always() -> Self {
        Self::with(Term::Always)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    };

    use clap::Parser;
    use http::{Method, Request, Response, StatusCode};
    use kube::{Client, Config, client::Body};
    use prometheus::Registry;
    use serde_json::{Value, json};
    use tokio::time::timeout;
    use tower::service_fn;

    use super::{super::operator::Operator, *};

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        election: Election,
    }

    fn election(arguments: &str) -> Election {
        let arguments = ["operator"].into_iter().chain(arguments.split_whitespace());
        Cli::parse_from(arguments).election
    }

    #[test]
    fn a_leader_gives_up_before_another_may_start() {
        assert!(election("").validate().is_ok());
        for wrong in [
            "--leader-elect-renew-deadline 15s",
            "--leader-elect-retry-period 10s",
            "--leader-elect-retry-period 0s",
        ] {
            assert!(election(wrong).validate().is_err(), "{wrong}");
        }
    }

    fn candidate(arguments: &str) -> Candidate {
        let election = election(arguments);
        let client = Client::try_from(Config::new("http://localhost".parse().expect("a URL")));
        Candidate {
            leases: Api::default_namespaced(client.expect("a client")),
            workers: Handle::current(),
            stop: CancellationToken::new(),
            work_ended: CancellationToken::new(),
            may_hold: false,
            lease: "test.example.com".to_owned(),
            identity: "me".to_owned(),
            leadership: election.leadership(),
            election,
            health: Health::default(),
            metrics: Metrics::new(&Operator::new("test", "example.com"), Registry::new())
                .expect("metrics"),
            seen: None,
        }
    }

    fn lease(holder: &str, seconds: i32) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: Some(seconds),
            ..LeaseSpec::default()
        }
    }

    fn ago(seconds: u64) -> Option<Duration> {
        now().checked_sub(Duration::from_secs(seconds))
    }

    #[tokio::test]
    async fn what_nobody_else_has_may_be_taken() {
        assert!(candidate("").may_take(None));
        for holder in ["", "me"] {
            assert!(candidate("").may_take(Some(&lease(holder, 15))));
        }
    }

    #[tokio::test]
    async fn what_another_one_has_is_left_until_it_is_silent_for_too_long() {
        let mut candidate = candidate("");
        let mut other = lease("other", 15);
        // A time from another clock, long ago.
        other.renew_time = Some(MicroTime(Timestamp::UNIX_EPOCH));
        assert!(!candidate.may_take(Some(&other)));
        assert!(!candidate.may_take(None), "it was only deleted");

        candidate.seen = ago(14).map(|then| (other.clone(), then));
        assert!(!candidate.may_take(Some(&other)));
        candidate.seen = ago(16).map(|then| (other.clone(), then));
        assert!(candidate.may_take(Some(&other)));
        assert!(candidate.may_take(None));
        other.renew_time = Some(MicroTime(Timestamp::now()));
        assert!(!candidate.may_take(Some(&other)), "it was renewed");
    }

    #[tokio::test]
    async fn a_claim_tells_since_when_and_how_often() {
        let candidate = candidate("");
        let first = candidate.claim(None);
        assert_eq!(first.holder_identity.as_deref(), Some("me"));
        assert_eq!(first.lease_transitions, Some(0));
        let renewed = candidate.claim(Some(first.clone()));
        assert_eq!(renewed.acquire_time, first.acquire_time);
        assert_eq!(renewed.lease_transitions, Some(0));
        let taken = candidate.claim(Some(lease("other", 15)));
        assert_eq!(taken.acquire_time, taken.renew_time);
        assert_eq!(taken.lease_transitions, Some(1));
        let often = LeaseSpec {
            lease_transitions: Some(i32::MAX),
            ..lease("other", 15)
        };
        let taken = candidate.claim(Some(often));
        assert_eq!(taken.lease_transitions, Some(i32::MAX));
    }

    #[tokio::test]
    async fn others_wait_no_shorter_than_the_flag_says() {
        fn seconds(duration: &str) -> Option<i32> {
            let candidate = candidate(&format!("--leader-elect-lease-duration {duration}"));
            candidate.claim(None).lease_duration_seconds
        }

        assert_eq!(seconds("15s"), Some(15));
        assert_eq!(seconds("1500ms"), Some(2));
    }
    /// A machine that is suspended: its clock goes on, but no timer does.
    #[tokio::test]
    async fn a_leader_leads_no_more_after_its_machine_was_suspended() {
        let seconds = Arc::new(AtomicU64::new(1000));
        let clock = seconds.clone();
        let leadership = Leadership {
            term: Arc::new(watch::Sender::new(Term::Until(Duration::from_secs(1010)))),
            now: Arc::new(move || Duration::from_secs(clock.load(Ordering::Relaxed))),
        };
        assert!(leadership.holds());
        let mut leader = candidate("--leader-elect");
        leader.leadership = leadership.clone();

        seconds.store(1000 + 3600, Ordering::Relaxed);
        assert!(!leadership.holds());
        let ended = leader.run().await.expect_err("it must end");
        assert!(ended.to_string().contains("lost the lease"), "{ended}");
    }

    /// `/proc/uptime` has the same clock, in seconds.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_clock_counts_suspended_time() {
        let text = std::fs::read_to_string("/proc/uptime").expect("Linux");
        let seconds = text.split(' ').next().expect("a number");
        let uptime = Duration::from_secs_f64(seconds.parse().expect("a number"));
        let late = now().abs_diff(uptime);
        assert!(late < Duration::from_secs(5), "{late:?}");
    }

    /// An API server whose Lease is free. It counts the requests that write the Lease, and remembers the last body.
    fn free_lease(writes: &Arc<AtomicUsize>, holder: &Arc<parking_lot::Mutex<Value>>) -> Client {
        let (writes, holder) = (writes.clone(), holder.clone());
        let answers = service_fn(move |request: Request<Body>| {
            let (writes, holder) = (writes.clone(), holder.clone());
            async move {
                let is_read = request.method() == Method::GET;
                let body = request.into_body().collect_bytes().await.expect("a body");
                if !is_read {
                    writes.fetch_add(1, Ordering::Relaxed);
                    *holder.lock() = serde_json::from_slice(&body).expect("a Lease");
                }
                let lease = holder.lock().to_string();
                let code = match lease.as_str() {
                    "null" => StatusCode::NOT_FOUND,
                    _ => StatusCode::OK,
                };
                let missing = json!({"kind": "Status", "code": 404, "reason": "NotFound"});
                let text = if code.is_success() {
                    lease
                } else {
                    missing.to_string()
                };
                let answer = Response::builder()
                    .status(code)
                    .body(Body::from(text.into_bytes()));
                Ok::<_, Infallible>(answer.expect("an answer"))
            }
        });
        Client::new(answers, "default")
    }

    #[tokio::test]
    async fn a_standby_that_stops_does_not_take_a_free_lease() {
        let (writes, lease) = (Arc::default(), Arc::default());
        let mut standby = candidate("--leader-elect");
        standby.leases = Api::default_namespaced(free_lease(&writes, &lease));
        standby.stop.cancel();
        let soon = Duration::from_millis(200);
        timeout(soon, standby.run()).await.expect_err("no end");
        assert_eq!(writes.load(Ordering::Relaxed), 0);
        standby.release().await.expect("nothing to release");
        assert_eq!(writes.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn a_leader_that_stops_keeps_its_lease_until_it_releases_it_or_lets_it_expire() {
        for releases in [true, false] {
            let (writes, lease) = (Arc::default(), Arc::default());
            let mut leader = candidate("--leader-elect --leader-elect-retry-period=10ms");
            leader.leases = Api::default_namespaced(free_lease(&writes, &lease));
            let (leadership, stop) = (leader.leadership.clone(), leader.stop.clone());
            let work_ended = leader.work_ended.clone();
            tokio::select! {
                ended = leader.run() => panic!("{ended:?}"),
                () = leadership.acquired() => stop.cancel(),
            }
            let renewals = async {
                while writes.load(Ordering::Relaxed) < 5 {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                ended = leader.run() => panic!("{ended:?}"),
                () = renewals => {}
            }
            assert!(leadership.holds());
            let holder = || lease.lock()["spec"]["holderIdentity"].clone();
            assert_eq!(holder(), "me");
            if releases {
                leader.release().await.expect("it is released");
                assert_eq!(holder(), "");
            } else {
                leader.let_expire();
                assert_eq!(holder(), "me");
            }
            // The Lease is still held, so a blocking call may still write.
            assert_eq!(leadership.holds(), !releases);
            work_ended.cancel();
        }
    }

    /// SIGTERM can arrive while the API server stores the claim of a standby.
    #[tokio::test]
    async fn a_claim_without_an_answer_is_released() {
        let (writes, lease) = (Arc::<AtomicUsize>::default(), Arc::default());
        let stores = free_lease(&writes, &lease);
        let silent = service_fn(move |request: Request<Body>| {
            let server = stores.clone();
            async move {
                let is_claim = request.method() == Method::POST;
                let answer = server.send(request).await;
                if is_claim {
                    pending::<()>().await;
                }
                answer
            }
        });
        let mut standby = candidate("--leader-elect");
        standby.leases = Api::default_namespaced(Client::new(silent, "default"));
        let stored = async {
            while writes.load(Ordering::Relaxed) == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            ended = standby.run() => panic!("{ended:?}"),
            () = stored => {}
        }
        assert_eq!(lease.lock()["spec"]["holderIdentity"], "me");
        standby.release().await.expect("it is released");
        assert_eq!(lease.lock()["spec"]["holderIdentity"], "");
    }
}
