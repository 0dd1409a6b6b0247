// The operator of a library, as kubebuilder lays it out.
package main

import (
	"flag"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"example.com/me/library/internal/controller"
)

const operatorName = "library"

func main() {
	var elects bool
	flag.BoolVar(&elects, "leader-elect", false, "One replica works, the others stand by")
	flag.Parse()

	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		LeaderElection:   elects,
		LeaderElectionID: operatorName + "-lock." + controller.Domain,
	})
	if err != nil {
		os.Exit(1)
	}
	if err := (&controller.BookReconciler{Client: mgr.GetClient(), Owner: "library-books"}).SetupWithManager(mgr); err != nil {
		os.Exit(1)
	}
	if err := mgr.Start(ctrl.SetupSignalHandler()); err != nil {
		os.Exit(1)
	}
}
