//! Conversion between the versions of a kind. The user's code converts between one version, the hub, and each other
//! version. This module does the rest: it converts between any two versions, and keeps the values that a version cannot
//! hold.

use std::{
    collections::HashSet, fmt::Display, marker::PhantomData, panic::AssertUnwindSafe, sync::Arc,
};

use futures::{FutureExt, future::BoxFuture};
use kube::{
    CustomResourceExt, Resource,
    core::{
        conversion::{ConversionRequest, ConversionResponse, ConversionReview},
        object::{HasSpec, HasStatus},
        response::Status,
    },
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use tokio::task::spawn_blocking;

#[cfg(any(test, feature = "testing"))]
mod arbitrary;
mod bound;
mod change;
#[cfg(any(test, feature = "testing"))]
mod check;
mod incomplete;
mod kept;

use bound::Bound;
use change::{Change, between};
use incomplete::{common, complete};
use kept::{Annotations, TooLarge};

use super::{
    hook::Webhook,
    review::{self, Failure, Handler},
    server::{Endpoint, Respond},
};

/// The maximal number of conversions to find out which changes still fit.
const TRIES: usize = 1000;

/// The conversion of a kind: between version `H`, and each version that is a spoke.
///
/// A spoke needs plain [`From`] or [`TryFrom`] implementations for spec and status, in both directions.
///
/// ```
/// # use k8s_openapi::serde::{Deserialize, Serialize};
/// # mod v1 {
/// #     use kube::{CustomResource, KubeSchema};
/// #     use serde::{Deserialize, Serialize};
/// #     #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
/// #     #[kube(group = "example.com", version = "v1", kind = "Book", namespaced, status = "BookStatus")]
/// #     pub struct BookSpec { pub title: String }
/// #     #[derive(KubeSchema, Clone, Debug, Deserialize, Serialize)]
/// #     pub struct BookStatus { pub pages: u32 }
/// # }
/// # mod v2 {
/// #     use kube::{CustomResource, KubeSchema};
/// #     use serde::{Deserialize, Serialize};
/// #     #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
/// #     #[kube(group = "example.com", version = "v2", kind = "Book", namespaced, status = "BookStatus")]
/// #     pub struct BookSpec { pub name: String }
/// #     #[derive(KubeSchema, Clone, Debug, Deserialize, Serialize)]
/// #     pub struct BookStatus { pub pages: u32 }
/// # }
/// use kube_manager::{Manager, Operator, webhook::Hub};
///
/// impl From<v1::BookSpec> for v2::BookSpec {
///     fn from(v1::BookSpec { title }: v1::BookSpec) -> Self {
///         Self { name: title }
///     }
/// }
///
/// impl From<v2::BookSpec> for v1::BookSpec {
///     fn from(v2::BookSpec { name }: v2::BookSpec) -> Self {
///         Self { title: name }
///     }
/// }
/// # impl From<v1::BookStatus> for v2::BookStatus {
/// #     fn from(v1::BookStatus { pages }: v1::BookStatus) -> Self { Self { pages } }
/// # }
/// # impl From<v2::BookStatus> for v1::BookStatus {
/// #     fn from(v2::BookStatus { pages }: v2::BookStatus) -> Self { Self { pages } }
/// # }
///
/// let mut manager = Manager::new(Operator::new("library", "example.com"));
/// manager.add_conversion(Hub::<v2::Book>::new().spoke::<v1::Book>());
/// ```
pub struct Hub<H> {
    spokes: Vec<Spoke>,
    version: PhantomData<fn() -> H>,
}

/// A version of a kind of the operator's own.
pub trait Versioned:
    Resource<DynamicType = ()> + CustomResourceExt + HasSpec<Spec: DeserializeOwned + Serialize>
{
}

impl<K> Versioned for K where
    K: Resource<DynamicType = ()> + CustomResourceExt + HasSpec<Spec: DeserializeOwned + Serialize>
{
}

impl<H: Versioned> Default for Hub<H> {
    fn default() -> Self {
        Self::new()
    }
}

impl<H: Versioned> Hub<H> {
    /// Converts to and from version `H`.
    pub fn new() -> Self {
        Self {
            spokes: Vec::new(),
            version: PhantomData,
        }
    }

    /// Converts version `S` too: its spec and its status.
    #[must_use]
    pub fn spoke<S>(self) -> Self
    where
        H: HasStatus<Status: DeserializeOwned + Serialize>,
        S: Versioned + HasStatus<Status: DeserializeOwned + Serialize>,
        H::Spec: TryInto<S::Spec, Error: Display>,
        S::Spec: TryInto<H::Spec, Error: Display>,
        H::Status: TryInto<S::Status, Error: Display>,
        S::Status: TryInto<H::Status, Error: Display>,
    {
        let status = Some(Directions {
            up: part::<S::Status, H::Status>,
            down: part::<H::Status, S::Status>,
        });
        self.with::<S>(status)
    }

    /// Converts version `S` too, of a kind without a status.
    #[must_use]
    pub fn spoke_without_status<S>(self) -> Self
    where
        S: Versioned,
        H::Spec: TryInto<S::Spec, Error: Display>,
        S::Spec: TryInto<H::Spec, Error: Display>,
    {
        self.with::<S>(None)
    }

    fn with<S>(mut self, status: Option<Directions>) -> Self
    where
        S: Versioned,
        H::Spec: TryInto<S::Spec, Error: Display>,
        S::Spec: TryInto<H::Spec, Error: Display>,
    {
        self.spokes.push(Spoke {
            version: Version::of::<S>(),
            spec: Directions {
                up: part::<S::Spec, H::Spec>,
                down: part::<H::Spec, S::Spec>,
            },
            status,
        });
        self
    }
}

/// Converts a spec or a status.
type Part = fn(&Value) -> Result<Value, String>;

/// The two ways between a spoke and the hub.
#[derive(Clone, Copy)]
struct Directions {
    /// From the spoke to the hub.
    up: Part,
    /// From the hub to the spoke.
    down: Part,
}

fn part<A, B>(value: &Value) -> Result<Value, String>
where
    A: DeserializeOwned + TryInto<B, Error: Display>,
    B: Serialize,
{
    let a: A = serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let at = if path == "." {
            String::new()
        } else {
            format!(".{path}")
        };
        format!("{at}: {}", error.inner())
    })?;
    let b = a.try_into().map_err(|error| format!(": {error:#}"))?;
    serde_json::to_value(b).map_err(|error| format!(": {error}"))
}

