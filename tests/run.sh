#!/usr/bin/env bash
# Runs the project's tests in four sizes: run.sh [check|test|gate|full]. check is for every commit;
# test (the default) and gate decide about a change, gate with slower tests; full is everything,
# and takes hours. Prints failures, skips and seconds section by section, and all failures and a
# summary at the end; exits with 1 if anything failed. BUILD names the build folder. Sections get
# their size in MAFAT_TEST_SIZE. A new section is a line of the table below.
set -u
cd "$(dirname "$0")/.." || exit 1
export BUILD=${BUILD:-build} MAFAT_TEST_SIZE=${1:-test}
unset MAKEFLAGS MFLAGS MAKELEVEL # a calling make's job server is not for us

# The sections: sizes, class and command, the longest first. The class says what may run at the
# same time:
#   cpu    anything; as many as there are CPUs, at most two
#   swap   one at a time, because it switches swap files on; counts as a CPU
#   waits  the same, but it mostly waits: does not count as a CPU
#   alone  nothing: it uses all CPUs, or measures memory or time that others would change
sections() {
  cat <<END
check,test,gate,full  alone  tests/unit.sh
gate,full        waits  tests/cli/sweep.sh
test,full        waits  tests/cli/swap.sh
gate,full        cpu    tests/cli/arenas.sh
gate             cpu    tests/faults/inject.py --sample 12 --jobs 1
gate             cpu    tests/faults/kills.py --times 150 --jobs 1
test,full        cpu    tests/faults/hostile_files.sh
test             cpu    tests/soak/endless.py --sample
gate,full        cpu    tests/oracle/run.sh
gate,full        cpu    tests/cli/darknet_bridge.sh
gate,full        cpu    tests/cli/darknet_patch.sh
gate,full        swap   tests/limits/run.sh --sample
gate,full        swap   tests/soak/soak.py --sample
gate,full        swap   tests/limits/least.py --runs 3
test,gate        waits  tests/crowded/sweep.py --sample
gate,full        swap   tests/cli/timeline.sh
gate,full        swap   tests/cli/darknet_group.sh
gate,full        cpu    tests/valgrind.sh
test,full        cpu    tests/cli/predict.sh
check            cpu    $BUILD/kernel_check --cases 50
test,full        cpu    $BUILD/kernel_check
check,test,full  cpu    tests/golden/run.sh
test,full        cpu    tests/conformance/run.sh
test,full        cpu    tests/packed/run.sh
check,test,full  cpu    tests/cli/run_inference.sh
check,test,full  cpu    tests/cli/mafat.sh
check,test,full  cpu    tests/cli/sandbox.sh
check,test,full  cpu    tests/cli/hardened.sh
test,full        cpu    tests/cli/ranks.sh
test,full        cpu    tests/cli/ranks_killed.sh
test,full        cpu    tests/cli/forks.sh
test,full        cpu    tests/cli/figure.sh
test,full        cpu    tests/cli/annotate.sh
test,full        cpu    tests/cli/serve.sh
test,full        cpu    tests/cli/paper.sh
test,full        cpu    tests/cli/networks.sh
test,full        cpu    tests/cli/planners.sh
check,test,full  cpu    tests/cli/pack_weights.sh
test,full        cpu    tests/cli/pack_graph.sh
test,full        cpu    tests/cli/numbers.sh
check,test,full  cpu    tests/cli/shapes.sh
test,full        cpu    tests/cli/plan_time.sh
check,test,full  cpu    tests/cli/readme.sh
test,full        cpu    tests/cli/man_examples.sh
test,full        cpu    tests/cli/readme_commands.sh
test,full        cpu    tests/cli/tutorial.sh
check,test,full  cpu    tests/cli/progress.sh
test,full        cpu    tests/cli/plan.sh
test,full        cpu    tests/cli/ports.sh
test,full        cpu    tests/cli/bytes.sh
test,full        cpu    tests/cli/video.sh
test,full        cpu    tests/cli/decode.sh
test,full        cpu    tests/cli/raw_inputs.sh
test,full        cpu    tests/cli/map.sh
check,test,full  cpu    tests/cli/api.sh
test,full        cpu    tests/cli/python.sh
test,full        cpu    tests/cli/examples.sh
test,full        cpu    tests/cli/install.sh
test,full        cpu    tests/cli/build.sh
test             cpu    tests/parts/check.py
full             cpu    tests/parts/check.py --all
test,full        alone  tests/cli/memory_limit.sh
test,full        alone  tests/cli/neighbour.sh
gate,full        alone  tests/predictor/run.sh
test,full        cpu    tests/release.sh
full             alone  tests/deb_clean.sh
full             alone  tests/crowded/sweep.py
full             alone  tests/v2/run.sh
full             alone  tests/v2/run.sh --soak 200
full             alone  tests/camera/run.sh
full             alone  tests/flakey/run.sh
full             alone  make soak
full             alone  tests/planners/check.py --all
full             alone  tests/faults/inject.py
full             alone  tests/faults/kills.py
full             alone  tests/soak/endless.py
full             alone  make analyze
full             alone  make check-asan
full             alone  make check-tsan
full             alone  make check-msan
full             alone  make check-arm
full             alone  make check-arm-asan
full             alone  tests/differential/run.py
full             alone  make fuzz
full             alone  make check-coverage
full             alone  make check-predictor PREDICT=--whole
full             alone  make limits
END
}

