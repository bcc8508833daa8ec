#!/usr/bin/env bash
# Checks run_inference's sandbox: everything that a run needs works inside; a misbehaving decoder
# is contained; messages without a sandbox. Run from the project's root; BUILD names the build
# folder.
set -u

build=$(realpath "${BUILD:-build}")
program=$build/run_inference
# shellcheck source=tests/check.sh
. tests/check.sh
dir=$(mktemp -d) || exit 1
at_end 'rm -rf "$dir"'
# shellcheck disable=SC2034 # by tests/check.sh
out=$dir/out err=$dir/err suite=sandbox
shapes=$PWD/models/shapes
files=("$shapes/shapes.cfg" "$shapes/shapes.weights")
picture=$(find "$shapes/holdout" -name '*.jpg' | sort | head -n 1)

timeless() { sed 's/ in [0-9.]* ms, memory [0-9. of]* MiB//'; }

# ---- Normal runs

run --sandbox on --quiet "${files[@]}" "$picture"
if [ "$code" = 1 ] && grep -q -e '--sandbox on: ' "$err"; then
  skip everything "$(cat "$err")"
  run --report --quiet "${files[@]}" "$picture"
  check 'auto goes on without' "found: $(cat "$err")" test "$code" = 0
  exit "$failed"
fi
run --sandbox off --quiet "${files[@]}" "$picture"
timeless <"$out" >"$dir/plain"

inside() { # NAME ARGUMENT...: the same result inside and outside
  local name=$1
  shift
  run --sandbox on --quiet "$@"
  expect "$name" 0
  check "$name: the same" 'it is not' cmp <(timeless <"$out") "$dir/plain"
}
inside 'a JPEG' "${files[@]}" "$picture"
inside 'two threads' --threads 2 "${files[@]}" "$picture"
inside 'weights that are read again' --plan rows1:streamed/NoCut "${files[@]}" "$picture"
inside 'weights of each group' --threads 2 --plan 1x1:loaded/6/1x1:loaded "${files[@]}" "$picture"
inside 'marks' --marks "$dir/marks" "${files[@]}" "$picture"
check 'marks are written' 'they are not' test -s "$dir/marks"
inside 'an output' --dump-output "$dir/output" "${files[@]}" "$picture"
check 'an output is written' 'it is not' test -s "$dir/output"
check 'and nothing beside it' "found: $(ls "$dir")" test "$(find "$dir" -name 'output*' | wc -l)" = 1
inside 'an output over another' --dump-output "$dir/output" "${files[@]}" "$picture"
(cd "$dir" && "$program" --sandbox on --quiet --dump-output here "${files[@]}" "$picture" >/dev/null)
check 'an output in this folder' 'it is not written' cmp "$dir/here" "$dir/output"
inside 'an output to nowhere' --dump-output /dev/null "${files[@]}" "$picture"
run --sandbox on --quiet --dump-output "$dir/none/output" "${files[@]}" "$picture"
expect 'an output into no folder' 2 'none/output: cannot create'
run --sandbox on --quiet --dump-output "$dir" "${files[@]}" "$picture"
expect 'a folder for an output' 2 'expects a file, found the folder'
head -c $((3 * 160 * 160 * 4)) /dev/zero >"$dir/zeros"
for plan in 1x1/NoCut rows1/NoCut; do
  run --sandbox on --quiet --plan $plan --input "$dir/zeros" "${files[@]}"
  expect "an input of numbers, $plan" 0
done

# Peak resident bytes of a small process: code used only by the sandbox would add 64 KB.
printf '[net]\nwidth=8\nheight=8\nchannels=3\n[convolutional]\nfilters=8\nsize=1\nactivation=linear\n' >"$dir/small.cfg"
{ printf 'P6\n8 8\n255\n'; head -c 192 /dev/zero; } >"$dir/small.ppm"
"$build/make_weights" --quiet "$dir/small.cfg" "$dir/small.weights"
for sandbox in off on; do
  program=$build/resident_peak run "$dir/peak-$sandbox" "$program" --quiet --sandbox $sandbox "$dir/small.cfg" "$dir/small.weights" "$dir/small.ppm"
done
if [ "$code" = 125 ]; then
  skip 'resident at most' "$(tail -n 1 "$err")"
else
  more=$(($(cat "$dir/peak-on") - $(cat "$dir/peak-off")))
  check 'resident at most' "exit status $code; $more bytes more than without, expected at most 16384" test "$code" -eq 0 -a "$more" -le 16384
fi

printf '%s\n' "$picture" "$picture" >"$dir/list"
"$program" --sandbox on --quiet "${files[@]}" - <"$dir/list" >"$dir/two" 2>"$err"
check 'a list' "$(cat "$err")" cmp <(timeless <"$dir/two") <(cat "$dir/plain" "$dir/plain")
run --sandbox on --predict --map "$dir/map.svg" "${files[@]}"
check 'a map' "$(cat "$err")" test -s "$dir/map.svg"
run --json --report "${files[@]}" "$picture"
check 'it is reported' "found: $(cat "$out")" grep -q '"sandbox":"seccomp' "$out"
run --report --sandbox off "${files[@]}" "$picture"
check 'off is reported' "found: $(cat "$out")" grep -q 'sandbox: off' "$out" "$err"
run --json --sandbox off "${files[@]}" "$picture"
check 'off is in the JSON' "found: $(cat "$out")" grep -q '"sandbox":"off"' "$out"
bad 'a word that is none' '--sandbox expects auto, on or off' --sandbox maybe "${files[@]}" "$picture"

