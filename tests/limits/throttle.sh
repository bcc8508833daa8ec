#!/usr/bin/env bash
# Measures how latency depends on the disk: one command inside a memory limit, with and without
# throttled reads, in turn. Prints a table. Needs what limit.sh needs, and the blkio (control
# groups v1) or io controller (v2). Exit status: 0 done, 1 a run failed, 2 misuse, 77 not possible
# here.
set -u
cd "$(dirname "$0")/../.." || exit 1
here=tests/limits
export BUILD=${BUILD:-build}

usage() {
  cat <<'HELP'
usage: throttle.sh [--rates "100 400"] [--runs 3] CASE
       throttle.sh [--rates "100 400"] [--runs 3] OPTIONS-OF-LIMIT.SH -- build/run_inference ARGUMENT... IMAGE

Runs a case of cases.txt, or a command of one's own, with the disk's reads at so many MB (1000000 bytes) a second, and as fast
as it is. Latency: median of all inferences of all runs.
HELP
}
misuse() {
  echo "throttle.sh: $1; --help shows the options" >&2
  exit 2
}

rates='100 400' n_runs=3
words=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  case $1 in
    --help) usage && exit 0 ;;
    --rates) rates=${2-} && shift ;;
    --runs) n_runs=${2-} && shift ;;
    *) words+=("$1") ;;
  esac
  [ $# -eq 0 ] || shift
done
[[ $n_runs =~ ^[1-9][0-9]*$ && $rates =~ ^[\ 0-9]+$ ]] || misuse 'expected integers after --runs and --rates'
if [ $# -eq 0 ]; then
  [ ${#words[@]} -eq 1 ] || misuse 'expected one case, or a command after --'
  text=$(bash $here/run.sh --command "${words[0]}") || exit $?
  [[ $text == $here/limit.sh\ * ]] || { echo "throttle.sh: $text" >&2 && exit 77; }
  eval "set -- $text"
  shift
  words=()
  while [ "$1" != -- ]; do words+=("$1") && shift; done
fi
command=()
for word; do
  [ "$word" != --against ] || break
  command+=("$word")
done
# There is no reference run: --bar and its value are removed.
options=()
for ((i = 0; i < ${#words[@]}; i++)); do
  case ${words[i]} in
    --bar | --against-limit | --read-bps) i=$((i + 1)) ;;
    --json) ;;
    *) options+=("${words[i]}") ;;
  esac
done

lines=$(mktemp) || exit 2
child=
# shellcheck disable=SC2317 # called by the traps
stop() {
  trap '' HUP INT TERM
  [ -z "$child" ] || { kill -TERM "$child" && wait "$child"; } 2>/dev/null
  exit "$1"
}
trap 'case $BASHPID in $$) rm -f "$lines" "$lines.err" ;; esac' EXIT
trap 'stop 129' HUP
trap 'stop 130' INT
trap 'stop 143' TERM

for ((run = 1; run <= n_runs; run++)); do
  for rate in $rates 0; do
    throttle=()
    [ "$rate" = 0 ] || throttle=(--read-bps $((rate * 1000000)))
    [ ! -t 2 ] || printf '\r\033[Krun %d of %d, %s MB/s' "$run" "$n_runs" "$rate" >&2
    status=0
    printf '{"rate": %d}\n' "$rate" >>"$lines"
    bash $here/limit.sh "${options[@]}" --json --runs 1 --only-limited "${throttle[@]}" "${command[@]}" >>"$lines" 2>"$lines.err" &
    child=$!
    wait "$child" || status=$?
    child=
    [ $status -lt 2 ] || { cat "$lines.err" >&2 && exit $status; }
  done
done
[ ! -t 2 ] || printf '\r\033[K' >&2
python3 - "$lines" <<'PYTHON'
import json
import statistics
import sys

rate, found, failed = 0, {}, 0
with open(sys.argv[1], encoding="utf-8") as file:
    for line in file:
        value = json.loads(line)
        if "rate" in value:
            rate = value["rate"]
        elif value.get("kind") == "limited":
            found.setdefault(rate, []).append(value)
print("%-10s %5s %9s %9s %9s %9s  %s" % ("MB/s", "runs", "ms", "first ms", "load ms", "MB read", "outcome"))
for rate, runs in sorted(found.items(), key=lambda item: item[0] or float("inf")):
    good = [r for r in runs if r["outcome"] == "done"]
    bad = [r for r in runs if r["outcome"] != "done"]
    failed |= bool(bad)
    def median(values):
        values = [v for v in values if v is not None]
        return "%.1f" % statistics.median(values) if values else "-"
    swapped = sum(1 for r in good if r["swap_bytes"])
    outcome = bad[0]["message"] or bad[0]["outcome"] if bad else "done" + (", %d swapped" % swapped if swapped else "")
    print("%-10s %5s %9s %9s %9s %9s  %s" % (
        rate or "as it is", "%d/%d" % (len(good), len(runs)), median([ms for r in good for ms in r["latencies_ms"]]),
        median([r["latencies_ms"][0] for r in good]), median([r["load_ms"] for r in good]),
        median([r["read_bytes"] / 1e6 for r in good if r["read_bytes"] is not None]), outcome))
sys.exit(failed)
PYTHON
