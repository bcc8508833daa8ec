#!/usr/bin/env bash
# Checks the least arenas of trained models (MAFAT_MODELS): the promises of doc/models.md, that
# runs match predictions, and the bits of other plans. The searches take minutes. Run from the
# project's root; BUILD names the build folder (default: build).
set -u

# shellcheck source=tests/check.sh
. tests/check.sh
build=$(realpath "${BUILD:-build}")
program=$build/run_inference
root=$PWD
folder=$(mktemp -d) || exit 1
at_end 'rm -rf "$folder"'
cd "$folder" || exit 1
export XDG_CACHE_HOME=$folder/cache # no stored calibration

# shellcheck disable=SC2034 # by tests/check.sh
out=$folder/out err=$folder/err suite=arenas patience=1200
predict() { run --predict "$@"; }
# shellcheck source=tests/answers.sh
. "$root/tests/answers.sh"
if ! command -v python3 >/dev/null; then skip python3 'is needed'; exit 0; fi

# least: the plan on stdout keeps weights and computes nothing twice
kib='(a["breakdown"]["activations"] + a["breakdown"]["input"] + a["breakdown"]["scratch"]) / 1024'
least='a["search"] == "least" and a["redundant_macs"] == 0 and a["weights_read_bytes"] == 0 and a["breakdown"]["io"] == 0'

# kilobytes KIB INPUTS NAME [TYPE]: an integer network runs in an arena of at most KIB, as predicted, with the same bits
kilobytes() {
  local model=${MAFAT_MODELS:-}/tflite/$3.tflite
  [ -r "$model" ] || { skip "least $3" 'MAFAT_MODELS names no folder that has it'; return; }
  python3 -c 'import array, sys; array.array(sys.argv[2], (i * i * 31 // 7 % 256 for i in range(eval(sys.argv[1])))).tofile(open("numbers", "wb"))' \
    "$2" "${4:-B}"
  rm -f before ./*.floats
  predict --json --search least --input numbers "$model"
  json "least $3" "$least" "$kib <= $1"
  same "least $3" --search least --input numbers "$model"
  run --quiet --search least --input numbers --dump-output least.floats "$model"
  run --quiet --input numbers --dump-output best.floats "$model"
  check "least $3, bits" 'they differ' cmp least.floats best.floats
}
kilobytes 14 49*10 kws_ref_model
kilobytes 24 96*96*3 vww_96_int8
kilobytes 24 32*32*3 pretrainedResnet_quant
kilobytes 40 128*128*3 mobilenet_v1_0.25_128_quant
kilobytes 112 176*176*3 mcunet-320kb-1mb_imagenet
kilobytes 220 224*224*3 mobilenet_v2_1.0_224_quant
kilobytes 330 224*224*3 mcunetv2_large f

# motes INPUTS NAME: the plan of --search motes needs no more than whole maps, reads back with the
# same bytes and gives the same bits.
motes() {
  local model=${MAFAT_MODELS:-}/tflite/$2.tflite plan
  [ -r "$model" ] || { skip "motes $2" 'MAFAT_MODELS names no folder that has it'; return; }
  python3 -c 'import array, sys; array.array("B", (i * i * 31 // 7 % 256 for i in range(eval(sys.argv[1])))).tofile(open("numbers", "wb"))' "$1"
  rm -f before ./*.floats
  predict --json --plan 1x1/order=postorder --input numbers "$model"
  cp "$out" before
  predict --json --search motes --delta 1.2 --beam 4 --input numbers "$model"
  json "motes $2" 'a["arena_bytes"] <= b["arena_bytes"] and a["search"] == "motes"'
  plan=$(field plan)
  cp "$out" before
  predict --json --plan "$plan" --input numbers "$model"
  json "motes $2, read back" 'a["arena_bytes"] == b["arena_bytes"] and a["plan"] == b["plan"]'
  run --quiet --search motes --delta 1.2 --beam 4 --input numbers --dump-output motes.floats "$model"
  run --quiet --plan 1x1 --input numbers --dump-output whole.floats "$model"
  check "motes $2, bits" 'they differ' cmp motes.floats whole.floats
}
motes 49*10 kws_ref_model
motes 96*96*3 vww_96_int8

# Arenas in doc/models.md: measured ones must not be larger, nor much smaller.
sed -nE 's/^\| ([A-Za-z0-9_.-]+)\.(onnx|tflite)[^|]*\|([^|]*\|)? ([0-9.]+) \|.*/\2 \1.\2 \4/p' "$root/doc/models.md" >told.arenas
check least-told "found: $(cat told.arenas)" test "$(wc -l <told.arenas)" -ge 16
while read -r format name told; do
  [ -r "${MAFAT_MODELS:-}/$format/$name" ] || { skip "least $name, told" 'MAFAT_MODELS names no folder that has it'; continue; }
  predict --json --search least "$MAFAT_MODELS/$format/$name"
  json "least $name, told" "0.9 * $told <= round(a[\"arena_bytes\"] / 1024, 1) <= $told"
done <told.arenas
exit "$failed"
