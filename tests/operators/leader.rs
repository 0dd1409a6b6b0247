//! Tests several replicas of an operator: only one of them works at any time, and another one takes over if it fails.

use std::{
    sync::{
        LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Instant,
};

use anyhow::ensure;
use cluster::wait_until;
use hyper::Method;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::{
    certificates::Ends,
    http,
    operator::{
        Launch, Operator, PACE, PATIENCE, Project, cluster, get_until, kubectl, kubectl_succeeds,
    },
    proxy::Proxy,
    scaffold::run,
};

const LEASE: &str = "leader.example.com";

/// The default of the flag for the duration of the lease.
const LEASE_DURATION: SignedDuration = SignedDuration::from_secs(15);

/// Times for tests that do not check the defaults. On a busy machine, a renewal may take seconds, and the leader keeps
/// the lease.
const SHORT: &str = "--leader-elect-lease-duration=14s --leader-elect-renew-deadline=10s \
                     --leader-elect-retry-period=1s";

/// The duration of the lease in [`SHORT`].
const SHORT_DURATION: SignedDuration = SignedDuration::from_secs(14);

/// The flag with which kubectl has the permissions of each replica. The `ServiceAccount` need not exist.
const AS_REPLICA: &str = "--as=system:serviceaccount:leader-system:replica";

/// Returns the project that all tests here share, with its CRD installed. All `ServiceAccount`s of its namespace have
/// the permissions of the operator's own one. So each replica can have its own `ServiceAccount`, and the audit log
/// tells the replicas apart.
fn project() -> &'static Project {
    static PROJECT: LazyLock<Project> = LazyLock::new(|| {
        let project = Project::scaffold_shared(
            "leader",
            &[
                "init --domain example.com",
                "create api --group leader --version v1 --kind Task",
            ],
        );
        let controller = "src/controller/leader/task.rs";
        let start = "        let status = observe(object);\n";
        // An object's title decides which call the reconcile makes, and how long the call takes.
        let blocks = r#"        let (call, seconds) = object.spec.title.split_once('-').unwrap_or_default();
        let seconds = std::time::Duration::from_secs(seconds.parse().unwrap_or_default());
        let blocks = move || {
            tracing::info!("blocks");
            std::thread::sleep(seconds);
            tracing::info!("blocks no more");
        };
        match call {
            "block" => blocks(),
            "wait" => tokio::task::spawn_blocking(blocks).await.expect("no panic"),
            "detach" => drop(tokio::task::spawn_blocking(blocks)),
            _ => {}
        }
"#;
        project.edit(controller, start, &format!("{blocks}{start}"));
        project.compile();
        project.make("install");
        project.grant();
        run(&mut kubectl(
            "create clusterrolebinding leader-replicas --clusterrole=leader-manager-role \
             --group=system:serviceaccounts:leader-system",
        ));
        kubectl_succeeds(&format!(
            "auth can-i watch tasks.leader.example.com {AS_REPLICA}"
        ));
        project
    });
    &PROJECT
}

/// The replicas of a test. They watch one namespace, which also has their lease.
struct Replicas {
    namespace: &'static str,
}

impl Replicas {
    fn new(namespace: &'static str) -> Self {
        let project = project();
        run(&mut kubectl(&format!("create namespace {namespace}")));
        let role = project.read("config/rbac/leader_election_role.yaml");
        let role = project
            .manifest(&role.replace("namespace: system", &format!("namespace: {namespace}")));
        run(kubectl("apply -f").arg(role));
        run(&mut kubectl(&format!(
            "create rolebinding replicas --namespace {namespace} --role=leader-election-role \
             --group=system:serviceaccounts:leader-system"
        )));
        kubectl_succeeds(&format!(
            "auth can-i create leases.coordination.k8s.io --namespace {namespace} {AS_REPLICA}"
        ));
        Self { namespace }
    }

    /// Starts a replica with its own ServiceAccount.
    fn start(&self, name: &str) -> Operator {
        self.start_with(name, |launch| launch)
    }

    fn start_with(&self, name: &str, how: impl FnOnce(Launch) -> Launch) -> Operator {
        let (project, namespace) = (project(), self.namespace);
        let account = format!("{namespace}-{name}");
        let system = project.namespace();
        run(&mut kubectl(&format!(
            "create serviceaccount {account} --namespace {system}"
        )));
        let launch = project.operator().account(&account);
        how(launch)
            .args(&format!(
                "--leader-elect --leader-elect-resource-namespace={namespace} \
                 --namespace={namespace} --metrics-secure=false --metrics-bind-address=127.0.0.1:0"
            ))
            .start()
    }

