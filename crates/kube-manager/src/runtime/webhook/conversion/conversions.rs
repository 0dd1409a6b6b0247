//! The conversions of all kinds: they answer the ConversionReviews of the API server.

use std::{collections::HashSet, fmt::Formatter, sync::Arc};

use futures::{FutureExt, future::BoxFuture};
use kube::core::response::Status;
use serde::{
    Deserialize,
    de::{Deserializer, SeqAccess, Visitor},
};
use serde_json::{Map, Value, json, value::RawValue};

use super::{
    bound::Bound,
    header::Header,
    kind::Conversion,
    worker::{Call, Worker, too_many_values},
};
use crate::runtime::webhook::{
    endpoint::{Endpoint, Failure, Respond},
    hook::Webhook,
    review::Handler,
    room::Permit,
};

/// The conversions of all kinds.
#[derive(Default)]
pub struct Conversions(Vec<Arc<Conversion>>);

/// The path of the conversions, the same as kubebuilder's.
pub const PATH: &str = "/convert";

/// The maximal size of a review in bytes: the API server sends all objects of a list in one review.
const MOST: usize = 64 << 20;

/// How large a review is that is answered where it arrives, in bytes: that mostly takes less than 1 ms, and a list
/// of objects that are stored is converted by one review for each.
pub const SMALL: usize = 32 << 10;

/// Serves the conversions.
struct Served {
    conversions: Arc<Conversions>,
    worker: Worker,
}

impl Respond for Served {
    fn most(&self) -> usize {
        MOST
    }

    fn respond(
        &self,
        body: Vec<u8>,
        permit: Arc<Permit>,
    ) -> BoxFuture<'_, Result<Vec<u8>, Failure>> {
        let call = async move {
            if body.len() <= SMALL {
                return self.conversions.answer(&body, || false);
            }
            let conversions = self.conversions.clone();
            let answer = self.worker.run(move |call: &Call| {
                let _permit = permit;
                conversions.answer(&body, || call.has_ended())
            });
            answer.await.map_err(Failure::Failed)?
        };
        call.boxed()
    }
}

/// A review as it arrives. The objects stay JSON text, and are converted one after the other.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    api_version: String,
    kind: String,
    #[serde(borrow)]
    request: Option<Incoming<'a>>,
}

#[derive(Deserialize)]
struct Incoming<'a> {
    uid: String,
    #[serde(rename = "desiredAPIVersion")]
    desired_api_version: String,
    #[serde(borrow)]
    objects: &'a RawValue,
}

/// Converts the objects of a list while it is read, and writes them to `answer`.
struct Items<'a, C> {
    convert: C,
    answer: &'a mut Vec<u8>,
}

impl<'de, C: FnMut(&RawValue) -> Result<Value, String>> Visitor<'de> for Items<'_, C> {
    /// The error of the object that cannot be converted.
    type Value = Result<(), String>;

    fn expecting(&self, formatter: &mut Formatter) -> std::fmt::Result {
        formatter.write_str("a list of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut is_first = true;
        let mut converted = Ok(());
        while let Some(object) = items.next_element::<&RawValue>()? {
            // The rest of the list must still be valid.
            if converted.is_err() {
                continue;
            }
            if !is_first {
                self.answer.push(b',');
            }
            is_first = false;
            converted = (self.convert)(object).and_then(|object| {
                let written = serde_json::to_writer(&mut *self.answer, &object);
                written.map_err(|error| error.to_string())
            });
        }
        Ok(converted)
    }
}

fn malformed(error: &serde_json::Error) -> Failure {
    Failure::Malformed(format!("this is not a ConversionReview: {error}"))
}

