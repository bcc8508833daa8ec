#!/usr/bin/env bash
# Checks build/run_inference through its command line. Run from the project's root; BUILD names the
# build folder (default: build). Needs only common tools: networks and pictures are generated,
# weights made by make_weights. jq or python3 (to validate JSON) and a JPEG (from cjpeg or
# models/shapes) are used if present.
set -u

# shellcheck source=tests/check.sh
. tests/check.sh
build=$(realpath "${BUILD:-build}")
program=$build/run_inference
sanitized=0 # a sanitizer's shadow memory is tens of megabytes and grows
if grep -q __asan_init "$program"; then sanitized=1; fi
jpegs=("$PWD"/models/shapes/holdout/*.jpg)
folder=$(mktemp -d) || exit 1
io=$(mktemp -d) || exit 1
at_end 'chmod -R u+w "$folder"; rm -rf "$folder" "$io"'
cd "$folder" || exit 1
# Some networks here are run with a warning.
out=$io/out err=$io/err patience=20 chatty=yes

same() { check "$1" "$2 and $3 differ" cmp -s "$2" "$3"; }
bytes() { wc -c <"$1" | tr -d ' '; }

# Every line of the file is one JSON object.
if command -v jq >/dev/null; then
  valid_json() { [ "$(jq -c 'type' "$1" 2>/dev/null | sort -u)" = '"object"' ] && [ "$(jq -c . "$1" | wc -l)" -eq "$(wc -l <"$1")" ]; }
elif command -v python3 >/dev/null; then
  valid_json() {
    local line
    while IFS= read -r line; do python3 -m json.tool <<<"$line" >/dev/null 2>&1 || return 1; done <"$1"
    [ -s "$1" ]
  }
else
  skip json-validation 'neither jq nor python3'
  valid_json() { [ "$(grep -c '^{.*}$' "$1")" -eq "$(wc -l <"$1")" ]; }
fi

# value KEY [LINE]: prints a number or string of a line of $out.
value() { sed -n "${2:-1}p" "$out" | sed -n 's/.*"'"$1"'":\("[^"]*"\|[^],}]*\).*/\1/p'; }
count() { grep -o "$1" "$2" | wc -l; } # occurrences in a file

for tool in run_inference make_weights; do
  if [ ! -x "$build/$tool" ]; then
    fail "$tool" "not in $build: run make first"
    exit 1
  fi
done

# ---- Networks, weights, pictures

net() { printf '[net]\nwidth=%d\nheight=%d\nchannels=%d\n' "$@"; }
conv() { printf '[convolutional]\nfilters=%d\nsize=%d\npad=1\nactivation=%s\n' "$@"; }

# Every kind that can be tiled; maps of 32 x 40 (height x width), in layers 1 to 4 of 16 x 20.
{
  net 40 32 3
  conv 8 3 leaky
  printf 'batch_normalize=1\n[maxpool]\nsize=2\nstride=2\n'
  conv 20 3 leaky
  conv 20 1 mish
  printf '[shortcut]\nfrom=-2\nactivation=linear\n[upsample]\nstride=2\n[route]\nlayers=-1,0\n'
  conv 6 3 linear
} >plain.cfg
{
  net 64 64 3
  conv 8 3 leaky
  printf '[maxpool]\nsize=4\nstride=4\n'
  conv 24 1 linear
  printf '[yolo]\nmask=0,1,2\nanchors=4,4, 8,8, 16,16\nclasses=3\nnum=3\n'
} >yolo.cfg
{
  net 24 24 3
  conv 7 3 leaky
  printf '[avgpool]\n[softmax]\n'
} >class.cfg
# 1024 channels: Winograd is faster, and needs more additional memory than the program's file. Layer 1 is computed inside 2, layer 3, a depthwise one, inside 4.
{
  net 40 32 3
  conv 1024 1 leaky
  conv 64 3 leaky
  printf '[maxpool]\nsize=2\nstride=2\n'
  conv 64 3 leaky
  printf 'groups=64\n'
  conv 5 1 linear
} >wide.cfg
for channels in 1 2 17; do
  {
    net 8 6 $channels
    conv 5 3 leaky
  } >channels$channels.cfg
done
for cfg in *.cfg; do
  "$build/make_weights" --quiet "$cfg" "${cfg%.cfg}.weights" || { fail make_weights "$cfg"; exit 1; }
done
model="plain.cfg plain.weights"

# ppm WIDTH HEIGHT > FILE: a plain-text pattern.
ppm() {
  awk -v w="$1" -v h="$2" 'BEGIN {
    print "P3 # made by a test\n" w, h, 255
    for (i = 0; i < w * h; i++) print (i * 37) % 256, (i * 11 + 40) % 256, int(i / w) * 5 % 256
  }'
}
ppm 50 37 >a.ppm
ppm 31 64 >b.ppm
ppm 1 1 >pixel.ppm
printf '\211\120\116\107\015\012\032\012\000\000\000\015\111\110\104\122\000\000\000\002\000\000\000\002\010\002\000\000\000\375\324\232\163' >c.png
printf '\000\000\000\021\111\104\101\124\170\234\143\070\221\142\304\045\042\307\000\241\000\032\344\003\065\162\107\153' >>c.png
printf '\032\000\000\000\000\111\105\116\104\256\102\140\202' >>c.png
printf 'cat\ndog\n\n' >two.names # the third has none

# ---- Help, version, misuse

options='memory plan search layers algorithm threads cpu predict predictor sweep pareto calibrate input dump-output marks repeat names thresh nms
  mean scale channels resize pad json report verbose best-effort quiet version help'
run --help=all
check help "exit status $code, or not on stdout" test "$code" -eq 0 -a -s "$out" -a ! -s "$err"
cp "$out" "$io/help"
for option in $options; do
  check "help --$option" 'not explained' grep -qE -e "--$option([ ,]|\$)" "$io/help"
done
check help-status 'does not explain the exit status' grep -q 'Exit status' "$io/help"
run --version
check version "exit status $code" test "$code" -eq 0 -a "$(wc -l <"$out")" -eq 1 -a ! -s "$err"
check version-text "found: $(cat "$out")" grep -qE '^run_inference [0-9]+\.[0-9]+' "$out"
for option in --help --version; do
  "$program" $option >/dev/full 2>"$err"
  code=$?
  check "full $option" "exit status $code instead of 1" test "$code" -eq 1
done

# An option is explained or refused, never ignored.
for option in --nonsense; do
  name=${option%%=*}
  if grep -qE -e "$name " "$io/help"; then
    skip "unknown $name" 'it exists'
    continue
  fi
  bad "unknown $name" "unknown option $name" "$option" $model a.ppm
  bad "unknown $name last" "unknown option $name" $model a.ppm "$option"
done
bad unknown-short 'unknown option' -x $model a.ppm
for option in memory plan search layers algorithm threads cpu predictor bias input dump-output marks repeat names thresh nms mean scale channels resize pad; do
  bad "value missing --$option" "--$option expects a value" $model a.ppm "--$option"
done
for option in json report best-effort quiet predict pareto calibrate; do
  bad "value unwanted --$option" "--$option" "--$option=3" $model a.ppm
done

bad arguments-none 'expected MODEL.cfg MODEL.weights IMAGE...'
bad arguments-one 'expected MODEL.cfg MODEL.weights IMAGE..., found 1 argument' plain.cfg
bad arguments-two 'expected an IMAGE or --input after plain.weights' $model
bad arguments-misspelt 'no.onnx: cannot open' no.onnx dog.jpg

# A file in another's place: which, what it is, and the order.
printf 'P6\n1 1\n255\nabc' >"$io/first.ppm"
printf '\211PNG\r\n\032\nrest' >"$io/first.png"
: >"$io/empty"
bad wrong-first-picture 'first.ppm: expected a model, found a PPM picture; the order is MODEL.cfg MODEL.weights IMAGE' "$io/first.ppm"
bad wrong-first-pictures 'first.png: expected a model, found a PNG picture' "$io/first.png" a.ppm
bad wrong-first-empty 'empty: expected a model, found an empty file' "$io/empty" a.ppm
bad wrong-first-folder '.: expected a model, found a directory' . a.ppm
bad wrong-predict 'first.ppm: expected a model, found a PPM picture' --predict "$io/first.ppm"
bad wrong-no-weights 'first.ppm: expected the weights of plain.cfg, found a PPM picture; the order is MODEL.cfg MODEL.weights IMAGE' plain.cfg "$io/first.ppm"
bad wrong-weights-folder '.: expected the weights of plain.cfg, found a directory' plain.cfg . a.ppm
bad wrong-weights-empty 'empty: expected the weights of plain.cfg, found an empty file' plain.cfg "$io/empty" a.ppm
bad arguments-input-and-image '--input takes the place of images, found a.ppm' --input a.ppm $model a.ppm

