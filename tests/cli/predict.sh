#!/usr/bin/env bash
# Checks run_inference --predict, its tables, --search and the budget's rules through the command line. Run from the project's root;
# BUILD names the build folder (default: build). Needs python3 to read JSON. Networks of Debian's darknet package are used where they
# are installed; a memory group is made where that is allowed (root).
# Covers api/transfers.c: bytes between a fast memory and the rest.
set -u

# shellcheck source=tests/check.sh
. tests/check.sh
build=$(realpath "${BUILD:-build}")
program=$build/run_inference
root=$PWD
shapes=$root/models/shapes
cfgs=/usr/share/darknet/cfg
folder=$(mktemp -d) || exit 1
at_end 'rm -rf "$folder"'
cd "$folder" || exit 1
export XDG_CACHE_HOME=$folder/cache # no stored calibration

out=$folder/out err=$folder/err
predict() { run --predict "$@"; }
says() { check "$1" "found: $(cat "$out")" grep -qE -e "$2" "$out"; } # NAME PATTERN: a line on stdout

# shellcheck source=tests/answers.sh
. "$root/tests/answers.sh"

for tool in "$program" "$build/make_weights" "$build/pack_weights"; do
  [ -x "$tool" ] || { fail "$tool" 'is not there: run make first'; exit 1; }
done
if ! command -v python3 >/dev/null; then
  skip predict 'needs python3'
  exit 0
fi

# ---- Networks, weights, pictures

net() { printf '[net]\nwidth=%d\nheight=%d\nchannels=%d\n' "$@"; }
conv() { printf '[convolutional]\nfilters=%d\nsize=%d\npad=1\nactivation=leaky\n' "$@"; }
pool() { printf '[maxpool]\nsize=2\nstride=2\n'; }
{ net 96 64 3; conv 16 3; pool; conv 32 3; pool; conv 256 3; conv 256 3; conv 64 1; } >plain.cfg
{ net 32 32 17; conv 16 3; pool; conv 8 1; } >channels17.cfg
"$build/make_weights" --quiet plain.cfg plain.weights && "$build/pack_weights" --quiet plain.cfg plain.weights plain.packed ||
  { fail weights 'cannot be made'; exit 1; }
awk 'BEGIN { print "P3\n80 60\n255"; for (i = 0; i < 80 * 60; i++) print i % 256, i * 7 % 256, i * 31 % 256 }' >a.ppm

# ---- One plan

all='all(k in a for k in ("plan", "fits", "predicted_charge_bytes", "predicted_resident_bytes", "least_charge_bytes", "breakdown",
  "groups", "macs", "redundant_macs", "padded_macs", "weights_read_bytes", "predicted_latency_ms"))'
parts='all(k in a["breakdown"] for k in ("process", "weights", "activations", "scratch", "image", "io", "reserve"))'
adds_up='a["predicted_charge_bytes"] in (sum(a["breakdown"].values()), sum(a["breakdown"].values()) - a["breakdown"]["image"])'
peak='a["peak_buffer"]["bytes"] > 0 and a["peak_buffer"]["name"]'
groups_are='all(k in g for k in ("first", "last", "cut", "weights", "peak_bytes", "macs", "redundant_macs") for g in a["groups"])'
covered='a["groups"][0]["first"] == 0 and a["groups"][-1]["last"] == a["network"]["layers"] - 1 and
  all(x["last"] + 1 == y["first"] for x, y in zip(a["groups"], a["groups"][1:]))'
sums='all(a[k] == sum(g[k] for g in a["groups"]) for k in ("macs", "redundant_macs", "padded_macs"))'
sane='a["least_charge_bytes"] <= a["predicted_charge_bytes"] and a["predicted_resident_bytes"] < a["predicted_charge_bytes"] and
  a["predicted_latency_ms"] > 0 and (not a["fits"] or a["predicted_charge_bytes"] <= a["memory_budget_bytes"])'
