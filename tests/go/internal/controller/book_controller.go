package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	shelfv1 "example.com/me/library/api/v1"
)

// Domain ends all names of the operator.
const Domain = "example.com"

const bookFinalizer = "shelf." + Domain + "/return"

// BookReconciler keeps a ConfigMap for each book.
type BookReconciler struct {
	client.Client
	Owner string
}

// Reconcile brings the cluster to what a book asks for.
func (r *BookReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	book := &shelfv1.Book{}
	if err := r.Get(ctx, req.NamespacedName, book); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if controllerutil.AddFinalizer(book, bookFinalizer) {
		return ctrl.Result{}, r.Update(ctx, book)
	}
	page := &corev1.ConfigMap{}
	return ctrl.Result{}, r.Patch(ctx, page, client.Apply, client.FieldOwner(r.Owner))
}

// booksOf gives the book that a Secret belongs to.
func (r *BookReconciler) booksOf(_ context.Context, secret client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(secret)}}
}

// SetupWithManager has the manager run it.
func (r *BookReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&shelfv1.Book{}).
		Owns(&corev1.ConfigMap{}).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.booksOf)).
		Named("book").
		Complete(r)
}
