//! Conditions: the standard part of a status, such as `Ready`.

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};
use kube::{Resource, core::ObjectMeta};

/// A new condition of the type `type_`, such as `Ready`, with the status `True`. The reason is one CamelCase
/// word, for programs; the message is for people.
pub fn new_true<K: Resource>(
    object: &K,
    type_: &str,
    reason: &'static str,
    message: impl Into<String>,
) -> Condition {
    condition(object.meta(), type_, "True", reason, message.into())
}

/// A new condition of the type `type_` with the status `False`.
pub fn new_false<K: Resource>(
    object: &K,
    type_: &str,
    reason: &'static str,
    message: impl Into<String>,
) -> Condition {
    condition(object.meta(), type_, "False", reason, message.into())
}

pub(super) fn condition(
    object: &ObjectMeta,
    type_: &str,
    status: &str,
    reason: &str,
    message: String,
) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message,
        observed_generation: object.generation,
        last_transition_time: Time(Timestamp::now()),
    }
}

/// Replaces the condition of the same type by `new`. The time of the last transition changes only with
/// the status, so setting a condition again changes nothing.
pub fn set(conditions: &mut Vec<Condition>, mut new: Condition) {
    match conditions
        .iter_mut()
        .find(|condition| condition.type_ == new.type_)
    {
        Some(old) => {
            if old.status == new.status {
                new.last_transition_time = old.last_transition_time.clone();
            }
            *old = new;
        }
        None => conditions.push(new),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;

    use super::*;

    #[test]
    fn the_time_moves_with_the_status_only() {
        let pod = Pod::default();
        let long_ago = Time(Timestamp::UNIX_EPOCH);
        let mut conditions = vec![new_true(&pod, "Other", "Fine", "")];

        set(&mut conditions, new_true(&pod, "Ready", "Fine", "once"));
        conditions[1].last_transition_time = long_ago.clone();
        set(&mut conditions, new_true(&pod, "Ready", "Fine", "again"));
        assert_eq!(conditions.len(), 2);
        assert_eq!(conditions[1].message, "again");
        assert_eq!(conditions[1].last_transition_time, long_ago);

        set(&mut conditions, new_false(&pod, "Ready", "Broken", ""));
        assert_eq!(conditions.len(), 2);
        assert_ne!(conditions[1].last_transition_time, long_ago);
    }
}
