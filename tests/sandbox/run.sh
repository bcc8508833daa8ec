#!/usr/bin/env bash
# tests/sandbox/run.sh TRIPLET...: boots a Debian kernel for arm64 in an emulated machine, which
# runs the Arm programs built in BUILD/TRIPLET (make check-arm): their system call filters, and
# Landlock, as on a Raspberry Pi. Needs no root. --console, first, prints the machine's console at
# the end.
set -u
cd "$(dirname "$0")/../.." || exit 1
console=''
[ "${1-}" != --console ] || { console=$1 && shift; }
# shellcheck disable=SC2034 # by tests/emulated_machine.sh
suite=sandbox architecture=arm64 wanted='' maybe='' folders=()
# shellcheck source=tests/emulated_machine.sh
. tests/emulated_machine.sh

for triplet in "$@"; do
  for program in run_inference run_inference_dynamic libmafat.so.0; do
    [ -e "$build/$triplet/$program" ] || cannot "needs $build/$triplet/$program (make check-arm)"
  done
done
[ -x "$build/pack_weights" ] || cannot "needs $build/pack_weights"
begin_machine
# The C libraries, in a folder for each triplet: they have the same names.
for triplet in "$@"; do
  files=$to/files/$triplet libraries=$to/lib/$triplet
  mkdir -p "$files" "$libraries"
  cp "$build/$triplet"/{run_inference,run_inference_dynamic,libmafat.so.0} "$files"
  cp "/usr/$triplet"/lib/{libc.so.6,libm.so.6} "$build/$triplet/libmafat.so.0" "$libraries" && cp /usr/"$triplet"/lib/ld-linux-*.so.? "$to/lib" || exit 1
  "$triplet-gcc" -shared -fPIC -o "$files/misbehave.so" tests/sandbox/misbehave.c -ldl || exit 1
done
cp models/shapes/shapes.{cfg,weights} "$to/files"
head -c $((3 * 160 * 160 * 4)) /dev/zero >"$to/files/zeros"
python3 - "$to/files/picture.ppm" <<'PICTURE'
import sys
with open(sys.argv[1], "wb") as file:
    file.write(b"P6\n200 160\n255\n" + bytes(i * i * 31 % 251 for i in range(200 * 160 * 3)))
PICTURE
"$build/pack_weights" --quiet --activations int8 --calibrate "$to/files/picture.ppm" models/shapes/shapes.{cfg,weights} "$to/files/integers" || exit 1
boot_machine 1500 2 512