answer() { # NAME ARGUMENT...: predicts as text and JSON, with exit status 0
  local name=$1
  shift
  predict "$@"
  expect "$name text" 0
  for line in 'plan +[^ ]+$' 'fits +yes: needs [0-9]+\.[0-9] MiB' 'least +[0-9]+\.[0-9] MiB, [0-9.]+ ms: plan [^ ]+$' 'time +[0-9.]+ ms' \
    'work +[0-9.]+ million multiply-adds, ' 'reads +' 'program, libraries +[0-9.]+$' 'resident +[0-9.]+ ' 'charge +[0-9.]+ ' 'largest at the peak: [a-z].*, [0-9]+\.[0-9] MiB$'; do
    says "$name text ${line%% *}" "^$line"
  done
  check "$name peak" "found: $(cat "$out")" test "$(grep -cE '^[0-9-]+ .* [0-9.]+ #{40} peak$' "$out")" -ge 1
  check "$name ascii" 'not only ASCII' test -z "$(tr -d '\000-\177' <"$out")"
  predict --json "$@"
  expect "$name" 0
  json "$name fields" "$all" "$parts" "$groups_are"
  json "$name figures" 'a["fits"] is True' "$covered" "$sums" "$sane" "$adds_up" "$peak"
}
answer plain plain.cfg
json assumed 'a["weights_assumed"] and a["image_assumed"] and a["weights_file"] == "darknet" and a["image"] is None'
predict plain.cfg
says assumed-text "^plain.cfg: 96 x 64, 7 layers; Darknet's weights \(assumed\); a JPEG of 12 megapixels \(assumed\)$"
answer weights plain.cfg plain.weights
json weights-given 'not a["weights_assumed"] and a["weights_file"] == "darknet"'
answer packed plain.cfg plain.packed
json packed-given 'not a["weights_assumed"] and a["weights_file"] == "packed"'
# A limit predicted for one process also holds for the next one.
if ldd "$program" >/dev/null 2>&1; then skip 'the same each time' 'loaded libraries differ'; else
  detector=${MAFAT_MODELS:-}/onnx/FastestDet.onnx
  [ -r "$detector" ] || detector=
  for model in plain.packed $detector; do
    for _ in {1..24}; do "$program" --predict --quiet --json "$model" | grep -o '"predicted_charge_bytes":[0-9]*'; done | sort | uniq -c >charges
    check "the same each time: ${model##*/}" "$(tr '\n' ' ' <charges)" test "$(wc -l <charges)" = 1
  done
  # Also for a run with class names.
  seq -f 'class number %g' 80 >many.names
  for model in "plain.cfg plain.weights" plain.packed $detector; do
    # shellcheck disable=SC2086 # two words
    least=$("$program" --predict --json $model a.ppm | sed -E 's/.*"least_charge_bytes":([0-9]*).*/\1/')
    # shellcheck disable=SC2086
    "$program" --quiet --memory "$least" --names many.names $model a.ppm >"$out" 2>"$err"
    status=$?
    check "enough to run in: ${model##*/}" "$(cat "$err")" test $status = 0
  done
fi
answer image plain.cfg plain.packed a.ppm
json image-given 'a["image"] == "a.ppm" and not a["image_assumed"]'
predict plain.cfg plain.packed a.ppm
says image-text '^plain.cfg: 96 x 64, 7 layers; packed weights; a.ppm$'
predict --json plain.cfg plain.weights -
json image-list 'a["image"] is None and a["image_assumed"]'
predict --json --input no-such-file plain.cfg
json input '0 < a["breakdown"]["image"] <= 1 << 18 and not a["image_assumed"]' # buffer for reading raw floats
answer channels channels17.cfg
json channels-floats 'not a["image_assumed"]'
[ ! -d "$shapes" ] || answer shapes "$shapes/shapes.cfg" "$shapes/shapes.weights"
for name in yolov2 densenet201; do
  if [ -r $cfgs/$name.cfg ]; then answer $name $cfgs/$name.cfg; else skip $name 'the darknet package is not installed'; fi
done

# The file is not read: its first bytes identify it.
head -c 64 plain.packed >stub.packed
predict --json plain.cfg stub.packed
json weights-unread 'a["fits"] and a["weights_file"] == "packed"'

files='plain.cfg plain.weights a.ppm'
same default $files
same tiles --plan 3x3/4/2x2 $files
same threads --threads 2 --algorithm direct $files
same greedy --search greedy --memory 64M $files
same least --search least $files
same packed --plan rows2:streamed/4/panels:streamed plain.cfg plain.packed a.ppm
same layers --layers 3 --cpu portable $files
predict --json --plan rows2:streamed/4/panels:streamed plain.cfg plain.packed
json cuts '[(g["cut"], g["weights"]) for g in a["groups"]] == [("rows2", "streamed"), ("panels", "streamed")]' \
  'a["weights_read_bytes"] > 0 and a["breakdown"]["io"] > 0'
predict --json --plan '5x5:balanced/2/[9]x[3,5]' --layers 4 plain.cfg
json cuts-tiles '[(g["cut"], g["weights"]) for g in a["groups"]] == [("5x5:balanced", "kept"), ("[9]x[3,5]", "kept")]' \
  'a["redundant_macs"] > 0'

# ---- The least arena

# least NAME OPTIONS...: the plan on stdout keeps weights and computes nothing twice
least='a["search"] == "least" and a["redundant_macs"] == 0 and a["weights_read_bytes"] == 0 and a["breakdown"]["io"] == 0'
predict --json --search least plain.cfg
json least "$least" 'all(g["weights"] == "kept" for g in a["groups"])'
arena=$(field arena_bytes)
predict --search least plain.cfg
says least-text "^ +\\(the least arena; "
says least-arena-text "^arena +$(awk -v n="$arena" 'BEGIN { printf "%.1f", n / 1048576 }') MiB, "
for plan in 1x1 rows1 rows4 panels; do
  predict --json --algorithm direct --plan $plan plain.cfg
  json "least beside $plan" "a[\"arena_bytes\"] >= $arena"