impl Conversions {
    pub fn add(&mut self, conversion: Conversion) {
        self.0.push(Arc::new(conversion));
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names of the CRDs of the kinds.
    pub fn crds(&self) -> Vec<String> {
        self.0.iter().map(|conversion| conversion.crd()).collect()
    }

    /// The webhooks that refuse objects which cannot be converted.
    pub fn bounds(&self) -> Vec<Webhook> {
        let mut sorted: Vec<_> = self.0.iter().collect();
        sorted.sort_by(|a, b| (&a.group, &a.kind).cmp(&(&b.group, &b.kind)));
        let mut kinds = HashSet::new();
        let bounds = sorted.into_iter().map(|conversion| {
            let kind = conversion.kind.to_lowercase();
            let is_first = kinds.insert(kind.clone());
            // Kinds of two groups may have one name.
            let group = if is_first {
                String::new()
            } else {
                format!(".{}", conversion.group)
            };
            conversion.bound(format!("bound{kind}{group}.kb.io"))
        });
        bounds.collect()
    }

    /// The routes of the conversions, and of the webhooks that refuse objects which cannot be converted.
    ///
    /// # Errors
    ///
    /// When the system has no more threads.
    pub fn endpoints(self) -> anyhow::Result<Vec<Endpoint>> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        tracing::info!(path = PATH, crds = ?self.crds(), "converts");
        let worker = Worker::start()?;
        let bounds = self.0.iter().map(|conversion| {
            let handler: Box<dyn Handler> = Box::new(Bound {
                conversion: conversion.clone(),
                worker: worker.clone(),
            });
            Endpoint {
                path: conversion.bound_path(),
                handler: Box::new(handler),
            }
        });
        let mut endpoints: Vec<_> = bounds.collect();
        let conversions = Arc::new(self);
        endpoints.push(Endpoint {
            path: PATH.to_owned(),
            handler: Box::new(Served {
                conversions,
                worker,
            }),
        });
        Ok(endpoints)
    }

    /// The conversion of a kind.
    pub fn of(&self, group: &str, kind: &str) -> Option<&Conversion> {
        let mut conversions = self.0.iter().map(AsRef::as_ref);
        conversions.find(|conversion: &&Conversion| conversion.is_of(group, kind))
    }

    /// Answers the review in `body`. Converts no more objects when the call `has_ended`.
    pub fn answer(&self, body: &[u8], has_ended: impl Fn() -> bool) -> Result<Vec<u8>, Failure> {
        let review: Envelope = serde_json::from_slice(body).map_err(|error| malformed(&error))?;
        let Some(request) = review.request else {
            let what = "the ConversionReview has no request";
            return Err(Failure::Malformed(what.to_owned()));
        };
        let texts = [&review.api_version, &review.kind, &request.uid].map(|text| json!(text));
        let [api_version, kind, uid] = texts;
        let head = format!(
            r#"{{"apiVersion":{api_version},"kind":{kind},"response":{{"uid":{uid},"convertedObjects":["#
        );
        // The converted objects are about as large as the objects in the review.
        let mut answer = Vec::with_capacity(head.len() + body.len());
        answer.extend_from_slice(head.as_bytes());
        let items = Items {
            convert: |object: &RawValue| {
                if has_ended() {
                    return Err("nobody waits for the answer".to_owned());
                }
                self.convert(object.get(), &request.desired_api_version)
            },
            answer: &mut answer,
        };
        let mut objects = serde_json::Deserializer::from_str(request.objects.get());
        let result = match objects
            .deserialize_seq(items)
            .map_err(|error| malformed(&error))?
        {
            Ok(()) => Status::success(),
            Err(error) => {
                if !has_ended() {
                    tracing::warn!(error, "an object cannot be converted");
                }
                answer.truncate(head.len());
                Status::failure(&error, "Invalid")
            }
        };
        answer.extend_from_slice(br#"],"result":"#);
        let written = serde_json::to_writer(&mut answer, &result);
        written.map_err(|error| Failure::Failed(error.into()))?;
        answer.extend_from_slice(b"}}");
        Ok(answer)
    }

    /// Converts an object, which is JSON text.
    fn convert(&self, object: &str, to: &str) -> Result<Value, String> {
        if !object.starts_with('{') {
            return Err("the value to convert is not an object".to_owned());
        }
        self.converted(object, to).map_err(|error| {
            // The error says what is wrong, even if the object has no valid header.
            let header: Header = serde_json::from_str(object).unwrap_or_default();
            let (kind, from, name) = (&header.kind, &header.api_version, header.name());
            format!("{kind} {name} cannot become {to} from {from}: {error}")
        })
    }

    fn converted(&self, object: &str, to: &str) -> Result<Value, String> {
        if let Some(why) = too_many_values(object) {
            return Err(why);
        }
        let object: Map<String, Value> =
            serde_json::from_str(object).map_err(|error| error.to_string())?;
        let kind = object.get("kind").and_then(Value::as_str);
        let (group, version) = to.split_once('/').unwrap_or_default();
        let conversion = self
            .of(group, kind.unwrap_or_default())
            .ok_or("there is no conversion for this kind")?;
        conversion.convert(object, version)
    }
}
