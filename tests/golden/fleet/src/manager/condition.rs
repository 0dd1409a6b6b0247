// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! Conditions: the part of a status that says in standard terms how an object is doing.

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};
use kube::Resource;

/// Sets the condition `type_` of `object`, in place of the one that is there. Its transition time
/// moves only when it turns from true to false or back, so that setting it again leaves the status
/// as it was.
pub fn set<K: Resource>(
    conditions: &mut Vec<Condition>,
    object: &K,
    type_: &str,
    holds: bool,
    reason: &'static str,
    message: impl Into<String>,
) {
    let mut new = Condition {
        type_: type_.to_owned(),
        status: if holds { "True" } else { "False" }.to_owned(),
        reason: reason.to_owned(),
        message: message.into(),
        observed_generation: object.meta().generation,
        last_transition_time: Time(Timestamp::now()),
    };
    match conditions
        .iter_mut()
        .find(|condition| condition.type_ == type_)
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
