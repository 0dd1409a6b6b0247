//! Storage migration. The API server stores an object in an old version of its kind until a client writes the object
//! again. The leader writes each object, and then removes the old versions from `status.storedVersions` of the CRD, so
//! that they can be removed from the CRD.
//!
//! The API server converts the objects, so each write changes only the stored version.

use std::{collections::BTreeMap, ops::Range, time::Duration};

use anyhow::{Context, Result};
use backon::{BackoffBuilder, Retryable};
use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::{
        CustomResourceDefinition, CustomResourceDefinitionCondition,
    },
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::Timestamp,
};
use kube::{
    Api, Client, ResourceExt,
    api::{DynamicObject, ListParams, Patch, PatchParams},
    core::{ApiResource, GroupVersionKind, ObjectList, PartialObjectMeta},
};
use prometheus::{
    IntCounterVec, IntGaugeVec, Registry, register_int_counter_vec_with_registry as counter,
    register_int_gauge_vec_with_registry as gauge,
};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{
    backoff::growing,
    extension::Extension,
    failure,
    host::Host,
    operator::Operator,
    rbac::{Grant, Verb},
    task::{Pending, Replicas, Task},
    trouble::Trouble,
    versions,
};

/// The API group of CRDs.
const CRD_GROUP: &str = "apiextensions.k8s.io";

/// The number of objects in a page of a list.
const PAGE: u32 = 500;

/// The longest delay before a migration retries objects that could not be written.
const LONGEST: Duration = Duration::from_secs(600);

/// The delays before the retries of a write that the API server could not process at the moment.
const AGAIN: Range<Duration> = Duration::from_millis(100)..Duration::from_secs(2);

/// How often such a write is retried.
const TIMES: usize = 5;

/// The longest pause after the write of an object.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The field manager that owns the fields which the defaults of the new version set.
const FIELD_MANAGER: &str = "storage-migration";

/// The type of the condition in the status of the CRD.
const CONDITION: &str = "StorageMigrated";

/// The reasons of the condition.
mod reason {
    /// Objects are being written.
    pub const MIGRATING: &str = "Migrating";
    /// All objects are stored in the version that the CRD names.
    pub const MIGRATED: &str = "Migrated";
    /// The API server refuses to store some objects.
    pub const REFUSED: &str = "Refused";
    /// Objects cannot be listed.
    pub const FAILED: &str = "Failed";
    /// Nothing converts between versions that are not equal.
    pub const NO_CONVERSION: &str = "NoConversion";
}

/// The most names of refused objects in the condition.
const NAMES: usize = 5;

/// Several versions of a kind: served only if no field is lost, and with a migration of stored objects.
#[derive(Default)]
pub(super) struct Versions {}

impl Extension for Versions {
    type Options = ();

    /// Refuses versions that the API server cannot convert without a loss.
    fn complete(&self, crds: &mut [CustomResourceDefinition]) -> Result<()> {
        crds.iter().try_for_each(versions::check)
    }

    /// To read each CRD with several versions and to write its status, and to list and to patch its objects. Only a
    /// `ClusterRole` can grant this.
    fn grants(&self, operator: &Operator, crds: &[CustomResourceDefinition]) -> Vec<Grant> {
        if operator.namespaced {
            return Vec::new();
        }
        crds.iter()
            .filter(|crd| has_versions(crd))
            .flat_map(grants)
            .collect()
    }

    /// The tasks that migrate the stored objects. Each starts `delay` after the last change of its CRD.
    fn tasks(
        &self,
        host: &Host,
        crds: &[CustomResourceDefinition],
        delay: Duration,
    ) -> Result<Vec<Pending>> {
        let metrics = Metrics::new(&host.registry)?;
        let with_versions = crds.iter().filter(|crd| has_versions(crd));
        let tasks = with_versions.map(|crd| {
            let migration = Migration::new(crd, delay, metrics.clone());
            Pending::new("storage migration", Replicas::Leader, |task| {
                migration.run(task)
            })
        });
        Ok(tasks.collect())
    }
}

