#!/usr/bin/env bash
# Checks that run_inference stays inside a memory limit. Runs it by memory_limit in a fresh group,
# with uncached files and available swap, alternating with the same run without a limit. Needs what
# memory_limit --check requires. Exit status 0: passes, 1: fails, 2: misuse, 77: not possible here.
# --help lists the options.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/limits/disk.sh
. "$here/disk.sh"

usage() {
  cat <<'HELP'
usage: limit.sh [options] -- build/run_inference ARGUMENT... IMAGE [--against build/run_inference ARGUMENT... IMAGE]

Runs the command inside a memory limit, and without one but with --memory LIMIT, so that it plans the same. It passes when
every run inside the limit ends well, swaps nothing, has at most 10 major faults in each inference after the first, finds what
the run without a limit finds, and takes at most 1.25 times as long (median of a process's inferences). One more run of each
compares the last layer's bits.
The last argument is the picture; each process runs it --repeat times, each time an inference with figures of its own.

  --limit SIZE          of the group: 10M, 10.5M, 16384K, bytes (default: 10M)
  --runs N              processes inside the limit, each beside one without (default: 5)
  --repeat N            inferences in each process (default: 3)
  --against COMMAND...  another command that is run in turn with it, for the ratio of their times; last
  --against-limit SIZE  its limit (default: none)
  --bar RATIO           against that command, at most (default: a figure only)
  --time fail|report    whether times decide, or are figures only (default: fail)
  --swap SIZE           of the swap file that is made where no swap is on (default: 256M)
  --warm                files are read into the page cache before a run: what it costs after the first time
  --timeout SECONDS     of one process (default: 300)
  --only-limited        no runs without a limit: nothing to compare with
  --read-bps BYTES      reads of the disk at most so fast, in every run
  --no-copy FILE        used as it is, only evicted: no other program uses it (may be repeated)
  --json                one JSON object per process and one for the verdict, instead of text
  --check               only says whether it can be tried here
  --help

Files are copied to a folder of its own in TMPDIR (default: the build folder, BUILD), which must be on a disk.
HELP
}

misuse() {
  echo "limit.sh: $1; --help lists the options" >&2
  exit 2
}
cannot() {
  echo "limit.sh: $1" >&2
  exit 77
}
number() { [[ $2 =~ ^[1-9][0-9]*$ ]] || misuse "$1 expects an integer from 1, found '$2'"; }
bytes_of() {
  local bytes
  bytes=$(LC_ALL=C numfmt --from=iec -- "$2" 2>/dev/null) && [ "$bytes" -gt 0 ] && echo "$bytes" ||
    misuse "$1 expects a size such as 10M, found '$2'"
}

limit=10485760 n_runs=5 repeat=3 against_limit='' bar='' time=fail swap_bytes=268435456 warm=0 timeout=300 only_limited=0
read_bps='' json=0 check=0
declare -A as_it_is=()
arguments=("$@")
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  option=$1
  shift
  case $option in
    --help) usage && exit 0 ;;
    --warm) warm=1 && continue ;;
    --only-limited) only_limited=1 && continue ;;
    --json) json=1 && continue ;;
    --check) check=1 && continue ;;
  esac
  [ $# -gt 0 ] || misuse "$option: unknown, or its value is missing"
  value=$1
  shift
  case $option in
    --limit) limit=$(bytes_of "$option" "$value") || exit 2 ;;
    --runs) number "$option" "$value" && n_runs=$value ;;
    --repeat) number "$option" "$value" && repeat=$value ;;
    --against-limit) against_limit=$(bytes_of "$option" "$value") || exit 2 ;;
    --bar) bar=$value ;;
    --time)
      case $value in fail | report) time=$value ;; *) misuse "--time expects fail or report, found '$value'" ;; esac
      ;;
    --swap) swap_bytes=$(bytes_of "$option" "$value") || exit 2 ;;
    --timeout) number "$option" "$value" && timeout=$value ;;
    --read-bps) number "$option" "$value" && read_bps=$value ;;
    --no-copy) as_it_is[$(realpath -- "$value")]=1 ;;
    *) misuse "unknown option $option" ;;
  esac
