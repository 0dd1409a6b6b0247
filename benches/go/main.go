// The Go operator that `make bench` compares with. It is written with controller-runtime as its documentation
// recommends, set up as kubebuilder scaffolds it, and uses the settings that are known to make it fast and small. A
// comment explains each difference from kubebuilder.
package main

import (
	"flag"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

func main() {
	if err := run(); err != nil {
		ctrl.Log.Error(err, "cannot run")
		os.Exit(1)
	}
}

func run() error {
	var metricsAddress, probeAddress, leaseNamespace, webhookCertificates string
	var leaderElection bool
	var workers, webhookPort int
	flag.StringVar(&metricsAddress, "metrics-bind-address", "0", "Where metrics are served; 0 for nowhere.")
	flag.StringVar(&probeAddress, "health-probe-bind-address", ":8081", "Where probes are served.")
	flag.BoolVar(&leaderElection, "leader-elect", false, "Reconcile only while holding the lease.")
	flag.StringVar(&leaseNamespace, "leader-election-namespace", "bench-system", "Where the lease is.")
	// The default is 1: https://pkg.go.dev/sigs.k8s.io/controller-runtime/pkg/config#Controller
	flag.IntVar(&workers, "max-concurrent-reconciles", 10, "How many objects to reconcile at once.")
	flag.StringVar(&webhookCertificates, "webhook-cert-path", "", "The folder of the webhooks' certificate; none for no webhooks.")
	flag.IntVar(&webhookPort, "webhook-port", 9443, "Where webhooks are served.")
	// A line for each reconcile is logged by both operators; without Development, zap would drop
	// most of them.
	options := zap.Options{Development: true}
	options.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&options)))

	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(addToScheme(scheme))

	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	// The client has no limit of requests per second, like the operator in Rust.
	config.QPS = -1

	var webhooks webhook.Server
	if webhookCertificates != "" {
		webhooks = webhookServer(webhookPort, webhookCertificates)
	}

	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:        scheme,
		WebhookServer: webhooks,
		Cache: cache.Options{
			// managedFields are half of an object's memory.
			DefaultTransform: cache.TransformStripManagedFields(),
			// The cache holds only the operator's own ConfigMaps.
			ByObject: map[client.Object]cache.ByObject{
				&corev1.ConfigMap{}: {Label: labels.SelectorFromSet(labels.Set{managedBy: "bench"})},
			},
		},
		Metrics: metricsserver.Options{
			BindAddress:    metricsAddress,
			SecureServing:  true,
			FilterProvider: filters.WithAuthenticationAndAuthorization,
		},
		HealthProbeBindAddress:  probeAddress,
		LeaderElection:          leaderElection,
		LeaderElectionID:        "bench.example.com",
		LeaderElectionNamespace: leaseNamespace,
		// The next process does not wait for the lease to expire. This is safe, because this process ends
		// as soon as the manager has stopped.
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return err
	}
	reconciler := reconciler{Client: manager.GetClient(), scheme: manager.GetScheme()}
	if err := reconciler.setupWithManager(manager, workers); err != nil {
		return err
	}
	if err := setupKinds(manager, workers); err != nil {
		return err
	}
	if webhooks != nil {
		if err := setupWebhooks(manager); err != nil {
			return err
		}
		if err := setupConversion(manager); err != nil {
			return err
		}
	}
	if err := manager.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return err
	}
	if err := manager.AddReadyzCheck("readyz", healthz.Ping); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
