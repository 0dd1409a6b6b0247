#!/bin/sh
# Builds the base images of a project's Dockerfile from Debian packages, under the names of the real images: the tests
# need no image registry. The image with the compiler is for the platform of this machine, the image that the operator
# runs in is for all platforms. The argument is a working folder.
set -eu
builder=docker.io/library/rust:1-trixie
base=gcr.io/distroless/cc-debian13:nonroot
if podman image exists "$builder" && podman manifest exists "$base"; then
    exit
fi

rm -rf "$1"
mkdir -p "$1"
debootstrap --variant=minbase --include=ca-certificates,gcc,libc6-dev trixie "$1/builder" >&2
# The machine may need additional CA certificates to download crates.
certificates=etc/ssl/certs/ca-certificates.crt
cp -L "/$certificates" "$1/builder/$certificates"
sed 's/ trixie / trixie-backports /' "$1/builder/etc/apt/sources.list" \
    > "$1/builder/etc/apt/sources.list.d/backports.list"
cat > "$1/builder/usr/local/bin/rustup" <<'END'
#!/bin/sh
# Accepts the rustup commands of the Dockerfile.
set -eu
case "$1 $2 $3" in
"target list --installed")
    for folder in /usr/lib/rustlib/*-unknown-linux-gnu; do
        basename "$folder"
    done
    exit
    ;;
"target add x86_64-unknown-linux-gnu") architecture=amd64 ;;
"target add aarch64-unknown-linux-gnu") architecture=arm64 ;;
*)
    echo "no stand-in for rustup $*" >&2
    exit 1
    ;;
esac
dpkg --add-architecture "$architecture"
apt-get update
apt-get install --yes --no-install-recommends --target-release trixie-backports \
    "libstd-rust-dev:$architecture=$(dpkg-query --show --showformat '${Version}' rustc)"
END
chmod +x "$1/builder/usr/local/bin/rustup"
chroot "$1/builder" sh -ec "
    apt-get update
    apt-get install --yes --no-install-recommends --target-release trixie-backports cargo rustc
    apt-get clean" >&2

tar -C "$1/builder" -c . | podman import - "$builder"

podman manifest rm "$base" >&2 || true
podman manifest create "$base"
for architecture in amd64 arm64; do
    root=$1/$architecture
    mkdir "$root"
    chroot "$1/builder" sh -ec '
        dpkg --add-architecture "$1"
        apt-get update >&2
        cd "$(mktemp -d)"
        chmod 755 .
        apt-get download ca-certificates tzdata "base-files:$1" "libc6:$1" "libgcc-s1:$1" >&2
        for package in *.deb; do
            dpkg-deb --fsys-tarfile "$package"
        done' sh "$architecture" | tar -C "$root" -x --ignore-zeros
    cp "$1/builder/$certificates" "$root/$certificates"
    echo "nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin" > "$root/etc/passwd"
    image=localhost/base:$architecture
    tar -C "$root" -c . | podman import --arch "$architecture" --change "USER 65532" - "$image"
    podman manifest add "$base" "containers-storage:$image"
done
rm -rf "$1"
