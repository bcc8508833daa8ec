#!/usr/bin/env bash
# Checks that packed files of ONNX and TFLite models run to the bit like the models: ONNX's own
# test models (Debian's libonnx-testdata) with their constants inside, and real ones of
# MAFAT_MODELS.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/check.sh
build=${BUILD:-build} data=/usr/share/libonnx-testdata/data
folder=$(mktemp -d) || exit 1
at_end 'rm -rf "$folder"'

# same NAME LEAST MODEL...: at least LEAST are equal, and none differs
same() {
  local name=$1 least=$2
  shift 2
  if "$build/packed_models" --least "$least" "$@" >"$folder/log"; then ok "$name"; else fail "$name" "$(tail -n 5 "$folder/log")"; fi
}
same "TFLite's operators, packed" 42 --operators
if [ -d $data ]; then
  "$build/onnx_nodes" --write "$folder" $data/node $data/pytorch-converted $data/pytorch-operator >"$folder/log"
  same "ONNX's models, packed" 390 "$folder"/*.onnx
else
  skip "ONNX's models, packed" "libonnx-testdata is not installed"
fi
if [ -d "${MAFAT_MODELS:-}/onnx" ]; then
  same "real ONNX models, packed" 8 "$MAFAT_MODELS"/onnx/*.onnx
  same "real TFLite models, packed" 8 "$MAFAT_MODELS"/tflite/*.tflite
else
  skip "real models, packed" "MAFAT_MODELS names no folder with onnx/"
fi
exit $failed
