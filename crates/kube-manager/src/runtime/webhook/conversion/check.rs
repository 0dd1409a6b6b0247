//! A test for the users' conversions.

use std::borrow::Cow;

use proptest::{
    collection::vec,
    prelude::*,
    sample::select,
    test_runner::{Config, TestError, TestRunner},
};
use serde_json::{Map, Value};

use crate::{
    runtime::arbitrary::objects,
    schema::{any_in, is_union},
};

use super::{
    hub::{Hub, Versioned},
    kind::Conversion,
    version::{ConvertibleVersion, Rewrite, TYPE_AND_METADATA},
};

/// The maximal number of versions through which an object goes before it comes back.
const STOPS: usize = 4;

impl<H: Versioned> Hub<H> {
    /// Converts arbitrary objects of each version through other versions and back, and compares them. It converts 256
    /// objects, or the number in `$PROPTEST_CASES`.
    ///
    /// # Panics
    ///
    /// When an object differs after its conversion back, or cannot be converted. The message has the smallest such
    /// object that was found.
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
        let ended = TestRunner::new(config).run(&self.ways(), |(object, way)| {
            let mut now = object.clone();
            let mut stops = String::new();
            for version in way {
                let Value::Object(fields) = now else {
                    return Err(TestCaseError::fail("no object"));
                };
                now = self
                    .convert(fields, &version)
                    .map_err(TestCaseError::fail)?;
                stops = format!("{stops}\nas {version}: {now:#}");
            }
            prop_assert!(
                now == object,
                "the object differs after its conversion back{stops}"
            );
            Ok(())
        });
        match ended {
            Ok(()) => {}
            Err(TestError::Fail(why, (object, way))) => panic!("{object:#}\nby {way:?}: {why}"),
            Err(error @ TestError::Abort(_)) => panic!("{error}"),
        }
    }

    /// Arbitrary objects, each with the versions that it goes through. The last one is its own.
    pub(super) fn ways(&self) -> impl Strategy<Value = (Value, Vec<String>)> + use<> {
        let mut versions = Vec::new();
        for version in self.versions() {
            let api_version = format!("{}/{}", self.group, version.name);
            let objects = objects(&api_version, &self.kind, &version.schema);
            let objects = match any_in(&version.schema, is_union) {
                true => written_again(objects, version.clone()),
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

/// `objects` as the Rust types write them: each enum has only the fields of its variant.
fn written_again(
    objects: BoxedStrategy<Value>,
    version: ConvertibleVersion,
) -> BoxedStrategy<Value> {
    let written = objects.prop_filter_map("the object fits the Rust types", move |mut object| {
        let mut head = Map::new();
        let fields = object.as_object_mut()?;
        for name in TYPE_AND_METADATA {
            head.extend(fields.remove_entry(name));
        }
        let mut parts = version.parts(&object);
        let Rewrite { spec, status } = version.rewrite;
        if let Some(part) = &mut parts.spec {
            *part = Cow::Owned(spec(part).ok()?);
        }
        if let (Some(part), Some(status)) = (&mut parts.status, status) {
            *part = Cow::Owned(status(part).ok()?);
        }
        let body = version.body(parts);
        head.extend(body.as_object()?.clone());
        Some(Value::Object(head))
    });
    written.boxed()
}
