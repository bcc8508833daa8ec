#!/bin/bash
# Compares this build with Debian's libdarknet: every layer of real architectures on made weights, labels and boxes on real
# pictures, and what becomes of every cfg in the package. Run from the project's root; BUILD names the build folder (default:
# build), MAFAT_MODELS a folder with the trained yolo-fastest-1.1[-xl].cfg and .weights. Made weights exist one file at a time.

set -u
models=${MAFAT_MODELS:+$(realpath -- "$MAFAT_MODELS")}
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
library=/usr/lib/darknet/libdarknet.so
cfgs=/usr/share/darknet/cfg
pictures=/usr/share/darknet/data
passed=0 failed=0 skipped=0

ok() { printf 'ok %s\n' "$*"; passed=$((passed + 1)); }
fail() { printf 'FAIL %s\n' "$*"; failed=$((failed + 1)); }
skip() { printf 'skip %s: %s\n' "$1" "$2"; skipped=$((skipped + 1)); }

finish() {
    printf '%d passed, %d failed, %d skipped\n' $passed $failed $skipped
    [ $failed -eq 0 ] || exit 1
    exit 0
}

if [ ! -e $library ] || [ ! -d $cfgs ]; then
    skip oracle "needs $library and $cfgs (packages libdarknet-dev and darknet)"
    finish
fi
for program in make_weights oracle_layers oracle_detections run_inference; do
    [ -x "$build/$program" ] || { fail "$program: $build/$program is not built (make oracle builds it)"; finish; }
done

folder=$(mktemp -d "${TMPDIR:-/tmp}/mafat-oracle.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
export TMPDIR=$folder # libdarknet's copies of the cfg files

# layers NAME CFG WEIGHTS [OPTION]...: every layer
layers() {
    local name=$1 cfg=$2 weights=$3 text
    shift 3
    if text=$("$build/oracle_layers" --image $pictures/dog.jpg "$@" "$cfg" "$weights" 2>&1); then
        ok "$name: ${text#*: }"
    else
        fail "$name: $text"
    fi
}

# boxes NAME CFG WEIGHTS [OPTION]...: labels, boxes and confidences through the program itself
boxes() {
    local name=$1 cfg=$2 weights=$3 text
    shift 3
    if text=$("$build/oracle_detections" --program "$build/run_inference" "$@" "$cfg" "$weights" \
        $pictures/dog.jpg $pictures/person.jpg 2>&1); then
        ok "$name boxes: ${text//$'\n'/; }"
    else
        fail "$name boxes: $text"
    fi
}

# made NAME SIDE CHECK [OPTION]...: the package's NAME.cfg at SIDE x SIDE pixels (-: as it is) with made weights; CHECK is
# "layers", or "boxes" for both.
made() {
    local name=$1 side=$2 check=$3 cfg=$folder/$1.cfg weights=$folder/$1.weights text
    shift 3
    if [ ! -f "$cfgs/$name.cfg" ]; then
        skip "$name" "$cfgs/$name.cfg is missing"
        return
    fi
    cp "$cfgs/$name.cfg" "$cfg"
    [ "$side" = - ] || sed -i -E "s/^(width|height) *=.*/\1=$side/" "$cfg"
    if text=$("$build/make_weights" --quiet "$cfg" "$weights" 2>&1); then
        layers "$name" "$cfg" "$weights" "$@"
        [ "$check" = layers ] || boxes "$name" "$cfg" "$weights" --boxes 40
    else
        fail "$name: $text"
    fi
    rm -f "$cfg" "$weights"
}

# trained NAME FOLDER: weights from training
trained() {
    local name=$1 cfg=$2/$1.cfg weights=$2/$1.weights
    if [ -f "$cfg" ] && [ -f "$weights" ]; then
        layers "$name" "$cfg" "$weights"
        layers "$name tiled" "$cfg" "$weights" --plan 3x3/8/2x2
        layers "$name portable" "$cfg" "$weights" --cpu portable
        boxes "$name" "$cfg" "$weights" --thresh 0.3
    else
        skip "$name" "$cfg and .weights not found"
    fi
}

# What becomes of each cfg of the package. Small ones are run and compared; of the others it is shown that they can be planned.
every_cfg() {
    local cfg name text weight_bytes macs arena n=0 runs=0 compared=0
    for cfg in "$cfgs"/*.cfg; do
        name=$(basename "$cfg" .cfg)
        n=$((n + 1))
        if ! text=$("$build/oracle_layers" --layout-only "$cfg" 2>&1); then
            printf '   %-22s %s\n' "$name" "${text#*: "$cfgs"/}"
            continue
        fi
        runs=$((runs + 1))
        read -r weight_bytes macs arena <<<"$text"
        text="arena $((arena / 1000)) kB, weights $((weight_bytes / 1000)) kB, $((macs / 1000000)) million MACs"
        if [ "$weight_bytes" -ge 60000000 ] || [ "$macs" -ge 8000000000 ]; then
            printf '   %-22s planned only: %s\n' "$name" "$text"
        elif "$build/make_weights" --quiet "$cfg" "$folder/w" >"$folder/log" 2>&1 &&
            "$build/oracle_layers" "$cfg" "$folder/w" >"$folder/log" 2>&1; then
            printf '   %-22s equals Darknet: %s\n' "$name" "$text"
            compared=$((compared + 1))
        else
            fail "$name.cfg $(tail -n 1 "$folder/log")"
        fi
        rm -f "$folder/w"
    done
    text="$runs of $n cfg files can be planned, $compared of them were run and equal Darknet"
    if [ $runs -ge 40 ]; then ok "$text"; else fail "$text; expected 40"; fi
}

trained shapes models/shapes
if [ -n "$models" ]; then
    trained yolo-fastest-1.1 "$models"
    trained yolo-fastest-1.1-xl "$models"
else
    skip yolo-fastest "MAFAT_MODELS does not name the folder with the trained networks"
fi
made yolov2-tiny - boxes
made yolov2 224 boxes
made yolov3-tiny - boxes
made yolov3 160 boxes
made yolov3-spp 160 layers
made darknet19 - layers
made darknet53 128 layers
made resnet50 128 layers
made resnext50 128 layers
made densenet201 128 layers
made vgg-16 - layers
made alexnet - layers
made strided - layers
made tiny - layers
made yolov1-tiny - boxes
made yolov1 128 boxes # its one [local] layer is 462 MB at full size
every_cfg
finish
