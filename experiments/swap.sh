#!/usr/bin/env bash
# Swap for experiments: switches on a file of its own and removes it again in any case. --help
# lists the commands.
#
# A guard removes the file. It is a process in its own session, started before the file is made,
# and waits on a pipe whose other end only this process and its helpers hold, never the user's
# command. So the file is removed even if this process is killed by SIGKILL, and no terminal signal
# reaches the guard.
set -u
PATH=$PATH:/usr/sbin:/sbin
self=${BASH_SOURCE[0]}

usage() {
  cat <<'HELP'
usage: swap.sh on SIZE [--folder DIR] [--last]
       swap.sh off [--folder DIR]
       swap.sh status [--json]
       swap.sh with SIZE [--folder DIR] [--last] COMMAND [ARGUMENT...]
       swap.sh cost [--json]

  on       makes a swap file of its own, switches it on and prints its name
  off      switches off and removes what "on" made; not an error when there is nothing
  status   the swap that is on: ours and others'
  with     runs the command with such a file; it is removed when the command ends, when it is stopped (Ctrl-C, TERM, HUP) and
           when swap.sh is killed. Exit status: the command's
  cost     what a page costs on the swap that is on, out and in (build/swap_cost inside build/memory_limit)

  SIZE            64M, 2G, 16384K, bytes
  --folder DIR    where the file is, or whose files "off" removes (default: /var/tmp, else TMPDIR); must be on a disk
  --last          used when all other swap is full (default: before it)
  --json          one JSON object
  --help

Files are DIR/mafat-swap-on-PID and DIR/mafat-swap-with-PID; no other swap is touched. A tenth of the disk stays free. Making
one, and "off", need root.

Exit status: 0 done, 1 failed, 2 misuse or not possible here; with: the command's.
HELP
}

cannot() {
  echo "swap.sh: $1" >&2
  exit 2
}
misuse() { cannot "$1; --help lists the options"; }

# ---- What is on

# swaps: a line for each in /proc/swaps: type, bytes, bytes used, priority, name
swaps() {
  local name type size used priority
  while read -r name type size used priority; do
    [ "$name" = Filename ] || printf '%s %d %d %d %b\n' "$type" $((size * 1024)) $((used * 1024)) "$priority" "$name"
  done </proc/swaps
}

is_on() { # FILE
  local name rest
  while read -r rest rest rest rest name; do [ "$name" != "$1" ] || return 0; done < <(swaps)
  return 1
}

# ours FILE: true if swap.sh made it; its command in $kind, its process in $maker
ours() {
  kind='' maker=''
  [[ ${1##*/} =~ ^mafat-swap-(on|with)-([0-9]+)$ ]] && [ -f "$1" ] && [ ! -L "$1" ] || return 1
  kind=${BASH_REMATCH[1]} maker=${BASH_REMATCH[2]}
}

# unlocked FILE: true if its maker has ended or is done with it
unlocked() {
  local lock free=1
  { exec {lock}<"$1"; } 2>/dev/null || return 1
  flock -n "$lock" || free=0
  exec {lock}<&-
  [ $free = 1 ]
}

# ---- Removing

remove() { # FILE: switches it off and deletes it, or prints the reason why not
  local tries why=''
  for ((tries = 0; tries < 10; tries++)); do
    [ $tries = 0 ] || sleep 1
    # too little memory for its pages; try again
    if is_on "$1"; then why=$(swapoff -- "$1" 2>&1) || continue; fi
    why=$(rm -f -- "$1.log" "$1" 2>&1) && return
  done
  echo "swap.sh: $1 cannot be removed: ${why##*failed: }" >&2
  return 1
}

# abandoned FILE: left by a call that was killed with its guard, or by a crash. A container has its
# own process numbers, so the lock is checked, too.
abandoned() {
  ours "$1" && ! kill -0 "$maker" 2>/dev/null && unlocked "$1" && { [ "$kind" = with ] || ! is_on "$1"; }
}

leftovers() { # FOLDER
  local file rest
  while read -r rest rest rest rest file; do ! abandoned "$file" || remove "$file"; done < <(swaps)
  for file in "$1"/mafat-swap-*; do ! abandoned "$file" || remove "$file"; done
}

# guard FILE: reports that it runs, then waits for the message to keep the file, or until the
# pipe's other end is closed. It receives the command's process number, and ends the command if
# swap.sh ends.
guard() {
  local word pid='' tries
  trap '' HUP INT TERM
  cd / || exit
  echo ready
  while read -r word; do
    case $word in
      keep) exit 0 ;;
      ended) pid= ;;
      *) pid=$word ;;
    esac
  done
  if [ -n "$pid" ] && kill -TERM "$pid" 2>/dev/null; then
    for ((tries = 0; tries < 100; tries++)); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
    kill -KILL "$pid" 2>/dev/null
  fi
  [ ! -e "$1" ] || remove "$1"
}

