# shellcheck shell=sh
# One memory group, a process that holds a part of its limit, and a run beside it without --memory. For control groups v1
# (../cli/neighbour.sh) and v2 (../v2/inside.sh, whose shell is busybox's).

# neighbour_cfg: a network whose plans take from 5 MB, with streamed weights, to 30
neighbour_cfg() {
  printf '[net]\nwidth=208\nheight=208\nchannels=3\n'
  for filters in 32 64 128 256 512; do
    printf '[convolutional]\nbatch_normalize=1\nfilters=%s\nsize=3\nstride=1\npad=1\nactivation=leaky\n[maxpool]\nsize=2\nstride=2\n' $filters
  done
  printf '[convolutional]\nfilters=512\nsize=3\nstride=1\npad=1\nactivation=leaky\n[convolutional]\nfilters=18\nsize=1\nstride=1\nactivation=linear\n'
  printf '[yolo]\nmask=0,1,2\nanchors=10,14,23,27,37,58\nclasses=1\nnum=3\n'
}

neighbour_swapped() { # GROUP: bytes of the group in swap, and pages that came back from there
  awk '$1 == "swap" || $1 == "workingset_refault_anon" { n += $2 } END { printf "%d\n", n }' "$1/memory.stat"
  [ ! -e "$1/memory.swap.current" ] || cat "$1/memory.swap.current"
}

neighbour_kills() { # GROUP
  awk '$1 == "oom_kill" { print $2 }' "$1/memory.oom_control" "$1/memory.events" 2>/dev/null
}

# neighbour_run GROUP LIMIT PERCENT PIPE COMMAND...: the command in a new group, beside a process that holds so much of the limit. Its
# exit status; streams in the files PIPE.out and PIPE.err; in $neighbour_why what happened to the neighbour, or nothing. The neighbour
# fills a buffer and then waits for a reader of the pipe, which this shell holds open.
neighbour_run() {
  group=$1 limit=$2 held=$(($2 / 100 * $3)) pipe=$4 neighbour_why=''
  shift 4
  mkdir "$group" || return 125
  [ ! -e "$group/memory.limit_in_bytes" ] || echo "$limit" >"$group/memory.limit_in_bytes"
  [ ! -e "$group/memory.max" ] || echo "$limit" >"$group/memory.max"
  rm -f "$pipe" && mkfifo "$pipe" && exec 7<>"$pipe"
  # shellcheck disable=SC2016 # expanded by the inner shells
  sh -c 'echo $$ >"$0/cgroup.procs" && exec dd if=/dev/zero of="$1" bs="$2" count=1' "$group" "$pipe" "$held" 2>/dev/null 7>&- &
  neighbour=$!
  tries=200
  until [ "$(cat "$group/memory.usage_in_bytes" "$group/memory.current" 2>/dev/null)" -ge "$held" ] || [ $tries = 0 ]; do
    tries=$((tries - 1))
    sleep 0.05
  done
  # shellcheck disable=SC2016
  sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@" >"$pipe.out" 2>"$pipe.err" </dev/null 7>&-
  status=$?
  kill -0 $neighbour 2>/dev/null || neighbour_why='the neighbour is gone'
  [ "$(neighbour_kills "$group")" = 0 ] || neighbour_why="$neighbour_why killed: $(neighbour_kills "$group")"
  for bytes in $(neighbour_swapped "$group"); do [ "$bytes" = 0 ] || neighbour_why="$neighbour_why swapped: $bytes"; done
  exec 7<&-
  kill -KILL $neighbour 2>/dev/null
  wait $neighbour 2>/dev/null
  rmdir "$group"
  return $status
}