done
predict --memory 1 --search least plain.cfg
expect least-unfit 3 'this is what the plan of --search least needs, which keeps all weights in memory'
predict --pareto --search least plain.cfg
expect least-pareto 2 'makes no sense with --search least, which finds one plan'
predict --sweep --search least plain.cfg
expect least-sweep 2 'makes no sense with --search least: it is one plan for all budgets'
for seconds in -1 nan inf 1x ''; do
  predict --plan-time "$seconds" plain.cfg
  expect "plan-time '$seconds'" 2 '--plan-time expects seconds, such as 0.5 or 60'
done
predict --plan-time 1 --plan 1x1 plain.cfg
expect plan-time-plan 2 '--plan-time makes no sense with --plan: the plan is given'
predict --plan-time 1 --search greedy plain.cfg
expect plan-time-greedy 2 '--plan-time makes no sense with --search greedy'
# Options for the search fdt only.
predict --tiling rows --search fdt plain.cfg
expect tiling 2 '--tiling expects fdt, ffmt or both'
predict --layout least --search fdt plain.cfg
expect layout 2 '--layout expects published or ours'
for option in '--tiling fdt' '--layout ours'; do
  for search in best least greedy; do
    predict $option --search $search plain.cfg
    expect "$option with $search" 2 "${option% *} makes no sense with --search $search: it expects --search fdt"
  done
  predict $option plain.cfg
  expect "$option alone" 2 "${option% *} makes no sense with --search best: it expects --search fdt"
  predict $option --plan 1x1 plain.cfg
  expect "$option with a plan" 2 "${option% *} makes no sense with --plan: the plan is given"
done
for option in '--tiling fdt' '--tiling ffmt' '--tiling both' '--layout published' '--layout ours'; do
  predict --json --search fdt $option plain.cfg
  json "$option" 'a["arena_bytes"] > 0 and a["search"] == "fdt"'
done
predict --json --search fdt --tiling fdt plain.cfg
json 'tiling fdt computes nothing twice' 'a["redundant_macs"] == 0'
for search in best least fdt; do
  predict --json --plan-time 0.2 --search $search plain.cfg
  json "plan-time with $search" 'a["arena_bytes"] > 0 and a["plan"]'
done
# Bytes between a fast memory and the rest.
{ net 32 32 8; conv 48 1; printf '[convolutional]\nfilters=48\nsize=3\nstride=1\npad=1\ngroups=48\nactivation=relu\n'; conv 8 1; } >bottleneck.cfg
predict --json --fast-memory 64K --plan rows2 bottleneck.cfg
json 'fast memory' '[u["together"] for u in a["fast_memory"]["units"]] == ["bottleneck rows"]' \
  'a["fast_memory"]["input_bytes"] == a["fast_memory"]["output_bytes"] == 4 * 8 * 32 * 32' \
  'a["fast_memory"]["units"][0]["room_bytes"] <= 65536 and a["fast_memory"]["units"][0]["by_plan"]'
predict --json --fast-memory 64K --plan 1x1 bottleneck.cfg
json 'fast memory of 1x1' '[u["together"] for u in a["fast_memory"]["units"]] == ["alone", "dw-pw rows"]'
predict --json --fast-memory 64K --objective transfers --plan 1x1 bottleneck.cfg
json 'fewest transfers' 'a["fast_memory"]["units"][0]["together"] == "bottleneck rows" and not a["fast_memory"]["units"][0]["by_plan"]'
predict --fast-memory 64K plain.cfg
says 'fast memory, text' '^layers    together '
predict --fast-memory 64K --objective bytes plain.cfg
expect objective 2 '--objective expects latency or transfers'
predict --search separable:objective=latency plain.cfg
expect objective-alone 0
predict --objective latency --plan 1x1 plain.cfg
expect objective-plan 2 '--objective expects --predict and --fast-memory where the plan is given'
predict --objective latency --search least plain.cfg
expect objective-least 2 '--objective makes no sense with --search least: it expects --search separable'
run --fast-memory 64K plain.cfg plain.weights a.ppm
expect fast-memory-alone 2 '--fast-memory expects --predict, --report, --json or --objective'
# An objective finds the plan; it runs with the same bits and the predicted bytes.
"$build/make_weights" --quiet bottleneck.cfg bottleneck.weights
python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack("<8192f", *[i % 13 / 13 for i in range(8192)]))' >bottleneck.raw
for objective in transfers latency; do
  predict --json --fast-memory 64K --objective $objective bottleneck.cfg
  json "objective $objective" "a['fast_memory']['objective'] == '$objective' and a['search'] == 'separable'" \
    'all(u["by_plan"] for u in a["fast_memory"]["units"])'
  run --json --fast-memory 64K --objective $objective --input bottleneck.raw --dump-output $objective.floats bottleneck.cfg bottleneck.weights
  json "objective $objective runs" "a['fast_memory']['objective'] == '$objective' and a['fast_memory']['bytes'] == 65536" \
    'all(u["by_plan"] for u in a["fast_memory"]["units"]) and a["arena_bytes"] > 0'
  run --quiet --plan 1x1 --input bottleneck.raw --dump-output 1x1.floats bottleneck.cfg bottleneck.weights
  check "bits of objective $objective" 'they differ' cmp $objective.floats 1x1.floats