# ---- Making

guard_pid='' hold='' held='' file='' kept='' child='' running='' work=''

tell() { # WORD: sends it to the guard, if it still runs
  trap '' PIPE
  [ -z "${GUARD[1]-}" ] || { echo "$1" >&"${GUARD[1]}"; } 2>/dev/null
  trap - PIPE
}

# finish: the guard removes what was made
# shellcheck disable=SC2317 # called by a trap
finish() {
  local status=$?
  case $BASHPID in $$) ;; *) exit $status ;; esac # a forked shell that was killed before it executed the command
  trap '' HUP INT TERM
  [ -z "$work" ] || rm -rf "$work"
  [ -n "$guard_pid" ] || exit $status
  # shellcheck disable=SC1083 # braces that name a variable
  [ -z "${GUARD[1]-}" ] || exec {GUARD[1]}>&-
  [ -z "$hold" ] || exec {hold}>&-
  wait "$guard_pid" 2>/dev/null
  if [ -n "$file" ] && [ -z "$kept" ] && [ -e "$file" ]; then # the guard was killed or failed with a message
    remove "$file" 2>/dev/null || [ $status != 0 ] || status=1
  fi
  exit $status
}

# shellcheck disable=SC2317 # called by traps
stop() { # SIGNAL STATUS
  local tries
  trap '' HUP INT TERM
  if [ -n "$child" ]; then
    for ((tries = 0; tries < 120; tries++)); do
      kill -0 "$child" 2>/dev/null || break
      [ $tries != 2 ] || kill -s "$1" "$child" 2>/dev/null # a terminal has already signalled it
      sleep 0.1
    done
    { kill -KILL "$child" && wait "$child"; } 2>/dev/null
  fi
  exit "$2"
}

# run COMMAND...: runs it in the background, so that traps need not wait for it
run() {
  local status=0
  (
    trap - INT QUIT
    [ -z "$running" ] || exec {held}<&-
    exec "$@"
  ) <&0 &
  child=$!
  [ -z "$running" ] || tell "$child"
  wait "$child" || status=$?
  child=
  [ -z "$running" ] || tell ended
  return $status
}

in_memory() { case $(stat -fc %T -- "$1") in tmpfs | ramfs) return 0 ;; *) return 1 ;; esac }

find_folder() { # in $folder: the requested one, else the first one on a disk
  local dir
  folder=$asked
  if [ -z "$folder" ]; then
    for dir in /var/tmp "${TMPDIR-}"; do
      [ -n "$dir" ] && [ -d "$dir" ] && ! in_memory "$dir" && folder=$dir && break
    done
    [ -n "$folder" ] || cannot '/var/tmp is not on a disk: --folder names one that is'
  fi
  [ -d "$folder" ] || cannot "$folder: no such folder"
  folder=$(realpath -- "$folder") && [[ $folder != *$'\n'* ]] || cannot "$folder: not a name for a swap file's folder"
}

room_for() { # BYTES: fails unless a tenth of the disk stays free
  local blocks free block_bytes
  read -r blocks free block_bytes < <(stat -f -c '%b %a %S' -- "$folder")
  blocks=$((blocks * block_bytes)) free=$((free * block_bytes))
  [ $((free - $1)) -ge $((blocks / 10)) ] ||
    cannot "$folder: $1 bytes do not fit: $free are free, and a tenth of the disk's $blocks has to stay free"
}

switch_on() {
  local order=(-p 32767)
  [ -z "$last" ] || order=()
  run mkswap "$file" >/dev/null && run swapon "${order[@]}" "$file"
}