/// The permissions that the migration of `crd` needs.
fn grants(crd: &CustomResourceDefinition) -> [Grant; 3] {
    let (group, plural) = (&crd.spec.group, &crd.spec.names.plural);
    let name = format!("{plural}.{group}");
    [
        Grant::new(CRD_GROUP, "customresourcedefinitions", &[Verb::Get]).named([name.clone()]),
        Grant::new(
            CRD_GROUP,
            "customresourcedefinitions/status",
            &[Verb::Patch],
        )
        .named([name]),
        Grant::new(group, plural, &[Verb::List, Verb::Patch]),
    ]
}

/// Whether objects of the kind can be stored in several versions.
fn has_versions(crd: &CustomResourceDefinition) -> bool {
    crd.spec.versions.len() > 1
}

/// The metrics of migrations. Each comment names the labels.
#[derive(Clone)]
struct Metrics {
    /// `crd`
    pending: IntGaugeVec,
    /// `crd`, `result`
    objects: IntCounterVec,
}

impl Metrics {
    #[rustfmt::skip] // A table reads better.
    fn new(to: &Registry) -> Result<Self> {
        Ok(Self {
            pending: gauge!("storage_migration_pending", "1 while objects may be stored in an old version", &["crd"], to)?,
            objects: counter!("storage_migration_objects_total", "Objects that a storage migration has tried to write", &["crd", "result"], to)?,
        })
    }
}

/// The migration of one kind.
struct Migration {
    /// The name of the CRD.
    crd: String,
    /// How long a CRD must be unchanged before objects are written. Until then, some API server may not know which
    /// version is stored.
    delay: Duration,
    metrics: Metrics,
}

/// The result of one check of the CRD.
#[derive(Debug, PartialEq)]
enum Outcome {
    /// Nothing is left to do, or nothing can be done until the CRD changes.
    Done,
    /// Check again after this time.
    After(Duration),
    /// Some objects were refused.
    Refused,
}

/// The state when all API servers stored the new version. The condition contains it, so that another leader can
/// continue the migration.
#[derive(Clone, Debug, PartialEq)]
struct Start {
    /// The generation of the CRD.
    generation: i64,
    /// An object with a later resource version is already stored in the new version.
    resource_version: String,
}

/// The result of writing an object.
enum Written {
    /// It is stored in the new version.
    Stored,
    /// Another client has written or deleted the object since it was listed.
    Elsewhere,
    /// The API server refused the object for this reason.
    Refused(String),
}

impl Migration {
    pub fn new(crd: &CustomResourceDefinition, delay: Duration, metrics: Metrics) -> Self {
        Self {
            crd: crd.name_any(),
            // A delay of 0 s would make `run` a busy loop.
            delay: delay.max(Duration::from_millis(100)),
            metrics,
        }
    }

    /// Migrates the stored objects whenever the CRD needs it, until the operator stops.
    pub async fn run(self, task: Task) -> Result<()> {
        let mut trouble = Trouble::new("waits with the storage migration");
        let pauses = growing(self.delay..LONGEST.max(2 * self.delay));
        let (mut backoff, mut seen) = (pauses.build(), None);
        let work = async {
            loop {
                let pause = match self.turn(&task.client, &mut seen).await {
                    Ok(Outcome::Done) => {
                        trouble.ends();
                        backoff = pauses.build();
                        self.delay
                    }
                    Ok(Outcome::After(pause)) => pause,
                    Ok(Outcome::Refused) => backoff.next().unwrap_or(LONGEST),
                    Err(error) => {
                        trouble.is(failure::message(error.as_ref()));
                        backoff.next().unwrap_or(LONGEST)
                    }
                };
                sleep(pause).await;
            }
        };
        tokio::select! {
            () = work => {}
            () = task.stopped() => {}
        }
        Ok(())
    }

