#!/usr/bin/env bash
# Runs the embedded model on its hold-out pictures: precision, and the same result under a tight
# budget, in tiles, and by portable kernels.
set -u
BUILD=${BUILD:-build}
# shellcheck disable=SC2034 # by tests/check.sh
suite=shapes
# shellcheck source=tests/check.sh
. tests/check.sh
folder=models/shapes
dir=$(mktemp -d)
at_end 'rm -rf "$dir"'
log=$dir/log

detect() { # OUT OPTION...
  local out=$1
  shift
  sed "s,^,$folder/," $folder/holdout.txt |
    xargs "$BUILD/run_inference" --json --quiet --thresh 0.01 --names $folder/shapes.names "$@" \
      $folder/shapes.cfg $folder/shapes.weights >"$out"
}

same_detections() {
  sed 's/.*"detections"/"detections"/' "$1" >"$dir/a"
  sed 's/.*"detections"/"detections"/' "$2" >"$dir/b"
  cmp "$dir/a" "$dir/b"
}

sed "s,^,$folder/," $folder/holdout.txt >"$dir/holdout.txt"
detect "$dir/whole" --memory 16M
check 'mAP at least 0.85' 'it is not' python3 $folder/evaluate.py $folder/holdout.txt "$dir/whole" --at-least 0.85
# The search chooses a layer's algorithm; a named one gives fixed bits.
detect "$dir/direct" --memory 16M --algorithm direct
detect "$dir/tiles" --plan 4x4/4/3x5 --algorithm direct
check 'same detections in tiles' 'they differ' same_detections "$dir/direct" "$dir/tiles"
detect "$dir/parts" --plan 'split(h4:0-3)/4/split(h[7,15]:4-5,w2:4-5)/6/1x1/order=best' --algorithm direct
check 'same detections in parts' 'they differ' same_detections "$dir/direct" "$dir/parts"
detect "$dir/portable" --cpu portable
check 'mAP of the portable kernels' 'less than 0.85' python3 $folder/evaluate.py $folder/holdout.txt "$dir/portable" --at-least 0.85
bytes=$(stat -c %s $folder/shapes.weights)
check 'weights of at most 600 KB' "$bytes bytes" test "$bytes" -le 614400
exit "$failed"
