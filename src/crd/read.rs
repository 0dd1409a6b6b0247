//! Reads `CustomResourceDefinition`s from YAML.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{visible::visible, yaml};

/// A `CustomResourceDefinition`.
#[derive(Debug, Clone, PartialEq)]
pub struct Crd {
    /// Its API group.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Its name in URLs.
    pub plural: String,
    /// Its name in the singular, if that is not the kind in lower case.
    pub singular: Option<String>,
    /// The kind of its lists, if that is not `<Kind>List`.
    pub list_kind: Option<String>,
    /// Its abbreviations for kubectl.
    pub short_names: Vec<String>,
    /// Its categories, such as `all`: kubectl lists the kinds of a category together.
    pub categories: Vec<String>,
    /// The annotations that are dropped and reported: cert-manager's, for the webhook of the other operator.
    pub left_out: Vec<String>,
    /// The labels of the CRD.
    pub labels: BTreeMap<String, String>,
    /// The annotations of the CRD that the project takes.
    pub annotations: BTreeMap<String, String>,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether a webhook converts between its versions.
    pub converts: bool,
    /// Whether the API server keeps fields that no schema has, in all versions.
    pub keeps_unknown_fields: bool,
    /// Its versions, in the order of the manifest.
    pub versions: Vec<CrdVersion>,
}

/// A version of a [`Crd`].
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CrdVersion {
    /// Its name.
    pub name: String,
    /// Whether the API server serves it.
    pub served: bool,
    /// Whether the API server stores objects in it.
    pub storage: bool,
    /// Whether the API server warns clients that use the version.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deprecated: bool,
    /// The text of the warning, if the version is deprecated and the CRD sets a text.
    pub deprecation_warning: Option<String>,
    /// The schema of its objects.
    #[serde(skip)]
    pub schema: Value,
    /// The columns of `kubectl get`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additional_printer_columns: Vec<Column>,
    /// The fields that a field selector can use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selectable_fields: Vec<SelectableField>,
    /// The parts of its objects that have their own URLs.
    #[serde(default, skip_serializing)]
    pub subresources: Subresources,
}

/// A column of `kubectl get`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Column {
    /// What it shows.
    pub description: Option<String>,
    /// The format of its values.
    pub format: Option<String>,
    /// The JSON path of its values.
    pub json_path: String,
    /// Its heading.
    pub name: String,
    /// 0 if it is always shown.
    pub priority: Option<i32>,
    /// The type of its values.
    pub r#type: String,
}

/// A field that a field selector can use.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SelectableField {
    /// Its JSON path.
    pub json_path: String,
}

/// The subresources of a version.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Subresources {
    /// An empty object, if the status is a subresource.
    pub status: Option<Value>,
    /// The number of replicas.
    pub scale: Option<Scale>,
}

/// The JSON paths of the subresource `scale`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Scale {
    /// The selector of the Pods.
    pub label_selector_path: Option<String>,
    /// The desired number of replicas.
    pub spec_replicas_path: String,
    /// The observed number of replicas.
    pub status_replicas_path: String,
}

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    metadata: Metadata,
    spec: Spec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

/// The annotations that a tool has added to the CRD, or that the project sets itself.
const OF_TOOLS: [&str; 3] = [
    "controller-gen.kubebuilder.io/version",
    "kube-manager/conversion",
    "kubectl.kubernetes.io/last-applied-configuration",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    group: String,
    names: NamesOfKind,
    scope: String,
    versions: Vec<CrdVersion>,
    #[serde(default)]
    conversion: Value,
    #[serde(default)]
    preserve_unknown_fields: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamesOfKind {
    kind: String,
    plural: String,
    singular: Option<String>,
    list_kind: Option<String>,
    #[serde(default)]
    short_names: Vec<String>,
    #[serde(default)]
    categories: Vec<String>,
}

/// Reads the CRDs in `text`, the text of `file`. Ignores documents of other kinds.
///
/// # Errors
/// When the text is not YAML, exceeds a limit, or has no valid CRD.
pub fn parse(file: &str, text: &str) -> Result<Vec<Crd>> {
    let shown = file_name(file);
    let documents = yaml::documents(text).map_err(|error| anyhow!("{shown} {error}"))?;
    yaml::check_names(text).map_err(|error| anyhow!("{shown} {error}"))?;
    let mut crds = Vec::new();
    let mut others = Vec::new();
    for document in documents {
        match document["kind"].as_str() {
            Some("CustomResourceDefinition") => crds.push(crd(&shown, document)?),
            Some("List") => {
                for item in document["items"].as_array().into_iter().flatten() {
                    if item["kind"] == "CustomResourceDefinition" {
                        crds.push(crd(&shown, item.clone())?);
                    }
                }
            }
            Some(kind) => others.push(kind.to_owned()),
            None => {}
        }
    }
    if crds.is_empty() {
        match others.first() {
            Some(kind) => bail!(
                "{shown} has no CustomResourceDefinition: it has a `{}`",
                visible(kind)
            ),
            None => bail!("{shown} has no CustomResourceDefinition"),
        }
    }
    Ok(crds)
}

/// The name of a file, for errors; `-` is standard input.
pub fn file_name(file: &str) -> Cow<'_, str> {
    match file {
        "-" => "standard input".into(),
        file => format!("`{}`", visible(file)).into(),
    }
}

