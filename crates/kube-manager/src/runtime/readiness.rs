//! Derives from the status of an object whether the object is ready.

use std::{any::Any, sync::Arc};

use k8s_openapi::api::{
    apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet},
    batch::v1::Job,
    core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret, Service, ServiceAccount},
};
use kube::{Resource, ResourceExt, core::ObjectMeta};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Whether an object is ready, and if not, why.
///
/// An object is ready when its status shows the state that its spec asks for. The rules follow
/// `kubectl rollout status` and kstatus, the library with which tools such as Flux wait:
///
/// | kind | ready |
/// |---|---|
/// | Deployment, ReplicaSet, StatefulSet | all replicas are available, and none of an older template is left |
/// | DaemonSet | the same, on each node that it is scheduled to |
/// | Job | it is complete |
/// | Pod | its condition `Ready` is true, or it has succeeded |
/// | PersistentVolumeClaim | it is bound |
/// | Service | at once, and one of type LoadBalancer when it has an address |
/// | ConfigMap, Secret, ServiceAccount | at once |
/// | any other | its condition `Ready`, if it has one, is true, and none of the conditions `Reconciling` and `Stalled` is |
///
/// No object is ready while it is being deleted, or while `status.observedGeneration` is older than its
/// `metadata.generation`.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kube_manager::Readiness;
///
/// let mut deployment = Deployment::default();
/// deployment.metadata.name = Some("web".to_owned());
/// let readiness = Readiness::of(&deployment);
/// assert!(!readiness.is_ready());
/// assert_eq!(readiness.reason(), "Progressing");
/// assert_eq!(readiness.message(), "Deployment web has 0 of 1 Pods of its template");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Readiness {
    /// The desired state is reached.
    #[default]
    Ready,
    /// The desired state is not reached yet. The message says what the object waits for.
    Progressing(String),
    /// The desired state will not be reached without a change of the object or of the cluster. The message says why.
    Failed(String),
}

impl Readiness {
    /// Whether `object` is ready.
    pub fn of<K>(object: &K) -> Self
    where
        K: Resource<DynamicType = ()> + Serialize + 'static,
    {
        let readiness = if object.meta().deletion_timestamp.is_some() {
            Self::Progressing("is being deleted".to_owned())
        } else {
            by_kind(object)
        };
        let about = format!("{} {}", K::kind(&()), object.name_any());
        match readiness {
            Self::Ready => Self::Ready,
            Self::Progressing(text) => Self::Progressing(format!("{about} {text}")),
            Self::Failed(text) => Self::Failed(format!("{about} {text}")),
        }
    }

    /// Includes the readiness of `objects`: the result is failed if one object has failed, and ready if all are ready.
    /// If several have a message, the first message stays.
    pub fn include<K>(&mut self, objects: &[Arc<K>])
    where
        K: Resource<DynamicType = ()> + Serialize + 'static,
    {
        for object in objects {
            let other = Self::of(&**object);
            let is_worse = match self {
                Self::Ready => !other.is_ready(),
                Self::Progressing(_) => matches!(other, Self::Failed(_)),
                Self::Failed(_) => false,
            };
            if is_worse {
                *self = other;
            }
        }
    }

    /// Whether the desired state is reached.
    pub fn is_ready(&self) -> bool {
        *self == Self::Ready
    }

    /// The reason for a condition.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::Progressing(_) => "Progressing",
            Self::Failed(_) => "Failed",
        }
    }

    /// The message for a condition, such as `Deployment web has 0 of 3 Pods available`. It is empty if the object is
    /// ready.
    pub fn message(&self) -> &str {
        match self {
            Self::Ready => "",
            Self::Progressing(text) | Self::Failed(text) => text,
        }
    }

    /// The result of `next` if this is ready; otherwise this.
    fn and_then(self, next: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Ready => next(),
            not => not,
        }
    }

    /// Adds the cause to the message, if there is one.
    fn because(self, cause: Option<&str>) -> Self {
        match (self, cause.filter(|cause| !cause.is_empty())) {
            (Self::Progressing(text), Some(cause)) => Self::Progressing(format!("{text}: {cause}")),
            (readiness, _) => readiness,
        }
    }
}