queue=() # sections still to be run: class and command
while read -r sizes class command; do
  case ,$sizes, in *,"$MAFAT_TEST_SIZE",*) queue+=("$class $command") ;; esac
done < <(sections)
if [ ${#queue[@]} = 0 ]; then
  echo "run.sh: expected check, test, gate or full, found '$1'" >&2
  exit 2
fi

for script in tests/cli/*.sh; do
  if ! sections | grep -qE " $script( |\$)"; then
    echo "run.sh: $script is no section" >&2
    exit 2
  fi
done

work=$(mktemp -d) || exit 1
export XDG_CACHE_HOME=$work/cache # a user's stored calibration would choose other plans than the tests expect
declare -A running=() # by process: class and command
stop() {
  trap '' HUP INT TERM
  for pid in "${!running[@]}"; do kill -TERM -- "-$pid" 2>/dev/null; done
  wait
  exit "$1"
}
trap 'case $BASHPID in $$) rm -rf "$work" ;; esac' EXIT
trap 'stop 129' HUP
trap 'stop 130' INT
trap 'stop 143' TERM
at_once=$(nproc)
[ "$at_once" -le 2 ] || at_once=2
passed=0 failed=0 skipped=0

# may_start CLASS: true if a section of this class may start now
may_start() {
  local other busy=0
  for other in "${running[@]}"; do
    case $1,${other%% *} in alone,* | *,alone | swap,swap | swap,waits | waits,swap | waits,waits) return 1 ;; esac
    [ "${other%% *}" = waits ] || busy=$((busy + 1))
  done
  [ "$1" = waits ] || [ $busy -lt "$at_once" ]
}

# Patterns of failures: of command-line tests, unit tests, kernels.
failure='^FAIL |^[^ :]+:-?[0-9]+:[EFS]:| NO +intact$| BROKEN$'

# section LOG COMMAND...: runs it; output to the log, seconds to LOG.seconds. A failing exit status without a failure's line adds one.
section() {
  local log=$1 name=${*:2} status=0 TIMEFORMAT='%1R s, of CPU %1U + %1S s'
  shift
  case $1 in *.sh) set -- bash "$@" ;; esac
  set -- env --default-signal=HUP "$@" # nohup ignores HUP, which tests send
  { time "$@" >"$log" 2>&1 </dev/null || status=$?; } 2>"$log.seconds"
  if [ $status = 77 ] || grep -qE '^make.* Error 77$' "$log"; then # not possible here
    echo "skip $name: $(grep -v '^make' "$log" | tail -n 1)" >>"$log"
  elif [ $status != 0 ] && ! grep -qE "$failure" "$log"; then
    echo "FAIL $name: exit status $status" >>"$log"
  fi
}

start_some() { # starts the first sections that may start
  local i class command
  for i in "${!queue[@]}"; do
    read -r class command <<<"${queue[i]}"
    may_start "$class" || continue
    set -m # its own process group, so that it can be ended
    # shellcheck disable=SC2086 # a command's words
    section "$work/${command//[\/ ]/_}" $command &
    set +m
    running[$!]="$class $command"
    unset 'queue[i]'
  done
}

# A line for each check: ok, FAIL or skip; kernel_check's; and the unit tests' summaries and failures.
count() { # LOG: passed, failed, skipped
  awk -v failure="$failure" '$0 ~ failure { failed++; next } /^ok / || / yes +intact$/ { passed++ } /^skip / { skipped++ }
    /^[0-9]+%: Checks: / { passed += $3 - $5 - $7 }
    END { print passed + 0, failed + 0, skipped + 0 }' "$1"
}

failures=() # failures of all sections, printed again at the end: section and line
report() { # COMMAND
  local log=$work/${1//[\/ ]/_} p f s line
  echo "== $1: $(cat "$log.seconds")"
  read -r p f s < <(count "$log")
  if [ "$f" != 0 ]; then grep -vE '^(ok |100%: |Running suite)| yes +intact$' "$log" | tail -n 100; else
    grep -E '^skip |^   ' "$log" # and lists, such as the results for every cfg
  fi
  while IFS= read -r line; do failures+=("$1: $line"); done < <(grep -E "$failure" "$log")
  echo "$p checks passed"
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

while start_some && [ ${#running[@]} -gt 0 ]; do
  wait -n -p ended "${!running[@]}"
  command=${running[$ended]#* }
  unset "running[$ended]"
  report "$command"
done
if [ "$failed" != 0 ]; then
  echo "== failed"
  printf '%s\n' "${failures[@]}"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
