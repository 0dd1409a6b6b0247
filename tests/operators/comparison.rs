//! Compares the runtime's rules for built-in kinds with a real API server: an object differs from its desired state if
//! server-side apply would change the object, and only then.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
    sync::Mutex,
    thread,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use cluster::Cluster;
use rcgen::{CertificateParams, KeyPair};
use rscaffold::project::builtin;
use serde_json::{Map, Value, json};

use crate::{
    admission::client,
    difference, http,
    operator::{kubectl_on, new_cluster},
    random::Random,
    scaffold::run,
};

/// How many random changes of an object are tried.
const CHANGES: usize = 8;

/// Fields that the API server drops or overwrites whatever they are, for a kind or for all kinds: their feature is off,
/// or an admission plugin sets them. The runtime learns this from the answer to a request.
const OVERWRITTEN: &[(&str, &[&str])] = &[
    (
        "",
        &["clusterTrustBundle", "podCertificate", "schedulingGroup"],
    ),
    ("CSIDriver", &["preventPodSchedulingIfMissing"]),
    ("CertificateSigningRequest", &["spec"]),
    ("EndpointSlice", &["deprecatedTopology"]),
    ("Lease", &["preferredHolder", "strategy"]),
    ("Node", &["configSource", "podCIDR", "podCIDRs", "taints"]),
    ("PersistentVolumeClaim", &["dataSource", "dataSourceRef"]),
    ("Pod", &["serviceAccount"]),
    ("Service", &["sessionAffinityConfig"]),
    ("StatefulSet", &["maxUnavailable"]),
];

/// Texts for random fields.
const TEXTS: &[&str] = &[
    "",
    "a",
    "b",
    "/a",
    "A",
    "1",
    "Always",
    "TCP",
    "10.1.2.4",
    "10.0.0.0/24",
    "a.example.com",
];

const QUANTITIES: &[&str] = &[
    "", "0", "1", "-1", "0.5", "1000m", "1e3", "1.5Gi", "1024Ki", "1Mi", "2E",
];

const TIMES: &[&str] = &[
    "2026-01-01T00:00:00Z",
    "2026-01-01T02:00:00+02:00",
    "2026-01-01T00:00:00.123456Z",
];

/// The field in which the runtime finds a difference.
fn difference(live: &Value, desired: &Value) -> Option<String> {
    difference::difference(&stored(live), &stored(desired))
}

/// The object with `stringData` of a Secret in `data`, as the runtime compares it.
fn stored(object: &Value) -> Value {
    let mut stored = object.clone();
    let fields = stored.as_object_mut().expect("an object");
    if fields["kind"] == "Secret"
        && let Some(Value::Object(texts)) = fields.remove("stringData")
    {
        for (key, text) in texts {
            let text = text.as_str().unwrap_or_default();
            stored["data"][key] = BASE64_STANDARD.encode(text).into();
        }
    }
    stored
}

#[test]
fn an_object_differs_if_an_apply_would_change_it() {
    let cluster = new_cluster();
    run(&mut kubectl_on(&cluster, "create namespace limited"));
    // Nothing creates it in a cluster without controllers, and Pods need it.
    run(&mut kubectl_on(&cluster, "create serviceaccount default"));
    let server = Server {
        client: client(&cluster),
        cluster: &cluster,
    };
    let schemas = server.schemas();
    for (builtin, schemas) in &schemas {
        check_rules(builtin, schemas);
    }

    let objects = objects();
    let with_object: BTreeSet<_> = objects.iter().map(id).collect();
    let mut subjects = Vec::new();
    for (builtin, schemas) in &schemas {
        let id = builtin.id();
        assert!(with_object.contains(&id), "objects.yaml has no {id}");
        let object = objects.iter().find(|object| self::id(object) == id);
        let object = object.expect("an object").clone();
        subjects.push(Subject::create(&server, *builtin, schemas, object));
    }
    assert!(subjects.len() > 55, "{}", subjects.len());

    let tried = Mutex::new(0);
    let (faults, seen) = (Mutex::new(Vec::new()), Mutex::new(BTreeSet::new()));
    let rest = Mutex::new(subjects.iter());
    let work = || {
        let next = || rest.lock().expect("no panic").next();
        for subject in iter::from_fn(next) {
            let mut desired = subject.with_zeros(&mut seen.lock().expect("no panic"));
            desired.extend(subject.with_changes());
            for desired in desired {
                let found = subject.faults(&server, &desired);
                *tried.lock().expect("no panic") += usize::from(found.is_some());
                faults
                    .lock()
                    .expect("no panic")
                    .extend(found.into_iter().flatten());
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(work);
        }
    });
    let faults = faults.into_inner().expect("no panic");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let tried = tried.into_inner().expect("no panic");
    assert!(tried > 600, "{tried}");
}

