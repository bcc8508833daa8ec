#!/usr/bin/env bash
# Checks mafat_ranks on one host: any number of ranks gives the bits of one device; distribution of
# weights; refusals; --predict --ranks, which needs no MPI. ranks_killed.sh kills ranks. Run from
# the project's root; BUILD names the build folder.
set -u

build=$(realpath "${BUILD:-build}")
program=$build/run_inference
# shellcheck source=tests/check.sh
. tests/check.sh
dir=$(mktemp -d) || exit 1
at_end 'rm -rf "$dir"'
# shellcheck disable=SC2034 # by tests/check.sh
out=$dir/out err=$dir/err suite=ranks
shapes=$PWD/models/shapes
files=("$shapes/shapes.cfg" "$shapes/shapes.weights")
picture=$(find "$shapes/holdout" -name '*.jpg' | sort | head -n 1)

# ---- Predictions

run --predict --ranks 3 --link 100M:0.2ms "${files[@]}"
expect 'ranks are predicted' 0
check 'every rank has a row' "$(cat "$out")" grep -qE '^ +2 .*[0-9.]+ +[0-9.]+' "$out"
check 'the fastest number is printed' "$(cat "$out")" grep -q fastest "$out"
run --predict --ranks 3 --json "${files[@]}"
check 'JSON has what each sends' "$(cat "$out")" python3 -c '
import json, sys
a = json.load(open(sys.argv[1]))
assert len(a["ranks"]) == 3 and len(a["numbers_of_ranks"]) == 3
assert sum(r["sent_bytes"] for r in a["ranks"]) == sum(r["received_bytes"] for r in a["ranks"]) == a["exchanged_bytes"] > 0
assert a["numbers_of_ranks"][0]["exchanged_bytes"] == 0' "$out"
run --predict --ranks 3 --memory 50K "${files[@]}"
check 'what a rank may have is kept to' "status $code, $(cat "$err")" test "$code" = 3 -a ! -s "$out"
check 'and it is named' "$(cat "$err")" grep -q '^run_inference: does not fit: rank [0-9] of 3 needs .* MiB, its budget (--memory) is 0.0 MiB; [0-9]*K would do' "$err"
run --predict --ranks 3 --memory 4M,4M,50K "${files[@]}"
check 'a budget for each' "$(cat "$err")" grep -q '^run_inference: does not fit: rank 2 of 3 needs .* MiB, its budget (--memory) is 0.0 MiB; [0-9]*K would do' "$err"
run --predict --ranks 3 --speed 3,1,1 --json "${files[@]}"
check 'a speed for each: the first of three has most to do' "$(cat "$out")" python3 -c '
import json, sys
ranks = json.load(open(sys.argv[1]))["ranks"]
sys.exit(not 3 * ranks[0]["compute_ms"] > 1.5 * max(rank["compute_ms"] for rank in ranks[1:]))' "$out"
run --predict --ranks 3 --speed 1,2 "${files[@]}"
check 'as many speeds as ranks' "$(cat "$err")" grep -q '^run_inference: --speed expects one number for each of 3 ranks, found 2' "$err"
for speeds in 0x10,1,1 1,1,inf '1, 1,1' 1,,1 1,1,; do
  run --predict --ranks 3 --speed "$speeds" "${files[@]}"
  check "no speeds: $speeds" "$(cat "$err")" grep -qF "run_inference: --speed expects how fast each device is beside this one, such as 1,0.5,0.5, found $speeds" "$err"
done
for link in 0x10 1G:0x1ms 1G:ms ' 1G'; do
  run --predict --ranks 3 --link "$link" "${files[@]}"
  check "no link: $link" "status $code, $(cat "$err")" test "$code" = 2 -a "$(grep -c '^run_inference: --link expects ' "$err")" = 1
done
run --predict --ranks 3 --plan-time 1 "${files[@]}"
check 'a time for a search that takes none' "$(cat "$err")" grep -q '^run_inference: --plan-time with --ranks expects --search best' "$err"
run --predict --ranks 3 --search best --json "${files[@]}"
mv "$out" "$dir/best.json"
run --predict --ranks 3 --search best --plan-time 60 --json "${files[@]}"
check 'in time enough the same plan is found' "$(diff "$out" "$dir/best.json" | head -c 300)" cmp "$out" "$dir/best.json"
run --predict --ranks 24 --search best --plan-time 0.2 --json "${files[@]}"
check 'in little time some plan of 24 ranks' "status $code, $(cat "$err")" python3 -c '
import json, sys
assert len(json.load(open(sys.argv[1]))["numbers_of_ranks"]) == 24' "$out"
run --predict --memory 1M,2M "${files[@]}"
check 'several sizes are for several devices' "$(cat "$err")" grep -q '^run_inference: --memory with 2 sizes expects --ranks' "$err"
run --predict --ranks 3 --memory 4M --search best "${files[@]}"
expect 'the best within it' 0
bad 'no link' '--link expects bits a second' --predict --ranks 2 --link fast "${files[@]}"
bad 'a link without ranks' '--link expects --ranks' --predict --link 1G "${files[@]}"
bad 'ranks that are to run' '--ranks expects --predict' --ranks 2 "${files[@]}" "$picture"
bad 'a sharing search on one device' '--search fdto shares layers out' --search fdto "${files[@]}" "$picture"
bad 'a search for one device' '--search least makes no sense on several devices: it expects deeperthings' --predict --ranks 3 --search least "${files[@]}"
bad 'a plan for others' 'expected a plan for 3 ranks, found one for 2' --predict --ranks 3 --plan 'split(h2:0)/ranks=2' "${files[@]}"

