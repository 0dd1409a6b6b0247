//! Conversion between the versions of a kind. The user's code converts between one version, the hub, and each other
//! version. This module does the rest: it converts between any two versions, and keeps the values that a version cannot
//! hold.

use std::{
    borrow::Cow,
    collections::HashSet,
    fmt::{Display, Formatter},
    marker::PhantomData,
    panic::AssertUnwindSafe,
    sync::Arc,
};

use futures::{FutureExt, future::BoxFuture};
use kube::{
    CustomResourceExt, Resource,
    core::{
        object::{HasSpec, HasStatus},
        response::Status,
    },
};
use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, Deserializer, SeqAccess, Visitor},
};
use serde_json::{Map, Value, json, value::RawValue};

#[cfg(any(test, feature = "testing"))]
mod arbitrary;
mod bound;
mod change;
#[cfg(any(test, feature = "testing"))]
mod check;
mod incomplete;
mod kept;
mod worker;

use bound::Bound;
use change::{Change, between};
use incomplete::{common, complete};
use kept::{Annotations, TooLarge};
use worker::{Call, Worker};

use super::{
    hook::Webhook,
    review::{self, Failure, Handler},
    room::{Place, memory},
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
    fn parts<'a>(&self, body: &'a Value) -> Parts<'a> {
        let mut parts = Parts {
            spec: None,
            status: None,
            others: Map::new(),
        };
        for (name, value) in body.as_object().into_iter().flatten() {
            match name.as_str() {
                "status" => parts.status = Some(Cow::Borrowed(value)),
                "spec" if self.has_spec => parts.spec = Some(Cow::Borrowed(value)),
                _ => drop(parts.others.insert(name.clone(), value.clone())),
            }
        }
        if !self.has_spec {
            let fields = std::mem::take(&mut parts.others);
            parts.spec = Some(Cow::Owned(Value::Object(fields)));
        }
        parts
    }

    /// The object without its type and metadata that has these parts.
    fn body(&self, parts: Parts<'_>) -> Value {
        let Parts {
            spec,
            status,
            others: mut fields,
        } = parts;
        match spec.map(Cow::into_owned) {
            Some(Value::Object(spec)) if !self.has_spec => fields.extend(spec),
            Some(spec) if self.has_spec => drop(fields.insert("spec".to_owned(), spec)),
            _ => {}
        }
        fields.extend(status.map(|status| ("status".to_owned(), status.into_owned())));
        Value::Object(fields)
    }
}

/// The parts of an object that a conversion changes.
#[derive(Clone)]
struct Parts<'a> {
    spec: Option<Cow<'a, Value>>,
    status: Option<Cow<'a, Value>>,
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
    let parts = from.parts(body);
    let converted = plain(from, &parts, spoke, &direction).or_else(|error: String| {
        let mut shared: Option<Parts> = None;
        let mut good = 0;
        for number in 0..incomplete::TRIES {
            let mut completed = parts.clone();
            if !complete(from, &mut completed, number) {
                return Err(error);
            }
            let Ok(converted) = plain(from, &completed, spoke, &direction) else {
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

/// The same for an object that has what its schema requires.
fn plain<'a>(
    from: &Version,
    parts: &Parts<'a>,
    spoke: &Spoke,
    direction: &impl Fn(Directions) -> Part,
) -> Result<Parts<'a>, String> {
    let convert = |part: &Option<Cow<'a, Value>>, directions: Directions| match part {
        Some(value) if !value.is_null() => {
            let converted = direction(directions)(value)?;
            Ok(Some(Cow::Owned(converted)))
        }
        part => Ok(part.clone()),
    };
    let spec = convert(&parts.spec, spoke.spec).map_err(|error: String| {
        if from.has_spec {
            format!("spec{error}")
        } else {
            error.trim_start_matches(['.', ':', ' ']).to_owned()
        }
    })?;
    let status = match spoke.status {
        Some(directions) => {
            convert(&parts.status, directions).map_err(|error: String| format!("status{error}"))?
        }
        None => parts.status.clone(),
    };
    let others = parts.others.clone();
    Ok(Parts {
        spec,
        status,
        others,
    })
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
    full_name(metadata["namespace"].as_str(), metadata["name"].as_str())
}

fn full_name(namespace: Option<&str>, name: Option<&str>) -> String {
    match (namespace, name) {
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

/// The most memory that the conversion of one object may take, in bytes. Large objects are converted one after the
/// other, so all of them together take no more.
const MOST_OF_VALUES: usize = 256 << 20;

/// How many copies of an object exist while it is converted: the object before and after, the result of its conversion
/// back, and the typed object.
const COPIES: usize = 4;

/// Why an object cannot be converted, if that would take too much memory.
fn too_many_values(object: &str) -> Option<String> {
    let (bytes, most) = (memory(object).saturating_mul(COPIES), MOST_OF_VALUES);
    let [bytes, most] = [bytes, most].map(|bytes| bytes.div_ceil(1 << 20));
    (bytes > most).then(|| {
        format!(
            "it has too many values: its conversion would take up to {bytes} MiB of memory, but may take {most} MiB"
        )
    })
}

/// Serves the conversions.
struct Served {
    conversions: Arc<Conversions>,
    worker: Worker,
}

impl Respond for Served {
    fn most(&self) -> usize {
        MOST
    }

    fn respond(&self, body: Vec<u8>, place: Place) -> BoxFuture<'_, Result<Vec<u8>, Failure>> {
        let call = async move {
            if body.len() <= SMALL {
                return self.conversions.answer(&body, || false);
            }
            let conversions = self.conversions.clone();
            let work = move |call: &Call| {
                let _kept = place;
                conversions.answer(&body, || call.has_ended())
            };
            let answer = self.worker.run(work).await;
            answer.map_err(Failure::Failed)?
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

/// The part of an object that identifies it.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Header {
    api_version: String,
    kind: String,
    metadata: HeaderMetadata,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct HeaderMetadata {
    name: Option<String>,
    namespace: Option<String>,
    deletion_timestamp: Option<String>,
}

impl Header {
    fn name(&self) -> String {
        let HeaderMetadata {
            name, namespace, ..
        } = &self.metadata;
        full_name(namespace.as_deref(), name.as_deref())
    }
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
        conversions.find(|it: &&Conversion| it.is_of(group, kind))
    }

    /// Answers the review in `body`. Converts no more objects when the call `has_ended`.
    pub fn answer(&self, body: &[u8], has_ended: impl Fn() -> bool) -> Result<Vec<u8>, Failure> {
        let malformed = |error: serde_json::Error| {
            Failure::Malformed(format!("this is not a ConversionReview: {error}"))
        };
        let review: Envelope = serde_json::from_slice(body).map_err(malformed)?;
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
        let result = match objects.deserialize_seq(items).map_err(malformed)? {
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
        let conversion = self.of(group, kind.unwrap_or_default());
        let conversion = conversion.ok_or("there is no conversion for this kind")?;
        let convert = AssertUnwindSafe(|| conversion.convert(object, version));
        let ended = std::panic::catch_unwind(convert);
        ended.unwrap_or_else(|panic| Err(format!("panicked: {}", review::message(&*panic))))
    }
}

#[cfg(test)]
mod tests;
