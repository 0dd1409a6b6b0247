use std::{
    env,
    process::Command,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use axum::{
    body::{Body, to_bytes},
    http::{Request, StatusCode, header::CONTENT_TYPE},
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use proptest::prelude::*;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::{
    annotations::{self, MOST},
    bound::Bound,
    change::between,
    conversions::{Conversions, PATH, SMALL},
    hub::Hub,
    kind::Conversion,
    version::version,
    worker::{MOST_OF_VALUES, Worker},
};
use crate::runtime::{
    arbitrary::objects,
    digest::{digest, sorted_json},
    webhook::{
        endpoint::Failure,
        review,
        room::{MOST_OF_ALL, Permit},
        server,
        webhooks::Webhooks,
    },
};

mod rules;
mod variants;
mod without_spec;

/// A kind with three versions. Version v1 is the hub.
mod v1 {
    use std::collections::BTreeMap;

    use kube::{CustomResource, KubeSchema};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
    #[kube(group = "example.com", version = "v1", kind = "Book", namespaced)]
    #[kube(status = "BookStatus")]
    pub struct BookSpec {
        pub name: String,
        pub first: String,
        pub last: String,
        pub colour: Colour,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
        pub chapters: Vec<Chapter>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub tags: BTreeMap<String, String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub format: Option<Format>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub source: Option<Source>,
    }

    #[derive(JsonSchema, Clone, Debug, Deserialize, Serialize)]
    #[serde(rename_all = "camelCase")]
    pub enum Source {
        Printed(Format),
        Scanned { by: String },
    }

    #[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
    pub enum Colour {
        Red,
        Green,
        Blue,
        Grey,
    }

    #[derive(KubeSchema, Clone, Debug, Deserialize, Serialize)]
    pub struct Chapter {
        pub name: String,
        pub pages: i64,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub note: Option<String>,
    }

    #[derive(KubeSchema, Clone, Debug, Deserialize, Serialize)]
    pub struct Format {
        pub width: i64,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(range(max = 1000))]
        pub height: Option<i64>,
    }

    #[derive(KubeSchema, Clone, Debug, Deserialize, Serialize)]
    pub struct BookStatus {
        #[serde(skip_serializing_if = "Option::is_none")]
        pub printed: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub sold: Option<i64>,
    }
}

mod v1alpha1 {
    use kube::{CustomResource, KubeSchema};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
    #[kube(group = "example.com", version = "v1alpha1", kind = "Book", namespaced)]
    #[kube(status = "BookStatus")]
    pub struct BookSpec {
        pub title: String,
        pub author: String,
        pub colour: Colour,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub isbn: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub pages: Vec<i64>,
    }

    #[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
    pub enum Colour {
        Red,
        Green,
    }

    #[derive(KubeSchema, Clone, Debug, Deserialize, Serialize)]
    pub struct BookStatus {
        #[serde(skip_serializing_if = "Option::is_none")]
        pub printed: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub shop: Option<String>,
    }
}

mod v1beta1 {
    use kube::{CustomResource, KubeSchema};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
    #[kube(group = "example.com", version = "v1beta1", kind = "Book", namespaced)]
    #[kube(status = "BookStatus")]
    pub struct BookSpec {
        pub name: String,
        pub author: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
        pub chapters: Vec<Chapter>,
        pub width: i64,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub draft: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub source: Option<Source>,
    }

    #[derive(JsonSchema, Clone, Debug, Deserialize, Serialize)]
    #[serde(rename_all = "camelCase")]
    pub enum Source {
        Scanned { by: String, pages: Option<i64> },
    }

    #[derive(KubeSchema, Clone, Debug, Deserialize, Serialize)]
    pub struct Chapter {
        pub name: String,
        pub pages: i64,
    }

    #[derive(KubeSchema, Clone, Debug, Deserialize, Serialize)]
    pub struct BookStatus {
        #[serde(skip_serializing_if = "Option::is_none")]
        pub sold: Option<i64>,
    }
}

fn split(author: &str) -> (String, String) {
    let (first, last) = author.split_once(' ').unwrap_or((author, ""));
    (first.to_owned(), last.to_owned())
}

fn joined(first: &str, last: &str) -> String {
    format!("{first} {last}").trim().to_owned()
}

/// While it is set, no book with the title `waits` is converted.
static WAITS: AtomicBool = AtomicBool::new(false);

impl From<v1alpha1::BookSpec> for v1::BookSpec {
    fn from(spec: v1alpha1::BookSpec) -> Self {
        while spec.title == "waits" && WAITS.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        let v1alpha1::BookSpec {
            title,
            author,
            colour,
            isbn: _,
            pages,
        } = spec;
        let (first, last) = split(&author);
        let numbered = pages.into_iter().enumerate();
        let chapters = numbered.map(|(index, pages)| v1::Chapter {
            name: format!("chapter {index}"),
            pages,
            note: None,
        });
        Self {
            name: title,
            first,
            last,
            colour: match colour {
                v1alpha1::Colour::Red => v1::Colour::Red,
                v1alpha1::Colour::Green => v1::Colour::Green,
            },
            chapters: chapters.collect(),
            tags: std::collections::BTreeMap::new(),
            format: None,
            source: None,
        }
    }
}

impl TryFrom<v1::BookSpec> for v1alpha1::BookSpec {
    type Error = String;

    fn try_from(spec: v1::BookSpec) -> Result<Self, String> {
        let v1::BookSpec {
            name,
            first,
            last,
            colour,
            chapters,
            tags: _,
            format: _,
            source: _,
        } = spec;
        if name == "no" {
            return Err("a book cannot be called no".to_owned());
        }
        assert_ne!(name, "never");
        Ok(Self {
            title: name,
            author: joined(&first, &last),
            colour: match colour {
                v1::Colour::Red => v1alpha1::Colour::Red,
                v1::Colour::Green => v1alpha1::Colour::Green,
                // It has no other that is cold.
                v1::Colour::Blue | v1::Colour::Grey => v1alpha1::Colour::Green,
            },
            isbn: None,
            pages: chapters.iter().map(|chapter| chapter.pages).collect(),
        })
    }
}

impl From<v1alpha1::BookStatus> for v1::BookStatus {
    fn from(status: v1alpha1::BookStatus) -> Self {
        let v1alpha1::BookStatus { printed, shop: _ } = status;
        Self {
            printed,
            sold: None,
        }
    }
}

impl From<v1::BookStatus> for v1alpha1::BookStatus {
    fn from(status: v1::BookStatus) -> Self {
        let v1::BookStatus { printed, sold: _ } = status;
        Self {
            printed,
            shop: None,
        }
    }
}

impl From<v1beta1::BookSpec> for v1::BookSpec {
    fn from(spec: v1beta1::BookSpec) -> Self {
        let v1beta1::BookSpec {
            name,
            author,
            chapters,
            width,
            draft: _,
            source,
        } = spec;
        let (first, last) = split(&author);
        let chapters = chapters.into_iter().map(|chapter| v1::Chapter {
            name: chapter.name,
            pages: chapter.pages,
            note: None,
        });
        Self {
            name,
            first,
            last,
            colour: v1::Colour::Grey,
            chapters: chapters.collect(),
            tags: std::collections::BTreeMap::new(),
            format: Some(v1::Format {
                width,
                height: None,
            }),
            source: source
                .map(|v1beta1::Source::Scanned { by, pages: _ }| v1::Source::Scanned { by }),
        }
    }
}

impl From<v1::BookSpec> for v1beta1::BookSpec {
    fn from(spec: v1::BookSpec) -> Self {
        let v1::BookSpec {
            name,
            first,
            last,
            colour: _,
            chapters,
            tags: _,
            format,
            source,
        } = spec;
        let chapters = chapters.into_iter().map(|chapter| v1beta1::Chapter {
            name: chapter.name,
            pages: chapter.pages,
        });
        Self {
            name,
            author: joined(&first, &last),
            chapters: chapters.collect(),
            width: format.map_or(0, |format| format.width),
            draft: None,
            source: source.and_then(|source| match source {
                v1::Source::Scanned { by } => Some(v1beta1::Source::Scanned { by, pages: None }),
                v1::Source::Printed(_) => None,
            }),
        }
    }
}

impl From<v1beta1::BookStatus> for v1::BookStatus {
    fn from(status: v1beta1::BookStatus) -> Self {
        let v1beta1::BookStatus { sold } = status;
        Self {
            printed: None,
            sold,
        }
    }
}

impl From<v1::BookStatus> for v1beta1::BookStatus {
    fn from(status: v1::BookStatus) -> Self {
        let v1::BookStatus { printed: _, sold } = status;
        Self { sold }
    }
}

fn hub() -> Hub<v1::Book> {
    Hub::<v1::Book>::new()
        .spoke::<v1alpha1::Book>()
        .spoke::<v1beta1::Book>()
}

fn conversion() -> &'static Conversion {
    static CONVERSION: LazyLock<Conversion> = LazyLock::new(|| hub().into());
    &CONVERSION
}

