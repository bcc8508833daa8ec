#!/usr/bin/env bash
# ONNX's own test models, those of single operators and those that come from PyTorch (Debian's libonnx-testdata): each that is of
# the project's operators, of floats, of at most four dimensions and a batch of 1 is run by several plans and compared.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/check.sh
program=${BUILD:-build}/onnx_nodes data=/usr/share/libonnx-testdata/data
if [ ! -d $data ]; then
  echo "libonnx-testdata is not installed"
  exit 77
fi

# models NAME LEAST FOLDER...: at least so many pass, and none fails
models() {
  local name=$1 least=$2
  shift 2
  if "$program" --least "$least" "$@"; then ok "$name"; else failed=1; fi
}
models "ONNX's operators" 371 $data/node
models "PyTorch's models" 59 $data/pytorch-converted $data/pytorch-operator
exit $failed