/// The rule for a kind. The Rust type selects the rule, because its status can be read without parsing JSON.
fn by_kind<K>(object: &K) -> Readiness
where
    K: Resource + Serialize + 'static,
{
    let any: &dyn Any = object;
    if let Some(typed) = any.downcast_ref() {
        deployment(typed)
    } else if let Some(typed) = any.downcast_ref() {
        replica_set(typed)
    } else if let Some(typed) = any.downcast_ref() {
        stateful_set(typed)
    } else if let Some(typed) = any.downcast_ref() {
        daemon_set(typed)
    } else if let Some(typed) = any.downcast_ref() {
        job(typed)
    } else if let Some(typed) = any.downcast_ref() {
        pod(typed)
    } else if let Some(typed) = any.downcast_ref() {
        claim(typed)
    } else if let Some(typed) = any.downcast_ref() {
        service(typed)
    } else if any.is::<ConfigMap>() || any.is::<Secret>() || any.is::<ServiceAccount>() {
        Readiness::Ready
    } else {
        other(object)
    }
}

/// Whether the kind's own controller has not seen the newest spec yet.
fn is_behind(metadata: &ObjectMeta, observed: Option<i64>) -> bool {
    observed.unwrap_or_default() < metadata.generation.unwrap_or_default()
}

fn not_observed() -> Readiness {
    Readiness::Progressing("has a change that its controller has not seen yet".to_owned())
}

/// Ready if `count` reaches `wanted`. Without a count, there are no Pods.
fn counted(count: Option<i32>, wanted: i32, what: &str) -> Readiness {
    let there = count.unwrap_or(0);
    if there >= wanted {
        return Readiness::Ready;
    }
    Readiness::Progressing(format!("has {there} of {wanted} Pods {what}"))
}

/// Ready if no Pod of an older template is left.
fn replaced(all: i32, updated: Option<i32>) -> Readiness {
    match all - updated.unwrap_or_default() {
        1.. => Readiness::Progressing("has Pods of an older template".to_owned()),
        _ => Readiness::Ready,
    }
}

fn deployment(object: &Deployment) -> Readiness {
    let status = object.status.clone().unwrap_or_default();
    if is_behind(&object.metadata, status.observed_generation) {
        return not_observed();
    }
    let conditions = status.conditions.unwrap_or_default();
    let find = |type_| {
        conditions
            .iter()
            .find(|condition| condition.type_.as_deref() == Some(type_))
    };
    let overdue = find("Progressing")
        .is_some_and(|condition| condition.reason.as_deref() == Some("ProgressDeadlineExceeded"));
    let refused =
        find("ReplicaFailure").filter(|condition| condition.status.as_deref() == Some("True"));
    let wanted = object.spec.replicas.unwrap_or(1);
    let readiness = counted(status.updated_replicas, wanted, "of its template")
        .and_then(|| replaced(status.replicas.unwrap_or_default(), status.updated_replicas))
        .and_then(|| counted(status.available_replicas, wanted, "available"))
        .because(refused.and_then(|condition| condition.message.as_deref()));
    match readiness {
        Readiness::Progressing(text) if overdue => {
            Readiness::Failed(format!("{text}, and makes no progress"))
        }
        readiness => readiness,
    }
}

fn replica_set(object: &ReplicaSet) -> Readiness {
    let status = object.status.clone().unwrap_or_default();
    if is_behind(&object.metadata, status.observed_generation) {
        return not_observed();
    }
    let conditions = status.conditions.unwrap_or_default();
    let refused = conditions.iter().find(|condition| {
        condition.type_.as_deref() == Some("ReplicaFailure")
            && condition.status.as_deref() == Some("True")
    });
    let wanted = object.spec.replicas.unwrap_or(1);
    counted(status.available_replicas, wanted, "available")
        .because(refused.and_then(|condition| condition.message.as_deref()))
}

