//! Declares what a controller works with: the kinds that it owns and watches, and its settings.

use std::{collections::BTreeSet, ops::Range, time::Duration};

use anyhow::{Result, ensure};
use kube::{
    Client, Resource,
    api::ApiResource,
    discovery,
    runtime::{Predicate, reflector::ObjectRef},
};
use prometheus::Registry;
use serde::Serialize;

use super::{
    access::Access,
    backoff::{self, PAUSE},
    children::{Children, any::AnyChildren},
    closures::{Property, property},
    objects::Objects,
    scope::{Kind, MayOwn, Scope, Watchable},
    services::Services,
    tie::Tie,
    trigger::Trigger,
    watch::Selector,
    watched::{Declared, Watched, Watches},
};

/// Builds a controller of the kind `K`. The declared watches start when the controller starts.
#[doc(alias = "ControllerManagedBy")]
pub struct Builder<K> {
    access: Access,
    objects: Objects<K>,
    unguarded: Client,
    registry: Registry,
    pub(super) settings: Settings,
}

/// The settings of a controller of any kind.
pub(super) struct Settings {
    pub declared: Declared,
    pub predicate: Option<Property>,
    /// The children of each declared kind.
    pub owned: Vec<AnyChildren>,
    pub selector: Selector,
    pub namespaces: Vec<String>,
    pub concurrency: u16,
    pub pauses: Range<Duration>,
    pub timeout: Option<Duration>,
}

impl Settings {
    pub fn new(access: &Access, services: &Services) -> Self {
        Self {
            declared: Declared::new(access.closures.clone()),
            predicate: None,
            owned: Vec::new(),
            selector: Selector::default(),
            namespaces: services.host.namespaces.clone(),
            concurrency: services.concurrency,
            pauses: PAUSE,
            timeout: None,
        }
    }

    /// Checks the settings of a controller with a finalizer, or without one.
    pub fn check(&self, has_finalizer: bool) -> Result<()> {
        let mut owned = self.owned.iter();
        ensure!(
            has_finalizer || owned.all(|children| children.tie() == Tie::Reference),
            "`owns_until_cleanup` needs `const FINALIZER: bool = true`"
        );
        ensure!(
            self.timeout != Some(Duration::ZERO),
            "`timeout(0ns)`: the limit must not be zero"
        );
        for (index, children) in self.owned.iter().enumerate() {
            for other in &self.owned[..index] {
                children.separate(other)?;
            }
        }
        backoff::check(&self.pauses)
    }
}