struct Version {
    /// Such as `v1`.
    name: String,
    /// Of the whole object.
    schema: Value,
    /// Whether the spec is a field of the object. With `kube(no_spec)`, its fields are fields of the object.
    has_spec: bool,
}

impl Version {
    fn of<K: Versioned>() -> Self {
        let crd = serde_json::to_value(K::crd()).unwrap_or_default();
        Self::new(
            K::version(&()).into_owned(),
            crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone(),
        )
    }

    fn new(name: String, schema: Value) -> Self {
        let fields = &schema["properties"];
        let names = fields.as_object().into_iter().flat_map(Map::keys);
        let mut names = names.map(String::as_str);
        let has_spec = fields.get("spec").is_some()
            && names.all(|it| matches!(it, "spec" | "status") || TYPE_AND_METADATA.contains(&it));
        Self {
            name,
            schema,
            has_spec,
        }
    }

    /// The parts of `body`, an object without its type and metadata.
    fn parts(&self, body: &Value) -> Parts {
        let mut fields = body.as_object().cloned().unwrap_or_default();
        let status = fields.remove("status");
        let spec = if self.has_spec {
            fields.remove("spec")
        } else {
            Some(Value::Object(std::mem::take(&mut fields)))
        };
        Parts {
            spec,
            status,
            others: fields,
        }
    }

    /// The object without its type and metadata that has these parts.
    fn body(&self, parts: Parts) -> Value {
        let Parts {
            spec,
            status,
            others: mut fields,
        } = parts;
        match spec {
            Some(Value::Object(spec)) if !self.has_spec => fields.extend(spec),
            Some(spec) if self.has_spec => drop(fields.insert("spec".to_owned(), spec)),
            _ => {}
        }
        fields.extend(status.map(|status| ("status".to_owned(), status)));
        Value::Object(fields)
    }
}

/// The parts of an object that a conversion changes.
#[derive(Clone)]
struct Parts {
    spec: Option<Value>,
    status: Option<Value>,
    /// Fields that neither belong to the spec nor to the status. They stay.
    others: Map<String, Value>,
}

struct Spoke {
    version: Version,
    spec: Directions,
    status: Option<Directions>,
}

/// The conversion of one kind.
pub(super) struct Conversion {
    group: String,
    kind: String,
    plural: String,
    hub: Version,
    spokes: Vec<Spoke>,
}

