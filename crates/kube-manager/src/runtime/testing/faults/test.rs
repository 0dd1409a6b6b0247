//! Runs scenarios on a control plane.

use std::{
    future::pending,
    mem,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use clap::Parser;
use futures::FutureExt;
use http::Method;
use kube::Client;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::{
    super::{ControlPlane, PATIENCE},
    client::client,
    fault::Fault,
    journal::Journal,
    network::Network,
    plan::First,
    run::{LINES, Run, Setup, finalize, says_ready, send},
    scenario::{self, Scenario, SpecPatch},
    state::{self, NewObject, Snapshot, Varying, title},
};
use crate::runtime::{failure, manager::Manager, operator::Operator, options::Options, requests};

/// The operator that runs the controllers. No other operator runs on the control plane.
const OPERATOR: Operator = Operator::new("faults", "example.com");

/// How much later the second of two runs at the same time begins, so that clocks with seconds differ in both.
const STAGGER: Duration = Duration::from_secs(2);

const NAMESPACES: &str = "/api/v1/namespaces";

/// Adds controllers to a manager.
type Register<W> = Box<dyn Fn(&mut Manager, &W)>;

/// The controllers that are tested, and how.
pub struct Subject<W> {
    pub sample: NewObject,
    /// The objects that exist before the sample.
    pub needed: Vec<NewObject>,
    /// The name of the CRD, and the version.
    pub crd: (String, String),
    pub world: Box<dyn Fn(Journal) -> W>,
    pub register: Register<W>,
    pub scenarios: Vec<Scenario>,
    /// The names of scenarios that are not tried.
    pub left_out: Vec<String>,
    pub ignored: Vec<Varying>,
    /// The kinds whose objects may stay after the deletion of the sample.
    pub lasting: Vec<String>,
}

impl<W> Subject<W> {
    pub fn is_namespaced(&self) -> bool {
        self.sample.collection.is_here()
    }

    /// Whether all runs share an object that the sample needs: it is outside of their namespaces. It stays until the test
    /// of a cluster-scoped kind begins.
    fn is_shared(&self, needed: &NewObject) -> bool {
        self.is_namespaced() && !needed.collection.is_here()
    }

    /// The objects that the sample needs, and that only one run uses at a time.
    fn needed_by_one(&self) -> Vec<&NewObject> {
        let needed = self.needed.iter();
        needed.filter(|needed| !self.is_shared(needed)).collect()
    }
}

/// The flags of the operator.
#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    options: Options,
}

/// A test on a control plane.
pub struct Test<'a, W> {
    pub subject: &'a Subject<W>,
    pub control_plane: &'a ControlPlane,
    pub client: Client,
}

impl<W: 'static> Test<'_, W> {
    /// The scenarios for the controller's kind, whose spec has the schema `schema`, and those of the user.
    pub async fn scenarios(&self, schema: &Value) -> Vec<Scenario> {
        let run = self
            .start(self.subject.sample.clone(), Vec::new(), None)
            .await;
        if let Err(failure) = self.drive(&run, &scenario::create()).await {
            panic!("the operator fails without faults: {failure}");
        }
        let created = run.snapshot().await;
        self.clean(&run).await;
        let sample = &self.subject.sample.object;
        if let Some(refused) = run
            .reached()
            .iter()
            .find_map(|reached| reached.refused.clone())
        {
            println!("the API server refuses {refused}");
        }
        let mut objects = created.objects.iter();
        let is_ready = objects.any(|object| title(object) == title(sample) && says_ready(object));
        if !is_ready && scenario::children(&created, sample).is_empty() {
            println!(
                "warning: the sample does not become ready, and has no children; if it needs another object, declare it with \
                 `Faults::with_object`"
            );
        }
        let mut changes = Vec::new();
        for change in scenario::changes_of(schema, &sample["spec"]) {
            if self.takes(&run, &change).await {
                changes.push(change);
            }
        }
        let mut scenarios = scenario::all(changes, self.subject.needed_by_one(), sample, &created);
        scenarios.extend(self.subject.scenarios.iter().cloned());
        for name in &self.subject.left_out {
            let all = scenarios.len();
            scenarios.retain(|scenario| scenario.name != *name);
            assert!(
                scenarios.len() < all,
                "there is no scenario `{name}` that could be left out"
            );
        }
        scenarios
    }

