#!/usr/bin/env bash
# Checks build/memory_limit through its command line, with real groups. Run from the project's
# root; BUILD names the build folder (default: build). Needs python3; most of it needs root and a
# memory controller, and is skipped otherwise.
set -u

# shellcheck source=tests/check.sh
. tests/check.sh
build=$(realpath "${BUILD:-build}")
program=$build/memory_limit
root=$PWD
man=$root/doc/man/memory_limit.1
folder=$(mktemp -d) || exit 1
chmod 755 "$folder"
own=() # groups made here
# shellcheck disable=SC2317 # called by the trap
leave() {
  local group
  for group in "${own[@]}"; do rmdir "$group" 2>/dev/null; done
  rm -rf "$folder"
}
at_end leave
cd "$folder" || exit 1

out=$folder/out err=$folder/err report=$folder/report at_once=5
# limited ARGUMENT...: with a report as JSON in $report
limited() { run --json -o "$report" "$@"; }
# json NAME EXPRESSION...: Python, true of the report `a`
cat >told.py <<'PYTHON'
import json, sys
text = open(sys.argv[1]).read()
a = json.loads(text)
MIB = 1 << 20
for expression in sys.argv[2:]:
    assert eval("(" + expression + ")"), "not so: %s in %.900s" % (expression, text)
PYTHON
json() {
  local name=$1 said
  shift
  if said=$(python3 told.py "$report" "$@" 2>&1); then ok "$name"; else fail "$name" "$(tail -n 1 <<<"$said")"; fi
}

if [ ! -x "$program" ]; then
  if command -v pkg-config >/dev/null && pkg-config --exists libcgroup libproc2; then
    fail "$program" 'is not there: run make first'
    exit 1
  fi
  skip memory_limit 'libcgroup-dev and libproc2-dev are not installed'
  exit 0
fi
if ! command -v python3 >/dev/null; then
  skip memory_limit 'needs python3'
  exit 0
fi

# ---- Command line

run --help
check help "exit status $code" test "$code" -eq 0 -a ! -s "$err"
for option in --limit --swap --cpus --timeout --evict --join --parent --output --format --json --csv --timeline --interval --check --version --help; do
  grep -qe "$option" "$out" || fail help "$option is not explained"
  grep -qF -e "Fl -${option#--}" "$man" || grep -qF -e ", -${option#--}" "$man" || fail 'man page' "$option is missing"
done
"$program" --help >/dev/full 2>"$err"
check help-full 'a failing standard output went unnoticed' test $? -eq 1
run --version
check version "found: $(cat "$out")" test "$code" -eq 0 -a "$(wc -l <"$out")" -eq 1
bad nothing 'expected -- PROGRAM'
bad unknown-option 'unknown option --nonsense' --nonsense -- true
bad unknown-short 'unknown option -x' -x -- true
bad no-value 'option --limit expects a value, found nothing' --limit
bad value-unwanted 'option --json=1: no value is expected' --json=1 -- true
for size in 0 -1 1X 1.5 10.M .5M M 1e6 '' ' 1M' 10Mi 99999999999999999999 9223372036854775807 9223372036854771712 99999999999G; do
  bad "limit '$size'" "option --limit expects a size such as 10M, or none, found '$size'" --limit "$size" -- true
done
for size in 0 -1 1X none1; do
  bad "swap '$size'" 'option --swap expects a size such as 64M, none or all' --limit 10M --swap "$size" -- true
done
for list in '' x 1- '0,,' -1 3-1 0-99999999; do
  bad "cpus '$list'" 'option --cpus expects a list of CPUs such as 0 or 0-1,3' --cpus "$list" -- true
done
for seconds in 0 -1 x '' 1s inf nan; do bad "timeout '$seconds'" 'option --timeout expects seconds' --timeout "$seconds" -- true; done
for ms in 0 -1 1.5 x ''; do bad "interval '$ms'" 'option --interval expects whole milliseconds' --interval "$ms" -- true; done
bad format 'option --format expects text, json or csv' --format xml -- true
bad output-empty 'option -o, --output expects a path' -o '' -- true
bad controls 'no?such?[31m: there is no such program' -- $'no\nsuch\e[31m'
bad check-command '--check runs no command, found true' --check -- true
bad check-csv '--check answers in text or JSON' --check --csv

