//! Rust types from a CRD: text in, texts out.
//!
//! The types are made so that kube writes the schema again that they come from. [`Made::written`] is the
//! schema that the code will write, and [`Made::losses`] is in what it differs from the given one.

mod compare;
mod convert;
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

/// What the types of one version of a kind are made for, besides what its CRD says.
#[derive(Debug, Clone)]
pub struct Setting<'a> {
    /// The file of the sample, from the file of the types.
    pub sample: Option<&'a str>,
    /// The name of the project.
    pub project: &'a str,
    /// What the code calls the type of the kind.
    pub type_name: &'a str,
    /// Whether the API server serves the version.
    pub served: bool,
    /// What the CRD says beside its schemas, sorted by name.
    pub annotations: &'a [Annotation],
}

/// What is made from one version of a CRD.
#[derive(Debug, Clone)]
pub struct Made {
    /// The text of the file of its types, without the license.
    pub types: String,
    /// The text of a sample, if the project has one.
    pub sample: String,
    /// The schema that the types write.
    pub written: Value,
    /// In what that schema and the rest of the version differ from the given ones.
    pub losses: Vec<Loss>,
    /// What of the sample has to be looked at: places without a fitting value, and CEL rules.
    pub doubts: Vec<Loss>,
}

/// Makes the types of `version` of `crd`.
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

/// The text of the file of the types of `version` of `crd`, which others define: without the license. The code
/// calls the type of the kind `type_name`.
pub fn types_for_use(crd: &Crd, version: &CrdVersion, type_name: &str) -> String {
    let lowered = lower::lower(crd, version, Purpose::Use);
    print::print_for_use(crd, version, &lowered, type_name)
}

/// What converts between two versions of a kind.
#[derive(Debug, Clone)]
pub struct Conversion {
    /// The implementations, without the imports of the modules `spoke` and `hub` that have the types.
    code: String,
    /// Whether both versions have a status.
    pub has_status: bool,
}

impl Conversion {
    /// The text of the file, which begins as `skeleton` does: with its comment and imports.
    pub fn within(&self, skeleton: &str) -> String {
        let (head, _) = skeleton.split_once("impl ").unwrap_or((skeleton, ""));
        format!("{head}{}", self.code)
    }
}

/// Converts `spoke` to `hub` and back.
pub fn conversion(crd: &Crd, spoke: &CrdVersion, hub: &CrdVersion) -> Conversion {
    let [spoke, hub] = [spoke, hub].map(|it| lower::lower(crd, it, Purpose::Define));
    Conversion {
        code: convert::convert(&spoke, &hub),
        has_status: spoke.root.status.is_some() && hub.root.status.is_some(),
    }
}

/// Whether all versions that `crd` serves have the same schema, so that the API server needs no webhook to
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
