use std::{
    collections::BTreeMap,
    net::IpAddr,
    panic,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::api::resource::Quantity,
};
use kube::{
    CustomResource, CustomResourceExt, KubeSchema,
    core::schema::{OptionalEnum, OptionalIntOrString, StructuralSchemaRewriter},
};
use schemars::{JsonSchema, generate::SchemaSettings, transform::AddNullable};
use serde::{Deserialize, Serialize};

use serde_json::{Map, Value, json};

use super::*;

#[allow(dead_code, reason = "the schemas of the types are tested")]
mod shapes {
    include!("tests/shapes.rs");
}
use shapes::{Amount, External, Shapes, Source, Untagged};

/// A spec with one field.
#[derive(JsonSchema, Deserialize, Serialize)]
#[schemars(transform = structural)]
struct Spec<T> {
    field: T,
}

/// The schema that kube makes of `T`, the type of a spec.
fn of_kube<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let generator = settings
        .with_transform(AddNullable::default())
        .with_transform(StructuralSchemaRewriter)
        .with_transform(OptionalEnum)
        .with_transform(OptionalIntOrString)
        .into_generator();
    serde_json::to_value(generator.into_root_schema_for::<T>()).expect("a schema is JSON")
}

/// The schema of a field of the type `T`.
fn field<T: JsonSchema>() -> Value {
    of_kube::<Spec<T>>()["properties"]["field"].take()
}

/// What the check says of a kind whose spec has `schema`.
fn faults(schema: Value) -> String {
    faults_of(with_spec(schema))
}

/// A kind whose spec has `schema`.
fn with_spec(schema: Value) -> Crd {
    typed(json!({"spec": {
        "names": {"kind": "Site"},
        "versions": [{
            "name": "v1",
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}},
        }],
    }}))
}

fn typed(mut crd: Value) -> Crd {
    for name in ["plural", "singular"] {
        crd["spec"]["names"][name] = json!("sites");
    }
    let definition: CustomResourceDefinition = serde_json::from_value(crd).expect("a CRD");
    definition.into()
}

fn faults_of(crd: Crd) -> String {
    let Err(faults) = check(&[crd]) else {
        return String::new();
    };
    let text = faults.to_string();
    let lines = text.strip_prefix("an API server would refuse the CRDs:\n  ");
    lines.expect("the summary").to_owned()
}

/// What the check says of a field of the type `T`.
fn refused<T: JsonSchema>() -> String {
    faults(of_kube::<Spec<T>>())
}

#[test]
fn each_shape_that_has_a_schema_gets_one() {
    assert_eq!(faults(of_kube::<Spec<Shapes>>()), "");
}

#[test]
fn a_tagged_enum_is_one_object_with_rules() {
    let schema = field::<Source>();
    let kind = &schema["properties"]["kind"];
    assert_eq!(kind["enum"], json!(["git", "inline", "newtype", "nothing"]));
    assert_eq!(kind["description"], "git: A repository.\n\ninline: A text.");
    assert_eq!(schema["required"], json!(["kind"]));
    let all = schema["x-kubernetes-validations"]
        .as_array()
        .expect("rules");
    let rules: Vec<String> = all
        .iter()
        .map(|rule| {
            format!(
                "{}: {}",
                rule["message"].as_str().unwrap(),
                rule["rule"].as_str().unwrap()
            )
        })
        .collect();
    let expected = [
        "text is required when kind is inline: self.kind != 'inline' || has(self.text)",
        "text is allowed only when kind is inline: self.kind == 'inline' || !has(self.text)",
        "url is required when kind is git or inline: !(self.kind in ['git', 'inline']) || has(self.url)",
        "in is required when kind is newtype: self.kind != 'newtype' || has(self.__in__)",
        "a-b is allowed only when kind is newtype: self.kind == 'newtype' || !has(self.a__dash__b)",
    ];
    for rule in expected {
        assert!(
            rules.iter().any(|known| known == rule),
            "{rule}: {rules:#?}"
        );
    }
    // serde fills it: the API server would write it into objects of other variants.
    assert_eq!(schema["properties"]["branch"], json!({"type": "string"}));
}

#[test]
fn a_rule_of_a_variant_may_also_hold_for_new_objects() {
    #[derive(KubeSchema, Deserialize, Serialize)]
    #[x_kube(validation = Rule::new("oldSelf.?url.orValue('x') != self.url").optional_old_self(true))]
    struct Git {
        url: String,
    }

    #[derive(JsonSchema, Deserialize, Serialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        Git(Git),
        Nothing {},
    }

    #[derive(JsonSchema, Deserialize, Serialize)]
    struct Flat {
        #[serde(flatten)]
        source: Option<Tagged>,
    }

    let cases = [
        (
            field::<Tagged>(),
            "self.kind != 'Git' || oldSelf.hasValue() && (oldSelf.value().kind != 'Git')",
        ),
        (
            field::<Flat>(),
            "!has(self.kind) || self.kind != 'Git' || oldSelf.hasValue() && \
             (!has(oldSelf.value().kind) || oldSelf.value().kind != 'Git')",
        ),
    ];
    for (schema, unless) in cases {
        assert_eq!(faults(schema.clone()), "");
        let rules = schema["x-kubernetes-validations"].to_string();
        let rule = format!("{unless} || (oldSelf.?url.orValue('x') != self.url)");
        assert!(rules.contains(&rule), "{rules}");
    }
}

#[test]
fn the_transform_changes_nothing_when_it_runs_again() {
    assert_eq!(
        field::<Spec<Shapes>>()["properties"]["field"],
        field::<Shapes>()
    );
}

#[test]
fn what_kube_takes_renders_as_before() {
    #[derive(JsonSchema)]
    struct Plain<T> {
        #[allow(dead_code, reason = "its schema is tested")]
        field: T,
    }

    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "its schema is tested")]
    enum External {
        /// A repository.
        Git {
            url: String,
        },
        Inline(Vec<String>),
        Nothing {},
    }

    fn assert_same<T: JsonSchema>() {
        assert_eq!(field::<T>(), of_kube::<Plain<T>>()["properties"]["field"]);
    }

    assert_same::<External>();
    assert_same::<Option<External>>();
    assert_same::<k8s_openapi::apimachinery::pkg::util::intstr::IntOrString>();
    assert_same::<shapes::Level>();
    assert_same::<Option<shapes::Level>>();
    assert_same::<Vec<Option<String>>>();
    assert_same::<std::collections::BTreeMap<String, i32>>();
    assert_same::<std::collections::BTreeSet<i64>>();
    assert_same::<k8s_openapi::api::core::v1::PodSpec>();
    assert_same::<Vec<k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition>>();
}