    /// Reads the CRD once, and migrates the stored objects if necessary. `seen` is the last generation of the CRD, and
    /// the time since when it is known.
    async fn turn(&self, client: &Client, seen: &mut Option<(i64, Instant)>) -> Result<Outcome> {
        let crds = Crds {
            name: &self.crd,
            api: Api::all(client.clone()),
        };
        let pending = self.metrics.pending.with_label_values(&[&self.crd]);
        let crd = crds.get().await?;
        let Some((crd, target)) = crd.and_then(|crd| target(&crd).map(|target| (crd, target)))
        else {
            pending.set(0);
            *seen = None;
            return Ok(Outcome::Done);
        };
        pending.set(1);
        if let Err(error) = versions::check_stored(&crd) {
            crds.report(
                &crd,
                reason::NO_CONVERSION,
                &failure::message(error.as_ref()),
                None,
            )
            .await?;
            return Ok(Outcome::Done);
        }
        let generation = crd.metadata.generation.unwrap_or_default();
        let objects = Objects::new(client, &crd, &target);
        let start = match Start::of(&crd) {
            Some(start) => start,
            None => {
                let since = match *seen {
                    Some((known, since)) if known == generation => since,
                    _ => seen.insert((generation, Instant::now())).1,
                };
                let left = self.delay.saturating_sub(since.elapsed());
                if !left.is_zero() {
                    // The condition may still say that an earlier migration has ended.
                    let message =
                        format!("waits until all API servers store objects in version `{target}`");
                    crds.report(&crd, reason::MIGRATING, &message, None).await?;
                    return Ok(Outcome::After(left));
                }
                let first = ListParams::default().limit(1);
                let page = crds.list(&crd, None, &objects, &first).await?;
                let start = Start {
                    generation,
                    resource_version: page
                        .metadata
                        .resource_version
                        .context("the list of objects has no resource version")?,
                };
                let message = start.note(&format!("objects are written in version `{target}`"));
                crds.report(&crd, reason::MIGRATING, &message, None).await?;
                tracing::info!(crd = self.crd, version = target, "migrates what is stored");
                start
            }
        };
        let Some((crd, refused)) = self.write_all(&crds, crd, &objects, &start).await? else {
            // Another version may be stored now.
            return Ok(Outcome::After(Duration::ZERO));
        };
        if !refused.is_empty() {
            let message = start.note(&refusals(&refused));
            crds.report(&crd, reason::REFUSED, &message, None).await?;
            return Ok(Outcome::Refused);
        }
        // The docs of rscaffold wait for this text.
        let message = format!("all objects are stored in version {target}");
        crds.report(&crd, reason::MIGRATED, &message, Some(&target))
            .await?;
        tracing::info!(crd = self.crd, version = target, "all objects are migrated");
        pending.set(0);
        Ok(Outcome::Done)
    }

