package main

import (
	"context"
	"crypto/tls"
	"errors"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// webhookServer serves only HTTP/1.1, as operators that kubebuilder scaffolds.
func webhookServer(port int, certificates string) webhook.Server {
	return webhook.NewServer(webhook.Options{
		Host:    "127.0.0.1",
		Port:    port,
		CertDir: certificates,
		TLSOpts: []func(*tls.Config){func(config *tls.Config) { config.NextProtos = []string{"http/1.1"} }},
	})
}

func setupWebhooks(manager ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(manager, &Bench{}).
		WithDefaulter(defaulter{}).
		WithValidator(validator{}).
		Complete()
}

// defaulter labels each Bench.
type defaulter struct{}

func (defaulter) Default(_ context.Context, bench *Bench) error {
	if bench.Labels == nil {
		bench.Labels = map[string]string{}
	}
	if _, ok := bench.Labels["color"]; !ok {
		bench.Labels["color"] = "blue"
	}
	return nil
}

// validator refuses an empty title.
type validator struct{}

func (validator) ValidateCreate(_ context.Context, bench *Bench) (admission.Warnings, error) {
	if bench.Spec.Title == "" {
		return nil, errors.New("title must not be empty")
	}
	return nil, nil
}

func (v validator) ValidateUpdate(ctx context.Context, _, bench *Bench) (admission.Warnings, error) {
	return v.ValidateCreate(ctx, bench)
}

func (validator) ValidateDelete(context.Context, *Bench) (admission.Warnings, error) {
	return nil, nil
}
