#!/usr/bin/env bash
# Checks video frames through the command line: each format against the same picture, damage, late
# frames, boxes on frames, predicted and measured bytes. BUILD names the build folder.
set -u
cd "$(dirname "$0")/../.." || exit 1
suite=video
# shellcheck source=tests/check.sh
. tests/check.sh
build=${BUILD:-build}
program=$build/run_inference
model=(--names models/shapes/shapes.names models/shapes/shapes.cfg models/shapes/shapes.weights)
dir=$(mktemp -d) || exit 1
at_end 'rm -rf "$dir"'
# shellcheck disable=SC2034 # by tests/check.sh
out=$dir/out err=$dir/err log=$dir/log
of() { "$python" tests/cli/video.py "$@"; }

# ---- pictures and frames of one size

python=''
for one in python3 /usr/bin/python3; do
  "$one" -c 'import PIL' 2>/dev/null && python=$one && break
done
if [ -z "$python" ]; then
  skip frames 'needs python3-pil'
  exit 0
fi
jpeg=models/shapes/holdout/000004.jpg
"$python" -c 'import PIL.Image, sys; PIL.Image.open(sys.argv[1]).convert("RGB").save(sys.argv[2])' "$jpeg" "$dir/picture.ppm"
size=$(of make "$dir/picture.ppm" "$dir")
"$program" --quiet --json "${model[@]}" "$dir/picture.ppm" >"$dir/picture.json"
"$program" --quiet --json "${model[@]}" "$dir/frame.back.ppm" >"$dir/back.json"
"$program" --quiet --json "${model[@]}" "$jpeg" >"$dir/jpeg.json"

# shellcheck disable=SC2317 # called by check
video() { # FRAMES FILE OUT OPTION...
  local frames=$1 file=$2 to=$3
  shift 3
  "$program" --quiet --video "$frames" "$@" "${model[@]}" <"$file" >"$to"
}
for kind in rgb24 yuv420p nv12 yuyv; do
  check "$kind" 'it fails' video "$size:$kind" "$dir/frame.$kind" "$dir/$kind.json"
done
check 'y4m' 'it fails' video y4m "$dir/frame.y4m" "$dir/y4m.json"
check 'rgb24: the detections of the PPM file' 'they differ' of same "$dir/picture.json" "$dir/rgb24.json"
check 'yuv420p: near those of what it means' 'they differ' of near "$dir/back.json" "$dir/yuv420p.json"
for kind in nv12 yuyv y4m; do
  check "$kind: those of yuv420p" 'they differ' of same "$dir/yuv420p.json" "$dir/$kind.json"
done
check 'yuv420p is what is meant where nothing is said' 'it fails' video "$size" "$dir/frame.yuv420p" "$dir/plain.json"
cat "$dir/frame.nv12" "$dir/frame.nv12" "$dir/frame.nv12" >"$dir/three"
check 'a line for each frame' 'it fails' video "$size:nv12" "$dir/three" "$dir/three.json"
check 'in their order' 'they are not' of numbered "$dir/three.json" 3
cat "$jpeg" "$jpeg" >"$dir/two.mjpeg"
check 'mjpeg' 'it fails' video "$size:mjpeg" "$dir/two.mjpeg" "$dir/mjpeg.json"
check 'mjpeg: the detections of the file' 'they differ' of same "$dir/jpeg.json" "$dir/mjpeg.json" 1
check 'little memory' 'it fails' video "$size:yuv420p" "$dir/three" "$dir/small.json" --memory 8M --plan rows4 --thresh 0.9
check 'the sandbox' 'it fails' video "$size:yuv420p" "$dir/frame.yuv420p" "$dir/sandbox.json" --sandbox on
check 'as by a pipe' 'it fails' bash -c "cat '$dir/frame.yuv420p' | '$program' --quiet --video $size ${model[*]} >'$dir/pipe.json'"
check 'the same' 'they differ' of same "$dir/yuv420p.json" "$dir/pipe.json"

# ---- damage

