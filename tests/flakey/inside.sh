#!/bin/busybox sh
# First process of the machine that run.sh boots, in an initramfs. Prints to the second serial port
# a line "ok NAME" or "FAIL NAME: why" for each check, and "finished" at the end.
/bin/busybox --install -s /bin
export PATH=/bin DM_DISABLE_UDEV=1 # dmsetup makes the nodes itself
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
exec </dev/null >/dev/ttyS1 2>&1
stty raw <&1 # do not translate line feeds
# shellcheck disable=SC2034 # by check.sh
suite=flakey
# shellcheck source=tests/check.sh
. /check.sh
cd /files || exit 1

while read -r module; do insmod "/modules/$module"; done </modules/order 2>/tmp/insmod
losetup /dev/loop0 /image
size=$(($(stat -c %s /image) / 512))

# table FLAKEY-ARGUMENTS: seconds up, seconds down, features; does not wait for pending requests
table() {
  dmsetup suspend --noudevsync --nolockfs --noflush disk && dmsetup load --noudevsync disk --table "0 $size flakey /dev/loop0 0 $*" && dmsetup resume --noudevsync disk
}
fails() { table 0 86400; }                      # all reads and writes fail
fails_writes() { table 0 86400 1 error_writes; }
loses_writes() { table 0 86400 1 drop_writes; } # writes are dropped and reported as done
works() { table 86400 0; }

if dmsetup create --noudevsync disk --table "0 $size flakey /dev/loop0 0 86400 0" && [ -e /dev/mapper/disk ] && mount -t ext4 /dev/mapper/disk /disk; then
  ok 'a disk that fails'
else
  fail 'a disk that fails' "$(cat /tmp/insmod; dmsetup targets; ls /dev/mapper)"
  echo finished
  poweroff -f
fi
mount_again() { umount /disk && mount -t ext4 /dev/mapper/disk /disk; }

run_inference --quiet --plan rows1:streamed/NoCut shapes.cfg /disk/shapes.weights 000000.jpg >/tmp/expected 2>/tmp/err || fail 'a run' "$(cat /tmp/err)"
pack_weights --quiet shapes.cfg shapes.weights /tmp/packed || fail 'packing' 'cannot'
cp /tmp/packed /disk/packed
run_inference --quiet /tmp/packed 000000.jpg >/tmp/expected_packed
without_ms() { sed 's/ in [0-9.]* ms, memory [0-9. of]* MiB//' "$1"; }
without_ms /tmp/expected >/tmp/expected.text
without_ms /tmp/expected_packed >/tmp/expected_packed.text

# judged STATUS EXPECTED: a run fails with one line and status 1 (2 if the file could not be
# opened), or is right
judged() {
  without_ms /tmp/out >/tmp/out.text
  case $1 in
    0) cmp -s /tmp/out.text "$2" ;;
    1 | 2) [ "$(wc -l </tmp/err)" = 1 ] && [ ! -s /tmp/out ] ;;
    *) false ;;
  esac
}

# Reads that fail from a random moment and then work again: of Darknet's file and a packed one,
# past the page cache and through it.
wrong=0 refused=0 right=0
for i in $(seq 1 60); do
  sync
  echo 3 >/proc/sys/vm/drop_caches
  case $((i % 3)) in
    0) set -- --plan rows1:streamed/NoCut shapes.cfg /disk/shapes.weights expected.text ;;
    1) set -- --plan 1x1:loaded/6/1x1:loaded --repeat 3 /disk/packed expected_packed.text ;;
    2) set -- --threads 2 --plan rows2:streamed/8/panels:streamed /disk/packed expected_packed.text ;;
  esac
  expected=
  for word in "$@"; do expected=$word; done
  command=
  for word in "$@"; do [ "$word" = "$expected" ] || command="$command $word"; done
  # shellcheck disable=SC2086 # a list of words
  run_inference --quiet $command 000000.jpg >/tmp/out 2>/tmp/err &
  usleep $(((i * 7919) % 400 * 1000))
  fails
  wait $!
  status=$?
  works
  [ "$status" = 0 ] && case $command in *repeat*) sort -u /tmp/out >/tmp/once && mv /tmp/once /tmp/out ;; esac
  if judged $status "/tmp/$expected"; then
    [ $status = 0 ] && right=$((right + 1)) || refused=$((refused + 1))
  else
    wrong=$((wrong + 1))
    [ $wrong -gt 3 ] || fail "a run while reads fail, $i" "status $status: $(cat /tmp/err /tmp/out | head -n 3)"
  fi
done
[ $wrong = 0 ] && ok "60 runs while reads fail: $refused refused, $right right"

