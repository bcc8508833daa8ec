#!/usr/bin/env bash
# Builds Darknet with darknet_patch/apply.sh and compares it with Debian's: the same bits, less
# memory; checks what the patches add. Run from the project's root; BUILD names the build folder
# (default: build), MAFAT_MODELS a folder with the trained yolo-fastest-1.1-xl.
set -u
root=$PWD
build=$(realpath -m "${BUILD:-build}")
export BUILD=$build
models=${MAFAT_MODELS:+$(realpath -- "$MAFAT_MODELS")}
# shellcheck source=../check.sh
. tests/check.sh
# shellcheck disable=SC2034 # check.sh reads it
suite=darknet_patch
folder=$(mktemp -d) || exit 1
at_end 'rm -rf "$folder"'
log=$folder/log
share=/usr/share/darknet
shapes=$root/models/shapes
photo=$shapes/holdout/000000.jpg
unset DISPLAY WAYLAND_DISPLAY

# --- the patches' text ---------------------------------------------------------

# Patches may contain only a checksum, headers, hunks without function names, and added lines: no
# text of Darknet's.
foreign() { awk 'NR == 1 && /^# applies to [0-9a-f]+$/ { sum = 1; next } /^--- a\// || /^\+\+\+ b\// || /^@@ -[0-9,]+ \+[0-9,]+ @@$/ || /^\+/ { next } { print FILENAME ": " $0; found = 1 } END { if (!sum) print "no checksum of what it applies to"; exit sum && !found }' "$1"; }
for patch in darknet_patch/*.patch; do
  if text=$(foreign "$patch"); then fail "text of $(basename "$patch")" "$(head -n 1 <<<"$text")"; else ok "text of $(basename "$patch")"; fi
done
check "every patch is in series" "series and folder differ" diff <(sort darknet_patch/series) <(cd darknet_patch && printf '%s\n' *.patch)
check "apply.sh --help" "exit status not 0" darknet_patch/apply.sh --help
darknet_patch/apply.sh --surprise >"$log" 2>&1
[ $? = 2 ] && ok "apply.sh: an unknown argument" || fail "apply.sh: an unknown argument" "$(tail -n 1 "$log")"

mkdir -p "$folder/none/work.killed"
MAFAT_DARKNET_SOURCE=/ MAFAT_DEBIAN_MIRROR=http://localhost:9/debian darknet_patch/apply.sh --build "$folder/none" >"$log" 2>&1
[ $? = 1 ] && grep -q 'cannot reach' "$log" && [ -z "$(ls -A "$folder/none")" ] && ok "apply.sh: no mirror" || fail "apply.sh: no mirror" "$(tail -n 1 "$log") $(ls -A "$folder/none")"
check "apply.sh: a folder without the package" "$(head -n 1 "$log")" test "$(grep -c MAFAT_DARKNET_SOURCE "$log")" = 1

# --- built ---------------------------------------------------------------------

touch "$folder/before"
if ! darknet_patch/apply.sh --build "$build/darknet" >"$log" 2>&1; then
  if grep -qE 'cannot (reach|fetch)|no apt-get' "$log"; then skip built "$(tail -n 1 "$log")"; else fail built "$(tail -n 1 "$log")"; fi
  exit "$failed"
fi
ok built
check "the system's package lists stay" "something in /var/lib/apt/lists is newer" test -z "$(find /var/lib/apt/lists -newer "$folder/before" 2>/dev/null | head -n 1)"
darknet=$build/darknet/darknet
patched=$build/darknet/libdarknet.so
check "what is up to date is left alone" "it built again" test ! "$log" -nt "$log" -a -z "$(darknet_patch/apply.sh --build "$build/darknet" 2>&1)"
mkdir "$folder/a copy" && cp -r "$build/darknet/"{built,darknet,libdarknet.so,libdarknet.a,include} "$folder/a copy"
CDPATH=/ MAFAT_DEBIAN_MIRROR=http://localhost:9/debian darknet_patch/apply.sh --build "$folder/a copy" >"$log" 2>&1
code=$?
check "what is up to date needs no package" "exit status $code" test $code = 0 -a "$(wc -l <"$log")" = 0
debian=/usr/lib/darknet/libdarknet.so
[ -f $debian ] || debian=
check "outputs.c" "does not compile" gcc -O1 -Wall -Wextra -I"$build/darknet/include" -o "$folder/outputs" tests/darknet/outputs.c -ldl
configs=$root/tests/darknet
cd "$folder" || exit 1

random_file() { # FILE FLOATS LEAST MOST [header]: raw floats, after a weights header with 7 seen pictures
  python3 - "$@" <<'END'
import array, random, struct, sys
file, count, least, most = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
random.seed(1)
with open(file, "wb") as out:
    if len(sys.argv) > 5:
        out.write(struct.pack("<iiiq", 0, 2, 0, 7))
    array.array("f", (random.uniform(least, most) for _ in range(count))).tofile(out)
END
}
random_file input 1200000 0 1
random_file weights 1500000 .01 .2 header

# --- the same bits, in less memory -----------------------------------------------

outputs() { ./outputs "$@" 2>err; }
peak=0 peak2=0
# differ LIBRARY CFG WEIGHTS MODE...: prints how the patched library's outputs in these modes
# differ from LIBRARY's; nothing if the bits are the same. $peak is LIBRARY's peak, $peak0 ...
# those of the modes.
differ() {
  local library=$1 cfg=$2 weights=$3 mode
  shift 3
  rm -f expected* found*
  differ=
  peak=$(outputs "$library" debian "$cfg" "$weights" input expected) || differ=" $(tail -n 1 err)"
  for mode in "$@"; do
    declare -g "peak$mode=$(outputs "$patched" "$mode" "$cfg" "$weights" input found)"
    cmp -s expected.heads found.heads || differ="$differ heads in mode $mode,"
    [ "$mode" = 2 ] || cmp -s expected found || differ="$differ layers in mode $mode,"
    rm -f found*
  done
}
# same NAME CFG WEIGHTS MODE...: the bits of Debian's library, or, if another compiler built it, of
# the unpatched one built here.
same() {
  local name=$1
  shift
  differ "${debian:-$patched}" "$@"
  if [ -n "$differ" ] && [ -n "$debian" ] && "$root/darknet_patch/apply.sh" --build "$build/darknet" --unpatched >"$log" 2>&1; then
    differ "$build/darknet/unpatched/libdarknet.so" "$@"
  fi
  if [ -z "$differ" ]; then ok "$name"; else fail "$name" "not the same bits:$differ $(tail -n 1 err)"; fi
}
[ -n "$debian" ] || skip "the same bits as Debian's" "$debian: no package darknet; modes are compared with each other"
same "mixed layers, the same bits" "$configs/mixed.cfg" weights 0 1 2
same "recurrent layers, the same bits" "$configs/recurrent.cfg" weights 0 1 2
outputs "$patched" 0 "$configs/crashes.cfg" weights input expected >"$log" && outputs "$patched" 2 "$configs/crashes.cfg" weights input found >"$log"
check "layers that crashed Debian's, the same bits in both modes" "$(tail -n 1 err)" cmp expected.heads found.heads
once=$(outputs "$patched" 2 "$configs/mixed.cfg" weights input found)
often=$(outputs "$patched" 2 "$configs/mixed.cfg" weights input found 100)
check "load, predict, free 100 times" "resident kB: $once after one, $often after 100" test "$often" -lt $((once + 1000))
often=$(outputs "$patched" 2 "$configs/recurrent.cfg" weights input found 100)
check "the same with recurrent layers" "$often kB resident" test "$often" -lt $((once + 1000))
if [ -n "$debian" ]; then
  outputs $debian train "$configs/trained.cfg" "" input expected >"$log" && outputs "$patched" train "$configs/trained.cfg" "" input found >"$log"
  check "training, the same weights" "$(tail -n 1 err)" cmp expected found
fi
if [ -n "$models" ]; then
  same "yolo-fastest-1.1-xl, the same bits" "$models/yolo-fastest-1.1-xl.cfg" "$models/yolo-fastest-1.1-xl.weights" 0 1 2
else
  skip yolo-fastest "MAFAT_MODELS does not name the folder with the trained networks"
fi
"$build/make_weights" --quiet $share/cfg/yolov3-tiny.cfg yolo.weights
same "yolov3-tiny, the same bits" $share/cfg/yolov3-tiny.cfg yolo.weights 0 2
"$build/make_weights" --quiet $share/cfg/yolov2.cfg yolo.weights
same "yolov2, 608 x 608, the same bits" $share/cfg/yolov2.cfg yolo.weights 2
[ -z "$debian" ] || check "its peak is at most two fifths of Debian's" "resident kB: $peak2 of $peak" test $((peak2 * 5)) -le $((peak * 2))

# --- trace, layers, dump, input ------------------------------------------------------

layers() { # columns of a trace: number, type, ms, resident, workspace
  awk '$1 == "trace" && $2 ~ /^[0-9]+$/' err
}
"$darknet" detector test $share/cfg/coco.data $share/cfg/yolov2.cfg yolo.weights $share/data/dog.jpg --memory-trace >out 2>err
code=$?
check "detector test without a display" "$(tail -n 1 err)" test $code = 0 -a -s predictions.jpg
check "--memory-trace: a line for each layer" "$(layers | wc -l) lines" test "$(layers | awk 'NF == 6 && $4 > 0 && $5 > 0' | wc -l)" = 32
traced=$(awk '$1 == "trace" && $2 == "all" { print int($5 / 1024) }' err)
[ -z "$debian" ] || check "the program's peak, too" "resident kB: ${traced:-none} of $peak" test $((${traced:-peak} * 5)) -le $((peak * 2))
check "workspace of a megabyte" "$(grep 'trace   all' err)" test "$(awk '$1 == "trace" && $2 == "all" { print $6 }' err)" -le 1048576

# Exactly the bytes of the file that the first 16 layers need: weights and four values for each
# filter.
head -c $((20 + 4 * 3429344)) yolo.weights >sixteen.weights
"$darknet" detector test $share/cfg/coco.data $share/cfg/yolov2.cfg sixteen.weights --input input16 --layers 16 --dump dump --boxes >out 2>err
[ $? = 2 ] && grep -q 'input16' err && ok "--input: no such file" || fail "--input: no such file" "$(tail -n 1 err)"
head -c $((608 * 608 * 3 * 4)) input >input16
"$darknet" detector test $share/cfg/coco.data $share/cfg/yolov2.cfg sixteen.weights --input input16 --layers 16 --dump dump >out 2>err
code=$?
check "--layers 16: weights behind them are not read" "$(tail -n 1 err)" test $code = 0
check "--dump: files" "$(ls dump)" test "$(printf '%s ' dump/*)" = "$(for i in 0c 1m 2c 3m 4c 5c 6c 7m 8c 9c 10c 11m 12c 13c 14c 15c; do
  case $i in *c) printf 'dump/%03d-convolutional.f32 ' "${i%c}" ;; *) printf 'dump/%03d-maxpool.f32 ' "${i%m}" ;; esac
done)"
cat dump/*.f32 >dumped
check "--dump and --input: the library's bits" "they differ" cmp -n "$(stat -c %s dumped)" dumped expected
rm -rf dump dumped expected* yolo.weights sixteen.weights

# --- boxes -----------------------------------------------------------------------

printf 'classes=6\nnames=%s\nvalid=list\nresults=.\n' "$shapes/shapes.names" >shapes.data
printf '%s\n' "$photo" >list
detector() { "$darknet" detector "$1" shapes.data "$shapes/shapes.cfg" "${@:2}" >out 2>err; }
detector test "$shapes/shapes.weights" "$photo" -boxes -thresh 0.3
"$build/run_inference" --json --thresh 0.3 --names "$shapes/shapes.names" "$shapes/shapes.cfg" "$shapes/shapes.weights" "$photo" >json 2>"$log"
check "--boxes: labels, boxes within a pixel of run_inference's" "$(grep ^box out | head -n 3)" python3 - out json <<'END'
import json, sys
boxes = sorted((f[1], float(f[2]), *map(float, f[3:])) for f in (line.rstrip("\n").split("\t") for line in open(sys.argv[1])) if f[0] == "box")
answer = json.load(open(sys.argv[2]))
others = sorted((d["label"], d["confidence"], d["box"]["x"], d["box"]["y"], d["box"]["x"] + d["box"]["width"], d["box"]["y"] + d["box"]["height"]) for d in answer["detections"])
assert boxes and len(boxes) == len(others), (boxes, others)
for ours, theirs in zip(boxes, others):
    assert ours[0] == theirs[0] and abs(ours[1] - theirs[1]) < 0.01 and all(abs(a - b) <= 1 for a, b in zip(ours[2:], theirs[2:])), (ours, theirs)
END
detector test "$shapes/shapes.weights" "$photo" --memory-trace
# Resident before the network runs: the resized picture (0.3 MB), weights (0.5 MB), the program.
check "what is resident before the network runs" "$(layers | head -n 1)" test "$(layers | awk 'NR == 1 { print $5 }')" -lt 8000000

cat >classifier.cfg <<'END'
[net]
width=32
height=32
channels=3
[convolutional]
filters=6
size=3
pad=1
activation=leaky
[avgpool]
[softmax]
END
"$darknet" classifier predict shapes.data classifier.cfg weights "$photo" -t 3 --dump dump --memory-trace >out 2>err
code=$?
check "classifier predict: dump, trace" "$(tail -n 1 err)" test $code = 0 -a "$(layers | wc -l)" = 3 -a "$(stat -c %s dump/000-convolutional.f32)" = 24576 -a "$(wc -l <out)" = 3
"$darknet" classifier predict shapes.data classifier.cfg weights "$photo" --layers 1 -t 3 >out 2>err
code=$?
check "classes without a name are numbers" "$(head -n 3 out)" test $code = 0 -a "$(grep -cE '^ *[0-9.]+%: [0-9]+$' out)" -gt 0

# A picture that is overwritten while the network runs. The input comes from a pipe, whose opening
# shows that the run has started.
mkfifo floats
cp "$photo" latest.jpg
{ head -c 100 "$photo" >latest.jpg && head -c 307200 input; } >floats &
detector test "$shapes/shapes.weights" latest.jpg --input floats
code=$?
wait
check "a picture that is changed meanwhile" "exit status $code, $(tail -n 1 err)" test $code = 0 -a -s predictions.jpg -a "$(grep -c 'latest.jpg was changed' err)" = 1

sed 's/$/\r/' "$shapes/shapes.cfg" >dos.cfg
sed 's/$/\r/' "$shapes/shapes.names" >dos.names
printf 'classes=6\r\nnames=dos.names\r\n' >dos.data
detector test "$shapes/shapes.weights" "$photo" --boxes && mv out unix.out
"$darknet" detector test dos.data dos.cfg "$shapes/shapes.weights" "$photo" --boxes >out 2>err
check "lines that end in CR LF" "$(tail -n 1 err)" diff <(grep ^box unix.out) <(grep ^box out)
sed 's/^subdivisions=.*/subdivisions=8/' "$shapes/shapes.cfg" >eighth.cfg
"$darknet" detector test shapes.data eighth.cfg "$shapes/shapes.weights" "$photo" --boxes >out 2>err
check "a batch less than its subdivisions is one" "$(tail -n 1 err)" diff <(grep ^box unix.out) <(grep ^box out)

