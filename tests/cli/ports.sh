#!/usr/bin/env bash
# Checks inputs and outputs by name, with a generated model of two inputs and two outputs.
set -u
# shellcheck disable=SC2034 # by tests/check.sh
suite=ports
# shellcheck source=tests/model_files.sh
. tests/model_files.sh

# Input a (1 x 2 x 3 x 4) gives output "rows", channels last; b (5) gives "flat"; negative values
# become 0.
writer write onnx_writer.c <<'C'
#include "tests/support/onnx_writer.h"
#include <stdio.h>
int main(int argc, char **argv)
{
  const int64_t a[] = {1, 2, 3, 4}, rows[] = {1, 3, 4, 2}, b[] = {5};
  struct test_message graph = {0};
  test_onnx_input(&graph, "a", 4, a);
  test_onnx_input(&graph, "b", 1, b);
  if (argc == 1) test_onnx_add(&graph, "Relu", "a", "r", "");
  test_onnx_add(&graph, "Transpose", "r", "rows", "perm=[0,2,3,1]");
  if (argc > 1) test_onnx_add(&graph, "Relu", argv[1], "r", "");
  test_onnx_add(&graph, "Relu", "b", "flat", "");
  test_onnx_output(&graph, "rows", 4, rows);
  test_onnx_output(&graph, "flat", 1, b);
  struct test_message file = test_onnx_model(&graph, 13);
  return fwrite(file.data, 1, file.n, stdout) != file.n;
}
C
"$dir/write" >"$dir/two.onnx"

floats() { # little-endian floats of small integers
  local n
  for n in "$@"; do
    case $n in
    0) printf '\0\0\0\0' ;;
    1) printf '\0\0\200\077' ;;
    2) printf '\0\0\0\100' ;;
    3) printf '\0\0\100\100' ;;
    *) printf '\0\0\200\100' ;; # 4
    esac
  done
}
floats 1 1 1 1 2 2 2 2 3 3 3 3 0 1 2 3 0 1 2 3 0 1 2 3 >"$dir/a=a"
floats 1 0 1 1 1 2 1 3 2 0 2 1 2 2 2 3 3 0 3 1 3 2 3 3 >"$dir/rows.expected"
floats 4 3 2 1 0 >"$dir/b.bin"
run() { "$program" --quiet "$@" "$dir/two.onnx" >"$dir/out" 2>"$dir/err"; }
refuses() { refuses_model run "$@"; } # NAME PATTERN OPTION...

check 'both inputs, both outputs' 'it fails' run --input "a=$dir/a=a" --input "b=$dir/b.bin" --dump-output "rows=$dir/rows" --dump-output "flat=$dir/flat.npy"
check 'an output raw' 'it differs' cmp "$dir/rows" "$dir/rows.expected"
"$dir/write" a >"$dir/unsorted.onnx"
unsorted() { "$program" --quiet --input "a=$dir/a=a" --input "b=$dir/b.bin" --dump-output "rows=$dir/again" "$1" >"$out" 2>"$err"; }
check 'a node before the one that it reads' 'it fails' unsorted "$dir/unsorted.onnx"
check 'it is sorted' 'the output differs' cmp "$dir/again" "$dir/rows.expected"
check 'packed, too' 'it fails' "$build/pack_weights" --quiet "$dir/unsorted.onnx" "$dir/unsorted.packed"
rm "$dir/again"
check 'the packed file' 'it fails' unsorted "$dir/unsorted.packed"
check 'it is sorted, too' 'the output differs' cmp "$dir/again" "$dir/rows.expected"
"$dir/write" rows >"$dir/cycle.onnx"
unsorted "$dir/cycle.onnx"
status=$?
check 'a cycle' "exit status $status: $(cat "$err")" test $status = 2
check 'the node of the cycle' "$(cat "$err")" \
  grep -q "node [01] (Relu): a cycle: its input 'rows' depends on its own output" "$err"
