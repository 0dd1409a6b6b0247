//! The manifest of the CRD, as the generated code will write it.

use serde_json::{Value, json};

use super::{
    compare::Loss,
    read::{Crd, CrdVersion},
    schema::with_inner,
};
use crate::{visible::visible, yaml};

/// Returns the entry of a version in the manifest of its CRD. `schema` is the schema that kube generates.
pub fn manifest_version(version: &CrdVersion, schema: Value) -> Value {
    let mut entry = json!(version);
    let subresources = &version.subresources;
    if subresources.status.is_some() {
        entry["subresources"] = json!({"status": {}});
    }
    // kube has the subresource `scale` only for a kind with a status.
    if let Some(scale) = &subresources.scale
        && !schema["properties"]["status"].is_null()
    {
        entry["subresources"]["scale"] = json!(scale);
    }
    yaml::remove_nulls(&mut entry);
    entry["schema"]["openAPIV3Schema"] = in_manifest(schema);
    entry
}

/// `schema` as the generated code writes it: the bounds of numbers are floats, as in the types of Kubernetes, and
/// `nullable: false` is left out.
fn in_manifest(schema: Value) -> Value {
    let Value::Object(fields) = schema else {
        return schema;
    };
    let mut converted = with_inner(fields, in_manifest);
    if converted.get("nullable") == Some(&json!(false)) {
        converted.remove("nullable");
    }
    for keyword in ["minimum", "maximum", "multipleOf"] {
        if let Some(bound) = converted.get_mut(keyword)
            && bound.is_number()
        {
            *bound = json!(bound.as_f64());
        }
    }
    converted.into()
}

/// The differences between `version` and the generated code outside of the schema.
pub(super) fn losses(version: &CrdVersion) -> Vec<Loss> {
    let mut losses = Vec::new();
    let has_status = !version.schema["properties"]["status"].is_null();
    let subresources = &version.subresources;
    if subresources.scale.is_some() && !has_status && subresources.status.is_none() {
        losses.push(Loss::new(
            "",
            "the subresource `scale` is left out: kube supports it only together with a status",
        ));
    }
    if version.storage && !version.served {
        let what = "`served` is true, because the project serves the version that it stores";
        losses.push(Loss::new("", what));
    }
    losses
}

/// The differences between `crd` and the generated code that are in no version.
pub fn losses_of_all_versions(crd: &Crd) -> Vec<Loss> {
    let mut losses = Vec::new();
    if let Some(kind) = &crd.list_kind {
        let what = format!(
            "`listKind` is `{}List` instead of `{}`: kube cannot set it",
            visible(&crd.kind),
            visible(kind)
        );
        losses.push(Loss::new("", what));
    }
    if crd.converts && crd.versions.iter().filter(|version| version.served).count() <= 1 {
        let what = "the conversion by a webhook is left out, because the CRD serves one version";
        losses.push(Loss::new("", what));
    }
    if crd.keeps_unknown_fields {
        let what = "`preserveUnknownFields` is left out: a CRD of `apiextensions.k8s.io/v1` cannot set it, so the API \
                    server removes the fields that the schema lacks";
        losses.push(Loss::new("", what));
    }
    for name in &crd.left_out {
        let what = format!(
            "the annotation `{}` is left out: it is for the webhook of the other operator",
            visible(name)
        );
        losses.push(Loss::new("", what));
    }
    losses
}