# ---- What this machine can do

run --check --json
cp "$out" "$report"
json check-json 'set(("possible", "reason", "command", "layout", "cgroup", "means", "mount", "parent", "controllers", "swap_accounting",
  "memory_peak", "cgroup_kill", "cpuset", "memory_bytes", "available_bytes", "swap_bytes", "swap_free_bytes", "swaps", "missing")) == set(a)' \
  'a["possible"] == (a["reason"] is None) and a["layout"] in ("none", "v1", "v2", "hybrid") and a["memory_bytes"] > MIB'
possible=$code
mount=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["mount"] or "")' "$report")
version=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["cgroup"] or "")' "$report")
has_swap=$(python3 -c 'import json, sys; print(int(json.load(open(sys.argv[1]))["swap_free_bytes"] > 64 << 20))' "$report")
accounts=$(python3 -c 'import json, sys; print(int(json.load(open(sys.argv[1]))["swap_accounting"] or 0))' "$report")
run --check
check check-text "exit status $code, found: $(cat "$out")" test "$code" -eq "$possible" -a "$(wc -l <"$out")" -ge 3

# ---- As another user

# as_user ARGUMENT...: runs a copy that user nobody can reach
as_user() {
  timeout 60 setpriv --reuid 65534 --regid 65534 --clear-groups "$folder/memory_limit" "$@" >"$out" 2>"$err" </dev/null
  code=$?
}
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && [ "$version" = v1 ]; then
  cp "$program" "$folder/memory_limit"
  as_user --limit 10M -- true
  expect user-refused 2 "mkdir $mount/mafat && chown -R 65534 $mount/mafat"
  as_user --check
  check user-check "exit status $code, found: $(cat "$out")" test "$code" -eq 2 -a ! -s "$err"
  check user-check-help "found: $(cat "$out")" grep -q "^this would help: mkdir " "$out"
  given=$mount/mafat-test-$$
  if mkdir "$given"; then
    own+=("$given")
    chown -R 65534 "$given"
    chown 65534 "$folder"
    as_user --parent "mafat-test-$$" --limit 20M --cpus 0 --json -o user -- true
    expect user-delegated 0
    report=$folder/user json user-delegated-json 'a["means"] == "delegated" and a["limit_bytes"] == 20 * MIB and a["cpus_by"] == "affinity"'
    as_user --parent "$given" -- sh -c 'sleep 300 & exit 3'
    check user-delegated-path "exit status $code: $(cat "$err")" test "$code" -eq 1
    check user-left "left: $(ls "$given")" test -z "$(find "$given" -mindepth 1 -type d)"
    as_user --parent "mafat-test-$$/none" -- true
    expect user-no-parent 2 'there is no such group'
    chown 0 "$folder"
  fi
else
  skip user 'needs root, setpriv and control groups v1'
fi

if [ "$possible" -ne 0 ]; then
  skip memory_limit "$(sed -n 's/^reason: //p' "$out")"
  exit $failed
fi

# left PID: groups of a call
left() { find "$mount" /sys/fs/cgroup/cpuset -maxdepth 1 -name "mafat-$1*" 2>/dev/null; }
# running SECONDS: processes that sleep this long
running() { pgrep -fx "sleep $1"; }
# shellcheck disable=SC2317 # called through check
until_gone() { # COMMAND...: waits until it prints nothing
  local i
  for ((i = 0; i < 3000; i++)); do
    [ -n "$("$@")" ] || return 0
    sleep 0.01
  done
  return 1
}
# An argument unique to this test's processes.
word=300.$$

# ---- How commands end