    /// The report of a run that failed, with the value of the variable `FAULTS` that repeats the run.
    pub fn report(&self, failure: &str, name: &str) -> String {
        let kind = &self.subject.crd.0;
        format!("{failure}\nTo repeat this run: FAULTS='{kind}/{name}'")
    }

    /// Whether the API server takes a change of the sample, and takes it back: rules can forbid it. No operator and no sample
    /// is in the run.
    async fn takes(&self, run: &Run, change: &SpecPatch) -> bool {
        run.create().await;
        let path = run.own_path();
        let mut is_taken = true;
        for patch in [&change.there, &change.back] {
            is_taken = is_taken && run.send(Method::PATCH, &path, patch).await.is_ok();
        }
        run.remove(&path).await;
        is_taken
    }

    /// The schema of the spec of the controller's kind; null if the kind has no CRD.
    pub async fn schema(&self) -> Value {
        let (name, version) = &self.subject.crd;
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
        let crd = send(&self.client, Method::GET, &path, &Value::Null).await;
        let crd = crd.unwrap_or_default();
        let versions = crd["spec"]["versions"].as_array();
        let version = versions
            .into_iter()
            .flatten()
            .find(|one| one["name"] == **version);
        let schema =
            version.map(|version| &version["schema"]["openAPIV3Schema"]["properties"]["spec"]);
        schema.cloned().unwrap_or_default()
    }

    /// Runs a scenario twice without faults.
    pub async fn learn(&self, scenario: &Scenario) -> First {
        let name = &scenario.name;
        let runs = (
            self.play(scenario, Vec::new(), None),
            self.play(scenario, Vec::new(), None),
        );
        let (first, second) = if self.subject.is_namespaced() {
            futures::join!(runs.0, sleep(STAGGER).then(|()| runs.1))
        } else {
            (runs.0.await, runs.1.await)
        };
        let (mut first, second) = match first.and_then(|first| Ok((first, second?))) {
            Ok(both) => both,
            Err(failure) => panic!("the scenario `{name}` fails without faults: {failure}"),
        };
        for (reached, again) in first.reached.iter().zip(&second.reached) {
            let step = &reached.step;
            match state::varying(&reached.state, &again.state) {
                Ok(varying) => first.varying.extend(varying),
                Err(difference) => panic!(
                    "the scenario `{name}` is not the same in two runs without faults, so faults cannot be judged\n\
                     after this step: {step}\n  {difference}"
                ),
            }
            assert_eq!(
                reached.journal, again.journal,
                "the scenario `{name}` changes other things outside the cluster in two runs without faults"
            );
        }
        let steps = first.reached.windows(2);
        let steps: Vec<_> = steps
            .map(|pair| [&pair[0].snapshot, &pair[1].snapshot])
            .collect();
        let may_change = |varying: &mut Varying| steps.iter().any(|step| varying.changes(*step));
        first.changing = first.varying.extract_if(.., may_change).collect();
        for reached in &mut first.reached {
            reached.snapshot = Snapshot::default();
            state::mask(&mut reached.state, &first.varying);
            state::mask(&mut reached.state, &first.changing);
        }
        first
    }

    /// Runs a scenario with `faults`, and compares it with `first`.
    pub async fn play(
        &self,
        scenario: &Scenario,
        faults: Vec<Fault>,
        first: Option<&First>,
    ) -> Result<First, String> {
        let run = self.start(self.subject.sample.clone(), faults, first).await;
        let driven = self.drive(&run, scenario).await;
        let traffic = run.setup().network.traffic();
        // Also after a failure: the next object of a cluster-scoped kind has the same name.
        self.clean(&run).await;
        driven?;
        Ok(First {
            is_done: run.setup().network.is_done(),
            reached: run.reached(),
            traffic,
            varying: Vec::new(),
            changing: Vec::new(),
        })
    }

