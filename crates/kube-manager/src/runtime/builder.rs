//! Declares what a controller works with: the kinds that it owns and watches, and its settings.

use std::{ops::Range, sync::Arc, time::Duration};

use kube::{
    Client, Resource,
    runtime::{Predicate, reflector::ObjectRef, watcher::Event},
};
use prometheus::Registry;
use serde::Serialize;

use super::{
    Runtime,
    backoff::PAUSE,
    children::{self, Children},
    context::Context,
    guarded::Guarded,
    informer::Follow,
    objects::Objects,
    owned::{Owned, refers_to},
    scope::{Kind, Scope, Watchable},
    trigger::Trigger,
    watch::{Selector, Shown},
    watched::{Watched, Watches},
};

/// Starts to observe the controller's own kind in a namespace, or in all namespaces. The result is called
/// with each event.
pub(super) type Observe<K> = Box<dyn Fn(Option<&str>) -> Observer<K> + Send>;
pub(super) type Observer<K> = Box<dyn FnMut(&Event<Guarded<K>>) + Send>;

/// A number that changes when an object has to be reconciled.
pub(super) type Fingerprint<K> = Box<dyn Fn(&K) -> Option<u64> + Send + Sync>;

/// Builds a controller of the kind `K`. What it declares starts when the controller starts.
pub struct Builder<K: Resource<DynamicType = ()> + Clone + 'static> {
    context: Context,
    objects: Objects<K>,
    unguarded: Client,
    registry: Registry,
    pub(super) follows: Vec<Follow>,
    pub(super) observers: Vec<Observe<K>>,
    pub(super) fingerprint: Option<Fingerprint<K>>,
    pub(super) selector: Selector,
    pub(super) concurrency: u16,
    pub(super) pauses: Range<Duration>,
}

impl<K> Builder<K>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    pub(super) fn new(context: Context, runtime: &Runtime) -> Self {
        Self {
            context,
            objects: Objects::default(),
            unguarded: runtime.unguarded.clone(),
            registry: runtime.registry.clone(),
            follows: Vec::new(),
            observers: Vec::new(),
            fingerprint: None,
            selector: Selector::default(),
            concurrency: runtime.concurrency,
            pauses: PAUSE,
        }
    }

    /// The client of the controller, and its name.
    pub fn context(&self) -> Context {
        self.context.clone()
    }

    /// A client that sends requests also when this replica does not lead: for reads, and for what is safe
    /// to do twice.
    pub fn client_without_lease(&self) -> Client {
        self.unguarded.clone()
    }

    /// The registry of the metrics that the operator serves, for metrics of the controller's own.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The objects of the controller's own kind, as the watch has delivered them.
    pub fn objects(&self) -> Objects<K> {
        self.objects.clone()
    }

    /// The children of kind `C` of the controller's objects. A change of a child requeues its owner.
    pub fn owns<C>(&mut self) -> Children<C>
    where
        C: Watchable + Resource<DynamicType = (), Scope: Scope> + Serialize,
    {
        let owned = Arc::new(Owned::new(refers_to::<K>));
        let (watcher, followed) = (self.context.watcher(), owned.clone());
        let (kind, selector) = (
            Kind::of::<C>(),
            Selector {
                labels: children::selector(self.context.operator),
                ..Selector::default()
            },
        );
        let take =
            move |shown: Shown<C>, namespace: Option<&String>| followed.take(shown, namespace);
        self.follows
            .push(Box::new(move |informers, namespaces, wake| {
                informers.follow(watcher, &kind, (namespaces, &selector), take, wake)
            }));
        Children::new(self.context.clone(), owned)
    }

    /// Watches the kind `S`, which the controller does not own. What a change of such an object requeues
    /// is for the result to say.
    pub fn watches<S>(&mut self) -> Watches<'_, K, S>
    where
        S: Watchable + Resource<DynamicType = (), Scope: Scope>,
    {
        let watcher = self.context.watcher();
        Watches::new(self, Kind::of::<S>(), watcher)
    }

    /// Watches the kind `S`, and reconciles the objects that refer to a changed one. This is
    /// [`watches`](Self::watches) with [`referenced_by`](Watches::referenced_by), for all objects of `S`.
    pub fn refers_to<S>(
        &mut self,
        references: impl Fn(&K) -> Vec<ObjectRef<S>> + Send + Sync + 'static,
    ) -> Watched<S>
    where
        S: Watchable + Resource<DynamicType = (), Scope: Scope>,
    {
        self.watches().referenced_by(references)
    }

    /// Reconciles the objects that `trigger` names: events from outside of the cluster.
    pub fn listens(&mut self, trigger: &Trigger<K>) {
        self.follows.push(trigger.follow());
    }

    /// Limits the watch of the controller's own kind to objects with these labels, such as
    /// `app=shop,tier!=cache`.
    pub fn labels(&mut self, selector: impl Into<String>) {
        self.selector.labels = selector.into();
    }

    /// Limits the watch of the controller's own kind to objects with these fields, such as
    /// `spec.nodeName=node-1`.
    pub fn fields(&mut self, selector: impl Into<String>) {
        self.selector.fields = selector.into();
    }

    /// Reconciles an object only after a change of what `predicate` looks at, or of its uid, and when its
    /// deletion begins. Without it, that is generation, labels, annotations and finalizers. kube has
    /// [predicates](kube::runtime::predicates), which combine.
    pub fn predicate(&mut self, predicate: impl Predicate<K> + Send + Sync + 'static) {
        self.fingerprint = Some(Box::new(move |object| predicate.hash_property(object)));
    }

    /// Sets how many objects the controller reconciles at once; otherwise the flag `--concurrency` does.
    pub fn concurrency(&mut self, concurrency: u16) {
        self.concurrency = concurrency.max(1);
    }

    /// Sets the shortest and the longest delay before an object that failed is reconciled again. The
    /// delays grow from one to the other; otherwise from 0.1 s to 5 minutes.
    pub fn backoff(&mut self, delays: Range<Duration>) {
        self.pauses = delays;
    }
}