    /// Writes all objects that were not written since `start`. Returns the CRD after that, and the refused objects;
    /// `None` if the CRD has changed.
    async fn write_all(
        &self,
        crds: &Crds<'_>,
        mut crd: CustomResourceDefinition,
        objects: &Objects,
        start: &Start,
    ) -> Result<Option<(CustomResourceDefinition, BTreeMap<String, Refused>)>> {
        let mut refused = BTreeMap::new();
        // Those of lists that have expired. An object that has not changed since then would be refused again.
        let mut refused_before = BTreeMap::<_, Refused>::new();
        let mut params = ListParams::default().limit(PAGE);
        loop {
            let page = match crds.list(&crd, Some(start), objects, &params).await {
                Ok(page) => page,
                // The API server no longer keeps the list. The new list skips objects that were written already, and
                // has those again that were refused.
                Err(error) if params.continue_token.is_some() && is_expired(&error) => {
                    params.continue_token = None;
                    refused_before.append(&mut refused);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let mut count = 0;
            for object in page.items.iter().filter(|object| start.concerns(object)) {
                let (name, version) = (name(object), object.resource_version());
                if let Some(before) = refused_before.remove(&name)
                    && before.version == version
                {
                    refused.insert(name, before);
                    continue;
                }
                let began = Instant::now();
                let result = match objects.write(object).await? {
                    Written::Stored => "written",
                    Written::Elsewhere => "skipped",
                    Written::Refused(why) => {
                        tracing::warn!(crd = self.crd, object = name, why, "cannot be migrated");
                        refused.insert(name, Refused { version, why });
                        "refused"
                    }
                };
                count += 1;
                let labels = [self.crd.as_str(), result];
                self.metrics.objects.with_label_values(&labels).inc();
                // Pauses as long as the write took, to leave capacity for other clients. A write whose first answers are
                // lost takes minutes.
                sleep(began.elapsed().min(LONGEST_PAUSE)).await;
            }
            if count > 0 {
                let left = page.metadata.remaining_item_count.unwrap_or_default();
                tracing::info!(crd = self.crd, objects = count, left, "migrates");
            }
            let now = crds.get().await?;
            let same = now.filter(|crd| crd.metadata.generation == Some(start.generation));
            let Some(same) = same else { return Ok(None) };
            crd = same;
            params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_none() {
                return Ok(Some((crd, refused)));
            }
        }
    }
}

/// The stored version of the CRD, if some objects may be stored in another version.
fn target(crd: &CustomResourceDefinition) -> Option<String> {
    let target = crd.spec.versions.iter().find(|version| version.storage)?;
    let stored = crd.status.as_ref()?.stored_versions.as_deref()?;
    let is_done = stored.iter().all(|version| *version == target.name);
    (!is_done).then(|| target.name.clone())
}

/// The name of an object, with its namespace.
fn name(object: &PartialObjectMeta<DynamicObject>) -> String {
    let name = object.name_any();
    match object.namespace() {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name,
    }
}

/// An object that the API server has refused to write.
#[derive(Debug)]
struct Refused {
    /// The resource version of the object.
    version: Option<String>,
    why: String,
}

/// The message of the condition about refused objects.
fn refusals(refused: &BTreeMap<String, Refused>) -> String {
    let some: Vec<_> = refused
        .iter()
        .take(NAMES)
        .map(|(name, refused)| format!("{name}: {}", refused.why))
        .collect();
    let more = refused.len().saturating_sub(NAMES);
    let more = if more > 0 {
        format!("; and {more} more")
    } else {
        String::new()
    };
    let objects = if refused.len() == 1 {
        "object is"
    } else {
        "objects are"
    };
    format!(
        "{} {objects} refused: {}{more}",
        refused.len(),
        some.join("; ")
    )
}

impl Start {
    /// The texts before the resource version and before the generation.
    const NOTE: [&str; 2] = [" (since resource version ", " of generation "];

    /// `message` with a note of this start, which [`Start::of`] reads.
    fn note(&self, message: &str) -> String {
        let [since, of] = Self::NOTE;
        let Self {
            generation,
            resource_version,
        } = self;
        format!("{message}{since}{resource_version}{of}{generation})")
    }

    /// The start of an unfinished migration, read from the condition of `crd`.
    fn of(crd: &CustomResourceDefinition) -> Option<Self> {
        let [since, of] = Self::NOTE;
        let condition = conditions(crd)
            .iter()
            .find(|condition| condition.type_ == CONDITION)?;
        let (_, note) = condition.message.as_deref()?.rsplit_once(since)?;
        let (resource_version, generation) = note.strip_suffix(')')?.split_once(of)?;
        let start = Self {
            generation: generation.parse().ok()?,
            resource_version: resource_version.to_owned(),
        };
        (crd.metadata.generation == Some(start.generation)).then_some(start)
    }

    /// Whether `object` was last written before this start, so that it may be stored in another version.
    fn concerns(&self, object: &PartialObjectMeta<DynamicObject>) -> bool {
        let written = object.resource_version().unwrap_or_default();
        order(&written) <= order(&self.resource_version)
    }
}

/// The sort key of a resource version: a whole number of any size, without leading zeros.
fn order(resource_version: &str) -> (usize, &str) {
    (resource_version.len(), resource_version)
}

fn conditions(crd: &CustomResourceDefinition) -> &[CustomResourceDefinitionCondition] {
    let status = crd.status.as_ref();
    status
        .and_then(|status| status.conditions.as_deref())
        .unwrap_or_default()
}

/// The CRD, as the cluster has it.
struct Crds<'a> {
    name: &'a str,
    api: Api<CustomResourceDefinition>,
}

impl Crds<'_> {
    async fn get(&self) -> Result<Option<CustomResourceDefinition>> {
        let crd = self.api.get_opt(self.name).await;
        crd.with_context(|| format!("cannot read the CRD `{}`", self.name))
    }

    /// A page of `objects`. If the API server answers with an error, the condition of `crd` shows the error.
    async fn list(
        &self,
        crd: &CustomResourceDefinition,
        start: Option<&Start>,
        objects: &Objects,
        params: &ListParams,
    ) -> Result<ObjectList<PartialObjectMeta<DynamicObject>>> {
        let error = match objects.all.list_metadata(params).await {
            Ok(page) => return Ok(page),
            Err(error) => error,
        };
        if let kube::Error::Api(status) = &error
            && status.code != EXPIRED
        {
            let message = format!("cannot list the objects: {}", failure::message(&error));
            let message = start.map_or(message.clone(), |start| start.note(&message));
            // If this fails, the next try reports the error again.
            let _ = self.report(crd, reason::FAILED, &message, None).await;
        }
        Err(error).with_context(|| format!("cannot list the objects of the CRD `{}`", self.name))
    }