const VERSIONS: [&str; 3] = ["v1", "v1alpha1", "v1beta1"];

/// Objects of a version.
fn books(version: &str) -> BoxedStrategy<Value> {
    let conversion = conversion();
    let of = conversion.versions().find(|known| known.name == version);
    objects(
        &format!("example.com/{version}"),
        "Book",
        &of.expect("a version").schema,
    )
}

fn convert(object: &Value, to: &str) -> Value {
    let fields = object.as_object().expect("an object").clone();
    conversion().convert(fields, to).expect("converted")
}

#[test]
fn an_object_comes_back_unchanged() {
    hub().assert_lossless();
}

/// Takes the annotations of the conversion away, and what is only about the type.
fn body(object: &Value) -> Value {
    json!({"spec": object["spec"], "status": object["status"]})
}

/// An object of a spoke, and some of the fields that a client writes over.
fn edits() -> impl Strategy<Value = (Value, Value)> {
    let spoke = prop::sample::select(&VERSIONS[1..]);
    spoke.prop_flat_map(|spoke| {
        let fields = prop::collection::vec(any::<bool>(), 8);
        (books("v1"), books(spoke), fields).prop_map(move |(hub, other, fields)| {
            let old = convert(&hub, spoke);
            let mut new = old.clone();
            for part in ["spec", "status"] {
                let Value::Object(others) = &other[part] else {
                    continue;
                };
                if new[part].is_null() {
                    continue;
                }
                for ((name, value), _) in others.iter().zip(&fields).filter(|(_, is_set)| **is_set)
                {
                    new[part][name] = value.clone();
                }
            }
            (old, new)
        })
    })
}

