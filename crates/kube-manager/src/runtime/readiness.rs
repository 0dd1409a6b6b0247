//! Derives from the status of an object whether the object is ready.

use std::sync::Arc;

use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde_json::{Value, json};

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
        let kind = K::kind(&());
        let about = format!("{kind} {}", object.name_any());
        match by_kind(&K::group(&()), &kind, &json!(object)) {
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
        if self.is_ready() { next() } else { self }
    }

    /// Adds the cause to the message, unless it is empty.
    fn because(self, cause: &str) -> Self {
        match self {
            Self::Progressing(text) => Self::Progressing(sentence(&[&text, cause])),
            readiness => readiness,
        }
    }
}

/// The parts that are not empty, with colons between them.
fn sentence(parts: &[&str]) -> String {
    let parts = parts.iter().filter(|part| !part.is_empty()).copied();
    Vec::from_iter(parts).join(": ")
}

/// The rule for a kind.
fn by_kind(group: &str, kind: &str, object: &Value) -> Readiness {
    let (metadata, spec, status) = (&object["metadata"], &object["spec"], &object["status"]);
    if !metadata["deletionTimestamp"].is_null() {
        return Readiness::Progressing("is being deleted".to_owned());
    }
    // The controllers of workloads always report a generation.
    let reports = group == "apps" || !status["observedGeneration"].is_null();
    if reports && number(&status["observedGeneration"]) < number(&metadata["generation"]) {
        let text = "has a change that its controller has not seen yet";
        return Readiness::Progressing(text.to_owned());
    }
    match (group, kind) {
        ("apps", "Deployment") => deployment(spec, status),
        ("apps", "ReplicaSet") => replica_set(spec, status),
        ("apps", "StatefulSet") => stateful_set(spec, status),
        ("apps", "DaemonSet") => daemon_set(spec, status),
        ("batch", "Job") => job(status),
        ("", "Pod") => pod(status),
        ("", "PersistentVolumeClaim") => claim(status),
        ("", "Service") => service(spec, status),
        ("", "ConfigMap" | "Secret" | "ServiceAccount") => Readiness::Ready,
        _ => other(status),
    }
}

/// The number in a field. A missing one is zero: without a count, there are no Pods.
fn number(field: &Value) -> i64 {
    field.as_i64().unwrap_or_default()
}

/// The text in a field, which may be missing.
fn text(field: &Value) -> &str {
    field.as_str().unwrap_or_default()
}

/// The condition of this type; null if there is none.
fn condition<'a>(status: &'a Value, type_: &str) -> &'a Value {
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    let found = conditions.find(|condition| condition["type"] == type_);
    found.unwrap_or(&Value::Null)
}

/// Like [`condition`], if the condition is true.
fn holding<'a>(status: &'a Value, type_: &str) -> Option<&'a Value> {
    Some(condition(status, type_)).filter(|condition| condition["status"] == "True")
}

/// The reason and the message of a condition.
fn explanation(condition: &Value) -> String {
    sentence(&[text(&condition["reason"]), text(&condition["message"])])
}

fn replicas(spec: &Value) -> i64 {
    spec["replicas"].as_i64().unwrap_or(1)
}

/// Ready if `count` reaches `wanted`.
fn counted(count: &Value, wanted: i64, what: &str) -> Readiness {
    let there = number(count);
    if there >= wanted {
        return Readiness::Ready;
    }
    Readiness::Progressing(format!("has {there} of {wanted} Pods {what}"))
}

/// Ready if no Pod of an older template is left.
fn replaced(status: &Value) -> Readiness {
    if number(&status["replicas"]) > number(&status["updatedReplicas"]) {
        return Readiness::Progressing("has Pods of an older template".to_owned());
    }
    Readiness::Ready
}

fn deployment(spec: &Value, status: &Value) -> Readiness {
    let wanted = replicas(spec);
    let readiness = counted(&status["updatedReplicas"], wanted, "of its template")
        .and_then(|| replaced(status))
        .and_then(|| counted(&status["availableReplicas"], wanted, "available"))
        .because(refusal(status));
    match readiness {
        Readiness::Progressing(text)
            if condition(status, "Progressing")["reason"] == "ProgressDeadlineExceeded" =>
        {
            Readiness::Failed(format!("{text}, and makes no progress"))
        }
        readiness => readiness,
    }
}

fn replica_set(spec: &Value, status: &Value) -> Readiness {
    counted(&status["availableReplicas"], replicas(spec), "available").because(refusal(status))
}

