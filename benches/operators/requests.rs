//! Reads the requests of one operator from the API server's audit log.

use std::collections::{BTreeMap, HashSet};

use anyhow::{Context, Result, ensure};
use cluster::Request;
use jiff::Timestamp;

/// The resources that the operators use. No other client uses them during the measurement.
pub const RESOURCES: [&str; 3] = ["benches", "configmaps", "events"];

/// A period of time, usually from the start of an operator.
#[derive(Clone, Copy)]
pub struct Window {
    from: Timestamp,
    to: Timestamp,
}

impl Window {
    /// Returns whether `time` is in the window.
    pub fn has(self, time: Timestamp) -> bool {
        (self.from..=self.to).contains(&time)
    }

    /// Returns the window from `from` until now.
    pub fn since(from: Timestamp) -> Self {
        Self {
            from,
            to: Timestamp::now(),
        }
    }
}

/// The requests of an operator.
pub struct Sent {
    requests: Vec<(Timestamp, Request)>,
}

impl Sent {
    /// Parses the times of the requests. Returns an error if the API server has forbidden one of the requests.
    pub fn new(requests: Vec<Request>) -> Result<Self> {
        let mut own = Vec::new();
        for request in requests {
            ensure!(request.code != 403, "its role is too small: {request:?}");
            own.push((request.time.parse()?, request));
        }
        Ok(Self { requests: own })
    }

    /// Returns the requests in `window`.
    pub fn within(&self, window: Window) -> Within<'_> {
        let requests = self.requests.iter();
        let requests = requests.filter(|(time, _)| window.has(*time));
        Within {
            from: window.from,
            requests: requests.collect(),
        }
    }
}

/// The requests of an operator in a window.
pub struct Within<'a> {
    from: Timestamp,
    requests: Vec<&'a (Timestamp, Request)>,
}

impl Within<'_> {
    /// Returns the number of requests that the API server's metrics should also count: requests for [`RESOURCES`],
    /// without watches.
    pub fn counted(&self) -> usize {
        self.count(|request| {
            request.verb != "watch" && RESOURCES.contains(&request.resource.as_str())
        })
    }

    /// Returns the number of writes, except writes of the lease.
    pub fn writes(&self) -> usize {
        self.count(|request| {
            !["get", "list", "watch"].contains(&request.verb.as_str())
                && request.resource != "leases"
        })
    }

    /// Returns the number of requests that an operator with nothing to do does not need: all except watches and
    /// requests for the lease.
    pub fn needless(&self) -> usize {
        self.count(|request| request.verb != "watch" && request.resource != "leases")
    }

    /// Returns the number of requests of each sort, as text for people.
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

    /// Returns whether a watch of `resource` has begun.
    pub fn watches(&self, resource: &str) -> bool {
        self.count(|request| request.verb == "watch" && request.resource == resource) > 0
    }

    /// Returns the seconds from the start of the window to the last status write, if the operator wrote the status of
    /// exactly `count` objects.
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

    /// Returns the milliseconds from each of `changes` to the next write of the object's status.
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