done
predict --json --fast-memory 64K --objective transfers bottleneck.cfg
json 'objective transfers, its plan' 'a["plan"].startswith("rows")'
run --quiet --report --fast-memory 64K $files
says 'fast memory, report' '^bytes between 65536 bytes of fast memory and the rest, by the plan$'
# Options that became parameters of a search still work; a line gives the new form.
found() { # the decisions of the search, from the last output
  python3 -c 'import json, sys
a = json.load(open(sys.argv[1]))
print(*[a.get(key) for key in ("plan", "search", "arena_bytes", "fast_memory", "paper_bytes")])' "$out"
}
renamed() { # NOTE OLD NEW: old and new options give the same result
  local one
  # shellcheck disable=SC2086 # options
  predict --json $3 bottleneck.cfg
  expect "$3" 0
  one=$(found)
  # shellcheck disable=SC2086
  predict --json $2 bottleneck.cfg
  check "$2 is reported" "$(cat "$err")" test "$(cat "$err")" = "run_inference: note: $1"
  check "$2 is $3" "$one, $(found)" test "$one" = "$(found)"
}
renamed '--beam, --delta: now --search motes:beam=4,delta=1.2' '--beam 4 --search motes --delta 1.2' '--search motes:beam=4,delta=1.2'
renamed '--tiling, --layout: now --search fdt:tiling=ffmt,layout=published' '--search fdt --tiling ffmt --layout published' '--search fdt:layout=published,tiling=ffmt'
renamed '--objective: now --search separable:objective=transfers' '--objective transfers --fast-memory 32K' '--search separable:objective=transfers,fast=32K --fast-memory 32K'
renamed '--bias: now --search greedy:bias=0' '--search greedy --bias 0' '--search greedy:bias=0'
renamed '--bias: now --predictor paper:bias=0' '--predictor paper --plan 2x2/NoCut --bias 0' '--predictor paper:bias=0 --plan 2x2/NoCut'
predict --quiet --search motes --cells 1 bottleneck.cfg
expect 'renamed, quietly' 0
# A group of scattered layers lists its own layers in the report, each once.
{ net 32 32 8; conv 8 3; conv 8 3; printf '[route]\nlayers=-2\n'; conv 8 3; printf '[route]\nlayers=-1,-3\n'; conv 8 1; } >branches.cfg
"$build/make_weights" --quiet branches.cfg branches.weights
run --quiet --report --plan 1x1/1,3/1x1 --input bottleneck.raw branches.cfg branches.weights
expect report-sets 0
check report-sets-once "found: $(cat "$out")" test "$(grep -oE '^  [0-9]+' "$out" | sort | uniq -c | awk '$1 == 1' | wc -l)" -eq 6
run --quiet --algorithm direct --search least --dump-output least.floats $files
run --quiet --algorithm direct --dump-output best.floats $files
check least-bits 'they differ' cmp least.floats best.floats
# measured MODEL...: with a delta larger than any plan needs, a plan that needs no more than whole
# maps and reads back with the same bytes; its run gives the same bits and is not larger than
# predicted.
measured() {
  local name=${*: -1} plan
  predict --json --plan 1x1/order=postorder "$@"
  cp "$out" before
  predict --json --search motes --measure --delta 1000 --plan-time 2 "$@"
  json "measured $name" 'a["arena_bytes"] <= b["arena_bytes"] and a["search"] == "motes"'
  plan=$(field plan)
  cp "$out" before
  predict --json --plan "$plan" "$@"
  json "measured $name, read back" 'a["arena_bytes"] == b["arena_bytes"] and a["plan"] == b["plan"]'
  run --json --quiet --search motes --measure --plan-time 2 --input measured.raw --dump-output measured.floats "$@"
  json "measured $name, run" 'a["measured_resident_bytes"] <= a["predicted_resident_bytes"]'
  run --quiet --plan 1x1 --algorithm direct --input measured.raw --dump-output whole.floats "$@"
  check "measured $name, bits" 'they differ' cmp measured.floats whole.floats
}
head -c $((96 * 64 * 3 * 4)) /dev/zero >measured.raw
measured plain.cfg plain.weights
measured plain.cfg plain.packed
run --search motes:measure --memory 64K --input measured.raw plain.cfg plain.weights
refuses 'measured, no room' 3 'measuring the time of a plan needs'
predict --search motes --measure --memory 64K plain.cfg plain.weights
check 'measured, no room for the plan' "exit status $code: $(cat "$err")" grep -q 'does not fit: needs' "$err"

# ---- The reserve

predict --json --memory 64M plain.cfg
cp "$out" before
predict --json --memory 64M --reserve 5M plain.cfg
json reserve 'a["breakdown"]["reserve"] == 5 << 20 and 0 < b["breakdown"]["reserve"] < 1 << 20' \
  'abs(a["least_charge_bytes"] - b["least_charge_bytes"] - (5 << 20) + b["breakdown"]["reserve"]) <= 131072' "$adds_up"
