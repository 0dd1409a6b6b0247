//! What a failure is, for metrics, and what helps: by a reason from a fixed set, and by a hint.

use std::error::Error;

use kube::{core::Status, runtime::watcher};

use super::{
    children::error::Error as ChildError,
    failure::{answer, as_a, chain, hides_kube},
    rbac::Rule,
};

/// The reason of a failure that no request caused.
const RECONCILER: &str = "reconciler";

/// The reason of `error` in one word, for metrics.
pub(super) fn reason(error: &(dyn Error + 'static)) -> &'static str {
    match chain(error).find_map(as_a) {
        Some(ChildError::Stale(_)) => return "conflict",
        Some(ChildError::Immutable { .. }) => return "invalid",
        _ => {}
    }
    if let Some(status) = answer(error) {
        return match status.code {
            _ if status.is_already_exists() => "already_exists",
            403 => "forbidden",
            404 => "not_found",
            409 => "conflict",
            410 => "expired",
            400 | 422 => "invalid",
            429 => "throttled",
            _ => "api_server",
        };
    }
    if chain(error).any(|error| as_a::<kube::Error>(error).is_some() || hides_kube(error)) {
        "connection"
    } else if chain(error).any(|error| error.is::<watcher::Error>()) {
        "api_server"
    } else {
        RECONCILER
    }
}

/// Whether a request has caused `error`.
pub(super) fn is_of_request(error: &(dyn Error + 'static)) -> bool {
    reason(error) != RECONCILER
}

/// Whether `error` probably comes again, until the object, a child or the cluster changes.
pub(super) fn is_permanent(error: &(dyn Error + 'static)) -> bool {
    let child = chain(error).find_map(as_a);
    child.is_some_and(ChildError::is_permanent)
}

/// A hint how to fix `error`, if there is one. `rules` are the rules of the controller.
pub(super) fn hint(error: &(dyn Error + 'static), rules: &[Rule]) -> Option<String> {
    let status = answer(error)?;
    match status.code {
        403 => forbidden(status, rules),
        404 if status.details.is_none() => {
            Some("the cluster does not have this kind: `make install` installs the CRDs".to_owned())
        }
        _ => None,
    }
}

/// What every hint about a missing rule ends with.
const THE_ROLE: &str = "and the cluster the role that `make manifests` writes";

/// The missing rule, read from the message of the API server.
fn forbidden(status: &Status, rules: &[Rule]) -> Option<String> {
    if status
        .message
        .contains("is attempting to grant RBAC permissions not currently held")
    {
        let kind = status.details.as_ref().map_or("", |details| &details.kind);
        // The message does not name the role that is bound.
        let what = if kind.ends_with("bindings") {
            "`Rule::of::<ClusterRole>(&[Verb::Bind])`, or the same of `Role`, limited by `named` to the role that is bound"
        } else {
            "the permissions that the role gives"
        };
        return Some(format!("`RULES` need {what}, {THE_ROLE}"));
    }
    let (_, what) = status.message.split_once("\" cannot ")?;
    let mut parts = what.split('"');
    let verb = parts.next()?.split(' ').next()?;
    let resource = parts.next()?;
    let group = parts.nth(1)?;
    let (plural, subresource) = match resource.split_once('/') {
        Some((plural, subresource)) => (plural, Some(subresource)),
        None => (resource, None),
    };
    let known_kind = rules.iter().find_map(|rule| rule.kind_of(group, plural));
    let kind = known_kind.as_deref().unwrap_or("_");
    let verb = match verb {
        "deletecollection" => "DeleteCollection".to_owned(),
        _ => {
            let (initial, rest) = verb.split_at_checked(1)?;
            format!("{}{rest}", initial.to_uppercase())
        }
    };
    let verb = format!("&[Verb::{verb}]");
    let rule = match subresource {
        Some(subresource) => format!("Rule::sub::<{kind}>(\"{subresource}\", {verb})"),
        None => format!("Rule::of::<{kind}>({verb})"),
    };
    Some(format!("`RULES` need `{rule}`, {THE_ROLE}"))
}

#[cfg(test)]
mod tests {
    use std::io;

    use k8s_openapi::api::core::v1::{ConfigMap, Pod};
    use serde_json::json;

    use super::{super::rbac::Verb, *};

    /// The forms in which a user's error can contain an error of kube.
    #[derive(Debug, thiserror::Error)]
    enum Outer {
        #[error("cannot write")]
        Write(#[source] kube::Error),
        #[error(transparent)]
        Same(#[from] kube::Error),
        #[error("bad input")]
        Input,
    }

    fn api(code: u16, message: &str) -> kube::Error {
        kube::Error::Api(Status::failure(message, "").with_code(code).boxed())
    }

    fn outer(code: u16, message: &str) -> Outer {
        Outer::Write(api(code, message))
    }

    #[test]
    fn the_reason_is_that_of_the_request_within() {
        assert_eq!(reason(&outer(403, "")), "forbidden");
        assert_eq!(reason(&outer(503, "")), "api_server");
        assert_eq!(reason(&Outer::Input), RECONCILER);
        assert_eq!(reason(&outer(409, "")), "conflict");
        assert_eq!(reason(&Outer::Same(api(409, ""))), "conflict");
    }

    #[test]
    fn the_reason_of_a_failed_watch_is_never_the_reconciler() {
        fn ended(code: u16) -> &'static str {
            let status = Status::failure("", "").with_code(code);
            reason(&watcher::Error::WatchError(status.boxed()))
        }

        assert_eq!(ended(410), "expired");
        assert_eq!(ended(500), "api_server");
        let refused = kube::Error::Service(Box::new(io::Error::other("refused")));
        let refused = watcher::Error::WatchStartFailed(refused);
        assert_eq!(reason(&refused), "connection");
        assert_eq!(reason(&watcher::Error::NoResourceVersion), "api_server");
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

    #[test]
    fn a_role_that_may_be_bound_is_named() {
        for (plural, binds) in [
            ("rolebindings", true),
            ("clusterrolebindings", true),
            ("roles", false),
        ] {
            let status = json!({
                "code": 403, "details": {"kind": plural},
                "message": "it is forbidden: user \"a\" (groups=[\"b\"]) is attempting to grant RBAC permissions not \
                            currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\"]}",
            });
            let status: Status = serde_json::from_value(status).expect("a status");
            let error = Outer::Write(kube::Error::Api(status.boxed()));
            let hint = hint(&error, &[]).expect("a hint");
            let rule = "`Rule::of::<ClusterRole>(&[Verb::Bind])`";
            assert_eq!(hint.contains(rule), binds, "{hint}");
        }
    }
}
