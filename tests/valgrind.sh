#!/usr/bin/env bash
# Runs run_inference, make_weights and pack_weights under valgrind: no error, no leak, also for
# runs that end with a message. Small networks, so that it takes seconds.
set -u
BUILD=${BUILD:-build}
# shellcheck disable=SC2034 # by tests/check.sh
suite=valgrind
# shellcheck source=tests/check.sh
. tests/check.sh
if ! command -v valgrind >/dev/null 2>&1; then
  skip everything 'not installed'
  exit 0
fi
dir=$(mktemp -d)
at_end 'rm -rf "$dir"'

# clean NAME EXPECTED-STATUS COMMAND...: also without valgrind errors
clean() {
  local name=$1 expected=$2 status=0
  shift 2
  valgrind --quiet --leak-check=full --errors-for-leak-kinds=definite,indirect,possible \
    --error-exitcode=99 "$@" >"$dir/out" 2>"$dir/err" || status=$?
  if [ "$status" = "$expected" ]; then ok "$name"; else
    fail "$name" "exit status $status, expected $expected"
    grep -E '^==' "$dir/err" | head -n 20
  fi
}

cp tests/data/small.cfg "$dir/net.cfg"
{ printf 'P6\n80 60\n255\n'; head -c 14400 /dev/urandom; } >"$dir/noise.ppm"
head -c 5000 "$dir/noise.ppm" >"$dir/short.ppm"
weights=$dir/net.weights

# Valgrind generates code in the process, which the sandbox would refuse.
clean make_weights 0 "$BUILD/make_weights" --quiet "$dir/net.cfg" "$weights"
clean untiled 0 "$BUILD/run_inference_dynamic" --sandbox off --thresh 0.01 "$dir/net.cfg" "$weights" "$dir/noise.ppm"
clean tiled 0 "$BUILD/run_inference_dynamic" --sandbox off --plan 3x2:balanced/3/2x2 --json --report --repeat 2 \
  "$dir/net.cfg" "$weights" "$dir/noise.ppm"
clean 'rows, two threads' 0 "$BUILD/run_inference_dynamic" --sandbox off --plan rows2/3/1x1 --threads 2 --algorithm winograd \
  "$dir/net.cfg" "$weights" "$dir/noise.ppm"
clean portable 0 "$BUILD/run_inference_dynamic" --sandbox off --cpu portable "$dir/net.cfg" "$weights" "$dir/noise.ppm"
clean 'several pictures, one damaged' 2 "$BUILD/run_inference_dynamic" --sandbox off "$dir/net.cfg" "$weights" \
  "$dir/noise.ppm" "$dir/short.ppm" "$dir/noise.ppm"
clean 'no such picture' 2 "$BUILD/run_inference_dynamic" --sandbox off "$dir/net.cfg" "$weights" "$dir/none.jpg"
clean 'no such plan' 2 "$BUILD/run_inference_dynamic" --sandbox off --plan 99x99/NoCut "$dir/net.cfg" "$weights" "$dir/noise.ppm"
clean 'too little memory' 3 "$BUILD/run_inference_dynamic" --sandbox off --memory 64K "$dir/net.cfg" "$weights" "$dir/noise.ppm"
printf '[net]\nwidth=8\nheight=8\nchannels=3\n[maxpool]\nsize=2\nstride=2\n' >"$dir/bare.cfg"
clean 'make_weights for no weights' 0 "$BUILD/make_weights" "$dir/bare.cfg" "$dir/bare.weights"
clean 'a network without weights' 0 "$BUILD/run_inference_dynamic" --sandbox off "$dir/bare.cfg" "$dir/bare.weights" "$dir/noise.ppm"
head -c 3000 "$weights" >"$dir/short.weights"
clean 'short weights' 2 "$BUILD/run_inference_dynamic" --sandbox off "$dir/net.cfg" "$dir/short.weights" "$dir/noise.ppm"
packed=$dir/net.packed
clean pack_weights 0 "$BUILD/pack_weights" --quiet "$dir/net.cfg" "$weights" "$packed"
clean 'pack_weights --check' 0 "$BUILD/pack_weights" --check --quiet "$packed"
clean 'packing short weights' 2 "$BUILD/pack_weights" --quiet "$dir/net.cfg" "$dir/short.weights" "$dir/short.packed"
plan=rows2:loaded/3/panels:streamed
for file in "$weights" "$packed"; do
  clean "read while running, ${file##*.}" 0 "$BUILD/run_inference_dynamic" --sandbox off --plan $plan --repeat 2 "$dir/net.cfg" "$file" "$dir/noise.ppm"
  clean "and a picture damaged" 2 "$BUILD/run_inference_dynamic" --sandbox off --plan $plan "$dir/net.cfg" "$file" "$dir/noise.ppm" \
    "$dir/short.ppm" "$dir/noise.ppm"
done

# Programs of Darknet's library through the drop-in: two networks are loaded, run and freed
# repeatedly.
lib=$(realpath "$BUILD/dropin/libmafat-darknet.so" 2>/dev/null)
if [ -z "$lib" ] || [ ! -f "$lib" ]; then
  skip "100 networks of Darknet's" 'the drop-in is not built'
  exit "$failed"
fi
gcc -g -isystem /usr/lib/darknet/include tests/darknet/network.c -o "$dir/network" -L/usr/lib/darknet -ldarknet -Wl,-rpath,/usr/lib/darknet \
  -Wl,--allow-shlib-undefined -pthread || fail "100 networks of Darknet's" 'their program cannot be built'
printf '[net]\nwidth=16\nheight=16\nchannels=3\n[convolutional]\nfilters=6\nsize=3\nstride=2\nbatch_normalize=1\nactivation=leaky\n[dropout]\n[avgpool]\n[connected]\noutput=4\n[softmax]\n[cost]\n' >"$dir/class.cfg"
sed 's/width=64/width=32/; s/height=48/height=32/; s/mish/leaky/' "$dir/net.cfg" >"$dir/head.cfg"
"$BUILD/make_weights" --quiet "$dir/class.cfg" "$dir/class.weights" && "$BUILD/make_weights" --quiet "$dir/head.cfg" "$dir/head.weights"
cycles=100 # a leak shows after ten cycles, too
[ "${MAFAT_TEST_SIZE:-}" != gate ] || cycles=10
# Darknet's libraries use instructions that valgrind has only if the processor reports them:
# rdtscp.
begins() { { valgrind -q "$dir/network"; } >/dev/null 2>&1; echo $?; }
if [ "$(begins 2>/dev/null)" = 132 ]; then
  skip "$cycles networks of Darknet's" "valgrind cannot begin a library that Darknet's needs on this processor"
  exit "$failed"
fi
export LD_PRELOAD=$lib
clean "load, predict, free: $cycles times, two networks by the drop-in" 0 "$dir/network" cycles "$cycles" "$dir/head.cfg" "$dir/head.weights" "$dir/class.cfg" "$dir/class.weights"
unset LD_PRELOAD
exit "$failed"
