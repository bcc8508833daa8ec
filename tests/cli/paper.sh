#!/usr/bin/env bash
# Checks the paper's figures and report from stored rows (tests/data/paper), without running
# anything: outputs, claims that follow changed rows, refusals; and that the repository's report is
# reproduced from its CSV files. Run from the project's root.
set -u

root=$PWD
program=$root/experiments/paper/run.py
sample=$root/tests/data/paper
folder=$(mktemp -d) || exit 1
# shellcheck source=tests/check.sh
. "$root/tests/check.sh"
at_end 'rm -rf "$folder"'
suite=paper log=$folder/log

if ! command -v python3 >/dev/null; then
  skip everything 'python3 is missing'
  exit 0
fi

out=$folder/out err=$folder/err
report() { # FOLDER [OPTION...]: writes README.md there; its text in one line is the file page
  run --report-only --output "$@"
  [ ! -e "$1/README.md" ] || tr '\n' ' ' <"$1/README.md" >"$1/page"
}
new() { # NAME: a copy of the sample; its name in $new
  new=$folder/$1
  mkdir "$new" && cp "$sample"/*.csv "$new"
}
refused() { # NAME TEXT: exit status 2, one line with TEXT, no report
  expect "$1" 2 "$2"
  [ ! -e "$new/README.md" ] || fail "$1" "a report was written"
}

# ---- outputs

pictures() { # FOLDER: every figure of the report is a valid PNG and SVG
  python3 - "$1" <<'PYTHON'
import re, struct, sys, xml.dom.minidom
folder = sys.argv[1] + "/"
with open(folder + "README.md", encoding="utf-8") as file:
    names = re.findall(r"\]\((figures/[a-z0-9]+\.(?:png|svg))\)", file.read())
assert len(names) == 10, "the report shows %s" % names
for name in names:
    with open(folder + name, "rb") as file:
        data = file.read()
    if name.endswith("png"):
        assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[-8:-4] == b"IEND", "%s is no whole PNG" % name
        assert struct.unpack(">I", data[16:20])[0] >= 1200, "%s is too narrow" % name
    else:
        xml.dom.minidom.parseString(data)
PYTHON
}

says_all() { # FOLDER: the report names every limit, plan and program of the rows
  python3 - "$1" <<'PYTHON'
import csv, re, sys
folder = sys.argv[1] + "/"
with open(folder + "README.md", encoding="utf-8") as file:
    text = file.read()
words = set(re.findall(r"[^\s|,;:`()]+", text))
with open(folder + "runs.csv", encoding="utf-8") as file:
    for row in csv.DictReader(file):
        limit = "%g" % (int(row["limit_bytes"]) / 1048576) if row["limit_bytes"] else "none"
        assert limit in words, "limit %s is missing" % limit
        assert row["label"] in text, "%s is missing" % row["label"]
with open(folder + "limits.csv", encoding="utf-8") as file:
    for row in csv.DictReader(file):
        assert row["label"] in words, "%s is missing" % row["label"]
assert "nan" not in words and "None" not in words, "a value is missing"
PYTHON
}

new sample
if command -v gnuplot >/dev/null; then
  report "$new"
  check 'report of stored rows' "exit status $code; $(head -c 300 "$err")" test "$code" = 0
  check 'figures as PNG and SVG' 'a figure is damaged' pictures "$new"
else
  skip 'figures as PNG and SVG' 'gnuplot is missing'
fi
report "$new" --no-figures
check 'report without figures' "exit status $code; $(head -c 300 "$err")" test "$code" = 0
check 'report has every limit, plan and program' 'something is missing' says_all "$new"
cp "$new/README.md" "$folder/first"
report "$new" --no-figures
check 'report is the same again' 'two reports of the same rows differ' cmp "$folder/first" "$new/README.md"

# ---- claims follow the rows

check 'Darknet swaps, says the sample' 'the sample says something else' grep -q 'Darknet swaps at 128 MB and below' "$new/page"
new timeout
awk -F, -v OFS=, '$3 == "darknet" && $6 == 67108864 { $8 = "timeout"; $9 = $10 = "" } { print }' "$sample/runs.csv" >"$new/runs.csv"
report "$new" --no-figures
check 'a time-out is reported' 'not in the report' grep -q 'did not end well at 64 MB (time-out)' "$new/page"
check 'no speed-up is claimed over a time-out' 'it is' sh -c "! grep -q 'At 64 MB Algorithm 2.s choice is .* times as fast as Darknet' '$new/page'"
new dry
awk -F, -v OFS=, '$3 == "darknet" { $20 = $21 = $22 = $23 = $24 = 0 } { print }' "$sample/runs.csv" >"$new/runs.csv"
report "$new" --no-figures
check 'a Darknet that does not swap' 'the report says that it swaps' sh -c "! grep -q 'Darknet swaps at' '$new/page'"
new part
sed -i '/,darknet,/d' "$new/runs.csv"
rm "$new/limits.csv" "$new/darknet.csv"
report "$new" --no-figures
check 'a part of the rows' "exit status $code; $(head -c 300 "$err")" test "$code" = 0
check 'a part of the rows: no figure without data' 'there is one' sh -c "! grep -q 'fig[12].png' '$new/README.md'"

# ---- refusals

mkdir "$folder/bin" && ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$folder/bin/python3" && ln -s "$(command -v env)" "$folder/bin/env"
new no-gnuplot
PATH=$folder/bin "$program" --report-only --output "$new" >"$out" 2>"$err"
code=$?
refused 'gnuplot is missing' 'gnuplot is missing'
new heading
sed -i '1s/label/lable/' "$new/runs.csv"
report "$new" --no-figures
refused 'a foreign heading' 'runs.csv'
new number
sed -i '3s/,exit,0,[0-9.]*,/,exit,0,fast,/' "$new/runs.csv"
report "$new" --no-figures
refused 'a word for a number' 'runs.csv:3'
new limits
sed -i '2s/^\([^,]*\),[0-9]*/\1,-5/' "$new/limits.csv"
report "$new" --no-figures
refused 'a negative number' 'limits.csv:2'
new fields
sed -i '4s/$/,more/' "$new/darknet.csv"
report "$new" --no-figures
refused 'a field too many' 'darknet.csv:4'
new none
sed -i '2,$d' "$new/runs.csv"
report "$new" --no-figures
refused 'no rows' 'found none'
new missing
rm "$new/runs.csv"
report "$new" --no-figures
refused 'no file' 'make paper writes it'
for options in '--limits 3Q' '--plans 5x5/7/2x2' '--repeats 0' '--timeout soon' '--swop 1G' '--swap much'; do
  # shellcheck disable=SC2086 # an option and its value
  run $options
  refused "$options" "${options##* }"
done
run --help
check 'help' "exit status $code" sh -c "[ $code = 0 ] && grep -q -e --report-only '$out'"

# ---- the search for the least limit

check 'least limits are found by bisection' 'wrong' python3 - "$root" <<'PYTHON'
import sys
sys.dont_write_bytecode = True
sys.path[:0] = [sys.argv[1] + "/experiments/paper", sys.argv[1] + "/experiments"]
import least
STEP = 1 << 18
def row(limit, need):
    swapped = 0 if limit >= need else 4096
    return {"limit_bytes": limit, "outcome": "exit", "exit_status": 0, "swap_out_bytes": swapped, "swap_in_bytes": 0, "swap_peak_bytes": swapped}
for need in (1, STEP, 5 * STEP, 5 * STEP + 1, 91 * STEP + 7, 2560 * STEP):
    for start in (1, 3 * STEP, 90 * STEP, 3000 * STEP):
        search = least.Search(start, STEP)
        asked = search.next()
        while asked:
            assert asked[1] == len(search.tried.get(asked[0], [])) + 1 and search.runs()[0] < 60
            search.add(row(asked[0], need))
            asked = search.next()
        assert search.found() == -(-need // STEP) * STEP, (need, start, search.found())
# A program that never succeeds: the search gives up.
search = least.Search(4 * STEP, STEP, most=4096 * STEP)
asked = search.next()
while asked:
    assert search.runs()[0] < 20
    search.add(dict(row(asked[0], 0), exit_status=1))
    asked = search.next()
assert search.found() is None and search.below() == "failed"
# Without group counters, the machine's are used.
unknown = dict(row(STEP, 0), swap_out_bytes=None, swap_in_bytes=None, swap_peak_bytes=None, system_swap_in_bytes=0, system_swap_out_bytes=4096)
assert not least.is_dry(unknown) and least.is_dry(dict(unknown, system_swap_out_bytes=0))
PYTHON

# ---- the report in the repository

if [ -e experiments/paper/runs.csv ]; then
  mkdir "$folder/committed" && cp experiments/paper/*.csv "$folder/committed"
  report "$folder/committed" --no-figures
  check 'the report in the repository is what its rows give' 'make paper PAPER=--report-only writes it anew' \
    cmp experiments/paper/README.md "$folder/committed/README.md"
else
  skip 'the report in the repository' 'nothing has been measured'
fi
exit $failed
