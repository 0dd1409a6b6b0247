// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of Deployment: what the API server asks before it stores an object.
//!
//! What the schema of a CRD can say needs no webhook: bounds, defaults, and CEL rules. A webhook is in
//! the way of each request, so it should be quick, and needs a good reason to send requests itself.

use kube_manager::webhook;

use k8s_openapi::api::apps::v1::Deployment;

/// Says which objects may be stored.
pub struct Validator;

impl webhook::Validator for Validator {
    type Object = Deployment;

    const HOOK: webhook::Hook = webhook::Hook::new()
        // A cluster must be able to start, and this operator in it.
        .failure_policy(webhook::FailurePolicy::Ignore)
        .namespaces(&[webhook::Label::NotIn(
            webhook::NAMESPACE_NAME,
            // The second one is the operator's own.
            &["kube-system", "warden-system"],
        )]);

    async fn validate(
        &self,
        change: webhook::Change<'_, Deployment>,
        // Who asks, for example, and whether it is a dry run.
        request: &webhook::Request,
    ) -> anyhow::Result<webhook::Verdict> {
        let verdict = match change {
            webhook::Change::Create(new) => check(new),
            // What must not change is to be compared with `old`.
            webhook::Change::Update { old: _, new } => check(new),
            // Only asked with `Operation::Delete` in the operations of the hook.
            webhook::Change::Delete(_) => webhook::Verdict::allowed(),
        };
        tracing::debug!(name = request.name, ?verdict, "checked");
        Ok(verdict)
    }
}

/// What is wrong with an object, field by field.
fn check(_: &Deployment) -> webhook::Verdict {
    // Your rules go here: `verdict.error(webhook::FieldError::required("spec.size", "say how large"))`.
    webhook::Verdict::allowed()
}
