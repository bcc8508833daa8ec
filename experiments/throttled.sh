#!/usr/bin/env bash
# Measures narrow weights on a slow disk: one network in a memory limit, with weights of each type, with and without throttled
# reads, and with plans calibrated for both. Prints a table of latencies, predictions and ratios to float32. Needs what
# memory_limit --check needs, and the blkio (cgroups v1) or io controller (v2). Turns no swap on. Exit status: 0 success,
# 1 a run failed, 2 wrong usage, 77 not possible here.
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/limits/disk.sh
. tests/limits/disk.sh
build=${BUILD:-build}

usage() {
  cat <<'HELP'
usage: throttled.sh [options] [MODEL.cfg [PICTURE]]

MODEL.cfg gets random weights; default: Debian's yolov2.cfg (608 x 608) and dog.jpg. Figures are medians.

  --rates "100 0"     MB (1000000 bytes) a second that the disk reads; 0: as fast as it is
  --limit 10M         of the memory group
  --runs 5            processes of each kind, in turn, of --repeat inferences
  --repeat 3
  --types "float32 fp16 int8 int4"
  --cpus "avx512"     levels of kernels; default: the best of this CPU
  --threads 1
  --calibration FOLDER  as XDG_CACHE_HOME, one for each rate below it: kept, and taken where it is there
  --help
HELP
}
misuse() {
  echo "throttled.sh: $1; --help shows the options" >&2
  exit 2
}
cannot() {
  echo "throttled.sh: $1" >&2
  exit 77
}

rates='100 0' limit=10M n_runs=5 repeat=3 types='float32 fp16 int8 int4' cpus='' threads=1 calibration=''
while [ $# -gt 0 ] && [[ $1 == --* ]]; do
  option=$1
  [ "$option" != --help ] || { usage && exit 0; }
  [ $# -gt 1 ] || misuse "$option: unknown, or its value is missing"
  value=$2
  shift 2
  case $option in
    --rates) rates=$value ;;
    --limit) limit=$value ;;
    --runs) n_runs=$value ;;
    --repeat) repeat=$value ;;
    --types) types=$value ;;
    --cpus) cpus=$value ;;
    --threads) threads=$value ;;
    --calibration) calibration=$value ;;
    *) misuse "unknown option $option" ;;
  esac
done
for counted in "--runs $n_runs" "--repeat $repeat" "--threads $threads"; do
  [[ $counted =~ ^--[a-z]+\ 0*[1-9][0-9]{0,5}$ ]] || misuse "${counted%% *} expects an integer of 1 or more, found '${counted#* }'"
done
[[ $rates =~ ^[0-9\ ]+$ ]] || misuse "--rates expects integers, found '$rates'"
cfg=${1:-/usr/share/darknet/cfg/yolov2.cfg} picture=${2:-/usr/share/darknet/data/dog.jpg}
for file in "$cfg" "$picture"; do [ -r "$file" ] || cannot "needs $file"; done
for tool in memory_limit run_inference pack_weights make_weights; do [ -x "$build/$tool" ] || cannot "needs $build/$tool; make"; done
command -v python3 >/dev/null || cannot 'needs python3'
answer=$("$build/memory_limit" --check --json) || cannot 'no memory group can be made here'
read -r version mount < <(python3 -c 'import json, sys; a = json.loads(sys.argv[1]); print(a["cgroup"], a["mount"])' "$answer")

work=$(mktemp -d -p "$build") || exit 2
throttle='' child=''
# shellcheck disable=SC2317 # called by the traps
stop() {
  trap '' HUP INT TERM
  [ -z "$child" ] || { kill -TERM "$child" && wait "$child"; } 2>/dev/null
  exit "$1"
}
trap 'case $BASHPID in $$) [ -z "$throttle" ] || throttle_remove "$throttle"; rm -rf "$work" ;; esac' EXIT
trap 'stop 129' HUP
trap 'stop 130' INT
trap 'stop 143' TERM
disk_of "$work" || cannot "$reason"
calibration=${calibration:-$work/calibration}