# --- validation --------------------------------------------------------------------

mkdir -p data images labels
cp "$photo" images/a.jpg
echo images/a.jpg >data/coco_val_5k.list
echo "0 .5 .5 .2 .2" >labels/a.txt
"$darknet" detector recall shapes.data "$shapes/shapes.cfg" "$shapes/shapes.weights" >out 2>err
check "detector recall of a network with yolo heads" "$(tail -n 1 err)" grep -q 'Recall:' err
for verb in valid valid2; do
  rm -f comp4*
  detector $verb "$shapes/shapes.weights"
  code=$?
  check "detector $verb of a single picture" "exit status $code, $(tail -n 1 err)" test $code = 0 -a "$(grep -c 000000 comp4_det_test_ring.txt)" -gt 0
done

# --- errors --------------------------------------------------------------------------

# refused NAME TEXT ARGUMENT...: exit status 2, nothing on stdout, the last line on stderr has the text
refused() {
  local name=$1 text=$2
  shift 2
  timeout 20 "$darknet" "$@" >out 2>err </dev/null
  code=$?
  if [ $code = 2 ] && [ ! -s out ] && tail -n 1 err | grep -qF -e "$text"; then ok "$name"; else fail "$name" "exit status $code, $(tail -n 1 err)"; fi
}
network=("$shapes/shapes.cfg" "$shapes/shapes.weights")
refused "a missing picture" "cannot load the picture none.jpg: No such file" detector test shapes.data "${network[@]}" none.jpg
refused "no picture" "cannot load the picture shapes.data" detector test shapes.data "${network[@]}" shapes.data
long=$(printf 'a%.0s' {1..400})
refused "a long path of a picture" "room for 255" detector test shapes.data "${network[@]}" "$long.jpg"
refused "a long path of what is drawn" "room for 251" detector test shapes.data "${network[@]}" "$photo" -out "$long"
"$darknet" detector test shapes.data "${network[@]}" "$photo" -out missing/drawn >/dev/null 2>err
code=$?
check "a picture that cannot be written" "exit status $code, $(tail -n 1 err)" test $code = 1 -a "$(tail -n 1 err)" = "darknet: cannot write the picture missing/drawn.jpg"
refused "a missing cfg" "none.cfg" detector test shapes.data none.cfg "${network[1]}" "$photo"
refused "a folder for a cfg" "no sections" detector test shapes.data / "${network[1]}" "$photo"
refused "weights for a cfg" "text before the first section" detector test shapes.data "${network[1]}" "$photo"
refused "no cfg" "no cfg" detector test shapes.data
printf '[net]\nwidth=8\nheight=8\nchannels=3\n[surprise]\n' >bad.cfg
refused "an unknown layer" "[surprise]" detector test shapes.data bad.cfg weights "$photo"
printf '[net]\nwidth=8\nheight=8\nchannels=3\n[maxpool]\n[route]\nlayers=4\n' >bad.cfg
refused "a route to nowhere" "layer 1: [route] reads layer 4" detector test shapes.data bad.cfg weights "$photo"
printf '[net]\nwidth=8\nheight=8\nchannels=3\n[yolo]\nclasses=6\nnum=3\n' >bad.cfg
refused "a head that does not fit" "layer 0: as a head" detector test shapes.data bad.cfg weights "$photo"
printf '[net]\nwidth=8\nheight=8\nchannels=3\n[maxpool]\nstride=0\n' >bad.cfg
refused "a stride of 0" "stride=0" detector test shapes.data bad.cfg weights "$photo"
printf '[net]\nwidth=100000\nheight=100000\nchannels=3\n[maxpool]\n' >bad.cfg
refused "an input too large to count" "30000000000 values" detector test shapes.data bad.cfg weights "$photo"
refused "missing weights" "none.weights" detector test shapes.data "${network[0]}" none.weights "$photo"
head -c 50000 "${network[1]}" >short.weights
refused "weights too short" "short.weights: too short for this network: it ends within layer" detector test shapes.data "${network[0]}" short.weights "$photo"
(cat "${network[1]}" && echo more) >long.weights
detector test long.weights "$photo"
code=$?
check "weights longer than needed" "$(tail -n 1 err)" test $code = 0
printf 'one\n' >one.names
sed "s,^names=.*,names=one.names," shapes.data >one.data
refused "fewer names than classes" "6 classes" detector valid one.data "${network[@]}"
refused "an unknown option" "--surprise" detector test shapes.data "${network[@]}" "$photo" --surprise
refused "an option without its value" "--layers expects" detector test shapes.data "${network[@]}" "$photo" --layers
refused "a value that is none" "--layers expects a number" detector test shapes.data "${network[@]}" "$photo" --layers=few
refused "more layers than there are" "the network has 20" detector test shapes.data "${network[@]}" "$photo" -layers 21
head -c 49152 input >small
refused "an input of another size" "has 49152 bytes, 160 x 160 x 3" detector test shapes.data "${network[@]}" --input small
refused "options of ours where it trains" "only infer" detector train shapes.data "${network[@]}" --boxes
refused "an unknown verb" "does not know" detector surprise shapes.data "${network[@]}"
refused "an unknown command" "surprise" surprise
refused "no arguments" "usage" detector
refused "demo without OpenCV" "OpenCV" detector demo shapes.data "${network[@]}" "$photo"