    /// Sets the condition of `crd`. `stored` becomes the only entry of `status.storedVersions`.
    async fn report(
        &self,
        crd: &CustomResourceDefinition,
        reason: &str,
        message: &str,
        stored: Option<&str>,
    ) -> Result<()> {
        let status = if reason == reason::MIGRATED {
            "True"
        } else {
            "False"
        };
        let old = conditions(crd)
            .iter()
            .find(|condition| condition.type_ == CONDITION);
        let since = old
            .filter(|condition| condition.status == status)
            .and_then(|condition| condition.last_transition_time.clone());
        let new = CustomResourceDefinitionCondition {
            type_: CONDITION.to_owned(),
            status: status.to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
            last_transition_time: since.or(Some(Time(Timestamp::now()))),
            ..CustomResourceDefinitionCondition::default()
        };
        if old == Some(&new) && stored.is_none() {
            return Ok(());
        }
        let mut conditions = conditions(crd).to_vec();
        conditions.retain(|condition| condition.type_ != CONDITION);
        conditions.push(new);
        let mut status = json!({"conditions": conditions});
        if let Some(stored) = stored {
            status["storedVersions"] = json!([stored]);
        }
        // The patch replaces both lists. The resourceVersion makes it fail if another client has written them.
        let metadata = json!({"resourceVersion": crd.metadata.resource_version});
        let patch = Patch::Merge(json!({"metadata": metadata, "status": status}));
        let params = PatchParams::default();
        let patched = self.api.patch_status(self.name, &params, &patch).await;
        patched.with_context(|| format!("cannot write the status of the CRD `{}`", self.name))?;
        Ok(())
    }
}

/// The status code for a list whose pages the API server no longer keeps.
const EXPIRED: u16 = 410;

fn is_expired(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(kube::Error::Api(status)) if status.code == EXPIRED)
}

/// The objects of a CRD in the stored version, or in another version if the stored version is not served.
struct Objects {
    client: Client,
    resource: ApiResource,
    all: Api<DynamicObject>,
}

impl Objects {
    fn new(client: &Client, crd: &CustomResourceDefinition, target: &str) -> Self {
        let spec = &crd.spec;
        let mut served = spec.versions.iter().filter(|version| version.served);
        let served = served
            .clone()
            .find(|version| version.name == target)
            .or_else(|| served.next());
        let version = served.map_or(target, |version| &version.name);
        let kind = GroupVersionKind::gvk(&spec.group, version, &spec.names.kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, &spec.names.plural);
        Self {
            client: client.clone(),
            all: Api::all_with(client.clone(), &resource),
            resource,
        }
    }

    /// Writes `object` unchanged.
    async fn write(&self, object: &PartialObjectMeta<DynamicObject>) -> Result<Written> {
        let (client, resource) = (self.client.clone(), &self.resource);
        let api = match object.namespace() {
            Some(namespace) => Api::<DynamicObject>::namespaced_with(client, &namespace, resource),
            None => self.all.clone(),
        };
        // The resource version is the listed one: if another client has written the object since, it is in the new
        // version.
        let metadata = json!({
            "uid": object.uid(),
            "resourceVersion": object.resource_version(),
        });
        let patch = Patch::Merge(json!({"metadata": metadata}));
        let params = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let own_name = object.name_any();
        match repeated(|| api.patch_metadata(&own_name, &params, &patch)).await {
            Ok(_) => Ok(Written::Stored),
            Err(error @ kube::Error::Api(_)) => {
                let is_elsewhere = matches!(&error, kube::Error::Api(status)
                    if status.is_conflict() || status.is_not_found());
                // An admission webhook may refuse the write with these codes, too.
                if is_elsewhere && !is_unchanged(&api, object).await? {
                    return Ok(Written::Elsewhere);
                }
                Ok(Written::Refused(failure::message(&error)))
            }
            Err(error) => Err(error).with_context(|| format!("cannot write `{}`", name(object))),
        }
    }
}

