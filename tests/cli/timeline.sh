#!/usr/bin/env bash
# Checks experiments/timeline.sh: refusals, the stored example from its CSVs, and a run of a small
# network if a memory group can be made. Run from the project's root; BUILD names the build folder.
set -u

build=${BUILD:-build}
mkdir -p "$build" && build=$(realpath "$build") || exit 1
export BUILD=$build
program=$PWD/experiments/timeline.sh
stored=$PWD/experiments/timeline
folder=$build/timeline-test.$$ # on a disk
mkdir "$folder" || exit 1
# shellcheck source=tests/check.sh
. "$PWD/tests/check.sh"
at_end 'rm -rf "$folder"'
out=$folder/out err=$folder/err patience=120
export TMPDIR=$folder
suite=timeline log=$folder/log
picture() { # STEM: a whole PNG and a well-formed SVG
  python3 - "$1" <<'PYTHON'
import sys, xml.dom.minidom
with open(sys.argv[1] + ".png", "rb") as file:
    png = file.read()
assert png.startswith(b"\x89PNG\r\n\x1a\n") and png.endswith(b"IEND\xaeB`\x82"), "not a whole PNG"
assert xml.dom.minidom.parse(sys.argv[1] + ".svg").documentElement.tagName == "svg"
PYTHON
}

if ! command -v python3 >/dev/null || ! command -v gnuplot >/dev/null; then
  skip everything 'python3 or gnuplot is missing'
  exit 0
fi

# ---- A network: two convolutions, a maxpool between them

{
  printf '[net]\nwidth=64\nheight=64\nchannels=3\n'
  for filters in 16 32; do printf '[convolutional]\nfilters=%d\nsize=3\npad=1\nactivation=leaky\n[maxpool]\nsize=4\nstride=4\n' $filters; done
} >"$folder/small.cfg"
"$build/make_weights" --quiet "$folder/small.cfg" "$folder/small.weights" || exit 1
{ printf 'P6 64 64 255\n' && head -c 12288 /dev/zero | tr '\0' 'Q'; } >"$folder/a.ppm"
model="$folder/small.cfg $folder/small.weights $folder/a.ppm"

# ---- A full disk: the old CSVs stay, all of them

mkdir "$folder/kept"
said=$(PYTHONPATH=$PWD/experiments:$PWD/experiments/peers python3 -B -S - "$folder/kept" "$stored" 2>&1 <<'PYTHON'
import os, resource, sys
from timeline import traces
folder, stored = sys.argv[1:]
def sizes():
    return {name: os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)}
found = traces.read(stored)
for trace in found:
    trace.samples = trace.samples[:3]
traces.write(folder, found)
before = sizes()
for trace in found:
    trace.samples = trace.samples[:2] * 200
resource.setrlimit(resource.RLIMIT_FSIZE, (max(before.values()) + 1000, resource.RLIM_INFINITY))
try:
    traces.write(folder, found)
    print("taken for written")
except OSError:
    pass
assert sizes() == before, "found %s, before %s" % (sizes(), before)
PYTHON
)
check 'a disk that is full' "$(tail -n 1 <<<"$said")" test -z "$said"

# ---- Misuse

# shellcheck disable=SC2086 # $model is three paths
misuse() {
  run --help
  check help "exit status $code" test $code = 0 -a ! -s "$err"
  bad 'an unknown option' '--fast' --fast
  bad 'a bad limit' "found '3X'" --limit 3X $model
  bad 'two limits' 'one size or none' --limit 16M,8M $model
  bad 'an unknown program' "found 'ncnn'" --program ncnn $model
  bad 'the same name twice' "called 'mafat'" --program mafat --program mafat $model
  bad 'too many layers' "from 1 to the 4 of small.cfg" --layers 5 $model
  bad 'a bad interval' "found '0'" --interval 0 $model
  bad 'half a model' 'found 1 arguments' "$folder/small.cfg"
  bad 'no such model' 'no such file' "$folder/none.cfg" "$folder/small.weights" "$folder/a.ppm"
  bad 'nothing to draw' 'no such file' --draw --folder "$folder"
  bad 'a folder in a file' 'Not a directory' --folder "$folder/a.ppm/x" $model
  bad 'a bad size of swap' '--swap' --swap 12Q $model
  BUILD=$folder/none
  bad 'nothing built' ' is missing; make' --folder "$folder/made" $model
  BUILD=$build
  check 'nothing is left of what was refused' "found: $(ls "$folder")" test ! -e "$folder/made"
}
misuse

