#!/bin/sh
# Writes to OUT what the tests of later versions need to recreate a project of this version: PROJECT, the record, and
# the vendored files, of which the record has only digests.
#
# usage: release/record.sh RSCAFFOLD OUT
set -eu

usage='usage: release/record.sh RSCAFFOLD OUT'
rscaffold=$(realpath "${1:?$usage}")
mkdir -p "${2:?$usage}"
out=$(realpath "$2")
cd "$(dirname "$0")/.."
commands=$(realpath tests/update/commands)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/guestbook"
cd "$folder/guestbook"
while read -r arguments; do
  # shellcheck disable=SC2086
  "$rscaffold" $arguments 2>/dev/null
done < "$commands"
cp PROJECT .rscaffold/last-applied.jsonl "$out"
cp -R crates "$out"
