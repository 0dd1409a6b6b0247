//! A test for the users' conversions.

use std::{borrow::Cow, cell::Cell};

use proptest::{
    collection::vec,
    prelude::*,
    sample::select,
    test_runner::{Config, TestError, TestRunner},
};
use serde_json::Value;

use crate::{
    runtime::arbitrary::objects,
    schema::{any_in, fits, is_union, testing::may_break_rules},
};

use super::{
    hub::{Hub, Versioned},
    kind::Conversion,
    version::{ConvertibleVersion, Rewrite, TYPE_AND_METADATA, version},
};

/// The maximal number of versions through which an object goes before it comes back.
const STOPS: usize = 4;

impl<H: Versioned> Hub<H> {
    /// Converts arbitrary objects of each version through other versions and back, and compares them. It converts 256
    /// objects, or the number in `$PROPTEST_CASES`.
    ///
    /// # Panics
    ///
    /// When an object differs after its conversion back, cannot be converted, or does not fit its Rust type, though the API
    /// server would store it. The message has the smallest such object that was found.
    #[track_caller]
    pub fn assert_lossless(self) {
        Conversion::from(self).assert_lossless();
    }
}

impl Conversion {
    #[track_caller]
    pub(super) fn assert_lossless(&self) {
        let config = Config {
            failure_persistence: None,
            ..Config::default()
        };
        let compared = Cell::new(0);
        let ended = TestRunner::new(config).run(&self.ways(), |(object, way)| {
            match self.comes_back(&object, &way) {
                Err(_) if !self.is_stored(&object) => Ok(()),
                ended => {
                    compared.set(compared.get() + 1);
                    ended.map_err(TestCaseError::fail)
                }
            }
        });
        match ended {
            Ok(()) => assert!(
                compared.get() > 0,
                "each arbitrary object breaks a CEL rule, so no conversion was compared"
            ),
            Err(TestError::Fail(why, (object, way))) => panic!("{object:#}\nby {way:?}: {why}"),
            Err(error @ TestError::Abort(_)) => panic!("{error}"),
        }
    }

    /// Converts `object` to the versions of `way` one after the other, the last of which is its own. The error says why
    /// this fails, or that the object differs then.
    fn comes_back(&self, object: &Value, way: &[String]) -> Result<(), String> {
        if let Some(version) = self.version_of(object) {
            rewritten(version, object).map_err(|error| {
                format!(
                    "{error}\nThe API server stores this object, but the Rust type of {} refuses it: add a pattern or a \
                     CEL rule to the field",
                    version.name
                )
            })?;
        }
        let mut now = object.clone();
        let mut stops = String::new();
        for version in way {
            let fields = now.as_object().cloned().unwrap_or_default();
            now = self.convert(fields, version)?;
            stops = format!("{stops}\nas {version}: {now:#}");
        }
        if now == *object {
            return Ok(());
        }
        Err(format!(
            "the object differs after its conversion back{stops}"
        ))
    }

    /// Whether the API server surely stores `object`: arbitrary objects may break CEL rules.
    fn is_stored(&self, object: &Value) -> bool {
        self.version_of(object).is_some_and(|version| {
            let schema = &version.schema;
            let fits = schema.as_object().map(|schema| fits(&body(object), schema));
            matches!(fits, Some(Ok(()))) && !may_break_rules(object, schema)
        })
    }

    fn version_of(&self, object: &Value) -> Option<&ConvertibleVersion> {
        let own = version(object.as_object()?);
        self.versions().find(|version| version.name == own)
    }

    /// Arbitrary objects, each with the versions that it goes through. The last one is its own.
    pub(super) fn ways(&self) -> impl Strategy<Value = (Value, Vec<String>)> + use<> {
        let mut versions = Vec::new();
        for version in self.versions() {
            let api_version = format!("{}/{}", self.group, version.name);
            let objects = objects(&api_version, &self.kind, &version.schema);
            let own = version.clone();
            let objects = match any_in(&version.schema, is_union) {
                // The test reports an object that the types cannot read.
                true => objects
                    .prop_map(move |object| rewritten(&own, &object).unwrap_or(object))
                    .boxed(),
                false => objects,
            };
            versions.push((version.name.clone(), objects));
        }
        let names: Vec<_> = versions.iter().map(|(name, _)| name.clone()).collect();
        select(versions).prop_flat_map(move |(own, objects)| {
            let others = vec(select(names.clone()), 1..=STOPS);
            let way = others.prop_map(move |mut way| {
                way.push(own.clone());
                way
            });
            (objects, way)
        })
    }
}

/// `object` without its type and metadata.
fn body(object: &Value) -> Value {
    let fields = object.as_object().into_iter().flatten();
    let own = fields.filter(|(name, _)| !TYPE_AND_METADATA.contains(&name.as_str()));
    own.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// `object` as the Rust types of its version write it: each enum has only the fields of its variant.
fn rewritten(version: &ConvertibleVersion, object: &Value) -> Result<Value, String> {
    let before = body(object);
    let mut parts = version.parts(&before);
    let Rewrite { spec, status } = version.rewrite;
    if let Some(part) = &mut parts.spec {
        let written = spec(part).map_err(|error| version.error_in_spec(&error))?;
        *part = Cow::Owned(written);
    }
    if let (Some(part), Some(status)) = (&mut parts.status, status) {
        let written = status(part).map_err(|error| format!("status{error}"))?;
        *part = Cow::Owned(written);
    }
    let mut written = version.body(parts);
    for name in TYPE_AND_METADATA {
        written[name] = object[name].clone();
    }
    Ok(written)
}