# expects OPTION WHAT VALUE...
expects() {
  local option=$1 what=$2
  shift 2
  for text; do
    bad "$option '$text'" "$option expects $what" "$option" "$text" $model a.ppm
    check "$option '$text' named" "found: $(cat "$err")" grep -qF ", found $text" "$err"
  done
}
expects --memory 'a size like 64M, 16384K or bytes' 0 -1 1.5M 64X 64MX M '' ' 64M' 0x10 99999999999999999999 99999999999G
expects --layers 'a number' 0 -1 x 1x '' 99999999999
expects --repeat 'a number from 1 to 10000' 0 -1 x '' 10001 1e3
expects --thresh 'a number from 0 to 1' -0.1 1.1 nan inf x '' 0.5x 0x0 ' 0.5'
expects --nms 'a number from 0 to 1' -0.1 1.1 nan inf x '' 0.5x 0x0.8
expects --max-boxes 'a number from 1 to 1000000' 0 -1 x '' 1000001 1e3 2M
expects --image-scaling 'exact or fast' '' slow Fast 'fast '
expects --mean 'a number, or three like 123.7,116.3,103.5' '' x 1,2 1,2,3,4 1,,2 1,2,3, nan inf '1 ' 0x10 1/0 0/0 1/
expects --scale 'a number like 1/255, or three with commas between' '' / 1/x 1/0xff 2/3/4 1/255,2 1e99
expects --channels 'rgb, bgr or gray' '' RGB grey rgba
expects --resize 'stretch, letterbox, corner or crop' '' fit Stretch
expects --pad 'a number from 0 to 255' '' -1 255.5 nan x 1,2
for option in --mean=1 --scale=1 --channels=rgb --resize=crop --pad=0 --image-scaling=fast; do
  bad "floats ${option%=*}" "${option%=*} makes no sense with --input alone" "$option" --input a.ppm $model
done
sed 's/^channels=3/channels=1/' plain.cfg >"$io/gray.cfg"
bad mean-of-gray '--mean expects one number, for an input of one channel, found three' --predict --mean 1,2,3 "$io/gray.cfg"
bad channels-other 'expected an input of 1 channel for channels gray, found 3' --channels gray $model a.ppm
expects --cpu 'one of portable neon avx2 avx512' sse9 '' AVX2 portable2 avx5120
expects --threads 'a number from 1 to 64, or auto' 0 65 -1 x '' 2x 1.5 1e1 99999999999
expects --algorithm 'auto, direct, winograd or winograd-large' fft '' Direct winograd2 auto,direct
bad layers-too-many 'found 9' --layers 9 $model a.ppm

# ---- Bad files

bad cfg-missing 'no-such.cfg: cannot open' no-such.cfg plain.weights a.ppm
bad cfg-folder 'expected a model, found a directory' . plain.weights a.ppm
# cfg NAME TEXT CONTENT
bad_cfg() {
  printf "$3" >"$io/bad.cfg"
  bad "cfg $1" "$io/bad.cfg$2" "$io/bad.cfg" plain.weights a.ppm
}
start='[net]\nwidth=40\nheight=32\nchannels=3\n'
bad_cfg empty ': expected a model, found an empty file' ''
bad_cfg binary ':1: ' '\001\002\377[net'
bad_cfg words ':1: expected key=value' 'good morning\n'
bad_cfg no-net ':1: expected the first section to be [net]' '[convolutional]\nfilters=1\n'
bad_cfg no-layers ': expected layers' "$start"
bad_cfg no-size ':1: [net] expects height, width and channels' '[net]\nwidth=3\n[maxpool]\n'
bad_cfg unknown-layer ':5: ' "$start[nonsense]\n"
bad_cfg number ':6: filters expects an integer, found many' "$start[convolutional]\nfilters=many\n"
bad_cfg range ':6: filters expects 1 to' "$start[convolutional]\nfilters=0\n"
bad_cfg huge ':6: filters' "$start[convolutional]\nfilters=99999999999999999999\n"
bad_cfg activation ':6: activation [nonsense] is not supported' "$start[convolutional]\nactivation=nonsense\n"
bad_cfg route ':5: layers in layer 0 [route] expects an earlier layer, found 7' "$start[route]\nlayers=7\n"
bad_cfg window ':5: layer [convolutional] has a window larger' "$start[convolutional]\nsize=99\n"
printf '[net]\nwidth=40\nheight=32\nchannels=3\n[maxpool]\nsize=1\nstride=1\nnonsense=3\n' >"$io/unknown.cfg"
head -c 20 plain.weights >"$io/none.weights"
run "$io/unknown.cfg" "$io/none.weights" a.ppm
expect cfg-unknown-key 0 "warning: $io/unknown.cfg:8: unknown key nonsense in [maxpool] is ignored"

for kind in plain yolo; do
  size=$(bytes $kind.weights)
  head -c $((size - 3)) $kind.weights >"$io/short.weights"
  bad "weights-short $kind" "expected $size bytes for $kind.cfg, found $((size - 3)): the file ends in layer" $kind.cfg "$io/short.weights" a.ppm
done
check weights-short-layer "found: $(cat "$err")" grep -qF 'in layer 2 [convolutional]' "$err"
head -c 100 plain.weights >"$io/short.weights"
bad weights-cut "expected $(bytes plain.weights) bytes for plain.cfg, found 100: the file ends in layer 0 [convolutional]" plain.cfg "$io/short.weights" a.ppm
head -c 10 plain.weights >"$io/short.weights"
bad weights-header "$io/short.weights: expected a weights header" plain.cfg "$io/short.weights" a.ppm
{ printf '\377\377\377\377'; tail -c +5 plain.weights; } >"$io/strange.weights"
bad weights-kind "$io/strange.weights: expected a weights header, found version -1.2" plain.cfg "$io/strange.weights" a.ppm
{ cat yolo.weights; printf more; } >"$io/long.weights"
bad weights-surplus-head "expected $(bytes yolo.weights) bytes for yolo.cfg, found $(($(bytes yolo.weights) + 4)): 4 too many" yolo.cfg "$io/long.weights" a.ppm
{ cat plain.weights; printf more; } >"$io/long.weights"
run plain.cfg "$io/long.weights" a.ppm
expect weights-surplus 0 'warning: '
check weights-surplus-text "found: $(cat "$err")" grep -qF '4 bytes beyond the last layer of plain.cfg are ignored' "$err"

# Headers: `seen` of the other size, and three floats in place of the version. Connected layers are transposed then.
{ net 6 5 3 && conv 4 3 leaky && printf '[connected]\noutput=7\nactivation=linear\n[softmax]\n'; } >"$io/flat.cfg"
"$build/make_weights" "$io/flat.cfg" "$io/flat.weights" >"$io/made" 2>&1
run --json "$io/flat.cfg" "$io/flat.weights" a.ppm
cp "$out" "$io/usual.json"
header() { # NAME BYTES: those weights with another header
  { printf "$2" && tail -c +21 "$io/flat.weights"; } >"$io/$1.weights"
  run --json "$io/flat.cfg" "$io/$1.weights" a.ppm
}
answers() { sed 's/.*"classes"/"classes"/' "$1"; }
header seen-narrow '\0\0\0\0\2\0\0\0\1\0\0\0\144\0\0\0'
expect seen-narrow 0 'seen-narrow.weights: read with a header of 16 bytes'
check seen-narrow-classes 'other classes' cmp -s <(answers "$out") <(answers "$io/usual.json")
header seen-wide '\0\0\0\0\1\0\0\0\0\0\0\0\144\0\0\0\0\0\0\0'
expect seen-wide 0 'seen-wide.weights: read with a header of 20 bytes'
check seen-wide-classes 'other classes' cmp -s <(answers "$out") <(answers "$io/usual.json")
header transposed '\351\3\0\0\0\0\0\0\0\0\0\0\144\0\0\0'
check transposed "exit status $code: $(cat "$err")" test "$code" -eq 0 -a ! -s "$err"
cp "$out" "$io/transposed.json"
check transposed-classes 'the same classes' test "$(answers "$out")" != "$(answers "$io/usual.json")"
header oldest '\157\022\203\072\0\0\200\076\027\267\321\070\144\0\0\0' # .001, .25, .0001
check oldest "exit status $code: $(cat "$err")" test "$code" -eq 0 -a ! -s "$err"
check oldest-classes 'other classes' cmp -s <(answers "$out") <(answers "$io/transposed.json")
bad weights-missing 'no-such.weights: cannot open' plain.cfg no-such.weights a.ppm
bad weights-device '/dev/zero: expected a regular file, found a device' plain.cfg /dev/zero a.ppm
mkfifo "$io/pipe"
bad weights-pipe "$io/pipe: expected a regular file, found a pipe: weights are not read in order" plain.cfg "$io/pipe" a.ppm
bad predict-weights-pipe "$io/pipe: expected a regular file, found a pipe" --predict plain.cfg "$io/pipe"