    /// Starts a replica that leads, and a standby that waits until the leader ends.
    fn leader_and_standby(&self, how: impl Fn(Launch) -> Launch) -> (Operator, Operator) {
        let leader = self.start_with("one", &how);
        leader.says(&["leads"]);
        let standby = self.start_with("two", &how);
        waits(&standby, &identity(&leader));
        (leader, standby)
    }

    fn lease(&self) -> Value {
        let get = format!("get {} -o json", self.kubectl_lease());
        serde_json::from_str(&run(&mut kubectl(&get))).expect("JSON")
    }

    /// Returns the lease as arguments of kubectl.
    fn kubectl_lease(&self) -> String {
        format!("lease/{LEASE} --namespace {}", self.namespace)
    }

    fn path(&self) -> String {
        format!(
            "/apis/coordination.k8s.io/v1/namespaces/{}/leases/{LEASE}",
            self.namespace
        )
    }

    /// Returns a function that returns whether a request renews or releases the lease.
    fn writes_lease(&self) -> impl Fn(&Method, &str) -> bool + use<> {
        let path = self.path();
        move |method, uri| method == Method::PUT && uri.starts_with(&path)
    }

    /// Creates or changes an object.
    fn apply(&self, name: &str, title: &str) {
        let manifest = project().manifest(&format!(
            "apiVersion: leader.example.com/v1\nkind: Task\n\
             metadata: {{namespace: {}, name: {name}}}\nspec: {{title: {title}}}\n",
            self.namespace
        ));
        run(kubectl("apply --server-side --force-conflicts -f").arg(manifest));
    }
}

/// Waits until a replica leads, and returns its identity in the lease.
fn identity(leader: &Operator) -> String {
    let line = &leader.repeats(&["leads"], 1)[0];
    let line: Value = serde_json::from_str(line).expect("a line of JSON");
    line["identity"].as_str().expect("an identity").to_owned()
}

/// Waits until a standby is ready and reports that `holder` has the lease.
pub fn waits(standby: &Operator, holder: &str) {
    let url = format!("http://{}/readyz", standby.address("probes"));
    wait_until("a replica to see who leads", PATIENCE, || {
        let answer = http::get(&url)?;
        let held = answer
            .text
            .contains(&format!("[+] lease: held by {holder}\n"));
        ensure!(held && answer.code == 200, "{answer:?}");
        Ok(Some(()))
    })
    .unwrap_or_else(|error| panic!("{error:#}"));
}

/// Returns the times of the lines in a replica's log that have all of `parts`.
fn times(replica: &Operator, parts: &[&str]) -> Vec<Timestamp> {
    let time = |line: &String| {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        let time = line["timestamp"].as_str().expect("a timestamp");
        time.parse().expect("a timestamp")
    };
    replica.lines(parts).iter().map(time).collect()
}

/// Waits until a replica's log has a line with all of `parts`, and returns the time of the line.
#[track_caller]
fn logged(replica: &Operator, parts: &[&str]) -> Timestamp {
    replica.says(parts);
    times(replica, parts)[0]
}

/// Waits until a replica leads, and returns the time when it began to lead.
#[track_caller]
fn leads(replica: &Operator) -> Timestamp {
    logged(replica, &["leads"])
}

/// Returns the time at which a leader released the lease, as the API server recorded it.
fn released(leader: &Operator) -> String {
    let requests = leader.requests(cluster());
    let mut releases = requests
        .iter()
        .filter(|request| request.holder.as_deref() == Some(""));
    releases.next().expect("a release").time.clone()
}

/// Returns how often a standby looked at the lease after `time`, until it took the lease.
fn looks_until_taken(standby: &Operator, time: &str) -> usize {
    let taken = wait_until("a standby to take the lease", PATIENCE, || {
        let mut requests = standby.requests(cluster());
        requests.retain(|it| it.resource == "leases" && it.time.as_str() > time);
        Ok(requests.iter().position(|request| request.holder.is_some()))
    });
    taken.unwrap_or_else(|error| panic!("{error:#}"))
}

/// Returns the time of each request of a replica that was not for the lease, as the API server recorded it.
fn work(replica: &Operator) -> Vec<Timestamp> {
    let requests = replica.requests(cluster());
    let own = requests.iter().filter(|it| it.resource != "leases");
    own.map(|request| request.time.parse().expect("a timestamp"))
        .collect()
}

