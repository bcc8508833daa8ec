# shellcheck shell=bash
# Reads JSON output with python3. Source it after tests/check.sh, in the folder $folder, with the
# output in $out.
# shellcheck disable=SC2154 # set by the caller

# json NAME EXPRESSION...: each Python expression must be true of the object `a` on stdout; b is
# the one in $folder/before.
cat >told.py <<'PYTHON'
import json, sys
def read(path):
    try:
        return [json.loads(line) for line in open(path)]
    except FileNotFoundError:
        return None
lines = read(sys.argv[1])
assert len(lines) == 1, "%d lines" % len(lines)
a, before = lines[0], read(sys.argv[2])
b = before[0] if before else None
for expression in sys.argv[3:]:
    assert eval("(" + expression + ")"), "not so: %s in %.900s" % (expression, a)
PYTHON
json() {
  local name=$1 said
  shift
  if said=$(python3 told.py "$out" "$folder/before" "$@" 2>&1); then ok "$name"; else fail "$name" "$(tail -n 1 <<<"$said")"; fi
}
field() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$out" "$1"; }

# Checks that the plan that runs is the predicted one, with the same bytes except for some pages of the process.
same() { # NAME ARGUMENT...
  local name=$1
  shift
  predict --json "$@"
  cp "$out" before
  run --json "$@"
  json "$name runs so" 'all(a[k] == b[k] for k in ("plan", "algorithm", "threads", "cpu", "arena_bytes"))' \
    'abs(a["predicted_charge_bytes"] - b["predicted_charge_bytes"]) <= 131072'
  rm before
}
