#!/usr/bin/env bash
# Boots a Debian kernel in an emulated machine with failing disks below ext4. dm-flakey: weights
# are streamed while reads fail, and files are packed while writes fail or are lost from a moment
# on, as in a power failure. dm-log-writes: records every write of a disk, to emulate a power
# failure after each (replay.c). Needs no root. BUILD names the build folder; --console prints the
# machine's console at the end.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck disable=SC2034 # by tests/emulated_machine.sh
{
  suite=flakey
  wanted='dm_flakey dm_log_writes loop ext4'
  maybe='crc32c_generic crc32c_intel'
  folders=('drivers/md/*' 'drivers/block/*' 'drivers/dax/*' 'fs/*' 'lib/*' 'crypto/*' 'arch/x86/crypto/*')
  console=${1-}
}
# shellcheck source=tests/emulated_machine.sh
. tests/emulated_machine.sh

for program in run_inference pack_weights; do
  [ -x "$build/$program" ] || cannot "needs $build/$program"
done
begin_machine dmsetup mke2fs
add_program dmsetup "$build/run_inference" "$build/pack_weights"
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -O1 -Wall -o "$work/replay" tests/flakey/replay.c || exit 1
add_program "$work/replay"
mkdir -p "$to"/{disk,run,try,logged} "$work/disk" "$work/nothing"
cp models/shapes/shapes.{cfg,weights} models/shapes/holdout/000000.jpg "$to/files"
cp models/shapes/shapes.{cfg,weights} "$work/disk"
disk() { # IMAGE FOLDER SIZE OPTION...
  mke2fs -q -t ext4 "${@:4}" -d "$2" "$1" "$3" >"$work/log" 2>&1 || cannot "mke2fs makes no file system: $(cat "$work/log")"
}
disk "$to/image" "$work/disk" 24M
disk "$to/before" "$work/nothing" 8M -b 1024
boot_machine 3000 1 768
