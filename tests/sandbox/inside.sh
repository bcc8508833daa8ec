#!/bin/busybox sh
# First process of the machine that run.sh boots, in an initramfs. For each architecture, whose
# programs are in a folder with its name, prints a line "ok NAME" or "FAIL NAME: why" for each
# check; "finished" at the end. The counterpart of tests/cli/sandbox.sh for Arm.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mkdir -p /etc /tmp
echo 'root:x:0:0::/:/bin/sh' >/etc/passwd
exec </dev/null >/dev/ttyAMA0 2>&1
stty raw <&1 # do not translate line feeds
# shellcheck disable=SC2034 # by check.sh
suite=sandbox
# shellcheck source=tests/check.sh
. /check.sh
cd /files || exit 1

timeless() { sed 's/ in [0-9.]* ms, memory [0-9. of]* MiB//' "$1"; }
# inside NAME ARGUMENT...: the same result inside and outside
inside() {
  name=$1
  shift
  $run --sandbox on --quiet "$@" >/tmp/out 2>/tmp/err
  code=$?
  timeless /tmp/out >/tmp/timeless
  if [ $code = 0 ] && cmp /tmp/timeless /tmp/plain >/dev/null; then ok "$machine, $name"; else fail "$machine, $name" "exit status $code; $(tail -n 2 /tmp/err) $(tail -n 1 /tmp/out | head -c 300)"; fi
}
# holds NAME COMMAND...
holds() {
  name=$1
  shift
  if "$@"; then ok "$machine, $name"; else fail "$machine, $name" "$(tail -n 40 /tmp/err)"; fi
}
value() { sed -n 's/.*"'"$1"'":\([0-9]*\).*/\1/p' /tmp/out; }
as_predicted() { [ "$(value measured_resident_bytes)" -gt 0 ] && [ "$(value measured_resident_bytes)" -le "$(value predicted_resident_bytes)" ]; }
count() { grep -cE "$1" /tmp/err; }

for machine in *-linux-*; do
  run="./$machine/run_inference"
  rm -rf /tmp/outputs /tmp/marks
  mkdir /tmp/outputs
  $run --sandbox off --quiet shapes.cfg shapes.weights picture.ppm >/tmp/out 2>/tmp/err || fail "$machine" "$(cat /tmp/err)"
  timeless /tmp/out >/tmp/plain
  set -- shapes.cfg shapes.weights picture.ppm
  inside 'a picture' "$@"
  inside 'two threads' --threads 2 "$@"
  inside 'weights that are read again' --plan rows1:streamed/NoCut "$@"
  inside 'weights of each group' --threads 2 --plan 1x1:loaded/6/1x1:loaded "$@"
  inside 'marks' --marks /tmp/marks "$@"
  inside 'an output' --dump-output /tmp/outputs/output "$@"
  holds 'an output is written' test -s /tmp/outputs/output
  inside 'an output over another' --dump-output /tmp/outputs/output "$@"
  echo picture.ppm | inside 'a list' shapes.cfg shapes.weights -
  $run --sandbox on --predict shapes.cfg shapes.weights >/tmp/out 2>/tmp/err
  holds 'a prediction' grep -q '^plan' /tmp/out
  $run --sandbox on --quiet --input zeros shapes.cfg shapes.weights >/tmp/out 2>/tmp/err
  holds 'an input of numbers' test $? = 0
  $run --json --report "$@" >/tmp/out 2>/tmp/err
  holds 'it is reported' grep -q '"sandbox":"seccomp' /tmp/out
  landlock=$(grep -c Landlock /tmp/out)
  holds 'resident as predicted' as_predicted
  for plan in rows1:streamed/NoCut 2x2:loaded/4/1x1; do
    $run --json --report --plan $plan "$@" >/tmp/out 2>/tmp/err
    holds "resident as predicted, $plan" as_predicted
  done
  $run --json --report integers picture.ppm >/tmp/out 2>/tmp/err
  holds 'resident as predicted, integers' as_predicted

  # A misbehaving decoder.
  for how in off auto threads output; do
    case $how in
      off) set -- --sandbox off ;;
      auto) set -- ;;
      threads) set -- --threads 2 --plan rows1:streamed/NoCut ;;
      output) set -- --dump-output /tmp/outputs/output ;;
    esac
    rm -rf /tmp/new
    echo kept >/tmp/kept
    MISBEHAVE_FILE=/tmp/kept MISBEHAVE_NEW=/tmp/new MISBEHAVE_FOLDER=/tmp LD_LIBRARY_PATH=/lib/$machine LD_PRELOAD=/files/$machine/misbehave.so \
      "./$machine/run_inference_dynamic" --quiet "$@" shapes.cfg shapes.weights picture.ppm >/tmp/out 2>/tmp/err
    code=$?
    if [ $how = off ]; then
      holds 'misbehaving outside' grep -q 'make a file: done' /tmp/err
      continue
    fi
    timeless /tmp/out >/tmp/timeless
    holds "misbehaving, $how: it decodes all the same" cmp /tmp/timeless /tmp/plain
    holds "misbehaving, $how: it may read" grep -q 'read a file: done' /tmp/err
    # Without another process's memory: a path, which only Landlock checks.
    holds "misbehaving, $how: nothing else is done" test "$(count ': done$')" -le $((landlock > 0 ? 1 : 2))
    holds "misbehaving, $how: all is tried" test "$(count '^misbehave: .*: (Operation not permitted|Permission denied)$')" -ge 27
    holds "misbehaving, $how: nothing is left" test "$(cat /tmp/kept)" = kept -a ! -e /tmp/new
  done
done
echo finished
poweroff -f
