//! Events from outside of the cluster: a webhook of another service, a message queue, a timer.

use std::{marker::PhantomData, sync::Arc};

use kube::{Resource, runtime::reflector::ObjectRef};
use parking_lot::Mutex;

use super::{informer::Wake, reference::key_in_call, scope::Scope};

/// Requeues objects of kind `K` from any code of the program.
///
/// Clones requeue the same objects. Before the controller starts, a trigger does nothing, because the
/// controller reconciles all objects when it starts.
///
/// ```
/// # use std::time::Duration;
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # use kube::runtime::reflector::ObjectRef;
/// # use kube_manager::{Builder, Trigger};
/// fn declare(builder: &mut Builder<ConfigMap>, trigger: &Trigger<ConfigMap>) {
///     builder.reconcile_on(trigger);
/// }
///
/// async fn every_hour(trigger: Trigger<ConfigMap>) {
///     loop {
///         tokio::time::sleep(Duration::from_secs(3600)).await;
///         trigger.reconcile(&ObjectRef::new("settings").within("default"));
///     }
/// }
/// ```
///
/// # An HTTP callback
///
/// A task serves HTTP, and a request such as `POST /changed/default/settings` reconciles the object that it
/// names. The server is axum's here. Any other server works, too.
///
/// ```
/// use axum::{
///     Router,
///     extract::{Path, State},
///     http::StatusCode,
///     routing::post,
/// };
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::runtime::reflector::ObjectRef;
/// use kube_manager::{Manager, Replicas, Trigger};
///
/// async fn changed(
///     State(trigger): State<Trigger<ConfigMap>>,
///     Path((namespace, name)): Path<(String, String)>,
/// ) -> StatusCode {
///     trigger.reconcile(&ObjectRef::new(&name).within(&namespace));
///     StatusCode::ACCEPTED
/// }
///
/// fn routes(trigger: Trigger<ConfigMap>) -> Router {
///     let changed = post(changed);
///     Router::new().route("/changed/{namespace}/{name}", changed).with_state(trigger)
/// }
///
/// /// The controller gets a clone of the same trigger, for [`Builder::reconcile_on`](crate::Builder::reconcile_on).
/// fn serve_callbacks(manager: &mut Manager, trigger: Trigger<ConfigMap>) {
///     manager.add_task("callbacks", Replicas::Leader, |task| async move {
///         let listener = tokio::net::TcpListener::bind("[::]:9090").await?;
///         axum::serve(listener, routes(trigger))
///             .with_graceful_shutdown(async move { task.stopped().await })
///             .await?;
///         Ok(())
///     });
/// }
/// # use tower::ServiceExt;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// # for (path, status) in [("/changed/default/settings", 202), ("/changed/settings", 404)] {
/// #     let request = http::Request::post(path).body(axum::body::Body::empty()).unwrap();
/// #     let answer = routes(Trigger::default()).oneshot(request).await.unwrap();
/// #     assert_eq!(answer.status(), status);
/// # }
/// # }
/// ```
///
/// Only the leader reconciles, so only the leader serves callbacks here, and callers must retry when no server answers.
/// If a caller cannot retry, run the server in all replicas and record the event in the cluster: an annotation of the
/// object, for example, also reaches a later leader.
pub struct Trigger<K> {
    pub(super) controllers: Arc<Mutex<Vec<Wake>>>,
    kind: PhantomData<fn(&K)>,
}

impl<K> Clone for Trigger<K> {
    fn clone(&self) -> Self {
        Self {
            controllers: self.controllers.clone(),
            kind: PhantomData,
        }
    }
}

impl<K> Default for Trigger<K> {
    fn default() -> Self {
        Self {
            controllers: Arc::default(),
            kind: PhantomData,
        }
    }
}

impl<K: Resource<DynamicType = (), Scope: Scope> + 'static> Trigger<K> {
    /// Requeues an object. An object that does not exist is ignored. A reference without a namespace means the namespace
    /// of the object of the current [call](crate::Reconciler); outside of a call, it is an error in the log.
    pub fn reconcile(&self, object: &ObjectRef<K>) {
        let Some(key) = key_in_call(object, K::Scope::NAMESPACED) else {
            return;
        };
        let controllers = self.controllers.lock();
        controllers.iter().for_each(|wake| wake(key.clone()));
    }
}
