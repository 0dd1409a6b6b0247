// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! The webhooks of Option, which are yours to edit. After a change of `HOOK`, run
//! `make manifests`.
//!
//! The client waits until a webhook has answered, so be quick, and send requests only where nothing else
//! helps. Rules and defaults that the schema of a CRD can hold need no webhook.

use kube_manager::webhook;

use crate::api::on::v1::OnOption;

/// Fills in what a client left open.
pub struct Defaulter;

impl webhook::Defaulter for Defaulter {
    type Object = OnOption;

    // When and how the API server calls it. `Hook` lists all settings, such as the timeout, selectors, and
    // conditions in CEL.
    const HOOK: webhook::Hook = webhook::Hook::new()
        // A deletion leaves nothing to fill in.
        .operations(&[webhook::Operation::Create, webhook::Operation::Update]);

    /// Changes the object before it is checked and stored. An error is a failed call, which the failure
    /// policy in `HOOK` decides about.
    async fn default(
        &self,
        object: &mut OnOption,
        // Has the user, the operation, the namespace, and whether it is a dry run.
        request: &webhook::Request,
    ) -> anyhow::Result<webhook::Verdict> {
        set_defaults(object);
        tracing::debug!(name = request.name, "defaults are set");
        Ok(webhook::Verdict::allowed())
    }
}

/// Sets the defaults. A second call changes nothing: the API server may call it again in one request.
fn set_defaults(object: &mut OnOption) {
    // An example, to be replaced by defaults of your own. The schema is checked after this: it forbids
    // spaces around a title, which nobody has to know now.
    object.spec.title = object.spec.title.trim().to_owned();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> OnOption {
        let text = include_str!(
            // What `kubectl apply -k config/samples` creates.
            "../../../config/samples/on_v1_option.yaml"
        );
        serde_saphyr::from_str(text).expect("the sample fits the type")
    }

    #[test]
    fn defaults_are_set_once() {
        let mut object = sample();
        object.spec.title = " a title ".to_owned();
        set_defaults(&mut object);
        assert_eq!(object.spec.title, "a title");
        let before = object.clone();
        set_defaults(&mut object);
        assert_eq!(object, before);
    }
}
