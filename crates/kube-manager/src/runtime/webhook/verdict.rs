//! The answer of a webhook to a request: warnings, and the reasons for a refusal.

use std::fmt::{self, Display};

use kube::core::{
    Status,
    response::{StatusCause, StatusDetails, StatusSummary},
};
use serde_json::Value;

use super::request::Asked;

/// The answer of a webhook to a request. Without errors, the request is allowed.
///
/// ```
/// use kube_manager::webhook::{FieldError, Verdict};
///
/// let mut verdict = Verdict::default();
/// verdict.warn("spec.size is deprecated: use spec.replicas");
/// verdict.error(FieldError::invalid("spec.replicas", -1, "must not be negative"));
/// assert!(!verdict.is_allowed());
/// assert_eq!(
///     verdict.errors()[0].to_string(),
///     "spec.replicas: Invalid value: -1: must not be negative"
/// );
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    warnings: Vec<String>,
    errors: Vec<FieldError>,
    forbidden: Option<String>,
}

impl Verdict {
    /// The verdict that allows a request.
    pub fn allowed() -> Self {
        Self::default()
    }

    /// The verdict that refuses a request altogether: see [`forbid`](Self::forbid).
    pub fn forbidden(message: impl Into<String>) -> Self {
        let mut verdict = Self::default();
        verdict.forbid(message);
        verdict
    }

    /// Shows a warning to the client, whether the request is allowed or not. The API server truncates a warning to 256
    /// characters, and all warnings together to 4096.
    pub fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }

    /// Refuses the request because of the value of a field. The client gets all field errors at once, with code 422.
    pub fn error(&mut self, error: FieldError) {
        self.errors.push(error);
    }

    /// Refuses the request for a reason that is not in a field, such as its user. The client gets code 403 and
    /// `message`, but no field [`error`](Self::error).
    pub fn forbid(&mut self, message: impl Into<String>) {
        self.forbidden = Some(message.into());
    }

    /// Whether the request is allowed.
    pub fn is_allowed(&self) -> bool {
        self.errors.is_empty() && self.forbidden.is_none()
    }

    /// The warnings.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The errors of fields.
    pub fn errors(&self) -> &[FieldError] {
        &self.errors
    }

    /// The warnings in the form that the API server accepts: it drops warnings with a line break.
    pub(super) fn headers(&self) -> Vec<String> {
        self.warnings
            .iter()
            .map(|text| text.replace(char::is_control, " "))
            .collect()
    }

    /// The status for a refused request; `None` if it is allowed. The message has the same form as those of the API
    /// server.
    pub(super) fn refusal(&self, asked: &Asked) -> Option<Status> {
        let mut details = StatusDetails {
            name: asked.name.clone(),
            group: asked.kind.group.clone(),
            kind: asked.kind.kind.clone(),
            uid: String::new(),
            causes: Vec::new(),
            retry_after_seconds: 0,
        };
        let (code, reason, message) = if let Some(message) = &self.forbidden {
            (403, "Forbidden", message.clone())
        } else if self.errors.is_empty() {
            return None;
        } else {
            details.causes = self.errors.iter().map(FieldError::cause).collect();
            let errors: Vec<_> = self.errors.iter().map(ToString::to_string).collect();
            let errors = match errors.as_slice() {
                [one] => one.clone(),
                some => format!("[{}]", some.join(", ")),
            };
            let kind = match asked.kind.group.as_str() {
                "" => asked.kind.kind.clone(),
                group => format!("{}.{group}", asked.kind.kind),
            };
            let message = format!("{kind} {:?} is invalid: {errors}", asked.name);
            (422, "Invalid", message)
        };
        Some(Status {
            status: Some(StatusSummary::Failure),
            code,
            message,
            metadata: None,
            reason: reason.to_owned(),
            details: Some(details),
        })
    }
}

impl From<FieldError> for Verdict {
    fn from(error: FieldError) -> Self {
        Self::from(vec![error])
    }
}

impl From<Vec<FieldError>> for Verdict {
    fn from(errors: Vec<FieldError>) -> Self {
        Self {
            errors,
            ..Self::default()
        }
    }
}

/// An invalid field of an object. kubectl prints path and message of each error.
///
/// A path is written as in `spec.containers[0].ports[1].name` or `metadata.labels[app]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    path: String,
    /// The reason in `status.details.causes`, such as `FieldValueInvalid`.
    reason: &'static str,
    message: String,
}

impl FieldError {
    /// The field has an invalid value. `why` says which values are valid, such as `must not be negative`.
    pub fn invalid(path: impl Into<String>, value: impl Into<Value>, why: impl Display) -> Self {
        let shown: Value = value.into();
        Self::new(
            path,
            "FieldValueInvalid",
            format!("Invalid value: {shown}: {why}"),
        )
    }

    /// The field must have a value.
    pub fn required(path: impl Into<String>, why: impl Display) -> Self {
        Self::new(path, "FieldValueRequired", with("Required value", &why))
    }

    /// The field must not have a value, or must not be changed.
    pub fn forbidden(path: impl Into<String>, why: impl Display) -> Self {
        Self::new(path, "FieldValueForbidden", with("Forbidden", &why))
    }

