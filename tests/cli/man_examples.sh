#!/usr/bin/env bash
# Runs the commands of the manual pages: all of EXAMPLES, and others that begin with a program of
# the project, on an installation by `make install`, in a folder with the files they name. A
# command that cannot run here has a reason below; any other must succeed. Run from the project's
# root; BUILD names the build folder (default: build), MAFAT_MODELS the folder with ONNX files.
set -u
build=$(realpath "${BUILD:-build}")
root=$PWD
# shellcheck disable=SC2034 # by tests/check.sh
suite='man examples'
work=$(mktemp -d) || exit 1
# shellcheck source=tests/check.sh
. tests/check.sh
server=
# shellcheck disable=SC2016 # at the end
at_end '[ -z "$server" ] || kill "$server"; rm -rf "$work"'
log=$work/log

MAKEFLAGS='' make -s --no-print-directory BUILD="$build" DESTDIR="$work/root" PREFIX=/usr install >"$log" 2>&1 ||
  { fail install "$(tail -n 1 "$log")"; exit 1; }
PATH=$work/root/usr/bin:$build:$PATH
export PATH

# Prints a command a line, from literal blocks and .Dl lines; a backslash or pipe at the end joins
# lines. Skips C code.
commands() {
  awk '
    /^\.Sh / { example = $0 == ".Sh EXAMPLES" }
    /^\.Bd -literal/ { block = 1; c = 0; next }
    /^\.Ed/ { block = 0; next }
    block && /^#include/ { c = 1 }
    block && !c { line($0) }
    /^\.Dl / { line(substr($0, 5)) }
    function line(text) {
      gsub(/\\e/, "\\", text); gsub(/\\ /, " ", text); gsub(/\\&/, "", text)
      all = all text
      if (sub(/\\$/, "", all)) return
      if (all ~ /\|$/) { all = all " "; return }
      gsub(/  +/, " ", all)
      if (all ~ /^(run_inference|mafat[a-z_-]*|[a-z]+_weights|annotate|memory_limit|kernel_check|swap_cost|mpirun)( |$)/ || example)
        if (!seen[all]++) print all
      all = ""
    }' doc/man/*
}

# ---- The files that they name

files=$work/files
mkdir -p "$files/photos" "$files/pictures" && cd "$files" || exit 1
shapes=$root/models/shapes/shapes
for name in a model yolo-fastest-1.1; do ln -s "$shapes.cfg" $name.cfg && ln -s "$shapes.weights" $name.weights; done
cp "$root"/models/shapes/holdout/00000[34].jpg pictures && cp "$root/models/shapes/holdout/000003.jpg" dog.jpg
cp dog.jpg photos
darknet=/usr/share/darknet
cp "$shapes.names" coco.names
if [ -e $darknet/cfg/yolov2.cfg ]; then
  cp -f $darknet/cfg/yolov2.cfg $darknet/cfg/yolov3-tiny.cfg $darknet/data/coco.names $darknet/data/dog.jpg .
  for name in yolov2 yolov3-tiny; do make_weights --quiet $name.cfg $name.weights || exit 1; done
fi
run_inference --quiet --json a.cfg a.weights dog.jpg >results.json || exit 1
onnx=${MAFAT_MODELS:-/nonexistent}/onnx/yolox_nano.onnx
[ ! -e "$onnx" ] || cp "$onnx" .
if command -v ffmpeg >/dev/null; then
  ffmpeg -v error -loop 1 -i dog.jpg -frames:v 2 -pix_fmt yuv420p -vf scale=640:480 dog.mp4 && cp dog.mp4 film.mp4
fi
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])') || port=8080
# Open MPI: allow root, and more ranks than processors
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

# ---- Each of them

there() { command -v "$1" >/dev/null; }
reason() { # COMMAND: reason why it is not run; nothing: it is run
  case $1 in
    *'-- ...') echo 'names no command' ;;
    *--camera* | rpicam-vid*) echo 'needs a camera: tests/cli/video.sh' ;;
    *'LD_PRELOAD='* | *my_detector.py*) echo "needs a program of Darknet's library: tests/cli/darknet_bridge.sh" ;;
    *yolo*.cfg* | *yolov2.packed* | *tiny.packed*) [ -e yolov2.cfg ] || { echo 'needs the package darknet' && return; } ;;
    *yolox_nano* | *random.onnx*) [ -e yolox_nano.onnx ] || { echo 'MAFAT_MODELS names no folder with onnx/yolox_nano.onnx' && return; } ;;
  esac
  case $1 in
    kernel_check*) [ -x "$build/kernel_check" ] || { echo 'kernel_check was not built' && return; } ;;
  esac
  case $1 in
    *'| mpv'*) there mpv || echo 'no mpv: tests/cli/video.sh writes the same overlay' ;;
    *ffmpeg*) there ffmpeg || echo 'no ffmpeg' ;;
    *'| jq'*) there jq || echo 'no jq' ;;
    mpirun*) { there mpirun && [ -x "$build/mafat_ranks" ]; } || echo 'no mpirun, or mafat_ranks was not built' ;;
    annotate* | *'| annotate'* | mafat-annotate* | *'| mafat-annotate'*) [ -x "$build/annotate" ] || echo 'annotate was not built' ;;
    mafat_serve* | curl*) there curl || echo 'no curl' ;;
    *memory_limit*--check | *memory-limit*--check) ;;
    memory_limit* | mafat-memory-limit* | 'mafat limit'*)
      if ! "$build/memory_limit" --check 2>/dev/null | grep -q ^possible; then echo 'no control group can be made here'
      else case $1 in *swap_cost*) echo 'switches swap on: tests/cli/swap.sh' ;; esac; fi ;;
  esac
}
# shellcheck disable=SC2317 # both are called by check
as_it_stands() { timeout 300 bash -eu -o pipefail -c "$1" </dev/null; } # COMMAND
# shellcheck disable=SC2317
serve() { # COMMAND: in the background, for later requests; also at a Unix socket
  [ -z "$server" ] || { kill "$server"; wait "$server"; rm -f "$work/socket"; } 2>/dev/null
  ${1/mafat_serve/mafat_serve --listen 127.0.0.1:$port --listen unix:$work/socket} </dev/null &
  server=$!
  for _ in $(seq 100); do curl -sf "http://127.0.0.1:$port/healthz" && return; sleep 0.1; done
  return 1
}

n=0
while IFS= read -r command; do
  n=$((n + 1))
  why=$(reason "$command")
  if [ -n "$why" ]; then skip "$command" "$why"; continue; fi
  run=${command//127.0.0.1:8080/127.0.0.1:$port}
  run=${run//--unix-socket \/run\/mafat/--unix-socket $work/socket}
  run=${run/--host big,small1,small2/-n 3}   # three ranks on one machine
  run=${run/--cases 200000/--cases 2000}     # a minute less
  case $command in
    mafat_serve*) check "$command" 'does not answer' serve "$run" ;;
    *) check "$command" 'failed' as_it_stands "$run" ;;
  esac
done < <(cd "$root" && commands)
check 'commands were found' "$n" test "$n" -ge 50
exit "$failed"
