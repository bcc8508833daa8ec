#!/usr/bin/env bash
# Files of raw elements as inputs: a few large reads whatever the dimensions are, and indices that are out of range.
set -u
# shellcheck disable=SC2034 # by tests/check.sh
suite=raw_inputs
# shellcheck source=tests/model_files.sh
. tests/model_files.sh

# write relu DIM...: a Relu of floats. write gather ROWS N: rows of a table by N indices.
writer write onnx_writer.c <<'C'
#include "tests/support/onnx_writer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
  struct test_message graph = {0};
  int64_t dims[8];
  int rank = argc - 2;
  for (int i = 0; i < rank; i++) dims[i] = atoll(argv[2 + i]);
  if (strcmp(argv[1], "relu") == 0) {
    test_onnx_input(&graph, "x", rank, dims);
    test_onnx_add(&graph, "Relu", "x", "y", "");
    test_onnx_output(&graph, "y", rank, dims);
  } else {
    static double values[1024];
    const int64_t table[] = {dims[0], 4}, out[] = {dims[1], 4};
    for (int i = 0; i < 1024; i++) values[i] = i;
    test_onnx_int64_input(&graph, "x", dims[1]);
    test_onnx_floats(&graph, "table", 2, table, values);
    test_onnx_add(&graph, "Gather", "table x", "y", "axis=0");
    test_onnx_output(&graph, "y", 2, out);
  }
  struct test_message file = test_onnx_model(&graph, 13);
  return fwrite(file.data, 1, file.n, stdout) != file.n;
}
C

# ---- Reads

patience=60
head -c 1048576 /dev/zero | tr '\0' '\101' >"$dir/floats" # 12.08
reads() { # NAME N DIM...
  local name=$1 n=$2
  shift 2
  "$dir/write" relu "$@" >"$dir/relu.onnx"
  head -c $((n * 4)) "$dir/floats" >"$dir/in"
  check "$name" 'it fails' "$program" --quiet --sandbox off --input "$dir/in" --dump-output "$dir/y" "$dir/relu.onnx" >"$out" 2>"$err"
  check "$name values" 'not those of the file' cmp "$dir/in" "$dir/y"
  if ! command -v strace >/dev/null || ! strace -o /dev/null true 2>/dev/null; then skip "$name reads" 'no strace'; return; fi
  strace -f -y -o "$dir/calls" "$program" --quiet --sandbox off --input "$dir/in" --dump-output "$dir/y" "$dir/relu.onnx" >"$out" 2>"$err"
  calls=$(grep -c "^[0-9]* *\(read\|pread64\|readv\|preadv2*\|io_submit\|io_uring_enter\)(.*" <(grep "$dir/in>\|io_submit\|io_uring_enter" "$dir/calls"))
  check "$name reads" "$calls" test "$calls" -le 40
}
reads 'a list' 65536 1 65536
reads 'a column' 65536 1 65536 1
reads 'channels' 65536 1 65536 1 1
reads 'a row' 65536 1 1 1 65536
reads 'a map' 65712 1 3 148 148
reads 'an odd list' 70001 1 70001
reads 'a long list' 200003 1 200003
reads 'columns of two' 66000 1 33000 1 2
reads 'narrow maps' 65536 1 1024 8 8

# ---- Indices of a table

indices() { # INDEX...: as 64-bit integers into the input's file
  local i
  for i; do
    # shellcheck disable=SC2059 # the format is the data
    printf "$(printf '\\x%02x\\x%02x' $((i & 255)) $((i >> 8 & 255)))"
    if [ "$i" -lt 0 ]; then printf '\377\377\377\377\377\377'; else printf '\0\0\0\0\0\0'; fi
  done >"$dir/indices"
}
"$dir/write" gather 7 3 >"$dir/gather.onnx"
gather() { "$program" --quiet --input "$dir/indices" --dump-output "$dir/rows" "$dir/gather.onnx" >"$out" 2>"$err"; }
indices 6 -7 -1
check 'indices within' "$(cat "$err")" gather
check 'their rows' "$(od -A n -f "$dir/rows")" test "$(od -A n -v -t f4 -w16 "$dir/rows" 2>/dev/null | awk '{ printf "%d ", $1 }')" = '24 0 24 '
for index in 7 300 -8; do
  indices 1 "$index" 2
  gather
  status=$?
  check "index $index" "status $status: $(cat "$err")" tells "layer [0-9]* \[gather\]: expected an index from -7 to 6, found $index"
  check "index $index, status" "$(cat "$err")" test $status -eq 1
done
exit "$failed"