proptest! {
    #[test]
    fn a_write_through_an_old_version_wins((_, new) in edits()) {
        let version = version(new.as_object().expect("an object"));
        let stored = convert(&new, "v1");
        prop_assert_eq!(body(&convert(&stored, version)), body(&new));
    }

    #[test]
    fn what_a_conversion_has_saved_may_be_written((old, new) in edits()) {
        prop_assert_eq!(excess(Some(&old.to_string()), &new.to_string()), "");
        prop_assert_eq!(excess(None, &new.to_string()), "");
    }

    #[test]
    fn an_object_without_required_fields_is_converted(
        (object, way) in conversion().ways(),
        missing in prop::sample::select(&["name", "title", "author", "first", "width", "colour"][..]),
    ) {
        let mut object = object;
        object["spec"].as_object_mut().expect("a spec").remove(missing);
        let mut now = object.clone();
        for version in way {
            now = convert(&now, &version);
        }
        prop_assert_eq!(now, object);
    }
}

fn book(spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Book", "spec": spec,
        "metadata": {"name": "dune", "namespace": "shelf", "labels": {"a": "b"}}})
}

#[test]
fn an_edit_through_an_old_version_keeps_all_other_data() {
    fn chapter(name: &str, note: &str) -> Value {
        json!({"name": name, "pages": 7, "note": note})
    }

    let hub = book(json!({
        "name": "Dune", "first": "Frank Patrick", "last": "Herbert", "colour": "Grey",
        "chapters": [chapter("a", "long"), chapter("b", "short")], "tags": {"sand": "yes"},
        "format": {"width": 3, "height": 4},
    }));
    let mut old = convert(&hub, "v1beta1");
    assert_eq!(old["spec"]["author"], "Frank Patrick Herbert");
    old["spec"]["author"] = json!("F Herbert");
    let new = json!({"name": "new", "pages": 1});
    let chapters = old["spec"]["chapters"].as_array_mut().expect("chapters");
    chapters.insert(0, new.clone());
    chapters.remove(1);
    let expected = book(json!({
        "name": "Dune", "first": "F", "last": "Herbert", "colour": "Grey",
        "chapters": [new, chapter("b", "short")], "tags": {"sand": "yes"},
        "format": {"width": 3, "height": 4},
    }));
    assert_eq!(convert(&old, "v1"), expected);
}