impl<H: Versioned> From<Hub<H>> for Conversion {
    fn from(hub: Hub<H>) -> Self {
        Self {
            group: H::group(&()).into_owned(),
            kind: H::kind(&()).into_owned(),
            plural: H::plural(&()).into_owned(),
            hub: Version::of::<H>(),
            spokes: hub.spokes,
        }
    }
}

/// One step between a spoke and the hub.
struct Hop<'a> {
    group: &'a str,
    from: &'a Version,
    to: &'a Version,
    spoke: &'a Spoke,
    is_up: bool,
}

impl Conversion {
    /// The name of the kind's CRD.
    pub fn crd(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// Whether it is of this kind.
    pub fn is_of(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }

    /// Whether it converts this version.
    pub fn has(&self, version: &str) -> bool {
        let mut spokes = self.spokes.iter();
        self.hub.name == version || spokes.any(|it| it.version.name == version)
    }

    /// The names of all versions: the hub, then its spokes.
    fn versions(&self) -> impl Iterator<Item = &Version> {
        let spokes = self.spokes.iter().map(|it| &it.version);
        [&self.hub].into_iter().chain(spokes)
    }

    /// Converts `object` to another version.
    pub fn convert(&self, object: Map<String, Value>, to: &str) -> Result<Value, String> {
        let (object, lost) = self.measured(object, to)?;
        for Lost { to, .. } in lost {
            tracing::error!(object = name(&object), version = to, "too large");
        }
        Ok(Value::Object(object))
    }

    /// The same, and returns the values for which the annotations have no room.
    fn measured(
        &self,
        mut object: Map<String, Value>,
        to: &str,
    ) -> Result<(Map<String, Value>, Vec<Lost>), String> {
        let mut lost = Vec::new();
        let from = version(&object).to_owned();
        let name = |what: &str| format!("{what} of {} is not converted here", self.kind);
        if from != to {
            // A version that is neither the hub nor a spoke cannot be converted.
            let way = [(&*from, true), (to, false)];
            for (version, is_up) in way {
                if version == self.hub.name {
                    continue;
                }
                let mut spokes = self.spokes.iter();
                let spoke = spokes.find(|it| it.version.name == version);
                let spoke = spoke.ok_or_else(|| name(version))?;
                let (from, to) = match is_up {
                    true => (&spoke.version, &self.hub),
                    false => (&self.hub, &spoke.version),
                };
                let group = &self.group;
                let hop = Hop {
                    group,
                    from,
                    to,
                    spoke,
                    is_up,
                };
                lost.extend(hop.convert(&mut object)?);
            }
        }
        Ok((object, lost))
    }
}

/// The values that a step loses, because the annotations have no room for them.
struct Lost {
    /// The versions before and after the step.
    from: String,
    to: String,
    kept: TooLarge,
}

/// The version of an object, which its `apiVersion` ends with.
fn version(object: &Map<String, Value>) -> &str {
    let version = object.get("apiVersion").and_then(Value::as_str);
    let version = version.unwrap_or_default();
    version
        .split_once('/')
        .map_or(version, |(_, version)| version)
}

/// The fields of an object that no conversion changes.
const TYPE_AND_METADATA: [&str; 3] = ["apiVersion", "kind", "metadata"];

impl Hop<'_> {
    fn convert(&self, object: &mut Map<String, Value>) -> Result<Option<Lost>, String> {
        let mut too_large = None;
        let mut body = std::mem::take(object);
        for field in TYPE_AND_METADATA {
            object.extend(body.remove_entry(field));
        }
        let body = Value::Object(body);
        let mut converted = self.forth(&body)?;
        let mut annotations = annotations(object);
        let [here, there] = [self.from, self.to].map(|version| kept::Kind {
            version: &version.name,
            group: self.group,
        });
        // An object of this version keeps nothing for this version.
        here.take(&mut annotations, &body);
        let kept = there.take(&mut annotations, &body);
        let changes = if kept.is_as_written {
            kept.changes
        } else {
            self.fitting(kept.changes, &body, &converted)
        };
        for change in changes {
            change.make(&mut converted);
        }
        match self.back(&converted) {
            Ok(back) => {
                let lost = between(&self.from.schema, &back, &body);
                too_large = here.put(lost, &mut annotations, &converted).err();
            }
            Err(error) => {
                let (object, version) = (name(object), &self.to.name);
                tracing::warn!(object, version, error, "cannot be converted back");
            }
        }
        set_annotations(object, annotations);
        let api_version = format!("{}/{}", self.group, self.to.name);
        object.insert("apiVersion".to_owned(), api_version.into());
        if let Value::Object(converted) = converted {
            object.extend(converted);
        }
        Ok(too_large.map(|kept| Lost {
            from: self.from.name.clone(),
            to: self.to.name.clone(),
            kept,
        }))
    }

