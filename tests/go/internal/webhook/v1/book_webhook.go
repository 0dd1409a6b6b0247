package v1

import (
	ctrl "sigs.k8s.io/controller-runtime"

	shelfv1 "example.com/me/library/api/v1"
)

// SetupBookWebhookWithManager has the manager serve the webhooks of books.
func SetupBookWebhookWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr).For(&shelfv1.Book{}).Complete()
}
