#!/usr/bin/env bash
# The README is short, names what is there, and its first example finds what it says. Run from the project's root; BUILD names
# the build folder (default: build).
set -u
build=${BUILD:-build}
# shellcheck disable=SC2034 # by tests/check.sh
suite=readme
work=$(mktemp -d)
# shellcheck source=tests/check.sh
. tests/check.sh
at_end 'rm -rf "$work"'
log=$work/log

lines=$(wc -l <README.md)
check length "$lines lines, 130 are allowed" test "$lines" -le 130
wide=$(awk 'length > 120 { printf "%s%d", n++ ? ", " : "", FNR }' README.md)
check width "more than 120 characters in line $wide" test -z "$wide"

# ---- What it names

missing=
for path in $(grep -o '](\([^)]*\))' README.md | sed 's/^](//; s/)$//' | grep -v '^https:'); do
  [ -e "$path" ] || missing="$missing $path"
done
check links "not there:$missing" test -z "$missing"
missing=
for page in $(grep -oE '[a-z_-]+\([137]\)' README.md | sed 's/(/./; s/)//' | sort -u); do
  [ -e "doc/man/$page" ] || missing="$missing $page"
done
check pages "no man page:$missing" test -z "$missing"

# ---- The five lines, the first of which has been run, and what the last one prints

block() { # PATTERN: the indented lines from the first that matches it to the end of its block
  awk -v pattern="^    $1" '$0 ~ pattern { on = 1 } on && !/^    / { exit } on { print substr($0, 5) }' README.md
}
block 'make  +# needs' >"$work/five"
check 'five lines' "$(wc -l <"$work/five") were found" test "$(wc -l <"$work/five")" = 5
sed "1d; s,^build/,\"\$build\"/," "$work/five" >"$work/four"
export build
bash -eu "$work/four" >"$work/said" 2>"$log"
check 'five lines run' "exit status $?" test $? = 0
without_time() { sed 's/ in [0-9.]* ms$//' "$1"; }
block 'models/shapes/holdout/' >"$work/promised"
tail -n "$(wc -l <"$work/promised")" "$work/said" >"$work/last"
if [ -s "$work/promised" ] && diff <(without_time "$work/promised") <(without_time "$work/last") >"$log"; then ok 'finds what it says'; else
  fail 'finds what it says' "$(head -c 300 "$log")"
fi
exit "$failed"
