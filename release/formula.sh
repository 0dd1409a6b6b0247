#!/bin/sh
# Prints the Homebrew formula of a release, whose files release/archives.sh wrote to FILES.
#
# usage: release/formula.sh FILES
set -eu

sums=$(cd "${1:?usage: release/formula.sh FILES}" && pwd)/SHA256SUMS
cd "$(dirname "$0")/.."

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
repository=$(sed -n 's/^repository = "\(.*\)"$/\1/p' Cargo.toml)
description=$(sed -n 's/^description = "\(.*\)"$/\1/p' Cargo.toml)
# Each line of SHA256SUMS becomes a command of sed that replaces `@TARGET@`.
checksums=$(sed -n 's/^\([0-9a-f]*\)  rscaffold-\(.*\)\.tar\.gz$/s|@\2@|\1|g/p' "$sums")
formula=$(sed -e "s|@VERSION@|$version|g" -e "s|@REPOSITORY@|$repository|g" \
  -e "s|@DESCRIPTION@|$description|g" -e "$checksums" release/rscaffold.rb)
missing=$(printf '%s\n' "$formula" | sed -n 's/.*@\(.*\)@.*/ \1/p' | tr -d '\n')
if [ -n "$missing" ]; then
  echo "error: $sums has no archive of:$missing; the formula needs the archive of each target" >&2
  exit 1
fi
printf '%s\n' "$formula"
