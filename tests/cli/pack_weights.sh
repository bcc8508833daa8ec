#!/usr/bin/env bash
# Checks build/pack_weights through its command line. Run from the project's root; BUILD names the build folder (default: build).
set -u

# shellcheck source=tests/check.sh
. tests/check.sh
build=$(realpath "${BUILD:-build}")
program=$build/pack_weights
man=$PWD/doc/man/pack_weights.1
version1=$PWD/tests/data/packed/version1
folder=$(mktemp -d) || exit 1
at_end 'chmod -R u+w "$folder"; rm -rf "$folder"'
cd "$folder" || exit 1
out=out err=err patience=20

if [ ! -x "$program" ]; then
  fail pack_weights "$program is not there"
  exit 1
fi

net='[net]\nwidth=32\nheight=32\nchannels=3\n[convolutional]\nbatch_normalize=1\nfilters=24\nsize=3\npad=1\nactivation=leaky\n[maxpool]\n'
printf "$net"'[convolutional]\nfilters=40\nsize=1\nactivation=linear\n' >a.cfg
printf "$net"'[convolutional]\nfilters=41\nsize=1\nactivation=linear\n' >b.cfg
"$build/make_weights" --quiet a.cfg a.weights || fail make_weights a.cfg

run --help
{ [ $code -eq 0 ] && grep -q '^usage: pack_weights' out && [ ! -s err ] && ok help; } || fail help "status $code"
for option in $(sed -n 's/^  \(--[a-z]*\).*/\1/p' out); do
  grep -qF -e "Fl -${option#--}" "$man" || fail "man page" "$option is missing"
done
run; expect "no arguments" 2 "expected MODEL.cfg"
run --nonsense a.cfg a.weights a.packed; expect "unknown option" 2 "unknown option --nonsense"
run --c=3 a.cfg a.weights a.packed; expect "an option cut too short" 2 "--c may be --constant, --channels, --calibrate, --check;"
run --quiet -xy a.cfg a.weights a.packed; expect "unknown letter" 2 "unknown option -x;"
run --force=3 a.cfg a.weights a.packed; expect "a value too many" 2 "--force: this option expects no value"
run --version; { [ $code -eq 0 ] && grep -qx 'pack_weights [0-9.]*' out && ok version; } || fail version "status $code"
run --check; expect "check without a file" 2 "expected one FILE.packed"

run a.cfg a.weights a.packed; expect pack 0
{ [ -s a.packed ] && [ ! -e a.packed.part ] && ok "nothing else is left"; } || fail "nothing else is left" "$(ls)"
run --check a.packed; expect check 0
run a.cfg a.weights a.packed; expect "an existing file stays" 2 "--force"
run --force a.cfg a.weights a.packed; expect force 0
run --force a.cfg a.weights a.weights; expect "the weights stay" 2 "another file for the output"
cp a.cfg own.cfg
run --force own.cfg a.weights own.cfg; expect "the cfg stays" 2 "found the cfg"
cp a.weights own.packed.part
run a.cfg own.packed.part own.packed; expect "weights of the temporary name stay" 2 "found the weights"
{ cmp -s a.cfg own.cfg && cmp -s a.weights own.packed.part && ok "as they were"; } || fail "as they were" "$(ls -l own*)"
run --force a.cfg a.weights .; expect "a folder stays" 2 "no regular file"
mkfifo pipe
run --force a.cfg a.weights pipe; expect "a pipe stays" 2 "no regular file"
run a.cfg pipe b.packed; expect "weights from a pipe" 2 "expected a regular file"
rm pipe
run a.cfg a.weights same.packed
{ cmp -s a.packed same.packed && ok "the same file again"; } || fail "the same file again" "they differ"

# Narrow weights.
printf 'P6 40 30 255\n' >a.ppm
head -c 3600 a.weights >>a.ppm
for type in fp16 int8 int4; do
  run --weights $type --measure a.ppm a.cfg a.weights a-$type.packed; expect "$type" 0
  { grep -q '^    2  convolutional' out && [ "$(wc -l <out)" -eq 4 ]; } || fail "$type: the table" "$(cat out)"
  run --check a-$type.packed; expect "$type: check" 0
  "$build/run_inference" a-$type.packed a.ppm >run.out 2>&1 || fail "$type: run" "$(cat run.out)"
  "$build/run_inference" a.cfg a-$type.packed a.ppm >run.out 2>&1 || fail "$type: run with its cfg" "$(cat run.out)"
  "$build/run_inference" --predict a.cfg a-$type.packed >run.out 2>&1 || fail "$type: predict" "$(cat run.out)"
