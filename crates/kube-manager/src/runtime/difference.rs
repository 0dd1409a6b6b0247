//! Compares a child with its desired state as server-side apply would: a list by its keys, a quantity by its value, and
//! without the fields that the API server drops or chooses.
//!
//! The rules below are facts of the built-in kinds. A test compares each of them with a real API server.

use std::borrow::Cow;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value, json};

/// The groups of built-in kinds that have a dot in their name, without `.k8s.io`. Other groups of `k8s.io` belong to
/// custom resources.
#[rustfmt::skip] // Words in rows.
const BUILT_IN: &[&str] = &[
    "admissionregistration", "apiextensions", "apiregistration", "certificates", "coordination",
    "discovery", "events", "flowcontrol.apiserver", "internal.apiserver", "lifecycle", "networking",
    "node", "rbac.authorization", "resource", "scheduling", "storage", "storagemigration",
];

/// Fields of the metadata that the API server writes.
#[rustfmt::skip] // Words in rows.
const WRITTEN_BY_OTHERS: &[&str] = &[
    "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation",
    "managedFields", "resourceVersion", "selfLink", "uid",
];

/// Lists whose elements have a name as their key.
#[rustfmt::skip] // Words in rows.
const LISTS_BY_NAME: &[&str] = &[
    "claims", "compositePodGroupTemplates", "containers", "env", "ephemeralContainers",
    "evictionResponders", "initContainers", "matchConditions", "podGroupTemplates",
    "resourceClaims", "schedulingGates", "volumes", "webhooks",
];

/// Maps. The API server drops empty ones, but no entry.
#[rustfmt::skip] // Words in rows.
const MAPS: &[&str] = &[
    "annotations", "attributes", "binaryData", "capacity", "counters", "data", "definitions",
    "dependencies", "deprecatedTopology", "extra", "hard", "labels", "limits", "matchLabels",
    "nodeAllocatableResourceMappings", "nodeSelector", "options", "overhead", "parameters",
    "patternProperties", "podFixed", "properties", "requests", "userAnnotations",
    "volumeAttributes",
];

/// Fields whose `false` or `0` the API server drops. It drops an empty text of nearly each field. In all other fields, it
/// keeps `false` and `0`: an absent `allowPrivilegeEscalation` means `true`.
#[rustfmt::skip] // Words in rows.
const DROPPED: &[&str] = &[
    "chapAuthDiscovery", "chapAuthSession", "clusterScope", "deprecated", "deprecatedCount",
    "exclusiveMaximum", "exclusiveMinimum", "globalDefault", "healthCheckNodePort", "hostIPC",
    "hostNetwork", "hostPID", "hostPort", "initialDelaySeconds", "insecureSkipTLSVerify",
    "minReadySeconds", "nodePort", "nullable", "paused", "preserveUnknownFields",
    "publishNotReadyAddresses", "readOnly", "stdin", "stdinOnce", "tty", "uniqueItems",
    "unschedulable", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string",
];

/// Fields for which the API server chooses a value if they are `0` or empty, as if they were not set.
#[rustfmt::skip] // Words in rows.
const CHOSEN: &[&str] = &[
    "allocationMode", "apiGroup", "apiVersion", "clusterIP", "clusterIPs", "concurrencyPolicy",
    "count", "dnsPolicy", "externalTrafficPolicy", "failureThreshold", "imagePullPolicy",
    "ipFamilies", "iscsiInterface", "listKind", "matchingPrecedence", "metrics", "nodePort",
    "periodSeconds", "persistentVolumeReclaimPolicy", "podManagementPolicy", "policyTypes",
    "protocol", "restartPolicy", "schedulerName", "scheme", "serviceAccount", "serviceAccountName",
    "sessionAffinity", "singular", "successThreshold", "targetPort", "terminationMessagePath",
    "terminationMessagePolicy", "timeoutSeconds", "type", "whenDeleted", "whenScaled",
];

/// A field in which an object differs from its desired state.
pub struct Difference {
    /// The path of the field, such as `.spec.replicas`.
    pub field: String,
    /// The value in the object.
    pub live: Value,
    /// The desired value.
    pub desired: Value,
}

