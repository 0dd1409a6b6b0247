//! Starts and ends the faults.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    load::{Load, NOTES},
    schedule::{Event, Fault},
    site::{CRD, SYSTEM, Site},
};
use crate::proxy::Rule;

const ROLE: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles/soak-manager-role";

/// The time limit for the deletion of a CRD and all its objects.
const DELETION: Duration = Duration::from_secs(300);

/// The time between two checks of the processes.
const TICK: Duration = Duration::from_millis(100);

/// The sizes of clock jumps, in seconds.
const JUMPS: [i64; 4] = [45, 15 * 60, 5 * 3600, 2 * 86_400];

/// The runner of a schedule, and its results.
pub struct Runner<'a> {
    pub load: &'a Load,
    /// The rules of the role.
    rules: Value,
    /// The times when the role lacked a rule or the API server was down.
    pub withdrawn: Vec<(Timestamp, Timestamp)>,
    /// The number of faults of each kind.
    pub counts: BTreeMap<Fault, usize>,
    /// The number of requests to which a fault of a proxy applied.
    pub met: usize,
}

/// A fault that has started.
struct Active {
    event: Event,
    ends: Instant,
    rules: Vec<Rule>,
    began: Timestamp,
}

impl<'a> Runner<'a> {
    pub fn new(site: &Site, load: &'a Load) -> Self {
        Self {
            load,
            rules: site.get(ROLE).expect("a role")["rules"].clone(),
            withdrawn: Vec::new(),
            counts: BTreeMap::new(),
            met: 0,
        }
    }

    /// Runs the schedule, and returns when all faults have ended.
    pub fn run(&mut self, site: &mut Site, schedule: &[Event]) {
        let start = Instant::now();
        let mut next = schedule.iter().peekable();
        let mut active: Vec<Active> = Vec::new();
        while next.peek().is_some() || !active.is_empty() {
            if let Some(event) = next.next_if(|event| event.at <= start.elapsed()) {
                eprintln!("{event}");
                active.extend(self.begin(site, event));
            }
            let now = Instant::now();
            let (over, on): (Vec<_>, Vec<_>) = active.into_iter().partition(|it| it.ends <= now);
            active = on;
            active.extend(over.into_iter().filter_map(|fault| self.end(site, fault)));
            site.supervise();
            thread::sleep(TICK);
        }
    }

    /// Starts a fault. Returns `None` if the fault has no end.
    fn begin(&mut self, site: &mut Site, event: &Event) -> Option<Active> {
        *self.counts.entry(event.fault).or_default() += 1;
        let began = Timestamp::now();
        let mut rules = Vec::new();
        for index in event.replicas {
            let replica = &mut site.replicas[*index];
            match event.fault {
                Fault::Refused => replica.proxy.refuse(),
                Fault::Vanished => replica.proxy.vanish(),
                Fault::Slow => {
                    let late = Duration::from_millis(200 + event.detail as u64 % 3000);
                    rules.push(replica.proxy.delay(|_, _| true, late));
                }
                Fault::TooMany | Fault::Internal => {
                    let code = if event.fault == Fault::TooMany {
                        429
                    } else {
                        500
                    };
                    let count = AtomicUsize::new(0);
                    let second = move || count.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
                    rules.push(replica.proxy.answer(move |_, _| second(), code, usize::MAX));
                }
                Fault::WatchExpiry => self.met += replica.proxy.expire_watches(""),
                Fault::ClockJump => {
                    let jump = JUMPS[event.detail / 2 % JUMPS.len()];
                    replica.clock.set(if event.detail.is_multiple_of(2) {
                        jump
                    } else {
                        -jump
                    });
                }
                Fault::Paused if replica.operator.runs() => replica.operator.signal("STOP"),
                Fault::Killed | Fault::Stopped => {
                    let signal = if event.fault == Fault::Killed {
                        "KILL"
                    } else {
                        "TERM"
                    };
                    if replica.operator.runs() {
                        replica.is_signalled = true;
                        replica.operator.signal(signal);
                    }
                }
                _ => {}
            }
        }
        let is_on = self.begin_in_the_cluster(site, event);
        is_on.then(|| Active {
            ends: Instant::now() + event.lasts,
            event: event.clone(),
            rules,
            began,
        })
    }