done
run --force --weights int4 --measure a.ppm --keep-above 0 a.cfg a.weights x.packed; expect "keep all wider" 0
[ "$(grep -c ' float32 .*kept wider' out)" -eq 2 ] || fail "keep all wider" "$(cat out)"
run --force --weights int8 --measure a.ppm --keep-above 0.5 a.cfg a.weights x.packed; expect "keep none wider" 0
{ ! grep -q wider out && cmp -s x.packed a-int8.packed && ok "the file of narrow weights"; } || fail "keep none wider" "$(cat out)"
rm x.packed
run --weights int7 a.cfg a.weights x.packed; expect "no type" 2 "found 'int7'"
run --keep-above 0.1 a.cfg a.weights x.packed; expect "keep without a measure" 2 "--measure"
run --measure a.ppm --keep-above -1 a.cfg a.weights x.packed; expect "a negative error" 2 "0 or more"
run --measure a.ppm --keep-above 0x1 a.cfg a.weights x.packed; expect "no decimal error" 2 "0 or more"
run --measure no.ppm a.cfg a.weights x.packed; expect "no picture" 1 "no.ppm"
# Integer activations: the middle one of three convolutions.
printf "$net"'[convolutional]\nfilters=40\nsize=3\npad=1\nactivation=leaky\n[convolutional]\nfilters=8\nsize=1\nactivation=linear\n' >w.cfg
"$build/make_weights" --quiet w.cfg w.weights || fail make_weights w.cfg
cp a.ppm b.ppm
run --activations int8 --calibrate a.ppm b.ppm w.cfg w.weights w.packed; expect "integers" 0
{ grep -q '^ranges by ' out && grep -q '^    2  convolutional    int8 ' out && grep -q '^    3  convolutional    float32 ' out; } ||
  fail "integers: the table" "$(cat out)"
{ [ "$(grep -c '^ranges by .*, channels equalized: ' out)" -eq 0 ] && [ "$(grep -c '^ranges by .*, taken$' out)" -eq 1 ]; } || fail "integers: nothing to equalize" "$(cat out)"
run --check w.packed; expect "integers: check" 0
# Depthwise convolutions whose channels may be equalized.
printf "$net"'[convolutional]\nfilters=40\nsize=1\nactivation=leaky\n[convolutional]\nfilters=40\ngroups=40\nsize=3\npad=1\nactivation=relu\n[convolutional]\nfilters=24\nsize=1\nactivation=linear\n[convolutional]\nfilters=8\nsize=1\nactivation=linear\n' >d.cfg
"$build/make_weights" --quiet d.cfg d.weights || fail make_weights d.cfg
run --activations int8 --calibrate a.ppm b.ppm d.cfg d.weights d.packed; expect "depthwise integers" 0
{ [ "$(grep -c '^ranges by .*, channels equalized: ' out)" -eq 2 ] && [ "$(grep -c '^ranges by .*, taken$' out)" -eq 1 ]; } || fail "channels equalized" "$(cat out)"
"$build/run_inference" d.packed a.ppm >run.out 2>&1 || fail "depthwise integers: run" "$(cat run.out)"
"$build/run_inference" w.packed a.ppm >run.out 2>&1 || fail "integers: run" "$(cat run.out)"
"$build/run_inference" --plan 1x1/2/rows:streamed w.packed a.ppm >run.out 2>&1 || fail "integers: streamed" "$(cat run.out)"
"$build/run_inference" w.cfg w.packed a.ppm >run.out 2>&1
{ [ $? -eq 2 ] && [ "$(wc -l <run.out)" -eq 1 ] && grep -q 'run by itself' run.out && ok "no cfg beside them"; } || fail "no cfg beside them" "$(cat run.out)"
run --force --activations int8 --calibrate a.ppm --measure b.ppm --keep-above 0 w.cfg w.weights x.packed; expect "nothing left to compute" 0
[ "$(grep -c ' float32 .*kept wider' out)" -eq 1 ] || fail "nothing left to compute" "$(cat out)"
"$build/run_inference" x.packed a.ppm >run.out 2>&1 || fail "nothing left to compute: run" "$(cat run.out)"
rm x.packed
cp a.ppm own.ppm
run --force --activations int8 --calibrate own.ppm b.ppm w.cfg w.weights own.ppm; expect "a picture to calibrate by stays" 2 "own.ppm: expected another file for the output, found a picture"
run --force --measure own.ppm a.cfg a.weights own.ppm; expect "a picture to measure by stays" 2 "own.ppm: expected another file"
mv own.ppm own.part
run --activations int8 --calibrate b.ppm own.part w.cfg w.weights own; expect "a picture of the temporary name stays" 2 "own.part: expected another file"
{ cmp -s a.ppm own.part && ok "pictures as they were"; } || fail "pictures as they were" "$(ls -l own*)"
run --activations int8 --calibrate a.ppm b.cfg a.weights x.packed; expect "nothing to compute" 2 "no layer can"
run --activations int4 --calibrate a.ppm w.cfg w.weights x.packed; expect "no type of activations" 2 "found 'int4'"
run --activations int8 w.cfg w.weights x.packed; expect "activations without pictures" 2 "--calibrate"
run --calibrate a.ppm w.cfg w.weights x.packed; expect "pictures without activations" 2 "--activations"
run --activations int8 --weights fp16 --calibrate a.ppm w.cfg w.weights x.packed; expect "activations and wide weights" 2 "--weights int8"
run --check --activations int8 w.packed; expect "check of activations" 2 "--check"
run --check --weights int8 a.packed; expect "check of a type" 2 "--check"