head -c 1000 "$dir/frame.rgb24" >"$dir/short"
cat "$dir/frame.rgb24" "$dir/short" >"$dir/second"
truncated() { # NAME TEXT FRAMES FILE
  "$program" --quiet --video "$3" "${model[@]}" <"$4" >"$out" 2>"$err"
  code=$?
  expect "$1" 2 "$2"
}
truncated 'a short frame' 'frame 0 is short: expected' "$size:rgb24" "$dir/short"
truncated 'a short second one' 'frame 1 is short: expected' "$size:rgb24" "$dir/second"
check 'its line' 'there is none' grep -q '{"frame":1,"error":"standard input: frame 1 is short.*"exit_code":2}' "$out"
check 'the first one has its own' 'there is none' grep -q '^{"frame":0,"dropped":0' "$out"
truncated 'nothing' 'expected frames of' "$size:rgb24" /dev/null
truncated 'y4m: nothing' 'expected a y4m header, found nothing' y4m /dev/null
truncated 'y4m: something else' 'expected a y4m header' y4m "$jpeg"
truncated 'y4m: told to be raw' 'found a y4m header: --video y4m' 16x16:yuv420p "$dir/frame.y4m"
sed 's/C420jpeg/C444/' "$dir/frame.y4m" >"$dir/444"
truncated 'y4m: other colours' 'expected y4m frames of 4:2:0' y4m "$dir/444"
printf 'YUV4MPEG2 W4 H4 C420\nFRAMES\n' >"$dir/frames"
truncated 'y4m: no frame' 'frame 0: expected FRAME and a newline' y4m "$dir/frames"
head -c 3000 "$jpeg" >"$dir/half"
truncated 'mjpeg: a short one' 'the JPEG has no end marker' "$size:mjpeg" "$dir/half"
truncated 'mjpeg: none' 'expected the beginning of a JPEG' "$size:mjpeg" "$dir/frame.y4m"
truncated 'mjpeg: of another size' 'expected a JPEG picture of 64x48' 64x48:mjpeg "$jpeg"
{ cat "$jpeg" "$dir/half" && printf '\377\331' && cat "$jpeg"; } >"$dir/damaged"
truncated 'mjpeg: one that is damaged' 'damaged JPEG picture' "$size:mjpeg" "$dir/damaged"
check 'the ones beside it are run' 'they are not' test "$(grep -c '"detections":\[{' "$out")" = 2

# ---- late frames: the newest one is used

printf 'P6\n64 48\n255\n' >"$dir/small.ppm" && head -c 9216 "$dir/frame.rgb24" >>"$dir/small.ppm"
mkfifo "$dir/frames.rgb24"
exec 5<>"$dir/frames.rgb24"
for _ in 1 2 3 4 5 6; do head -c 9216 "$dir/frame.rgb24"; done >"$dir/six"
cat "$dir/six" >&5 # in one write: a pipe holds 16 pages, and each write may leave one half empty
"$program" --quiet --live --video 64x48:rgb24 "${model[@]}" <"$dir/frames.rgb24" >"$dir/live.json" 5>&- &
for _ in {1..600}; do [ ! -s "$dir/live.json" ] || break; sleep 0.1; done
exec 5>&-
wait $!
check 'late frames' 'they are run' of dropped "$dir/live.json" 5

# ---- boxes on frames

check 'overlay' 'it fails' video y4m "$dir/frame.y4m" "$dir/overlay.json" --overlay "$dir/overlay.y4m"
check 'the frame, and boxes on it' 'it is another' of drawn "$dir/frame.y4m" "$dir/overlay.y4m"
check 'detections are the same' 'they differ' of same "$dir/yuv420p.json" "$dir/overlay.json"
check 'no boxes' 'it fails' video y4m "$dir/frame.y4m" "$dir/none.json" --overlay "$dir/none.y4m" --thresh 1
check 'the frame as it was' 'it is another' cmp <(tail -n +2 "$dir/frame.y4m") <(tail -n +2 "$dir/none.y4m")
check 'on standard output' 'it fails' bash -c "'$program' --quiet --video y4m --overlay - ${model[*]} <'$dir/frame.y4m' >'$dir/out.y4m' 2>'$dir/out.json'"
check 'frames there' 'they differ' cmp "$dir/overlay.y4m" "$dir/out.y4m"
check 'lines on standard error' 'they differ' of same "$dir/yuv420p.json" "$dir/out.json"
for kind in nv12 yuyv rgb24; do
  check "overlay of $kind" 'it fails' video "$size:$kind" "$dir/frame.$kind" "$dir/$kind.json" --overlay "$dir/$kind.y4m"
