#!/usr/bin/env bash
# Runs ONNX's own test models, of single operators and from PyTorch (Debian's libonnx-testdata):
# each with supported operators, floats, at most four dimensions and a batch of 1 is run by several
# plans and compared.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/check.sh
program=${BUILD:-build}/onnx_nodes data=/usr/share/libonnx-testdata/data
if [ ! -d $data ]; then
  echo "libonnx-testdata is not installed"
  exit 77
fi

# models NAME LEAST FOLDER...: at least LEAST models pass, and none fails
models() {
  local name=$1 least=$2
  shift 2
  if "$program" --least "$least" "$@"; then ok "$name"; else failed=1; fi
}
models "ONNX's operators" 391 $data/node
models "PyTorch's models" 59 $data/pytorch-converted $data/pytorch-operator
# Either of two operands may be constant.
add=$data/node/test_add_bcast
for name in x=$add/test_data_set_0/input_0.pb y=$add/test_data_set_0/input_1.pb; do
  if "$program" --least 1 --constant "$name" "$add" >/dev/null; then ok "a constant ${name%%=*}"; else fail "a constant ${name%%=*}" 'it fails'; fi
done
exit $failed