    /// The value is not one of `supported`.
    pub fn unsupported(
        path: impl Into<String>,
        value: impl Into<Value>,
        supported: &[&str],
    ) -> Self {
        let quoted: Vec<_> = supported.iter().map(|name| format!("{name:?}")).collect();
        let (shown, names): (Value, _) = (value.into(), quoted.join(", "));
        Self::new(
            path,
            "FieldValueNotSupported",
            format!("Unsupported value: {shown}: supported values: {names}"),
        )
    }

    /// The value is not unique.
    pub fn duplicate(path: impl Into<String>, value: impl Into<Value>) -> Self {
        let shown: Value = value.into();
        Self::new(
            path,
            "FieldValueDuplicate",
            format!("Duplicate value: {shown}"),
        )
    }

    /// The value names something that does not exist.
    pub fn not_found(path: impl Into<String>, value: impl Into<Value>) -> Self {
        let shown: Value = value.into();
        Self::new(path, "FieldValueNotFound", format!("Not found: {shown}"))
    }

    /// The value has more than `max` bytes.
    pub fn too_long(path: impl Into<String>, max: usize) -> Self {
        Self::new(
            path,
            "FieldValueTooLong",
            format!("Too long: may not be more than {max} bytes"),
        )
    }

    /// The list has `count` items, which are more than `max`.
    pub fn too_many(path: impl Into<String>, count: usize, max: usize) -> Self {
        Self::new(
            path,
            "FieldValueTooMany",
            format!("Too many: {count}: must have at most {max} items"),
        )
    }

    /// The value does not fit the type of the field.
    pub(super) fn type_invalid(path: impl Into<String>, why: impl Display) -> Self {
        Self::new(
            path,
            "FieldValueTypeInvalid",
            with("Does not fit its type", &why),
        )
    }

    /// The value cannot be converted.
    pub(super) fn unconvertible(path: impl Into<String>, why: impl Display) -> Self {
        Self::new(path, "FieldValueInvalid", with("Invalid value", &why))
    }

    /// The value makes the object exceed a limit.
    pub(super) fn exceeds(path: impl Into<String>, why: impl Display) -> Self {
        Self::new(path, "FieldValueTooLong", with("Too long", &why))
    }

    fn new(path: impl Into<String>, reason: &'static str, message: String) -> Self {
        Self {
            path: path.into(),
            reason,
            message,
        }
    }

    /// The path of the field, such as `spec.replicas`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The message without the path: `Invalid value: -1: must not be negative`.
    pub fn message(&self) -> &str {
        &self.message
    }

    fn cause(&self) -> StatusCause {
        StatusCause {
            reason: self.reason.to_owned(),
            message: self.message.clone(),
            field: self.path.clone(),
        }
    }
}

/// `what`, followed by `why` if `why` is not empty.
fn with(what: &str, why: &impl Display) -> String {
    match why.to_string() {
        why if why.is_empty() => what.to_owned(),
        why => format!("{what}: {why}"),
    }
}

impl Display for FieldError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path, self.message)
    }
}

#[cfg(test)]
mod tests {
    use kube::core::GroupVersionKind;

    use super::*;

    #[test]
    fn messages_are_those_of_the_api_server() {
        let errors = [
            (
                FieldError::invalid("a", "b", "c"),
                r#"a: Invalid value: "b": c"#,
            ),
            (FieldError::required("a", ""), "a: Required value"),
            (FieldError::required("a", "b"), "a: Required value: b"),
            (
                FieldError::forbidden("a", "field is immutable"),
                "a: Forbidden: field is immutable",
            ),
            (
                FieldError::unsupported("a", "d", &["b", "c"]),
                r#"a: Unsupported value: "d": supported values: "b", "c""#,
            ),
            (FieldError::duplicate("a[1]", 5), "a[1]: Duplicate value: 5"),
            (FieldError::not_found("a", "b"), r#"a: Not found: "b""#),
            (
                FieldError::too_long("a", 3),
                "a: Too long: may not be more than 3 bytes",
            ),
            (
                FieldError::too_many("a", 3, 2),
                "a: Too many: 3: must have at most 2 items",
            ),
        ];
        for (error, message) in errors {
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn a_warning_is_one_line() {
        let mut verdict = Verdict::allowed();
        verdict.warn("a\nb\tc\u{7f}");
        assert_eq!(verdict.headers(), ["a b c "]);
        assert_eq!(verdict.warnings(), ["a\nb\tc\u{7f}"]);
        assert!(verdict.is_allowed());
    }

    #[test]
    fn what_forbids_a_request_is_told_alone() {
        let asked = Asked {
            kind: GroupVersionKind::gvk("a.b", "v1", "Kind"),
            name: "c".to_owned(),
        };
        let mut verdict = Verdict::from(FieldError::required("spec", ""));
        let refusal = verdict.refusal(&asked).expect("a refusal");
        assert_eq!(
            refusal.message,
            "Kind.a.b \"c\" is invalid: spec: Required value"
        );
        verdict.forbid("not on Sundays");
        let refusal = verdict.refusal(&asked).expect("a refusal");
        assert_eq!((refusal.code, refusal.reason.as_str()), (403, "Forbidden"));
        assert_eq!(refusal.message, "not on Sundays");
        assert_eq!(
            refusal.details.map(|details| details.causes),
            Some(Vec::new())
        );
        assert!(!Verdict::forbidden("no").is_allowed());
        assert_eq!(Verdict::allowed().refusal(&asked), None);
    }
}
