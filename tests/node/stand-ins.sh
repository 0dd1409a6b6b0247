#!/bin/sh
# Makes the images that a project's Dockerfile begins with, under their names, from Debian's packages:
# the tests ask no registry of images. Takes a folder to work in.
set -eu
builder=docker.io/library/rust:1-trixie
base=gcr.io/distroless/cc-debian13:nonroot
if podman image exists "$builder" && podman image exists "$base"; then
    exit
fi

rm -rf "$1"
mkdir -p "$1"
debootstrap --variant=minbase --include=ca-certificates,gcc,libc6-dev,tzdata trixie "$1/builder" >&2
# The machine may trust more than Debian does, to get at crates.
cp -L /etc/ssl/certs/ca-certificates.crt "$1/builder/etc/ssl/certs/ca-certificates.crt"
mkdir "$1/base"
for package in base-files ca-certificates libc6 libgcc-s1 tzdata; do
    dpkg-deb --extract "$1/builder/var/cache/apt/archives/${package}_"*.deb "$1/base"
done
cp "$1/builder/etc/ssl/certs/ca-certificates.crt" "$1/base/etc/ssl/certs/"
echo "nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin" > "$1/base/etc/passwd"
rm "$1/builder/var/cache/apt/archives/"*.deb

# Rust itself is the machine's: its folders are mounted there, by containers.conf.
tar -C "$1/builder" -c . | podman import \
    --change "ENV PATH=/usr/local/cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
    --change "ENV CARGO_HOME=/usr/local/cargo" --change "ENV RUSTUP_HOME=/usr/local/rustup" \
    - "$builder"
tar -C "$1/base" -c . | podman import --change "USER 65532" - "$base"
rm -rf "$1"
