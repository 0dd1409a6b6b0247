#!/bin/sh
# Compiles rscaffold and the runtime with the oldest version of each dependency that their Cargo.toml allows, in a
# copy of this work tree.
set -eu

cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
target=$PWD/target/minimal-versions
copy=$target/source
rm -rf "$copy"
mkdir -p "$copy"
git ls-files -z --cached --others --exclude-standard | tar --create --null --files-from=- | tar --extract --directory="$copy"
cd "$copy"
# Without the dependencies of the tests, which users do not get.
for manifest in Cargo.toml crates/kube-manager/Cargo.toml; do
  awk '/^\[/ { skip = /dev-dependencies\]$/ } !skip' "$manifest" |
    sed 's|^members = .*|members = ["crates/kube-manager"]|' > manifest
  mv manifest "$manifest"
done
# The flag is unstable. This variable allows it in a stable cargo.
RUSTC_BOOTSTRAP=1 "$cargo" update --quiet -Z direct-minimal-versions
"$cargo" check --locked --package rscaffold --package kube-manager --all-features --target-dir "$target"