/// All fields in which `live` differs from `desired`. Fields that `desired` does not set may have any value, and a list
/// with keys may have other elements. The metadata is last, because other fields are more helpful in a log.
pub fn differences(live: &Value, desired: &Value) -> Vec<Difference> {
    let mut comparison = Comparison {
        kind: built_in_kind(desired),
        path: Vec::new(),
        place: String::new(),
        found: Vec::new(),
    };
    comparison.compare(live, desired);
    comparison.found
}

/// The kind of an object, unless it is a custom resource.
fn built_in_kind(object: &Value) -> Option<&str> {
    let version = object["apiVersion"].as_str()?;
    let group = version.split_once('/').map_or("", |(group, _)| group);
    object["kind"].as_str().filter(|_| is_built_in(group))
}

/// Whether `group` is an API group of Kubernetes itself. The group of a custom resource contains a dot.
pub fn is_built_in(group: &str) -> bool {
    match group.strip_suffix(".k8s.io") {
        Some(group) => BUILT_IN.contains(&group),
        None => !group.contains('.'),
    }
}

/// How server-side apply merges a list.
enum List {
    /// Each element has its keys, and other elements may be there.
    Map(&'static [&'static str]),
    /// Other elements may be there, in any order.
    Set,
    /// The list has these elements and no others.
    Atomic,
}

/// A comparison of two objects, and the place in them at which it is.
struct Comparison<'a> {
    /// The kind of the object, unless it is a custom resource.
    kind: Option<&'a str>,
    /// The names of the fields from the object to this place. The elements of a list are at the same place as the list.
    path: Vec<&'a str>,
    /// The path for people, with the elements of lists.
    place: String,
    found: Vec<Difference>,
}

impl<'a> Comparison<'a> {
    fn compare(&mut self, live: &Value, desired: &'a Value) {
        match (live, desired) {
            (_, Value::Null) => {}
            _ if self.is_chosen(desired) => {}
            (Value::Object(live), Value::Object(desired)) => self.objects(live, desired),
            (Value::Array(live), Value::Array(desired)) => self.lists(live, desired),
            _ if self.equal(live, desired) => {}
            _ => self.differ("", live, desired),
        }
    }

    /// Compares two values in a part of this place.
    fn compare_in(&mut self, part: &str, live: &Value, desired: &'a Value) {
        let length = self.place.len();
        self.place.push_str(part);
        self.compare(live, desired);
        self.place.truncate(length);
    }

    /// Adds a difference in a part of this place.
    fn differ(&mut self, part: &str, live: &Value, desired: &Value) {
        self.found.push(Difference {
            field: format!("{}{part}", self.place),
            live: live.clone(),
            desired: desired.clone(),
        });
    }

    fn objects(&mut self, live: &Map<String, Value>, desired: &'a Map<String, Value>) {
        let metadata = desired.get_key_value("metadata");
        let rest = desired.iter().filter(|(name, _)| *name != "metadata");
        for (name, value) in rest.chain(metadata) {
            self.path.push(name);
            if !self.is_written_by_others() {
                let live = live.get(name).unwrap_or(&Value::Null);
                self.compare_in(&format!(".{name}"), live, value);
            }
            self.path.pop();
        }
        if self.is_atomic(desired) {
            for (name, value) in live {
                let is_chosen = name == "protocol" && self.path.last() == Some(&"ports");
                if !value.is_null() && !is_chosen && !desired.contains_key(name) {
                    self.differ(&format!(".{name}"), value, &Value::Null);
                }
            }
        }
    }