    fn forth(&self, body: &Value) -> Result<Value, String> {
        convert([self.from, self.to], body, self.spoke, |part| {
            if self.is_up { part.up } else { part.down }
        })
    }

    fn back(&self, body: &Value) -> Result<Value, String> {
        convert([self.to, self.from], body, self.spoke, |part| {
            if self.is_up { part.down } else { part.up }
        })
    }

    /// Returns the `changes` that can still be applied. A client has changed `body`, which was converted to
    /// `converted`: the values that the client wrote must not change.
    fn fitting(&self, mut changes: Vec<Change>, body: &Value, converted: &Value) -> Vec<Change> {
        // The places where the client would read other values than it wrote.
        let wrong = |changes: &[Change]| {
            let mut object = converted.clone();
            for change in changes {
                change.make(&mut object);
            }
            let back = self.back(&object).ok()?;
            Some(between(&self.from.schema, &back, body))
        };
        let Some(before) = wrong(&[]) else {
            return Vec::new();
        };
        let harm = |changes: &[Change]| {
            wrong(changes).map_or(usize::MAX, |after| {
                after.iter().filter(|it| !before.contains(it)).count()
            })
        };
        let mut tries = TRIES;
        let mut now = harm(&changes);
        while now > 0 {
            let Some(left) = usize::checked_sub(tries, changes.len()) else {
                return Vec::new();
            };
            tries = left;
            // Leaving out this one gives the best result.
            let without = |index: usize| {
                let mut rest = changes.clone();
                rest.remove(index);
                rest
            };
            let best = (0..changes.len()).map(|index| (harm(&without(index)), index));
            let Some((least, index)) = best.min() else {
                return changes;
            };
            now = least;
            changes.remove(index);
        }
        changes
    }
}

/// Converts the parts of an object, `body`, each by what `direction` takes. It may lack what its schema requires;
/// then the answer lacks what would follow from that.
fn convert(
    [from, to]: [&Version; 2],
    body: &Value,
    spoke: &Spoke,
    direction: impl Fn(Directions) -> Part,
) -> Result<Value, String> {
    let convert = |part: &Option<Value>, directions: Directions| match part {
        Some(value) if !value.is_null() => direction(directions)(value).map(Some),
        part => Ok(part.clone()),
    };
    let plain = |parts: &Parts| {
        let spec = convert(&parts.spec, spoke.spec).map_err(|error| {
            if from.has_spec {
                format!("spec{error}")
            } else {
                error.trim_start_matches(['.', ':', ' ']).to_owned()
            }
        })?;
        let status = match spoke.status {
            Some(directions) => {
                convert(&parts.status, directions).map_err(|error| format!("status{error}"))?
            }
            None => parts.status.clone(),
        };
        let others = parts.others.clone();
        Ok(Parts {
            spec,
            status,
            others,
        })
    };
    let parts = from.parts(body);
    let converted = plain(&parts).or_else(|error: String| {
        let mut shared: Option<Parts> = None;
        let mut good = 0;
        for number in 0..incomplete::TRIES {
            let mut completed = parts.clone();
            if !complete(from, &mut completed, number) {
                return Err(error);
            }
            let Ok(converted) = plain(&completed) else {
                continue;
            };
            good += 1;
            shared = Some(match shared {
                Some(shared) => common(shared, &converted),
                None => converted,
            });
        }
        // A single result does not show which values depend on the missing fields.
        shared.filter(|_| good > 1).ok_or(error)
    });
    Ok(to.body(converted?))
}

/// The annotations of an object.
fn annotations(object: &mut Map<String, Value>) -> Annotations {
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    let annotations = metadata.and_then(|it| it.remove("annotations"));
    match annotations {
        Some(Value::Object(annotations)) => annotations,
        _ => Annotations::new(),
    }
}

fn set_annotations(object: &mut Map<String, Value>, annotations: Annotations) {
    if annotations.is_empty() {
        return;
    }
    let metadata = object
        .entry("metadata")
        .or_insert_with(|| Map::new().into());
    if let Value::Object(metadata) = metadata {
        metadata.insert("annotations".to_owned(), annotations.into());
    }
}

/// The name of an object, with its namespace.
fn name(object: &Map<String, Value>) -> String {
    let metadata = &object.get("metadata").unwrap_or(&Value::Null);
    match (metadata["namespace"].as_str(), metadata["name"].as_str()) {
        (Some(namespace), Some(name)) => format!("{namespace}/{name}"),
        (None, Some(name)) => name.to_owned(),
        (_, None) => "without a name".to_owned(),
    }
}

