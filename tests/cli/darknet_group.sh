#!/usr/bin/env bash
# Runs whole YOLOv2 at 608 x 608 by the patched Darknet with -memory 16M in a group of 24 MB that
# is charged for everything: private copies of program, libraries and files, none cached. Run from
# the project's root; BUILD names the build folder (default: build). Needs root with a memory
# controller, and Darknet's source, which darknet_patch/apply.sh fetches.
set -u
suite=bridge
root=$PWD
# shellcheck source=tests/check.sh
. tests/check.sh
build=$(realpath -m "${BUILD:-build}")
export BUILD=$build
name='yolov2 608, -memory 16M in a group of 24 MB'
cfg=/usr/share/darknet/cfg/yolov2.cfg pictures=/usr/share/darknet/data
if [ ! -f "$cfg" ]; then
  skip "$name" "$cfg is missing (package darknet)"
  exit 0
fi
if ! "$build/memory_limit" --check >/dev/null 2>&1; then
  skip "$name" 'no memory group can be made here'
  exit 0
fi
folder=$(mktemp -d "$build/group.XXXXXX") || exit 1 # on a disk
log=$folder.log
at_end 'rm -rf "$folder" "$log"'
if ! darknet_patch/apply.sh >"$log" 2>&1; then
  if grep -qE 'cannot (reach|fetch)|no apt-get' "$log"; then skip "$name" "$(tail -n 1 "$log")"; else fail "$name" "$(tail -n 1 "$log")"; fi
  exit $failed
fi
darknet=$build/darknet/darknet
mapfile -t libraries < <(ldd "$darknet" | grep -o '/[^ ]*')
loader=$(printf '%s\n' "${libraries[@]##*/}" | grep '^ld-')

# shellcheck disable=SC2317 # called by check
grouped() {
  local ev=() file
  cp -L "$darknet" "${libraries[@]}" "$pictures/dog.jpg" "$pictures/coco.names" "$folder/" && cd "$folder" || return 1
  sed 's/^batch=.*/batch=1/; s/^subdivisions=.*/subdivisions=1/' "$cfg" >yolov2.cfg
  "$build/make_weights" --quiet yolov2.cfg yolov2.weights || return 1
  sync -f .
  printf 'classes=80\nnames=coco.names\n' >coco.data
  for file in *; do ev+=(--evict "$file"); done
  "$root/experiments/swap.sh" with 256M --folder "$build" -- "$build/memory_limit" --limit 24M --swap all "${ev[@]}" --json -o report.json -- \
    "./$loader" --library-path . ./darknet detector test coco.data yolov2.cfg yolov2.weights dog.jpg -thresh 0.3 -memory 16M &&
    python3 -c 'import json; r = json.load(open("report.json")); print("anonymous at most", r["anon_peak_bytes"])
assert r["exit_status"] == 0 and r["swap_peak_bytes"] == 0 and r["swap_in_bytes"] == 0 and r["oom_kills"] == 0, r'
}
unset DISPLAY WAYLAND_DISPLAY
check "$name: no page swapped" 'it did not end well, or swapped' grouped
exit $failed
