//! Classifies a failed request: a reason from a fixed set, for metrics; its causes and a hint, for people.

use std::{error::Error, iter::successors};

use kube::{core::Status, runtime::watcher};

use super::{children, rbac::Rule};

/// The reason of a failure that no request caused.
const RECONCILER: &str = "reconciler";

/// The first error in the chain of `error` that is an `E`.
fn cause<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    successors(Some(error), |&error| error.source()).find_map(|error| error.downcast_ref())
}

/// The error of the request that caused `error`, if there is one.
fn request<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a kube::Error> {
    cause(error)
}

/// The API server's answer that caused `error`, even if it arrived during a watch.
fn answer<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Status> {
    match request(error) {
        Some(kube::Error::Api(status)) => Some(status),
        Some(_) => None,
        None => match cause(error)? {
            watcher::Error::WatchError(status) => Some(status),
            _ => None,
        },
    }
}

/// The reason of `error` in one word, for metrics.
pub fn reason(error: &(dyn Error + 'static)) -> &'static str {
    match cause(error) {
        Some(children::Error::Stale(_)) => return "conflict",
        Some(children::Error::Immutable { .. }) => return "invalid",
        _ => {}
    }
    match answer(error) {
        Some(status) if status.is_already_exists() => "already_exists",
        Some(status) => match status.code {
            403 => "forbidden",
            404 => "not_found",
            409 => "conflict",
            410 => "expired",
            400 | 422 => "invalid",
            429 => "throttled",
            _ => "api_server",
        },
        None if request(error).is_some() => "connection",
        None if cause::<watcher::Error>(error).is_some() => "api_server",
        None => RECONCILER,
    }
}

/// Whether only a change of the object or of its children can help, and not a retry.
pub fn is_permanent(error: &(dyn Error + 'static)) -> bool {
    cause(error).is_some_and(children::Error::is_permanent)
}

/// The message of `error` and of its causes, without repetition.
pub fn says(error: &(dyn Error + 'static)) -> String {
    let mut says = error.to_string();
    for cause in successors(error.source(), |&cause| cause.source()) {
        let cause = cause.to_string();
        if !says.contains(&cause) {
            says.extend([": ", &cause]);
        }
    }
    match request(error) {
        // kube repeats the API server's message as a Rust value.
        Some(answer @ kube::Error::Api(status)) if !status.message.is_empty() => {
            says.replace(&answer.to_string(), &status.message)
        }
        _ => says,
    }
}

/// A hint how to fix `error`, if there is one. `rules` are the rules of the controller.
pub fn hint(error: &(dyn Error + 'static), rules: &[Rule]) -> Option<String> {
    let status = answer(error)?;
    match status.code {
        403 => forbidden(status, rules),
        404 if status.details.is_none() => {
            Some("the cluster does not have this kind: `make install` installs the CRDs".to_owned())
        }
        _ => None,
    }
}

/// The missing rule, read from the message of the API server.
fn forbidden(status: &Status, rules: &[Rule]) -> Option<String> {
    let (_, what) = status.message.split_once("\" cannot ")?;
    let mut parts = what.split('"');
    let verb = parts.next()?.split(' ').next()?;
    let resource = parts.next()?;
    let group = parts.nth(1)?;
    let (plural, subresource) = match resource.split_once('/') {
        Some((plural, subresource)) => (plural, Some(subresource)),
        None => (resource, None),
    };
    let kind = rules.iter().find_map(|rule| rule.kind_of(group, plural));
    let kind = kind.as_deref().unwrap_or("_");
    let (initial, rest) = verb.split_at_checked(1)?;
    let verb = format!("&[Verb::{}{rest}]", initial.to_uppercase());
    let rule = match subresource {
        Some(subresource) => format!("Rule::sub::<{kind}>(\"{subresource}\", {verb})"),
        None => format!("Rule::of::<{kind}>({verb})"),
    };
    Some(format!(
        "`RULES` need `{rule}`, and the cluster the role that `make manifests` writes"
    ))
}

#[cfg(test)]
mod tests {
    use std::io;

    use k8s_openapi::api::core::v1::{ConfigMap, Pod};

    use super::{super::rbac::Verb, *};

    #[derive(Debug, thiserror::Error)]
    enum Outer {
        #[error("cannot write")]
        Write(#[source] kube::Error),
        #[error("bad input")]
        Input,
    }

    fn outer(code: u16, message: &str) -> Outer {
        let status = Status::failure(message, "").with_code(code);
        Outer::Write(kube::Error::Api(status.boxed()))
    }

    #[test]
    fn the_reason_is_that_of_the_request_within() {
        assert_eq!(reason(&outer(403, "")), "forbidden");
        assert_eq!(reason(&outer(503, "")), "api_server");
        assert_eq!(reason(&Outer::Input), RECONCILER);
        assert_eq!(reason(&outer(409, "")), "conflict");
    }

    #[test]
    fn the_reason_of_a_failed_watch_is_never_the_reconciler() {
        let ended = |code| {
            let status = Status::failure("", "").with_code(code);
            reason(&watcher::Error::WatchError(status.boxed()))
        };
        assert_eq!(ended(410), "expired");
        assert_eq!(ended(500), "api_server");
        let refused = kube::Error::Service(Box::new(io::Error::other("refused")));
        let refused = watcher::Error::WatchStartFailed(refused);
        assert_eq!(reason(&refused), "connection");
        assert_eq!(reason(&watcher::Error::NoResourceVersion), "api_server");
    }

    #[test]
    fn what_is_behind_an_error_is_said_once() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let request = kube::Error::Service(Box::new(io::Error::other(refused)));
        let says = says(&Outer::Write(request));
        assert_eq!(says, "cannot write: ServiceError: connection refused");

        let says = super::says(&outer(404, "404 page not found"));
        assert_eq!(says, "cannot write: 404 page not found");
    }

    #[test]
    fn a_missing_rule_is_spelt_out() {
        let rules = [Rule::of::<Pod>(&[Verb::List])];
        let error = outer(
            403,
            "pods \"a\" is forbidden: User \"system:serviceaccount:b:c\" cannot patch resource \
             \"pods/status\" in API group \"\" in the namespace \"default\"",
        );
        let hint = hint(&error, &rules).expect("a hint");
        assert!(
            hint.contains("`Rule::sub::<Pod>(\"status\", &[Verb::Patch])`"),
            "{hint}"
        );
        let rules = [Rule::of::<ConfigMap>(&[Verb::List])];
        let error = outer(
            403,
            "x: User \"b\" cannot get resource \"pods\" in API group \"\" at",
        );
        let hint = super::hint(&error, &rules).expect("a hint");
        assert!(hint.contains("`Rule::of::<_>(&[Verb::Get])`"), "{hint}");

        // The message of an admission policy may have any form.
        for says in [
            "\"bob\" cannot \"delete\" what \"x\" owns",
            "\" cannot é \"a\" b \"c",
        ] {
            assert_eq!(super::hint(&outer(403, says), &rules), None);
        }
    }
}