#[test]
fn what_has_no_schema_is_told_with_the_way_out() {
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "its schema is tested")]
    enum Mixed {
        None,
        Git { url: String },
    }
    #[derive(JsonSchema)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "its schema is tested")]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
    #[derive(JsonSchema)]
    #[serde(tag = "kind", content = "content")]
    #[allow(dead_code, reason = "its schema is tested")]
    enum Contents {
        Text(String),
        Number(i32),
    }
    #[derive(JsonSchema)]
    #[serde(tag = "kind")]
    #[allow(dead_code, reason = "its schema is tested")]
    enum Different {
        One { size: i32 },
        Other { size: String },
    }
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "its schema is tested")]
    struct Node {
        children: Vec<Node>,
    }
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "its schema is tested")]
    struct Parent {
        kind: String,
        #[serde(flatten)]
        source: Source,
    }
    #[derive(JsonSchema)]
    #[serde(tag = "kind")]
    #[allow(dead_code, reason = "its schema is tested")]
    enum Unreachable {
        One {
            #[serde(rename = "$x")]
            x: i32,
        },
        Other,
    }
    #[derive(JsonSchema)]
    #[serde(tag = "kind")]
    #[allow(dead_code, reason = "its schema is tested")]
    enum TaggedMap {
        Labels {
            #[serde(flatten)]
            labels: BTreeMap<String, Value>,
        },
        Other,
    }
    #[derive(JsonSchema)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "its schema is tested")]
    enum UntaggedMap {
        Inline(BTreeMap<String, String>),
        Ref { name: String },
    }
    #[derive(JsonSchema)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "its schema is tested")]
    enum OnlyMap {
        Inline(BTreeMap<String, String>),
    }
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "its schema is tested")]
    struct BesideTagged {
        #[serde(flatten)]
        source: Source,
        #[serde(flatten)]
        labels: BTreeMap<String, String>,
    }
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "its schema is tested")]
    struct BesideExternal {
        name: String,
        #[serde(flatten)]
        labels: BTreeMap<String, Value>,
        #[serde(flatten)]
        external: External,
    }
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "its schema is tested")]
    struct OnlyLabels {
        #[serde(flatten)]
        labels: BTreeMap<String, Value>,
    }
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "its schema is tested")]
    struct BesideUntagged {
        name: String,
        #[serde(flatten)]
        untagged: Untagged,
    }
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "its schema is tested")]
    struct BesideBoth {
        name: String,
        #[serde(flatten)]
        external: External,
        #[serde(flatten)]
        untagged: Untagged,
    }
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "its schema is tested")]
    enum OneVariant {
        #[serde(rename = "name")]
        Name { length: i32 },
    }
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "its schema is tested")]
    struct BesideOneVariant {
        name: String,
        #[serde(flatten)]
        one: OneVariant,
    }
    #[derive(JsonSchema)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "its schema is tested")]
    enum UntaggedDifferent {
        One { size: i32 },
        Other { size: String },
    }
    #[derive(KubeSchema)]
    #[x_kube(validation = "self.size > 0")]
    #[allow(dead_code, reason = "its schema is tested")]
    struct WithRules {
        size: i32,
    }
    #[derive(JsonSchema)]
    #[serde(tag = "kind", content = "content")]
    #[allow(dead_code, reason = "its schema is tested")]
    enum ContentWithRules {
        One(WithRules),
        Other { name: String },
    }

    #[derive(JsonSchema)]
    #[serde(tag = "kind")]
    #[allow(dead_code, reason = "its schema is tested")]
    enum PartlyTagged {
        Low {
            a: String,
        },
        High {
            b: String,
        },
        #[serde(untagged)]
        Other {
            c: String,
        },
    }
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "its schema is tested")]
    enum EmptyTuple {
        A(),
        B {},
    }
    #[derive(JsonSchema)]
    enum Empty {}

    let told = [
        (
            refused::<PartlyTagged>(),
            "spec.field",
            "the tag `kind` tells variants apart, but another variant has no tag: remove `untagged`",
        ),
        (
            refused::<EmptyTuple>(),
            "spec.field.A",
            "a variant such as `A()` has no schema: write `A {}`",
        ),
        (
            refused::<Empty>(),
            "spec.field",
            "an enum without variants has no value",
        ),
        (
            refused::<BTreeMap<String, Value>>(),
            "spec.field{}",
            "make it a struct",
        ),
        (
            refused::<Vec<Map<String, Value>>>(),
            "spec.field[]{}",
            "make it a struct",
        ),
        (refused::<OnlyLabels>(), "spec.field{}", "make it a struct"),
        (
            refused::<BesideTagged>(),
            "spec.field",
            "a map is flattened beside an enum, so that the API server would drop its keys: make the map a field",
        ),
        (
            refused::<BesideExternal>(),
            "spec.field",
            "a map is flattened beside an enum",
        ),
        (
            refused::<TaggedMap>(),
            "spec.field",
            "the variant `Labels` has more than fields of its own",
        ),
        (
            refused::<UntaggedMap>(),
            "spec.field",
            "make the map a field of the variant",
        ),
        (
            refused::<OnlyMap>(),
            "spec.field",
            "make the map a field of the variant",
        ),
        (
            refused::<BesideUntagged>(),
            "spec.field",
            "`name` is in the object that has the enum and in variant 2: give one of them another name",
        ),
        (
            refused::<BesideBoth>(),
            "spec.field",
            "`name` is in the object that has the enum and in variant 2",
        ),
        (
            refused::<BesideOneVariant>(),
            "spec.field",
            "`name` is in the object that has the enum and in variant 1",
        ),
        (
            refused::<UntaggedDifferent>(),
            "spec.field",
            "`size` is in variant 1 and in variant 2, with different types",
        ),
        (
            refused::<ContentWithRules>(),
            "spec.field",
            "the content of the variant `One` has rules of its own",
        ),
        (
            refused::<Mixed>(),
            "spec.field",
            r#"add `#[serde(tag = "kind")]`"#,
        ),
        (
            refused::<OneOrMany>(),
            "spec.field",
            "untagged enum of values of different types",
        ),
        (refused::<Contents>(), "spec.field", "or both structs"),
        (
            refused::<Different>(),
            "spec.field",
            "`size` is in variant `One` and in variant `Other`",
        ),
        (
            refused::<Vec<(String, i32)>>(),
            "spec.field[]",
            "a tuple has no schema: make it a struct",
        ),
        (
            refused::<Node>(),
            "spec.field.children[]",
            "refer to the other value by name",
        ),
        (
            refused::<serde_json::Value>(),
            "spec.field",
            "make it a struct",
        ),
        (
            refused::<Vec<serde_json::Value>>(),
            "spec.field[]",
            "make it a struct",
        ),
        (refused::<()>(), "spec.field", "use a `bool`"),
        (
            refused::<Parent>(),
            "spec.field",
            "`kind` is in the object that has the enum",
        ),
        (
            refused::<Unreachable>(),
            "spec.field",
            "no CEL rule can name the field `$x`",
        ),
    ];
    for (faults, path, way_out) in told {
        assert!(
            faults.starts_with(&format!("Site v1: {path}: ")),
            "{path}: {faults}"
        );
        assert!(faults.contains(way_out), "{way_out}: {faults}");
        assert_eq!(faults.lines().count(), 1, "{faults}");
    }
}

