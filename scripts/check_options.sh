#!/bin/sh
# Checks that options and searches are listed only in their tables (programs/shared/options.def, the
# rows in search/), and that pages and code name no others. Part of `make check-tables`. Prints each
# violation.
set -eu
bad=0
tables="programs/shared/options.def $(grep -l '^const struct mafat_search mafat_searching_' search/*/*.c)"
# shellcheck disable=SC2086 # several files
rows=$(awk -v mode=list -f scripts/options.awk $tables)

fail() { # TEXT...
  echo "check_options: $*" >&2
  bad=1
}

refuse() { # WHY PATTERN FILE...
  why=$1 pattern=$2
  shift 2
  found=$(grep -nE "$pattern" "$@" /dev/null | grep -vE '^[^:]*:[0-9]+: *(/\*|\*)' || true)
  [ -z "$found" ] || { echo "$found"; fail "$why"; }
}

named() { # KIND: names in rows of that kind
  echo "$rows" | awk -F'\t' -v kind="$1" '$1 == kind { print $(kind == "word" ? 3 : 2) }' | LC_ALL=C sort -u
}
either() { tr '\n' '|' | sed 's/|$//'; }

# ---- no switch over options and no list of them outside the table; other programs have parsers of their own ----
programs=$(find programs -name '*.[ch]' ! -path 'programs/shared/option*' ! -path 'programs/memory_limit/*' \
  ! -path 'programs/swap_cost/*' | LC_ALL=C sort)
by_table=$(echo "$programs" | grep -vxE 'programs/mafat/doctor.c|programs/shared/refused_option.[ch]')
# shellcheck disable=SC2086
refuse 'a switch over options outside programs/shared/options.def' 'case OPTION_' $programs
# shellcheck disable=SC2086
refuse 'a parser of options outside programs/shared/option.c' '(required|no|optional)_argument|struct option\b|getopt(_long)? ?\(' $by_table
# --help lists searches below --search; the figure of an arena has buffers of a map
options=$(echo "$rows" | awk -F'\t' '$1 != "search" && $1 != "word" && $2 != "help" && $2 != "version" { print $2 }' | LC_ALL=C sort -u | either)
# shellcheck disable=SC2046
refuse 'an option named outside programs/shared/options.def: ask for the member of its row' \
  "cmp\([^;]*\"(--)?($options)\"|\"(--)?($options)\", *\"(--)?($options)\"" \
  $(echo "$programs" | grep -vxE 'programs/run_inference/(help|map_draw).c')

# shellcheck disable=SC2086
refuse 'an environment variable read outside its row in programs/shared/options.def' 'getenv\("MAFAT_' $programs

# ---- no list of searches or their words: library and programs use mafat_search_describe ----
searches=$(named search | either)
words=$(named word | either)
library=$(find search api programs -name '*.c' ! -path 'search/*/*' | LC_ALL=C sort)
# shellcheck disable=SC2086
refuse 'a list of searches outside search/' "\"($searches)\", *\"($searches)\"|strcmp\\([^)]*\"(fdt|motes|separable|greedy)\"" $library
# shellcheck disable=SC2086
refuse "a list of searches' words outside search/" "\"($words)\", *\"($words)\"" $library

# ---- each search is in the table of searches ----
for file in $(find search -path 'search/*/*.c' | LC_ALL=C sort); do
  for name in $(sed -n 's/^const struct mafat_search mafat_searching_\([a-z_]*\) = .*/\1/p' "$file"); do
    grep -q "^ *SEARCH($name)" search/searches.c || fail "search/searches.c: expected SEARCH($name), whose row is in $file"
  done
done

# ---- pages name only existing options; missing entries are generated (scripts/options.awk) ----
for pair in run_inference:run mafat_serve:serve; do
  page=doc/man/${pair%:*}.1
  known=$(echo "$rows" | awk -F'\t' -v program="${pair#*:}" '$1 == program { print $2 }')
  for option in $(sed -nE 's/^\.It (Fl -.*)/\1/p' "$page" | grep -oE -- '(Fl|, )[ ]*-[a-z][a-z-]*' | sed -E 's/^(Fl|, ) *-//' | LC_ALL=C sort -u); do
    echo "$known" | grep -qx -e "$option" || fail "$page: has --$option, which programs/shared/options.def has not"
  done
done

# ---- the library has the fields that options set, and those that Python's type hints name ----
fields=$(awk -f scripts/struct_fields.awk include/mafat.h)
for field in $(sed -n '/^    class Options(/,/^class /s/^        \([a-z_]*\): .*/\1/p' python/mafat/_options.py); do
  echo "$fields" | grep -qE "[ \"]${field}(_bytes)?:" || fail "python/mafat/_options.py: has $field, which struct mafat_model_options has not"
done
for field in $(grep -oE 'SETS(_AT)?\([a-z_]+\)' programs/shared/options.def | sed -E 's/.*\(([a-z_]+)\)/\1/' | grep -v '^field$' | LC_ALL=C sort -u); do
  echo "$fields" | grep -q "[ \"]$field:" ||
    fail "include/mafat.h: expected struct mafat_model_options to have $field, which an option sets"
done
exit $bad