    fn lists(&mut self, live: &[Value], desired: &'a [Value]) {
        match self.list() {
            List::Map(keys) => {
                let elements = desired.iter().enumerate();
                for (index, element) in elements.filter(|(_, element)| !element.is_null()) {
                    let names = keys.iter();
                    let keys_of_element: Vec<_> = names
                        .map(|name| format!("{name}={}", key(element, name)))
                        .collect();
                    let part = format!("[{}]", keys_of_element.join(","));
                    // The API server stores elements with equal keys, too.
                    let earlier = same_keys(&desired[..index], keys, element).count();
                    match same_keys(live, keys, element).nth(earlier) {
                        Some(live) => self.compare_in(&part, live, element),
                        None => self.differ(&part, &Value::Null, element),
                    }
                }
            }
            List::Set => {
                let mut others: Vec<_> = live.iter().collect();
                for element in desired.iter().filter(|element| !element.is_null()) {
                    let same = others.iter().position(|other| self.is_same(other, element));
                    match same {
                        Some(index) => drop(others.remove(index)),
                        None => self.differ("", &Value::Null, element),
                    }
                }
            }
            List::Atomic if live.len() == desired.len() => {
                for (index, (live, desired)) in live.iter().zip(desired).enumerate() {
                    self.compare_in(&format!("[{index}]"), live, desired);
                }
            }
            List::Atomic => self.differ("", &json!(live), &json!(desired)),
        }
    }

    /// Whether two values do not differ at this place.
    fn is_same(&mut self, live: &Value, desired: &'a Value) -> bool {
        let before = self.found.len();
        self.compare(live, desired);
        let is_same = self.found.len() == before;
        self.found.truncate(before);
        is_same
    }

    fn equal(&self, live: &Value, desired: &Value) -> bool {
        match (live, desired) {
            _ if live == desired => true,
            (Value::Null, Value::Array(list)) => list.is_empty(),
            // The API server writes `1` for `1.0`.
            (Value::Number(a), Value::Number(b)) if a.is_f64() != b.is_f64() => {
                a.as_f64() == b.as_f64()
            }
            (Value::Null, _) => self.is_dropped(desired),
            _ if self.is_quantity() => {
                quantity(live).is_some_and(|live| quantity(desired) == Some(live))
            }
            (Value::String(live), Value::String(desired)) if self.is_time() => {
                is_same_time(live, desired).unwrap_or_default()
            }
            _ => false,
        }
    }

    /// Whether the API server, or the controller of the kind, writes this field in another request, or the URL of a request
    /// says its value: items of a list have no `apiVersion` and no `kind`.
    fn is_written_by_others(&self) -> bool {
        match (self.kind, &self.path[..]) {
            (_, ["apiVersion" | "kind" | "status"]) | (Some("Namespace"), ["spec"]) => true,
            (_, ["metadata", name]) => WRITTEN_BY_OTHERS.contains(name),
            (Some("ServiceAccount"), ["secrets", name]) => *name != "name",
            _ => false,
        }
    }

    fn list(&self) -> List {
        match (self.kind, &self.path[..]) {
            (_, ["metadata", "finalizers"]) => List::Set,
            (_, ["metadata", "ownerReferences"]) => List::Map(&["uid"]),
            // As in most CRDs. If the list is a map by its CRD, `Settled` remembers the elements of other programs.
            (None, _) => List::Atomic,
            (_, [.., "containers" | "ephemeralContainers" | "initContainers", "ports"]) => {
                List::Map(&["containerPort", "protocol"])
            }
            (Some("Service"), ["spec", "ports"]) => List::Map(&["port", "protocol"]),
            (_, [.., "topologySpreadConstraints"]) => {
                List::Map(&["topologyKey", "whenUnsatisfiable"])
            }
            (_, [.., "conditions"]) => List::Map(&["type"]),
            (_, [.., "hostAliases"]) => List::Map(&["ip"]),
            (_, [.., "volumeDevices"]) => List::Map(&["devicePath"]),
            (_, [.., "volumeMounts"]) => List::Map(&["mountPath"]),
            (_, [.., "x-kubernetes-validations"]) => List::Map(&["rule"]),
            (_, [.., "metadata", "ownerReferences"]) => List::Map(&["uid"]),
            (Some("CSINode"), ["spec", "drivers"])
            | (Some("ServiceAccount"), ["secrets"])
            | (Some("ValidatingAdmissionPolicy"), ["spec", "variables"])
            | (_, [.., "spec", "imagePullSecrets"]) => List::Map(&["name"]),
            (_, [.., name]) if LISTS_BY_NAME.contains(name) => List::Map(&["name"]),
            (Some("EndpointSlice"), ["endpoints", "addresses"])
            | (Some("FlowSchema"), ["spec", "rules", "nonResourceRules" | "resourceRules", _])
            | (Some("Node"), ["spec", "podCIDRs"])
            // The list is atomic, but the API server adds tolerations.
            | (Some("Pod"), ["spec", "tolerations"])
            | (
                _,
                [.., "exitCodes" | "onExitCodes", "values"]
                | [.., "metadata", "finalizers"]
                | [.., "validationActions" | "volumeLifecycleModes"],
            ) => List::Set,
            _ => List::Atomic,
        }
    }