needed=$(field least_charge_bytes)
predict --memory $((needed + 131072)) --reserve 5M plain.cfg
expect reserve-fits 0
says reserve-text '^kept free +5.0$'
predict --memory $((needed - 131072)) --reserve 5M plain.cfg
expect reserve-unfit 3 '; no plan was found that needs less; it would without its reserve'
predict --json --reserve 0 plain.cfg
json reserve-none 'a["breakdown"]["reserve"] == 0' "$adds_up"
rm before

# ---- Plans that do not fit

predict --memory 1 plain.cfg
expect unfit 3 'would do; no plan was found that needs less'
says unfit-text '^fits +no: needs [0-9.]+ MiB, the budget \(--memory\) is 0.0 MiB$'
predict --memory 1 --json plain.cfg
expect unfit-json 3 'plain.cfg: does not fit: needs '
json unfit-answer "$all" 'a["fits"] is False and a["memory_budget_bytes"] == 1 and a["budget_source"] == "--memory"' \
  'a["plan"] == a["least_plan"] and abs(a["predicted_charge_bytes"] - a["least_charge_bytes"]) <= 65536'
needed=$(field least_charge_bytes)
check unfit-names "found: $(cat "$err")" grep -qE ' needs [0-9]+\.[0-9] MiB, the budget \(--memory\) is 0\.0 MiB; --memory [0-9]+K would do' "$err"
check unfit-need "found: $(cat "$err")" awk -v bytes="$needed" 'match($0, /needs [0-9.]+/) { x = substr($0, RSTART + 6, RLENGTH - 6) * 1048576 - bytes } END { exit !(x >= -65536 && x <= 175000) }' "$err"
predict --memory $((needed + 65536)) --json plain.cfg
expect enough 0
json enough-fits 'a["fits"] and a["predicted_charge_bytes"] <= a["memory_budget_bytes"]'
predict --memory 1 --best-effort plain.cfg
expect best-effort 0
predict --memory 1 --plan 2x2 --json plain.cfg
expect unfit-plan 3 'does not fit: needs'
json unfit-plan-least 'a["plan"] == "2x2/NoCut" and not a["fits"] and a["least_charge_bytes"] < a["predicted_charge_bytes"]'
run --memory 1 $files
expect run-unfit 3 'would do; no plan was found that needs less'
check run-unfit-need "found: $(cat "$err")" grep -qE ' needs [0-9]+\.[0-9] MiB, the budget \(--memory\) is 0\.0 MiB' "$err"
enough=$(sed -nE 's/.*; --memory ([0-9]+K) would do(;.*)?$/\1/p' "$err")
run --memory "${enough:-1}" --quiet $files
expect run-enough 0
run --memory 1 --quiet --best-effort $files
expect run-best-effort 0

# ---- Tables

rises='all(x["predicted_charge_bytes"] < y["predicted_charge_bytes"] and x["predicted_latency_ms"] > y["predicted_latency_ms"] for x, y in zip(a, a[1:]))'
monotone='all(x["predicted_latency_ms"] >= y["predicted_latency_ms"] for x, y in zip(a, a[1:]) if x["fits"]) and
  all(x["memory_budget_bytes"] < y["memory_budget_bytes"] and x["fits"] <= y["fits"] for x, y in zip(a, a[1:]))'
within='all(r["fits"] == (r["predicted_charge_bytes"] <= r["memory_budget_bytes"]) for r in a)'
for network in plain.cfg $cfgs/yolov2.cfg; do
  [ -r "$network" ] || continue
  name=$(basename "$network" .cfg)
  predict --sweep --json "$network"
  expect "sweep $name" 0
  json "sweep $name table" "$monotone" "$within" 'all(r["fits"] for r in a)' 'all(r["plan"] for r in a)'
  cp "$out" before
  predict --sweep "$network"
  says "sweep $name head" '^budget_MiB +fits +needs_MiB +ms +fp16_MiB +fp16_ms +int8_MiB +int8_ms +int4_MiB +int4_ms +plan$'
  rows=$(grep -cE '^ *[0-9.]+ +(yes|no) +[0-9.]+ +[0-9.]+( +[0-9.]+ +([0-9.]+|-)){3} +[^ ]+$' "$out")
  check "sweep $name rows" "$rows rows: $(cat "$out")" test "$rows" = "$(python3 -c 'import json; print(len(json.load(open("before"))))')"
  predict --sweep 64M,1M,8M,8192M --json "$network"
  json "sweep $name sizes" '[r["memory_budget_bytes"] >> 20 for r in a] == [1, 8, 64, 8192]' "$monotone" "$within" 'not a[0]["fits"]'
  predict --pareto --json "$network"
  expect "pareto $name" 0
  json "pareto $name front" "$rises" 'sum(r["taken"] for r in a) == 1' 'b[-1]["plan"] == a[-1]["plan"]'
  rm before
