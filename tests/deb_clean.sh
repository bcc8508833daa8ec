#!/usr/bin/env bash
# Follows doc/tutorial.md in a minimal Debian that has only apt and the packages of `make deb`; the
# page's own command installs their dependencies. Run from the project's root, as root; needs
# mmdebstrap (scripts/packages.sh fresh) and a Debian mirror; takes minutes. BUILD names the build
# folder, MAFAT_MODELS the folder with ONNX files.
set -u
build=$(realpath -m "${BUILD:-build}")
# shellcheck disable=SC2034 # by tests/check.sh
suite='deb, clean'
# shellcheck source=tests/check.sh
. tests/check.sh
# shellcheck source=tests/page.sh
. tests/page.sh
# shellcheck source=packaging/debian.sh
. packaging/debian.sh

if [ "$(id -u)" != 0 ]; then skip debian 'needs root'; exit 0; fi
if ! command -v mmdebstrap >/dev/null; then skip debian 'needs mmdebstrap (scripts/packages.sh fresh)'; exit 0; fi
if ! ls "$build"/deb/mafat_*.deb >/dev/null 2>&1; then skip debian 'make deb has not been run'; exit 0; fi
if [ "${1-}" != inside ]; then
  debian_apart "$build" "$0" inside
  exit
fi
work=$2 root=$2/root blocks=$2/blocks
if ! debian_make "$root" "$work/log" ca-certificates; then
  skip debian "cannot be made: $(grep -v '^I:' "$work/log" | tail -n 1)"
  exit 0
fi
ok debian
debian_mount "$root" || exit 1
if ! debian_run "$root" apt-get update -q >"$work/log" 2>&1; then skip packages "no mirror: $(tail -n 1 "$work/log")"; exit 0; fi

# ---- The reader's files: the packages, a model, a release

home=$root/root camera=$root/root/camera
mkdir -p "$camera"
find "$build/deb" -name '*.deb' ! -name '*-dbgsym_*' -exec cp {} "$home" \;
page_blocks doc/tutorial.md "$blocks"
page_leave_out "$blocks" '^(scp|ssh) ' 'needs a device'
page_leave_out "$blocks" '^podman ' 'needs podman: tests/release.sh unpacks the image and runs it'
page_leave_out "$blocks" '^(systemctl|systemd-analyze|journalctl|echo /var|sleep 2)' 'systemd is not the first process here: tests/cli/tutorial.sh runs the service'
onnx=${MAFAT_MODELS:-/nonexistent}/onnx/yolox_nano.onnx
if [ -e "$onnx" ]; then cp "$onnx" "$camera"; else page_leave_out "$blocks" yolox_nano 'MAFAT_MODELS names no folder with onnx/yolox_nano.onnx'; fi
release=$build/release
if [ -e "$release/SHA256SUMS" ]; then cp "$release"/SHA256SUMS "$release"/mafat-*-linux-x86_64.tar.gz "$camera"; else
  page_leave_out "$blocks" '^(sha256sum|tar|mafat-0)' 'make release has not been run'
fi
"$build/memory_limit" --check 2>/dev/null | grep -q ^possible ||
  page_leave_out "$blocks" '^(mafat limit|mkfifo|exec|echo shapes.jpg|until|wait|cat took)' 'no control group can be made here'

# ---- The page

# shellcheck disable=SC2317 # called by page_run
there() { debian_run "$root" env DEBIAN_FRONTEND=noninteractive sh -c 'cd /root && exec "$@"' - timeout 1200 bash "$@"; }
page_run "$blocks" there
check 'packages are whole' 'dpkg --audit says something' test -z "$(debian_run "$root" dpkg --audit)"
exit "$failed"