#[test]
fn each_built_in_kind_is_known() {
    for builtin in builtin::all() {
        let object = |zero: Value| {
            let id = builtin.id();
            let (version, kind) = id.rsplit_once('/').expect("a kind");
            json!({"apiVersion": version, "kind": kind, "minReadySeconds": zero})
        };
        let found = difference(&object(Value::Null), &object(json!(0)));
        assert_eq!(found, None, "{}", builtin.id());
    }
}

/// The API server, as the administrator.
struct Server<'a> {
    client: http::Client,
    cluster: &'a Cluster,
}

impl Server<'_> {
    fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.cluster.server())
    }

    fn get(&self, path: &str) -> Result<Value, String> {
        parsed(self.client.get(&self.url(path)))
    }

    fn create(&self, path: &str, object: &Value) -> Result<Value, String> {
        parsed(self.client.post(&self.url(path), &object.to_string()))
    }

    /// What an apply of `object` would store.
    fn applied(&self, path: &str, object: &Value) -> Result<Value, String> {
        let query = "fieldManager=test&force=true&dryRun=All";
        let url = self.url(&format!("{path}/{}?{query}", name(object)));
        parsed(self.client.apply(&url, &object.to_string()))
    }

    /// The built-in kinds that the API server serves, with their schemas.
    fn schemas(&self) -> Vec<(builtin::Builtin, Schemas)> {
        let mut documents = BTreeMap::new();
        let mut found = Vec::new();
        for builtin in builtin::all() {
            let group = group(builtin);
            let document = documents.entry(group.clone());
            let document =
                document.or_insert_with(|| self.get(&format!("openapi/v3/{group}")).ok());
            let schemas = document
                .as_ref()
                .map(|document| &document["components"]["schemas"]);
            let schemas = schemas.and_then(Value::as_object);
            let root = schemas.into_iter().flatten().find(|(name, schema)| {
                name.ends_with(&format!(".{}", builtin.kind))
                    && schema["x-kubernetes-group-version-kind"][0]["kind"] == builtin.kind
            });
            if let (Some(schemas), Some((root, _))) = (schemas, root) {
                let (kind, root, all) = (builtin.kind, root.clone(), schemas.clone());
                found.push((builtin, Schemas { kind, root, all }));
            }
        }
        found
    }
}

/// The object in an answer, or the text with which the API server refused the request.
fn parsed(answer: Result<http::Answer, ureq::Error>) -> Result<Value, String> {
    let answer = answer.expect("an answer");
    if answer.code < 300 {
        Ok(serde_json::from_str(&answer.text).expect("JSON"))
    } else {
        Err(answer.text)
    }
}

fn group(builtin: builtin::Builtin) -> String {
    match builtin.group {
        "" => format!("api/{}", builtin.version),
        group => format!("apis/{group}/{}", builtin.version),
    }
}

fn objects() -> Vec<Value> {
    let text = include_str!("comparison/objects.yaml");
    let mut objects: Vec<Value> = serde_yaml::from_str(text).expect("a list of objects");
    for (index, object) in objects.iter_mut().enumerate() {
        if object["metadata"].is_null() {
            object["metadata"] = json!({});
        }
        if object["metadata"]["name"].is_null() {
            object["metadata"]["name"] = format!("subject-{index}").into();
        }
        if object["kind"] == "CertificateSigningRequest" {
            let key = KeyPair::generate().expect("a key");
            let request = CertificateParams::default().serialize_request(&key);
            let request = request.expect("a request").pem().expect("PEM");
            object["spec"]["request"] = BASE64_STANDARD.encode(request).into();
        }
    }
    objects
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().expect("a text")
}

fn id(object: &Value) -> String {
    format!("{}/{}", text(object, "apiVersion"), text(object, "kind"))
}