done
# The prediction for narrower weights matches the packed model. Kept weights are halved at each step, apart from scales and
# the scratch for widening.
predict --sweep 1M,64M --json plain.cfg
cp "$out" before
says_of() { printf '[p for p in %s[1]["packed"] if p["weights"] == "%s"][0]' "$1" "$2"; }
json packings '[p["weights"] for p in a[0]["packed"]] == ["fp16", "int8", "int4"]' 'not any(p["fits"] for p in a[0]["packed"])' \
  'all(p["fits"] and p["plan"] and p["predicted_latency_ms"] > 0 for p in a[1]["packed"])' \
  "$(says_of a int8)[\"predicted_charge_bytes\"] < $(says_of a fp16)[\"predicted_charge_bytes\"] < a[1][\"predicted_charge_bytes\"]"
for type in fp16 int8 int4; do
  "$build/pack_weights" --quiet --weights $type plain.cfg plain.weights $type.packed
  predict --sweep 1M,64M --json $type.packed
  json "packed as $type" "a[1][\"plan\"] == $(says_of b $type)[\"plan\"]" \
    "abs(a[1][\"predicted_charge_bytes\"] - $(says_of b $type)[\"predicted_charge_bytes\"]) <= 64 << 10" \
    "abs(a[1][\"predicted_latency_ms\"] / $(says_of b $type)[\"predicted_latency_ms\"] - 1) < 0.01"
done
json 'none smaller than int4' 'a[1]["packed"] == []'
rm before
predict --sweep=64M plain.cfg
check sweep-equals "exit status $code: $(cat "$out")" test "$code" -eq 0 -a "$(wc -l <"$out")" -eq 2
predict plain.cfg --sweep
check sweep-last "exit status $code: $(cat "$err")" test "$code" -eq 0
predict --sweep 1K,2K plain.cfg
expect sweep-unfit 3 'the largest budget is 0.0 MiB'
check sweep-unfit-rows "found: $(cat "$out")" test "$(grep -c ' no ' "$out")" -eq 2
predict --pareto --memory 1 --json plain.cfg
expect pareto-unfit 3 'does not fit: needs '
json pareto-unfit-rows "$rises" 'not any(r["taken"] for r in a)'
predict --pareto plain.cfg
says pareto-head '^taken +needs_MiB +ms +plan$'
check pareto-taken "found: $(cat "$out")" test "$(grep -cE '^ +yes +' "$out")" -eq 1

# ---- The paper's

if [ -r $cfgs/yolov2.cfg ]; then
  sixteen="--layers 16 $cfgs/yolov2.cfg"
  predict --json --plan 1x1/NoCut $sixteen
  json paper '185 << 20 > a["paper_bytes"] > 170 << 20 and a["paper_bias_bytes"] == 31 << 20'
  predict --plan 1x1/NoCut $sixteen
  says paper-text '^paper +Algorithm 1 would say 17[0-9].[0-9] MiB, of which 31.0 MiB bias; layer 2, tile \(0, 0\)$'
  predict --json --plan 1x1/NoCut --predictor paper --bias 0 $sixteen
  json paper-bias 'a["paper_bytes"] < 150 << 20 and a["paper_bias_bytes"] == 0'
  predict --json --search greedy --memory 256M $sixteen
  json greedy 'a["plan"] == "1x1/NoCut" and a["search"] == "greedy" and a["paper_bytes"] < 256 << 20'
  predict --sweep --search greedy --json $sixteen
  check 'none of the greedy search' "found: $(cat "$out")" test "$(grep -c packed "$out")" = 0
  json greedy-sweep '[r["memory_budget_bytes"] >> 20 for r in a] == [16, 32, 48, 64, 80, 96, 128, 192, 256]' "$within" \
    'all(r["paper_bytes"] < r["memory_budget_bytes"] or r["plan"] == "5x5/8/2x2" for r in a)' 'a[0]["plan"] == "5x5/8/2x2"'
  # Exact bytes decide whether a plan fits, not the paper's predictor.
  predict --json --search greedy --memory 8M $sixteen
  expect greedy-unfit 3 'this is what the plan of --search greedy needs'
  json greedy-unfit-answer 'not a["fits"] and a["plan"] == "5x5/8/2x2"'
  predict --json --search greedy --memory 32M $sixteen
  json greedy-fits 'a["fits"] and a["paper_bytes"] > 32 << 20'
else
  skip paper 'the darknet package is not installed'
fi
predict --json --plan rows4/NoCut plain.cfg
json paper-rows '"paper_bytes" not in a'
bad paper-rows-asked "the paper's predictor knows grids only" --predict --predictor paper --plan rows4/NoCut plain.cfg
run --json --search greedy --memory 64M $files
check greedy-runs "exit status $code: $(cat "$err")" test "$code" -eq 0
json greedy-plan 'a["plan"].split("/")[0] in ("1x1", "2x2", "3x3", "4x4", "5x5")'
run --json --search best $files
check best-runs "exit status $code: $(cat "$err")" test "$code" -eq 0

