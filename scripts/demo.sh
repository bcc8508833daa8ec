#!/bin/sh
# The demonstration of `make demo`, about a minute. Finds coloured shapes within 16 MiB, then runs
# YOLOv2 at 608 x 608 as whole maps, in rows, in tiles and with weights on disk, by direct and
# Winograd convolution, and compares the bits of these plans and of two threads.
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

darknet=/usr/share/darknet
[ -d "$darknet" ] || darknet=$build/unpacked/usr/share/darknet # by scripts/packages.sh demo
cfg=$darknet/cfg/yolov2.cfg
picture=$darknet/data/dog.jpg
if [ ! -f "$cfg" ] || [ ! -f "$picture" ]; then
  echo "2. skipped: Debian's package darknet (cfg files and pictures) is not there"
  exit 0
fi
echo
echo "2. YOLOv2 at 608 x 608, generated weights, one thread, medians of 3 runs"
weights=$out/yolov2.weights packed=$out/yolov2.packed
trap 'rm -f "$weights" "$packed" "$packed.part" "$out"/*.floats' EXIT
trap 'exit 1' INT TERM
"$build/make_weights" --quiet "$cfg" "$weights"
"$build/pack_weights" --quiet --force "$cfg" "$weights" "$packed"

yolov2() { # PLAN ALGORITHM OPTION...: a row of the table; the last layer's output stays in PLAN-ALGORITHM.floats
  plan=$1 algorithm=$2 file=$weights
  shift 2
  case $plan in *streamed*) file=$packed ;; esac
  "$build/run_inference" --quiet --json --repeat 3 --plan "$plan" --algorithm "$algorithm" "$@" \
    --dump-output "$out/$(echo "$plan" | tr / -)-$algorithm.floats" "$cfg" "$file" "$picture" >"$out/yolov2.json"
  printf '   %-34s %-8s %9s %21s %10s %10s\n' "$plan" "$algorithm" \
    "$(megabytes "$(field arena_bytes "$out/yolov2.json")")" \
    "$(megabytes "$(field predicted_resident_bytes "$out/yolov2.json")")" \
    "$(megabytes "$(field measured_resident_bytes "$out/yolov2.json")")" \
    "$(milliseconds "$(field layers_ms "$out/yolov2.json")")"
}
heading() { # TEXT
  printf '   %-43s %9s %21s %10s %10s\n' "$1" arena "resident: predicted" measured layers
}

heading "the whole network"
yolov2 1x1/NoCut auto
yolov2 rows4/8/1x1 auto
yolov2 5x5/8/2x2 auto
yolov2 rows2:streamed/12/panels:streamed auto
cmp "$out/1x1-NoCut-auto.floats" "$out/rows2:streamed-12-panels:streamed-auto.floats"
echo "   The last row reads its weights from a packed file on disk (build/pack_weights) for every picture; the others keep 194 MB of them."
heading "its first 16 layers"
for algorithm in direct auto; do
  yolov2 1x1/NoCut $algorithm --layers 16
  yolov2 rows4/12/1x1 $algorithm --layers 16
  yolov2 5x5/8/2x2 $algorithm --layers 16
done
echo "   Rows take less memory and compute nothing again, tiles compute their overlap again. direct takes the least memory; auto is Winograd's"
echo "   convolution for each layer where it is expected to be faster."
for algorithm in direct auto; do
  cmp "$out/1x1-NoCut-$algorithm.floats" "$out/5x5-8-2x2-$algorithm.floats"
  cmp "$out/1x1-NoCut-$algorithm.floats" "$out/rows4-12-1x1-$algorithm.floats"
done
cp "$out/1x1-NoCut-auto.floats" "$out/one-thread.floats"
yolov2 1x1/NoCut auto --layers 16 --threads 2 >/dev/null
cmp "$out/1x1-NoCut-auto.floats" "$out/one-thread.floats"
echo "   Outputs of one algorithm: the same bits untiled, in rows, in tiles, and with two threads."
