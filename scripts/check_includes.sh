#!/bin/sh
# The house has floors: base below network below formats and transform, transform below predictor below search below
# runner; formats know nothing of predictor. A file may include its own floor and those below
# it. run_inference's own files (runner/program/run_inference) are users of the library, and
# include of it nothing but its public header, and what UTF-8 is; nothing of the library includes programs.
# No files include each other in a circle, where x.c and x.h are one; no folder holds more than
# 25 .c files, but those of kinds, which have one for each.
# Prints every include that climbs, every circle, every folder that is too full.
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
  check '(include|base|network|transform)/' $(files transform)
  check '(include|base|network|transform|predictor)/' $(files predictor)
  check '(include|base|network|transform|predictor|search)/' $(files search)
  check '(include|base|network|formats|transform|predictor|search|runner)/' $(files runner ! -path '*/program/*')
  refuse 'runner/program/' $(files runner ! -path '*/program/*')
  check '(include/mafat|base/utf8)\.h"|runner/program/(run_inference/|video/|sandbox/sandbox\.h|writer\.h|streams\.h|refused_option\.h|unfinished\.h|progress\.h|decimal\.h)' $(files runner/program/run_inference)
  check 'runner/program/sandbox/' $(files runner/program/sandbox)
  check 'include/mafat\.h"|runner/program/video/' $(files runner/program/video)
}
[ $bad = 0 ] || echo "check_includes: the lines above include what they may not" >&2

# An include is looked for from the root, then beside the file. What is compiled into Darknet (darknet_patch) is its.
sources() { # NAME-PATTERN
  find include base network formats transform predictor search runner tests experiments -name "$1"
}
# shellcheck disable=SC2016 # for awk
circles=$(sources '*.[ch]' | xargs awk '
  function node(path) { sub(/\.[ch]$/, "", path); return path }
  function is_there(path,    line) {
    if (!(path in there)) { there[path] = (getline line < path) >= 0; close(path) }
    return there[path]
  }
  FNR == 1 { folder = FILENAME; sub(/[^\/]*$/, "", folder) }
  /^#include "/ {
    split($0, words, "\"")
    path = is_there(words[2]) ? words[2] : folder words[2]
    if (node(path) != node(FILENAME)) print node(FILENAME), node(path)
  }' | LC_ALL=C tsort 2>&1 >/dev/null | sed 's/^tsort: //; s/.*contains a loop:$/circle:/')
[ -z "$circles" ] || { echo "$circles"; echo "check_includes: the files above include each other" >&2; bad=1; }

full=$(sources '*.c' | sed 's|/[^/]*$||' | grep -v '/kinds$' | sort | uniq -c | awk '$1 > 25 { print $2 ": " $1 " .c files" }')
[ -z "$full" ] || { echo "$full"; echo "check_includes: expected at most 25 .c files in a folder" >&2; bad=1; }
exit $bad
