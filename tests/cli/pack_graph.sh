#!/usr/bin/env bash
# Checks pack_weights and make_weights --like with generated ONNX and TFLite models.
set -u
# shellcheck disable=SC2034 # by tests/check.sh
suite=pack_graph
# shellcheck source=tests/model_files.sh
. tests/model_files.sh
cd "$dir" || exit 1

# write [ARGUMENT...]: a convolution, a normalization and a matrix. One argument: weights are in
# numbers.bin beside the model. Two: a table of the largest integers of both signs.
writer write onnx_writer.c <<'C'
#include "tests/support/onnx_writer.h"
#include <stdio.h>
static const int64_t x[] = {1, 3, 8, 8}, w[] = {8, 3, 3, 3}, b[] = {8}, m[] = {8, 5}, y[] = {1, 5};
static double numbers[216];
static int write_table(void)
{
  static const int64_t places[] = {3, 4}, table[] = {8, 5};
  struct test_message graph = {0};
  for (int i = 0; i < 40; i++) numbers[i] = i % 2 ? 3e38 : -3e38;
  test_onnx_add(&graph, "Gather", "table x", "y", "");
  test_onnx_floats(&graph, "table", 2, table, numbers);
  test_onnx_input(&graph, "x", 2, places);
  test_onnx_output(&graph, "y", -1, 0);
  struct test_message file = test_onnx_model(&graph, 13);
  return fwrite(file.data, 1, file.n, stdout) != file.n;
}
int main(int argc, char **argv)
{
  struct test_message graph = {0};
  (void)argv;
  if (argc > 2) return write_table();
  for (int i = 0; i < 216; i++) numbers[i] = .25 + (i * 37 % 64) / 64.;
  test_onnx_input(&graph, "x", 4, x);
  test_onnx_add(&graph, "Conv", "x w", "c", "pads=[1,1,1,1]");
  test_onnx_add(&graph, "BatchNormalization", "c s b a v", "n", "");
  test_onnx_add(&graph, "Relu", "n", "r", "");
  test_onnx_add(&graph, "GlobalAveragePool", "r", "g", "");
  test_onnx_add(&graph, "Flatten", "g", "f", "");
  test_onnx_add(&graph, "MatMul", "f m", "y", "");
  test_onnx_initializer(&graph, &(struct test_onnx_tensor){.name = "w", .type = 1, .rank = 4, .dims = w, .values = numbers,
                        .style = argc > 1 ? TEST_ONNX_EXTERNAL : TEST_ONNX_RAW, .location = "numbers.bin"});
  test_onnx_floats(&graph, "s", 1, b, numbers + 1);
  test_onnx_floats(&graph, "b", 1, b, numbers + 2);
  test_onnx_floats(&graph, "a", 1, b, numbers + 3);
  test_onnx_floats(&graph, "v", 1, b, numbers + 4);
  test_onnx_floats(&graph, "m", 2, m, numbers);
  test_onnx_output(&graph, "y", 2, y);
  struct test_message file = test_onnx_model(&graph, 13);
  return fwrite(file.data, 1, file.n, stdout) != file.n;
}
C
writer write_tflite tflite_operators.c tflite_writer.c <<'C'
#include "tests/support/tflite_operators.h"
#include <stdio.h>
#include <string.h>
int main(void)
{
  int i = 0;
  size_t n;
  while (i < test_tflite_n_operators() && !strstr(test_tflite_operator_name(i), "conv")) i++;
  char *data = test_tflite_write(test_tflite_operator_model(i), &n);
  return fwrite(data, 1, n, stdout) != n;
}
C
./write >a.onnx
./write_tflite >a.tflite
mkdir beside
./write apart >beside/b.onnx
head -c 864 /dev/zero | tr '\0' '\076' >beside/numbers.bin # floats of .19
head -c 768 /dev/zero | tr '\0' 'm' >picture.raw
head -c 192 /dev/zero | tr '\0' '\077' >floats.raw

# infer OUT MODEL OPTION...: runs the model on floats
infer() {
  timeout 20 "$build/run_inference" --quiet --input floats.raw --dump-output "$1" "${@:3}" "$2" >out 2>err
  code=$?
}

