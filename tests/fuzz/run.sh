#!/bin/sh
# Runs the fuzz targets that `make fuzz` has built in BUILD, each for a while: run.sh [SECONDS [TARGET...]].
# Findings (crashes, leaks, 10 s, or FUZZ_TIMEOUT, without an answer) stay in BUILD.
set -eu
cd "$(dirname "$0")/../.."
folder=${BUILD:-build/fuzz}
seconds=${1:-60}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- $(basename -a -s .c tests/fuzz/fuzz_*.c | sed 's/^fuzz_//')
rm -rf "$folder/seeds"
tests/fuzz/make_seeds.sh "$folder/seeds"

for target in "$@"; do
  case $target in
  run | packed) options="-max_len=6000 -dict=$folder/seeds/cfg.dict" ;;
  plan | spec | api) options="-max_len=256" ;;
  heads | npy | options) options="-max_len=600" ;;
  calibration | http | json) options="-max_len=2500" ;;
  image) options="-max_len=20000" ;;
  video) options="-max_len=8000" ;;
  *) options="-max_len=6000" ;;
  esac
  [ ! -s "$folder/seeds/$target.dict" ] || options="$options -dict=$folder/seeds/$target.dict"
  if [ "$target" = json ] && [ ! -x "$folder/fuzz_json" ]; then
    echo "fuzz_json: left out without gd, json-c and libexif"
    continue
  fi
  [ -x "$folder/fuzz_$target" ] || { echo "fuzz: expected one of $(echo $folder/fuzz_*), found $target" >&2; exit 2; }
  mkdir -p "$folder/corpus/$target" # what past runs found worth keeping
  kept=tests/fuzz/corpus/$target # and what the repository keeps
  [ -d "$kept" ] || kept=
  echo "fuzz_$target for $seconds s"
  # shellcheck disable=SC2086 # a list of words
  "$folder/fuzz_$target" $options -timeout="${FUZZ_TIMEOUT:-10}" -rss_limit_mb=1500 -max_total_time="$seconds" -print_final_stats=1 \
    -artifact_prefix="$folder/$target-" "$folder/corpus/$target" "$folder/seeds/$target" $kept > "$folder/$target.log" 2>&1 ||
    { tail -n 40 "$folder/$target.log" >&2; exit 1; }
  grep -E 'number_of_executed_units|peak_rss' "$folder/$target.log"
done
