#!/bin/sh
# Run by `make test-e2e` with the image IMG: deploys the operator to a temporary cluster that KIND creates, tests it,
# and removes it. Without KIND, it uses the cluster of the kubeconfig, which must be able to pull the image.
set -eu

namespace=empty-system
deployment=deployment/empty-controller-manager
operator=control-plane=controller-manager
cluster=${KIND_CLUSTER:-empty-e2e}
stays=
folder=target/e2e

# These variables may contain arguments.
kubectl() {
  command $KUBECTL "$@"
}

kind() {
  command $KIND "$@"
}

container_tool() {
  command $CONTAINER_TOOL "$@"
}

in_namespace() {
  kubectl --namespace "$namespace" "$@"
}

step() {
  echo "==> $*"
}

# Prints the state of the operator, for a failed test.
explain() {
  kubectl get events --all-namespaces --sort-by=.lastTimestamp
  in_namespace describe deployments,pods
  in_namespace logs --selector "$operator" --tail=-1
}

finish() {
  code=$?
  [ "$code" = 0 ] || explain || true
  [ -z "$KIND" ] || [ -n "$stays" ] || kind delete cluster --name "$cluster"
  exit "$code"
}

trap finish EXIT
# Without this, some shells do not clean up after Ctrl-C.
trap 'exit 1' HUP INT TERM
mkdir -p "$folder"

if [ -n "$KIND" ]; then
  KUBECONFIG=$PWD/$folder/kubeconfig
  export KUBECONFIG
  if kind get clusters | grep -qx "$cluster"; then
    step "Use the existing cluster"
    stays=yes
    kind export kubeconfig --name "$cluster"
  else
    step "Create a cluster"
    kind create cluster --name "$cluster" --wait 3m
  fi
  # Kubernetes takes an image without a registry from docker.io; podman puts such an image in the registry localhost.
  case $IMG in
  *.*/* | *:*/* | localhost/*) image=$IMG ;;
  */*) image=docker.io/$IMG ;;
  *) image=docker.io/library/$IMG ;;
  esac
  container_tool tag "$IMG" "$image"
  container_tool save --output "$folder/image.tar" "$image"
  kind load image-archive --name "$cluster" "$folder/image.tar"
fi

step "Deploy the operator"
before=$(in_namespace get "$deployment" --ignore-not-found --output name)
make deploy "IMG=$IMG"
# If the image has the same name as before, the Deployment does not change, and old Pods would stay.
[ -z "$before" ] || in_namespace rollout restart "$deployment"
in_namespace rollout status --timeout=3m "$deployment"

step "Kill the operator, and wait until it is back"
in_namespace delete pods --selector "$operator" --grace-period=0 --force --timeout=1m
in_namespace rollout status --timeout=3m "$deployment"

step "Remove everything"
make undeploy
kubectl wait --for=delete --timeout=2m "namespace/$namespace"
