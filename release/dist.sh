#!/bin/sh
# Writes the archive of a release for this machine to target/dist, as the release workflow does.
set -eu

cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
target=$("${RUSTC:-rustc}" -vV | sed -n 's/^host: //p')
program=$(CARGO=$cargo release/build.sh "$target")
rm -rf target/dist
mkdir -p "target/dist/binaries/$target"
cp "$program" "target/dist/binaries/$target"
"$cargo" run --quiet --locked --example pages -- target/dist/pages
release/archives.sh target/dist/binaries target/dist/pages target/dist/files
