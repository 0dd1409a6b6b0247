//! What the API server has made of desired values: another value of a mutating webhook, or none of a feature that is
//! off. To send such a value again would change nothing.

use std::collections::HashSet;

use parking_lot::Mutex;
use serde_json::Value;

use super::{
    difference::{Difference, differences},
    digest,
};

/// The most differences that are remembered. A difference needs 8 bytes.
const MOST: usize = 100_000;

/// The differences that were left after a child was sent, for all children of a kind.
///
/// A difference is known by the uid of the child, its field and both values, so it counts again as soon as the field
/// changes, in the object or in the desired state.
#[derive(Default)]
pub struct Settled(Mutex<HashSet<u64>>);

impl Settled {
    /// The first field in which `live` differs from `desired`, apart from the differences that are settled.
    pub fn difference(&self, live: &Value, desired: &Value) -> Option<String> {
        let settled = self.0.lock();
        let mut differences = differences(live, desired).into_iter();
        let unsettled = differences.find(|difference| !settled.contains(&hash(live, difference)));
        unsettled.map(|difference| difference.field)
    }

    /// Settles the differences between `desired` and `answer`, with which the API server answered to it. Returns the
    /// first field that was not settled before.
    pub fn settle(&self, answer: &Value, desired: &Value) -> Option<String> {
        let mut settled = self.0.lock();
        let mut first = None;
        for difference in differences(answer, desired) {
            if settled.len() == MOST {
                settled.clear();
            }
            if settled.insert(hash(answer, &difference)) {
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

    #[test]
    fn the_memory_is_bounded() {
        let settled = Settled::default();
        settled.0.lock().extend(0..MOST as u64);
        let desired = json!({"spec": {"image": "a"}});
        let answer = child("1", "b", 1);
        assert!(settled.settle(&answer, &desired).is_some());
        assert_eq!(settled.difference(&answer, &desired), None);
        assert_eq!(settled.0.lock().len(), 1);
    }
}
