#!/bin/bash
# Compares this build with Debian's libdarknet: every layer of real architectures with generated
# weights, labels and boxes on real pictures, and the result for every cfg in the package. Run from
# the project's root; BUILD names the build folder (default: build), MAFAT_MODELS a folder with the
# trained yolo-fastest-1.1[-xl].cfg and .weights. Only one generated weights file exists at a time.
# With MAFAT_TEST_SIZE=gate, everything covered by other networks or tests is left out: networks
# with the same layers and heads, kernel levels with the bits of another (kernel_check), plans
# covered by golden hashes; large networks are only planned.

set -u
models=${MAFAT_MODELS:+$(realpath -- "$MAFAT_MODELS")}
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
library=/usr/lib/darknet/libdarknet.so
cfgs=/usr/share/darknet/cfg
pictures=/usr/share/darknet/data
short='' n_plans=6 levels=() heads=boxes
if [ "${MAFAT_TEST_SIZE:-}" = gate ]; then
    short=yes n_plans=3 levels=(--each-class) heads=layers
fi
# shellcheck source=tests/check.sh
. tests/check.sh

if [ ! -e $library ] || [ ! -d $cfgs ]; then
    skip oracle "needs $library and $cfgs (package darknet)"
    exit 0
fi
for program in make_weights oracle_image oracle_layers oracle_detections run_inference; do
    [ -x "$build/$program" ] || { fail "$program" "$build/$program is not built (make oracle builds it)"; exit 1; }
done

folder=$(mktemp -d "${TMPDIR:-/tmp}/mafat-oracle.XXXXXX") || exit 1
at_end 'rm -rf "$folder"'
export TMPDIR=$folder # libdarknet's copies of the cfg files

# report NAME STATUS TEXT: ok when the status is 0
report() { if [ "$2" -eq 0 ]; then ok "$1: $3"; else fail "$1" "$3"; fi; }

# layers NAME CFG WEIGHTS [OPTION]...: compares every layer, at every kernel level, by each
# algorithm
layers() {
    local name=$1 cfg=$2 weights=$3 text line
    shift 3
    if text=$("$build/oracle_layers" --image $pictures/dog.jpg "$@" "$cfg" "$weights" 2>&1); then
        while read -r line; do ok "$name ${line#* }"; done <<<"$text"
    else
        fail "$name" "$text"
        return 1
    fi
}

# boxes NAME CFG WEIGHTS [OPTION]...: compares labels, boxes and confidences of the program on
# $shown
shown=("$pictures/dog.jpg" "$pictures/person.jpg")
boxes() {
    local name=$1 cfg=$2 weights=$3 text
    shift 3
    if text=$("$build/oracle_detections" --program "$build/run_inference" "$@" "$cfg" "$weights" "${shown[@]}" 2>&1); then
        ok "$name boxes: ${text//$'\n'/; }"
    else
        fail "$name boxes" "$text"
    fi
}

