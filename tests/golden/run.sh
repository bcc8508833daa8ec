#!/usr/bin/env bash
# Compares the golden hashes of 21 plans of every network with tests/golden/golden.txt, and prints
# which aspect of which plan differs:
#   run.sh            compare
#   run.sh --write    write golden.txt anew; only for an intended change of behaviour, named in the
#   commit
# To see what changed, compare the texts of two builds: build/golden --show MODEL.cfg PLAN ASPECT.
# BUILD names the build folder.
set -u
cd "$(dirname "$0")/../.." || exit 1
export LC_ALL=C BUILD=${BUILD:-build}
golden=tests/golden/golden.txt
darknet=/usr/share/darknet/cfg
work=$(mktemp -d)
trap 'case $BASHPID in $$) rm -rf "$work" ;; esac' EXIT
trap 'exit 143' TERM INT

shopt -s nullglob
networks=("$darknet"/*.cfg)
if [ ${#networks[@]} = 0 ]; then
  [ "${1-}" != --write ] || { echo "golden: needs Debian's package darknet to write $golden" >&2; exit 1; }
  echo "skip golden: networks of Debian's package darknet, which is not installed"
fi
networks+=(models/*/*.cfg)

# Two at a time, each into its own file.
# shellcheck disable=SC2016 # for the inner shell
printf '%s\0' "${networks[@]}" | xargs -0 -n 1 -P 2 sh -c '
  name=$(basename "$2" .cfg)
  "$BUILD/golden" "$2" >"$1/$name.txt" 2>"$1/$name.err" || echo "FAIL golden $name: $(tail -n 1 "$1/$name.err")"' sh "$work" >"$work/failed"
cat "$work"/*.txt >"$work/found"
if [ "${1-}" = --write ]; then
  cat "$work/failed"
  [ ! -s "$work/failed" ] || exit 1
  cp "$work/found" "$golden"
  echo "$(wc -l <"$golden") lines written to $golden"
  exit 0
fi

# A line is "NETWORK PLAN aspect=hash ... | request". Networks that are missing are skipped, and so
# are bits of a kernel class that this processor lacks.
awk '
  function aspects(line, into,    words, n, i, pair) {
    split("", into)
    sub(/ \|.*/, "", line)
    n = split(line, words, " ")
    for (i = 3; i <= n; i++) { split(words[i], pair, "="); into[pair[1]] = pair[2] }
  }
  function asked(line) { return sub(/^[^|]*\| /, "", line) ? " (" line ")" : "" }
  FILENAME == ARGV[1] { wanted[$1 " " $2] = $0; next }
  {
    key = $1 " " $2; seen[key] = looked[$1] = 1; different = ""
    if (!(key in wanted)) { print "FAIL golden " key ": not in golden.txt" asked($0); next }
    aspects(wanted[key], w); aspects($0, f)
    for (a in w) if (!(a in f) ? $2 != "bits" : w[a] != f[a]) different = different " " a
    for (a in f) if (!(a in w)) different = different " " a
    if (different != "") print "FAIL golden " key ": other" different asked($0)
    else ok[$1]++
  }
  END {
    for (key in wanted) { split(key, part, " "); if (looked[part[1]] && !seen[key]) print "FAIL golden " key ": not there any more" }
    for (network in ok) print "ok golden " network ": " ok[network] " lines"
  }' "$golden" "$work/found" >"$work/result"

cat "$work/failed"
grep '^FAIL ' "$work/result" | sort
grep '^ok ' "$work/result" | sort
lines=$(awk '/^ok / { n += $4 } END { print n + 0 }' "$work/result")
failed=$(cat "$work/failed" "$work/result" | grep -c '^FAIL ')
echo "golden: $lines ok, $failed differ"
[ "$failed" = 0 ]