/// The conversions of all kinds.
#[derive(Default)]
pub(super) struct Conversions(Vec<Arc<Conversion>>);

/// The path of the conversions, the same as kubebuilder's.
pub(super) const PATH: &str = "/convert";

/// The maximal size of a review in bytes: the API server sends all objects of a list in one review.
const MOST: usize = 64 << 20;

/// How large a review is that is answered where it arrives, in bytes: that takes less than 1 ms, and a list
/// of objects that are stored is converted by one review for each.
const SMALL: usize = 32 << 10;

/// Serves the conversions.
struct Served(Arc<Conversions>);

impl Respond for Served {
    fn most(&self) -> usize {
        MOST
    }

    fn respond(&self, body: Vec<u8>) -> BoxFuture<'_, Result<Vec<u8>, Failure>> {
        if body.len() <= SMALL {
            return async move { self.0.answer(&body) }.boxed();
        }
        let conversions = self.0.clone();
        let answer = spawn_blocking(move || conversions.answer(&body));
        let answer =
            answer.map(|ended| ended.unwrap_or_else(|error| Err(Failure::Failed(error.into()))));
        answer.boxed()
    }
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
        self.0.iter().map(|it| it.crd()).collect()
    }

    /// The webhooks that keep objects from being too large to be converted.
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

    /// The routes of the conversions, and of the webhooks that limit the size of objects.
    pub fn endpoints(self) -> Vec<Endpoint> {
        if self.is_empty() {
            return Vec::new();
        }
        tracing::info!(path = PATH, crds = ?self.crds(), "converts");
        let bounds = self.0.iter().map(|conversion| {
            let handler: Box<dyn Handler> = Box::new(Bound(conversion.clone()));
            Endpoint {
                path: conversion.bound_path(),
                handler: Box::new(handler),
            }
        });
        let mut endpoints: Vec<_> = bounds.collect();
        endpoints.push(Endpoint {
            path: PATH.to_owned(),
            handler: Box::new(Served(Arc::new(self))),
        });
        endpoints
    }

    /// The conversion of a kind.
    pub fn of(&self, group: &str, kind: &str) -> Option<&Conversion> {
        let mut conversions = self.0.iter().map(AsRef::as_ref);
        conversions.find(|it: &&Conversion| it.is_of(group, kind))
    }

    /// Answers the review in `body`.
    pub fn answer(&self, body: &[u8]) -> Result<Vec<u8>, Failure> {
        let review: ConversionReview = serde_json::from_slice(body).map_err(|error| {
            Failure::Malformed(format!(
                "this is not a ConversionReview: \
                {error}"
            ))
        })?;
        let request = ConversionRequest::from_review(review)
            .map_err(|error| Failure::Malformed(error.to_string()))?;
        let mut request = request;
        let objects = std::mem::take(&mut request.objects).into_iter();
        let to = request.desired_api_version.clone();
        let converted: Result<Vec<_>, String> =
            objects.map(|object| self.convert(object, &to)).collect();
        let response = ConversionResponse::for_request(request);
        let response = match converted {
            Ok(objects) => response.success(objects),
            Err(error) => {
                tracing::warn!(error, "an object cannot be converted");
                response.failure(Status::failure(&error, "Invalid"))
            }
        };
        serde_json::to_vec(&response.into_review()).map_err(|error| Failure::Failed(error.into()))
    }

    fn convert(&self, object: Value, to: &str) -> Result<Value, String> {
        let Value::Object(object) = object else {
            return Err("the value to convert is not an object".to_owned());
        };
        let text = |field: &str| {
            object
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (kind, from) = (text("kind").to_owned(), text("apiVersion").to_owned());
        let (group, version) = to.split_once('/').unwrap_or_default();
        let name = name(&object);
        let conversion = self.of(group, &kind);
        let converted = conversion.ok_or_else(|| "there is no conversion for this kind".to_owned());
        let converted = converted.and_then(|conversion| {
            let convert = AssertUnwindSafe(|| conversion.convert(object, version));
            let ended = std::panic::catch_unwind(convert);
            ended.unwrap_or_else(|panic| Err(format!("panicked: {}", review::message(&*panic))))
        });
        converted.map_err(|error| format!("{kind} {name} cannot become {to} from {from}: {error}"))
    }
}

#[cfg(test)]
mod tests;
