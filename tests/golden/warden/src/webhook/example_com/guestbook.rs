// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of Guestbook: edit them. After a change of `HOOK`, run
//! `make manifests`.
//!
//! The client waits until a webhook has answered, so be quick, and send requests only where it cannot be avoided. Put
//! rules and defaults into the schema of the CRD where it can express them.

use kube_manager::webhook;

use crate::api::example_com::v1beta1::Guestbook;

/// Sets defaults for fields that a client left out.
pub struct Defaulter;

impl webhook::Defaulter for Defaulter {
    type Object = Guestbook;

    // When and how the API server calls the webhooks. `Hook` has all settings, such as the timeout, selectors, and
    // conditions in CEL.
    const HOOK: webhook::Hook = webhook::Hook::new()
        // A deletion has no object to default.
        .operations(&[webhook::Operation::Create, webhook::Operation::Update]);

    /// Changes the object before it is checked and stored. An error is a failed call: the failure policy in `HOOK`
    /// decides whether the request succeeds.
    async fn default(
        &self,
        object: &mut Guestbook,
        // `request` has the user, the operation, the namespace, and whether it is a dry run.
        request: &webhook::Request,
    ) -> anyhow::Result<webhook::Verdict> {
        set_defaults(object);
        tracing::debug!(name = request.name, "defaults are set");
        Ok(webhook::Verdict::allowed())
    }
}

/// Sets the defaults. A second call must change nothing, because the API server may call the webhook twice in one
/// request.
fn set_defaults(_: &mut Guestbook) {
    // Set your defaults here, such as `object.spec.size.get_or_insert(1);`.
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Guestbook {
        let text = include_str!(
            // What `kubectl apply -k config/samples` creates.
            "../../../config/samples/v1beta1_guestbook.yaml"
        );
        kube_manager::schema::testing::sample(text)
    }

    #[test]
    fn defaults_are_set_once() {
        let mut object = sample();
        set_defaults(&mut object);
        // Compare with your defaults here.
        let before = object.clone();
        set_defaults(&mut object);
        assert_eq!(object, before);
    }
}