# --- a display -----------------------------------------------------------------------

if ! pkg-config --exists opencv4 2>/dev/null || ! command -v g++ >/dev/null; then
  skip "no display" "needs libopencv-dev and g++"
elif ! "$root/darknet_patch/apply.sh" --build "$build/darknet" --opencv >"$log" 2>&1; then
  fail "built with OpenCV" "$(tail -n 1 "$log")"
else
  darknet=$build/darknet/opencv/darknet
  rm -f predictions.*
  detector test "$shapes/shapes.weights" "$photo" --boxes
  code=$?
  check "no display: detector test draws" "exit status $code, $(tail -n 1 err)" test -s predictions.jpg
  check "no display: is said once" "$(tail -n 1 err)" test "$(grep -c 'no display' err)" = 1
  for i in 0 1 2 3; do cp "$photo" "frame$i.jpg"; done
  detector demo "$shapes/shapes.weights" frame%d.jpg
  code=$?
  check "no display: detector demo prints" "exit status $code, $(tail -n 1 err)" test $code = 0 -a "$(grep -c '^square:' out)" -gt 0 -a "$(grep -c 'no display' err)" = 1
  for verb in demo gun threat; do
    timeout 20 "$darknet" classifier $verb shapes.data classifier.cfg weights frame%d.jpg >out 2>err
    code=$?
    check "no display: classifier $verb" "exit status $code, $(tail -n 1 err)" test $code = 0 -a "$(grep -c 'no display' err)" = 1
  done
  refused "OpenCV: a missing picture" "cannot load the picture none.jpg" detector test shapes.data "${network[@]}" none.jpg
  check "no list of bad pictures is written" "bad.list" test ! -e bad.list
  timeout 20 "$darknet" detector demo shapes.data "${network[@]}" none.mp4 >out 2>err
  [ $? = 2 ] && grep -q 'cannot open the video none.mp4' err && ok "no display: a missing video" || fail "no display: a missing video" "$(tail -n 1 err)"
  darknet=$build/darknet/darknet
