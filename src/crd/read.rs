//! Reads `CustomResourceDefinition`s from YAML.

use anyhow::{Result, anyhow, bail, ensure};
use serde::Deserialize;
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
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether a webhook converts between its versions.
    pub converts: bool,
    /// Its versions, in the order of the manifest.
    pub versions: Vec<CrdVersion>,
}

/// A version of a [`Crd`].
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "a CRD has these fields")]
pub struct CrdVersion {
    /// Its name.
    pub name: String,
    /// Whether the API server serves it.
    pub served: bool,
    /// Whether the API server stores objects in it.
    pub storage: bool,
    /// Whether the API server warns clients that use the version.
    pub deprecated: bool,
    /// The text of the warning, if the CRD sets one.
    pub warning: Option<String>,
    /// The schema of its objects.
    pub schema: Value,
    /// The columns of `kubectl get`.
    pub columns: Vec<Column>,
    /// The JSON paths of the fields that a field selector can use.
    pub selectable: Vec<String>,
    /// Whether the status is a subresource.
    pub has_status: bool,
    /// The subresource `scale`.
    pub scale: Option<Scale>,
}

/// A column of `kubectl get`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
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

/// The JSON paths of the subresource `scale`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
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
#[serde(rename_all = "camelCase")]
struct Spec {
    group: String,
    names: NamesOfKind,
    scope: String,
    versions: Vec<Version>,
    conversion: Option<Conversion>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamesOfKind {
    kind: String,
    plural: String,
    singular: Option<String>,
    list_kind: Option<String>,
    short_names: Option<Vec<String>>,
    categories: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Conversion {
    strategy: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    name: String,
    served: bool,
    storage: bool,
    #[serde(default)]
    deprecated: bool,
    deprecation_warning: Option<String>,
    schema: Option<Validation>,
    additional_printer_columns: Option<Vec<Column>>,
    selectable_fields: Option<Vec<Selectable>>,
    subresources: Option<Subresources>,
}

#[derive(Deserialize)]
struct Validation {
    #[serde(rename = "openAPIV3Schema")]
    schema: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Selectable {
    json_path: String,
}

#[derive(Default, Deserialize)]
struct Subresources {
    status: Option<Value>,
    scale: Option<Scale>,
}

/// The largest file, in bytes. The API server limits one CRD to 1.5 MB, but a file can have many CRDs.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Reads the CRDs in `text`, the text of `file`. Ignores documents of other kinds.
///
/// # Errors
/// When the text is not YAML, exceeds a limit, or has no valid CRD.
pub fn parse(file: &str, text: &str) -> Result<Vec<Crd>> {
    let shown = visible(file);
    ensure!(
        text.len() <= MAX_BYTES,
        "`{shown}` has {} MB: a file of CustomResourceDefinitions has at most {} MB",
        text.len() / (1024 * 1024),
        MAX_BYTES / (1024 * 1024)
    );
    let documents = yaml::documents(text).map_err(|error| anyhow!("`{shown}` {error}"))?;
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
                "`{shown}` has no CustomResourceDefinition: it has a `{}`",
                visible(kind)
            ),
            None => bail!("`{shown}` has no CustomResourceDefinition"),
        }
    }
    Ok(crds)
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

/// Reads one CRD.
fn crd(file: &str, mut document: Value) -> Result<Crd> {
    let name = visible(document["metadata"]["name"].as_str().unwrap_or("?")).into_owned();
    let version = document["apiVersion"].as_str().unwrap_or("");
    ensure!(
        version == "apiextensions.k8s.io/v1",
        "the CustomResourceDefinition `{name}` in `{file}` has the apiVersion `{}`: only \
         `apiextensions.k8s.io/v1` has a schema for each version, so convert the file first",
        visible(version)
    );
    let mut track = serde_path_to_error::Track::new();
    let fields = document["spec"].take();
    let deserializer = serde_path_to_error::Deserializer::new(fields, &mut track);
    let spec = Spec::deserialize(deserializer).map_err(|error| {
        anyhow!(
            "the CustomResourceDefinition `{name}` in `{file}`, `spec.{}`: {}",
            visible(&track.path().to_string()),
            visible(&error.to_string())
        )
    })?;
    let namespaced = match spec.scope.as_str() {
        "Namespaced" => true,
        "Cluster" => false,
        scope => bail!(
            "the CustomResourceDefinition `{name}` in `{file}` has the scope `{}`, which must be \
             `Namespaced` or `Cluster`",
            visible(scope)
        ),
    };
    let stored = spec
        .versions
        .iter()
        .filter(|version| version.storage)
        .count();
    ensure!(
        stored == 1,
        "the CustomResourceDefinition `{name}` in `{file}` stores {stored} versions: exactly one \
         must be stored"
    );
    let versions = spec
        .versions
        .into_iter()
        .map(|version| read_version(&name, file, version))
        .collect::<Result<Vec<_>>>()?;
    ensure!(
        are_small(&versions),
        "the CustomResourceDefinition `{name}` in `{file}` has schemas of more than {MAX_OBJECTS} objects or \
         {MAX_VALUES} values, the most that rscaffold takes"
    );
    let names = spec.names;
    Ok(Crd {
        group: spec.group,
        plural: names.plural,
        singular: unusual(names.singular, &names.kind.to_ascii_lowercase()),
        list_kind: unusual(names.list_kind, &format!("{}List", names.kind)),
        short_names: names.short_names.unwrap_or_default(),
        categories: names.categories.unwrap_or_default(),
        namespaced,
        converts: (spec.conversion).is_some_and(|conversion| conversion.strategy == "Webhook"),
        versions,
        kind: names.kind,
    })
}

/// A name, if the CRD sets one that is not `usual`.
fn unusual(name: Option<String>, usual: &str) -> Option<String> {
    name.filter(|name| name != usual && !name.is_empty())
}

fn read_version(name: &str, file: &str, version: Version) -> Result<CrdVersion> {
    let Some(Validation {
        schema: Some(schema @ Value::Object(_)),
    }) = version.schema
    else {
        bail!(
            "the CustomResourceDefinition `{name}` in `{file}` has no schema for its version `{}`",
            visible(&version.name)
        );
    };
    let selectable = version.selectable_fields.into_iter().flatten();
    let subresources = version.subresources.unwrap_or_default();
    Ok(CrdVersion {
        name: version.name,
        served: version.served,
        storage: version.storage,
        deprecated: version.deprecated,
        warning: unusual(version.deprecation_warning, ""),
        schema,
        columns: version.additional_printer_columns.unwrap_or_default(),
        selectable: selectable.map(|field| field.json_path).collect(),
        has_status: subresources.status.is_some_and(|status| !status.is_null()),
        scale: subresources.scale,
    })
}