#[test]
fn what_a_version_cannot_hold_is_in_annotations() {
    let hub = book(json!({
        "name": "Dune", "first": "Frank", "last": "Herbert", "colour": "Blue",
        "chapters": [{"name": "in the sand", "pages": 3, "note": "!"}],
    }));
    let old = convert(&hub, "v1beta1");
    assert_eq!(old["metadata"]["labels"], hub["metadata"]["labels"]);
    let of = digest(&sorted_json(&json!({"spec": old["spec"]})));
    let annotation = |rest: &str| format!(r#"{{"format":1,"of":"{of}","path":{rest}}}"#);
    assert_eq!(
        old["metadata"]["annotations"],
        json!({
            "v1.example.com/spec.chapters.in.the.sand.note-85ab20b32ae18539":
                annotation(r#"["spec","chapters",{"name":"in the sand"},"note"],"to":"!""#),
            "v1.example.com/spec.colour":
                annotation(r#"["spec","colour"],"from":"Grey","to":"Blue""#),
            "v1.example.com/spec.format":
                annotation(r#"["spec","format"],"from":{"width":0}"#),
        })
    );
}

/// A book as another version, whose annotations keep values for v1.
fn saving() -> Value {
    let mut hub = book(json!({
        "name": "Dune", "first": "Frank", "last": "Herbert", "colour": "Blue",
        "format": {"width": 3, "height": 4},
    }));
    hub["status"] = json!({"printed": 5});
    convert(&hub, "v1beta1")
}

#[test]
fn saved_values_that_contradict_a_write_cost_no_other_value() {
    let chapters = (0..60)
        .map(|number| json!({"name": number.to_string(), "pages": 7, "note": "in the margin"}));
    let hub = book(json!({
        "name": "Dune", "first": "Frank", "last": "Herbert", "colour": "Blue",
        "chapters": Vec::from_iter(chapters), "format": {"width": 3},
    }));
    let mut old = convert(&hub, "v1beta1");
    let annotations = old["metadata"]["annotations"].as_object_mut();
    let annotations = annotations.expect("annotations");
    for number in 0..20 {
        let path = json!(["spec", "chapters", {"name": number.to_string()}, "pages"]);
        let saved = json!({"format": 1, "of": "", "path": path, "from": 7, "to": 8}).to_string();
        annotations.insert(format!("v1.example.com/pages.{number}"), saved.into());
    }
    assert_eq!(convert(&old, "v1")["spec"], hub["spec"]);
}

#[test]
fn long_lists_are_compared_in_a_short_time() {
    let schema = json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]});
    let items = |note: bool| -> Value {
        let items = (0..30_000).map(|number| match note {
            true => json!({"name": number.to_string(), "note": "in the margin"}),
            false => json!({"name": number.to_string()}),
        });
        items.collect()
    };
    let start = Instant::now();
    let changes = between(&schema, &items(false), &items(true));
    assert_eq!(changes.len(), 30_000);
    // With a search through the list for each item, this takes minutes.
    assert!(start.elapsed() < Duration::from_secs(30));
}

/// `object`, in which a client has replaced a part of an annotation.
fn forged(object: &Value, name: &str, part: &str, by: &str) -> Value {
    let mut object = object.clone();
    let annotation = &mut object["metadata"]["annotations"][format!("v1.example.com/{name}")];
    let text = annotation.as_str().expect("an annotation");
    assert!(text.contains(part), "{text}");
    *annotation = text.replace(part, by).into();
    object
}

#[test]
fn a_saved_value_that_the_type_refuses_is_not_restored() {
    let old = saving();
    let stored = convert(&forged(&old, "spec.colour", r#""Blue""#, "12"), "v1");
    assert_eq!(stored["spec"]["colour"], "Grey");
    assert_eq!(stored["spec"]["format"], json!({"width": 3, "height": 4}));
    assert_eq!(stored["status"], json!({"printed": 5}));
    assert_eq!(body(&convert(&stored, "v1beta1")), body(&old));

    let colour = r#"["spec","colour"],"from":"Grey","to":"Blue""#;
    let kind = forged(&old, "spec.colour", colour, r#"["kind"],"to":"Shelf""#);
    assert_eq!(convert(&kind, "v1")["kind"], "Book");
}

#[test]
fn a_client_cannot_write_into_annotations_what_another_version_refuses() {
    let excess = |old: Option<&Value>, new: &Value| {
        let old = old.map(Value::to_string);
        excess(old.as_deref(), &new.to_string())
    };
    let (old, colour) = (saving(), "spec.colour");
    let lists = format!("{}{}", "[".repeat(99), "]".repeat(99));
    let wrong = [
        forged(&old, "spec.colour", r#""Blue""#, "12"),
        forged(&old, "spec.colour", r#""Blue""#, &lists),
        forged(&old, "spec.colour", "Blue", "Purple"),
        forged(&old, "spec.format.height", "4}", "4000}"),
    ];
    for (new, place) in wrong
        .iter()
        .zip([colour, colour, colour, "spec.format.height"])
    {
        for before in [Some(&old), None] {
            let errors = excess(before, new);
            assert!(errors.starts_with(place), "{errors}");
        }
        // It was there before.
        assert_eq!(excess(Some(new), new), "");
    }
    let saved = r#"["spec","colour"],"from":"Grey","to":"Blue""#;
    let removed = r#"["spec","name"],"from":"Dune""#;
    let removed = forged(&old, "spec.colour", saved, removed);
    let errors = excess(Some(&old), &removed);
    assert!(errors.starts_with("spec.name: Required"), "{errors}");
    let valid = forged(&old, "spec.colour", "Blue", "Red");
    assert_eq!(excess(Some(&old), &valid), "");

    let status = forged(&old, "status.printed", "5}", "6}");
    let errors = excess(Some(&old), &status);
    assert!(errors.starts_with("status.printed: Forbidden"), "{errors}");
    // A client creates an object that it has read before: the API server drops its status.
    assert_eq!(excess(None, &status), "");
    let whole = forged(
        &status,
        "status.printed",
        r#"["status","printed"]"#,
        r#"["status"]"#,
    );
    assert!(excess(None, &whole).starts_with("status: Forbidden"));
    // An older digest does not change the values.
    let mut older = old.clone();
    older["spec"]["name"] = json!("Messiah");
    let older = convert(&convert(&older, "v1"), "v1beta1");
    assert_eq!(excess(Some(&older), &old), "");
}

#[test]
fn what_another_release_has_saved_stays() {
    let mut old = convert(
        &book(json!({"name": "a", "first": "b", "last": "", "colour": "Red"})),
        "v1alpha1",
    );
    let newer = json!(r#"{"format":2,"of":"a later release"}"#);
    old["metadata"]["annotations"] = json!({"v1.example.com/spec.more": newer});
    let hub = convert(&old, "v1");
    assert_eq!(
        hub["metadata"]["annotations"]["v1.example.com/spec.more"],
        newer
    );
    let again = convert(&hub, "v1alpha1");
    assert_eq!(again["metadata"], old["metadata"]);
}

#[test]
fn an_object_can_be_read_even_if_annotations_cannot_keep_all_data() {
    let tags = json!({"large": "x".repeat(MOST)});
    let hub = book(json!({"name": "a", "first": "b", "last": "", "colour": "Red", "tags": tags}));
    let old = convert(&hub, "v1alpha1");
    assert_eq!(
        old["spec"],
        json!({"title": "a", "author": "b", "colour": "Red"})
    );
    assert_eq!(old["metadata"], hub["metadata"]);
}

fn answer(objects: &[Value], to: &str) -> Value {
    let mut conversions = Conversions::default();
    conversions.add(hub().into());
    let review = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {"uid": "7", "desiredAPIVersion": to, "objects": objects},
    });
    let answer = conversions.answer(review.to_string().as_bytes(), || false);
    let answer: Value = serde_json::from_slice(&answer.expect("an answer")).expect("JSON");
    assert_eq!(answer["response"]["uid"], "7");
    answer["response"].clone()
}

#[test]
#[should_panic(expected = "the object differs after its conversion back")]
fn a_conversion_that_loses_something_is_found() {
    let mut conversion = Conversion::from(hub());
    // As if nothing was saved: every difference has the same annotation.
    conversion.group = "x".repeat(MOST);
    conversion.assert_lossless();
}

fn spec(name: &str) -> Value {
    json!({"name": name, "first": "b", "last": "", "colour": "Red"})
}

#[test]
fn a_list_is_answered_in_its_order() {
    let objects = ["a", "b", "c"].map(|name| book(spec(name)));
    let answer = answer(&objects, "example.com/v1alpha1");
    assert_eq!(answer["result"]["status"], "Success");
    let titles: Vec<_> = answer["convertedObjects"]
        .as_array()
        .expect("objects")
        .iter()
        .map(|book| book["spec"]["title"].clone())
        .collect();
    assert_eq!(titles, ["a", "b", "c"]);
}

#[test]
fn an_object_that_cannot_be_converted_is_named() {
    fn fails(object: Value, to: &str) -> String {
        let good = book(spec("good"));
        let answer = answer(&[good, object], to);
        assert_eq!(answer["result"]["status"], "Failure");
        answer["result"]["message"]
            .as_str()
            .expect("a message")
            .to_owned()
    }

    let mut pages = book(spec("a"));
    pages["spec"]["chapters"] = json!([{"name": "a", "pages": "many"}]);
    let mut other = book(spec("a"));
    other["kind"] = json!("Shelf");
    let cases = [
        (
            book(spec("no")),
            "v1alpha1",
            "spec: a book cannot be called no",
        ),
        (
            pages,
            "v1alpha1",
            "spec.chapters[0].pages: invalid type: string \"many\", expected i64",
        ),
        (book(spec("a")), "v9", "v9 of Book is not converted here"),
        (other, "v1alpha1", "there is no conversion for this kind"),
    ];
    for (object, to, expected) in cases {
        let kind = object["kind"].as_str().expect("a kind").to_owned();
        assert_eq!(
            fails(object, &format!("example.com/{to}")),
            format!(
                "{kind} shelf/dune cannot become example.com/{to} from example.com/v1: {expected}"
            )
        );
    }
    let panics = fails(book(spec("never")), "example.com/v1alpha1");
    assert!(panics.contains("shelf/dune cannot become"), "{panics}");
    assert!(panics.contains("panicked: assertion"), "{panics}");
}

/// The routes of the conversion, for `calls` calls at once.
fn routes(calls: u16) -> axum::Router {
    let mut conversions = Conversions::default();
    conversions.add(hub().into());
    let registry = prometheus::Registry::new();
    let metrics = server::Metrics::new(&registry).expect("metrics");
    server::routes(
        conversions.endpoints().expect("a thread"),
        &metrics,
        calls,
        &tokio_util::sync::CancellationToken::new(),
    )
}

/// The code of the answer to a review, and its size.
async fn post(routes: axum::Router, query: &str, review: String) -> (StatusCode, usize) {
    let request = Request::post(format!("{PATH}{query}"))
        .header(CONTENT_TYPE, "application/json")
        .body(Body::from(review));
    let response = routes
        .oneshot(request.expect("a request"))
        .await
        .expect("an answer");
    let code = response.status();
    let body = to_bytes(response.into_body(), usize::MAX).await;
    (code, body.expect("a body").len())
}

/// A review of these objects, which are JSON text.
fn review(objects: &[String], to: &str) -> String {
    let list = objects.join(",");
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{{"uid":"1","desiredAPIVersion":"{to}","objects":[{list}]}}}}"#
    )
}

/// A book of version v1alpha1 with a field of this value, which no version has.
fn book_with(title: &str, junk: &str) -> String {
    format!(
        r#"{{"apiVersion":"example.com/v1alpha1","kind":"Book","metadata":{{"name":"a"}},"spec":{{"title":"{title}","author":"b c","colour":"Red","junk":{junk}}}}}"#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversion_counts_until_it_has_ended() {
    let routes = routes(1);
    let padding = json!("x".repeat(SMALL)).to_string();
    let slow = review(&[book_with("waits", &padding)], "example.com/v1");
    let quick = review(&[book_with("quick", "1")], "example.com/v1");
    WAITS.store(true, Ordering::Relaxed);
    let (code, _) = post(routes.clone(), "?timeout=20ms", slow).await;
    assert_eq!(code, StatusCode::GATEWAY_TIMEOUT);
    // The conversion still takes memory and a thread.
    let (code, _) = post(routes.clone(), "", quick.clone()).await;
    assert_eq!(code, StatusCode::TOO_MANY_REQUESTS);
    WAITS.store(false, Ordering::Relaxed);
    loop {
        match post(routes.clone(), "", quick.clone()).await {
            (StatusCode::TOO_MANY_REQUESTS, _) => tokio::task::yield_now().await,
            (code, _) => break assert_eq!(code, StatusCode::OK),
        }
    }
}

/// What the bound says about an object, which is JSON text.
fn excess(old: Option<&str>, new: &str) -> String {
    let errors = conversion().excess(old, new).expect("an object");
    errors.iter().map(ToString::to_string).collect()
}

/// `book`, which is JSON text, while it is being deleted.
fn deleted(book: &str) -> String {
    let deletion = r#""name":"a","deletionTimestamp":"2001-01-01T00:00:00Z""#;
    book.replace(r#""name":"a""#, deletion)
}

#[test]
fn an_object_with_too_many_values_is_refused_by_name() {
    let junk = format!("[{}1]", r#"{"a":0},"#.repeat(100_000));
    let mut conversions = Conversions::default();
    conversions.add(hub().into());
    let review = review(&[book_with("large", &junk)], "example.com/v1");
    let answer = conversions.answer(review.as_bytes(), || false);
    let answer: Value = serde_json::from_slice(&answer.expect("an answer")).expect("JSON");
    let message = answer["response"]["result"]["message"]
        .as_str()
        .expect("a message");
    let parts = [
        "Book a cannot become example.com/v1",
        "too many values",
        "256 MiB",
    ];
    for part in parts {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(answer["response"]["convertedObjects"], json!([]));

    // Nobody can store it, but if it is there, it can be deleted.
    let book = book_with("large", &junk);
    assert!(excess(None, &book).contains("too many values"));
    assert_eq!(excess(Some(&book), &book), "");
    let [going, more] = ["large", "larger"].map(|title| deleted(&book_with(title, &junk)));
    assert_eq!(excess(Some(&going), &more), "");
    let small = deleted(&book_with("large", "0"));
    assert!(excess(Some(&small), &going).contains("too many values"));
}

#[test]
fn an_object_that_is_nested_too_deeply_is_refused() {
    /// A book with this many levels of lists and objects.
    fn nested(levels: usize) -> String {
        let lists = levels - 2;
        book_with(
            "[[{",
            &format!("{}{}", "[".repeat(lists), "]".repeat(lists)),
        )
    }

    let (deepest, deep, deeper) = (nested(100), nested(101), nested(132));
    assert_eq!(excess(None, &deepest), "");
    let object: Value = serde_json::from_str(&deepest).expect("JSON");
    let hub = convert(&object, "v1");
    assert_eq!(convert(&hub, "v1alpha1"), object);
    for object in [&deep, &deeper] {
        let errors = excess(None, object);
        assert!(errors.contains("levels"), "{errors}");
        // It may be there already.
        assert_eq!(excess(Some(object), object), "");
        let (less, more) = (deleted(&deepest), deleted(object));
        assert!(excess(Some(&less), &more).contains("levels"));
    }
    assert_eq!(excess(Some(&deleted(&deep)), &deleted(&deeper)), "");
    assert!(excess(Some(&deep), &deeper).contains("levels"));
    assert_eq!(excess(Some(&deeper), &deep), "");
}

#[test]
fn a_list_that_is_not_complete_is_malformed() {
    let mut conversions = Conversions::default();
    conversions.add(hub().into());
    let good = review(&[book_with("a", "1")], "example.com/v1");
    let wrong = [
        good.replace("[{", "{").replace("}]", "}"),
        good.replace("\"objects\":", "\"subjects\":"),
        good.replace("\"request\":", "\"response\":"),
        good[..good.len() - 2].to_owned(),
        "[".repeat(100_000),
        String::new(),
    ];
    for review in wrong {
        let answer = conversions.answer(review.as_bytes(), || false);
        assert!(
            matches!(answer, Err(Failure::Malformed(_))),
            "{review:.100}"
        );
    }
}

/// The variable with which the test below starts the process whose memory it measures.
#[cfg(target_os = "linux")]
const MEASURED: &str = "KUBE_MANAGER_TEST_IS_MEASURED";

/// Measures a process that converts objects of many small values, in several reviews at the same time. As untyped
/// values, all objects together would take a gigabyte.
#[cfg(target_os = "linux")]
#[test]
fn the_memory_of_conversions_is_bounded() {
    if env::var_os(MEASURED).is_some() {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(convert_much());
        return;
    }
    let program = env::current_exe().expect("a program");
    let test = "the_memory_of_conversions_is_bounded";
    let name = format!(
        "{}::{test}",
        module_path!().split_once("::").expect("a module").1
    );
    let child = Command::new(program)
        .args(["--exact", &name, "--nocapture"])
        .env(MEASURED, "1")
        .output()
        .expect("a process");
    let text = String::from_utf8_lossy(&child.stdout);
    let Some((_, shown)) = text.lines().find_map(|line| line.split_once("peak: ")) else {
        panic!("{text}\n{}", String::from_utf8_lossy(&child.stderr));
    };
    let peak: usize = shown
        .trim_end_matches(" kB")
        .trim()
        .parse()
        .expect("a number");
    eprintln!("peak: {} MiB", peak >> 10);
    let bound = (MOST_OF_VALUES + MOST_OF_ALL) >> 10;
    assert!(peak < bound, "{peak} KiB of {bound} KiB");
}

#[cfg(target_os = "linux")]
async fn convert_much() {
    // Each object alone may be converted.
    let junk = format!("[{}1]", r#"{"a":0},"#.repeat(40_000));
    let objects = [(); 4].map(|()| book_with("many", &junk));
    let routes = routes(1000);
    let calls = (0..6).map(async |_| {
        loop {
            let review = review(&objects, "example.com/v1");
            let (code, size) = post(routes.clone(), "?timeout=30s", review).await;
            // A busy machine may need longer. Then an API server asks again.
            if code != StatusCode::GATEWAY_TIMEOUT {
                return (code, size);
            }
        }
    });
    for (code, size) in futures::future::join_all(calls).await {
        assert_eq!(code, StatusCode::OK);
        assert!(size > 100, "{size}");
    }
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("peak: {}", peak.expect("a peak").trim());
}

#[test]
fn a_kind_without_status_is_converted_too() {
    let conversion: Conversion = Hub::<v1::Book>::new()
        .spoke_without_status::<v1alpha1::Book>()
        .into();
    let hub = book(json!({"name": "a", "first": "b", "last": "", "colour": "Red"}));
    let old = conversion.convert(hub.as_object().expect("an object").clone(), "v1alpha1");
    assert_eq!(old.expect("converted")["spec"]["title"], "a");
}

fn merged(versions: Vec<CustomResourceDefinition>) -> CustomResourceDefinition {
    kube::core::crd::merge_crds(versions, "v1").expect("a CRD")
}

#[test]
fn a_crd_has_the_conversion() {
    let mut webhooks = Webhooks::default();
    let hub = Hub::<v1::Book>::new().spoke::<v1alpha1::Book>();
    webhooks.add_conversion(hub);
    let mut both = merged(vec![v1::Book::crd(), v1alpha1::Book::crd()]);
    webhooks.convert(&mut both).expect("a conversion");
    let both = serde_json::to_value(both).expect("JSON");
    assert_eq!(
        both["spec"]["conversion"],
        json!({"strategy": "Webhook", "webhook": {
            "clientConfig": {"service": {
                "name": "webhook-service", "namespace": "system", "path": "/convert"}},
            "conversionReviewVersions": ["v1"],
        }})
    );
    let mut all = merged(vec![
        v1::Book::crd(),
        v1alpha1::Book::crd(),
        v1beta1::Book::crd(),
    ]);
    let error = webhooks.convert(&mut all).expect_err("a version too many");
    assert_eq!(
        error.to_string(),
        "version `v1beta1` of Book is in use, but not converted: make it a spoke of the `Hub`, or \
         set `served = false` in its types"
    );
}

/// What the bound says about a review with these objects.
async fn bound(old: Option<&Value>, new: &Value) -> Value {
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "7", "name": "dune", "object": new, "oldObject": old,
            "kind": {"group": "example.com", "version": "v1", "kind": "Book"},
            "operation": if old.is_some() { "UPDATE" } else { "CREATE" },
        },
    });
    let bound = Bound {
        conversion: Arc::new(hub().into()),
        worker: Worker::start().expect("a thread"),
    };
    let answer = review::answer(
        &bound,
        review.to_string().as_bytes(),
        &Arc::new(Permit::alone()),
    )
    .await;
    let answer: Value = serde_json::from_slice(&answer.expect("an answer")).expect("JSON");
    answer["response"].clone()
}

/// An object whose tags, which v1 alone has, are as long as this.
fn tagged(length: usize) -> Value {
    let tags = json!({"large": "x".repeat(length)});
    book(json!({"name": "a", "first": "b", "last": "", "colour": "Red", "tags": tags}))
}

#[tokio::test]
async fn an_object_that_is_too_large_for_another_version_is_refused() {
    let answer = bound(None, &tagged(MOST)).await;
    assert_eq!(answer["allowed"], false);
    let status = &answer["status"];
    assert_eq!(
        [&status["code"], &status["reason"]],
        [&json!(422), &json!("Invalid")]
    );
    let causes = status["details"]["causes"].as_array().expect("causes");
    let fields: Vec<_> = causes.iter().map(|cause| &cause["field"]).collect();
    assert_eq!(fields, ["spec.tags", "spec.tags"]);
    let size = "v1.example.com/spec.tags".len()
        + r#"{"format":1,"of":"0123456789abcdef","path":["spec","tags"],"to":{"large":""}}"#.len()
        + MOST;
    let excess = size - MOST;
    assert_eq!(
        causes[0],
        json!({"reason": "FieldValueTooLong", "field": "spec.tags", "message": format!(
            "Too long: annotations keep what version v1alpha1 cannot hold of version v1; all annotations of the \
             object would have {size} bytes, but may have 262144: remove {excess} bytes or more, here or from \
             the rest of what v1alpha1 cannot hold"
        )})
    );
    let beside = VERSIONS.map(|version| {
        let there = convert(&tagged(0), version);
        let annotations = there["metadata"]["annotations"].as_object();
        annotations.map_or(0, annotations::size)
    });
    let room = MOST - beside.into_iter().max().expect("versions");
    assert_eq!(bound(None, &tagged(room)).await["allowed"], true);
    assert_eq!(bound(None, &tagged(room + 1)).await["allowed"], false);
    let mut annotated = tagged(9);
    annotated["metadata"]["annotations"] = json!({"a": "x".repeat(MOST - 9)});
    let answer = bound(None, &annotated).await;
    let cause = &answer["status"]["details"]["causes"][0];
    assert_eq!(cause["field"], "metadata.annotations");
}

async fn allows(old: &Value, new: &Value) -> bool {
    bound(Some(old), new).await["allowed"] == true
}

#[tokio::test]
async fn an_object_that_is_already_too_large_can_shrink_and_be_deleted() {
    let (small, large, larger) = (tagged(9), tagged(MOST + 1), tagged(MOST + 2));
    assert!(!allows(&small, &large).await);
    assert!(allows(&large, &large).await);
    assert!(!allows(&large, &larger).await);
    assert!(allows(&larger, &large).await);
    assert!(allows(&larger, &small).await);
    let mut unheld = large.clone();
    unheld["metadata"]["labels"] = json!({"and": "so on"});
    assert!(allows(&large, &unheld).await);
    let [small, large, larger] = [small, large, larger].map(|mut going| {
        going["metadata"]["deletionTimestamp"] = json!("2024-02-03T04:05:06Z");
        going
    });
    assert!(allows(&large, &larger).await);
    assert!(!allows(&small, &large).await);
}

#[tokio::test]
async fn an_object_that_cannot_be_converted_is_refused() {
    let mut refused = tagged(9);
    refused["spec"]["name"] = json!("no");
    let mut unread = tagged(9);
    unread["spec"]["chapters"] = json!([{"name": "a", "pages": "many"}]);
    let mut panics = tagged(9);
    panics["spec"]["name"] = json!("never");
    let mut empty = tagged(9);
    empty["spec"] = json!("none");
    for (object, field, why) in [
        (&refused, "spec", "a book cannot be called no"),
        (&unread, "spec.chapters[0].pages", "invalid type: string"),
        (&panics, "", "panicked: assertion"),
        (&empty, "spec", "invalid type: string \"none\""),
    ] {
        let answer = bound(None, object).await;
        assert_eq!(answer["allowed"], false, "{object}");
        let cause = &answer["status"]["details"]["causes"][0];
        assert_eq!(cause["field"].as_str().unwrap_or_default(), field);
        let message = cause["message"].as_str().expect("a message");
        let expected = format!("Invalid value: it cannot become version v1alpha1: {why}");
        assert!(message.starts_with(&expected), "{message}");
        // It may be there already, and be changed elsewhere.
        assert!(!allows(&tagged(9), object).await);
        let mut labelled = object.clone();
        labelled["metadata"]["labels"] = json!({"and": "so on"});
        assert!(allows(object, &labelled).await);
        assert!(allows(object, &tagged(9)).await);
    }
}

#[test]
fn an_object_that_cannot_become_its_own_version_again_is_refused() {
    let own = r#"{"apiVersion":"example.com/v1alpha1","kind":"Book","metadata":{"name":"a"},
        "spec":{"title":"no","author":"b","colour":"Red"}}"#;
    let expected =
        "spec: Invalid value: it cannot become version v1alpha1: a book cannot be called no";
    assert_eq!(excess(None, own), expected);
    assert_eq!(excess(Some(own), own), "");
}

#[test]
fn the_name_of_a_bound_is_unique() {
    let mut conversions = Conversions::default();
    for group in ["b.example.com", "a.example.com"] {
        let mut conversion = Conversion::from(hub());
        group.clone_into(&mut conversion.group);
        conversions.add(conversion);
    }
    let bounds = conversions.bounds();
    let names = bounds
        .iter()
        .map(|webhook| format!("{} {}", webhook.name(), webhook.path()));
    assert_eq!(
        names.collect::<Vec<_>>(),
        [
            "boundbook.kb.io /bound-a-example-com-book",
            "boundbook.b.example.com.kb.io /bound-b-example-com-book",
        ]
    );
    let paths: Vec<_> = conversions
        .endpoints()
        .expect("a thread")
        .into_iter()
        .map(|endpoint| endpoint.path)
        .collect();
    assert_eq!(
        paths,
        [
            "/bound-b-example-com-book",
            "/bound-a-example-com-book",
            "/convert"
        ]
    );
}

/// `object` with an annotation of this length.
fn filled(mut object: Value, length: usize) -> Value {
    object["metadata"]["annotations"] = json!({"a": "x".repeat(length)});
    object
}

fn size_of_annotations(object: &Value) -> usize {
    let annotations = object["metadata"]["annotations"].as_object();
    annotations::size(annotations.expect("annotations"))
}

proptest! {
    /// Objects whose own annotations leave little room.
    #[test]
    fn every_accepted_object_is_preserved_in_every_version(
        object in prop::sample::select(&VERSIONS[..]).prop_flat_map(books),
        room in 0..2500_usize,
    ) {
        let length = MOST - 1 - room;
        let (slim, object) = (filled(object.clone(), 0), filled(object, length));
        let own = version(object.as_object().expect("an object")).to_owned();
        let errors = conversion().excess(None, &object.to_string()).expect("an object");
        let mut fits = true;
        for (stored, read) in VERSIONS.iter().flat_map(|a| VERSIONS.map(|b| (a, b))) {
            let there = |object: &Value| convert(&convert(object, stored), read);
            prop_assert!(size_of_annotations(&there(&object)) <= MOST);
            prop_assert!(!errors.is_empty() || convert(&there(&object), &own) == object);
            fits &= size_of_annotations(&there(&slim)) + length <= MOST;
        }
        prop_assert_eq!(errors.is_empty(), fits, "{:?}", errors);
    }
}

/// A client that reads another version and writes it back would change the number otherwise.
#[test]
fn a_number_keeps_all_of_its_digits() {
    let text = "94.52706955539223";
    let number: Value = serde_json::from_str(text).expect("a number");
    assert_eq!(number.to_string(), text);
}
