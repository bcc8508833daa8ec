#!/bin/sh
# Compares tests/kernels/integer_rule.c, the reference of the integer kernels, bit for bit with
# tflite-micro's reference kernels. TFLITE_MICRO names a source tree of tflite-micro
# (github:tensorflow/tflite-micro); nothing of it is copied. gemmlowp's headers are Debian's
# libgemmlowp-dev. Skipped if either is missing. run.sh [ROUNDS]
set -eu
cd "$(dirname "$0")/../.."
lite=${TFLITE_MICRO:-}/tensorflow/lite
gemmlowp=${GEMMLOWP:-/usr/include/gemmlowp}
if [ ! -f "$lite/kernels/internal/reference/integer_ops/conv.h" ] || [ ! -f "$gemmlowp/fixedpoint/fixedpoint.h" ]; then
  echo "skip: TFLITE_MICRO names no tree of tflite-micro, or libgemmlowp-dev is not installed"
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# gemmlowp uses only ruy's scope labels.
mkdir -p "$work/ruy/profiler"
printf '#pragma once\n%s\n' 'namespace ruy { namespace profiler { struct ScopeLabel { template <class... T> ScopeLabel(T...) {} }; } }' >"$work/ruy/profiler/instrumentation.h"
${CC:-gcc} -std=c11 -O2 -ffp-contract=off -I. -c tests/kernels/integer_rule.c -o "$work/rule.o"
${CXX:-g++} -std=c++17 -O2 -g -fwrapv -ffp-contract=off -w -DTF_LITE_STATIC_MEMORY -I. -I"$TFLITE_MICRO" -I"$gemmlowp" -I"$work" \
  experiments/integer_rule/compare.cpp "$lite/kernels/internal/common.cc" "$lite/kernels/internal/quantization_util.cc" \
  "$lite/kernels/internal/runtime_shape.cc" "$work/rule.o" -o "$work/compare"
"$work/compare" "$@"
