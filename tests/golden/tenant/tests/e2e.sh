#!/bin/sh
# Run by `make test-e2e` with the image IMG: deploys the operator to a temporary cluster that KIND creates, tests it,
# and removes it. Without KIND, it uses the cluster of the kubeconfig, which must be able to pull the image.
set -eu

namespace=tenant-system
deployment=deployment/tenant-controller-manager
operator=control-plane=controller-manager
cluster=${KIND_CLUSTER:-tenant-e2e}
stays=
folder=target/e2e

# KUBECTL may contain arguments.
kubectl() {
  command $KUBECTL "$@"
}

in_namespace() {
  kubectl --namespace "$namespace" "$@"
}

# The samples are where the operator works.
on_samples() {
  in_namespace "$@"
}

step() {
  echo "==> $*"
}

# Prints the state of the operator, for a failed test.
explain() {
  kubectl get events --all-namespaces --sort-by=.lastTimestamp
  in_namespace describe deployments,pods
  in_namespace logs --selector "$operator" --tail=-1
  on_samples get --kustomize config/samples --output yaml
}

finish() {
  code=$?
  [ "$code" = 0 ] || explain || true
  [ -z "$KIND" ] || [ -n "$stays" ] || "$KIND" delete cluster --name "$cluster"
  exit "$code"
}

# Waits for a command to succeed, for a minute.
eventually() {
  tries=60
  until "$@"; do
    tries=$((tries - 1))
    if [ "$tries" = 0 ]; then
      echo "gave up waiting: $*" >&2
      return 1
    fi
    sleep 1
  done
}

samples_are_reconciled() {
  # The API server calls webhooks through their Service, which routes to a new Pod only a moment later.
  eventually on_samples apply --kustomize config/samples
  # One line for each controller.
  on_samples wait --for=condition=Ready --timeout=2m --all guestbooks.webapp.example.com
  on_samples wait --for=condition=BackupReady --timeout=2m --all guestbooks.webapp.example.com
  # End of the controllers.
}

# Succeeds if a Pod other than $1 holds the Lease, and sets $leader to its name. The Lease still names a Pod that was
# killed.
has_leader_besides() {
  holder=$(in_namespace get leases --output 'jsonpath={.items[0].spec.holderIdentity}')
  leader=${holder%%_*}
  [ "$leader" != "$1" ] && in_namespace get pods --output name | grep -qx "pod/$leader"
}

trap finish EXIT
mkdir -p "$folder"

if [ -n "$KIND" ]; then
  KUBECONFIG=$PWD/$folder/kubeconfig
  export KUBECONFIG
  if "$KIND" get clusters | grep -qx "$cluster"; then
    step "Use the existing cluster"
    stays=yes
    "$KIND" export kubeconfig --name "$cluster"
  else
    step "Create a cluster"
    "$KIND" create cluster --name "$cluster" --wait 3m
  fi
  "$CONTAINER_TOOL" save --output "$folder/image.tar" "$IMG"
  "$KIND" load image-archive --name "$cluster" "$folder/image.tar"

  step "Install cert-manager"
  releases=https://github.com/cert-manager/cert-manager/releases/download
  kubectl apply --server-side --filename "$releases/v1.21.1/cert-manager.yaml"
  kubectl wait --namespace cert-manager --for=condition=Available --timeout=3m --all deployments
  # Waits until the API server trusts the webhooks.
  kubectl wait --for=jsonpath='{.webhooks[0].clientConfig.caBundle}' --timeout=1m \
    validatingwebhookconfigurations/cert-manager-webhook \
    mutatingwebhookconfigurations/cert-manager-webhook
fi

step "Deploy the operator"
make deploy "IMG=$IMG"
in_namespace wait --for=condition=Available --timeout=3m "$deployment"
# Waits until the API server trusts the webhooks.
kubectl wait --for=jsonpath='{.webhooks[0].clientConfig.caBundle}' --timeout=1m \
  mutatingwebhookconfigurations/tenant-mutating-webhook-configuration
kubectl wait --for=jsonpath='{.webhooks[0].clientConfig.caBundle}' --timeout=1m \
  validatingwebhookconfigurations/tenant-validating-webhook-configuration

step "Apply the samples, and wait for their conditions"
samples_are_reconciled

step "Kill the operator, and wait until it is back"
in_namespace delete pods --selector "$operator" --grace-period=0 --force --timeout=1m
in_namespace rollout status --timeout=3m "$deployment"

step "Run two replicas, delete the leader, and wait until the other takes over"
in_namespace scale --replicas=2 "$deployment"
in_namespace rollout status --timeout=3m "$deployment"
eventually has_leader_besides ""
in_namespace delete "pod/$leader"
eventually has_leader_besides "$leader"

step "Delete the samples, and apply them again"
on_samples delete --timeout=2m --kustomize config/samples
samples_are_reconciled

step "Remove everything"
make undeploy
kubectl wait --for=delete --timeout=2m "namespace/$namespace"
