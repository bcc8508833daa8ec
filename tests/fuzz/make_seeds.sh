#!/bin/sh
# Writes small seed corpora for the fuzz targets: make_seeds.sh FOLDER
# creates FOLDER/TARGET for each of them, and FOLDER/cfg.dict.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
for target in tests/fuzz/fuzz_*.c; do
  target=${target##*/fuzz_}
  mkdir -p "$1/${target%.c}"
done

cat > "$1/cfg/chain" <<'END'
# a chain
[net]
batch = 1
width=32
height=24
channels=3

[convolutional]
batch_normalize=1
filters=17
size=3
stride=1
pad=1
activation=leaky

[maxpool]
size=2
stride=2

[convolutional]
filters=24
groups=1
size=5
padding=2
stride=3
activation=mish
END
cat > "$1/cfg/edges" <<'END'
[net]
width=16
height=16
channels=4
[convolutional]
filters=16
size=3
pad=1
activation=relu
[convolutional]
filters=16
size=3
pad=1
groups=16
[shortcut]
from=-2
activation=linear
[route]
layers=-1,-2
[route]
layers=-1
groups=2
group_id=1
[upsample]
stride=2
[maxpool]
size=3
stride=1
[reorg]
stride=2
[convolutional]
filters=12
size=1
activation=linear
[yolo]
mask=0,1
anchors=10,14, 23,27, 37,58
classes=1
num=3
END
cat > "$1/cfg/classifier" <<'END'
[net]
width=9
height=7
channels=3
[crop]
crop_width=8
crop_height=6
[batchnorm]
[activation]
activation=elu
[local]
filters=3
size=3
pad=1
[dropout]
probability=.5
[connected]
output=20
activation=relu
[avgpool]
[softmax]
groups=2
temperature=2
[cost]
type=sse
END
cat > "$1/cfg/detection" <<'END'
[net]
inputs=30
[connected]
output=44
activation=linear
[detection]
classes=1
coords=4
side=2
num=2
softmax=0
sqrt=1
END
cat > "$1/cfg/region" <<'END'
[net]
width=4
height=4
channels=6
[region]
anchors=0.5,0.7
classes=1
coords=4
num=1
softmax=1
END
# Layers and keys of AlexeyAB's fork.
cat > "$1/cfg/excite" <<'END'
[net]
width=12
height=12
channels=3
[convolutional]
batch_normalize=1
filters=16
size=3
dilation=2
pad=1
activation=hard_mish
[convolutional]
filters=16
size=3
groups=8
stride_x=1
stride_y=2
pad=1
activation=swish
[avgpool]
[convolutional]
filters=16
activation=logistic
[scale_channels]
from=-3
scale_wh=0
activation=linear
[convolutional]
filters=16
activation=logistic
[sam]
from=-2
[shortcut]
from=-2,-3,1
activation=leaky
[local_avgpool]
size=2
stride=1
[reorg3d]
stride=2
END
cat > "$1/cfg/gaussian" <<'END'
[net]
width=8
height=8
channels=3
letter_box=1
[maxpool]
size=3
stride_x=2
stride_y=1
[convolutional]
filters=40
activation=linear
[upsample]
stride=3
scale=2
[convolutional]
filters=28
activation=linear
[Gaussian_yolo]
mask=0,1
anchors=10,14, 23,27
classes=5
num=2
yolo_point=left_top
scale_x_y=1.1
nms_kind=diounms
beta_nms=0.6
[route]
layers=1
[convolutional]
filters=12
[yolo]
mask=0,1
anchors=10,14, 23,27
classes=1
num=2
new_coords=1
nms_kind=greedynms
END

cat > "$1/cfg.dict" <<'END'
"[net]"
"[convolutional]"
"[maxpool]"
"[avgpool]"
"[route]"
"[shortcut]"
"[upsample]"
"[reorg]"
"[connected]"
"[local]"
"[batchnorm]"
"[crop]"
"[activation]"
"[dropout]"
"[cost]"
"[softmax]"
"[region]"
"[yolo]"
"[detection]"
"[Gaussian_yolo]"
"[scale_channels]"
"[sam]"
"[local_avgpool]"
"[reorg3d]"
"width="
"height="
"channels="
"inputs="
"filters="
"size="
"stride="
"pad="
"padding="
"groups="
"group_id="
"layers="
"from="
"output="
"extra="
"reverse="
"classes="
"num="
"mask="
"anchors="
"activation="
"stride_x="
"stride_y="
"dilation="
"scale_wh="
"scale="
"batch_normalize="
"yolo_point="
"nms_kind="
"beta_nms="
"new_coords="
"scale_x_y="
"letter_box="
"1048576"
"65536"
"4096"
"-1"
"2147483647"
END

# Names of options, searches and their parameters, from their tables.
{
  sed -n 's/^\(OPTION\|RENAMED\)([a-z_]*, "\([a-z-]*\)".*/"--\2"/p' programs/shared/options.def
  sed -n 's/^  SEARCH(\([a-z]*\)).*/"\1:"/p' search/searches.c
  sed -n 's/^ *WORD([A-Z]*, "\([a-z]*\)".*/"\1="/p' search/*/*.c
  printf '"%s"\n' 1.05 31M 64KiB both published transfers 2,43,measure
} | sort -u > "$1/options.dict"
cat > "$1/json.dict" <<'END'
"\"image\""
"\"error\""
"\"detections\""
"\"label\""
"\"class\""
"\"confidence\""
"\"box\""
"\"width\""
"\"keypoints\""
"null"
"1e308"
END
cat > "$1/npy.dict" <<'END'
"'descr':"
"'fortran_order':"
"'shape':"
"False"
"'<f4'"
"9223372036854775807"
END
cat > "$1/calibration.dict" <<'END'
"near_bytes "
"fit_error "
"1e308"
"nan"
"-0"
"0x1p-1074"
END

i=0
for plan in 1x1/NoCut 1x1/NoCut/order=best/inplace 5x5/4/2x2 3x2/2/2x2/4/1x1 4x4:balanced/5/2x2 '[10,20]x[7]/4/1x1' \
  '[]x[3]' 65536x65536 700x900 1x9 2x2/1/2x2/2/2x2/3/2x2:balanced rows4:streamed/3/panels:loaded rows1/NoCut \
  rows2:loaded30:direct/3/panels:streamed4:winograd3 1x1:direct0:winograd2/NoCut panels:apart:direct0-2,4/NoCut \
  rows1:bricks/NoCut rows2:early:bricks:streamed/3/1x1 'split(h2:0-2,c2:4-5)/order=best' 'split(h[3,5]:2-4,w3:0-1)/3/rows' 'split(h2:0-3)/ranks=2' \
  'split(whole)/ranks=3,2-3:1,5:2' 'split(c2:0-1,h2:0-1):streamed4:winograd-large0/4/1x1/inplace' rows1/2,4/1x1/order=sp; do
  i=$((i + 1))
  printf %s "$plan" > "$1/plan/$i"
  printf %s "$plan" > "$1/spec/$i"
done

# A plan and a cfg; a cfg to be packed, and one whose packed file has two changed bytes: the number
# of layers, and in the index.
for cfg in "$1"/cfg/*; do
  { echo 2x2/1/rows2:streamed/3/panels; cat "$cfg"; } > "$1/run/cut-${cfg##*/}"
  { echo rows1/NoCut; cat "$cfg"; } > "$1/run/rows-${cfg##*/}"
  { echo !panels/NoCut; cat "$cfg"; } > "$1/run/hostile-${cfg##*/}"
  cp "$cfg" "$1/packed/"
  { cat "$cfg"; printf '\0\020\0\377\220\0\001'; } > "$1/packed/changed-${cfg##*/}"
done

# Requests, and a dictionary of their words.
printf 'POST /detect?size=4x3&format=rgb24 HTTP/1.1\r\nHost: a:8080\r\nContent-Length: 36\r\nExpect: 100-continue\r\nAuthorization: Bearer secret-1\r\nContent-Type: image/jpeg\r\nOrigin: http://a:8080\r\nConnection: close\r\n\r\n0123' > "$1/http/post"
printf '\r\nGET http://a/plan?memory=%%38M HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\nGET /' > "$1/http/get"
printf 'HEAD /metrics HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nX: a\r\n\r\n' > "$1/http/head"
cat > "$1/http.dict" <<'END'
"GET "
"POST "
" HTTP/1.1\x0d\x0a"
"\x0d\x0a\x0d\x0a"
"Host: a\x0d\x0a"
"Content-Length: "
"Transfer-Encoding: "
"Authorization: Bearer secret-1\x0d\x0a"
"Origin: http://a\x0d\x0a"
"Expect: 100-continue\x0d\x0a"
"?thresh="
"&nms="
"size=4x3"
"format=gray"
"memory="
END
# Calls of each kind with likely and other numbers (fuzz_api.c).
for call in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do
  printf "\\0\\1\\0\\$(printf %o $call)\\7\\3\\$(printf %o $call)\\1\\376\\7\\0\\170" > "$1/api/$call"
done
printf 'person\nbicycle\r\n\n\357\273\277last' > "$1/names/list"
printf 'P6 2 2 255\n123456789012' > "$1/image/colour.ppm"
cp models/shapes/holdout/000002.jpg "$1/image/"
# JPEGs of several scans: progressive, and sequential with restart markers.
base64 -d > "$1/image/progressive.jpg" <<'END'
/9j/2wBDAAoHBwgHBgoICAgLCgoLDhgQDg0NDh0VFhEYIx8lJCIfIiEmKzcvJik0KSEiMEExNDk7Pj4+JS5ESUM8SDc9Pjv/2wBDAQoLCw4NDhwQEBw7KCIoOzs7Ozs7
Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozv/wgARCAASABMDASIAAhEBAxEB/8QAFwABAQEBAAAAAAAAAAAAAAAAAAQFA//EABgBAAMB
AQAAAAAAAAAAAAAAAAIDBAEF/9oADAMBAAIQAxAAAAGfS5T4Wc2BwTdxPQmD5//EABwQAAMBAAIDAAAAAAAAAAAAAAECAwQAIRIyM//aAAgBAQABBQLPmAD1WINNTcd/
EMOxHqXrP6aKOt//xAAcEQACAgIDAAAAAAAAAAAAAAAAAQIDBBMyM3H/2gAIAQMBAT8Bqiow22G5szulelfBH//EAB4RAAEDBAMAAAAAAAAAAAAAAAABAiIDBBMhMTSB
/9oACAECAQE/AZP2sWmegXnY8G8If//EACIQAAIBAgUFAAAAAAAAAAAAAAABAhFRAxASEyExMkFxkv/aAAgBAQAGPwJcFMNJzVyu/P6oaId3l2LyZ0WTJJTkl7P/xAAe
EAEAAwACAgMAAAAAAAAAAAABABEhMUFRoWGR8P/aAAgBAQABPyFCR9ROygrIX+9xbLfhekK3viDJ5TWqdXzMFVfMJTJq7aUhQhWCOif/2gAMAwEAAgADAAAAEMAQvP/E
AB8RAAIBAgcAAAAAAAAAAAAAAAABMRFRQWFxobHh8P/aAAgBAwEBPxBhjUK77wvoNyrZ7MjYrg//xAAeEQACAQMFAAAAAAAAAAAAAAAAASERQbFRkaHR4f/aAAgBAgEB
PxBr0h9LSk3qNMTszEyzjI//xAAdEAEAAwADAAMAAAAAAAAAAAABABEhMVFhQXHR/9oACAEBAAE/EDgsBWGM0SaCxqt6zin1FYNgDgMMNGH6rsc3zZGasM1SyxsTuCsn
UitLIfKLnvkZYtMBbOMta48iSNAA7RbkMulTh5DP/9k=
END
base64 -d > "$1/image/sequential.jpg" <<'END'
/9j/2wBDAAoHBwgHBgoICAgLCgoLDhgQDg0NDh0VFhEYIx8lJCIfIiEmKzcvJik0KSEiMEExNDk7Pj4+JS5ESUM8SDc9Pjv/2wBDAQoLCw4NDhwQEBw7KCIoOzs7Ozs7
Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozs7Ozv/wAARCAASABMDASIAAhEBAxEB/8QAFwABAQEBAAAAAAAAAAAAAAAAAAQGBf/EACYQAAIB
BAEDBAMBAAAAAAAAAAECAwAEESEFBhIiMUFRYRMUcdH/xAAWAQEBAQAAAAAAAAAAAAAAAAADAgT/xAAnEQABAgQCCwAAAAAAAAAAAAABAAMCBBEhBSIjMjVBUXGCkaGx
0f/dAAQAAv/aAAoCAQACEQA/AIOnumoo4Y2aJRoAkrWkveUteFgeHj4oJL+NlQpMCqr3DIOMb+NencP5Ul/erbwGwsH7ro+EkiMR+DGMga2SMjIOQR81z7qBRN2uplu5
izsy4wvdnuJA9yCdff1UkOPZ4tG35PwcKX31Wdk5Pqq5czDnb9Q2gEuXjAA0PEHA0P8ASTulbCLhyYlKQxBcaDDJpTGekBa/Yr//0JeIRf108Rs49PqruPJfkpA5LBWZ
QDvAydUpQYztDpHsrndR8jfW/O3EUF7cRRqEwiSsoHgvsDSlK2takPIL/8QAFQEBAQAAAAAAAAAAAAAAAAAAAwX/xAAkEQABAwIEBwAAAAAAAAAAAAABAAIEAzEFEVFx
MzRBcrHB4f/aAAgBAxEAPwBItNtOgZcmwsNT96a7KEZrnHMlf//QbHeSb3elPj8Fmw8L/9k=
END
printf 'P5\n# grey\n3 2 65535\n123456789012' > "$1/image/grey.pgm"
# BMP: 24 bits per pixel; 1 bit with OS/2's header; 16 bits with masks
base64 -d > "$1/image/colour.bmp" <<'END'
Qk1GAAAAAAAAADYAAAAoAAAAAgAAAAIAAAABABgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAYWJj
ZGVmZ2hhYmNkZWZnaA==
END
base64 -d > "$1/image/core.bmp" <<'END'
Qk0sAAAAAAAAACAAAAAMAAAACQADAAEAAQBhYmNkZWalPKU8pTylPKU8pTw=
END
base64 -d > "$1/image/masks.bmp" <<'END'
Qk1SAAAAAAAAAEIAAAAoAAAAAwAAAAIAAAABABAAAwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAPgA
AOAHAAAfAAAAMDEyMzQ1NjcwMTIzNDU2Nw==
END

# Headers of both widths, then zeros: too short, exact for one network, too long.
for payload in 0 40 48 400 1584 2288 4000; do
  { printf '\0\0\0\0\001\0\0\0\0\0\0\0\0\0\0\0'; head -c "$payload" /dev/zero; } > "$1/weights/narrow-$payload"
  { printf '\0\0\0\0\002\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'; head -c "$payload" /dev/zero; } > "$1/weights/wide-$payload"
  { printf '\001\004\0\0\002\0\0\0\0\0\0\0\0\0\0\0'; head -c "$payload" /dev/zero; } > "$1/weights/transposed-$payload"
done

# The index of a packed model of version 2, as the first network's (doc/packed.md): words, one operator, no weights.
{
  printf '\201\010\0\0\0darknet\0\007\0\0\0\0\0\0\0'
  for _ in 1 2 3 4 5 6 7; do printf '\004\0\0\0net\0\001\0\0\0\0\0\0\0'; done
  printf '\0\0\0\0'
} > "$1/weights/index"

{ printf 'mafat calibration 3\ncpu avx512\nfit_error 0.05\nnear_bytes 1048576\nfar_bytes 1.25829e+07\n'
  for word in thread_step_ns disk_ns disk_wait_ns read_ns copy_ns pack_ns step unit conv_macs point_macs winograd_macs \
    taps runs tiles narrow_taps pooled costly logistic winograd_inputs winograd_kernels winograd_outputs \
    depthwise_macs pool_taps pool_outputs moved gathered reordered box_values class_values dense_macs \
    weights_far weights_cold read_far read_cold written_first written_far written_cold winograd_far winograd_cold; do
    echo "$word 0.25"
  done
  echo end; } > "$1/calibration/1"

printf '%s\n' --memory 64M --threads auto --plan 2x2/NoCut --json a.cfg b.weights c.jpg > "$1/options/run"
printf '%s\n' --predict --sweep 8M,16M,64M --search=greedy --bias 31M --predictor paper a.cfg > "$1/options/sweep"
printf '%s\n' --mean=123.7,116.3,1/2 --scale 1/255 --channels bgr --resize crop --pad 114 --decode yolov8 --thresh .3 a.onnx b.jpg > "$1/options/picture"
printf '%s\n' --predict --ranks 4 --link 100M:0.2ms --search deeperthings --fast-memory 64K --objective transfers a.cfg > "$1/options/ranks"
printf '%s\n' --input x=a.npy --constant k=b.npy --dump-output y=c --max-boxes 70 --repeat 3 --lock off --sandbox on m.onnx > "$1/options/ports"
printf '%s\n' --calibrate --memory 1G --cpu avx2 -h > "$1/options/calibrate"
printf '%s\n' --predict --search motes:beam=8,delta=1.05,cells=2,43,measure --predictor exact a.cfg > "$1/options/motes"
printf '%s\n' --search fdt:tiling=ffmt,layout=published separable:objective=transfers,fast=64KiB greedy:bias=31M best: m.onnx a.png > "$1/options/words"
printf '%s\n' --predict --predictor paper:bias=12M --memory 64M a.cfg > "$1/options/paper"
printf '%s\n' --predict --delta=1.1 --beam 4 --measure --search motes a.cfg > "$1/options/renamed"
# Each of these is refused by a different line.
i=0
while read -r words; do printf '%s\n' $words > "$1/options/refused$((i += 1))"; done <<'OPTIONS'
--layers 0
--decode none,
--predict --layers 3 --ranks 2 --memory 8M,16M,32M a.cfg
--predict --ranks 2 --plan-time 1 --search deeperthings a.cfg
--predict --plan-time 1 --search separable a.cfg
--predict --pareto --search fdt a.cfg
--predict --sweep 8M --search fdt a.cfg
--predict --sweep 8M --search separable a.cfg
--predict --pareto --search separable a.cfg
--predict a.cfg b.weights c.jpg d.jpg
--predict --search motes:delta=1.05,beam=4,measure a.cfg
a.cfg b.weights
a.packed
OPTIONS

{ printf '%s' '{"image":"a.jpg","detections":[{"label":"dog","class":1,"confidence":0.5,"box":{"x":1,"y":-2.5,"width":30,"height":1e3},'
  printf '%s\n' '"keypoints":[{"x":3,"y":4},{"x":1e300,"y":-1e300}]}]}'
  printf '%s\n' '{"image":"b","error":"cannot read","exit_status":2}' '' '{"image":"\u00e9","detections":[],"more":[null,true,{}]}'; } > "$1/json/lines"
printf '%s\n' '{"image":"a","detections":[{"label":null,"class":0,"confidence":2.0,"box":{"x":0,"y":0,"width":40,"height":30}}]}' > "$1/json/plain"

# Arrays of three versions, in C's and Fortran's order, and a raw one.
for version in 1 2 3; do
  for array in "'<f4', 'fortran_order': False, 'shape': (1, 3)" "'|i1', 'fortran_order': False, 'shape': (1, 3, 4)" \
    "'<f4', 'fortran_order': True, 'shape': (3,)" "'<i8', 'fortran_order': False, 'shape': ()"; do
    i=$((i + 1))
    { printf "\\0\\3\\0\\223NUMPY\\$version\\0"
      if [ $version = 1 ]; then printf '\166\0'; else printf '\164\0\0\0'; fi
      printf '%-*s' $((version == 1 ? 117 : 115)) "{'descr': $array, }"
      printf '\n'
      head -c 12 /dev/zero; } > "$1/npy/array-$i"
  done
done
{ printf '\0\3\2'; head -c 48 /dev/zero; } > "$1/npy/raw"

# Outputs of each family, detected and by the head's name (fuzz_heads.c): likely values, any
# values, other dimensions.
for family in 0 1 2 3 4 5 6 7 8 9; do
  for head in 9 "$family"; do
    octal=$(printf '\\%o\\037\\025\\%o' "$family" "$head")
    printf "$octal\\0\\120\\1\\0\\377\\100\\30\\376\\40" > "$1/heads/usual-$family-$head"
    { printf "$octal\\262\\2\\17\\0"; head -c 97 models/shapes/holdout/000002.jpg; } > "$1/heads/any-$family-$head"
    { printf "$octal\\23\\7\\1\\2\\40\\15\\0\\20"; head -c 41 models/shapes/holdout/000002.jpg; } > "$1/heads/changed-$family-$head"
  done
done

# Every sample (fuzz_onnx.c), unchanged; and Debian's small models, if installed, as they are and
# with their constants inside.
for number in $(seq 0 2 108); do printf "\\$(printf %o "$number")" > "$1/onnx/sample-$number"; done
printf '\001' > "$1/onnx/whole"
nodes=/usr/share/libonnx-testdata/data/node
for model in "$nodes"/test_[a-r]*/model.onnx; do
  [ "$(stat -c %s "$model" 2>/dev/null || echo 9999)" -gt 1500 ] || cp "$model" "$1/onnx/$(basename "$(dirname "$model")")"
done
if [ -d "$nodes" ] && [ -x "${BUILD:-build}/onnx_nodes" ]; then "${BUILD:-build}/onnx_nodes" --write "$1/import" "$nodes" > "$1/import.log"; fi
# Packed: models with their constants inside, unchanged and with two changed bytes; small TFLite
# ones by number.
for model in "$1"/import/*.onnx; do
  [ -f "$model" ] && [ "$(stat -c %s "$model")" -lt 1200 ] || continue
  name=$(basename "$model" .onnx)
  { printf '\377\0\0'; cat "$model"; } > "$1/packed/graph-$name"
  { printf '\377\0\002\227\0\001\0\020\177'; cat "$model"; } > "$1/packed/graph-changed-$name"
done
for number in $(seq 4 4 252) $(seq 6 8 250); do printf "\\377\\$(printf %o "$number")\\0" > "$1/packed/tflite-$number"; done

# Frames (fuzz_video.c): y4m with both forms of the header and an extended frame; JPEGs, one
# truncated; raw ones.
printf '\0YUV4MPEG2 W4 H4 F30000:1001 Ip A1:1 C420jpeg XCOLORRANGE=FULL\nFRAME\n0123456789abcdef01234567FRAME Ip\n0123456789abcdef01234567' > "$1/video/y4m"
printf '\0YUV4MPEG2 H2 W3\nFRAME\n0123456789FRAME\n01' > "$1/video/y4m-short"
{ printf '\1'; for n in 900 3000; do head -c "$n" models/shapes/holdout/000002.jpg; printf '\377\331'; done; } > "$1/video/jpegs"
{ printf '\2'; head -c 100 models/shapes/holdout/000002.jpg; } > "$1/video/raw"