check 'an output as .npy' 'it differs' cmp <(tail -c 20 "$dir/flat.npy") "$dir/b.bin"
check 'its header' 'it differs' grep -aq "{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }" "$dir/flat.npy"
# shellcheck disable=SC2317 # called by check
# REDIRECTION: prints the file's previous content, the run's text and the output, in this order
streamed() {
  local left=0
  echo before >"$dir/stream"
  if [ "$1" = append ]; then
    "$program" --quiet --input "a=$dir/a=a" --input "b=$dir/b.bin" --dump-output flat=/dev/stdout "$dir/two.onnx" >>"$dir/stream" 2>"$err"
  else
    { echo before && "$program" --quiet --input "a=$dir/a=a" --input "b=$dir/b.bin" --dump-output flat="$1" "$dir/two.onnx"; } >"$dir/stream" 2>"$err" 9>&1
  fi || left=1
  [ "$left" = 0 ] && [ "$(head -n 1 "$dir/stream")" = before ] && grep -aq 'ms' <(sed -n 2p "$dir/stream") && cmp <(tail -c 20 "$dir/stream") "$dir/b.bin"
}
check 'an output behind what stands in standard output' 'it differs' streamed /dev/stdout
check 'an output by the number of a stream' 'it differs' streamed /dev/fd/9
check 'an output appended' 'it differs' streamed append
check 'an input as .npy' 'it fails' run --input "b=$dir/flat.npy" --input "a=$dir/a=a" --dump-output "flat=$dir/flat" --json
check 'the same from it' 'it differs' cmp "$dir/flat" "$dir/b.bin"
check 'JSON' 'no ports' grep -q '"inputs":\[{"name":"a","type":"float32","dims":\[1,2,3,4\]},{"name":"b","type":"float32","dims":\[5\]}\],"outputs":\[{"name":"rows"' "$dir/out"
# shellcheck disable=SC2317 # called by check
within() { # the page cache may add a page; one success of three suffices
  for _ in 1 2 3; do
    "$program" --input "b=$dir/flat.npy" --input "a=$dir/a=a" "$dir/two.onnx" >"$dir/out" 2>"$dir/err" && ! tells 'more than predicted' && return
  done
  return 1
}
check 'an array takes no more bytes than predicted' "$(grep -h predicted "$dir/err")" within
check 'prediction' 'no ports' grep -q '^outputs *rows float32\[1, 3, 4, 2\], flat float32\[5\]' <("$program" --predict "$dir/two.onnx")

# --predict needs only the graph: it may come through an open pipe and lack weights.
piped() { "$program" --predict --json "$1" >"$dir/out" 2>"$dir/err" && grep -q '"name":"rows"' "$dir/out"; }
check 'a model in a pipe' "$(head -c 200 "$dir/err")" piped /dev/stdin < <(cat "$dir/two.onnx")
check 'one of a process' "$(head -c 200 "$dir/err")" piped <(cat "$dir/two.onnx")
mkfifo "$dir/fifo"

# An endless pipe must not fill the disk; tried on a small one.
mkdir "$dir/small"
if unshare --mount mount -t tmpfs -o size=1m none "$dir/small" 2>"$err"; then
  # shellcheck disable=SC2317 # called by refuses_model
  endless() { { head -c 16 "$dir/two.onnx" && cat /dev/zero; } | TMPDIR=$dir/small unshare --mount bash -c 'mount -t tmpfs -o size=1m none "$TMPDIR" && exec "$@"' bash "$program" --predict /dev/stdin >"$out" 2>"$err"; }
  refuses_model endless 'a pipe without an end' 'expected at most 917504 bytes, copied to .*/small, found more'
else
  skip 'a pipe without an end' 'no file systems can be mounted here'
fi
named() { # FILE ARGUMENT...: through a named pipe
  cat "$1" >"$dir/fifo" &
  "$program" --predict "${@:2}" "$dir/fifo" >"$dir/out" 2>"$dir/err"
  local status=$?
  wait
  return $status
}
check 'a named pipe' "$(head -c 200 "$dir/err")" named "$dir/two.onnx" --json
check 'a named pipe, told' 'other outputs' grep -q '"name":"rows"' "$dir/out"
check 'a cfg in a named pipe' "$(head -c 200 "$dir/err")" named models/shapes/shapes.cfg
check 'a cfg in a named pipe, told' 'another network' grep -q '^outputs *output float32' "$dir/out"
named <(head -c 100 "$dir/two.onnx")
check 'a part of a model in a named pipe' \
  "$(head -c 200 "$dir/err")" tells 'expected at most 80 bytes, found a length of'
check 'its weights' 'not its own' grep -q 'its own weights' <("$program" --predict <(cat "$dir/two.onnx"))
head -c 100 "$dir/two.onnx" | "$program" --predict /dev/stdin >"$dir/out" 2>"$dir/err"
check 'a part of a model' "$(head -c 200 "$dir/err")" tells '/dev/stdin: '
cat "$dir/two.onnx" | "$program" --quiet --input "a=$dir/a=a" /dev/stdin >"$dir/out" 2>"$dir/err"
check 'no run of a pipe' "$(head -c 200 "$dir/err")" tells '/dev/stdin: expected a regular file'

