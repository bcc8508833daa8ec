#!/usr/bin/env bash
# Runs small networks of every format with programs built by clang with MemorySanitizer, portable
# kernels, floats and integers, weights kept, loaded and streamed: no uninitialized reads. BUILD
# names the folder (make check-msan). Pictures are PPM, and the helper thread reads: other
# libraries, and kernel rings, are not instrumented.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${BUILD:-build/msan}
# shellcheck disable=SC2034 # by tests/check.sh
suite=msan
. tests/check.sh
dir=$(mktemp -d) || exit 1
at_end 'rm -rf "$dir"'

# runs NAME COMMAND...: must succeed without a sanitizer's message
runs() {
  local name=$1
  shift
  if "$@" >"$dir/out" 2>"$dir/err"; then ok "$name"; else fail "$name" "exit status $?; $(grep -m 5 -E 'WARNING|^ *#[0-3] |run_inference:|pack_weights:' "$dir/err")"; fi
}
run_network() { # NAME ARGUMENT...
  local name=$1
  shift
  runs "$name" "$build/run_inference" --sandbox off --cpu portable --json --report "$@"
}

cp tests/data/small.cfg "$dir/net.cfg"
{ printf 'P6\n80 60\n255\n'; head -c 14400 models/shapes/shapes.weights; } >"$dir/picture.ppm"
runs make_weights "$build/make_weights" --quiet "$dir/net.cfg" "$dir/net.weights"
runs pack_weights "$build/pack_weights" --quiet "$dir/net.cfg" "$dir/net.weights" "$dir/net.packed"
runs 'pack_weights, halves' "$build/pack_weights" --quiet --weights fp16 "$dir/net.cfg" "$dir/net.weights" "$dir/halves.packed"
runs 'pack_weights, bytes' "$build/pack_weights" --quiet --weights int8 "$dir/net.cfg" "$dir/net.weights" "$dir/bytes.packed"
runs 'pack_weights, integers' "$build/pack_weights" --quiet --activations int8 --calibrate "$dir/picture.ppm" "$dir/net.cfg" "$dir/net.weights" "$dir/integers.packed"
for file in "$dir/net.weights" "$dir/net.packed" "$dir/halves.packed" "$dir/bytes.packed" "$dir/integers.packed"; do
  name=${file##*/}
  model=()
  [ "$name" != net.weights ] || model=("$dir/net.cfg")
  [ "$name" = net.weights ] || runs "check $name" "$build/pack_weights" --check --quiet "$file"
  for plan in 1x1/NoCut rows2:loaded/3/panels:streamed 2x2:loaded/NoCut rows1:bricks:streamed/NoCut; do
    run_network "$name, $plan" --plan "$plan" --repeat 2 "${model[@]}" "$file" "$dir/picture.ppm"
  done
  run_network "$name, searched, two threads" --memory 64M --threads 2 "${model[@]}" "$file" "$dir/picture.ppm"
done
run_network 'net.weights, winograd' --algorithm winograd --plan 1x1/NoCut "$dir/net.cfg" "$dir/net.weights" "$dir/picture.ppm"
runs predict "$build/run_inference" --sandbox off --predict --memory 64M --map "$dir/map.svg" "$dir/net.cfg"
runs sweep "$build/run_inference" --sandbox off --predict --sweep 16M,64M "$dir/net.cfg"

# ONNX and TFLite: each operator by eight plans and two ways of packing, from model and packed
# files.
runs "TFLite's operators" "$build/packed_models" --least 42 --cpu portable --operators
data=/usr/share/libonnx-testdata/data
if [ -d $data ]; then
  "$build/onnx_nodes" --write "$dir" $data/node $data/pytorch-operator >/dev/null
  runs "ONNX's operators" "$build/packed_models" --least 350 --cpu portable "$dir"/*.onnx
else
  skip "ONNX's operators" "libonnx-testdata is not installed"
fi
exit "$failed"
