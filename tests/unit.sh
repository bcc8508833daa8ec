#!/usr/bin/env bash
# Runs the unit tests suite by suite, as many at once as there are CPUs, and prints their outputs
# in order. BUILD names the build folder. unit.sh SUITE: only this one.
set -u
program=${BUILD:-build}/unit_tests
export CK_DEFAULT_TIMEOUT=60 # Check's default of 4 seconds is too short on a busy machine

# Suites in which a process for each test takes longer than the tests: all tests share one, and get
# their own if it dies.
shared=' kernels fusion joins '

suite() {
  local said status=0 fork=yes
  case $shared in *" $1 "*) fork=no ;; esac
  said=$(CK_FORK=$fork timeout 600 "$program" "$1" 2>&1) || status=$?
  if [ $fork = no ] && ! grep -q '^[0-9]*%: Checks: ' <<<"$said"; then
    status=0
    said=$("$program" "$1" 2>&1) || status=$?
  fi
  # the process died, perhaps by its own fault
  if [ $status != 0 ] && ! grep -qE '^[0-9]+%: .*(Failures|Errors): [1-9]' <<<"$said"; then
    said+=$'\n'"FAIL unit tests, $1: exit status $status"
  fi
  printf '%s\n' "$said"
}

if [ $# = 1 ]; then suite "$1"; else
  # The longest suites first. In a sample (check) no suite searches for a quarter of its time.
  left_out=' '
  [ "${MAFAT_TEST_SIZE:-}" != check ] || left_out=' motes separable '
  { printf '%s\n' motes streaming image_damage image_memory image_scans executor kernels && "$program" --list; } |
    awk -v left_out="$left_out" '!seen[$0]++ && !index(left_out, " " $0 " ")' | xargs -P "$(nproc)" -n 1 "$0"
fi
