//! How a child refers to its owner.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::ObjectMeta;
use serde_json::{Value, json};

/// The annotation with the owner reference.
pub const OWNER: &str = "kube-manager/owner";

/// How a child refers to its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// By an owner reference: the garbage collector deletes the child.
    Reference,
    /// By an annotation: the runtime deletes the child after the cleanup of its owner.
    Annotation,
}

impl Tie {
    /// Makes `owner` the owner of a desired child.
    pub fn set(self, child: &mut ObjectMeta, owner: Option<OwnerReference>) {
        let mut owners = further_owners(child, owner.as_ref());
        match self {
            Self::Reference => owners.extend(owner),
            Self::Annotation => {
                let annotations = child.annotations.get_or_insert_default();
                annotations.extend(owner.map(|owner| (OWNER.to_owned(), text(&owner))));
            }
        }
        child.owner_references = (!owners.is_empty()).then_some(owners);
    }

    /// Whether `child` refers to its owner in this way, and not in the other one.
    pub fn holds(self, child: &ObjectMeta) -> bool {
        match self {
            Self::Reference => annotated(child).is_none(),
            Self::Annotation => controller(child).is_none(),
        }
    }

    /// The metadata that makes `owner` the owner of `live`, for a merge patch.
    pub fn patch(self, live: &ObjectMeta, owner: Option<OwnerReference>) -> Value {
        let mut owners = further_owners(live, owner.as_ref());
        let mut annotation = None;
        match self {
            Self::Reference => owners.extend(owner),
            Self::Annotation => annotation = owner.as_ref().map(text),
        }
        let mut metadata = json!({"ownerReferences": owners});
        if annotation.is_some() || annotated(live).is_some() {
            metadata["annotations"] = json!({OWNER: annotation});
        }
        metadata
    }
}

/// The owner of `child`: the owner reference that has `controller: true`, or the one in the annotation.
pub fn controlled_by(child: &ObjectMeta) -> Option<OwnerReference> {
    let reference = controller(child).cloned();
    reference.or_else(|| annotated(child))
}

/// Removes the owner. References to further owners stay.
pub fn untie(child: &mut ObjectMeta) {
    let owners = further_owners(child, None);
    child.owner_references = (!owners.is_empty()).then_some(owners);
    if let Some(annotations) = &mut child.annotations {
        annotations.remove(OWNER);
    }
}

/// The references of `child` to other owners than its controller and `owner`.
fn further_owners(child: &ObjectMeta, owner: Option<&OwnerReference>) -> Vec<OwnerReference> {
    let mut owners = child.owner_references.clone().unwrap_or_default();
    // An object has at most one reference to each owner.
    owners.retain(|other| {
        other.controller != Some(true) && owner.is_none_or(|owner| owner.uid != other.uid)
    });
    owners
}

fn controller(child: &ObjectMeta) -> Option<&OwnerReference> {
    let mut owners = child.owner_references.iter().flatten();
    owners.find(|owner| owner.controller == Some(true))
}

fn annotated(child: &ObjectMeta) -> Option<OwnerReference> {
    let annotation = child.annotations.as_ref()?.get(OWNER)?;
    serde_json::from_str(annotation).ok()
}

fn text(owner: &OwnerReference) -> String {
    json!(owner).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> OwnerReference {
        OwnerReference {
            api_version: "shop.example.com/v1".to_owned(),
            kind: "Database".to_owned(),
            name: name.to_owned(),
            uid: format!("uid of {name}"),
            controller: Some(true),
            ..OwnerReference::default()
        }
    }

    #[test]
    fn an_owner_is_found_however_the_child_refers_to_it() {
        for tie in [Tie::Reference, Tie::Annotation] {
            let mut child = ObjectMeta::default();
            tie.set(&mut child, Some(owner("a")));
            assert_eq!(controlled_by(&child), Some(owner("a")));
            assert!(tie.holds(&child));
            untie(&mut child);
            assert_eq!(controlled_by(&child), None);
        }
        let mut child = ObjectMeta::default();
        Tie::Annotation.set(&mut child, Some(owner("a")));
        assert_eq!(child.owner_references, None);
    }

    /// As in Go: `SetControllerReference` keeps them.
    #[test]
    fn further_owners_of_a_desired_child_stay() {
        let plain = |name| OwnerReference {
            controller: None,
            ..owner(name)
        };
        for tie in [Tie::Reference, Tie::Annotation] {
            let mut child = ObjectMeta {
                owner_references: Some(vec![owner("copied"), plain("node"), plain("a")]),
                ..ObjectMeta::default()
            };
            untie(&mut child);
            tie.set(&mut child, Some(owner("a")));
            let mut expected = vec![plain("node")];
            expected.extend((tie == Tie::Reference).then(|| owner("a")));
            assert_eq!(child.owner_references, Some(expected));
            assert!(tie.holds(&child));
        }
    }

    /// After the code of an operator has changed.
    #[test]
    fn a_child_goes_from_one_way_to_the_other() {
        let other = OwnerReference {
            controller: None,
            ..owner("other")
        };
        let ways = [
            (Tie::Reference, Tie::Annotation),
            (Tie::Annotation, Tie::Reference),
        ];
        for (before, after) in ways {
            let mut live = ObjectMeta::default();
            before.set(&mut live, Some(owner("a")));
            live.owner_references
                .get_or_insert_default()
                .push(other.clone());
            assert!(!after.holds(&live));
            let patch = after.patch(&live, Some(owner("a")));
            let mut patched = json!(live);
            merge(&mut patched, &patch);
            let patched: ObjectMeta = serde_json::from_value(patched).expect("metadata");
            assert!(after.holds(&patched), "{patch}");
            assert_eq!(controlled_by(&patched), Some(owner("a")));
            assert!(patched.owner_references.expect("owners").contains(&other));
        }
    }

    /// As the API server applies a merge patch.
    fn merge(value: &mut Value, patch: &Value) {
        let Some(patch) = patch.as_object() else {
            return *value = patch.clone();
        };
        for (key, patch) in patch {
            if patch.is_null() {
                value.as_object_mut().expect("an object").remove(key);
            } else {
                merge(&mut value[key], patch);
            }
        }
    }

    #[test]
    fn an_annotation_that_is_no_owner_reference_is_no_owner() {
        let annotations = [(OWNER.to_owned(), "bob".to_owned())];
        let child = ObjectMeta {
            annotations: Some(annotations.into()),
            ..ObjectMeta::default()
        };
        assert_eq!(controlled_by(&child), None);
    }
}
