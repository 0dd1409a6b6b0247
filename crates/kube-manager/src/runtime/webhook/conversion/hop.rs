//! One step of a conversion, between a spoke and the hub.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{
    annotations::{Annotations, ForVersion, TooLarge},
    change::{ValueChange, between},
    harmless::harmless,
    header::name,
    hub::{Directions, Spoke},
    incomplete::{self, common, complete},
    version::{Convert, ConvertibleVersion, Parts, TYPE_AND_METADATA},
};

/// The maximal number of conversions to find out which changes still fit.
const TRIES: usize = 1000;

/// How much JSON these conversions may read together, in bytes: a large object gets fewer of them, so that the API
/// server still waits for the answer.
const WORK: usize = 96 << 20;

/// One step between a spoke and the hub.
pub struct Hop<'a> {
    pub group: &'a str,
    pub from: &'a ConvertibleVersion,
    pub to: &'a ConvertibleVersion,
    pub spoke: &'a Spoke,
    pub is_up: bool,
}

/// The values that a step loses, because the annotations have no room for them.
pub struct Lost {
    /// The versions before and after the step.
    pub from: String,
    pub to: String,
    pub excess: TooLarge,
}

impl Hop<'_> {
    pub fn convert(&self, object: &mut Map<String, Value>) -> Result<Option<Lost>, String> {
        let mut too_large = None;
        let mut body = std::mem::take(object);
        for field in TYPE_AND_METADATA {
            object.extend(body.remove_entry(field));
        }
        let body = Value::Object(body);
        let converted = self.forth(&body)?;
        let mut annotations = annotations(object);
        let [here, there] = [self.from, self.to].map(|version| ForVersion {
            version: &version.name,
            group: self.group,
        });
        // An object of this version keeps nothing for this version.
        here.take(&mut annotations, &body);
        let saved = there.take(&mut annotations, &body);
        let mut made = self.make(&saved.changes, converted);
        // A client has changed the object, or has written an annotation by hand that the type refuses.
        if !saved.is_as_written || made.1.is_err() {
            let converted = self.forth(&body)?;
            made = self.make(&self.fitting(saved.changes, &body, &converted), converted);
        }
        let (converted, back) = made;
        match back {
            Ok(back) => {
                let lost = between(&self.from.schema, &back, &body);
                too_large = here.put(lost, &mut annotations, &converted).err();
            }
            Err(error) => {
                let (object, version) = (name(object), &self.to.name);
                tracing::warn!(object, version, error, "cannot be converted back");
            }
        }
        set_annotations(object, annotations);
        let api_version = format!("{}/{}", self.group, self.to.name);
        object.insert("apiVersion".to_owned(), api_version.into());
        if let Value::Object(mut converted) = converted {
            // An annotation that a client has written may name these fields, too.
            converted.retain(|name, _| !TYPE_AND_METADATA.contains(&&**name));
            object.extend(converted);
        }
        Ok(too_large.map(|excess| Lost {
            from: self.from.name.clone(),
            to: self.to.name.clone(),
            excess,
        }))
    }

    fn forth(&self, body: &Value) -> Result<Value, String> {
        convert([self.from, self.to], body, self.spoke, |part| {
            if self.is_up { part.up } else { part.down }
        })
    }

    fn back(&self, body: &Value) -> Result<Value, String> {
        convert([self.to, self.from], body, self.spoke, |part| {
            if self.is_up { part.down } else { part.up }
        })
    }

    /// `converted` with the `changes`, and the same converted back.
    fn make(
        &self,
        changes: &[ValueChange],
        mut converted: Value,
    ) -> (Value, Result<Value, String>) {
        for change in changes {
            change.make(&mut converted);
        }
        let back = self.back(&converted);
        (converted, back)
    }

    /// The places where a client that wrote `body` would read other values, if `changes` were made in `converted`.
    fn misread(
        &self,
        changes: &[ValueChange],
        body: &Value,
        converted: &Value,
    ) -> Option<Vec<ValueChange>> {
        let (_, back) = self.make(changes, converted.clone());
        Some(between(&self.from.schema, &back.ok()?, body))
    }

    /// Returns the `changes` that can still be applied. A client has changed `body`, which was converted to
    /// `converted`: the values that the client wrote must not change.
    fn fitting(
        &self,
        changes: Vec<ValueChange>,
        body: &Value,
        converted: &Value,
    ) -> Vec<ValueChange> {
        let Some(before) = self.misread(&[], body, converted) else {
            return Vec::new();
        };
        let most = (WORK / body.to_string().len()).min(TRIES);
        let mut tries = most;
        let count = changes.len();
        let fitting = harmless(changes, &mut tries, |changes| {
            match self.misread(changes, body, converted) {
                Some(after) => {
                    let new = after.iter().filter(|change| !before.contains(change));
                    new.count()
                }
                None => usize::MAX,
            }
        });
        if tries == 0 && count > 0 {
            let (version, left_out) = (&self.to.name, count - fitting.len());
            tracing::warn!(
                version,
                left_out,
                tries = most,
                "restores not all values that fit"
            );
        }
        fitting
    }
}

