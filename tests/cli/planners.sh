#!/usr/bin/env bash
# Checks experiments/planners: methods against exhaustive search and worked examples, and refusals.
# Run from the project's root; BUILD names the build folder.
set -u

build=${BUILD:-build}
build=$(realpath "$build") || exit 1
export BUILD=$build
program=$PWD/experiments/planners/run.py
folder=$(mktemp -d) || exit 1
# shellcheck source=tests/check.sh
. "$PWD/tests/check.sh"
at_end 'rm -rf "$folder"'
out=$folder/out err=$folder/err suite=planners log=$folder/log

if ! command -v python3 >/dev/null; then
  skip everything 'python3 is missing'
  exit 0
fi

bad 'a network that is none' 'found nasnet' --only nasnet
bad 'a method that is none' 'found hmco' --methods least,hmco

program=$build/lay_plans
run --graph "$folder/none.onnx"
refuses 'no model' 1 'none.onnx'
run --rounds -1 "$folder/none.onnx"
refuses 'rounds below none' 1 'expected'

python3 tests/planners/check.py || failed=1
exit $failed
