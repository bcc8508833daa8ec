#!/usr/bin/env bash
# Checks progress output: one line on a terminal, erased at the end; nothing elsewhere or with
# --quiet. Run from the project's root; BUILD names the build folder (default: build).
set -u
build=$(realpath "${BUILD:-build}")
# shellcheck disable=SC2034 # by tests/check.sh
suite=progress
work=$(mktemp -d) || exit 1
# shellcheck source=tests/check.sh
. tests/check.sh
at_end 'rm -rf "$work"'
shapes=models/shapes/shapes
if ! command -v script >/dev/null; then skip 'on a terminal' 'script is not installed'; exit 0; fi

on_terminal() { # COMMAND: its streams as a terminal receives them
  script -qec "$1" /dev/null </dev/null >"$work/seen"
  code=$?
  sed 's/\r/\n/g' "$work/seen" >"$work/lines"
}
# The final contents of the terminal, without overwritten and erased text.
stays() { sed -E 's/.*\x1b\[K//; s/\r$//; s/.*\r//' "$work/seen"; }
shows() { # NAME PATTERN COMMAND
  on_terminal "$3"
  check "$1" "exit status $code; $(head -c 300 "$work/lines")" test "$code" = 0
  check "$1: a bar" "$(head -c 300 "$work/lines")" grep -qE "$2" "$work/lines"
  check "$1: it goes" "stays: $(stays | head -c 300)" test -z "$(stays | grep -E "$2")"
}
silent() { # NAME COMMAND: prints nothing without a terminal, or on one with --quiet
  bash -c "$2" >"$work/out" 2>"$work/err" </dev/null
  check "$1: no terminal, no bar" "$(head -c 300 "$work/err")" test -z "$(tr -d -c '\r\033' <"$work/err")"
  on_terminal "${2/ / --quiet }"
  check "$1: --quiet, no bar" "$(head -c 300 "$work/lines")" test -z "$(tr -d -c '\033' <"$work/seen")"
}

pack="$build/pack_weights --force $shapes.cfg $shapes.weights $work/packed"
shows pack_weights 'packing \[#+ *\] +[0-9]+ %' "$pack"
silent pack_weights "$pack"
shows 'pack_weights --check' 'checking \[#+ *\] +100 %' "$build/pack_weights --check $work/packed"
run="$build/run_inference --memory 16M $shapes.cfg $shapes.weights models/shapes/holdout/000000.jpg models/shapes/holdout/000001.jpg"
shows pictures 'picture [12] of 2' "$run"
silent pictures "$run"
sweep="$build/run_inference --predict --sweep $shapes.cfg"
shows sweep 'looking for plans [1-4] of 4' "$sweep"
silent sweep "$sweep"
# A failure's line is not mixed with progress.
on_terminal "$build/run_inference --memory 16M --quiet $shapes.cfg $shapes.weights /nonexistent/a.jpg models/shapes/holdout/000001.jpg"
check 'a failure: exit status' "$code" test "$code" = 2
on_terminal "$build/run_inference --memory 16M $shapes.cfg $shapes.weights /nonexistent/a.jpg models/shapes/holdout/000001.jpg"
check 'a failure: its line is whole' "$(stays | head -n 2)" test "$(stays | grep -c '^run_inference: /nonexistent/a.jpg: ')" = 1
exit "$failed"
