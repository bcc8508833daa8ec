# shellcheck shell=bash
# shellcheck disable=SC2034 # variables are results
# Throttles a disk for limit.sh, by the blkio controller of control groups v1 or the io controller
# of v2. Sourced.

# disk_of FOLDER: sets $disk to "major:minor" of its (whole) disk; fails with $reason.
disk_of() {
  local numbers source device
  numbers=$(stat -c '%d' "$1") && numbers=$((numbers >> 8 & 0xfff)):$((numbers & 0xff | numbers >> 12 & 0xfff00))
  if [ ! -e "/sys/dev/block/$numbers" ]; then # btrfs, overlay: not a disk's device
    source=$(findmnt -no SOURCE -T "$1" 2>/dev/null)
    source=${source%%\[*}
    numbers=
    [ ! -b "$source" ] || numbers=$((16#$(stat -Lc '%t' "$source"))):$((16#$(stat -Lc '%T' "$source")))
  fi
  reason="the disk of $1 is not to be found"
  [ -n "$numbers" ] && device=$(readlink -f "/sys/dev/block/$numbers") && [ -d "$device" ] || return 1
  [ ! -e "$device/partition" ] || device=$(dirname "$device")
  disk=$(cat "$device/dev")
  reason=
}

# throttle_make NAME DISK BYTES VERSION MOUNT: makes a group that reads at most BYTES a second from
# the disk; its folder in $throttle. MOUNT is the memory controller's: v1's blkio is beside it,
# v2's groups are in it. Fails with $reason.
throttle_make() {
  local file rule
  throttle=$5/$1
  if [ "$4" = v1 ]; then
    throttle=$(dirname "$5")/blkio/$1 file=blkio.throttle.read_bps_device rule="$2 $3"
  else
    grep -qw io "$5/cgroup.subtree_control" || echo +io 2>/dev/null >"$5/cgroup.subtree_control"
    file=io.max rule="$2 rbps=$3"
  fi
  reason="$(dirname "$throttle") has no controller that throttles"
  if ! mkdir "$throttle" 2>/dev/null; then
    throttle=
    return 1
  fi
  echo "$rule" 2>/dev/null >"$throttle/$file" && grep -q "^$rule" "$throttle/$file" || return 1
  reason=
}

throttle_remove() { # FOLDER: removes it once it is empty
  local tries
  for ((tries = 0; tries < 100; tries++)); do
    [ -d "$1" ] && ! rmdir "$1" 2>/dev/null || return 0
    sleep 0.05
  done
  echo "limit.sh: $1 cannot be removed" >&2
}
