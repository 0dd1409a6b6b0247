//! Types that an author writes in the place of the generated example, with their tests. None has the field `title` of
//! the example.

use std::{fs, path::Path};

/// Types of a kind `Book`. `KUBE` stands for the attribute of the generated types, and `SAMPLE` for the path of the
/// sample.
pub struct Variant {
    pub name: &'static str,
    text: &'static str,
    /// The fields of the spec and of the types below it.
    pub fields: &'static [&'static str],
    /// The type of the status.
    status: &'static str,
}

impl Variant {
    /// Writes these types and their tests to the file of `version` in the project in `folder`.
    pub fn write(&self, folder: &Path, version: &str) {
        let path = folder.join(format!("src/api/shop/{version}/book.rs"));
        let before = fs::read_to_string(&path).expect("a file with types");
        let start = before.find("#[kube(").expect("an attribute");
        let end = before[start..].find(")]\n").expect("its end");
        let kube = &before[start..start + end + 2];
        let sample = format!("../../../../config/samples/shop_{version}_book.yaml");
        let text = self.text.replace("KUBE", kube).replace("SAMPLE", &sample);
        fs::write(path, text + self.status).expect("a writable file");
    }
}

/// Moves the status of `version` to a private module, which the file of the kind imports as `status::imported`.
pub fn move_status(folder: &Path, version: &str, imported: &str) {
    let folder = folder.join("src/api/shop").join(version);
    let change = |file: &str, change: &dyn Fn(String) -> String| {
        let path = folder.join(file);
        let text = fs::read_to_string(&path).expect("a file");
        fs::write(path, change(text)).expect("a writable file");
    };
    change("book.rs", &|text| {
        text.replace(STATUS, &format!("\nuse super::status::{imported};\n"))
    });
    change("mod.rs", &|text| text + "\nmod status;\n");
    let imports = "//! The status of books.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};
";
    fs::write(folder.join("status.rs"), imports.to_owned() + STATUS).expect("a writable file");
}

/// Other fields, and tests that use them.
pub const RENAMED: Variant = Variant {
    name: "renamed fields",
    text: r#"//! Books.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// A book.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
KUBE
#[serde(rename_all = "camelCase")]
pub struct BookSpec {
    pub name: String,
    #[serde(default = "one")]
    pub copies: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

fn one() -> i32 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_copy_is_usual() {
        let spec: BookSpec = serde_json::from_str("{\"name\": \"a\"}").expect("a spec");
        assert_eq!(spec.copies, 1);
    }

    #[test]
    fn the_sample_is_a_book() {
        assert!(include_str!("SAMPLE").contains("kind: Book"));
    }
}
"#,
    fields: &["name", "copies", "note"],
    status: STATUS,
};

/// A status that has nothing of the example.
pub const COUNTED: Variant = Variant {
    name: "a status with a number",
    text: r"//! Books.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// A book.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
KUBE
pub struct BookSpec {
    pub name: String,
}
",
    fields: &["name"],
    status: r"
/// How many copies there are.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct BookStatus {
    #[serde(default)]
    pub copies: u32,
}
",
};

/// Structs, enums, options, lists and maps.
pub const NESTED: Variant = Variant {
    name: "nested types",
    text: r#"//! Books with chapters.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::LocalObjectReference,
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::Condition},
};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

type Labels = BTreeMap<String, String>;

/// A book with chapters.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
KUBE
#[serde(rename_all = "camelCase")]
pub struct BookSpec {
    pub chapters: Vec<Chapter>,
    #[serde(default)]
    pub colour: Colour,
    pub cover: Option<Cover>,
    pub notes: BTreeMap<String, Note>,
    pub labels: Labels,
    pub secret: Option<LocalObjectReference>,
    pub weight: Quantity,
    pub percent: Percent,
    pub r#type: Option<String>,
    pub source: Source,
    pub anything: Option<serde_json::Value>,
    pub list: Vec<Cover>,
    pub map: BTreeMap<String, Cover>,
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Chapter {
    pub heading: String,
    pub notes: Option<Vec<Note>>,
    pub pages: Vec<i32>,
}

#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Note {
    pub remark: String,
}