: >"$io/empty.ppm"
head -c 400 a.ppm >"$io/cut.ppm"
head -c 60 c.png >"$io/cut.png"
printf '\377\330\377' >"$io/cut.jpg"
printf 'P6 0 4 255\n' >"$io/nothing.ppm"
printf 'P6 1048577 1 255\n' >"$io/wide.ppm"
bad image-missing 'no-such.ppm: cannot open' $model no-such.ppm
bad image-folder '.: expected a picture, found a directory' $model .
bad image-empty 'expected a picture, found an empty file' $model "$io/empty.ppm"
bad image-cut 'truncated PPM picture: the file ends after' $model "$io/cut.ppm"
bad image-kind 'plain.cfg: expected a JPEG, PNG, BMP, PPM or PGM picture, found none of them' $model plain.cfg
other() { # FORMAT BYTES: bytes in printf's notation
  # shellcheck disable=SC2059 # escapes
  printf "$2" >"$io/other"
  bad "image-kind $1" "other: expected a JPEG, PNG, BMP, PPM or PGM picture, found $1; ImageMagick converts it: convert FILE picture.png" $model "$io/other"
}
other WebP 'RIFF\044\0\0\0WEBPVP8 '
other GIF 'GIF89a\001\0'
other TIFF 'II*\0\010\0'
other TIFF 'MM\0*\0\010'
other AVIF '\0\0\0\034ftypavif'
other HEIC '\0\0\0\034ftypheic'
other 'JPEG XL' '\377\012\0\0'
other PDF '%%PDF-1.4'
other 'netpbm P7' 'P7\nWIDTH 1\n'
printf '<!DOCTYPE html>' >"$io/other"
bad image-kind-html 'found HTML or XML: is it an error page of a download?' $model "$io/other"
bad image-size 'damaged PPM picture: expected a width and a height, found 0x4' $model "$io/nothing.ppm"
bad image-device '/dev/zero: expected a regular file' $model /dev/zero
for format in png jpg; do
  run $model "$io/cut.$format"
  check "image-cut $format" "exit status $code: $(cat "$err")" test "$code" -eq 2 -a "$(wc -l <"$err")" -eq 1
done
head -c -2 "${jpegs[0]}" >"$io/endless.jpg"
run $model "$io/endless.jpg"
expect image-endless 0 "warning: $io/endless.jpg: the JPEG picture has all its rows, but no end marker"
head -c -3 "${jpegs[0]}" >"$io/endless.jpg"
bad image-endless-cut 'endless.jpg: truncated JPEG picture: the file ends after' $model "$io/endless.jpg"
run $model "$io/wide.ppm"
check image-wide "exit status $code: $(cat "$err")" grep -q 'wide.ppm: expected a picture of at most [0-9]* pixels to a side, found 1048577x1' "$err"
bad image-channels 'channels2.cfg: expected a network of 1 or 3 input channels for pictures, found 2' channels2.cfg channels2.weights a.ppm
run channels1.cfg channels1.weights a.ppm
expect image-grey 0

printf 'one\ntwo\n' >"$io/two.names"
run --names "$io/two.names" yolo.cfg yolo.weights a.ppm
expect names-few 0 "two.names: has 2 labels, but yolo.cfg has 3 classes"
printf 'one\ntwo\nthree\n\nfive\n' >"$io/five.names"
run --names "$io/five.names" yolo.cfg yolo.weights a.ppm
expect names-many 0 "five.names: has 5 labels, but yolo.cfg has 3 classes"
printf 'one\r\ntwo\r\nthree\r\n' >"$io/three.names"
run --names "$io/three.names" yolo.cfg yolo.weights a.ppm
check names-right "$(cat "$err")" test "$code" -eq 0 -a ! -s "$err"
bad names-missing 'no-such.names: cannot open' --names no-such.names $model a.ppm
bad names-folder 'found a directory' --names . $model a.ppm
printf 'a\0b\n' >"$io/nul.names"
bad names-binary 'expected text, found a NUL byte' --names "$io/nul.names" $model a.ppm

# ---- Plans

# bad_plan SPEC TEXT
bad_plan() { bad "plan '${1:0:24}'" "$2" --plan "$1" $model a.ppm; }
bad_plan '' 'expected a grid like 5x5 at its end'
bad_plan nonsense 'plan nonsense: expected a grid like 5x5 at character 1'
bad_plan 5 'plan 5: expected x between the sides of a grid at its end'
bad_plan 5x 'expected a grid like 5x5 at its end'
bad_plan 0x1 'expected 1 to 65536 tiles per axis, found 0'
bad_plan 1x65537 'expected 1 to 65536 tiles per axis, found 65537'
bad_plan 1x99999999999999999999 'expected a smaller number at character 3'
bad_plan -1x1 'expected a grid like 5x5 at character 1'
bad_plan 2x2:even 'expected balanced, loaded, streamed, direct, winograd, winograd-large or dw at character 5, found even'
bad_plan '[4]x2:balanced' 'boundaries are given or balanced, not both'
bad_plan '[0]x2' 'expected rising boundaries above 0, found 0'
bad_plan '[9,9]x2' 'expected rising boundaries above 0, found 9'
bad_plan '[9;9]x2' 'expected a comma or ] at character 3'
bad_plan '[9' 'expected a comma or ] at its end'
bad_plan '[x]x2' 'expected a boundary at character 2'
bad_plan '[32]x1' 'has a row boundary outside the output map (32 x 40, height x width)'
bad_plan '1x[40]' 'has a column boundary outside the output map'
bad_plan 33x1 'the 33x1 group over layers 0..7 has more tiles than the output map has pixels (32 x 40, height x width)'
bad_plan 1x41 'has more tiles than the output map has pixels'
bad_plan 65536x65536 'has more tiles than the output map has pixels'
bad_plan 2x2,4 'expected / before a cut at character 4, found ,4'
bad_plan 2x2/ 'expected a cut (a layer number) or NoCut at its end'
bad_plan 2x2/cut 'expected a cut (a layer number) or NoCut at character 5, found cut'
bad_plan 2x2/4 'expected / and a grid after a cut at its end'
bad_plan 2x2/0/2x2 'expected a cut between 1 and 7, found 0'
bad_plan 2x2/8/2x2 'expected a cut between 1 and 7, found 8'
bad_plan 2x2/4/2x2/4/2x2 'expected a cut between 5 and 7, found 4'
bad_plan 2x2/NoCut/2x2 'plan 2x2/NoCut/2x2: expected'
bad_plan "$(printf '1x1/1/%.0s' {1..12000})1x1" 'plan: the text is too long'
bad plan-layers 'expected a cut between 1 and 1, found 4' --layers 2 --plan 2x2/4/2x2 $model a.ppm
bad plan-untileable 'but layer 1 [avgpool] cannot be tiled: cut there' --plan '[4]x1' class.cfg class.weights a.ppm

# Every plan gives the same output, bit for bit, at each level.
for cpu in portable ''; do
  run --quiet ${cpu:+--cpu $cpu} --plan 1x1/NoCut --dump-output "$io/whole$cpu" $model a.ppm
  expect "plan ${cpu:-default} 1x1/NoCut" 0
  for plan in 2x2/NoCut 3x3 1x7/NoCut 32x40/NoCut 5x5/4/2x2 4x1/2/1x4/5/3x2 2x3:balanced/NoCut 5x5:balanced/3/3x3:balanced \
    '[9,19]x[12]/NoCut' '[1]x[]' '[2,3,15]x[19]/5/[31]x[1,2,39]' '3x3/1/[7]x2/2/2x2:balanced/7/1x5'; do
    rm -f "$io/tiled"
    run --quiet --json ${cpu:+--cpu $cpu} --plan "$plan" --dump-output "$io/tiled" $model a.ppm
    same "plan ${cpu:-default} $plan" "$io/whole$cpu" "$io/tiled"
    # The printed plan can be given as an option and is the same plan.
    printed=$(value plan | tr -d '"')
    run --quiet --json --plan "$printed" $model a.ppm
    check "plan ${cpu:-default} $plan printed" "$printed became $(value plan)" test "$(value plan)" = "\"$printed\""
  done