/// Converts the parts of an object, `body`, each by what `direction` takes. It may lack what its schema requires;
/// then the answer lacks what would follow from that.
fn convert(
    [from, to]: [&ConvertibleVersion; 2],
    body: &Value,
    spoke: &Spoke,
    direction: impl Fn(Directions) -> Convert,
) -> Result<Value, String> {
    let parts = from.parts(body);
    let converted = plain(from, &parts, spoke, &direction).or_else(|error: String| {
        let mut shared: Option<Parts> = None;
        let mut good = 0;
        for number in 0..incomplete::TRIES {
            let mut completed = parts.clone();
            if !complete(from, &mut completed, number) {
                return Err(error);
            }
            let Ok(converted) = plain(from, &completed, spoke, &direction) else {
                continue;
            };
            good += 1;
            shared = Some(match shared {
                Some(shared) => common(shared, &converted),
                None => converted,
            });
        }
        // A single result does not show which values depend on the missing fields.
        shared.filter(|_| good > 1).ok_or(error)
    });
    Ok(to.body(converted?))
}

/// The same for an object that has what its schema requires.
fn plain<'a>(
    from: &ConvertibleVersion,
    parts: &Parts<'a>,
    spoke: &Spoke,
    direction: &impl Fn(Directions) -> Convert,
) -> Result<Parts<'a>, String> {
    let convert = |part: &Option<Cow<'a, Value>>, directions: Directions| match part {
        Some(value) if !value.is_null() => {
            let converted = direction(directions)(value)?;
            Ok(Some(Cow::Owned(converted)))
        }
        part => Ok(part.clone()),
    };
    let spec = convert(&parts.spec, spoke.spec);
    let spec = spec.map_err(|error: String| from.error_in_spec(&error))?;
    let status = match spoke.status {
        Some(directions) => {
            convert(&parts.status, directions).map_err(|error: String| format!("status{error}"))?
        }
        None => parts.status.clone(),
    };
    let others = parts.others.clone();
    Ok(Parts {
        spec,
        status,
        others,
    })
}

/// The annotations of an object.
fn annotations(object: &mut Map<String, Value>) -> Annotations {
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    let annotations = metadata.and_then(|fields| fields.remove("annotations"));
    match annotations {
        Some(Value::Object(annotations)) => annotations,
        _ => Annotations::new(),
    }
}

fn set_annotations(object: &mut Map<String, Value>, annotations: Annotations) {
    if annotations.is_empty() {
        return;
    }
    let metadata = object
        .entry("metadata")
        .or_insert_with(|| Map::new().into());
    if let Value::Object(metadata) = metadata {
        metadata.insert("annotations".to_owned(), annotations.into());
    }
}
