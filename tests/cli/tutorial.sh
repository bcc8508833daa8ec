#!/usr/bin/env bash
# Runs the commands of doc/tutorial.md from top to bottom on an installation by `make install`.
# Commands that need more than this machine may have are left out with a reason; tests/deb_clean.sh
# runs all in a fresh Debian. Run from the project's root; BUILD names the build folder (default:
# build), MAFAT_MODELS the folder with ONNX files.
set -u
build=$(realpath "${BUILD:-build}")
# shellcheck disable=SC2034 # by tests/check.sh
suite=tutorial
work=$(mktemp -d) || exit 1
# shellcheck source=tests/check.sh
. tests/check.sh
# shellcheck source=tests/page.sh
. tests/page.sh
at_end 'rm -rf "$work"'

MAKEFLAGS='' make -s --no-print-directory BUILD="$build" DESTDIR="$work/root" PREFIX=/usr install >"$work/log" 2>&1 ||
  { fail install "$(tail -n 1 "$work/log")"; exit 1; }
blocks=$work/blocks
page_blocks doc/tutorial.md "$blocks"

# ---- Commands that cannot run here

page_leave_out "$blocks" '^apt-get install' 'needs root and a mirror, and changes the system: tests/deb_clean.sh'
page_leave_out "$blocks" '^(scp|ssh) ' 'needs a device'
page_leave_out "$blocks" '^(install|systemctl|systemd-analyze|journalctl|echo /var|sleep 2)' 'changes the system, needs systemd: see the service below'
page_leave_out "$blocks" '^podman ' 'needs podman: tests/release.sh unpacks the image and runs it'
needs() { [ -e "$1" ] || page_leave_out "$blocks" "$2" "$3"; } # FILE PATTERN REASON
darknet=/usr/share/darknet/cfg/yolov3-tiny.cfg
needs $darknet 'yolov3-tiny|tiny[a-z0-9-]*\.packed' 'needs the package darknet'
onnx=${MAFAT_MODELS:-/nonexistent}/onnx/yolox_nano.onnx
needs "$onnx" yolox_nano 'MAFAT_MODELS names no folder with onnx/yolox_nano.onnx'
command -v curl >/dev/null || page_leave_out "$blocks" '^(mafat serve|until curl|curl|kill)' 'no curl'
archive=$build/release/mafat-$(sed -n 's/^VERSION *:= *//p' Makefile)-linux-x86_64.tar.gz
needs "$archive" '^(sha256sum|tar|mafat-0)' 'make release has not been run'
PYTHONPATH=$PWD/python MAFAT_LIBRARY=$build/libmafat.so.0 python3 -c 'import mafat' 2>/dev/null ||
  page_leave_out "$blocks" '^python3 ' 'no python3 that the module runs with'
"$build/memory_limit" --check 2>/dev/null | grep -q ^possible ||
  page_leave_out "$blocks" '^(mafat limit|mkfifo|exec|echo shapes.jpg|until|wait|cat took)' 'no control group can be made here'

# ---- The other commands, with the packages' files and the reader's files in place

camera=$work/home/camera
mkdir -p "$camera"
for file in "$onnx" "$archive" "$build/release/SHA256SUMS"; do [ ! -e "$file" ] || cp "$file" "$camera"; done
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
sed -i "s,127.0.0.1:8080,127.0.0.1:${port:-8080}," "$blocks"/*.sh
sed -i "s,/usr/share/mafat/,$work/root/usr/share/mafat/," "$blocks"/*.sh
# shellcheck disable=SC2317 # called by page_run
in_home() {
  (cd "$work/home" && exec env HOME="$work/home" PATH="$work/root/usr/bin:$PATH" MAFAT_LIBRARY="$work/root/usr/lib/libmafat.so.0" \
    PYTHONPATH="$python" PYTHONDONTWRITEBYTECODE=1 timeout 300 bash "$@")
}
python=$PWD/python
page_run "$blocks" in_home

# ---- The service: its command in a group with its limit, notified of a picture through a pipe

unit=$camera/camera.service
setting() { sed -n "s/^$1=//p" "$unit"; }
if ! "$build/memory_limit" --check 2>/dev/null | grep -q ^possible; then skip service 'no control group can be made here'
elif [ ! -s "$camera/shapes.packed" ]; then fail service 'the page made no shapes.packed'
else
  read -ra command <<<"$(setting ExecStart | sed "s,/usr/bin/,$work/root/usr/bin/,; s,/var/lib/camera/,$camera/,g")"
  check 'service: swap' 'it may swap' test "$(setting MemorySwapMax)" = 0
  echo "$camera/shapes.jpg" >"$work/list"
  "$build/memory_limit" --limit "$(setting MemoryMax)" --swap none --format json -o "$work/took" -- "${command[@]}" <"$work/list" >"$work/answer" 2>"$work/log"
  check 'service: its command' "exit status $?; $(tail -n 1 "$work/log")" test $? = 0
  check 'service: answers' "$(head -c 200 "$work/answer")" grep -q '"label": *"star"' "$work/answer"
fi
if ! command -v systemd-analyze >/dev/null; then skip 'service: units' 'no systemd-analyze'; else
  mkdir "$work/units" && cp "$camera"/camera.s* "$work/units" && sed -i "s,/usr/bin/,$work/root/usr/bin/," "$work/units/camera.service"
  said=$(systemd-analyze verify --man=no "$work/units/camera.socket" "$work/units/camera.service" 2>&1 | grep camera)
  check 'service: units' "systemd-analyze says: $said" test -z "$said"
fi
exit "$failed"