refuses 'an input that is missing' "input 'b' was not set" --input "a=$dir/a=a"
refuses 'no name' 'expects NAME=FILE, with one of the names a, b' --input "$dir/b.bin"
refuses 'one twice' 'input b has two files' --input "b=$dir/b.bin" --input "b=$dir/b.bin" --input "a=$dir/a=a"
refuses 'another length' 'expected a file of 96 bytes (1 x 2 x 3 x 4 floats), found 20' --input "a=$dir/b.bin" --input "b=$dir/b.bin"
refuses 'another shape' 'expected a .npy file of shape (1, 2, 3, 4), found (5,)' --input "a=$dir/flat.npy" --input "b=$dir/b.bin"
refuses 'no such output' 'with one of the names rows, flat' --input "a=$dir/a=a" --input "b=$dir/b.bin" --dump-output "cols=$dir/x"
refuses 'over an input' 'expects a file of its own' --input "a=$dir/a=a" --input "b=$dir/b.bin" --dump-output "flat=$dir/b.bin"
refuses 'no file' 'expects NAME=FILE, with one of the names a, b, found a=' --input a= --input "b=$dir/b.bin"
refuses 'two outputs in one file' 'expects a file of its own, found .*/x twice' --input "a=$dir/a=a" --input "b=$dir/b.bin" --dump-output "rows=$dir/x" --dump-output "flat=$dir/x"
refuses 'an output among the marks' 'expects a file of its own, found .*/x twice' --input "a=$dir/a=a" --input "b=$dir/b.bin" --dump-output "rows=$dir/x" --marks "$dir/x"
refuses 'an output in place of a folder' 'expects a file, found the folder' \
  --input "a=$dir/a=a" --input "b=$dir/b.bin" --dump-output "rows=$dir"
refuses 'marks in place of a folder' '--marks expects a file, found the folder' \
  --input "a=$dir/a=a" --input "b=$dir/b.bin" --marks "$dir"
refuses 'an output in no folder' 'nowhere/rows: cannot create: No such file' \
  --input "a=$dir/a=a" --input "b=$dir/b.bin" --dump-output "rows=$dir/nowhere/rows"
refuses 'an output below a file' 'b.bin/rows: cannot create: Not a directory' \
  --input "a=$dir/a=a" --input "b=$dir/b.bin" --dump-output "rows=$dir/b.bin/rows"
check 'nothing half-written' 'there is' test -z "$(find "$dir" -name 'x*')"
cp "$dir/b.bin" "$dir/x.part"
check 'an input that is called like a part' 'it fails' run --input "a=$dir/a=a" --input "b=$dir/x.part" --dump-output "rows=$dir/x"
check 'it is kept' 'it is not' cmp "$dir/b.bin" "$dir/x.part"
check 'outputs that go nowhere' 'it fails' run --input "a=$dir/a=a" --input "b=$dir/b.bin" --dump-output rows=/dev/null --dump-output flat=/dev/null

# Interrupted while writing 50 MB.
printf '[net]\nwidth=512\nheight=512\nchannels=3\n[upsample]\nstride=4\n' >"$dir/large.cfg"
head -c 20 /dev/zero >"$dir/large.weights"
head -c $((4 * 3 * 512 * 512)) /dev/zero >"$dir/large.bin"
mkdir "$dir/stopped"
stopped() { # SIGNAL
  "$program" --quiet --input "$dir/large.bin" --dump-output "$dir/stopped/x" "$dir/large.cfg" "$dir/large.weights" >"$dir/out" 2>"$dir/err" &
  local pid=$!
  until [ -n "$(ls "$dir/stopped")" ] || ! kill -0 $pid 2>"$log"; do :; done
  kill "-$1" $pid
  wait $pid
  status=$?
}
for end in TERM HUP XCPU; do
  stopped $end 2>"$log"
  check "$end" "status $status: $(head -c 200 "$dir/err")" test $status -eq $((128 + $(kill -l $end)))
done
check 'nothing left' "$(ls "$dir/stopped")" test -z "$(ls "$dir/stopped")"

# ---- predictions