/// Why the API server refuses to create Pods, such as a quota.
fn refusal(status: &Value) -> &str {
    let refused = holding(status, "ReplicaFailure");
    refused.map_or("", |condition| text(&condition["message"]))
}

fn stateful_set(spec: &Value, status: &Value) -> Readiness {
    let (wanted, strategy) = (replicas(spec), &spec["updateStrategy"]);
    let available = counted(&status["availableReplicas"], wanted, "available");
    available.and_then(|| match number(&strategy["rollingUpdate"]["partition"]) {
        // With OnDelete, old Pods stay until a user deletes them.
        _ if strategy["type"] == "OnDelete" => Readiness::Ready,
        // Pods with a smaller number keep their template.
        partition @ 1.. => counted(
            &status["updatedReplicas"],
            wanted - partition,
            "of its template",
        ),
        _ if status["currentRevision"] == status["updateRevision"] => Readiness::Ready,
        _ => replaced(status),
    })
}

fn daemon_set(spec: &Value, status: &Value) -> Readiness {
    let wanted = number(&status["desiredNumberScheduled"]);
    let updated = if spec["updateStrategy"]["type"] == "OnDelete" {
        Readiness::Ready
    } else {
        counted(&status["updatedNumberScheduled"], wanted, "of its template")
    };
    updated.and_then(|| counted(&status["numberAvailable"], wanted, "available"))
}

fn job(status: &Value) -> Readiness {
    if holding(status, "Complete").is_some() {
        Readiness::Ready
    } else if let Some(failed) = holding(status, "Failed") {
        Readiness::Failed(format!("has failed: {}", text(&failed["message"])))
    } else if holding(status, "Suspended").is_some() {
        Readiness::Progressing("is suspended".to_owned())
    } else {
        Readiness::Progressing("is not complete".to_owned())
    }
}

fn pod(status: &Value) -> Readiness {
    let phase = status["phase"].as_str().unwrap_or("Pending");
    if phase == "Succeeded" || holding(status, "Ready").is_some() {
        return Readiness::Ready;
    }
    if phase == "Failed" {
        let why = status["message"]
            .as_str()
            .unwrap_or(text(&status["reason"]));
        return Readiness::Failed(format!("has failed: {why}"));
    }
    let statuses = [
        &status["initContainerStatuses"],
        &status["containerStatuses"],
    ];
    for container in statuses.into_iter().filter_map(Value::as_array).flatten() {
        let waiting = &container["state"]["waiting"];
        let start = format!("has a container {} that waits", text(&container["name"]));
        let what = sentence(&[&start, &explanation(waiting)]);
        match text(&waiting["reason"]) {
            _ if waiting.is_null() => {}
            // Every container starts with one of these reasons.
            "ContainerCreating" | "PodInitializing" => {}
            "CrashLoopBackOff" => return Readiness::Failed(what),
            _ => return Readiness::Progressing(what),
        }
    }
    let scheduled = condition(status, "PodScheduled");
    let why = if scheduled["status"] == "False" {
        scheduled
    } else {
        condition(status, "Ready")
    };
    Readiness::Progressing(format!("is {}", phase.to_lowercase())).because(text(&why["message"]))
}

fn claim(status: &Value) -> Readiness {
    match text(&status["phase"]) {
        "Bound" => Readiness::Ready,
        "Lost" => Readiness::Failed("has lost its volume".to_owned()),
        _ => Readiness::Progressing("is not bound to a volume".to_owned()),
    }
}

fn service(spec: &Value, status: &Value) -> Readiness {
    if spec["type"] == "LoadBalancer" && status["loadBalancer"]["ingress"][0].is_null() {
        return Readiness::Progressing("has no address of a load balancer".to_owned());
    }
    Readiness::Ready
}

fn other(status: &Value) -> Readiness {
    if let Some(stalled) = holding(status, "Stalled") {
        return Readiness::Failed(format!("is stalled: {}", explanation(stalled)));
    }
    let ready = condition(status, "Ready");
    let waits = match holding(status, "Reconciling") {
        None if ready.is_null() || ready["status"] == "True" => return Readiness::Ready,
        reconciling => reconciling.unwrap_or(ready),
    };
    Readiness::Progressing("is not ready".to_owned()).because(&explanation(waits))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{
        api::{
            apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet},
            batch::v1::Job,
            core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Service},
            policy::v1::PodDisruptionBudget,
        },
        apimachinery::pkg::apis::meta::v1::Time,
        jiff::Timestamp,
    };
    use serde::de::DeserializeOwned;

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
