#!/bin/sh
# Checks that kinds, activations, types, levels and formats are listed only in their tables (.def),
# from whose rows constants, names and dispatch are generated. Prints every list of such names
# elsewhere, and every place that must have all names and lacks one. One section for each table.
set -eu
bad=0
product="base network formats transform predictor search runner api programs"

fail() { # TEXT...
  echo "check_tables: $*" >&2
  bad=1
}

# Lines of code as FILE:LINE:TEXT, without comments.
code() { # FILE...
  awk '
    FNR == 1 { inside = 0 }
    {
      text = $0; out = ""
      while (text != "") {
        if (inside) {
          at = index(text, "*/")
          if (!at) { text = ""; break }
          text = substr(text, at + 2); inside = 0
        } else {
          at = index(text, "/*")
          if (!at) { out = out text; text = ""; break }
          out = out substr(text, 1, at - 1); text = substr(text, at + 2); inside = 1
        }
      }
      if (out ~ /[^ \t]/) print FILENAME ":" FNR ":" out
    }' "$@"
}

files() { # FIND-ARGUMENT...
  # shellcheck disable=SC2086 # several folders
  find $product -name '*.[ch]' "$@" | LC_ALL=C sort
}

# Fails if the pattern matches a line of code in the files.
refuse() { # WHY PATTERN FILE...
  why=$1 pattern=$2
  shift 2
  found=$(code "$@" | grep -E "^[^:]*:[0-9]+:.*($pattern)" || true)
  [ -z "$found" ] || { echo "$found"; fail "$why"; }
}

# Fails if a file has some of the names as words, but not all.
needs() { # FILE NAME...
  file=$1
  shift
  [ -f "$file" ] && grep -qwE -- "$(either "$@")" "$file" || return 0
  for name in "$@"; do
    grep -qw -- "$name" "$file" || fail "$file: expected $name, which the table has"
  done
}

column() { # FILE ROW: first column of such rows
  sed -nE "s/^($2)\(([A-Za-z0-9_]+).*/\2/p" "$1"
}

either() { # NAME...: a|b
  echo "$*" | tr ' ' '|'
}

# Prefixes of each name, from three letters on: a|b.
beginnings() { # NAME...
  echo "$*" | tr ' ' '\n' | awk '{ for (n = 3; n <= length($0); n++) if (!seen[substr($0, 1, n)]++) printf "%s%s", k++ ? "|" : "", substr($0, 1, n) }'
}

# Names listed one after the other: "a, b" or "a|b" in a string, or strings in a list.
listed() { # NAME...
  either=$(either "$@")
  echo "\\b($either)(, | or |, or |\\|)($either)\\b|\"($either)\", *\"($either)\""
}

# shellcheck disable=SC2046,SC2086 # names without spaces
{
  # ---- kinds of layers: network/kinds.def; check_kinds.sh checks their constants ----
  kinds=$(sed -nE 's/^(KIND|STEPLESS)\([A-Z0-9_]+, ([a-z0-9_]+).*/\2/p' network/kinds.def)
  refuse "the rows of kinds are named in the folders kinds/ alone (network/kinds.def)" \
    "\bmafat_(kind|predictor|runner)_($(either $kinds))\b" $(files ! -path '*/kinds/*')

  # ---- activations: network/activations.def; make_weights has a default recipe and exceptions ----
  activations=$(column network/activations.def 'DARKNET|KERNEL|FUNCTION')
  refuse "a list of activations outside network/activations.def" \
    "case MAFAT_($(either $activations)):|\[MAFAT_($(either $activations))\] *=" \
    $(files ! -path 'runner/kernels/*' ! -path '*/kinds/*' ! -path 'formats/onnx/*' \
      ! -path 'formats/tflite/*' ! -path 'programs/make_weights/*')

  # ---- element types: network/dtypes.def; readers of models have their own types ----
  types=$(column network/dtypes.def TYPE)
  packings=$(sed -nE 's/.*(NARROW|SCALED)\("([a-z0-9]+)".*/\2/p' network/dtypes.def)
  refuse "a list of types of weights outside network/dtypes.def" \
    "case MAFAT_($(either $types)):|\[MAFAT_($(either $types))\] *=|$(listed $packings)" \
    $(files ! -path 'formats/*')

  # ---- levels of kernels: base/levels.def ----
  levels=$(column base/levels.def LEVEL)
  integers=$(column base/levels.def INTEGERS)
  both=$(either $levels $integers)
  refuse "a level of kernels named outside base/levels.def" \
    "\"($both)\"|cmp\([^;]*\"($(beginnings $levels $integers))\"|$(listed $levels $integers)|\b(mafat_kernels|mafat_integer|MAFAT_CODE|MAFAT_CODE_integer)_($both)\b" \
    $(files ! -path 'runner/kernels/*')
  for object in $levels $(printf 'integer_%s\n' $integers) $(column base/levels.def FLAGS); do
    [ -n "$(find runner/kernels -name "$object.c")" ] ||
      fail "runner/kernels: expected $object.c, which base/levels.def has"
  done

  # ---- model formats: formats/readers.c; packed weights, cfg files and forks are also named elsewhere ----
  readers=$(sed -n 's/^#define READERS(ROW) //p' formats/readers.c | grep -oE 'ROW\([a-z0-9_]+\)' | sed 's/ROW(\(.*\))/\1/')
  graphs=
  for name in $readers; do # the row is in the reader's file
    row=$(grep -lE "^const struct mafat_reader mafat_${name}_reader = " formats/*/*.c || true)
    [ "$(echo "$row" | wc -w)" = 1 ] || fail "formats: expected one mafat_${name}_reader, which formats/readers.c has"
    ! sed -n "/^const struct mafat_reader mafat_${name}_reader = /,/};/p" $row | grep -q '\.graph = ' || graphs="$graphs $name"
  done
  [ -n "$readers" ] && [ -n "$graphs" ] || fail "formats/readers.c: found no rows"
  refuse "a format of models named outside formats/: ask for a property of its row (formats/readers.h)" \
    "\bmafat_($(either $readers))_reader\b|\bmafat_($(either $graphs))_|\"formats/($(either $graphs))/|\"\.?($(either $graphs))\"|\"\.($(either $readers))\"|case [A-Za-z0-9_]*($(either $graphs | tr a-z A-Z))\b|(cmp|switch ?)\([^;]*format\.name|(n|network)->format\.name" \
    $(files ! -path 'formats/*')

  # ---- static programs link a sscanf that always returns 0 (Makefile: LEFT_OUT) ----
  refuse "sscanf, which is left out of run_inference (programs/shared/left_out.c): use strtol" "\bsscanf ?\(" \
    $(files ! -path 'programs/memory_limit/*' ! -path 'programs/swap_cost/*')

  # ---- the public headers and Python name examples only ----
  ! grep -nE "$(listed $levels)|$(listed $packings)" include/*.h* python/mafat/*.py ||
    fail "a list of levels or types of weights in a comment: name one, and who lists all"

  # ---- lists written by hand are complete ----
  for file in programs/shared/options.def doc/man/run_inference.1; do
    needs $file $levels
  done
  for file in programs/shared/options.def doc/man/pack_weights.1; do
    needs $file $packings
  done
}
exit $bad
