#!/bin/sh
# Time beside Debian's Darknet: the first 16 layers of yolov2.cfg at 608 x 608
# (the paper's experiment), interleaved, medians. Weights are generated.
set -eu
build=${BUILD:-build}
cfg=/usr/share/darknet/cfg/yolov2.cfg
weights=$(mktemp)
trap 'rm -f "$weights"' EXIT INT TERM
"$build/make_weights" --quiet "$cfg" "$weights"
echo "yolov2.cfg, layers 0..15, 608 x 608, one thread, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)"
"$build/oracle_speed" "$cfg" "$weights" 16 5x5/8/2x2 "${RUNS:-3}"