/// Checks that `second` did nothing before it led, and that `first` did nothing since then. Uses both the audit log of
/// the API server and the logs of the replicas.
fn never_two(first: &Operator, second: &Operator) {
    let (start, next) = (leads(first), leads(second));
    for (replica, allowed) in [(first, start..next), (second, next..Timestamp::MAX)] {
        let requests = work(replica);
        assert!(!requests.is_empty());
        let reconciles = times(replica, &["\"reconciled\""]);
        let gone = times(replica, &["is gone"]);
        let outside: Vec<_> = requests
            .iter()
            .chain(&reconciles)
            .chain(&gone)
            .filter(|time| !allowed.contains(time))
            .collect();
        let log = replica.log();
        assert!(outside.is_empty(), "{outside:?} not in {allowed:?}\n{log}");
    }
}

/// Waits until the replica has reconciled an object `times` times.
fn reconciles(replica: &Operator, name: &str, times: usize) {
    replica.repeats(&["\"reconciled\"", &format!("\"name\":\"{name}\"")], times);
}

#[test]
fn one_replica_works_and_the_other_waits() {
    let replicas = Replicas::new("one-works");
    let (one, two) = replicas.leader_and_standby(|launch| launch);
    replicas.apply("task", "fine");
    reconciles(&one, "task", 1);
    for (replica, leads) in [(&one, 1), (&two, 0)] {
        let probes = replica.address("probes");
        let alive = http::get(&format!("http://{probes}/healthz")).expect("an answer");
        assert_eq!(alive.code, 200);
        let metrics = format!("http://{}/metrics", replica.address("metrics"));
        let metrics = http::get(&metrics).expect("metrics").text;
        let gauge = format!("leader_election_master_status{{name=\"{LEASE}\"}} {leads}\n");
        assert!(metrics.contains(&gauge), "{metrics}");
    }
    let ready = http::get(&format!("http://{}/readyz", one.address("probes"))).expect("an answer");
    assert!(
        ready.text.contains("[+] lease: held by this process\n"),
        "{}",
        ready.text
    );
    assert_eq!(replicas.lease()["spec"]["holderIdentity"], identity(&one));

    assert!(two.lines(&["leads"]).is_empty());
    assert_eq!(work(&two), []);
    two.stop();
    one.stop();
}

#[test]
fn another_replica_leads_after_the_lease_of_a_killed_leader_ends() {
    let replicas = Replicas::new("killed-leader");
    let (mut one, two) = replicas.leader_and_standby(|launch| launch);
    replicas.apply("task", "fine");
    reconciles(&one, "task", 1);
    one.signal("KILL");
    one.ends_within(PATIENCE);
    let renewed = replicas.lease()["spec"]["renewTime"].clone();
    let renewed: Timestamp = renewed.as_str().expect("a time").parse().expect("a time");

    let next = leads(&two);
    let after = next.duration_since(renewed);
    assert!(after >= LEASE_DURATION, "{after:?} after the last renewal");
    let requests = one.requests(cluster());
    let mut renewals = requests.iter().filter(|request| request.holder.is_some());
    let renewal = renewals.next_back().expect("a renewal");
    // At least a second is between two looks. So the 17th look is more than 15 seconds after the end of the first one.
    // One more look may arrive while the last renewal is written.
    let looks = looks_until_taken(&two, &renewal.time);
    assert!(looks <= 18, "{looks}");
    reconciles(&two, "task", 1);
    assert_eq!(replicas.lease()["spec"]["leaseTransitions"], 1);
    never_two(&one, &two);
    two.stop();
}

#[test]
fn a_leader_that_is_stopped_hands_over_at_once() {
    let replicas = Replicas::new("stopped-leader");
    let (mut one, two) = replicas.leader_and_standby(|launch| launch);
    replicas.apply("task", "fine");
    reconciles(&one, "task", 1);
    one.signal("TERM");
    let status = one.ends_within(PATIENCE);
    assert!(status.success(), "{status}");
    // One look may arrive while the release is written.
    let looks = looks_until_taken(&two, &released(&one));
    assert!(looks <= 2, "{looks}");
    reconciles(&two, "task", 1);
    never_two(&one, &two);
    two.stop();
}

