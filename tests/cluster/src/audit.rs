use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

use anyhow::{Context, Result};
use serde_json::Value;

/// The audit policy. The API server logs the metadata of every request after the response. It also logs a watch when
/// the watch starts, because a watch may never end. For a Lease, the log also contains the written object.
pub(crate) const POLICY: &str = r#"{
  "apiVersion": "audit.k8s.io/v1",
  "kind": "Policy",
  "omitStages": ["RequestReceived"],
  "rules": [
    {"level": "Request", "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]}]},
    {"level": "Metadata"}
  ]
}
"#;

/// A request that the API server answered, or a watch that it began to answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// When the API server received the request: RFC 3339, UTC, with microseconds, so that it sorts as text.
    pub time: String,
    /// The user that sent the request, such as `system:serviceaccount:default:guestbook`.
    pub user: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; the HTTP
    /// method in lower case when `uri` names no resource.
    pub verb: String,
    /// API group; empty for core resources and for a `uri` that names no resource.
    pub group: String,
    /// Plural of the resource; empty when `uri` names no resource.
    pub resource: String,
    /// Subresource, such as `status`; empty for the resource itself.
    pub subresource: String,
    /// Namespace; empty for a cluster-scoped resource and for a list over all namespaces.
    pub namespace: String,
    /// Name; empty for a list, a watch of a list, and most creates.
    pub name: String,
    /// HTTP status code of the response.
    pub code: u16,
    /// Path and query.
    pub uri: String,
    /// For a write of a Lease: the holder that the Lease names.
    pub holder: Option<String>,
}

/// Returns the requests of `user` in the audit log at `path`.
pub fn requests_in(path: &Path, user: &str) -> Result<Vec<Request>> {
    let log = File::open(path).with_context(|| format!("failed to read `{}`", path.display()))?;
    parse(BufReader::new(log), user)
}

/// Returns the requests of `user` in an audit log, in the order in which the API server received them.
fn parse(mut log: impl BufRead, user: &str) -> Result<Vec<Request>> {
    // Most lines belong to other users. These lines are not parsed.
    let user_name = Value::from(user).to_string();
    // A watch that has ended has two lines with the same audit ID.
    let mut requests = BTreeMap::new();
    let mut line = String::new();
    // The log of an hour is large, so this reads one line at a time. The last line may be incomplete.
    while log.read_line(&mut line)? > 0 && line.ends_with('\n') {
        if line.contains(&user_name) {
            let event: Value =
                serde_json::from_str(&line).with_context(|| format!("bad audit event `{line}`"))?;
            requests.insert(text(&event, "/auditID"), request(&event));
        }
        line.clear();
    }
    let mut requests: Vec<_> = requests.into_values().collect();
    requests.retain(|it| it.user == user);
    requests.sort_by(|a, b| a.time.cmp(&b.time));
    Ok(requests)
}

fn request(event: &Value) -> Request {
    let code = event
        .pointer("/responseStatus/code")
        .and_then(Value::as_u64);
    Request {
        time: text(event, "/requestReceivedTimestamp"),
        user: text(event, "/user/username"),
        verb: text(event, "/verb"),
        group: text(event, "/objectRef/apiGroup"),
        resource: text(event, "/objectRef/resource"),
        subresource: text(event, "/objectRef/subresource"),
        namespace: text(event, "/objectRef/namespace"),
        name: text(event, "/objectRef/name"),
        code: code
            .and_then(|code| code.try_into().ok())
            .unwrap_or_default(),
        uri: text(event, "/requestURI"),
        holder: event
            .pointer("/requestObject/spec/holderIdentity")
            .and_then(Value::as_str)
            .map(str::to_owned),
    }
}

fn text(event: &Value, pointer: &str) -> String {
    event
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_that_ended_counts_once_and_half_a_line_and_others_not_at_all() {
        let event_of = |user: &str, id: &str, stage: &str, second: u8| {
            format!(
                r#"{{"auditID":"{id}","stage":"{stage}","verb":"watch","requestURI":"/{id}",
                "requestReceivedTimestamp":"2026-01-01T00:00:0{second}.000000Z",
                "user":{{"username":"{user}"}},"objectRef":{{"resource":"pods","namespace":"default"}},
                "responseStatus":{{"code":200}}}}"#
            )
            .replace('\n', " ")
        };
        let event = |id: &str, stage: &str, second| event_of("me", id, stage, second);
        let log = [
            event("a", "ResponseStarted", 2),
            event_of("you", "me", "ResponseComplete", 3),
            event("b", "ResponseStarted", 1),
            event("a", "ResponseComplete", 2),
            r#"{"auditID":"c""#.to_owned(),
        ]
        .join("\n");

        let requests = parse(log.as_bytes(), "me").unwrap();
        let uris: Vec<_> = requests
            .iter()
            .map(|request| request.uri.as_str())
            .collect();
        assert_eq!(uris, ["/b", "/a"]);
        assert_eq!(
            requests[0],
            Request {
                time: "2026-01-01T00:00:01.000000Z".into(),
                user: "me".into(),
                verb: "watch".into(),
                group: String::new(),
                resource: "pods".into(),
                subresource: String::new(),
                namespace: "default".into(),
                name: String::new(),
                code: 200,
                uri: "/b".into(),
                holder: None,
            }
        );
    }

    #[test]
    fn a_write_of_a_lease_names_its_holder() {
        let event = r#"{"auditID":"a","user":{"username":"me"},"objectRef":{"resource":"leases"},
            "requestObject":{"spec":{"holderIdentity":"one"}}}"#;
        let line = event.replace('\n', " ") + "\n";
        let requests = parse(line.as_bytes(), "me").unwrap();
        assert_eq!(requests[0].holder.as_deref(), Some("one"));
    }
}
