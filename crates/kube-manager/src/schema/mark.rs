//! Marks of places for which Kubernetes has no schema.
//!
//! A transform of schemars returns nothing, and the transforms of kube keep only what a schema of a
//! CustomResourceDefinition has. So a mark is an external documentation, which nothing else uses, on a schema that takes
//! any value.

use serde_json::json;

use super::keys::{OPEN, Object};

/// The address of the documentation of a mark.
const ADDRESS: &str = "kube-manager:no-schema";

/// The attribute that opens a place.
macro_rules! open {
    () => {
        "open the field for any value with \
         `#[schemars(extend(\"x-kubernetes-preserve-unknown-fields\" = true))]`"
    };
}

pub const RECURSION: &str = concat!(
    "a type that contains itself has no schema: refer to the other value by name, or ",
    open!()
);
pub const TUPLE: &str = concat!("a tuple has no schema: make it a struct, or ", open!());
pub const UNIT: &str = "`()` and variants without fields in a flattened or externally tagged enum have no schema: \
                        use a `bool`, or write the variant with braces, as in `None {}`";
pub const EMPTY_TUPLE: &str = "a variant such as `A()` has no schema: write `A {}`";
pub const NO_VALUE: &str = "an enum without variants has no value";
pub const ANY_VALUE: &str = concat!(
    "a type that takes any value, such as `serde_json::Value`, has no schema: make it a struct, or ",
    open!()
);
pub const PATTERNS: &str = concat!(
    "a map whose values differ with the pattern of the key has no schema: make it a struct, or ",
    open!()
);
pub const MIXED_VARIANTS: &str = concat!(
    "an enum whose variants are both texts and objects has no schema: add `#[serde(tag = \"kind\")]`, write variants \
     without fields with braces, as in `None {}`, or ",
    open!()
);
pub const MIXED_TYPES: &str = concat!(
    "an untagged enum of values of different types has no schema, unless they are integers and texts: make it a \
     struct, an enum with `#[serde(tag = \"kind\")]`, or ",
    open!()
);

/// Replaces `schema` by one for any value, with a mark that says `reason`. A place that is open needs no mark.
pub fn refuse(schema: &mut Object, reason: impl Into<String>) {
    if is_open(schema) {
        return allow_any(schema);
    }
    schema.retain(|key, _| key == "description");
    schema.insert(OPEN.to_owned(), json!(true));
    let documentation = json!({"url": ADDRESS, "description": reason.into()});
    schema.insert("externalDocs".to_owned(), documentation);
}

/// Whether the author has opened the place, which has no mark.
pub fn is_open(schema: &Object) -> bool {
    schema.get(OPEN) == Some(&json!(true)) && reason(schema).is_none()
}

/// Makes `schema` one for any value.
pub fn allow_any(schema: &mut Object) {
    schema.retain(|key, _| key == "description" || key == OPEN);
}

/// What the mark of `schema` says.
pub fn reason(schema: &Object) -> Option<&str> {
    let documentation = schema.get("externalDocs")?;
    if documentation["url"] != ADDRESS {
        return None;
    }
    documentation["description"].as_str()
}
