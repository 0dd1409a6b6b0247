//! The requests of one operator, from the API server's audit log.

use std::collections::{BTreeMap, HashSet};

use anyhow::{Context, Result, ensure};
use cluster::Request;
use jiff::Timestamp;

/// What the operators work with. Nobody else does while they are measured.
pub const RESOURCES: [&str; 3] = ["benches", "configmaps", "events"];

/// From one time to another: usually from the start of an operator.
#[derive(Clone, Copy)]
pub struct Window {
    from: Timestamp,
    to: Timestamp,
}

impl Window {
    /// Whether `time` is in it.
    pub fn has(self, time: Timestamp) -> bool {
        (self.from..=self.to).contains(&time)
    }

    /// From `from` until now.
    pub fn since(from: Timestamp) -> Self {
        Self {
            from,
            to: Timestamp::now(),
        }
    }
}

/// What an operator has sent.
pub struct Sent {
    requests: Vec<(Timestamp, Request)>,
}

impl Sent {
    /// Of an operator, to which none of them may have been forbidden.
    pub fn new(requests: Vec<Request>) -> Result<Self> {
        let mut own = Vec::new();
        for request in requests {
            ensure!(request.code != 403, "its role is too small: {request:?}");
            own.push((request.time.parse()?, request));
        }
        Ok(Self { requests: own })
    }

    /// Those that came in `window`.
    pub fn within(&self, window: Window) -> Within<'_> {
        let requests = self.requests.iter();
        let requests = requests.filter(|(time, _)| window.has(*time));
        Within {
            from: window.from,
            requests: requests.collect(),
        }
    }
}

/// What an operator has sent in a window.
pub struct Within<'a> {
    from: Timestamp,
    requests: Vec<&'a (Timestamp, Request)>,
}

impl Within<'_> {
    /// How many would be in the API server's metrics.
    pub fn counted(&self) -> usize {
        self.count(|request| {
            request.verb != "watch" && RESOURCES.contains(&request.resource.as_str())
        })
    }

    /// How many were to change something, other than the lease.
    pub fn writes(&self) -> usize {
        self.count(|request| {
            !["get", "list", "watch"].contains(&request.verb.as_str())
                && request.resource != "leases"
        })
    }

    /// How many an operator has no need of that has nothing to do.
    pub fn needless(&self) -> usize {
        self.count(|request| request.verb != "watch" && request.resource != "leases")
    }

    /// How many of each sort there are, for people.
    pub fn sorts(&self) -> String {
        let mut sorts = BTreeMap::<_, usize>::new();
        for (_, request) in &self.requests {
            let path = match (&*request.resource, &*request.subresource) {
                ("", _) => request.uri.clone(),
                (resource, "") => resource.to_owned(),
                (resource, subresource) => format!("{resource}/{subresource}"),
            };
            let sort = format!("{} {path} {}", request.verb, request.code);
            *sorts.entry(sort).or_default() += 1;
        }
        let sorts = sorts.iter().map(|(sort, count)| format!("{count} {sort}"));
        sorts.collect::<Vec<_>>().join(", ")
    }

    /// Whether a watch of `resource` has begun.
    pub fn watches(&self, resource: &str) -> bool {
        self.count(|request| request.verb == "watch" && request.resource == resource) > 0
    }

    /// The seconds from the begin of the window until the last status of `count` objects was sent.
    pub fn until_ready(&self, count: usize) -> Result<f64> {
        let mut names = HashSet::new();
        let mut last = self.from;
        for (time, request) in &self.requests {
            if request.resource == "benches"
                && request.subresource == "status"
                && request.code == 200
            {
                names.insert(&request.name);
                last = last.max(*time);
            }
        }
        ensure!(
            names.len() == count,
            "it wrote the status of {} objects, not of {count}",
            names.len()
        );
        Ok(last.duration_since(self.from).as_secs_f64())
    }

    /// The milliseconds from each of `changes` to the status that was written next.
    pub fn latencies(&self, changes: &[(Timestamp, String)]) -> Result<Vec<f64>> {
        let mut statuses = BTreeMap::<_, Vec<_>>::new();
        for (time, request) in &self.requests {
            if request.resource == "benches" && request.subresource == "status" {
                statuses.entry(&request.name).or_default().push(*time);
            }
        }
        let latency = |(changed, name): &(Timestamp, String)| {
            let times = statuses.get(name).map(Vec::as_slice).unwrap_or_default();
            let next = times.iter().find(|time| *time > changed);
            let next = next.with_context(|| format!("no status followed the change of {name}"))?;
            Ok(next.duration_since(*changed).as_secs_f64() * 1000.0)
        };
        ensure!(!changes.is_empty(), "nothing was changed");
        changes.iter().map(latency).collect()
    }

    fn count(&self, counts: impl Fn(&Request) -> bool) -> usize {
        let requests = self.requests.iter();
        requests.filter(|(_, request)| counts(request)).count()
    }
}
