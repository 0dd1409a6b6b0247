//! Compares the cluster with the specs of the objects, and the objects with what the clients wrote.

use std::{collections::BTreeMap, sync::atomic::Ordering};

use serde_json::Value;

use super::{
    load::{CONFIG_MAPS, Content, Done, Load, NOTES, OLD_NOTES},
    site::Site,
};

/// Returns the objects by their names.
fn by_name(objects: Vec<Value>) -> BTreeMap<String, Value> {
    let name = |object: &Value| {
        object["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    objects.into_iter().map(|it| (name(&it), it)).collect()
}

/// Returns the differences between the specs of the objects and their status and children.
pub fn differences(site: &Site) -> anyhow::Result<Vec<String>> {
    let notes = by_name(site.list(&format!("{NOTES}?"))?);
    let selector = "labelSelector=app.kubernetes.io/managed-by%3Dsoak&";
    let mut children = by_name(site.list(&format!("{CONFIG_MAPS}?{selector}"))?);
    let mut differences = Vec::new();
    for (name, note) in &notes {
        if let Some(what) = status_differs(note) {
            differences.push(format!("{name}: {what}: {note}"));
        }
        let child = children.remove(name).unwrap_or_default();
        let owner = &child["metadata"]["ownerReferences"][0];
        let copies = note["spec"]["copies"].to_string();
        if owner["uid"] != note["metadata"]["uid"]
            || owner["kind"] != "Note"
            || child["data"]["title"] != note["spec"]["title"]
            || child["data"]["copies"] != copies
        {
            differences.push(format!("{name}: {note} owns {child}"));
        }
    }
    let orphans = children
        .keys()
        .map(|name| format!("{name}: its ConfigMap has no owner"));
    differences.extend(orphans);
    Ok(differences)
}

/// Returns what is wrong with the status of an object, if anything.
fn status_differs(note: &Value) -> Option<&'static str> {
    let (metadata, status) = (&note["metadata"], &note["status"]);
    let generation = &metadata["generation"];
    let conditions = status["conditions"].as_array();
    let ready = conditions
        .into_iter()
        .flatten()
        .find(|it| it["type"] == "Ready");
    if !metadata["deletionTimestamp"].is_null() {
        return Some("is being deleted");
    }
    if status["observedGeneration"] != *generation {
        return Some("its status is of another generation");
    }
    let is_ready =
        ready.is_some_and(|it| it["status"] == "True" && it["observedGeneration"] == *generation);
    (!is_ready).then_some("is not ready")
}

/// Returns the objects that differ, in either version, from what the clients wrote.
pub fn lost(site: &Site, load: &Load, users: &[Done]) -> anyhow::Result<Vec<String>> {
    let notes = by_name(site.list(&format!("{NOTES}?"))?);
    let old = by_name(site.list(&format!("{OLD_NOTES}?"))?);
    let wiped = load.wiped.load(Ordering::SeqCst);
    let mut lost = Vec::new();
    let mut count = 0;
    for (name, known) in users.iter().flat_map(|user| &user.objects) {
        let is = notes.get(name).map(|note| Content {
            title: note["spec"]["title"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            copies: note["spec"]["copies"].as_u64().unwrap_or_default(),
        });
        count += usize::from(is.is_some());
        let may_be_gone = is.is_none() && known.wiped < wiped;
        if !known.may_be.contains(&is) && !may_be_gone {
            lost.push(format!("{name} is {is:?}, not one of {:?}", known.may_be));
        }
        let title = old.get(name).map(|note| note["spec"]["name"].clone());
        if title != is.map(|it| Value::from(it.title)) {
            lost.push(format!("{name} is another one in v1beta1: {title:?}"));
        }
    }
    if notes.len() != count || old.len() != count {
        lost.push(format!(
            "{} and {} objects, {count} of users",
            notes.len(),
            old.len()
        ));
    }
    Ok(lost)
}