# draw_group, draw_plan N_LAYERS, pick WORD...: random ones in $drawn (in a subshell, RANDOM would
# forget its seed). A group is a grid, sometimes balanced, or rows.
draw_group() {
    drawn=$((RANDOM % 5 + 1))x$((RANDOM % 5 + 1))
    case $((RANDOM % 4)) in
        0) drawn=$drawn:balanced ;;
        1) drawn=rows$((RANDOM % 8 + 1)) ;;
    esac
}
draw_plan() {
    local plan cut=0
    draw_group
    plan=$drawn
    while cut=$((cut + 1 + RANDOM % $1)) && [ $cut -lt "$1" ]; do
        draw_group
        plan=$plan/$cut/$drawn
    done
    drawn=$plan
}
pick() {
    shift $((RANDOM % $#))
    drawn=$1
}

# infer ANSWER CFG WEIGHTS PLAN ALGORITHM THREADS: writes the last layer's output to ANSWER.bits,
# the detections to ANSWER
infer() {
    "$build/run_inference" --quiet --json --plan "$4" --algorithm "$5" --threads "$6" --dump-output "$1.bits" "$2" "$3" \
        $pictures/dog.jpg >"$1" 2>"$folder/log" && sed -i 's/.*"detections"/"detections"/' "$1"
}

# plans NAME CFG WEIGHTS: $n_plans random plans on one to four threads give the bits and detections
# of the untiled run on one thread by the same algorithm: auto or, drawn once for the network,
# direct or winograd. A plan with more tiles than pixels is refused and drawn again.
plans() {
    local name=$1 cfg=$2 weights=$3 n_layers drawn plan text algorithm other threads answer=$folder/answer reference tries=0 n=0 good=0
    n_layers=$(($(grep -c '^\[' "$cfg") - 1))
    RANDOM=$(($(printf %s "$name" | cksum | cut -d' ' -f1) % 32768))
    pick direct winograd && other=$drawn
    rm -f "$answer".*
    for ((; n < n_plans && tries < 200; tries++)); do
        draw_plan "$n_layers" && plan=$drawn
        pick auto "$other" && algorithm=$drawn reference=$answer.$drawn
        threads=$((RANDOM % 4 + 1))
        text="$name plan $plan, $algorithm, threads $threads"
        if [ ! -e "$reference" ] && ! infer "$reference" "$cfg" "$weights" 1x1/NoCut "$algorithm" 1; then
            fail "$name untiled, $algorithm" "$(tail -n 1 "$folder/log")"
            break
        fi
        if infer "$answer" "$cfg" "$weights" "$plan" "$algorithm" "$threads"; then
            n=$((n + 1))
            if cmp -s "$answer.bits" "$reference.bits" && cmp -s "$answer" "$reference"; then
                good=$((good + 1))
            else
                fail "$text" "other bits than untiled"
            fi
        elif ! grep -q 'more tiles than' "$folder/log"; then
            n=$((n + 1))
            fail "$text" "$(tail -n 1 "$folder/log")"
        fi
    done
    if [ $good -eq $n_plans ]; then ok "$name plans: $n_plans random plans give the bits of the untiled run"
    elif [ $n -lt $n_plans ]; then fail "$name plans" "only $n of $tries tries fit"; fi
}

declare -A equal=() # networks run unchanged, all of whose layers agreed
# made NAME SIDE CHECK [OPTION]...: the package's NAME.cfg at SIDE x SIDE pixels (-: unchanged)
# with generated weights; CHECK is "layers", or "boxes" for both.
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
        if layers "$name" "$cfg" "$weights" "${levels[@]}" "$@" && [ "$side" = - ]; then equal[$name]=yes; fi
        if [ -z "$short" ] || ! grep -q "^$name bits " tests/golden/golden.txt; then plans "$name" "$cfg" "$weights"; fi
        [ -n "$short" ] || layers "$name fed" "$cfg" "$weights" --fed "$@"
        [ "$check" = layers ] || boxes "$name" "$cfg" "$weights" --boxes 40
    else
        fail "$name" "$text"
    fi
    rm -f "$cfg" "$weights"
}

# trained NAME FOLDER: weights from training
trained() {
    local name=$1 cfg=$2/$1.cfg weights=$2/$1.weights
    if [ -f "$cfg" ] && [ -f "$weights" ]; then
        layers "$name" "$cfg" "$weights"
        layers "$name fed" "$cfg" "$weights" --fed
        layers "$name tiled" "$cfg" "$weights" --plan 3x3/8/2x2
        [ -n "$short" ] || boxes "$name" "$cfg" "$weights" --thresh 0.3 # boxes of these, too
        local shown=("$pictures"/*.jpg)
        boxes "$name every picture" "$cfg" "$weights" --thresh 0.05
        plans "$name" "$cfg" "$weights"
    else
        skip "$name" "$cfg and .weights not found"
    fi
}

# Every cfg of the package: small ones are run and compared, unless done above; larger ones only
# run. Networks are only planned if time is short, if they have a twin, or if their weights are too
# large for the disk.
twins=' cifar go resnet18 ' # same layers as cifar.test, go.test, resnet50
every_cfg() {
    local cfg name text weight_bytes macs arena outcome large n=0 runs=0 compared=0
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
        outcome='equals Darknet' large=
        [ "$weight_bytes" -lt 60000000 ] && [ "$macs" -lt 8000000000 ] || large=yes
        if [ -n "${equal[$name]-}" ]; then
            compared=$((compared + 1))
        elif [ "$weight_bytes" -ge 700000000 ] || { [ -n "$short" ] && [[ -n $large || $twins == *" $name "* ]]; }; then
            outcome='planned only'
        elif ! "$build/make_weights" --quiet "$cfg" "$folder/w" >"$folder/log" 2>&1; then
            outcome=failed
        elif [ -n "$large" ]; then
            outcome=runs
            "$build/run_inference" --quiet "$cfg" "$folder/w" $pictures/dog.jpg >"$folder/log" 2>&1 || outcome=failed
        elif "$build/oracle_layers" "${levels[@]}" "$cfg" "$folder/w" >"$folder/log" 2>&1; then
            compared=$((compared + 1))
        else
            outcome=failed
        fi
        printf '   %-22s %s: %s\n' "$name" "$outcome" "$text"
        [ "$outcome" != failed ] || fail "$name.cfg" "$(tail -n 1 "$folder/log")"
        rm -f "$folder/w"
    done
    text="$runs of $n cfg files run, $compared of them were compared with Darknet here"
    if [ $runs -ge 40 ]; then ok "$text"; else fail "$text" 'expected 40'; fi
}

text=$("$build/oracle_image" models/shapes/holdout/*.jpg 2>&1)
report pictures $? "$(printf %s "$text" | grep -c '^ok') pictures and variants: $(printf %s "$text" | tail -n 1)"
trained shapes models/shapes
if [ -n "$models" ]; then
    trained yolo-fastest-1.1 "$models"
    trained yolo-fastest-1.1-xl "$models"
else
    skip yolo-fastest "MAFAT_MODELS does not name the folder with the trained networks"
fi
made yolov2-tiny - $heads
made yolov2 224 boxes
made yolov3-tiny - boxes
made yolov3-spp 160 $heads # yolov3's layers and more
[ -n "$short" ] || made yolov3 160 boxes
made darknet19 - layers
[ -n "$short" ] || made darknet53 128 layers
made resnet50 128 layers
made resnext50 128 layers
made densenet201 128 layers
[ -n "$short" ] || made vgg-16 - layers
made alexnet - layers
made strided - layers
made tiny - layers
made yolov1-tiny - boxes
made yolov1 128 $heads # its one [local] layer is 462 MB at full size
every_cfg
exit "$failed"