impl<K> Builder<K>
where
    K: Resource<DynamicType = (), Scope: Scope> + Clone + Send + Sync + 'static,
{
    pub(super) fn new(access: Access, objects: Objects<K>, services: &Services) -> Self {
        Self {
            settings: Settings::new(&access, services),
            access,
            objects,
            unguarded: services.host.client.clone(),
            registry: services.host.registry.clone(),
        }
    }

    /// A client that sends requests while this replica leads, like the client of the [context](crate::Context) of each
    /// call.
    pub fn client(&self) -> Client {
        self.access.client.clone()
    }

    /// A client that also sends requests while this replica does not lead. Use it for reads, and for writes that are
    /// safe to repeat.
    pub fn client_without_lease(&self) -> Client {
        self.unguarded.clone()
    }

    /// The registry of the metrics that the operator serves. Register the controller's own metrics here.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The objects of the controller's own kind, as the watch has delivered them.
    pub fn objects(&self) -> Objects<K> {
        self.objects.clone()
    }

    /// The children of kind `C` of the controller's objects. A change of a child requeues its owner.
    ///
    /// Declare a kind once: [`Manager::run`](crate::Manager::run) ends with an error if two declarations can have the same
    /// object, because each would delete the children of the other.
    ///
    /// The garbage collector would delete a cluster-scoped child of an object in a namespace, so this does not compile:
    ///
    /// ```compile_fail,E0277
    /// # use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
    /// # use kube_manager::{Builder, Children};
    /// fn declare(builder: &mut Builder<ConfigMap>) -> Children<Namespace, ConfigMap> {
    ///     builder.owns()
    /// }
    /// ```
    ///
    /// The reverse does:
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
    /// # use kube_manager::{Builder, Children};
    /// fn declare(builder: &mut Builder<Namespace>) -> Children<ConfigMap, Namespace> {
    ///     builder.owns()
    /// }
    /// ```
    pub fn owns<C>(&mut self) -> Children<C, K>
    where
        C: Watchable + Resource<DynamicType = (), Scope: Scope> + Serialize,
        K::Scope: MayOwn<<C as Resource>::Scope>,
    {
        self.owns_kind(Kind::of::<C>(), Vec::new(), Tie::Reference)
    }

    /// Like [`owns`](Self::owns), for children with these `names` alone. Each name has its own watch, so the role of the
    /// operator can be limited to these objects with [`Rule::named`](crate::rbac::Rule::named). Only the verb `create`
    /// cannot be limited to names. A child with another name is an [error](super::children::Error::OtherName).
    ///
    /// # Panics
    ///
    /// When there are no names.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube_manager::{Builder, Children, rbac::{Rule, Verb}};
    ///
    /// const NAMES: &[&str] = &["smtp", "license"];
    /// const RULES: &[Rule] = &[
    ///     Rule::of::<Secret>(&[Verb::Create]),
    ///     Rule::of::<Secret>(&[Verb::Delete, Verb::Get, Verb::List, Verb::Patch, Verb::Watch]).named(NAMES),
    /// ];
    ///
    /// fn declare(builder: &mut Builder<ConfigMap>) -> Children<Secret, ConfigMap> {
    ///     builder.owns_named(NAMES.iter().copied())
    /// }
    /// ```
    pub fn owns_named<C>(
        &mut self,
        names: impl IntoIterator<Item = impl Into<String>>,
    ) -> Children<C, K>
    where
        C: Watchable + Resource<DynamicType = (), Scope: Scope> + Serialize,
        K::Scope: MayOwn<<C as Resource>::Scope>,
    {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        assert!(!names.is_empty(), "`owns_named` needs at least one name");
        self.owns_kind(Kind::of::<C>(), names, Tie::Reference)
    }

    /// Like [`owns`](Self::owns), for a kind that is known only at run time, such as one that
    /// [`discovery`] has found. A cluster-scoped child of an object in a namespace is an
    /// [error](super::children::Error::ClusterScoped) of each reconcile.
    pub fn owns_with<C>(&mut self, resource: ApiResource, scope: discovery::Scope) -> Children<C, K>
    where
        C: Watchable + Resource<DynamicType = ApiResource> + Serialize,
    {
        let kind = Kind::dynamic::<C>(resource, &scope);
        self.owns_kind(kind, Vec::new(), Tie::Reference)
    }

    /// Like [`owns`](Self::owns), for children that the [cleanup](crate::Reconciler::cleanup) of their owner needs: the
    /// runtime deletes them after the cleanup. The controller must have a [finalizer](crate::Reconciler::FINALIZER).
    ///
    /// A foreground deletion of an object, such as `kubectl delete --cascade=foreground`, deletes the children that the
    /// object [owns](Self::owns) first, and those that its cleanup creates. These children stay: they have no owner
    /// reference, but the annotation `kube-manager/owner`. So if somebody removes the finalizer by hand, nothing deletes
    /// them.
    ///
    /// A controller can own other objects of the kind with [`owns`](Self::owns). If a new version of the operator declares
    /// a child in the other way, the child may be deleted and created again.
    ///
    /// For example, a Job that makes a backup before an object is deleted, and the Secret that the Job uses:
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// # use k8s_openapi::api::{batch::v1::Job, core::v1::ConfigMap};
    /// use kube_manager::{Children, Cleanup, Readiness, children};
    ///
    /// # fn job(object: &ConfigMap) -> Job { Job::default() }
    /// /// Part of `cleanup`, with `builder.owns_until_cleanup()` as the field `jobs`.
    /// async fn back_up(
    ///     jobs: &Children<Job, ConfigMap>,
    ///     object: &ConfigMap,
    /// ) -> Result<Cleanup, children::Error> {
    ///     let job = match jobs.apply_one(object, job(object)).await {
    ///         // The Secret is deleted together with its namespace, so there can be no backup.
    ///         Err(error) if error.is_namespace_terminating() => return Ok(Cleanup::Done),
    ///         applied => applied?,
    ///     };
    ///     match Readiness::of(&*job) {
    ///         Readiness::Ready => Ok(Cleanup::Done),
    ///         // A change of the Job continues the cleanup earlier.
    ///         _ => Ok(Cleanup::AgainIn(Duration::from_secs(60))),
    ///     }
    /// }
    /// ```
    pub fn owns_until_cleanup<C>(&mut self) -> Children<C, K>
    where
        C: Watchable + Resource<DynamicType = (), Scope: Scope> + Serialize,
        K::Scope: MayOwn<<C as Resource>::Scope>,
    {
        self.owns_kind(Kind::of::<C>(), Vec::new(), Tie::Annotation)
    }

    /// `names` is empty for all names.
    fn owns_kind<C>(&mut self, kind: Kind, names: Vec<String>, tie: Tie) -> Children<C, K>
    where
        C: Watchable + Serialize,
    {
        let children = Children::new(self.access.clone(), kind, names, tie);
        let follows = children.any().follows();
        self.settings.declared.follows.extend(follows);
        self.settings.owned.push(children.any());
        children
    }

    /// Watches the kind `S`, which the controller does not own. Call a method of the result to choose which objects a
    /// change of such an object requeues.
    ///
    /// With [`PartialObjectMeta<S>`](kube::core::PartialObjectMeta) instead of `S`, the API server sends only metadata,
    /// and only metadata is in memory: use it for large objects if names, labels or annotations are enough.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// # use kube::{core::PartialObjectMeta, runtime::reflector::ObjectRef};
    /// # use kube_manager::{Builder, Watched};
    /// fn declare(builder: &mut Builder<ConfigMap>) -> Watched<PartialObjectMeta<Secret>> {
    ///     builder.watches().labels("app=shop").requeues_owner()
    /// }
    /// ```
    pub fn watches<S>(&mut self) -> Watches<'_, K, S>
    where
        S: Watchable + Resource<DynamicType = (), Scope: Scope>,
    {
        self.watches_kind(Kind::of::<S>())
    }

    /// Like [`watches`](Self::watches), for a kind that is known only at run time, such as one that
    /// [`discovery`] has found. `S` is then a [`DynamicObject`](kube::core::DynamicObject),
    /// an [`Object`](kube::core::Object), or the metadata of one of them.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # use kube::{api::ApiResource, core::{DynamicObject, GroupVersionKind}, discovery::Scope};
    /// # use kube_manager::{Builder, Watched};
    /// fn declare(builder: &mut Builder<ConfigMap>) -> Watched<DynamicObject> {
    ///     let kind = GroupVersionKind::gvk("example.com", "v1", "Book");
    ///     let resource = ApiResource::from_gvk_with_plural(&kind, "books");
    ///     builder.watches_with(resource, Scope::Namespaced).requeues_owner()
    /// }
    /// ```
    pub fn watches_with<S>(
        &mut self,
        resource: ApiResource,
        scope: discovery::Scope,
    ) -> Watches<'_, K, S>
    where
        S: Watchable + Resource<DynamicType = ApiResource>,
    {
        self.watches_kind(Kind::dynamic::<S>(resource, &scope))
    }

    fn watches_kind<S: Watchable>(&mut self, kind: Kind) -> Watches<'_, K, S> {
        let watcher = self.access.watcher();
        Watches::new(&mut self.settings.declared, kind, watcher)
    }

    /// Watches the kind `S`, and requeues the objects that refer to a changed object. This is
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

    /// Reconciles the objects that `trigger` names, for events from outside of the cluster.
    pub fn reconcile_on(&mut self, trigger: &Trigger<K>) {
        let controllers = trigger.controllers.clone();
        self.settings.declared.triggers.push(controllers);
    }

    /// Limits the controller to `namespaces`, instead of the namespaces that the operator watches; an empty list means
    /// all namespaces. It holds for the controller's own kind and for the kinds that it owns and watches, unless they
    /// are cluster-scoped. The operator's role must have the permissions there.
    pub fn namespaces(&mut self, namespaces: impl IntoIterator<Item = impl Into<String>>) {
        // Removes duplicates.
        let unique: BTreeSet<_> = namespaces.into_iter().map(Into::into).collect();
        self.settings.namespaces = Vec::from_iter(unique);
    }

    /// Limits the watch of the controller's own kind to objects with these labels, such as
    /// `app=shop,tier!=cache`.
    ///
    /// An object that loses the labels is no longer reconciled. If the controller has a finalizer, the object keeps the
    /// finalizer, and the cleanup still runs when the object is deleted.
    ///
    /// So labels cannot divide the objects among several deployments of an operator if the controller has a finalizer: each
    /// deployment would also clean up the objects of the others. Divide them by [`namespaces`](Self::namespaces).
    pub fn labels(&mut self, selector: impl Into<String>) {
        self.settings.selector.labels = selector.into();
    }

    /// Limits the watch of the controller's own kind to objects with these fields, such as
    /// `spec.nodeName=node-1`.
    pub fn fields(&mut self, selector: impl Into<String>) {
        self.settings.selector.fields = selector.into();
    }

    /// Reconciles an object only if the value of `predicate`, the uid or the finalizers change, if the object refers to
    /// [another object](Watches::referenced_by) than before, and when its deletion begins. By default, a change of
    /// generation, labels, annotations or finalizers reconciles a custom resource, and each change reconciles an object of a
    /// kind of Kubernetes, such as a Pod. kube has [predicates](kube::runtime::predicates), which combine.
    #[doc(alias = "WithEventFilter")]
    pub fn predicate(&mut self, predicate: impl Predicate<K> + Send + Sync + 'static) {
        self.settings.predicate = Some(property(predicate));
    }

    /// Applies the controller's part of the status instead of writing the status as a whole, because another
    /// program writes the status, too. If several controllers of the operator reconcile the kind, each of them always
    /// applies only its part. See [`Context::write_status`](crate::Context::write_status).
    ///
    /// Then objects have some of their `managedFields`. Set these to `None` before you replace an object with a request of
    /// your own: otherwise, the API server forgets which fields others own.
    pub fn shares_status(&mut self) {
        self.access.share_status();
    }

    /// Sets how many objects the controller reconciles at once. The default is the flag `--concurrency`.
    #[doc(alias = "MaxConcurrentReconciles")]
    pub fn concurrency(&mut self, concurrency: u16) {
        self.settings.concurrency = concurrency.max(1);
    }

    /// Sets the shortest and the longest delay before a failed object is reconciled again. The delays grow from the
    /// shortest to the longest. The default is 0.1 s to 5 minutes.
    ///
    /// [`Manager::run`](crate::Manager::run) ends with an error if the shortest delay is zero, or if the longest is not
    /// longer than the shortest.
    pub fn backoff(&mut self, delays: Range<Duration>) {
        self.settings.pauses = delays;
    }

    /// Limits how long a call of [`reconcile`](crate::Reconciler::reconcile) or [`cleanup`](crate::Reconciler::cleanup)
    /// may take. A call that takes longer is dropped at its next `.await`, and counts as a failure with the reason
    /// `timeout`, so it is retried with growing delays. By default, there is no limit. Requests of the runtime have
    /// their own timeout of about a minute.
    ///
    /// A blocking call without `.await` cannot be dropped: use [`spawn_blocking`](tokio::task::spawn_blocking).
    ///
    /// [`Manager::run`](crate::Manager::run) ends with an error if the limit is zero.
    pub fn timeout(&mut self, limit: Duration) {
        self.settings.timeout = Some(limit);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response};
    use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
    use kube::{client::Body, core::DynamicObject};
    use tokio::task::JoinSet;

    use super::*;
    use crate::runtime::{
        action::Action, context::Context, controller, informer::Informers, rbac::Rule,
        reconciler::Reconciler,
    };

    struct Idle;

    impl Reconciler for Idle {
        type Object = ConfigMap;
        type Error = Infallible;

        const NAME: &'static str = "idle.example.com";
        const RULES: &'static [Rule] = &[];

        async fn reconcile(&self, _: &ConfigMap, _: &Context) -> Result<Action, Infallible> {
            Ok(Action::await_change())
        }
    }

    fn services() -> Services {
        let unused = tower::service_fn(async |_: Request<Body>| {
            Err::<Response<Body>, _>("the builder sends nothing")
        });
        Services::for_test(Client::new(unused, "default"))
    }

    /// Starts a controller with what `declare` declares, and returns the error.
    fn start(declare: impl FnOnce(&mut Builder<ConfigMap>)) -> Option<String> {
        let (mut informers, mut tasks) = (Informers::default(), JoinSet::new());
        let started = controller::start(
            |builder: &mut Builder<ConfigMap>| {
                declare(builder);
                Idle
            },
            &services(),
            &mut informers,
            &mut tasks,
        );
        assert_eq!(tasks.is_empty(), started.is_err());
        started.err().map(|error| format!("{error:#}"))
    }

    #[tokio::test]
    async fn a_controller_with_delays_that_cannot_grow_does_not_start() {
        let second = Duration::from_secs(1);
        let start = |delays| start(|builder| builder.backoff(delays));
        assert_eq!(start(second..2 * second), None);
        let error = start(Duration::ZERO..second).expect("an error");
        assert_eq!(
            error,
            "cannot start the controller `idle.example.com`: `backoff(0ns..1s)`: the shortest delay \
             must not be zero"
        );
        for empty in [second..second, 2 * second..second] {
            assert!(start(empty).is_some());
        }
    }
    #[tokio::test]
    async fn children_that_a_cleanup_deletes_need_a_finalizer() {
        let error = start(|builder| drop(builder.owns_until_cleanup::<Secret>()));
        assert_eq!(
            error.expect("an error"),
            "cannot start the controller `idle.example.com`: `owns_until_cleanup` needs `const \
             FINALIZER: bool = true`"
        );
    }

    #[tokio::test]
    async fn a_controller_does_not_own_an_object_twice() {
        type Declare = fn(&mut Builder<ConfigMap>);
        let twice: [Declare; 3] = [
            |builder| drop((builder.owns::<Secret>(), builder.owns::<Secret>())),
            |builder| {
                let resource = ApiResource::erase::<Secret>(&());
                let dynamic =
                    builder.owns_with::<DynamicObject>(resource, discovery::Scope::Namespaced);
                drop((dynamic, builder.owns_named::<Secret>(["a"])));
            },
            |builder| {
                let one = builder.owns_named::<Secret>(["a", "b"]);
                drop((one, builder.owns_named::<Secret>(["b", "c"])));
            },
        ];
        for declare in twice {
            let error = start(declare).expect("an error");
            assert!(error.contains("owns secrets twice"), "{error}");
        }
        let apart: [Declare; 2] = [
            |builder| drop((builder.owns::<Secret>(), builder.owns::<Pod>())),
            |builder| {
                let one = builder.owns_named::<Secret>(["a"]);
                drop((one, builder.owns_named::<Secret>(["b"])));
            },
        ];
        for declare in apart {
            assert_eq!(start(declare), None);
        }
    }
}
