#!/bin/sh
# The house has floors: include below network below predictor below search below
# runner. A file may include its own floor and those below it. run_inference's own files
# (runner/program) are users of the library, and include of it nothing but its public
# header; nothing of the library includes them. Prints every include that climbs.
set -eu
bad=0
check() { # ALLOWED-PATTERN FILE...
  allowed=$1
  shift
  out=$(grep -nE '^#include "' "$@" /dev/null | grep -vE "#include \"($allowed)" || true)
  [ -z "$out" ] || { echo "$out"; bad=1; }
}
refuse() { # PATTERN FILE...
  refused=$1
  shift
  out=$(grep -nE "^#include \"($refused)" "$@" /dev/null || true)
  [ -z "$out" ] || { echo "$out"; bad=1; }
}
files() { # FOLDER [FIND-ARGUMENT...]
  folder=$1
  shift
  find "$folder" -name '*.[ch]' "$@"
}
# shellcheck disable=SC2046 # no file of ours has a space in its name
{
  check '-' $(files include)
  check '(include|network)/' $(files network)
  check '(include|network|predictor)/' $(files predictor)
  check '(include|network|predictor|search)/' $(files search)
  check '(include|network|predictor|search|runner)/' $(files runner ! -path '*/program/*')
  refuse 'runner/program/' $(files runner ! -path '*/program/*')
  check 'include/mafat\.h"|runner/program/' $(files runner/program)
}
[ $bad = 0 ] || { echo "check_includes: the lines above include what they may not" >&2; exit 1; }
