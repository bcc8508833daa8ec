#!/usr/bin/env bash
# Checks experiments/swap.sh: refusals, and that its file is removed however it ends, also when
# killed at random moments. Run from the project's root, as root; BUILD names the build folder
# (default: build), whose disk holds the small swap files.
set -u

build=${BUILD:-build}
mkdir -p "$build" && build=$(realpath "$build") || exit 1
export BUILD=$build
program=$PWD/experiments/swap.sh
folder=$build/swap-test.$$
stubs=$folder.stubs # first in PATH: makes a step of swap.sh fail or take long
mkdir "$folder" "$stubs" || exit 1
# shellcheck source=tests/check.sh
. "$PWD/tests/check.sh"
at_end 'rm -rf "$folder" "$stubs"'
out=$stubs/out err=$stubs/err
is_on() { grep -qF "$folder/mafat-swap-$1-" /proc/swaps; }
guards() { pgrep -f "swap.sh guard $folder/" >/dev/null; }
# gone NAME: no files or guards are left in the test's folder after a while
gone() {
  local tries
  for ((tries = 0; tries < 250; tries++)); do
    if [ -z "$(ls "$folder")" ] && ! guards; then
      ok "$1"
      return
    fi
    sleep 0.1
  done
  fail "$1" "$(ls "$folder"; cat "$err"; pgrep -af "$folder/"; grep -F "$folder/" /proc/swaps)"
}
# Active swap that swap.sh did not switch on.
others() { grep -vF "$folder/" /proc/swaps | grep -vE '/mafat-swap-(on|with)-[0-9]+ ' | awk '{ print $1, $2, $3 }'; }

# ---- Commands that need no swap

run --help
check 'help' "exit status $code" test $code = 0 -a ! -s "$err"
for word in on off status with cost; do
  run "$word" --help
  check "help: of $word" "exit status $code" test $code = 0 -a -s "$out"
done
bad 'misuse: no command' 'expected on, off' 
bad 'misuse: an unknown command' "found 'up'" up
bad 'misuse: an unknown option' '--fast' on 16M --fast
bad 'misuse: on without a size' 'SIZE' on
bad 'misuse: with without a command' 'COMMAND' with 16M
bad 'misuse: a word too many' "'16M'" off 16M
bad 'misuse: --folder without its value' '--folder' on 16M --folder
for size in 0 16X 1e9 ten 1.5 512K 99999999999999999999G '' 16M16; do
  bad "a bad size: '$size'" "size" on "$size" --folder "$folder"
done
run status --json
check 'status --json: is JSON' "$(head -c 300 "$out")" python3 -c '
import json, sys
s = json.load(open(sys.argv[1]))
assert len(s["swaps"]) == len(open("/proc/swaps").readlines()) - 1
assert all(set(d) == {"device", "kind", "disk", "size_bytes", "used_bytes", "priority", "ours"} for d in s["swaps"])' "$out"

# Names may contain anything: JSON escapes it.
check 'names in JSON' 'another text came back' python3 -c '
import json, subprocess, sys
name = "".join(map(chr, range(1, 127)))
body = open(sys.argv[1]).read()
body = body[body.index("json_text()"):]
said = subprocess.run(["bash", "-c", body[:body.index("\n}\n") + 3] + "json_text \"$1\"", "-", name], capture_output=True, text=True).stdout
assert json.loads(said) == name, said' "$program"

# ---- Refused

if [ "$(id -u)" != 0 ]; then
  skip 'swap files' 'need root'
  exit $failed
fi
before=$(others)
cp "$program" "$stubs/swap.sh" && chmod 755 "$stubs/swap.sh"
if setpriv --reuid 65534 --clear-groups test -r "$stubs/swap.sh" 2>/dev/null; then
  setpriv --reuid 65534 --clear-groups "$stubs/swap.sh" on 16M >"$out" 2>"$err"
  code=$?
  check 'refused: without root' "$code; $(head -c 300 "$err")" test "$code $(wc -l <"$err") $(grep -c 'needs root' "$err")" = '2 1 1'
else
  skip 'refused: without root' 'no other user can be taken here'
fi
bad 'refused: a folder that is not there' 'no such folder' on 16M --folder "$folder/none"
bad 'refused: a file as its folder' 'no such folder' on 16M --folder "$program"
memory=$(findmnt -nt tmpfs -o TARGET | head -n 1)
if [ -n "$memory" ]; then bad 'refused: tmpfs' 'is in memory' on 16M --folder "$memory"; else skip 'refused: tmpfs' 'none is mounted'; fi
read -r free unit < <(stat -f -c '%a %S' "$folder")
bad 'refused: it would fill the disk' 'has to stay free' on $((free * unit)) --folder "$folder"
cat >"$stubs/swapon" <<'STUB'
#!/bin/sh
echo "swapon: $1: swapon failed: Invalid argument" >&2
exit 255
STUB
chmod +x "$stubs/swapon"
PATH=$stubs:$PATH run on 16M --folder "$folder"
if grep -q 'has to stay free' "$err"; then
  skip 'swap files' "$(cat "$err")"
  exit $failed
