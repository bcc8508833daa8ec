#!/usr/bin/env bash
# Checks --decode through the command line, with generated models of one output.
set -u
# shellcheck disable=SC2034 # by tests/check.sh
suite=decode
# shellcheck source=tests/model_files.sh
. tests/model_files.sh

# A network that returns its input, negative values as 0: 1 x 3 x 7 is YOLOX's output for an input of 3 x 1 pixels and two
# classes, the 1 x 4 after it a list of classes.
writer write onnx_writer.c <<'C'
#include "tests/support/onnx_writer.h"
#include <stdio.h>
int main(int argc, char **argv)
{
  const int64_t in[] = {1, 3, 7}, means[] = {1, 3, 1};
  struct test_message graph = {0};
  (void)argv;
  test_onnx_input(&graph, "x", 3, in);
  if (argc < 2) test_onnx_add(&graph, "Relu", "x", "y", "");
  else test_onnx_add(&graph, "ReduceMean", "x", "y", "axes=[2]");
  test_onnx_output(&graph, "y", 3, argc < 2 ? in : means);
  struct test_message file = test_onnx_model(&graph, 13);
  return fwrite(file.data, 1, file.n, stdout) != file.n;
}
C
"$dir/write" >"$dir/boxes.onnx"
"$dir/write" means >"$dir/classes.onnx"

zero='\0\0\0\0' one='\0\0\200\077'
# shellcheck disable=SC2059 # the format is the data
printf "$zero$zero$zero$zero$one$zero$one$zero$zero$zero$zero$zero$zero$zero$one$one$one$one$one$one$one" >"$dir/floats"
run() { "$program" --input "$dir/floats" "$@" >"$dir/out" 2>"$dir/err"; }
boxes() { run "$@" "$dir/boxes.onnx"; }
refuses() { refuses_model boxes "$@"; } # NAME PATTERN OPTION...
# shellcheck disable=SC2317 # called by check
says() { grep -q "$1" "$dir/out"; } # PATTERN

check 'boxes' 'it fails' boxes --json
check 'a box' 'another' says '"label":"class 1","class":1,"confidence":1,"box":{"x":-4,"y":-4,"width":8,"height":8}}'
check 'which head' 'not told' says '"decode":"yolox"'
check 'by which dimensions' 'not told' tells 'boxes.onnx: decoded as yolox, by its dimensions: y \[1, 3, 7\]; see --decode'
check 'a head that is named' 'it fails' boxes --decode yolov5
check 'its boxes' 'others' says '2 detections'
check 'nothing told' 'it is' test -z "$(grep decoded "$dir/err")"
check 'none' 'it fails' boxes --decode none --json
check 'no boxes' 'some, or a head' says '"decode":null.*"detections":\[\]'
check 'asked' 'no head' grep -q '"decode":"yolox"' <("$program" --quiet --predict --json "$dir/boxes.onnx")
check 'classes' 'it fails' run "$dir/classes.onnx"
check 'of all the likeliest' 'another' test "$(sed -n 2p "$dir/out")" = '  class 2 53.8 %'

for head in yolov8 nanodet fastestdet ssd ultraface yunet classes; do
  case $head in
  yolov8) ;; # yolov8 accepts these dimensions, too
  *) refuses "no $head" "boxes.onnx: outputs cannot be decoded as $head: expected .*, found y \[1, 3, 7\]" --decode $head ;;
  esac
done
refuses 'no Darknet' 'expected a layer of Darknet.s that is a head' --decode darknet
refuses 'no head' '--decode expects auto, darknet, yolov5' --decode yolov4

# ---- The usual preprocessing of a head, without options. Outputs are means of the picture's pixels: of 8 x 8, 16 x 16 and 32 x 32.

