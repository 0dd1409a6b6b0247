//! Small reconcilers with one known bug each, and a correct one. They are bugs of the kinds that Sieve and Acto have found
//! in real operators: <https://www.usenix.org/conference/osdi22/presentation/sun>,
//! <https://dl.acm.org/doi/10.1145/3600006.3613161>.

use std::{
    collections::{BTreeMap, HashSet},
    env,
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Secret},
    apimachinery::pkg::apis::meta::v1::Condition,
};
use kube::{
    Api, Resource, ResourceExt,
    api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams},
    runtime::reflector::ObjectRef,
};
use kube_manager::{
    Action, Builder, Child, Children, Cleanup, Context, Reconciler, Watched, children, condition,
    rbac::Rule,
    testing::{
        ControlPlane,
        faults::{Faults, Journal},
    },
};

use sites::api::web::v1::site::{Site, SiteStatus};

static API_SERVER: LazyLock<ControlPlane> = LazyLock::new(|| {
    ControlPlane::start(env!("CARGO_TARGET_TMPDIR")).deploy(
        concat!(env!("CARGO_MANIFEST_DIR"), "/config/default"),
        "sites-system",
    )
});

/// A cloud with buckets.
#[derive(Clone)]
struct Cloud {
    journal: Journal,
    buckets: Arc<Mutex<HashSet<String>>>,
}

impl Cloud {
    fn new(journal: Journal) -> Self {
        Self {
            journal,
            buckets: Arc::default(),
        }
    }

    /// Creates a bucket, unless it exists. Returns whether the bucket is new.
    fn create(&self, name: &str) -> bool {
        let is_new = self.buckets.lock().unwrap().insert(name.to_owned());
        if is_new {
            self.journal.record(format!("create {name}"));
        }
        is_new
    }

    /// Creates a bucket with a new name.
    fn create_another(&self) -> String {
        let mut buckets = self.buckets.lock().unwrap();
        let name = format!("bucket-{}", buckets.len());
        buckets.insert(name.clone());
        self.journal.record("create a bucket");
        name
    }

    /// Deletes a bucket, unless it is gone.
    fn delete(&self, name: &str) {
        if self.buckets.lock().unwrap().remove(name) {
            self.journal.record(format!("delete {name}"));
        }
    }
}

/// What all reconcilers use.
struct Tools {
    cloud: Cloud,
    config_maps: Option<Children<ConfigMap, Site>>,
    own_secrets: Option<Children<Secret, Site>>,
    secrets: Watched<Secret>,
    tokens: Option<Watched<Secret>>,
    /// The names of what this process has made.
    made: Mutex<HashSet<String>>,
    /// The delay after which each reconcile is followed by another one.
    again: Mutex<Option<Duration>>,
}

impl Tools {
    /// The ConfigMaps of a reconciler with [`Work::OWNS`].
    fn config_maps(&self) -> &Children<ConfigMap, Site> {
        self.config_maps.as_ref().unwrap()
    }

    /// The Secrets of a reconciler with [`Work::OWNS`].
    fn own_secrets(&self) -> &Children<Secret, Site> {
        self.own_secrets.as_ref().unwrap()
    }
}

/// The work of a reconciler. The tools and the status are the same for all.
trait Work: Send + Sync + 'static {
    const FINALIZER: bool = false;
    /// Whether a change of a ConfigMap reconciles its owner.
    const OWNS: bool = true;
    /// Whether a change of the Secret `token` reconciles all Sites.
    const REFERS: bool = false;

    fn work(
        tools: &Tools,
        site: &Site,
        context: &Context,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    fn cleanup(
        tools: &Tools,
        site: &Site,
        context: &Context,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        let _ = (tools, site, context);
        async { Ok(()) }
    }
}

