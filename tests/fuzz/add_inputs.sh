#!/usr/bin/env bash
# Adds files to the inputs that the repository keeps for a fuzz target, one archive a target: tests/fuzz/corpus/TARGET.tar.xz.
#
#     add_inputs.sh TARGET [FILE...]
#
# The same files give the same archive: names are sorted; owner, time and mode are fixed. Without FILE it packs the archive anew.
# To take a file away: unpack the archive, delete it, remove the archive, and add the rest.
set -eu -o pipefail
[ $# -gt 0 ] || { echo "add_inputs.sh: expected a target of tests/fuzz and files" >&2; exit 2; }
folder=$(cd "$(dirname "$0")" && pwd)
archive=$folder/corpus/$1.tar.xz
[ -e "$folder/fuzz_$1.c" ] || { echo "add_inputs.sh: expected a target of tests/fuzz, found '$1'" >&2; exit 2; }
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/inputs"
[ ! -e "$archive" ] || tar -xf "$archive" -C "$work/inputs"
[ $# = 0 ] || cp -- "$@" "$work/inputs"
(cd "$work/inputs" && find . -type f -printf '%P\0' | LC_ALL=C sort -z |
  tar --format=ustar --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=0644 --no-recursion --null --verbatim-files-from -T - -cf -) |
  xz -9e -T1 >"$work/archive"
mkdir -p "$folder/corpus"
mv "$work/archive" "$archive"
chmod 644 "$archive"
