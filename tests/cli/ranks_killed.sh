#!/usr/bin/env bash
# Checks mafat_ranks when a rank is lost: killed at a random moment, MAFAT_KILLS times, both its
# processes in turn; or stopped. Everything ends within ten seconds with one line that names rank
# and host, and nothing is left. Run from the project's root; BUILD names the build folder,
# MAFAT_SEED seeds the moments.
set -u

build=$(realpath "${BUILD:-build}")
# shellcheck source=tests/check.sh
. tests/check.sh
dir=$(mktemp -d) || exit 1
at_end 'rm -rf "$dir"'
suite='ranks killed'
shapes=$PWD/models/shapes
if [ ! -x "$build/mafat_ranks" ] || ! command -v mpirun >/dev/null; then
  skip 'a rank that is killed' 'no MPI (scripts/packages.sh ranks)'
  exit 0
fi
open_mpi=no
options=()
if mpirun --version 2>/dev/null | grep -q 'Open MPI'; then open_mpi=yes options=(--oversubscribe --bind-to none); fi
[ "$(id -u)" != 0 ] || [ $open_mpi = no ] || options+=(--allow-run-as-root)
times=${MAFAT_KILLS:-$([ "${MAFAT_TEST_SIZE-}" = check ] && echo 3 || echo 12)}
seed=${MAFAT_SEED:-$$} RANDOM=${MAFAT_SEED:-$$}
host=$(hostname)
# An argument unique to this test's processes, and an own folder for MPI's files.
cp "$(find "$shapes/holdout" -name '*.jpg' | sort | head -n 1)" "$dir/lost.jpg"
mkdir "$dir/tmp"
segments() { find /dev/shm -maxdepth 1 -name 'vader_segment.*' 2>/dev/null | sort; }
segments >"$dir/segments"

# begin N ARGUMENT...: starts ranks that run for a while; $mpi: mpirun
begin() {
  local n=$1
  shift
  TMPDIR=$dir/tmp mpirun "${options[@]}" -n "$n" "$build/mafat_ranks" --quiet --repeat 10000 "$@" "$shapes/shapes.cfg" \
    "$shapes/shapes.weights" "$dir/lost.jpg" >"$dir/out" 2>"$dir/err" &
  mpi=$!
}
# Waits for both processes of each rank: children of mpirun, and their children
find_ranks() {
  local n=$1 tries
  for tries in $(seq 1000); do
    mapfile -t guards < <(pgrep -P "$mpi" -x mafat_ranks | sort -n)
    mapfile -t workers < <(for guard in "${guards[@]}"; do pgrep -P "$guard" -x mafat_ranks; done)
    [ ${#workers[@]} -lt "$n" ] || return 0
    sleep 0.02
  done
  return 1
}
# Prints what is left a moment later, without zombies.
left() {
  local tries found segment
  for tries in $(seq 40); do
    found=$(pgrep -f "$dir/lost.jpg"; find "$dir/tmp" -mindepth 1
            segments | comm -13 "$dir/segments" - | while read -r segment; do
              # segments of other jobs are mapped
              grep -qsF "$segment" /proc/[0-9]*/maps || echo "$segment"
            done)
    [ -n "$found" ] || return 0
    sleep 0.05
  done
  echo "$found"
}
# is_over RANK HOW: ends within ten seconds, in time that this test runs (everything may be
# paused); $took: milliseconds; $why: reason if not
is_over() {
  took=0
  while [ -d /proc/$mpi ] && [ $took -lt 20000 ]; do
    sleep 0.05
    took=$((took + 50))
  done
  [ $took -lt 20000 ] || kill -9 $mpi
  wait $mpi 2>/dev/null
  code=$?
  why=
  local ours
  ours=$(grep -c '^mafat_ranks: ' "$dir/err")
  [ $code != 0 ] || why='exit status 0'
  [ $took -le 10000 ] || why="over after $took ms"
  [ $lost_guard = 0 ] || [ "$ours" = 1 ] || ours=$(grep -c "rank $1 .*on node $host exited on signal 9" "$dir/err")
  [ "$ours" = 1 ] || why="$ours lines of ours: $(grep '^mafat_ranks: ' "$dir/err" | head -c 300)"
  [ "$(grep -c '^mafat_ranks: ' "$dir/err")" = 0 ] || grep -qE "^mafat_ranks: rank $1 \\($host\\): $2" "$dir/err" ||
    why="rank $1 is not named: $(grep '^mafat_ranks: ' "$dir/err" | head -c 300)"
  what=$(left)
  [ -z "$what" ] || why="${why:-after $took ms}; left: $(echo "$what" | head -n 3)"
  [ $took -lt 20000 ] || { pkill -9 -f "$dir/lost.jpg"; rm -rf "${dir:?}/tmp/"*; }
  [ -z "$why" ]
}

# ---- Killed

longest=0 bad=
for i in $(seq "$times"); do
  n=$((2 + RANDOM % 3)) rank=$((RANDOM % n)) pause=0.$(printf %03d $((RANDOM % 900)))
  begin $n
  if ! find_ranks $n; then
    bad="$bad; $i: $n ranks do not begin: $(head -c 300 "$dir/err")"
    kill -9 $mpi # Open MPI 4.1's mpirun may wait for itself if it is ended while starting ranks
    wait $mpi 2>/dev/null
    left >"$dir/rest"
    rm -rf "${dir:?}/tmp/"*
    continue
  fi
  sleep "$pause"
  if [ $((i % 2)) = 1 ]; then victim=${workers[$rank]}; else victim=${guards[$rank]}; fi
  kill -9 "$victim" 2>"$dir/why" || bad="$bad; $i: $n ranks, rank $rank after $pause s was gone: $(cat "$dir/why" "$dir/err")"
  # mpirun may no longer listen to a rank whose own process is gone; then its own line has rank and
  # host
  lost_guard=$((1 - i % 2))
  is_over $rank 'ended by ' || bad="$bad; $i: $n ranks, rank $rank after $pause s: $why"
  [ $took -le $longest ] || longest=$took
done
check "$times times, the longest end took $longest ms" "seed $seed$bad" test -z "$bad"

# ---- Stopped: no message would ever come

lost_guard=0
for rank in 0 1; do
  begin 2 --timeout 2
  if ! find_ranks 2; then
    check "rank $rank is stopped" "2 ranks do not begin: $(head -c 300 "$dir/err")" false
    continue
  fi
  sleep 0.8
  kill -STOP "${workers[$rank]}"
  is_over $rank 'was not heard of for 2 s'
  check "rank $rank is stopped" "$why" test -z "$why"
done

# ---- Asked to end: nothing is lost, no rank is blamed

begin 2
find_ranks 2
sleep 0.8
kill -TERM $mpi
wait $mpi 2>/dev/null
check 'mpirun ends' "$(cat "$dir/err")" test "$(grep -c '^mafat_ranks: ' "$dir/err")" = 0
what=$(left)
check 'and nothing is left' "$what" test -z "$what"
exit "$failed"