    /// Whether an apply removes the entries of this object that are not desired, and the API server adds none.
    fn is_atomic(&self, desired: &Map<String, Value>) -> bool {
        match (self.kind, &self.path[..]) {
            // The API server selects the labels of the template.
            (Some("Job" | "ReplicationController"), ["spec", "selector"]) => !desired.is_empty(),
            // Admission adds entries to that of a Pod.
            (Some("Pod"), ["spec", "nodeSelector"]) => false,
            (Some(_), [.., "matchLabels" | "nodeSelector" | "selector"])
            // Elements of atomic lists. The API server chooses only the protocol of a port, and another field changes what
            // is permitted.
            | (Some("ClusterRole" | "Role"), ["rules"])
            | (
                Some("NetworkPolicy"),
                ["spec", "egress" | "ingress"]
                | ["spec", "egress" | "ingress", "ports"]
                | ["spec", "egress", "to", ..]
                | ["spec", "ingress", "from", ..],
            ) => true,
            _ => false,
        }
    }

    /// Whether the field at `path` is a map, whose keys have no meaning for the API server.
    fn is_map(&self, path: &[&str]) -> bool {
        match (self.kind, path) {
            (Some("ReplicationController" | "Service"), ["spec", "selector"])
            | (Some("LimitRange"), ["spec", "limits", _]) => true,
            (Some("IngressClass"), ["spec", "parameters"])
            | (Some("ResourceSlice"), [.., "nodeSelector"])
            | (Some("LimitRange"), ["spec", "limits"])
            | (Some("RuntimeClass"), ["overhead"])
            | (
                _,
                [.., "devices", "requests"]
                | [.., "dnsConfig", "options"]
                | [.., "exactly" | "firstAvailable", "capacity"],
            ) => false,
            (Some(_), [.., name]) | (None, ["metadata", name]) => MAPS.contains(name),
            _ => false,
        }
    }

    /// Whether this field is an entry of a map.
    fn is_entry(&self) -> bool {
        let path = self.path.split_last();
        path.is_some_and(|(_, path)| self.is_map(path))
    }

    /// Whether the API server drops `desired`, so that this field stays absent.
    fn is_dropped(&self, desired: &Value) -> bool {
        if self.kind.is_none() && self.path.first() != Some(&"metadata") || self.is_entry() {
            return false;
        }
        match (self.kind, &self.path[..]) {
            _ if *desired == json!({}) => self.is_map(&self.path),
            _ if !is_zero(desired) => false,
            (Some("PersistentVolume"), ["spec", "storageClassName"])
            | (_, [.., "additionalPrinterColumns", "priority"]) => true,
            (Some("EndpointSlice"), ["endpoints", "zone"])
            | (_, [.., "default" | "example" | "storageClassName"] | [.., "service", "path"]) => {
                false
            }
            (_, [.., name]) => desired.is_string() || DROPPED.contains(name),
            _ => false,
        }
    }

    /// Whether the API server chooses a value for this field if `desired` is its value.
    fn is_chosen(&self, desired: &Value) -> bool {
        if !is_zero(desired) && *desired != json!([]) || self.is_entry() {
            return false;
        }
        match (self.kind, &self.path[..]) {
            (None, _) | (Some("Event"), ["type"]) => false,
            (_, [.., "httpGet", "path"] | [.., "onPodConditions", "status"]) => true,
            (_, path) => path.last().is_some_and(|name| CHOSEN.contains(name)),
        }
    }

