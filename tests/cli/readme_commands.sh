#!/usr/bin/env bash
# Runs every command of README.md, in a folder with the files that they name. Commands that cannot be run here have a reason below;
# a command without a reason must succeed. Run from the project's root; BUILD names the build folder (default: build), MAFAT_MODELS
# the folder with trained networks.
set -u
build=$(realpath "${BUILD:-build}")
root=$PWD
# shellcheck disable=SC2034 # by tests/check.sh
suite='readme commands'
work=$(mktemp -d) || exit 1
# shellcheck source=tests/check.sh
. tests/check.sh
server= # process of the server while it runs
at_end 'rm -rf "$work"; [ -z "$server" ] || kill "$server"'
log=$work/log

# Prints lines of indented blocks, and `code` that begins like a command; removes comments.
commands() {
  {
    awk '/^    [a-z-]+(=| |$|\/)/ && !/: [0-9]+ detections/ { print substr($0, 5) }' README.md
    tr '\n' ' ' <README.md | grep -oE '`(make|build/|cc|wget|man|sudo|cd|pip|python3|mafat|scripts/|[A-Z_]+=)[^`]* [^`]*`' | tr -d '`'
  } | sed 's/  *#.*//' | awk '!seen[$0]++'
}

# ---- The files that they name

cd "$work" || exit 1
for folder in build models scripts; do ln -s "$root/$folder" .; done
rm build && ln -s "$build" build
darknet_files=/usr/share/darknet
if [ -e $darknet_files/cfg/yolov2.cfg ]; then
  cp $darknet_files/cfg/yolov2.cfg $darknet_files/data/coco.names $darknet_files/data/dog.jpg .
  build/mafat weights --quiet yolov2.cfg yolov2.weights || exit 1
fi
models=${MAFAT_MODELS:-/nonexistent}
for file in yolo-fastest-1.1-xl.{cfg,weights} onnx/yolox_nano.onnx; do [ ! -e "$models/$file" ] || cp "$models/$file" .; done

# A camera module with three black frames.
mkdir tools
printf '#!/bin/sh\nexec head -c %d /dev/zero\n' $((640 * 480 * 3 / 2 * 3)) >tools/rpicam-vid
chmod 755 tools/rpicam-vid
PATH=$work/tools:$PATH

# ---- Each of them

reason() { # COMMAND: reason why it is not run; nothing: it is run
  case $1 in
    scripts/packages.sh*) echo 'installs packages: make check-fresh runs it in a Debian of its own' ;;
    'make -j'* | 'make deb' | 'make release') echo 'minutes: what is tested was made by make; make check-deb, check-release' ;;
    'sudo make install') echo 'changes the system: tests/cli/install.sh does so in a folder' ;;
    'make bench' | 'make paper'*) echo 'an hour, and needs other programs: tests/cli/paper.sh' ;;
    wget*) echo 'needs a network' ;;
    *--camera*) echo 'needs a camera: tests/camera/run.sh' ;;
    mafat\ limit*) "$build/memory_limit" --check 2>/dev/null | grep -q ^possible || echo 'no control group can be made here' ;;
  esac
  case $1 in
    *dog.jpg* | *yolov2.*) [ -e dog.jpg ] || echo 'needs the package darknet' ;;
  esac
  case $1 in
    *'$yolo'*) [ -e yolo-fastest-1.1-xl.weights ] || echo 'MAFAT_MODELS names no folder with yolo-fastest-1.1-xl.weights' ;;
    *.onnx*) [ -e yolox_nano.onnx ] || echo 'MAFAT_MODELS names no folder with onnx/yolox_nano.onnx' ;;
  esac
}
as_it_stands() { (cd "$work" && timeout 300 bash -eu -o pipefail -c "$1" </dev/null); } # COMMAND
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')

n=0
while IFS= read -r command; do
  n=$((n + 1))
  case ${command#export } in
    # variables for the commands below
    [a-zA-Z]*=*) case ${command#export } in *' '*=*) ;; *) eval "export ${command#export }" && continue ;; esac ;;
  esac
  why=$(reason "$command" | head -n 1)
  if [ -n "$why" ]; then skip "$command" "$why"; continue; fi
  case $command in
    make*) run="cd '$root' && MAKEFLAGS= $command" ;;
    mafat\ serve*)
      # shellcheck disable=SC2086 # words
      ${command% &} --listen "127.0.0.1:$port" >"$log" 2>&1 &
      server=$!
      run="until curl -sf http://127.0.0.1:$port/healthz; do kill -0 $server && sleep 0.1 || { cat $log >&2; exit 1; }; done"
      ;;
    curl*) run="${command/8080/$port} | grep -q detections" ;;
    mafat\ *\ *) run=$command ;;
    mafat\ [a-ce-z]*) run="$command --help" ;; # a bare name
    *) run=$command ;;
  esac
  check "$command" 'failed' as_it_stands "$run"
done < <(cd "$root" && commands)
check 'commands were found' "$n" test "$n" -ge 20
check 'boxes were drawn' 'boxes/ is empty' test ! -e yolo-fastest-1.1-xl.weights -o ! -e dog.jpg -o -s boxes/dog-annotated.jpg
exit "$failed"