done
[ $# -eq 0 ] || shift

command -v python3 >/dev/null || cannot 'needs python3'
build=${BUILD:-build}
tool=$build/memory_limit
[ -x "$tool" ] || cannot "needs $tool (make builds it, with libcgroup-dev and libproc2-dev)"
answer=$("$tool" --check --json) ||
  cannot "$(python3 -c 'import json, sys; a = json.loads(sys.argv[1]); print(a["reason"], *(a["command"] and ["this would help:", a["command"]] or []))' "$answer")"
read -r version mount < <(python3 -c 'import json, sys; a = json.loads(sys.argv[1]); print(a["cgroup"], a["mount"])' "$answer")

# ---- Temporary files

place=${TMPDIR:-$build}
name=mafat-limit.$$
work='' throttle='' runner='' reader=''
cleaned=0

# leftovers: removes those of killed calls
leftovers() {
  local path
  for path in "$mount"/mafat-limit.* "$(dirname "$mount")"/blkio/mafat-limit.*; do
    kill -0 "${path##*.}" 2>/dev/null || throttle_remove "$path"
  done
  for path in "$place"/mafat-limit.*; do
    [ -d "$path" ] || continue
    kill -0 "${path##*.}" 2>/dev/null || rm -rf "$path"
  done
}

clean() {
  [ $cleaned = 0 ] || return
  cleaned=1
  trap '' HUP INT TERM
  [ -z "$runner" ] || { kill -TERM "$runner" && wait "$runner"; } 2>/dev/null # it cleans up before it ends
  exec 5>&-
  [ -z "$reader" ] || { kill "$reader" && wait "$reader"; } 2>/dev/null
  [ -z "$throttle" ] || throttle_remove "$throttle"
  [ -z "$work" ] || rm -rf "$work"
}
trap 'case $BASHPID in $$) clean ;; esac' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

find_place() {
  mkdir -p "$place" && place=$(realpath "$place") || exit 2
  leftovers
  case $(stat -fc %T "$place") in
    tmpfs | ramfs) cannot "$place is in memory: files there cannot be evicted. Set TMPDIR to a folder on a disk" ;;
  esac
}

# need_swap: if no lasting swap is on, swap.sh makes a file and starts this call again as its
# command. Writes the active swap to $swap_note.
need_swap() {
  local others swap=$here/../../experiments/swap.sh why
  if grep -q "/mafat-swap-with-$PPID " /proc/swaps; then
    swap_note="a file of its own, $((swap_bytes >> 20)) MiB"
    return
  fi
  others=$(awk 'NR > 1 && $1 !~ "/mafat-swap-with-[0-9]*$" { print $1 }' /proc/swaps | tr '\n' ' ')
  if [ -n "$others" ]; then
    swap_note="on ${others% }"
    return
  fi
  why=$("$swap" with "$swap_bytes" --folder "$place" true 2>&1) && exec "$swap" with "$swap_bytes" --folder "$place" -- "$0" "${arguments[@]}"
  swap_note="none (${why#swap.sh: }), what would swap is killed"
}

# ---- Commands: files are replaced by private copies, the picture is repeated

declare -A copied=()
files=()

