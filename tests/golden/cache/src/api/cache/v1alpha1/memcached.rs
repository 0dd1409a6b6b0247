// SPDX-FileCopyrightText: The cache authors
// SPDX-License-Identifier: Apache-2.0

//! The types of Memcached. Edit them: `make manifests` writes their CRD. The schema of each Rust type:
//! <https://github.com/rscaffold/rscaffold/blob/main/docs/types.md>

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// The desired state.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[kube(
    group = "cache.example.com",
    version = "v1alpha1",
    kind = "Memcached",
    plural = "memcacheds",
    namespaced,
    status = "MemcachedStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "A resource of the cache operator.",
    printcolumn(name = "Size", type_ = "integer", json_path = ".spec.size"),
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
pub struct MemcachedSpec {
    /// Number of Pods to run.
    // The line above becomes the description of the field, and `schemars` sets its bounds: the API server
    // checks them before it stores an object.
    #[serde(default = "one_pod")]
    #[schemars(range(min = 0))]
    pub size: i32,

    /// Port on which the container listens.
    #[serde(default = "usual_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub container_port: i32,
}

fn one_pod() -> i32 {
    1
}

fn usual_port() -> i32 {
    11211
}

impl Default for MemcachedSpec {
    fn default() -> Self {
        Self {
            // As the API server returns it.
            size: one_pod(),
            container_port: usual_port(),
        }
    }
}

/// The observed state.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[schemars(transform = kube_manager::schema::structural)]
#[serde(rename_all = "camelCase")]
pub struct MemcachedStatus {
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

    fn sample() -> Memcached {
        let text = include_str!(
            // What `kubectl apply -k config/samples` creates.
            "../../../../config/samples/cache_v1alpha1_memcached.yaml"
        );
        kube_manager::schema::testing::sample(text)
    }

    #[test]
    fn the_sample_keeps_the_rules() {
        assert_eq!(broken_rules(None, &sample()), [""; 0]);
    }
}