done
# The search chooses algorithms layer by layer. Its plan, given as an option, gives the same bits.
run --quiet --json --dump-output "$io/chosen" $model a.ppm
run --quiet --plan "$(value plan | tr -d '"')" --dump-output "$io/again" $model a.ppm
same plan-chosen "$io/chosen" "$io/again"
run --quiet --algorithm direct --dump-output "$io/chosen-direct" $model a.ppm
run --quiet --algorithm direct --plan 1x1/NoCut --dump-output "$io/again" $model a.ppm
same plan-chosen-direct "$io/chosen-direct" "$io/again"
for model_name in yolo class; do # heads and whole-map layers after a grid
  run --quiet --plan 1x1/NoCut --dump-output "$io/head-whole" $model_name.cfg $model_name.weights b.ppm
  run --quiet --plan 4x4/NoCut --dump-output "$io/head-tiled" $model_name.cfg $model_name.weights b.ppm
  same "plan $model_name" "$io/head-whole" "$io/head-tiled"
done

# near FILE FILE TOLERANCE: floats differ by at most this share of the largest.
floats() { od -An -v -tf4 -w4 "$1"; }
near() {
  paste <(floats "$1") <(floats "$2") | awk -v tolerance="$3" '
    { d = $1 > $2 ? $1 - $2 : $2 - $1; a = $1 < 0 ? -$1 : $1; if (d > worst) worst = d; if (a > most) most = a }
    NF != 2 || $1 $2 ~ /n/ { bad = 1 } # different length, or not a number
    END { exit !(!bad && most > 0 && worst <= tolerance * most) }'
}
differ() { ! cmp -s "$1" "$2"; }
check plan-chosen-near 'the chosen algorithms differ from direct by more than 2e-5 of the largest value' near "$io/chosen-direct" "$io/chosen" 2e-5

# ---- Levels, algorithms, threads

check cpu-tolerance 'portable and the default differ by more than 1e-5 of the largest value' near "$io/whole" "$io/wholeportable" 1e-5
levels='portable neon avx2 avx512' # slowest first
place() { set -- "$1" ${levels%%"$1"*}; echo $#; }
for cpu in $levels; do # every level is accepted, and means the best available up to it
  run --quiet --json --cpu $cpu --dump-output "$io/level-$cpu" $model a.ppm
  found=$(value cpu | tr -d '"')
  check "cpu $cpu" "exit status $code, ran $found" test "$code" -eq 0 -a "$(place "${found:-none}")" -le "$(place $cpu)"
done
same cpu-fused "$io/level-avx2" "$io/level-avx512" # one class

wide="wide.cfg wide.weights"
for network in plain wide; do
  files="$network.cfg $network.weights"
  for algorithm in auto direct winograd; do
    run --quiet --json --plan 1x1/NoCut --algorithm $algorithm --dump-output "$io/$network-$algorithm" $files a.ppm
    check "algorithm $network $algorithm" "exit status $code, found $(value algorithm), $(value threads) threads" \
      test "$code" -eq 0 -a "$(value algorithm),$(value threads)" = "\"$algorithm\",1"
    for plan in 1x1/NoCut 3x2/1/2x4; do
      for threads in 1 2 3; do
        rm -f "$io/threads"
        run --quiet --json --algorithm $algorithm --plan $plan --threads $threads --dump-output "$io/threads" $files a.ppm
        same "algorithm $network $algorithm $plan, threads $threads" "$io/$network-$algorithm" "$io/threads"
        check "json-threads $threads" "found $(value threads)" test "$(value threads)" = $threads
      done
    done
  done
  check "algorithm $network bits" 'direct and winograd are the same' differ "$io/$network-direct" "$io/$network-winograd"
  check "algorithm $network tolerance" 'direct and winograd differ by more than 2e-5 of the largest value' \
    near "$io/$network-direct" "$io/$network-winograd" 2e-5
done
run --quiet --cpu portable --algorithm winograd --dump-output "$io/wide-portable" $wide a.ppm
check algorithm-portable 'winograd of two levels differs by more than 2e-5 of the largest value' near "$io/wide-winograd" "$io/wide-portable" 2e-5
# Winograd pays for its only 3x3 layer of stride 1
same algorithm-auto "$io/wide-auto" "$io/wide-winograd"
run --quiet --threads 64 --plan 1x1/NoCut --dump-output "$io/threads" $model a.ppm # more threads than rows and probably processors
same threads-64 "$io/whole" "$io/threads"
boxes() { grep -o '"detections":.*' "$out"; }
for options in '--threads 1' '--threads 2' '--threads 3' '--threads 2 --plan 4x3' '--threads 3 --plan 5x5/2/2x2'; do
  run --json --thresh 0 $options yolo.cfg yolo.weights b.ppm
  [ "$options" != '--threads 1' ] || boxes >"$io/boxes"
  check "detections $options" 'other boxes than with one thread' test "$code" -eq 0 -a "$(boxes)" = "$(cat "$io/boxes")"
done

# The sufficient budget in bytes that a refusal reports: 64 to 128 KB above the need.
would_do() { echo $((1024 * $(sed -n 's/.*; --memory \([0-9]*\)K would do.*/\1/p' "$err"))); }

# auto means direct if only direct fits: everywhere in a given plan, where necessary in a chosen
# one. A refusal reports the smallest plan's need.
needs() { # OPTION...
  run --quiet --memory 1 "$@" $wide a.ppm
  would_do
}
for plan in '--plan 1x1/NoCut' ''; do
  least=$(needs --algorithm direct $plan) most=$(needs --algorithm winograd $plan)
  between=$(((least + most) / 2))
  check "fallback${plan:+ $plan} bytes" "direct needs $least, winograd $most" test "$least" -lt "$most"
  run --quiet --json --memory $between $plan --algorithm auto --dump-output "$io/fallback" $wide a.ppm
  check "fallback${plan:+ $plan}" "exit status $code: $(cat "$err")" test "$code" -eq 0
  if [ -n "$plan" ]; then
    check "fallback $plan algorithm" "found $(value algorithm)" test "$(value algorithm)" = '"direct"'
    same "fallback $plan bits" "$io/wide-direct" "$io/fallback"
  fi
  run --quiet --memory $between $plan --algorithm winograd $wide a.ppm
  refuses "fallback${plan:+ $plan} named" 3 'does not fit: '
done

# ---- Memory

for arguments in '' '--plan 1x1/NoCut' '--plan 4x4/2/2x2 --best-effort' '--best-effort'; do
  run --memory 1 $arguments $model a.ppm
  case $arguments in
  *best-effort) expect "memory '$arguments'" 0 ;;
  *)
    refuses "memory '$arguments'" 3 'plain.cfg: does not fit: needs '
    check "memory '$arguments' MiB" "found: $(cat "$err")" grep -qE ' needs [0-9]+\.[0-9] MiB, the budget \(--memory\) is 0\.0 MiB; ' "$err"
    check "memory '$arguments' has no plan" "found: $(cat "$err")" test "$(grep -cE 'plan [^ ]*[0-9]' "$err")" -eq 0
    needed=$(would_do)
    check "memory '$arguments' bytes" "found: $(cat "$err")" test "$needed" -gt 65536
    run --memory "$needed" $arguments $model a.ppm
    expect "memory '$arguments' enough" 0
    ;;
  esac
done
run --memory 1 --plan 3x2 --best-effort --json $model a.ppm
check best-effort-plan "found $(value plan)" test "$(value plan)" = '"3x2/NoCut"'
for size in 1073741824 1048576K 1048576k 1024M 1024m 1G 1g 1GB 1GiB; do
  run --json --memory $size $model a.ppm
  check "memory $size" "found $(value memory_budget_bytes)" test "$(value memory_budget_bytes)" = 1073741824
done
run --json --memory 1 $model a.ppm
check memory-json "exit status $code, $(cat "$out")" test "$code" -eq 3 -a "$(value exit_code)" = 3