program=$build/pack_weights
run a.onnx a.packed; expect 'an ONNX model' 0
run --check a.packed; expect 'its checksums' 0
run a.onnx a.packed; expect 'an existing file stays' 2 '--force'
run --force a.onnx a.packed; expect 'force' 0
run a.onnx same.packed
check 'the same file again' 'it differs' cmp a.packed same.packed
run a.tflite t.packed; expect 'a TFLite model' 0
run beside/b.onnx b.packed; expect 'a model with numbers beside it' 0
run --force a.onnx a.onnx; expect 'the model stays' 2 'found the model'
run --force beside/b.onnx beside/numbers.bin; expect 'its numbers stay' 2 'constants of the model'
cp beside/b.onnx c.onnx
run c.onnx c.packed; expect 'numbers that are not there' 2 'numbers.bin'
timeout 20 "$build/run_inference" --predict --decode none c.onnx >out 2>err
code=$?; expect 'asked without them' 0
for kind in folder pipe device; do # the same for small files: unit test a_file_beside_is_regular
  mkdir "its-$kind" && cp c.onnx "its-$kind"
  text='numbers.bin: expected a regular file'
  case $kind in
  folder) mkdir its-folder/numbers.bin ;;
  pipe) mkfifo its-pipe/numbers.bin ;;
  device) ln -s /dev/zero its-device/numbers.bin && text='inside the model'"'"'s folder, found "numbers.bin"' ;;
  esac
  run "its-$kind/c.onnx" c.packed; expect "numbers in a $kind" 2 "$text"
  infer x.raw "its-$kind/c.onnx"; expect "run with numbers in a $kind" 2 "$text"
done
timeout 20 "$build/run_inference" --predict /dev/stdin < <(cat a.tflite) >out 2>err
code=$?; expect 'a TFLite model in a pipe' 0
run a.packed again.packed; expect 'packed already' 2 'packed weights file already'
run picture.raw p.packed; expect 'no model' 2 'expected an ONNX or TFLite model'
run --fork darknet a.onnx f.packed; expect 'a fork' 2 "--fork is of Darknet's networks"
run a.onnx; expect 'one argument' 2 'expected MODEL.cfg, MODEL.weights and OUT.packed, or MODEL.onnx'
run a.onnx a.onnx x.packed; expect 'a model for a cfg' 2 'a.onnx'
run no.onnx x.packed; expect 'no file' 2 'no.onnx'
head -c 300 a.onnx >cut.onnx
run cut.onnx cut.packed; expect 'a model that is cut' 2 'cut.onnx'
mkfifo pipe
run pipe x.packed; expect 'a pipe' 2 'expected a regular file'
[ -z "$(ls -- *.part c.packed x.packed cut.packed f.packed 2>/dev/null)" ] || fail 'failures leave nothing' "$(ls)"

