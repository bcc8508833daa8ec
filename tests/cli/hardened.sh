#!/usr/bin/env bash
# Checks the hardening of all built programs (Makefile: HARDENED): addresses, writable sections, stack canaries, checked copies.
# Skips what this machine's compiler does not support. Run from the project's root; BUILD names the build folder.
set -u

build=$(realpath "${BUILD:-build}")
# shellcheck source=tests/check.sh
. tests/check.sh
folder=$(mktemp -d) || exit 1
at_end 'rm -rf "$folder"'
# shellcheck disable=SC2034 # by tests/check.sh
suite=hardened
programs=(run_inference mafat_serve pack_weights make_weights mafat annotate mafat_ranks run_inference_dynamic libmafat.so.0)

if ! command -v readelf >/dev/null; then
  skip everything 'needs readelf'
  exit 0
fi
if [ -n "${HARDENED+set}" ] && [ -z "$HARDENED" ]; then
  skip everything 'built without (HARDENED=)'
  exit 0
fi

# ---- Sections after loading

is_shared() { readelf -dW "$1" | grep -q NEEDED; } # a program, or a library
for name in "${programs[@]}"; do
  file=$build/$name
  [ -f "$file" ] || continue
  readelf -lW "$file" >"$folder/segments"
  check "$name: what is relocated is sealed" 'it has no RELRO segment' grep -q GNU_RELRO "$folder/segments"
  check "$name: no code on the stack" "found: $(grep GNU_STACK "$folder/segments")" grep -qE 'GNU_STACK .* RW +0x' "$folder/segments"
  check "$name: nothing that is written is code" "found: $(grep -E ' RWE ' "$folder/segments")" test -z "$(grep -E ' RWE ' "$folder/segments")"
  if is_shared "$file"; then
    check "$name: all calls are bound at the start" 'it binds them late, so that they stay writable' grep -qE 'BIND_NOW|FLAGS.* NOW' <(readelf -dW "$file")
    check "$name: in no fixed place" 'its type is EXEC' grep -q 'Type: *DYN' <(readelf -hW "$file")
  fi
done

# ---- Random addresses

picture=$(find "$PWD/models/shapes/holdout" -name '*.jpg' | sort | head -n 1)
place() { # PROGRAM: start of its code while it waits for pictures
  coproc "$1" --quiet models/shapes/shapes.cfg models/shapes/shapes.weights -
  # shellcheck disable=SC2154 # by coproc
  local pid=$COPROC_PID to=${COPROC[1]} from=${COPROC[0]}
  echo "$picture" >&"$to"
  read -r _ <&"$from"
  awk '/r-xp/ && /run_inference/ { sub(/-.*/, ""); print; exit }' "/proc/$pid/maps"
  exec {to}>&-
  wait "$pid" 2>/dev/null
}
for name in run_inference run_inference_dynamic; do
  file=$build/$name
  [ -f "$file" ] || continue
  if [ "$(cat /proc/sys/kernel/randomize_va_space 2>/dev/null)" = 0 ]; then
    skip "$name: each start elsewhere" 'this system gives every process the same addresses'
  elif readelf -hW "$file" | grep -q 'Type: *EXEC'; then
    skip "$name: each start elsewhere" 'static at a fixed address: glibc 2.36, and a linker that packs relocations, are asked for'
  else
    for _ in 1 2 3 4 5 6; do place "$file"; done >"$folder/places"
    check "$name: each start elsewhere" "found: $(sort -u "$folder/places")" test "$(grep -c . "$folder/places")" = 6 -a "$(sort -u "$folder/places" | wc -l)" -ge 5
  fi
done

# ---- Canaries and checked copies

asks() { nm -u "$build/obj/$1.o" 2>/dev/null | grep -qE " $2\$"; } # OBJECT FUNCTION
if [ ! -d "$build/obj/formats" ]; then
  skip objects 'there are none'
else
  for object in formats/onnx/node formats/darknet/cfg runner/image/image programs/run_inference/options; do
    check "$object: canaries" 'it has none' asks "$object" __stack_chk_fail
  done
  if find "$build/obj/base" "$build/obj/formats" "$build/obj/runner" "$build/obj/api" "$build/obj/programs" -name '*.o' -exec nm -u {} + 2>/dev/null | grep -qE '__(memcpy|snprintf|vsnprintf|read)_chk$'; then
    ok 'copies are checked'
  elif getconf GNU_LIBC_VERSION >/dev/null 2>&1; then
    fail 'copies are checked' 'no object calls what checks them'
  else
    skip 'copies are checked' 'not by this C library'
  fi
  found=$(find "$build/obj/runner/kernels" -name '*.o' -exec nm -u {} + 2>/dev/null | grep -E '_chk(_fail)?$' | sort -u)
  check 'kernels are as fast as without' "they call: $found" test -z "$found"
fi

# ---- Writing beyond an end, with the same flags

flags=$(MAKEFLAGS='' make --no-print-directory -n -B V=1 BUILD="$folder/flags" "$folder/flags/obj/base/box.o" 2>/dev/null | sed -n 's/^[^ ].* \(-U_FORTIFY.*\) -MMD.*/\1/p')
cat >"$folder/beyond.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static __attribute__((noinline)) void fill(char *at, int n) { for (int i = 0; i < n; i++) ((volatile char *)at)[i] = 'x'; }
int main(int argc, char **argv)
{
  char small[16];
  int n = argc > 2 ? atoi(argv[2]) : 8;
  if (argv[1][0] == 'c') memset(small, 'x', (size_t)n);
  else fill(small, n);
  return small[n / 2 % 16] == 'x' ? 0 : 1;
}
C
# shellcheck disable=SC2086 # flags are words
if [ -z "$flags" ] || ! ${CC:-gcc} $flags -o "$folder/beyond" "$folder/beyond.c" 2>"$folder/log"; then
  fail 'a program by the same flags' "$(tail -n 1 "$folder/log"); flags: $flags"
else
  for way in copies loops; do
    "$folder/beyond" $way 16 >/dev/null 2>&1
    check "$way within" 'it was ended' test $? = 0
    (ulimit -c 0; "$folder/beyond" $way 64; exit $?) >/dev/null 2>&1
    code=$?
    check "$way beyond an end: ended by it" "exit status $code instead of 134" test "$code" = 134
  done
fi
exit "$failed"
