//! The objects of a controller's own kind.

use std::sync::Arc;

use kube::{
    Resource,
    runtime::reflector::{ObjectRef, Store},
};
use parking_lot::RwLock;

use super::{guarded::Guarded, watch::Key};

/// The objects of a controller's own kind, as its watch has delivered them. Reading them sends no request.
///
/// Objects that do not fit the type are left out.
pub struct Objects<K: Resource<DynamicType = ()> + Clone + 'static>(
    Arc<RwLock<Vec<Store<Guarded<K>>>>>,
);

impl<K: Resource<DynamicType = ()> + Clone> Clone for Objects<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K: Resource<DynamicType = ()> + Clone> Default for Objects<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Resource<DynamicType = ()> + Clone + 'static> Objects<K> {
    /// The object of this name, if the watch has delivered it.
    pub fn get(&self, object: &ObjectRef<K>) -> Option<Arc<K>> {
        let mut reference = ObjectRef::new(&object.name);
        reference.namespace.clone_from(&object.namespace);
        let stores = self.0.read();
        let found = stores.iter().find_map(|store| store.get(&reference))?;
        found.0.as_ref().ok().cloned()
    }

    /// All objects, in no particular order.
    pub fn all(&self) -> Vec<Arc<K>> {
        let stores = self.0.read();
        let all = stores.iter().flat_map(Store::state);
        all.filter_map(|object| object.0.as_ref().ok().cloned())
            .collect()
    }

    /// Whether the watch has delivered an object with this key, which may not fit the type.
    pub(super) fn has(&self, (namespace, name): &Key) -> bool {
        let mut reference = ObjectRef::new(name);
        reference.namespace.clone_from(namespace);
        let stores = self.0.read();
        stores.iter().any(|store| store.get(&reference).is_some())
    }

    /// Adds the objects of one watched namespace.
    pub(super) fn add(&self, store: Store<Guarded<K>>) {
        let mut stores = self.0.write();
        stores.push(store);
    }
}
