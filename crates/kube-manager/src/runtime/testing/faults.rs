//! Tests how a controller survives faults: it runs in the process of the test against a real API server, and a fault
//! happens to one of its requests or watches.
//!
//! A first run of a scenario has no faults. The following runs of the scenario have one fault each. A run fails if its
//! objects are not those of the first run in the end. docs/faults.md lists all faults and scenarios.
//!
//! ```no_run
//! # use std::{convert::Infallible, sync::LazyLock};
//! # use k8s_openapi::api::core::v1::ConfigMap;
//! # use kube_manager::{Action, Context, Reconciler, rbac::Rule};
//! use kube_manager::testing::{ControlPlane, faults::Faults};
//! # struct Controller;
//! # impl Reconciler for Controller {
//! #   type Object = ConfigMap;
//! #   type Error = Infallible;
//! #   const NAME: &'static str = "test.example.com";
//! #   const RULES: &'static [Rule] = &[];
//! #   async fn reconcile(&self, _: &ConfigMap, _: &Context) -> Result<Action, Infallible> {
//! #       Ok(Action::await_change())
//! #   }
//! # }
//! # static CONTROL_PLANE: LazyLock<ControlPlane> = LazyLock::new(|| ControlPlane::start("target/tmp"));
//! # fn sample() -> ConfigMap { ConfigMap::default() }
//!
//! # async fn test() {
//! Faults::new(sample(), |manager| manager.add(|_| Controller))
//!     .run(&CONTROL_PLANE)
//!     .await;
//! # }
//! ```

use std::{env, rc::Rc, time::Instant};

use futures::{StreamExt, stream};
use kube::Resource;
use serde::Serialize;
use tokio::sync::RwLock;

use self::{
    call::{Collection, HERE},
    plan::Planned,
    scenario::Scenario,
    state::{NewObject, Varying},
    test::{Subject, Test},
};
use super::ControlPlane;
use crate::runtime::{manager::Manager, scope::Scope};

mod call;
mod client;
mod fault;
mod feed;
mod histories;
mod journal;
mod network;
mod plan;
mod run;
mod scenario;
mod state;
mod test;

pub use self::{journal::Journal, run::Run};

/// How many runs take place at the same time. Most of the time, a run waits.
const AT_ONCE: usize = 16;

/// After how many runs the progress is printed.
const PROGRESS: usize = 100;

/// How many runs fail before no more are tried.
const MOST_REPORTS: usize = 3;

/// A test of a controller under faults.
pub struct Faults<W = ()>(Subject<W>);

impl Faults {
    /// A test of the controllers that `register` adds to a manager. `sample` is an object of the controller's kind, with
    /// a name.
    pub fn new<K>(sample: K, register: impl Fn(&mut Manager) + 'static) -> Self
    where
        K: Resource<DynamicType = (), Scope: Scope> + Serialize + 'static,
    {
        Self::with_world(sample, drop, move |manager, ()| register(manager))
    }
}

impl<W: 'static> Faults<W> {
    /// A test of controllers that also work with an external system. `world` makes a fake of the external system for each
    /// run; it lives longer than an operator that is killed. The fake records its changes in the [`Journal`].
    pub fn with_world<K>(
        sample: K,
        world: impl Fn(Journal) -> W + 'static,
        register: impl Fn(&mut Manager, &W) + 'static,
    ) -> Self
    where
        K: Resource<DynamicType = (), Scope: Scope> + Serialize + 'static,
    {
        let mut sample = new_object(&sample);
        if let Some(metadata) = sample.object["metadata"].as_object_mut() {
            metadata.remove("namespace");
        }
        sample.collection = collection::<K>(HERE);
        Self(Subject {
            sample,
            needed: Vec::new(),
            crd: (
                format!("{}.{}", K::plural(&()), K::group(&())),
                K::version(&()).into_owned(),
            ),
            world: Box::new(world),
            register: Box::new(register),
            scenarios: Vec::new(),
            left_out: Vec::new(),
            ignored: Vec::new(),
            lasting: Vec::new(),
        })
    }

