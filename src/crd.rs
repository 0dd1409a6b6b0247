//! Compiles a CRD to Rust types, and lists what is lost. Commands and templates only call this folder, so their
//! contributors need not read it.
//!
//! kube generates a schema from the Rust types. This schema should equal the schema of the CRD. [`Generated::schema`]
//! is the schema that kube will generate, and [`Generated::losses`] lists its differences from the CRD.

mod compare;
mod docs;
pub(crate) mod fit;
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

use self::model::Purpose;

pub use self::{
    compare::{Loss, compare},
    manifest::{losses_of_all_versions, manifest_version},
    model::TypesCode,
    read::{
        Column, Crd, CrdVersion, Scale, SelectableField, Subresources, file_name, of_object, parse,
    },
};

/// The output for one version of a CRD.
#[derive(Debug, Clone)]
pub struct Generated {
    /// The code of the types.
    pub types: TypesCode,
    /// A sample object, without `apiVersion`, `kind` and `metadata`.
    pub sample: Value,
    /// The schema that kube generates from the types.
    pub schema: Value,
    /// The differences between this version in the CRD and the generated code.
    pub losses: Vec<Loss>,
    /// What the user must check in the sample: places without a fitting value, and constraints that are not checked
    /// here, such as CEL rules.
    pub doubts: Vec<Loss>,
}

/// Generates the types and the sample of `version` of `crd`. `type_name` is the Rust name of the type of the kind.
pub fn generate(crd: &Crd, version: &CrdVersion, type_name: &str) -> Generated {
    let lowered = lower::lower(crd, version, Purpose::Define);
    let types = print::print(crd, version, &lowered, Purpose::Define);
    let mut schema = lowered.generated;
    schema["title"] = type_name.into();
    let mut losses = compare(&version.schema, &schema);
    losses.extend(manifest::losses(version));
    losses.sort();
    let (sample, doubts) = sample::sample(version);
    Generated {
        types,
        sample,
        schema,
        losses,
        doubts,
    }
}

/// Generates the types of `version` of `crd` for a kind that another project defines.
pub fn types_for_use(crd: &Crd, version: &CrdVersion) -> TypesCode {
    let lowered = lower::lower(crd, version, Purpose::Use);
    print::print(crd, version, &lowered, Purpose::Use)
}

/// Returns whether all served versions of `crd` have the same schema, so that the API server needs no webhook to
/// convert between them.
pub fn served_alike(crd: &Crd) -> bool {
    let served = crd.versions.iter().filter(|version| version.served);
    let mut schemas = served.map(|version| lower::lower(crd, version, Purpose::Define).generated);
    let first = schemas.next();
    first.is_none_or(|first| schemas.all(|schema| compare(&first, &schema).is_empty()))
}