/// The largest number of values in the schemas of a CRD, and of objects among these values. Each object becomes a field
/// with a type, a doc comment and a schema.
const MAX_VALUES: usize = 120_000;
const MAX_OBJECTS: usize = 20_000;

/// Returns whether the schemas of all versions together are within these two limits.
fn are_small(versions: &[CrdVersion]) -> bool {
    let mut left: Vec<_> = versions.iter().map(|version| &version.schema).collect();
    let (mut values, mut objects) = (0, 0);
    while let Some(value) = left.pop() {
        values += 1;
        match value {
            Value::Array(items) => left.extend(items),
            Value::Object(fields) => {
                objects += 1;
                left.extend(fields.values());
            }
            _ => {}
        }
        if values > MAX_VALUES || objects > MAX_OBJECTS {
            return false;
        }
    }
    true
}

/// Reads a CRD that is in `file`.
///
/// # Errors
/// When it is not valid, or exceeds a limit.
pub fn of_object(file: &str, object: Value) -> Result<Crd> {
    crd(&file_name(file), object)
}

/// Reads one CRD.
fn crd(file: &str, mut document: Value) -> Result<Crd> {
    let name = document["metadata"]["name"].as_str().unwrap_or("?");
    let shown = format!("the CustomResourceDefinition `{}` in {file}", visible(name));
    let version = document["apiVersion"].as_str().unwrap_or("");
    ensure!(
        version == "apiextensions.k8s.io/v1",
        "{shown} has the apiVersion `{}`: only `apiextensions.k8s.io/v1` has a schema for each \
         version, so convert the file first",
        visible(version)
    );
    // A schema keeps its nulls: a default and an enum can have them.
    let schemas = take_schemas(&mut document);
    yaml::remove_nulls(&mut document);
    let mut track = serde_path_to_error::Track::new();
    let deserializer = serde_path_to_error::Deserializer::new(document, &mut track);
    let manifest = Manifest::deserialize(deserializer).map_err(|error| {
        let (path, reason) = (track.path().to_string(), error.to_string());
        anyhow!("{shown}, `{}`: {}", visible(&path), visible(&reason))
    })?;
    let (mut metadata, mut spec) = (manifest.metadata, manifest.spec);
    (metadata.annotations).retain(|name, _| !OF_TOOLS.contains(&name.as_str()));
    let mut left_out: Vec<_> = metadata.annotations.keys().cloned().collect();
    left_out.retain(|name| name.starts_with("cert-manager.io/inject-"));
    (metadata.annotations).retain(|name, _| !left_out.contains(name));
    ensure!(
        matches!(spec.scope.as_str(), "Namespaced" | "Cluster"),
        "{shown} has the scope `{}`, which must be `Namespaced` or `Cluster`",
        visible(&spec.scope)
    );
    check_versions(&shown, &spec.versions)?;
    for (version, schema) in spec.versions.iter_mut().zip(schemas) {
        version.schema = schema.filter(Value::is_object).with_context(|| {
            let name = visible(&version.name);
            format!("{shown} has no schema for its version `{name}`")
        })?;
        let is_used = version.deprecated;
        (version.deprecation_warning).take_if(|text| text.is_empty() || !is_used);
    }
    ensure!(
        are_small(&spec.versions),
        "{shown} has schemas of more than {MAX_OBJECTS} objects or {MAX_VALUES} values, the most \
         that rscaffold takes"
    );
    let names = spec.names;
    Ok(Crd {
        group: spec.group,
        plural: names.plural,
        singular: unusual(names.singular, &names.kind.to_ascii_lowercase()),
        list_kind: unusual(names.list_kind, &format!("{}List", names.kind)),
        short_names: unique(names.short_names),
        categories: names.categories,
        left_out,
        labels: metadata.labels,
        annotations: metadata.annotations,
        namespaced: spec.scope == "Namespaced",
        converts: spec.conversion["strategy"] == "Webhook",
        keeps_unknown_fields: spec.preserve_unknown_fields,
        versions: spec.versions,
        kind: names.kind,
    })
}

/// Takes the schema of each version out of a CRD.
fn take_schemas(crd: &mut Value) -> Vec<Option<Value>> {
    let versions = crd
        .pointer_mut("/spec/versions")
        .and_then(Value::as_array_mut);
    let schemas = versions.into_iter().flatten().map(|version| {
        let schema = version.pointer_mut("/schema/openAPIV3Schema");
        schema.map(Value::take)
    });
    schemas.collect()
}

/// Checks that the versions of the CRD `shown` have different names, and that one of them is stored.
fn check_versions(shown: &str, versions: &[CrdVersion]) -> Result<()> {
    let mut names = BTreeSet::new();
    for version in versions {
        ensure!(
            names.insert(&version.name),
            "{shown} lists the version `{}` twice",
            visible(&version.name)
        );
    }
    let stored = versions.iter().filter(|version| version.storage).count();
    ensure!(
        stored == 1,
        "{shown} stores {stored} versions: exactly one must be stored"
    );
    Ok(())
}

/// `names` without repetitions, which the API server takes.
fn unique(names: Vec<String>) -> Vec<String> {
    let mut unique = Vec::new();
    for name in names {
        if !unique.contains(&name) {
            unique.push(name);
        }
    }
    unique
}

/// A name, if the CRD sets one that is not `usual`.
fn unusual(name: Option<String>, usual: &str) -> Option<String> {
    name.filter(|name| name != usual && !name.is_empty())
}
