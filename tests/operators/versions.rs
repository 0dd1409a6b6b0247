//! Tests kinds with several versions on a real API server, which calls the operator to convert between the versions.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::Stdio,
    sync::{Arc, LazyLock, Mutex, PoisonError, Weak, mpsc},
    thread,
};

use base64::prelude::*;
use cluster::{Cluster, wait_until};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    admission::{certify, serve},
    operator::{Operator, PATIENCE, Project, kubectl_on, kubectl_waits_on, new_cluster},
    scaffold::{root, run},
};

/// The code of version v1, which is the hub and the stored version.
const V1: &str = r#"
use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[kube(
    group = "shop.example.com",
    version = "v1",
    kind = "Book",
    namespaced,
    status = "BookStatus",
    scale(spec_replicas_path = ".spec.copies", status_replicas_path = ".status.copies"),
    derive = "PartialEq"
)]
pub struct BookSpec {
    #[x_kube(validation = Rule::new("self != 'forbidden'").message("it is forbidden"))]
    pub title: String,
    pub first: String,
    pub last: String,
    #[serde(default = "copies")]
    pub copies: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colour: Option<Colour>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub chapters: Vec<Chapter>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

fn copies() -> i32 {
    1
}

#[derive(schemars::JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub enum Colour {
    Red,
    Blue,
}

#[derive(KubeSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Chapter {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct BookStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<i32>,
}
"#;

/// The code of version v1alpha1. Each of the two versions has fields that the other version lacks.
const V1ALPHA1: &str = r#"
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[kube(
    group = "shop.example.com",
    version = "v1alpha1",
    deprecated = "shop.example.com/v1alpha1 Book goes; write v1",
    kind = "Book",
    namespaced,
    status = "BookStatus",
    derive = "PartialEq"
)]
pub struct BookSpec {
    pub name: String,
    pub author: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isbn: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub chapters: Vec<Chapter>,
}

#[derive(KubeSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Chapter {
    pub name: String,
}

#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct BookStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<i32>,
}
"#;

const CONVERSION: &str = r#"
use crate::api::shop::{v1::book as v1, v1alpha1::book as v1alpha1};

impl From<v1alpha1::BookSpec> for v1::BookSpec {
    fn from(spec: v1alpha1::BookSpec) -> Self {
        let v1alpha1::BookSpec { name, author, isbn: _, chapters } = spec;
        let (first, last) = author.split_once(' ').unwrap_or((&author, ""));
        Self {
            title: name,
            first: first.to_owned(),
            last: last.to_owned(),
            copies: 1,
            colour: None,
            chapters: chapters.into_iter().map(|it| v1::Chapter { name: it.name, note: None }).collect(),
            tags: Default::default(),
        }
    }
}

impl From<v1::BookSpec> for v1alpha1::BookSpec {
    fn from(spec: v1::BookSpec) -> Self {
        let v1::BookSpec { title, first, last, copies: _, colour: _, chapters, tags: _ } = spec;
        Self {
            name: title,
            author: format!("{first} {last}").trim().to_owned(),
            isbn: None,
            chapters: chapters.into_iter().map(|it| v1alpha1::Chapter { name: it.name }).collect(),
        }
    }
}

impl From<v1alpha1::BookStatus> for v1::BookStatus {
    fn from(v1alpha1::BookStatus { copies }: v1alpha1::BookStatus) -> Self {
        Self { copies }
    }
}

impl From<v1::BookStatus> for v1alpha1::BookStatus {
    fn from(v1::BookStatus { copies }: v1::BookStatus) -> Self {
        Self { copies }
    }
}
"#;

/// Scaffolds a project for the calling test file: one kind has two versions, and the types of another kind come from a
/// CRD. Each caller needs another crate name, because cargo treats two crates of the same name as one.
#[track_caller]
pub fn scaffold(crate_name: &str) -> Project {
    let notes = root().join("tests/crds/notes.yaml");
    let project = Project::scaffold_shared(
        "shop",
        &[
            &format!("init --domain example.com --repo {crate_name}"),
            "create api --group shop --version v1 --kind Book --controller=false",
            "create api --group shop --version v1alpha1 --kind Book --controller=false",
            "create webhook --group shop --version v1 --kind Book --conversion",
            &format!("create api --crd {} --controller=false", notes.display()),
            "create webhook --group shop --version v1 --kind Note --conversion",
        ],
    );
    for (file, text) in [
        ("v1/book.rs", V1),
        ("v1alpha1/book.rs", V1ALPHA1),
        ("v1alpha1/book_conversion.rs", CONVERSION),
    ] {
        let file = project.path().join("src/api/shop").join(file);
        fs::write(file, text).expect("a writable file");
    }
    project
}