struct Controller<W> {
    tools: Tools,
    work: std::marker::PhantomData<W>,
}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("{0}")]
    Children(#[from] children::Error),
    #[error("cannot do the work")]
    Request(#[from] kube::Error),
}

impl<W: Work> Reconciler for Controller<W> {
    type Object = Site;
    type Error = Error;

    const NAME: &'static str = "site.web.example.com";
    const RULES: &'static [Rule] = &[];
    const FINALIZER: bool = W::FINALIZER;

    async fn reconcile(&self, site: &Site, context: &Context) -> Result<Action, Error> {
        W::work(&self.tools, site, context).await?;
        let again = *self.tools.again.lock().unwrap();
        Ok(again.map_or(Action::await_change(), Action::requeue))
    }

    async fn cleanup(&self, site: &Site, context: &Context) -> Result<Cleanup, Error> {
        W::cleanup(&self.tools, site, context).await?;
        Ok(Cleanup::Done)
    }

    async fn deleted(&self, _: &ObjectRef<Site>, _: &Context) {}
}

impl<W: Work> Controller<W> {
    fn new(builder: &mut Builder<Site>, cloud: Cloud) -> Self {
        Self {
            tools: Tools {
                cloud,
                config_maps: W::OWNS.then(|| builder.owns()),
                own_secrets: W::OWNS.then(|| builder.owns()),
                secrets: builder.watches::<Secret>().reads(),
                tokens: W::REFERS
                    .then(|| builder.refers_to(|_: &Site| vec![ObjectRef::new("token")])),
                made: Mutex::default(),
                again: Mutex::default(),
            },
            work: std::marker::PhantomData,
        }
    }
}

fn config_maps(site: &Site, context: &Context) -> Api<ConfigMap> {
    Api::namespaced(context.client.clone(), &site.namespace().unwrap())
}

fn metadata(site: &Site) -> ObjectMeta {
    ObjectMeta {
        name: Some(site.name_any()),
        owner_references: site.controller_owner_ref(&()).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}

fn config_map(site: &Site) -> ConfigMap {
    let mut data = BTreeMap::from([("title".to_owned(), site.spec.title.clone())]);
    if let Some(note) = &site.spec.note {
        data.insert("note".to_owned(), note.clone());
    }
    ConfigMap {
        metadata: metadata(site),
        data: Some(data),
        ..ConfigMap::default()
    }
}

/// Creates an object. It is no error if the object exists.
async fn create(objects: &Api<ConfigMap>, object: &ConfigMap) -> Result<(), Error> {
    match objects.create(&PostParams::default(), object).await {
        Err(kube::Error::Api(answer)) if answer.is_already_exists() => {}
        created => drop(created?),
    }
    Ok(())
}

async fn apply(objects: &Api<ConfigMap>, object: &ConfigMap) -> Result<(), Error> {
    let parameters = PatchParams::apply("sites").force();
    let applied = objects
        .patch(&object.name_any(), &parameters, &Patch::Apply(object))
        .await;
    applied?;
    Ok(())
}

async fn write_ready(site: &Site, context: &Context) -> Result<(), Error> {
    write(site, context, "Ready", "Done").await
}

async fn write(site: &Site, context: &Context, type_: &str, message: &str) -> Result<(), Error> {
    let condition = condition::new_true(site, type_, "Reconciled", message);
    write_condition(site, context, condition).await
}

async fn write_condition(
    site: &Site,
    context: &Context,
    condition: Condition,
) -> Result<(), Error> {
    let mut status = site.status.clone().unwrap_or_default();
    condition::set(&mut status.conditions, condition);
    status.observed_generation = site.metadata.generation;
    context.write_status(site, &status).await?;
    Ok(())
}

fn is_ready(status: Option<&SiteStatus>) -> bool {
    let conditions = status.map(|status| status.conditions.as_slice());
    let mut conditions = conditions.unwrap_or_default().iter();
    conditions.any(|condition| condition.type_ == "Ready")
}

/// A text that is different each time.
fn random() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("{number}-{:?}", std::time::Instant::now())
}

fn secret(site: &Site) -> Secret {
    Secret {
        metadata: metadata(site),
        string_data: Some([("password".to_owned(), random())].into()),
        ..Secret::default()
    }
}

/// Makes each object and bucket in a way that may be repeated.
struct Correct;

impl Work for Correct {
    const FINALIZER: bool = true;

    async fn work(tools: &Tools, site: &Site, context: &Context) -> Result<(), Error> {
        tools.cloud.create(&site.uid().unwrap());
        let child = config_map(site);
        tools.config_maps().apply(site, [child]).await?;
        // The password stays as it is in the cluster.
        let secret = Child::new(secret(site)).keep(["data", "password"]);
        tools.own_secrets().apply(site, [secret]).await?;
        write_ready(site, context).await
    }

    async fn cleanup(tools: &Tools, site: &Site, _: &Context) -> Result<(), Error> {
        tools.cloud.delete(&site.uid().unwrap());
        Ok(())
    }
}

/// Keeps the password of a Secret in the cache.
struct KeepsPasswords;

impl Work for KeepsPasswords {
    async fn work(tools: &Tools, site: &Site, context: &Context) -> Result<(), Error> {
        let secrets = tools.own_secrets();
        let mut child = secret(site);
        if let Some(old) = secrets.of(site).first() {
            child.string_data = None;
            child.data = old.data.clone();
        }
        secrets.apply(site, [child]).await?;
        let child = config_map(site);
        tools.config_maps().apply(site, [child]).await?;
        write_ready(site, context).await
    }
}

/// Copies a Secret that the spec could name.
struct Copies;

impl Work for Copies {
    const REFERS: bool = true;

    async fn work(tools: &Tools, site: &Site, context: &Context) -> Result<(), Error> {
        copy(tools.tokens.as_ref().unwrap(), tools, site, context).await
    }
}

/// Reads the Secret, and is not reconciled when it changes.
struct OnlyReads;

impl Work for OnlyReads {
    async fn work(tools: &Tools, site: &Site, context: &Context) -> Result<(), Error> {
        copy(&tools.secrets, tools, site, context).await
    }
}

async fn copy(
    secrets: &Watched<Secret>,
    tools: &Tools,
    site: &Site,
    context: &Context,
) -> Result<(), Error> {
    let token = ObjectRef::new("token").within(&site.namespace().unwrap());
    let Some(data) = secrets.get(&token).and_then(|token| token.data.clone()) else {
        let missing = condition::new_false(site, "Ready", "NoToken", "There is no token");
        return write_condition(site, context, missing).await;
    };
    let child = ConfigMap {
        binary_data: Some(data),
        ..config_map(site)
    };
    tools.config_maps().apply(site, [child]).await?;
    write_ready(site, context).await
}

/// Starts what takes a while, and looks again later. Each look also reads an object, in every state.
struct LooksAgain;

impl Work for LooksAgain {
    async fn work(tools: &Tools, site: &Site, context: &Context) -> Result<(), Error> {
        config_maps(site, context).get_opt(&site.name_any()).await?;
        let is_new = tools.cloud.create(&site.uid().unwrap());
        let pause = if is_new { 3000 } else { 500 };
        *tools.again.lock().unwrap() = Some(Duration::from_millis(pause));
        if is_new {
            let starting = condition::new_false(site, "Ready", "Starting", "The bucket is new");
            return write_condition(site, context, starting).await;
        }
        write_ready(site, context).await
    }
}

/// Names a child after the time of its owner, and writes this time to the child.
struct WritesTimes;

impl Work for WritesTimes {
    async fn work(tools: &Tools, site: &Site, context: &Context) -> Result<(), Error> {
        let created = site.creation_timestamp().unwrap().0;
        let mut child = config_map(site);
        child.metadata.name = Some(format!("site-{}", created.as_second()));
        let times = [
            ("day", created.strftime("%Y%m%d%H%M%S").to_string()),
            ("clock", created.strftime("%H:%M:%S").to_string()),
            ("since", format!("The site exists since {created}.")),
        ];
        let times = times.map(|(name, time)| (name.to_owned(), time));
        child.data.get_or_insert_default().extend(times);
        tools.config_maps().apply(site, [child]).await?;
        write_ready(site, context).await
    }
}

/// Says that the work is done before it is done, and believes it later.
struct StatusFirst;

impl Work for StatusFirst {
    async fn work(_: &Tools, site: &Site, context: &Context) -> Result<(), Error> {
        if is_ready(site.status.as_ref()) {
            return Ok(());
        }
        write_ready(site, context).await?;
        create(&config_maps(site, context), &config_map(site)).await
    }
}

/// Remembers what it has begun as if it were done.
struct Remembers;

impl Work for Remembers {
    async fn work(tools: &Tools, site: &Site, context: &Context) -> Result<(), Error> {
        let uid = site.uid().unwrap();
        if tools.made.lock().unwrap().insert(uid) {
            create(&config_maps(site, context), &config_map(site)).await?;
        }
        write_ready(site, context).await
    }
}

/// Deletes by name: maybe the child of a new object with the same name.
struct DeletesByName;

impl Work for DeletesByName {
    const FINALIZER: bool = true;
    const OWNS: bool = false;

    async fn work(_: &Tools, site: &Site, context: &Context) -> Result<(), Error> {
        apply(&config_maps(site, context), &config_map(site)).await?;
        write_ready(site, context).await
    }

    async fn cleanup(_: &Tools, site: &Site, context: &Context) -> Result<(), Error> {
        let deleted = config_maps(site, context)
            .delete(&site.name_any(), &DeleteParams::default())
            .await;
        match deleted {
            Err(kube::Error::Api(answer)) if answer.is_not_found() => {}
            deleted => drop(deleted?),
        }
        Ok(())
    }
}

/// Creates a child with a new name, unless the status says that there is one.
struct GeneratesNames;

impl Work for GeneratesNames {
    async fn work(_: &Tools, site: &Site, context: &Context) -> Result<(), Error> {
        if is_ready(site.status.as_ref()) {
            return Ok(());
        }
        let mut child = config_map(site);
        child.metadata.name = None;
        child.metadata.generate_name = Some("part-".to_owned());
        create(&config_maps(site, context), &child).await?;
        write_ready(site, context).await
    }
}

/// Ignores the failure of a request.
struct Ignores;

impl Work for Ignores {
    async fn work(_: &Tools, site: &Site, context: &Context) -> Result<(), Error> {
        let _ = create(&config_maps(site, context), &config_map(site)).await;
        write_ready(site, context).await
    }
}

/// Creates an object that nobody deletes.
struct Leaks;

impl Work for Leaks {
    async fn work(_: &Tools, site: &Site, context: &Context) -> Result<(), Error> {
        let mut child = config_map(site);
        child.metadata.owner_references = None;
        create(&config_maps(site, context), &child).await?;
        write_ready(site, context).await
    }
}

/// Ignores that the API server refuses an object.
struct IgnoresRefusals;

impl Work for IgnoresRefusals {
    async fn work(_: &Tools, site: &Site, context: &Context) -> Result<(), Error> {
        let mut child = config_map(site);
        child.metadata.name = Some("Not_a_name".to_owned());
        let _ = create(&config_maps(site, context), &child).await;
        write_ready(site, context).await
    }
}

/// Takes a Secret that is not in the cache for one that does not exist.
struct TrustsTheCache;

impl Work for TrustsTheCache {
    async fn work(tools: &Tools, site: &Site, context: &Context) -> Result<(), Error> {
        let namespace = site.namespace().unwrap();
        let known = ObjectRef::new(&site.name_any()).within(&namespace);
        if tools.secrets.get(&known).is_none() {
            let secrets: Api<Secret> = Api::namespaced(context.client.clone(), &namespace);
            let parameters = PatchParams::apply("sites").force();
            let applied = Patch::Apply(secret(site));
            secrets
                .patch(&site.name_any(), &parameters, &applied)
                .await?;
        }
        write_ready(site, context).await
    }
}

/// Takes it for impossible that a child exists.
struct Panics;

impl Work for Panics {
    async fn work(_: &Tools, site: &Site, context: &Context) -> Result<(), Error> {
        let config_maps = config_maps(site, context);
        if config_maps.get_opt(&site.name_any()).await?.is_none() {
            create(&config_maps, &config_map(site)).await?;
        }
        let map = config_maps.get(&site.name_any()).await?;
        let has_title = map.data.is_some_and(|data| data.contains_key("title"));
        assert!(has_title && context.attempt() < 1, "a second attempt");
        write_ready(site, context).await
    }
}

/// Creates a bucket first, and then writes down that there is one.
struct CreatesTwice;

impl Work for CreatesTwice {
    async fn work(tools: &Tools, site: &Site, context: &Context) -> Result<(), Error> {
        if is_ready(site.status.as_ref()) {
            return Ok(());
        }
        tools.cloud.create_another();
        write_ready(site, context).await
    }
}

/// Deletes only the buckets that this process has created.
struct Forgets;

impl Work for Forgets {
    const FINALIZER: bool = true;

    async fn work(tools: &Tools, site: &Site, context: &Context) -> Result<(), Error> {
        if !is_ready(site.status.as_ref()) {
            let uid = site.uid().unwrap();
            tools.cloud.create(&uid);
            tools.made.lock().unwrap().insert(uid);
        }
        write_ready(site, context).await
    }

    async fn cleanup(tools: &Tools, site: &Site, _: &Context) -> Result<(), Error> {
        let uid = site.uid().unwrap();
        if tools.made.lock().unwrap().remove(&uid) {
            tools.cloud.delete(&uid);
        }
        Ok(())
    }
}

/// Reports an error, and never takes it back.
struct StaysFailed;

impl Work for StaysFailed {
    async fn work(_: &Tools, site: &Site, context: &Context) -> Result<(), Error> {
        if let Err(error) = apply(&config_maps(site, context), &config_map(site)).await {
            write(site, context, "Degraded", "Failed").await?;
            return Err(error);
        }
        write_ready(site, context).await
    }
}

/// Writes for ever after a failure.
struct Loops;

impl Work for Loops {
    async fn work(tools: &Tools, site: &Site, context: &Context) -> Result<(), Error> {
        let applied = apply(&config_maps(site, context), &config_map(site)).await;
        if applied.is_err() {
            *tools.again.lock().unwrap() = Some(Duration::from_millis(100));
        }
        applied?;
        write_ready(site, context).await
    }
}

/// Creates a child, and never changes it.
struct OnlyCreates;

impl Work for OnlyCreates {
    async fn work(tools: &Tools, site: &Site, context: &Context) -> Result<(), Error> {
        let child = Child::create_only(config_map(site));
        tools.config_maps().apply(site, [child]).await?;
        write_ready(site, context).await
    }
}

/// Ignores that a child could not be repaired.
struct IgnoresRepairs;

impl Work for IgnoresRepairs {
    async fn work(tools: &Tools, site: &Site, context: &Context) -> Result<(), Error> {
        let secrets = tools.own_secrets();
        let title = site.spec.title.clone().into_bytes();
        let child = Secret {
            metadata: metadata(site),
            data: Some([("title".to_owned(), ByteString(title))].into()),
            ..Secret::default()
        };
        let exists = !secrets.of(site).is_empty();
        let applied = secrets.apply(site, [child]).await;
        if !exists {
            applied?;
        }
        write_ready(site, context).await
    }
}

/// Sets fields of a child, and never removes one.
struct NeverRemoves;

impl Work for NeverRemoves {
    async fn work(tools: &Tools, site: &Site, context: &Context) -> Result<(), Error> {
        let mut child = config_map(site);
        let children = tools.config_maps();
        if let Some(old) = children.of(site).first() {
            let mut data = old.data.clone().unwrap_or_default();
            data.extend(child.data.take().unwrap_or_default());
            child.data = Some(data);
        }
        children.apply(site, [child]).await?;
        write_ready(site, context).await
    }
}

fn sample() -> Site {
    kube_manager::schema::testing::sample(include_str!("../../config/samples/web_v1_site.yaml"))
}

/// Whether each fault is tried, and not only the run that shows a bug.
fn tries_all() -> bool {
    env::var("KNOWN_BUGS").is_ok_and(|value| value == "all")
}

fn faults<W: Work>() -> Faults<Cloud> {
    Faults::with_world(sample(), Cloud::new, |manager, cloud| {
        let cloud = cloud.clone();
        manager.add(|builder| Controller::<W>::new(builder, cloud));
    })
}

async fn failures<W: Work>(selected: &str) -> Vec<String> {
    faults::<W>().failures(&API_SERVER, selected).await
}

/// The faults with a Secret that the sample needs.
fn with_token<W: Work>() -> Faults<Cloud> {
    let metadata = ObjectMeta {
        name: Some("token".to_owned()),
        ..ObjectMeta::default()
    };
    let data = BTreeMap::from([("token".to_owned(), ByteString(b"abc".to_vec()))]);
    faults::<W>().with_object(&Secret {
        metadata,
        data: Some(data),
        ..Secret::default()
    })
}

/// Checks that the run with this name finds a bug, and that a report contains each of these texts. The name is `each` if
/// the bug also depends on the order of events.
async fn is_found<W: Work>(run: &str, texts: &[&str]) {
    let selected = if tries_all() { "each" } else { run };
    let reports = failures::<W>(selected).await.join("\n\n");
    for text in texts {
        assert!(reports.contains(text), "no report has `{text}`:\n{reports}");
    }
}

#[tokio::test]
async fn a_correct_reconciler_is_not_accused() {
    let selected = if tries_all() { "all" } else { "" };
    assert_eq!(failures::<Correct>(selected).await, [""; 0]);
}

#[tokio::test]
async fn a_reconciler_that_looks_again_later_is_not_accused() {
    let selected = if tries_all() { "each" } else { "" };
    assert_eq!(failures::<LooksAgain>(selected).await, [""; 0]);
}

#[tokio::test]
async fn a_reconciler_that_writes_times_is_not_accused() {
    let selected = if tries_all() { "each" } else { "" };
    assert_eq!(failures::<WritesTimes>(selected).await, [""; 0]);
}

/// The new object has the Secret of the former one for a while, which the runtime replaces.
#[tokio::test]
async fn a_password_of_the_former_object_is_no_password_of_the_next_one() {
    let run = "recreate@crash-before:POST:configmaps/site-sample:2";
    let selected = if tries_all() { "each" } else { run };
    assert_eq!(failures::<KeepsPasswords>(selected).await, [""; 0]);
}

#[tokio::test]
async fn a_reconciler_that_needs_another_object_is_not_accused() {
    let run = "input:Secret/token@skip:secrets:2";
    let selected = if tries_all() { "each" } else { run };
    let reports = with_token::<Copies>().failures(&API_SERVER, selected).await;
    assert_eq!(reports, [""; 0]);
}

#[tokio::test]
#[should_panic(expected = "only a restart changes the state")]
async fn an_object_that_is_read_and_not_watched_is_found() {
    with_token::<OnlyReads>()
        .failures(&API_SERVER, "input:Secret/token@")
        .await;
}

#[tokio::test]
#[should_panic(expected = "ConfigMap/site-sample stays after the deletion of the object")]
async fn an_object_that_nobody_deletes_is_found() {
    failures::<Leaks>("recreate@").await;
}

#[tokio::test]
async fn an_object_may_stay_if_the_test_says_so() {
    let run = "recreate@cut:POST:configmaps/site-sample:2";
    let reports = faults::<Leaks>()
        .leaves("ConfigMap")
        .failures(&API_SERVER, run)
        .await;
    assert_eq!(reports, [""; 0]);
}

#[tokio::test]
#[should_panic(expected = "Not_a_name: ConfigMap \"Not_a_name\" is invalid")]
async fn a_refusal_that_is_ignored_is_found() {
    failures::<IgnoresRefusals>("create@").await;
}

#[tokio::test]
async fn a_status_that_is_written_too_early_is_found() {
    is_found::<StatusFirst>(
        "create@crash-before:POST:configmaps/site-sample:1",
        &["ConfigMap/site-sample is missing"],
    )
    .await;
}

#[tokio::test]
async fn a_memory_of_what_was_not_done_is_found() {
    is_found::<Remembers>(
        "create@internal-error:POST:configmaps/site-sample:1",
        &["ConfigMap/site-sample is missing"],
    )
    .await;
}

#[tokio::test]
async fn a_deletion_by_name_is_found() {
    is_found::<DeletesByName>(
        "recreate@late:DELETE:configmaps/site-sample:1",
        &["ConfigMap/site-sample is missing", "lost its lease"],
    )
    .await;
}

#[tokio::test]
async fn a_second_child_with_a_generated_name_is_found() {
    is_found::<GeneratesNames>(
        "create@crash-after:POST:configmaps/part-:1",
        &["ConfigMap/part-*#2 exists"],
    )
    .await;
}

#[tokio::test]
async fn a_failure_that_is_ignored_is_found() {
    is_found::<Ignores>(
        "create@internal-error:POST:configmaps/site-sample:1",
        &["ConfigMap/site-sample is missing"],
    )
    .await;
}

#[tokio::test]
#[ignore = "tries each fault: `make known-bugs`"]
async fn a_password_that_is_replaced_is_found() {
    is_found::<TrustsTheCache>("each", &["/data/password of ", "must not change"]).await;
}

#[tokio::test]
async fn a_panic_is_found() {
    is_found::<Panics>(
        "create@cut:POST:configmaps/site-sample:1",
        &[
            "a reconcile has panicked",
            "cannot reconcile site-sample: panicked: a second attempt",
        ],
    )
    .await;
}

#[tokio::test]
async fn a_bucket_that_is_created_twice_is_found() {
    is_found::<CreatesTwice>(
        "create@internal-error:PUT:sites.web.example.com/site-sample/status:1",
        &["`create a bucket` was done twice, and without faults once"],
    )
    .await;
}

#[tokio::test]
async fn a_bucket_that_is_never_deleted_is_found() {
    is_found::<Forgets>(
        "recreate@crash-after:PUT:sites.web.example.com/site-sample/status:2",
        &["`delete <UID>` was done once, and without faults twice"],
    )
    .await;
}

#[tokio::test]
async fn an_error_that_stays_is_found() {
    is_found::<StaysFailed>(
        "create@internal-error:PATCH:configmaps/site-sample:1",
        &["Degraded"],
    )
    .await;
}

#[tokio::test]
#[ignore = "tries each fault: `make known-bugs`"]
async fn writes_without_an_end_are_found() {
    is_found::<Loops>("each", &["writes without an end"]).await;
}

#[tokio::test]
async fn a_child_that_never_changes_is_found() {
    is_found::<OnlyCreates>(
        "history@0",
        &["The sample was changed to these specs", "/data/title"],
    )
    .await;
}

#[tokio::test]
async fn a_child_that_is_not_repaired_is_found() {
    is_found::<IgnoresRepairs>(
        "interfere:Secret/site-sample@internal-error:PATCH:secrets/site-sample:1",
        &["Secret/site-sample: /data/title"],
    )
    .await;
}

#[tokio::test]
async fn a_field_that_is_never_removed_is_found() {
    is_found::<NeverRemoves>(
        "history@0",
        &["The sample was changed to these specs", "/data/note"],
    )
    .await;
}