"$program" --predict --input "a=$dir/none" --input b=none --dump-output "rows=$dir/none" "$dir/two.onnx" >"$dir/out" 2>&1
status=$?
check 'names that are there' "exit status $status" test "$status" -eq 0 -a ! -e "$dir/none"
asks() { # NAME PATTERN OPTION...
  local name=$1 pattern=$2
  shift 2
  refuses "predict, $name" "$pattern" --predict "$@"
}
asks 'no such input' 'input expects NAME=FILE, with one of the names a, b' --input c=x
asks 'one twice' 'input a has two files' --input a=x --input a=y
asks 'no such output' 'dump-output expects NAME=FILE, with one of the names rows, flat' --dump-output a=x

# ---- constant inputs

# x (1 x 2 x 2 x 2) is multiplied by w (2 x 2 x 1 x 1) and reshaped to an input's value.
writer constants onnx_writer.c <<'C'
#include "tests/support/onnx_writer.h"
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
  const int64_t x[] = {1, 2, 2, 2}, w[] = {2, 2, 1, 1}, y[] = {2, 4};
  const double numbers[] = {1, 0, 2, 1};
  struct test_message graph = {0};
  if (argc > 1) {
    struct test_message t = test_onnx_tensor(&(struct test_onnx_tensor){.type = 1, .rank = atoi(argv[1]), .dims = w, .values = numbers});
    return fwrite(t.data, 1, t.n, stdout) != t.n;
  }
  test_onnx_input(&graph, "x", 4, x);
  test_onnx_input(&graph, "w", 4, w);
  test_onnx_int64_input(&graph, "w=shape", 2);
  test_onnx_add(&graph, "Conv", "x w", "c", "");
  test_onnx_add(&graph, "Reshape", "c w=shape", "y", "");
  test_onnx_output(&graph, "y", 2, y);
  struct test_message file = test_onnx_model(&graph, 13);
  return fwrite(file.data, 1, file.n, stdout) != file.n;
}
C
"$dir/constants" >"$dir/constants.onnx"
"$dir/constants" 4 >"$dir/w.pb"
"$dir/constants" 2 >"$dir/other.pb"
npy() { # TYPE SHAPE: then the elements
  printf '\223NUMPY\1\0\166\0%-117s\n' "{'descr': '$1', 'fortran_order': False, 'shape': $2, }"
  cat
}
floats 1 0 2 1 >"$dir/w.raw"
npy '<f4' '(2, 2, 1, 1)' <"$dir/w.raw" >"$dir/w.npy"
npy '<f4' '(4, 1)' <"$dir/w.raw" >"$dir/other.npy"
npy '<i4' '(2, 2, 1, 1)' <"$dir/w.raw" >"$dir/whole.npy"
printf '\2\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0' >"$dir/shape.raw"
npy '<i8' '(2,)' <"$dir/shape.raw" >"$dir/shape.npy"
floats 1 2 1 0 0 0 2 1 >"$dir/x.raw"
floats 1 2 1 0 2 4 4 1 >"$dir/y.expected"
run() { "$program" --quiet "$@" "$dir/constants.onnx" >"$dir/out" 2>"$dir/err"; }
for kind in raw npy pb; do
  shape=$kind
  [ $kind != pb ] || shape=raw
  for plan in 1x1:direct/NoCut rows1:direct:streamed/NoCut; do
    check "constants, $kind, $plan" "$(head -c 200 "$dir/err")" run --plan $plan --constant "w=$dir/w.$kind" --constant "w=shape=$dir/shape.$shape" \
      --input "$dir/x.raw" --dump-output "$dir/y.raw"
    check "what they make, $kind, $plan" 'it differs' cmp "$dir/y.raw" "$dir/y.expected"
  done
