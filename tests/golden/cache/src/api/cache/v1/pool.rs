// SPDX-FileCopyrightText: The cache authors
// SPDX-License-Identifier: Apache-2.0

//! The types of Pool. Edit them: `make manifests` writes their CRD. The schema of each Rust type:
//! <https://github.com/rscaffold/rscaffold/blob/main/docs/types.md>

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// The desired state.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[kube(
    group = "cache.example.com",
    version = "v1",
    kind = "Pool",
    plural = "pools",
    namespaced,
    status = "PoolStatus",
    derive = "PartialEq",
    doc = "A resource of the cache operator.",
    printcolumn(name = "Title", type_ = "string", json_path = ".spec.title"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[schemars(transform = kube_manager::schema::structural)]
#[serde(rename_all = "camelCase")]
pub struct PoolSpec {
    /// An example, to be replaced by fields of your own.
    // The line above becomes the description of the field, `schemars` sets its bounds, and `x_kube`
    // a CEL rule: the API server checks all of them before it stores an object.
    #[schemars(length(min = 1, max = 80))]
    #[x_kube(validation = Rule::new("self == self.trim()").message("title must not begin or end with a space"))]
    pub title: String,
}

/// The observed state.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[schemars(transform = kube_manager::schema::structural)]
#[serde(rename_all = "camelCase")]
pub struct PoolStatus {
    /// The generation that the controller acted on last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// What is known about the object, with one entry for each type of condition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

#[cfg(test)]
mod tests {
    use kube_manager::schema::testing::broken_rules;

    use super::*;

    fn sample() -> Pool {
        let text = include_str!(
            // What `kubectl apply -k config/samples` creates.
            "../../../../config/samples/cache_v1_pool.yaml"
        );
        kube_manager::schema::testing::sample(text)
    }

    #[test]
    fn the_sample_keeps_the_rules() {
        let mut object = sample();
        assert_eq!(broken_rules(None, &object), [""; 0]);
        object.spec.title = " a title".to_owned();
        let expected = ["spec.title: title must not begin or end with a space"];
        assert_eq!(broken_rules(None, &object), expected);
    }
}
