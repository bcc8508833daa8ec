#!/usr/bin/env bash
# Tests the integer kernels for AVX-VNNI on a processor that only has AVX-512 VNNI. The only
# difference is the encoding of vpdpbusd: this script compiles to assembly, removes {vex}, makes
# the program believe in AVX-VNNI, and runs kernel_check. `make check-avxvnni` calls it: COMPILE
# compiles the kernels with their flags, LINK links OBJECT... to a kernel_check.
set -u
suite=avxvnni
# shellcheck source=tests/check.sh
. tests/check.sh
dir=$(mktemp -d)
at_end 'rm -rf "$dir"'
if grep -qw avx_vnni /proc/cpuinfo; then
  skip "AVX-VNNI in AVX-512's encoding" "this processor has AVX-VNNI: kernel_check runs them as they are"
  exit 0
fi
if ! grep -qw avx512_vnni /proc/cpuinfo; then
  skip "AVX-VNNI in AVX-512's encoding" "this processor has no VNNI"
  exit 0
fi
$COMPILE -S runner/kernels/x86/integer_avxvnni.c -o "$dir/kernels.s" || exit 1
n=$(grep -c '{vex} *vpdpbusd' "$dir/kernels.s")
check "all of vpdpbusd is AVX-VNNI's" "$n of $(grep -c vpdpbusd "$dir/kernels.s")" test "$n" -gt 0 -a "$n" -eq "$(grep -c vpdpbusd "$dir/kernels.s")"
check "nothing else is AVX-512's" "it has registers of it" bash -c '! grep -q "%zmm\|%ymm1[6-9]\|%ymm[23][0-9]\|{%k" "$1"' - "$dir/kernels.s"
sed -i 's/{vex} *vpdpbusd/vpdpbusd/' "$dir/kernels.s"
${CC:-gcc} -c "$dir/kernels.s" -o "$dir/integer_avxvnni.o" && $COMPILE '-DCPU_7_1(bit)=' -c runner/kernels/integer.c -o "$dir/integer.o" && cp "$BUILD/libmafat.a" "$dir" &&
  ar r "$dir/libmafat.a" "$dir/integer_avxvnni.o" "$dir/integer.o" && ${LINK//LIBRARY/"$dir/libmafat.a"} -o "$dir/kernel_check" || exit 1
if "$dir/kernel_check" --cpu avxvnni >"$dir/log" && [ "$(grep -c ' avxvnni .* yes  *intact' "$dir/log")" -ge 8 ]; then ok "kernel_check: $(grep -c ' avxvnni ' "$dir/log") kernels"; else
  fail kernel_check "$(tail -n 5 "$dir/log")"
fi
exit $failed
