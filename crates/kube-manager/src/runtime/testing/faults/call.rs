//! What a request asks the API server for.
//!
//! Each run has a namespace of its own. So that the requests of two runs are equal, [`HERE`] takes the place of its name.

use std::fmt::{self, Display, Formatter};

use futures::FutureExt;
use http::{Method, Request};
use kube::client::Body;
use serde_json::Value;

/// The namespace of a run.
pub const HERE: &str = "<namespace>";

/// All objects of a kind, in a namespace or in the whole cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Collection {
    /// The path of the group and version, such as `/apis/apps/v1`.
    version: String,
    namespace: Option<String>,
    plural: String,
}

impl Collection {
    /// The collection at a path without a name, such as `/api/v1/namespaces/default/pods`, in a run in `namespace`.
    pub fn at(path: &str, namespace: &str) -> Option<Self> {
        let request = Request::get(path).body(Body::empty()).ok()?;
        Some(Call::of(&request, namespace)?.collection)
    }

    /// The objects of the same kind in `namespace`; all objects of a cluster-scoped kind.
    pub fn in_namespace(mut self, namespace: &str) -> Self {
        if let Some(own) = &mut self.namespace {
            namespace.clone_into(own);
        }
        self
    }

    /// The path, in a run in the namespace `here`.
    pub fn path(&self, here: &str) -> String {
        let Self {
            version, plural, ..
        } = self;
        match self.namespace.as_deref() {
            Some(HERE) => format!("{version}/namespaces/{here}/{plural}"),
            Some(other) => format!("{version}/namespaces/{other}/{plural}"),
            None => format!("{version}/{plural}"),
        }
    }

    /// Whether the objects are in the namespace of the run.
    pub fn is_here(&self) -> bool {
        self.namespace.as_deref() == Some(HERE)
    }

    /// The API version of the objects, such as `apps/v1`.
    pub fn api_version(&self) -> &str {
        let version = self.version.strip_prefix("/apis/");
        version.unwrap_or_else(|| self.version.trim_start_matches("/api/"))
    }

    /// The API group of the objects, such as `apps`. The group of Pods is empty.
    fn group(&self) -> &str {
        let version = self.api_version().split_once('/');
        version.map_or("", |(group, _)| group)
    }

    /// Whether the objects describe the desired or observed state of a cluster. Events are a log, and Leases change all
    /// the time.
    pub fn is_state(&self) -> bool {
        !matches!(
            (self.group(), self.plural.as_str()),
            ("" | "events.k8s.io", "events")
                | ("coordination.k8s.io", "leases")
                | ("authentication.k8s.io" | "authorization.k8s.io", _)
        )
    }
}

impl Display for Collection {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        to.write_str(&self.plural)?;
        match self.group() {
            "" => Ok(()),
            group => write!(to, ".{group}"),
        }
    }
}

/// A request without its content. Two requests of an operator that runs twice are equal if they do the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    pub method: Method,
    pub collection: Collection,
    /// Empty for a request about all objects.
    pub name: String,
    /// Empty for a request about whole objects.
    subresource: String,
}

impl Call {
    /// Whether the request is about a whole object, and not about a subresource.
    pub fn is_whole(&self) -> bool {
        self.subresource.is_empty()
    }

    /// The call of a run in the namespace `here`. `None` for a request that is not about objects, such as a request for the
    /// version of the API server.
    pub fn of(request: &Request<Body>, here: &str) -> Option<Self> {
        let mut parts = request.uri().path().split('/').skip(1).peekable();
        let version = match parts.next()? {
            "api" => format!("/api/{}", parts.next()?),
            "apis" => format!("/apis/{}/{}", parts.next()?, parts.next()?),
            _ => return None,
        };
        let (mut namespace, mut plural) = (None, parts.next()?.to_owned());
        let mut name = parts.next().unwrap_or_default().to_owned();
        let is_inside = !matches!(parts.peek(), None | Some(&"status" | &"finalize"));
        if plural == "namespaces" && is_inside {
            namespace = Some(if name == here { HERE.to_owned() } else { name });
            plural = parts.next()?.to_owned();
            name = parts.next().unwrap_or_default().to_owned();
        }
        let subresource = parts.next().unwrap_or_default().to_owned();
        if *request.method() == Method::POST && name.is_empty() {
            name = name_in(request).unwrap_or_default();
        }
        Some(Self {
            method: request.method().clone(),
            collection: Collection {
                version,
                namespace,
                plural,
            },
            name: name.replace(here, HERE),
            subresource,
        })
    }

