// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of Guestbook, which are yours to edit. After a change of `HOOK`, run
//! `make manifests`.
//!
//! The client waits until a webhook has answered, so be quick, and send requests only where nothing else
//! helps. Rules and defaults that the schema of a CRD can hold need no webhook.

use kube_manager::webhook;

use crate::api::press::v1::Guestbook;

/// Says which objects may be stored.
pub struct Validator;

impl webhook::Validator for Validator {
    type Object = Guestbook;

    // When and how the API server calls it. `Hook` lists all settings, such as the timeout, selectors, and
    // conditions in CEL.
    const HOOK: webhook::Hook = webhook::Hook::new()
        // Given to `create webhook`.
        .path("/custom-validate-guestbook")
        // `Operation::Delete` has it called before deletions too.
        .operations(&[webhook::Operation::Create, webhook::Operation::Update]);

    /// Checks the object after all defaults and the schema. An error is a failed call, which the failure
    /// policy in `HOOK` decides about; what is wrong with the object goes into the verdict.
    async fn validate(
        &self,
        change: webhook::Change<'_, Guestbook>,
        // Has the user, the operation, the namespace, and whether it is a dry run.
        request: &webhook::Request,
    ) -> anyhow::Result<webhook::Verdict> {
        let verdict = match change {
            webhook::Change::Create(new) => check(new),
            // What is being deleted must be able to lose its finalizers, even if a rule is newer.
            webhook::Change::Update { new, .. } if new.metadata.deletion_timestamp.is_some() => {
                webhook::Verdict::allowed()
            }
            // `old` is the object before the change, for rules that compare the two.
            webhook::Change::Update { old: _, new } => check(new),
            // Is called once `HOOK` has `Operation::Delete` too.
            webhook::Change::Delete(_) => webhook::Verdict::allowed(),
        };
        tracing::debug!(name = request.name, ?verdict, "checked");
        Ok(verdict)
    }
}

/// Says what is wrong with an object, field by field: kubectl prints each error.
fn check(object: &Guestbook) -> webhook::Verdict {
    let mut verdict = webhook::Verdict::allowed();
    // An example, to be replaced by rules of your own.
    let title = object.spec.title.as_str();
    if title == "forbidden" {
        let error = webhook::FieldError::invalid("spec.title", title, "is taken");
        verdict.error(error);
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Guestbook {
        let text = include_str!(
            // What `kubectl apply -k config/samples` creates.
            "../../../config/samples/press_v1_guestbook.yaml"
        );
        serde_saphyr::from_str(text).expect("the sample fits the type")
    }

    #[test]
    fn the_sample_is_valid() {
        let mut object = sample();
        assert!(check(&object).is_allowed());
        object.spec.title = "forbidden".to_owned();
        assert_eq!(check(&object).errors()[0].path(), "spec.title");
    }
}