# in_group RATE OPTION... -- COMMAND...: runs it by memory_limit with throttled reads
in_group() {
  local rate=$1 options=() status=0 name=mafat-throttled-$$
  shift
  if [ "$rate" != 0 ]; then
    throttle_make "$name" "$disk" $((rate * 1000000)) "$version" "$mount" || cannot "$reason"
    if [ "$version" = v1 ]; then options=(--join "$throttle/cgroup.procs"); else options=(--parent "$name"); fi
  fi
  "$build/memory_limit" "${options[@]}" "$@" &
  child=$!
  wait "$child" || status=$?
  child=
  [ -z "$throttle" ] || throttle_remove "$throttle"
  throttle=
  return $status
}

"$build/make_weights" --quiet "$cfg" "$work/weights" || exit 2
for type in $types; do "$build/pack_weights" --quiet --weights "$type" "$cfg" "$work/weights" "$work/$type" || exit 2; done
rm "$work/weights"
for rate in $rates; do
  mkdir -p "$calibration/$rate"
  for cpu in ${cpus:-best}; do
    level=(--cpu "$cpu")
    [ "$cpu" != best ] || level=()
    ls "$calibration/$rate/mafat/"*"${cpu#best}"* >/dev/null 2>&1 ||
      TMPDIR=$work XDG_CACHE_HOME=$calibration/$rate in_group "$rate" -o /dev/null -- "$build/run_inference" --calibrate "${level[@]}" >"$work/log" 2>&1 ||
      { cat "$work/log" >&2 && exit 1; }
    for type in $types; do
      XDG_CACHE_HOME=$calibration/$rate "$build/run_inference" --quiet --predict --json --memory "$limit" --threads "$threads" "${level[@]}" \
        "$work/$type" "$picture" >"$work/$rate-$cpu-$type.predicted" || exit 1
    done
  done
done
for ((run = 1; run <= n_runs; run++)); do
  for rate in $rates; do
    for cpu in ${cpus:-best}; do
      for type in $types; do
        [ ! -t 2 ] || printf '\r\033[Krun %d of %d, %s MB/s, %s' "$run" "$n_runs" "$rate" "$type" >&2
        level=(--cpu "$cpu")
        [ "$cpu" != best ] || level=()
        XDG_CACHE_HOME=$calibration/$rate in_group "$rate" --limit "$limit" --swap none --json -o "$work/report" --evict "$work/$type" -- \
          "$build/run_inference" --quiet --json --memory "$limit" --threads "$threads" --repeat "$repeat" "${level[@]}" "$work/$type" "$picture" \
          >"$work/out" 2>"$work/err" || { cat "$work/err" "$work/report" >&2 && exit 1; }
        cat "$work/out" >>"$work/$rate-$cpu-$type.measured"
        cat "$work/report" >>"$work/$rate-$cpu-$type.reports"
      done
    done
  done
done
[ ! -t 2 ] || printf '\r\033[K' >&2
python3 - "$work" "$limit" "$rates" "${cpus:-best}" "$types" <<'PYTHON'
import json
import statistics
import sys

work, limit, rates, cpus, types = sys.argv[1], sys.argv[2], *(a.split() for a in sys.argv[3:])


def read(name):
    with open("%s/%s" % (work, name), encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.startswith("{")]


for rate in rates:
    for cpu in cpus:
        print("%s, kernels %s, limit %s" % (rate + " MB/s" if rate != "0" else "disk as it is", cpu, limit))
        print("weights    least MB  needs MB  MB read  predicted ms  ratio        ms  ratio   fastest  ratio  processor ms  plan")
        first = None
        for kind in types:
            at = "%s-%s-%s" % (rate, cpu, kind)
            told, runs, reports = read(at + ".predicted")[0], read(at + ".measured"), read(at + ".reports")
            ms = [x for r in runs for x in r["latencies_ms"]]
            n = len(ms) / len(runs)
            own = statistics.median((r["user_ms"] + r["system_ms"]) / n for r in reports)
            row = (told["predicted_latency_ms"], statistics.median(ms), min(ms))
            first = first or row
            print("%-9s %9.2f %9.2f %8.1f %13.1f %6.2f %9.1f %6.2f %9.1f %6.2f %13.1f  %s" % (
                kind, told["least_charge_bytes"] / 2**20, told["predicted_charge_bytes"] / 2**20, told["weights_read_bytes"] / 1e6,
                row[0], row[0] / first[0], row[1], row[1] / first[1], row[2], row[2] / first[2], own, told["plan"]))
        print()
PYTHON