mod named {
    use std::{collections::BTreeMap, time::Duration};

    use kube::CustomResource;

    use super::*;

    #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
    #[kube(
        group = "example.com",
        version = "v1",
        kind = "Site",
        status = "SiteStatus"
    )]
    #[schemars(transform = structural)]
    pub struct SiteSpec {
        steps: Vec<Step>,
        source: Option<Mixed>,
        by_name: BTreeMap<String, Option<Mixed>>,
        by_number: BTreeMap<u8, Box<Node>>,
        #[x_kube(validation = "self.missing")]
        checked: Settings,
        without_name: WithoutName,
        pair: (u8, u8),
    }

    #[derive(JsonSchema, Clone, Debug, Deserialize, Serialize)]
    #[schemars(transform = structural)]
    pub struct SiteStatus {
        pair: (u8, u8),
    }

    #[derive(JsonSchema, Clone, Debug, Deserialize, Serialize)]
    struct Step {
        range: Option<(u16, u16)>,
        from: Origin,
        timeout: Duration,
    }

    #[derive(JsonSchema, Clone, Debug, Deserialize, Serialize)]
    #[serde(rename_all = "camelCase")]
    enum Origin {
        Git { url: serde_json::Value },
        Copy(Settings),
    }

    #[derive(JsonSchema, Clone, Debug, Deserialize, Serialize)]
    struct Settings {
        #[schemars(regex(pattern = "("))]
        name: String,
    }

    #[derive(JsonSchema, Clone, Debug, Deserialize, Serialize)]
    enum Mixed {
        None,
        Git { url: String },
    }

    #[derive(JsonSchema, Clone, Debug, Deserialize, Serialize)]
    struct Node {
        children: Vec<Node>,
    }

    #[derive(KubeSchema, Clone, Debug, Deserialize, Serialize)]
    struct WithoutName {
        pair: (u8, u8),
    }

    #[derive(CustomResource, JsonSchema, Clone, Debug, Deserialize, Serialize)]
    #[kube(group = "example.com", version = "v1", kind = "Plain")]
    pub struct PlainSpec {
        source: Source,
    }
}

#[test]
fn a_message_names_the_rust_type_if_schemars_keeps_its_name() {
    let told = faults_of(named::Site::typed_crd());
    let expected = [
        "spec.by_name{} (Rust type `Mixed`): an enum whose variants",
        "spec.by_number{}.children[] (Rust type `Node`): a type that contains itself",
        "spec.checked.name (in the Rust type `Settings`): the pattern",
        "spec.checked (Rust type `Settings`): the CEL rule `self.missing`",
        "spec.pair: a tuple",
        "spec.source (Rust type `Mixed`): an enum whose variants",
        "spec.steps[].from.copy.name (in the Rust type `Settings`): the pattern",
        "spec.steps[].from.git.url (in the Rust type `Origin`): a type that takes any value",
        "spec.steps[].range (in the Rust type `Step`): a tuple",
        "spec.without_name.pair: a tuple",
        "status.pair (in the Rust type `SiteStatus`): a tuple",
    ];
    assert_eq!(told.lines().count(), expected.len(), "{told}");
    for (line, expected) in told.lines().zip(expected) {
        let line = line.trim_start();
        assert!(line.starts_with(&format!("Site v1: {expected}")), "{line}");
    }

    let without_types = Crd::from(named::Site::typed_crd().definition);
    let told = faults_of(without_types);
    assert_eq!(told.lines().count(), expected.len(), "{told}");
    assert!(!told.contains("Rust type"), "{told}");
}

#[test]
fn a_kind_that_makes_kube_panic_is_named() {
    let faults = collect(|| Ok::<_, String>(vec![named::Plain::typed_crd()])).err();
    let told = faults.expect("a fault").to_string();
    let expected = "kube cannot make a schema of `kube_manager::schema::tests::named::Plain`: put `#[schemars(transform";
    assert!(told.starts_with(expected), "{told}");
}

/// The hook is one for all threads of the process, so a test of another thread must keep its message.
#[test]
fn a_panic_of_another_thread_has_its_message() {
    static SHOWN: AtomicUsize = AtomicUsize::new(0);
    const MESSAGE: &str = "a failed test of another thread";

    let hook = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if panic.payload().downcast_ref() == Some(&MESSAGE.to_owned()) {
            SHOWN.fetch_add(1, Ordering::Relaxed);
        } else {
            hook(panic);
        }
    }));
    let fail = || thread::spawn(|| panic!("{MESSAGE}")).join();
    let made = collect(|| {
        assert!(fail().is_err());
        collect(|| Err::<(), _>("no CRDs")).expect_err("a failed make");
        panic!("a message of kube");
        #[allow(unreachable_code, reason = "names the type")]
        Ok::<(), String>(())
    });
    assert!(made.is_err());
    assert!(fail().is_err());
    assert_eq!(SHOWN.load(Ordering::Relaxed), 2);
}

#[test]
fn an_author_can_open_each_place_that_has_no_schema() {
    #[derive(JsonSchema)]
    #[schemars(transform = structural)]
    #[allow(dead_code, reason = "its schema is tested")]
    struct Open {
        #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
        value: serde_json::Value,
        /// A pair.
        #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
        pair: (String, i32),
        #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
        values: Vec<serde_json::Value>,
        #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
        children: Vec<Open>,
        #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
        by_name: BTreeMap<String, Value>,
        #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
        mixed: Mixed,
        #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
        unit: (),
    }
    #[derive(JsonSchema)]
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    #[allow(dead_code, reason = "its schema is tested")]
    struct Labeled {
        #[serde(flatten)]
        source: Source,
        #[serde(flatten)]
        labels: BTreeMap<String, String>,
    }
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "its schema is tested")]
    enum Mixed {
        None,
        Git { url: String },
    }

    let schema = of_kube::<Open>();
    assert_eq!(faults(schema.clone()), "");
    let open = json!({"x-kubernetes-preserve-unknown-fields": true});
    for name in ["value", "values", "children", "by_name", "mixed", "unit"] {
        assert_eq!(schema["properties"][name], open, "{name}");
    }
    assert_eq!(schema["properties"]["pair"]["description"], "A pair.");

    // An open object keeps the keys of a flattened map, and needs no mark.
    assert_eq!(refused::<Labeled>(), "");
    let schema = field::<Labeled>();
    assert_eq!(schema["x-kubernetes-preserve-unknown-fields"], true);
    assert!(schema["properties"]["kind"].is_object(), "{schema}");
}

#[test]
fn integers_have_the_range_of_their_type() {
    let expected = [
        (
            field::<u8>(),
            json!({"type": "integer", "minimum": 0, "maximum": 255}),
        ),
        (
            field::<u32>(),
            json!({"type": "integer", "minimum": 0, "maximum": u32::MAX}),
        ),
        (
            field::<u64>(),
            json!({"type": "integer", "minimum": 0, "format": "int64"}),
        ),
        (
            field::<usize>(),
            json!({"type": "integer", "minimum": 0, "format": "int64"}),
        ),
        (
            field::<i128>(),
            json!({"type": "integer", "format": "int64"}),
        ),
        (
            field::<i32>(),
            json!({"type": "integer", "format": "int32"}),
        ),
    ];
    for (schema, expected) in expected {
        assert_eq!(schema, expected);
    }
}

