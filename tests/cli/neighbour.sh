#!/usr/bin/env bash
# Checks the default budget in a memory group that others use, too: beside a process that holds 10 to 90 % of the limit, a run takes
# what is left, nobody is killed, and nothing is swapped. Also quotas of processors, and a system without /proc. Control groups v1 and
# root; swap is used if it is on. RUNS: how many runs beside a neighbour (default: 9). Run from the project's root; BUILD names the
# build folder (default: build).
set -u
build=$(realpath "${BUILD:-build}")
# shellcheck disable=SC2034 # by tests/check.sh
suite=neighbour
program=$build/run_inference
work=$(mktemp -d) || exit 1
name=mafat-neighbour.$$
memory=/sys/fs/cgroup/memory cpu=/sys/fs/cgroup/cpu cpuset=/sys/fs/cgroup/cpuset
# shellcheck source=tests/check.sh
. tests/check.sh
# shellcheck source=tests/soak/neighbour.sh
. tests/soak/neighbour.sh
clean() {
  rm -rf "$work"
  rmdir "$memory/$name"* "$cpu/$name" "$cpuset/$name" 2>/dev/null
}
at_end clean
out=$work/out err=$work/err
picture=models/shapes/holdout/000004.jpg

field() { grep -oE "\"$1\":[^,}]*" "$2" | head -n 1 | cut -d: -f2; } # KEY FILE: its first value in one line of JSON

# ---- Neighbours

limit=$((48 << 20))
neighbour_cfg >"$work/net.cfg"
"$build/make_weights" "$work/net.cfg" "$work/net.weights" >"$out" 2>&1 || fail weights "$(cat "$out")"
beside() { # PERCENT ARGUMENT...
  local percent=$1 status budget free
  shift
  sync
  neighbour_run "$memory/$name" $limit "$percent" "$work/pipe" "$program" --json --quiet "$@"
  status=$?
  budget=$(field memory_budget_bytes "$work/pipe.out")
  free=$((limit / 100 * (100 - percent)))
  if [ -n "$neighbour_why" ]; then
    fail "$percent %" "$neighbour_why; $(cat "$work/pipe.err")"
  elif [ $status = 3 ] && [ "$percent" -ge 85 ]; then
    check "$percent %: refused" "$(cat "$work/pipe.err")" grep -q 'the budget (free in cgroup) is' "$work/pipe.err"
  elif [ $status != 0 ]; then
    fail "$percent %" "exit status $status; $(cat "$work/pipe.err")"
  else
    check "$percent %" "budget $budget of $free" test "$budget" -le $free -a "$budget" -ge $((free - (2 << 20)))
  fi
}
if [ ! -w $memory/cgroup.procs ] || [ ! -e $memory/memory.limit_in_bytes ]; then
  skip 'a group' 'needs control groups v1 and root'
else
  runs=9
  [ "${MAFAT_TEST_SIZE-}" != check ] || runs=3
  runs=${RUNS:-$runs}
  for ((i = 0; i < runs; i++)); do
    beside $((runs <= 9 ? 10 + 80 * i / (runs > 1 ? runs - 1 : 1) : 10 + i * 37 % 81)) "$work/net.cfg" "$work/net.weights" $picture
  done
  neighbour_run "$memory/$name" $limit 60 "$work/pipe" "$build/mafat" doctor "$work"
  check 'doctor tells' "$(cat "$work/pipe.out")" grep -qE "^limit .*48.0 MiB by control group .*$name; others hold (28|29)\.. MiB of it that cannot be dropped" "$work/pipe.out"
  check 'doctor: the budget' "$(cat "$work/pipe.out")" grep -qE 'a run takes up to (18|19) MiB \(free in cgroup\)' "$work/pipe.out"
  neighbour_run "$memory/$name" $limit 60 "$work/pipe" "$build/mafat" doctor --json "$work"
  check 'doctor --json tells' "$(cat "$work/pipe.out")" test "$(field others_bytes "$work/pipe.out")" -gt $((limit / 100 * 60))
fi

# ---- A budget above what is free: a warning that names both; the run may be killed, but nobody else

warned() { # NAME COUNT LIMIT PERCENT OPTION...: so many warnings of a run with --memory 500M
  neighbour_run "$memory/$name" "$3" "$4" "$work/pipe" "$program" --memory 500M --plan 1x1/NoCut "${@:5}" "$work/net.cfg" "$work/net.weights" $picture
  check "$1" "expected $2 warnings: $(cat "$work/pipe.err")" test \
    "$(grep -cE 'net.cfg: needs [0-9.]+ MiB of the budget \(--memory\) of 500.0 MiB, but only [0-9.]+ MiB are free' "$work/pipe.err")" = "$2"
}
if [ ! -w $memory/cgroup.procs ] || [ ! -e $memory/memory.limit_in_bytes ]; then
  skip 'a budget above what is free' 'needs control groups v1 and root'
