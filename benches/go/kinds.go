package main

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// kinds are additional kinds. The benchmark of many kinds creates a file from kind.go.txt for each of them.
var kinds []kind

type kind struct {
	object observed
	list   client.ObjectList
}

// observed is an object with a status.
type observed interface {
	client.Object
	status() *BenchStatus
}

// kindReconciler writes the status of the objects of one kind.
type kindReconciler struct {
	client.Client
	kind kind
}

func setupKinds(manager ctrl.Manager, workers int) error {
	for _, kind := range kinds {
		reconciler := kindReconciler{Client: manager.GetClient(), kind: kind}
		err := ctrl.NewControllerManagedBy(manager).
			For(kind.object, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
			WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
			Complete(&reconciler)
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *kindReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := r.kind.object.DeepCopyObject().(observed)
	if err := r.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !object.GetDeletionTimestamp().IsZero() {
		return ctrl.Result{}, nil
	}
	status := object.status()
	changed := meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type:               "Ready",
		Status:             metav1.ConditionTrue,
		Reason:             "Reconciled",
		Message:            "Desired state reached",
		ObservedGeneration: object.GetGeneration(),
	})
	if changed || status.ObservedGeneration != object.GetGeneration() {
		status.ObservedGeneration = object.GetGeneration()
		if err := r.Status().Update(ctx, object); err != nil {
			return ctrl.Result{}, err
		}
	}
	log.FromContext(ctx).Info("reconciled")
	return ctrl.Result{}, nil
}