    fn is_quantity(&self) -> bool {
        match (self.kind, &self.path[..]) {
            (None | Some("CustomResourceDefinition"), _)
            | (Some("LimitRange"), ["spec", "limits", _]) => false,
            (Some("CSIStorageCapacity"), ["capacity" | "maximumVolumeSize"])
            | (
                Some("HorizontalPodAutoscaler"),
                [.., "target", "averageValue" | "value"] | [.., "tolerance"],
            )
            | (Some("LimitRange"), ["spec", "limits", _, _])
            | (
                Some("ResourceSlice"),
                [.., "allocationMultiplier"]
                | [.., "capacity" | "counters", _, "value"]
                | [.., "requestPolicy", "default" | "validValues"]
                | [.., "validRange", "max" | "min" | "step"],
            )
            | (
                _,
                ["spec", "hard", _]
                | [.., "capacity" | "resources", "limits" | "requests", _]
                | [.., "emptyDir", "sizeLimit"]
                | [.., "overhead", "podFixed", _]
                | [.., "resourceFieldRef", "divisor"]
                | [.., "spec" | "inlineVolumeSpec", "capacity" | "overhead", _],
            ) => true,
            _ => false,
        }
    }

    fn is_time(&self) -> bool {
        let name = self.path.last().copied().unwrap_or_default();
        let is_time = name.ends_with("Time") || name.ends_with("Timestamp") || name == "timeAdded";
        is_time && self.kind.is_some() && !self.is_entry()
    }
}

/// The elements of `list` with the keys of `element`.
fn same_keys<'a>(
    list: &'a [Value],
    keys: &'a [&str],
    element: &'a Value,
) -> impl Iterator<Item = &'a Value> {
    list.iter().filter(move |other| {
        keys.iter()
            .all(|name| key(other, name) == key(element, name))
    })
}

/// A key of an element of a list. The API server sets a protocol that is missing.
fn key<'a>(element: &'a Value, name: &str) -> Cow<'a, Value> {
    match &element[name] {
        value if !is_zero(value) => Cow::Borrowed(value),
        _ if name == "protocol" => Cow::Owned(json!("TCP")),
        _ => Cow::Owned(Value::Null),
    }
}

