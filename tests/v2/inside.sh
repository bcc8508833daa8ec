#!/bin/busybox sh
# First process of the machine that run.sh boots, in an initramfs. Prints to the second serial port
# a line "ok NAME", "FAIL NAME: why" or "report NAME JSON" (for judge.py) for each check, and
# "finished" at the end. The kernel's command line has the layout (v2_layout): v2, mixed or
# disabled; or soak, with v2_soak runs.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mkdir -p /tmp /data /sys/fs/cgroup
chmod 1777 /tmp
exec </dev/null >/dev/ttyS1 2>&1
stty raw <&1 # do not translate line feeds
echo root:x:0:0::/:/bin/sh >/etc/passwd
echo user:x:1000:1000::/tmp:/bin/sh >>/etc/passwd

root=/sys/fs/cgroup
# shellcheck source=tests/check.sh
. /check.sh
# shellcheck source=tests/soak/inside.sh
. /inside.sh
# shellcheck source=tests/soak/neighbour.sh
. /neighbour.sh
# limited NAME STATUS OPTION... -- COMMAND...: its report goes to judge.py; its exit status must be
# STATUS
limited() {
  name=$1 expected=$2
  shift 2
  rm -f /tmp/report
  memory_limit --json -o /tmp/report "$@" >/tmp/out 2>/tmp/err
  status=$?
  if [ $status = "$expected" ] && [ -s /tmp/report ]; then
    echo "report $name $(cat /tmp/report)"
  else
    fail "$name" "exit status $status instead of $expected; $(cat /tmp/err)"
  fi
}
# refused NAME TEXT COMMAND...: exit status 2 and one line with the text
refused() {
  name=$1 text=$2
  shift 2
  "$@" >/tmp/out 2>/tmp/err
  status=$?
  if [ $status = 2 ] && [ "$(wc -l </tmp/err)" = 1 ] && grep -qF -e "$text" /tmp/err; then ok "$name"; else
    fail "$name" "exit status $status; $(cat /tmp/out /tmp/err)"
  fi
}
no_groups() { [ -z "$(find $root -name 'mafat-*')" ]; }
# soon COMMAND...: becomes true within ten seconds
soon() {
  tries=100
  until "$@"; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || return 1
    sleep 0.1
  done
}
allocate() { echo "dd if=/dev/zero of=/dev/null bs=$1 count=1"; } # uses this much anonymous memory, all written
as_user() { su user -c "exec $*"; }

modules() {
  while read -r module; do insmod "/modules/$module"; done </modules/order
  soon test -b /dev/vdb
}

