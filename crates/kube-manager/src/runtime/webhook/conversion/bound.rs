//! Refuses to store an object that cannot be converted, that is too large for a conversion, or with annotations that a
//! conversion has not written and another version refuses.
//!
//! A stored object must always be readable: a list in another version fails as soon as one object cannot be converted.
//! After a conversion, annotations keep the values that the new version cannot hold, and the API server limits the size
//! of all annotations. So such an object is refused when it is written.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::Result;
use futures::{FutureExt, future::BoxFuture};
use k8s_openapi::api::admissionregistration::v1::RuleWithOperations;
use serde_json::{Map, Value};

use super::{
    annotations::{ForVersion, MOST},
    change::{self, PathSegment, ValueChange},
    header::Header,
    hop::Lost,
    kind::Conversion,
    version::{ConvertibleVersion, version},
    worker::{Call, Worker, too_many_levels, too_many_values},
};
use crate::{
    runtime::webhook::{
        hook::Webhook,
        request::Operation,
        review::{Answer, Handler, Objects, Review},
        room::{Permit, levels, memory},
        verdict::{FieldError, Verdict},
    },
    schema::fits,
};

/// Measures an object, which is JSON text, if it is too large: its size, and why it is too large.
type Measure = fn(&str) -> Option<(usize, String)>;

/// The webhook for each version of a kind.
pub struct Bound {
    pub conversion: Arc<Conversion>,
    pub worker: Worker,
}

impl Handler for Bound {
    fn handle<'a>(
        &'a self,
        review: &'a Review<'a>,
        permit: &'a Arc<Permit>,
    ) -> BoxFuture<'a, Result<Answer>> {
        let call = async move {
            let (old, new) = match review.objects {
                Objects::Create(new) => (None, new),
                Objects::Update { old, new } => (Some(old), new),
                Objects::Delete(_) => return Ok(Verdict::allowed().into()),
            };
            let (old, new) = (
                old.map(|object| object.get().to_owned()),
                new.get().to_owned(),
            );
            let (conversion, permit) = (self.conversion.clone(), permit.clone());
            let excess = self.worker.run(move |_: &Call| {
                let _permit = permit;
                conversion.excess(old.as_deref(), &new)
            });
            Ok(Verdict::from(excess.await??).into())
        };
        call.boxed()
    }
}

impl Conversion {
    /// The path of the webhook.
    pub(super) fn bound_path(&self) -> String {
        let (group, kind) = (self.group.replace('.', "-"), self.kind.to_lowercase());
        format!("/bound-{group}-{kind}")
    }

    /// How the API server calls the webhook.
    pub(super) fn bound(&self, name: String) -> Webhook {
        let operations = [Operation::Create, Operation::Update];
        let mut resources = vec![self.plural.clone()];
        if self.spokes.iter().any(|spoke| spoke.status.is_some()) {
            resources.push(format!("{}/status", self.plural));
        }
        let rule = RuleWithOperations {
            api_groups: Some(vec![self.group.clone()]),
            api_versions: Some(
                self.versions()
                    .map(|version| version.name.clone())
                    .collect(),
            ),
            operations: Some(
                operations
                    .map(|operation| operation.name().to_owned())
                    .into(),
            ),
            resources: Some(resources),
            scope: None,
        };
        Webhook::bound(name, self.bound_path(), rule)
    }

    /// Returns the errors if an object is too large to be converted, if it cannot be converted to another version, if its
    /// annotations would be too large after a conversion, or if they have values that another version refuses. What was
    /// wrong before, in `old`, may be written unless it becomes larger. It may also become larger while the object is
    /// deleted, which needs writes.
    pub(super) fn excess(
        &self,
        old: Option<&str>,
        new: &str,
    ) -> serde_json::Result<Vec<FieldError>> {
        let header: Header = serde_json::from_str(new)?;
        let is_deleted = header.metadata.deletion_timestamp.is_some();
        let measures: [Measure; 2] = [
            |object| too_many_values(object).map(|why| (memory(object), why)),
            |object| {
                let levels = levels(object);
                too_many_levels(levels).map(|why| (levels, why))
            },
        ];
        let mut is_too_large = false;
        let mut errors = Vec::new();
        for measure in measures {
            let Some((size, why)) = measure(new) else {
                continue;
            };
            is_too_large = true;
            let before = old.and_then(measure);
            if !before.is_some_and(|(before, _)| is_deleted || size <= before) {
                errors.push(FieldError::exceeds("", why));
            }
        }
        if is_too_large {
            return Ok(errors);
        }
        let old_header = old.map(serde_json::from_str).transpose()?;
        let refused = self.refused(old_header.as_ref(), &header);
        let new: Map<String, Value> = serde_json::from_str(new)?;
        let mut found = self.converted(&new);
        if let Some(old) = old.filter(|_| !found.is_empty()) {
            // An old object that is nested too deeply could not be converted at all.
            let before = self.converted(&serde_json::from_str(old).unwrap_or_default());
            found.failed.retain(|to, _| !before.failed.contains_key(to));
            found.lost.retain(|to, lost| match before.lost.get(to) {
                Some(before) => !is_deleted && before.excess.size < lost.excess.size,
                None => true,
            });
            found
                .too_large
                .retain(|to, (size, _)| match before.too_large.get(to) {
                    Some((before, _)) => !is_deleted && before < size,
                    None => true,
                });
        }
        errors.extend(refused);
        let failed = found.failed.iter();
        errors.extend(failed.map(|(to, error)| unconvertible(to, error)));
        errors.extend(found.lost.into_values().map(Lost::error));
        for (to, (_, why)) in found.too_large {
            errors.push(FieldError::exceeds("", format!("in version {to}, {why}")));
        }
        Ok(errors)
    }