# ---- Ranks

python3 -c 'import random, sys; random.seed(1); sys.stdout.buffer.write(bytes(random.randrange(256) for _ in range(490)))' >"$dir/numbers"

if [ ! -x "$build/mafat_ranks" ] || ! command -v mpirun >/dev/null; then
  skip 'two ranks' 'no MPI (scripts/packages.sh ranks)'
  exit "$failed"
fi
options=()
if mpirun --version 2>/dev/null | grep -q 'Open MPI'; then options=(--oversubscribe --bind-to none); fi
[ "$(id -u)" != 0 ] || [ ${#options[@]} = 0 ] || options+=(--allow-run-as-root)
# ranks N ARGUMENT...: runs on N ranks
ranks() {
  local n=$1
  shift
  timeout 120 mpirun "${options[@]}" -n "$n" "$build/mafat_ranks" --quiet "$@" >"$out" 2>"$err"
  code=$?
}
# differ NAME LINE WORD...: rank 1 gets these arguments instead of the model's files
differ() {
  local name=$1 line=$2
  shift 2
  timeout 60 mpirun "${options[@]}" -n 1 "$build/mafat_ranks" --quiet "${files[@]}" "$picture" : \
    -n 1 "$build/mafat_ranks" --quiet "$@" "$picture" >"$out" 2>"$err"
  code=$?
  check "$name" "status $code, $(head -c 300 "$err")" test "$code" = 2 -a ! -s "$out" -a "$(grep -c '^mafat_ranks: ' "$err")" = 1
  check "$name: its line" "$(head -c 300 "$err")" grep -qE "^mafat_ranks: rank 1 \\([^)]*\\): $line" "$err"
}
timeless() { sed 's/ in [0-9.]* ms, memory [0-9. of]* MiB//'; }

# same NAME N ARGUMENT...: text and bits of one device, with direct convolution, on which continued
# sums depend
same() {
  local name=$1 n=$2
  shift 2
  ranks "$n" --algorithm direct --dump-output "$dir/ranks.npy" "${extra[@]}" "$@"
  timeless <"$out" >"$dir/text"
  if [ "$code" != 0 ]; then fail "$name" "exit status $code; $(head -c 300 "$err")"
  elif ! cmp -s "$dir/ranks.npy" "$dir/one.npy"; then fail "$name" 'other bits than on one device'
  else check "$name" "another text: $(head -n 3 "$dir/text")" cmp -s "$dir/text" "$dir/one"; fi
}
# alone ARGUMENT...
alone() {
  run --quiet --algorithm direct --dump-output "$dir/one.npy" "$@"
  expect "$1 on one device" 0
  timeless <"$out" >"$dir/one"
}
every() { # NAME ARGUMENT...
  local name=$1 n way
  shift
  alone "$@"
  for n in $numbers; do
    for way in deeperthings fdto layers best; do
      extra=(--search "$way")
      same "$name, $n ranks, $way" "$n" "$@"
    done
  done
}
numbers='2 3 5'
every shapes "${files[@]}" "$picture"
extra=(--plan 'split(h2:0-3)/NoCut/ranks=2')
same 'a plan of rows' 2 "${files[@]}" "$picture"
"$build/pack_weights" --quiet "${files[@]}" "$dir/shapes.packed" 2>/dev/null
extra=()
same 'a packed file' 2 "$shapes/shapes.cfg" "$dir/shapes.packed" "$picture"
models=${MAFAT_MODELS-}
if [ "${MAFAT_TEST_SIZE-}" = check ]; then
  skip 'trained networks' 'in make test'
elif [ -n "$models" ] && [ -d "$models" ]; then
  every mobilenet_v2 "$models/tflite/mobilenet_v2_1.0_224_quant.tflite" "$picture"
  every Yolo-Fastest "$models/yolo-fastest-1.1.cfg" "$models/yolo-fastest-1.1.weights" "$picture"
  numbers='2 3'
  every mobilenet_v1 "$models/tflite/mobilenet_v1_0.25_128_quant.tflite" "$picture"
  numbers='2 3 5'
  every kws --input "$dir/numbers" "$models/tflite/kws_ref_model.tflite"
  every squeezenet "$models/onnx/light_squeezenet.onnx" "$picture"
else
  skip 'trained networks' 'MAFAT_MODELS is not set'
fi

# Each rank has a budget, and a fitting distribution is found. (The smallest network has few
# panels: no other distribution, but a plan.)
alone "${files[@]}" "$picture"
extra=(--memory 1500K,1500K,700K)
same 'budgets by rank' 3 "${files[@]}" "$picture"
ranks 3 --memory 1500K,1500K "${files[@]}" "$picture"
check 'budgets of other ranks' "$(cat "$err")" grep -q '^mafat_ranks: --memory expects one size, or 3 for as many ranks, found 2' "$err"
ranks 3 --speed 1,2 "${files[@]}" "$picture"
check 'as many speeds as there are ranks' "$(cat "$err")" grep -q '^mafat_ranks: --speed expects one number for each of 3 ranks, found 2' "$err"
ranks 3 --memory 4M,4M,50K "${files[@]}" "$picture"
check 'one budget is too small' "status $code, $(cat "$err")" test "$code" = 3
check 'that of rank 2' "$(cat "$err")" grep -q 'does not fit: rank 2 of 3 needs .* MiB, its budget (--memory) is 0.0 MiB; [0-9]*K would do' "$err"

# Pictures pipelined over the ranks: in order, with the bits of one device; unreadable ones are
# reported in turn.
mapfile -t pictures < <(find "$shapes/holdout" -name '*.jpg' | sort)
head -c 2000 "${pictures[1]}" >"$dir/broken.jpg"
pictures=("${pictures[@]}" "$dir/missing.jpg" "${pictures[@]}" "$dir/broken.jpg" "${pictures[0]}")
run --quiet --json --algorithm direct "${files[@]}" "${pictures[@]}"
answers() { python3 -c 'import json, sys
for line in open(sys.argv[1]): a = json.loads(line); print(a["image"], a.get("detections"), a.get("error"))' "$1"; }
answers "$out" >"$dir/one"
for n in 2 3; do
  ranks "$n" --pipeline --json --algorithm direct "${files[@]}" "${pictures[@]}"
  answers "$out" >"$dir/pipelined"
  check "pictures in a pipeline of $n" "status $code, $(tail -n 1 "$err"), $(diff "$dir/one" "$dir/pipelined" | head -n 3)" cmp "$dir/one" "$dir/pipelined"
done
timeout 60 mpirun "${options[@]}" -n 2 "$build/mafat_ranks" --pipeline "${files[@]}" "${pictures[@]}" >"$out" 2>"$err"
check 'pictures a second are printed' "$(cat "$err")" grep -qE '^mafat_ranks: [0-9]+ pictures in [0-9.]+ s, [0-9.]+ a second' "$err"
ranks 2 --pipeline --search fdto "${files[@]}" "$picture"
check 'no pipeline of shared layers' "status $code, $(cat "$err")" grep -q 'pipeline expects a plan in which rank 0 has the first layers' "$err"
ranks 2 --pipeline --repeat 2 "${files[@]}" "$picture"
check 'nor of one picture' "status $code, $(cat "$err")" grep -q 'pipeline makes no sense with --repeat' "$err"

# Sums that may differ from one device's: reported, and close.
alone "${files[@]}" "$picture"
timeout 120 mpirun "${options[@]}" -n 3 "$build/mafat_ranks" --quiet --reduce fast --algorithm direct --dump-output "$dir/fast.npy" \
  "${files[@]}" "$picture" >"$out" 2>"$err"
check 'sums in another order: it is said' "$(cat "$err")" grep -q '^mafat_ranks: --reduce fast: .* not$' "$err"
check 'and they are near' "$(cat "$out" "$err")" python3 -c '
import struct, sys
a, b = (open(path, "rb").read()[128:] for path in sys.argv[1:])
a, b = (struct.unpack("%df" % (len(x) // 4), x) for x in (a, b))
assert len(a) == len(b) > 0 and all(abs(x - y) <= 1e-3 * max(1, abs(x)) for x, y in zip(a, b))' "$dir/one.npy" "$dir/fast.npy"
differ 'sums of another kind' 'its plan is not that of rank 0' --reduce fast "${files[@]}"

# Sent bytes, counted by the ranks, match the prediction.
for n in 2 3; do
  run --predict --ranks "$n" --json --algorithm direct "${files[@]}"
  python3 -c 'import json, sys; print(*(r["sent_bytes"] for r in json.load(open(sys.argv[1]))["ranks"]))' "$out" >"$dir/predicted"
  ranks "$n" --report --algorithm direct "${files[@]}" "$picture"
  sed -n 's/^mafat_ranks: rank \([0-9]*\) .* sent \([0-9]*\) bytes.*/\1 \2/p' "$err" | sort -n | cut -d' ' -f2 | paste -sd' ' >"$dir/counted"
  check "payload on $n ranks" "$(cat "$dir/predicted" "$dir/counted")" cmp "$dir/predicted" "$dir/counted"
done

# ---- Refusals

ranks 2 "$shapes/shapes.cfg" "$dir/missing.weights" "$picture"
check 'missing weights end all ranks' "status $code, $(cat "$err")" test "$code" = 2
check 'one of them says so' "$(cat "$err")" grep -qE '^mafat_ranks: rank 0 \([^)]*\): .*missing.weights' "$err"
ranks 2 --memory 100K "${files[@]}" "$picture"
check 'a budget that is too small' "status $code" test "$code" = 3
check 'names the rank' "$(cat "$err")" grep -qE 'does not fit: rank [01] of 2 needs' "$err"
head -c 2000 "$picture" >"$dir/broken.jpg"
ranks 2 "${files[@]}" "$picture" "$dir/missing.jpg" "$dir/broken.jpg" "$picture"
check 'a missing or broken picture is reported, the others run' "$(cat "$out")" test "$(grep -c detections "$out")" = 2 -a "$code" = 2
check 'each in a line' "$(cat "$err")" test "$(grep -cE 'missing.jpg: cannot open|broken.jpg: truncated' "$err")" = 2

# Ranks with different files: one line names the rank and the difference.
cp "${files[0]}" "$dir/other.cfg"
echo '# another' >>"$dir/other.cfg"
"$build/make_weights" --quiet "${files[0]}" "$dir/other.weights"
differ 'another model' 'its model file is not that of rank 0' "$dir/other.cfg" "${files[1]}"
differ 'other weights' 'its weights file is not that of rank 0' "${files[0]}" "$dir/other.weights"
differ 'another class of processor' "its processor's class is not that of rank 0 .*: plain instead of fused" --cpu portable "${files[@]}"
differ 'another plan' 'its plan is not that of rank 0' --search layers "${files[@]}"
differ 'another command line' 'unknown option --nothing' --nothing "${files[@]}"
differ 'no weights there' '.*missing.weights: cannot open' "${files[0]}" "$dir/missing.weights"
ranks 2 --search least "${files[@]}" "$picture"
check 'a search for one device' "status $code, $(head -c 300 "$err")" test "$code" = 2 -a ! -s "$out" -a "$(grep -c '^mafat_ranks: --search least makes no sense' "$err")" = 1
ranks 2 --search best --link fast "${files[@]}" "$picture"
check 'no link' "$(cat "$err")" grep -q '^mafat_ranks: --link expects bits a second' "$err"
ranks 2 --timeout soon "${files[@]}" "$picture"
check 'no time' "$(cat "$err")" grep -q '^mafat_ranks: --timeout expects seconds' "$err"
ranks 2 --timeout 0x10 "${files[@]}" "$picture"
check 'no decimal time' "$(cat "$err")" grep -q '^mafat_ranks: --timeout expects seconds' "$err"
timeout 60 mpirun "${options[@]}" -n 2 "$build/mafat_ranks" --help >"$out" 2>"$err"
check 'one rank helps' "$(cat "$err")" test "$(grep -c '^usage: mpirun' "$out")" = 1
timeout 60 mpirun "${options[@]}" -n 2 "$build/mafat_ranks" --version >"$out" 2>"$err"
check 'one rank says which it is' "$(cat "$err" "$out")" sh -c 'test "$(wc -l <"$1")" = 1 && grep -q "^mafat_ranks [0-9]" "$1"' sh "$out"

# ---- The thesis' tables: as in the page, and by a solver if installed

experiments/ranks/thesis.py >"$out" 2>"$err"
code=$?
check 'the programmes, solved' "status $code, $(cat "$out" "$err")" test "$code" = 0
check 'the tables of the page' "$(cat "$out")" sh -c 'grep "^|" "$1" | while read -r line; do grep -qF "$line" experiments/ranks/README.md || exit 1; done' sh "$out"

# ---- Separate hosts: data goes over their interfaces

if [ "${MAFAT_TEST_SIZE-}" = check ]; then
  skip 'hosts of their own' 'in make test'
else
  BUILD=$build timeout 120 experiments/ranks/run.py --quick >"$out" 2>"$err"
  code=$?
  if [ "$code" = 77 ]; then skip 'hosts of their own' "$(tail -n 1 "$err")"
  else check 'interfaces count what is sent' "status $code, $(cat "$out" "$err")" test "$code" = 0; fi
fi
exit "$failed"