fi
refuses 'refused: where swapon fails' 2 'takes no swap file: Invalid argument'
gone 'refused: nothing is left'
rm "$stubs/swapon"

# ---- On and off

run on 16M --folder "$folder" --last
if [ $code = 2 ]; then
  skip 'swap files' "$(cat "$err")"
  exit $failed
fi
file=$(cat "$out")
check 'on: prints the file, which is on' "exit status $code; $(cat "$err" /proc/swaps)" grep -qF "$file " /proc/swaps
check 'on: no process stays' 'a guard is there' eval '! guards'
check 'on: readable by root only' "$(stat -c %A "$file")" test "$(stat -c %a "$file")" = 600
run status
check 'status: whose it is' "$(cat "$out")" grep -qF "$file: file, 15.9 MiB, 0.0 MiB used, priority" "$out"
"$program" on 8M --folder "$folder" --last >"$out"
check 'on: a second one' "$(cat "$out")" test "$(ls "$folder" | wc -l)" = 2
"$program" with 8M --folder "$folder" --last sleep 3 &
until is_on with || ! kill -0 $!; do sleep 0.05; done
"$program" off --folder "$folder"
check 'off: removes both' "$(cat /proc/swaps)" eval '! is_on on'
check 'off: not that of a running command' "$(cat /proc/swaps)" is_on with
wait
gone 'off: nothing is left'
run off --folder "$folder"
check 'off: again is no error' "exit status $code" test $code = 0 -a ! -s "$err"
truncate -s 1M "$folder/mafat-swap-on-1234x" "$folder/mafat-swap"
: >"$folder/mafat-swap-on-4194999" # as after a restart: no process has this number
"$program" off --folder "$folder"
check 'off: what is left of another day, and nothing that is called otherwise' "$(ls "$folder")" \
  test "$(ls "$folder" | xargs)" = 'mafat-swap mafat-swap-on-1234x'