run no.cfg a.weights x.packed; expect "no cfg" 2 no.cfg
run a.cfg no.weights x.packed; expect "no weights" 2 no.weights
run b.cfg a.weights x.packed; expect "weights of another cfg" 2 "the file ends in layer 2"
run a.cfg a.packed x.packed; expect "packed already" 2 "packed"
run a.cfg a.weights no-such-folder/x.packed; expect "no folder" 1 no-such-folder
run --check a.weights; expect "check of Darknet's file" 2 MAFATPK1
head -c 100 a.packed >short.packed
run --check short.packed; expect "check of a short file" 2 short.packed
[ ! -e x.packed ] && [ ! -e x.packed.part ] || fail "failures leave nothing" "$(ls)"

# Layer 2 starts after header, table and layer 0.
cp a.packed damaged.packed
printf 'x' | dd of=damaged.packed bs=1 seek=12300 conv=notrunc 2>dd.log
run --check damaged.packed; expect "check of a damaged file" 2 "is damaged"

# A file that cannot grow, as on a full disk; and a link in its place, which is not followed.
(trap '' XFSZ && ulimit -f 8 && exec "$program" a.cfg a.weights full.packed) >out 2>err
code=$?; expect "a full disk" 1 "cannot write"
[ ! -e full.packed ] && [ ! -e full.packed.part ] || fail "a full disk leaves nothing" "$(ls full*)"
ln -s /dev/null full.packed.part
run a.cfg a.weights full.packed; expect "a link in its place" 1 "full.packed.part: "
rm full.packed.part
if [ -c /dev/full ]; then
  "$program" --weights int8 --measure a.ppm w.cfg w.weights lost.packed >/dev/full 2>err
  code=$?; expect "what is measured cannot be told" 1 "cannot write to standard output"
  [ ! -e lost.packed ] && [ ! -e lost.packed.part ] || fail "what is measured cannot be told" "$(ls lost*)"
  "$program" --help >/dev/full 2>err
  code=$?; expect "help to a full disk" 1 "cannot write to standard output"
fi

(ulimit -f 1; "$program" a.cfg a.weights large.packed 2>err >out) 2>shell.log
code=$?; expect "past the largest file" 1 "cannot write"
[ ! -e large.packed.part ] || fail "past the largest file" "$(ls large*)"