fn stateful_set(object: &StatefulSet) -> Readiness {
    let status = object.status.clone().unwrap_or_default();
    if is_behind(&object.metadata, status.observed_generation) {
        return not_observed();
    }
    let spec = &object.spec;
    let wanted = spec.replicas.unwrap_or(1);
    let strategy = spec.update_strategy.clone().unwrap_or_default();
    let rolling = strategy.rolling_update.unwrap_or_default();
    let available = counted(status.available_replicas, wanted, "available");
    available.and_then(|| match (strategy.type_.as_deref(), rolling.partition) {
        // With OnDelete, old Pods stay until a user deletes them.
        (Some("OnDelete"), _) => Readiness::Ready,
        // Pods with a smaller number keep their template.
        (_, Some(partition)) if partition > 0 => counted(
            status.updated_replicas,
            wanted - partition,
            "of its template",
        ),
        _ if status.current_revision == status.update_revision => Readiness::Ready,
        _ => replaced(status.replicas, status.updated_replicas),
    })
}

fn daemon_set(object: &DaemonSet) -> Readiness {
    let status = object.status.clone().unwrap_or_default();
    if is_behind(&object.metadata, status.observed_generation) {
        return not_observed();
    }
    let strategy = object.spec.update_strategy.as_ref();
    let on_delete = strategy.is_some_and(|strategy| strategy.type_.as_deref() == Some("OnDelete"));
    let wanted = status.desired_number_scheduled;
    let updated = if on_delete {
        Readiness::Ready
    } else {
        counted(status.updated_number_scheduled, wanted, "of its template")
    };
    updated.and_then(|| counted(status.number_available, wanted, "available"))
}

fn job(object: &Job) -> Readiness {
    let status = object.status.clone().unwrap_or_default();
    let conditions = status.conditions.unwrap_or_default();
    let mut holding = conditions
        .iter()
        .filter(|condition| condition.status == "True");
    let last = holding
        .clone()
        .find(|condition| ["Complete", "Failed"].contains(&condition.type_.as_str()));
    match last {
        Some(ended) if ended.type_ == "Complete" => Readiness::Ready,
        Some(ended) => {
            let message = ended.message.as_deref().unwrap_or_default();
            Readiness::Failed(format!("has failed: {message}"))
        }
        None if holding.any(|condition| condition.type_ == "Suspended") => {
            Readiness::Progressing("is suspended".to_owned())
        }
        None => Readiness::Progressing("is not complete".to_owned()),
    }
}

fn pod(object: &Pod) -> Readiness {
    let status = object.status.clone().unwrap_or_default();
    let phase = status.phase.as_deref().unwrap_or("Pending");
    let conditions = status.conditions.unwrap_or_default();
    let find = |type_: &str| conditions.iter().find(|condition| condition.type_ == type_);
    let ready = find("Ready");
    if phase == "Succeeded" || ready.is_some_and(|condition| condition.status == "True") {
        return Readiness::Ready;
    }
    if phase == "Failed" {
        let why = status.message.or(status.reason).unwrap_or_default();
        return Readiness::Failed(format!("has failed: {why}"));
    }
    let init_containers = status.init_container_statuses.into_iter().flatten();
    let containers = init_containers.chain(status.container_statuses.into_iter().flatten());
    // A waiting container has a reason, such as `ImagePullBackOff`.
    for container in containers {
        let Some(waiting) = container.state.and_then(|state| state.waiting) else {
            continue;
        };
        let reason = waiting.reason.unwrap_or_default();
        let container_waits = format!("has a container {} that waits", container.name);
        let parts: Vec<_> = [Some(container_waits), Some(reason.clone()), waiting.message]
            .into_iter()
            .flatten()
            .filter(|part| !part.is_empty())
            .collect();
        let text = parts.join(": ");
        match reason.as_str() {
            // Every container starts with one of these reasons.
            "ContainerCreating" | "PodInitializing" => {}
            "CrashLoopBackOff" => return Readiness::Failed(text),
            _ => return Readiness::Progressing(text),
        }
    }
    let unscheduled = find("PodScheduled").filter(|condition| condition.status == "False");
    let why = unscheduled
        .or(ready)
        .and_then(|condition| condition.message.as_deref());
    Readiness::Progressing(format!("is {}", phase.to_lowercase())).because(why)
}

