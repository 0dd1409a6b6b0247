//! Calls closures that the author of a controller declared, such as a predicate. A closure that panics for one object
//! must not end the operator: after a restart, it would panic for the same object again.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use kube::runtime::Predicate;
use prometheus::IntCounterVec;

use super::{
    metrics::Metrics,
    object::{Object, typed_ref},
    watch::{Key, key},
};

/// Calls the closures of a controller.
#[derive(Clone)]
pub struct Closures {
    controller: &'static str,
    errors: IntCounterVec,
}

impl Closures {
    pub fn new(controller: &'static str, metrics: &Metrics) -> Self {
        Self {
            controller,
            errors: metrics.errors.clone(),
        }
    }

    /// Calls `closure` for the object with this key. A panic is logged with `name`, the setting that the closure belongs
    /// to, and counted; the result is then `None`.
    pub fn call<T>(&self, name: &str, key: &Key, closure: impl FnOnce() -> T) -> Option<T> {
        let (namespace, object) = key;
        match catch_unwind(AssertUnwindSafe(closure)) {
            Ok(value) => Some(value),
            Err(panic) => {
                let (controller, panic) = (self.controller, message(panic.as_ref()));
                self.errors.with_label_values(&[controller, "panic"]).inc();
                tracing::error!(
                    controller,
                    namespace,
                    name = object,
                    panic,
                    "`{name}` panicked for this object, and is called again when the object changes"
                );
                None
            }
        }
    }
}

/// Computes a number that changes when an object counts as changed. Without a number, each change counts.
pub type Property = Box<dyn Fn(&dyn Object) -> Option<u64> + Send + Sync>;

/// The value of `predicate`.
pub fn property<K: Object>(predicate: impl Predicate<K> + Send + Sync + 'static) -> Property {
    Box::new(move |object| predicate.hash_property(typed_ref(object)?))
}

/// Tells the changes of objects of other kinds that count from those that do not.
pub struct Filter {
    closures: Closures,
    property: Property,
}

impl Filter {
    /// Only those changes of an `S` count that change the value of `predicate`.
    pub fn new<S: Object>(
        closures: Closures,
        predicate: impl Predicate<S> + Send + Sync + 'static,
    ) -> Self {
        Self {
            closures,
            property: property(predicate),
        }
    }

    /// Whether the change from `before` to `after` counts. Another object with the same name counts, and the beginning of
    /// a deletion. A change to an object for which the predicate panics does not count.
    pub fn counts(&self, before: &dyn Object, after: &dyn Object) -> bool {
        let (old, new) = (before.metadata(), after.metadata());
        let is_same = old.uid == new.uid
            && old.deletion_timestamp.is_some() == new.deletion_timestamp.is_some();
        if !is_same {
            return true;
        }
        match (self.number(before), self.number(after)) {
            (_, None) => false,
            (Some(Some(before)), Some(Some(after))) => before != after,
            _ => true,
        }
    }

    /// `None` if the predicate panics.
    fn number(&self, object: &dyn Object) -> Option<Option<u64>> {
        let key = key(object.metadata());
        let closures = &self.closures;
        closures.call("predicate", &key, || (self.property)(object))
    }
}

/// The message of a panic.
pub fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{
        api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp,
    };
    use kube::runtime::predicates;

    use super::*;

    #[test]
    fn a_panic_of_a_closure_is_counted_and_affects_nothing_else() {
        let metrics = Metrics::for_test();
        let closures = Closures::new("test", &metrics);
        let key = (None, "a".to_owned());
        let list: &[u8] = &[];
        assert_eq!(closures.call("predicate", &key, || list[0]), None);
        assert_eq!(closures.call("predicate", &key, || list.len()), Some(0));
        let panics = metrics.errors.with_label_values(&["test", "panic"]);
        assert_eq!(panics.get(), 1);
    }

    #[test]
    fn a_change_counts_if_it_changes_the_value_of_the_predicate() {
        fn predicate(secret: &Secret) -> Option<u64> {
            let labels = secret.metadata.labels.as_ref()?;
            assert_ne!(labels["a"], "bad");
            predicates::labels(secret)
        }
        fn secret(uid: &str, label: &str, version: &str) -> Secret {
            let mut secret = Secret::default();
            secret.metadata.uid = Some(uid.to_owned());
            secret.metadata.resource_version = Some(version.to_owned());
            secret.metadata.labels = Some([("a".to_owned(), label.to_owned())].into());
            secret
        }

        let filter = Filter::new(Closures::new("test", &Metrics::for_test()), predicate);
        let before = secret("1", "b", "1");
        for (after, counts) in [
            (secret("1", "b", "2"), false),
            (secret("1", "c", "2"), true),
            (secret("2", "b", "2"), true),
            (secret("1", "bad", "2"), false),
            (Secret::default(), true),
        ] {
            assert_eq!(filter.counts(&before, &after), counts, "{after:?}");
        }
        let mut deleted = secret("1", "b", "2");
        deleted.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        assert!(filter.counts(&before, &deleted));
    }
}