fn name(object: &Value) -> &str {
    text(&object["metadata"], "name")
}

/// The schemas of a version of an API group.
struct Schemas {
    kind: &'static str,
    /// The name of the schema of the kind.
    root: String,
    all: Map<String, Value>,
}

impl Schemas {
    fn root(&self) -> &Value {
        &self.all[&self.root]
    }

    /// The name of the schema that `schema` refers to, or an empty text.
    fn reference(schema: &Value) -> &str {
        let reference = schema["$ref"]
            .as_str()
            .or(schema["allOf"][0]["$ref"].as_str());
        let name = reference.and_then(|reference| reference.rsplit('/').next());
        name.unwrap_or_default()
    }

    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        self.all.get(Self::reference(schema)).unwrap_or(schema)
    }

    /// The fields of an object, apart from fields that a test would set for nothing.
    fn fields<'a>(&self, schema: &'a Value) -> Vec<(&'a String, &'a Value)> {
        let properties = schema["properties"].as_object();
        let mut fields: Vec<_> = properties.into_iter().flatten().collect();
        if schema["properties"]["managedFields"].is_object() {
            fields.retain(|(name, _)| ["annotations", "finalizers", "labels"].contains(&&***name));
        } else if schema["properties"]["apiVersion"].is_object()
            && schema["properties"]["metadata"].is_object()
        {
            fields.retain(|(name, _)| !["apiVersion", "kind", "status"].contains(&&***name));
        }
        fields.retain(|(name, _)| {
            !OVERWRITTEN.iter().any(|(kind, names)| {
                (kind.is_empty() || *kind == self.kind) && names.contains(&&***name)
            })
        });
        fields
    }

    /// A random value that fits `schema`.
    fn any(&self, schema: &Value, depth: usize, random: &mut Random) -> Value {
        let reference = Self::reference(schema);
        let schema = self.resolved(schema);
        let count = if depth == 0 { 0 } else { random.below(3) };
        let below = depth.saturating_sub(1);
        match (schema["type"].as_str(), schema["format"].as_str()) {
            _ if reference.ends_with(".Quantity") => random.one(QUANTITIES).into(),
            (_, Some("int-or-string")) => {
                let values = [json!(0), json!(1), json!(80), json!("25%"), json!("http")];
                values[random.below(values.len())].clone()
            }
            (_, Some("byte")) => random.one(&["", "AAEC"]).into(),
            (_, Some("date-time")) => random.one(TIMES).into(),
            (Some("boolean"), _) => random.one(&[false, true]).into(),
            (Some("integer"), _) => random.one(&[0, 1, 2, 30, 8080]).into(),
            (Some("number"), _) => random.one(&[0.0, 0.5, 1.0]).into(),
            (Some("string"), _) => match schema["enum"].as_array() {
                Some(values) if random.below(4) > 0 => values[random.below(values.len())].clone(),
                _ => random.one(TEXTS).into(),
            },
            (Some("array"), _) => {
                let elements = (0..count).map(|_| self.any(&schema["items"], below, random));
                elements.collect()
            }
            _ if schema["additionalProperties"].is_object() => {
                let entries = (0..count).map(|_| {
                    let name = random.one(&["a", "b", "cpu", "memory"]).to_owned();
                    let value = self.any(&schema["additionalProperties"], below, random);
                    (name, value)
                });
                Value::Object(entries.collect())
            }
            _ => {
                let mut object = Map::new();
                for (name, field) in self.fields(schema) {
                    let required = schema["required"].as_array();
                    let is_required = required.is_some_and(|names| names.contains(&json!(name)));
                    if is_required || depth > 0 && random.below(6) == 0 {
                        object.insert(name.clone(), self.any(field, below, random));
                    }
                }
                Value::Object(object)
            }
        }
    }

    /// Changes or adds a random field. No field is removed, because nobody can tell a field that another client has set
    /// from a default.
    fn change(&self, value: &mut Value, schema: &Value, random: &mut Random) {
        let resolved = self.resolved(schema);
        let is_inside = random.below(8) > 0;
        match value {
            Value::Object(object) if resolved["properties"].is_object() => {
                let mut fields = self.fields(resolved);
                if random.below(2) == 0 {
                    fields.retain(|(name, _)| object.contains_key(*name));
                }
                if fields.is_empty() {
                    return;
                }
                let (name, field) = fields[random.below(fields.len())];
                match object.get_mut(name) {
                    Some(inside) => self.change(inside, field, random),
                    None => drop(object.insert(name.clone(), self.any(field, 2, random))),
                }
            }
            Value::Object(object) => {
                let entries = &resolved["additionalProperties"];
                let is_text = entries["type"] == "string";
                let name = random.one(&["a", "b", "cpu", "memory"]);
                if is_text && !is_inside {
                    object.clear();
                } else if !is_text || random.below(3) > 0 || object.remove(name).is_none() {
                    object.insert(name.to_owned(), self.any(entries, 2, random));
                }
            }
            Value::Array(list) if !is_inside => list.clear(),
            Value::Array(list) => {
                let items = &resolved["items"];
                let index = random.below(list.len().max(1));
                match (list.get(index).cloned(), random.below(6)) {
                    (Some(_), 0) => drop(list.remove(index)),
                    (Some(mut copy), 1) => {
                        self.change(&mut copy, items, random);
                        list.push(copy);
                    }
                    (Some(_), 2..) => self.change(&mut list[index], items, random),
                    (None, _) => list.push(self.any(items, 2, random)),
                }
            }
            _ => *value = self.any(schema, 2, random),
        }
    }

    /// Adds the place of each field of `value` that is absent or a scalar, with the zero of its type. `seen` has the
    /// fields of other kinds.
    fn zeros(
        &self,
        place: &str,
        value: &Value,
        schema: &Value,
        seen: &mut BTreeSet<String>,
        zeros: &mut Vec<(String, String, Value)>,
    ) {
        let resolved = self.resolved(schema);
        for (index, element) in value.as_array().into_iter().flatten().enumerate() {
            let place = format!("{place}/{index}");
            self.zeros(&place, element, &resolved["items"], seen, zeros);
        }
        for (name, field) in self
            .fields(resolved)
            .into_iter()
            .filter(|_| value.is_object())
        {
            let inside = &value[name];
            let zero = match self.resolved(field)["type"].as_str() {
                Some("boolean") => json!(false),
                Some("integer" | "number") => json!(0),
                Some("array") => json!([]),
                Some("object") => json!({}),
                _ => json!(""),
            };
            let is_composite = inside.is_array() || inside.is_object();
            let field_id = format!("{} {name} {}", Self::reference(schema), inside.is_null());
            if !is_composite && seen.insert(field_id) {
                zeros.push((place.to_owned(), name.clone(), zero));
            }
            self.zeros(&format!("{place}/{name}"), inside, field, seen, zeros);
        }
    }
}