    /// Starts the part of a fault that concerns the cluster. Returns whether the fault has an end.
    fn begin_in_the_cluster(&mut self, site: &mut Site, event: &Event) -> bool {
        match event.fault {
            Fault::ApiServerRestart => {
                let began = Timestamp::now();
                site.cluster.stop_api_server();
                thread::sleep(event.lasts.min(Duration::from_secs(3)));
                site.cluster.start_api_server().expect("it starts again");
                self.withdrawn.push((began, Timestamp::now()));
                false
            }
            Fault::LeaseTheft => {
                let thief = json!({"spec": {"holderIdentity": "thief"}});
                let lease = "leases/soak.example.com";
                site.patch(
                    &format!("/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/{lease}"),
                    &thief,
                );
                false
            }
            Fault::PermissionWithdrawn => {
                let mut rules = self.rules.as_array().expect("rules").clone();
                match event.detail % (rules.len() + 1) {
                    all if all == rules.len() => rules.clear(),
                    one => drop(rules.remove(one)),
                }
                site.patch(ROLE, &json!({"rules": rules}));
                true
            }
            Fault::CrdReplaced => {
                // The CRD is missing while another fault has deleted it.
                if let Some(mut crd) = site.get(CRD) {
                    let versions = crd["spec"]["versions"].as_array_mut().expect("versions");
                    for version in versions {
                        version["storage"] = (version["storage"] == false).into();
                    }
                    site.patch(CRD, &json!({"spec": {"versions": crd["spec"]["versions"]}}));
                }
                false
            }
            Fault::CrdDeleted => {
                // Until an earlier fault of this kind ends, the CRD is missing or being deleted.
                let is_first = site
                    .get(CRD)
                    .is_some_and(|crd| crd["metadata"]["deletionTimestamp"].is_null());
                if is_first {
                    self.load.wiped.fetch_add(1, Ordering::SeqCst);
                    site.delete(CRD);
                }
                is_first
            }
            Fault::CertificatesLost => {
                let secret = format!("/api/v1/namespaces/{SYSTEM}/secrets/soak-webhook-ca");
                assert!(site.patch(&secret, &json!({"data": null})));
                false
            }
            Fault::WatchExpiry | Fault::Killed | Fault::Stopped => false,
            _ => true,
        }
    }

    /// Ends a fault. Returns the fault if it has to end later.
    fn end(&mut self, site: &mut Site, mut fault: Active) -> Option<Active> {
        let event = fault.event.clone();
        if event.fault == Fault::CrdDeleted
            && let Some(crd) = site.get(CRD)
        {
            if fault.ends.elapsed() > DELETION {
                let objects = site.list(&format!("{NOTES}?"));
                panic!(
                    "the CRD stays: {}\nits objects: {:?}\n{}",
                    crd["status"]["conditions"],
                    objects.map(|all| (all.len(), all.into_iter().next())),
                    site.logs(),
                );
            }
            return Some(fault);
        }
        let rules = std::mem::take(&mut fault.rules);
        self.met += rules.iter().map(Rule::met).sum::<usize>();
        drop(rules);
        for index in event.replicas {
            let replica = &mut site.replicas[*index];
            match event.fault {
                Fault::Refused | Fault::Vanished => replica.proxy.forward(),
                Fault::ClockJump => replica.clock.set(0),
                Fault::Paused if replica.operator.runs() => replica.operator.signal("CONT"),
                _ => {}
            }
        }
        match event.fault {
            Fault::PermissionWithdrawn => {
                site.patch(ROLE, &json!({"rules": self.rules}));
                self.withdrawn.push((fault.began, Timestamp::now()));
            }
            Fault::CrdDeleted => {
                self.load.wiped.fetch_add(1, Ordering::SeqCst);
                site.install_crd();
            }
            _ => {}
        }
        None
    }
}
