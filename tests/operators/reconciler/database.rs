//! The controller of Database.

use std::{env, io, time::Duration};

use k8s_openapi::api::{
    batch::v1::{Job, JobSpec},
    core::v1::{
        ConfigMap, Container, EnvVar, EnvVarSource, PodSpec, PodTemplateSpec, Secret,
        SecretKeySelector,
    },
    events,
};
use kube::{ResourceExt, api::ObjectMeta, runtime::events::EventType};
use kube_manager::{
    Action, Child, Children, Cleanup, Context, Readiness, Reconciler, Recreate, children,
    condition,
    rbac::{Rule, Verb},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::timeout,
};

use crate::api::shop::v1::database::*;

/// How long the inventory may take to answer.
const INVENTORY_TIMEOUT: Duration = Duration::from_secs(5);

/// Brings the cluster to the desired state of each Database.
pub struct Controller {
    config_maps: Children<ConfigMap, Database>,
    jobs: Children<Job, Database>,
    secrets: Children<Secret, Database>,
    inventory: Inventory,
}

/// Why a reconcile failed. It is logged, and retried with an increasing backoff.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Children(#[from] children::Error),
    #[error("cannot make a password")]
    Password(#[from] getrandom::Error),
    #[error("cannot make a backup: {0}")]
    Backup(String),
    #[error("cannot reach the inventory")]
    Inventory(#[from] io::Error),
    #[error("the inventory does not answer within {} s", INVENTORY_TIMEOUT.as_secs())]
    InventoryTimeout,
    #[error("the inventory refuses the request: {0}")]
    InventoryRefusal(String),
    #[error("cannot write the status")]
    WriteStatus(#[source] kube::Error),
}

impl Error {
    /// The reason for a condition: one CamelCase word, which programs can rely on.
    fn reason(&self) -> &'static str {
        match self {
            Self::Children(error) => error.reason(),
            Self::Password(_) => "NoPassword",
            Self::Backup(_) => "BackupFailed",
            Self::Inventory(_) => "InventoryUnreachable",
            Self::InventoryTimeout => "InventoryTimeout",
            Self::InventoryRefusal(_) => "InventoryRefusal",
            Self::WriteStatus(_) => "NoStatus",
        }
    }

    fn is_of_inventory(&self) -> bool {
        matches!(
            self,
            Self::Inventory(_) | Self::InventoryTimeout | Self::InventoryRefusal(_)
        )
    }
}

impl Reconciler for Controller {
    type Object = Database;
    type Error = Error;

    const NAME: &'static str = "database.shop.example.com";

    const RULES: &'static [Rule] = &[
        Rule::of::<Database>(&[Verb::List, Verb::Watch]),
        Rule::sub::<Database>("status", &[Verb::Update]),
        // For the finalizer.
        Rule::of::<Database>(&[Verb::Patch]),
        // For owned objects: read, create, correct and delete.
        Rule::of::<ConfigMap>(children::VERBS),
        Rule::of::<Job>(children::VERBS),
        Rule::of::<Secret>(children::VERBS),
        // A repeated event is patched, not created again.
        Rule::of::<events::v1::Event>(&[Verb::Create, Verb::Patch]),
    ];

    const FINALIZER: bool = true;

    async fn reconcile(&self, object: &Database, context: &Context) -> Result<Action, Error> {
        let result = self.take_steps(object).await;
        let status = observe(object, &result);
        let written = context.write_status(object, &status).await;
        let is_ready = matches!(result, Ok(Readiness::Ready));
        if written.map_err(Error::WriteStatus)?.is_some() && is_ready {
            let note = "Desired state reached";
            context.event(object, EventType::Normal, "Reconciled", note);
        }
        result?;
        Ok(Action::await_change())
    }

    async fn cleanup(&self, object: &Database, _: &Context) -> Result<Cleanup, Error> {
        let readiness = match self.jobs.apply_one(object, backup_job(object)).await {
            // The Secret is deleted together with its namespace, so there can be no backup.
            Err(error) if error.is_namespace_terminating() => Readiness::Ready,
            job => Readiness::of(&*job?),
        };
        match readiness {
            Readiness::Ready => {}
            // A change of the Job continues the cleanup earlier.
            Readiness::Progressing(_) => return Ok(Cleanup::AgainIn(Duration::from_secs(600))),
            Readiness::Failed(why) => return Err(Error::Backup(why)),
        }
        self.inventory.remove(object).await?;
        Ok(Cleanup::Done)
    }
}