writer shape onnx_writer.c <<'C'
#include "tests/support/onnx_writer.h"
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
  const int64_t in[] = {1, 3, 64, 64}, list[] = {1, 3, -1}, v8[] = {1, 6, 84}, v5[] = {1, 252, 6};
  const int64_t one[] = {1, 10};
  struct test_message graph = {0};
  test_onnx_input(&graph, "x", 4, in);
  test_onnx_int64s(&graph, "list", 3, list);
  test_onnx_add(&graph, "AveragePool", "x", "a", "kernel_shape=[8,8] strides=[8,8]");
  test_onnx_add(&graph, "AveragePool", "a", "b", "kernel_shape=[2,2] strides=[2,2]");
  test_onnx_add(&graph, "AveragePool", "b", "c", "kernel_shape=[2,2] strides=[2,2]");
  test_onnx_add(&graph, "Reshape", "a list", "d", "");
  test_onnx_add(&graph, "Reshape", "b list", "e", "");
  test_onnx_add(&graph, "Reshape", "c list", "f", "");
  test_onnx_add(&graph, "Concat", "d e f", "g", "axis=2");
  if (argc > 1 && strcmp(argv[1], "yolov5") == 0) {
    test_onnx_add(&graph, "Concat", "g g g", "h", "axis=2");
    test_onnx_add(&graph, "Concat", "h h", "i", "axis=1");
    test_onnx_add(&graph, "Transpose", "i", "y", "perm=[0,2,1]");
    test_onnx_output(&graph, "y", 3, v5);
  } else if (argc > 1 && strcmp(argv[1], "classes") == 0) {
    const int64_t ten[] = {1, 10};
    test_onnx_int64s(&graph, "ten", 2, ten);
    test_onnx_int64s(&graph, "first", 1, (const int64_t[]){0});
    test_onnx_int64s(&graph, "last", 1, (const int64_t[]){10});
    test_onnx_int64s(&graph, "axis", 1, (const int64_t[]){2});
    test_onnx_add(&graph, "ReduceMean", "g", "h", "axes=[1]");
    test_onnx_add(&graph, "Slice", "h first last axis", "i", "");
    test_onnx_add(&graph, "Reshape", "i ten", "y", "");
    test_onnx_output(&graph, "y", 2, one);
  } else {
    test_onnx_add(&graph, "Concat", "g g", "y", "axis=1");
    test_onnx_output(&graph, "y", 3, v8);
  }
  struct test_message file = test_onnx_model(&graph, 12);
  return fwrite(file.data, 1, file.n, stdout) != file.n;
}
C
for shape in yolov5 yolov8 classes; do "$dir/shape" $shape >"$dir/$shape.onnx"; done
{ printf 'P6\n96 64\n255\n'; seq 100000 | head -c 18432; } >"$dir/picture.ppm"

found() { # FILE OPTION...: detections of a picture go to this file
  "$program" --json --quiet --thresh 0.1 "${@:2}" 2>"$err" | sed -n 's/.*"detections":/"detections":/p' >"$1"
}
usual() { # NAME MODEL PICTURE OPTION...: no options find what these options find, and another rule does not
  found "$dir/alone" "$2" "$3"
  found "$dir/right" "${@:4}" "$2" "$3"
  found "$dir/plain" --mean 0 --scale 1/255 --channels rgb --resize stretch --pad 0 "$2" "$3"
  check "$1 without options" "not as with ${*:4}: $(cat "$err")" cmp "$dir/alone" "$dir/right"
  check "$1 has boxes" 'none' grep -q '"class"' "$dir/alone"
  check "$1 needs its preprocessing" 'the plain rule finds the same' test -z "$(cmp "$dir/alone" "$dir/plain" >/dev/null && echo same)"
}
usual yolov5 "$dir/yolov5.onnx" "$dir/picture.ppm" --resize letterbox
usual yolov8 "$dir/yolov8.onnx" "$dir/picture.ppm" --resize letterbox --pad 114

picture() { "$program" "$@" "$dir/picture.ppm" >"$dir/out" 2>"$err"; }
check 'a letterbox' 'it fails' picture "$dir/yolov8.onnx"
check 'assumed, told' "$(cat "$err")" tells 'yolov8.onnx: decoded as yolov8, by its dimensions: y \[1, 6, 84\]; pictures as usual for yolov8: --channels rgb --mean 0 --scale 0.00392157 --resize letterbox --pad 114 (options override)$'
check 'in one line' "$(cat "$err")" test "$(grep -c . "$err")" -le 2
check 'a named head' 'it fails' picture --decode yolov8 "$dir/yolov8.onnx"
check 'assumed, too' "$(cat "$err")" tells 'yolov8.onnx: decoded as yolov8; pictures as usual for yolov8: '
check 'all given' 'it fails' picture --mean 0 --scale 1/255 --channels rgb --resize stretch "$dir/yolov8.onnx"
check 'nothing assumed' "$(cat "$err")" test -z "$(grep usual "$err")"
check 'one given' 'it fails' picture --json --resize stretch "$dir/yolov8.onnx"
check 'it overrides' "$(cat "$dir/out")" says '"source":"head","resize":"stretch"'
check 'floats' 'it fails' "$program" --input "$dir/floats" --quiet "$dir/boxes.onnx"
check 'a classifier' 'it fails' picture "$dir/classes.onnx"
check 'no guess' "$(cat "$err")" tells 'warning: .*classes.onnx: the file declares no preprocessing, so pictures are rgb, byte / 255, stretch; if the network was trained otherwise, give --mean'
check 'a classifier with options' 'it fails' picture --mean 127.5 "$dir/classes.onnx"
check 'no warning' "$(cat "$err")" test -z "$(grep warning "$err")"

