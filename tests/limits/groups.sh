# shellcheck shell=bash
# shellcheck disable=SC2034 # variables are results
# Memory groups of limit.sh, on control groups v1 (also hybrid) and v2. Sourced.

cgroup_root=/sys/fs/cgroup

enabled='' # controllers that were switched on for the root's children (v2), until groups_restore

enable() { # CONTROLLER
  grep -qw "$1" $cgroup_root/cgroup.subtree_control && return
  echo "+$1" 2>/dev/null >$cgroup_root/cgroup.subtree_control && enabled="$enabled $1"
}

groups_restore() {
  local controller
  for controller in $enabled; do echo "-$controller" 2>/dev/null >$cgroup_root/cgroup.subtree_control; done
  enabled=
}

# groups_find: sets $version to 1 or 2; fails with the reason in $reason.
groups_find() {
  reason=
  if [ "$(uname -s)" != Linux ]; then
    reason='needs Linux'
  elif [ "$(id -u)" != 0 ]; then
    reason="needs root: groups are made in $cgroup_root, and swap is switched on"
  elif [ "$(stat -fc %T $cgroup_root 2>/dev/null)" = cgroup2fs ]; then
    version=2
    grep -qw memory $cgroup_root/cgroup.controllers 2>/dev/null ||
      reason="$cgroup_root has no memory controller (on a Raspberry Pi: cgroup_enable=memory on the kernel's command line)"
  elif [ -e $cgroup_root/memory/memory.limit_in_bytes ] || [ -e $cgroup_root/memory/cgroup.procs ]; then
    version=1
  else
    reason="no memory controller in $cgroup_root"
  fi
  [ -z "$reason" ]
}

# group_make NAME: the group's folder in $group; fails with $reason.
group_make() {
  case "$version" in
    1) group=$cgroup_root/memory/$1 ;;
    2) group=$cgroup_root/$1 ;;
  esac
  if ! mkdir "$group" 2>/dev/null; then
    reason="$group cannot be made"
    group=
    return 1
  fi
  if [ "$version" = 2 ] && [ ! -e "$group/memory.max" ]; then
    enable memory
    [ -e "$group/memory.max" ] || reason="$cgroup_root/cgroup.subtree_control does not take +memory"
    [ -z "$reason" ]
  fi
}

# group_limit GROUP BYTES: sets the limit, swap without one; the limit as the kernel keeps it in $limit_kept.
group_limit() {
  local file=$1/memory.max
  if [ "$version" = 1 ]; then
    file=$1/memory.limit_in_bytes
  elif [ -e "$1/memory.swap.max" ]; then
    echo max >"$1/memory.swap.max"
  fi
  reason="$file does not take $2"
  echo "$2" 2>/dev/null >"$file" || return 1
  limit_kept=$(cat "$file")
  [ "$limit_kept" != max ] && [ "$limit_kept" -le "$2" ] && [ "$limit_kept" -gt $(($2 - 65536)) ] || return 1
  reason=
}

# group_read GROUP FOLDER: what the group knows once its process is gone.
group_read() {
  local file
  for file in memory.stat memory.max_usage_in_bytes memory.memsw.max_usage_in_bytes memory.failcnt memory.oom_control \
    memory.peak memory.swap.peak memory.swap.current memory.events; do
    [ ! -e "$1/$file" ] || cat "$1/$file" >"$2/$file" 2>/dev/null
  done
}

# group_remove GROUP: kills whoever is in it; what it was charged for goes to its parent.
group_remove() {
  local tries pid
  [ -d "$1" ] || return 0
  for ((tries = 0; tries < 100; tries++)); do
    while read -r pid; do kill -KILL "$pid" 2>/dev/null; done <"$1/cgroup.procs"
    [ ! -e "$1/memory.force_empty" ] || echo 0 2>/dev/null >"$1/memory.force_empty"
    rmdir "$1" 2>/dev/null && return 0
    sleep 0.05
  done
  echo "limit.sh: $1 cannot be removed" >&2
}

# disk_of FOLDER: in $disk "major:minor" of the disk that holds it (the whole disk, also of a partition); fails with $reason.
disk_of() {
  local numbers source device
  numbers=$(stat -c '%d' "$1") && numbers=$((numbers >> 8 & 0xfff)):$((numbers & 0xff | numbers >> 12 & 0xfff00))
  if [ ! -e "/sys/dev/block/$numbers" ]; then # btrfs, overlay: a device of no disk
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

# throttle_make NAME DISK BYTES: reads of the disk at most so many bytes a second. v1: a group of its own, its folder in
# $throttle; v2: in $group. Fails with $reason.
throttle_make() {
  throttle=
  if [ "$version" = 1 ]; then
    throttle=$cgroup_root/blkio/$1
    reason="$cgroup_root/blkio cannot throttle"
    if ! mkdir "$throttle" 2>/dev/null; then
      throttle=
      return 1
    fi
    echo "$2 $3" 2>/dev/null >"$throttle/blkio.throttle.read_bps_device" || return 1
    [ "$(cat "$throttle/blkio.throttle.read_bps_device")" = "$2 $3" ] || return 1
  else
    reason="$cgroup_root has no io controller that throttles"
    [ -e "$group/io.max" ] || enable io
    echo "$2 rbps=$3" 2>/dev/null >"$group/io.max" || return 1
    grep -q "rbps=$3" "$group/io.max" || return 1
  fi
  reason=
}
