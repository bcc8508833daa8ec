#!/bin/busybox sh
# First process of the machine that run.sh boots, in an initramfs. Prints to the second serial port
# a line "ok NAME" or "FAIL NAME: why" for each check, and "finished" at the end.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
exec </dev/null >/dev/ttyS1 2>&1
stty raw <&1 # do not translate line feeds
# shellcheck disable=SC2034 # by check.sh
suite=camera
# shellcheck source=tests/check.sh
. /check.sh
cd /files || exit 1

while read -r module; do insmod "/modules/$module"; done </modules/order 2>/tmp/insmod
tries=100
until [ -c /dev/video0 ] || [ $tries = 0 ]; do
  tries=$((tries - 1))
  sleep 0.1
done
if [ -c /dev/video0 ]; then ok 'a camera'; else fail 'a camera' "$(cat /tmp/insmod)"; fi

# seen OPTION...: runs some seconds; lines go to /tmp/out, the report last, messages to /tmp/err;
# at least three frames
seen() {
  timeout -s INT 12 ./run_inference --report --camera /dev/video0 "$@" --names shapes.names shapes.cfg shapes.weights >/tmp/out 2>/tmp/err
  [ "$(grep -c '^{"frame":' /tmp/out)" -ge 3 ] && grep -q '^{"video":' /tmp/out
}
value() { sed -n 's/.*"'"$1"'":\([0-9.]*\).*/\1/p' /tmp/out | tail -n 1; } # a number of the report
# tried NAME COMMAND...
tried() {
  name=$1
  shift
  if "$@"; then ok "$name"; else fail "$name" "$(tail -n 2 /tmp/err) $(tail -n 1 /tmp/out | head -c 300)"; fi
}
as_predicted() { [ "$(value measured_resident_bytes)" -gt 0 ] && [ "$(value measured_resident_bytes)" -le "$(value predicted_resident_bytes)" ]; }
refused() { # STATUS TEXT OPTION...
  status=$1 text=$2
  shift 2
  ./run_inference "$@" shapes.cfg shapes.weights >/tmp/out 2>/tmp/err
  [ $? = "$status" ] && [ "$(wc -l </tmp/err)" = 1 ] && grep -qF -e "$text" /tmp/err
}

tried 'frames as the camera stands' seen
tried 'resident as predicted' as_predicted
for kind in yuv420p nv12 yuyv rgb24; do
  tried "frames of $kind" seen --video 640x360:$kind --sandbox on
  tried "$kind: resident as predicted" as_predicted
done
tried 'none is late' seen --video 640x360:yuyv --live
tried 'boxes on frames' seen --video 640x360:yuyv --overlay /tmp/overlay
if [ "$(head -c 10 /tmp/overlay)" = 'YUV4MPEG2 ' ]; then ok 'frames with boxes'; else fail 'frames with boxes' "$(head -c 100 /tmp/overlay)"; fi
rm -f /tmp/overlay
tried 'a size that it has not' refused 2 'the camera offers' --camera /dev/video0 --video 642x358:yuyv
tried 'no camera' refused 2 'expected a camera' --camera /dev/null
tried 'its buffers do not fit' refused 3 'does not fit' --memory 5M --camera /dev/video0 --video 1920x1080:rgb24
./run_inference --predict --json --camera /dev/video0 --video 640x360:yuyv shapes.cfg >/tmp/out 2>/tmp/err
if grep -q '"predicted_charge_bytes":[0-9]' /tmp/out; then ok 'only asked'; else fail 'only asked' "$(cat /tmp/err)"; fi
echo finished
poweroff -f