#[test]
fn a_stricter_bound_of_the_author_stays_and_a_wider_one_goes() {
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "its schema is tested")]
    struct Stricter(#[schemars(range(min = 1, max = 100))] u8);
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "its schema is tested")]
    struct Wider(#[schemars(range(min = -1, max = 300))] u8);
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "its schema is tested")]
    struct Unsigned(#[schemars(range(min = -1, max = 300))] u64);

    let expected = [
        (
            field::<Stricter>(),
            json!({"type": "integer", "minimum": 1, "maximum": 100}),
        ),
        (
            field::<Wider>(),
            json!({"type": "integer", "minimum": 0, "maximum": 255}),
        ),
        (
            field::<Unsigned>(),
            json!({"type": "integer", "minimum": 0, "maximum": 300, "format": "int64"}),
        ),
    ];
    for (schema, expected) in expected {
        assert_eq!(schema, expected);
    }
}

#[test]
fn a_union_of_numbers_has_the_widest_range() {
    #[derive(JsonSchema)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "its schema is tested")]
    enum Numbers {
        Signed(i32),
        Small(u8),
    }
    #[derive(JsonSchema)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "its schema is tested")]
    enum Fraction {
        Whole(i32),
        Part(f64),
    }

    let (minimum, maximum) = (i32::MIN, i32::MAX);
    assert_eq!(
        field::<Amount>(),
        json!({"x-kubernetes-int-or-string": true, "minimum": minimum, "maximum": maximum})
    );
    assert_eq!(
        field::<Numbers>(),
        json!({"type": "integer", "minimum": minimum, "maximum": maximum})
    );
    assert_eq!(field::<Fraction>(), json!({"type": "number"}));
}

#[test]
fn variants_have_no_defaults_and_texts_no_unknown_formats() {
    let branch = &field::<Untagged>()["properties"]["branch"];
    assert_eq!(branch, &json!({"type": "string"}));
    assert_eq!(field::<IpAddr>(), json!({"type": "string"}));
}

#[test]
fn names_and_values_in_rules_are_escaped() {
    let names = [
        ("git-url", Some("git__dash__url")),
        ("in", Some("__in__")),
        ("namespace", Some("__namespace__")),
        ("a.b/c", Some("a__dot__b__slash__c")),
        ("a__b", Some("a__underscores__b")),
        ("$x", None),
        ("1x", None),
    ];
    for (name, escaped) in names {
        assert_eq!(cel::field(name).as_deref(), escaped, "{name}");
    }
    assert_eq!(cel::text(r"it's a \"), r"'it\'s a \\'");
    assert_eq!(cel::read_text(&cel::text("it's\n\\d")), "it's\n\\d");
}

#[test]
fn the_check_says_what_an_api_server_refuses() {
    let list = |schema: Value| json!({"type": "object", "properties": {"list": schema}});
    let item = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let cases = [
        (
            json!({"properties": {}}),
            "spec: the schema has no type: put `#[schemars(transform",
        ),
        (
            list(json!({"type": "array"})),
            "spec.list: the items of the list have no schema: put `#[schemars(transform",
        ),
        (
            list(json!({
                "type": "array",
                "items": item,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            })),
            "spec.list: the key `name` of the list is neither required nor has a default",
        ),
        (
            list(json!({
                "type": "array",
                "items": item,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["id"],
            })),
            "spec.list: the items have no field `id`",
        ),
        (
            list(json!({"type": "array", "items": item, "x-kubernetes-list-type": "set"})),
            "spec.list: the items of a set are texts, numbers or bools",
        ),
        (
            list(json!({"type": "integer", "minimum": 1, "default": 0})),
            "spec.list: the default does not fit the schema: 0 is less than the minimum",
        ),
        (
            json!({"type": "object", "properties": {}, "oneOf": [{"type": "object"}]}),
            "spec: a variant of the enum sets `type`",
        ),
        (
            json!({
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "additionalProperties": {"type": "string"},
            }),
            "spec: an object has either fields or the keys of a map",
        ),
    ];
    for (schema, expected) in cases {
        let faults = faults(schema);
        assert!(
            faults.starts_with(&format!("Site v1: {expected}")),
            "{expected}: {faults}"
        );
    }
}

#[test]
fn a_default_fits_the_whole_schema_but_for_rules() {
    let required = |name: &str| json!({"required": [name]});
    let object = |default: Value, key: &str, parts: Value| {
        let fields = json!({"a": {"type": "integer"}, "b": {"type": "string"}});
        json!({"type": "object", "properties": fields, "default": default, key: parts})
    };
    let text = |default: &str, key: &str, value: &str| json!({"type": "string", "default": default, key: value});
    let lower = "^[a-z]+$";
    let time = "2026-02-03T04:05:06Z";
    let either = json!([required("a"), required("b")]);
    let level = |default: Value| {
        let fields = json!({
            "level": {"type": "string", "enum": ["low"], "nullable": true},
            "text": {"type": "string", "nullable": true},
        });
        json!({"type": "object", "properties": fields, "default": default})
    };
    let at_least_2 = json!([{"properties": {"a": {"minimum": 2}}}]);
    let cases = [
        (
            text("", "pattern", lower),
            "`` does not match the pattern `^[a-z]+$`",
        ),
        (text("", "pattern", "^[a-z]*$"), ""),
        (
            text("Upper", "pattern", lower),
            "`Upper` does not match the pattern `^[a-z]+$`",
        ),
        (text("lower", "pattern", lower), ""),
        (text("", "format", "date-time"), "is no date-time"),
        (text("", "format", "password"), ""),
        (text("today", "format", "date"), "`today` is no date"),
        (text("2026-02-03", "format", "date"), ""),
        (
            text("2026-02-03", "format", "date-time"),
            "`2026-02-03` is no date-time",
        ),
        (text(time, "format", "date-time"), ""),
        (text("a", "format", "byte"), "`a` is no byte"),
        (text("YQ==", "format", "byte"), ""),
        (
            object(json!({}), "anyOf", either.clone()),
            "fits no variant",
        ),
        (object(json!({"a": 1}), "anyOf", either.clone()), ""),
        (
            object(json!({"a": 1, "b": ""}), "anyOf", either.clone()),
            "",
        ),
        (
            object(json!({"a": 1, "b": ""}), "oneOf", either),
            "fits several variants",
        ),
        (
            object(json!({"a": 1, "b": ""}), "allOf", at_least_2.clone()),
            "less than the minimum",
        ),
        (object(json!({"a": 2, "b": ""}), "allOf", at_least_2), ""),
        (
            object(json!({"a": 1}), "not", required("a")),
            "fits the schema in `not`",
        ),
        (object(json!({"b": ""}), "not", required("a")), ""),
        (
            json!({"type": "string", "default": "a", "not": {"pattern": "b"}}),
            "",
        ),
        // The API server does not know this format.
        (
            json!({"type": "string", "default": "a", "not": {"format": "odd"}}),
            "fits the schema in `not`",
        ),
        (
            json!({"type": "string", "default": "a", "not": {"format": "email"}}),
            "",
        ),
        (
            json!({"x-kubernetes-int-or-string": true, "default": {"a": "x"}}),
            "a is not in the schema",
        ),
        (
            json!({"type": "number", "multipleOf": 0.1, "default": 0.25}),
            "is no multiple of 0.1",
        ),
        (
            json!({"type": "number", "multipleOf": 0.1, "default": 0.3}),
            "",
        ),
        (
            json!({"type": "integer", "format": "int32", "default": 2_147_483_648_i64}),
            "greater than the maximum",
        ),
        (
            json!({"type": "integer", "default": u64::MAX}),
            "18446744073709551615 is no integer",
        ),
        (json!({"type": "integer", "default": i64::MAX}), ""),
        (level(json!({"level": null})), "null is no value of an enum"),
        (level(json!({"level": "low"})), ""),
        (level(json!({"text": null})), ""),
    ];
    for (schema, expected) in cases {
        let told = faults(schema.clone());
        assert_eq!(told.is_empty(), expected.is_empty(), "{schema}: {told}");
        assert!(told.contains(expected), "{schema}: {told}");
    }
}

#[test]
fn a_pattern_matches_an_empty_text_or_not() {
    let matching = [
        "",
        "a*",
        "^$",
        "|a",
        "a|",
        "(a|b*)c?",
        "(?i)",
        "(?:a){0,2}",
        "()",
        "(a?)+",
        r"\Ab?\z",
        r"\Q\E",
        "a*?",
    ];
    for pattern in matching {
        assert_eq!(pattern::check(pattern), Ok(true), "{pattern}");
    }
    let others = [
        "a", "^a$", "a*b", "a|b", "(a|)b", "(a|b)+", "[a-z]+", r"\d", r"\b", r"\Qa\E", "a{2}",
        "(?i)a",
    ];
    for pattern in others {
        assert_eq!(pattern::check(pattern), Ok(false), "{pattern}");
    }
}

#[test]
fn what_selects_and_shows_fields_is_checked() {
    let told = |paths: &[&str], format: &str| {
        let paths: Vec<Value> = paths.iter().map(|path| json!({"jsonPath": path})).collect();
        let mut fields = json!({
            "size": {"type": "integer"},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "tags": {"type": "array", "items": {"type": "string"}},
        });
        for letter in 'a'..='i' {
            fields[letter.to_string()] = json!({"type": "string"});
        }
        faults_of(typed(json!({"spec": {
            "names": {"kind": "Site"},
            "versions": [{
                "name": "v1",
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {"spec": {"type": "object", "properties": fields}},
                }},
                "selectableFields": paths,
                "additionalPrinterColumns": [
                    {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "format": format},
                ],
            }],
        }})))
    };

    let nine = [
        ".spec.a", ".spec.b", ".spec.c", ".spec.d", ".spec.e", ".spec.f", ".spec.g", ".spec.h",
        ".spec.i",
    ];
    let cases: [(&[&str], &str); 9] = [
        (&[".spec.size", ".spec.labels.app", ".spec.a"], ""),
        (&nine[..8], ""),
        (
            &[".spec.missing"],
            "the selectable field `.spec.missing` leads to no field",
        ),
        (&["spec.size"], "`spec.size` leads to no field"),
        (&[".spec.labels['app']"], "leads to no field"),
        (&[".spec.tags"], "`.spec.tags` is no text, integer or bool"),
        (&[".metadata.name"], "`.metadata.name` is in the metadata"),
        (&[".spec.a", ".spec.a"], "`.spec.a` is named twice"),
        (&nine, "at most 8 selectable fields"),
    ];
    for (paths, expected) in cases {
        let faults = told(paths, "int32");
        assert_eq!(
            faults.is_empty(),
            expected.is_empty(),
            "{paths:?}: {faults}"
        );
        assert!(faults.contains(expected), "{paths:?}: {faults}");
    }
    let faults = told(&[], "odd");
    assert!(
        faults.contains("the column Size has the format `odd`: it must be byte, date"),
        "{faults}"
    );
}

