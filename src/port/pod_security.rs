//! What the Pod Security level `restricted` forbids in the Pods of the Go operator. A namespace with this level refuses
//! such Pods, and only the events of the `ReplicaSet` say so.

use serde_json::{Map, Value};

use super::source::{list, texts};

/// The label of a namespace with its level.
pub(super) const LABEL: &str = "pod-security.kubernetes.io/enforce";

/// The fields of volumes that the level allows.
const VOLUMES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "name",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

/// What the level forbids: in the fields of a Pod, in its volumes, in containers beside that of the operator, and in the
/// ports of the operator.
pub(super) fn forbidden(
    pod: &Map<String, Value>,
    volumes: &[&Value],
    containers: &[&Value],
    ports: &[&Value],
) -> Vec<String> {
    let mut found = Vec::new();
    for field in ["hostIPC", "hostNetwork", "hostPID"] {
        if pod.get(field).is_some_and(|value| *value == true) {
            found.push(format!("`{field}`"));
        }
    }
    for volume in volumes {
        let mut fields = volume.as_object().into_iter().flatten();
        if fields.any(|(field, _)| !VOLUMES.contains(&field.as_str())) {
            found.push(format!("the volume {}", name(volume)));
        }
    }
    let first = pod.get("initContainers").into_iter().flat_map(list);
    for container in first.chain(containers.iter().copied()) {
        if !is_restricted(container) {
            found.push(format!("the container {}", name(container)));
        }
    }
    let mut host_ports = ports.iter().filter(|port| has_host_port(port));
    found.extend(host_ports.next().map(|_| "`hostPort`".to_owned()));
    found
}

/// The name of a part of a Pod in backticks.
pub(super) fn name(part: &Value) -> String {
    format!("`{}`", part["name"].as_str().unwrap_or(""))
}

fn has_host_port(port: &Value) -> bool {
    port["hostPort"].as_u64().is_some_and(|port| port > 0)
}

/// Whether the level allows a container in a Pod that does not run as root and has a seccomp profile.
fn is_restricted(container: &Value) -> bool {
    let context = &container["securityContext"];
    let capabilities = &context["capabilities"];
    let profile = context["seccompProfile"]["type"].as_str();
    context["allowPrivilegeEscalation"] == false
        && texts(&capabilities["drop"]).any(|name| name == "ALL")
        && texts(&capabilities["add"]).all(|name| name == "NET_BIND_SERVICE")
        && context["privileged"] != true
        && context["runAsNonRoot"] != false
        && context["runAsUser"] != 0
        && context["procMount"].as_str().unwrap_or("Default") == "Default"
        && profile != Some("Unconfined")
        && !list(&container["ports"]).any(has_host_port)
}
