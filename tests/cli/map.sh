#!/usr/bin/env bash
# Checks run_inference --predict --map: the picture of an arena against --predict --json, for few
# layers and hundreds; names that need escaping; refusals, after which no partial file is left. Run
# from the project's root; BUILD names the build folder.
set -u

build=$(realpath "${BUILD:-build}")
program=$build/run_inference
root=$PWD
# shellcheck source=tests/check.sh
. tests/check.sh
folder=$(mktemp -d) || exit 1
at_end 'rm -rf "$folder"'
out=$folder/out err=$folder/err suite=map patience=300

if ! command -v python3 >/dev/null; then
  skip everything 'needs python3'
  exit 0
fi

# ---- Contents of a picture

cat >"$folder/holds.py" <<'PYTHON'
import json, re, sys, xml.etree.ElementTree
SVG = "{http://www.w3.org/2000/svg}"
told, path, least = json.load(open(sys.argv[1])), sys.argv[2], int(sys.argv[3])
root = xml.etree.ElementTree.parse(path).getroot()
width, height = float(root.get("width")), float(root.get("height"))
boxes = [box for group in root.iter(SVG + "g") if group.get("class") == "buffers" for box in group]
steps = [box for group in root.iter(SVG + "g") if group.get("class") == "steps" for box in group]
texts = ["".join(text.itertext()) for text in root.iter(SVG + "text")]
assert len(boxes) >= least, "%d boxes" % len(boxes)

class Buffer:
    def __init__(self, box):
        title = box.find(SVG + "title").text
        self.bytes, self.offset = map(int, re.search(r": (\d+) bytes at (\d+), in step", title).groups())
        self.x, self.y, self.w, self.h = (float(box.get(name)) for name in ("x", "y", "width", "height"))
buffers = [Buffer(box) for box in boxes]

# Each box is at its bytes; no two overlap, and the whole arena is used.
assert max(b.offset + b.bytes for b in buffers) + 64 >= told["arena_bytes"]
assert all(b.offset + b.bytes <= told["arena_bytes"] for b in buffers)
assert all(b.w > 0 and b.x >= 0 and b.x + b.w <= width + .02 for b in buffers)
for i, a in enumerate(buffers):
    for b in buffers[:i]:
        shared = min(a.x + a.w, b.x + b.w) - max(a.x, b.x) > .03
        assert not shared or a.offset + a.bytes <= b.offset or b.offset + b.bytes <= a.offset, (a.__dict__, b.__dict__)

# The peak: the largest value of the steps, the printed one and JSON's are equal.
peak = max(int(re.search(r", (\d+) bytes alive", step.find(SVG + "title").text).group(1)) for step in steps)
assert peak == told["arena_bound_bytes"], (peak, told["arena_bound_bytes"])
assert any(text.startswith("peak: ") and " %d bytes" % peak in text for text in texts), texts
assert told["arena_excess_bytes"] == told["arena_bytes"] - told["arena_bound_bytes"] >= 0
assert abs(told["arena_excess_percent"] - 100 * (told["arena_bytes"] / peak - 1)) < 1e-6
assert any(text.startswith("%d bytes: %d bytes (" % (told["arena_bytes"], told["arena_excess_bytes"])) for text in texts), texts
sums = [sum(b.bytes for b in buffers if b.x <= x < b.x + b.w) for x in sorted({b.x + .03 for b in buffers})]
assert max(sums) == peak, (max(sums), peak)

# No box is missing: over each step the boxes add up to its bytes.
for step in steps:
    left, right = float(step.get("x")), float(step.get("x")) + float(step.get("width"))
    alive = int(re.search(r", (\d+) bytes alive", step.find(SVG + "title").text).group(1))
    edges = [left + .02] + [b.x + .02 for b in buffers if left < b.x + .02 < right - .02]
    found = max(sum(b.bytes for b in buffers if b.x <= x < b.x + b.w) for x in edges)
    assert found == alive, "step at %.2f: boxes of %d bytes, %d alive" % (left, found, alive)