/// Whether `value` is what Go writes for a field that is not set.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// The value of a quantity such as `0.5`, `500m`, `1Ki` or `1e3`, in billionths, which is its smallest unit.
fn quantity(value: &Value) -> Option<i128> {
    let text = match value {
        Value::String(text) => Cow::Borrowed(text.trim()),
        Value::Number(number) => Cow::Owned(number.to_string()),
        _ => return None,
    };
    let end = text.find(char::is_alphabetic).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (factor, exponent): (i128, i32) = match suffix {
        "n" => (1, 0),
        "u" => (1, 3),
        "m" => (1, 6),
        "" => (1, 9),
        "k" => (1, 12),
        "M" => (1, 15),
        "G" => (1, 18),
        "T" => (1, 21),
        "P" => (1, 24),
        "E" => (1, 27),
        "Ki" => (1 << 10, 9),
        "Mi" => (1 << 20, 9),
        "Gi" => (1 << 30, 9),
        "Ti" => (1 << 40, 9),
        "Pi" => (1 << 50, 9),
        "Ei" => (1 << 60, 9),
        _ => {
            let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            (1, exponent.checked_add(9)?)
        }
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scaled = digits.checked_mul(factor)?;
    let shift = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let power = 10_i128.checked_pow(shift.unsigned_abs())?;
    if shift >= 0 {
        return scaled.checked_mul(power);
    }
    // The API server rounds up.
    let rounded = scaled.checked_abs()?.checked_add(power - 1)? / power;
    Some(rounded * scaled.signum())
}

/// Whether two times are the same. The API server stores seconds, or millionths of a second.
fn is_same_time(live: &str, desired: &str) -> Option<bool> {
    let is_in_seconds = !live.contains('.');
    let stored: Timestamp = live.parse().ok()?;
    let sent: Timestamp = desired.parse().ok()?;
    let is_same_fraction = stored.as_microsecond() == sent.as_microsecond();
    Some(is_same_fraction || is_in_seconds && stored.as_second() == sent.as_second())
}

#[cfg(test)]
/// The path of the first field in which `live` differs from `desired`.
pub fn difference(live: &Value, desired: &Value) -> Option<String> {
    let first = differences(live, desired).into_iter().next()?;
    Some(first.field)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pod(spec: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "spec": spec})
    }

    #[test]
    fn a_difference_is_one_of_what_is_desired() {
        let live = json!({"apiVersion": "v1", "kind": "Pod", "spec": {
            "paused": false, "tolerations": [], "hostAliases": [{"ip": "1"}],
            "containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]}});
        let same = [
            json!({}),
            json!({"hostAliases": null}),
            json!({"hostAliases": []}),
            json!({"hostAliases": [{"ip": "1"}], "volumes": []}),
            json!({"containers": [{"name": "b", "image": "2"}]}),
        ];
        for desired in same {
            assert_eq!(difference(&live, &pod(&desired)), None, "{desired}");
        }
        let other = [
            (json!({"paused": true}), ".spec.paused"),
            (
                json!({"hostAliases": [{"ip": "2"}]}),
                ".spec.hostAliases[ip=\"2\"]",
            ),
            (
                json!({"containers": [{"name": "b", "image": "1"}]}),
                ".spec.containers[name=\"b\"].image",
            ),
            (
                json!({"containers": [{"name": "c"}]}),
                ".spec.containers[name=\"c\"]",
            ),
        ];
        for (desired, field) in other {
            assert_eq!(difference(&live, &pod(&desired)).as_deref(), Some(field));
        }
    }

    /// The items of a list have no kind.
    #[test]
    fn the_kind_of_an_object_is_no_difference() {
        let desired = pod(&json!({"paused": true, "volumes": [{"name": "a"}]}));
        let mut live = desired.clone();
        for field in ["apiVersion", "kind"] {
            live.as_object_mut().expect("an object").remove(field);
        }
        assert_eq!(difference(&live, &desired), None);
        let desired = pod(&json!({"volumes": [{"name": "a", "projected": {"kind": "b"}}]}));
        let found = difference(&live, &desired);
        assert_eq!(
            found.as_deref(),
            Some(".spec.volumes[name=\"a\"].projected")
        );
    }

    #[test]
    fn differences_of_the_metadata_are_last() {
        let live = json!({"metadata": {"labels": {"a": "1"}}, "spec": {"paused": false}});
        let desired = json!({"metadata": {"labels": {"a": "2"}}, "spec": {"paused": true}});
        let fields: Vec<_> = differences(&live, &desired)
            .into_iter()
            .map(|difference| difference.field)
            .collect();
        assert_eq!(fields, [".spec.paused", ".metadata.labels.a"]);
    }

    /// A Deployment with this container.
    fn deployment(container: &Value) -> Value {
        let spec = json!({"template": {"spec": {"containers": [container]}}});
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec})
    }

    #[test]
    fn a_volume_can_be_mounted_twice() {
        fn mount(path: &str, part: &str) -> Value {
            json!({"name": "data", "mountPath": path, "subPath": part})
        }
        fn mounts(list: &[&Value]) -> Value {
            deployment(&json!({"name": "a", "volumeMounts": list}))
        }

        let (a, b) = (mount("/a", "a"), mount("/b", "b"));
        let live = mounts(&[&a, &b, &mount("/token", "")]);
        assert_eq!(difference(&live, &mounts(&[&b, &a])), None);
        let other = difference(&live, &mounts(&[&a, &mount("/b", "c")]));
        let field = other.expect("a difference");
        assert!(
            field.ends_with(r#".volumeMounts[mountPath="/b"].subPath"#),
            "{field}"
        );
    }

    #[test]
    fn a_port_has_a_protocol() {
        fn ports(list: &[&Value]) -> Value {
            deployment(&json!({"name": "a", "ports": list}))
        }

        let (tcp, udp) = (
            json!({"containerPort": 53, "protocol": "TCP"}),
            json!({"containerPort": 53, "protocol": "UDP"}),
        );
        let desired = ports(&[&json!({"containerPort": 53})]);
        assert_eq!(difference(&ports(&[&udp, &tcp]), &desired), None);
        assert!(difference(&ports(&[&udp]), &desired).is_some());
    }

    #[test]
    fn what_the_api_server_drops_is_no_difference() {
        fn object(mut fields: Value) -> Value {
            fields["apiVersion"] = "apps/v1".into();
            fields["kind"] = "Deployment".into();
            fields
        }

        let same = [
            json!({"metadata": {"annotations": {}}}),
            json!({"data": {}}),
            json!({"spec": {"minReadySeconds": 0, "paused": false}}),
            json!({"status": {"replicas": 1}}),
        ];
        let live = object(json!({"metadata": {"name": "a"}, "spec": {}}));
        for desired in same {
            let desired = object(desired);
            assert_eq!(difference(&live, &desired), None, "{desired}");
        }
        let live = object(json!({"spec": {"replicas": 3, "minReadySeconds": 1}}));
        for desired in [json!({"replicas": 0}), json!({"minReadySeconds": 0})] {
            let desired = object(json!({"spec": desired}));
            assert!(difference(&live, &desired).is_some(), "{desired}");
        }
        // Without these fields, a Pod has other permissions.
        let live = deployment(&json!({"name": "a", "securityContext": {}}));
        let context = json!({"allowPrivilegeEscalation": false});
        let desired = deployment(&json!({"name": "a", "securityContext": context}));
        assert!(difference(&live, &desired).is_some());
    }

    #[test]
    fn custom_resources_are_stored_as_they_are() {
        fn object(fields: &Value) -> Value {
            json!({"apiVersion": "example.com/v1", "kind": "Deployment", "spec": fields})
        }
        fn named(names: &[&str]) -> Value {
            let list: Value = names.iter().map(|name| json!({"name": name})).collect();
            json!({"list": list})
        }

        let rows = [
            (json!({}), json!({"minReadySeconds": 0}), false),
            (json!({}), json!({"text": ""}), false),
            (json!({}), json!({"list": [], "nothing": null}), true),
            (json!({"number": 1}), json!({"number": 1.0}), true),
            (
                json!({"limits": {"cpu": "1"}}),
                json!({"limits": {"cpu": "1000m"}}),
                false,
            ),
            // The order can matter, as that of routes.
            (named(&["a", "b"]), named(&["a", "b"]), true),
            (named(&["b", "a"]), named(&["a", "b"]), false),
            (named(&["a", "b"]), named(&["a"]), false),
            (named(&["a"]), named(&["a", "a"]), false),
        ];
        for (live, desired, is_same) in rows {
            let found = difference(&object(&live), &object(&desired));
            assert_eq!(found.is_none(), is_same, "{live} {desired}");
        }
    }

    /// Names with a rule are usual names in a map.
    #[test]
    fn entries_of_maps_have_no_rules() {
        let names = ["sizeLimit", "protocol", "minReadySeconds", "renewTime", "a"];
        for name in names {
            for (live, desired) in [
                (json!("1"), json!("1000m")),
                (json!("UDP"), json!("")),
                (
                    json!("2026-01-01T00:00:00Z"),
                    json!("2026-01-01T00:00:00+00:00"),
                ),
                (Value::Null, json!("")),
            ] {
                let [live, sent] = [&live, &desired].map(|value| {
                    let map = json!({name: value});
                    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"labels": map}, "data": map})
                });
                let found = differences(&live, &sent);
                assert_eq!(found.len(), 2, "{name} {desired}");
            }
        }
    }

    #[test]
    fn quantities_are_compared_by_value() {
        fn value(text: &str) -> Option<i128> {
            quantity(&json!(text))
        }

        let same = [
            ("1000m", "1"),
            ("0.5", "500m"),
            (".5", "500m"),
            ("1024Ki", "1Mi"),
            ("1.5Gi", "1536Mi"),
            ("1e3", "1k"),
            ("1E3", "1k"),
            ("12e-1", "1200m"),
            ("+1", "1"),
            ("-0.1n", "-1n"),
            ("0.1n", "1n"),
            ("7Ei", "8070450532247928832"),
            ("1E", "1000P"),
        ];
        for (one, other) in same {
            assert!(value(one).is_some(), "{one}");
            assert_eq!(value(one), value(other), "{one} {other}");
        }
        assert_ne!(value("1k"), value("1Ki"));
        assert_ne!(value("-1"), value("1"));
        assert_eq!(quantity(&json!(2)), value("2"));
        let others = [
            "",
            "a",
            "1a",
            "1e",
            "1.2.3",
            "--1",
            "1e99",
            "1e999999999999",
            "Ki",
        ];
        for text in others {
            assert_eq!(value(text), None, "{text}");
        }
    }

    /// Any JSON, with names that have rules.
    fn json() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            Just(String::new()),
            Just("1000m".to_owned()),
            Just("2026-01-01T00:00:00Z".to_owned()),
            "[a-c]{1,2}",
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-2..3_i64).prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            text.prop_map(Value::from),
        ];
        let names = prop::sample::select(vec![
            "name",
            "metadata",
            "data",
            "labels",
            "spec",
            "containers",
            "volumeMounts",
            "mountPath",
            "ports",
            "containerPort",
            "protocol",
            "limits",
            "finalizers",
            "selector",
            "matchLabels",
            "status",
            "env",
            "minReadySeconds",
            "renewTime",
            "a",
        ]);
        leaf.prop_recursive(6, 64, 5, move |inside| {
            let entries = prop::collection::vec((names.clone(), inside.clone()), 0..5);
            let object = entries.prop_map(|entries| {
                let entries = entries
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value));
                Value::Object(entries.collect())
            });
            prop_oneof![
                prop::collection::vec(inside, 0..5).prop_map(Value::Array),
                object
            ]
        })
    }

    fn objects() -> impl Strategy<Value = Value> {
        let kind = prop::sample::select(vec![
            ("v1", "Secret"),
            ("v1", "Service"),
            ("v1", "Pod"),
            ("apps/v1", "Deployment"),
            ("example.com/v1", "Custom"),
        ]);
        (kind, json()).prop_map(|((version, kind), mut object)| {
            if let Some(object) = object.as_object_mut() {
                object.insert("apiVersion".to_owned(), version.into());
                object.insert("kind".to_owned(), kind.into());
            }
            object
        })
    }

    /// Adds what other clients may add: fields of objects.
    fn with_more(value: &Value) -> Value {
        match value {
            Value::Object(object) => {
                let more = ("added by others".to_owned(), json!(1));
                let inside = object
                    .iter()
                    .map(|(name, value)| (name.clone(), with_more(value)));
                Value::Object(inside.chain([more]).collect())
            }
            Value::Array(list) => list.iter().map(with_more).collect(),
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn no_value_differs_from_itself(object in objects()) {
            prop_assert_eq!(difference(&object, &object), None);
        }

        #[test]
        fn a_custom_resource_does_not_differ_by_fields_of_others(object in json()) {
            prop_assert_eq!(difference(&with_more(&object), &object), None);
        }

        #[test]
        fn any_two_values_are_compared(live in objects(), desired in objects()) {
            for difference in differences(&live, &desired) {
                prop_assert_ne!(difference.live, difference.desired);
            }
        }

        #[test]
        fn any_text_can_be_compared_with_a_quantity(text in "[-+.0-9a-zA-Zµ ]{0,12}") {
            let [one, other] = ["1", &text].map(|cpu| {
                deployment(&json!({"name": "a", "resources": {"limits": {"cpu": cpu}}}))
            });
            let is_same = difference(&one, &other).is_none();
            prop_assert_eq!(is_same, quantity(&json!(text)) == Some(1_000_000_000));
        }
    }

    #[test]
    fn a_field_that_changes_what_a_rule_permits_is_a_difference() {
        let policy = json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "spec": {"ingress": [{
            "from": [{"podSelector": {}}, {"ipBlock": {"cidr": "10.0.0.0/8"}}],
            "ports": [{"port": 80}],
        }]}});
        let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": [
            {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]},
        ]});
        for (desired, element, added, is_difference) in [
            (&policy, "/spec/ingress/0/from/0", "namespaceSelector", true),
            (&policy, "/spec/ingress/0/from/1/ipBlock", "except", true),
            (&policy, "/spec/ingress/0/ports/0", "endPort", true),
            (&policy, "/spec/ingress/0/ports/0", "protocol", false),
            (&policy, "/spec/ingress/0", "other", true),
            (&role, "/rules/0", "resourceNames", true),
        ] {
            let mut live = desired.clone();
            live.pointer_mut(element).expect("an element")[added] = json!("a");
            assert_eq!(
                difference(&live, desired).is_some(),
                is_difference,
                "{added}"
            );
            assert_eq!(difference(desired, desired), None);
        }
    }
}