#[test]
fn the_paths_of_scale_are_checked() {
    let told = |spec: &str, status: &str, label: &str| {
        let count = json!({"type": "object", "properties": {
            "count": {"type": "integer"},
            "counts": {"type": "array", "items": {"type": "integer"}},
        }});
        let crd = || {
            typed(json!({"spec": {"names": {"kind": "Site"}, "versions": [{
                "name": "v1",
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {"spec": count, "status": count},
                }},
                "subresources": {"scale": {
                    "specReplicasPath": spec,
                    "statusReplicasPath": status,
                    "labelSelectorPath": label,
                }},
            }]}}))
        };
        check(&[crd()]).map_or_else(|_| faults_of(crd()), |warnings| warnings.concat())
    };
    let (spec, status) = (".spec.count", ".status.count");
    let cases = [
        (told(spec, status, ""), ""),
        (told(spec, status, spec), ""),
        (told(spec, status, status), ""),
        (
            told(status, status, ""),
            "Site v1: the specReplicasPath `.status.count` must begin with `.spec.`",
        ),
        (
            told("spec.count", status, ""),
            "Site v1: the specReplicasPath `spec.count` must begin with `.spec.`",
        ),
        (
            told(spec, spec, ""),
            "Site v1: the statusReplicasPath `.spec.count` must begin with `.status.`",
        ),
        (
            told(spec, status, ".metadata.name"),
            "Site v1: the labelSelectorPath `.metadata.name` must begin with `.spec.` or `.status.`",
        ),
        // The API server takes these, and finds no number there.
        (
            told(".spec.counts[0]", status, ""),
            "Site v1: specReplicasPath: the path `.spec.counts[0]` leads to no field",
        ),
        (
            told(spec, ".status.missing", ""),
            "Site v1: statusReplicasPath: the path `.status.missing` leads to no field",
        ),
    ];
    for (told, expected) in cases {
        assert_eq!(told, expected);
    }
}

#[test]
fn a_key_of_a_list_may_have_an_empty_default() {
    let name = json!({"type": "string", "default": ""});
    let list = json!({
        "type": "array",
        "items": {"type": "object", "properties": {"name": name}},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    });
    assert_eq!(
        faults(json!({"type": "object", "properties": {"list": list}})),
        ""
    );
}

#[test]
fn a_type_that_overflows_the_stack_is_told_with_the_way_out() {
    #[derive(KubeSchema, Serialize)]
    #[allow(dead_code, reason = "its schema is tested")]
    struct Node {
        children: Vec<Node>,
    }

    let faults = collect(|| Ok::<_, String>(of_kube::<Spec<Node>>())).unwrap_err();
    assert!(
        faults.to_string().contains("derive `JsonSchema`"),
        "{faults}"
    );
}