/// Returns the project that all tests of conversions share.
pub fn project() -> &'static Project {
    static PROJECT: LazyLock<Project> = LazyLock::new(|| {
        let project = scaffold("shop");
        project.compile();
        project
    });
    &PROJECT
}

/// A control plane whose API server calls the operator to convert.
struct Shop {
    cluster: Cluster,
    operator: Operator,
    folder: TempDir,
}

impl Shop {
    /// Returns the shop of the tests that only write objects, each of another kind. The last such test that runs stops the
    /// control plane and the operator.
    fn shared() -> Arc<Self> {
        static SHOP: Mutex<Weak<Shop>> = Mutex::new(Weak::new());
        let mut known = SHOP.lock().unwrap_or_else(PoisonError::into_inner);
        known.upgrade().unwrap_or_else(|| {
            let shop = Arc::new(Self::new());
            *known = Arc::downgrade(&shop);
            shop
        })
    }

    fn new() -> Self {
        project();
        let (cluster, folder) = (new_cluster(), TempDir::new().expect("a temporary folder"));
        let bundle = certify(folder.path());
        let operator = start(&cluster, &folder);
        let shop = Self {
            cluster,
            operator,
            folder,
        };
        shop.install(Some(&bundle));
        shop
    }

    /// Installs the CRDs that `make manifests` wrote, with the address of the operator instead of the Service.
    fn install(&self, bundle: Option<&str>) {
        for name in ["books", "notes"] {
            let text = project().read(&format!("config/crd/bases/shop.example.com_{name}.yaml"));
            let mut crd: Value = serde_yaml::from_str(&text).expect("YAML");
            let client = &mut crd["spec"]["conversion"]["webhook"]["clientConfig"];
            let path = client["service"]["path"].as_str().expect("a path");
            let address = self.operator.address("webhooks");
            *client = json!({"url": format!("https://{address}{path}")});
            if let Some(bundle) = bundle {
                client["caBundle"] = BASE64_STANDARD.encode(bundle).into();
            }
            self.kubectl_with("apply --server-side --force-conflicts -f", &crd);
            let established = format!("--for=condition=Established crd/{name}.shop.example.com");
            kubectl_waits_on(&self.cluster, &established);
        }
    }

    /// Installs the webhook configuration that `make manifests` wrote, with the address of the operator.
    fn ask(&self) {
        let text = project().read("config/webhook/manifests.yaml");
        let mut configuration: Value = serde_yaml::from_str(&text).expect("YAML");
        let bundle = fs::read(self.folder.path().join("tls.crt")).expect("a certificate");
        let address = self.operator.address("webhooks");
        let webhooks = configuration["webhooks"].as_array_mut().expect("webhooks");
        for webhook in webhooks {
            let path = webhook["clientConfig"]["service"]["path"].as_str();
            let url = format!("https://{address}{}", path.expect("a path"));
            webhook["clientConfig"] =
                json!({"url": url, "caBundle": BASE64_STANDARD.encode(&bundle)});
        }
        self.kubectl_with("create -f", &configuration);
    }

    /// Runs kubectl with an object that the API server must refuse, and returns the output.
    #[track_caller]
    fn refusal(&self, arguments: &str, object: &Value) -> String {
        let manifest = project().manifest(&object.to_string());
        let (good, text) = self.kubectl(&format!("{arguments} {}", manifest.display()));
        assert!(!good, "{text}");
        text
    }

    fn kubectl(&self, arguments: &str) -> (bool, String) {
        let output = kubectl_on(&self.cluster, arguments)
            .output()
            .expect("kubectl");
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        (output.status.success(), text)
    }

    #[track_caller]
    fn kubectl_with(&self, arguments: &str, object: &Value) -> String {
        let manifest = project().manifest(&object.to_string());
        let (good, text) = self.kubectl(&format!("{arguments} {}", manifest.display()));
        assert!(good, "{text}");
        text
    }

    /// Returns the book of this name, in this version.
    #[track_caller]
    fn get(&self, version: &str, name: &str) -> Value {
        self.get_of("books", version, name)
    }