# ---- Refusals

expects() { # OPTION WHAT VALUE...
  local option=$1 what=$2
  shift 2
  for text; do bad "$option '$text'" "$option expects $what, found $text" --predict "$option=$text" plain.cfg; done
}
expects --search 'best, least, fdt, motes, separable or greedy; on several devices deeperthings, fdto, layers or best' '' fast Best
expects --delta 'a number from 1 to 1000, such as 1.05' '' 0.9 nan 1.05x
expects --beam 'a number from 1 to 64' '' 0 65 8x
bad 'delta without motes' '--delta makes no sense with --search best: it expects --search motes' --predict --delta 1.1 plain.cfg
bad 'cells that do not rise' 'expected a layer between 1 and ' --predict --search motes:cells=0,0 plain.cfg
bad 'a word that is none' '--search motes expects words of its own (delta, measure, beam, cells), found beem' --predict --search motes:beem=4 plain.cfg
bad 'a word of another search' '--search best expects no words, found beam' --predict --search best:beam=4 plain.cfg
bad 'a word out of range' '--search motes: beam expects a number from 1 to 64, found 65' --predict --search motes:beam=65 plain.cfg
bad 'cells without motes' '--cells makes no sense with --search best: it expects --search motes' --predict --cells 1 plain.cfg
bad 'beam without motes' '--beam makes no sense with --search fdt: it expects --search motes' --predict --search fdt --beam 4 plain.cfg
bad 'measure without motes' '--measure makes no sense with --search best: it expects --search motes' --predict --measure $files
bad 'measure and least' '--measure makes no sense with --search least: it expects --search motes' --predict --search least --measure $files
bad 'measure and plan' '--measure makes no sense with --plan: the plan is given' --predict --measure --plan 1x1 $files
bad 'measure without weights' '--measure expects MODEL.weights beside plain.cfg: it runs plans' --predict --search motes --measure plain.cfg
bad 'measure on ranks' '--measure makes no sense with --search best: it expects --search motes' --predict --ranks 2 --measure $files
expects --predictor 'exact or paper' '' papers
expects --bias '0 or a size like 31M' '' -1 x 00x
expects --sweep 'up to 64 sizes like 8M,16M,64M' '' , 8M, ,8M 0 8M,,9M 8M,x "8M 9M"
bad 'too many sizes' '--sweep expects up to 64 sizes' --predict "--sweep=$(printf '1M,%.0s' {1..64})1M" plain.cfg
for option in --repeat=2 --names=x --thresh=0.1 --nms=0.1 --report; do
  bad "predict $option" "${option%=*} makes no sense with --predict: nothing is run" --predict $option plain.cfg
done
bad 'plan and search' '--search makes no sense with --plan' --search best --plan 2x2 $files
bad 'plan and sweep' '--sweep makes no sense with --plan' --predict --sweep --plan 2x2 plain.cfg
bad 'plan and pareto' '--pareto makes no sense with --plan' --predict --pareto --plan 2x2 plain.cfg
bad 'sweep and pareto' '--sweep makes no sense with --pareto' --predict --sweep --pareto plain.cfg
bad 'sweep and memory' '--sweep makes no sense with --memory' --predict --sweep --memory 1M plain.cfg
bad 'sweep and best effort' '--sweep makes no sense with --best-effort' --predict --sweep --best-effort plain.cfg
bad 'pareto and best effort' '--pareto makes no sense with --best-effort' --predict --pareto --best-effort plain.cfg
bad 'pareto and greedy' '--pareto makes no sense with --search greedy' --predict --pareto --search greedy plain.cfg
bad 'sweep alone' '--sweep expects --predict' --sweep $files
bad 'pareto alone' '--pareto expects --predict' --pareto $files
bad 'many words of a search' '--search: its words are too long' --predict --search "greedy:$(printf 'bias=31M,%.0s' {1..60})bias=31M" plain.cfg
bad 'many words of a predictor' '--predictor: its words are too long' --predict --plan 2x2 --predictor "paper:$(printf 'bias=31M,%.0s' {1..60})bias=31M" plain.cfg
bad 'predictor alone' '--predictor paper knows tiles only' --predict --predictor paper plain.cfg
bad 'predictor running' '--predictor paper knows tiles only' --predictor paper --plan 2x2 $files
bad 'bias alone' '--bias expects --predictor paper or --search greedy' --predict --bias 1M plain.cfg
bad 'nothing' 'expected MODEL.cfg [MODEL.weights [IMAGE]] with --predict, found 0 arguments' --predict
bad 'too much' 'with --predict, found 4 arguments' --predict $files a.ppm
bad 'input and image' '--input takes the place of images' --predict --input x $files
bad 'run without weights' 'expected MODEL.cfg MODEL.weights IMAGE..., found 1 argument' plain.cfg
bad 'no cfg' 'no-such.cfg: cannot open' --predict no-such.cfg
bad 'no weights' 'no-such.weights' --predict plain.cfg no-such.weights
bad 'no image' 'no-such.ppm: cannot open' --predict plain.cfg plain.weights no-such.ppm
bad 'no plan' 'expected a grid like 5x5' --predict --plan nonsense plain.cfg
bad 'too many layers' 'found 8' --predict --layers 8 plain.cfg
bad 'image of 17 channels' 'expected a network of 1 or 3 input channels' --predict channels17.cfg plain.weights a.ppm
predict --json no-such.cfg
expect error-json-status 2 'cannot open'
json error-json 'a["exit_code"] == 2 and "no-such.cfg" in a["error"]'
for kind in '' --json --sweep '--sweep --json' --pareto; do
  # shellcheck disable=SC2086 # options
  "$program" --predict $kind plain.cfg >/dev/full 2>"$err"
  code=$?
  check "full '$kind'" "exit status $code: $(cat "$err")" test "$code" -eq 1 -a "$(wc -l <"$err")" -eq 1
