#!/usr/bin/env bash
# Inputs and outputs by name through the command line: a model of two inputs and two outputs that is written here.
set -u
BUILD=${BUILD:-build}
# shellcheck disable=SC2034 # by tests/check.sh
suite=ports
# shellcheck source=tests/check.sh
. tests/check.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 143' TERM INT
log=$dir/log
program=$BUILD/run_inference

# a of 1 x 2 x 3 x 4 comes out in "rows", channels last; b of 5 in "flat", both as they are where they are not negative.
cat >"$dir/write.c" <<'C'
#include "tests/support/onnx_writer.h"
#include <stdio.h>
int main(void)
{
  const int64_t a[] = {1, 2, 3, 4}, rows[] = {1, 3, 4, 2}, b[] = {5};
  struct test_message graph = {0};
  test_onnx_input(&graph, "a", 4, a);
  test_onnx_input(&graph, "b", 1, b);
  test_onnx_add(&graph, "Relu", "a", "r", "");
  test_onnx_add(&graph, "Transpose", "r", "rows", "perm=[0,2,3,1]");
  test_onnx_add(&graph, "Relu", "b", "flat", "");
  test_onnx_output(&graph, "rows", 4, rows);
  test_onnx_output(&graph, "flat", 1, b);
  struct test_message file = test_onnx_model(&graph, 13);
  return fwrite(file.data, 1, file.n, stdout) != file.n;
}
C
if ! "${CC:-cc}" -std=c11 -I. -o "$dir/write" "$dir/write.c" tests/support/onnx_writer.c >"$log" 2>&1; then
  fail 'the model' "$(head -n 1 "$log")"
  exit 1
fi
"$dir/write" >"$dir/two.onnx"

floats() { # little-endian, of small integers
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
tells() { grep -q "$1" "$dir/err"; } # PATTERN

check 'both inputs, both outputs' 'it fails' run --input "a=$dir/a=a" --input "b=$dir/b.bin" --dump-output "rows=$dir/rows" --dump-output "flat=$dir/flat.npy"
check 'an output raw' 'it differs' cmp "$dir/rows" "$dir/rows.expected"
check 'an output as .npy' 'it differs' cmp <(tail -c 20 "$dir/flat.npy") "$dir/b.bin"
check 'its header' 'it differs' grep -aq "{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }" "$dir/flat.npy"
check 'an input as .npy' 'it fails' run --input "b=$dir/flat.npy" --input "a=$dir/a=a" --dump-output "flat=$dir/flat" --json
check 'the same from it' 'it differs' cmp "$dir/flat" "$dir/b.bin"
check 'JSON' 'no ports' grep -q '"inputs":\[{"name":"a","type":"float32","dims":\[1,2,3,4\]},{"name":"b","type":"float32","dims":\[5\]}\],"outputs":\[{"name":"rows"' "$dir/out"
check 'prediction' 'no ports' grep -q '^outputs *rows float32\[1, 3, 4, 2\], flat float32\[5\]' <("$program" --predict "$dir/two.onnx")

# Its graph says all that is asked: it may come through a pipe that is open already, and be without weights.
piped() { "$program" --predict --json "$1" >"$dir/out" 2>"$dir/err" && grep -q '"name":"rows"' "$dir/out"; }
check 'a model in a pipe' "$(head -c 200 "$dir/err")" piped /dev/stdin < <(cat "$dir/two.onnx")
check 'one of a process' "$(head -c 200 "$dir/err")" piped <(cat "$dir/two.onnx")
check 'its weights' 'not its own' grep -q 'its own weights' <("$program" --predict <(cat "$dir/two.onnx"))
head -c 100 "$dir/two.onnx" | "$program" --predict /dev/stdin >"$dir/out" 2>"$dir/err"
check 'a part of a model' "$(head -c 200 "$dir/err")" tells '/dev/stdin: '
cat "$dir/two.onnx" | "$program" --quiet --input "a=$dir/a=a" /dev/stdin >"$dir/out" 2>"$dir/err"
check 'no run of a pipe' "$(head -c 200 "$dir/err")" tells '/dev/stdin: expected a regular file'

refuses() { # NAME PATTERN OPTION...
  local name=$1 pattern=$2 status
  shift 2
  run "$@"
  status=$?
  check "$name" "status $status: $(head -c 200 "$dir/err")" test "$status" -eq 2 -a "$(wc -l <"$dir/err")" -eq 1
  check "$name, told" "$(head -c 200 "$dir/err")" tells "$pattern"
}
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
check 'nothing half-written' 'there is' test -z "$(find "$dir" -name 'x*')"
cp "$dir/b.bin" "$dir/x.part"
check 'an input that is called like a part' 'it fails' run --input "a=$dir/a=a" --input "b=$dir/x.part" --dump-output "rows=$dir/x"
check 'it is kept' 'it is not' cmp "$dir/b.bin" "$dir/x.part"
check 'outputs that go nowhere' 'it fails' run --input "a=$dir/a=a" --input "b=$dir/b.bin" --dump-output rows=/dev/null --dump-output flat=/dev/null

# Stopped while it writes 50 MB.
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

# ---- only to ask

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

# ---- a picture beside a file

sed -e 's/a\[\] = {1, 2, 3, 4}, rows\[\] = {1, 3, 4, 2}/a[] = {1, 3, 2, 2}, rows[] = {1, 2, 2, 3}/' "$dir/write.c" >"$dir/picture.c"
"${CC:-cc}" -std=c11 -I. -o "$dir/picture" "$dir/picture.c" tests/support/onnx_writer.c >"$log" 2>&1 && "$dir/picture" >"$dir/two.onnx"
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