    /// Creates an object before the sample, such as a Secret that the spec of the sample names. Without a namespace, it
    /// is in that of the run. There, a scenario changes it, deletes it, and creates it again.
    #[must_use]
    pub fn with_object<K>(mut self, object: &K) -> Self
    where
        K: Resource<DynamicType = (), Scope: Scope> + Serialize,
    {
        self.0.needed.push(new_object(object));
        self
    }

    /// Declares a kind whose objects stay when the sample is deleted, such as `PersistentVolumeClaim`.
    #[must_use]
    pub fn leaves(mut self, kind: &str) -> Self {
        self.0.lasting.push(kind.to_owned());
        self
    }

    /// Declares a value that is not compared, such as a counter of retries: `ignores("Shop", "/status/retries")`.
    ///
    /// A value that differs between two runs without faults, such as a generated password, needs no declaration: it must
    /// not change once it is written.
    #[must_use]
    pub fn ignores(mut self, kind: &str, pointer: &str) -> Self {
        self.0.ignored.push(Varying {
            kind: kind.to_owned(),
            pointer: pointer.to_owned(),
        });
        self
    }

    /// Leaves out a scenario, such as `recreate`: docs/faults.md lists the names.
    ///
    /// # Panics
    ///
    /// When the test runs, and there is no such scenario.
    #[must_use]
    pub fn leave_out(mut self, name: &str) -> Self {
        self.0.left_out.push(name.to_owned());
        self
    }

