#!/usr/bin/env bash
# Boots a Debian kernel in an emulated machine with a disk that fails: dm-flakey below ext4. Weights are streamed from it while reads fail, and
# files are packed onto it while writes fail, or are lost from a moment on, as when power fails. Needs no root. BUILD names the build folder;
# --console shows the machine's console at the end.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
cache=$build/flakey
kernel=$cache/kernel
patience=3000 # seconds, until the machine is ended
# shellcheck source=tests/check.sh
. tests/check.sh
cannot() { # what one says who cannot
  skip flakey "$1"
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
PATH=$PATH:/usr/sbin:/sbin
for tool in qemu-system-x86_64 busybox cpio dmsetup mke2fs; do
  command -v $tool >/dev/null || cannot "needs $tool (packages.txt; dmsetup, e2fsprogs)"
done
for program in run_inference pack_weights; do
  [ -x "$build/$program" ] || cannot "needs $build/$program"
done
mkdir -p "$cache" && work=$(mktemp -d "$cache/run.XXXXXX") || exit 1

# shellcheck disable=SC2034 # by tests/emulated_kernel.sh
{
  wanted='dm_flakey loop ext4'
  maybe='crc32c_generic crc32c_intel'
  folders=('drivers/md/*' 'drivers/block/*' 'drivers/dax/*' 'fs/*' 'lib/*' 'crypto/*' 'arch/x86/crypto/*')
}
# shellcheck source=tests/emulated_kernel.sh
. tests/emulated_kernel.sh
find_kernel

to=$work/initramfs
mkdir -p "$to"/{bin,dev,proc,sys,tmp,files,modules,disk,run} "$work/disk"
cp "$kernel"/modules/* "$to/modules"
cp "$(command -v busybox)" "$to/bin/busybox"
cp "$(command -v dmsetup)" "$build/run_inference" "$build/pack_weights" "$to/bin"
for program in "$(command -v dmsetup)" "$build/pack_weights"; do # with what they are linked with
  ldd "$program" | grep -oE '/[^ ]+' | while read -r library; do
    mkdir -p "$to$(dirname "$library")"
    cp -Ln "$library" "$to$library"
  done
done
cp models/shapes/shapes.{cfg,weights} models/shapes/holdout/000000.jpg "$to/files"
cp models/shapes/shapes.{cfg,weights} "$work/disk"
mke2fs -q -t ext4 -d "$work/disk" "$to/image" 24M >"$work/log" 2>&1 || cannot 'mke2fs makes no file system'
cp tests/flakey/inside.sh "$to/init" && chmod 755 "$to/init"
cp tests/check.sh "$to"
(cd "$to" && find . | cpio --quiet -o -H newc -R 0:0) | gzip -1 >"$work/initramfs.gz"

timeout -k 5 $patience qemu-system-x86_64 -accel tcg -cpu max -smp 1 -m 768 -nodefaults -display none -no-reboot \
  -serial "file:$work/console" -serial "file:$work/results" -kernel "$kernel/vmlinuz" -initrd "$work/initramfs.gz" \
  -append 'console=ttyS0 loglevel=1 panic=-1' </dev/null >"$work/qemu" 2>&1 &
machine=$!
wait $machine
machine=''
echo "   Linux $(cat "$kernel/version")"
grep -E '^(ok|FAIL|skip) ' "$work/results"
! grep -q '^FAIL ' "$work/results" || failed=1
grep -qx finished "$work/results" || fail 'the machine' "does not finish: $(head -n 3 "$work/qemu") $(tail -n 2 "$work/results" "$work/console")"
[ "${1-}" != --console ] || cat "$work/console"
exit "$failed"