done
check 'nv12 as yuv420p' 'it is another' cmp <(tail -n +2 "$dir/overlay.y4m") <(tail -n +2 "$dir/nv12.y4m")
check 'a frame of yuyv' 'it has another length' test "$(tail -n +3 "$dir/yuyv.y4m" | wc -c)" = "$(wc -c <"$dir/frame.yuyv")"
check 'a frame of rgb24' 'it has another length' test "$(tail -n +3 "$dir/rgb24.y4m" | wc -c)" = "$(wc -c <"$dir/frame.rgb24")"
for scaling in exact fast; do
  check "overlay of mjpeg, $scaling" 'it fails' video "$size:mjpeg" "$dir/two.mjpeg" "$dir/mjpeg.json" --overlay "$dir/mjpeg.y4m" --image-scaling $scaling
  check "overlay of mjpeg, $scaling: without boxes" 'it fails' video "$size:mjpeg" "$dir/two.mjpeg" "$dir/none.json" --overlay "$dir/plain.y4m" --thresh 1 --image-scaling $scaling
  check "overlay of mjpeg, $scaling: the picture" 'it is another' of decoded "$jpeg" "$dir/plain.y4m" 2
  check "overlay of mjpeg, $scaling: and boxes on it" 'it is another' of drawn "$dir/plain.y4m" "$dir/mjpeg.y4m"
done
of long_jpeg "$dir/long.jpg"
"$program" --quiet --video 256x256:mjpeg --overlay "$dir/long.y4m" "${model[@]}" <"$dir/long.jpg" >"$out" 2>"$err"
code=$?
expect 'overlay of a JPEG that leaves no room' 1 '--overlay expects JPEGs of at most 98304 bytes here, found one of'
check 'overlay of a JPEG that leaves no room: nothing of it is written' 'it is' test "$(wc -l <"$dir/long.y4m")" = 1
"$program" --quiet --video y4m --overlay /dev/full "${model[@]}" <"$dir/frame.y4m" >"$out" 2>"$err"
code=$?
expect 'a full disk' 1 '/dev/full: cannot write frames: No space left on device'

cp "$dir/frame.y4m" "$dir/own.y4m"
"$program" --quiet --video y4m --overlay "$dir/own.y4m" "${model[@]}" <"$dir/own.y4m" >"$out" 2>"$err"
code=$?
expect 'over the frames that are read' 2 '--overlay expects a file of its own'
check 'they stay' 'they are others' cmp "$dir/frame.y4m" "$dir/own.y4m"
"$program" --video y4m --max-boxes 1 --thresh 0 "${model[@]}" <"$dir/frame.y4m" 2>"$err" >"$out"
check 'boxes that are left out, and of which frame' "$(cat "$err")" grep -q 'warning: frame 0: [0-9]* of [0-9]* boxes' "$err"

# ---- bytes

for _ in $(seq 60); do cat "$dir/frame.yuv420p"; done >"$dir/sixty"
for plan in rows4 1x1/NoCut; do
  check "$plan: sixty frames" 'it fails' video "$size" "$dir/sixty" "$dir/report.json" --report --plan "$plan"
  check "$plan: resident as predicted" 'it is not' of holds "$dir/report.json"
  check "$plan: sixty frames with boxes" 'it fails' video "$size" "$dir/sixty" "$dir/report.json" --report --plan "$plan" --overlay /dev/null
  check "$plan: resident as predicted" 'it is not' of holds "$dir/report.json"
