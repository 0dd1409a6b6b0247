#!/bin/sh
# What `make test-e2e` runs, with the image IMG: deploys the operator to a throwaway cluster that KIND
# makes, sees it work, and removes it. Without KIND, on the cluster of the kubeconfig, which has to
# find the image.
set -eu

namespace=fleet-system
deployment=deployment/fleet-controller-manager
cluster=fleet-e2e

# As much as there is of what went wrong.
explain() {
  kubectl get events --all-namespaces --sort-by=.lastTimestamp
  kubectl describe --namespace "$namespace" deployments,pods
  kubectl logs --namespace "$namespace" --selector control-plane=controller-manager --tail=-1
  kubectl get --kustomize config/samples --output yaml
}

finish() {
  code=$?
  [ "$code" = 0 ] || explain || true
  [ -z "$KIND" ] || "$KIND" delete cluster --name "$cluster"
  exit "$code"
}

step() {
  echo "==> $*"
}

trap finish EXIT

if [ -n "$KIND" ]; then
  step "Create a cluster"
  mkdir -p target/e2e
  KUBECONFIG=$PWD/target/e2e/kubeconfig
  export KUBECONFIG
  "$KIND" create cluster --name "$cluster" --wait 3m
  "$CONTAINER_TOOL" save --output target/e2e/image.tar "$IMG"
  "$KIND" load image-archive --name "$cluster" target/e2e/image.tar

  step "Install cert-manager"
  releases=https://github.com/cert-manager/cert-manager/releases/download
  kubectl apply --server-side --filename "$releases/v1.21.1/cert-manager.yaml"
  kubectl wait --namespace cert-manager --for=condition=Available --timeout=3m --all deployments
  # The API server trusts its webhooks.
  kubectl wait --for=jsonpath='{.webhooks[0].clientConfig.caBundle}' --timeout=1m \
    validatingwebhookconfigurations/cert-manager-webhook \
    mutatingwebhookconfigurations/cert-manager-webhook

  step "Install the CRDs of the Prometheus operator"
  releases=https://github.com/prometheus-operator/prometheus-operator/releases/download
  kubectl apply --server-side --filename "$releases/v0.93.0/stripped-down-crds.yaml"
fi

step "Deploy the operator"
make deploy "IMG=$IMG"
kubectl wait --namespace "$namespace" --for=condition=Available --timeout=3m "$deployment"

step "Apply the samples, and wait for what the controllers say"
kubectl apply --kustomize config/samples
# One line for each controller.
kubectl wait --for=condition=Ready --timeout=2m --all httproutes.air-traffic.control.example.com
kubectl wait --for=condition=Ready --timeout=2m --all policies.air-traffic.control.example.com
kubectl wait --for=condition=Ready --timeout=2m --all ships.air-traffic.control.example.com
kubectl wait --for=condition=Ready --timeout=2m --all yes.on.example.com
kubectl wait --for=condition=Ready --timeout=2m --all people.sea.example.com
kubectl wait --for=condition=Ready --timeout=2m --all ships.sea.example.com
kubectl wait --for=condition=Ready --timeout=2m --all types.sea.example.com
# End of the controllers.

step "Kill the operator, and see it come back"
pods=$(kubectl get pods --namespace "$namespace" --selector control-plane=controller-manager --output name)
kubectl delete --namespace "$namespace" --grace-period=0 --force $pods
kubectl wait --namespace "$namespace" --for=delete --timeout=1m $pods
kubectl rollout status --namespace "$namespace" --timeout=3m "$deployment"

step "Remove all of it"
make undeploy
kubectl wait --for=delete --timeout=2m "namespace/$namespace"
