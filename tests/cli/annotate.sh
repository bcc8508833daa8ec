#!/usr/bin/env bash
# Checks build/annotate through its command line. Run from the project's root; BUILD names the
# build folder (default: build). Needs only common tools: pictures are generated here, with grey
# squares that JPEG stores exactly.

# shellcheck source=tests/check.sh
. tests/check.sh
program=$(realpath "${BUILD:-build}")/annotate
folder=$(mktemp -d) || exit 1
at_end 'chmod -R u+w "$folder"; rm -rf "$folder"'
cd "$folder" || exit 1
out=out err=err

# pgm COLUMNS GREY... > FILE: a plain PGM of 8x8 squares, row by row.
pgm() {
    columns=$1
    shift
    echo "P2 # made by a test
        $((columns * 8)) $(($# / columns * 8)) 255"
    echo "$@" | awk -v columns="$columns" '{
        for (first = 1; first <= NF; first += columns)
            for (y = 0; y < 8; y++)
                for (x = 0; x < columns * 8; x++)
                    print $(first + int(x / 8))
    }'
}

# oriented N < JPEG > JPEG: inserts an Exif segment with that orientation (big-endian TIFF, one
# entry in IFD 0).
oriented() {
    cat >stored.tmp
    printf '\377\330\377\341\000\042Exif\000\000MM\000\052\000\000\000\010'
    printf "\000\001\001\022\000\003\000\000\000\001\000\0$(printf %02o "$1")\000\000\000\000\000\000"
    tail -c +3 stored.tmp
}

# size FILE: "WIDTHxHEIGHT" from its header; nothing unless it is a PNG or JPEG with a proper end.
size() {
    [ -f "$1" ] || return
    case $(od -An -tx1 -N4 "$1" | tr -d ' ') in
    89504e47)
        [ "$(tail -c 8 "$1" | head -c 4)" = IEND ] || return
        od -An -tu1 -j16 -N8 "$1" | awk '{print $3 * 256 + $4 "x" $7 * 256 + $8}'
        ;;
    ffd8ff*)
        [ "$(tail -c 2 "$1" | od -An -tx1 | tr -d ' ')" = ffd9 ] || return
        od -An -v -tu1 -w1 "$1" | awk '
            { b[NR - 1] = $1 }
            END {
                for (i = 2; i < NR && b[i] == 255; i += 2 + b[i + 2] * 256 + b[i + 3])
                    if (b[i + 1] >= 192 && b[i + 1] <= 194) {
                        print b[i + 7] * 256 + b[i + 8] "x" b[i + 5] * 256 + b[i + 6]
                        exit
                    }
            }'
        ;;
    esac
}

expect_size() {
    if [ "$(size "$2")" = "$3" ]; then ok "$1"; else fail "$1" "$2 is '$(size "$2")' instead of $3"; fi
}

none='"detections": []'
dog='{"label": "dog", "class": 16, "confidence": 0.94, "box": {"x": 8, "y": 20.5, "width": 40, "height": 30}}'
pgm 10 40 80 120 160 200 240 200 160 120 80   80 120 160 200 240 200 160 120 80 40 \
    120 160 200 240 200 160 120 80 40 80   160 200 240 200 160 120 80 40 80 120 \
    200 240 200 160 120 80 40 80 120 160   240 200 160 120 80 40 80 120 160 200 \
    200 160 120 80 40 80 120 160 200 240   160 120 80 40 80 120 160 200 240 200 >squares.pgm
echo "{\"image\": \"squares.pgm\", \"detections\": [$dog]}" >one.json
echo "{\"image\": \"squares.pgm\", $none}" >none.json

# ---- Command line

run --help
if [ "$code" -eq 0 ] && grep -q '^usage: ' out && [ ! -s err ]; then ok help; else fail help "exit code $code"; fi
for option in --output --thresh --picture --quiet --help --version; do
    grep -qe "$option" out || fail help "$option is not explained"
done
run --version
if [ "$code" -eq 0 ] && [ "$(wc -l <out)" -eq 1 ]; then ok version; else fail version "exit code $code"; fi
"$program" --help >/dev/full 2>err
if [ $? -eq 1 ]; then ok help-full; else fail help-full "a failing standard output went unnoticed"; fi

run --nonsense
expect unknown-long 2 'unknown option --nonsense'
run -x
expect unknown-short 2 'unknown option -x'
run --thresh
expect thresh-missing 2 'option -t, --thresh expects a number from 0 to 1, found nothing'
for value in abc 1.5 -0.1 nan inf 0.5x 0x0 ' 0.5' ''; do
    run --thresh "$value" one.json
    expect "thresh '$value'" 2 'option -t, --thresh expects a number from 0 to 1, found'