    #[track_caller]
    fn get_of(&self, plural: &str, version: &str, name: &str) -> Value {
        let get =
            format!("get {plural}.{version}.shop.example.com {name} -o json --show-managed-fields");
        serde_json::from_str(&run(&mut kubectl_on(&self.cluster, &get))).expect("JSON")
    }
}

fn start(cluster: &Cluster, folder: &TempDir) -> Operator {
    let operator = project().operator().on(cluster).administrator();
    serve(operator, folder.path()).start()
}

pub fn book(version: &str, name: &str, spec: impl Into<Value>) -> Value {
    let spec: Value = spec.into();
    json!({
        "apiVersion": format!("shop.example.com/{version}"),
        "kind": "Book",
        "metadata": {"name": name},
        "spec": spec,
    })
}

#[test]
fn an_object_written_in_one_version_is_read_in_the_other() {
    let shop = Shop::shared();
    let dune = json!({
        "title": "Dune", "first": "Frank", "last": "Herbert", "copies": 7, "colour": "Blue",
        "chapters": [{"name": "one", "note": "sand"}, {"name": "two"}], "tags": {"genre": "sf"},
    });
    shop.kubectl_with("create -f", &book("v1", "dune", dune.clone()));
    let old = shop.get("v1alpha1", "dune");
    assert_eq!(
        old["spec"],
        json!({"name": "Dune", "author": "Frank Herbert",
            "chapters": [{"name": "one"}, {"name": "two"}]})
    );
    // A client reads the object, changes it and writes it.
    let mut edited = old;
    edited["spec"]["author"] = json!("F Herbert");
    edited["spec"]["chapters"] = json!([{"name": "two"}, {"name": "one"}, {"name": "three"}]);
    edited["spec"]["isbn"] = json!("978");
    shop.kubectl_with("replace -f", &edited);
    let new = shop.get("v1", "dune");
    let mut expected = dune;
    expected["first"] = json!("F");
    // The conversion finds each chapter by its name.
    expected["chapters"] =
        json!([{"name": "two"}, {"name": "one", "note": "sand"}, {"name": "three"}]);
    assert_eq!(new["spec"], expected);
    assert_eq!(shop.get("v1alpha1", "dune")["spec"], edited["spec"]);

    // An object written in v1alpha1 is read in v1.
    let emma = json!({"name": "Emma", "author": "Jane Austen", "isbn": "979"});
    let said = shop.kubectl_with("create -f", &book("v1alpha1", "emma", emma.clone()));
    assert!(
        said.contains("Warning: shop.example.com/v1alpha1 Book goes; write v1"),
        "{said}"
    );
    assert_eq!(
        shop.get("v1", "emma")["spec"],
        json!({"title": "Emma", "first": "Jane", "last": "Austen", "copies": 1})
    );
    assert_eq!(shop.get("v1alpha1", "emma")["spec"], emma);

    // The API server applies the rules and defaults of each version.
    let bad = project().manifest(
        &book(
            "v1",
            "bad",
            json!({
        "title": "forbidden", "first": "a", "last": "b"}),
        )
        .to_string(),
    );
    let (good, text) = shop.kubectl(&format!("create -f {}", bad.display()));
    assert!(!good && text.contains("it is forbidden"), "{text}");
    let plain = json!({"title": "a", "first": "a", "last": "b"});
    shop.kubectl_with("create -f", &book("v1", "plain", plain));
    assert_eq!(shop.get("v1", "plain")["spec"]["copies"], 1);

    // A subresource that only one version has.
    let (good, text) = shop.kubectl("scale books.v1.shop.example.com dune --replicas=3");
    assert!(good, "{text}");
    assert_eq!(shop.get("v1", "dune")["spec"]["copies"], 3);
    assert_eq!(shop.get("v1alpha1", "dune")["spec"]["isbn"], "978");

    let (good, text) = shop.kubectl("get books.v1alpha1.shop.example.com -o name");
    assert!(
        good && text.matches("book.shop.example.com/").count() == 3,
        "{text}"
    );
    let log = shop.operator.log();
    assert!(
        !log.contains("\"ERROR\"") && !log.contains("cannot be converted"),
        "{log}"
    );
}