    /// The errors for values that annotations of `new` keep for another version, and those of `old` do not, if a client
    /// could not write these values in that version. The API server checks only the version of the request.
    fn refused(&self, old: Option<&Header>, new: &Header) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let is_other = |version: &&ConvertibleVersion| {
            !new.api_version.ends_with(&format!("/{}", version.name))
        };
        for version in self.versions().filter(is_other) {
            let saved = |header: &Header| {
                let group = &self.group;
                let version = &version.name;
                let mut annotations = header.metadata.annotations.clone().unwrap_or_default();
                ForVersion { version, group }
                    .take(&mut annotations, &Value::Null)
                    .changes
            };
            let before = old.map(saved).unwrap_or_default();
            let mut changes = saved(new);
            changes.retain(|change| !before.contains(change));
            let refusals = changes
                .iter()
                .filter_map(|change| refusal(change, version, old.is_some()));
            errors.extend(refusals);
        }
        errors
    }

    /// What is wrong with the conversions of `object`, which may be stored in any version, and be read in any other
    /// version.
    fn converted(&self, object: &Map<String, Value>) -> Found {
        let mut found = Found::default();
        for stored in self.in_other_versions(object, &mut found) {
            self.in_other_versions(&stored, &mut found);
        }
        found
    }

    /// `object` in each of the other versions. Adds what is wrong with these conversions to `found`.
    fn in_other_versions(
        &self,
        object: &Map<String, Value>,
        found: &mut Found,
    ) -> Vec<Map<String, Value>> {
        let own = version(object);
        let mut converted = Vec::new();
        for to in self.versions().filter(|version| version.name != own) {
            let (other, lost) = match self.measured(object.clone(), &to.name) {
                Ok(measured) => measured,
                Err(error) => {
                    found.failed.entry(to.name.clone()).or_insert(error);
                    continue;
                }
            };
            for values in lost {
                found.lost.entry(values.to.clone()).or_insert(values);
            }
            let text = serde_json::to_string(&other).unwrap_or_default();
            if let Some(why) = too_many_values(&text) {
                let measured = (memory(&text), why);
                found.too_large.entry(to.name.clone()).or_insert(measured);
            }
            converted.push(other);
        }
        converted
    }
}

/// What is wrong with the conversions of an object, by version.
#[derive(Default)]
struct Found {
    /// Why the object cannot be converted to the version.
    failed: BTreeMap<String, String>,
    /// The values that the version cannot hold.
    lost: BTreeMap<String, Lost>,
    /// The size of the object if it is too large in this version, and why it is too large.
    too_large: BTreeMap<String, (usize, String)>,
}

impl Found {
    fn is_empty(&self) -> bool {
        self.failed.is_empty() && self.lost.is_empty() && self.too_large.is_empty()
    }
}

/// The error of an object that cannot be converted to version `to`. The `error` of the conversion mostly begins with the
/// path of a field.
fn unconvertible(to: &str, error: &str) -> FieldError {
    let (path, why) = match error.split_once(": ") {
        Some((path, why)) if path.starts_with("spec") || path.starts_with("status") => (path, why),
        _ => ("", error),
    };
    FieldError::unconvertible(path, format!("it cannot become version {to}: {why}"))
}

/// Why a client may not save this change for `version`.
fn refusal(
    change: &ValueChange,
    version: &ConvertibleVersion,
    is_update: bool,
) -> Option<FieldError> {
    let (place, name) = (change::display(&change.path), &version.name);
    let ValueChange { path, to, .. } = change;
    // No conversion adds a whole status, and without that, an object that is created has none.
    let adds_status = is_update || path.len() == 1;
    if adds_status && path.first() == Some(&PathSegment::Field("status".to_owned())) {
        let why = format!(
            "an annotation changes it in version {name}: keep the annotation as it was, or leave it out"
        );
        return Some(FieldError::forbidden(place, why));
    }
    let (last, parents) = path.split_last()?;
    let Some(to) = to else {
        let PathSegment::Field(field) = last else {
            return None;
        };
        let required = schema_at(version, parents)["required"].as_array()?;
        let is_required = required.iter().any(|name| name == field.as_str());
        let why = format!("an annotation removes it in version {name}: leave the annotation out");
        return is_required.then(|| FieldError::required(place, why));
    };
    if let PathSegment::Item(keys) = last
        && !change::has(to, keys)
    {
        let why = format!("an annotation for version {name} has other keys than its path");
        return Some(FieldError::forbidden(place, why));
    }
    if let Some(why) = too_many_levels(path.len() + levels(&to.to_string())) {
        return Some(FieldError::exceeds(place, why));
    }
    let why = fits(to, schema_at(version, path).as_object()?).err()?;
    let why = format!("{why}; an annotation keeps it for version {name}: leave the annotation out");
    Some(FieldError::type_invalid(place, why))
}

/// The schema of what is at `path`.
fn schema_at<'a>(version: &'a ConvertibleVersion, path: &[PathSegment]) -> &'a Value {
    path.iter()
        .fold(&version.schema, |schema, segment| match segment {
            PathSegment::Field(name) => change::field(schema, name),
            PathSegment::Item(_) => &schema["items"],
        })
}

impl Lost {
    fn error(self) -> FieldError {
        let Self { from, to, excess } = self;
        let (size, most) = (excess.size, MOST);
        let too_many = size.saturating_sub(most);
        FieldError::exceeds(
            change::display(&excess.largest),
            format!(
                "annotations keep what version {to} cannot hold of version {from}; all annotations of the object \
                 would have {size} bytes, but may have {most}: remove {too_many} bytes or more, here or from the \
                 rest of what {to} cannot hold"
            ),
        )
    }
}
