//! Calls closures that the author of a controller declared, such as a predicate. A closure that panics for one object
//! must not end the operator: after a restart, it would panic for the same object again.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use prometheus::IntCounterVec;

use super::{metrics::Metrics, watch::Key};

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
                    "`{name}` panicked for this object, which is left alone until it changes"
                );
                None
            }
        }
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
    use prometheus::Registry;

    use super::*;
    use crate::runtime::Operator;

    #[test]
    fn a_panic_of_a_closure_is_counted_and_affects_nothing_else() {
        let operator = Operator::new("test", "example.com");
        let metrics = Metrics::new(&operator, Registry::new()).expect("different names");
        let closures = Closures::new("test", &metrics);
        let key = (None, "a".to_owned());
        let list: &[u8] = &[];
        assert_eq!(closures.call("predicate", &key, || list[0]), None);
        assert_eq!(closures.call("predicate", &key, || list.len()), Some(0));
        let panics = metrics.errors.with_label_values(&["test", "panic"]);
        assert_eq!(panics.get(), 1);
    }
}