#[test]
fn a_status_without_a_subresource_is_marked_in_its_type() {
    #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
    #[kube(
        group = "example.com",
        version = "v1",
        kind = "Site",
        status = "SiteStatus",
        scale(
            spec_replicas_path = ".spec.replicas",
            status_replicas_path = ".status.replicas"
        )
    )]
    #[schemars(transform = structural)]
    struct SiteSpec {
        replicas: i64,
    }

    // kube moves the schema of such a status.
    #[derive(KubeSchema, Clone, Debug, Deserialize, Serialize)]
    #[schemars(transform = structural)]
    #[schemars(transform = without_subresource)]
    #[schemars(extend("anyOf" = [{"required": ["replicas"]}]))]
    struct SiteStatus {
        #[x_kube(validation = Rule::new("self >= 0"))]
        replicas: Option<i64>,
    }

    #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
    #[kube(
        group = "example.com",
        version = "v1",
        kind = "Shop",
        status = "ShopStatus"
    )]
    #[schemars(transform = structural)]
    struct ShopSpec {}

    #[derive(JsonSchema, Clone, Debug, Deserialize, Serialize)]
    #[schemars(extend("nullable" = true))]
    #[schemars(transform = without_subresource)]
    struct ShopStatus {}

    let [site, shop] = [Site::crd(), Shop::crd()].map(|crd| {
        let version = json!(Crd::from(crd).definition.spec.versions[0]);
        let status = version["schema"]["openAPIV3Schema"]["properties"]["status"].clone();
        (status, version["subresources"].clone())
    });
    let scale =
        json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"});
    assert_eq!(site.1, json!({"scale": scale}));
    let (mut plain, status) = (Site::crd().spec.versions.remove(0), site.0);
    let schema = plain
        .schema
        .as_mut()
        .and_then(|schema| schema.open_api_v3_schema.as_mut());
    let fields = schema.and_then(|schema| schema.properties.as_mut());
    let mut of_kube = json!(fields.and_then(|fields| fields.remove("status")));
    let of_kube = of_kube.as_object_mut().expect("an object");
    for added in ["id", "nullable"] {
        assert!(of_kube.remove(added).is_some(), "{added}");
    }
    assert_eq!(status.as_object(), Some(&*of_kube));
    assert_eq!(
        shop,
        (json!({"type": "object", "nullable": true}), Value::Null)
    );
}

#[test]
fn a_kind_that_is_a_map_is_open() {
    let of_map = |values: Value| {
        let root = json!({"type": "object", "additionalProperties": values});
        typed(json!({"spec": {"names": {"kind": "Site"}, "versions": [{
            "name": "v1",
            "schema": {"openAPIV3Schema": root},
        }]}}))
    };
    let open = of_map(true.into());
    let schema = json!(open.definition.spec.versions[0].schema);
    assert_eq!(
        schema["openAPIV3Schema"],
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
    );
    assert_eq!(faults_of(open), "");
    assert_eq!(
        faults_of(of_map(json!({"type": "string"}))),
        "Site v1: a kind has fields and is no map: `additionalProperties` cannot be set"
    );
}

#[test]
fn crds_are_collected() {
    assert!(collect(|| Ok::<_, String>(of_kube::<Spec<Shapes>>())).is_ok());
}

#[test]
fn a_rule_that_does_not_compile_is_refused() {
    let cases = [
        ("self.size >= 1", ""),
        (
            "has(self.size) && self.tags.all(tag, tag.startsWith('a'))",
            "",
        ),
        ("self.__in__ == oldSelf.__in__", ""),
        ("self.siz >= 1", "`self` has no field `siz`"),
        ("self.in == 'a'", "`in` is not expected there"),
        ("size >= 1", "`size` is no variable: the value is `self`"),
        ("self.size >= ", "it is not complete"),
        ("(self.size >= 1", "it is not complete"),
        ("self.size = 1", "`=` is not expected there"),
        ("self.__in__ == 'a", "a text has no end"),
        (
            r"self.__in__.matches('\d')",
            r"`\d` is no escape in a text: write `\\d`",
        ),
        (
            "self.size > 'a'",
            "`>` does not take values of the types int and string",
        ),
        ("self.size", "its result is of the type int, and not bool"),
        (
            "self.tags.startsWith('a')",
            "there is no function `list.startsWith`",
        ),
        (
            "self.__in__.startsWith(1)",
            "`string.startsWith` does not take (int)",
        ),
        (
            "!self.size",
            "`!` needs a bool, and not a value of the type int",
        ),
        (
            "self.tags[0].a",
            "a value of the type string has no field `a`",
        ),
        ("has(self)", "`has` needs a field, as in `has(self.name)`"),
        (
            "['a', 1] == self.tags",
            "values of two types: string and int",
        ),
        (
            "self.tags.all(tag, tag > 1)",
            "`>` does not take values of the types string and int",
        ),
        (
            "self.?size.orValue('a') == 1",
            "`orValue` of an optional int does not take a value of the type string",
        ),
        (
            "self.size > 1 ? true : 'a'",
            "`?` has results of two types: bool and string",
        ),
        (
            "self.tags.map(tag, tag.size()).sum() == size(self.tags)",
            "",
        ),
        (
            "'%s-%d'.format([self.__in__, self.size]) == self.__in__",
            "",
        ),
        ("'%s'.format([[1, 'a'].size() > 1 ? ['a'] : []]) == 'a'", ""),
        (
            "'%s'.format([1, 'a']) == 'a' && [1, 'a'].size() > 1",
            "values of two types: int and string",
        ),
        (
            "[self.port, 1].size() > 1",
            "values of two types: dyn and int",
        ),
        ("[self.port, self.port].size() > 1", ""),
        (
            "{'a': 1, 'b': self.port}.size() > 1",
            "values of two types: int and dyn",
        ),
        (
            "[[1], [dyn(1)]].size() > 1",
            "values of two types: list and list",
        ),
        ("[[], [1]].size() > 1", ""),
        (
            "[null, self].size() > 1",
            "values of two types: null and object",
        ),
        ("(has(self.size) ? 1 : self.port) == 'a'", ""),
        (
            "has(self.size) ? true : self.port",
            "its result is of the type dyn, and not bool",
        ),
        ("sign(quantity(self.__in__)) == 1", ""),
        (
            "quantity(self.__in__).sign() == 1",
            "there is no function `any.sign`",
        ),
        ("timestamp('2026-01-01T00:00:00Z').getFullYear() > 2000", ""),
    ];
    for (rule, expected) in cases {
        let told = faults(json!({
            "type": "object",
            "properties": {
                "in": {"type": "string"},
                "port": {"x-kubernetes-int-or-string": true},
                "size": {"type": "integer"},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "x-kubernetes-validations": [{"rule": rule}],
        }));
        assert_eq!(told.is_empty(), expected.is_empty(), "{rule}: {told}");
        assert!(told.contains(expected), "{rule}: {told}");
    }
}

#[test]
fn a_rule_cannot_compare_items_of_a_list_with_those_before_an_update() {
    let list = |list_type: &str| {
        json!({"type": "object", "properties": {"list": {
            "type": "array",
            "x-kubernetes-list-type": list_type,
            "x-kubernetes-list-map-keys": if list_type == "map" { json!(["name"]) } else { json!([]) },
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}},
                "required": ["name"],
                "x-kubernetes-validations": [{"rule": "self == oldSelf"}],
            },
        }}})
    };
    assert_eq!(faults(list("map")), "");
    assert!(faults(list("atomic")).contains("`oldSelf` is not known inside of a list"));
    let map = json!({"type": "object", "properties": {"map": {
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "name": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
        },
    }}});
    assert_eq!(faults(map), "");
}

