//! Generates Rust types from a CRD: text in, texts out.
//!
//! kube generates a schema from the Rust types. This schema should equal the schema of the CRD. [`Made::written`] is
//! the schema that kube will generate, and [`Made::losses`] lists its differences from the CRD.

mod compare;
mod docs;
pub(crate) mod fit;
mod layout;
mod literal;
mod lower;
mod manifest;
mod model;
mod names;
mod pattern;
mod print;
mod read;
mod sample;
mod schema;
#[cfg(test)]
pub(crate) mod tests;

use serde_json::Value;

use self::lower::Purpose;
use crate::project::Annotation;

pub use self::{
    compare::{Loss, compare},
    manifest::manifest,
    read::{Column, Crd, CrdVersion, Scale, parse},
};

/// Settings for the types of one version of a kind that are not in its CRD.
#[derive(Debug, Clone)]
pub struct Setting<'a> {
    /// The path of the sample, relative to the file of the types.
    pub sample: Option<&'a str>,
    /// The name of the project.
    pub project: &'a str,
    /// The Rust name of the type of the kind.
    pub type_name: &'a str,
    /// Whether the API server serves the version.
    pub served: bool,
    /// The annotations of the CRD, sorted by name.
    pub annotations: &'a [Annotation],
}

/// The output for one version of a CRD.
#[derive(Debug, Clone)]
pub struct Made {
    /// The text of the types file, without the license header.
    pub types: String,
    /// The text of a sample object.
    pub sample: String,
    /// The schema that kube generates from the types.
    pub written: Value,
    /// The differences between this version in the CRD and the generated code.
    pub losses: Vec<Loss>,
    /// What the user must check in the sample: places without a fitting value, and constraints that are not checked
    /// here, such as CEL rules.
    pub doubts: Vec<Loss>,
}

/// Generates the types and the sample of `version` of `crd`.
pub fn make(crd: &Crd, version: &CrdVersion, setting: &Setting) -> Made {
    let mut lowered = lower::lower(crd, version, Purpose::Define);
    lowered.written["title"] = setting.type_name.into();
    let mut losses = compare::compare(&version.schema, &lowered.written);
    losses.extend(manifest::losses(crd, version));
    losses.sort();
    let sample = sample::sample(crd, version, setting.project);
    Made {
        types: print::print(crd, version, &lowered, setting),
        sample: sample.text,
        written: lowered.written,
        losses,
        doubts: sample.doubts,
    }
}

/// Returns the text of the types file of `version` of `crd`, for a kind that another project defines. The text has no
/// license header. `type_name` is the Rust name of the type of the kind.
pub fn types_for_use(crd: &Crd, version: &CrdVersion, type_name: &str) -> String {
    let lowered = lower::lower(crd, version, Purpose::Use);
    print::print_for_use(crd, version, &lowered, type_name)
}

/// Returns whether all served versions of `crd` have the same schema, so that the API server needs no webhook to
/// convert between them.
pub fn served_alike(crd: &Crd) -> bool {
    let mut served = crd.versions.iter().filter(|it| it.served);
    let Some(first) = served.next() else {
        return true;
    };
    let written = |it| lower::lower(crd, it, Purpose::Define).written;
    let first = written(first);
    served.all(|it| compare::alike(&first, &written(it)))
}
