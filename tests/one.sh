#!/bin/sh
# Finds the packages with tests of a name and runs these tests with their output. `make test-one TEST=NAME` calls
# this script. The name can be a part of a name, or a module with `::`.
set -eu

if [ -z "${TEST:-}" ]; then
  echo "error: TEST names no test" >&2
  echo "hint: make test-one TEST=commands_are_idempotent" >&2
  exit 1
fi
case $TEST in
*::) pattern="^( *pub)? *mod ${TEST%::}\b" ;;
*) pattern="fn [a-z0-9_]*${TEST##*::}" ;;
esac
packages=$(grep -rlE --include='*.rs' "$pattern" src tests crates |
  sed -e '/^tests\/golden\//d' -e 's/^tests\/operators\/.*/operators/' -e 's/^tests\/cluster\/.*/cluster/' \
    -e 's/^tests\/site\/.*/site/' -e 's/^crates\/\([^/]*\)\/.*/\1/' -e 's/^\(src\|tests\)\/.*/rscaffold/' | sort -u)
if [ -z "$packages" ]; then
  echo "error: no test has \`$TEST\` in its name" >&2
  exit 1
fi
# Uses the same packages as `make test`: with others, cargo compiles dependencies again.
for package in $packages; do
  case $package in
  kube-manager | rscaffold) targets="$PACKAGES --lib --bins --test tests" ;;
  cluster) targets="$PACKAGES --lib --test cluster" ;;
  operators) targets="$PACKAGES --test operators" ;;
  *) targets="--package $package --tests" ;;
  esac
  # shellcheck disable=SC2086
  "${CARGO:-cargo}" test --locked $targets "$TEST" -- --include-ignored --nocapture
done
