#!/bin/sh
# Prints the changelog of VERSION without its heading, for the release notes.
#
# usage: release/notes.sh VERSION
set -eu

version=${1:?usage: release/notes.sh VERSION}
cd "$(dirname "$0")/.."
notes=$(awk -v heading="## [$version]" '
  index($0, "## [") == 1 { inside = index($0, heading) == 1; next }
  /^\[/ { inside = 0 }
  inside' CHANGELOG.md)
if [ -z "$notes" ]; then
  echo "error: CHANGELOG.md says nothing about $version" >&2
  exit 1
fi
echo "$notes"