else
  warned 'more than the limit' 1 $((20 << 20)) 1
  check 'the limit is named' "$(cat "$work/pipe.err")" grep -qE 'but only (19\.[0-9]|20\.0) MiB are free below' "$work/pipe.err"
  warned 'more than is free beside a neighbour' 1 $((48 << 20)) 70
  check 'what is free is named' "$(cat "$work/pipe.err")" grep -qE 'but only 1[0-4]\.[0-9] MiB are free below' "$work/pipe.err"
  warned 'quiet' 0 $((20 << 20)) 1 --quiet
  warned 'a plan that fits the limit' 0 $((200 << 20)) 10
  warned 'nothing is run' 0 $((20 << 20)) 1 --predict
fi

# ---- Quotas of processors, and cpusets

in_group() { # CONTROLLER-FOLDER COMMAND...
  local group=$1/$name
  shift
  # shellcheck disable=SC2016 # expanded by the inner shell
  sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@" >"$out" 2>"$err"
}
threads() { # NAME EXPECTED CONTROLLER-FOLDER
  in_group "$3" "$program" --predict --json --threads auto --plan 1x1/NoCut "$work/net.cfg"
  check "$1" "threads $(field threads "$out"), $(cat "$err")" test "$(field threads "$out")" = "$2"
}
if [ ! -w $cpu/cgroup.procs ] || ! mkdir $cpu/$name; then
  skip quota 'needs control groups v1 and root'
else
  n=$(nproc)
  threads 'no quota' "$n" $cpu
  echo 100000 >$cpu/$name/cpu.cfs_period_us
  echo 70000 >$cpu/$name/cpu.cfs_quota_us
  threads 'a quota of less than one processor' 1 $cpu
  in_group $cpu "$build/mafat" doctor "$work"
  check 'a quota: doctor tells' "$(grep ^processor "$out")" grep -qE "^processor +$n for this process, quota of its control group 0.70; " "$out"
  in_group $cpu "$build/mafat" doctor --json "$work"
  check 'a quota: doctor --json tells' "$(cat "$out")" grep -q '"processor_quota":0.7,' "$out"
  echo 190000 >$cpu/$name/cpu.cfs_quota_us
  threads 'a quota is rounded down' 1 $cpu
  echo $((n * 100000 + 50000)) >$cpu/$name/cpu.cfs_quota_us
  threads 'a quota of more than there are' "$n" $cpu
  rmdir $cpu/$name
fi
if [ ! -w $cpuset/cgroup.procs ] || ! mkdir $cpuset/$name; then
  skip cpuset 'needs control groups v1 and root'
else
  cat $cpuset/cpuset.mems >$cpuset/$name/cpuset.mems
  taskset -cp $$ | sed 's/.*: //; s/[-,].*//' >$cpuset/$name/cpuset.cpus
  threads 'a cpuset of one processor' 1 $cpuset
  in_group $cpuset "$build/mafat" doctor "$work"
  check 'a cpuset: doctor tells' "$(grep ^processor "$out")" grep -qE '^processor +1 for this process; ' "$out"
  rmdir $cpuset/$name
fi

# ---- A system without /proc

jail=$work/jail
if [ "$(id -u)" != 0 ]; then
  skip 'without /proc' 'needs root'
elif needs_loader "$program"; then
  skip 'without /proc' "$program is not static"
else
  mkdir -p "$jail/bin"
  cp "$program" "$build/mafat" models/shapes/shapes.{cfg,weights} "$jail/bin"
  cp $picture "$jail/bin/picture.jpg"
  chroot "$jail" /bin/run_inference --json --quiet /bin/shapes.cfg /bin/shapes.weights /bin/picture.jpg >"$out" 2>"$err"
  code=$?
  expect 'without /proc: runs' 0
  check 'without /proc: a budget by the system call' "$(cat "$out")" test "$(field memory_budget_bytes "$out")" -gt 1000000 -a \
    "$(field memory_budget_bytes "$out")" -lt $(($(awk '$1 == "MemTotal:" { print $2 }' /proc/meminfo) << 10))
  for key in measured_resident_bytes vm_hwm_bytes swap_in_bytes swap_out_bytes swap_scope; do
    check "without /proc: $key" "$(field $key "$out")" test "$(field $key "$out")" = null
  done
  check 'without /proc: the process is predicted' "$(cat "$out")" test "$(field predicted_resident_bytes "$out")" -gt 1500000
  chroot "$jail" /bin/run_inference --report /bin/shapes.cfg /bin/shapes.weights /bin/picture.jpg >"$out" 2>"$err"
  check 'without /proc: the report says so' "$(cat "$out" "$err")" grep -q 'resident unknown, predicted' "$err"
  check 'without /proc: the text has no figure' "$(cat "$out")" grep -qv ', memory' "$out"
  if needs_loader "$build/mafat"; then
    for library in $(ldd "$build/mafat" | grep -o '/[^ ]*'); do cp --parents -L "$library" "$jail"; done
  fi
  chroot "$jail" /bin/mafat doctor /bin >"$out" 2>"$err"
  code=$?
  expect 'without /proc: doctor' 0
  check 'without /proc: doctor knows the memory' "$(grep ^memory "$out")" grep -qE '^memory +[1-9][0-9]* MiB, [1-9][0-9]* available' "$out"
  chroot "$jail" /bin/mafat predict /bin/shapes.cfg >"$out" 2>"$err"
  code=$?
  expect 'without /proc: mafat finds its programs' 0
fi
exit $failed
