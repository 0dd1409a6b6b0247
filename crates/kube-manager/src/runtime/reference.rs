//! Which object an [`ObjectRef`] names. A reference without a namespace means the namespace of the object that refers:
//! in a call of a reconciler, the object of the call.

use kube::runtime::reflector::{Lookup, ObjectRef};

use super::watch::Key;

tokio::task_local! {
    /// The namespace of the object of the current call; `None` for a cluster-scoped object.
    static NAMESPACE: Option<String>;
}

/// Runs a call of a reconciler for an object in `namespace`.
pub async fn during<F: Future>(namespace: Option<String>, call: F) -> F::Output {
    NAMESPACE.scope(namespace, call).await
}

/// The key of the object that `reference` names, when the object of the current call refers to it. `is_namespaced` says
/// whether its kind is namespaced.
pub fn key_in_call<K: Lookup>(reference: &ObjectRef<K>, is_namespaced: bool) -> Option<Key> {
    let namespace = NAMESPACE.try_with(Clone::clone).unwrap_or_default();
    key_from(namespace.as_ref(), reference, is_namespaced)
}

/// The key of the object that `reference` names, when an object in `namespace` refers to it. `None` if no namespace is
/// known, which is logged.
pub fn key_from<K: Lookup>(
    namespace: Option<&String>,
    reference: &ObjectRef<K>,
    is_namespaced: bool,
) -> Option<Key> {
    let name = reference.name.clone();
    if !is_namespaced {
        return Some((None, name));
    }
    let known = reference.namespace.as_ref().or(namespace);
    if known.is_none() {
        let kind = K::kind(&reference.dyntype);
        tracing::error!(
            %kind,
            name,
            "this reference names no object: the kind is namespaced, and no object in a namespace refers to it, so add \
             `.within(namespace)` to the `ObjectRef`"
        );
    }
    Some((Some(known?.clone()), name))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{Node, Secret};

    use super::*;

    fn of(namespace: Option<&str>, name: &str) -> Option<Key> {
        Some((namespace.map(str::to_owned), name.to_owned()))
    }

    #[tokio::test]
    async fn a_reference_without_a_namespace_means_that_of_the_object_that_refers() {
        let (plain, other) = (
            ObjectRef::<Secret>::new("a"),
            ObjectRef::new("a").within("b"),
        );
        let namespace = "here".to_owned();
        assert_eq!(
            key_from(Some(&namespace), &plain, true),
            of(Some("here"), "a")
        );
        assert_eq!(key_from(Some(&namespace), &other, true), of(Some("b"), "a"));
        let keys = async { [&plain, &other].map(|reference| key_in_call(reference, true)) };
        let keys = during(Some(namespace), keys).await;
        assert_eq!(keys, [of(Some("here"), "a"), of(Some("b"), "a")]);
    }

    #[tokio::test]
    async fn without_any_namespace_a_reference_names_only_a_cluster_scoped_object() {
        let secret = ObjectRef::<Secret>::new("a");
        assert_eq!(key_in_call(&secret, true), None);
        assert_eq!(
            during(None, async { key_in_call(&secret, true) }).await,
            None
        );
        let node = ObjectRef::<Node>::new("a").within("nowhere");
        assert_eq!(key_in_call(&node, false), of(None, "a"));
    }
}