# Failing writes: a failure, and no file.
mount_again || fail 'the disk' 'is lost'
fails_writes
pack_weights --quiet shapes.cfg shapes.weights /disk/out >/tmp/out 2>/tmp/err
status=$?
works
umount /disk 2>/dev/null
mount -t ext4 /dev/mapper/disk /disk
if [ $status = 0 ]; then fail 'writes that fail' 'and it says that all is well'
elif [ "$(wc -l </tmp/err)" != 1 ]; then fail 'writes that fail' "$(cat /tmp/err)"
elif [ -e /disk/out ]; then fail 'writes that fail' 'a file is there'
else ok 'writes that fail: one line, no file'; fi

# Power failure: later writes are lost although the disk reports success. The file is complete or
# missing; complete if the program had ended and the file system was synced.
lost=0 there=0 absent=0
for i in $(seq 1 60); do
  rm -f /disk/out /disk/out.part
  sync
  pack_weights --quiet shapes.cfg shapes.weights /disk/out >/tmp/out 2>/tmp/err &
  usleep $(((i * 104729) % 500 * 1000))
  done_before=no
  kill -0 $! 2>/dev/null || { done_before=yes && sync; }
  loses_writes
  wait $!
  umount /disk
  works
  mount -t ext4 /dev/mapper/disk /disk || { fail 'the file system' "cannot be mounted behind moment $i"; break; }
  if [ ! -e /disk/out ]; then
    absent=$((absent + 1))
    [ $done_before = no ] || { lost=$((lost + 1)); fail "power fails, $i" "the file had its name, and is gone: $(cat /tmp/err)"; }
  elif cmp -s /disk/out /tmp/packed; then there=$((there + 1))
  else
    lost=$((lost + 1))
    [ $lost -gt 3 ] || fail "power fails, $i" "a file of $(stat -c %s /disk/out) bytes of $(stat -c %s /tmp/packed)"
  fi
done
[ $lost = 0 ] && ok "power fails at 60 moments: the file is whole $there times, absent $absent times"

# Power failure after every single write, in the order of dm-log-writes: a file is complete or
# missing; a replaced one is old or new; synced data stay. Another program syncs continuously, so
# that parts of files are written, too.
umount /disk
truncate -s 96M /log
losetup /dev/loop1 /before && losetup /dev/loop2 /log
cp /before /replayed # the disk before the first write
if dmsetup create --noudevsync logged --table "0 $(($(stat -c %s /before) / 512)) log-writes /dev/loop1 /dev/loop2" && mount -t ext4 /dev/mapper/logged /logged; then
  mark() { dmsetup message --noudevsync logged 0 mark "$1"; }
  while :; do usleep 30000; sync; done &
  syncing=$!
  pack_weights --quiet shapes.cfg shapes.weights /logged/out || fail 'a disk with a log' 'packing'
  sync && mark out
  mark half-begins
  pack_weights --quiet --force --weights fp16 shapes.cfg shapes.weights /logged/out || fail 'a disk with a log' 'packing over it'
  sync && mark half
  run_inference --quiet --dump-output /logged/dump shapes.cfg shapes.weights 000000.jpg >/tmp/out || fail 'a disk with a log' 'an output'
  sync && mark dump
  kill $syncing
  mkdir -p /want && cp /logged/out /want/half && cp /logged/dump /want && cp /tmp/packed /want/out
  umount /logged && dmsetup remove --noudevsync logged
else
  fail 'a disk with a log' "$(cat /tmp/insmod; dmsetup targets)"
fi

may='absent out' dump='absent dump' # allowed states of the files
is() { # FILE: prints which state it has
  [ -e "$1" ] || { echo absent && return; }
  for wanted in out half dump; do ! cmp -s "$1" /want/$wanted || { echo $wanted && return; }; done
  echo "another, of $(stat -c %s "$1") bytes"
}
n=0 bad=0 states=
while said=$(replay /log /replayed $n 1) && [ "$said" != end ]; do
  n=$((n + 1))
  case $said in
    'mark out') may=out ;;
    'mark half-begins') may='out half' ;;
    'mark half') may=half ;;
    'mark dump') dump=dump ;;
  esac
  cp /replayed /tried
  if ! mount -t ext4 -o loop /tried /try; then
    bad=$((bad + 1)) && fail "power fails behind write $n" 'the file system cannot be mounted'
    continue
  fi
  found=$(is /try/out) found_dump=$(is /try/dump)
  case " $may " in *" $found "*) ;; *) bad=$((bad + 1)) && fail "power fails behind write $n" "expected $may, found $found" ;; esac
  case " $dump " in *" $found_dump "*) ;; *) bad=$((bad + 1)) && fail "power fails behind write $n" "expected $dump, found $found_dump" ;; esac
  case "$states" in *" $found+$found_dump") ;; *) states="$states $found+$found_dump" ;; esac
  umount /try
  [ $bad -lt 4 ] || break
done
if [ $bad = 0 ] && [ $n -gt 20 ]; then ok "power fails behind each of $n writes:$states"
elif [ $bad = 0 ]; then fail 'writes of a disk' "$n, $(replay /log /replayed 0 0 2>&1)"; fi

echo finished
poweroff -f
