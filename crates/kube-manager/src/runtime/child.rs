//! What a reconciler says about a child in addition to its fields: what happens to an object that exists already.

use k8s_openapi::ByteString;
use kube::{Resource, core::ObjectMeta};
use serde::Serialize;
use serde_json::{Value, json};

use super::{children::error::Error, object::Write, scope::Kind};

/// A desired child, and what happens if it exists already.
///
/// [`Children::apply`](super::Children::apply) also takes plain objects: an object is a child whose fields are all
/// corrected when they differ. Use a `Child` for values that must never change once they are there, such as a generated
/// password, and for objects with immutable fields.
///
/// ```
/// use k8s_openapi::api::{apps::v1::StatefulSet, core::v1::Secret};
/// use kube_manager::{Child, Recreate};
///
/// # let (secret, token, stateful_set) = (Secret::default(), Secret::default(), StatefulSet::default());
/// // The whole Secret is created once, and never written again.
/// let secret = Child::create_only(secret);
/// // The password stays as it is in the cluster. The other fields are corrected.
/// let token = Child::new(token).keep(["data", "password"]);
/// // If a field is immutable, the StatefulSet is deleted without its Pods, and created again.
/// let stateful_set = Child::new(stateful_set).recreate(Recreate::Orphan);
/// ```
#[derive(Clone, Debug)]
pub struct Child<C> {
    object: C,
    is_create_only: bool,
    kept: Vec<Vec<String>>,
    recreate: Option<Recreate>,
}

/// A [`Child`] of any kind.
pub(super) struct AnyChild {
    pub metadata: ObjectMeta,
    /// The object, except for its metadata.
    object: Value,
    pub is_create_only: bool,
    kept: Vec<Vec<String>>,
    pub recreate: Option<Recreate>,
}

/// A child to write.
pub(super) struct Desired {
    pub metadata: ObjectMeta,
    /// The object with this metadata.
    pub object: Value,
}

/// How a child is deleted before it is created again, because a field that differs is immutable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recreate {
    /// Deletes what the child owns first, such as the Pods of a Job.
    Foreground,
    /// Keeps what the child owns, such as the Pods of a StatefulSet. The new child takes them over if its selector
    /// matches.
    Orphan,
}

impl<C> Child<C> {
    /// A child whose fields are corrected when they differ, like a plain object.
    pub fn new(object: C) -> Self {
        Self {
            object,
            is_create_only: false,
            kept: Vec::new(),
            recreate: None,
        }
    }

    /// A child that is created if it does not exist. An existing child is never changed, except for its owner reference
    /// and the two labels by which the runtime finds it. It is deleted when it is no longer desired.
    pub fn create_only(object: C) -> Self {
        Self {
            is_create_only: true,
            ..Self::new(object)
        }
    }

    /// Keeps the value that the field at `path` has in the cluster, such as `["data", "password"]`. The desired value
    /// counts only while the live object has no such field.
    ///
    /// The path consists of names of fields, so it cannot lead into a list. `stringData` of a Secret is the same as
    /// `data`.
    #[must_use]
    pub fn keep(mut self, path: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.kept.push(path.into_iter().map(Into::into).collect());
        self
    }

    /// Deletes the child and creates it again when the API server refuses a change because a field is immutable. Without
    /// this setting, such a change is an [error](super::children::Error::Immutable).
    ///
    /// The deletion would lose the values of kept fields, so a child that has some is not deleted.
    #[must_use]
    pub fn recreate(mut self, how: Recreate) -> Self {
        self.recreate = Some(how);
        self
    }
}

impl<C: Resource + Serialize> Child<C> {
    /// The same child, without its type.
    pub(super) fn any(self) -> AnyChild {
        let mut object = json!(self.object);
        object["metadata"].take();
        // Only a copy of a live object has a status, which is left to the controller of the child.
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
        }
        AnyChild {
            metadata: self.object.meta().clone(),
            object,
            is_create_only: self.is_create_only,
            kept: self.kept,
            recreate: self.recreate,
        }
    }
}

impl<C> From<C> for Child<C> {
    fn from(object: C) -> Self {
        Self::new(object)
    }
}

impl AnyChild {
    /// Whether values of the live object must not be lost.
    pub fn keeps_values(&self) -> bool {
        self.is_create_only || !self.kept.is_empty()
    }

    /// The object to write, if the API server has `live`: with the kept values, and with `stringData` in the form in
    /// which the API server stores it. `write` writes an object of this kind.
    pub fn over(&self, live: Option<&Value>, kind: &Kind, write: Write) -> Result<Desired, Error> {
        let is_secret = kind.resource.kind == "Secret" && kind.resource.group.is_empty();
        let (mut metadata, mut object) = (self.metadata.clone(), self.object.clone());
        object["metadata"] = json!(metadata);
        let mut changes = is_secret && store_string_data(&mut object);
        for names in &self.kept {
            let mut path: Vec<_> = names.iter().map(String::as_str).collect();
            if is_secret && path.first() == Some(&"stringData") {
                path[0] = "data";
            }
            let Some(is_kept) = live.map_or(Some(false), |live| keep(&mut object, live, &path))
            else {
                return Err(Error::CannotKeep {
                    child: kind.describe(&metadata),
                    field: path.join("."),
                });
            };
            changes |= is_kept;
        }
        if changes {
            // A value that does not fit the type is an error, and the type may write a value in another form.
            let typed = kind
                .parse(&object.to_string())
                .map_err(|error| Error::Request {
                    verb: "keep the values of",
                    child: kind.describe(&metadata),
                    source: kube::Error::SerdeError(error),
                })?;
            metadata = typed.metadata().clone();
            object = write(&*typed);
        }
        Ok(Desired { metadata, object })
    }
}