done
run --quiet=3
expect value-unwanted 2 '--quiet: this option expects no value'
run --quiet -xy
expect unknown-letter 2 'unknown option -x;'
run -o '' one.json
expect output-empty 2 'option -o expects'
run -o picture.gif one.json
expect output-suffix 2 'option -o expects a name ending in .png, .jpg or .jpeg, or a folder; found picture.gif'
run one.json none.json
expect two-json-files 2 'expected one JSON-FILE at most, found also none.json'
run no-such.json
expect json-missing 2 'no-such.json: cannot open'
run .
expect json-folder 2 '.: cannot read the JSON'

# ---- Drawing

run -q -o boxed.png one.json
expect png 0 ''
expect_size png-size boxed.png 80x64
run -q -o boxed.jpg one.json
expect jpeg 0 ''
expect_size jpeg-size boxed.jpg 80x64
run -q -o boxed2.JPEG <one.json
expect stdin 0 ''
if cmp -s boxed.jpg boxed2.JPEG; then ok same-bytes; else fail same-bytes 'two runs differ'; fi
run -q -o dash.png - <one.json
expect dash 0 ''
run -o told.png one.json
expect told 0 'squares.pgm: 1 of 1 boxes drawn, written to told.png'
run -q -o plain.png none.json
expect no-detections 0 ''
if cmp -s plain.png boxed.png; then fail drawn 'the box left no trace'; else ok drawn; fi
run -q --thresh 0.95 -o thresh.png one.json
if cmp -s plain.png thresh.png; then ok thresh; else fail thresh 'a box below the threshold was drawn'; fi
run -q --thresh 0.94 -o thresh.png one.json
if cmp -s boxed.png thresh.png; then ok thresh-equal; else fail thresh-equal 'a box at the threshold was left out'; fi
sed 's/squares.pgm/no-such.png/' one.json >pathless.json
run -q -p squares.pgm -o picture.png pathless.json
if cmp -s boxed.png picture.png; then ok picture; else fail picture "$(cat err)"; fi
sed 's/"image": "squares.pgm", //' one.json >pathless.json
run -q -p squares.pgm -o picture.png pathless.json
if cmp -s boxed.png picture.png; then ok picture-pathless; else fail picture-pathless "$(cat err)"; fi
sed 's/"class": 16/"class": 17/' one.json >class.json
run -q -o class.png class.json
if cmp -s boxed.png class.png; then fail class-colour 'two classes look alike'; else ok class-colour; fi

# A confidence above 1, as linear heads output, is shown as 100 %, but ranks higher.
sed 's/0.94/1/' one.json >sure.json
run -q -o sure.png sure.json
if cmp -s boxed.png sure.png; then fail confidence-shown '94 % and 100 % look alike'; else ok confidence-shown; fi
for confidence in 1.004 1.01 1.73 250 1e308; do
    sed "s/0.94/$confidence/" one.json >higher.json
    run -q -t 1 -o higher.png higher.json
    expect "confidence $confidence" 0 ''
    if cmp -s sure.png higher.png; then ok "confidence $confidence same"; else fail "confidence $confidence same" 'it is not shown as 100 %'; fi
done
higher=$(echo "$dog" | sed 's/0.94/1.5/; s/16/17/; s/"x": 8/"x": 16/')
surest=$(echo "$dog" | sed 's/0.94/1.6/')
echo "{\"image\": \"squares.pgm\", \"detections\": [$higher, $surest]}" >rising.json
echo "{\"image\": \"squares.pgm\", \"detections\": [$surest, $higher]}" >falling.json
run -q -o rising.png rising.json
run -q -o falling.png falling.json
sed 's/"height": 30}/&, "keypoints": [{"x": 12, "y": 30}, {"x": -1e30, "y": 1e300}]/' one.json >points.json
run -q -o points.png points.json
expect points 0 ''
if cmp -s boxed.png points.png; then fail points-drawn 'they are not'; else ok points-drawn; fi
if cmp -s rising.png falling.png; then ok confidence-order; else fail confidence-order 'the surest is not on top'; fi