    /// Adds a scenario. It does steps in a [`Run`], and waits after each step until the operator has settled.
    ///
    /// # Panics
    ///
    /// When the name has an `@`, which ends the scenario in the name of a run.
    #[must_use]
    pub fn scenario<F>(mut self, name: &str, play: impl Fn(Run) -> F + 'static) -> Self
    where
        F: Future<Output = ()> + 'static,
    {
        assert!(
            !name.contains('@'),
            "the name of a scenario has no `@`: {name}"
        );
        self.0.scenarios.push(Scenario::new(name, play));
        self
    }

    /// Runs each scenario without faults, and then with faults: with a few of them, or with those that the variable
    /// `FAULTS` selects. Then changes the spec at random.
    ///
    /// - `FAULTS=each`: each fault of each scenario, one in each run
    /// - `FAULTS=all`: also pairs of faults
    /// - `FAULTS=KIND/NAME`: one run, whose name a report has printed. Tests of other kinds try nothing
    ///
    /// # Panics
    ///
    /// When a run fails, with a report.
    pub async fn run(self, control_plane: &ControlPlane) {
        let selected = env::var("FAULTS").unwrap_or_default();
        let Some(selected) = selected_of(&self.0.crd.0, &selected) else {
            println!("no run: `FAULTS={selected}` names a run of another kind");
            return;
        };
        let reports = self.failures(control_plane, selected).await;
        let failed = match reports.len() {
            1 => "1 run".to_owned(),
            count => format!("{count} runs"),
        };
        assert!(
            reports.is_empty(),
            "{failed} failed:\n\n{}",
            reports.join("\n\n")
        );
    }

    /// The same as [`run`](Self::run), but `selected` takes the place of the variable `FAULTS`, without the kind, and the
    /// reports of the runs that failed are returned. After a few failures, no more runs are tried.
    ///
    /// # Panics
    ///
    /// When a run without faults fails.
    pub async fn failures(self, control_plane: &ControlPlane, selected: &str) -> Vec<String> {
        // A controller of a cluster-scoped kind sees the objects of all namespaces.
        static ROOM: RwLock<()> = RwLock::const_new(());
        let (_shared, _alone);
        if self.0.is_namespaced() {
            _shared = ROOM.read().await;
        } else {
            _alone = ROOM.write().await;
        }
        let begin = Instant::now();
        let at_once = if self.0.is_namespaced() { AT_ONCE } else { 1 };
        let test = Test {
            subject: &self.0,
            control_plane,
            client: control_plane.client().await,
        };
        if !self.0.is_namespaced() {
            test.delete_shared().await;
        }
        let schema = test.schema().await;
        let scenarios = plan::needed(test.scenarios(&schema).await, selected);
        let learning = scenarios.iter().map(|scenario| test.learn(scenario));
        let learned: Vec<_> = stream::iter(learning).buffered(at_once).collect().await;
        let created = learned[0].clone();
        let mut planned = Vec::new();
        for (scenario, first) in scenarios.iter().zip(learned) {
            let first = Rc::new(first);
            for fault in first.faults(scenario) {
                planned.push(Planned {
                    scenario: scenario.clone(),
                    first: first.clone(),
                    faults: vec![fault],
                });
            }
        }
        let chosen = plan::select(&planned, selected);
        let histories = histories::select(selected);
        let (runs, count) = (chosen.len(), chosen.len() + histories.len());
        assert!(
            count > 0,
            "`FAULTS={selected}` selects none of the {} runs",
            planned.len()
        );
        println!(
            "{runs} of {} runs with a fault, and {} histories",
            planned.len(),
            histories.len()
        );

        let runs = chosen.iter().map(async |planned| {
            let Planned {
                scenario,
                first,
                faults,
            } = planned;
            let run = test.play(scenario, faults.clone(), Some(first)).await;
            run.map(|run| run.is_done)
                .map_err(|failure| test.report(&planned.report(&failure), &planned.name()))
        });
        let mut runs = stream::iter(runs).buffer_unordered(at_once);
        let (mut reports, mut ended, mut missed) = (Vec::new(), 0, 0);
        while let Some(outcome) = runs.next().await {
            match outcome {
                Ok(is_done) => missed += usize::from(!is_done),
                Err(report) => reports.push(report),
            }
            if reports.len() >= MOST_REPORTS {
                return reports;
            }
            ended += 1;
            if ended % PROGRESS == 0 {
                println!("{ended} runs after {} s", begin.elapsed().as_secs());
            }
        }
        let (test, schema, created) = (&test, &schema, &created);
        let lives = histories.into_iter().map(async |number| {
            let live = histories::live(test, number, schema, created).await;
            live.map_err(|failure| test.report(&failure, &format!("{}{number}", histories::NAME)))
        });
        let mut lives = stream::iter(lives).buffer_unordered(at_once);
        while let Some(outcome) = lives.next().await {
            reports.extend(outcome.err());
            if reports.len() >= MOST_REPORTS {
                return reports;
            }
        }
        println!(
            "runs: {count}, failed: {}, without the fault: {missed}, seconds: {}",
            reports.len(),
            begin.elapsed().as_secs()
        );
        reports
    }
}

fn new_object<K>(object: &K) -> NewObject
where
    K: Resource<DynamicType = (), Scope: Scope> + Serialize,
{
    let namespace = object.meta().namespace.as_deref();
    NewObject {
        collection: collection::<K>(namespace.unwrap_or(HERE)),
        object: serde_json::to_value(object).expect("an object is JSON"),
    }
}

/// The objects of a kind, in `namespace` if the kind is namespaced.
fn collection<K>(namespace: &str) -> Collection
where
    K: Resource<DynamicType = (), Scope: Scope>,
{
    let path = K::url_path(&(), K::Scope::NAMESPACED.then_some("here"));
    let collection = Collection::at(&path, "here").expect("the path of a kind");
    collection.in_namespace(namespace)
}

/// What `selected`, the value of the variable `FAULTS`, selects of the runs of `kind`; `None` if it names a run of another
/// kind.
fn selected_of<'a>(kind: &str, selected: &'a str) -> Option<&'a str> {
    match selected.split_once('/') {
        // A kind has dots. The name of a run may also have a `/`, but after a `:` or an `@`.
        Some((named, name)) if named.contains('.') && !named.contains([':', '@']) => {
            (named == kind).then_some(name)
        }
        _ => Some(selected),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_run_is_for_the_tests_of_its_kind() {
        let name = "interfere:ConfigMap/a.b@cut:PUT:sites.web.example.com/a/status:1";
        let kind = "sites.web.example.com";
        let selected = format!("{kind}/{name}");
        assert_eq!(selected_of(kind, &selected), Some(name));
        assert_eq!(selected_of("sites.example.com", &selected), None);
        // Kinds of Kubernetes without a group.
        assert_eq!(selected_of("pods.", "pods./history@0"), Some("history@0"));
        for all in [
            "",
            "each",
            "all",
            name,
            "create@cut:PUT:sites.web.example.com/a:1",
        ] {
            assert_eq!(selected_of(kind, all), Some(all));
        }
    }
}
