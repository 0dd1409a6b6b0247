#!/bin/sh
# What `make test-one TEST=a_name` runs: finds the packages with tests of this name, and runs these tests with their
# output. The name can be a part of a name, or a module with `::`.
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
    -e 's/^crates\/\([^/]*\)\/.*/\1/' -e 's/^\(src\|tests\)\/.*/rscaffold/' | sort -u)
if [ -z "$packages" ]; then
  echo "error: no test has \`$TEST\` in its name" >&2
  exit 1
fi
for package in $packages; do
  "${CARGO:-cargo}" test --locked --package "$package" --all-features --tests "$TEST" -- --include-ignored --nocapture
done
