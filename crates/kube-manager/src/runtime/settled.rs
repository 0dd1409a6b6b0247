//! What the API server has made of desired values: another value of a mutating webhook, or none of a feature that is
//! off. To send such a value again would change nothing, until the webhook or the policy is gone.

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

use super::{
    difference::{Difference, differences},
    digest,
};

/// The most differences that are remembered. A difference needs 24 bytes.
const MOST: usize = 100_000;

/// How long a difference is settled. Nothing tells that the API server would store the desired value by now.
const AGE: Duration = Duration::from_secs(600);

/// The differences that were left after a child was sent, for all children of a kind.
///
/// A difference is known by the uid of the child, its field and both values, so it counts again as soon as the field
/// changes, in the object or in the desired state. It also counts again after [`AGE`].
#[derive(Default)]
pub struct Settled(Mutex<HashMap<u64, Instant>>);

impl Settled {
    /// The first field in which `live` differs from `desired`, apart from the differences that are settled.
    pub fn difference(&self, live: &Value, desired: &Value) -> Option<String> {
        let settled = self.0.lock();
        let mut differences = differences(live, desired).into_iter();
        let unsettled = differences.find(|difference| {
            let since = settled.get(&hash(live, difference));
            since.is_none_or(|since| since.elapsed() >= AGE)
        });
        unsettled.map(|difference| difference.field)
    }

    /// Settles the differences between `desired` and `answer`, with which the API server answered to it. Returns the
    /// first field that was never settled before.
    pub fn settle(&self, answer: &Value, desired: &Value) -> Option<String> {
        let mut settled = self.0.lock();
        let now = Instant::now();
        let mut first = None;
        for difference in differences(answer, desired) {
            let hash = hash(answer, &difference);
            if settled.len() == MOST && !settled.contains_key(&hash) {
                settled.clear();
            }
            if settled.insert(hash, now).is_none() {
                first.get_or_insert(difference.field);
            }
        }
        first
    }
}

fn hash(object: &Value, difference: &Difference) -> u64 {
    let Difference {
        field,
        live,
        desired,
    } = difference;
    let uid = &object["metadata"]["uid"];
    let [live, desired] = [live, desired].map(digest::sorted_json);
    digest::hash(&format!("{uid} {field} {live} {desired}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn child(uid: &str, image: &str, replicas: u64) -> Value {
        json!({"metadata": {"uid": uid}, "spec": {"image": image, "replicas": replicas}})
    }

    #[test]
    fn what_the_api_server_has_answered_differs_until_it_changes() {
        let settled = Settled::default();
        let desired = json!({"spec": {"image": "a", "replicas": 1}});
        let answer = child("1", "mirror/a", 1);
        let field = Some(".spec.image".to_owned());
        assert_eq!(settled.difference(&answer, &desired), field);
        assert_eq!(settled.settle(&answer, &desired), field);
        assert_eq!(settled.settle(&answer, &desired), None);
        assert_eq!(settled.difference(&answer, &desired), None);

        // Another field, another value, another desired value, another child.
        let changed = child("1", "mirror/a", 2);
        let replicas = settled.difference(&changed, &desired);
        assert_eq!(replicas.as_deref(), Some(".spec.replicas"));
        assert_eq!(settled.difference(&child("1", "b", 1), &desired), field);
        let other = json!({"spec": {"image": "b"}});
        assert_eq!(settled.difference(&answer, &other), field);
        let other = child("2", "mirror/a", 1);
        assert_eq!(settled.difference(&other, &desired), field);
    }

    #[tokio::test(start_paused = true)]
    async fn a_settled_difference_counts_again_after_a_while_without_another_warning() {
        let settled = Settled::default();
        let desired = json!({"spec": {"image": "a"}});
        let answer = child("1", "mirror/a", 1);
        let field = Some(".spec.image".to_owned());
        assert_eq!(settled.settle(&answer, &desired), field);
        for _ in 0..2 {
            tokio::time::advance(AGE - Duration::from_secs(1)).await;
            assert_eq!(settled.difference(&answer, &desired), None);
            tokio::time::advance(Duration::from_secs(1)).await;
            assert_eq!(settled.difference(&answer, &desired), field);
            assert_eq!(settled.settle(&answer, &desired), None);
        }
    }

    #[test]
    fn the_memory_is_bounded() {
        let settled = Settled::default();
        let now = Instant::now();
        let hashes = (0..MOST as u64).map(|hash| (hash, now));
        settled.0.lock().extend(hashes);
        let desired = json!({"spec": {"image": "a"}});
        let answer = child("1", "b", 1);
        assert!(settled.settle(&answer, &desired).is_some());
        assert_eq!(settled.difference(&answer, &desired), None);
        assert_eq!(settled.0.lock().len(), 1);
    }
}
