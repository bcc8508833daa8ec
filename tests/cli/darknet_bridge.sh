#!/usr/bin/env bash
# Runs programs of Darknet's library with libmafat-darknet.so and without: results must agree, in C
# and Python, for every way of loading; and the patched Darknet's commands with -memory. Run from
# the project's root; BUILD names the build folder (default: build). Needs Debian's libdarknet-dev
# and darknet's cfgs and pictures; the commands need Darknet's source, which darknet_patch/apply.sh
# fetches. MAFAT_MODELS: a folder with Yolo-Fastest 1.1-xl. MAFAT_BRIDGE=all: whole yolov2 on every
# picture. With MAFAT_TEST_SIZE=gate, boxes of yolov2 are compared at 320 x 320, four times faster
# for Darknet.
set -u
suite=bridge
root=$PWD
# shellcheck source=tests/check.sh
. tests/check.sh
build=${BUILD:-build}
case $build in /*) ;; *) build=$PWD/$build ;; esac
export BUILD=$build
lib=$build/dropin/libmafat-darknet.so debian=/usr/lib/darknet
if [ ! -f "$lib" ]; then
  skip 'the drop-in' 'not built: needs /usr/lib/darknet/include/darknet.h (libdarknet-dev)'
  exit 0
fi
folder=$(mktemp -d) || exit 1
at_end 'rm -rf "$folder"'
cd "$folder" || exit 1
log=$folder/log out=$folder/out err=$folder/err
pictures=/usr/share/darknet/data cfgs=/usr/share/darknet/cfg names=$pictures/coco.names
examples=$root/darknet_patch/examples

with() { env LD_PRELOAD="$lib" "$@"; }
compile() { gcc -O1 -isystem $debian/include "$@"; }
compare() { python3 "$root/tests/darknet/floats.py" "$@"; }
same_boxes() { python3 "$root/tests/darknet/boxes.py" "$@"; }

linked=("-L$debian" -ldarknet "-Wl,--allow-shlib-undefined" -pthread)
if ! compile "$examples/detect.c" -o runpath "${linked[@]}" -Wl,--enable-new-dtags,-rpath,$debian 2>"$log" ||
  ! compile "$root/tests/darknet/network.c" -o network "${linked[@]}" -Wl,-rpath,$debian 2>"$log"; then
  fail 'programs of the library are built' "$(tail -n 1 "$log")"
  exit 1
fi
compile "$examples/detect.c" -o rpath "${linked[@]}" -Wl,--disable-new-dtags,-rpath,$debian
compile "$examples/detect.c" -o absolute $debian/libdarknet.so -Wl,--allow-shlib-undefined
compile "$examples/detect.c" -o bare "${linked[@]}"

# ---- small networks

cat >net.cfg <<'CFG'
[net]
batch=3
width=64
height=48
channels=3
[convolutional]
filters=24
size=3
pad=1
batch_normalize=1
activation=leaky
[maxpool]
size=2
stride=2
[convolutional]
filters=24
size=1
activation=linear
[shortcut]
from=-2
activation=linear
[route]
layers=-1,-3
[convolutional]
filters=27
size=1
activation=linear
[yolo]
mask=0,1,2
anchors=10,12,20,20,30,30
num=3
classes=4
CFG
cat >class.cfg <<'CFG'
[net]
batch=2
width=32
height=32
channels=3
policy=steps
steps=10,20
scales=.1,.1
[convolutional]
filters=16
size=3
stride=2
pad=1
batch_normalize=1
activation=leaky
[dropout]
probability=.5
[avgpool]
[connected]
output=10
activation=linear
[softmax]
[cost]
type=sse
CFG
# Dropouts share the buffers of the layers before them, which Darknet allocates.
cat >drop.cfg <<'CFG'
[net]
batch=2
width=32
height=32
channels=3
[convolutional]
filters=16
size=3
stride=2
pad=1
activation=leaky
[reorg]
stride=2
[dropout]
probability=.5
[avgpool]
[dropout]
probability=.5
[dropout]
probability=.5
[connected]
output=10
activation=linear
[softmax]
CFG
printf 'a\nb\nc\nd\n' >names
for net in net class drop; do "$build/make_weights" --quiet $net.cfg $net.weights || exit 1; done
printf '\x39\x30\0\0\1\0\0\0' | dd of=net.weights bs=1 seek=12 conv=notrunc status=none # seen: 2^32 + 12345

for net in net class drop; do
  ./network layers $net.cfg $net.weights $net.1 2>/dev/null && with MAFAT_OUTPUTS=all ./network layers $net.cfg $net.weights $net.2 2>"$err"
  check "$net: every layer within 2e-5, by MAFAT_OUTPUTS" "$(tail -n 1 "$err")" compare $net.1 $net.2
  ./network batch $net.cfg $net.weights $net.1 2>/dev/null && with ./network batch $net.cfg $net.weights $net.2 2>"$err"
  check "$net: the cfg's batch" "$(tail -n 1 "$err")" compare $net.1 $net.2
done
with MAFAT_OUTPUTS=0,2 ./network layers net.cfg net.weights net.2 2>/dev/null && ./network layers net.cfg net.weights net.1 2>/dev/null
check 'two inner layers and the head' 'other layers' python3 - <<'PY'
import struct
data, at, found = open("net.2", "rb").read(), 0, []
while at < len(data):
    layer, n = struct.unpack_from("<ii", data, at)
    found.append(layer)
    at += 8 + 4 * n
assert found == [0, 2, 6], found
PY
check 'and they are the same' 'they differ' compare --some net.1 net.2
./network resize net.cfg net.weights 96 64 net.1 2>/dev/null && with ./network resize net.cfg net.weights 96 64 net.2 2>"$err"
check 'resize_network, and back' "$(tail -n 1 "$err")" compare net.1 net.2
for clear in 0 1; do
  check "*net->seen, clear=$clear" "$(with ./network seen net.cfg net.weights $clear 2>/dev/null)" \
    test "$(with ./network seen net.cfg net.weights $clear 2>/dev/null)" = "$(./network seen net.cfg net.weights $clear 2>/dev/null)"
done
with ./network images net.cfg net.weights >"$out" 2>/dev/null
check 'layers without an output have an empty image' "$(cat "$out")" test "$(head -n 6 "$out" | cut -d' ' -f2- | sort -u)" = '0 0 0 0'
check 'and the head has its own' "$(cat "$out")" grep -qx 'last 32 24 27' "$out"
./network threads 5 net.cfg net.weights class.cfg class.weights >one 2>/dev/null
with ./network threads 5 net.cfg net.weights class.cfg class.weights >two 2>/dev/null
check 'two networks in two threads' "$(paste one two | tr '\n' ' ')" cmp one two
read -r early late < <(with ./network cycles 100 net.cfg net.weights class.cfg class.weights 2>"$err")
check "100 times load, predict, free of two networks: ${early:-0} kB, then ${late:-0} kB resident" 'it grows' test "${late:-0}" -lt $((${early:-0} + 600)) -a "${late:-0}" -gt 0

# ---- errors: the library's line, last, and the exit status

ends() { # NAME STATUS TEXT COMMAND...
  local name=$1 status=$2 text=$3 found=0
  shift 3
  timeout 60 "$@" >"$out" 2>"$err" || found=$?
  if [ $found = "$status" ] && tail -n 1 "$err" | grep '^mafat: ' | grep -qF -e "$text"; then ok "$name"; else
    fail "$name" "exit status $found; $(tail -n 1 "$err")"
  fi
}
sed 's/filters=24/filters=none/' net.cfg >bad.cfg
head -c 2000 net.weights >short.weights
sed 's/batch=3/batch=1/' net.cfg >single.cfg
network=(env LD_PRELOAD="$lib" ./network)
ends 'a bad cfg' 2 'bad.cfg:7' "${network[@]}" layers bad.cfg net.weights net.2
ends 'no cfg' 2 'none.cfg' "${network[@]}" layers none.cfg net.weights net.2
ends 'short weights' 2 'short.weights' "${network[@]}" layers net.cfg short.weights net.2
ends 'no weights file' 2 'none.weights' "${network[@]}" layers net.cfg none.weights net.2
ends 'too small a budget' 3 'the budget (MAFAT_MEMORY)' env MAFAT_MEMORY=1M LD_PRELOAD="$lib" ./network layers net.cfg net.weights net.2
ends 'a budget that is none' 2 "MAFAT_MEMORY: expected a size like 64M, 16384K or bytes, found 'much'" env MAFAT_MEMORY=much LD_PRELOAD="$lib" ./network layers net.cfg net.weights net.2
ends 'threads that are none' 2 'MAFAT_THREADS: expected' env MAFAT_THREADS=0 LD_PRELOAD="$lib" ./network layers net.cfg net.weights net.2
ends 'a plan that is none' 2 'plan' env MAFAT_PLAN=none LD_PRELOAD="$lib" ./network layers net.cfg net.weights net.2
ends 'outputs that are none' 2 'MAFAT_OUTPUTS: expected all, or layers from 0 to 6' env MAFAT_OUTPUTS=2,7 LD_PRELOAD="$lib" ./network layers net.cfg net.weights net.2
ends 'training' 2 'prediction only' "${network[@]}" train net.cfg net.weights
ends 'saving' 2 'prediction only' "${network[@]}" save net.cfg net.weights
ends 'running without weights' 2 'no weights have been loaded' "${network[@]}" forget net.cfg net.weights
ends 'a larger batch than the cfg' 2 'batch of at most 1' "${network[@]}" twice single.cfg net.weights
"$build/make_weights" --quiet --seed 2 net.cfg other.weights && cp net.weights used.weights
ends 'resize_network: other weights have taken the name' 2 'used.weights: changed since the network was made' "${network[@]}" replaced net.cfg used.weights other.weights
ends 'a cfg that can be read only once' 2 'expected a regular file, found a pipe' "${network[@]}" layers <(cat net.cfg) net.weights net.2
ends 'another temperature' 2 "the cfg's temperature" "${network[@]}" warm class.cfg class.weights

{ sed '/avgpool/,$d' class.cfg; printf '[normalization]\n[convolutional]\nfilters=8\nsize=3\nstride=1\npad=1\nactivation=relu\n[route]\nlayers=-1,-4\n[avgpool]\n[softmax]\n'; } >mixed.cfg
sed '/route/,/^layers/d' mixed.cfg >foreign.cfg
cat class.weights net.weights >foreign.weights
./network layers foreign.cfg foreign.weights net.1 2>/dev/null && with ./network layers foreign.cfg foreign.weights net.2 2>"$err"
check 'a layer that the library does not know: Darknet runs the network' 'other bits' cmp net.1 net.2
check 'and stderr says so' "$(grep mafat "$err")" grep -q '^mafat: .*foreign.cfg.*\[normalization\].*: Darknet runs this network' "$err"
check 'a network without weights stays with Darknet' "$(tail -n 1 "$err")" with ./network layers net.cfg '' net.2

# ---- ways of loading the library

runs() { # NAME yes|no COMMAND...: runs by mafat or not, with the same boxes
  local name=$1 takes=$2
  shift 2
  "$@" net.cfg net.weights names 0.02 $pictures/dog.jpg >"$out" 2>"$err"
  local found=no
  ! grep -q '^mafat: .*plan' "$err" || found=yes
  if [ $found = "$takes" ] && same_boxes expected "$out" 0.02 >"$log"; then ok "$name"; else fail "$name" "by mafat: $found; $(tail -n 1 "$log") $(tail -n 1 "$err")"; fi
}
./runpath net.cfg net.weights names 0.02 $pictures/dog.jpg >expected 2>/dev/null
python=(python3 "$examples/detect.py")
path=LD_LIBRARY_PATH=$build/dropin
for way in runpath rpath absolute; do runs "linked, $way: preloaded" yes with ./$way; done
runs 'linked, runpath: LD_LIBRARY_PATH' yes env "$path" ./runpath
runs 'linked, rpath: LD_LIBRARY_PATH does not come first' no env "$path" ./rpath
runs 'linked, absolute: LD_LIBRARY_PATH is not asked' no env "$path" ./absolute
runs 'linked, no path: LD_LIBRARY_PATH' yes env "$path" ./bare
runs 'linked, no path: preloaded' yes env LD_LIBRARY_PATH=$debian LD_PRELOAD="$lib" ./bare
runs 'ctypes' no "${python[@]}"
runs 'ctypes: preloaded' yes with "${python[@]}"
runs 'ctypes: the facade by its path' yes env DARKNET_LIBRARY="$build/dropin/libdarknet.so" "${python[@]}"
runs 'ctypes, libdarknet.so: preloaded' yes env DARKNET_LIBRARY=libdarknet.so LD_LIBRARY_PATH=$debian LD_PRELOAD="$lib" "${python[@]}"
runs 'ctypes, libdarknet.so: LD_LIBRARY_PATH' yes env DARKNET_LIBRARY=libdarknet.so "$path" "${python[@]}"
ln -s $debian/libdarknet.so link.so
runs 'ctypes, a link to the library: preloaded' yes env DARKNET_LIBRARY=./link.so LD_PRELOAD="$lib" "${python[@]}"

# Other calls of dlopen are unchanged: a plug-in whose RUNPATH finds its own library; another
# Darknet with the same name.
mkdir -p plug/deps fork
echo 'int answer(void) { return 42; }' | gcc -shared -fPIC -x c - -o plug/deps/libanswer.so
echo '#include <dlfcn.h>
int ask(void) { void *h = dlopen("libanswer.so", RTLD_NOW); return h ? ((int (*)(void))dlsym(h, "answer"))() : -1; }' | gcc -shared -fPIC -x c - -o plug/libplug.so -Wl,--enable-new-dtags,-rpath,"\$ORIGIN/deps"
check "dlopen: the caller's RUNPATH" 'not searched' with python3 -c 'from ctypes import *; assert CDLL("plug/libplug.so").ask() == 42'
echo 'struct network; struct network *parse_network_cfg(char *f) { return (struct network *)f; }
struct network *load_network(char *f, char *w, int c) { return parse_network_cfg(f); }
void free_network(struct network *n) { }' | gcc -O0 -shared -fPIC -x c - -o fork/libdarknet.so
cat >fork.py <<'PY'
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
lib.load_network.restype = ctypes.c_void_p
name = ctypes.create_string_buffer(b"any.cfg")
assert lib.load_network(name, None, 0) == ctypes.addressof(name)
PY
check 'another libdarknet.so is left alone, by its path' 'it is not' with python3 fork.py fork/libdarknet.so
check 'and by its name' 'it is not' env LD_LIBRARY_PATH=fork LD_PRELOAD="$lib" python3 fork.py libdarknet.so
echo 'struct network *load_network(char *f, char *w, int c); int main(void) { return load_network("a", 0, 0) == 0; }' |
  gcc -x c - -o forked -L fork -ldarknet -Wl,-rpath,"$folder/fork"
check 'and in a linked program' 'it is not' with ./forked
check 'opened only if it is there already' 'it was opened' with python3 -c 'import ctypes, os
try: ctypes.CDLL("/usr/lib/darknet/libdarknet.so", os.RTLD_NOLOAD | os.RTLD_NOW)
except OSError: pass
else: raise SystemExit(1)'

# ---- real networks and pictures

"$build/make_weights" --quiet $cfgs/yolov3-tiny.cfg tiny.weights
sed 's/^batch=.*/batch=1/; s/^subdivisions=.*/subdivisions=1/' $cfgs/yolov2.cfg >yolov2.cfg
"$build/make_weights" --quiet yolov2.cfg yolov2.weights
side=608
[ "${MAFAT_TEST_SIZE:-}" != gate ] || side=320
sed -E "s/^(width|height) *=.*/\1=$side/" yolov2.cfg >yolov2-$side.cfg
peak='import resource, subprocess, sys
with open(sys.argv[1], "w") as out, open(sys.argv[2], "w") as err: code = subprocess.run(sys.argv[3:], stdout=out, stderr=err).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
sys.exit(code)'
measured() { # OUT COMMAND...: prints its peak in MB
  local to=$1
  shift
  python3 -c "$peak" "$to" "$err" "$@"
}
detects() { # NAME THRESHOLD CFG WEIGHTS PICTURE...: in C with and without mafat, in Python with it
  local name=$1 threshold=$2 theirs ours
  shift 2
  local arguments=("$1" "$2" "$names" "$threshold" "${@:3}")
  theirs=$(measured theirs ./runpath "${arguments[@]}")
  ours=$(measured ours env MAFAT_MEMORY=128M LD_PRELOAD="$lib" ./runpath "${arguments[@]}")
  check "$name, C: same labels, boxes within a pixel; at most $theirs MB, by mafat $ours MB" "$(grep mafat "$err")" same_boxes theirs ours "$threshold"
  env MAFAT_MEMORY=128M LD_PRELOAD="$lib" "${python[@]}" "${arguments[@]}" >ours 2>"$err"
  check "$name, Python" "$(grep mafat "$err")" same_boxes theirs ours "$threshold"
}
some=("$pictures/dog.jpg") all=("$pictures"/*.jpg)
[ "${MAFAT_BRIDGE:-}" != all ] || some=("${all[@]}")
[ "${MAFAT_TEST_SIZE:-}" != gate ] || all=("$pictures"/{dog,person}.jpg)
detects "yolov2 $side" 0.15 yolov2-$side.cfg yolov2.weights "${some[@]}"
detects yolov3-tiny 0.02 $cfgs/yolov3-tiny.cfg tiny.weights "${all[@]}"
xl=${MAFAT_MODELS:-}/yolo-fastest-1.1-xl
if [ -f "$xl.cfg" ]; then detects Yolo-Fastest-xl 0.3 "$xl.cfg" "$xl.weights" "${all[@]}"; else skip Yolo-Fastest-xl 'MAFAT_MODELS does not name a folder with it'; fi

# ---- the patched Darknet's commands with -memory: 0003

if ! (cd "$root" && darknet_patch/apply.sh) >"$log" 2>&1; then
  if grep -qE 'cannot (reach|fetch)|no apt-get' "$log"; then skip 'the patched Darknet' "$(tail -n 1 "$log")"; else fail 'the patched Darknet' "$(tail -n 1 "$log")"; fi
  exit $failed
fi
darknet=$build/darknet/darknet
unset DISPLAY WAYLAND_DISPLAY
mkdir -p data results
printf 'classes=80\nnames=%s\nvalid=%s\nresults=%s\neval=coco\n' "$names" "$folder/data/coco_val_5k.list" "$folder/results" >coco.data
for picture in dog horses eagle person; do
  cp $pictures/$picture.jpg data/
  printf '1 0.5 0.5 0.3 0.4\n2 0.25 0.5 0.2 0.2\n' >data/$picture.txt
  echo "$folder/data/$picture.jpg"
done >data/coco_val_5k.list

boxes_of() { awk -F'\t' '$1 == "box" { print $2, $3, $4, $5, $6, $7 }' "$1"; } # of -boxes
commands() { # NAME THRESHOLD CFG WEIGHTS PICTURE MEMORY
  $darknet detector test coco.data "$3" "$4" "$5" -thresh "$2" -boxes >"$out" 2>/dev/null && boxes_of "$out" >theirs
  $darknet detector test coco.data "$3" "$4" "$5" -thresh "$2" -boxes -memory "$6" >"$out" 2>"$err" && boxes_of "$out" >ours
  check "detector test, $1, -memory $6: same labels, boxes within a pixel" "$(tail -n 1 "$err")" same_boxes theirs ours "$2"
}
commands "yolov2 $side" 0.15 yolov2-$side.cfg yolov2.weights $pictures/dog.jpg 16M
commands yolov3-tiny 0.02 $cfgs/yolov3-tiny.cfg tiny.weights $pictures/dog.jpg 32M
[ ! -f "$xl.cfg" ] || commands Yolo-Fastest-xl 0.3 "$xl.cfg" "$xl.weights" $pictures/dog.jpg 16M

dumps() { # NAME CFG WEIGHTS [OPTION...]
  local name=$1
  rm -rf one two
  $darknet classifier predict class.data "$2" "$3" $pictures/dog.jpg -dump one >classes.one 2>/dev/null
  $darknet classifier predict class.data "$2" "$3" $pictures/dog.jpg -dump two -memory 64M "${@:4}" >classes.two 2>"$err"
  check "classifier predict, $name: each layer within 2e-5" "$(tail -n 1 "$err")" compare --some one two
  check "and the same classes" "$(paste classes.one classes.two | tail -n 1)" cmp <(cut -d: -f2 classes.one) <(cut -d: -f2 classes.two)
}
seq -f class%g 10 >class.names
printf 'classes=10\nnames=class.names\ntop=3\n' >class.data
dumps 'of one net' class.cfg class.weights -threads 2
dumps 'Darknet runs the rest' mixed.cfg foreign.weights
check 'and stderr says so' "$(grep mafat "$err")" grep -q '^mafat: .*\[normalization\].*: Darknet runs this layer and those after it' "$err"
$darknet detector test coco.data $cfgs/yolov3-tiny.cfg tiny.weights $pictures/dog.jpg -thresh 0.9 -dump one >/dev/null 2>&1
rm -rf two
$darknet detector test coco.data $cfgs/yolov3-tiny.cfg tiny.weights $pictures/dog.jpg -thresh 0.9 -dump two -memory 64M >"$out" 2>"$err"
check 'detector test, yolov3-tiny: each layer within 2e-5' "$(tail -n 1 "$err")" compare --some one two

numbers='import re, sys
a, b = ([float(x) for x in re.findall(r"-?\d+\.?\d*", open(f).read())] for f in sys.argv[1:])
assert a and len(a) == len(b) and all(abs(p - q) <= 1e-3 + 1e-4 * abs(p) for p, q in zip(a, b)), (len(a), len(b))'
valid_cfg=$root/tests/darknet/valid.cfg
"$build/make_weights" --quiet "$valid_cfg" valid.weights
$darknet detector valid coco.data "$valid_cfg" valid.weights -out one >/dev/null 2>&1
$darknet detector valid coco.data "$valid_cfg" valid.weights -out two -memory 32M >/dev/null 2>"$err"
check 'detector valid: the same file' "$(tail -n 1 "$err")" python3 -c "$numbers" results/one.json results/two.json
$darknet detector recall coco.data "$valid_cfg" valid.weights 2>&1 >/dev/null | grep 'RPs/Img' >one.txt
$darknet detector recall coco.data "$valid_cfg" valid.weights -memory 32M 2>&1 >/dev/null | grep 'RPs/Img' >two.txt
check 'detector recall: the same numbers' "$(tail -n 1 two.txt)" python3 -c "$numbers" one.txt two.txt

tests=("$darknet" detector test coco.data)
ends '-memory: a bad cfg' 2 'bad.cfg:7' "${tests[@]}" bad.cfg net.weights $pictures/dog.jpg -memory 16M
ends '-memory: short weights' 2 'short.weights' "${tests[@]}" net.cfg short.weights $pictures/dog.jpg -memory 16M
ends '-memory: too small' 3 'the budget (-memory)' "${tests[@]}" yolov2.cfg yolov2.weights $pictures/dog.jpg -memory 6M
ends '-memory: no size' 2 '-memory: expected a size like 64M' "${tests[@]}" net.cfg net.weights $pictures/dog.jpg -memory much
ends '-plan: none' 2 'plan' "${tests[@]}" net.cfg net.weights $pictures/dog.jpg -plan none
code=0
$darknet detector train coco.data net.cfg net.weights -memory 16M >/dev/null 2>"$err" || code=$?
check '-memory is for commands that only infer' "exit status $code; $(tail -n 1 "$err")" test "$code" = 2

exit $failed
