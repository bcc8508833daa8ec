#!/usr/bin/env bash
# Runs programs on files that return less than requested, are slow, change, shrink or fail while
# being read, and on disks that are full or lose power (hostile_files.c): results must be right or
# a failure reported, outputs complete or missing. Run from the project's root; BUILD names the
# build folder.
set -u
build=$(realpath "${BUILD:-build}")
# shellcheck disable=SC2034 # by tests/check.sh
suite=hostile
# shellcheck source=tests/check.sh
. tests/check.sh
dir=$(mktemp -d) || exit 1
files=$dir/files
pid=
# shellcheck disable=SC2016 # then
at_end 'fusermount3 -u -q "$files"; [ -z "$pid" ] || wait "$pid"; rm -rf "$dir"'
out=$dir/out err=$dir/err
mkdir "$files"
if [ ! -x "$build/hostile_files" ] || [ ! -w /dev/fuse ] || ! command -v fusermount3 >/dev/null; then
  skip everything 'needs libfuse3, fusermount3 and /dev/fuse'
  exit 0
fi
"$build/hostile_files" "$files" >"$dir/log" 2>&1 &
# shellcheck disable=SC2034 # at the end
pid=$!
for _ in $(seq 100); do
  if [ -e "$files/.control" ] || ! kill -0 $pid; then break; fi
  sleep 0.05
done
if [ ! -e "$files/.control" ]; then
  skip everything "cannot mount here: $(head -n 1 "$dir/log")"
  exit 0
fi

how() { # WORDS...: resets, then sets each behaviour
  echo off >"$files/.control"
  for word in "$@"; do echo "$word" >"$files/.control"; done
}
shapes=models/shapes
cp $shapes/shapes.cfg $shapes/shapes.weights "$files/"
cp $shapes/holdout/000000.jpg "$files/picture.jpg"
"$build/pack_weights" --quiet $shapes/shapes.cfg $shapes/shapes.weights "$dir/packed" || exit 1
"$build/make_weights" --quiet $shapes/shapes.cfg "$dir/made" || exit 1
cp "$dir/packed" "$files/packed"
timeless() { sed 's/ in [0-9.]* ms, memory [0-9. of]* MiB//'; }
kept=("$files/shapes.cfg" "$files/shapes.weights" "$files/picture.jpg")
packed=("$files/packed" "$files/picture.jpg")
plans=('1x1/NoCut' 'rows1:streamed/NoCut' '1x1:loaded/6/1x1:loaded')
for i in 0 1 2; do # results of each plan, whose algorithms may give other bits
  "$build/run_inference" --quiet --plan "${plans[i]}" "${kept[@]}" | timeless >"$dir/answer$i"
done
program=$build/run_inference
patience=120

# reads NAME: all plans give the usual results, from Darknet's files and packed ones
reads() {
  local i model
  for i in 0 1 2; do
    for model in kept packed; do
      local -n words=$model
      run --quiet --plan "${plans[i]}" "${words[@]}"
      expect "$1, $model, ${plans[i]}" 0
      timeless <"$out" | cmp -s - "$dir/answer$i" || fail "$1, $model, ${plans[i]}" 'another answer'
    done
  done
}
for less in 1 17 4096 100000; do
  how "short $less"
  reads "short by $less"
done
how 'slow 5' 'short 70000'
reads slow
how 'slow 3' 'short 3000'
"$build/pack_weights" --quiet "$files/shapes.cfg" "$files/shapes.weights" "$files/again" 2>"$err"
check 'packing from short reads' "$(cat "$err")" cmp "$files/again" "$dir/packed"
"$build/pack_weights" --quiet --check "$files/packed" 2>"$err"
check 'checking by short reads' "$(cat "$err")" test $? = 0
rm -f "$files/again"

# ---- files that change while they are read: before each of the first reads and some later ones

refused_in_a_line() { # NAME
  if [ "$code" != 1 ] && [ "$code" != 2 ]; then fail "$1" "exit status $code: $(head -c 200 "$err")"; fi
  [ "$(wc -l <"$err")" = 1 ] || fail "$1" "not one line: $(head -c 300 "$err")"
}
# answers_or_fails NAME PLAN-NUMBER STATUS...: the run was right, or failed with one line
answers_or_fails() {
  if [ "$code" = 0 ]; then
    timeless <"$out" | cmp -s - "$dir/answer$2" || fail "$1" "a wrong answer: $(head -c 200 "$out")"
  else refused_in_a_line "$1"; fi
}
refused=0 right=0
# disturbed FILE CHANGE MODEL: changes the file during runs, restoring it each time
disturbed() {
  local i k name
  local -n words=$3
  for i in 0 1 2; do
    for k in 0 1 2 3 4 6 9 14 40; do
      cp "$dir/$1" "$files/$1" && how "at $k $2 $1"
      name="$1, $2 before read $k, ${plans[i]}"
      run --quiet --plan "${plans[i]}" "${words[@]}"
      answers_or_fails "$name" $i
      if [ "$code" = 0 ]; then right=$((right + 1)); else refused=$((refused + 1)); fi
    done
  done
}
cp $shapes/shapes.cfg $shapes/shapes.weights "$dir/"
cp $shapes/holdout/000000.jpg "$dir/picture.jpg"
for change in shrink grow fail gone touch rewrite; do
  disturbed packed $change packed
  if [ $change != rewrite ]; then disturbed shapes.weights $change kept; fi # other floats are a valid model, too
  if [ $change = rewrite ] || [ $change = shrink ] || [ $change = fail ]; then
    cp "$dir/shapes.weights" "$files/"
    cp "$dir/packed" "$files/"
  fi
