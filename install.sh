#!/bin/sh
# Installs rscaffold from the archives of a release, without root:
#
#   curl -fsSL https://github.com/rscaffold/rscaffold/releases/latest/download/install.sh | sh
#
# Variables:
#   RSCAFFOLD_VERSION      the version, such as 0.4.0; the latest one if empty
#   RSCAFFOLD_INSTALL_DIR  where the program goes; ~/.local/bin if empty
#   RSCAFFOLD_RELEASES     where the releases are, for a mirror
set -eu

repository=https://github.com/rscaffold/rscaffold

# Not with `echo`: it may treat a backslash as an escape.
fail() {
  printf 'error: %s\n' "$1" >&2
  [ -z "${2:-}" ] || printf 'hint: %s\n' "$2" >&2
  exit 1
}

has() {
  command -v "$1" >/dev/null 2>&1
}

# Writes what is at the URL $1 to the file $2.
fetch() {
  curl --fail --location --show-error --silent --connect-timeout 20 --speed-limit 1 --speed-time 60 \
    --retry 3 --output "$2" "$1" ||
    fail "failed to fetch \`$1\`" "these versions and platforms exist: $repository/releases"
}

# Prints the checksum of the file $1. The programs do not get its name: they mark a checksum if the name has a backslash.
digest() {
  if has sha256sum; then
    sha256sum < "$1"
  else
    shasum -a 256 < "$1"
  fi | cut -d ' ' -f 1
}

# The last line calls this function, so an incomplete download of this file runs nothing.
main() {
  for program in curl tar; do
    has $program || fail "\`$program\` is not installed" "install it with the package manager of your system"
  done
  has sha256sum || has shasum || fail "neither \`sha256sum\` nor \`shasum\` is installed" \
    "install one of them; the archive is not used before its checksum is compared"
  case $(uname -s)-$(uname -m) in
  Darwin-arm64) target=aarch64-apple-darwin ;;
  Darwin-x86_64) target=x86_64-apple-darwin ;;
  Linux-aarch64 | Linux-arm64) target=aarch64-unknown-linux-gnu ;;
  Linux-x86_64) target=x86_64-unknown-linux-gnu ;;
  CYGWIN* | MINGW* | MSYS*) fail "rscaffold does not run on Windows" "run this script in WSL, which is Linux" ;;
  *) fail "there is no archive for this platform, $(uname -s) on $(uname -m)" \
    "with Rust, \`cargo install --locked rscaffold\` builds it" ;;
  esac

  releases=${RSCAFFOLD_RELEASES:-$repository/releases}
  version=${RSCAFFOLD_VERSION:-}
  case ${version#v} in
  '') from=$releases/latest/download ;;
  *[!0-9A-Za-z.+-]*) fail "RSCAFFOLD_VERSION is \`$version\`, which is not a version such as 0.4.0" ;;
  *) from=$releases/download/v${version#v} ;;
  esac
  given=${RSCAFFOLD_INSTALL_DIR:-${HOME:?the variable HOME is not set}/.local/bin}
  # The hint about PATH needs an absolute path. With CDPATH, `cd` could enter another folder.
  mkdir -p "$given" && folder=$(CDPATH='' cd -- "$given" && pwd) ||
    fail "failed to create \`$given\`" "choose another folder with RSCAFFOLD_INSTALL_DIR"
  # `mv` would move the program into this folder.
  [ ! -d "$folder/rscaffold" ] ||
    fail "\`$folder/rscaffold\` is a folder" "choose another folder with RSCAFFOLD_INSTALL_DIR"

  # The temporary file is in the target folder, so the last step is a rename. A rename also replaces a running program.
  work=$(mktemp -d "$folder/.rscaffold.XXXXXX") ||
    fail "failed to write to \`$folder\`" "choose another folder with RSCAFFOLD_INSTALL_DIR"
  trap 'rm -rf "$work"' EXIT
  trap 'exit 1' HUP INT TERM
  name=rscaffold-$target
  fetch "$from/SHA256SUMS" "$work/SHA256SUMS"
  expected=$(sed -n "s/^\([0-9a-f]\{64\}\)  $name\.tar\.gz\$/\1/p" "$work/SHA256SUMS")
  [ -n "$expected" ] || fail "\`$from/SHA256SUMS\` has no checksum of \`$name.tar.gz\`"
  fetch "$from/$name.tar.gz" "$work/archive"
  seen=$(digest "$work/archive")
  [ "$seen" = "$expected" ] ||
    fail "\`$from/$name.tar.gz\` has the checksum $seen instead of $expected; nothing was installed"
  # Not with `-C`: GNU tar treats a backslash in its folder as an escape.
  (cd "$work" && tar -xzf archive "$name/rscaffold")
  installed=$("$work/$name/rscaffold" --version) || fail "the program does not run on this machine"
  mv -f "$work/$name/rscaffold" "$folder/rscaffold"

  printf 'installed %s in %s\n' "$installed" "$folder" >&2
  case :${PATH:-}: in
  *:"$folder":*) ;;
  *) printf 'hint: add it to PATH: export PATH="%s:$PATH"\n' "$folder" >&2 ;;
  esac
}

main
