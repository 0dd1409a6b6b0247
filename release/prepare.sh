#!/bin/sh
# Prepares a release in this work tree and prints how to publish it: `make release VERSION=0.4.0`. Afterwards,
# `make release VERSION=0.5.0-dev` begins the next version. Only a release takes the runtime from the registry.
set -eu

cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
version=${1:-}

fail() {
  echo "error: $1" >&2
  echo "hint: $2" >&2
  exit 1
}

before=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
[ -n "$version" ] || fail "VERSION is missing" "make release VERSION=0.4.0; this is $before"
echo "$version" | grep -Eqx '[0-9]+\.[0-9]+\.[0-9]+(-dev)?' ||
  fail "VERSION is \`$version\`, which is not a version such as 0.4.0 or 0.5.0-dev" "this is $before"
changes=$(git status --porcelain) || fail "git cannot list the changes of the work tree" "run this in a clone"
[ -z "$changes" ] || fail "the work tree has changes that are not committed" \
  "commit them, or, if a release failed and left them, undo them: git stash --include-untracked"
# 0.4.0-dev comes before 0.4.0: for \`sort\`, \`~\` comes before the end of the line.
newest=$(printf '%s\n%s\n' "$before" "$version" | tr - '~' | sort -V | tail -n 1 | tr '~' -)
[ "$version" != "$before" ] && [ "$newest" = "$version" ] ||
  fail "VERSION is $version, which is not above $before" "the changelog tells what has changed since the last release"
case $version in
  *-dev) is_release=false ;;
  *)
    is_release=true
    release/notes.sh Unreleased >/dev/null
    # crates.io shows README.md of the release.
    ! grep -Eq 'Nothing is published|As soon as a release is published' README.md ||
      fail "README.md says that nothing is published" 'edit "State of the project" and "Install" there, and commit'
    ;;
esac

echo "== versions: $before -> $version" >&2
for file in Cargo.toml crates/kube-manager/Cargo.toml; do
  sed -e "s/^version = \"$before\"$/version = \"$version\"/" \
    -e "s/^\(kube-manager = { version = \"\)$before\"/\1$version\"/" "$file" > "$file.new"
  mv "$file.new" "$file"
done
"$cargo" update --quiet --workspace
"$cargo" update --quiet --workspace --manifest-path tests/fuzz/Cargo.toml

if ! $is_release; then
  echo "== golden projects and transcripts" >&2
  "${MAKE:-make}" golden
  echo "$version has begun. Commit it: git commit --all --message \"Begin $version\"" >&2
  exit
fi

echo "== changelog" >&2
repository=$(sed -n 's/^repository = "\(.*\)"$/\1/p' Cargo.toml)
awk -v version="$version" -v today="$(date -u +%Y-%m-%d)" -v repository="$repository" '
  $0 == "## [Unreleased]" { print; print ""; print "## [" version "] - " today; next }
  index($0, "[Unreleased]: ") == 1 {
    print "[Unreleased]: " repository "/compare/v" version "...HEAD"
    print "[" version "]: " repository "/releases/tag/v" version
    next
  }
  { print }' CHANGELOG.md > CHANGELOG.md.new
mv CHANGELOG.md.new CHANGELOG.md

echo "== golden projects and transcripts" >&2
"${MAKE:-make}" golden

echo "== the record from which the tests of later versions update" >&2
"$cargo" build --quiet --locked --bin rscaffold --target-dir target
release/record.sh target/debug/rscaffold > "tests/update/$version.jsonl"

echo "== tests of the changelog, of updates and of golden projects" >&2
"$cargo" test --quiet --locked --package rscaffold --test tests -- changelog golden:: update::

cat >&2 <<END

$version is ready. Next:
  git diff                                   # read what becomes the release
  make test && make test-release             # CONTRIBUTING.md, "Build and test", lists what CI runs besides
  git add --all && git commit --message "Release $version"
  cargo publish --package kube-manager       # first: projects of the published program need this version
  git tag v$version && git push --atomic origin main v$version
                                             # .github/workflows/release.yml builds and publishes the archives
  cargo publish --package rscaffold          # after the workflow has succeeded
                                             # then copy rscaffold.rb of the release into the Homebrew tap
  make release VERSION=$(echo "$version" | awk -F . '{ print $1 "." $2 + 1 ".0-dev" }')           # begins the next version
END
