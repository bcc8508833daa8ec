# shellcheck shell=sh disable=SC2154 # $root of who sources this
# The counterpart of soak.py for control groups v2: sourced by ../v2/inside.sh in its machine,
# where nothing else swaps. Prints a CSV line "soak ..." for each run, and a summary at the end.

soak_columns=run,work,input,state,starter,lock,limit_bytes,swapped_pages,faults_later,latency_ms,outcome
soak_pictures=3
soak_group=$root/soak

pages_out() { awk '$1 == "pswpout" { print $2 }' /proc/vmstat; }
of_first() { sed -n "1s/.*\"$1\":\([0-9]*\).*/\1/p" /tmp/out; } # KEY: a number of the first result
nth() { # N WORD...: that word, from 0
  shift $(($1 + 1))
  echo "$1"
}

# soak_words WORK INPUT: the program's words in $words, its list in /tmp/list
soak_words() {
  words='/data/run_inference --json --quiet --memory 8M'
  [ "$1" = kept ] || words="/data/run_inference --json --quiet --memory $(cat "/tmp/least.$1" 2>/dev/null || echo 256K)"
  case $1 in packed) words="$words /data/shapes.packed" ;; *) words="$words /data/shapes.cfg /data/shapes.weights" ;; esac
  : >/tmp/list
  case $2 in
    raw) words="$words --repeat $soak_pictures --input /data/shapes.raw" ;;
    list)
      words="$words -"
      for _ in 1 2 3; do echo /data/picture.jpg; done >/tmp/list
      ;;
    *) words="$words /data/picture.$2 /data/picture.$2 /data/picture.$2" ;;
  esac
}

# soak_start STARTER COMMAND...: in "$soak_group", or by memory_limit in a new group with $limit
soak_start() {
  starter=$1
  shift
  case $starter in
    launcher) launcher "$soak_group" "$@" ;;
    sh) sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$soak_group" "$@" ;;
    sh-waits) sh -c 'echo $$ >"$0/cgroup.procs" && { "$@"; exit $?; }' "$soak_group" "$@" ;;
    namespaces) unshare -m -p -f launcher "$soak_group" "$@" ;;
    memory_limit) memory_limit -o /tmp/report --limit "$limit" -- "$@" ;;
  esac
}

soak_cold() { # STATE
  case $1 in
    drop) sync && echo 3 >/proc/sys/vm/drop_caches ;;
    evict)
      set --
      for file in /data/*; do set -- "$@" --evict "$file"; done
      memory_limit -o /dev/null "$@" -- true
      ;;
  esac
}

# soak_limit WORK INPUT: sets $limit to the prediction, in whole pages
soak_limit() {
  known=/tmp/predicted.$1.$2
  if [ ! -s "$known" ]; then
    # for a JPEG, which needs most; the process is measured again each time
    if [ "$1" != kept ] && [ ! -s "/tmp/least.$1" ]; then
      soak_words "$1" jpg
      $words 2>&1 >/dev/null | sed -n 's/.*--memory \([0-9]*K\) would do.*/\1/p' | head -n 1 >/tmp/least.$$
      mv /tmp/least.$$ "/tmp/least.$1"
    fi
    soak_words "$1" "$2"
    $words </tmp/list >/tmp/out 2>/tmp/err
    of_first predicted_charge_bytes >"$known"
  fi
  limit=$(awk '{ print int(($1 + 4095) / 4096) * 4096 }' "$known")
}

# soak_one RUN: draws a run by its number, so that all values come early
soak_one() {
  at=$(($1 * 97 % 450))
  starter=$(nth $((at % 5)) launcher sh sh-waits namespaces memory_limit) at=$((at / 5))
  input=$(nth $((at % 5)) jpg png ppm raw list) at=$((at / 5))
  state=$(nth $((at % 3)) drop evict warm) at=$((at / 3))
  work=$(nth $((at % 3)) kept least packed) at=$((at / 3))
  lock=$(nth $((at % 2)) auto off)
  soak_limit "$work" "$input"
  soak_words "$work" "$input"
  mkdir "$soak_group" && echo "$limit" >"$soak_group"/memory.max
  soak_cold "$state"
  before=$(pages_out)
  # shellcheck disable=SC2086 # words
  soak_start "$starter" $words --lock "$lock" </tmp/list >/tmp/out 2>/tmp/err
  status=$?
  swapped=$(($(pages_out) - before))
  killed=$(awk '$1 == "oom_kill" { print $2 }' "$soak_group"/memory.events)
  case $status in 0) outcome=done ;; 137) outcome=killed ;; *) outcome="exit $status" ;; esac
  [ "$killed" = 0 ] || outcome=killed
  # Raw floats give one result for all three runs, with the first one's faults.
  faults=$(sed -n "$([ "$input" = raw ] && echo 1 || echo '2,$')s/.*\"major_faults\":\([0-9]*\).*/\1/p" /tmp/out | sort -n | tail -n 1)
  echo "soak $1,$work,$input,$state,$starter,$lock,$limit,$swapped,$faults,$(sed -n '1s/.*"latency_ms":\([0-9.]*\).*/\1/p' /tmp/out),$outcome"
  [ "$outcome" = done ] && [ "$swapped" = 0 ] || fail "soak: run $1" "$outcome, $swapped pages swapped; $(cat /tmp/err /tmp/report 2>/dev/null)"
  rmdir "$soak_group"
}

soak() {
  mount -t cgroup2 none $root
  echo +memory >$root/cgroup.subtree_control
  echo "soak $soak_columns"
  run=0
  # shellcheck disable=SC2154 # of the kernel's command line
  while [ $run -lt "$v2_soak" ]; do
    run=$((run + 1))
    soak_one $run
  done
  [ "$failed" != 0 ] || ok "soak: $run runs at the predicted charge, none killed or swapped"
}
