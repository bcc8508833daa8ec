# shellcheck shell=bash
# emulate TRIPLET PROGRAM ARGUMENT...
emulate() {
  local triplet=$1 processor=${1%%-*} qemu
  shift
  qemu=$(command -v "qemu-$processor-static" || command -v "qemu-$processor") || return 127
  QEMU_LD_PREFIX=/usr/$triplet timeout 3600 "$qemu" "$@"
}
