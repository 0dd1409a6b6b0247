// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of Lamp, which are yours to edit. After a change of `HOOK`, run
//! `make manifests`.
//!
//! The client waits until a webhook has answered, so be quick, and send requests only where nothing else
//! helps. Rules and defaults that the schema of a CRD can hold need no webhook.

use kube_manager::webhook;

// The type of its objects.
use crate::external::lights::v1::Lamp;

/// Says which objects may be stored.
pub struct Validator;

impl webhook::Validator for Validator {
    type Object = Lamp;

    // When and how the API server calls it. `Hook` lists all settings, such as the timeout, selectors, and
    // conditions in CEL.
    const HOOK: webhook::Hook = webhook::Hook::new()
        // `Operation::Delete` has it called before deletions too.
        .operations(&[webhook::Operation::Create, webhook::Operation::Update]);

    /// Checks the object after all defaults and the schema. An error is a failed call, which the failure
    /// policy in `HOOK` decides about; what is wrong with the object goes into the verdict.
    async fn validate(
        &self,
        change: webhook::Change<'_, Lamp>,
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
fn check(_: &Lamp) -> webhook::Verdict {
    // Your rules go here, with an error for each that is broken, such as
    // `webhook::FieldError::required("spec.size", "say how large")`.
    webhook::Verdict::allowed()
}