/// Moves `stringData` of a Secret to `data`, as the API server does. Returns whether there was something to move.
fn store_string_data(secret: &mut Value) -> bool {
    let texts = secret
        .as_object_mut()
        .and_then(|object| object.remove("stringData"));
    let Some(Value::Object(texts)) = texts else {
        return false;
    };
    for (key, text) in texts {
        if let Value::String(text) = text {
            secret["data"][key] = json!(ByteString(text.into_bytes()));
        }
    }
    true
}

/// Gives the field at `path` the value that it has in `live`. Returns whether it has one, and `None` if the path leads to
/// something other than a field of an object.
fn keep(object: &mut Value, live: &Value, path: &[&str]) -> Option<bool> {
    path.first()?;
    let mut kept = live;
    for name in path {
        match kept {
            Value::Object(fields) => kept = fields.get(*name).unwrap_or(&Value::Null),
            Value::Null => return Some(false),
            _ => return None,
        }
    }
    if kept.is_null() {
        return Some(false);
    }
    let mut place = object;
    for name in path {
        if place.is_null() {
            *place = json!({});
        }
        place = place.as_object_mut()?.entry(*name).or_insert(Value::Null);
    }
    *place = kept.clone();
    Some(true)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Secret},
    };

    use super::*;
    use crate::runtime::{
        object::write,
        scope::{Scope, Watchable},
    };

    fn secret(data: Value) -> Secret {
        serde_json::from_value(data).expect("a Secret")
    }

    fn data(secret: &Value) -> Value {
        assert_eq!(secret.get("stringData"), None);
        secret["data"].clone()
    }

    /// The object to write.
    fn over_kind<C>(child: Child<C>, live: Option<&Value>) -> Result<Value, Error>
    where
        C: Watchable + Resource<DynamicType = (), Scope: Scope> + Serialize,
    {
        let written = child.any().over(live, &Kind::of::<C>(), write::<C>)?;
        Ok(written.object)
    }

    /// The Secret to write if the desired one has the data `desired`, and the live one has `live`.
    fn over(desired: Value, live: Value, path: &[&str]) -> Value {
        let child = Child::new(secret(desired)).keep(path.iter().copied());
        let live = json!({ "data": live });
        let written = over_kind::<Secret>(child, Some(&live));
        data(&written.unwrap_or_else(|_| panic!("the path fits")))
    }

    #[test]
    fn a_kept_value_is_the_live_one() {
        let desired = json!({"data": {"password": "bmV3", "user": "YQ=="}});
        let path = ["data", "password"];
        let kept = over(
            desired.clone(),
            json!({"password": "b2xk", "user": "Yg=="}),
            &path,
        );
        assert_eq!(kept, json!({"password": "b2xk", "user": "YQ=="}));
        // The live object has no such field.
        let kept = over(desired.clone(), json!({"user": "Yg=="}), &path);
        assert_eq!(kept, json!({"password": "bmV3", "user": "YQ=="}));
        // Only the live object has the field.
        let kept = over(json!({}), json!({"password": "b2xk"}), &path);
        assert_eq!(kept, json!({"password": "b2xk"}));
    }

    #[test]
    fn string_data_is_data() {
        let both = json!({"data": {"b": "YQ=="}, "stringData": {"b": "b", "a": "b"}});
        let Ok(object) = over_kind::<Secret>(Child::new(secret(both)), None) else {
            panic!("nothing is kept");
        };
        assert_eq!(data(&object), json!({"a": "Yg==", "b": "Yg=="}));
        let desired = json!({"stringData": {"password": "new"}, "data": {"user": "YQ=="}});
        let Ok(object) = over_kind::<Secret>(Child::new(secret(desired.clone())), None) else {
            panic!("nothing is kept");
        };
        assert_eq!(data(&object), json!({"password": "bmV3", "user": "YQ=="}));
        for section in ["data", "stringData"] {
            let kept = over(
                desired.clone(),
                json!({"password": "b2xk"}),
                &[section, "password"],
            );
            assert_eq!(kept, json!({"password": "b2xk", "user": "YQ=="}));
        }
    }

    #[test]
    fn a_name_may_contain_a_dot() {
        let desired = json!({"data": {"tls.crt": "bmV3"}});
        let kept = over(desired, json!({"tls.crt": "b2xk"}), &["data", "tls.crt"]);
        assert_eq!(kept, json!({"tls.crt": "b2xk"}));
    }

    #[test]
    fn a_path_that_no_object_has_is_an_error() {
        let live = json!({"metadata": {"finalizers": ["a"]}, "data": {"a": "b"}});
        let paths: [&[&str]; 3] = [&[], &["metadata", "finalizers", "0"], &["data", "a", "b"]];
        for path in paths {
            let child = Child::new(ConfigMap::default()).keep(path.iter().copied());
            let written = over_kind::<ConfigMap>(child, Some(&live));
            let Err(Error::CannotKeep { field, .. }) = written else {
                panic!("{path:?} is no error");
            };
            assert_eq!(field, path.join("."));
        }
    }

    #[test]
    fn a_kept_value_fits_the_type() {
        let child = Child::new(Deployment::default()).keep(["spec", "replicas"]);
        let live = json!({"spec": {"replicas": "many"}});
        let written = over_kind::<Deployment>(child, Some(&live));
        assert_eq!(written.expect_err("no number").reason(), "ChildFailed");
    }
}
