#!/usr/bin/env bash
# Checks that paths which are not UTF-8 survive in the JSON of each program: Python finds the files
# again. Run from the project's root; BUILD names the build folder.
set -u
build=$(realpath "${BUILD:-build}")
# shellcheck disable=SC2034 # by tests/check.sh
suite=bytes
work=$(mktemp -d) || exit 1
# shellcheck source=tests/check.sh
. tests/check.sh
at_end 'rm -rf "$work"'
shapes=$(realpath models/shapes)
cd "$work" || exit 1
odd=$(printf 'caf\351 \303\251\377') # Latin-1, UTF-8 and a byte that is in neither
mkdir "$odd"
cp "$shapes/holdout/000004.jpg" "$odd/$odd.jpg"
cp "$shapes/shapes.cfg" "$odd/$odd.cfg"
ln -s "$shapes/shapes.weights" weights

cat >again.py <<'PY'
"""again.py MEMBER... <JSON: each line's members are paths that exist, or lists of arguments."""
import json
import os
import sys


def of_bytes(digits):
    return [bytes.fromhex(one) for one in digits] if isinstance(digits, list) else bytes.fromhex(digits)


def of_text(text):
    return [os.fsencode(one) for one in text] if isinstance(text, list) else os.fsencode(text)


lines = [json.loads(line) for line in sys.stdin.buffer.read().decode("utf-8", "strict").splitlines()]
assert lines, "no line"
for line in lines:
    for member in sys.argv[1:]:
        digits = line.get(member + "_bytes")
        found = of_bytes(digits) if digits is not None else of_text(line[member])
        if isinstance(found, list):
            assert found[-1] == b"caf\xe9 \xc3\xa9\xff", found
        else:
            assert os.path.exists(found), found
PY
again() { # NAME MEMBERS COMMAND...: prints JSON
  local name=$1 members=$2
  shift 2
  "$@" >json 2>err </dev/null
  # shellcheck disable=SC2086 # words
  check "$name" "$(head -c 200 err; python3 again.py $members <json 2>&1 | tail -n 1; head -c 200 json)" \
    python3 again.py $members <json
}
program=$build/run_inference
again 'a picture' image "$program" --quiet --json "$odd/$odd.cfg" weights "$odd/$odd.jpg"
again 'a name in UTF-8 alone' image "$program" --quiet --json "$odd/$odd.cfg" weights "$shapes/holdout/000004.jpg"
check 'without other bytes' 'there is a member image_bytes' test -z "$(grep -o image_bytes json)"
again 'a damaged picture' image "$program" --quiet --json "$odd/$odd.cfg" weights "$odd/$odd.cfg"
again 'a prediction' 'cfg image' "$program" --json --predict "$odd/$odd.cfg" weights "$odd/$odd.jpg"
printf '%s\n' "$odd/$odd.jpg" "$odd/$odd.jpg" >list
again 'a list' image bash -c '"$@" <list' list "$program" --quiet --json "$odd/$odd.cfg" weights -
check 'both of the list' "$(cat json)" test "$(wc -l <json)" = 2

if [ -x "$build/annotate" ]; then
  "$program" --quiet --json "$odd/$odd.cfg" weights "$odd/$odd.jpg" >json
  mkdir drawn
  check 'annotate finds the picture' "$(head -c 200 err)" "$build/annotate" -o drawn/ json
  check 'and keeps its name' "$(ls drawn)" test -s "drawn/$odd-annotated.jpg"
  for digits in 636 6g 6300 ''; do
    printf '{"image": "x", "image_bytes": "%s", "detections": []}\n' "$digits" >bad
    "$build/annotate" -o drawn/x.png bad >out 2>err
    check "bytes '$digits' are refused" "$(cat err)" \
      grep -q 'image_bytes: expected the bytes of a path, in hexadecimal digits' err
  done
fi
if [ -x "$build/memory_limit" ] && "$build/memory_limit" --check >out 2>&1; then
  again 'a command' command "$build/memory_limit" --limit 32M --json -o /dev/stdout -- true "$odd"
else skip 'a command' 'no memory cgroup'; fi
exit $failed
