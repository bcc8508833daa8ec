#!/usr/bin/env bash
# Checks README.md and the other front pages: length, width, links, the generated table, and that the first example prints what
# the page shows. Run from the project's root; BUILD names the build folder (default: build).
set -u
build=$(realpath "${BUILD:-build}")
# shellcheck disable=SC2034 # by tests/check.sh
suite=readme
work=$(mktemp -d)
# shellcheck source=tests/check.sh
. tests/check.sh
at_end 'rm -rf "$work"'
log=$work/log

# ---- Size

at_most() { # NAME FOUND MOST
  check "$1" "$2, at most $3 are allowed" test "$2" -le "$3"
}
at_most 'lines of README' "$(wc -l <README.md)" 120
at_most 'bytes of CONTRIBUTING' "$(wc -c <CONTRIBUTING.md)" 8192
at_most 'lines of 0.1.0 in CHANGELOG' "$(awk '/^## /{ on = $2 == "0.1.0" } on' CHANGELOG.md | wc -l)" 80
at_most 'entries of the glossary' "$(grep -c '^| ' doc/glossary.md)" 46 # including the heading
wide=
for page in README.md CHANGELOG.md CONTRIBUTING.md doc/{architecture,testing,glossary}.md; do
  wide+=$(awk -v page="$page" 'length > 100 && !/^(\||    )/ && !/https?:/ { printf " %s:%d", page, FNR }' "$page")
done
check width "more than 100 characters:$wide" test -z "$wide"

# ---- Files named by the pages

said=$(scripts/check_links.py)
check links "$said" test -z "$said"
missing=
for page in $(grep -ohE '[a-z_-]+\([137]\)' README.md CHANGELOG.md CONTRIBUTING.md doc/{architecture,testing,glossary}.md | sed 's/(/./; s/)//' | sort -u); do
  [ -e "doc/man/$page" ] || missing="$missing $page"
done
check 'manual pages' "not there:$missing" test -z "$missing"
missing=
for target in $(grep -ohE '\bmake [a-z][a-z-]+\b[^/]' README.md CHANGELOG.md CONTRIBUTING.md doc/{architecture,testing}.md | cut -d' ' -f2 | grep -oE '^[a-z-]+' | sort -u); do
  grep -qE "^([a-z-]+ )*$target( [a-z-]+)*:" Makefile ./*/*.mk || missing="$missing $target"
done
check 'make targets' "not there:$missing" test -z "$missing"
missing=
for path in $(grep -ohE '\b(base|network|formats|transform|predictor|search|runner|api|programs|tests|scripts|packaging|experiments)/[a-z0-9_/.*-]*[a-z0-9_/]' CONTRIBUTING.md doc/{architecture,testing}.md | sort -u); do
  compgen -G "$path" >/dev/null || missing="$missing $path"
done
check 'files and folders' "not there:$missing" test -z "$missing"
check 'tables of files' 'fewer than 300 rows' test "$(scripts/list_files.py | grep -c '^| ')" -ge 300
check 'table of speed and memory' 'see above' experiments/peers/readme_table.py --check

# ---- The first example: its commands, and the block below them, which is what they print

awk '/^    shapes=/ { on = 1 } on && !/^    / { exit } on { print substr($0, 5) }' README.md >"$work/commands"
awk '/^    [a-z/0-9.]*: [0-9]+ detections/ { on = 1 } on && !/^    / { exit } on { print substr($0, 5) }' README.md >"$work/promised"
PATH=$build:$PATH bash -eu "$work/commands" >"$work/printed" 2>"$log"
check 'first example' "exit status $?" test $? = 0
without_time() { sed 's/ in [0-9.]* ms, memory [0-9.]* of [0-9.]* MiB$//' "$1"; }
if [ -s "$work/promised" ] && diff <(without_time "$work/promised") <(without_time "$work/printed") >"$log"; then ok 'first example prints what the page shows'; else
  fail 'first example prints what the page shows' "$(head -c 300 "$log")"
fi
exit "$failed"
