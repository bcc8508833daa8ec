#!/usr/bin/env bash
# tests/arm/sanitized.sh TRIPLET...: tests the cross-builds with AddressSanitizer and
# UndefinedBehaviorSanitizer in BUILD/TRIPLET under qemu-user: kernels on random shapes, unit tests
# (with the sizes of MAFAT_TEST_SIZE=check), runs from a picture to boxes.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build/arm-asan}
export MAFAT_TEST_SIZE=${MAFAT_TEST_SIZE:-check} CK_TIMEOUT_MULTIPLIER=50 CK_FORK=no
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 # leak detection needs ptrace, which qemu-user lacks
dir=$(mktemp -d) || exit 1
# shellcheck source=tests/check.sh
. tests/check.sh
at_end 'rm -rf "$dir"'
# shellcheck source=tests/arm/emulate.sh
. tests/arm/emulate.sh

# Suites of kernels, arrays and model files. Suites of processes, time and searches do not depend
# on the machine.
suites='box quantization cfg packed packed_graph onnx tflite plan layout parts reads weights streaming narrow activations packed_integers
  functions rearrange resample normalize matmul gather postprocess fan_out integer_rule integer_functions integer_matmul integer_rearrange kernels
  winograd windows blends joins floors executor separable api arena route'

works() { # NAME COMMAND...: must succeed without a sanitizer's message
  local name=$1
  shift
  if "$@" >"$dir/out" 2>&1 && ! grep -qE 'AddressSanitizer|runtime error' "$dir/out"; then ok "$name"; else
    fail "$name" "$(grep -E -m 3 'ERROR|runtime error|^FAIL|:[FE]:' "$dir/out" || tail -n 2 "$dir/out")"
  fi
}

shapes=models/shapes/shapes
python3 - "$dir/picture.ppm" <<'PICTURE'
import sys
with open(sys.argv[1], "wb") as file:
    file.write(b"P6 90 70 255\n" + bytes(i * i * 31 % 251 for i in range(90 * 70 * 3)))
PICTURE
for triplet in "$@"; do
  on=(emulate "$triplet")
  for level in portable neon; do
    for algorithm in direct winograd; do
      works "$triplet run_inference, $level, $algorithm" "${on[@]}" "$build/$triplet/run_inference" --memory 1G --quiet --threads 2 --cpu $level \
        --algorithm $algorithm --plan 4x4/4/3x5 $shapes.cfg $shapes.weights "$dir/picture.ppm"
    done
  done
  works "$triplet pack_weights, int8" "${on[@]}" "$build/$triplet/pack_weights" --quiet --force --activations int8 --calibrate "$dir/picture.ppm" \
    $shapes.cfg $shapes.weights "$dir/packed"
  numbers=("${on[@]}" "$build/$triplet/run_inference" --memory 1G --quiet --plan rows2:streamed/NoCut "$dir/packed" "$dir/picture.ppm")
  works "$triplet integers, portable" "${numbers[@]}" --cpu portable
  works "$triplet integers, the best level" "${numbers[@]}"
  if [ "${triplet%%-*}" = aarch64 ]; then QEMU_CPU=cortex-a53 works "$triplet integers, a processor without dot products" "${numbers[@]}"; fi
  works "$triplet kernels" "${on[@]}" "$build/$triplet/kernel_check" --cases "${MAFAT_CASES:-60}"
  for one in $suites; do
    works "$triplet $one" "${on[@]}" "$build/$triplet/unit_tests" "$one"
  done
done
exit "$failed"