    /// The path of the object, in a run in the namespace `here`.
    pub fn path(&self, here: &str) -> String {
        format!(
            "{}/{}",
            self.collection.path(here),
            self.name.replace(HERE, here)
        )
    }

    /// Whether the request changes objects that describe the state of the cluster.
    pub fn is_write(&self) -> bool {
        self.method != Method::GET && self.collection.is_state()
    }
}

/// The object in a request.
pub fn content_of(request: &Request<Body>) -> Option<Value> {
    let content = request.body().try_clone()?.collect_bytes();
    let content = content.now_or_never()?.ok()?;
    serde_json::from_slice(&content).ok()
}

/// The name of the object that a request creates.
fn name_in(request: &Request<Body>) -> Option<String> {
    let object = content_of(request)?;
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str();
    Some(name.or(metadata["generateName"].as_str())?.to_owned())
}

impl Display for Call {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        write!(to, "{} {}", self.method, self.collection)?;
        for part in [&self.name, &self.subresource] {
            if !part.is_empty() {
                write!(to, "/{part}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(method: Method, path: &str, content: &str) -> Option<Call> {
        let body = Body::from(content.as_bytes().to_vec());
        let request = Request::builder().method(method).uri(path).body(body);
        Call::of(&request.expect("a request"), "fault-run-1")
    }

    fn shown(method: Method, path: &str, content: &str) -> String {
        call(method, path, content).map_or_else(String::new, |call| call.to_string())
    }

    #[test]
    fn a_call_names_the_object() {
        let configmaps = "/api/v1/namespaces/fault-run-1/configmaps";
        let web = format!("{configmaps}/web");
        assert_eq!(shown(Method::GET, &web, ""), "GET configmaps/web");
        let named = r#"{"metadata": {"name": "web"}}"#;
        assert_eq!(
            shown(Method::POST, configmaps, named),
            "POST configmaps/web"
        );
        let generated = r#"{"metadata": {"generateName": "web-"}}"#;
        assert_eq!(
            shown(Method::POST, configmaps, generated),
            "POST configmaps/web-"
        );
        assert_eq!(
            shown(Method::POST, configmaps, "no JSON"),
            "POST configmaps"
        );
        let status = "/apis/apps/v1/namespaces/other/deployments/web/status?fieldManager=a";
        assert_eq!(
            shown(Method::PATCH, status, ""),
            "PATCH deployments.apps/web/status"
        );
        assert_eq!(
            shown(Method::GET, "/api/v1/namespaces", ""),
            "GET namespaces"
        );
        let own = "/api/v1/namespaces/fault-run-1";
        assert_eq!(shown(Method::GET, own, ""), "GET namespaces/<namespace>");
        assert_eq!(call(Method::GET, "/version", ""), None);
    }

    #[test]
    fn a_collection_has_its_path_in_each_run() {
        for path in [
            "/api/v1/namespaces/fault-run-1/pods",
            "/apis/apps/v1/namespaces/other/deployments",
            "/apis/apps/v1/deployments",
        ] {
            let collection = Collection::at(path, "fault-run-1").expect("a collection");
            let elsewhere = path.replace("fault-run-1", "fault-run-2");
            assert_eq!(collection.path("fault-run-2"), elsewhere);
            assert_eq!(collection.is_here(), path != elsewhere);
        }
    }

    #[test]
    fn a_lease_and_an_event_are_no_state() {
        for (path, is_state) in [
            ("/api/v1/namespaces/default/pods", true),
            ("/api/v1/namespaces/default/events", false),
            ("/apis/events.k8s.io/v1/namespaces/default/events", false),
            ("/apis/shop.example.com/v1/namespaces/default/events", true),
            ("/apis/shop.example.com/v1/leases", true),
            (
                "/apis/coordination.k8s.io/v1/namespaces/default/leases",
                false,
            ),
            (
                "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                false,
            ),
        ] {
            let collection = Collection::at(path, "here").expect("a collection");
            assert_eq!(collection.is_state(), is_state, "{path}");
        }
    }
}