# The reserve is part of the prediction; 0 means none.
charge_with() { # RESERVE...
  run --quiet --json --plan 1x1/NoCut "$@" $model a.ppm
  value predicted_charge_bytes
}
usual=$(charge_with) kept=$(value reserve_bytes) none=$(charge_with --reserve 0) much=$(charge_with --reserve 3M)
off=$((sanitized ? 1 << 20 : 1 << 16)) # each run measures the process footprint again
check reserve "charges $usual, $none, $much, a reserve of $kept" test "${kept:-0}" -gt 0 -a $(((usual - kept - none) ** 2)) -le $((off ** 2)) \
  -a $(((much - none - 3145728) ** 2)) -le $((off ** 2))
run --memory $((none + usual)) --reserve $((2 * usual)) --plan 1x1/NoCut $model a.ppm
refuses reserve-refused 3 'would do; it would without its reserve'
bad reserve-bad '--reserve expects 0 or a size like 512K, found much' --reserve much $model a.ppm

# ---- Locked in memory

# may_lock COMMAND...: with a lock limit of 16 KB and without CAP_IPC_LOCK
may_lock() (
  ulimit -l 16
  if [ "$(id -u)" = 0 ]; then setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock "$@"; else "$@"; fi
)
bad lock-bad '--lock expects auto, on or off, found sometimes' --lock sometimes $model a.ppm
bad lock-predict '--lock makes no sense with --predict: nothing is run' --predict --lock on plain.cfg
run --quiet --json --lock off --dump-output "$io/unlocked" $model a.ppm
check lock-off "exit status $code: $(cat "$out")" grep -q '"lock":"off","lock_reason":null,"locked_bytes":0,' "$out"
run --quiet --json --lock on --dump-output "$io/locked" $model a.ppm
if [ "$code" = 3 ]; then skip lock-on "$(cat "$err")"; else
  check lock-on "exit status $code: $(cat "$out")" grep -qE '"lock":"on","lock_reason":null,"locked_bytes":[1-9]' "$out"
  same lock-bits "$io/unlocked" "$io/locked"
  run --report --lock on $model a.ppm
  check lock-report "found: $(tail -n 1 "$out")" grep -qE '^reserve: [1-9][0-9]* bytes; locked: [1-9][0-9]* bytes(; sandbox: [^;]+)?(; waited for memory \((cgroup|system)\): [0-9.]+ ms some, [0-9.]+ ms all)?$' "$out"
fi
if [ "$(id -u)" = 0 ] && ! command -v setpriv >/dev/null; then skip lock-limited 'no setpriv'; else
  may_lock "$program" --quiet --json --lock on $model a.ppm >"$out" 2>"$err"
  code=$?
  check lock-limited "exit status $code: $(cat "$out")" test "$code" = 3 -a "$(value exit_code)" = 3
  check lock-limited-told "found: $(cat "$err")" grep -qE '^run_inference: cannot lock [0-9]+ bytes: the process may lock 16384 \(RLIMIT_MEMLOCK' "$err"
  may_lock "$program" --quiet --json $model a.ppm >"$out" 2>"$err"
  check lock-limited-auto "exit status $?: $(cat "$out")" grep -q '"lock":"off","lock_reason":"[^"]*","locked_bytes":0,' "$out"
fi
if [ -r /proc/pressure/memory ] && cat /proc/pressure/memory >/dev/null 2>&1; then
  run --quiet --json --repeat 2 $model a.ppm
  check stall "found: $(cat "$out")" grep -qE '"stall_some_us":[0-9]+,"stall_full_us":[0-9]+,"stall_scope":"(cgroup|system)"' "$out"
else skip stall 'this kernel does not count'; fi

# In a separate group: auto locks if the prediction fits its limit.
if answer=$("$build/memory_limit" --check 2>&1); then
  limited() { "$build/memory_limit" --limit "$1" -o "$io/group" -- "$program" --quiet --json "${@:2}" $model a.ppm >"$out" 2>"$err"; } # SIZE OPTION...
  limited $((sanitized ? 128 : 32))M
  check lock-auto "exit status $?: $(cat "$out" "$err")" grep -qE '"lock":"on","lock_reason":null,"locked_bytes":[1-9]' "$out"
  limited $((sanitized ? 128 : 32))M --reserve $((sanitized ? 128 : 64))M --memory $((sanitized ? 256 : 128))M
  check lock-auto-not "exit status $?: $(cat "$out" "$err")" grep -q '"lock":"off","lock_reason":"less than was predicted' "$out"
else skip lock-auto "$answer"; fi

# ---- Layers, raw input and output, repetitions

n=0
for size in 40960 10240 25600 25600 25600 102400 143360 30720; do # 8, 8, 20, 20, 20, 20, 28 and 6 maps
  n=$((n + 1))
  run --quiet --layers $n --dump-output "$io/layer$n" $model a.ppm
  check "layers $n" "exit status $code, $(bytes "$io/layer$n") bytes instead of $size; $(cat "$err")" test "$(bytes "$io/layer$n")" -eq $size
done
same layers-all "$io/layer8" "$io/chosen"
run --json --layers 3 $model a.ppm
check layers-json "found $(value layers)" test "$(value layers)" = 3

head -c 15360 "$io/layer1" >"$io/input"
run --quiet --input "$io/input" --algorithm direct --dump-output "$io/raw1" $model
expect input 0
run --quiet --input "$io/input" --algorithm direct --plan 5x5/3/2x2 --dump-output "$io/raw2" $model
same input-plan "$io/raw1" "$io/raw2"
check input-size "$(bytes "$io/raw1") bytes" test "$(bytes "$io/raw1")" -eq 30720
if cmp -s "$io/raw1" "$io/whole"; then fail input-read 'another input gives the same output'; else ok input-read; fi
run --json --input "$io/input" $model
check input-json "exit status $code: $(cat "$out")" valid_json "$out"
for size in 0 15359 15361; do
  head -c $size "$io/layer1" >"$io/wrong"
  bad "input $size" "$io/wrong: expected a file of 15360 bytes (3 x 32 x 40 floats), found $size" --input "$io/wrong" $model
done
bad input-missing 'no-such: cannot open' --input no-such $model
bad input-folder 'file of 15360 bytes' --input . $model
for channels in 1 2 17; do # channels of 8 x 6
  head -c $((192 * channels)) "$io/layer1" >"$io/input$channels"
  run --quiet --input "$io/input$channels" --plan 1x1/NoCut --dump-output "$io/raw1" channels$channels.cfg channels$channels.weights
  run --quiet --input "$io/input$channels" --plan 3x4/NoCut --dump-output "$io/raw2" channels$channels.cfg channels$channels.weights
  check "input-channels $channels" "exit status $code; $(cat "$err")" test "$code" -eq 0 -a "$(bytes "$io/raw1")" -eq 960
  same "input-channels $channels plan" "$io/raw1" "$io/raw2"
done

for repeat in 1 2 7; do
  run --json --repeat $repeat --dump-output "$io/repeated" $model a.ppm
  latencies=$(sed 's/.*"latencies_ms":\[\([^]]*\)\].*/\1/' "$out" | tr ',' '\n' | grep -c '^[0-9]')
  check "repeat $repeat" "found $latencies latencies" test "$latencies" -eq $repeat
  same "repeat $repeat output" "$io/chosen" "$io/repeated"
done

# Opening reads the weights through a ring in the arena's place: a small arena has small reads.
# Resident bytes never exceed the prediction for running.
{
  printf '[net]\nwidth=16\nheight=16\nchannels=3\n'
  for filters in 64 256 256; do
    printf '[convolutional]\nfilters=%s\nsize=3\nstride=2\npad=1\nbatch_normalize=1\nactivation=leaky\n' $filters
  done
} >"$io/deep.cfg"
"$build/make_weights" --quiet "$io/deep.cfg" "$io/deep.weights"
watched=$program
program=$build/resident_peak run "$io/peak" "$watched" --json --quiet --plan 1x1/NoCut "$io/deep.cfg" "$io/deep.weights" a.ppm
if [ "$code" = 125 ]; then
  skip open-peak "$(tail -n 1 "$err")"
else
  more=$(($(cat "$io/peak") - $(value predicted_resident_bytes)))
  check open-peak "exit status $code; opening took $more bytes more than was predicted of running" test "$code" -eq 0 -a "$more" -le 0
fi