#[test]
fn a_pattern_that_does_not_compile_is_refused() {
    let cases = [
        ("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", ""),
        ("^(?!a)b", "the API server has no look-around"),
        (r"(a)\1", "the API server has no backreferences"),
        ("(a", "`(` is not closed"),
        ("[a", "`[` is not closed"),
        ("a**", "`*` has nothing to repeat"),
        (
            r"^([a-z0-9]{1,63}\.){1,20}$",
            "`{1,20}` must ask for at most 1000 repetitions",
        ),
        ("((a{10}b){10}c){10}", ""),
        ("(a{2}|b{501}){2}", "`{2}` must ask for"),
        ("(a{500}){0,}", ""),
        ("(a{33}){31,}", "`{31,}` must ask for"),
        ("((a{500}){0}){500}", ""),
        ("(a{500}b{500})+", ""),
        ("a{1001}", "`{1001}` must ask for"),
        (r"\x{10FFFF}\x{2014}?\x{41}{2}", ""),
        (r"\x{110000}", r"`\x` needs two digits"),
        (r"\x{4", r"`\x` needs two digits"),
        (r"\x+4", r"`\x` needs two digits"),
        (r"\p{Greek}\pL[\P{^Lu}]\p{Any}", ""),
        (r"\p{Foo}", r"`\p{Foo}` is unknown"),
        (r"[\pX]", r"`\p{X}` is unknown"),
        (r"\p{L", r"`\p{}` is unknown"),
        (r"[\x{41}-\x{5a}\.-z-a\t-\r\060-9]", ""),
        (r"[\x5A-C]", "is empty"),
    ];
    for (pattern, expected) in cases {
        let told = faults(json!({"type": "string", "pattern": pattern}));
        assert_eq!(told.is_empty(), expected.is_empty(), "{pattern}: {told}");
        assert!(told.contains(expected), "{pattern}: {told}");
    }
}