# Interrupted, with a network large enough to be at work.
printf '[net]\nwidth=64\nheight=64\nchannels=64\n[connected]\noutput=600\nactivation=linear\n' >large.cfg
"$build/make_weights" --quiet large.cfg large.weights
"$program" large.cfg large.weights large.packed 2>err &
pid=$!
sleep .1
if kill -TERM $pid 2>kill.log; then
  wait $pid
  code=$?
  { [ $code -eq 143 ] && [ ! -e large.packed ] && [ ! -e large.packed.part ] && ok interrupted; } ||
    fail interrupted "status $code; $(ls large*)"
else
  wait $pid
  skip interrupted "it was done before"
fi
(trap '' HUP; exec "$program" --force large.cfg large.weights large.packed 2>err) &
pid=$!
sleep .1
kill -HUP $pid 2>kill.log
wait $pid
code=$?; expect "hang-ups that are ignored" 0

# Results are the same with the cfg and without.
"$build/make_weights" --quiet a.cfg a.weights
printf 'P6\n8 8\n255\n%192s' ' ' | tr ' ' 'm' >picture.ppm
if "$build/run_inference" --json a.cfg a.weights picture.ppm >darknet.json 2>err; then
  "$build/run_inference" --dump-output darknet.raw a.cfg a.weights picture.ppm >out 2>&1
  "$build/run_inference" --dump-output packed.raw a.cfg a.packed picture.ppm >out 2>&1
  { [ -s darknet.raw ] && cmp -s darknet.raw packed.raw && ok "run_inference takes it"; } ||
    fail "run_inference takes it" "$(head -c 300 out)"
  mkdir -p alone
  cp a.packed alone/a.packed
  "$build/run_inference" --dump-output alone.raw alone/a.packed picture.ppm >out 2>&1
  { cmp -s darknet.raw alone.raw && ok "without its cfg"; } || fail "without its cfg" "$(head -c 300 out)"
else
  skip "run_inference takes it" "$(head -c 100 err)"
fi

# run_inference on FILE.packed alone, or with a cfg before it.
infer() {
  timeout 20 "$build/run_inference" "$@" >out 2>err
  code=$?
}

head -c 192000 /dev/zero | tr '\0' 'm' >floats.raw
infer --predict alone/a.packed; expect "asked without its cfg" 0
grep -q 'packed weights' out || fail "asked without its cfg" "$(head -n 1 out)"
infer --predict a.cfg alone/a.packed; expect "asked with it" 0
infer alone/a.packed; expect "no picture" 2 "expected an IMAGE"
infer b.cfg a.packed --input floats.raw; expect "another cfg" 2 "packed for another network"
infer --predict alone/a.packed one two; expect "too many arguments" 2 "expected MODEL.packed [IMAGE]"

# Options that describe the model are stored: a run without them, alone or with the cfg before it, has the same bits.
{ printf 'P6\n12 5\n255\n'; seq 100 999 | head -c 180; } >wide.ppm
options='--mean 7,8.5,9 --scale 1/99,1/100,1/101 --channels bgr --resize letterbox --pad 33'
# shellcheck disable=SC2086 # words
run $options a.cfg a.weights stored.packed; expect "options are stored" 0
# shellcheck disable=SC2086
infer --quiet --dump-output wanted.raw $options a.cfg a.weights wide.ppm; expect "options of a run" 0
infer --quiet --dump-output plain.raw a.cfg a.weights wide.ppm; expect "no options" 0
infer --quiet --dump-output stored.raw stored.packed wide.ppm; expect "stored options" 0
infer --quiet --dump-output beside.raw a.cfg stored.packed wide.ppm; expect "stored options, with the cfg" 0
{ [ -s wanted.raw ] && cmp -s wanted.raw stored.raw && cmp -s wanted.raw beside.raw && ! cmp -s wanted.raw plain.raw && ok "stored options, the same bits"; } ||
  fail "stored options, the same bits" "$(cksum ./*.raw)"
