#!/usr/bin/env bash
# Checks that the public headers suffice: run_inference uses only them, and so does the second
# example of libmafat(3). Run from the project's root; BUILD names the build folder (default:
# build).
set -u
build=${BUILD:-build}
# shellcheck disable=SC2034 # by tests/check.sh
suite=api
work=$(mktemp -d)
# shellcheck source=tests/check.sh
. tests/check.sh
at_end 'rm -rf "$work"'
log=$work/log

shapes=models/shapes
picture=$(find "$shapes/holdout" -name '*.jpg' | sort | head -n 1)
read -ra cc <<<"${CC:-gcc}"
program=$build/run_inference_dynamic

# ---- It includes and links only public parts, and a header for UTF-8 without a .c file

mkdir "$work/alone" "$work/alone/include" "$work/alone/base" "$work/alone/network"
cp include/mafat*.h "$work/alone/include"
cp base/{mebibytes,part,utf8}.h base/*.def "$work/alone/base"
cp network/dtypes.def "$work/alone/network"
cp -r programs "$work/alone"
check alone 'it does not compile where nothing but the header is' "${cc[@]}" -std=c11 -D_GNU_SOURCE -DMAFAT_VERSION='"0"' -I"$work/alone" \
  -fsyntax-only "$work"/alone/programs/run_inference/*.c "$work"/alone/programs/shared/{writer,streams,unfinished}.c
if [ ! -x "$program" ]; then
  skip linked "no $program: make BUILD=$build $program"
else
  sed -n 's/^MAFAT_API .*[ *]\(mafat_[a-z0-9_]*\)(.*/\1/p' include/mafat*.h | sort >"$work/declared"
  foreign=$(nm -D --undefined-only "$program" | sed -n 's/^ *U \(mafat_.*\)/\1/p' | sort | comm -23 - "$work/declared" | tr '\n' ' ')
  check names "run_inference calls what no public header declares: $foreign" test -z "$foreign"
  check needs 'it is not linked with libmafat.so.0' grep -q 'NEEDED.*libmafat.so.0' <(readelf -d "$program")
  check decoders 'it needs a decoder' test -z "$(readelf -d "$program" | grep -E 'NEEDED.*(jpeg|png|uring)')"

  # ---- Static and shared programs give the same results

  answers() { # PROGRAM OPTION...: results without times, measured bytes, and what depends on bytes
    local one=$1
    shift
    "$one" --quiet "$@" 2>&1 | sed -E 's/"[a-z_]*(_ms|_us|_bytes|faults)":[^,}]*,?//g; s/"latencies_ms":\[[^]]*\],?//; s/"breakdown":\{[^}]*\}//; s/[0-9.]+ (ms|MB|MiB|bytes)/N/g; s/memory [0-9.]+ of/memory N of/g;
      s/"least_plan":"[^"]*",?//; s/[0-9]+K would do/N would do/g'
  }
  same() { # NAME OPTION...
    local name=$1
    shift
    answers "$build/run_inference" "$@" >"$work/static"
    answers "$program" "$@" >"$work/shared"
    if [ -s "$work/static" ] && diff "$work/static" "$work/shared" >"$log"; then ok "same $name"; else
      fail "same $name" "$(head -c 300 "$log")"
    fi
  }
  same run --plan rows4/8/1x1 --json --names $shapes/shapes.names $shapes/shapes.cfg $shapes/shapes.weights "$picture"
  same text --plan 3x3/4/1x1 $shapes/shapes.cfg $shapes/shapes.weights "$picture" "$picture"
  same layers --plan 1x1/NoCut --layers 3 --dump-output "$work/floats" --json $shapes/shapes.cfg $shapes/shapes.weights "$picture"
  same budget --memory 64K --json $shapes/shapes.cfg $shapes/shapes.weights "$picture"
  same missing --json $shapes/shapes.cfg $shapes/shapes.weights /nonexistent.jpg
  same option --plan 9 $shapes/shapes.cfg $shapes/shapes.weights "$picture"
  same predict --predict --plan 3x3/4/1x1 --json $shapes/shapes.cfg
fi

# ---- Each header by itself, and the example of libmafat(3) with a dry run

for header in include/mafat*.h; do
  echo "#include \"$header\"" >"$work/header.c"
  cp "$work/header.c" "$work/header.cc"
  check "$header as C99" 'it does not compile' "${cc[@]}" -std=c99 -Wall -Wextra -Wpedantic -Werror -I. -fsyntax-only "$work/header.c"
  command -v g++ >/dev/null || continue
  check "$header as C++" 'it does not compile' g++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -I. -fsyntax-only "$work/header.cc"
done
check lines 'mafat.h has more than 400 lines' test "$(wc -l <include/mafat.h)" -le 400
if command -v g++ >/dev/null; then
  echo '#include "include/mafat.hpp"' >"$work/header.cc"
  for standard in 11 17 20; do
    check "mafat.hpp as C++$standard" 'it does not compile' \
      g++ -std=c++$standard -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -I. -fsyntax-only "$work/header.cc"
  done
else skip 'headers as C++' 'no g++'; fi

awk '/^#include <mafat_plan.h>/ { n++ } /^\.Ed/ { if (n == 2) exit } n == 2' doc/man/libmafat.3 | sed 's/\\e/\\/g' >"$work/budgets.c"
if [ ! -s "$work/budgets.c" ]; then fail example 'libmafat(3) has no second one'
elif [ ! -e "$build/libmafat.so.0" ]; then skip example "no $build/libmafat.so.0"
elif "${cc[@]}" -std=c11 -Wall -Wextra -Wpedantic -Werror -Iinclude -o "$work/budgets" "$work/budgets.c" "$build/libmafat.so.0" \
    -Wl,-rpath,"$(realpath "$build")" >"$log" 2>&1; then
  ok example
  "$work/budgets" $shapes/shapes.cfg $shapes/shapes.weights "$picture" >"$work/said" 2>"$log"
  status=$?
  boxes=$("$build/run_inference" --quiet --memory 32M $shapes/shapes.cfg $shapes/shapes.weights "$picture" | grep -c '%')
  if [ $status = 0 ] && [ "$(grep -c '^class ' "$work/said")" = "$boxes" ] && grep -q ' plans, the least needs ' "$work/said"; then ok 'example runs'; else
    fail 'example runs' "exit status $status, $boxes boxes expected: $(head -c 300 "$work/said" "$log")"
  fi
  "$work/budgets" /nonexistent.cfg $shapes/shapes.weights "$picture" >/dev/null 2>"$work/said"
  check 'example fails' "without a cfg it says: $(head -c 200 "$work/said")" grep -q '^/nonexistent.cfg: ' "$work/said"
else fail example "$(head -n 1 "$log")"; fi
exit "$failed"
