package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// The label of the objects that both operators create.
const managedBy = "app.kubernetes.io/managed-by"

// reconciler brings the children of each Bench to their desired state.
type reconciler struct {
	client.Client
	scheme *runtime.Scheme
}

func (r *reconciler) setupWithManager(manager ctrl.Manager, workers int) error {
	return ctrl.NewControllerManagedBy(manager).
		// Without this predicate, each status update would cause another reconcile.
		For(&Bench{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&corev1.ConfigMap{}).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			// The default since 0.21 is a priority queue. It reconciles an object whose ConfigMap was
			// just created before the objects of the initial list, and so before the cache has the
			// object's own status. More than half of the statuses were then written twice.
			UsePriorityQueue: ptr.To(false),
		}).
		Complete(r)
}

// Reconcile writes only differences. It reads from the cache.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var bench Bench
	if err := r.Get(ctx, request.NamespacedName, &bench); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !bench.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}

	configMap := corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: bench.Name, Namespace: bench.Namespace},
	}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, &configMap, func() error {
		metav1.SetMetaDataLabel(&configMap.ObjectMeta, managedBy, "bench")
		configMap.Data = map[string]string{"title": bench.Spec.Title}
		return controllerutil.SetControllerReference(&bench, &configMap, r.scheme)
	})
	if err != nil {
		return ctrl.Result{}, err
	}

	changed := meta.SetStatusCondition(&bench.Status.Conditions, metav1.Condition{
		Type:               "Ready",
		Status:             metav1.ConditionTrue,
		Reason:             "Reconciled",
		Message:            "Desired state reached",
		ObservedGeneration: bench.Generation,
	})
	if changed || bench.Status.ObservedGeneration != bench.Generation {
		bench.Status.ObservedGeneration = bench.Generation
		if err := r.Status().Update(ctx, &bench); err != nil {
			return ctrl.Result{}, err
		}
	}
	log.FromContext(ctx).Info("reconciled")
	return ctrl.Result{}, nil
}
