#!/usr/bin/env bash
# Runs the cases of cases.txt through limit.sh: a table on standard output and a CSV. Needs root and a memory controller.
# --help lists the options.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root" || exit 1
here=tests/limits
build=${BUILD:-build}
export BUILD=$build
# shellcheck disable=SC2034 # by tests/check.sh
suite=limits
# shellcheck source=tests/check.sh
. tests/check.sh

usage() {
  cat <<'HELP'
usage: run.sh [options] [CASE...]

Runs cases of tests/limits/cases.txt (names or patterns; default: all but the sample). Fails when one that must pass does not.

  --sample          the few quick ones of make test-gate: one line each, times are figures only
  --floor CASE      finds by bisection the least limit, in steps of 256 KiB, in which the case passes
  --floors          after the table, the floors of the cases that ask for them
  --command CASE    prints the command that runs the case
  --list            names the cases
  --limit MIB --plan PLAN --weights packed|darknet --algorithm NAME
                    instead of what the file says; PLAN -: what the search finds
  --runs N          processes of each, beside as many without a limit (default: 5)
  --repeat N        inferences in each process (default: 3)
  --time report     times do not decide
  --cache FOLDER    of cfgs and weights, which are made once (default: limits in the build folder, up to 4 GB)
  --csv FILE        (default: results.csv in that folder)
  --cases FILE      instead of tests/limits/cases.txt

Exit status: 0 what must pass passes, 1 not, 2 misuse, 77 cannot be tried here.
HELP
}
misuse() {
  echo "run.sh: $1; --help lists the options" >&2
  exit 2
}

mode=all floors=0 cache=$build/limits csv='' cases=$here/cases.txt n_runs='' repeat=3 time=fail
new_limit='' new_plan='' new_weights='' new_algorithm=''
wanted=()
while [ $# -gt 0 ]; do
  option=$1
  shift
  case $option in
    --help) usage && exit 0 ;;
    --sample) mode=sample && continue ;;
    --list) mode=list && continue ;;
    --floors) floors=1 && continue ;;
    -*) [ $# -gt 0 ] || misuse "$option: unknown, or its value is missing" ;;
    *) wanted+=("$option") && continue ;;
  esac
  value=$1
  shift
  case $option in
    --floor) mode=floor && wanted+=("$value") ;;
    --command) mode=print && wanted+=("$value") ;;
    --limit) new_limit=$value ;;
    --plan) new_plan=$value ;;
    --weights) new_weights=$value ;;
    --algorithm) new_algorithm=$value ;;
    --runs) n_runs=$value ;;
    --repeat) repeat=$value ;;
    --time) time=$value ;;
    --cache) cache=$value ;;
    --csv) csv=$value ;;
    --cases) cases=$value ;;
    *) misuse "unknown option $option" ;;
  esac
done
[ -f "$cases" ] || misuse "$cases is missing"
if [ $mode = sample ]; then
  n_runs=${n_runs:-2} time=report
fi
n_runs=${n_runs:-5}

child='' answers=''
# stop: ends limit.sh, which cleans up first
# shellcheck disable=SC2317 # called by the traps
stop() {
  trap '' HUP INT TERM
  [ -z "$child" ] || { kill -TERM "$child" && wait "$child"; } 2>/dev/null
  exit "$1"
}
trap 'case $BASHPID in $$) rm -rf "$answers" ;; esac' EXIT
trap 'stop 129' HUP
trap 'stop 130' INT
trap 'stop 143' TERM

progress() { [ ! -t 2 ] || printf '\r\033[K%s' "$1" >&2; }

# ---- Cases

# take LINE: sets the columns of a case; options override them
take() {
  read -r name cfg size layers weights algorithm plan limit goal against bar <<<"$1"
  weights=${new_weights:-$weights} algorithm=${new_algorithm:-$algorithm} plan=${new_plan:-$plan} limit=${new_limit:-$limit}
}

selected() { # true if the case is selected by the options
  local pattern
  if [ ${#wanted[@]} -gt 0 ]; then
    # shellcheck disable=SC2053 # patterns
    for pattern in "${wanted[@]}"; do [[ $name != $pattern ]] || return 0; done
    return 1
  fi
  case $goal in
    sample | caught) [ $mode = sample ] ;;
    *) [ $mode != sample ] ;;
  esac
}

