// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of Pod, which are yours to edit. After a change of `HOOK`, run
//! `make manifests`.
//!
//! The client waits until a webhook has answered, so be quick, and send requests only where nothing else
//! helps. Rules and defaults that the schema of a CRD can hold need no webhook.

use kube_manager::webhook;

// The type of its objects.
use k8s_openapi::api::core::v1::Pod;

/// Fills in what a client left open.
pub struct Defaulter;

impl webhook::Defaulter for Defaulter {
    type Object = Pod;

    // When and how the API server calls it. `Hook` lists all settings, such as the timeout, selectors, and
    // conditions in CEL.
    const HOOK: webhook::Hook = webhook::Hook::new()
        // While no operator runs, requests go on without it: a cluster must be able to start.
        .failure_policy(webhook::FailurePolicy::Ignore)
        .namespaces(&[webhook::Label::NotIn(
            webhook::NAMESPACE_NAME,
            &["kube-system", webhook::OWN_NAMESPACE],
        )])
        // A deletion leaves nothing to fill in.
        .operations(&[webhook::Operation::Create, webhook::Operation::Update]);

    /// Changes the object before it is checked and stored. An error is a failed call, which the failure
    /// policy in `HOOK` decides about.
    async fn default(
        &self,
        object: &mut Pod,
        // Has the user, the operation, the namespace, and whether it is a dry run.
        request: &webhook::Request,
    ) -> anyhow::Result<webhook::Verdict> {
        set_defaults(object);
        tracing::debug!(name = request.name, "defaults are set");
        Ok(webhook::Verdict::allowed())
    }
}

/// Sets the defaults. A second call changes nothing: the API server may call it again in one request.
fn set_defaults(_: &mut Pod) {
    // Your defaults go here.
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_set_once() {
        let mut object = Pod::default();
        set_defaults(&mut object);
        // Compare with the defaults that you set here.
        let before = object.clone();
        set_defaults(&mut object);
        assert_eq!(object, before);
    }
}