rm "$folder"/*

# ---- With a command

ls /proc/self/fd <<<'its input' >"$stubs/descriptors"
run with 16M --folder "$folder" --last sh -c 'cat; grep -c "^$1/mafat-swap-with" /proc/swaps; ls /proc/self/fd; exit 7' sh "$folder" <<<'its input'
check 'with: the exit status of the command' "$code" test $code = 7
check 'with: its input and the swap' "$(cat "$out")" test "$(head -n 2 "$out" | xargs)" = 'its input 1'
check 'with: no descriptor of ours' "$(cat "$out")" cmp -s "$stubs/descriptors" <(tail -n +3 "$out")
gone 'with: nothing is left'
run with 16M --folder "$folder" --last -- no-such-command
check 'with: a command that is not there' "$code; $(cat "$err")" test $code = 127
run with 16M --folder "$folder" --last sh -c 'kill -KILL $$'
check 'with: a command that is killed' "$code; $(cat "$err")" test $code = 137
gone 'with: nothing is left of these'
mkdir "$folder/a folder"
run with 8M --folder "$folder/a folder" --last cat /proc/swaps
check 'with: a folder with a blank in its name' "$(cat "$out")" grep -qF 'a\040folder/mafat-swap-with' "$out"
rmdir "$folder/a folder" || fail 'with: a folder with a blank: nothing is left' "$(ls "$folder"/*)"
echo "another's" >"$stubs/victim"
sh -c 'for end in "" .log; do ln -s "$1/victim" "$2/mafat-swap-with-$$$end"; done
  exec "$3" with 8M --folder "$2" --last true' sh "$stubs" "$folder" "$program" 2>"$err"
code=$?
check 'with: links where its files will be' "exit status $code; $(cat "$err" "$stubs/victim")" test "$code $(cat "$stubs/victim")" = "0 another's"
gone 'with: links: nothing is left'

env --default-signal=HUP,TERM "$program" with 8M --folder "$folder" --last sleep 300 &
first=$!
env --default-signal=HUP,TERM "$program" with 8M --folder "$folder" --last sleep 300 &
second=$!
until [ "$(grep -cF "$folder/" /proc/swaps)" = 2 ] || ! kill -0 $first || ! kill -0 $second; do sleep 0.05; done
kill -TERM $first && wait $first
check 'two at once: the first one is stopped' $? test $? = 143
check 'two at once: the second goes on' "$(cat /proc/swaps)" eval 'kill -0 $second && is_on with && [ $(grep -cF "$folder/" /proc/swaps) = 1 ]'
kill -HUP $second && wait $second
check 'two at once: the second one is stopped' $? test $? = 129
gone 'two at once: nothing is left'

# ---- Killed

# start ARGUMENT...: in the background with default signals, which a background job would ignore
start() {
  env --default-signal=INT,HUP "$program" "$@" >/dev/null 2>"$err" &
  child=$!
}
code_of() { case $1 in HUP) echo 129 ;; INT) echo 130 ;; TERM) echo 143 ;; KILL) echo 137 ;; esac }
for tool in fallocate mkswap swapon; do # each step of making takes long
  printf '#!/bin/sh\nsleep 0.4\n%s "$@"\nstatus=$?\nsleep 0.4\nexit $status\n' "$(command -v $tool || echo /usr/sbin/$tool)" >"$stubs/$tool"
  chmod +x "$stubs/$tool"
  for signal in INT KILL; do
    (PATH=$stubs:$PATH && start on 16M --folder "$folder" --last && sleep 0.$((RANDOM % 4 + 2)) && kill -$signal $child && wait $child) 2>/dev/null
    status=$?
    check "killed: $signal while $tool runs" "exit status $status" test $status = "$(code_of $signal)"
    gone "killed: $signal while $tool runs: nothing is left"
  done
  rm "$stubs/$tool"
done
signals=(INT TERM KILL HUP INT TERM KILL INT TERM KILL)
for ((k = 0; k < ${#signals[@]}; k++)); do
  signal=${signals[k]} when=0.$(printf %03d $((RANDOM % 250)))
  if [ $((k % 2)) = 0 ]; then start on $((8 + k))M --folder "$folder" --last; else start with 64M --folder "$folder" --last sleep 77.$$; fi
  sleep "$when"
  { kill -$signal $child && wait $child; } 2>/dev/null
  status=$?
  "$program" off --folder "$folder" # the signal may have come too late
  gone "killed: $signal after $when s: nothing is left"
  check "killed: $signal after $when s: nor the command" "exit status $status" eval '! pgrep -f "sleep 77.$$" >/dev/null'
done
start with 16M --folder "$folder" --last sleep 77.$$
until is_on with || ! kill -0 $child; do sleep 0.05; done
sleep 0.1
pkill -KILL -f "swap.sh guard $folder/"
{ kill -KILL $child && wait $child; } 2>/dev/null
pkill -f "sleep 77.$$"
check 'killed together with its guard: something is left' 'the test is wrong' is_on with
run with 8M --folder "$folder" --last true
gone 'killed together with its guard: removed by the next call'
start with 16M --folder "$folder" --last sleep 0.5
until is_on with || ! kill -0 $child; do sleep 0.05; done
pkill -KILL -f "swap.sh guard $folder/"
wait $child
check 'its guard is killed: the command ends as it does' $? test $? = 0
gone 'its guard is killed: nothing is left'

# ---- What a page costs

if [ -x "$build/swap_cost" ]; then
  for size in 0x10M ' 64M' inf nan 64MM; do
    "$build/swap_cost" --size "$size" >"$out" 2>"$err"
    code=$?
    expect "swap_cost --size '$size'" 2 "--size expects at least 1M"
  done
  for word in --help --version; do
    "$build/swap_cost" $word >/dev/full 2>"$err"
    code=$?
    check "swap_cost $word to a full disk" "exit status $code, $(head -c 300 "$err")" test "$code $(wc -l <"$err")" = '1 1'
  done
fi

if [ ! -x "$build/memory_limit" ]; then
  skip 'cost' "needs $build/memory_limit"
else
  run with 64M --folder "$folder" --last "$program" cost --json
  if [ $code = 2 ] && grep -q 'memory_limit' "$err"; then
    skip 'cost' "$(cat "$err")"
  else
    check 'cost --json' "exit status $code; $(cat "$out" "$err")" python3 -c '
import json, sys
c = json.load(open(sys.argv[1]))
assert 0 < c["out_us"] and 0 < c["in_us"] < 1e6 and 0 < c["in_random_us"] < 1e6, c
assert c["out_pages"] > c["n_pages"] / 2 and c["in_major_faults"] > 0 and c["in_random_major_faults"] > 0, c
assert c["device"] and c["kind"] in ("file", "partition", "zram") and c["zswap"] in (True, False), c' "$out"
  fi
fi
check 'other swap is as it was' "before: $before; now: $(others)" test "$before" = "$(others)"
exit $failed