# Texts do not overlap and are inside the picture.
def place(text):
    size, n = float(text.get("font-size")), len("".join(text.itertext()).replace((text.findtext(SVG + "title") or ""), "", 1))
    x, y, length = float(text.get("x")), float(text.get("y")), .602 * size * n
    before = {None: 0, "middle": length / 2, "end": length}[text.get("text-anchor")]
    if text.get("transform"):
        return x - .75 * size, y - length + before, x + .1 * size, y + before
    return x - before, y - .75 * size, x - before + length, y + .1 * size
places = sorted((place(text), "".join(text.itertext())) for text in root.iter(SVG + "text"))
for i, (a, name) in enumerate(places):
    assert a[0] >= -1 and a[1] >= -1 and a[2] <= width + 1 and a[3] <= height + 1, (name, a)
    for b, other in places[i + 1:]:
        if b[0] >= a[2] - .1:
            break
        assert b[1] >= a[3] - .1 or a[1] >= b[3] - .1, "%s over %s" % (name, other)
print(len(boxes))
PYTHON
# draws NAME LEAST ARGUMENT...: a picture of at least LEAST boxes, the same each time, with an
# unchanged report
draws() {
  local name=$1 least=$2 file="$folder/picture.svg"
  shift 2
  rm -f "$folder"/picture.svg*
  run --predict --quiet --json "$@"
  cp "$out" "$folder/told"
  run --predict --quiet --json --map "$file" "$@"
  expect "$name" 0
  cmp -s <(sed 's/"memory_budget_bytes":[0-9]*//' "$out") <(sed 's/"memory_budget_bytes":[0-9]*//' "$folder/told") || fail "$name, told" 'the answer is another one'
  if said=$(python3 "$folder/holds.py" "$folder/told" "$file" "$least" 2>&1); then ok "$name, $said boxes"; else fail "$name, holds" "$(tail -n 1 <<<"$said")"; fi
}
shapes=$root/models/shapes/shapes
{ printf '[net]\nwidth=96\nheight=64\nchannels=3\n'
  printf '[convolutional]\nfilters=16\nsize=3\npad=1\nactivation=leaky\n[maxpool]\nsize=2\nstride=2\n'
  printf '[convolutional]\nfilters=32\nsize=3\npad=1\nactivation=leaky\n[maxpool]\nsize=2\nstride=2\n'
  printf '[convolutional]\nfilters=8\nsize=1\nactivation=linear\n'; } >"$folder/small.cfg"
draws 'five layers' 5 --plan 1x1 "$folder/small.cfg"
draws 'five layers in rows' 4 --plan rows2:streamed/2/panels:loaded "$folder/small.cfg"
draws 'tiles' 5 --plan 3x3/2/2x2 "$folder/small.cfg"
draws 'in place' 4 --plan 1x1/inplace "$folder/small.cfg"
draws 'in parts' 6 --plan 'split(h2:2-4)/order=best' "$folder/small.cfg"
{ cat "$folder/small.cfg"
  printf '[convolutional]\nfilters=256\nsize=3\npad=1\nactivation=leaky\n[convolutional]\nfilters=256\nsize=3\npad=1\nactivation=leaky\n'; } >"$folder/wide.cfg"
draws 'in parts, and whole maps behind' 13 --plan 'split(h4:0-3)' "$folder/wide.cfg"
draws 'one layer' 2 --layers 1 "$folder/small.cfg"
draws 'shapes' 10 "$shapes.cfg"
draws 'threads, a budget that is too small' 10 --threads 4 --best-effort --memory 1 "$shapes.cfg"
yolo=/usr/share/darknet/cfg/yolov2.cfg
if [ -r $yolo ]; then draws yolov2 20 --memory 12M $yolo; draws yolov3 90 ${yolo/v2/v3}; else skip yolov2 'the darknet package is not installed'; fi
PYTHONDONTWRITEBYTECODE=1 python3 "$root/experiments/networks/write_networks.py" --zeros --folder "$folder" radar nasnet_a_cifar >/dev/null ||
  fail networks 'cannot be written'