/// An object of the API server.
struct Subject<'a> {
    schemas: &'a Schemas,
    /// Where objects of the kind and the namespace are.
    path: String,
    /// The object as it was sent.
    object: Value,
    /// The object as the API server returns it.
    live: Value,
}

impl<'a> Subject<'a> {
    fn create(
        server: &Server,
        builtin: builtin::Builtin,
        schemas: &'a Schemas,
        object: Value,
    ) -> Self {
        let namespace = object["metadata"]["namespace"]
            .as_str()
            .unwrap_or("default");
        let folder = if builtin.namespaced {
            format!("{}/namespaces/{namespace}", group(builtin))
        } else {
            group(builtin)
        };
        let path = format!("{folder}/{}", builtin.plural);
        let created = server.create(&path, &object);
        let created = created.unwrap_or_else(|refused| panic!("{refused}\n{object}"));
        let live = server.get(&format!("{path}/{}", name(&object)));
        let live = live.expect("the object");
        let applied = server.applied(&path, &object).expect("the object");
        for live in [&created, &live, &applied] {
            assert_eq!(difference(live, &object), None, "{live}\n{object}");
        }
        // The comparison sees each change of a value.
        let mut places = Vec::new();
        scalars("", &object, &mut places);
        for place in places {
            let mut changed = object.clone();
            let value = changed.pointer_mut(&place).expect("a value");
            *value = match &*value {
                Value::Bool(value) => (!value).into(),
                Value::Number(number) => (number.as_i64().expect("an integer") + 1).into(),
                text => format!("{}x", text.as_str().expect("a text")).into(),
            };
            assert!(difference(&live, &changed).is_some(), "{place} {live}");
        }
        Self {
            schemas,
            path,
            object,
            live,
        }
    }

