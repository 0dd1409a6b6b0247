//! What a reconciler says about a child in addition to its fields: what happens to an object that exists already.

use k8s_openapi::ByteString;
use kube::Resource;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

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
    pub(super) object: C,
    pub(super) is_create_only: bool,
    kept: Vec<Vec<String>>,
    pub(super) recreate: Option<Recreate>,
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
    /// and the label `app.kubernetes.io/managed-by`, with which it is watched. It is deleted when it is no longer
    /// desired.
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

    /// Whether values of the live object must not be lost.
    pub(super) fn keeps_values(&self) -> bool {
        self.is_create_only || !self.kept.is_empty()
    }
}

impl<C> From<C> for Child<C> {
    fn from(object: C) -> Self {
        Self::new(object)
    }
}

/// Why the fields of a child cannot be computed.
pub enum Unfit {
    /// This kept field cannot be in an object.
    Path(String),
    /// A kept value does not fit the type of the child.
    Value(serde_json::Error),
}

impl Unfit {
    fn at(path: &[&str]) -> Self {
        Self::Path(path.join("."))
    }
}

impl<C> Child<C>
where
    C: Resource + Clone + Serialize + DeserializeOwned,
{
    /// The object to write, if the API server has `live`: with the kept values, and with `stringData` in the form in
    /// which the API server stores it.
    pub(super) fn over(&self, live: Option<&Value>, dyntype: &C::DynamicType) -> Result<C, Unfit> {
        let is_secret = C::kind(dyntype) == "Secret" && C::group(dyntype).is_empty();
        let kept = if live.is_some() { &*self.kept } else { &[] };
        if kept.is_empty() && !is_secret {
            return Ok(self.object.clone());
        }
        let mut fields = json!(self.object);
        let mut changes = is_secret && store_string_data(&mut fields);
        for names in kept {
            let mut path: Vec<_> = names.iter().map(String::as_str).collect();
            if is_secret && path.first() == Some(&"stringData") {
                path[0] = "data";
            }
            let kept = live.map_or(Ok(None), |live| field(live, &path));
            if let Some(value) = kept.map_err(|NoField| Unfit::at(&path))? {
                set(&mut fields, &path, value.clone()).map_err(|NoField| Unfit::at(&path))?;
                changes = true;
            }
        }
        if !changes {
            return Ok(self.object.clone());
        }
        serde_json::from_value(fields).map_err(Unfit::Value)
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

/// A path leads to something other than a field of an object.
struct NoField;

/// The value of the field at `path`.
fn field<'a>(object: &'a Value, path: &[&str]) -> Result<Option<&'a Value>, NoField> {
    if path.is_empty() {
        return Err(NoField);
    }
    let mut place = object;
    for name in path {
        match place {
            Value::Object(fields) => place = fields.get(*name).unwrap_or(&Value::Null),
            Value::Null => return Ok(None),
            _ => return Err(NoField),
        }
    }
    Ok(Some(place).filter(|value| !value.is_null()))
}

/// Sets the field at `path` to `value`.
fn set(object: &mut Value, path: &[&str], value: Value) -> Result<(), NoField> {
    let mut place = object;
    for name in path {
        if place.is_null() {
            *place = Value::Object(Map::new());
        }
        let fields = place.as_object_mut().ok_or(NoField)?;
        place = fields.entry(*name).or_insert(Value::Null);
    }
    *place = value;
    Ok(())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Secret},
    };

    use super::*;

    fn secret(data: Value) -> Secret {
        serde_json::from_value(data).expect("a Secret")
    }

    fn data(secret: &Secret) -> Value {
        assert_eq!(secret.string_data, None);
        json!(secret)["data"].clone()
    }

    /// The Secret to write if the desired one has the data `desired`, and the live one has `live`.
    fn over(desired: Value, live: Value, path: &[&str]) -> Value {
        let child = Child::new(secret(desired)).keep(path.iter().copied());
        let live = json!({ "data": live });
        let object = child.over(Some(&live), &());
        data(&object.unwrap_or_else(|_| panic!("the path fits")))
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
        let desired = json!({"stringData": {"password": "new"}, "data": {"user": "YQ=="}});
        let Ok(object) = Child::new(secret(desired.clone())).over(None, &()) else {
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
            let Err(Unfit::Path(unfit)) = child.over(Some(&live), &()) else {
                panic!("{path:?} is no error");
            };
            assert_eq!(unfit, path.join("."));
        }
    }

    #[test]
    fn a_kept_value_fits_the_type() {
        let child = Child::new(Deployment::default()).keep(["spec", "replicas"]);
        let live = json!({"spec": {"replicas": "many"}});
        assert!(matches!(child.over(Some(&live), &()), Err(Unfit::Value(_))));
    }
}
