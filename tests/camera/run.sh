#!/usr/bin/env bash
# Boots a Debian kernel in an emulated machine, where its driver vivid is a camera, and runs run_inference --camera there: frames of
# every format that it has, its buffers in the budget, the sandbox. Needs no root. BUILD names the build folder; --console shows the
# machine's console at the end.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
cache=$build/camera
kernel=$cache/kernel
patience=600 # seconds, until the machine is ended
# shellcheck source=tests/check.sh
. tests/check.sh
cannot() { # what one says who cannot
  skip camera "$1"
  exit 0
}

work='' machine=''
# shellcheck disable=SC2317 # called by a trap
clean() {
  [ -z "$machine" ] || { kill "$machine" && wait; } 2>/dev/null
  [ -z "$work" ] || rm -rf "$work"
}
at_end clean

[ "$(uname -m)" = x86_64 ] || cannot 'its machine is an x86-64'
for tool in qemu-system-x86_64 busybox cpio; do
  command -v $tool >/dev/null || cannot "needs $tool (packages.txt)"
done
for program in "$(command -v busybox)" "$build/run_inference"; do
  [ -x "$program" ] || cannot "needs $program"
  if ldd "$program" >/dev/null 2>&1; then cannot "$program is not static"; fi
done
mkdir -p "$cache" && work=$(mktemp -d "$cache/run.XXXXXX") || exit 1

# shellcheck disable=SC2034 # by tests/emulated_kernel.sh
{
  wanted=vivid
  maybe=''
  folders=('drivers/media/*' 'drivers/video/*' 'drivers/i2c/*')
}
# shellcheck source=tests/emulated_kernel.sh
. tests/emulated_kernel.sh
find_kernel

to=$work/initramfs
mkdir -p "$to"/{bin,dev,proc,sys,tmp,files,modules}
cp "$kernel"/modules/* "$to/modules"
cp "$(command -v busybox)" "$to/bin/busybox"
cp "$build/run_inference" models/shapes/shapes.{cfg,weights,names} "$to/files"
cp tests/camera/inside.sh "$to/init" && chmod 755 "$to/init"
cp tests/check.sh "$to"
(cd "$to" && find . | cpio --quiet -o -H newc -R 0:0) | gzip -1 >"$work/initramfs.gz"

timeout -k 5 $patience qemu-system-x86_64 -accel tcg -cpu max -smp 2 -m 512 -nodefaults -display none -no-reboot \
  -serial "file:$work/console" -serial "file:$work/results" -kernel "$kernel/vmlinuz" -initrd "$work/initramfs.gz" \
  -append 'console=ttyS0 loglevel=4 panic=-1' </dev/null >"$work/qemu" 2>&1 &
machine=$!
wait $machine
machine=''
echo "   Linux $(cat "$kernel/version")"
grep -E '^(ok|FAIL|skip) ' "$work/results"
! grep -q '^FAIL ' "$work/results" || failed=1
grep -qx finished "$work/results" || fail 'the machine' "does not finish: $(head -n 3 "$work/qemu") $(tail -n 2 "$work/results" "$work/console")"
[ "${1-}" != --console ] || cat "$work/console"
exit "$failed"
