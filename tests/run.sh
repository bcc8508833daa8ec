#!/usr/bin/env bash
# Every test of the project, one after the other: unit tests, golden hashes, command lines,
# the comparison with Debian's libdarknet, runs inside memory limits, a machine
# with control groups v2. Prints a summary last; exits 1 when anything failed. BUILD names the build folder.
set -u
export BUILD=${BUILD:-build}
passed=0 failed=0 skipped=0

count() { # adds a script's ok / FAIL / skip lines to the totals
  passed=$((passed + $(grep -c '^ok ' "$1")))
  failed=$((failed + $(grep -c '^FAIL ' "$1")))
  skipped=$((skipped + $(grep -c '^skip ' "$1")))
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT

echo "== unit tests"
status=0
"$BUILD/unit_tests" >"$log" 2>&1 || status=$?
if [ $status = 0 ]; then tail -n 1 "$log"; else cat "$log"; fi
checks=$(sed -n 's/.*Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\).*/\1 \2 \3/p' "$log" | tail -n 1)
if [ -z "$checks" ]; then
  failed=$((failed + 1))
else
  read -r n f e <<<"$checks"
  passed=$((passed + n - f - e)) failed=$((failed + f + e))
  [ $status = 0 ] || [ $((f + e)) -gt 0 ] || failed=$((failed + 1)) # died after its summary
fi

echo "== kernel_check"
if "$BUILD/kernel_check" >"$log" 2>&1; then
  lines=$(grep -c ' intact$' "$log")
  echo "$lines checks passed"
  passed=$((passed + lines))
else
  cat "$log"
  failed=$((failed + 1))
fi

for script in tests/golden/run.sh tests/cli/*.sh tests/valgrind.sh tests/oracle/run.sh tests/predictor/run.sh 'tests/limits/run.sh --sample' tests/v2/run.sh; do
  echo "== $script"
  # shellcheck disable=SC2086 # a script and its option
  if ! bash $script >"$log" 2>&1; then
    grep -q '^FAIL ' "$log" || { echo "FAIL $script: exit status not 0" >>"$log"; }
  fi
  grep -E '^(FAIL|skip) ' "$log"
  grep -E '^   ' "$log" # lists, such as what becomes of every cfg
  grep -cE '^ok ' "$log" | sed 's/$/ checks passed/'
  grep -qE '^FAIL ' "$log" && tail -n 40 "$log"
  count "$log"
done

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
