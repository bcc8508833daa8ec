#!/bin/sh
# The house has floors: base below network below formats and predictor below search below
# runner; formats know nothing of predictor. A file may include its own floor and those below
# it. run_inference's own files (runner/program/run_inference) are users of the library, and
# include of it nothing but its public header; nothing of the library includes programs.
# Prints every include that climbs.
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
  check '(include|base)/' $(files base)
  check '(include|base|network)/' $(files network)
  check '(include|base|network|formats)/' $(files formats)
  check '(include|base|network|predictor)/' $(files predictor)
  check '(include|base|network|predictor|search)/' $(files search)
  check '(include|base|network|formats|predictor|search|runner)/' $(files runner ! -path '*/program/*')
  refuse 'runner/program/' $(files runner ! -path '*/program/*')
  check 'include/mafat\.h"|runner/program/(run_inference/|writer\.h)' $(files runner/program/run_inference)
}
[ $bad = 0 ] || { echo "check_includes: the lines above include what they may not" >&2; exit 1; }
