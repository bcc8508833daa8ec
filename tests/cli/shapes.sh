#!/usr/bin/env bash
# The embedded model on its hold-out pictures: precision, and the same answer
# under a tight budget, in tiles, and from the portable kernels' plain bits.
set -u
BUILD=${BUILD:-build}
folder=models/shapes
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 143' TERM INT
failures=0

detect() { # OUT OPTION...
  local out=$1
  shift
  sed "s,^,$folder/," $folder/holdout.txt |
    xargs "$BUILD/run_inference" --json --quiet --thresh 0.01 --names $folder/shapes.names "$@" \
      $folder/shapes.cfg $folder/shapes.weights >"$out"
}

expect() { # NAME COMMAND...
  local name=$1
  shift
  if "$@" >"$dir/log" 2>&1; then echo "ok shapes $name"; else
    echo "FAIL shapes $name: $(tail -n 1 "$dir/log")"
    failures=1
  fi
}

same_detections() {
  sed 's/.*"detections"/"detections"/' "$1" >"$dir/a"
  sed 's/.*"detections"/"detections"/' "$2" >"$dir/b"
  cmp "$dir/a" "$dir/b"
}

sed "s,^,$folder/," $folder/holdout.txt >"$dir/holdout.txt"
detect "$dir/whole" --memory 16M
expect 'mAP at least 0.85' python3 $folder/evaluate.py $folder/holdout.txt "$dir/whole" --at-least 0.85
# Which algorithm a layer uses is the search's choice; named, it changes no bit.
detect "$dir/direct" --memory 16M --algorithm direct
detect "$dir/tiles" --plan 4x4/4/3x5 --algorithm direct
expect 'same detections in tiles' same_detections "$dir/direct" "$dir/tiles"
detect "$dir/portable" --cpu portable
expect 'mAP of the portable kernels' python3 $folder/evaluate.py $folder/holdout.txt "$dir/portable" --at-least 0.85
[ "$(stat -c %s $folder/shapes.weights)" -le 614400 ] && echo "ok shapes weights of at most 600 KB" || {
  echo "FAIL shapes weights of at most 600 KB: $(stat -c %s $folder/shapes.weights)"
  failures=1
}
exit $failures
