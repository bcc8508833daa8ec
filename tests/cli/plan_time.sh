#!/usr/bin/env bash
# Checks --plan-time: in every budget the outputs have the same bits, however long the search takes.
# If the budget is large, the first plan is nearly as fast as the plan of a search.
set -u

# shellcheck source=tests/check.sh
. tests/check.sh
suite=plan_time
build=$(realpath "${BUILD:-build}")
program=$build/run_inference
dir=$(mktemp -d -p "$build") || exit 1
at_end 'rm -rf "$dir"'
cd "$dir" || exit 1
out=out err=err

convolution() { # FILTERS SIZE STRIDE [GROUPS]
  printf '[convolutional]\nbatch_normalize=1\nfilters=%d\nsize=%d\nstride=%d\npad=1\ngroups=%d\nactivation=leaky\n' \
    "$1" "$2" "$3" "${4:-1}"
}
{
  printf '[net]\nheight=80\nwidth=96\nchannels=3\n'
  convolution 16 3 1
  convolution 32 3 2
  convolution 32 3 1
  convolution 48 3 1
  printf '[maxpool]\nsize=2\nstride=2\n'
  convolution 64 3 1
  convolution 64 3 1
} >dense.cfg
{
  printf '[net]\nheight=64\nwidth=96\nchannels=3\n'
  convolution 16 3 2
  for _ in 1 2 3; do
    convolution 16 3 1 16
    convolution 24 1 1
    convolution 16 1 1
  done
} >separable.cfg
for net in dense separable; do "$build/make_weights" --quiet $net.cfg $net.weights || exit 1; done
{ printf 'P6\n96 64\n255\n' && head -c 18432 /dev/zero | tr '\0' 'q'; } >picture.ppm

value() { sed -n "s/.*\"$1\":\\([0-9.]*\\).*/\\1/p" "$out"; } # KEY: of the printed object

for net in dense separable; do
  run --predict --json $net.cfg $net.weights picture.ppm
  least=$(value least_charge_bytes) charge=$(value predicted_charge_bytes)
  for budget in $((least / 1024 + 64)) $(((least + charge) / 2048)) $((charge / 1024 + 400)) 1000000; do
    for threads in 1 2; do
      rm -f ./*.floats
      for seconds in default 0 0.01 2; do
        time=(--plan-time $seconds)
        [ $seconds != default ] || time=()
        run --quiet --memory ${budget}K --threads $threads "${time[@]}" \
          --dump-output $seconds.floats $net.cfg $net.weights picture.ppm
        [ $code = 0 ] || fail "$net in $budget KiB, $threads threads, $seconds s" "status $code: $(head -c 200 $err)"
      done
      for other in 0 0.01 2; do
        check "$net in $budget KiB, $threads threads: bits after $other s" "other bits" cmp default.floats $other.floats
      done
    done
  done
  run --predict --json --plan-time 0 $net.cfg $net.weights picture.ppm
  first_ms=$(value predicted_latency_ms) first=$(value predicted_charge_bytes)
  run --predict --json --search best $net.cfg $net.weights picture.ppm
  check "$net: the first plan is nearly as fast" "$first_ms ms, $(value predicted_latency_ms) after a search" \
    awk -v a="$first_ms" -v b="$(value predicted_latency_ms)" 'BEGIN { exit !(a <= 1.05 * b) }'
  check "$net: the first plan needs about as little" "$first bytes, $(value predicted_charge_bytes) after a search" \
    test "$first" -le $(($(value predicted_charge_bytes) * 11 / 10))
done
exit $failed