    /// The object with a zero in each field.
    fn with_zeros(&self, seen: &mut BTreeSet<String>) -> Vec<Value> {
        let mut zeros = Vec::new();
        self.schemas
            .zeros("", &self.object, self.schemas.root(), seen, &mut zeros);
        let zeros = zeros.into_iter().map(|(place, name, zero)| {
            let mut object = self.object.clone();
            object.pointer_mut(&place).expect("an object")[name] = zero;
            object
        });
        zeros.collect()
    }

    /// The object with random changes.
    fn with_changes(&self) -> Vec<Value> {
        let seed = self
            .path
            .bytes()
            .fold(1, |sum, byte| sum * 31 % 0xffff + u64::from(byte));
        let mut random = Random(seed);
        let changes = (0..CHANGES).map(|number| {
            let mut object = self.object.clone();
            for _ in 0..=number % 3 {
                self.schemas
                    .change(&mut object, self.schemas.root(), &mut random);
            }
            object
        });
        changes.collect()
    }

    /// In what the comparison and the API server disagree about `desired`. Nothing if the API server refuses `desired`.
    fn faults(&self, server: &Server, desired: &Value) -> Option<Vec<String>> {
        let mut faults = Vec::new();
        let applied = server.applied(&self.path, desired);
        if let Ok(applied) = &applied {
            let field = difference(&self.live, desired);
            let change = change(&content(&self.live), &content(applied));
            if field.is_some() != change.is_some() {
                faults.push(format!(
                    "{}: {field:?} differs, and an apply changes {change:?}: {desired}",
                    self.schemas.kind
                ));
            }
        }
        let mut other = desired.clone();
        if name(desired).starts_with("subject") {
            other["metadata"]["name"] = "other".into();
        }
        let created = server.create(&format!("{}?dryRun=All", self.path), &other);
        if let Ok(live) = &created
            && let Some(field) = difference(live, &other)
        {
            faults.push(format!(
                "{}: {field} differs: {live} {other}",
                self.schemas.kind
            ));
        }
        (applied.is_ok() || created.is_ok()).then_some(faults)
    }
}

/// The content of an object, without what each request and each controller of the API server changes.
fn content(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|name, _| {
            ![
                "creationTimestamp",
                "generation",
                "managedFields",
                "resourceVersion",
                "uid",
            ]
            .contains(&name.as_str())
        });
    }
    object["status"] = Value::Null;
    object
}

/// The first place in which two values differ.
fn change(one: &Value, other: &Value) -> Option<String> {
    if one == other {
        return None;
    }
    let inside = match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            let names: BTreeSet<_> = a.keys().chain(b.keys()).collect();
            names.into_iter().find_map(|name| {
                let inside = change(&one[name], &other[name])?;
                Some(format!(".{name}{inside}"))
            })
        }
        _ => None,
    };
    Some(inside.unwrap_or_else(|| format!(" {one} -> {other}")))
}

fn scalars(place: &str, value: &Value, places: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (name, inside) in object {
                let name = name.replace('~', "~0").replace('/', "~1");
                scalars(&format!("{place}/{name}"), inside, places);
            }
        }
        Value::Array(list) => {
            for (index, inside) in list.iter().enumerate() {
                scalars(&format!("{place}/{index}"), inside, places);
            }
        }
        Value::Null => {}
        _ if ["/apiVersion", "/kind"].contains(&place) => {}
        _ => places.push(place.to_owned()),
    }
}

/// Checks that the comparison knows the type of each list, map, quantity and time of a kind.
fn check_rules(builtin: &builtin::Builtin, schemas: &Schemas) {
    let id = builtin.id();
    let (version, kind) = id.rsplit_once('/').expect("a kind");
    let mut root = FieldPath {
        version,
        kind,
        path: Vec::new(),
        parents: Vec::new(),
    };
    root.check(schemas, schemas.root());
}

/// The path of a field in the objects of a kind.
struct FieldPath<'a> {
    version: &'a str,
    kind: &'a str,
    /// The names of the fields. An empty name stands for an element of a list.
    path: Vec<&'a str>,
    /// The schemas around this field.
    parents: Vec<&'a str>,
}