#[test]
fn fields_of_the_object_itself_are_converted_too() {
    let shop = Shop::shared();
    let note = |version: &str, fields: Value| {
        let mut note = json!({
            "apiVersion": format!("shop.example.com/{version}"), "kind": "Note",
            "metadata": {"name": "milk"},
        });
        let fields = fields.as_object().expect("fields").clone();
        note.as_object_mut().expect("an object").extend(fields);
        note
    };
    let get = |version: &str| {
        let note = shop.get_of("notes", version, "milk");
        let mut fields = note.as_object().expect("an object").clone();
        fields.retain(|name, _| !["apiVersion", "kind", "metadata"].contains(&name.as_str()));
        Value::Object(fields)
    };
    let yellow = json!({"text": "buy", "colour": "Yellow", "readers": ["ann"]});
    shop.kubectl_with("create -f", &note("v1", yellow.clone()));
    assert_eq!(get("v1"), yellow);
    assert_eq!(get("v1beta1"), json!({"text": "buy"}));
    assert_eq!(
        get("v2"),
        json!({"spec": {"text": "buy", "readers": ["ann"]}})
    );

    // A client writes through another version.
    let mut edited = shop.get_of("notes", "v1beta1", "milk");
    edited["text"] = json!("buy two");
    edited["pages"] = json!(1);
    shop.kubectl_with("replace -f", &edited);
    let expected = json!({"text": "buy two", "colour": "Yellow", "readers": ["ann"]});
    assert_eq!(get("v1"), expected);
    assert_eq!(get("v1beta1"), json!({"text": "buy two", "pages": 1}));
    let applied = |readers: Value| {
        note(
            "v2",
            json!({"spec": {"text": "buy two", "readers": readers}}),
        )
    };
    let apply = "apply --server-side --force-conflicts --field-manager=other -f";
    shop.kubectl_with(apply, &applied(json!(["bob"])));
    assert_eq!(get("v1")["readers"], json!(["bob"]));
    assert_eq!(get("v1")["colour"], "Yellow");
    assert_eq!(get("v1beta1")["pages"], 1);

    let said = shop.refusal("create -f", &note("v1", json!({"colour": "Pink"})));
    assert!(said.contains("text: Required value"), "{said}");
    let log = shop.operator.log();
    assert!(
        !log.contains("\"ERROR\"") && !log.contains("cannot be converted"),
        "{log}"
    );
}

/// The maximum size of all annotations of an object together, in bytes.
const MOST: usize = 256 << 10;

/// Returns the size of all annotations of an object together, in bytes.
fn annotated(object: &Value) -> usize {
    let annotations = object["metadata"]["annotations"].as_object();
    let sizes = annotations.expect("annotations").iter();
    let sizes = sizes.map(|(name, value)| name.len() + value.as_str().expect("a text").len());
    sizes.sum()
}

/// A function that returns an object with this name, and with a field of this length that the other version lacks.
type NewBook<'a> = &'a dyn Fn(&str, usize) -> Value;

#[test]
fn an_object_that_another_version_cannot_preserve_is_refused() {
    let shop = Shop::new();
    let tagged = |name: &str, length: usize| {
        let tags = json!({"large": "x".repeat(length)});
        let spec = json!({"title": "Dune", "first": "Frank", "last": "Herbert", "tags": tags});
        book("v1", name, spec)
    };
    let numbered = |name: &str, length: usize| {
        let isbn = "9".repeat(length);
        let spec = json!({"name": "Emma", "author": "Jane Austen", "isbn": isbn});
        book("v1alpha1", name, spec)
    };
    // This object is created before the webhook is installed.
    shop.kubectl_with("create -f", &tagged("old", MOST));
    shop.ask();
    wait_until("the API server to ask", PATIENCE, || {
        let manifest = project().manifest(&tagged("large", MOST).to_string());
        let create = format!("create --dry-run=server -f {}", manifest.display());
        let (good, text) = shop.kubectl(&create);
        anyhow::ensure!(!good, "{text}");
        Ok(Some(()))
    })
    .expect("it refuses");

    let ways: [(&str, &str, &str, NewBook); 2] = [
        ("v1", "v1alpha1", "spec.tags", &tagged),
        ("v1alpha1", "v1", "spec.isbn", &numbered),
    ];
    for (own, other, field, new) in ways {
        let [small, fits, large] = ["small", "fits", "large"].map(|name| format!("{own}-{name}"));
        shop.kubectl_with("create -f", &new(&small, 1));
        let room = MOST + 1 - annotated(&shop.get(other, &small));
        let said = shop.refusal("create -f", &new(&large, room + 1));
        let reason = format!(
            "The Book \"{large}\" is invalid: {field}: Too long: annotations keep what version {other} cannot \
             hold of version {own}; all annotations of the object would have {} bytes, but may have {MOST}: \
             remove 1 bytes or more",
            MOST + 1
        );
        assert!(said.contains(&reason), "{said}");
        shop.kubectl_with("create -f", &new(&fits, room));
        assert_eq!(annotated(&shop.get(other, &fits)), MOST);
        assert_eq!(
            shop.get(own, &fits)["spec"][&field[5..]],
            new("", room)["spec"][&field[5..]]
        );
        // The limit also applies to updates.
        shop.refusal(
            "apply --server-side --force-conflicts -f",
            &new(&fits, room + 1),
        );
        shop.kubectl_with(
            "apply --server-side --force-conflicts -f",
            &new(&fits, room - 1),
        );
    }

    // An object that is already too large can be changed in other ways, and can be deleted.
    let (good, text) = shop.kubectl("label books.v1.shop.example.com old so=on");
    assert!(good, "{text}");
    shop.refusal(
        "apply --server-side --force-conflicts -f",
        &tagged("old", MOST + 1),
    );
    let (good, text) = shop.kubectl("delete books.v1.shop.example.com old");
    assert!(good, "{text}");
}

