#!/bin/sh
# Builds the program of a release for TARGET and prints its path. On Linux the program is static, so it runs
# with any C library. The bytes depend on the commit, on the Rust version, and on the linker and the C library of this
# machine. They contain no path of this machine.
#
# usage: release/build.sh TARGET
set -eu

target=${1:?usage: release/build.sh TARGET}
cd "$(dirname "$0")/.."
folder=$(pwd -P)
cargo=${CARGO:-cargo}

# cargo splits these flags at the unit separator, so a folder may have a space in its name.
flags=$(printf '%s\037%s' "--remap-path-prefix=$folder=/rscaffold" \
  "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo")
case $target in
*-linux-*) flags=$(printf '%s\037%s\037%s' -C target-feature=+crt-static "$flags") ;;
esac
# Flags of the environment would change the bytes.
unset CARGO_BUILD_RUSTFLAGS CARGO_INCREMENTAL RUSTFLAGS
CARGO_ENCODED_RUSTFLAGS=$flags
export CARGO_ENCODED_RUSTFLAGS
"$cargo" build --release --locked --package rscaffold --bin rscaffold --target "$target" \
  --target-dir "$folder/target/release-build" >&2
echo "$folder/target/release-build/$target/release/rscaffold"