impl<'a> FieldPath<'a> {
    /// An object with `value` at this path.
    fn object(&self, value: &Value) -> Value {
        let around = |inside, name: &&str| match *name {
            "" => json!([inside]),
            name => json!({name: inside}),
        };
        let mut object = self.path.iter().rev().fold(value.clone(), around);
        object["apiVersion"] = self.version.into();
        object["kind"] = self.kind.into();
        object
    }

    /// Checks whether `desired` is the same as `live` at this path.
    fn same(&self, live: &Value, desired: &Value, expected: bool) {
        let found = difference(&self.object(live), &self.object(desired));
        let (kind, path) = (self.kind, self.path.join("."));
        assert_eq!(found.is_none(), expected, "{kind} {path} {live} {desired}");
    }

    fn check(&mut self, schemas: &'a Schemas, schema: &'a Value) {
        let reference = Schemas::reference(schema);
        if self.parents.contains(&reference) && !reference.is_empty() {
            return;
        }
        self.parents.push(reference);
        let resolved = schemas.resolved(schema);
        let is_quantity = reference.ends_with(".Quantity");
        if is_quantity || resolved["type"] == "string" {
            self.same(&json!("1"), &json!("1000m"), is_quantity);
            let is_time = resolved["format"] == "date-time";
            self.same(&json!(TIMES[0]), &json!(TIMES[1]), is_time);
        }
        if resolved["type"] == "array" {
            self.check_list(schema);
            self.path.push("");
            self.check(schemas, &resolved["items"]);
            self.path.pop();
        }
        if resolved["additionalProperties"].is_object() {
            self.check_map(schema, &resolved["additionalProperties"]);
            self.path.push("a");
            self.check(schemas, &resolved["additionalProperties"]);
            self.path.pop();
        } else if resolved["properties"].is_object() && !self.path.ends_with(&[""]) {
            self.same(&Value::Null, &json!({}), self.path.is_empty());
        }
        for (name, field) in schemas.fields(resolved) {
            let is_ignored = match self.kind {
                "Namespace" => name == "spec",
                "ServiceAccount" => self.path == ["secrets", ""],
                _ => false,
            };
            if !is_ignored {
                self.path.push(name);
                self.check(schemas, field);
                self.path.pop();
            }
        }
        self.parents.pop();
    }

    fn check_list(&self, schema: &Value) {
        // The API server adds tolerations to a Pod.
        let is_set = self.kind == "Pod" && self.path == ["spec", "tolerations"];
        let (a, b, c) = (json!("x"), json!("y"), json!("z"));
        match schema["x-kubernetes-list-type"].as_str() {
            Some("map") => {
                let keys = schema["x-kubernetes-list-map-keys"].as_array();
                let keys: Vec<_> = keys.expect("keys").iter().map(|key| key.as_str()).collect();
                let element = |other: Option<&str>, value: &Value| {
                    let keys = keys.iter().flatten();
                    let keys = keys
                        .map(|key| ((*key).to_owned(), if other == Some(key) { &b } else { &a }));
                    let mut element: Map<_, _> =
                        keys.map(|(key, value)| (key, value.clone())).collect();
                    element.insert("other".to_owned(), value.clone());
                    Value::Object(element)
                };
                for key in &keys {
                    // The elements differ in this key alone.
                    let (one, other) = (element(None, &a), element(*key, &b));
                    self.same(&json!([other, one]), &json!([one]), true);
                    self.same(&json!([other]), &json!([one]), false);
                }
            }
            expected => {
                let is_set = expected == Some("set") || is_set;
                self.same(&json!([a, b]), &json!([b, a]), is_set);
                self.same(&json!([a, b]), &json!([b]), is_set);
                self.same(&json!([a, b]), &json!([a, c]), false);
            }
        }
    }

    fn check_map(&self, schema: &Value, entries: &Value) {
        self.same(&Value::Null, &json!({}), true);
        if entries["type"] == "string" {
            self.same(&json!({}), &json!({"a": ""}), false);
            // Admission adds entries to the node selector of a Pod.
            let is_filled = self.kind == "Pod" && self.path == ["spec", "nodeSelector"];
            let is_atomic = schema["x-kubernetes-map-type"] == "atomic" && !is_filled
                || self.path.ends_with(&["matchLabels"]);
            self.same(&json!({"a": "", "b": ""}), &json!({"a": ""}), !is_atomic);
        }
    }
}