#[test]
fn field_managers_apply_either_version() {
    let shop = Shop::new();
    let apply = |manager: &str, version: &str, spec: Value| {
        let apply = format!("apply --server-side --field-manager={manager} -f");
        shop.kubectl_with(&apply, &book(version, "dune", spec));
    };
    // One field manager applies fields in v1. Another field manager applies fields in v1alpha1.
    apply(
        "new",
        "v1",
        json!({
            "title": "Dune", "first": "Frank", "last": "Herbert", "colour": "Blue", "tags": {"a": "b"},
            "chapters": [{"name": "one", "note": "sand"}],
        }),
    );
    apply(
        "old",
        "v1alpha1",
        json!({
            "name": "Dune", "author": "Frank Herbert", "isbn": "978", "chapters": [{"name": "two"}],
        }),
    );
    assert_eq!(
        shop.get("v1", "dune")["spec"],
        json!({
            "title": "Dune", "first": "Frank", "last": "Herbert", "copies": 1, "colour": "Blue",
            "tags": {"a": "b"}, "chapters": [{"name": "one", "note": "sand"}, {"name": "two"}],
        })
    );
    let managers = shop.get("v1", "dune")["metadata"]["managedFields"].clone();
    let managers = managers.as_array().expect("a list").iter().map(|it| {
        let text = |field: &str| it[field].as_str().unwrap_or_default().to_owned();
        [text("manager"), text("apiVersion")].join(" ")
    });
    let managers: Vec<_> = managers.collect();
    for expected in ["new shop.example.com/v1", "old shop.example.com/v1alpha1"] {
        assert!(managers.iter().any(|it| it == expected), "{managers:?}");
    }
    // A field that its field manager no longer applies is removed, even if only the manager's version has the field.
    apply(
        "new",
        "v1",
        json!({
            "title": "Dune", "first": "Frank", "last": "Herbert", "chapters": [{"name": "one"}],
        }),
    );
    assert_eq!(
        shop.get("v1", "dune")["spec"],
        json!({
            "title": "Dune", "first": "Frank", "last": "Herbert", "copies": 1,
            "chapters": [{"name": "one"}, {"name": "two"}],
        })
    );
    apply(
        "old",
        "v1alpha1",
        json!({"name": "Dune", "author": "Frank Herbert"}),
    );
    let old = shop.get("v1alpha1", "dune");
    assert_eq!(
        old["spec"],
        json!({
        "name": "Dune", "author": "Frank Herbert", "chapters": [{"name": "one"}]})
    );
    assert_eq!(
        shop.get("v1", "dune")["spec"]["chapters"],
        json!([{"name": "one"}])
    );
    // A client-side apply in one version keeps a field that only the other version has.
    let client = book(
        "v1alpha1",
        "emma",
        json!({"name": "Emma", "author": "Jane Austen"}),
    );
    shop.kubectl_with("apply -f", &client);
    let (good, text) = shop.kubectl(
        "patch books.v1.shop.example.com emma --type=merge -p {\"spec\":{\"colour\":\"Red\"}}",
    );
    assert!(good, "{text}");
    let client = book(
        "v1alpha1",
        "emma",
        json!({"name": "Emma!", "author": "Jane Austen"}),
    );
    shop.kubectl_with("apply -f", &client);
    let emma = shop.get("v1", "emma");
    assert_eq!(
        [&emma["spec"]["title"], &emma["spec"]["colour"]],
        ["Emma!", "Red"]
    );
}

