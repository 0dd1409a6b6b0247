#!/bin/sh
# Updates the dependencies of this repository, of the runtime and of generated projects, rewrites the golden projects,
# and runs `make check`. Run `make test` afterwards: it compiles generated projects.
#
# usage: make update-deps [DEPS="NAME=REQUIREMENT ..."]
#
# Without DEPS, cargo takes the newest versions that the requirements allow, and lists newer ones. DEPS raises
# requirements: DEPS="kube=5.1 k8s-openapi=0.30" changes them in each Cargo.toml that has one, and where the README of a
# project or a tutorial shows them. `make golden` changes the golden projects.
set -eu

cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
manifests="$(find . \( -name .git -o -name target -o -path ./tests/golden \) -prune -o \
  \( -name Cargo.toml -o -name Cargo.toml.tera \) -print)
  templates/project/README.md.tera docs/tutorials/*.md"

for dependency; do
  name=${dependency%%=*}
  requirement=${dependency#*=}
  if [ "$name" = "$dependency" ] || ! echo "$requirement" | grep -Eqx '[0-9]+(\.[0-9]+){0,2}'; then
    echo "error: \`$dependency\` is not of the form NAME=REQUIREMENT, such as kube=5.1" >&2
    exit 1
  fi
  # The text before the requirement, also of a dependency that the code calls by another name.
  before="($name = (\{ version = )?|[A-Za-z0-9_-]+ = \{ package = \"$name\", version = )"
  # shellcheck disable=SC2086
  files=$(grep -lE "^$before\"" $manifests) || {
    echo "error: no Cargo.toml depends on \`$name\`" >&2
    exit 1
  }
  for file in $files; do
    sed -E "s/^($before\")[^\"]*/\1$requirement/" "$file" > "$file.new"
    mv "$file.new" "$file"
    echo "$file: $name $requirement" >&2
  done
done

"$cargo" update --verbose
"$cargo" update --verbose --manifest-path tests/fuzz/Cargo.toml
"${MAKE:-make}" golden
(cd target/golden && "$cargo" update --verbose)
cp target/golden/Cargo.lock tests/golden
"${MAKE:-make}" check
echo "next: read the diff, then compile what is generated: make test" >&2
