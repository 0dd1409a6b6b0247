// SPDX-FileCopyrightText: The library authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of Book, which are yours to edit. After a change of `HOOK`, run
//! `make manifests`.
//!
//! The client waits until a webhook has answered, so be quick, and send requests only where nothing else
//! helps. Rules and defaults that the schema of a CRD can hold need no webhook.

use kube_manager::webhook;

use crate::api::library::v1::Book;

/// Fills in what a client left open.
pub struct Defaulter;

impl webhook::Defaulter for Defaulter {
    type Object = Book;

    // When and how the API server calls it. `Hook` lists all settings, such as the timeout, selectors, and
    // conditions in CEL.
    const HOOK: webhook::Hook = webhook::Hook::new()
        // A deletion leaves nothing to fill in.
        .operations(&[webhook::Operation::Create, webhook::Operation::Update]);

    /// Changes the object before it is checked and stored. An error is a failed call, which the failure
    /// policy in `HOOK` decides about.
    async fn default(
        &self,
        object: &mut Book,
        // Has the user, the operation, the namespace, and whether it is a dry run.
        request: &webhook::Request,
    ) -> anyhow::Result<webhook::Verdict> {
        set_defaults(object);
        tracing::debug!(name = request.name, "defaults are set");
        Ok(webhook::Verdict::allowed())
    }
}

/// Sets the defaults. A second call changes nothing: the API server may call it again in one request.
fn set_defaults(_: &mut Book) {
    // Your defaults go here.
}

/// Says which objects may be stored.
pub struct Validator;

impl webhook::Validator for Validator {
    type Object = Book;

    // When and how the API server calls it. `Hook` lists all settings, such as the timeout, selectors, and
    // conditions in CEL.
    const HOOK: webhook::Hook = webhook::Hook::new()
        // `Operation::Delete` has it called before deletions too.
        .operations(&[webhook::Operation::Create, webhook::Operation::Update]);

    /// Checks the object after all defaults and the schema. An error is a failed call, which the failure
    /// policy in `HOOK` decides about; what is wrong with the object goes into the verdict.
    async fn validate(
        &self,
        change: webhook::Change<'_, Book>,
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
fn check(_: &Book) -> webhook::Verdict {
    // Your rules go here, with an error for each that is broken, such as
    // `webhook::FieldError::required("spec.size", "say how large")`.
    webhook::Verdict::allowed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Book {
        let text = include_str!(
            // What `kubectl apply -k config/samples` creates.
            "../../../config/samples/library_v1_book.yaml"
        );
        serde_saphyr::from_str(text).expect("the sample fits the type")
    }

    #[test]
    fn defaults_are_set_once() {
        let mut object = sample();
        set_defaults(&mut object);
        // Compare with the defaults that you set here.
        let before = object.clone();
        set_defaults(&mut object);
        assert_eq!(object, before);
    }

    #[test]
    fn only_what_breaks_a_rule_is_refused() {
        let object = sample();
        assert_eq!(check(&object).errors(), []);
        // Break each rule here.
    }
}