disks() { # swap, and uncached files
  mkswap /dev/vda >/dev/null && swapon /dev/vda && mke2fs /dev/vdb >/dev/null && mount -t ext2 /dev/vdb /data &&
    cp /files/* /data && sync && umount /data && mount -t ext2 /dev/vdb /data
}

limits() { # PREFIX: checks for every layout
  limited "$1unlimited" 0 -- $(allocate 20M)
  limited "$1limit" 0 --limit 64M --swap none -- $(allocate 20M)
  limited "$1killed" 1 --limit 16M --swap none -- $(allocate 40M)
  limited "$1swapping" 0 --limit 16M --swap all --timeline /tmp/timeline -- $(allocate 40M)
  check "$1swapping: its timeline" "$(head -n 4 /tmp/timeline)" \
    eval 'awk -F, "/^[0-9]/ { n++; if (\$5 > most) most = \$5 } END { exit !(n > 3 && most > 16777216) }" /tmp/timeline'
  limited "$1swap-limit" 1 --limit 16M --swap 8M -- $(allocate 40M)
  limited "$1timeout" 1 --timeout 1 -- sh -c 'sleep 60 & sleep 60'
  limited "$1failed" 1 -- sh -c 'exit 3'
  limited "$1signal" 1 -- sh -c 'kill -SEGV $$'
  limited "$1cpus" 0 --cpus 1 -- grep Cpus_allowed_list /proc/self/status
  check "$1cpus: as the command sees it" "$(cat /tmp/out)" test "$(awk '{ print $2 }' /tmp/out)" = 1
  check "$1no group is left" "$(find $root -name 'mafat-*')" no_groups
}

killed_itself() { # PREFIX: memory_limit killed by SIGKILL and by SIGTERM
  memory_limit --limit 64M -- sleep 77 2>/dev/null &
  pid=$!
  soon pidof sleep >/dev/null
  kill -KILL $pid
  check "$1memory_limit is killed: no group is left" "$(find $root -name 'mafat-*')" soon no_groups
  check "$1memory_limit is killed: nor the command" "$(ps)" eval '! ps | grep -q "[s]leep 77"'
  memory_limit --json -o /tmp/report --limit 64M -- sleep 77 2>/dev/null &
  pid=$!
  soon pidof sleep >/dev/null
  kill -TERM $pid
  wait $pid
  check "$1memory_limit is stopped: exit status" $? test $? = 143
  echo "report $1interrupted $(cat /tmp/report)"
  check "$1memory_limit is stopped: no group is left" "$(find $root -name 'mafat-*')" no_groups
}

inference() { # PREFIX
  limited "$1inference" 0 --limit 8M --swap all --evict /data/run_inference --evict /data/shapes.weights -- \
    /data/run_inference --json --names /data/shapes.names /data/shapes.cfg /data/shapes.weights /data/picture.jpg
  echo "inference $1inference $(cat /tmp/out)"
  check "$1inference: is locked in memory" "$(cat /tmp/out)" grep -q '"lock":"on","lock_reason":null,"locked_bytes":[1-9]' /tmp/out
  # Stalls of its own cgroup, if the kernel counts them and cgroups v2 are mounted.
  if [ -e $root/cgroup.controllers ] && cat /proc/pressure/memory >/dev/null 2>&1; then
    check "$1inference: tells what it waited for" "$(cat /tmp/out)" grep -q '"stall_some_us":[0-9]*,"stall_full_us":[0-9]*,"stall_scope":"cgroup"' /tmp/out
  fi
  memory_limit -o /tmp/report --limit 1M -- /data/run_inference --json /data/shapes.cfg /data/shapes.weights /data/picture.jpg >/tmp/out 2>/tmp/err
  check "$1inference: what does not fit is refused" "$(cat /tmp/out /tmp/err /tmp/report)" grep -q 'does not fit' /tmp/err
}

# neighbours: runs beside a process that holds 10 to 90 % of the limit
neighbours() {
  echo +memory +cpu >$root/cgroup.subtree_control
  run=0 refused=0
  while [ $run -lt "${v2_neighbours:-9}" ]; do
    percent=$((10 + run * 37 % 81))
    neighbour_run $root/neighbour 50331648 $percent /tmp/pipe /data/run_inference --json --quiet /data/net.cfg /data/net.weights /data/picture.jpg
    status=$?
    [ $status != 3 ] || [ $percent -lt 85 ] || status=0 refused=$((refused + 1))
    [ $status = 0 ] && [ -z "$neighbour_why" ] || fail "a neighbour of $percent %" "exit status $status, $neighbour_why; $(cat /tmp/pipe.err)"
    run=$((run + 1))
  done
  [ "$failed" != 0 ] || ok "neighbours: $run runs, $refused refused, nobody killed, nothing swapped"
}

# own_group FILE VALUE COMMAND...: in a group with this setting
own_group() {
  mkdir $root/own && echo "$2" >"$root/own/$1"
  shift 2
  # shellcheck disable=SC2016 # expanded by the inner shell
  sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' $root/own "$@" >/tmp/out 2>/tmp/err
  rmdir $root/own
}

settings() { # memory.high and cpu.max
  echo +memory +cpu >$root/cgroup.subtree_control
  own_group memory.high 24M /data/run_inference --predict --json /data/shapes.cfg
  check 'memory.high is a limit' "$(cat /tmp/out /tmp/err)" grep -q '"memory_budget_bytes":25165824,"budget_source":"cgroup limit"' /tmp/out
  own_group cpu.max '70000 50000' /data/run_inference --predict --json --threads auto --plan 1x1/NoCut /data/net.cfg
  check 'cpu.max bounds --threads auto' "$(cat /tmp/out /tmp/err)" grep -q '"threads":1,' /tmp/out
  own_group cpu.max 'max 50000' /data/run_inference --predict --json --threads auto --plan 1x1/NoCut /data/net.cfg
  check 'cpu.max without a quota' "$(cat /tmp/out /tmp/err)" grep -q '"threads":2,' /tmp/out
}

users() { # without root: only in a delegated group
  refused 'a user without a group' 'sudo' as_user memory_limit --limit 64M -- true
  echo +memory +cpuset >$root/cgroup.subtree_control
  mkdir -p $root/handed/shell
  chown -R user $root/handed
  echo $$ >$root/handed/shell/cgroup.procs
  limited_as_user 'a user with a group: --parent' --parent handed
  limited_as_user 'a user with a group: a swapping command' --parent handed --limit 16M -- $(allocate 40M)
  rm -f /tmp/report
  # shellcheck disable=SC2016 # expanded by the inner shell
  as_user "sh -c 'echo \$\$ >$root/handed/shell/cgroup.procs; exec memory_limit --json -o /tmp/report --limit 64M -- true'" 2>/tmp/err
  check 'a user in a group that others are in: says what would help' "$(cat /tmp/err)" grep -q 'processes of its own' /tmp/err
  mkdir $root/handed/alone && chown -R user $root/handed/alone
  (
    sh -c 'echo $PPID' >$root/handed/alone/cgroup.procs
    exec su user -c 'exec memory_limit --json -o /tmp/report --limit 64M --swap none -- true'
  ) 2>/tmp/err
  check 'a user alone in a group' "$(cat /tmp/err)" test -s /tmp/report
  echo "report alone $(cat /tmp/report)"
  echo $$ >$root/cgroup.procs
  check 'users: no group is left' "$(find $root -name 'mafat-*')" no_groups
  rmdir $root/handed/alone $root/handed/shell $root/handed || fail 'users: their groups are as they were' "$(find $root/handed)"
}
limited_as_user() { # NAME OPTION... [-- COMMAND...]
  name=$1
  shift
  case "$*" in *' -- '*) ;; *) set -- "$@" --limit 64M --swap none -- true ;; esac
  rm -f /tmp/report
  as_user memory_limit --json -o /tmp/report "$@" 2>/tmp/err
  check "$name" "exit status $?, $(cat /tmp/err)" test -s /tmp/report
  echo "report $name $(cat /tmp/report)"
}

v2() {
  mount -t cgroup2 none $root
  check 'check' "$(memory_limit --check 2>&1)" memory_limit --check
  echo "report check $(memory_limit --check --json)"
  limits ''
  killed_itself ''
  inference ''
  limited 'swap_cost' 0 --limit 8M -- swap_cost --size 32M --seconds 2
  echo "report cost $(cat /tmp/out)"
  settings
  neighbours
  users
}

beside() {
  mount -t cgroup2 none $root
  neighbours
}

# mixed: v1 with the memory controller and v2 without one; then v2 with it and v1 without.
mixed() {
  mount -t tmpfs none $root
  mkdir $root/memory $root/cpuset $root/unified
  mount -t cgroup -o cpuset none $root/cpuset
  mount -t cgroup2 none $root/unified
  limited 'v2 beside v1: limit' 0 --limit 64M --swap none -- $(allocate 20M)
  limited 'v2 beside v1: killed' 1 --limit 16M --swap none -- $(allocate 40M)
  check 'v2 beside v1: no group is left' "$(find $root -name 'mafat-*')" no_groups
  echo -memory >$root/unified/cgroup.subtree_control
  umount $root/unified
  if soon mount -t cgroup -o memory none $root/memory 2>/dev/null; then
    mount -t cgroup2 none $root/unified
    echo "report v1-check $(memory_limit --check --json)"
    limits 'v1: '
    killed_itself 'v1: '
    inference 'v1: '
  else
    echo 'skip v1: the memory controller does not move from v2 to v1'
  fi
}

disabled() {
  mount -t cgroup2 none $root
  refused 'memory controller off: says what would help' 'cgroup_enable=memory' memory_limit --limit 64M -- true
  memory_limit --check >/tmp/out 2>&1
  check 'memory controller off: --check' "$(cat /tmp/out)" grep -q 'cgroup_enable=memory' /tmp/out
  umount $root
  refused 'no control groups: says what would help' 'mount -t cgroup2' memory_limit --limit 64M -- true
}

check 'modules' "$(dmesg | tail -n 3)" modules
check 'disks' "$(cat /proc/swaps /proc/mounts)" disks
# shellcheck disable=SC2154 # of the kernel's command line
$v2_layout
echo finished
sleep 0.2 # let the serial port drain
reboot -f
