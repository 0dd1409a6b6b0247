#!/bin/sh
# Run by `make setup-envtest`: fetches etcd, kube-apiserver and kubectl of Kubernetes VERSION into FOLDER. For another
# version than the one below, set ENVTEST_SHA512 to the SHA-512 digest of its archive for this machine;
# envtest-releases.yaml of kubernetes-sigs/controller-tools lists the digests.
set -eu

known=1.36.2
from=https://github.com/kubernetes-sigs/controller-tools/releases/download

fail() {
  echo "error: $*" >&2
  exit 1
}

if [ -x "$FOLDER/kube-apiserver" ]; then
  exit
fi
echo "$VERSION" | grep -Eqx '[0-9]+\.[0-9]+\.[0-9]+' ||
  fail "ENVTEST_K8S_VERSION is \`$VERSION\`, which is not a version such as $known"
case $(uname -s)-$(uname -m) in
Darwin-arm64) platform=darwin-arm64 ;;
Darwin-x86_64) platform=darwin-amd64 ;;
Linux-aarch64 | Linux-arm64) platform=linux-arm64 ;;
Linux-ppc64le) platform=linux-ppc64le ;;
Linux-s390x) platform=linux-s390x ;;
Linux-x86_64) platform=linux-amd64 ;;
*) fail "there is no archive for this machine, $(uname -s) on $(uname -m)" ;;
esac
digest=${ENVTEST_SHA512:-}
if [ -z "$digest" ] && [ "$VERSION" = "$known" ]; then
  case $platform in
  darwin-amd64) digest=b4fe9f973cd1992e3880f8b230ed32c0c243b83371591e3e3315f4404df2cdbef8ee94eeb9bb245b7e5feb987d5c4a76c43e0877654ab73f00d7bbc2b9984514 ;;
  darwin-arm64) digest=9278f9e5af556b2f1f2d139769c1f0d717c7b4426917fdebdba898bcb725a916e4910d6160886194ff9be9589ea7c5c32c2b8ae0754703874b7c8ba8ddfc41ce ;;
  linux-amd64) digest=ea743186c8a799f5cf8faf16969f86189d003cb7d130e0ac4b58789f1e5748dcf30ebe91c837a10d5ac415383da3e10b9e64d65785c938c23e739781cfb76f08 ;;
  linux-arm64) digest=2d72ee985a8e262a3c57dc9f7f0fd891f6a8c7bf7ebaa2db6dc6d8eac8ae28181afe51c1f368b67756cdb40b10de9b205609e1726e5f27f7c6d824dd9c6649ac ;;
  linux-ppc64le) digest=ff3b84074f56121109c0063a467c900081dcaff725f51d70a0b32cee60038ef3f581257cf93327e98988cdbdeb4af12ac7a86267ce74817940b490fd53d7c1f0 ;;
  linux-s390x) digest=f28eaa0d67659bd8a5d5ff3980685559d01a4ab21b3774d2b8c46150c6019c18e3402a464d1d0c718e531ac94deba5f1354dbdfa35071b5b6e15505615ed6561 ;;
  esac
fi
[ -n "$digest" ] || fail "the digest of Kubernetes $VERSION is unknown: set ENVTEST_SHA512"

archive=envtest-v$VERSION-$platform.tar.gz
url=${ENVTEST_URL:-$from/envtest-v$VERSION}/$archive
mkdir -p "$(dirname "$FOLDER")"
# Unpacks beside the folder and renames at the end: an interrupted fetch leaves no incomplete folder.
unpacked=$(mktemp -d "$FOLDER.XXXXXX")
trap 'rm -rf "$unpacked"' EXIT
trap 'exit 1' HUP INT TERM
curl --fail --location --show-error --silent --retry 3 --output "$unpacked/$archive" "$url"
seen=$( (sha512sum "$unpacked/$archive" 2>/dev/null || shasum -a 512 "$unpacked/$archive") | cut -d ' ' -f 1)
[ "$seen" = "$digest" ] || fail "$url has the SHA-512 digest \`$seen\`, and not \`$digest\`"
tar -xzf "$unpacked/$archive" -C "$unpacked"
mv "$unpacked/controller-tools/envtest" "$FOLDER"
