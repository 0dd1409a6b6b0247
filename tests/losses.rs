//! The rows of the table "What the types lack" in docs/crds.md, each with a part of the lines that rscaffold prints for
//! it.

/// A text after `^` is at the start of a line, without the name of a version.
pub const LOSSES: [(&str, &str); 25] = [
    (
        "`spec` is required",
        "^`spec` is required, because the Rust type of a kind always has one",
    ),
    (
        "`status` is not required",
        "^`status` is not required: the Rust type of a kind never requires one",
    ),
    (
        "`metadata`, `apiVersion` or `kind` is not required",
        "is not required: each object has it",
    ),
    (
        "a name without a field in `required` of the object is left out",
        "is not required: the schema has no such field",
    ),
    (
        "a status is added to a version that has only the subresource",
        "^status: the field is added, because kube needs a schema for the subresource",
    ),
    (
        "`served` is true for the stored version",
        "^`served` is true, because the project serves the version that it stores",
    ),
    ("`listKind` is `<kind>List`", "^`listKind` is `"),
    (
        "the `description` of the object is shortened or left out",
        "^`description` is changed: ",
    ),
    (
        "the `description` of the object is shortened or left out",
        "^`description` is left out: ",
    ),
    (
        "the `description` of a status, or of a value in a list or map that may be null, is left out beside `oneOf`, `anyOf` or `allOf`",
        "^status: `description` is left out: ",
    ),
    (
        "the `description` of a status, or of a value in a list or map that may be null, is left out beside `oneOf`, `anyOf` or `allOf`",
        "[]: `description` is left out: ",
    ),
    (
        "the `description` of a status, or of a value in a list or map that may be null, is left out beside `oneOf`, `anyOf` or `allOf`",
        ".*: `description` is left out: ",
    ),
    (
        "the `title` of the object is the name of the Rust type",
        "^`title` is changed: kube writes the name of the Rust type",
    ),
    (
        "any other keyword of the object itself is left out, such as `x-kubernetes-preserve-unknown-fields` beside a `spec`",
        " is left out: no attribute of kube can set it for the object",
    ),
    (
        "`oneOf`, `anyOf`, `allOf`, `not` are left out if they have properties or types",
        " is left out: kube would move the properties and types that it contains",
    ),
    (
        "`uniqueItems` is left out",
        "`uniqueItems` is left out: kube removes it",
    ),
    (
        "`minItems`, `maxItems`, `minProperties`, `maxProperties` above 4294967295 are left out",
        " is left out: kube takes numbers up to 4294967295",
    ),
    (
        "a keyword of a list or a map inside of another list or map is left out, if the innermost items are structs",
        " is left out: no Rust attribute can set it for a type in a list or a map",
    ),
    (
        "the subresource `scale` is left out without a status",
        "^the subresource `scale` is left out: kube supports it only together with a status",
    ),
    (
        "rules for `metadata`, `apiVersion` or `kind` are left out",
        ": its schema is left out: kube has none for this field",
    ),
    (
        "the annotations `cert-manager.io/inject-…` are left out",
        "^the annotation `cert-manager.io/inject-",
    ),
    (
        "the conversion by a webhook is left out, if the CRD serves one version",
        "^the conversion by a webhook is left out, because the CRD serves one version",
    ),
    (
        "`preserveUnknownFields: true` is left out",
        "^`preserveUnknownFields` is left out: ",
    ),
    (
        "a keyword that the API server does not know or refuses is left out, such as `const` or `$ref`",
        " is left out: the API server ",
    ),
    (
        "a keyword is left out if its value has the wrong type, such as `maxLength: \"3\"`",
        " is left out: it must be ",
    ),
];

/// Whether rscaffold prints `line` for the row with this text in [`LOSSES`].
pub fn is_printed(text: &str, line: &str) -> bool {
    match text.strip_prefix('^') {
        Some(start) => line.starts_with(start),
        None => line.contains(text),
    }
}