done
# Packed files contain the constants: their files may be deleted, and the packed file moved.
mkdir "$dir/given" "$dir/elsewhere"
packed() { "$program" --quiet "$@" "$dir/elsewhere/$kind.packed" >"$dir/out" 2>"$dir/err"; }
for kind in raw npy pb; do
  shape=$kind
  [ $kind != pb ] || shape=raw
  cp "$dir/w.$kind" "$dir/shape.$shape" "$dir/given"
  check "packed constants, $kind" "$(head -c 200 "$dir/err")" "$build/pack_weights" --quiet --constant "w=$dir/given/w.$kind" --constant "w=shape=$dir/given/shape.$shape" \
    "$dir/constants.onnx" "$dir/elsewhere/$kind.packed"
  rm -r "$dir/given"/*
  check "packed constants, $kind, checked" 'it is damaged' "$build/pack_weights" --check --quiet "$dir/elsewhere/$kind.packed"
  for plan in 1x1:direct/NoCut rows1:direct:streamed/NoCut; do
    check "packed constants, $kind, $plan" "$(head -c 200 "$dir/err")" packed --plan $plan --input "$dir/x.raw" --dump-output "$dir/y.raw"
    check "what they make packed, $kind, $plan" 'it differs' cmp "$dir/y.raw" "$dir/y.expected"
  done
done
refuses_model packed 'constants of a packed model' 'constants are given to ONNX and TFLite files, found w=' --constant "w=$dir/w.raw" --input "$dir/x.raw"
pack() { "$build/pack_weights" --quiet "$@" "$dir/constants.onnx" "$dir/more.packed" >"$dir/out" 2>"$dir/err"; }
refuses_model pack 'a packed constant of no input' 'expected NAME=FILE with an input.s name for a constant, found c=' --constant "c=$dir/w.raw"
refuses_model pack 'no packed constant' 'constant expects NAME=FILE, 16 times at most, found' --constant "$dir/w.raw"
check 'constants, asked' "$(head -c 200 "$dir/err")" run --predict --constant "w=$dir/w.npy" --constant "w=shape=$dir/shape.npy"
check 'what is asked' 'other inputs' grep -q '^inputs *x float32\[1, 2, 2, 2\]$' "$dir/out"
constants() { refuses "$1" "$2" --input "$dir/x.raw" --constant "w=shape=$dir/shape.raw" "${@:3}"; }
refuses 'weights that are an input' 'expected constant weights' --input "w=$dir/w.raw" --input "x=$dir/x.raw" --constant "w=shape=$dir/shape.raw"
constants 'no name of a constant' 'constant expects NAME=FILE' --constant "$dir/w.raw"
constants 'a constant of no input' 'expected NAME=FILE with an input.s name for a constant, found c=' --constant "c=$dir/w.raw"
constants 'no file of a constant' 'none: cannot open' --constant "w=$dir/none"
mkfifo "$dir/pipe"
constants 'a constant by a pipe' 'expected a regular file, found a pipe' --constant w=<(cat "$dir/w.raw")
constants 'a pipe that nobody writes' 'pipe: expected a regular file, found a pipe' --constant "w=$dir/pipe"
constants 'a constant of a device' 'zero: expected a regular file, found a device' --sandbox off --constant w=/dev/zero
constants 'a folder of constants' 'found a directory' --constant "w=$dir"
constants 'a constant too long' 'x.raw: expected 16 bytes of (2, 2, 1, 1) elements of type .<f4., found 32' --constant "w=$dir/x.raw"
constants 'a constant of other dimensions' 'other.npy: expected a .npy file of shape (2, 2, 1, 1), found (4, 1)' --constant "w=$dir/other.npy"
constants 'a constant of another type' 'whole.npy: expected a .npy file of .<f4., found .<i4.' --constant "w=$dir/whole.npy"
constants 'a tensor of other dimensions' 'other.pb: expected a tensor of 4 dimensions, found 2' --constant "w=$dir/other.pb"
constants 'a tensor of another type' 'other.pb: expected a tensor of type int64, found float' --constant "w=shape=$dir/other.pb" --constant "w=$dir/w.raw"
constants 'over a constant' 'expects a file of its own' --constant "w=$dir/w.raw" --dump-output "$dir/w.raw"
run() { "$program" --quiet "$@" models/shapes/shapes.cfg models/shapes/shapes.weights >"$dir/out" 2>"$dir/err"; }
refuses 'constants of a cfg' 'constants are given to ONNX and TFLite files, found a=b' --constant a=b --input "$dir/x.raw"

# ---- integer inputs: files have the model's type

writer whole onnx_writer.c <<'C'
#include "tests/support/onnx_writer.h"
#include <stdio.h>
int main(void)
{
  const int64_t n[] = {5};
  struct test_message graph = {0};
  test_onnx_int64_input(&graph, "n", 5);
  test_onnx_add(&graph, "Cast", "n", "y", "to=1");
  test_onnx_output(&graph, "y", 1, n);
  struct test_message file = test_onnx_model(&graph, 13);
  return fwrite(file.data, 1, file.n, stdout) != file.n;
}
C
"$dir/whole" >"$dir/whole.onnx"
run() { "$program" --quiet "$@" "$dir/whole.onnx" >"$dir/out" 2>"$dir/err"; }
for n in 4 0 3 1 2; do printf "\\$n\\0\\0\\0\\0\\0\\0\\0"; done >"$dir/n.raw"
floats 4 0 3 1 2 >"$dir/y.expected"
npy '<i8' '(5,)' <"$dir/n.raw" >"$dir/n.npy"
npy '<f4' '(5,)' <"$dir/y.expected" >"$dir/floats.npy"
npy '<i4' '(5,)' <"$dir/y.expected" >"$dir/narrow.npy"
for file in n.raw n.npy floats.npy; do
  check "integers, $file" "$(head -c 200 "$dir/err")" run --input "$dir/$file" --dump-output "$dir/y.raw"
  check "what they are, $file" 'it differs' cmp "$dir/y.raw" "$dir/y.expected"
done
check 'their type' "$(cat "$dir/out")" run --predict
check 'their type is printed' "$(cat "$dir/out")" grep -q '^inputs *n int64\[5\]$' "$dir/out"
refuses 'floats for integers' 'y.expected: expected a file of 40 bytes (5 int64), found 20' --input "$dir/y.expected"
refuses 'an array of others' "narrow.npy: expected a .npy file of int64 ('<i8'), found '<i4'" --input "$dir/narrow.npy"

# ---- a picture beside a file

sed -e 's/a\[\] = {1, 2, 3, 4}, rows\[\] = {1, 3, 4, 2}/a[] = {1, 3, 2, 2}, rows[] = {1, 2, 2, 3}/' "$dir/write.c" |
  writer picture onnx_writer.c
"$dir/picture" >"$dir/two.onnx"
printf 'P6 2 2 255\n\001\002\003\002\003\004\004\003\002\001\001\001' >"$dir/four.ppm"
floats 1 2 3 2 3 4 4 3 2 1 1 1 >"$dir/rows.expected"
floats 3 2 1 4 3 2 2 3 4 1 1 1 >"$dir/bgr.expected"
beside() { "$program" --quiet "$@" "$dir/two.onnx" "$dir/four.ppm" >"$dir/out" 2>"$dir/err"; }
check 'a picture and a file' 'it fails' beside --scale 1 --input "b=$dir/b.bin" --dump-output "rows=$dir/rows" --dump-output "flat=$dir/flat"
check 'what becomes of the picture' 'it differs' cmp "$dir/rows" "$dir/rows.expected"
check 'what becomes of the file' 'it differs' cmp "$dir/flat" "$dir/b.bin"
check 'blue first' 'it fails' beside --scale 1 --channels bgr --input "b=$dir/b.bin" --dump-output "rows=$dir/rows" --json
check 'channels swapped' 'they are not' cmp "$dir/rows" "$dir/bgr.expected"
check 'what JSON says' 'something else' grep -q '"picture":{"channels":"bgr","mean":\[0,0,0\],"scale":\[1,1,1\],"source":"options","resize":"stretch","pad":114}' "$dir/out"
run() { beside "$@"; }
cp "$dir/four.ppm" "$dir/five.ppm"
check 'a picture is kept' 'it is marked' sh -c '! "$0" --quiet --marks "$1" models/shapes/shapes.cfg models/shapes/shapes.weights "$2" "$1" 2>"$3"' \
  "$program" "$dir/five.ppm" "$dir/four.ppm" "$dir/err"
check 'to the byte' 'it is not' cmp "$dir/four.ppm" "$dir/five.ppm"
refuses 'a picture and nothing else' "input 'b' was not set" --scale 1
refuses 'a file for the picture, too' 'input a takes the image' --input "a=$dir/rows" --input "b=$dir/b.bin"
refuses 'asked: a file for the picture, too' 'input a takes the image' --predict --input "a=$dir/rows" --input "b=$dir/b.bin"

shapes=models/shapes
head -c $((4 * 3 * 160 * 160)) /dev/zero >"$dir/zeros"
check "Darknet's names" 'they differ' "$program" --quiet --input "data=$dir/zeros" --dump-output "output=$dir/named" $shapes/shapes.cfg $shapes/shapes.weights
check "Darknet's without" 'they differ' "$program" --quiet --input "$dir/zeros" --dump-output "$dir/plain" $shapes/shapes.cfg $shapes/shapes.weights
check 'the same output' 'it differs' cmp "$dir/named" "$dir/plain"
exit "$failed"