# ---- The stored example

mkdir "$folder/again" && cp "$stored"/*.csv "$folder/again"
run --draw --quiet --folder "$folder/again"
check 'drawn again' "exit status $code, $(head -n 1 "$err")" test $code = 0 -a ! -s "$err"
check 'README.md is what the CSVs give' 'differs: experiments/timeline.sh --draw' cmp "$stored/README.md" "$folder/again/README.md"
check 'the picture' 'damaged' picture "$folder/again/timeline"
check 'the stored picture' 'damaged' picture "$stored/timeline"
sed -i '1s/label/name/' "$folder/again/marks.csv"
bad 'marks of something else' 'its heading is not that of a timeline' --draw --folder "$folder/again"
cp "$stored/marks.csv" "$folder/again" && sed -i 2d "$folder/again/runs.csv"
bad 'marks of other runs' 'not of the same runs' --draw --folder "$folder/again"

# ---- A run

if ! "$build/memory_limit" --limit 64M --swap none -o /dev/null -- true 2>"$err"; then
  skip 'a run' "$(head -n 1 "$err")"
  exit $failed
fi
# shellcheck disable=SC2086 # $model is three paths
runs() {
  run --limit 16M --swap none --interval 1 --folder "$folder/run" --program mafat --program 'tiles: mafat --plan 2x2/2/1x1' $model
  check 'a run' "exit status $code, $(head -n 1 "$err")" test $code = 0 -a ! -s "$err"
  check 'a run: told' "found: $(head -n 3 "$out")" grep -q '^tiles: .* ms; at most .* MB of memory; nothing swapped$' "$out"
  check 'a run: the picture' 'damaged' picture "$folder/run/timeline"
  check 'a run: rows' 'not one for each program' test "$(wc -l <"$folder/run/runs.csv")" -eq 3
  check 'a run: marks' 'not a turn of each group and tile, in order' python3 - "$folder/run" <<'PYTHON'
import csv, sys
def read(name):
    with open(sys.argv[1] + "/" + name, encoding="utf-8") as file:
        return list(csv.DictReader(file))
samples, marks = read("samples.csv"), read("marks.csv")
for label in ("mafat", "tiles"):
    mine = [mark for mark in marks if mark["label"] == label]
    end = max(float(sample["ms"]) for sample in samples if sample["label"] == label)
    times = [float(mark[name]) for mark in mine for name in ("start_ms", "end_ms")]
    assert times == sorted(times) and 0 < times[0] and times[-1] < end + 50, times
    assert {mark["layer"] for mark in mine} >= {"-1", "1", "3"}, mine
tiles = [mark for mark in marks if mark["label"] == "tiles" and mark["layer"] == "1"]
assert len(tiles) == 4, tiles
PYTHON
  # A refused run has a panel, too. Not at 1M: there the kernel may read and drop the program's
  # pages for minutes.
  run --limit 1536K --swap none --folder "$folder/refused" --program mafat $model
  check 'refused' "exit status $code, $(head -n 1 "$err")" test $code = 0 -a -s "$folder/refused/timeline.png"
  check 'refused: told' "found: $(head -n 1 "$out")" grep -q '^mafat: \(refused: does not fit\|killed\)' "$out"
}
runs
check 'nothing is left' "found: $(ls "$folder")" test -z "$(find "$folder" -name 'mafat-sweep-*')"

exit $failed
