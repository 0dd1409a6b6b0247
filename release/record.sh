#!/bin/sh
# Prints what the tests of later versions need to recreate a project of this version: its record, which has the text of
# PROJECT and of each file. Only the files in tests/update/edited have their whole text. Each other file has one line in
# its place, because an update replaces a file that nobody has edited, whatever its text is.
#
# usage: release/record.sh RSCAFFOLD > tests/update/VERSION.jsonl
set -eu

rscaffold=$(realpath "${1:?usage: release/record.sh RSCAFFOLD}")
cd "$(dirname "$0")/../tests/update"
tests=$PWD

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/guestbook"
cd "$folder/guestbook"
while read -r arguments; do
  # shellcheck disable=SC2086
  "$rscaffold" $arguments 2>"$folder/log" || {
    cat "$folder/log" >&2
    echo "error: \`rscaffold $arguments\` failed" >&2
    exit 1
  }
done < "$tests/commands"
text='left out'
digest=sha256:$(echo "$text" | sha256sum | cut -d ' ' -f 1)
# The path of a file is the first text in each of its lines. A vendored file has one line, with its digest.
awk -F '"' -v text="$text" -v digest="$digest" '
  FILENAME ~ /edited$/ { whole[$0]; next }
  /^\{/ || $2 in whole { print; next }
  $2 in seen { next }
  { seen[$2]; print "[\"" $2 "\",\"" ($4 ~ /^sha256:/ ? digest : text) "\\n\"]" }
' "$tests/edited" .rscaffold/last-applied.jsonl