/// Cuts the leader off from the API server, and checks that the leader ends by itself before the other replica leads.
fn a_leader_that_is_cut_off_ends_first(namespace: &'static str, fault: fn(&mut Proxy)) {
    let replicas = Replicas::new(namespace);
    let mut proxy = Proxy::start(cluster());
    let mut one = replicas.start_with("one", |launch| launch.through(&proxy));
    one.says(&["leads"]);
    let two = replicas.start("two");
    waits(&two, &identity(&one));
    replicas.apply("task", "fine");
    reconciles(&one, "task", 1);

    fault(&mut proxy);
    let status = one.ends_within(PATIENCE);
    assert_eq!(status.code(), Some(1), "{}", one.log());
    let ended = logged(&one, &[r#""error":"lost the lease"#]);
    assert!(leads(&two) > ended);
    reconciles(&two, "task", 1);
    never_two(&one, &two);
    two.stop();
}

#[test]
fn a_leader_whose_connections_are_refused_ends_before_another_leads() {
    a_leader_that_is_cut_off_ends_first("refused-leader", Proxy::refuse);
}

#[test]
fn a_disconnected_leader_ends_before_another_leads() {
    a_leader_that_is_cut_off_ends_first("vanished-leader", Proxy::vanish);
}

#[test]
fn one_request_without_an_answer_costs_no_lease() {
    let replicas = Replicas::new("unanswered-lease");
    let proxy = Proxy::start(cluster());
    // A try may take half of the deadline, so ten seconds are left for the try after the held one.
    let patient = "--leader-elect-lease-duration=30s --leader-elect-renew-deadline=20s \
                   --leader-elect-retry-period=1s";
    let mut one = replicas.start_with("one", |launch| launch.through(&proxy).args(patient));
    one.says(&["leads"]);
    let (renews, first) = (replicas.writes_lease(), AtomicBool::new(true));
    let hold = proxy
        .hold(move |method, path| renews(method, path) && first.swap(false, Ordering::Relaxed));
    hold.wait(1);
    let renewed = replicas.lease()["spec"]["renewTime"].clone();
    wait_until("another renewal", PATIENCE, || {
        let now = replicas.lease()["spec"]["renewTime"].clone();
        Ok((now != renewed || !one.runs()).then_some(()))
    })
    .expect("it is renewed, or given up");
    assert!(one.runs());
    assert_eq!(one.lines(&["leads"]).len(), 1);
    one.stop();
}

#[test]
fn a_lease_that_is_deleted_stays_with_its_holder() {
    let replicas = Replicas::new("deleted-lease");
    let (one, two) = replicas.leader_and_standby(|launch| launch);
    let identity = identity(&one);
    let (delete, namespace) = (
        format!("delete {}", replicas.kubectl_lease()),
        replicas.namespace,
    );
    let missed = || {
        let requests = two.requests(cluster());
        let missed = requests
            .iter()
            .filter(|it| it.resource == "leases" && it.code == 404);
        missed.count()
    };
    // Deletes the lease until the standby has seen that it is missing.
    wait_until("a replica to miss the lease", PATIENCE, || {
        run(&mut kubectl(&delete));
        get_until(
            &format!("lease --namespace {namespace} -o jsonpath={{.items[*].spec.holderIdentity}}"),
            |holder| !holder.is_empty(),
        );
        assert_eq!(replicas.lease()["spec"]["holderIdentity"], identity);
        Ok((missed() > 1).then_some(()))
    })
    .expect("it looks often");
    assert!(two.lines(&["leads"]).is_empty());
    two.stop();
    one.stop();
}

#[test]
fn a_leader_whose_lease_was_taken_ends() {
    let replicas = Replicas::new("taken-lease");
    let mut one = replicas.start("one");
    one.says(&["leads"]);
    // Another client takes the lease without waiting for its end.
    let patch = format!("patch {} --type=merge -p", replicas.kubectl_lease());
    run(kubectl(&patch).arg(r#"{"spec":{"holderIdentity":"somebody"}}"#));
    let status = one.ends_within(PATIENCE);
    let log = one.log();
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(
        log.contains(r#""error":"another process has the lease"#),
        "{log}"
    );
    assert_eq!(replicas.lease()["spec"]["holderIdentity"], "somebody");
}

#[test]
fn a_blocked_leader_ends_before_another_leads() {
    let replicas = Replicas::new("blocked-leader");
    // The call blocks the only thread, so nothing renews the lease.
    let mut one = replicas.start_with("one", |launch| {
        launch.env("TOKIO_WORKER_THREADS", "1").args(SHORT)
    });
    one.says(&["leads"]);
    let two = replicas.start_with("two", |launch| launch.args(SHORT));
    waits(&two, &identity(&one));
    replicas.apply("task", "block-600");
    one.says(&["\"blocks\""]);
    assert_eq!(one.ends_within(PATIENCE).code(), Some(1));
    let ended = logged(&one, &["\"ERROR\"", "lost the lease"]);
    assert!(leads(&two) > ended);
}

/// Stops a leader while a blocking call runs that is much longer than the time to stop, and checks that the lease is not
/// released.
fn a_lease_expires_after(namespace: &'static str, call: &str) {
    let replicas = Replicas::new(namespace);
    let (mut one, two) = replicas
        .leader_and_standby(|launch| launch.args(SHORT).args("--graceful-shutdown-timeout=6s"));
    replicas.apply("task", &format!("{call}-600"));
    one.says(&["\"blocks\""]);
    one.signal("TERM");
    let status = one.ends_within(PATIENCE);
    assert!(status.success(), "{status}");
    let stopped = logged(&one, &["stopping"]);
    one.says(&["gave up waiting"]);
    let ended = logged(
        &one,
        &["the lease is not released, because work still runs"],
    );

    let spec = replicas.lease()["spec"].clone();
    assert_eq!(spec["holderIdentity"], identity(&one));
    assert_eq!(
        spec["leaseDurationSeconds"].as_i64(),
        Some(SHORT_DURATION.as_secs())
    );
    let renewed = spec["renewTime"].as_str().expect("a time");
    let renewed: Timestamp = renewed.parse().expect("a time");
    // It is renewed as long as the operator waits for the call.
    let waited = renewed.duration_since(stopped);
    assert!(waited >= SignedDuration::from_secs(1), "{waited:?}");
    let next = leads(&two);
    assert!(next > ended);
    let after = next.duration_since(renewed);
    assert!(after >= SHORT_DURATION, "{after:?}");
    two.stop();
}

#[test]
fn the_lease_expires_if_a_reconcile_blocks_when_its_leader_is_stopped() {
    a_lease_expires_after("blocking-reconcile", "block");
}

#[test]
fn the_lease_expires_if_a_reconcile_waits_for_a_blocking_call_when_its_leader_is_stopped() {
    a_lease_expires_after("waiting-reconcile", "wait");
}

#[test]
fn the_lease_expires_if_a_blocking_call_outlives_its_reconcile_when_its_leader_is_stopped() {
    a_lease_expires_after("detached-call", "detach");
}

#[test]
fn a_second_signal_ends_a_leader_whose_call_blocks() {
    let replicas = Replicas::new("impatient-call");
    let mut one = replicas.start_with("one", |launch| {
        launch.args("--graceful-shutdown-timeout=1h")
    });
    replicas.apply("task", "wait-600");
    one.says(&["\"blocks\""]);
    one.signal("TERM");
    one.says(&["stopping"]);
    assert!(!one.ends_after_more_signals().success());
    one.says(&["the lease is not released, because work still runs"]);
}

#[test]
fn a_lease_is_released_once_blocking_calls_have_ended() {
    let replicas = Replicas::new("short-call");
    let (mut one, two) = replicas.leader_and_standby(|launch| launch);
    for call in ["block", "wait", "detach"] {
        replicas.apply(call, &format!("{call}-4"));
    }
    one.repeats(&["\"blocks\""], 3);
    one.signal("TERM");
    let status = one.ends_within(PATIENCE);
    assert!(status.success(), "{status}");
    let ends = times(&one, &["\"blocks no more\""]);
    assert_eq!(ends.len(), 3);
    let last = ends.into_iter().max().expect("three");
    let release = released(&one);
    let released_at: Timestamp = release.parse().expect("a timestamp");
    assert!(released_at > last, "{release} and {last}");
    // One look may arrive while the release is written.
    let looks = looks_until_taken(&two, &release);
    assert!(looks <= 2, "{looks}");
    assert_eq!(replicas.lease()["spec"]["holderIdentity"], identity(&two));
    two.stop();
}

#[test]
fn a_lease_is_given_back_though_a_renewal_was_faster() {
    let replicas = Replicas::new("late-renewal");
    let proxy = Proxy::start(cluster());
    let one = replicas.start_with("one", |launch| {
        let seldom = "--leader-elect-retry-period=9s";
        launch.through(&proxy).args(seldom)
    });
    one.says(&["leads"]);
    let conflict = proxy.answer(replicas.writes_lease(), 409, 2);
    one.stop();
    assert_eq!(conflict.met(), 2);
    assert_eq!(replicas.lease()["spec"]["holderIdentity"], "");
}

#[test]
fn the_lease_is_released_after_an_error_too() {
    let replicas = Replicas::new("error-leader");
    let proxy = Proxy::start(cluster());
    let mut one = replicas.start_with("one", |launch| launch.through(&proxy));
    one.says(&["leads"]);
    let hold = proxy.hold(|_, path| path.contains("/tasks/endless/status"));
    replicas.apply("endless", "fine");
    hold.wait(1);
    one.signal("TERM");
    one.says(&["stopping"]);
    // Signals within a second count as one.
    wait_until("the operator to end", PATIENCE, || {
        if one.runs() {
            one.signal("TERM");
            return Ok(None);
        }
        Ok(Some(()))
    })
    .expect("a signal that ends it");
    assert_eq!(one.ends_within(PATIENCE).code(), Some(1));
    one.says(&["stopped a second time"]);
    assert_eq!(replicas.lease()["spec"]["holderIdentity"], "");
}

#[test]
fn a_paused_leader_writes_nothing_when_it_resumes() {
    let replicas = Replicas::new("paused-leader");
    let proxy = Proxy::start(cluster());
    let mut one = replicas.start_with("one", |launch| launch.through(&proxy).args(SHORT));
    one.says(&["leads"]);
    let two = replicas.start_with("two", |launch| launch.args(SHORT));
    waits(&two, &identity(&one));

    // When the leader is paused, it still has work to do: an object whose write it retries each second, and changes
    // that it has not seen.
    let limited = proxy.answer(
        |method, path| *method != Method::GET && path.contains("/tasks/limited/status"),
        429,
        usize::MAX,
    );
    replicas.apply("gone", "fine");
    reconciles(&one, "gone", 1);
    replicas.apply("limited", "fine");
    limited.wait(2);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for count in 0.. {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                replicas.apply("task", &format!("change-{count}"));
                thread::sleep(4 * PACE);
            }
        });
        let ends = Ends(&over);
        reconciles(&one, "task", 3);
        one.signal("STOP");
        leads(&two);
        reconciles(&two, "task", 3);
        run(&mut kubectl(
            "delete tasks.leader.example.com gone --namespace paused-leader",
        ));
        two.says(&["is gone"]);
        drop(limited);
        // A request from before the pause may get its answer now.
        let resumed = Instant::now();
        one.signal("CONT");
        let status = one.ends_within(PATIENCE);
        reconciles(&two, "task", 6);
        drop(ends);

        let log = one.log();
        assert_eq!(status.code(), Some(1), "{log}");
        assert!(log.contains(r#""error":"lost the lease"#), "{log}");
        let mut later = proxy.exchanges();
        // A request that was on its way before the pause is for a version that the other replica has replaced.
        later.retain(|exchange| {
            let is_lease = exchange.path.starts_with(&replicas.path());
            exchange.time > resumed && exchange.code != 409 && !is_lease
        });
        assert!(later.is_empty(), "{later:?}\n{log}");
    });
    never_two(&one, &two);
    two.stop();
}

#[test]
fn times_that_make_no_sense_are_refused() {
    let refused = |arguments: &str, says: &str| {
        let launch = project().operator().args("--leader-elect").args(arguments);
        let mut operator = launch.env("RUST_BACKTRACE", "1").start();
        let status = operator.ends_within(PATIENCE);
        let log = operator.log();
        assert!(!status.success(), "{log}");
        assert!(log.contains(says), "{log}");
        log
    };
    let logged = |arguments: &str, says: &str| {
        let log = refused(arguments, says);
        for line in log.lines() {
            let line: Value = serde_json::from_str(line).expect("a line of JSON");
            assert_eq!(line["level"], "ERROR", "{log}");
            assert_eq!(line["error"], says);
        }
    };
    logged(
        "--leader-elect-renew-deadline=15s",
        "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline",
    );
    logged(
        "--leader-elect-retry-period=10s",
        "--leader-elect-renew-deadline must be longer than --leader-elect-retry-period",
    );
    logged(
        "--leader-elect-retry-period=0s",
        "--leader-elect-retry-period must not be zero",
    );
    refused(
        "--leader-elect-lease-duration=15",
        "error: invalid value '15' for '--leader-elect-lease-duration <TIME>'",
    );
}
