// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of Guestbook: edit them. After a change of `HOOK`, run
//! `make manifests`.
//!
//! The client waits until a webhook has answered, so be quick, and send requests only where it cannot be avoided. Put
//! rules and defaults into the schema of the CRD where it can express them.

use kube_manager::webhook;

use crate::api::press::v1::Guestbook;

/// Accepts or refuses objects.
pub struct Validator;

impl webhook::Validator for Validator {
    type Object = Guestbook;

    // When and how the API server calls the webhooks. `Hook` has all settings, such as the timeout, selectors, and
    // conditions in CEL.
    const HOOK: webhook::Hook = webhook::Hook::new()
        // From a flag of `create webhook`.
        .path("/custom-validate-guestbook")
        // Add `Operation::Delete` to also check deletions.
        .operations(&[webhook::Operation::Create, webhook::Operation::Update]);

    /// Checks the object, after all defaults and after the schema. Report what is wrong with the object in the verdict.
    /// An error is a failed call: the failure policy in `HOOK` decides whether the request succeeds.
    async fn validate(
        &self,
        change: webhook::Change<'_, Guestbook>,
        // `request` has the user, the operation, the namespace, and whether it is a dry run.
        request: &webhook::Request,
    ) -> anyhow::Result<webhook::Verdict> {
        let verdict = match change {
            webhook::Change::Create(new) => check(new),
            // An object that is being deleted must be able to lose its finalizers, even if it breaks a new rule.
            webhook::Change::Update { new, .. } if new.metadata.deletion_timestamp.is_some() => {
                webhook::Verdict::allowed()
            }
            // `old` is the object before the change, for rules that compare both. A new rule must allow what breaks it in
            // `old` already: otherwise, no controller can change the labels and finalizers of that object.
            webhook::Change::Update { old: _, new } => check(new),
            // Called only if `HOOK` also has `Operation::Delete`.
            webhook::Change::Delete(_) => webhook::Verdict::allowed(),
        };
        tracing::debug!(name = request.name, ?verdict, "checked");
        Ok(verdict)
    }
}

/// Returns what is wrong with an object, field by field: kubectl prints each error.
fn check(_: &Guestbook) -> webhook::Verdict {
    // Check your rules here, with an error for each broken rule, such as
    // `webhook::FieldError::required("spec.size", "say how large")`.
    webhook::Verdict::allowed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Guestbook {
        let text = include_str!(
            // What `kubectl apply -k config/samples` creates.
            "../../../config/samples/press_v1_guestbook.yaml"
        );
        kube_manager::schema::testing::sample(text)
    }

    #[test]
    fn only_what_breaks_a_rule_is_refused() {
        let object = sample();
        let verdict = check(&object);
        assert!(verdict.is_allowed(), "{verdict:?}");
        // Break each rule here.
    }
}