    pub async fn start(&self, sample: NewObject, faults: Vec<Fault>, first: Option<&First>) -> Run {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let namespace = format!("fault-run-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        self.prepare(&namespace).await;
        let client = self.control_plane.client_in(&namespace).await;
        Run::new(Setup {
            network: Network::new(&namespace, client.clone(), faults),
            client,
            namespace,
            journal: Journal::default(),
            sample,
            varying: first.map(|first| first.varying.clone()).unwrap_or_default(),
            ignored: [
                self.subject.ignored.as_slice(),
                first.map_or(&[], |first| &first.changing),
            ]
            .concat(),
            needed: self.subject.needed_by_one().into_iter().cloned().collect(),
            lasting: self.subject.lasting.clone(),
            known: first.map(First::known).unwrap_or_default(),
            expected: first.map(|first| first.reached.clone()),
        })
    }

    /// Runs the steps of a scenario, and the operator beside it.
    pub async fn drive(&self, run: &Run, scenario: &Scenario) -> Result<(), String> {
        let world = (self.subject.world)(run.setup().journal.clone());
        let mut scenario = pin!(async {
            (scenario.play)(run.clone()).await;
            run.ended().await;
        });
        loop {
            tokio::select! {
                () = &mut scenario => return Ok(()),
                failure = run.failure() => return Err(failure),
                () = run.wants(true) => {}
            }
            run.setup().network.start();
            run.runs(true);
            tokio::select! {
                () = &mut scenario => return Ok(()),
                failure = run.failure() => return Err(failure),
                () = run.setup().network.crashed() => {}
                ended = self.operate(run, &world) => if let Err(error) = ended {
                    let (error, log) = (failure::message(&*error), run.setup().network.log(LINES));
                    return Err(format!("the operator ended: {error}\n{log}"));
                }
            }
            run.runs(false);
        }
    }

    /// Runs the operator until the run stops it.
    async fn operate(&self, run: &Run, world: &W) -> anyhow::Result<()> {
        let mut manager = Manager::new(OPERATOR);
        (self.subject.register)(&mut manager, world);
        run.look_at(manager.registry().clone());
        let kubeconfig = self.control_plane.kubeconfig("admin");
        let mut flags = vec![
            "faults".to_owned(),
            format!("--kubeconfig={}", kubeconfig.display()),
            "--health-probe-bind-address=0".to_owned(),
            "--metrics-bind-address=0".to_owned(),
            "--storage-migration=false".to_owned(),
        ];
        if self.subject.is_namespaced() {
            flags.push(format!("--namespace={}", run.namespace()));
        }
        let Flags { options } = Flags::parse_from(flags);
        let was_stopped = AtomicBool::new(false);
        let network = &run.setup().network;
        let stopped = async || {
            // A second stop would make the operator hurry.
            if was_stopped.swap(true, Ordering::Relaxed) {
                pending::<()>().await;
            }
            run.wants(false).await;
        };
        manager
            .run_until(
                stopped,
                options,
                |config| Ok(client(network, requests::connect(config)?)),
                Arc::new(network.clone()),
            )
            .await
    }

    /// Creates the namespace of a run, with the ServiceAccount that a controller manager would create, and the objects
    /// that the sample needs.
    async fn prepare(&self, namespace: &str) {
        let new = json!({"kind": "Namespace", "metadata": {"name": namespace}});
        self.create(NAMESPACES, &new).await;
        let account = json!({"kind": "ServiceAccount", "metadata": {"name": "default"}});
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
        self.create(&path, &account).await;
        for needed in &self.subject.needed {
            let path = needed.collection.path(namespace);
            let is_new = self.create(&path, &needed.object).await;
            if is_new && self.subject.is_shared(needed) {
                let shared = &self.control_plane.shared;
                shared.lock().push(needed.path(namespace));
            }
        }
    }

    /// Creates an object. Returns whether the object is new: another run may have created an object that runs share.
    async fn create(&self, path: &str, object: &Value) -> bool {
        match send(&self.client, Method::POST, path, object).await {
            Ok(_) => true,
            Err(kube::Error::Api(answer))
                if answer.is_already_exists() && self.subject.is_namespaced() =>
            {
                false
            }
            Err(error) => panic!("cannot create {}: {error}", title(object)),
        }
    }

    /// Deletes the objects that the runs of namespaced kinds share. No other run may take place: a controller of a
    /// cluster-scoped kind would see them, and its sample may have the name of one of them.
    pub async fn delete_shared(&self) {
        let shared = mem::take(&mut *self.control_plane.shared.lock());
        // The objects in a Namespace come after it.
        let last_first = shared.iter().rev().map(String::as_str);
        let _ = timeout(PATIENCE, delete(&self.client, last_first)).await;
    }

    /// Deletes the objects of a run: cluster-scoped ones would be in the way of other runs, and Services have addresses.
    pub async fn clean(&self, run: &Run) {
        let deletions = async {
            let objects = run.snapshot().await.objects;
            delete(&self.client, objects.iter().map(state::path_of)).await;
        };
        // After a failed run, a request may fail for ever.
        let _ = timeout(PATIENCE, deletions).await;
    }
}

/// Deletes the objects at these paths, also those with finalizers.
async fn delete(client: &Client, paths: impl Iterator<Item = &str>) {
    let no_finalizers = json!({"metadata": {"finalizers": null}});
    // Otherwise, a Job gets a finalizer.
    let background = json!({"propagationPolicy": "Background"});
    let mut namespaces = Vec::new();
    for path in paths {
        let _ = send(client, Method::PATCH, path, &no_finalizers).await;
        let _ = send(client, Method::DELETE, path, &background).await;
        if path
            .rsplit_once('/')
            .is_some_and(|(folder, _)| folder == NAMESPACES)
        {
            namespaces.push(path);
        }
    }
    for path in namespaces {
        if let Ok(namespace) = send(client, Method::GET, path, &Value::Null).await {
            finalize(client, path, &namespace).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, path::PathBuf};

    use http::{Request, Response};
    use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
    use kube::{Resource, client::Body, core::ObjectMeta};
    use parking_lot::Mutex;
    use tokio::net::TcpSocket;
    use tower::{BoxError, service_fn};

    use super::{
        super::{Faults, call::content_of},
        *,
    };

    /// An API server that knows which objects exist, and records other requests than those that create.
    fn api_server(requests: &'static Mutex<Vec<String>>) -> Client {
        let exists: &Mutex<HashSet<String>> = Box::leak(Box::default());
        let service = service_fn(async |request: Request<Body>| {
            let path = request.uri().path().to_owned();
            let mut answer = Response::builder();
            if request.method() == Method::POST {
                let object = content_of(&request).unwrap_or_default();
                let path = format!("{path}/{}", state::text(&object, "/metadata/name"));
                if !exists.lock().insert(path) {
                    answer = answer.status(409);
                }
            } else {
                requests.lock().push(format!("{} {path}", request.method()));
            }
            let content = json!({"reason": "AlreadyExists"});
            Ok::<_, BoxError>(answer.body(Body::from(content.to_string().into_bytes()))?)
        });
        Client::new(service, "default")
    }

    fn named<K: Resource + Default>(name: &str, namespace: Option<&str>) -> K {
        let mut object = K::default();
        *object.meta_mut() = ObjectMeta {
            name: Some(name.to_owned()),
            namespace: namespace.map(str::to_owned),
            ..ObjectMeta::default()
        };
        object
    }

    #[tokio::test]
    async fn what_runs_share_stays_until_the_test_of_a_cluster_scoped_kind() {
        static REQUESTS: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let folder = PathBuf::new();
        let control_plane = ControlPlane {
            programs: folder.clone(),
            log: folder.clone(),
            folder,
            server: String::new(),
            namespace: String::new(),
            default_namespace: String::new(),
            _port: TcpSocket::new_v4().expect("a socket"),
            children: Vec::new(),
            shared: Mutex::default(),
        };
        let sample: ConfigMap = named("sample", None);
        let faults = Faults::new(sample, |_| ())
            .with_object(&named::<Namespace>("shop", None))
            .with_object(&named::<Secret>("shared", Some("shop")))
            .with_object(&named::<Secret>("own", None));
        let test = Test {
            subject: &faults.0,
            control_plane: &control_plane,
            client: api_server(&REQUESTS),
        };
        for namespace in ["run-0", "run-1"] {
            test.prepare(namespace).await;
        }
        assert!(REQUESTS.lock().is_empty());
        for _ in 0..2 {
            test.delete_shared().await;
        }
        let shop = format!("{NAMESPACES}/shop");
        let expected = [
            format!("PATCH {shop}/secrets/shared"),
            format!("DELETE {shop}/secrets/shared"),
            format!("PATCH {shop}"),
            format!("DELETE {shop}"),
            format!("GET {shop}"),
            format!("PUT {shop}/finalize"),
        ];
        assert_eq!(*REQUESTS.lock(), expected);
    }
}
