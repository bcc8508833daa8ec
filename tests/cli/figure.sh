#!/usr/bin/env bash
# Checks the figure of latency against the memory limit (experiments/limits) from stored rows: the
# repository's files are reproduced, and misuse is refused. Only a small part is measured, if a
# memory group can be made. Run from the project's root.
set -u

build=${BUILD:-build}
build=$(realpath -m "$build")
export BUILD=$build
program=$PWD/experiments/limits/run.py
stored=$PWD/experiments/limits
folder=$(mktemp -d) || exit 1
# shellcheck source=tests/check.sh
. "$PWD/tests/check.sh"
at_end 'rm -rf "$folder"'
out=$folder/out err=$folder/err
suite=figure log=$folder/log
picture() { # STEM WIDTH: a whole PNG of that width and a well-formed SVG
  python3 - "$@" <<'PYTHON'
import struct, sys, xml.dom.minidom
stem, width = sys.argv[1], int(sys.argv[2])
with open(stem + ".png", "rb") as file:
    png = file.read()
assert png.startswith(b"\x89PNG\r\n\x1a\n") and png.endswith(b"IEND\xaeB`\x82"), "not a whole PNG"
assert struct.unpack(">I", png[16:20])[0] == width, "not %d pixels wide" % width
assert xml.dom.minidom.parse(stem + ".svg").documentElement.tagName == "svg"
PYTHON
}

if ! command -v python3 >/dev/null; then
  skip everything 'python3 is missing'
  exit 0
fi

# ---- Misuse

run --help
check help "exit status $code" test $code = 0 -a ! -s "$err"
for option in quick part limits program repeats timeout patience swap cpus parent seed folder fresh draw quiet; do
  check "help: --$option" 'not explained' grep -qE -e "^  --$option( |\$)" "$out"
done
if ! command -v gnuplot >/dev/null; then
  bad 'without gnuplot' 'gnuplot is missing' --draw --folder "$folder"
  skip 'everything else' 'gnuplot is missing'
  exit $failed
fi
bad 'an unknown option' '--fast' --fast
bad 'an unknown part' 'third' --part third
bad 'an unknown program' 'ncnn' --program ncnn
bad 'a bad limit' "found '3X'" --limits 64M,3X
for option in repeats timeout patience seed; do
  bad "a bad number: --$option" "found 'many'" --$option many
done
bad 'no rows to draw' 'no such file' --draw --folder "$folder"
bad 'a bad size of swap' '--swap' --swap 12Q --folder "$folder/none"
printf 'a,b\n1,2\n' >"$folder/runs.csv"
bad 'rows of something else' 'its heading is not that of a sweep' --draw --folder "$folder"
head -n 1 "$stored/runs.csv" >"$folder/runs.csv"
bad 'no row' 'has no rows' --draw --folder "$folder"
{ head -n 1 "$stored/runs.csv" && printf 'yolov2,16\n'; } >"$folder/runs.csv"
bad 'half a row' 'runs.csv:2:' --draw --folder "$folder"
rm "$folder/runs.csv"
BUILD=$folder/nobuild
bad 'nothing built' ' is missing; make' --quick --folder "$folder/none"
BUILD=$build
check 'nothing is left of what was refused' "found: $(ls "$folder")" test ! -e "$folder/none"

# ---- From the stored rows

cp "$stored/runs.csv" "$folder"
run --draw --quiet --folder "$folder"
check 'drawn again' "exit status $code, $(head -n 1 "$err")" test $code = 0 -a ! -s "$err"
check 'README.md is what the rows give' 'differs: experiments/limits/run.py --draw' cmp "$stored/README.md" "$folder/README.md"
check 'the picture' 'damaged' picture "$folder/limits" 1600
check 'the stored picture' 'damaged' picture "$stored/limits" 1600
check 'all programs in both parts' 'some are missing' python3 - "$folder/runs.csv" <<'PYTHON'
import csv, sys
with open(sys.argv[1], encoding="utf-8") as file:
    rows = list(csv.DictReader(file))