# ---- A decoder that misbehaves

# shellcheck disable=SC2086 # a compiler may be a command with a word before it
${CC:-cc} -shared -fPIC -o "$dir/misbehave.so" tests/sandbox/misbehave.c -ldl || { fail everything "the decoder that misbehaves cannot be built"; exit 1; }
program=$build/run_inference_dynamic
misbehaves() { # ARGUMENT...: runs a misbehaving decoder; its report is in $err
  echo kept >"$dir/kept"
  MISBEHAVE_FILE=$dir/kept MISBEHAVE_NEW=$dir/new MISBEHAVE_FOLDER=$dir LD_PRELOAD=$dir/misbehave.so timeout 60 "$program" --quiet "$@" "${files[@]}" "$picture" >"$out" 2>"$err"
}
misbehaves --sandbox off
check 'outside it may' "found: $(cat "$err")" grep -q 'make a file: done' "$err"
rm -rf "$dir/new"

tried='change an open file.s rights|make a program|bind another|have others signalled|write to a file|append to a file|make a file|make a file without a name|empty a file|remove a file|rename a file|link a file|make a folder|change rights|connect|connect locally|fork|make a thread|trace|signal|make code|map code|make a ring|open by handle|read another.s memory|mount|execute'
memory="open another's memory"
landlock=0
"$program" --report "${files[@]}" "$picture" 2>&1 | grep Landlock >"$dir/landlock" && landlock=1
refused() { # NAME: nothing succeeded, and the picture was decoded
  check "$1: it decodes all the same" "$(cat "$err")" cmp <(timeless <"$out") "$dir/plain"
  confined "$1"
}
confined() { # NAME: nothing succeeded but reading
  check "$1: it may read" "$(cat "$err")" grep -q 'read a file: done' "$err"
  check "$1: all is tried" "$(cat "$err")" test "$(grep -cE "misbehave: ($tried): " "$err")" = 27
  check "$1: nothing else is done" "$(grep ': done' "$err")" test "$(grep -v "$memory" "$err" | grep -c ': done')" = 1
  check "$1: for lack of rights" "$(cat "$err")" test "$(grep -v "$memory" "$err" | grep -cE ': (Operation not permitted|Permission denied)$')" = 27
  # A path, which only Landlock checks; some kernels refuse it themselves.
  if [ "$landlock" = 0 ]; then skip "$1: others' memory" 'the kernel has no Landlock'; return; fi
  check "$1: others' memory" "$(cat "$err")" grep -qE "$memory: (Operation not permitted|Permission denied)$" "$err"
  check "$1: nothing is left" "found: $(ls "$dir")" test "$(cat "$dir/kept")" = kept -a ! -e "$dir/new"
}
misbehaves
refused 'auto'
misbehaves --threads 2 --plan rows1:streamed/NoCut
refused 'with a ring'
mkdir "$dir/outputs"
misbehaves --dump-output "$dir/outputs/output"
for what in "change an open file's rights" 'make a program'; do
  check "with an output, and no Landlock: $what" "$(cat "$err")" grep -q "misbehave: $what: Operation not permitted" "$err"
done
if [ "$landlock" = 1 ]; then
  refused 'with an output elsewhere'
else
  skip 'with an output elsewhere' 'the kernel has no Landlock'
fi

# ---- The same in a server, between two requests

if [ ! -x "$build/mafat_serve_dynamic" ] || ! command -v python3 >/dev/null; then skip mafat_serve 'needs mafat_serve_dynamic and python3'; exit "$failed"; fi
MISBEHAVE_FILE=$dir/kept MISBEHAVE_NEW=$dir/new MISBEHAVE_FOLDER=$dir LD_PRELOAD=$dir/misbehave.so \
  "$build/mafat_serve_dynamic" --listen 127.0.0.1:0 "${files[@]}" 2>"$err" &
server=$!
at_end 'kill -KILL "$server" 2>/dev/null; rm -rf "$dir"'
for _ in {1..600}; do
  grep -q 'needs at most' "$err" && break
  kill -0 $server 2>/dev/null || break
  sleep 0.1
done
url=$(sed -n 's/.*listens at //p' "$err")
boxes() { python3 -c 'import json, sys, urllib.request as u; print(len(json.load(u.urlopen(sys.argv[1], open(sys.argv[2], "rb").read()))["detections"]))' "$url" "$picture"; }
found="$(boxes) $(boxes)"
kill $server
wait $server
code=$?
check 'mafat_serve: it answers all the same' "found $found; $(cat "$err")" test "$found" = "$(grep -c % "$dir/plain") $(grep -c % "$dir/plain")"
check 'mafat_serve: it ends well' "exit status $code" test "$code" = 0
confined 'mafat_serve'
exit "$failed"