#[test]
fn without_the_operator_the_stored_version_is_served() {
    let Shop {
        cluster,
        mut operator,
        folder,
    } = Shop::new();
    let create = project().manifest(
        &book(
            "v1",
            "dune",
            json!({"title": "Dune", "first": "a", "last": "b"}),
        )
        .to_string(),
    );
    run(kubectl_on(&cluster, "create -f").arg(&create));
    let mut watch = kubectl_on(
        &cluster,
        "get books.v1alpha1.shop.example.com --watch -o jsonpath={.spec.name}{\"\\n\"}",
    );
    let mut watch = watch.stdout(Stdio::piped()).spawn().expect("kubectl");
    let output = BufReader::new(watch.stdout.take().expect("its output"));
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in output.lines() {
            // The test may have ended.
            let _ = sender.send(line.expect("text"));
        }
    });
    assert_eq!(lines.recv_timeout(PATIENCE).as_deref(), Ok("Dune"));
    let patch = "patch books.v1.shop.example.com dune --type=merge -p {\"spec\":{\"title\":\"2\"}}";
    run(&mut kubectl_on(&cluster, patch));
    assert_eq!(lines.recv_timeout(PATIENCE).as_deref(), Ok("2"));
    watch.kill().expect("a signal");
    watch.wait().expect("an end");

    operator.signal("TERM");
    assert!(operator.ends_within(PATIENCE).success());
    let get = |version: &str| {
        let get = format!("get books.{version}.shop.example.com dune -o jsonpath={{.spec}}");
        let output = kubectl_on(&cluster, &get).output().expect("kubectl");
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        (output.status.success(), text)
    };
    let (good, text) = get("v1");
    assert!(good, "{text}");
    let (good, text) = get("v1alpha1");
    assert!(
        !good && text.contains("conversion webhook for shop.example.com/v1, Kind=Book failed"),
        "{text}"
    );
    // The operator starts again, at another address.
    let operator = start(&cluster, &folder);
    let shop = Shop {
        cluster,
        operator,
        folder,
    };
    let bundle = fs::read_to_string(shop.folder.path().join("tls.crt")).expect("a certificate");
    shop.install(Some(&bundle));
    wait_until("the other version", PATIENCE, || {
        let get = "get books.v1alpha1.shop.example.com dune -o jsonpath={.spec.name}";
        Ok(shop.kubectl(get).0.then_some(()))
    })
    .expect("it is served");
}

#[test]
fn the_crd_trusts_the_operator_after_another_installation() {
    let project = project();
    let cluster = new_cluster();
    project.make_on(&cluster, "install");
    let client = || {
        let get = "get crd books.shop.example.com \
                   -o jsonpath={.spec.conversion.webhook.clientConfig}";
        let text = run(&mut kubectl_on(&cluster, get));
        let client: Value = serde_json::from_str(&text).expect("JSON");
        client
    };
    let service = json!({"name": "shop-webhook-service", "namespace": "shop-system",
        "path": "/convert", "port": 443});
    assert_eq!(client()["service"], service);
    // The operator runs as its ServiceAccount, with the permissions in the manifests.
    let operator = project.operator().on(&cluster);
    let mut operator = operator.args("--webhook-bind-address=127.0.0.1:0").start();
    let trusted = wait_until("the CRD to trust the operator", PATIENCE, || {
        let client = client();
        Ok(client["caBundle"].is_string().then_some(client))
    })
    .expect("it does");
    let bundle = trusted["caBundle"].as_str().expect("a bundle");
    let bundle = BASE64_STANDARD.decode(bundle).expect("base64");
    assert!(bundle.starts_with(b"-----BEGIN CERTIFICATE-----"));
    project.make_on(&cluster, "install");
    assert_eq!(client(), trusted);
    operator.signal("TERM");
    assert!(operator.ends_within(PATIENCE).success());
}