impl Controller {
    /// Declares the kinds that the controller uses.
    pub fn new(builder: &mut kube_manager::Builder<Database>) -> Self {
        Self::with(builder, Inventory::from_environment())
    }

    /// The same with another inventory, for tests.
    pub fn with(builder: &mut kube_manager::Builder<Database>, inventory: Inventory) -> Self {
        Self {
            config_maps: builder.owns(),
            // The backup of the cleanup needs both.
            jobs: builder.owns_until_cleanup(),
            secrets: builder.owns_until_cleanup(),
            inventory,
        }
    }

    /// Takes each step whose predecessor is done. Returns what the next step waits for.
    async fn take_steps(&self, object: &Database) -> Result<Readiness, Error> {
        // The field keeps the password that it has in the cluster.
        let secret = Child::new(secret(object)?).keep(["data", "password"]);
        self.secrets.apply(object, [secret]).await?;

        // Users edit these settings, so the controller only creates them.
        let settings = Child::create_only(settings(object));
        self.config_maps.apply(object, [settings]).await?;

        // The template of a Job is immutable: with another title, the Job is created again.
        let job = Child::new(setup_job(object)).recreate(Recreate::Foreground);
        let job = self.jobs.apply_one(object, job).await?;
        let readiness = Readiness::of(&*job);
        if !readiness.is_ready() {
            return Ok(readiness);
        }

        if !is_registered(object) {
            self.inventory.add(object).await?;
        }
        Ok(Readiness::Ready)
    }
}

/// A client of the inventory, which is a program outside of the cluster. A request is one line,
/// and so is the answer.
pub struct Inventory {
    address: String,
}

impl Inventory {
    fn from_environment() -> Self {
        let address = env::var("INVENTORY_ADDRESS");
        Self::at(&address.unwrap_or_else(|_| "inventory.example.com:7000".to_owned()))
    }

    pub fn at(address: &str) -> Self {
        let address = address.to_owned();
        Self { address }
    }

    /// Adds `object`. A second call with the same object changes nothing.
    async fn add(&self, object: &Database) -> Result<(), Error> {
        self.request(&format!("add {}", id(object))).await
    }

    /// Removes `object`. Succeeds too if the inventory does not have it.
    async fn remove(&self, object: &Database) -> Result<(), Error> {
        self.request(&format!("remove {}", id(object))).await
    }

    async fn request(&self, line: &str) -> Result<(), Error> {
        let Ok(answer) = timeout(INVENTORY_TIMEOUT, self.answer(line)).await else {
            return Err(Error::InventoryTimeout);
        };
        match answer?.trim() {
            "ok" => Ok(()),
            refusal => Err(Error::InventoryRefusal(refusal.to_owned())),
        }
    }

    async fn answer(&self, line: &str) -> io::Result<String> {
        let mut stream = BufReader::new(TcpStream::connect(&self.address).await?);
        stream.write_all(format!("{line}\n").as_bytes()).await?;
        let mut answer = String::new();
        stream.read_line(&mut answer).await?;
        Ok(answer)
    }
}

/// The name of `object` outside of the cluster. The uid distinguishes the object from an earlier
/// one with the same name.
fn id(object: &Database) -> String {
    object.uid().unwrap_or_default()
}

/// Whether the inventory has `object` as it is now. So only a change causes another request.
fn is_registered(object: &Database) -> bool {
    let status = object.status.as_ref();
    let conditions = status.map_or(&[][..], |status| &status.conditions);
    conditions.iter().any(|condition| {
        condition.type_ == "Registered"
            && condition.status == "True"
            && condition.observed_generation == object.metadata.generation
    })
}

