//! The events of a watch, on their way to the operator.

use std::{
    collections::{HashMap, VecDeque},
    mem,
    pin::pin,
    time::Duration,
};

use axum::body::{Body, BodyDataStream, Bytes};
use futures::{Stream, StreamExt, stream};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{call::Collection, fault::EventFault, network::Network};

/// How long events are delayed at most.
const LONGEST_DELAY: Duration = Duration::from_secs(2);

type Line = Result<Bytes, axum::Error>;

/// The events of one watch: lines of JSON.
pub struct Feed {
    network: Network,
    collection: Collection,
    upstream: BodyDataStream,
    /// The begin of a line whose end has not arrived.
    part: Vec<u8>,
    /// The lines that the operator gets next.
    ready: VecDeque<Bytes>,
    has_ended: bool,
}

impl Feed {
    /// The events in `body`; no event if the watch `expires` at once.
    pub fn new(network: Network, collection: Collection, body: Body, expires: bool) -> Self {
        Self {
            network,
            collection,
            upstream: body.into_data_stream(),
            part: Vec::new(),
            ready: if expires {
                VecDeque::from([expired()])
            } else {
                VecDeque::new()
            },
            has_ended: expires,
        }
    }

    pub fn into_stream(self) -> impl Stream<Item = Line> + Send {
        stream::unfold(self, async |mut feed| {
            let line = feed.next().await?;
            Some((line, feed))
        })
    }

    async fn next(&mut self) -> Option<Line> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Some(Ok(line));
            }
            if self.has_ended {
                return None;
            }
            let line = match self.line().await? {
                Ok(line) => line,
                Err(error) => return Some(Err(error)),
            };
            match self
                .network
                .event(&self.collection, &String::from_utf8_lossy(&line))
            {
                None => return Some(Ok(line)),
                Some(EventFault::Delay) => self.ready = self.gather(line).await.into(),
                Some(EventFault::Skip) => {
                    let lines = self.gather(line).await;
                    self.ready = last_of_each(&lines).into();
                }
                Some(EventFault::End) => {
                    self.has_ended = true;
                    return Some(Ok(line));
                }
                Some(EventFault::Expire) => {
                    self.has_ended = true;
                    return Some(Ok(expired()));
                }
            }
        }
    }

    /// The next line of the API server.
    async fn line(&mut self) -> Option<Line> {
        loop {
            if let Some(end) = self.part.iter().position(|byte| *byte == b'\n') {
                let rest = self.part.split_off(end + 1);
                let line = mem::replace(&mut self.part, rest);
                return Some(Ok(line.into()));
            }
            match self.upstream.next().await? {
                Ok(bytes) => self.part.extend_from_slice(&bytes),
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// The lines from `first` on, until the operator is quiet, or the delay has lasted long enough.
    async fn gather(&mut self, first: Bytes) -> Vec<Bytes> {
        let mut lines = vec![first];
        let network = self.network.clone();
        let _delay = network.delay();
        // An operator may work for ever as long as it does not know of a change.
        let mut quiet = pin!(timeout(LONGEST_DELAY, network.quiet()));
        loop {
            tokio::select! {
                _ = &mut quiet => break,
                next = self.line() => match next {
                    Some(Ok(line)) => {
                        let text = String::from_utf8_lossy(&line);
                        let _ = self.network.event(&self.collection, &text);
                        lines.push(line);
                    }
                    // The end of the watch is delivered after its events.
                    Some(Err(_)) | None => {
                        self.has_ended = true;
                        let _ = quiet.as_mut().await;
                        break;
                    }
                },
            }
        }
        lines
    }
}

/// The last event of each object, in the order of these events. An object that was deleted and created again has
/// changed.
fn last_of_each(lines: &[Bytes]) -> Vec<Bytes> {
    let mut last = HashMap::new();
    for (number, line) in lines.iter().enumerate() {
        let event: Value = serde_json::from_slice(line).unwrap_or_default();
        let metadata = &event["object"]["metadata"];
        let key = (
            metadata["namespace"].to_string(),
            metadata["name"].to_string(),
        );
        last.insert(key, number);
    }
    let mut kept: Vec<_> = last.into_values().collect();
    kept.sort_unstable();
    kept.into_iter()
        .map(|number| lines[number].clone())
        .collect()
}

/// The event with which the API server ends a watch whose resource version is too old.
fn expired() -> Bytes {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "too old resource version: fault", "reason": "Expired", "code": 410,
    });
    let event = json!({"type": "ERROR", "object": status});
    format!("{event}\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(type_: &str, name: &str, version: &str) -> Bytes {
        event_in("here", type_, name, version)
    }

    fn event_in(namespace: &str, type_: &str, name: &str, version: &str) -> Bytes {
        let metadata = json!({"namespace": namespace, "name": name, "resourceVersion": version});
        let event = json!({"type": type_, "object": {"metadata": metadata}});
        format!("{event}\n").into()
    }

    #[test]
    fn only_the_last_event_of_each_object_arrives() {
        let lines = [
            event("ADDED", "a", "1"),
            event("MODIFIED", "b", "2"),
            event("MODIFIED", "a", "3"),
            event("DELETED", "b", "4"),
            event("ADDED", "c", "5"),
            event_in("there", "ADDED", "a", "6"),
        ];
        assert_eq!(last_of_each(&lines), lines[2..]);
    }

    #[test]
    fn an_expired_watch_ends_with_the_error_of_the_api_server() {
        let line = expired();
        let event: Value = serde_json::from_slice(&line).expect("JSON");
        assert_eq!(event["type"], "ERROR");
        assert_eq!(event["object"]["code"], 410);
        assert!(line.ends_with(b"\n"));
    }
}
