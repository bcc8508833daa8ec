#!/bin/sh
# What mafat does, in a minute: coloured shapes found under a 16 MB budget with
# the embedded model, then YOLOv2 at 608 x 608, untiled and as MAFAT's tiles.
set -eu
build=${BUILD:-build}
out=$build/demo
mkdir -p "$out"

field() { # FIELD JSON-FILE: a number of the first object
  sed -n "s/.*\"$1\":\([-0-9.e+]*\).*/\1/p" "$2" | head -n 1
}
megabytes() { awk "BEGIN { printf \"%.2f MB\", $1 / 1048576 }"; }
milliseconds() { awk "BEGIN { printf \"%.1f ms\", $1 }"; }

echo "1. The embedded model (models/shapes) on hold-out pictures, budget 16 MB"
for picture in models/shapes/holdout/*.jpg; do
  "$build/run_inference" --memory 16M --names models/shapes/shapes.names --quiet \
    models/shapes/shapes.cfg models/shapes/shapes.weights "$picture"
done
"$build/run_inference" --memory 16M --names models/shapes/shapes.names --json \
  models/shapes/shapes.cfg models/shapes/shapes.weights models/shapes/holdout/*.jpg >"$out/shapes.json"
echo "   plan $(sed -n 's/.*"plan":"\([^"]*\)".*/\1/p' "$out/shapes.json" | head -n 1)," \
  "predicted $(megabytes "$(field predicted_resident_bytes "$out/shapes.json")")," \
  "measured $(megabytes "$(field measured_resident_bytes "$out/shapes.json")")," \
  "$(milliseconds "$(field latency_ms "$out/shapes.json")")"
if [ -x "$build/annotate" ]; then
  "$build/annotate" --quiet -o "$out" "$out/shapes.json"
  echo "   pictures with boxes: $out/"
fi

cfg=/usr/share/darknet/cfg/yolov2.cfg
picture=/usr/share/darknet/data/dog.jpg
if [ ! -f "$cfg" ] || [ ! -f "$picture" ]; then
  echo "2. skipped: Debian's package darknet (cfg files and pictures) is not installed"
  exit 0
fi
echo
echo "2. YOLOv2 at 608 x 608, all 32 layers, generated weights, one thread"
weights=$out/yolov2.weights
trap 'rm -f "$weights"' EXIT INT TERM
"$build/make_weights" --quiet "$cfg" "$weights"
for plan in 1x1/NoCut 5x5/8/2x2; do
  "$build/run_inference" --quiet --json --plan "$plan" "$cfg" "$weights" "$picture" >"$out/yolov2.json"
  printf '   %-10s arena %9s, resident: predicted %9s, measured %9s, %s\n' "$plan" \
    "$(megabytes "$(field arena_bytes "$out/yolov2.json")")" \
    "$(megabytes "$(field predicted_resident_bytes "$out/yolov2.json")")" \
    "$(megabytes "$(field measured_resident_bytes "$out/yolov2.json")")" \
    "$(milliseconds "$(field layers_ms "$out/yolov2.json")")"
done
echo "   and its first 16 layers, the paper's experiment (13 MB of weights)"
for plan in 1x1/NoCut 5x5/8/2x2; do
  "$build/run_inference" --quiet --json --layers 16 --plan "$plan" "$cfg" "$weights" "$picture" \
    >"$out/yolov2.json"
  printf '   %-10s arena %9s, resident: predicted %9s, measured %9s, %s\n' "$plan" \
    "$(megabytes "$(field arena_bytes "$out/yolov2.json")")" \
    "$(megabytes "$(field predicted_resident_bytes "$out/yolov2.json")")" \
    "$(megabytes "$(field measured_resident_bytes "$out/yolov2.json")")" \
    "$(milliseconds "$(field layers_ms "$out/yolov2.json")")"
done
