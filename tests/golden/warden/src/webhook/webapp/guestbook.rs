// SPDX-FileCopyrightText: The warden authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of Guestbook: what the API server asks before it stores an object.
//!
//! What the schema of a CRD can say needs no webhook: bounds, defaults, and CEL rules. A webhook is in
//! the way of each request, so it should be quick, and needs a good reason to send requests itself.

use kube_manager::webhook;

use crate::api::webapp::v1::Guestbook;

/// Fills in what an object leaves open.
pub struct Defaulter;

impl webhook::Defaulter for Defaulter {
    type Object = Guestbook;

    const HOOK: webhook::Hook = webhook::Hook::new()
        // Another kind of this name has the usual one.
        .name("mguestbook-v1.webapp.example.com.kb.io");

    async fn default(
        &self,
        object: &mut Guestbook,
        // Who asks, for example, and whether it is a dry run.
        request: &webhook::Request,
    ) -> anyhow::Result<webhook::Verdict> {
        set_defaults(object);
        tracing::debug!(name = request.name, "defaults are set");
        Ok(webhook::Verdict::allowed())
    }
}

/// What an object has that says nothing else. This may run more than once for one request.
fn set_defaults(object: &mut Guestbook) {
    // An example, to be replaced by defaults of your own.
    object.spec.title = object.spec.title.trim().to_owned();
}

/// Says which objects may be stored.
pub struct Validator;

impl webhook::Validator for Validator {
    type Object = Guestbook;

    const HOOK: webhook::Hook = webhook::Hook::new()
        // Another kind of this name has the usual one.
        .name("vguestbook-v1.webapp.example.com.kb.io");

    async fn validate(
        &self,
        change: webhook::Change<'_, Guestbook>,
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
            "../../../config/samples/webapp_v1_guestbook.yaml"
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
