//! Recognizes that the API server refuses a change because a field is immutable. No code says so, only the text.

use kube::core::{Status, response::StatusCause};
use serde_json::Value;

use super::difference::differences;

/// How the API server and the validation rules of CRDs say that a field cannot change.
const PHRASES: &[&str] = &[
    "immutable",
    "may not change",
    "may not be changed",
    "may not be updated",
    "cannot change",
    "cannot be changed",
    "cannot be updated",
    "can not be unset",
    "updates to",
];

/// A change that the API server has refused.
pub struct Refusal {
    /// The path of the field, such as `.spec.template`.
    pub field: String,
    /// The reason in the API server's words, without the value.
    pub text: String,
}

/// The immutable field because of which the API server has refused to change `live` to `desired`. `None` if there is
/// another reason, too: then a new object would be refused.
pub fn refusal(status: &Status, live: &Value, desired: &Value) -> Option<Refusal> {
    let details = status
        .details
        .as_ref()
        .filter(|_| is_by_validation(status))?;
    let mut causes = details.causes.iter();
    let is_immutable = |cause: &StatusCause| {
        let reason = reason(&cause.message).to_lowercase();
        is_named(&cause.field) && PHRASES.iter().any(|phrase| reason.contains(phrase))
    };
    if !causes.clone().all(is_immutable) {
        return None;
    }
    let cause = causes.next()?;
    let changed = changed(&cause.field, &cause.message, live, desired);
    Some(Refusal {
        field: changed.unwrap_or_else(|| format!(".{}", cause.field)),
        text: reason(&cause.message).to_owned(),
    })
}

/// Whether the API server's own validation has refused an object. Its message begins with the object: `Secret "a" is
/// invalid`. A refusal by an admission webhook or a policy may be temporary, and can have the same code, reason and
/// causes. But its message begins with `admission webhook`, or says `is forbidden`.
pub fn is_by_validation(status: &Status) -> bool {
    let Some(details) = &status.details else {
        return false;
    };
    let qualified_kind = format!("{}.{}", details.kind, details.group);
    let kind = qualified_kind.trim_end_matches('.');
    let start = format!("{kind} \"{}\" is invalid", details.name);
    status.code == 422 && status.message.starts_with(&start)
}

/// Whether `field` is a path. A rule for a whole custom resource has `<nil>`.
fn is_named(field: &str) -> bool {
    !matches!(field, "" | "<nil>")
}

/// The path of the first difference within `field`. For a StatefulSet, the API server names only `spec`, and lists the
/// fields of it that can change.
fn changed(field: &str, text: &str, live: &Value, desired: &Value) -> Option<String> {
    let start = format!(".{field}");
    let differences = differences(live, desired).into_iter();
    let mut fields = differences.map(|difference| difference.field);
    fields.find(|changed| {
        let inside = changed.strip_prefix(&start).map(|rest| {
            let name = rest.trim_start_matches('.').split(['.', '[']).next();
            name.unwrap_or_default()
        });
        inside.is_some_and(|name| !text.contains(&format!("'{name}'")))
    })
}