done
check 'changes are noticed' "$refused refused, $right right" test "$refused" -gt 20 -a "$right" -gt 20
ok "files that change: $refused refused, $right answered, and right"
cp "$dir/packed" "$dir/shapes.weights" "$files/"
for change in shrink fail; do
  for k in 0 1 2 3; do
    cp "$dir/picture.jpg" "$files/picture.jpg" && how "at $k $change picture.jpg"
    run --quiet "${kept[@]}"
    # Half a picture gives other valid boxes.
    if [ "$code" != 0 ]; then refused_in_a_line "picture, $change before read $k"; fi
    cp "$dir/picture.jpg" "$files/picture.jpg"
    cp "$dir/shapes.cfg" "$files/shapes.cfg" && how "at $k $change shapes.cfg"
    run --quiet "${kept[@]}"
    answers_or_fails "cfg, $change before read $k" 0
    cp "$dir/shapes.cfg" "$files/shapes.cfg"
  done
done
# Weights read in every run, rewritten between runs by another program, or replaced by another
# file.
cp "$dir/picture.jpg" "$dir/shapes.cfg" "$files/"
for change in rewrite touch gone; do
  for k in 5 20 60 120; do
    cp "$dir/packed" "$files/packed" && how "at $k $change packed"
    run --quiet --repeat 8 --plan "${plans[1]}" "${packed[@]}"
    answers_or_fails "packed, $change before read $k of many" 1
    cp "$dir/shapes.weights" "$files/" && how "at $k touch shapes.weights"
    run --quiet --repeat 8 --plan "${plans[1]}" "${kept[@]}"
    answers_or_fails "weights, touched before read $k of many" 1
  done
done

# ---- completions: short ones and failures for each way of reading, if the kernel refuses the
# others

# without CALL...: runs run_inference with these calls failing
without() {
  local inject=()
  for call in "$@"; do inject+=(-e "inject=$call:error=ENOSYS"); done
  printf '#!/bin/sh\nexec strace -f -qq -o /dev/null -e trace=%s %s %s "$@"\n' "$(IFS=, && echo "$*")" "${inject[*]}" "$build/run_inference" >"$dir/refused"
  chmod +x "$dir/refused"
  program=$dir/refused
}
if ! strace -qq -o /dev/null true 2>/dev/null; then skip completions 'needs strace, and the right to trace'; else
  for way in aio thread; do
    if [ $way = aio ]; then without io_uring_setup; else without io_uring_setup io_setup; fi
    cp "$dir/packed" "$dir/shapes.weights" "$files/"
    for less in 1 4096 100000; do
      how "short $less"
      reads "$way, short by $less"
    done
    for change in fail shrink rewrite; do
      for k in 1 3 6 10 17; do
        cp "$dir/packed" "$files/packed" && how "at $k $change packed" 'slow 2'
        run --quiet --threads 2 --plan "${plans[1]}" "${packed[@]}"
        answers_or_fails "$way, $change before read $k" 1
      done
    done
    ok "$way: failing completions"
  done
  program=$build/run_inference
fi

# ---- outputs: a disk that becomes full, and one that loses power

how
cp "$dir/packed" "$dir/shapes.weights" "$dir/shapes.cfg" "$dir/picture.jpg" "$files/"
"$program" --quiet --json "${kept[@]}" >"$dir/found.json"
made=("$files/made" "$files/again" "$files/dumped" "$files/map.svg" "$files/drawn.png")
make_file() { # WHICH
  case $1 in
  0) "$build/make_weights" --quiet "$files/shapes.cfg" "${made[0]}" ;;
  1) "$build/pack_weights" --quiet "$files/shapes.cfg" "$files/shapes.weights" "${made[1]}" ;;
  2) "$program" --quiet --dump-output "${made[2]}" "${kept[@]}" ;;
  3) "$program" --quiet --predict --map "${made[3]}" --memory 64M "$files/shapes.cfg" ;;
  4) "$build/annotate" -q -o "${made[4]}" "$dir/found.json" ;;
  esac
}
nothing_left() {
  local left
  left=$(cd "$files" && find . -type f ! -name 'shapes.*' ! -name packed ! -name picture.jpg ! -name '.*')
  [ -z "$left" ] || fail "$1" "left: $left"
  rm -f "${made[@]}"
}
for which in 0 1 2 3 4; do
  name=$(basename "${made[which]}")
  if [ $which = 4 ] && [ ! -x "$build/annotate" ]; then
    skip "$name" 'annotate is not built'
    continue
  fi
  how
  make_file $which >"$out" 2>"$err"
  check "$name is made" "$(cat "$err")" test -s "${made[which]}"
  bytes=$(stat -c %s "${made[which]}")
  rm -f "${made[which]}"
  for left in 0 1 $((bytes / 3)) $((bytes / 2)); do # packed files have holes
    how "full $left"
    make_file $which >"$out" 2>"$err"
    code=$?
    refused_in_a_line "$name, $left bytes left"
    nothing_left "$name, $left bytes left"
  done
  for links in '' nolinks; do
    how ${links:+nolinks}
    make_file $which >"$out" 2>"$err"
    read -r changes parts <"$files/.verdict"
    check "$name is whole or not there${links:+, without links}" "after $parts of $changes changes it is a part" test "$parts" = 0 -a "$changes" -gt 1
    rm -f "${made[which]}"
  done
done
exit "$failed"