limited --limit 10.5M -- sh -c 'cat; echo told >&2' <<<given
check stdin "found: $(cat "$out")" grep -qx given "$out"
check stderr "found: $(cat "$err")" grep -qx told "$err"
check exit-0 "exit status $code" test "$code" -eq 0
json all-fields 'list(a) == """command outcome exit_status signal limit_bytes swap_limit_bytes cpus cgroup layout means cpus_by wall_ms user_ms
  system_ms peak_bytes limit_hits oom_kills anon_bytes cache_bytes anon_peak_bytes cache_peak_bytes vm_hwm_bytes resident_anon_bytes
  swap_peak_bytes swap_in_bytes swap_out_bytes system_swap_in_bytes system_swap_out_bytes major_faults refaults_anon refaults_file read_bytes
  block_reads n_samples""".split()'
json exit-0-json 'a["outcome"] == "exit" and a["exit_status"] == 0 and a["signal"] is None and a["limit_bytes"] == 11010048' \
  'a["command"] == ["sh", "-c", "cat; echo told >&2"] and 0 < a["wall_ms"] < 60000 and a["n_samples"] >= 2 and a["cpus"] is None'
limited --limit 1048577 -- true
json limit-rounded 'a["limit_bytes"] % 4096 == 0 and a["limit_bytes"] == 1 << 20 or a["limit_bytes"] == 0xf0000'
limited -- sh -c 'exit 7'
expect exit-7 1
json exit-7-json 'a["outcome"] == "exit" and a["exit_status"] == 7 and a["limit_bytes"] is None and a["swap_limit_bytes"] is None'
# shellcheck disable=SC2016 # the command's own
limited -- sh -c 'kill -SEGV $$'
expect signal 1
json signal-json 'a["outcome"] == "signal" and a["signal"] == 11 and a["exit_status"] is None'
limited --timeout 0.2 -- sh -c "sleep $word & setsid sleep $word & sleep $word"
expect timeout 1
json timeout-json 'a["outcome"] == "timeout" and a["signal"] == 9 and 200 <= a["wall_ms"] < 60000'
check timeout-rest "running: $(running $word)" until_gone running $word
limited -- sh -c "setsid sh -c 'sleep $word; sleep $word' & sleep $word & exit 0"
expect rest 0
check rest-killed "running: $(running $word)" until_gone running $word
if [ "$(id -u)" = 0 ]; then # a command that changes its group, like su
  timeout -s KILL 60 "$program" --timeout 0.2 --json -o "$report" -- sh -c "echo \$\$ >'$mount/cgroup.procs' && exec sleep $word"
  check gone-elsewhere "exit status $?" test $? -eq 1
  json gone-elsewhere-json 'a["outcome"] == "timeout" and a["signal"] == 9'
  check gone-elsewhere-killed "running: $(running $word)" until_gone running $word
fi
# Orphans of the command become children of memory_limit, which reaps them.
# shellcheck disable=SC2016
limited -- sh -c 'for k in 1 2 3 4 5 6 7 8 9; do (sleep 0 &); done
  for k in $(seq 300); do n=$(grep -ls "^PPid:.$PPID$" /proc/[0-9]*/status | wc -l); [ $n -gt 2 ] || break; sleep 0.1; done; echo $n'
check orphans "found: $(cat "$out")" test "$(cat "$out")" -le 2
# shellcheck disable=SC2016
limited -- sh -c 'trap "" TERM INT HUP; mkdir -p sub; echo $0 $1' 'a "b"' 'c,d'
check words "found: $(cat "$out")" grep -qxF 'a "b" c,d' "$out"

# The sampled process counts its own wakeups: on a busy machine both are late.
wait_often='import time
for k in range(300): time.sleep(0.001)'
hog='import sys; b = bytearray(int(sys.argv[1]) << 20)
for k in range(len(b) // 4096): b[4096 * k] = k % 251 + 1
if len(sys.argv) > 2: b = b[::-1]
'$wait_often
limited --limit 64M -- python3 -c "$hog" 32
expect inside 0
json inside-json 'a["outcome"] == "exit" and a["oom_kills"] == 0 and 30 * MIB < a["anon_peak_bytes"] < 60 * MIB' \
  'a["peak_bytes"] is None or 32 * MIB < a["peak_bytes"] <= 64 * MIB' 'a["vm_hwm_bytes"] > 32 * MIB and a["user_ms"] + a["system_ms"] > 0'
# Executing a program from a thread, or the end of the first thread alone, is not the command's
# end.
limited -- python3 -c "import os, threading
threading.Thread(target=os.execvp, args=('python3', ['python3', '-c', '''$hog
import time; time.sleep(0.2)''', '32'])).start()"
json thread-execs 'a["outcome"] == "exit" and 30 * MIB < a["anon_peak_bytes"] < 60 * MIB and a["vm_hwm_bytes"] > 32 * MIB and a["n_samples"] > 12'
limited -- python3 -c "import ctypes, os, sys, threading, time
def later(): time.sleep(0.1); b = bytearray(b'1' * (32 << 20)); time.sleep(0.1); os._exit(5)
threading.Thread(target=later).start(); ctypes.CDLL(None).syscall(60 if os.uname().machine == 'x86_64' else 93, 0)"
json thread-ends 'a["exit_status"] == 5 and a["anon_peak_bytes"] > 30 * MIB and a["anon_bytes"] > 30 * MIB and a["n_samples"] > 12'
if [ "$accounts" = 1 ]; then
  limited --limit 24M --swap none -- python3 -c "$hog" 64
  expect oom 1
  json oom-json 'a["outcome"] == "oom" and a["oom_kills"] >= 1 and a["signal"] == 9 and a["swap_limit_bytes"] == 0 and a["swap_peak_bytes"] == 0' \
    '20 * MIB < a["anon_peak_bytes"] <= 24 * MIB'
  limited --limit 24M --swap none -- sh -c "python3 -c '$hog' 64; exit 5"
  json oom-child 'a["outcome"] == "oom" and a["exit_status"] == 5'
  limited --limit 24M --swap none -- sh -c "python3 -c '$hog' 64; exit 0"
  check oom-survived "exit status $code" test "$code" -eq 0
else
  skip oom 'the kernel does not account for swap'
fi
for limit in 4K 64K; do
  limited --limit $limit -- true
  expect "limit-too-small-$limit" 1
  json "limit-too-small-$limit-json" 'a["outcome"] == "oom"'
done
bad limit-below-a-page 'are less than a page' --limit 100 -- true
# Swap made for this test: other active swap may be switched off by others.
with=(bash "$root/experiments/swap.sh" with 128M)
"${with[@]}" true >/dev/null 2>"$err" || with=()
if [ "$has_swap" = 1 ] || [ ${#with[@]} -gt 0 ]; then
  timeout 60 "${with[@]}" "$program" --limit 24M --json -o "$report" -- python3 -c "$hog" 40 again >"$out" 2>"$err"
  code=$?
  check swap "exit status $code: $(cat "$err")" test "$code" -eq 0
  json swap-json 'a["outcome"] == "exit" and a["swap_peak_bytes"] > 8 * MIB and a["swap_in_bytes"] > MIB and a["system_swap_out_bytes"] > MIB' \
    'a["major_faults"] > 0 and a["refaults_anon"] > 0 and a["limit_hits"] > 0'
  if [ "$accounts" = 1 ]; then
    timeout 60 "${with[@]}" "$program" --limit 24M --swap 8M --json -o "$report" -- python3 -c "$hog" 64 >"$out" 2>"$err"
    json swap-limited 'a["outcome"] == "oom" and a["swap_limit_bytes"] == 8 * MIB and a["swap_peak_bytes"] <= 9 * MIB'
  fi
else
  skip swap 'no swap is on'
fi
[ "$version" != v1 ] || bad swap-without-limit 'option --swap expects a --limit beside it on control groups v1' --swap none -- true

# ---- Refusals leave nothing

# orphans: groups of ended calls; others may be in use
# shellcheck disable=SC2317 # called through check
orphans() {
  local group pid
  for group in "$mount"/mafat-[0-9]*; do
    pid=${group##*/mafat-}
    [ ! -e "$group" ] || [ -e "/proc/${pid%%-*}" ] || echo "$group"
  done
}
before=$(orphans)
bad missing-program 'no-such-program: there is no such program' -o made -- no-such-program
bad missing-path './no-such: there is no such program' -o made -- ./no-such
echo text >plain && chmod 644 plain
bad not-executable './plain is no program that may be run' -o made -- ./plain
chmod 755 plain
bad not-a-program 'plain cannot be run' -o made --timeline made2 -- ./plain
printf '#!/no/such/shell\n' >script && chmod 755 script
bad no-interpreter 'script cannot be run: No such file' -o made --timeline made2 -- ./script
bad a-folder '/ is no program that may be run' -o made -- /
bad output-folder 'no/such/file cannot be written' -o no/such/file -- true
bad output-a-folder "$folder cannot be written" -o "$folder" -- true
bad one-file-twice '-o and --timeline expect a file each, found ./twice twice' -o twice --timeline ./twice -- true
check one-file-twice-left 'it is there' test ! -e twice
echo read >read
bad output-over-evicted 'expect files of their own, found read, which the command reads' -o read --evict read -- true
check output-over-evicted-stays 'it is another' test "$(cat read)" = read
bad timeline-folder 'no/such/file cannot be written' -o made --timeline no/such/file -- true
bad output-full '/dev/full cannot be written' -o /dev/full -- true
bad evict-missing '--evict no-such-file: No such file' -o made --evict no-such-file -- true
bad evict-folder '--evict expects a file' -o made --evict . -- true
bad join-missing '--join no/such/cgroup.procs: No such file' -o made --join no/such/cgroup.procs -- true
echo precious >cgroup.procs
bad join-no-group "--join expects a group's cgroup.procs file" -o made --join cgroup.procs -- true
check join-writes-nothing "found: $(cat cgroup.procs)" test "$(cat cgroup.procs)" = precious
bad parent-missing 'there is no such group' -o made --parent "no-such-$$" -- true
bad parent-outside '--parent expects a group' -o made --parent ../.. -- true
bad parent-returning '--parent expects a group' -o made --parent a/../b -- true
bad parent-with-dots 'there is no such group' -o made --parent "no..such-$$" -- true
bad cpus-missing 'not all of them are there' -o made --cpus 1000 -- true
check nothing-made "made: $(ls)" test ! -e made -a ! -e made2
if [ -d /dev/shm ] && [ "$(stat -fc %T /dev/shm)" = tmpfs ] && echo memory >"/dev/shm/mafat-$$"; then
  bad evict-tmpfs 'stay in the page cache' --evict "/dev/shm/mafat-$$" -- true
  rm -f "/dev/shm/mafat-$$"
fi
echo kept >kept
bad kept-output 'no such program' -o kept -- no-such-program
check kept 'a file that was there has changed' grep -qx kept kept
new_orphans() { grep -vxF -e "${before:-none}" <(orphans); }
check none-left "left: $(new_orphans)" until_gone new_orphans
small=$mount/mafat-test-small-$$
if [ "$(id -u)" = 0 ] && [ "$version" = v1 ] && mkdir "$small"; then
  own+=("$small")
  echo 8M >"$small/memory.limit_in_bytes"
  bad limit-above "$small/memory.limit_in_bytes limits memory to 8388608 bytes already" --parent "${small##*/}" --limit 16M -- true
  # The hierarchy's root as seen in a container.
  if unshare --mount true 2>"$err"; then
    unshare --mount sh -c "mount --bind '$small' '$mount' && exec '$program' --limit 16M -- true" >"$out" 2>"$err"
    code=$?
    expect limit-above-container 2 "$mount/memory.limit_in_bytes limits memory to 8388608 bytes already"
  else
    skip limit-above-container "$(head -n 1 "$err")"
  fi
  check limit-above-left "left: $(ls "$small")" test -z "$(find "$small" -mindepth 1 -type d)"
fi

# ---- Cold files, CPUs, further groups, what the command inherits

case $(stat -fc %T "$folder") in
  tmpfs | ramfs) skip evict 'the temporary folder is in memory' ;;
  *)
    head -c 8388608 /dev/urandom >cold
    limited --evict cold --evict plain -- cat cold
    json evict 'a["outcome"] == "exit" and a["read_bytes"] >= 8 * MIB and a["cache_bytes"] >= 8 * MIB and a["cache_peak_bytes"] >= 8 * MIB' \
      'a["block_reads"] >= 16384'
    cat cold >/dev/null # the group's cache was removed with it
    limited -- cat cold
    json warm 'a["read_bytes"] < MIB'
    ;;
esac
first=$(python3 -c 'import os; print(min(os.sched_getaffinity(0)))')
limited --cpus "$first" -- python3 -c 'import os; print(sorted(os.sched_getaffinity(0)))'
check cpus "found: $(cat "$out")" grep -qxF "[$first]" "$out"
json cpus-by 'a["cpus"] == "'"$first"'" and a["cpus_by"] in ("cpuset", "affinity")'
inherited='import os, signal; print(sorted(os.listdir("/proc/self/fd")), signal.pthread_sigmask(signal.SIG_BLOCK, []))
print([signal.getsignal(s) for s in signal.valid_signals()], sorted(os.environ.items()))'
timeout 60 python3 -c "$inherited" >as-it-is 2>"$err"
limited --timeline line.csv -- python3 -c "$inherited"
check inherits "found: $(diff as-it-is "$out")" cmp -s as-it-is "$out"
timeout 60 "$program" --timeline line.csv -o closed -- true <&- >&- 2>&-
check streams-closed "exit status $?" test $? -eq 0 -a -s closed -a -s line.csv
timeout 60 "$program" -- true 2>&-
check stderr-closed "the report is nowhere, exit status $?" test $? -eq 2
other=/sys/fs/cgroup/blkio/mafat-test-$$
if [ "$version" = v1 ] && mkdir "$other" 2>/dev/null; then
  own+=("$other")
  limited --join "$other/cgroup.procs" -- cat /proc/self/cgroup
  check join "found: $(cat "$out")" grep -q ":blkio:/mafat-test-$$\$" "$out"
  check join-memory "found: $(cat "$out")" grep -q ':memory:.*/mafat-[0-9]*$' "$out"
else
  skip join 'needs the blkio controller of control groups v1'
fi

# ---- Forms of the report

run --csv -o table --cpus "$first" -- sh -c 'echo "a,b"
exit 0'
cat >table.py <<'PYTHON'
import csv, sys
rows = list(csv.reader(open(sys.argv[1], newline="")))
assert len(rows) == 2 and len(rows[0]) == len(rows[1]) == 34, rows
row = dict(zip(*rows))
assert row["command"] == 'sh -c echo "a,b"\nexit 0' and row["outcome"] == "exit" and row["signal"] == "", row
PYTHON
if said=$(python3 table.py table 2>&1); then ok csv; else fail csv "$(tail -n 1 <<<"$said")"; fi
run -- sh -c 'exit 3'
check text "found: $(cat "$err")" grep -q '^memory_limit: exit status 3 after ' "$err"
check text-code "exit status $code" test "$code" -eq 1
echo 'much that was there before the report, and longer than one that is short' >"$report"
limited -- true
json overwritten 'a["outcome"] == "exit"'

# ---- Timeline

# shellcheck disable=SC2016 # the command's own
limited --limit 128M --timeline line.csv -- sh -c 'for k in $(seq 20); do sleep 0.01; done; exec "$@"' - python3 -c "$hog" 48
cat >timeline.py <<'PYTHON'
import csv, json, sys, time
lines = open("line.csv").read().splitlines()
report = json.load(open(sys.argv[1]))
start = int(lines[0].split()[2])
assert lines[0].startswith("# start_ns ") and 0 < time.clock_gettime_ns(time.CLOCK_MONOTONIC) - start < 60e9, lines[0]
rows = list(csv.DictReader(lines[1:]))
most = report["wall_ms"] / 10 + 3  # one each interval, the first, and one at the exit
assert list(rows[0]) == """ms usage_bytes anon_bytes cache_bytes swap_bytes resident_bytes system_swap_in_bytes
                           system_swap_out_bytes""".split(), lines[1]
times = [float(r["ms"]) for r in rows]
anon = [int(r["anon_bytes"]) for r in rows]
assert 15 <= len(rows) == report["n_samples"] <= most, (len(rows), report["n_samples"], most)
assert all(a < b for a, b in zip(times, times[1:])) and times[-1] <= report["wall_ms"], times
assert max(anon) == report["anon_peak_bytes"] and 46 << 20 <= max(anon) < 80 << 20 and anon[0] < 1 << 20, max(anon)
assert max(int(r["resident_bytes"]) for r in rows) <= report["vm_hwm_bytes"] + (1 << 20)
assert max(int(r["usage_bytes"]) for r in rows) <= (report["peak_bytes"] or 128 << 20)
assert min(b - a for a, b in zip(times, times[1:])) < 15, times
PYTHON
if said=$(python3 timeline.py "$report" 2>&1); then ok timeline; else fail timeline "$(tail -n 1 <<<"$said")"; fi
limited --interval 50 --timeline line.csv -- python3 -c "$wait_often"
json interval '5 <= a["n_samples"] <= a["wall_ms"] / 50 + 3'
bad timeline-full '/dev/full cannot be written' -o "$report" --timeline /dev/full -- true

# ---- Several at once

pids=()
for k in 1 2 3 4 5; do
  "$program" --limit "$((k + 4))M" --cpus "$first" --json -o "report$k" -- sh -c 'sleep 0.2' 2>"said$k" &
  pids+=($!)
done
bad_ones=0
for k in 1 2 3 4 5; do
  wait "${pids[k - 1]}" || bad_ones=1
  report=$folder/report$k json "at-once-$k" "a['limit_bytes'] == $((k + 4)) * MIB and a['outcome'] == 'exit'"
done
check at-once "one of them failed: $(cat said?)" test "$bad_ones" = 0
report=$folder/report

# ---- Ended from outside

cat >end.py <<'PYTHON'
"""Ends memory_limit in turn by signals, at random moments, itself or with its process group; says what is left."""
import glob, json, os, random, signal, subprocess, sys, time
program, mount, word, first, n = sys.argv[1:5] + [int(sys.argv[5])]
rng = random.Random(20)
# memory_limit would inherit ignored signals (nohup, background jobs).
for by in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP): signal.signal(by, signal.SIG_DFL)
def running():
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            if open(path, "rb").read().split(b"\0")[:2] == [b"sleep", word.encode()]: found.append(path)
        except OSError: pass
    return found
for k in range(n):
    by = (signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[k % 5]
    group = rng.random() < 0.4
    if os.path.exists("ended"): os.unlink("ended")
    p = subprocess.Popen([program, "--limit", "64M", "--cpus", first, "--json", "-o", "ended", "--", "sh", "-c",
                          "sleep %s & setsid sleep %s & sleep %s" % (word, word, word)], start_new_session=True)
    time.sleep(0.08 * rng.random() ** 2)
    (os.killpg if group else os.kill)(p.pid, by)
    status = p.wait()
    until = time.monotonic() + 60
    while True:
        left = glob.glob(mount + "/mafat-%d*" % p.pid) + glob.glob("/sys/fs/cgroup/cpuset/mafat-%d*" % p.pid) + running()
        if not left or time.monotonic() > until: break
        time.sleep(0.005)
    assert not left, "signal %d, group %d: left %s" % (by, group, left)
    # Before it has made a group, signals have their default effect.
    assert status in (-by, 128 + by), "signal %d, group %d: status %d" % (by, group, status)
    if status == 128 + by:
        report = json.load(open("ended"))
        assert report["outcome"] == "interrupted", report
PYTHON
if said=$(python3 end.py "$program" "$mount" "$word" "$first" 25 2>&1); then ok ended; else fail ended "$(tail -n 1 <<<"$said")"; fi
for before in '' "trap '' TERM;"; do
  sh -c "$before '$program' -o ended -- sleep $word & echo \$! >pid; wait" &
  parent=$!
  until [ -n "$(running $word)" ]; do sleep 0.01; done
  { kill -KILL $parent && wait $parent; } 2>/dev/null
  check "parent-gone $before" "running: $(running $word)" until_gone running $word
  check "parent-gone-group $before" "left: $(left "$(cat pid)")" until_gone left "$(cat pid)"
done
cat >thread.py <<'PYTHON'
"""Only the thread ends that started memory_limit."""
import subprocess, sys, threading, time
def start():
    global started
    started = subprocess.Popen(sys.argv[1:])
    time.sleep(0.3)
thread = threading.Thread(target=start)
thread.start(), thread.join()
sys.exit(started.wait())
PYTHON
timeout 60 python3 thread.py "$program" --json -o "$report" -- sleep 0.6
check parent-thread "exit status $?" test $? -eq 0
# If the guard is killed, too, the next call removes the group.
"$program" -o ended -- sleep $word &
pid=$!
until [ -n "$(running $word)" ]; do sleep 0.01; done
guard=$(pgrep -P $pid | while read -r child; do grep -lx mafat-guard "/proc/$child/comm"; done | tr -dc '0-9\n')
{ kill -KILL "$guard" $pid && wait $pid; } 2>/dev/null
check no-guard "no group mafat-$pid is left" test -n "$(left $pid)"
limited -- true
check swept "left: $(left $pid)" test -z "$(left $pid)"
check swept-processes "running: $(running $word)" until_gone running $word
# If only the guard is killed, nothing is lost.
"$program" --json -o "$report" -- sh -c 'until [ -e go ]; do sleep 0.01; done' &
pid=$!
until [ -n "$(left $pid)" ]; do sleep 0.01; done
kill -KILL "$(pgrep -P $pid | while read -r child; do grep -lx mafat-guard "/proc/$child/comm"; done | tr -dc '0-9\n')"
touch go
wait $pid
check guard-killed "exit status $?" test $? -eq 0
json guard-killed-json 'a["outcome"] == "exit"'
check guard-killed-group "left: $(left $pid)" test -z "$(left $pid)"
# A group named after a process number of another container, or one unknown here, is left alone.
others=$mount/mafat-test-others-$$
if [ "$(id -u)" = 0 ] && [ "$version" = v1 ] && unshare --pid --fork --mount-proc true 2>"$err" && mkdir "$others"; then
  mkdir "$others/mafat-1" "$others/mafat-4194999" "$others/mafat-4194998"
  own+=("$others/mafat-1" "$others/mafat-4194999" "$others/mafat-4194998" "$others")
  sleep $word &
  pid=$!
  echo $pid >"$others/mafat-1/cgroup.procs"
  timeout 5 unshare --pid --fork --mount-proc "$program" --parent "${others##*/}" -o made -- true 2>"$err"
  code=$?
  expect same-number 2 'is there already'
  check others-empty 'not swept' test ! -e "$others/mafat-4194998" -a ! -e "$others/mafat-4194999"
  mkdir "$others/mafat-4194999"
  unshare --pid --fork sleep $word 2>/dev/null &
  inner=$!
  until child=$(pgrep -P $inner); do sleep 0.01; done
  echo "$child" >"$others/mafat-4194999/cgroup.procs"
  limited --parent "${others##*/}" -- true
  check others-inside 'killed' test -n "$(cat "$others/mafat-4194999/cgroup.procs")"
  { kill -KILL "$child" && wait $inner; } 2>/dev/null
  check others-live 'it was killed' kill -0 $pid
  { kill $pid && wait $pid; } 2>/dev/null
elif [ "$(id -u)" != 0 ] || [ "$version" != v1 ]; then
  skip same-number 'needs root and control groups v1'
else
  skip same-number "$(head -n 1 "$err")"
fi
exit $failed