# Rarely used code is predicted, too: progressive and arithmetic JPEGs, heads that activate few
# values at a time, a JPEG decoded to an eighth. Code missing in the parts (runner/os/parts.def)
# would fault in with 64 KB around it.
base64 -d >"$io/progressive.jpg" <<'EOF'
/9j/2wBDAFA3PEY8MlBGQUZaVVBfeMiCeG5uePWvuZHI////////////////////////////////////////////////////wgALCAAQABABAREA/8QAFAABAAAAAAAA
AAAAAAAAAAAAA//aAAgBAQAAAAE3B//EABUQAQEAAAAAAAAAAAAAAAAAAAAD/9oACAEBAAE/AJJJJP/aAAgBAQAAABCv/9k=
EOF
base64 -d >"$io/arithmetic.jpg" <<'EOF'
/9j/2wBDAFA3PEY8MlBGQUZaVVBfeMiCeG5uePWvuZHI////////////////////////////////////////////////////yQALCAAQABABAREA/8wABgAQEAX/2gAI
AQEAAD8A/Sn+67SdSP/Z
EOF
cp c.png "$io/plain.png"
printf '[net]\nwidth=2\nheight=2\nchannels=3\n[convolutional]\nfilters=30\nsize=1\nactivation=linear\n[region]\nnum=5\nclasses=1\nsoftmax=1\nanchors=1,1,1,1,1,1,1,1,1,1\n' >"$io/region.cfg"
"$build/make_weights" --quiet "$io/region.cfg" "$io/region.weights"
for picture in progressive.jpg arithmetic.jpg plain.png; do
  [ $sanitized = 0 ] || continue
  for scaling in exact fast; do
    run --json --quiet --image-scaling $scaling --plan rows1:streamed/NoCut "$io/region.cfg" "$io/region.weights" "$io/$picture"
    if [ "$code" = 2 ] && grep -q 'cannot read' "$err"; then
      skip "resident $picture" "$(tail -n 1 "$err")"
      continue
    fi
    more=$(($(value measured_resident_bytes) - $(value predicted_resident_bytes)))
    check "resident $picture $scaling" "exit status $code; $more bytes more than predicted" test "$code" -eq 0 -a "$more" -le 0
  done
done

# Since Linux 6.3 a full memory group first loses code advised as randomly read, however often it
# runs. Code that runs use must not be.
not_at_random() { # PID: resident kilobytes of its code without that advice
  awk '/^[0-9a-f]+-/ { code = $2 ~ /x/ && /run_inference/ } /^Rss:/ { n = $2 } /^VmFlags:/ && code && !/ rr/ { sum += n } END { print sum + 0 }' \
    "/proc/$1/smaps"
}
mkfifo "$io/pictures"
"$program" --json --quiet $model - <"$io/pictures" >"$out" 2>"$err" &
exec 5>"$io/pictures"
echo a.ppm >&5
for _ in $(seq 100); do [ -s "$out" ] || sleep 0.05; done
if [ "$(printf '6.3\n%s\n' "$(uname -r)" | sort -V | head -n 1)" = 6.3 ] && [ -r /proc/$!/smaps ]; then
  check code-in-use "of its code $(not_at_random $!) KB are in memory and not advised of as read at random" test "$(not_at_random $!)" -ge 256
else
  skip code-in-use 'Linux before 6.3, or no smaps'
fi
exec 5>&-
wait

# ---- Results

keys='image network width height layers plan algorithm threads cpu memory_budget_bytes arena_bytes predicted_charge_bytes
  predicted_resident_bytes reserve_bytes lock locked_bytes lock_reason stall_some_us stall_full_us stall_scope measured_resident_bytes vm_hwm_bytes load_ms image_ms layers_ms latency_ms latencies_ms total_ms swap_in_bytes
  swap_out_bytes swap_scope major_faults weights_read_bytes detections'
run --json --thresh 0 --names two.names yolo.cfg yolo.weights a.ppm
expect json 0
check json-valid "found: $(head -c 300 "$out")" valid_json "$out"
check json-quiet "found on stderr: $(cat "$err")" test ! -s "$err"
for key in $keys label class confidence box x y; do
  check "json $key" 'missing' grep -qF "\"$key\":" "$out"
done
check json-image "found $(value image)" test "$(value image)" = '"a.ppm"'
check json-weights "found $(value weights_read_bytes)" test "$(value weights_read_bytes)" -ge $(($(bytes yolo.weights) - 20))
for label in cat dog 'class 2'; do
  check "names '$label'" "not among the labels" grep -qF "\"label\":\"$label\"" "$out"
done
all=$(count '"confidence":' "$out")
check thresh-0 'no detections' test "$all" -gt 0
check thresh-0-limit "$all detections from 16 x 16 x 3 boxes of 3 classes" test "$all" -le 2304
run --json --thresh 0 --nms 1 yolo.cfg yolo.weights a.ppm
check nms-1 'fewer detections than with suppression' test "$(count '"confidence":' "$out")" -ge "$all"
unsuppressed=$(count '"confidence":' "$out")
run --json --thresh 0 --nms 0.01 yolo.cfg yolo.weights a.ppm
few=$(count '"confidence":' "$out")
check nms-0.01 "$few detections instead of 1 to $all" test "$few" -ge 1 -a "$few" -lt "$all"
run --json --thresh 0 --nms 0 yolo.cfg yolo.weights a.ppm
check nms-0 'suppresses, though in Darknet 0 means none' test "$(count '"confidence":' "$out")" -eq "$unsuppressed"
run --json --thresh 1 yolo.cfg yolo.weights a.ppm
check thresh-1 'a confidence above 1' test "$code" -eq 0 -a "$(count '"confidence":' "$out")" -eq 0
run --json --thresh 0.3 yolo.cfg yolo.weights a.ppm
least=$(grep -o '"confidence":[^,]*' "$out" | cut -d: -f2 | sort -g | head -n 1)
check thresh-0.3 "least confidence $least" awk -v x="${least:-1}" 'BEGIN { exit !(x > 0.3) }'
run --json yolo.cfg yolo.weights a.ppm
cp "$out" "$io/default"
run --json --thresh 0.5 --nms 0.45 yolo.cfg yolo.weights a.ppm
check thresh-default 'not 0.5 and 0.45' test "$(grep -o '"detections":.*' "$out")" = "$(grep -o '"detections":.*' "$io/default")"

# Fewer boxes than found: the list's beginning, and a warning.
run --json --thresh 0 --nms 0.01 yolo.cfg yolo.weights a.ppm
grep -o '{"label[^}]*}}' "$out" >"$io/all"
check boxes-all "$(grep -o '"boxes_left_out":.*' "$out")" grep -qF '"boxes_left_out":0}' "$out"
run --json --thresh 0 --nms 0.01 --max-boxes 1000 yolo.cfg yolo.weights a.ppm
grep -o '{"label[^}]*}}' "$out" >"$io/some"
check boxes-some "exit status $code, $(wc -l <"$io/some") of $(wc -l <"$io/all")" test "$code" -eq 0 -a -s "$io/some" -a \
  "$(wc -l <"$io/some")" -lt "$(wc -l <"$io/all")"
check boxes-beginning 'another list' cmp -s "$io/some" <(head -n "$(wc -l <"$io/some")" "$io/all")
check boxes-json "$(grep -o '"boxes_left_out":.*' "$out")" grep -qF '"boxes_left_out":1304}' "$out"
check boxes-told "found on stderr: $(cat "$err")" grep -q '^run_inference: warning: a.ppm: 1304 of 2304 boxes above the threshold 0 were left out' "$err"
# However many boxes there are, no run fails at the end: its least budget gives the same result as
# none.
run --memory 1K yolo.cfg yolo.weights a.ppm
run --json --thresh 0 --nms 0 --memory "$(($(would_do) + (sanitized ? 16 : 0) * 1048576))" yolo.cfg yolo.weights a.ppm
check boxes-least "exit status $code, $(cat "$err")" test "$code" -eq 0 -a "$(count '"confidence":' "$out")" -eq "$unsuppressed"

run --thresh 0 --names two.names yolo.cfg yolo.weights a.ppm
check text "exit status $code, $(head -n 1 "$out")" grep -qE "^a.ppm: [0-9]+ detections? in [0-9.]+ ms, memory [0-9]+\.[0-9] of [0-9]+\.[0-9] MiB\$" "$out"
check text-lines 'not one line for each detection' test "$(wc -l <"$out")" -eq "$((all + 1))"
check text-label 'no line for a cat' grep -qE '^  cat [0-9]+ %  \(-?[0-9]+, -?[0-9]+\) [0-9]+ x [0-9]+$' "$out"
check text-silent "found on stderr: $(cat "$err")" test ! -s "$err"
run --verbose --thresh 0 yolo.cfg yolo.weights a.ppm
check verbose-plan "found on stderr: $(cat "$err")" grep -qE '^plan: [^ ]+$' "$err"
check verbose-memory "found on stderr: $(cat "$err")" grep -qE \
  '^memory: arena [0-9]+\.[0-9] MiB .*; resident [0-9]+\.[0-9] MiB, predicted [0-9]+\.[0-9] MiB; budget [0-9]+\.[0-9] MiB \(' "$err"
