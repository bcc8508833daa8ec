#!/usr/bin/env bash
# Checks experiments/networks: refusals, networks against published figures, and the small ones as
# files: the same each time, and runnable. Run from the project's root; BUILD names the build
# folder.
set -u

build=${BUILD:-build}
build=$(realpath "$build") || exit 1
export BUILD=$build
program=$PWD/experiments/networks/write_networks.py
folder=$(mktemp -d) || exit 1
# shellcheck source=tests/check.sh
. "$PWD/tests/check.sh"
at_end 'rm -rf "$folder"'
out=$folder/out err=$folder/err suite=networks log=$folder/log

if ! command -v python3 >/dev/null; then
  skip everything 'python3 is missing'
  exit 0
fi

bad 'a network that is none' "found 'nasnet'" nasnet
bad 'zeros in integers' 'zeros have no ranges' --int8 --zeros radar
bad 'no folder' '--folder' --folder
run --zeros --folder "$out/none" radar
refuses 'a folder that cannot be' 1 'none'

run --facts mcunet_v2_se_large bert_tiny
expect facts 0
check 'facts: a line each' "found: $(cat "$out")" test "$(wc -l <"$out")" = 3

python3 tests/networks/check.py "$folder" || failed=1

small='radar fan_example ds_cnn mobilenet_v1_025_96'
# shellcheck disable=SC2086 # words
for to in one two; do
  run --folder "$folder/$to" $small
  chatty=1 expect "writes: $to" 0
done
check 'the same files each time' 'they differ' diff -r "$folder/one" "$folder/two"
for name in $small; do
  python3 -c "import sys; sys.path.insert(0, 'experiments/networks'); sys.dont_write_bytecode = True; import networks
sys.stdout.buffer.write(networks.build('$name').example_input(1))" >"$folder/input.raw"
  check "$name runs" 'see its message' "$build/run_inference" --quiet --input "$folder/input.raw" --plan 1x1/NoCut --algorithm direct \
    --dump-output "$folder/whole.raw" "$folder/one/$name.onnx"
  check "$name runs in as little as it can" 'see its message' "$build/run_inference" --quiet --input "$folder/input.raw" --algorithm direct \
    --plan "$("$build/run_inference" --predict --json --quiet "$folder/one/$name.onnx" | sed -n 's/.*"least_plan":"\([^"]*\)".*/\1/p')" \
    --dump-output "$folder/least.raw" "$folder/one/$name.onnx"
  check "$name: the same bits" 'they differ' cmp "$folder/whole.raw" "$folder/least.raw"
  check "$name: finite numbers that differ" "found: $(od -An -tf4 "$folder/whole.raw" | tr -s ' \n' ' ' | head -c 200)" \
    python3 -c 'import array, math, sys
values = array.array("f", open(sys.argv[1], "rb").read())
sys.exit(not (all(map(math.isfinite, values)) and len(set(values)) == len(values)))' "$folder/whole.raw"
done
exit $failed