# make KIND: a swap file of $size in $asked, switched on, and its guard
make() {
  local bytes ready='' system
  [[ $size =~ ^[0-9]+((\.[0-9]+)?[KMGT])?$ ]] && bytes=$(LC_ALL=C numfmt --from=iec -- "$size" 2>/dev/null) && [ "$bytes" -ge 1048576 ] ||
    misuse "expected a size such as 64M or 2G, at least 1M, found '$size'"
  [ "$(id -u)" = 0 ] || cannot "a swap file needs root: sudo $self ..."
  find_folder
  ! in_memory "$folder" || cannot "$folder is in memory: --folder names a folder on a disk"
  bytes=$(((bytes + 65535) / 65536 * 65536)) # whole pages
  leftovers "$folder"
  room_for "$bytes"
  system=$(stat -fc %T -- "$folder")

  coproc GUARD { exec setsid bash "$self" guard "$folder/mafat-swap-$1-$$"; }
  guard_pid=$GUARD_PID
  read -r ready <&"${GUARD[0]}"
  [ "$ready" = ready ] || cannot 'its guard does not start'
  file=$folder/mafat-swap-$1-$$
  exec {hold}>"/proc/$$/fd/${GUARD[1]}" # programs inherit this descriptor, unlike a duplicate
  umask_before=$(umask)
  umask 077
  rm -f -- "$file" "$file.log" # left by an earlier process with this number
  # In a folder like /var/tmp anybody may have put a link here, so only new files are accepted.
  (set -C && : >"$file" && : >"$file.log") 2>/dev/null || cannot "$folder: no file can be made there"
  exec {held}<"$file" && flock -n "$held"
  [ "$system" != btrfs ] || chattr +C "$file"
  # some file systems need every block written
  if ! { run fallocate -l "$bytes" "$file" && switch_on; } 2>"$file.log"; then
    { run dd if=/dev/zero of="$file" bs=1M count="$bytes" iflag=count_bytes conv=notrunc status=none && switch_on; } 2>"$file.log" ||
      cannot "$folder ($system) takes no swap file: $(sed -n '$s/.*failed: //;$p' "$file.log")"
  fi
  rm -f "$file.log"
  umask "$umask_before"
  exec {hold}>&-
  hold=
}

# ---- Cost

mib() { printf '%d.%d MiB' $(($1 >> 20)) $((($1 & 1048575) * 10 >> 20)); }
json_text() { # TEXT: as a JSON string
  local text=${1//\\/\\\\} code control
  text=${text//\"/\\\"}
  [[ $text != *[[:cntrl:]]* ]] || for code in {1..31}; do
    printf -v control '%b' "\\0$(printf '%03o' "$code")"
    text=${text//"$control"/$(printf '\\u%04x' "$code")}
  done
  printf '"%s"' "$text"
}

# disk_of DEVICE TYPE: the disk that holds it in $disk, its kind in $kind
disk_of() {
  disk=$1 kind=$2
  case $1 in /dev/zram*) kind=zram ;; esac
  [ "$2" != file ] || disk=$(findmnt -no SOURCE -T "$1" 2>/dev/null) || disk=
}

zswap() { case $(cat /sys/module/zswap/parameters/enabled 2>/dev/null) in Y) echo true ;; *) echo false ;; esac }

cost() {
  local build=${BUILD:-$(dirname "$self")/../build} tool free=0 type bytes used rest tries found
  for tool in memory_limit swap_cost; do
    [ -x "$build/$tool" ] || cannot "needs $build/$tool: make $build/memory_limit $build/swap_cost"
  done
  while read -r type bytes used rest; do free=$((free + bytes - used)); done < <(swaps)
  [ $free -ge 33554432 ] || cannot "$free bytes of swap are free, 32 MiB are needed: $self with 256M $self cost"
  work=$(mktemp -d) || exit 2
  # The limit is a quarter, so that nearly everything is swapped out. Sometimes a group is killed
  # although swap is free, because readahead fills it.
  bytes=$((free / 2 < 67108864 ? free / 2 : 67108864))
  for ((tries = 0; tries < 3; tries++)); do
    run "$build/memory_limit" --limit $((bytes / 4)) -o "$work/report" -- "$build/swap_cost" --size $bytes >"$work/found" 2>"$work/why" && break
  done
  found=$(cat "$work/found")
  [ -n "$found" ] || cannot "$(cat "$work/why" "$work/report" 2>/dev/null | head -n 1)"
  disk_of "$(sed -n 's/.*"device": "\(.*\)", "type".*/\1/p' <<<"$found")" "$(sed -n 's/.*"type": "\([a-z]*\)".*/\1/p' <<<"$found")"
  if [ -n "$json" ]; then
    echo "${found%\}}, \"kind\": \"$kind\", \"disk\": $(json_text "$disk"), \"zswap\": $(zswap), \"limit_bytes\": $((bytes / 4))}"
  else
    sed -E 's/.*"out_us": ([0-9.]+), "in_us": ([0-9.]+), "in_random_us": ([0-9.]+),.*"device": "(.*)", "type".*/a page of 4 KiB: out \1 us, in \2 us in order, \3 us in random order; \4/' <<<"$found"
    echo "$kind${disk:+, disk $disk}$([ "$(zswap)" = false ] || echo ', behind zswap')"
  fi
}