copy_of() { # FILE: its copy in $copy
  local path
  path=$(realpath -- "$1")
  copy=${copied[$path]-}
  [ -z "$copy" ] || return 0
  if [ -n "${as_it_is[$path]-}" ]; then
    copy=$path
  else
    copy=$work/files/${#copied[@]}-$(basename "$path")
    cp -- "$path" "$copy" || exit 2
  fi
  copied[$path]=$copy
  files+=("$copy")
}

has() { # WORD WORD...: true if the first word, or its part up to "=", is one of the others
  local word=$1 other
  shift
  for other; do [ "$other" != "$word" ] && [[ $other != "$word="* ]] || return 0; done
  return 1
}

# prepare ARGUMENT...: the command with its private files in $command
prepare() {
  local word after=''
  [ $# -ge 2 ] || misuse 'expected a command after --: build/run_inference MODEL.cfg MODEL.weights IMAGE'
  for word in --repeat --input --dump-output; do
    ! has "$word" "$@" || misuse "$word belongs to limit.sh itself"
  done
  [ -f "${!#}" ] || misuse "the last word of the command is no picture: ${!#}"
  command=()
  for word; do
    if [ -f "$word" ] && [[ $after != --plan && $after != --memory ]]; then
      copy_of "$word"
      command+=("$copy")
    else
      command+=("$word")
    fi
    after=$word
  done
  command=("${command[0]}" --json --quiet "${command[@]:1}")
}

# name_output COMMAND...: sets $output_name to the name of a model's last output and "=", for --dump-output, if it has several
name_output() {
  output_name=$("$1" --predict "${@:2}" | python3 -c 'import json, sys
outputs = json.load(sys.stdin).get("outputs", [])
print(outputs[-1]["name"] + "=" if len(outputs) > 1 else "")') 2>/dev/null || output_name=
}

# one KIND LIMIT COMMAND...: runs one process in a new group; results go to a folder in $work/runs.
# Kinds that end in -bits run once and store the last layer's digest, the others run the picture
# $repeat times.
n_done=0
one() {
  local kind=$1 bound=$2 folder options=() status=0 n=$repeat line=() file
  shift 2
  line=("$@")
  if [[ $kind == *-bits ]]; then
    n=1
    line=("$1" --dump-output "$output_name$work/bits" "${@:2}")
  else
    while [ $((${#line[@]} - $#)) -lt $((repeat - 1)) ]; do line+=("${!#}"); done
  fi
  n_done=$((n_done + 1))
  folder=$work/runs/$(printf %04d $n_done)-$kind
  mkdir "$folder"
  options=(--timeout "$timeout" --json -o "$folder/report" --limit "${bound:-none}")
  if [ $warm = 1 ]; then
    cat "${files[@]}" >/dev/null
  else
    for file in "${files[@]}"; do options+=(--evict "$file"); done
  fi
  if [ -n "$read_bps" ]; then
    throttle_make "$name" "$disk" "$read_bps" "$version" "$mount" || cannot "$reason"
    if [ "$version" = v1 ]; then options+=(--join "$throttle/cgroup.procs"); else options+=(--parent "$name"); fi
  fi
  {
    echo "kind $kind"
    echo "repeat $n"
  } >"$folder/what"
  exec 5<>"$work/bits" 6<"$work/bits" # kept open, so that neither end blocks
  sha256sum <&6 >"$folder/bits" 5>&- 6<&- &
  reader=$!
  exec 6<&-
  "$tool" "${options[@]}" -- "${line[@]}" >"$folder/out" 2>"$folder/err" </dev/null 5>&- &
  runner=$!
  wait "$runner" || status=$?
  runner=
  exec 5>&-
  wait "$reader"
  reader=
  if [ -n "$throttle" ]; then
    throttle_remove "$throttle"
    throttle=
  fi
  if [ $status -gt 1 ]; then
    reason=$(tail -n 1 "$folder/err")
    case $reason in
      *'cannot be run'* | *'no such program'* | *'no program that may be run'*) echo "limit.sh: ${reason#memory_limit: }" >&2 && exit 2 ;;
      *) cannot "${reason#memory_limit: }" ;;
    esac
  fi
  python3 "$here/judge.py" run $json "$folder"
}

if [ $check = 1 ]; then
  find_place
  echo "limit.sh: control groups $version"
  exit 0
fi

ours=() other=()
while [ $# -gt 0 ] && [ "$1" != --against ]; do
  ours+=("$1")
  shift
done
[ $# -eq 0 ] || { shift && other=("$@"); }
[ -z "$bar" ] || [ ${#other[@]} -gt 0 ] || misuse '--bar needs --against'

find_place
need_swap
mkdir "$place/$name" || exit 2
work=$place/$name
mkdir "$work/files" "$work/runs"
mkfifo "$work/bits"
disk=
[ -z "$read_bps" ] || disk_of "$work" || cannot "$reason"
prepare "${ours[@]}"
name_output "${command[@]}"
limited=("${command[@]}") unlimited=("${command[@]}")
has --memory "${command[@]}" || unlimited=("${command[0]}" --memory "$limit" "${command[@]:1}")
if [ ${#other[@]} -gt 0 ]; then
  prepare "${other[@]}"
  other=("${command[@]}")
fi
[ $json = 1 ] || echo "limit $limit bytes, control groups $version, swap: $swap_note; $([ $warm = 1 ] && echo warm || echo cold)"

# round SUFFIX: the run and its reference
round() {
  one "limited$1" "$limit" "${limited[@]}"
  well=0
  ! grep -q '"outcome":"exit","exit_status":0' "$work/runs/$(printf %04d $n_done)-limited$1/report" || well=1
  [ $only_limited = 1 ] || one "unlimited$1" '' "${unlimited[@]}"
  [ ${#other[@]} -eq 0 ] || one "against$1" "$against_limit" "${other[@]}"
}
for ((k = 0; k < n_runs; k++)); do
  round ''
  [ "$well" = 1 ] || [ "$n_runs" -gt 1 ] || break
done
[ "$well" = 0 ] || [ $only_limited = 1 ] || round -bits
python3 "$here/judge.py" verdict $json "$work/runs" "$n_runs" "$time" "$only_limited" "${bar:-0}" "$swap_note"