#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Colour {
    #[default]
    Red,
    #[serde(rename = "dark-blue")]
    Blue,
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Cover {
    pub colour: Colour,
    pub is_hard: bool,
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Percent(pub u8);

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub enum Source {
    Written(Note),
    Printed(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn red_is_usual() {
        assert_eq!(Colour::default(), Colour::Red);
    }
}
"#,
    fields: &[
        "chapters", "colour", "cover", "notes", "labels", "secret", "weight", "percent", "r#type",
        "source", "anything", "heading", "pages", "remark", "is_hard",
    ],
    status: STATUS,
};

/// The same with differences of each sort.
pub const CHANGED: Variant = Variant {
    name: "changed types",
    text: r#"//! Books with parts.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A book with chapters and parts.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
KUBE
pub struct BookSpec {
    pub chapters: Vec<Chapter>,
    pub colour: Option<Colour>,
    pub cover: Cover,
    pub parts: Vec<Part>,
    #[serde(default = "usual_binding")]
    pub binding: Binding,
    pub percent: i32,
    pub labels: BTreeMap<String, String>,
    pub first: Part,
    pub published: Time,
    pub time_of_the_first_publication_abroad: Time,
    pub edition: Edition,
    pub source: Source,
    pub list: Vec<Cover>,
    pub map: BTreeMap<String, Cover>,
}

fn usual_binding() -> Binding {
    Binding::Glued
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Chapter {
    pub heading: Option<String>,
    pub pages: Vec<i64>,
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub enum Colour {
    Red,
    Green,
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Cover {
    pub colour: Colour,
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Part {
    pub heading: String,
    pub binding: Binding,
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Edition {
    pub printed: Time,
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub enum Binding {
    Sewn,
    Glued,
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub enum Source {
    Printed(String),
    Painted,
}
"#,
    fields: &[],
    status: STATUS,
};

/// Types that another module cannot take apart, or not with simple code.
pub const ODD: Variant = Variant {
    name: "odd types",
    text: r"//! Odd books.

use std::collections::{BTreeSet, HashMap};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A book of layers.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
KUBE
pub struct BookSpec {
    pub name: String,
    pub source: Source,
    pub percent: Percent,
    pub hidden: inner::Hidden,
    pub layers: Vec<Vec<Layer>>,
    pub by_name: HashMap<String, Layer>,
    pub names: BTreeSet<String>,
    pub boxed: Box<Layer>,
    pub pair: Pair<String>,
    pub size: (i32, i32),
    pub shelf: Shelf,
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub enum Source {
    Git { url: String, branch: Option<String> },
    Inline(String),
    None,
}

/// Never more than 100.
#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Percent(u8);

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Layer {
    pub depth: i32,
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Pair<T> {
    pub left: T,
    pub right: T,
}

/// A type with a field that cannot be taken apart.
#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Shelf {
    pub label: String,
    pub fill: Percent,
}

pub mod inner {
    use super::*;

    #[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
    pub struct Hidden {
        secret: String,
    }
}
",
    fields: &[
        "name", "source", "percent", "hidden", "layers", "by_name", "names", "boxed", "pair",
        "size", "shelf",
    ],
    status: STATUS,
};

/// Types that are required, and converted by way of JSON.
pub const REQUIRED: Variant = Variant {
    name: "required types",
    text: r#"//! Books with sources.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A book from a source.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
KUBE
pub struct BookSpec {
    pub source: Source,
    pub shelf: Shelf,
    pub shelves: Vec<Shelf>,
    pub shelf_by_name: BTreeMap<String, Shelf>,
    pub spare: Option<Shelf>,
    pub the_shelf_of_last_resort: Option<Shelf>,
    pub layers: Vec<Layer>,
    pub size: i64,
}

#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind")]
pub enum Source {
    Git { url: String },
    #[default]
    Nothing,
}

#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Shelf {
    pub source: Source,
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Layer {
    pub depth: i32,
}
"#,
    fields: &[],
    status: STATUS,
};

/// The same types, some of them optional. One is taken from the other version, v1.
pub const OPTIONAL: Variant = Variant {
    name: "optional types",
    text: r#"//! Books with or without sources.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A book, perhaps from a source.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
KUBE
pub struct BookSpec {
    pub source: Option<Source>,
    pub shelf: Option<Shelf>,
    pub shelves: Vec<Shelf>,
    pub shelf_by_name: BTreeMap<String, Shelf>,
    pub spare: Option<Shelf>,
    pub the_shelf_of_last_resort: Option<Shelf>,
    pub layers: Vec<crate::api::shop::v1::book::Layer>,
    pub size: i32,
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind")]
pub enum Source {
    Git { url: String },
    Nothing,
}

#[derive(JsonSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Shelf {
    pub source: Option<Source>,
    pub label: String,
}
"#,
    fields: &[],
    status: STATUS,
};

/// A spec with a private field.
pub const CLOSED: Variant = Variant {
    name: "a private field",
    text: r"//! Closed books.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// A closed book.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Deserialize, Serialize)]
KUBE
pub struct BookSpec {
    name: String,
}

impl BookSpec {
    pub fn name(&self) -> &str {
        &self.name
    }
}
",
    fields: &[],
    status: STATUS,
};

/// The status that the generated controller sets.
const STATUS: &str = r#"
/// The observed state.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BookStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}
"#;