check verbose-lines "found on stderr: $(cat "$err")" test "$(wc -l <"$err")" -eq 3
run --verbose --json --thresh 0 yolo.cfg yolo.weights a.ppm
check verbose-json "found: $(head -c 200 "$out")" valid_json "$out"
check verbose-json-plan "found on stderr: $(cat "$err")" grep -qE '^plan: [^ ]+$' "$err"
run --json class.cfg class.weights a.ppm
check classes 'no classes in the JSON' grep -qE '"detections":\[\],"classes":\[\{"label":"class [0-6]"' "$out"
run class.cfg class.weights a.ppm
check classes-text "found: $(cat "$out")" grep -q '^a.ppm: classified in ' "$out"

run --report --plan 2x2/4/1x3 $model a.ppm
expect report 0
check report-head "found: $(head -n 3 "$out")" grep -qE '^layers +ms +MACs +GMAC/s +bytes$' "$out"
check report-groups 'not a row for each group' test "$(grep -cE '^(0-3|4-7) +(2x2|1x3) tiles ' "$out")" -eq 2
check report-layers 'not a row for each layer' test "$(grep -cE '^  [0-7] +(convolutional|maxpool|shortcut|upsample|route)' "$out")" -eq 8
check report-total 'no total' grep -qE '^total +arena, [+][0-9.]+ % of bound +[0-9.]+ +[0-9]+ ' "$out"
run --report --algorithm direct $model a.ppm
check report-plain 'winograd where there is none' test "$(grep -c winograd "$out")" -eq 0
run --report $wide a.ppm
check report-winograd "found: $(cat "$out")" grep -qE '^  1 +convolutional 3x3 winograd [(]in 2[)]' "$out"
check report-depthwise "found: $(cat "$out")" grep -qE '^  3 +convolutional 3x3 [(]in 4[)] +0[.]0+ +0 ' "$out"
note='[0-9.]+ million multiply-adds as direct convolution, [0-9.]+ million with padding as computed'
check text-macs "found on stderr: $(cat "$err")" grep -qE "^work: $note; auto, 1 thread, kernels [a-z0-9]+\$" "$err"
run --verbose --algorithm direct --threads 2 $wide a.ppm
check text-threads "found on stderr: $(cat "$err")" grep -qE "^work: $note; direct, 2 threads, kernels [a-z0-9]+\$" "$err"
check text-kept 'reads of kept weights are reported' test "$(grep -c 'for every picture' "$err")" -eq 0
run --report --plan panels:streamed $model a.ppm
check report-panels "found: $(cat "$out")" grep -qE '^0-7 +panels of filters ' "$out"
check text-reads "found on stderr: $(cat "$err")" grep -qE \
  '^reads: [0-9.]+ MiB of weights for every picture, by (io_uring|aio|thread), (past|dropped from) the page cache' "$err"

run --quiet plain.cfg "$io/long.weights" a.ppm
check quiet "exit status $code, found on stderr: $(cat "$err")" test "$code" -eq 0 -a ! -s "$err"
bad quiet-errors 'no-such.ppm: cannot open' --quiet $model no-such.ppm
run $model -- a.ppm
expect double-dash 0

# ---- Kinds of pictures, unusual names

run $model c.png
if [ "$code" -eq 2 ] && grep -q 'cannot read PNG' "$err"; then skip png 'built without libpng'; else expect png 0; fi
jpeg=
if command -v cjpeg >/dev/null; then
  { printf 'P6 16 16 255\n'; head -c 768 /dev/zero | tr '\0' 'Q'; } | cjpeg >jpeg.jpg && jpeg=jpeg.jpg
elif [ -f "${jpegs[0]}" ]; then
  jpeg=${jpegs[0]}
fi
if [ -z "$jpeg" ]; then
  skip jpeg 'neither cjpeg nor a picture in models/shapes/holdout'
else
  run $model "$jpeg"
  if [ "$code" -eq 2 ] && grep -q 'cannot read JPEG' "$err"; then skip jpeg 'built without libjpeg'; else expect jpeg 0; fi
fi
run $model pixel.ppm
expect picture-of-a-pixel 0
strange=$(printf 'line\nbreak "quoted" \\ \303\244 \377 \033[31m.ppm')
cp a.ppm "$strange"
run --json $model "$strange"
check strange-name "exit status $code: $(cat "$out")" test "$code" -eq 0 -a "$(wc -l <"$out")" -eq 1
check strange-name-json "found: $(head -c 200 "$out")" valid_json "$out"
run $model "$strange"
check strange-name-text "more than one line on stdout" test "$code" -eq 0 -a "$(wc -l <"$out")" -eq 1
rm -f "$strange"
bad name-long 'aaaa' $model "$(printf 'a%.0s' {1..6000})"
bad name-empty 'cannot open' $model ''

# ---- Several pictures

run --fork alexeyab --json $model a.ppm no-such.ppm . "$io/empty.ppm" "$io/cut.ppm" plain.cfg b.ppm
check several "exit status $code instead of 2" test "$code" -eq 2
check several-valid "found: $(head -c 300 "$out")" valid_json "$out"
check several-lines "$(wc -l <"$out") lines instead of 7" test "$(wc -l <"$out")" -eq 7
check several-errors 'not an error with an exit status for each bad one' \
  test "$(sed -n 2,6p "$out" | grep -c '^{"image":".*","error":".*","exit_code":2}$')" -eq 5
check several-runs 'not a result for each good one' test "$(sed -n '1p;7p' "$out" | grep -c '"detections":\[')" -eq 2
check several-messages "$(wc -l <"$err") messages instead of 5" test "$(wc -l <"$err")" -eq 5
run $model no-such.ppm a.ppm
check several-first "exit status $code, $(cat "$out")" test "$code" -eq 2 -a "$(grep -c '^a.ppm: run' "$out")" -eq 1
run --quiet --dump-output "$io/several" $model b.ppm a.ppm # ambiguous: two pictures, one output
check several-dump "exit status $code: $(cat "$err")" test "$code" -eq 2 -a "$(grep -c 'one image' "$err")" -eq 1
run --quiet --dump-output a.ppm $model a.ppm
check dump-over-input "exit status $code: $(cat "$err")" test "$code" -eq 2 -a "$(grep -c 'which is read' "$err")" -eq 1

# ---- When layers ran

# marks NAME: lines of index, type, start, end; no interval starts while an earlier one runs.
marks() {
  check "marks $1" "found: $(head -n 3 "$io/marks")" awk '
    NF != 4 || $3 > $4 || $3 < end || ($1 == -1) != ($2 == "image") { exit 1 } { end = $4 }
    END { if (NR < 2) exit 1 }' "$io/marks"
}
run --quiet --json --plan 2x2/4/1x3 --marks "$io/marks" $model a.ppm
expect marks-run 0
marks tiles
check marks-turns 'not one of layer 3 for each tile' test "$(grep -c '^3 convolutional ' "$io/marks")" -eq 4
marked=$(cut -d' ' -f1 "$io/marks" | sort -nu | tr '\n' ' ')
check marks-layers "found: $marked" test "$marked" = '-1 0 1 2 3 4 5 7 ' # 6, a route, only renames
run --quiet --json --plan rows2/NoCut --repeat 2 --marks "$io/marks" $model a.ppm
marks rows
check marks-picture 'not one beginning for each run' test "$(grep -c '^-1 image ' "$io/marks")" -ge 2
run --quiet --marks a.ppm $model a.ppm
check marks-over-input "exit status $code: $(cat "$err")" test "$code" -eq 2 -a "$(grep -c 'marks expects a file of its own' "$err")" -eq 1
run --quiet --marks no/such/folder $model a.ppm
check marks-no-folder "exit status $code: $(cat "$err")" test "$code" -eq 2 -a "$(grep -c 'no/such/folder: cannot' "$err")" -eq 1
run --quiet --marks /dev/full $model a.ppm
check marks-full "exit status $code: $(cat "$err")" test "$code" -eq 1 -a "$(grep -c 'cannot write' "$err")" -eq 1
# If a picture fails while layers run, its marks are written under its own name.
head -c $(($(stat -c %s "${jpegs[0]}") / 2)) "${jpegs[0]}" >"$io/half.jpg"
run --quiet --plan rows2/NoCut --marks "$io/marks" $model a.ppm
whole=$(wc -l <"$io/marks")
run --quiet --plan rows2/NoCut --marks "$io/marks" $model a.ppm "$io/half.jpg"
check marks-failed "exit status $code, $(wc -l <"$io/marks") lines" test "$code" -eq 2 -a "$(wc -l <"$io/marks")" -gt "$whole"
echo a.ppm >"$io/list"
run --quiet --marks "$io/list" $model - <"$io/list"
check marks-over-list "exit status $code: $(cat "$io/list")" test "$code" -eq 2 -a "$(cat "$io/list")" = a.ppm
bad marks-predict '--marks makes no sense with --predict' --predict --marks "$io/marks" plain.cfg

