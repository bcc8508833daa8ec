#!/bin/sh
# Builds the fuzz targets and runs each for a while: run.sh [SECONDS [TARGET...]].
# SOURCES and LIBRARIES: the library's, as `make fuzz` knows them.
# Findings (crashes, leaks, 10 s without an answer) stay in $BUILD/fuzz. Exit status 77: there is no clang.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-60}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- cfg plan weights image calibration
folder=${BUILD:-build}/fuzz
flags="-std=c11 -D_GNU_SOURCE -DMAFAT_VERSION=\"fuzz\" -I. -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all"
command -v clang > /dev/null || { echo "fuzz: clang is not installed" >&2; exit 77; }
mkdir -p "$folder/objects"
tests/fuzz/make_seeds.sh "$folder/seeds"

# The library once, instrumented; make says what it is made of and what it needs.
# shellcheck disable=SC2086 # lists of words
for source in $SOURCES; do
  object=$folder/objects/$(printf %s "$source" | tr / _).o
  case $source in
  runner/kernels/x86/avx2.c) level=-march=x86-64-v3 ;;
  runner/kernels/x86/avx512.c) level=-march=x86-64-v4 ;;
  *) level= ;;
  esac
  [ "$object" -nt "$source" ] || clang $flags $level -c -o "$object" "$source"
done

for target in "$@"; do
  options="-max_len=6000"
  case $target in
  cfg) options="$options -dict=$folder/seeds/cfg.dict" ;;
  plan) options="-max_len=256" ;;
  calibration) options="-max_len=2500" ;;
  weights | image) ;;
  *) echo "fuzz: expected cfg, plan, weights, image or calibration, found $target" >&2; exit 2 ;;
  esac
  # shellcheck disable=SC2086
  clang $flags -o "$folder/fuzz_$target" "tests/fuzz/fuzz_$target.c" "$folder"/objects/*.o $LIBRARIES
  mkdir -p "$folder/seeds/$target"
  echo "fuzz_$target for $seconds s"
  # shellcheck disable=SC2086
  "$folder/fuzz_$target" $options -timeout=10 -rss_limit_mb=1500 -max_total_time="$seconds" -print_final_stats=1 \
    -artifact_prefix="$folder/$target-" "$folder/seeds/$target" > "$folder/$target.log" 2>&1 ||
    { tail -40 "$folder/$target.log" >&2; exit 1; }
  grep -E 'number_of_executed_units|peak_rss' "$folder/$target.log"
done