# shellcheck disable=SC2086
infer --quiet --dump-output wanted.raw $options --channels rgb --pad 250 a.cfg a.weights wide.ppm
infer --quiet --dump-output stored.raw --channels rgb --pad 250 stored.packed wide.ppm; expect "an option in place of a stored one" 0
{ cmp -s wanted.raw stored.raw && ok "others stay"; } || fail "others stay" "they differ"
infer --predict --json stored.packed
grep -qF '"mean":[7,8.5,9]' out && grep -qF '"source":"file","resize":"letterbox","pad":33' out && ok "stored options are predicted" || fail "stored options are predicted" "$(head -c 300 out)"
"$build/mafat_serve" --predict --json stored.packed >out 2>err
grep -qF '"channels":"bgr"' out && ok "stored options are served" || fail "stored options are served" "$(head -c 300 out err)"
run --check stored.packed; expect "check of stored options" 0
# shellcheck disable=SC2086
run $options --weights int8 --measure wide.ppm a.cfg a.weights x.packed; expect "options of measured pictures" 0
cp out with
run --force --weights int8 --measure wide.ppm a.cfg a.weights x.packed
{ ! cmp -s out with && ok "measured pictures follow them"; } || fail "measured pictures follow them" "$(cat out)"
rm x.packed
run --channels gray a.cfg a.weights x.packed; expect "channels of another input" 2 "a.cfg: expected an input of 1 channel for channels gray, found 3"
run --channels grb a.cfg a.weights x.packed; expect "no channels" 2 "--channels expects rgb, bgr or gray, found 'grb'"
run --pad 256 a.cfg a.weights x.packed; expect "no pad" 2 "--pad expects"
run --scale 3e38 --mean 9 a.cfg a.weights x.packed; expect "pixels that are not finite" 2 "finite numbers for bytes"
run --decode yolox a.cfg a.weights x.packed; expect "decode of a cfg" 2 "--decode is of ONNX and TFLite models"
run --check --resize corner a.packed; expect "check with an option of pictures" 2 "make no sense with --check"
[ ! -e x.packed ] && [ ! -e x.packed.part ] || fail "refused options leave nothing" "$(ls)"

# A file of version 1, as mafat 0.1 wrote it: with its cfg, the same bits.
head -c 768 /dev/zero | tr '\0' 'm' >floats.raw
"$build/make_weights" --quiet --seed 1 "$version1.cfg" version1.weights
infer --quiet --dump-output new.raw --input floats.raw "$version1.cfg" version1.weights; expect "what version 1 was made from" 0
infer --quiet --dump-output old.raw --input floats.raw "$version1.cfg" "$version1.packed"; expect "version 1" 0
{ [ -s new.raw ] && cmp -s new.raw old.raw && ok "version 1 has the same bits"; } || fail "version 1 has the same bits" "they differ"
run --check "$version1.packed"; expect "check of version 1" 0
infer --input floats.raw "$version1.packed"; expect "version 1 without its cfg" 2 "without their network"
# A packed file belongs to one of the two forks.
printf "$net"'[convolutional]\nbatch_normalize=1\nfilters=40\nsize=1\nactivation=linear\n' >fork.cfg
"$build/make_weights" --quiet fork.cfg fork.weights
run --fork nobody fork.cfg fork.weights fork.packed; expect "fork unknown" 2 "expected a fork of Darknet (auto, darknet, alexeyab), found nobody"
run --check --fork darknet a.packed; expect "fork with --check" 2 "--fork makes no sense with --check"
run --fork; expect "fork without a value" 2 "--fork expects a value"
for fork in darknet alexeyab; do
  run --force --fork $fork fork.cfg fork.weights $fork.packed; expect "fork $fork" 0
  for file in fork.weights $fork.packed; do
    "$build/run_inference" --quiet --fork $fork --dump-output "$fork-$file.raw" fork.cfg "$file" picture.ppm >out 2>err || fail "fork $fork runs" "$(cat err)"
  done
  { cmp -s "$fork-fork.weights.raw" "$fork-$fork.packed.raw" && ok "fork $fork, the same bits"; } || fail "fork $fork, the same bits" "they differ"
done
{ ! cmp -s darknet-fork.weights.raw alexeyab-fork.weights.raw && ok "forks differ"; } || fail "forks differ" "they do not"
"$build/run_inference" --quiet fork.cfg alexeyab.packed picture.ppm >out 2>err
code=$?
expect "fork of another" 2 "packed for AlexeyAB's Darknet, here fork.cfg is pjreddie's: name the fork"
exit $failed
