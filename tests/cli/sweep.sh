#!/usr/bin/env bash
# Checks experiments/sweep.sh: rows of every kind, resuming, and that nothing is left however it
# ends. Run from the project's root; BUILD names the build folder (default: build). Needs root with
# a memory controller, and Debian's libdarknet for real failures.
set -u

# shellcheck source=tests/check.sh
. tests/check.sh
build=$(realpath "${BUILD:-build}")
export BUILD=$build
program=$PWD/experiments/sweep.sh
experiments=$PWD/experiments
folder=$(mktemp -d -p "$build") || exit 1 # on a disk
export TMPDIR=$folder/work
# shellcheck disable=SC2317 # called by a trap
leave() {
  for job in $(jobs -p); do kill -TERM "$job"; done 2>/dev/null
  wait
  [ ${#parent[@]} = 0 ] || rmdir "$groups"
  rm -rf "$folder"
}
parent=()
at_end leave
mkdir "$TMPDIR"
cd "$folder" || exit 1
out=out err=err patience=100

if ! command -v python3 >/dev/null; then
  skip sweep "needs python3"
  exit 0
fi

# Two convolutions on a large map, 0.1 s for mafat and seconds for Darknet; and a network that is
# done at once.
printf '[net]\nwidth=416\nheight=416\nchannels=3\nbatch=8\n[convolutional]\nfilters=64\nsize=3\npad=1\nactivation=leaky\n' >slow.cfg
printf '[convolutional]\nfilters=64\nsize=3\npad=1\nactivation=leaky\n[maxpool]\nsize=2\nstride=2\n' >>slow.cfg
printf '[net]\nwidth=64\nheight=64\nchannels=3\n[convolutional]\nfilters=16\nsize=3\npad=1\nactivation=leaky\n[maxpool]\nsize=2\nstride=2\n' >fast.cfg
for name in slow fast; do "$build/make_weights" --quiet $name.cfg $name.weights || exit 1; done
{ printf 'P6\n64 64\n255\n' && head -c 12288 /dev/zero | tr '\0' 'p'; } >dot.ppm

# clean NAME TEXT ARGUMENT...: refused, and no new file exists
clean() {
  local before
  before=$(find . -type f | sort)
  bad "$@"
  [ "$before" = "$(find . -type f | sort)" ] || fail "$1" "left something behind: $(find . -type f)"
}
touch out err
mkfifo pipe

run --help
check help "status $code, $(head -c 200 err)" test "$code,$(head -c 15 out),$(wc -c <err)" = '0,usage: sweep.sh,0'
own=(fast.cfg fast.weights dot.ppm)
clean "no arguments" "expected MODEL.cfg"
clean "unknown option" "--nonsense" --nonsense "${own[@]}"
clean "unknown limit" "'12X'" --limits 64M,12X "${own[@]}"
clean "no limit" "''" --limits 64M, "${own[@]}"
clean "a limit of 400 digits" "expects a size" --limits "$(printf '9%.0s' {1..400})" "${own[@]}"
clean "repeats" "'0'" --repeats 0 "${own[@]}"
clean "time-out" "'soon'" --timeout soon "${own[@]}"
clean "layers" "from 1 to the 2" --layers 3 "${own[@]}"
clean "unknown program" "'notepad'" --program notepad "${own[@]}"
clean "options of a peer" "takes no options" --program 'opencv --fast' "${own[@]}"
clean "one label twice" "called 'a'" --program 'a: mafat' --program 'a: mafat --threads 2' "${own[@]}"
clean "missing cfg" "no.cfg" no.cfg fast.weights dot.ppm
clean "missing weights" "no.weights" fast.cfg no.weights dot.ppm
clean "missing picture" "no.ppm" fast.cfg fast.weights no.ppm
clean "no cfg" "found no layers" dot.ppm fast.weights dot.ppm
clean "no folder for the CSV" "no-folder/a.csv" --csv no-folder/a.csv "${own[@]}"
clean "a folder for the CSV" "." --csv . "${own[@]}"
clean "no folder for the figure" "no-folder/a.png" --csv a.csv --plot no-folder/a.png "${own[@]}"
clean "no PNG" "a.jpg" --csv a.csv --plot a.jpg "${own[@]}"
clean "swap" "'much'" --swap much --csv a.csv "${own[@]}"
mkdir empty && ln -s "$build/run_inference" empty/
BUILD=$folder/empty clean "missing memory_limit" "memory_limit is missing; make" --csv a.csv "${own[@]}"
echo 'a,b' >other.csv
clean "no file for the CSV" "regular file" --csv pipe "${own[@]}"
clean "a CSV of something else" "heading" --csv other.csv "${own[@]}"

# A row that fits only in part on the disk is not written at all.
said=$(PYTHONPATH=$experiments python3 -B -S - 2>&1 <<'PYTHON'
import os, resource
from sweep import rows
writer = rows.Writer("short.csv")
writer.begin()
row = {column: 1 for column in rows.COLUMNS}
writer.append(row)
whole = os.path.getsize("short.csv")
resource.setrlimit(resource.RLIMIT_FSIZE, (whole + 20, resource.RLIM_INFINITY))
try:
    writer.append(row)
    print("taken for written")
except OSError as reason:
    assert str(reason) == "short.csv: File too large", reason
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert os.path.getsize("short.csv") == whole, "half of it is there"
writer.append(row)
writer.close()
assert len(rows.read_rows("short.csv")) == 2
PYTHON
)
check "a disk that is full" "$(tail -n 1 <<<"$said")" test -z "$said"
rm -f short.csv

needs() { [ -x "$build/$1" ] || { skip sweep "needs $build/$1" && exit $failed; }; }
needs memory_limit
if ! "$build/memory_limit" --limit 64M -o /dev/null -- true 2>err; then
  skip sweep "no memory group can be made here: $(tail -n 1 err)"
  exit $failed
fi
# Groups are made below our own if possible: no other process's groups are there.
groups=$("$build/memory_limit" --check --json | python3 -c 'import json, sys; a = json.load(sys.stdin); print(a["cgroup"] == "v1" and a["mount"] or "")')
groups=${groups:+$groups/mafat-test-$$}
if [ -n "$groups" ] && mkdir "$groups" 2>/dev/null; then
  parent=(--parent "mafat-test-$$")
  own=("${parent[@]}" "${own[@]}")
fi
clean "no such CPU" "cpu" --cpus 9999 --csv a.csv "${own[@]}"
mkdir bare
for name in memory_limit run_inference; do ln -s "$build/$name" bare/; done
BUILD=$folder/bare clean "missing peer" "install" --csv a.csv --program onnxruntime "${own[@]}"
BUILD=$folder/bare clean "missing pack_weights" "pack_weights is missing; make" --csv a.csv --program mafat-packed "${own[@]}"
own_swap=32M # none if swap needs root
"$experiments/swap.sh" with 32M true 2>err || { skip "swap" "$(tail -n 1 err)" && own_swap=none; }
[ $own_swap = none ] || clean "a swap file that does not fit" "disk" --swap 900000G --csv a.csv "${own[@]}"

# rows CSV EXPRESSION: prints a Python expression over the list r of its rows
rows() {
  PYTHONPATH=$experiments python3 -B -S -c '
import sys
from sweep import rows
r = rows.read_rows(sys.argv[1])
of = lambda label: [row for row in r if row["label"] == label]
print(eval(sys.argv[2]))' "$1" "$2"
}
# is NAME CSV EXPRESSION: the expression must be true
is() { check "$1" "status $code, $(rows "$2" 'len(r), r[-1]' 2>&1 | tail -n 1 | head -c 600); $(head -c 300 err)" test "$(rows "$2" "$3")" = True; }

run --csv a.csv --swap none --limits none,16M --repeats 2 --program mafat --program 'packed: mafat-packed --threads 1' --program 'bad: mafat --plan 9x9x9' \
  --program 'big: mafat --memory 1M' --plot a.png "${own[@]}"
check "a sweep" "status $code, $(head -c 300 err)" test "$code,$(wc -c <err)" = 0,0
is "all rows" a.csv 'len(r) == 16 and len({rows.key(row) for row in r}) == 16'
is "success" a.csv 'all(rows.succeeded(row) and row["latency_ms"] < row["wall_ms"] and row["plan"] and row["peak_bytes"] for row in of("mafat") + of("packed"))'
is "a program that fails is a row" a.csv '{(row["outcome"], row["exit_status"], row["message"][:25]) for row in of("bad")} == {("exit", 2, "run_inference: plan 9x9x9")}'
is "what does not fit is a row" a.csv '{(row["outcome"], row["exit_status"]) for row in of("big")} == {("exit", 3)}'
is "the machine is in it" a.csv 'all(row[name] for row in r for name in ("machine", "kernel", "commit", "date", "swap", "cgroup", "cpus"))'
is "no paths of the work folder" a.csv 'not any("mafat-sweep-" in str(row) for row in r)'
if [ -s a.png ] && [ -s a.svg ]; then ok figure; else command -v gnuplot >/dev/null && fail figure "$(cat err)"; fi
check "a table" "$(cat out)" grep -q '^limit  *mafat' out
if command -v gnuplot >/dev/null; then
  run --csv q.csv --swap none --limits 16M --repeats 1 --plot q.png --program "o'ne \" \`touch ran\`: mafat" "${own[@]}"
  check "a name is no command" "status $code, $(head -c 300 err)" test -s q.svg -a ! -e ran
fi
cp a.csv before.csv
run --csv a.csv --swap none --limits none,16M --repeats 2 --program mafat "${own[@]}"
check "nothing is run twice" "status $code, $(diff a.csv before.csv)" cmp -s a.csv before.csv
head -c -40 before.csv >a.csv
run --csv a.csv --swap none --limits none,16M --repeats 2 --program mafat --program 'packed: mafat-packed --threads 1' --program 'bad: mafat --plan 9x9x9' \
  --program 'big: mafat --memory 1M' "${own[@]}"
is "a row that was cut off is run again" a.csv 'len(r) == 16 and len({rows.key(row) for row in r}) == 16'
mkdir other && cp slow.cfg other/fast.cfg
clean "another cfg of that name" "--fresh" --csv a.csv --swap none other/fast.cfg slow.weights dot.ppm
clean "another program of that label" "label 'big'" --csv a.csv --swap none --program 'big: mafat' "${own[@]}"
clean "another page cache" "a cold page cache" --csv a.csv --swap none --warm "${own[@]}"
sed '2,$s/,"[^"]* CPUs",/,"Another machine, 3 CPUs",/' a.csv >moved.csv
clean "rows of another machine" "Another machine" --csv moved.csv --swap none "${own[@]}"
(
  exec 9<a.csv
  flock 9
  "$program" --csv a.csv --swap none --limits 20M "${own[@]}" >out 2>err
)
check "one sweep at a time" "$(cat err)" grep -q 'another sweep' err
run --csv a.csv --fresh --swap none --limits 16M --repeats 1 "${own[@]}"
is "fresh" a.csv 'len(r) == 1'
# Modules in the current folder are not used; comments may have any encoding.
mkdir odd
printf 'raise SystemExit("a module of the folder one is in")\n' | tee odd/json.py odd/random.py >odd/sweep.py
{ printf '# caf\351\n' && cat fast.cfg; } >odd/fast.cfg
(cd odd && exec "$program" --csv a.csv --swap none --limits none --repeats 1 --quiet fast.cfg ../fast.weights ../dot.ppm) >out 2>err
code=$?
is "from anywhere, a cfg in any encoding" odd/a.csv '[rows.succeeded(row) for row in r] == [True]'
if command -v script >/dev/null; then
  script -qec "$program --csv a.csv --swap none --limits 16M --repeats 3 ${own[*]}" /dev/null </dev/null >out 2>err
  check "progress on a terminal" "$(cat out)" grep -q '1/2, [0-9]* s left: fast, mafat, 16M, run 3' out
fi

# ---- However it ends, nothing stays

gone() { ! kill -0 "$1" 2>/dev/null; }
# left: remains of ended calls
left() {
  local path pid places=("$groups"/)
  [ ${#parent[@]} -gt 0 ] || places=(/sys/fs/cgroup/{,memory/,cpuset/,unified/})
  for path in "$TMPDIR"/mafat-sweep-* $(printf '%smafat-[0-9]* ' "${places[@]}") /var/tmp/mafat-swap-with-*; do
    [ -e "$path" ] || continue
    pid=${path##*-}
    if [[ $path == "$TMPDIR"/* ]] || gone "$pid"; then echo "$path"; fi
  done
  pgrep -fa -- "$folder" | grep -v pgrep
}
settled() { # SECONDS
  local tries
  for ((tries = 0; tries <= $1 * 10; tries++)); do
    [ $tries = 0 ] || sleep 0.1
    [ -n "$(left)" ] || return 0
  done
  return 1
}
RANDOM=$(date +%N | sed 's/^0*//')
# shellcheck disable=SC2054 # commas are meant
arguments=(--csv k.csv --limits none,64M,32M,16M,12M,8M,6M,4M --quiet --program mafat --program 'two: mafat --threads 2 --plan 2x2/NoCut' "${own[@]}")
set -m # a background job of its own process group
strikes='' wrong=''
all=(INT:none KILL:32M TERM:none HUP:32M)
[ "${MAFAT_TEST_SIZE:-}" = gate ] || all+=(KILL:none INT:32M KILL:none TERM:32M KILL:32M KILL:none)
for strike in "${all[@]}"; do
  signal=${strike%:*} swap=${strike#*:} seconds=3
  [ "$swap" = none ] || swap=$own_swap
  [ "$swap" != none ] || seconds=2
  # Resets ignored signals (nohup, background jobs): a sweep that ignores its signal would run for
  # minutes.
  env --default-signal=HUP,INT,TERM "$program" --swap "$swap" --repeats 50 "${arguments[@]}" >out 2>err &
  pid=$!
  sleep "$((RANDOM % seconds)).$((RANDOM % 10))$((RANDOM % 10))"
  kill -s "$signal" $pid 2>/dev/null
  wait $pid 2>/dev/null
  status=$?
  strikes+=" $signal:$status"
  [ $status != 0 ] || { wrong="$signal was ignored" && break; }
  guards_take=0
  [ "$signal" != KILL ] || guards_take=10 # time for the guards to finish
  settled $guards_take || { wrong="after $signal this is left: $(left; true)" && break; }
  # Before Python runs our code, it handles INT itself.
  [ "$signal" != INT ] || grep -q "${program%.sh}" err || : >err
  # Other processes fill the disk: continue without swap.
  ! grep -q 'has to stay free' err || { own_swap=none && : >err; }
  [ ! -s err ] || { wrong="after $signal it said: $(cat err)" && break; }
  [ ! -e k.csv ] || rows k.csv 'len(r)' >/dev/null || { wrong="after $signal the CSV is damaged" && break; }
done
set +m
check "killed at any moment:$strikes" "$wrong" test -z "$wrong"
rounds=$(rows k.csv 'max(row["repeat"] for row in r)' 2>/dev/null) || rounds=1
run --swap none --repeats "$rounds" "${arguments[@]}"
is "gone on with to its end" k.csv "len(r) == 16 * $rounds and len({rows.key(row) for row in r}) == 16 * $rounds"
check "nothing stays" "$(left)" settled 0

# ---- Real failures

if ! [ -e /usr/lib/darknet/include/darknet.h ]; then
  skip "killed and timed-out runs" "libdarknet is missing; apt-get install darknet"
  exit $failed
fi
slow=("${parent[@]}" slow.cfg slow.weights dot.ppm)
run --csv b.csv --swap none --limits 16M,8M --repeats 2 --give-up --program darknet --program mafat "${slow[@]}"
is "an OOM kill is a row" b.csv 'all(row["outcome"] == "oom" and row["latency_ms"] is None for row in of("darknet") if row["limit_bytes"] == 16 << 20)'
is "given up at smaller limits" b.csv '[row["outcome"] for row in of("darknet") if row["limit_bytes"] == 8 << 20] == ["given-up"]'
is "others go on" b.csv '[(row["limit_bytes"] >> 20, row["exit_status"]) for row in of("mafat")] == [(16, 0), (16, 0), (8, 3), (8, 3)]'
run --csv c.csv --swap none --limits none --repeats 2 --timeout 0.4 --patience 0.2 --program darknet "${slow[@]}"
is "a time-out is a row, and is not repeated" c.csv '[row["outcome"] for row in r] == ["timeout"]'
run --csv c.csv --swap none --limits none --repeats 1 --layers 1 --program darknet "${slow[@]}"
is "the first layers of Darknet" c.csv 'r[-1]["layers"] == 1 and rows.succeeded(r[-1])'
darknet=$build/peers/peer_darknet
head -n 10 slow.cfg | sed s/batch=8/batch=1/ >cut.cfg
"$darknet" --dump cut.dump cut.cfg slow.weights dot.ppm >out 2>err
"$darknet" --layers 1 --marks marks --dump layers.dump slow.cfg slow.weights dot.ppm >out 2>err
check "Darknet cut off has the same bits" "$(tail -n 1 err)" cmp cut.dump layers.dump
# shellcheck disable=SC2016 # awk's
check "when its layers ran" "$(head -n 5 marks)" awk '$3 > $4 || $3 < last { bad = 1 } { last = $4; types = types " " $2 }
  END { exit bad || types != " image convolutional" }' marks
check "nothing stays" "$(left)" settled 0
exit $failed