done
check 'JPEGs' 'it fails' video "$size:mjpeg" "$dir/two.mjpeg" "$dir/report.json" --report
check 'JPEGs: resident as predicted' 'it is not' of holds "$dir/report.json"
check 'JPEGs with boxes' 'it fails' video "$size:mjpeg" "$dir/two.mjpeg" "$dir/report.json" --report --overlay /dev/null
check 'JPEGs with boxes: resident as predicted' 'it is not' of holds "$dir/report.json"
# In a group with the predicted limit.
if [ -x "$build/memory_limit" ] && "$build/memory_limit" --check >/dev/null 2>&1; then
  charge=$("$program" --predict --json --video "$size" "${model[@]:2}" | sed 's/.*"predicted_charge_bytes":\([0-9]*\).*/\1/')
  check 'at the predicted charge' 'it fails' "$build/memory_limit" --json -o "$dir/group.json" --limit "$charge" -- \
    "$program" --quiet --memory "$charge" --video "$size" "${model[@]}" <"$dir/sixty"
  check 'nothing is swapped' "$(cat "$dir/group.json")" grep -q '"swap_peak_bytes":0,' "$dir/group.json"
else
  skip 'at the predicted charge' 'no memory groups here'
fi
"$program" --predict --json --video 1920x1080:rgb24 "${model[@]:2}" >"$dir/predict.json"
"$program" --predict --json "${model[@]:2}" "$dir/picture.ppm" >"$dir/predict0.json"
check 'a prediction has the frame' 'it has not' "$python" -c 'import json, sys
a, b = (json.load(open(p)) for p in sys.argv[1:])
sys.exit(not a["arena_bytes"] - b["arena_bytes"] > 5 << 20)' "$dir/predict.json" "$dir/predict0.json"
"$program" --quiet --memory 4M --video 1920x1080:rgb24 "${model[@]}" </dev/null >"$out" 2>"$err"
code=$?
expect 'a frame that does not fit' 3 'does not fit'

# ---- misuse

bad 'frames' '--video expects y4m, or frames like 640x480' --video 640x480:rgb "${model[@]}"
bad 'a picture, too' '--video takes the place of images' --video 640x480 "${model[@]}" "$jpeg"
bad 'live without frames' '--live expects --video or --camera' --live "${model[@]}" "$jpeg"
bad 'repeated' '--repeat makes no sense with --video' --repeat 3 --video 640x480 "${model[@]}"
bad 'no camera' '/dev/null: expected a camera' --camera /dev/null "${model[@]}"
bad 'no such camera' '/nonexistent: cannot open' --camera /nonexistent "${model[@]}"
"$program" --quiet --live --video "$size" "${model[@]}" <"$dir/frame.yuv420p" >"$out" 2>"$err"
code=$?
refuses 'a file is never late' 2 '--live expects a pipe or a camera'

# ---- ffmpeg's test source, its own conversion beside ours

if command -v ffmpeg >/dev/null; then
  ffmpeg -v error -f lavfi -i testsrc2=size=320x240:rate=10 -frames:v 20 -pix_fmt yuv420p -f yuv4mpegpipe - </dev/null |
    "$program" --quiet --video y4m "${model[@]}" >"$dir/ffmpeg.json" 2>"$err"
  check 'testsrc2 by a pipe' 'not all frames are run' of numbered "$dir/ffmpeg.json" 20
  ffmpeg -v error -f rawvideo -pixel_format yuv420p -video_size "$size" -i "$dir/frame.yuv420p" -f rawvideo -pix_fmt rgb24 "$dir/swscale.rgb24" </dev/null
  check "swscale's colours" 'it fails' video "$size:rgb24" "$dir/swscale.rgb24" "$dir/swscale.json"
  check 'detections near them' 'they differ' of near "$dir/swscale.json" "$dir/yuv420p.json"
  check 'a player reads the overlay' 'it does not' ffmpeg -v error -xerror -i "$dir/overlay.y4m" -f null - </dev/null
else
  skip "ffmpeg's test sources" 'needs ffmpeg'
fi
exit "$failed"
