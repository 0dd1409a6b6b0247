// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of Pod: what the API server asks before it stores an object.
//!
//! What the schema of a CRD can say needs no webhook: bounds, defaults, and CEL rules. A webhook is in
//! the way of each request, so it should be quick, and needs a good reason to send requests itself.

use kube_manager::webhook;

use k8s_openapi::api::core::v1::Pod;

/// Fills in what an object leaves open.
pub struct Defaulter;

impl webhook::Defaulter for Defaulter {
    type Object = Pod;

    const HOOK: webhook::Hook = webhook::Hook::new()
        // A cluster must be able to start, and this operator in it.
        .failure_policy(webhook::FailurePolicy::Ignore)
        .namespaces(&[webhook::Label::NotIn(
            webhook::NAMESPACE_NAME,
            // The second one is the operator's own.
            &["kube-system", "warden-system"],
        )]);

    async fn default(
        &self,
        object: &mut Pod,
        // Who asks, for example, and whether it is a dry run.
        request: &webhook::Request,
    ) -> anyhow::Result<webhook::Verdict> {
        set_defaults(object);
        tracing::debug!(name = request.name, "defaults are set");
        Ok(webhook::Verdict::allowed())
    }
}

/// What an object has that says nothing else. This may run more than once for one request.
fn set_defaults(_: &mut Pod) {
    // Your defaults go here.
}