/// Computes the status from the result of the steps. Sends no request, so that it can be tested
/// without a cluster.
fn observe(object: &Database, result: &Result<Readiness, Error>) -> DatabaseStatus {
    let mut status = object.status.clone().unwrap_or_default();
    status.observed_generation = object.metadata.generation;
    let (ready, registered) = match result {
        Ok(Readiness::Ready) => (
            condition::new_true(object, "Ready", "Reconciled", "Desired state reached"),
            Some(condition::new_true(
                object,
                "Registered",
                "Registered",
                "The inventory has it",
            )),
        ),
        Ok(waits) => (
            condition::new_false(object, "Ready", waits.reason(), waits.message()),
            None,
        ),
        Err(error) => {
            let [ready, registered] = ["Ready", "Registered"].map(|type_| {
                let message = kube_manager::message(error);
                condition::new_false(object, type_, error.reason(), message)
            });
            (ready, error.is_of_inventory().then_some(registered))
        }
    };
    condition::set(&mut status.conditions, ready);
    if let Some(registered) = registered {
        condition::set(&mut status.conditions, registered);
    }
    status
}

/// The Secret with a new password, which counts only if there is none yet.
fn secret(object: &Database) -> Result<Secret, getrandom::Error> {
    let password = format!("{:016x}{:016x}", getrandom::u64()?, getrandom::u64()?);
    Ok(Secret {
        metadata: metadata(object.name_any()),
        string_data: Some([("password".to_owned(), password)].into()),
        ..Secret::default()
    })
}

/// The settings that a database starts with.
fn settings(object: &Database) -> ConfigMap {
    ConfigMap {
        metadata: metadata(object.name_any()),
        data: Some([("connections".to_owned(), "100".to_owned())].into()),
        ..ConfigMap::default()
    }
}

/// The Job that prepares the database.
fn setup_job(object: &Database) -> Job {
    job(object, "setup", &["setup", &object.spec.title])
}

/// The Job that saves the database before it is deleted.
fn backup_job(object: &Database) -> Job {
    job(object, "backup", &["backup"])
}

/// A Job with a fixed name, so that each reconcile finds the same Job.
fn job(object: &Database, suffix: &str, arguments: &[&str]) -> Job {
    let name = object.name_any();
    let password = EnvVar {
        name: "PASSWORD".to_owned(),
        value_from: Some(EnvVarSource {
            secret_key_ref: Some(SecretKeySelector {
                name: name.clone(),
                key: "password".to_owned(),
                ..SecretKeySelector::default()
            }),
            ..EnvVarSource::default()
        }),
        ..EnvVar::default()
    };
    let container = Container {
        name: "main".to_owned(),
        image: Some("registry.example.com/database-tool:1".to_owned()),
        args: Some(arguments.iter().map(ToString::to_string).collect()),
        env: Some(vec![password]),
        ..Container::default()
    };
    Job {
        metadata: metadata(format!("{name}-{suffix}")),
        spec: Some(JobSpec {
            template: PodTemplateSpec {
                spec: Some(PodSpec {
                    containers: vec![container],
                    restart_policy: Some("Never".to_owned()),
                    ..PodSpec::default()
                }),
                ..PodTemplateSpec::default()
            },
            ..JobSpec::default()
        }),
        ..Job::default()
    }
}

fn metadata(name: String) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        ..ObjectMeta::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Database {
        let text = include_str!(
            // What `kubectl apply -k config/samples` creates.
            "../../../config/samples/shop_v1_database.yaml"
        );
        kube_manager::schema::testing::sample(text)
    }

    #[test]
    fn an_error_of_the_inventory_is_in_both_conditions() {
        let status = observe(&sample(), &Err(Error::InventoryTimeout));
        for condition in &status.conditions {
            assert_eq!(condition.status, "False");
            assert_eq!(condition.reason, "InventoryTimeout");
        }
        assert_eq!(status.conditions.len(), 2);
    }

    #[test]
    fn a_registered_object_is_registered_again_after_a_change() {
        let mut object = sample();
        object.metadata.generation = Some(1);
        object.status = Some(observe(&object, &Ok(Readiness::Ready)));
        assert!(is_registered(&object));
        object.metadata.generation = Some(2);
        assert!(!is_registered(&object));
    }

    #[test]
    fn a_waiting_object_says_what_it_waits_for() {
        let waits = Readiness::Progressing("Job a-setup has not started".to_owned());
        let status = observe(&sample(), &Ok(waits));
        assert_eq!(status.conditions[0].message, "Job a-setup has not started");
        assert_eq!(status.conditions.len(), 1);
    }
}