/// The reason in a cause, such as `Forbidden: <reason>` and `Invalid value: <value>: <reason>`.
fn reason(message: &str) -> &str {
    let Some((kind, rest)) = message.split_once(": ") else {
        return message;
    };
    match kind {
        "Invalid value" => rest.rsplit_once(": ").map_or(rest, |(_, reason)| reason),
        "Forbidden" => rest,
        _ => message,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A refusal by the API server's own validation.
    fn status(code: u16, field: &str, message: &str) -> Status {
        let causes = [json!({"message": message, "field": field})];
        let says = format!("StatefulSet.apps \"a\" is invalid: {field}: {message}");
        let details =
            json!({"group": "apps", "kind": "StatefulSet", "name": "a", "causes": causes});
        let status =
            json!({"code": code, "reason": "Invalid", "message": says, "details": details});
        serde_json::from_value(status).expect("a status")
    }

    /// A new object would be refused because of the other field.
    #[test]
    fn another_reason_counts_more_than_an_immutable_field() {
        let mut status = status(
            422,
            "spec.template",
            "Invalid value: {}: field is immutable",
        );
        let refusal_of = |status: &Status| refusal(status, &json!({}), &json!({}));
        assert!(refusal_of(&status).is_some());
        let details = status.details.as_mut().expect("details");
        details.causes.push(StatusCause {
            field: "metadata.labels".to_owned(),
            message: "Invalid value: \"a b\": must be a label".to_owned(),
            reason: "FieldValueInvalid".to_owned(),
        });
        assert!(refusal_of(&status).is_none());
    }

    /// The texts are those of Kubernetes 1.36.
    #[test]
    fn the_field_that_cannot_change_is_found() {
        let cases = [
            (
                "spec",
                "Forbidden: updates to statefulset spec for fields other than 'replicas', 'template' are forbidden",
                json!({"spec": {"template": 1, "serviceName": "a", "volumeClaimTemplates": [{"a": 1}]}}),
                json!({"spec": {"template": 2, "serviceName": "a", "volumeClaimTemplates": [{"a": 2}]}}),
                ".spec.volumeClaimTemplates[0].a",
                "updates to statefulset spec for fields other than 'replicas', 'template' are forbidden",
            ),
            (
                "spec.template",
                "Invalid value: {\"spec\":{\"a\":\"b: c\"}}: field is immutable",
                json!({"spec": {"template": {"spec": {"image": "a", "x": 1}}}}),
                json!({"spec": {"template": {"spec": {"image": "b"}}}}),
                ".spec.template.spec.image",
                "field is immutable",
            ),
            (
                "spec.clusterIPs[0]",
                "Invalid value: [\"10.0.0.2\"]: may not change once set",
                json!({"spec": {"clusterIP": "10.0.0.1"}}),
                json!({"spec": {"clusterIP": "10.0.0.2"}}),
                ".spec.clusterIPs[0]",
                "may not change once set",
            ),
            (
                "data",
                "Forbidden: field is immutable when `immutable` is set",
                json!({"data": {"a": "1"}}),
                json!({"data": {"a": "2"}}),
                ".data.a",
                "field is immutable when `immutable` is set",
            ),
        ];
        for (field, message, live, desired, path, text) in cases {
            let refusal = refusal(&status(422, field, message), &live, &desired).expect(message);
            assert_eq!((&*refusal.field, &*refusal.text), (path, text));
        }
    }

    #[test]
    fn other_refusals_are_none_of_it() {
        let none = json!({});
        let invalid = "Invalid value: -1: must be greater than or equal to 0";
        assert!(refusal(&status(422, "spec.replicas", invalid), &none, &none).is_none());
        let value = "Invalid value: \"immutable\": must be a number";
        assert!(refusal(&status(422, "spec.text", value), &none, &none).is_none());
        let conflict = status(409, "spec", "field is immutable");
        assert!(refusal(&conflict, &none, &none).is_none());
        // A rule for a whole custom resource names no field.
        let unnamed = status(422, "<nil>", "Invalid value: \"object\": all is immutable");
        assert!(refusal(&unnamed, &none, &none).is_none());
    }

    /// The texts are those of Kubernetes 1.36.
    #[test]
    fn a_refusal_by_an_admission_webhook_or_a_policy_may_be_temporary() {
        let live = json!({"spec": {"replicas": 1}});
        let desired = json!({"spec": {"replicas": 2}});
        let text = "Forbidden: may not be changed during the freeze";
        let validation = status(422, "spec.replicas", text);
        assert!(refusal(&validation, &live, &desired).is_some());

        let by_webhook = "admission webhook \"freeze.example.com\" denied the request: ";
        let mut webhook = validation.clone();
        webhook.message.insert_str(0, by_webhook);
        let by_policy = "ValidatingAdmissionPolicy 'freeze' with binding 'freeze' denied request: replicas may not be \
                         changed during the freeze";
        let policy = json!({
            "code": 422,
            "reason": "Invalid",
            "message": format!("statefulsets.apps \"a\" is forbidden: {by_policy}"),
            "details": {
                "group": "apps", "kind": "statefulsets", "name": "a", "causes": [{"message": by_policy}],
            },
        });
        let policy: Status = serde_json::from_value(policy).expect("a status");
        let webhook_without_object = json!({
            "code": 422,
            "message": format!("{by_webhook}spec is immutable"),
            "details": {"causes": [{"message": "spec is immutable", "field": "spec"}]},
        });
        let webhook_without_object: Status =
            serde_json::from_value(webhook_without_object).expect("a status");
        for status in [webhook, policy, webhook_without_object] {
            assert!(refusal(&status, &live, &desired).is_none(), "{status}");
        }
    }
}
