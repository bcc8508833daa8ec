#!/bin/sh
# The house has floors: include below network below predictor below search below
# runner. A file may include its own floor and those below it. Prints every include that climbs.
set -eu
bad=0
check() { # FOLDER ALLOWED-PATTERN
  out=$(grep -nE '^#include "' "$1"/*.[ch] $(find "$1" -mindepth 2 -name '*.[ch]') /dev/null |
        grep -vE "#include \"($2)/" || true)
  [ -z "$out" ] || { echo "$out"; bad=1; }
}
check network 'include|network'
check predictor 'include|network|predictor'
check search 'include|network|predictor|search'
check runner 'network|predictor|search|runner|include'
[ $bad = 0 ] || { echo "check_includes: the lines above include what stands above them" >&2; exit 1; }