# made TARGET COMMAND...: makes the file atomically; the command's last word is replaced by a
# temporary name
made() {
  local target=$1
  shift
  progress "making $target"
  "$@" "$target.part" >"$answers/log" 2>&1 && mv "$target.part" "$target" && return
  rm -f "$target.part"
  why="${target##*/} cannot be made: $(tail -n 1 "$answers/log")"
  return 1
}

# prepare: sets $picture, $model and (with kept weights) $kept_model: cfg and weights, or one file;
# their weights files in $the_weights and $kept_weights; and $random; fails with $why
prepare() {
  local source=$cfg
  why='' picture=/usr/share/darknet/data/dog.jpg
  case $cfg in
    MODELS/*)
      source=${MAFAT_MODELS:-}/${cfg#MODELS/}
      [ "$weights" = own ] || source=$source.cfg
      [ -n "${MAFAT_MODELS:-}" ] || why='MAFAT_MODELS does not name the folder with the trained networks'
      ;;
    */*) picture=$(printf '%s\n' models/shapes/holdout/*.jpg | head -n 1) ;;
    *) source=/usr/share/darknet/cfg/$cfg.cfg ;;
  esac
  [ -z "$why" ] || return 1
  why="$source is missing"
  [ -f "$source" ] || return 1
  why="$picture is missing"
  [ -f "$picture" ] || return 1
  if [ "$weights" = own ]; then
    random=no the_weights=$source kept_weights=$source
    model=("$source") kept_model=("$source")
    why=
  else
    prepare_darknet "$source"
  fi
}

# prepare_darknet CFG: copies with the case's size, and weights, which are made if missing.
prepare_darknet() {
  local source=$1 stem the_cfg
  random=yes
  [ ! -f "${source%.cfg}.weights" ] || random=no
  stem=$cache/$(basename "$source" .cfg)
  the_cfg=$stem.cfg kept_weights=$stem.weights
  if [ "$size" = - ]; then
    cp "$source" "$the_cfg"
  else
    the_cfg=$stem-$size.cfg
    sed -E "s/^(width|height) *=.*/\1=$size/" "$source" >"$the_cfg"
  fi
  if [ ! -f "$kept_weights" ]; then
    if [ -f "${source%.cfg}.weights" ]; then
      made "$kept_weights" cp "${source%.cfg}.weights" || return 1
    else
      made "$kept_weights" "$build/make_weights" --quiet "$the_cfg" || return 1
    fi
  fi
  the_weights=$kept_weights
  if [ "$weights" = packed ] || [ "$against" = packed ]; then
    why="$build/pack_weights is not built"
    [ -x "$build/pack_weights" ] || return 1
    if [ ! -f "$stem.packed" ] || [ "$build/pack_weights" -nt "$stem.packed" ]; then
      made "$stem.packed" "$build/pack_weights" "$the_cfg" "$kept_weights" || return 1
    fi
  fi
  [ "$weights" != packed ] || the_weights=$stem.packed
  model=("$the_cfg" "$the_weights") kept_model=("$the_cfg" "$kept_weights")
  why=
}

# compose: sets limit.sh's arguments in $words, and those after "--" in $command
compose() {
  local options=() other
  [ "$layers" = - ] || options+=(--layers "$layers")
  # also run plans predicted not to fit
  case $goal in caught | stretch) options+=(--best-effort) ;; esac
  [ "$random" = no ] || options+=(--thresh 0.7) # random weights give boxes everywhere
  words=(--limit "$limit_bytes" --repeat "$repeat" --time "$time" --no-copy "$the_weights")
  command=(-- "$build/run_inference" "${options[@]}" --algorithm "$algorithm")
  [ "$plan" = - ] || command+=(--plan "$plan")
  command+=("${model[@]}" "$picture")
  [ "$against" != - ] || return 0
  words+=(--no-copy "$kept_weights")
  [ "$bar" = - ] || words+=(--bar "$bar")
  command+=(--against "$build/run_inference" "${options[@]}")
  if [ "$against" = packed ]; then
    other=${kept_weights%.weights}.packed
    words+=(--against-limit "$limit_bytes" --no-copy "$other")
    command+=(--algorithm "$algorithm")
    [ "$plan" = - ] || command+=(--plan "$plan")
    command+=("${kept_model[0]}" "$other" "$picture")
  else
    command+=(--algorithm direct)
    [ "$against" = auto ] || command+=(--plan "$against")
    command+=("${kept_model[@]}" "$picture")
  fi
}