#[test]
fn what_users_may_not_expect_is_a_warning() {
    let crd = |spec: Value, path: &str| {
        json!({"spec": {
            "names": {"kind": "Site"},
            "versions": [{
                "name": "v1",
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
                "additionalPrinterColumns": [{"name": "Size", "type": "string", "jsonPath": path}],
            }],
        }})
    };
    let size = json!({"type": "object", "properties": {"size": {"type": "string"}}});
    let mut open = size.clone();
    open["x-kubernetes-preserve-unknown-fields"] = true.into();
    let merged = |list_type: &str, items: Value| {
        let fields = json!({"id": {"type": "integer"}, "text": {"type": "string"}});
        let mut list = json!({
            "type": "array",
            "items": {"type": "string"},
            "x-kubernetes-list-type": list_type,
        });
        if list_type == "map" {
            list["items"] = json!({"type": "object", "properties": fields, "required": ["id"]});
            list["x-kubernetes-list-map-keys"] = json!(["id"]);
        }
        json!({"type": "object", "properties": {"list": list}, "default": {"list": items}})
    };
    let text = "a".repeat(300_000);
    let list = json!({"type": "array", "items": {
        "type": "array",
        "items": {"type": "string"},
        "x-kubernetes-validations": [{"rule": "self.all(item, item != '')"}],
    }});
    let cases = [
        (
            crd(field::<Duration>(), ".spec"),
            "spec: users write `std::time::Duration` as seconds and nanoseconds",
        ),
        (crd(size.clone(), ".spec.size"), ""),
        (
            crd(size.clone(), ".spec.sizes"),
            "column Size: the path `.spec.sizes` leads to no field",
        ),
        (crd(size.clone(), ".metadata.labels.size"), ""),
        (crd(open, ".spec.sizes"), ""),
        (crd(size.clone(), r#".spec.list[?(@.type=="A]")].a\[b"#), ""),
        (
            crd(size.clone(), r#".spec.list[?(@.type=="A")"#),
            "column Size: the path `.spec.list[?(@.type==\"A\")` has a bracket or a quote that is not closed",
        ),
        (crd(size.clone(), ".spec.list[?(@.type=='A)]"), "not closed"),
        (crd(size.clone(), ".spec.list["), "not closed"),
        (crd(size, ".spec.list]"), "not closed"),
        (
            crd(json!({"type": "integer", "maximum": u64::MAX}), ".spec"),
            "spec: `maximum` is no integer of 64 bits: the API server would refuse each value",
        ),
        (
            crd(json!({"type": "number", "maximum": u64::MAX}), ".spec"),
            "",
        ),
        (crd(merged("set", json!(["a", "b"])), ".spec"), ""),
        (crd(merged("atomic", json!(["a", "a"])), ".spec"), ""),
        (
            crd(merged("set", json!(["a", "a"])), ".spec"),
            "spec: a list in the default has the same item or key twice",
        ),
        (
            crd(
                merged(
                    "map",
                    json!([{"id": 1, "text": "a"}, {"id": 2, "text": "a"}]),
                ),
                ".spec",
            ),
            "",
        ),
        (
            crd(
                merged("map", json!([{"id": 1, "text": "a"}, {"id": 1}])),
                ".spec",
            ),
            "spec: a list in the default has the same item or key twice",
        ),
        (
            crd(json!({"type": "string", "description": text}), ".spec"),
            "only `kubectl apply --server-side` takes more than 262144",
        ),
        (
            crd(list, ".spec"),
            "spec[]: a CEL rule with a loop is inside of a list or map",
        ),
    ];
    for (crd, expected) in cases {
        let warnings = check(&[typed(crd)]).expect("no fault");
        assert_eq!(
            warnings.is_empty(),
            expected.is_empty(),
            "{expected}: {warnings:?}"
        );
        assert!(
            warnings.concat().contains(expected),
            "{expected}: {warnings:?}"
        );
    }
    let text = "a".repeat(2_000_000);
    assert!(faults(json!({"type": "string", "description": text})).contains("etcd takes 1572864"));
}

#[test]
fn the_names_and_the_texts_of_a_kind_are_checked() {
    let told = |kind: &str, warning: &str, column: &str| {
        faults_of(typed(json!({"spec": {
            "names": {"kind": kind},
            "versions": [{
                "name": "v1",
                "deprecated": true,
                "deprecationWarning": warning,
                "schema": {"openAPIV3Schema": {"type": "object"}},
                "additionalPrinterColumns": [{"name": column, "type": "date", "jsonPath": ".metadata.a"}],
            }],
        }})))
    };
    let long = "s".repeat(60);
    let refused = "Site v1: the text of `deprecated` must be one line of at most 256 bytes";
    let cases = [
        (told(&long[..59], "use v2", "Age"), ""),
        (told(&long, "use v2", "Age"), "slist` must have at most 63"),
        (told("Site_", "use v2", "Age"), "Site_: the name `site_`"),
        (told("Site", "", "Age"), refused),
        (told("Site", "use v2\nor v3", "Age"), refused),
        (told("Site", &"s".repeat(257), "Age"), refused),
        (told("Site", &"s".repeat(256), "Age"), ""),
        (told("Site", "use v2", ""), "Site v1: a column has no name"),
    ];
    for (told, expected) in cases {
        assert_eq!(told.is_empty(), expected.is_empty(), "{expected}: {told}");
        assert!(told.contains(expected), "{expected}: {told}");
        assert!(told.lines().count() < 2, "{told}");
    }
}

#[test]
fn an_integer_or_a_text_that_is_not_optional_takes_no_null() {
    #[derive(JsonSchema)]
    #[schemars(transform = structural)]
    #[allow(dead_code, reason = "its schema is tested")]
    struct Site {
        #[serde(default)]
        quantity: Quantity,
        #[serde(default = "port")]
        port: shapes::Port,
        #[serde(default)]
        optional: Option<Quantity>,
        #[serde(default)]
        #[schemars(extend("nullable" = true))]
        nullable: Quantity,
        untagged: Volume,
        tagged: Tagged,
        external: External,
    }
    #[derive(JsonSchema)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "its schema is tested")]
    enum Volume {
        New {
            size: Quantity,
        },
        Old {
            name: String,
            #[serde(default)]
            limit: Quantity,
            most: Option<Quantity>,
        },
        Other {
            most: Quantity,
        },
    }
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "its schema is tested")]
    enum External {
        One(Quantity),
        Other(Option<Quantity>),
    }
    #[derive(JsonSchema)]
    #[serde(tag = "kind")]
    #[allow(dead_code, reason = "its schema is tested")]
    enum Tagged {
        New {
            size: Quantity,
        },
        Old {
            #[serde(default)]
            size: Quantity,
            #[serde(default)]
            most: Quantity,
        },
        Other {
            most: Option<Quantity>,
        },
    }
    fn port() -> shapes::Port {
        shapes::Port::Number(80)
    }

    let schema = of_kube::<Site>();
    assert_eq!(faults(schema.clone()), "");
    let nullable = |path: &str| {
        let path = path.replace('.', "/properties/");
        schema.pointer(&path).expect("a field")["nullable"].clone()
    };
    for path in [
        ".quantity",
        ".port",
        ".untagged.size",
        ".untagged.limit",
        ".tagged.size",
    ] {
        assert_eq!(nullable(path), false, "{path}");
    }
    for path in [
        ".optional",
        ".nullable",
        ".untagged.most",
        ".tagged.most",
        ".external.Other",
    ] {
        assert_eq!(nullable(path), true, "{path}");
    }
    let with_odd_name = json!({"type": "object", "properties": {"default": schema}});
    let manifest = json!(with_spec(with_odd_name).definition).to_string();
    assert!(!manifest.contains(r#""nullable":false"#), "{manifest}");
    assert!(manifest.contains(r#""nullable":true"#), "{manifest}");
}

#[test]
fn only_a_map_that_is_in_no_list_or_map_has_a_rule_for_its_keys() {
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "its schema is tested")]
    struct Item {
        by_number: BTreeMap<u8, u8>,
        #[schemars(extend("x-kubernetes-validations" = [
            {"rule": "self.all(key, key.matches('^[a-z]+$'))", "message": "each key must be lower-case"},
        ]))]
        by_name: BTreeMap<String, u8>,
    }

    let rules = |schema: &Value| schema.to_string().matches("self.all(key").count();
    assert_eq!(rules(&field::<BTreeMap<u16, u8>>()), 1);
    assert_eq!(rules(&field::<Item>()), 2);
    assert_eq!(rules(&field::<BTreeMap<u16, BTreeMap<u8, u8>>>()), 1);
    assert_eq!(rules(&field::<BTreeMap<String, BTreeMap<u8, u8>>>()), 0);
    let schema = field::<Vec<Item>>();
    // The rule of the author.
    assert_eq!(rules(&schema), 1);
    let map = &schema["items"]["properties"]["by_number"];
    let number = json!({"type": "integer", "minimum": 0, "maximum": 255});
    assert_eq!(
        *map,
        json!({"type": "object", "additionalProperties": number})
    );
}

#[test]
fn a_content_that_may_be_null_is_not_required() {
    #[derive(JsonSchema)]
    #[serde(tag = "kind", content = "value")]
    #[allow(dead_code, reason = "its schema is tested")]
    enum Adjacent<T> {
        Git(T),
        Other,
    }

    fn rules<T: JsonSchema>() -> Vec<Value> {
        let schema = field::<Adjacent<T>>();
        let rules = schema["x-kubernetes-validations"].as_array();
        let rules = rules.expect("rules").iter();
        rules.map(|rule| rule["message"].clone()).collect()
    }

    let required = "value is required when kind is Git";
    let allowed = "value is allowed only when kind is Git";
    assert_eq!(rules::<String>(), [required, allowed]);
    assert_eq!(rules::<Option<String>>(), [allowed]);
    assert_eq!(rules::<Option<Source>>(), [allowed]);
}

#[test]
fn texts_of_several_enums_are_those_of_all() {
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "its schema is tested")]
    enum Level {
        Low,
        High,
    }
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "its schema is tested")]
    enum Third {
        Low,
        #[serde(rename = "a.b")]
        Other,
    }
    #[derive(JsonSchema)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "its schema is tested")]
    enum Either {
        One(Level),
        Other(Third),
    }
    #[derive(JsonSchema)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "its schema is tested")]
    enum OrNumber {
        Number(i64),
        One(Level),
        Other(Third),
    }
    #[derive(JsonSchema)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "its schema is tested")]
    enum OrText {
        One(Level),
        Text(String),
    }

    let pattern = r"^(High|Low|a\.b)$";
    assert_eq!(
        field::<Either>(),
        json!({"type": "string", "enum": ["High", "Low", "a.b"]})
    );
    // An API server takes no null for an enum.
    assert_eq!(
        field::<Option<Either>>(),
        json!({"type": "string", "pattern": pattern, "nullable": true})
    );
    assert_eq!(
        field::<OrNumber>(),
        json!({"x-kubernetes-int-or-string": true, "pattern": pattern})
    );
    assert_eq!(field::<OrText>(), json!({"type": "string"}));
}