# ---- Commands

status() {
  local type bytes used priority name separator='' whose
  [ -z "$json" ] || printf '{"zswap": %s, "swaps": [' "$(zswap)"
  while read -r type bytes used priority name; do
    disk_of "$name" "$type"
    type=$kind
    ours "$name"
    if [ -n "$json" ]; then
      printf '%s{"device": %s, "kind": "%s", "disk": %s, "size_bytes": %d, "used_bytes": %d, "priority": %d, "ours": %s}' "$separator" \
        "$(json_text "$name")" "$type" "$(json_text "$disk")" "$bytes" "$used" "$priority" "$([ -n "$kind" ] && echo "\"$kind\"" || echo null)"
    else
      case $kind in on) whose='ours, until "off"' ;; with) whose='ours, while a command runs' ;; *) whose="not ours" ;; esac
      echo "$name: $type, $(mib "$bytes"), $(mib "$used") used, priority $priority, $whose"
    fi
    separator=', '
  done < <(swaps)
  [ -z "$json" ] || echo ']}'
  [ -n "$json$separator" ] || echo 'no swap is on'
}

off() {
  local name rest found=() status=0
  if [ -n "$asked" ]; then find_folder; else folder=/var/tmp; fi
  while read -r rest rest rest rest name; do
    ours "$name" && [ "$kind" = on ] && unlocked "$name" && { [ -z "$asked" ] || [ "${name%/*}" = "$folder" ]; } && found+=("$name")
  done < <(swaps)
  for name in "$folder"/mafat-swap-*; do # after a restart they exist, but are not on
    ! abandoned "$name" || found+=("$name")
  done
  [ ${#found[@]} -gt 0 ] || return 0
  [ "$(id -u)" = 0 ] || cannot "switching ${found[0]} off needs root: sudo $self off"
  trap '' HUP INT TERM
  for name in "${found[@]}"; do remove "$name" || status=1; done
  return $status
}

[ $# -gt 0 ] || misuse 'expected on, off, status, with or cost'
command=$1
shift
case $command in
  --help) usage && exit 0 ;;
  guard)
    guard "$1"
    exit
    ;;
  on | off | status | with | cost) ;;
  *) misuse "expected on, off, status, with or cost, found '$command'" ;;
esac
size='' asked='' last='' json=''
while [ $# -gt 0 ]; do
  case $command:$1 in
    *:--help) usage && exit 0 ;;
    on:--last | with:--last) last=1 ;;
    status:--json | cost:--json) json=1 ;;
    on:--folder | with:--folder | off:--folder)
      [ $# -gt 1 ] && [ -n "$2" ] || misuse '--folder expects a folder'
      asked=$2
      shift
      ;;
    with:--)
      shift
      break
      ;;
    *:-*) misuse "$command does not know $1" ;;
    on:* | with:*)
      [ -n "$size" ] && break
      size=$1
      [ -n "$size" ] || misuse 'the size is empty'
      ;;
    *) misuse "$command: '$1' is too much" ;;
  esac
  shift
done
case $command in
  on) [ -n "$size" ] && [ $# = 0 ] || misuse 'on expects one SIZE' ;;
  with) [ -n "$size" ] && [ $# -gt 0 ] || misuse 'with expects a SIZE and a COMMAND' ;;
esac

trap finish EXIT
trap 'stop HUP 129' HUP
trap 'stop INT 130' INT
trap 'stop TERM 143' TERM
case $command in
  on)
    make on
    trap '' HUP INT TERM
    kept=1
    tell keep
    wait "$guard_pid" 2>/dev/null
    echo "$file"
    ;;
  with)
    make with
    running=1
    run "$@"
    ;;
  *) "$command" ;;
esac
