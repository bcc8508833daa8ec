#!/bin/sh
# Checks that only kinds/ folders and formats/ name a kind of layer; other files ask for a layer's
# properties (network/kind.h). Exceptions are listed in scripts/kinds_named.txt, which may only
# shrink: prints each other file that names a kind, and each listed file that does not, and fails.
set -eu
list=scripts/kinds_named.txt
kinds=$(sed -nE 's/^(KIND|STEPLESS)\(([A-Z0-9_]+),.*/MAFAT_\2/p' network/kinds.def | paste -sd'|' -)
[ -n "$kinds" ] || { echo "check_kinds: no kinds found in network/kinds.def" >&2; exit 1; }
pattern="(^|[^A-Za-z0-9_])($kinds)([^A-Za-z0-9_]|\$)"
named=$(find base network transform predictor search runner api programs include experiments -name '*.[ch]' ! -path '*/kinds/*' \
  -exec grep -lE "$pattern" {} + | LC_ALL=C sort)
bad=0
for file in $named; do
  grep -qxF "$file" $list || { grep -nE "$pattern" "$file" /dev/null; bad=1; }
done
[ $bad = 0 ] || echo "check_kinds: the lines above name layer kinds: ask for a property (network/kind.h)" >&2
while read -r file; do
  echo "$named" | grep -qxF "$file" || { echo "check_kinds: $file names no kind any more: take it off $list" >&2; bad=1; }
done < $list
# A kind has a file of the same name in each kinds/ folder. Aliases and inputs have no steps, so
# they have none in predictor/ and runner/. Larger kinds have further files, named like
# conv_winograd.c.
for file in $(find network/kinds predictor/kinds runner/engine/kinds -name '*.c' -exec basename {} .c \; | sed 's/_.*//' |
              LC_ALL=C sort -u | grep -vxE 'alias|input|kinds|lanes|rows|widened'); do
  for floor in network predictor runner/engine; do
    [ -f $floor/kinds/$file.c ] || { echo "check_kinds: $floor/kinds/$file.c is missing, another floor has it" >&2; bad=1; }
  done
done
exit $bad
