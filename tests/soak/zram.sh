#!/bin/sh
# zram.sh SIZE COMMAND...: runs the command with a compressed swap device of SIZE bytes in memory,
# which is removed afterwards, also after a signal. Needs root. Exit status: the command's; 2
# without zram.
set -u
PATH=$PATH:/usr/sbin:/sbin
size=$1
shift
cannot() {
  echo "zram.sh: $1" >&2
  exit 2
}
[ -r /sys/class/zram-control/hot_add ] || modprobe zram num_devices=0 2>/dev/null
[ -r /sys/class/zram-control/hot_add ] || cannot 'the kernel has no zram'
number=$(cat /sys/class/zram-control/hot_add) || cannot 'no device can be added'
device=/dev/zram$number
# shellcheck disable=SC2317 # called by a trap
remove() {
  status=$?
  trap '' HUP INT TERM
  for _ in 1 2 3 4 5 6 7 8 9 10; do # retry: there may be too little memory for its pages
    grep -q "^$device " /proc/swaps || break
    swapoff "$device" 2>/dev/null || sleep 0.5
  done
  echo 1 >"/sys/block/zram$number/reset"
  echo "$number" >/sys/class/zram-control/hot_remove
  exit "$status"
}
trap remove EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
echo "$size" >"/sys/block/zram$number/disksize" || cannot "$device takes no size"
[ -b "$device" ] || mknod "$device" b "$(cut -d: -f1 "/sys/block/zram$number/dev")" "$(cut -d: -f2 "/sys/block/zram$number/dev")"
mkswap "$device" >/dev/null && swapon -p 32767 "$device" || cannot "$device takes no swap"
"$@"