fn claim(object: &PersistentVolumeClaim) -> Readiness {
    let status = object.status.as_ref();
    match status.and_then(|status| status.phase.as_deref()) {
        Some("Bound") => Readiness::Ready,
        Some("Lost") => Readiness::Failed("has lost its volume".to_owned()),
        _ => Readiness::Progressing("is not bound to a volume".to_owned()),
    }
}

fn service(object: &Service) -> Readiness {
    let type_ = object.spec.as_ref().and_then(|spec| spec.type_.as_deref());
    let balancer = object
        .status
        .as_ref()
        .and_then(|status| status.load_balancer.as_ref());
    let addresses = balancer
        .and_then(|balancer| balancer.ingress.as_deref())
        .unwrap_or_default();
    if type_ == Some("LoadBalancer") && addresses.is_empty() {
        return Readiness::Progressing("has no address of a load balancer".to_owned());
    }
    Readiness::Ready
}

/// The fields that the status of most kinds has.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    observed_generation: Option<i64>,
    conditions: Option<Vec<Condition>>,
}

/// The fields that conditions of all kinds have.
#[derive(Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    type_: String,
    status: String,
    reason: Option<String>,
    message: Option<String>,
}

fn other<K: Resource + Serialize>(object: &K) -> Readiness {
    let mut object_json = json!(object);
    // If the status has another structure, these fields are ignored.
    let status = serde_json::from_value::<Status>(object_json["status"].take()).unwrap_or_default();
    if status.observed_generation.is_some() && is_behind(object.meta(), status.observed_generation)
    {
        return not_observed();
    }
    let conditions = status.conditions.unwrap_or_default();
    let find = |type_| conditions.iter().find(|condition| condition.type_ == type_);
    if let Some(stalled) = find("Stalled").filter(|condition| condition.status == "True") {
        return Readiness::Failed(format!("is stalled: {}", explanation(stalled)));
    }
    let reconciling = find("Reconciling").filter(|condition| condition.status == "True");
    let not_ready = find("Ready").filter(|condition| condition.status != "True");
    match reconciling.or(not_ready) {
        Some(waits) => {
            Readiness::Progressing("is not ready".to_owned()).because(Some(&explanation(waits)))
        }
        None => Readiness::Ready,
    }
}

