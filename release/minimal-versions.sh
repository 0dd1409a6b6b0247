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
# Without the packages of tests, whose dependencies nobody else gets.
sed 's|^members = .*|members = ["crates/kube-manager"]|' Cargo.toml > manifest
mv manifest Cargo.toml
# The flag is unstable in cargo, and this variable allows it in a stable one.
RUSTC_BOOTSTRAP=1 "$cargo" update --quiet -Z direct-minimal-versions
"$cargo" check --locked --package rscaffold --package kube-manager --all-features --target-dir "$target"
