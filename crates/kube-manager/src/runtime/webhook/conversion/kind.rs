//! The conversion of one kind, between any two of its versions.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Map, Value};

use super::{
    header::name,
    hop::{Hop, Lost},
    hub::{Hub, Spoke, Versioned, part},
    version::{ConvertibleVersion, Rewrite, version},
};
use crate::runtime::closures;

/// The conversion of one kind.
pub struct Conversion {
    pub group: String,
    pub kind: String,
    pub plural: String,
    pub hub: ConvertibleVersion,
    pub spokes: Vec<Spoke>,
}

impl<H: Versioned> From<Hub<H>> for Conversion {
    fn from(hub: Hub<H>) -> Self {
        let rewrite = Rewrite {
            spec: part::<H::Spec, H::Spec>,
            status: hub.rewrite_status,
        };
        Self {
            group: H::group(&()).into_owned(),
            kind: H::kind(&()).into_owned(),
            plural: H::plural(&()).into_owned(),
            hub: ConvertibleVersion::of::<H>(rewrite),
            spokes: hub.spokes,
        }
    }
}

impl Conversion {
    /// The name of the kind's CRD.
    pub fn crd(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// Whether it is of this kind.
    pub fn is_of(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }

    /// Whether it converts this version.
    pub fn has(&self, version: &str) -> bool {
        let mut spokes = self.spokes.iter();
        self.hub.name == version || spokes.any(|spoke| spoke.version.name == version)
    }

    /// The names of all versions: the hub, then its spokes.
    pub fn versions(&self) -> impl Iterator<Item = &ConvertibleVersion> {
        let spokes = self.spokes.iter().map(|spoke| &spoke.version);
        [&self.hub].into_iter().chain(spokes)
    }

    /// Converts `object` to another version.
    pub fn convert(&self, object: Map<String, Value>, to: &str) -> Result<Value, String> {
        let (object, lost) = self.measured(object, to)?;
        for Lost { to, .. } in lost {
            tracing::error!(object = name(&object), version = to, "too large");
        }
        Ok(Value::Object(object))
    }

    /// The same, and returns the values for which the annotations have no room.
    pub fn measured(
        &self,
        mut object: Map<String, Value>,
        to: &str,
    ) -> Result<(Map<String, Value>, Vec<Lost>), String> {
        let mut lost = Vec::new();
        let from = version(&object).to_owned();
        if from != to {
            // A version that is neither the hub nor a spoke cannot be converted.
            let way = [(&*from, true), (to, false)];
            for (version, is_up) in way {
                if version == self.hub.name {
                    continue;
                }
                let mut spokes = self.spokes.iter();
                let Some(spoke) = spokes.find(|spoke| spoke.version.name == version) else {
                    return Err(format!("{version} of {} is not converted here", self.kind));
                };
                let (from, to) = match is_up {
                    true => (&spoke.version, &self.hub),
                    false => (&self.hub, &spoke.version),
                };
                let group = &self.group;
                let hop = Hop {
                    group,
                    from,
                    to,
                    spoke,
                    is_up,
                };
                let convert = AssertUnwindSafe(|| hop.convert(&mut object));
                let ended = catch_unwind(convert).unwrap_or_else(|panic| {
                    let message = closures::message(&*panic);
                    Err(format!("panicked: {message}"))
                });
                lost.extend(ended?);
            }
        }
        Ok((object, lost))
    }
}