draws 'an ONNX file' 5 --plan 1x1 "$folder/radar.onnx"
draws 'hundreds of operators' 500 --search least "$folder/nasnet_a_cifar.onnx"

# ---- As a PNG

if command -v gnuplot >/dev/null; then
  program=$root/experiments/arena_map.py run "$folder/picture.svg" "$folder/picture.png"
  expect png 0
  check 'png is one' "found: $(head -c 8 "$folder/picture.png" | od -An -c)" grep -aq IEND "$folder/picture.png"
  program=$root/experiments/arena_map.py bad 'png of nothing' 'expected FILE.svg FILE.png' "$folder/picture.svg"
else skip png 'gnuplot is missing'; fi

# ---- Names

odd=$folder/$'a & b <c> "d" \x01\xff\xef\xbf\xbf 網.cfg'
cp "$folder/small.cfg" "$odd"
draws 'a name that has to be escaped' 5 --plan 1x1 "$odd"
check 'a name is shown' "found: $(grep -a '<text' "$folder/picture.svg" | head -n 1)" grep -qF 'a &amp; b &lt;c&gt; &quot;d&quot;' "$folder/picture.svg"

# ---- Refusals

mkdir "$folder/empty"
cd "$folder/empty" || exit 1
left() { check "$1, nothing left" "found: $(ls -A "$folder/empty")" test -z "$(ls -A "$folder/empty")"; }
small=$folder/small.cfg
bad 'without --predict' '--map expects --predict' --map a.svg "$small" "$small" "$small"
bad 'with --sweep' '--map makes no sense with --sweep: it shows one plan' --predict --sweep --map a.svg "$small"
bad 'with --pareto' '--map makes no sense with --pareto: it shows one plan' --predict --pareto --map a.svg "$small"
bad 'over the cfg' '--map expects a file of its own' --predict --map "$small" "$small"
bad 'no model' 'no-such.cfg: cannot open' --predict --map a.svg no-such.cfg
left refused
run --predict --map no-such-folder/a.svg "$small"
expect 'no folder' 1 'no-such-folder/a.svg: cannot create: '
check 'no folder, told all the same' 'nothing' grep -q '^plan ' "$out"
run --predict --json --map /dev/full "$small"
expect 'a full disk' 1 '/dev/full: cannot write: No space left on device'
check 'a full disk, one object' "$(wc -l <"$out") lines" test "$(wc -l <"$out")" = 1
check 'a device stays one' "it is $(stat -c %F /dev/full)" test -c /dev/full
echo before >before.svg
(ulimit -f 4 && exec timeout 60 "$program" --predict --map before.svg "$shapes.cfg") >"$out" 2>"$err"
code=$?
expect 'larger than is allowed' 1 'before.svg: cannot write: File too large'
check 'what was there is there' "found: $(head -c 40 before.svg)" test "$(cat before.svg)" = before
rm before.svg
left 'larger than is allowed'
run --predict --memory 1 --map unfit.svg "$small"
expect 'what does not fit is drawn' 3 'does not fit'
check 'what does not fit is whole' 'it is not' grep -q '</svg>' unfit.svg
# Pools ignore the last of 13 rows, so the last rows before them are not needed: a partition buffer
# that is never live.
conv='[convolutional]\nfilters=16\nsize=3\nstride=1\npad=0\nactivation=relu\n' pool='[maxpool]\nsize=2\nstride=2\npadding=0\n'
printf '%b' "[net]\nheight=32\nwidth=32\nchannels=3\n$conv$pool$conv$pool$conv" >"$folder/odd.cfg"
run --predict --algorithm direct --plan rows1:bricks/4/1x1 --map odd.svg "$folder/odd.cfg"
expect 'rows that nobody reads' 0 ''
check 'rows that nobody reads, whole' 'it is not' grep -q '</svg>' odd.svg
rm -f odd.svg
"$program" --predict --map /dev/stdout "$small" 2>"$err" | tail -n 1 | grep -q '</svg>'
check 'to standard output' "$(cat "$err")" test "${PIPESTATUS[2]}" = 0
exit $failed
