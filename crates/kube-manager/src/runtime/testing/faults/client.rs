//! The client of an operator in a run: its requests and watches pass here, and faults happen to them.

use std::future::pending;

use axum::body::{Body as AnyBody, to_bytes};
use http::{Method, Request, Response, header};
use kube::{Client, Error, Result, client::Body};
use serde_json::{Value, json};
use tower::service_fn;

use super::{
    call::{Call, Collection, content_of},
    fault::{Fault, ListFault, WriteFault},
    feed::Feed,
    network::{Network, outcome},
};
use crate::runtime::requests::is_watch;

/// A client for an operator that starts now, which sends its requests with `connections`.
pub fn client(network: &Network, connections: Client) -> Client {
    let namespace = connections.default_namespace().to_owned();
    let wire = Wire {
        network: network.clone(),
        connections,
        start: network.start_number(),
    };
    Client::new(
        service_fn(move |request| wire.clone().send(request)),
        namespace,
    )
}

#[derive(Clone)]
struct Wire {
    network: Network,
    connections: Client,
    /// The start of the operator that has this client.
    start: usize,
}

impl Wire {
    async fn send(self, request: Request<Body>) -> Result<Response<AnyBody>> {
        self.require_life().await;
        let call = Call::of(&request, self.network.namespace());
        let Some(call) = call.filter(|call| call.collection.is_state()) else {
            return self.pass(request).await;
        };
        let active = self.network.begin(&call);
        let answer = if call.is_write() {
            self.write(&call, request).await
        } else if is_watch(&request) {
            self.watch(call.collection.clone(), request).await
        } else if call.name.is_empty() {
            self.list(&call.collection, request).await
        } else {
            self.pass(request).await
        };
        drop(active);
        self.require_life().await;
        let (answer, reason) = explained(answer).await;
        self.network.end(call, &answer, &reason);
        answer
    }

    /// Waits for ever if the operator was killed.
    async fn require_life(&self) {
        if !self.network.lives(self.start) {
            pending::<()>().await;
        }
    }

    /// Kills the operator. Never returns, because the caller is part of the operator.
    async fn crash(&self, line: String) -> Result<Response<AnyBody>> {
        self.network.crash(line);
        pending().await
    }

    async fn pass(&self, request: Request<Body>) -> Result<Response<AnyBody>> {
        let answer = self.connections.send(request).await?;
        Ok(answer.map(AnyBody::new))
    }

    async fn write(&self, call: &Call, request: Request<Body>) -> Result<Response<AnyBody>> {
        match self.network.begin_write(call) {
            None | Some(Fault::Event { .. }) => self.pass(request).await,
            Some(Fault::Write { how, .. }) => self.fail(call, request, how).await,
            Some(Fault::List {
                collection, how, ..
            }) => {
                let before = self.network.version_of(&call.collection).await?;
                let answer = self.pass(request).await;
                self.network.fail_next_list(collection, how, before);
                self.crash(format!("{call} -> {}, then killed", outcome(&answer)))
                    .await
            }
        }
    }

    async fn fail(
        &self,
        call: &Call,
        request: Request<Body>,
        how: WriteFault,
    ) -> Result<Response<AnyBody>> {
        if let Some((code, reason)) = how.answer() {
            return Ok(refusal(code, reason));
        }
        match how {
            WriteFault::CrashBefore => self.crash(format!("killed before {call}")).await,
            WriteFault::Late => {
                // Nobody could remove an object without an owner that is created after its time.
                if call.method != Method::POST || has_owner(&request) {
                    self.network.keep_late(request);
                }
                self.crash(format!("lost the lease at {call}")).await
            }
            WriteFault::Cut => {
                let answer = self.pass(request).await;
                self.network
                    .note(format!("{call} -> {}, then cut", outcome(&answer)));
                Err(Error::Service("fault: the connection was reset".into()))
            }
            _ => {
                let answer = self.pass(request).await;
                self.crash(format!("{call} -> {}, then killed", outcome(&answer)))
                    .await
            }
        }
    }

    async fn list(
        &self,
        collection: &Collection,
        mut request: Request<Body>,
    ) -> Result<Response<AnyBody>> {
        match self.network.take_list_fault(collection) {
            None => self.pass(request).await,
            Some((ListFault::Earlier, version)) => {
                let query = request.uri().query().unwrap_or_default();
                let path = request.uri().path();
                let asked = "resourceVersionMatch=Exact&resourceVersion";
                let uri = format!("{path}?{query}&{asked}={version}").parse();
                *request.uri_mut() =
                    uri.map_err(|error| Error::HttpError(http::Error::from(error)))?;
                self.network
                    .note(format!("the list of {collection} is of version {version}"));
                self.pass(request).await
            }
            Some((ListFault::Empty, _)) => {
                self.network
                    .note(format!("the list of {collection} is empty"));
                let (head, body) = self.connections.send(request).await?.into_parts();
                let content = body.collect_bytes().await?;
                let mut list: Value =
                    serde_json::from_slice(&content).map_err(Error::SerdeError)?;
                list["items"] = json!([]);
                let mut answer = Response::new(AnyBody::from(list.to_string()));
                *answer.status_mut() = head.status;
                Ok(answer)
            }
        }
    }

    async fn watch(
        &self,
        collection: Collection,
        request: Request<Body>,
    ) -> Result<Response<AnyBody>> {
        let answer = self.pass(request).await?;
        if !answer.status().is_success() {
            return Ok(answer);
        }
        // A list that was empty once is followed by a full one.
        let expires = self.network.take_expiry(&collection);
        Ok(answer.map(|body| {
            let feed = Feed::new(self.network.clone(), collection, body, expires);
            AnyBody::from_stream(feed.into_stream())
        }))
    }
}

/// Whether the object that a request creates has an owner, so that the garbage collector can delete it.
fn has_owner(request: &Request<Body>) -> bool {
    let object = content_of(request).unwrap_or_default();
    !object["metadata"]["ownerReferences"].is_null()
}

/// The answer, and the message of an error in it.
async fn explained(answer: Result<Response<AnyBody>>) -> (Result<Response<AnyBody>>, String) {
    let (head, body) = match answer {
        Ok(answer) if answer.status().as_u16() >= 400 => answer.into_parts(),
        answer => return (answer, String::new()),
    };
    let content = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let status: Value = serde_json::from_slice(&content).unwrap_or_default();
    let message = status["message"].as_str().unwrap_or_default().to_owned();
    let answer = Response::from_parts(head, AnyBody::from(content));
    (Ok(answer), message)
}

/// An answer that the API server could give.
fn refusal(code: u16, reason: &str) -> Response<AnyBody> {
    let message = match reason {
        "Forbidden" => "admission webhook \"faults.example.com\" denied the request: fault",
        _ => "fault",
    };
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    });
    let mut answer = Response::new(AnyBody::from(status.to_string()));
    if let Ok(code) = code.try_into() {
        *answer.status_mut() = code;
    }
    if code == 429 {
        let seconds = http::HeaderValue::from_static("1");
        answer.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    answer
}
