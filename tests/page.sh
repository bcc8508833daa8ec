# shellcheck shell=bash
# Shared by tests of pages: extracts commands from the page itself, so that page and test cannot differ. Source it after
# tests/check.sh.

# page_blocks PAGE FOLDER: writes each block of commands (```sh) to FOLDER/NNN.sh, its first line's
# number to FOLDER/NNN.line, and a block of text (```text) that follows, its expected output, to
# FOLDER/NNN.text
page_blocks() {
  mkdir -p "$2"
  awk -v folder="$2" '
    /^```sh$/ { name = sprintf("%s/%03d", folder, ++n); print FNR + 1 >(name ".line"); to = name ".sh"; printf "" >to; near = 0; next }
    /^```text$/ && near { to = name ".text"; next }
    /^```/ { near = to ~ /sh$/; to = ""; next }
    to != "" { print >to; next }
    /[^ ]/ && !/:$/ { near = 0 }
  ' "$1"
}

# page_leave_out FOLDER PATTERN REASON: lines that match (an extended regular expression; a
# backslash at the end joins lines) are not run and reported as skipped. A block without a command
# has no expected output.
page_leave_out() {
  local block out before
  for block in "$1"/*.sh; do
    before=$(cksum <"$block")
    awk -v pattern="$2" -v first="$(cat "${block%.sh}.line")" -v told="$1/left_out" '
      { line = line $0; lines++; if (/\\$/) { line = line "\n"; next } }
      line ~ pattern { print first + NR - lines ": " line >>told; sub(/^[^<]*/, ": ", line); if (line !~ /<</) line = ":" }
      { print line; line = ""; lines = 0 }' "$block" >"$1/kept"
    cat "$1/kept" >"$block"
    [ "$(cksum <"$block")" = "$before" ] || rm -f "${block%.sh}.text"
  done
  [ -e "$1/left_out" ] || fail 'left out' "no command is like $2"
  while IFS= read -r out; do skip "line ${out%%:*}" "${out#*: }: $3"; done < <(grep -E '^[0-9]+: ' "$1/left_out" 2>/dev/null)
  rm -f "$1/left_out" "$1/kept"
}

# page_run FOLDER SHELL...: runs the blocks in one shell, so that folders and variables persist;
# the first failing command ends it. A check for each block: it ran, and printed the expected
# output except for milliseconds. FOLDER need not exist where the shell runs.
page_run() {
  # shellcheck disable=SC2016 # the other shell's
  local folder=$1 block name script='set -eE -o pipefail; trap '\''printf "\n=> failed: %s\n" "$BASH_COMMAND"'\'' ERR'$'\n'
  shift
  for block in "$folder"/*.sh; do
    script+="printf '\n== %s\n' $(basename "$block" .sh)"$'\n'$(cat "$block")$'\n'
  done
  "$@" -c "$script"$'\nprintf "\n== end\n"' </dev/null >"$folder/said" 2>&1
  awk -v folder="$folder" '/^== ([0-9]+|end)$/ { to = folder "/" $2 ".out"; printf "" >to; next } to != "" { print >to }' "$folder/said"
  for block in "$folder"/*.sh; do
    name=${block%.sh}
    page_check "line $(cat "$name.line")" "$name"
  done
  [ -e "$folder/end.out" ] || fail 'all commands' 'the last one was not come to'
}

page_check() { # NAME BLOCK
  local promised missing=
  if [ ! -e "$2.out" ]; then fail "$1" 'was not come to'; return; fi
  if grep -q '^=> failed: ' "$2.out"; then fail "$1" "$(grep -vx '' "$2.out" | tail -n 3)"; return; fi
  [ ! -e "$2.text" ] || missing=$(grep -vxF -f <(page_mask "$2.out") <(page_mask "$2.text") | head -n 1)
  promised=$(if [ -e "$2.text" ]; then echo ', and what it says'; fi)
  check "$1$promised" "does not say: $missing" test -z "$missing"
}

page_mask() { sed -E 's/[0-9.]+ ms/# ms/g; s/memory [0-9.]+ of/memory # of/g; s/ +/ /g' "$1"; } # FILE: without measured figures