# Packed files bring it, too.
"$build/pack_weights" --quiet "$dir/yolov8.onnx" "$dir/yolov8.packed" >"$log" 2>&1
found "$dir/packed" "$dir/yolov8.packed" "$dir/picture.ppm"
found "$dir/alone" "$dir/yolov8.onnx" "$dir/picture.ppm"
check 'packed' "$(head -n 1 "$log")" cmp "$dir/packed" "$dir/alone"

# Options that were given to pack_weights apply to the packed file, unless a run has others.
stored() { # NAME MODEL OPTION...: the packed file finds what its model finds with the options, and not what it finds without
  found "$dir/wanted" "$dir/$2.onnx" "$dir/picture.ppm" "${@:3}"
  found "$dir/plain" "$dir/$2.onnx" "$dir/picture.ppm"
  "$build/pack_weights" --quiet --force "${@:3}" "$dir/$2.onnx" "$dir/stored.packed" >"$log" 2>&1
  found "$dir/packed" "$dir/stored.packed" "$dir/picture.ppm"
  check "stored $1" "$(head -n 1 "$log")" cmp "$dir/packed" "$dir/wanted"
  check "stored $1: needed" 'it changes nothing' test -z "$(cmp "$dir/wanted" "$dir/plain" >/dev/null && echo same)"
}
stored mean yolov5 --mean 3,9.5,27
stored scale yolov8 --scale 1/150
stored channels yolov8 --channels bgr
stored resize yolov5 --resize crop
stored pad yolov8 --pad 5
stored all yolov8 --mean 1 --scale 1/99,1/100,1/101 --channels bgr --resize corner --pad 200
found "$dir/wanted" --mean 1 --scale 1/99,1/100,1/101 --channels bgr --resize stretch "$dir/yolov8.onnx" "$dir/picture.ppm"
found "$dir/packed" --resize stretch "$dir/stored.packed" "$dir/picture.ppm"
check 'an option of the run' "$(cat "$err")" cmp "$dir/packed" "$dir/wanted"
check 'all stored' 'it fails' picture "$dir/stored.packed"
check 'all stored: nothing assumed' "$(cat "$err")" test -z "$(grep usual "$err")"
stored head yolov8 --decode none
found "$dir/packed" --decode yolov8 "$dir/stored.packed" "$dir/picture.ppm"
check 'a head of the run' "$(cat "$err")" cmp "$dir/packed" "$dir/plain"
"$build/pack_weights" --quiet --force --decode yolov5 "$dir/boxes.onnx" "$dir/stored.packed" >"$log" 2>&1
check 'a stored head' 'it fails' run "$dir/stored.packed"
check 'a stored head is not by dimensions' "$(cat "$dir/err")" test -z "$(grep dimensions "$dir/err")"
check 'its boxes' "$(cat "$dir/out")" says '2 detections'
"$build/pack_weights" --quiet --mean 127.5 "$dir/classes.onnx" "$dir/classes.packed" >"$log" 2>&1
check 'a packed classifier with options' "$(head -n 1 "$log")" picture "$dir/classes.packed"
check 'no warning of it' "$(cat "$err")" test -z "$(grep warning "$err")"
refuses_pack() { # NAME PATTERN ARGUMENT...
  local code
  "$build/pack_weights" "${@:3}" "$dir/no.packed" >"$dir/said" 2>&1
  code=$?
  check "$1" "$(cat "$dir/said")" test "$code $(grep -ce "$2" "$dir/said") $(ls "$dir"/no.packed* 2>/dev/null)" = '2 1 '
}
refuses_pack 'pack: a head of other outputs' 'yolov8.onnx: outputs cannot be decoded as yolox' --decode yolox "$dir/yolov8.onnx"
refuses_pack 'pack: no head' '--decode expects auto, darknet, yolov5' --decode yolov4 "$dir/yolov8.onnx"

# Trained networks, as their authors call them.
pictures=/usr/share/darknet/data
trained() { # NAME PICTURE OPTION...
  local model=${MAFAT_MODELS:-}/onnx/$1.onnx
  if [ ! -r "$model" ] || [ ! -r "$pictures/$2" ]; then skip "trained $1" 'MAFAT_MODELS names no folder that has it, or no picture'; return; fi
  usual "trained $1" "$model" "$pictures/$2" "${@:3}"
}
trained yolox_nano dog.jpg --scale 1 --channels bgr --resize corner
trained FastestDet dog.jpg --channels bgr
trained ultraface_RFB-320 person.jpg --mean 127 --scale 1/128
trained yunet_n_320_320 person.jpg --scale 1 --channels bgr
exit "$failed"