printf 'a.ppm\n\nno-such.ppm\nb.ppm' >"$io/list"
run --json $model - <"$io/list"
check list "exit status $code, $(wc -l <"$out") lines" test "$code" -eq 2 -a "$(wc -l <"$out")" -eq 3
check list-order 'not in the order of the list' test "$(value image 1)$(value image 2)$(value image 3)" = '"a.ppm""no-such.ppm""b.ppm"'
# A pipe made non-blocking by another process is waited for: for a list, a cfg.
slowly() { # FILE ARGUMENT...: FILE arrives through such a pipe on standard input, in three parts
  python3 - "$@" >"$out" 2>"$err" <<'PYTHON'
import os, subprocess, sys, time
data = open(sys.argv[1], "rb").read()
ours, theirs = os.pipe()
os.set_blocking(ours, False)
process = subprocess.Popen(sys.argv[2:], stdin=ours)
for part in data[:7], data[7:len(data) // 2 + 7], data[len(data) // 2 + 7:]:
    time.sleep(0.2)
    os.write(theirs, part)
os.close(theirs)
sys.exit(process.wait())
PYTHON
  code=$?
}
if command -v python3 >/dev/null; then
  slowly "$io/list" "$program" --json $model -
  check list-non-blocking "exit status $code: $(cat "$err")" test "$code" -eq 2 -a "$(value image 1)$(value image 2)$(value image 3)" = '"a.ppm""no-such.ppm""b.ppm"'
  shapes=${jpegs[0]%/holdout/*}/shapes # warns if the process uses more than predicted
  if [ $sanitized = 0 ] && [ -e "$shapes.weights" ]; then
    slowly "$io/list" "$program" --json --memory 16M "$shapes.cfg" "$shapes.weights" -
    check list-non-blocking-resident "exit status $code: $(cat "$err")" test "$code" -eq 2 -a "$(wc -l <"$err")" -eq 1
  fi
  words=($model)
  slowly "${words[0]}" "$program" --json /dev/stdin "${words[1]}" a.ppm
  check cfg-non-blocking "exit status $code: $(cat "$err")" test "$code" -eq 0
else skip non-blocking 'needs python3'; fi
{ head -c 10000000 /dev/zero | tr '\0' x; printf '\nb.ppm\n'; } >"$io/list"
run --json $model - <"$io/list"
check list-line "exit status $code, $(wc -lc <"$err")" test "$code" -eq 2 -a "$(wc -l <"$out")" -eq 2 -a "$(wc -c <"$err")" -lt 1000
run --json --marks /dev/full $model a.ppm b.ppm
check json-one-line "exit status $code: $(cat "$out")" test "$code" -eq 1 -a "$(wc -l <"$out")" -eq 2 -a "$(grep -c '"error":"cannot write' "$out")" -eq 2
run --json --dump-output /dev/full $model a.ppm
check json-one-line-dump "exit status $code: $(cat "$out")" test "$code" -eq 1 -a "$(wc -l <"$out")" -eq 1 -a "$(grep -c '"error":"/dev/full: cannot write' "$out")" -eq 1
printf 'a.ppm\r\nb.ppm\r\n' >"$io/list" # from Windows
run --json $model - <"$io/list"
check list-returns "exit status $code: $(cat "$err")" test "$code" -eq 0 -a "$(value image 1)$(value image 2)" = '"a.ppm""b.ppm"'
cp b.ppm "$io/$(printf 'c.ppm\r')" # a name that ends so is kept
printf '%s/c.ppm\r\n' "$io" >"$io/list"
run --json $model - <"$io/list"
check list-return-kept "exit status $code: $(cat "$err")" grep -q 'c\.ppm\\[ru]' "$out"
printf 'a.ppm\0b.ppm\0\nb.ppm\n' >"$io/list" # as from find -print0
run --json $model - <"$io/list"
check list-zero "exit status $code: $(cat "$err")" test "$code" -eq 2 -a "$(value image 1)$(value image 2)" = '"a.ppm""b.ppm"' -a \
  "$(grep -c 'expected a path a line, found a zero byte after a.ppm' "$err")" -eq 1 -a "$(grep -c '"error"' "$out")" -eq 1
run --json $model pixel.ppm - b.ppm <<<a.ppm
check list-among "exit status $code" test "$code" -eq 0 -a "$(value image 1)$(value image 2)$(value image 3)" = '"pixel.ppm""a.ppm""b.ppm"'
run --json $model no-such.ppm
check single-error "found: $(cat "$out")" test "$code" -eq 2 -a "$(value exit_code)" = 2
run --json no-such.cfg plain.weights a.ppm
check early-error "found: $(cat "$out")" test "$code" -eq 2 -a "$(value image)" = '"a.ppm"'
check early-error-valid 'not JSON' valid_json "$out"

# ---- Failing to write

for format in '' --json --report; do
  "$program" $format $model a.ppm b.ppm >/dev/full 2>"$err"
  code=$?
  check "full '$format'" "exit status $code instead of 1; $(cat "$err")" test "$code" -eq 1
  check "full '$format' message" "found: $(cat "$err")" grep -q 'standard output\|cannot write' "$err"
done
"$program" $model a.ppm >&- 2>"$err"
code=$?
check closed-stdout "exit status $code: $(cat "$err")" test "$code" -eq 1 -a -s "$err"
timeout 20 "$program" --repeat 3 --json $model a.ppm b.ppm 2>"$err" | true
code=${PIPESTATUS[0]}
check closed-pipe "exit status $code" test "$code" -le 1
"$program" --quiet --dump-output "$io/closed" $model a.ppm >"$out" 2>&- <&-
same closed-others "$io/chosen" "$io/closed"
# Opened files do not get the number of a closed standard stream.
"$program" --marks "$io/marks" $model a.ppm >&- 2>&- <&-
code=$?
check closed-all "exit status $code, and $(tail -n 1 "$io/marks")" test "$code" -eq 1 -a "$(grep -c ppm "$io/marks")" -eq 0
"$program" $model - >"$out" 2>"$err" <&-
code=$?
check closed-list "exit status $code: $(cat "$err")" test "$code" -eq 2 -a "$(grep -c 'standard input: cannot read the list' "$err")" -eq "$(wc -l <"$err")"
printf 'kept\n' >kept
run --dump-output no/such/folder $model a.ppm
check dump-no-folder "exit status $code: $(cat "$err")" test "$code" -eq 2 -a "$(grep -c 'no/such/folder: cannot' "$err")" -eq 1
run --dump-output . $model a.ppm
check dump-folder "exit status $code: $(cat "$err")" test "$code" -eq 2
run --dump-output kept/x $model a.ppm
check dump-in-file "exit status $code: $(cat "$err")" test "$code" -eq 2
mkdir limited
# Files may not grow beyond 8 KiB, so standard error is a pipe.
(trap '' XFSZ && ulimit -f 8 && exec "$program" --quiet --dump-output limited/dump $model a.ppm) 2>&1 | cat >"$err"
code=${PIPESTATUS[0]}
check dump-limited "exit status $code, $(cat "$err")" test "$code" -eq 1 -a "$(grep -c 'limited/dump: cannot write' "$err")" -eq 1
check dump-limited-rest "left behind: $(ls -A limited)" test -z "$(ls -A limited)"
mkdir locked
chmod 555 locked
if [ -w locked ]; then
  run --dump-output /proc/no-such-file $model a.ppm # root may write in a read-only folder
else
  run --dump-output locked/dump $model a.ppm
fi
check dump-locked "exit status $code: $(cat "$err")" test "$code" -eq 1 -a "$(grep -c 'cannot' "$err")" -eq 1

# ---- Nothing is left behind

rm -rf limited locked kept
left=$(ls -A | grep -vxE '(plain|yolo|class|wide|channels(1|2|17))\.(cfg|weights)|(a|b|pixel)\.ppm|c\.png|jpeg\.jpg|two\.names')
check nothing-left "found $left" test -z "$left"

exit $failed
