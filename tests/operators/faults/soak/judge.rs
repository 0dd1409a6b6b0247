//! Reads in the API server's audit log which replica wrote when, which replica held the lease at that time, and which
//! requests were forbidden.

use std::time::Duration;

use cluster::{ADMINISTRATOR, Request};
use jiff::Timestamp;

use super::site::{LEASE, SYSTEM, Site};

/// The time that the API server may take to learn of a changed role, and to learn of all roles after its start.
const ROLES: Duration = Duration::from_secs(5);

/// The result of [`judge`].
#[derive(Debug, Default)]
pub struct Verdict {
    pub requests: usize,
    pub writes: usize,
    /// How many times a process took the lease.
    pub terms: usize,
    /// Writes of a replica that did not hold the lease.
    pub outside: Vec<String>,
    pub forbidden: usize,
    /// Requests that were forbidden although the role had the rule.
    pub wrongly_forbidden: Vec<String>,
}

/// A write of the lease that succeeded.
struct Claim {
    time: Timestamp,
    /// The replica; `None` for the client that steals the lease.
    replica: Option<usize>,
    /// The process that holds the lease, as the lease names it.
    holder: String,
}

/// Checks all requests of the replicas. `withdrawn` lists the times when the role lacked a rule or the API server was
/// down.
pub fn judge(site: &Site, withdrawn: &[(Timestamp, Timestamp)]) -> Verdict {
    let requests: Vec<_> = site
        .replicas
        .iter()
        .map(|it| site.cluster.requests_by(&it.user).expect("an audit log"))
        .collect();
    let claims = claims(site, &requests);
    let mut holders: Vec<_> = claims.iter().map(|it| it.holder.as_str()).collect();
    holders.dedup();
    let mut verdict = Verdict {
        terms: holders.len(),
        ..Verdict::default()
    };
    for (replica, requests) in requests.iter().enumerate() {
        verdict.requests += requests.len();
        for request in requests {
            if request.code == 403 {
                verdict.forbidden += 1;
                let time = time(request);
                let is_withdrawn =
                    |(from, to): &(Timestamp, Timestamp)| *from <= time && time <= *to + ROLES;
                if !withdrawn.iter().any(is_withdrawn) {
                    verdict.wrongly_forbidden.push(format!("{request:?}"));
                }
            }
            if takes_the_lease(request) && request.code < 300 {
                verdict.writes += 1;
                if let Some(why) = outside(time(request), replica, &claims) {
                    verdict.outside.push(format!("{why}: {request:?}"));
                }
            }
        }
    }
    verdict
}

fn time(request: &Request) -> Timestamp {
    request.time.parse().expect("a time")
}

/// Returns whether a request is a write that only the leader may send. Each replica may write the lease and the
/// certificates of the webhooks.
fn takes_the_lease(request: &Request) -> bool {
    let is_write = !["get", "list", "watch"].contains(&request.verb.as_str());
    let is_of_each = match request.resource.as_str() {
        "leases" | "secrets" => true,
        "customresourcedefinitions" => request.subresource.is_empty(),
        resource => resource.ends_with("webhookconfigurations"),
    };
    is_write && !is_of_each
}

/// Returns all writes of the lease that name a holder, in their order.
fn claims(site: &Site, requests: &[Vec<Request>]) -> Vec<Claim> {
    let admin = site
        .cluster
        .requests_by(ADMINISTRATOR)
        .expect("an audit log");
    let replicas = requests
        .iter()
        .enumerate()
        .map(|(index, it)| (Some(index), it));
    let mut claims = Vec::new();
    for (replica, requests) in replicas.chain([(None, &admin)]) {
        let of_lease = requests
            .iter()
            .filter(|it| it.resource == "leases" && it.namespace == SYSTEM && it.code < 300);
        claims.extend(of_lease.filter_map(|request| {
            let holder = request.holder.clone().filter(|holder| !holder.is_empty());
            Some(Claim {
                time: time(request),
                replica,
                holder: holder?,
            })
        }));
    }
    claims.sort_by_key(|claim| claim.time);
    claims
}

/// Returns why the replica did not hold the lease at this time; `None` if the replica held it.
///
/// A replica holds the lease from the write that takes it until another replica takes it, but no longer than the lease
/// duration after its last renewal. There is no further tolerance: a leader stops sending requests at the renew
/// deadline, four seconds earlier. The client that steals the lease writes nothing else, so the old leader is the only
/// writer until it notices the theft.
fn outside(time: Timestamp, replica: usize, claims: &[Claim]) -> Option<String> {
    let before = &claims[..claims.partition_point(|claim| claim.time <= time)];
    let Some(last) = before.iter().rfind(|claim| claim.replica.is_some()) else {
        return Some("nobody had the lease yet".to_owned());
    };
    if last.replica != Some(replica) {
        return Some(format!(
            "{} had taken the lease at {}",
            last.holder, last.time
        ));
    }
    let over = last.time + LEASE < time;
    over.then(|| format!("the lease was not renewed since {}", last.time))
}

mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + seconds).expect("a time")
    }

    #[test]
    fn a_write_counts_for_the_holder_of_its_time() {
        let claim = |seconds, replica, holder: &str| Claim {
            time: at(seconds),
            replica,
            holder: holder.to_owned(),
        };
        let claims = [
            claim(0, Some(0), "a"),
            claim(2, Some(0), "a"),
            claim(3, None, "thief"),
            claim(15, Some(1), "b"),
        ];
        let outside = |seconds, replica| outside(at(seconds), replica, &claims);
        assert!(outside(-1, 0).is_some_and(|why| why.contains("nobody")));
        assert_eq!(outside(1, 0), None);
        assert!(outside(1, 1).is_some_and(|why| why.contains("a had taken")));
        assert_eq!(outside(14, 0), None, "the lease lasts until then");
        assert!(outside(15, 0).is_some_and(|why| why.contains("b had taken")));
        assert_eq!(outside(16, 1), None);
        assert!(outside(28, 1).is_some_and(|why| why.contains("not renewed")));
    }
}