# boxed NAME X Y WIDTH HEIGHT: draws one box into NAME.png
boxed() {
    name=$1
    shift
    echo "{\"image\": \"squares.pgm\", \"detections\": [{\"label\": \"a\", \"class\": 1, \"confidence\": 0.5, \"box\":
        {\"x\": $1, \"y\": $2, \"width\": $3, \"height\": $4}}]}" | tr -d '\n' >box.json
    run -q -o "$name.png" box.json
    [ "$code" -eq 0 ] || fail "$name" "exit code $code: $(cat err)"
}
boxed whole 0 0 80 64
boxed around -50.5 -70 200 300
if cmp -s whole.png around.png; then ok box-clipped; else fail box-clipped 'a box around the picture is not its frame'; fi
boxed huge -1e308 -1e308 1.7e308 1.7e308
boxed huge2 -1e300 -1e300 1e305 1e305
if cmp -s whole.png huge2.png && cmp -s whole.png huge.png; then ok box-huge; else fail box-huge 'a huge box is not the frame'; fi
for box in '100 0 20 20' '0 64 20 20' '-30 0 20 20' '0 -1e300 20 20' '1e308 1e308 1e308 1e308'; do
    boxed outside $box
    if cmp -s plain.png outside.png; then ok "box-outside '$box'"; else fail "box-outside '$box'" 'something was drawn'; fi
done
boxed empty 20 20 0 0
expect_size box-empty empty.png 80x64
boxed thin 0 0 1 64
expect_size box-thin thin.png 80x64

# labels: long, missing, with characters that are special to gd and JSON; on an 8x8 picture there
# is no space for one
long=$(printf '%0300d' 0)
for label in "\"$long\"" '""' null '"a&amp;b&#60;<>"' '"\u00e4\u20ac\ud83d\udeb2"' '"a\nb\t\u001b[31m"' \
    '"\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac"'; do
    printf '%s\n' "{\"image\": \"squares.pgm\", \"detections\": [{\"label\": $label, \"class\": 2147483647, \"confidence\": 1,
        \"box\": {\"x\": 70, \"y\": 60, \"width\": 30, \"height\": 30}}]}" | tr -d '\n' >label.json
    run -q -o label.png label.json
    expect "label $(printf '%.20s' "$label")" 0 ''
done
# U+009B is ESC [ to some terminals
printf '%s\n' '{"image": "no\u009b31m\u00e4.png", "detections": []}' >control.json
run control.json
expect control-character 2 'no??31mä.png: '
# a pipe that nobody writes to
mkfifo waiting.pgm
printf '%s\n' '{"image": "waiting.pgm", "detections": []}' >waiting.json
run waiting.json
expect image-that-waits 2 'waiting.pgm: expected a regular file'
rm waiting.pgm
pgm 4 10 20 30 40 >tiny.pgm
run -q -p tiny.pgm -o tiny.png one.json
expect tiny 0 ''
expect_size tiny-size tiny.png 32x8

# without any TrueType font
echo '<?xml version="1.0"?><fontconfig></fontconfig>' >no-fonts.conf
FONTCONFIG_FILE=$PWD/no-fonts.conf "$program" -q -o built-in.png one.json 2>err
code=$?
expect built-in-font 0 ''
if cmp -s built-in.png plain.png; then fail built-in-drawn 'nothing was drawn'; else ok built-in-drawn; fi

# ---- The kinds of PPM and PGM: 2x1 pixels, A grey and ( grey

printf 'P2 2 1 255 65 40' >small.pgm
run -q -p small.pgm -o small.png none.json
expect pgm 0 ''
for kind in 'P3 2 1 255 65 65 65 40\n40 40\n' 'P5 2 1 255\nA(' 'P6 2\n#c\n1 255 AAA(((' 'P2 2 1 65535 16640 10240' \
    'P5 2 1 65535 A.(.' 'P6 2 1 256 A.A.A.(.(.(.' 'P3 2 1 51 13 13 13 8 8 8'; do
    printf "$kind" >kind.ppm
    run -q -p kind.ppm -o kind.png none.json
    if cmp -s small.png kind.png; then ok "kind $kind"; else fail "kind $kind" "$(cat err)"; fi
done

# ---- Exif: a JPEG stored turned gives the picture, and the boxes, of the upright one

pgm 4 10 60 110 160 210 250 90 30 >stored.pgm
run -q -p stored.pgm -o stored.jpg none.json
turned() {
    orientation=$1
    shift
    pgm "$@" >upright.pgm
    oriented "$orientation" <stored.jpg >turned.jpg
    for json in none.json one.json; do
        run -q -p upright.pgm -o upright.png $json
        run -q -p turned.jpg -o turned.png $json
        expect "exif-$orientation $json" 0 ''
        if cmp -s upright.png turned.png; then
            ok "exif-$orientation $json same"
        else
            fail "exif-$orientation $json same" "$(size turned.png) differs from $(size upright.png)"
        fi
    done
}
turned 1 4 10 60 110 160 210 250 90 30
turned 2 4 160 110 60 10 30 90 250 210
turned 3 4 30 90 250 210 160 110 60 10
turned 4 4 210 250 90 30 10 60 110 160
turned 0 4 10 60 110 160 210 250 90 30
turned 9 4 10 60 110 160 210 250 90 30
pgm 4 10 20 30 40 50 60 70 80 90 100 110 120 130 140 150 160 >stored.pgm
run -q -p stored.pgm -o stored.jpg none.json
turned 5 4 10 50 90 130 20 60 100 140 30 70 110 150 40 80 120 160
turned 6 4 130 90 50 10 140 100 60 20 150 110 70 30 160 120 80 40
turned 7 4 160 120 80 40 150 110 70 30 140 100 60 20 130 90 50 10
turned 8 4 40 80 120 160 30 70 110 150 20 60 100 140 10 50 90 130
run -q -p squares.pgm -o wide.jpg none.json
oriented 6 <wide.jpg >tall.jpg
run -q -p tall.jpg -o tall.png one.json
expect_size exif-6-size tall.png 64x80
# PNG: the same as a chunk after the header (8 + 25 bytes)
run -q -o wide.png none.json
{
    head -c 33 wide.png
    printf '\000\000\000\032eXIfMM\000\052\000\000\000\010\000\001\001\022\000\003\000\000\000\001\000\006\000\000\000\000\000\000\326gKi'
    tail -c +34 wide.png
} >tall-png.png
run -q -p tall-png.png -o turned.png one.json
expect exif-png 0 ''
expect_size exif-png-size turned.png 64x80
if cmp -s tall.png turned.png; then ok exif-png-same; else fail exif-png-same 'it differs from the JPEG'; fi
# An Exif segment with wrong lengths must do no harm.
for n in 1 2 3 4 5 6 7; do
    { head -c $((n * 5)) tall.jpg; printf '\377\377\377\377'; tail -c +$((n * 5 + 5)) tall.jpg; } >bad-exif.jpg
    run -q -p bad-exif.jpg -o bad-exif.png none.json
    if [ "$code" -le 2 ]; then ok "exif-damaged $n"; else fail "exif-damaged $n" "exit code $code"; fi
done

# ---- Several pictures

mkdir a b
cp squares.pgm a/dog.pgm
cp wide.jpg a/cat.jpg
cp tall.jpg b/cat.jpg
{
    echo "{\"image\": \"a/dog.pgm\", \"detections\": [$dog]}"
    echo
    echo "{\"image\": \"a/cat.jpg\", \"detections\": [$dog, $dog]}"
    printf '%s\n' '{"image": "c/broken.jpg", "error": "cannot read\nthe picture"}'
    printf '{"image": "b/cat.jpg", %s}' "$none"
} >several.json
run -q -o several several.json
expect several 0 'c/broken.jpg: skipped, run_inference reported: cannot read?the picture'
expect_size several-pgm several/dog-annotated.png 80x64
expect_size several-first several/cat-annotated.jpg 80x64
expect_size several-second several/cat-annotated-2.jpg 64x80
if [ "$(ls -A several | wc -l)" -eq 3 ]; then ok several-only; else fail several-only "there is also $(ls -A several)"; fi
run -q -o several.png several.json
expect several-file 2 'option -o expects a folder, as there are 4 pictures; found several.png'
run -q -o one.json several.json
expect several-on-file 1 'one.json: cannot make the folder'
run -q -p squares.pgm several.json
expect several-picture 2 'option -p, --picture expects JSON for one picture, found 4 objects'
run -q -o several/ one.json
expect one-in-folder 0 ''
expect_size one-in-folder-size several/squares-annotated.png 80x64
run -q one.json
expect default-name 0 ''
expect_size default-name-size squares-annotated.png 80x64
{
    echo '{"image": "no-such.png", "detections": []}'
    cat one.json
} >half.json
run -q -o half half.json
expect half 2 'no-such.png: cannot open the picture'
expect_size half-size half/squares-annotated.png 80x64
echo '{"error": "no network"}' >error.json
run -q -o none.png error.json
expect all-errors 1 'skipped, run_inference reported: no network'

# ---- Bad JSON and pictures

# bad_json NAME MESSAGE JSON: one line, exit code 2, no output
bad_json() {
    printf '%s\n%s\n' '{"image": "squares.pgm", "detections": []}' "$3" >bad.json
    run -o bad bad.json
    expect "json $1" 2 "bad.json:2: $2"
    [ ! -e bad ] || fail "json $1" 'something was written'
}
bad_json words 'expected a JSON object, found good morning' 'good morning'
bad_json array 'expected a JSON object, found [1]' '[1]'
bad_json cut 'expected a whole JSON object on the line' '{"image": "squares.pgm", "detections": ['
bad_json more 'expected a JSON object, found a mistake at byte 4' '{} {}'
bad_json comma 'expected a JSON object, found a mistake at byte 13' '{"image": 1,}'
bad_json deep 'expected a JSON object, found a mistake at byte 38: nesting' "{\"a\": $(printf '%050d' 0 | tr 0 '[')"
bad_json bytes 'expected a JSON object, found a mistake at byte 12: invalid utf-8' "$(printf '{"image": "\377"}')"
bad_json image 'image: expected the path of the picture, a string, found 3' '{"image": 3}'
bad_json image-none 'image: expected the path of the picture, a string, found nothing' '{}'
bad_json image-empty 'image: expected the path of the picture, a string, found ""' '{"image": ""}'
bad_json image-nul 'image: expected the path of the picture, a string, found "a\u0000b"' '{"image": "a\u0000b"}'
if { cat one.json; head -c 268435457 /dev/zero; } | "$program" -o bad 2>err; then fail json-long 'it was taken'; fi
if grep -qx 'annotate: standard input:2: expected a line of at most 256 MiB, found a longer one' err; then ok json-long; else fail json-long "found: $(cat err)"; fi
bad_json detections 'detections: expected an array, found {}' '{"image": "a", "detections": {}}'
bad_json detection 'detections[1]: expected an object, found 7' "{\"image\": \"a\", \"detections\": [$dog, 7]}"
field() { bad_json "$1" "detections[0].$1: expected $2" "{\"image\": \"a\", \"detections\": [{$3}]}"; }
field label 'a string, found 3' '"label": 3'
field class 'an integer from 0, found nothing' '"label": "a"'
for class in '"1"' 1.5 -1 2147483648 99999999999999999999 true; do
    field class 'an integer from 0, found' "\"class\": $class"
done
field box 'an object with x, y, width and height, found nothing' '"class": 1'
field confidence 'a finite number, at least 0, found nothing' '"class": 1, "box": {}'
for confidence in '"1"' -0.01 -1 NaN Infinity -Infinity 1e999 '[]'; do
    field confidence 'a finite number, at least 0, found' "\"class\": 1, \"box\": {}, \"confidence\": $confidence"
done
start='"class": 1, "confidence": 0.5, "box": {'
field box.x 'a finite number, found "7"' "$start\"x\": \"7\"}"
field box.y 'a finite number, found NaN' "$start\"x\": 7, \"y\": NaN}"
field box.width 'a finite number, at least 0, found -4' "$start\"x\": 7, \"y\": 7, \"width\": -4}"
field box.height 'a finite number, at least 0, found 1e999' "$start\"x\": 7, \"y\": 7, \"width\": 4, \"height\": 1e999}"
start="${dog%\}}, "
for points in '{}' 7 "[$(yes '0,' | head -n 32 | tr -d '\n')0]"; do
    bad_json keypoints 'detections[0].keypoints: expected an array of at most 32, found' "{\"image\": \"a\", \"detections\": [$start\"keypoints\": $points}]}"
done
bad_json keypoint 'detections[0].keypoints: expected objects with x and y, found 3' "{\"image\": \"a\", \"detections\": [$start\"keypoints\": [3]}]}"
bad_json keypoint.y 'detections[0].keypoints.y: expected a finite number, found nothing' "{\"image\": \"a\", \"detections\": [$start\"keypoints\": [{\"x\": 3}]}]}"
# large NAME TEXT HEAD PIECE TAIL: 1 MiB of pieces must need at most 320 bytes each
# (tests/support/reading.h), plus the process itself
large() {
    local name=$1 text=$2
    { printf '%s' "$3"; yes "$4" | head -n $((1048576 / ${#4})); printf '%s\n' "$5"; } | tr -d '\n' >large.json
    (ulimit -v $((96 * 1024 + 320 * 1024)) && exec timeout 60 "$program" -o bad.png large.json) >out 2>err
    code=$?
    expect "json-large $name" 2 "$text"
}
if grep -q __asan_init "$program"; then
    skip json-large 'a sanitizer takes terabytes of addresses'
else
    large objects 'detections[0].class: expected an integer' '{"image": "no.png", "detections": [' '{},' '{}]}'
    large arrays 'detections[0]: expected an object, found []' '{"image": "no.png", "detections": [' '[],' '[]]}'
    large numbers 'detections[0]: expected an object, found 0' '{"image": "no.png", "detections": [' '0,' '0]}'
    large others 'no.png: cannot open the picture' '{"image": "no.png", "detections": [], "others": [' '{},' '{}]}'
fi
: >empty.json
run empty.json
expect json-empty 2 'empty.json: expected one JSON object per line, found nothing'
run </dev/null
expect json-empty-stdin 2 'standard input: expected one JSON object per line, found nothing'
head -c 3000 "$program" >binary.json
run binary.json
expect json-binary 2 'binary.json:1: expected a JSON object'

: >empty.png
head -c 60 plain.png >cut.png
printf '\377\330\377' >cut.jpg
head -c 300 squares.pgm >cut.pgm
printf 'P6 1000000 1000000 255\n' >huge.ppm
printf 'P5 4 -4 255\n' >negative.ppm
# wrong NAME MESSAGE
wrong() {
    run -p "$1" -o wrong.png one.json
    expect "picture $1" 2 "$1: $2"
    [ ! -e wrong.png ] || fail "picture $1" 'something was written'
}
wrong no-such.png 'cannot open the picture'
wrong several 'cannot read the picture'
wrong empty.png 'cannot read the picture: the file is empty'
wrong one.json 'expected a JPEG, PNG, BMP, PPM or PGM picture'
wrong cut.png 'cannot decode the picture'
wrong cut.jpg 'cannot decode the picture'
wrong cut.pgm 'cannot decode the picture: damaged PPM or PGM'
wrong huge.ppm 'cannot decode the picture: damaged PPM or PGM'
wrong negative.ppm 'cannot decode the picture: damaged PPM or PGM'
cp plain.png self.png
run -p self.png -o self.png one.json
expect picture-itself 2 'self.png: expected an output other than the picture itself'
if cmp -s plain.png self.png; then ok picture-kept; else fail picture-kept 'the picture was overwritten'; fi

# dog-annotated.png is the output for dog.png and the input of the next line.
mkdir others && cp plain.png others/dog.png && cp squares.pgm dog-annotated.png
printf '{"image": "%s", "detections": []}\n' others/dog.png dog-annotated.png >others.json
run -q others.json
expect other-picture 2 'dog-annotated.png: expected an output other than the picture itself, or another'
if cmp -s squares.pgm dog-annotated.png; then ok other-picture-kept; else fail other-picture-kept 'the next picture was overwritten'; fi
if [ -f dog-annotated-annotated.png ]; then ok other-picture-drawn; else fail other-picture-drawn 'the next picture was not drawn'; fi
rm -r others dog-annotated.png dog-annotated-annotated.png

# ---- Failing to write

run -o no/such/out.png one.json
expect write-no-folder 1 'no/such/out.png: cannot write'
run -o one.json/out.png one.json
expect write-in-file 1 'one.json/out.png: cannot write'
mkdir locked
chmod 555 locked
if [ -w locked ]; then
    run -o /proc/out.png one.json  # root may write in a read-only folder
    expect write-locked 1 '/proc/out.png: cannot write'
else
    run -o locked/out.png one.json
    expect write-locked 1 'locked/out.png: cannot write'
fi
mkdir limited
echo old >limited/out.png
# Files may not grow, so standard error is a pipe.
(ulimit -f 0 && exec "$program" -q -o limited/out.png one.json) 2>&1 | cat >err
if grep -q 'limited/out.png: cannot write' err; then ok write-limited; else fail write-limited "found: $(cat err)"; fi
if [ "$(cat limited/out.png)" = old ]; then ok write-old-kept; else fail write-old-kept 'the old output is gone'; fi
if [ "$(ls -A limited)" = out.png ]; then ok write-no-rest; else fail write-no-rest "left behind: $(ls -A limited)"; fi
mkfifo limited/pipe.png
run -q -o limited/pipe.png one.json
expect write-pipe 1 'limited/pipe.png: cannot write: it exists, and is no regular file'
mkdir -p limited/folder.png
run -q -o limited/folder.png one.json
expect write-folder-name 0 ''
expect_size write-folder-name-size limited/folder.png/squares-annotated.png 80x64

exit $failed
