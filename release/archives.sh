#!/bin/sh
# Writes the files of a release to OUT: an archive for each target, install.sh, and SHA256SUMS.
#
# BINARIES has a folder with the program for each target. PAGES is the folder that release/pages.rs writes. The bytes
# of an archive depend only on its files. The script needs GNU tar.
#
# usage: release/archives.sh BINARIES PAGES OUT
set -eu

usage='usage: release/archives.sh BINARIES PAGES OUT'
binaries=$(cd "${1:?$usage}" && pwd)
pages=$(cd "${2:?$usage}" && pwd)
mkdir -p "${3:?$usage}"
out=$(cd "$3" && pwd)
cd "$(dirname "$0")/.."

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
for folder in "$binaries"/*/; do
  target=$(basename "$folder")
  name=rscaffold-$target
  mkdir "$stage/$name"
  cp "$folder/rscaffold" CHANGELOG.md LICENSE README.md "$stage/$name"
  cp -R "$pages/completions" "$pages/man" "$stage/$name"
  # An upload of artifacts may lose the modes of files.
  chmod -R u=rwX,go=rX "$stage/$name"
  chmod 755 "$stage/$name/rscaffold"
  # No pipe: sh ignores a failure of the first program in a pipe.
  tar --create --format=ustar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner \
    --directory="$stage" --file="$stage/$name.tar" "$name"
  gzip -9 -n < "$stage/$name.tar" > "$out/$name.tar.gz"
done

cp install.sh "$out"
(cd "$out" && sha256sum -- *.tar.gz install.sh > SHA256SUMS)