head -c 768 /dev/zero | tr '\0' '\076' >floats.raw
for plan in 1x1:direct/NoCut rows2:direct:streamed/NoCut panels:direct:loaded/NoCut; do
  for model in a.onnx beside/b.onnx; do
    packed=${model##*/}
    infer model.raw $model --plan $plan; expect "$model by $plan" 0
    infer packed.raw "${packed%.onnx}.packed" --plan $plan; expect "packed by $plan" 0
    check "the same bits by $plan" 'they differ' cmp model.raw packed.raw
  done
done
mkdir alone && mv b.packed alone && mv beside elsewhere
infer alone.raw alone/b.packed
check 'without the model' 'it differs' cmp alone.raw packed.raw
timeout 20 "$build/run_inference" --predict --decode none a.packed >out 2>err
code=$?; expect 'asked' 0
{ grep -q 'packed weights' out && grep -q '^inputs *x float32\[1, 3, 8, 8\]' out && grep -q '^outputs *y float32\[1, 5\]' out; } || fail 'asked' "$(head -n 4 out)"

# Damage in the embedded graph, the index and the weights.
size=$(stat -c %s a.packed)
for at in 20 4100 4140 8200 8300 12400 $((size - 4000)); do
  cp a.packed damaged.packed
  printf '\377' | dd of=damaged.packed bs=1 seek=$at conv=notrunc 2>dd.log
  if cmp -s a.packed damaged.packed; then continue; fi
  run --check damaged.packed; expect "damage at $at" 2 'damaged'
  infer x.raw damaged.packed
  { [ $code -eq 2 ] && [ "$(wc -l <err)" = 1 ] && ok "refused with damage at $at"; } || fail "refused with damage at $at" "status $code: $(head -c 200 err)"
done
head -c 6000 a.packed >short.packed
infer x.raw short.packed; expect 'a short file' 2 'short.packed'

# ---- make_weights --like ----

program=$build/make_weights
run --like a.onnx like.onnx; expect 'like' 0
check 'as long as it' "$(stat -c %s a.onnx like.onnx)" [ "$(stat -c %s a.onnx)" = "$(stat -c %s like.onnx)" ]
if cmp -s a.onnx like.onnx; then fail 'other weights' 'they are the same'; else ok 'other weights'; fi
run --like a.onnx again.onnx
check 'the same file again' 'it differs' cmp like.onnx again.onnx
run --seed 2 --like a.onnx again.onnx; expect 'another seed' 0
if cmp -s like.onnx again.onnx; then fail 'another seed' 'the same file'; fi
infer like.raw like.onnx; expect 'it runs' 0
./write a table >wide.onnx
run --like wide.onnx like-wide.onnx; expect 'like the largest numbers' 0
program=$build/pack_weights run like-wide.onnx like-wide.packed; expect 'which stay numbers' 0
run --like a.tflite like.tflite; expect 'like a TFLite model' 0
run --like a.onnx a.onnx; expect 'not in its place' 2 'found the model'
mkdir another
run --like elsewhere/b.onnx another/b.onnx; expect 'numbers beside it' 0
check 'the same graph' 'it differs' cmp elsewhere/b.onnx another/b.onnx -n 100
check 'as long as they' "$(stat -c %s another/numbers.bin)" [ "$(stat -c %s elsewhere/numbers.bin)" = "$(stat -c %s another/numbers.bin)" ]
if cmp -s elsewhere/numbers.bin another/numbers.bin; then fail 'other numbers' 'they are the same'; else ok 'other numbers'; fi
infer like.raw another/b.onnx; expect 'it runs, with its numbers' 0
run --like elsewhere/b.onnx another/c.onnx; expect 'numbers that are there' 2 'another/numbers.bin: exists'
run --like elsewhere/b.onnx elsewhere/c.onnx; expect 'in the same folder' 2 'elsewhere/numbers.bin: exists'
check 'nothing beside numbers that are there' 'something is left' [ ! -e another/c.onnx -a ! -e elsewhere/c.onnx ]
mkdir one
run --like elsewhere/b.onnx one/../one/numbers.bin; expect 'a name for two' 2 "that of the model's constants"
long=$(printf 'x%.0s' {1..250}) # with a temporary suffix the name would be too long
run --like elsewhere/b.onnx "one/$long"; expect 'numbers alone' 1 'File name too long'
check 'are not left' "$(ls one)" [ -z "$(ls one)" ]
cp elsewhere/b.onnx c.onnx
mkdir empty
run --like c.onnx empty/d.onnx; expect 'numbers that are missing' 2 'numbers.bin: cannot open'
check 'nothing of them' 'there is' [ -z "$(ls empty)" ]
[ "$(ls another)" = "$(printf 'b.onnx\nnumbers.bin')" ] || fail 'nothing half-written' "$(ls another)"
run --like picture.raw x.onnx; expect 'like no model' 2 'expected an ONNX or TFLite model'
run --like a.packed x.onnx; expect 'like a packed one' 2 'expected an ONNX or TFLite model'
run --like no.onnx x.onnx; expect 'like none' 2 'no.onnx'
run --like a.onnx; expect 'like, and no name' 2 'expected one OUT'
run --like; expect 'like what' 2 '--like expects a value'
run -lx a.onnx x.onnx; expect 'an unknown letter' 2 'unknown option -l;'

# An input, a device or a link is never replaced by the weights.
printf '[net]\nwidth=8\nheight=8\nchannels=64\n[connected]\noutput=60\nactivation=linear\n' >small.cfg
cp small.cfg kept.cfg
run small.cfg small.cfg; expect 'not in place of the cfg' 2 'found the cfg'
check 'the cfg is kept' 'it differs' cmp small.cfg kept.cfg
mkfifo device
run small.cfg device; expect 'not in place of a pipe' 2 'no regular file'
[ -p device ] || fail 'the pipe is kept' "$(ls -l device)"
mkdir other
echo old >other/real.weights
ln -s other/real.weights link.weights
run small.cfg link.weights; expect 'through a link' 0
check 'the link stays' "$(ls -l link.weights)" [ -L link.weights ]
check 'what it leads to' "$(ls -l other)" [ "$(stat -c %s other/real.weights)" -gt 100000 ]
(ulimit -f 1; "$program" --quiet small.cfg limited.weights 2>err >out) 2>log
code=$?; expect 'past the largest file' 1 'limited.weights: '

# Interrupted while writing.
sed -e 's/=8/=64/' -e 's/=60/=600/' small.cfg >large.cfg
stopped() { # SIGNAL
  "$program" --quiet large.cfg stopped.weights 2>err >out &
  local pid=$!
  until ls stopped.weights* >ls.log 2>&1 || ! kill -0 $pid 2>kill.log; do :; done
  kill "-$1" $pid
  wait $pid
  code=$?
}
for end in TERM HUP XCPU; do
  stopped $end 2>log
  check "$end" "status $code" [ $code -eq $((128 + $(kill -l $end))) ]
done
rest=$(ls -d stopped.weights* limited.weights* 2>ls.log)
[ -z "$rest" ] || fail 'nothing half-written' "$rest"
exit $failed