# try N: runs N processes of the case at $limit MiB; limit.sh's lines go to $answers/lines, its
# result to $answers/verdict. Returns its exit status.
try() {
  local status=0 runs=$1
  limit_bytes=$(awk "BEGIN { printf \"%d\", $limit * 1048576 }")
  compose
  progress "$name, $limit MiB"
  rm -f "$answers/verdict"
  bash $here/limit.sh --json --runs "$runs" "${words[@]}" "${command[@]}" >"$answers/lines" 2>"$answers/log" &
  child=$!
  wait "$child" || status=$?
  child=
  progress ''
  why=$(tail -n 1 "$answers/log")
  why=${why#limit.sh: }
  tail -n 1 "$answers/lines" >"$answers/verdict"
  case $status in 0 | 1) ;; 77) return 77 ;; *) return 2 ;; esac
  return $status
}

report() { # WHAT: prints a line for the case from $answers/verdict
  python3 $here/report.py "$1" "$answers/verdict" "$name" "$goal" "$csv"
}

# floor_of: finds the case's least limit
floor_of() {
  local low high middle status=0 step=0.25
  at() { limit=$(awk "BEGIN { print $1 * $step }"); }
  high=$(awk "BEGIN { print int($limit / $step) }") low=0
  while at "$high" && ! try 1; do
    low=$high high=$((high * 2))
    [ "$high" -lt 8192 ] || { echo "$name: does not pass in $limit MiB either: $why" && return 1; }
  done
  while [ $((high - low)) -gt 1 ]; do
    middle=$(((low + high) / 2))
    at "$middle"
    if try 1; then high=$middle; else low=$middle; fi
  done
  while at "$high" && ! try "$n_runs"; do # a single process may be lucky
    high=$((high + 1))
    [ $high -lt 8192 ] || return 1
  done
  echo "$name: floor $limit MiB"
  report row
}

# ---- All together

if [ $mode = list ]; then
  grep -vE '^(#|$)' "$cases" | while read -r line; do
    take "$line"
    printf '%-20s %5s MiB  %-8s %s %s\n' "$name" "$limit" "$goal" "$plan" "$weights"
  done
  exit 0
fi

cannot() { # REASON: reports that the test cannot run
  if [ $mode = sample ]; then
    skip everything "$1"
    exit 0
  fi
  echo "run.sh: $1" >&2
  exit 77
}
text=$(bash $here/limit.sh --check 2>&1) || cannot "${text#limit.sh: }"
for program in run_inference make_weights; do
  [ -x "$build/$program" ] || misuse "$build/$program is not built"
done
mkdir -p "$cache" && cache=$(realpath "$cache") || exit 2
answers=$(mktemp -d) || exit 2
csv=${csv:-$cache/results.csv}
exec 9>"$cache/lock"
flock -n 9 || cannot "$cache is in use by another call"

mapfile -t lines < <(grep -vE '^(#|$)' "$cases")
n=0
[ $mode != all ] || python3 $here/report.py head
for line in "${lines[@]}"; do
  take "$line"
  selected || continue
  n=$((n + 1))
  if ! prepare; then
    progress ''
    case $mode in
      sample) skip "$name" "$why" ;;
      *) echo "$name: skipped: $why" ;;
    esac
    continue
  fi
  case $mode in
    print)
      limit_bytes=$(awk "BEGIN { printf \"%d\", $limit * 1048576 }")
      compose
      printf '%q ' "$here/limit.sh" --runs "$n_runs" "${words[@]}" "${command[@]}"
      echo
      ;;
    floor) floor_of || failed=1 ;;
    *)
      status=0
      try "$n_runs" || status=$?
      if [ $status -gt 1 ]; then
        if [ $status = 77 ]; then skip "$name" "$why"; else fail "$name" "$why"; fi
      else
        what=row
        [ $mode != sample ] || what=sample
        report $what || failed=1
      fi
      ;;
  esac
done
[ $n -gt 0 ] || misuse "no such case; --list names them"
if [ $mode = all ] && [ $floors = 1 ]; then
  for line in "${lines[@]}"; do
    take "$line"
    if [ "$goal" = floor ] && selected && prepare; then floor_of; fi
  done
fi
[ $mode != all ] || echo "results: $csv"
exit "$failed"
