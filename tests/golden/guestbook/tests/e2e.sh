#!/bin/sh
# Run by `make test-e2e` with the image IMG: deploys the operator to a temporary cluster that KIND creates, tests it,
# and removes it. Without KIND, it uses the cluster of the kubeconfig, which must be able to pull the image.
set -eu

namespace=guestbook-system
deployment=deployment/guestbook-controller-manager
operator=control-plane=controller-manager
cluster=${KIND_CLUSTER:-guestbook-e2e}
stays=
folder=target/e2e
forwarder=

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

# The samples are in the namespace of the kubeconfig.
on_samples() {
  kubectl "$@"
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
  [ -z "$forwarder" ] || kill "$forwarder" || true
  [ "$code" = 0 ] || explain || true
  [ -z "$KIND" ] || [ -n "$stays" ] || kind delete cluster --name "$cluster"
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
  on_samples apply --kustomize config/samples
  # One line for each controller.
  on_samples wait --for=condition=Ready --timeout=2m --all guestbooks.webapp.com
  # End of the controllers.
}

# Reads the metrics with the token of a ServiceAccount.
metrics_for() {
  token=$(in_namespace create token "$1")
  # Sends no client certificate from the kubeconfig. KUBECTL may name a context of it.
  kubectl --kubeconfig /dev/null --context= get --raw=/metrics --server "https://127.0.0.1:$port" \
    --insecure-skip-tls-verify --token "$token"
}

can_read_metrics() {
  metrics_for "$1" | grep -q ^rest_client_requests_total
}

# Succeeds if a Pod other than $1 holds the Lease, and sets $leader to its name. The Lease still names a Pod that was
# killed.
has_leader_besides() {
  holder=$(in_namespace get leases --output 'jsonpath={.items[0].spec.holderIdentity}')
  leader=${holder%%_*}
  [ "$leader" != "$1" ] && in_namespace get pods --output name | grep -qx "pod/$leader"
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

step "Apply the samples, and wait for their conditions"
samples_are_reconciled

step "Read the metrics with permission, then without"
# Not by the function, which would start a subshell.
$KUBECTL --namespace "$namespace" port-forward \
  service/guestbook-metrics :8443 > "$folder/forward" &
forwarder=$!
eventually grep -q 127.0.0.1 "$folder/forward"
port=$(sed -n 's/.* 127\.0\.0\.1:\([0-9]*\) .*/\1/p' "$folder/forward")
# A run that was cut may have left these objects.
in_namespace create serviceaccount reader --dry-run=client --output yaml | kubectl apply --filename -
kubectl create clusterrolebinding "$cluster" --clusterrole guestbook-metrics-reader \
  --serviceaccount "$namespace:reader" --dry-run=client --output yaml | kubectl apply --filename -
# The API server follows a new binding only a moment later.
eventually can_read_metrics reader
metrics_for default 2>&1 | grep -q Forbidden
kubectl delete clusterrolebinding "$cluster"
kill "$forwarder"
forwarder=

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