/// Sends a request, and sends it again if it may succeed then.
async fn repeated<T, R: Future<Output = kube::Result<T>>>(
    request: impl FnMut() -> R,
) -> kube::Result<T> {
    request
        .retry(growing(AGAIN).with_max_times(TIMES))
        .sleep(sleep)
        .when(|error| match error {
            kube::Error::Api(status) => status.code == 429 || status.code >= 500,
            _ => true,
        })
        .await
}

/// Whether the object is still as it was listed. The role of the operator allows lists, but no read of one object.
async fn is_unchanged(
    api: &Api<DynamicObject>,
    listed: &PartialObjectMeta<DynamicObject>,
) -> Result<bool> {
    let field = format!("metadata.name={}", listed.name_any());
    let params = ListParams::default().fields(&field);
    let page = repeated(|| api.list_metadata(&params)).await;
    let page = page.with_context(|| format!("cannot read `{}`", name(listed)))?;
    let mut found = page.items.iter();
    Ok(found.any(|object| object.resource_version() == listed.resource_version()))
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
    };

    use http::{Method, Request, Response};
    use kube::client::Body;
    use parking_lot::Mutex;
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use tower::service_fn;

    use super::{super::rbac, *};

    fn crd(stored: Value, condition: Value) -> CustomResourceDefinition {
        let version =
            |name: &str, storage: bool| json!({"name": name, "served": true, "storage": storage});
        serde_json::from_value(json!({
            "metadata": {"name": "books.shop.example.com", "generation": 3},
            "spec": {
                "group": "shop.example.com", "names": {"kind": "Book", "plural": "books"},
                "scope": "Namespaced", "versions": [version("v1", false), version("v2", true)],
            },
            "status": {"storedVersions": stored, "conditions": condition},
        }))
        .expect("a CRD")
    }

    fn of_message(message: &str) -> CustomResourceDefinition {
        let condition = json!({"type": CONDITION, "status": "False", "message": message});
        crd(json!(["v1"]), json!([condition]))
    }

    /// A client of an API server with one page of books, which answers the first write after `pause`.
    fn server_with_slow_write(pause: Duration) -> Client {
        let is_slow = AtomicBool::new(true);
        let server = service_fn(move |request: Request<Body>| {
            let is_write = *request.method() == Method::PATCH;
            let is_delayed = is_write && is_slow.swap(false, Ordering::Relaxed);
            let book = |name: &str| json!({"metadata": {"name": name, "namespace": "a", "resourceVersion": "5"}});
            let answer = match request.uri().path() {
                "/apis/shop.example.com/v2/books" => {
                    json!({"metadata": {"resourceVersion": "9"}, "items": [book("one"), book("two")]})
                }
                path if path.starts_with("/apis/shop.example.com/") => book("one"),
                _ => json!(crd(json!(["v1", "v2"]), json!([]))),
            };
            async move {
                if is_delayed {
                    sleep(pause).await;
                }
                Ok::<_, Infallible>(Response::new(Body::from(answer.to_string().into_bytes())))
            }
        });
        Client::new(server, "default")
    }

    /// A client of an API server that refuses the first write, and then no longer keeps the list. In the new list, the
    /// book has `resource_version`.
    fn server_with_expired_list(resource_version: &'static str) -> Client {
        let (is_refused, is_expired) = (AtomicBool::new(true), AtomicBool::new(false));
        let server = service_fn(move |request: Request<Body>| {
            let query = request.uri().query().unwrap_or_default();
            let book = |version: &str| json!({"metadata": {"name": "one", "namespace": "a", "resourceVersion": version}});
            let list = |version: &str, next: &str| {
                let metadata = json!({"resourceVersion": "9", "continue": next});
                (200, json!({"metadata": metadata, "items": [book(version)]}))
            };
            let (code, answer) = match request.uri().path() {
                "/apis/shop.example.com/v2/books" if query.contains("continue=") => {
                    is_expired.store(true, Ordering::Relaxed);
                    (
                        410,
                        json!({"code": 410, "reason": "Expired", "message": "too old"}),
                    )
                }
                "/apis/shop.example.com/v2/books" if is_expired.load(Ordering::Relaxed) => {
                    list(resource_version, "")
                }
                "/apis/shop.example.com/v2/books" => list("5", "next"),
                path if path.starts_with("/apis/shop.example.com/") => {
                    if is_refused.swap(false, Ordering::Relaxed) {
                        (
                            422,
                            json!({"code": 422, "reason": "Invalid", "message": "no"}),
                        )
                    } else {
                        (200, book("10"))
                    }
                }
                _ => (200, json!(crd(json!(["v1", "v2"]), json!([])))),
            };
            let body = Body::from(answer.to_string().into_bytes());
            let response = Response::builder().status(code).body(body);
            async move { Ok::<_, Infallible>(response.expect("a response")) }
        });
        Client::new(server, "default")
    }

    /// A client of an API server that answers each write with this code and reason. Afterwards, the book has the resource
    /// version `there`; without one, it is gone.
    fn server_that_refuses(code: u16, reason: &'static str, there: Option<&'static str>) -> Client {
        let server = service_fn(move |request: Request<Body>| {
            let books = |versions: &[&str]| {
                let books = versions.iter().map(|version| {
                    json!({"metadata": {"name": "one", "namespace": "a", "resourceVersion": version}})
                });
                let metadata = json!({"resourceVersion": "9"});
                json!({"metadata": metadata, "items": books.collect::<Vec<_>>()})
            };
            let (code, answer) = match (request.method(), request.uri().path()) {
                (&Method::PATCH, path) if path.starts_with("/apis/shop.example.com/") => (
                    code,
                    json!({"code": code, "reason": reason, "message": "no"}),
                ),
                (_, "/apis/shop.example.com/v2/books") => (200, books(&["5"])),
                (_, "/apis/shop.example.com/v2/namespaces/a/books") => {
                    (200, books(there.as_slice()))
                }
                _ => (200, json!(crd(json!(["v1", "v2"]), json!([])))),
            };
            let body = Body::from(answer.to_string().into_bytes());
            let response = Response::builder().status(code).body(body);
            async move { Ok::<_, Infallible>(response.expect("a response")) }
        });
        Client::new(server, "default")
    }

    /// Writes all books that were last written before the version 9. Returns the refused ones.
    async fn write_all(client: Client) -> BTreeMap<String, Refused> {
        let crd = crd(json!(["v1", "v2"]), json!([]));
        let migration = Migration::new(
            &crd,
            Duration::ZERO,
            Metrics::new(&Registry::new()).unwrap(),
        );
        let crds = Crds {
            name: &migration.crd,
            api: Api::all(client.clone()),
        };
        let objects = Objects::new(&client, &crd, "v2");
        let start = Start {
            generation: 3,
            resource_version: "9".to_owned(),
        };
        let written = migration.write_all(&crds, crd, &objects, &start).await;
        let (_, refused) = written.unwrap().expect("the same CRD");
        refused
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_written_after_a_new_list_is_not_refused() {
        // An object that has not changed would be refused again.
        for (resource_version, expected) in [("5", 1), ("6", 0), ("12", 0)] {
            let refused = write_all(server_with_expired_list(resource_version)).await;
            assert_eq!(refused.len(), expected, "{resource_version}: {refused:?}");
        }
    }

    /// Admission webhooks refuse writes with the codes of a conflict and of an object that is gone, too.
    #[tokio::test(start_paused = true)]
    async fn an_object_that_stays_in_its_version_is_refused_whatever_the_code_is() {
        for (code, reason) in [(409, "Conflict"), (404, "NotFound")] {
            for (there, expected) in [(Some("5"), 1), (Some("12"), 0), (None, 0)] {
                let refused = write_all(server_that_refuses(code, reason, there)).await;
                assert_eq!(refused.len(), expected, "{code} {there:?}: {refused:?}");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_write_does_not_delay_the_next_one() {
        let pause = Duration::from_secs(100);
        let began = Instant::now();
        let refused = write_all(server_with_slow_write(pause)).await;
        assert!(refused.is_empty(), "{refused:?}");
        let took = began.elapsed();
        assert!(
            took >= pause && took <= pause + 2 * LONGEST_PAUSE,
            "{took:?}"
        );
    }

    /// Otherwise, who waits for the condition goes on while objects are still stored in the version before.
    #[tokio::test]
    async fn the_end_of_an_earlier_migration_is_not_that_of_the_next_one() {
        let sent = Arc::new(Mutex::new(Vec::new()));
        let patches = sent.clone();
        let server = service_fn(move |request: Request<Body>| {
            let patches = patches.clone();
            async move {
                if *request.method() == Method::PATCH {
                    let body = request.into_body().collect_bytes().await.expect("a body");
                    let patch: Value = serde_json::from_slice(&body).expect("JSON");
                    patches.lock().push(patch);
                }
                let ended =
                    json!({"type": CONDITION, "status": "True", "reason": reason::MIGRATED});
                let answer = json!(crd(json!(["v1", "v2"]), json!([ended]))).to_string();
                Ok::<_, Infallible>(Response::new(Body::from(answer.into_bytes())))
            }
        });
        let metrics = Metrics::new(&Registry::new()).expect("metrics");
        let delay = Duration::from_secs(60);
        let migration = Migration::new(&crd(json!([]), json!([])), delay, metrics);
        let client = Client::new(server, "default");
        let outcome = migration.turn(&client, &mut None).await.expect("a turn");
        assert!(matches!(outcome, Outcome::After(_)));
        let sent = sent.lock();
        let condition = &sent[0]["status"]["conditions"][0];
        assert_eq!(condition["status"], "False");
        assert_eq!(condition["reason"], reason::MIGRATING);
    }

    #[test]
    fn there_is_something_to_do_while_another_version_is_stored() {
        for (stored, expected) in [
            (json!(["v1"]), Some("v2")),
            (json!(["v1", "v2"]), Some("v2")),
            (json!(["v2"]), None),
            // The API server has not looked at the CRD yet.
            (Value::Null, None),
        ] {
            assert_eq!(target(&crd(stored, json!([]))).as_deref(), expected);
        }
    }

    proptest! {
        #[test]
        fn a_start_is_found_again(generation in 1..i64::MAX, version in "[1-9][0-9]{0,30}", text in ".*") {
            let start = Start { generation, resource_version: version };
            let mut crd = of_message(&start.note(&text));
            prop_assert_eq!(Start::of(&crd), None);
            crd.metadata.generation = Some(generation);
            prop_assert_eq!(Start::of(&crd), Some(start));
        }

        #[test]
        fn no_message_is_too_odd(message in ".*| \\(since resource version [0-9]* of generation .*") {
            Start::of(&of_message(&message));
        }

        #[test]
        fn resource_versions_are_numbers(a: u64, b: u64) {
            prop_assert_eq!(order(&a.to_string()) < order(&b.to_string()), a < b);
        }
    }

    #[test]
    fn many_refusals_are_told_in_short() {
        fn refused(count: usize) -> String {
            let refused = || Refused {
                version: None,
                why: "why".to_owned(),
            };
            let all = (0..count).map(|number| (format!("shop/{number}"), refused()));
            refusals(&all.collect())
        }

        assert_eq!(refused(1), "1 object is refused: shop/0: why");
        assert_eq!(
            refused(7),
            "7 objects are refused: shop/0: why; shop/1: why; shop/2: why; shop/3: why; \
             shop/4: why; and 2 more"
        );
    }

    #[test]
    fn only_kinds_with_several_versions_take_rights() {
        let several = crd(json!([]), json!([]));
        let mut single = several.clone();
        single.spec.versions.truncate(1);
        let (operator, versions) = (Operator::new("shop", "example.com"), Versions::default());
        assert_eq!(versions.grants(&operator, &[single]).len(), 0);
        let grants = versions.grants(&operator, &[several]);
        let rules = rbac::by_namespace(grants).remove(&None);
        let names = json!(["books.shop.example.com"]);
        let expected = json!([
            {"apiGroups": ["apiextensions.k8s.io"], "resourceNames": names,
                "resources": ["customresourcedefinitions"], "verbs": ["get"]},
            {"apiGroups": ["apiextensions.k8s.io"], "resourceNames": names,
                "resources": ["customresourcedefinitions/status"], "verbs": ["patch"]},
            {"apiGroups": ["shop.example.com"], "resources": ["books"], "verbs": ["list", "patch"]},
        ]);
        assert_eq!(serde_json::to_value(rules).expect("JSON"), expected);
    }
}
