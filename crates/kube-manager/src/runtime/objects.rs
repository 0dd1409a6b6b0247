//! The objects of a controller's own kind.

use std::{collections::HashMap, marker::PhantomData, sync::Arc};

use kube::{Resource, runtime::reflector::ObjectRef};
use parking_lot::{Mutex, RwLock};

use super::{
    object::{Guarded, typed},
    reference::key_in_call,
    scope::Scope,
    watch::{Key, key},
};

/// The objects that a watch has delivered.
#[derive(Clone, Default)]
pub struct Store(Arc<Mutex<HashMap<Key, Guarded>>>);

impl Store {
    pub fn get(&self, key: &Key) -> Option<Guarded> {
        self.0.lock().get(key).cloned()
    }

    pub fn has(&self, key: &Key) -> bool {
        self.0.lock().contains_key(key)
    }

    /// All objects, in no particular order.
    pub fn all(&self) -> Vec<Guarded> {
        self.0.lock().values().cloned().collect()
    }

    /// Adds an object, or replaces the object that has its key.
    pub fn put(&self, object: Guarded) {
        self.0.lock().insert(key(object.metadata()), object);
    }

    pub fn remove(&self, key: &Key) {
        self.0.lock().remove(key);
    }
}

/// The stores of all watches of a controller's own kind.
#[derive(Clone, Default)]
pub struct Stores(Arc<RwLock<Vec<Store>>>);

impl Stores {
    /// Whether a watch has delivered an object with this key, which may not fit the type.
    pub fn has(&self, key: &Key) -> bool {
        self.0.read().iter().any(|store| store.has(key))
    }

    /// Adds the objects of one watched namespace.
    pub fn add(&self, store: Store) {
        self.0.write().push(store);
    }
}

/// The objects of a controller's own kind, as its watch has delivered them. Reading them sends no request.
///
/// Objects that do not fit the type are left out.
#[derive(Clone)]
pub struct Objects<K> {
    stores: Stores,
    kind: PhantomData<fn() -> K>,
}

impl<K> Default for Objects<K> {
    fn default() -> Self {
        Self::new(Stores::default())
    }
}

impl<K> Objects<K> {
    pub(super) fn new(stores: Stores) -> Self {
        Self {
            stores,
            kind: PhantomData,
        }
    }
}

impl<K: Resource<DynamicType = (), Scope: Scope> + Send + Sync + 'static> Objects<K> {
    /// The object of this name, if the watch has delivered it. A reference without a namespace means the namespace of the
    /// object of the current [call](crate::Reconciler); outside of a call, it is an error in the log.
    pub fn get(&self, object: &ObjectRef<K>) -> Option<Arc<K>> {
        let key = key_in_call(object, K::Scope::NAMESPACED)?;
        let stores = self.stores.0.read();
        let found = stores.iter().find_map(|store| store.get(&key))?;
        typed(found.0.ok()?)
    }

    /// All objects, in no particular order.
    pub fn all(&self) -> Vec<Arc<K>> {
        let stores = self.stores.0.read();
        let all = stores.iter().flat_map(Store::all);
        all.filter_map(|object| typed(object.0.ok()?)).collect()
    }
}
