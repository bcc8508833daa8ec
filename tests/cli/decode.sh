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
exit "$failed"