fi

# --- 32 bits -------------------------------------------------------------------------

arm='arm-linux-gnueabihf'
if ! command -v $arm-gcc >/dev/null || ! command -v qemu-arm-static >/dev/null; then
  skip "32 bits" "needs $arm-gcc, qemu-arm-static"
# mafat would have to be built for 32 bits, too
elif ! { cp -r "$root/darknet_patch" without_mafat && sed -i '/^0003-/d' without_mafat/series; } ||
  ! without_mafat/apply.sh --build "$build/darknet" --source source >"$log" 2>&1; then
  fail "32 bits" "$(tail -n 1 "$log")"
else
  mkdir -p source/obj
  env -u MAKEFLAGS make -s -C source -j"$(nproc)" OPTS=-O1 CC=$arm-gcc AR=$arm-ar "CPP=$arm-gcc -x c" 'LDFLAGS=-lm -pthread -static' darknet >"$log" 2>&1
  qemu-arm-static source/darknet detector test shapes.data "${network[@]}" "$photo" --boxes >arm.out 2>err
  code=$?
  check "32 bits: detects" "exit status $code, $(tail -n 1 err)" grep -q '^box' arm.out
  detector test "$shapes/shapes.weights" "$photo" --boxes
  check "32 bits: the same boxes" "$(grep ^box arm.out | head -n 1) and $(grep ^box out | head -n 1)" python3 - arm.out out <<'END'
import sys
arm, host = ([line.split("\t") for line in open(name) if line.startswith("box")] for name in sys.argv[1:])
assert len(arm) == len(host)
for a, h in zip(arm, host):
    assert a[1] == h[1] and abs(float(a[2]) - float(h[2])) < 1e-4 and all(abs(float(x) - float(y)) < .1 for x, y in zip(a[3:], h[3:])), (a, h)
END
  "$darknet" partial classifier.cfg weights host.weights 9 >out 2>err
  qemu-arm-static source/darknet partial classifier.cfg weights arm.weights 9 >out 2>err
  check "32 bits: writes the same weights, header and all" "$(tail -n 1 err)" cmp host.weights arm.weights
fi
exit "$failed"
