#!/usr/bin/env bash
# Runs every command of README.md, in a folder with the files that they name; those that cannot be run here have a reason below, and a
# command without either fails. Run from the project's root; BUILD names the build folder (default: build), MAFAT_MODELS the
# folder with ONNX files.
set -u
build=$(realpath "${BUILD:-build}")
root=$PWD
# shellcheck disable=SC2034 # by tests/check.sh
suite='readme commands'
work=$(mktemp -d) || exit 1
# shellcheck source=tests/check.sh
. tests/check.sh
at_end 'rm -rf "$work"'
log=$work/log

# Lines of indented blocks, and what stands between `` and begins as a command does; a comment behind a command is left out.
commands() {
  {
    awk '/^    [a-z]+(=| |$|\/)/ && !/: [0-9]+ detections/ { print substr($0, 5) }' README.md
    tr '\n' ' ' <README.md | grep -oE '`(make|build/|cc|wget|man|sudo|cd|pip|python3|mafat|[A-Z_]+=)[^`]* [^`]*`' | tr -d '`' | grep -vx 'cc -static'
  } | sed 's/  *#.*//' | awk '!seen[$0]++'
}

# ---- The files that they name

cd "$work" || exit 1
ln -s "$build" build
ln -s "$root/models" models
ln -s "$root/doc" doc
darknet=/usr/share/darknet
shapes=$root/models/shapes/shapes
cp "$shapes.cfg" MODEL.cfg
if [ -e $darknet/cfg/yolov2.cfg ]; then
  cp $darknet/cfg/yolov2.cfg $darknet/cfg/yolov3-tiny.cfg $darknet/data/coco.names $darknet/data/dog.jpg .
  for name in yolov2 yolov3-tiny; do build/make_weights --quiet $name.cfg $name.weights || exit 1; done
fi
onnx=${MAFAT_MODELS:-/nonexistent}/onnx/yolox_nano.onnx
if [ -e "$onnx" ]; then
  cp "$onnx" . && ln -s yolox_nano.onnx MODEL.onnx
  # an array of NumPy: its header, of 128 bytes, and zeros
  printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 416, 416), }" >dog.npy
  head -c $((4 * 3 * 416 * 416)) /dev/zero >>dog.npy
fi

# ---- Each of them

reason() { # COMMAND: why it is not run here; nothing: it is
  case $1 in
    'make demo' | 'make test') echo 'minutes, and packages are installed: make check-fresh runs both in a Debian of its own' ;;
    make) echo 'what is tested was made by it' ;;
    'make deb') echo 'minutes: make check-deb' ;;
    'make bench') echo 'an hour, and needs other programs' ;;
    'make release') echo 'half an hour, as root, with a mirror: make check-release looks at what it has made' ;;
    'make darknet') echo "needs Debian's source package: tests/cli/darknet_patch.sh" ;;
    'make && sudo make install' | 'make uninstall') echo 'changes the system: tests/cli/install.sh does so in a folder' ;;
    'cc a.c '*) echo 'needs what was installed: tests/cli/install.sh' ;;
    ffmpeg*) echo 'needs a film and a player: tests/cli/video.sh' ;;
    wget*) echo 'needs a network' ;;
    LD_PRELOAD=*) echo "needs a program of Darknet's: tests/cli/darknet_bridge.sh" ;;
    *yolo*.cfg* | *yolov2.packed*) [ -e yolov2.cfg ] || echo 'needs the package darknet' ;;
    *.onnx*) [ -e "$onnx" ] || echo 'MAFAT_MODELS names no folder with onnx/yolox_nano.onnx' ;;
  esac
}
as_it_stands() { (cd "$work" && timeout 300 bash -eu -o pipefail -c "$1" </dev/null); } # COMMAND

n=0
while IFS= read -r command; do
  n=$((n + 1))
  case $command in
    [a-z]*=*) case ${command%%=*} in *[!a-z]*) ;; *) export "${command?}" && continue ;; esac ;; # shapes=...
  esac
  why=$(reason "$command")
  if [ -n "$why" ]; then skip "$command" "$why"; continue; fi
  case $command in
    make*) run="cd '$root' && MAKEFLAGS= $command" ;;
    build/mafat_serve*) run="timeout --preserve-status 3 ${command/mafat_serve/mafat_serve --listen 127.0.0.1:0}" ;; # serves until it is told to end
    *) run=$command ;;
  esac
  check "$command" 'failed' as_it_stands "$run"
done < <(cd "$root" && commands)
check 'commands were found' "$n" test "$n" -ge 20
check 'boxes were drawn' 'boxes/ is empty' test ! -e yolov2.cfg -o -d boxes
exit "$failed"