found = {(row["layers"], row["program"]) for row in rows}
assert found >= {(layers, program) for layers in ("16", "32") for program in ("mafat", "mafat-packed", "darknet", "opencv", "onnxruntime")}, found
ours = [row for row in rows if row["program"].startswith("mafat") and row["exit_status"] == "0"]
assert all(row["swap_in_bytes"] == row["swap_peak_bytes"] == "0" for row in ours), "ours swapped"
PYTHON
# Figures with a killed program, a timed-out one, and only our rows.
grep -E '^network|,mafat,' "$stored/runs.csv" >"$folder/runs.csv"
run --draw --quiet --folder "$folder"
check 'mafat alone' "exit status $code, $(head -n 1 "$err")" picture "$folder/limits" 1600
tr '\n' ' ' <"$folder/README.md" >"$folder/page" # its lines are wrapped
check 'mafat alone: the others are named' "$(head -c 300 "$folder/page")" grep -q '(not here: Darknet, OpenCV DNN and onnxruntime)' "$folder/page"
python3 - "$stored/runs.csv" "$folder/runs.csv" <<'PYTHON'
import csv, sys
with open(sys.argv[1], encoding="utf-8") as file:
    rows = list(csv.DictReader(file))
with open(sys.argv[2], "w", encoding="utf-8") as file:
    writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        if row["program"] != "mafat" and row["outcome"] != "given-up":
            row.update(latency_ms="", outcome="timeout" if row["program"] == "darknet" else "oom", exit_status="")
        writer.writerow(row)
PYTHON
run --draw --quiet --folder "$folder"
check 'nobody else survives' "exit status $code, $(head -n 1 "$err")" picture "$folder/limits" 1600
check 'nobody else survives: told' 'not as killed' grep -q '| killed |' "$folder/README.md"

# ---- Where the rows are kept, and who is left out

[ -x "$build/run_inference" ] || { skip 'who is left out' "needs $build/run_inference" && exit $failed; }
mkdir "$folder/bare" && ln -s "$build/run_inference" "$build/pack_weights" "$folder/bare" # no peers there
BUILD=$folder/bare check 'a peer that is missing is left out; a run begins with rows of its own' "$(cat "$folder/log")" python3 - "$stored" "$folder/bare" <<'PYTHON'
import contextlib, io, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import run
from sweep.cells import Misuse
said = io.StringIO()
with contextlib.redirect_stderr(said):
    labels = set(run.available(run.read_options([])))
assert {"mafat", "mafat, packed weights"} <= labels and not any("onnxruntime" in label for label in labels), labels
assert "limits: left out: onnxruntime: " in said.getvalue(), said.getvalue()
try:
    run.available(run.read_options(["--program", "onnxruntime"]))
    raise AssertionError("a peer that was asked for is left out")
except Misuse:
    pass
for arguments, work, folder in (([], "whole", run.HERE), (["--quick"], "quick", None), (["--part", "whole"], "whole", None)):
    options = run.read_options(arguments)
    assert options.work == "%s/limits/%s" % (sys.argv[2], work) and options.folder == (folder or options.work), (options.work, options.folder)
PYTHON
# Sentences follow the rows: times are from the rows, and nothing uncounted is claimed.
check 'sentences follow the rows' 'they do not' python3 - "$stored" <<'PYTHON'
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import run, report
from sweep import rows
def row(label, ms=None, outcome="exit", **more):
    return dict(dict.fromkeys(rows.COLUMNS), network="yolov2", layers=16, label=label, limit_bytes=16 << 20, repeat=1, outcome=outcome,
                exit_status=0 if ms else None, latency_ms=ms, load_ms=1, wall_ms=ms or 60e3, resident_bytes=1 << 20, **more)
def lead(*found):
    return report.lead_text(rows.points(found)["yolov2", 16])
dry = {"swap_in_bytes": 0, "swap_peak_bytes": 0}
assert lead(row("mafat", 100, **dry), row("Darknet", outcome="timeout")) == \
    "In 16 MB mafat takes 100 ms and swaps 0 pages. **No other program that was run finishes** (Darknet: time-out after 60.0 s)."
assert lead(row("mafat", 100), row("OpenCV DNN", 60)) == \
    "In 16 MB mafat takes 100 ms. OpenCV DNN, the fastest other program that survives, takes 60 ms: **0.6 times** as long."
assert lead(row("mafat", 100, **dry), row("mafat, packed weights", 90, swap_in_bytes=0, swap_peak_bytes=5000)) == \
    "In 16 MB mafat with packed weights takes 90 ms and swaps 2 pages."
assert not rows.swapped(row("mafat", 100, **dry)) and rows.swapped(row("mafat", 100, system_swap_out_bytes=4096))
PYTHON

exit $failed
