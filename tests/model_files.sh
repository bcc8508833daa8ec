# shellcheck shell=bash
# shellcheck disable=SC2034 # for who sources this, and tests/check.sh
# Shared by tests of command lines with ONNX and TFLite files: a folder, programs that write such files there, and checks of
# refusals. Sourced from the project's root; BUILD names the build folder (default: build).
# shellcheck source=tests/check.sh
. tests/check.sh
root=$PWD
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d) || exit 1
at_end 'rm -rf "$dir"'
log=$dir/log out=$dir/out err=$dir/err patience=20
program=$build/run_inference

# writer NAME SOURCE...: compiles the C code on stdin with these files of tests/support to
# $dir/NAME
writer() {
  local cc to=$dir/$1
  shift
  read -ra cc <<<"${CC:-cc}"
  cat >"$to.c"
  "${cc[@]}" -std=c11 -D_GNU_SOURCE -I"$root" -o "$to" "$to.c" "${@/#/$root/tests/support/}" >"$log" 2>&1 && return
  fail 'what writes the models' "$(head -n 1 "$log")"
  exit 1
}

# shellcheck disable=SC2317 # called by check
tells() { grep -qe "$1" "$err"; } # PATTERN
# refuses_model COMMAND NAME PATTERN OPTION...: the command must refuse these options with one
# matching line
refuses_model() {
  local command=$1 name=$2 pattern=$3 status
  "$command" "${@:4}"
  status=$?
  check "$name" "status $status: $(head -c 200 "$err")" test "$status" -eq 2 -a "$(wc -l <"$err")" -eq 1
  check "$name, told" "$(head -c 200 "$err")" tells "$pattern"
}