done

# ---- Measuring the machine

for arguments in --predict --json --layers=2 --plan=1x1 --sweep --search=best --threads=2; do
  bad "calibrate $arguments" "${arguments%=*} makes no sense with --calibrate: there is no model" --calibrate $arguments
done
bad 'calibrate a model' '--calibrate expects no model, found plain.cfg' --calibrate plain.cfg
XDG_CACHE_HOME=/dev/null/no run --calibrate --quiet
expect calibrate-nowhere 1 'cannot make the folder'
predict --json plain.cfg
json calibrated-not 'a["calibrated"] is False'
patience=300 run --calibrate --quiet # ten seconds of CPU
expect calibrate 0
says calibrate-text 'GFLOP/s'
says calibrate-path "^kept in $XDG_CACHE_HOME/mafat/calibration-"
check calibrate-left "found: $(ls "$XDG_CACHE_HOME/mafat")" test "$(ls -A "$XDG_CACHE_HOME/mafat" | wc -l)" -eq 1
predict --json plain.cfg
expect calibrated-predict 0
json calibrated 'a["calibrated"] is True' 'a["predicted_latency_ms"] > 0'
predict plain.cfg
says calibrated-text "^time .* \\(by this machine's calibration\\)$"

# ---- The group's limit is the budget

limiter=$build/memory_limit
grouped() { # LIMIT ARGUMENT...: runs in a new group; $folder/group is its report
  local limit=$1
  shift
  timeout 60 "$limiter" --limit "$limit" --json -o "$folder/group" -- "$program" "$@" >"$out" 2>"$err"
  code=$?
}
# nested OUTER INNER ARGUMENT...: in a group inside one with another limit, on control groups v1.
# Made here, because memory_limit refuses a limit above the outer one.
nested() {
  local outer=$1 inner=$2
  shift 2
  # shellcheck disable=SC2016 # the inner shell's
  timeout 60 "$limiter" --limit "$outer" --json -o "$folder/group" -- bash -c '
    group=$1$(sed -n "s/^[0-9]*:memory://p" /proc/self/cgroup)/inner
    mkdir "$group" && echo "$2" >"$group/memory.limit_in_bytes" && echo 0 >"$group/cgroup.procs" && exec "${@:3}"' \
    bash "$mount" "$inner" "$program" "$@" >"$out" 2>"$err"
  code=$?
}
limiter_says() { python3 -c 'import json, sys; print(json.loads(sys.argv[1])[sys.argv[2]] or "")' "$limits" "$1"; }
if [ ! -x "$limiter" ]; then
  skip group "$limiter is not built"
elif ! limits=$("$limiter" --check --json); then
  skip group "$(limiter_says reason)"
else
  if [ "$(limiter_says cgroup)" = v1 ]; then
    mount=$(limiter_says mount)
    nested 24M 48M --predict --json plain.cfg
    json group-outer 'a["memory_budget_bytes"] == 24 << 20 and a["budget_source"] == "cgroup limit" and a["fits"]'
    nested 24M 20M --predict --json plain.cfg
    json group-inner 'a["memory_budget_bytes"] == 20 << 20 and a["budget_source"] == "cgroup limit"'
  else
    skip group-nested 'groups in groups are tried on control groups v1'
  fi
  grouped 20M --predict --json --memory 30M plain.cfg
  json group-memory 'a["memory_budget_bytes"] == 30 << 20 and a["budget_source"] == "--memory"'
  grouped 20M --quiet --json $files
  json group-run 'a["memory_budget_bytes"] == 20 << 20 and a["predicted_charge_bytes"] <= 20 << 20'
  if [ -r $cfgs/yolov2.cfg ]; then
    grouped 8M --predict --json $cfgs/yolov2.cfg # predicting needs little memory
    check group-small "$(cat "$folder/group" "$err")" python3 -c 'import json, sys; a = json.load(open(sys.argv[1]))
sys.exit(a["exit_status"] not in (0, 2, 3) or (a["peak_bytes"] or 0) > 8 << 20)' "$folder/group"
    json group-small-budget 'a["memory_budget_bytes"] == 8 << 20'
  fi
fi
exit $failed
