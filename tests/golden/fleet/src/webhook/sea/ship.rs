// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! The webhooks of Ship, which are yours to edit. After a change of `HOOK`, run
//! `make manifests`.
//!
//! The client waits until a webhook has answered, so be quick, and send requests only where nothing else
//! helps. Rules and defaults that the schema of a CRD can hold need no webhook.

use kube_manager::webhook;

use crate::api::sea::v1beta1::Ship;

/// Fills in what a client left open.
pub struct Defaulter;

impl webhook::Defaulter for Defaulter {
    type Object = Ship;

    // When and how the API server calls it. `Hook` lists all settings, such as the timeout, selectors, and
    // conditions in CEL.
    const HOOK: webhook::Hook = webhook::Hook::new()
        // A deletion leaves nothing to fill in.
        .operations(&[webhook::Operation::Create, webhook::Operation::Update]);

    /// Changes the object before it is checked and stored. An error is a failed call, which the failure
    /// policy in `HOOK` decides about.
    async fn default(
        &self,
        object: &mut Ship,
        // Has the user, the operation, the namespace, and whether it is a dry run.
        request: &webhook::Request,
    ) -> anyhow::Result<webhook::Verdict> {
        set_defaults(object);
        tracing::debug!(name = request.name, "defaults are set");
        Ok(webhook::Verdict::allowed())
    }
}

/// Sets the defaults. A second call changes nothing: the API server may call it again in one request.
fn set_defaults(object: &mut Ship) {
    // An example, to be replaced by defaults of your own. The schema is checked after this: it forbids
    // spaces around a title, which nobody has to know now.
    object.spec.title = object.spec.title.trim().to_owned();
}

/// Says which objects may be stored.
pub struct Validator;

impl webhook::Validator for Validator {
    type Object = Ship;

    // When and how the API server calls it. `Hook` lists all settings, such as the timeout, selectors, and
    // conditions in CEL.
    const HOOK: webhook::Hook = webhook::Hook::new()
        // `Operation::Delete` has it called before deletions too.
        .operations(&[webhook::Operation::Create, webhook::Operation::Update]);

    /// Checks the object after all defaults and the schema. An error is a failed call, which the failure
    /// policy in `HOOK` decides about; what is wrong with the object goes into the verdict.
    async fn validate(
        &self,
        change: webhook::Change<'_, Ship>,
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
fn check(object: &Ship) -> webhook::Verdict {
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

    fn sample() -> Ship {
        let text = include_str!(
            // What `kubectl apply -k config/samples` creates.
            "../../../config/samples/sea_v1beta1_ship.yaml"
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

    #[test]
    fn the_sample_is_valid() {
        let mut object = sample();
        assert!(check(&object).is_allowed());
        object.spec.title = "forbidden".to_owned();
        assert_eq!(check(&object).errors()[0].path(), "spec.title");
    }
}
