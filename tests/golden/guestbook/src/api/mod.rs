// SPDX-FileCopyrightText: The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! The types of the API: a module for each group, with a module for each version.

use kube::core::crd::MergeError;
use kube_manager::schema::{Crd, TypedCrd};

// One module for each group.
pub mod webapp;
// End of the groups.

/// The CustomResourceDefinitions of all kinds, each with all of its versions.
///
/// # Errors
///
/// When the versions of a kind disagree on its scope or on its names.
pub fn crds() -> Result<Vec<Crd>, MergeError> {
    Ok(vec![
        // One entry for each kind.
        Crd::merge(
            vec![
                // Its versions, oldest first.
                webapp::v1::Guestbook::typed_crd(),
            ],
            "v1", // the version to store
        )?,
        // End of the kinds.
    ])
}

#[cfg(test)]
#[test]
fn an_api_server_takes_the_crds() -> Result<(), kube_manager::schema::Faults> {
    let crds = kube_manager::schema::collect(crds)?;
    kube_manager::schema::check(&crds)?;
    Ok(())
}

/// The object in the text of a sample, which may also have objects of other kinds.
#[cfg(test)]
pub fn sample<K>(text: &str) -> K
where
    K: kube::CustomResourceExt + kube::Resource<DynamicType = ()> + serde::de::DeserializeOwned,
{
    let documents: Vec<serde_json::Value> = serde_saphyr::from_multiple(text).expect("YAML");
    let mut own = documents.into_iter();
    let own = own.find(|object| object["kind"] == *K::kind(&()));
    serde_json::from_value(own.expect("an object")).expect("the sample fits the type")
}

/// The CEL rules that `new` breaks, each after its field. `old` is the object before an update, `None` for a new
/// object. This function does not check bounds, such as a `range`; an API server does.
#[cfg(test)]
pub fn broken_rules<K>(old: Option<&K>, new: &K) -> Vec<String>
where
    K: kube::CustomResourceExt + serde::Serialize,
{
    let crd = serde_json::to_value(K::crd()).expect("a CRD is JSON");
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let json = |object: &K| serde_json::to_value(object).expect("an object is JSON");
    let old = old.map(json);
    let checked = kube_cel::Validator::new().validate(schema, &json(new), old.as_ref());
    let broken = checked.err().into_iter().flatten();
    broken.map(|error| error.to_string()).collect()
}