/// The reason and the message of a condition.
fn explanation(condition: &Condition) -> String {
    let parts: Vec<_> = [&condition.reason, &condition.message]
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .map(String::as_str)
        .collect();
    parts.join(": ")
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{
        api::policy::v1::PodDisruptionBudget, apimachinery::pkg::apis::meta::v1::Time,
        jiff::Timestamp,
    };
    use serde::de::DeserializeOwned;
    use serde_json::Value;

    use super::*;

    /// Checks the readiness of an object with `spec`, generation 2 and `status`: `+` for ready, `~` and the message for
    /// progressing, `!` and the message for failed.
    #[track_caller]
    fn check<K>(rows: &[(Value, Value, &str)])
    where
        K: Resource<DynamicType = ()> + Serialize + DeserializeOwned + 'static,
    {
        for (spec, status, expected) in rows {
            let metadata = json!({"name": "it", "generation": 2});
            let mut object = json!({"metadata": metadata, "spec": spec, "status": status});
            for part in ["spec", "status"] {
                if object[part].is_null() {
                    object.as_object_mut().expect("an object").remove(part);
                }
            }
            let object: K = serde_json::from_value(object).expect("an object of the kind");
            let readiness = Readiness::of(&object);
            let shown = match &readiness {
                Readiness::Ready => "+".to_owned(),
                Readiness::Progressing(text) => format!("~ {text}"),
                Readiness::Failed(text) => format!("! {text}"),
            };
            assert_eq!(shown, *expected, "{spec} {status}");
        }
    }

    /// The spec of a workload.
    fn workload(more: Value) -> Value {
        let mut spec = json!({"replicas": 2, "selector": {}, "serviceName": "", "template": {}});
        let all = spec.as_object_mut().expect("an object");
        if let Value::Object(more) = more {
            all.extend(more);
        }
        spec
    }

    #[test]
    fn deployments() {
        let spec = workload(json!({}));
        let stuck =
            json!({"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"});
        let refused =
            json!({"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"});
        check::<Deployment>(&[
            (
                spec.clone(),
                Value::Null,
                "~ Deployment it has a change that its controller has not seen yet",
            ),
            (
                spec.clone(),
                json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}),
                "~ Deployment it has a change that its controller has not seen yet",
            ),
            (
                spec.clone(),
                json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 1, "availableReplicas": 2}),
                "~ Deployment it has 1 of 2 Pods of its template",
            ),
            (
                spec.clone(),
                json!({"observedGeneration": 2, "replicas": 3, "updatedReplicas": 2, "availableReplicas": 3}),
                "~ Deployment it has Pods of an older template",
            ),
            (
                spec.clone(),
                json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "unavailableReplicas": 2}),
                "~ Deployment it has 0 of 2 Pods available",
            ),
            (
                spec.clone(),
                json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "conditions": [stuck]}),
                "! Deployment it has 0 of 2 Pods available, and makes no progress",
            ),
            (
                spec.clone(),
                json!({"observedGeneration": 2, "conditions": [refused]}),
                "~ Deployment it has 0 of 2 Pods of its template: exceeded quota",
            ),
            (
                spec.clone(),
                json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}),
                "+",
            ),
            (
                workload(json!({"replicas": 0})),
                json!({"observedGeneration": 2}),
                "+",
            ),
            (
                workload(json!({"replicas": null})),
                json!({"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1}),
                "~ Deployment it has 0 of 1 Pods available",
            ),
        ]);
    }

    #[test]
    fn replica_sets() {
        let spec = workload(json!({}));
        let refused =
            json!({"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"});
        check::<ReplicaSet>(&[
            (
                spec.clone(),
                json!({"replicas": 2, "availableReplicas": 2}),
                "~ ReplicaSet it has a change that its controller has not seen yet",
            ),
            (
                spec.clone(),
                json!({"observedGeneration": 2, "replicas": 1, "availableReplicas": 1, "conditions": [refused]}),
                "~ ReplicaSet it has 1 of 2 Pods available: exceeded quota",
            ),
            (
                spec.clone(),
                json!({"observedGeneration": 2, "replicas": 2, "availableReplicas": 2}),
                "+",
            ),
        ]);
    }

    #[test]
    fn stateful_sets() {
        fn rolling(partition: i32) -> Value {
            let strategy =
                json!({"type": "RollingUpdate", "rollingUpdate": {"partition": partition}});
            workload(json!({"updateStrategy": strategy}))
        }
        fn status(available: i32, updated: i32, revision: &str) -> Value {
            json!({
                "observedGeneration": 2, "replicas": 2, "availableReplicas": available,
                "updatedReplicas": updated, "currentRevision": "a", "updateRevision": revision,
            })
        }

        let spec = workload(json!({}));
        check::<StatefulSet>(&[
            (
                spec.clone(),
                json!({"replicas": 2, "availableReplicas": 2}),
                "~ StatefulSet it has a change that its controller has not seen yet",
            ),
            (
                spec.clone(),
                status(1, 2, "a"),
                "~ StatefulSet it has 1 of 2 Pods available",
            ),
            (
                spec.clone(),
                status(2, 1, "b"),
                "~ StatefulSet it has Pods of an older template",
            ),
            (spec.clone(), status(2, 2, "a"), "+"),
            (
                rolling(0),
                status(2, 1, "b"),
                "~ StatefulSet it has Pods of an older template",
            ),
            (
                rolling(1),
                status(2, 0, "b"),
                "~ StatefulSet it has 0 of 1 Pods of its template",
            ),
            (rolling(1), status(2, 1, "b"), "+"),
            (
                workload(json!({"updateStrategy": {"type": "OnDelete"}})),
                status(2, 0, "b"),
                "+",
            ),
        ]);
    }

    #[test]
    fn daemon_sets() {
        fn status(updated: i32, available: i32) -> Value {
            json!({
                "observedGeneration": 2, "currentNumberScheduled": 2, "desiredNumberScheduled": 2,
                "numberMisscheduled": 0, "numberReady": 2, "updatedNumberScheduled": updated,
                "numberAvailable": available,
            })
        }

        let spec = json!({"selector": {}, "template": {}});
        let on_delete =
            json!({"selector": {}, "template": {}, "updateStrategy": {"type": "OnDelete"}});
        check::<DaemonSet>(&[
            (
                spec.clone(),
                Value::Null,
                "~ DaemonSet it has a change that its controller has not seen yet",
            ),
            (
                spec.clone(),
                status(1, 2),
                "~ DaemonSet it has 1 of 2 Pods of its template",
            ),
            (
                spec.clone(),
                status(2, 1),
                "~ DaemonSet it has 1 of 2 Pods available",
            ),
            (spec.clone(), status(2, 2), "+"),
            (on_delete, status(0, 2), "+"),
        ]);
    }

    #[test]
    fn jobs() {
        fn row(type_: &str, expected: &'static str) -> (Value, Value, &'static str) {
            let condition = json!({"type": type_, "status": "True", "message": "too often"});
            let status = json!({"conditions": [condition]});
            (json!({"template": {}}), status, expected)
        }

        check::<Job>(&[
            (
                json!({"template": {}}),
                json!({"active": 1, "ready": 1}),
                "~ Job it is not complete",
            ),
            row("SuccessCriteriaMet", "~ Job it is not complete"),
            row("Suspended", "~ Job it is suspended"),
            row("Failed", "! Job it has failed: too often"),
            row("Complete", "+"),
        ]);
    }

    #[test]
    fn pods() {
        fn waits(reason: &str, message: &str) -> Value {
            let container = json!({
                "name": "main", "image": "", "imageID": "", "ready": false, "restartCount": 0,
                "state": {"waiting": {"reason": reason, "message": message}},
            });
            let ready = json!({"type": "Ready", "status": "False", "message": "not all are ready"});
            json!({"phase": "Pending", "containerStatuses": [container], "conditions": [ready]})
        }

        let spec = json!({"containers": []});
        let nowhere =
            json!({"type": "PodScheduled", "status": "False", "message": "0/3 nodes fit"});
        check::<Pod>(&[
            (spec.clone(), Value::Null, "~ Pod it is pending"),
            (
                spec.clone(),
                json!({"phase": "Pending", "conditions": [nowhere]}),
                "~ Pod it is pending: 0/3 nodes fit",
            ),
            (
                spec.clone(),
                waits("ImagePullBackOff", "no such image"),
                "~ Pod it has a container main that waits: ImagePullBackOff: no such image",
            ),
            (
                spec.clone(),
                waits("CrashLoopBackOff", ""),
                "! Pod it has a container main that waits: CrashLoopBackOff",
            ),
            (
                spec.clone(),
                waits("ContainerCreating", ""),
                "~ Pod it is pending: not all are ready",
            ),
            (
                spec.clone(),
                json!({"phase": "Failed", "reason": "Evicted", "message": "no memory"}),
                "! Pod it has failed: no memory",
            ),
            (
                spec.clone(),
                json!({"phase": "Failed", "reason": "Evicted"}),
                "! Pod it has failed: Evicted",
            ),
            (
                spec.clone(),
                json!({"phase": "Running"}),
                "~ Pod it is running",
            ),
            (spec.clone(), json!({"phase": "Succeeded"}), "+"),
            (
                spec.clone(),
                json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}),
                "+",
            ),
        ]);
    }

    #[test]
    fn claims_and_services() {
        check::<PersistentVolumeClaim>(&[
            (
                json!({}),
                json!({"phase": "Pending"}),
                "~ PersistentVolumeClaim it is not bound to a volume",
            ),
            (
                json!({}),
                json!({"phase": "Lost"}),
                "! PersistentVolumeClaim it has lost its volume",
            ),
            (json!({}), json!({"phase": "Bound"}), "+"),
        ]);
        let balanced = json!({"type": "LoadBalancer"});
        check::<Service>(&[
            (json!({}), json!({"loadBalancer": {}}), "+"),
            (
                balanced.clone(),
                json!({"loadBalancer": {}}),
                "~ Service it has no address of a load balancer",
            ),
            (
                balanced.clone(),
                json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}),
                "+",
            ),
        ]);
    }

    /// Kinds without their own rule, such as those of other operators.
    #[test]
    fn other_kinds() {
        fn status(observed: i64, type_: &str, status: &str) -> Value {
            let condition = json!({
                "type": type_, "status": status, "reason": "Why", "message": "",
                "lastTransitionTime": Time(Timestamp::UNIX_EPOCH),
            });
            let counts = [
                ("currentHealthy", 0),
                ("desiredHealthy", 0),
                ("disruptionsAllowed", 0),
                ("expectedPods", 0),
            ];
            let mut status = json!({"observedGeneration": observed, "conditions": [condition]});
            for (name, count) in counts {
                status[name] = json!(count);
            }
            status
        }
        fn row<'a>(
            observed: i64,
            type_: &str,
            is: &str,
            expected: &'a str,
        ) -> (Value, Value, &'a str) {
            (json!({}), status(observed, type_, is), expected)
        }

        let behind = "~ PodDisruptionBudget it has a change that its controller has not seen yet";
        check::<PodDisruptionBudget>(&[
            (json!({}), Value::Null, "+"),
            row(1, "Ready", "True", behind),
            row(
                2,
                "Ready",
                "Unknown",
                "~ PodDisruptionBudget it is not ready: Why",
            ),
            row(
                2,
                "Ready",
                "False",
                "~ PodDisruptionBudget it is not ready: Why",
            ),
            row(
                2,
                "Reconciling",
                "True",
                "~ PodDisruptionBudget it is not ready: Why",
            ),
            row(2, "Reconciling", "False", "+"),
            row(
                2,
                "Stalled",
                "True",
                "! PodDisruptionBudget it is stalled: Why",
            ),
            row(2, "Ready", "True", "+"),
        ]);
    }

    #[test]
    fn what_is_being_deleted_is_not_ready() {
        let mut object = ConfigMap::default();
        assert_eq!(Readiness::of(&object), Readiness::Ready);
        object.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        assert_eq!(Readiness::of(&object).reason(), "Progressing");
    }

    #[test]
    fn a_whole_is_as_its_worst_part() {
        fn claim(phase: &str) -> Arc<PersistentVolumeClaim> {
            let status = json!({"phase": phase});
            let claim = json!({"metadata": {"name": phase}, "status": status});
            Arc::new(serde_json::from_value(claim).expect("a claim"))
        }

        let mut whole = Readiness::default();
        let mut seen = Vec::new();
        for phase in ["Bound", "Pending", "Unknown", "Lost", "Pending", "Bound"] {
            whole.include(&[claim(phase)]);
            seen.push((
                whole.reason(),
                whole
                    .message()
                    .split(' ')
                    .nth(1)
                    .unwrap_or_default()
                    .to_owned(),
            ));
        }
        let seen: Vec<_> = seen
            .iter()
            .map(|(reason, name)| (*reason, name.as_str()))
            .collect();
        let (waits, lost) = (("Progressing", "Pending"), ("Failed", "Lost"));
        assert_eq!(seen, [("Ready", ""), waits, waits, lost, lost, lost]);
    }
}
