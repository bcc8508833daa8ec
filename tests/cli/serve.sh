#!/usr/bin/env bash
# Checks build/mafat_serve: valid, invalid, slow and many clients, access control, memory, ending,
# and its page in a browser. Run from the project's root; BUILD names the build folder.
set -u

build=$(realpath "${BUILD:-build}")
program=$build/mafat_serve
# shellcheck source=tests/check.sh
. tests/check.sh
dir=$(mktemp -d) || exit 1
pid=
# shellcheck disable=SC2317 # called by the trap
leave() {
  [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null
  rm -rf "$dir"
}
at_end leave
# shellcheck disable=SC2034 # by tests/check.sh
out=$dir/out err=$dir/err suite=serve log=$dir/log
shapes=models/shapes/shapes
files=("$shapes.cfg" "$shapes.weights")
picture=models/shapes/holdout/000004.jpg
unset MAFAT_SERVE_TOKEN
# A sanitizer's shadow memory counts as the process's, and grows.
sanitized=0 budget=(--memory 16M)
if grep -qE '__[at]san_init' "$program"; then sanitized=1 budget=(--memory 512M --room 2M); fi

# ---- Refusals before listening

bad 'no model' 'expected MODEL.cfg MODEL.weights, or a MODEL that holds both, found 0 arguments'
bad 'a picture' 'found 3 arguments' "${files[@]}" "$picture"
bad 'no address' '--listen expects an address and a port' --listen somewhere:80 "${files[@]}"
bad 'no port' '--listen expects an address and a port' --listen 127.0.0.1 "${files[@]}"
bad 'a port too high' '--listen expects an address and a port' --listen 127.0.0.1:65536 "${files[@]}"
bad 'too many addresses' '--listen expects ADDRESS:PORT or unix:PATH, four times at most' --listen a:1 --listen a:1 --listen a:1 --listen a:1 --listen a:1 "${files[@]}"
bad 'an address of nobody' '--listen 192.0.2.1:80: Cannot assign' --listen 192.0.2.1:80 "${files[@]}"
bad 'no time' '--timeout expects seconds' --timeout 0 "${files[@]}"
bad 'a time that is not decimal' '--timeout expects seconds' --timeout 0x10 "${files[@]}"
bad 'too little room' '--room expects a size from 64K' --room 4K "${files[@]}"
bad 'no value' '--wait expects a value' "${files[@]}" --wait
bad 'an option of run_inference' '--repeat makes no sense with mafat_serve' --repeat 3 "${files[@]}"
bad 'a map' '--map makes no sense with mafat_serve' --predict --map "$dir/map.svg" "${files[@]}"
bad 'no token file' "$dir/none: cannot read the token" --token-file "$dir/none" "${files[@]}"
echo short >"$dir/short"
bad 'a short token' 'expected a token of 8 to 511 characters in the first line, found 5' --token-file "$dir/short" "${files[@]}"
printf 'with a blank\n' >"$dir/blank"
bad 'a token with a blank' 'without blanks' --token-file "$dir/blank" "${files[@]}"
bad 'no names' "$dir/none: cannot open" --names "$dir/none" "${files[@]}"
bad 'no weights' "$dir/none: " "$shapes.cfg" "$dir/none"
mkfifo "$dir/pipe"
bad 'weights by a pipe' "$dir/pipe: expected a regular file, found a pipe: weights are not read in order" "$shapes.cfg" "$dir/pipe"
bad 'weights in a folder' "$dir: expected the weights of $shapes.cfg, found a directory" "$shapes.cfg" "$dir"
printf '[net]\nwidth=8\nheight=8\nchannels=3\n[convolutional]\nfilters=8\nsize=1\nactivation=linear\n' >"$dir/other.cfg"
"$build/make_weights" --quiet "$dir/other.cfg" "$dir/other.weights"
bad 'a network that finds nothing' 'expected a network that finds boxes or classes' "$dir/other.cfg" "$dir/other.weights"
files_most=$(ulimit -Sn)
ulimit -Sn 100
bad 'too few files' 'cannot keep bodies in memory: Too many open files' "${files[@]}"
ulimit -Sn "$files_most"
# The messages go through a pipe, since the limit holds for their file, too.
(ulimit -f 100; "$program" "${budget[@]}" "${files[@]}" 2>&1; echo "exit status $?" >&2) 2>"$dir/status" | cat >"$err"
check 'a limit of files below the room' "$(cat "$err")" grep -q -- '--room: bodies are kept in files in memory, of up to 2.0 MiB, and the limit of a file.s size is 0.1 MiB' "$err"
run --memory 4M "${files[@]}"
refuses 'what does not fit' 3 'does not fit'
run --help
expect help 0
cp "$out" "$dir/help"
run --version
check version "$(cat "$out")" grep -q '^mafat_serve [0-9]' "$out"
while read -r option; do
  [[ $option = --data-binary || $option = --unix-socket ]] || grep -qE "(Fl|\|) -${option#--}( |\$)" doc/man/mafat_serve.1 || fail manual "mafat_serve.1 does not have $option"
done < <(grep -oE -- '--[a-z-]+' "$dir/help" | sort -u)

# ---- A server

# listen_with COMMAND...: in $pid, its port in $port, its lines in $err
listen_with() {
  : >"$err"
  "$@" >"$out" 2>"$err" &
  pid=$!
  for _ in {1..600}; do
    grep -q 'needs at most' "$err" && break
    kill -0 $pid 2>/dev/null || break
    sleep 0.1
  done
  port=$(sed -n 's|.*listens at http://.*:\([0-9]*\)/$|\1|p' "$err" | head -n 1)
}
listen() { listen_with "$program" --listen 127.0.0.1:0 "$@"; }
ends() { # NAME [SIGNAL]: the server ends properly and leaves nothing
  kill -"${2:-TERM}" "$pid"
  wait "$pid"
  code=$?
  pid=
  check "$1" "exit status $code; $(tail -n 2 "$err")" test "$code" = 0 -a ! -s "$out"
}

if ! command -v python3 >/dev/null; then
  skip clients 'needs python3'
  exit "$failed"
fi
listen "${budget[@]}" --timeout 5 --names "$shapes.names" "${files[@]}"
check 'it says where' "$(cat "$err")" test -n "$port" -a "$(wc -l <"$err")" = 2
python3 tests/serve/ask.py "$port" "$picture" $((2 << 20)) 2>&1 || failed=1
run --listen "127.0.0.1:$port" "${files[@]}"
refuses 'an address that is taken' 2 "--listen 127.0.0.1:$port: Address already in use"
if [ "$(cat /proc/$pid/task/*/status | grep -c '^Seccomp:.2$')" = 2 ]; then ok 'both threads are in the sandbox'
elif [ $sanitized = 0 ] && "$program" --predict --sandbox on "${files[@]}" >/dev/null 2>&1; then fail 'both threads are in the sandbox' "$(grep Seccomp /proc/$pid/task/*/status)"
else skip 'both threads are in the sandbox' 'there is none, or a sanitizer'; fi
if [ $sanitized = 1 ]; then skip 'without memory' 'a sanitizer takes terabytes of addresses'
else python3 - "$port" "$picture" "$pid" 2>&1 <<'PYTHON' || failed=1
import http.client, resource, sys
port, picture, pid = int(sys.argv[1]), open(sys.argv[2], "rb").read(), int(sys.argv[3])
def ask(method, path, body=None):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request(method, path, body)
    status = c.getresponse().status
    c.close()
    return status
frame = "/detect?size=320x240&format=rgb24", bytes(320 * 240 * 3)
def limited(most):
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, before[1]))
    got = [ask("POST", "/detect", picture), ask("GET", "/none"), ask("GET", "/metrics"), ask("GET", "/healthz"), ask("GET", "/plan"), ask("HEAD", "/none")]
    resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
    return got

found = [limited(most) for most in (0, 100, 20000)]
good = found == [[503, 404, 503, 200, 503, 404]] * 2 + [[503, 404, 200, 200, 200, 404]]
print("ok serve limits of a file's size" if good else "FAIL serve limits of a file's size: found %s" % found)
failed = not good
found = [ask("POST", "/detect", picture)]
before = resource.prlimit(pid, resource.RLIMIT_AS)
resource.prlimit(pid, resource.RLIMIT_AS, (1, before[1]))
found += [ask("POST", *frame), ask("GET", "/healthz"), ask("POST", "/detect", b"none"), ask("POST", *frame), ask("POST", "/detect", picture), ask("GET", "/healthz")]
resource.prlimit(pid, resource.RLIMIT_AS, before)
found += [ask("POST", *frame), ask("POST", "/detect", picture)]
good = found == [200, 503, 200, 422, 503, 503, 200, 200, 200]
print("ok serve without memory" if good else "FAIL serve without memory: found %s" % found)
sys.exit(failed or not good)
PYTHON
fi
sockets=$(find "/proc/$pid/fd" -lname 'socket:*' | wc -l)
check 'no connection is left open' "$sockets sockets" test "$sockets" = 1
ends 'TERM ends it'

many() { # CLIENTS: their results, in $dir/many
  python3 tests/serve/many.py "$port" "$picture" "$1" >"$dir/many" 2>&1
  code=$?
}
get() { # PATH...
  local path
  for path; do python3 -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$port/$path').read()" || return; done
}

# Many requests need as many resident bytes as few.
listen "${budget[@]}" --names "$shapes.names" "${files[@]}"
resident() { awk '/^VmRSS/ { print $2 }' "/proc/$pid/status"; }
many 50
get plan plan?memory=8M map?memory=8M map metrics healthz
before=$(resident)
many 300
check 'many clients' "$(cat "$dir/many")" test "$code" = 0
get plan plan?memory=8M map?memory=8M map metrics healthz
check 'nothing grows' "from $before to $(resident) KB" test "$(resident)" -le $((before + (sanitized ? 65536 : 64)))

# A picture that cannot be read adds no time of the picture before it.
seconds() { python3 -c "import urllib.request as u; print(*[l for l in u.urlopen('http://127.0.0.1:$port/metrics').read().decode().split('\n') if l.startswith('mafat_picture_seconds{part=\"$1\"')])"; }
decode=$(seconds decode)
python3 -c "import urllib.request as u, urllib.error
try: u.urlopen('http://127.0.0.1:$port/detect', b'\xff\xd8\xff no picture')
except urllib.error.HTTPError as e: assert e.code == 422, e.code" 2>"$log"
check 'a damaged picture' "$(tail -n 1 "$log")" test ! -s "$log"
check 'its time' "$decode, then $(seconds decode)" test "$decode" = "$(seconds decode)"
check 'waiting never shrinks' "$(seconds wait)" test -z "$(seconds wait | grep -- ' -')"
ends 'INT ends it' INT

# ---- Access

printf 'secret-token-1\nmore\n' >"$dir/token"
listen "${budget[@]}" --timeout 5 --token-file "$dir/token" --names "$shapes.names" "${files[@]}"
python3 tests/serve/ask.py "$port" "$picture" $((2 << 20)) secret-token-1 2>&1 | sed 's/^\(ok\|FAIL\) serve /&with a token: /' >"$dir/asked"
cat "$dir/asked"
! grep -q ^FAIL "$dir/asked" || failed=1
# shellcheck disable=SC2317 # called by check
asks() { # STATUS PATH [HEADER]
  python3 -c 'import sys, http.client as h
c = h.HTTPConnection("127.0.0.1", int(sys.argv[1]))
c.request("GET", sys.argv[2], headers=dict([sys.argv[3].split(": ", 1)]) if len(sys.argv) > 3 else {})
r = c.getresponse()
print(r.status, r.headers["WWW-Authenticate"])' "$port" "${@:2}" | grep -q "^$1 "
}
check 'without a token' 'it is answered' asks 401 /plan
check 'with another token' 'it is answered' asks 401 /metrics 'Authorization: Bearer secret-token-2'
check 'health needs none' 'it does' asks 200 /healthz
check 'the page needs none' 'it does' asks 200 /
check 'no command line has it' "$(tr '\0' ' ' <"/proc/$pid/cmdline")" sh -c "! grep -q secret /proc/$pid/cmdline"
ends 'with a token: it ends'
MAFAT_SERVE_TOKEN=secret-token-3 listen "${budget[@]}" "${files[@]}"
check 'a token of the environment' 'it is not asked for' asks 401 /plan
check 'it is taken' 'it is not' asks 200 /plan 'Authorization: Bearer secret-token-3'
check 'and no more in the environment' 'it is' sh -c "! grep -q secret /proc/$pid/environ"
ends 'with one of the environment: it ends'
for address in 0.0.0.0:0 '[::]:0' 192.0.2.1:0; do
  run --listen "$address" "${files[@]}"
  grep -qE 'Address family|Cannot assign' "$err" || refuses "open to all without a token: $address" 2 "--listen $address: expected a token"
done
run --listen 127.0.0.1:0 --listen 0.0.0.0:0 "${files[@]}"
refuses 'open to all beside a local address' 2 '--listen 0.0.0.0:0: expected a token'
bad 'a token and none' '--no-token' --no-token --token-file "$dir/token" "${files[@]}"
listen_with "$program" --listen 0.0.0.0:0 --no-token "${budget[@]}" "${files[@]}"
check 'open to all, as it was asked for' "$(cat "$err")" get healthz
ends 'open to all: it ends'
listen_with "$program" --listen 0.0.0.0:0 --token-file "$dir/token" "${budget[@]}" "${files[@]}"
check 'open to all with a token' 'it is not asked for' asks 401 /plan
ends 'open to all with a token: it ends'
listen --listen '[::1]:0' "${budget[@]}" "${files[@]}"
if grep -q '\[::1\]' "$err"; then
  check 'two addresses' "$(cat "$err")" python3 -c "import urllib.request as u; u.urlopen('$(sed -n 's/.*listens at //p' "$err" | tail -n 1)healthz').read()"
  ends 'two addresses: it ends'
else skip 'two addresses' "$(tail -n 1 "$err")"; wait "$pid"; pid=; fi

# ---- Unix sockets

by_path() { # ADDRESS METHOD PATH [FILE]: prints the response's status
  python3 - "$@" <<'PYTHON'
import http.client, socket, sys
class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(sys.argv[1])
c = Connection("localhost", timeout=60)
c.request(sys.argv[2], sys.argv[3], open(sys.argv[4], "rb").read() if len(sys.argv) > 4 else None)
print(c.getresponse().status)
PYTHON
}
answers() { test "$(by_path "$@")" = 200; }
at="unix:$dir/socket"
listen_with "$program" --listen "$at" "${budget[@]}" "${files[@]}"
check 'at a path: it says where' "$(cat "$err")" grep -qx "mafat_serve: listens at $at" "$err"
check 'at a path: nobody else can reach it' "$(cat "$err")" sh -c "! grep -q 'no token' '$err'"
check 'at a path: health' 'it is not answered' answers "$dir/socket" GET /healthz
check 'at a path: a picture' 'it is not answered' answers "$dir/socket" POST /detect "$picture"
run --listen "$at" "${files[@]}"
refuses 'a path that is taken' 2 "--listen $at: Address already in use"
{ kill -9 "$pid" && wait "$pid"; } 2>/dev/null
listen_with "$program" --listen "$at" --listen 127.0.0.1:0 "${budget[@]}" "${files[@]}"
check 'a path that was left behind' "$(cat "$err")" answers "$dir/socket" GET /healthz
check 'and an address beside it' "$(cat "$err")" get healthz
ends 'at a path: it ends'
listen_with "$program" --listen "unix:@mafat-$$" "${budget[@]}" "${files[@]}"
check 'a name of no folder' "$(cat "$err")" grep -qx "mafat_serve: listens at unix:@mafat-$$" "$err"
ends 'a name of no folder: it ends'
echo text >"$dir/file"
run --listen "unix:$dir/file" "${files[@]}"
refuses 'a file in its place' 2 "--listen unix:$dir/file: Address already in use"
check 'which stays' "$(cat "$dir/file")" grep -qx text "$dir/file"
for path in '' @ "$(printf '%0200d' 0)"; do bad "no path: ${path:0:9}" '--listen expects an address and a port' --listen "unix:$path" "${files[@]}"; done
bad 'no folder' "--listen unix:$dir/nowhere/socket: No such file" --listen "unix:$dir/nowhere/socket" "${files[@]}"

# ---- Slow and many clients

listen "${budget[@]}" --timeout 1 "${files[@]}"
python3 tests/serve/slow.py "$port" "$picture" $((2 << 20)) 2>&1 || failed=1
ends 'after slow ones'
# crowd SECONDS [HEADS BODIES COSTLY WHOLE]: five times as slow as on an idle machine at most
crowd() {
  PATIENCE=5 python3 tests/serve/crowd.py "$port" models/shapes/holdout/000005.jpg "$@" >"$dir/crowd" 2>&1
  code=$?
  sed 's/^/   /' "$dir/crowd"
}
listen "${budget[@]}" "${files[@]}"
crowd 4
check 'slow heads, stalled bodies, costly pictures' "$(cat "$dir/crowd")" test $code = 0
crowd 2 0 0 0 120
check 'more whole requests than connections' "$(cat "$dir/crowd")" test $code = 0
ends 'after a crowd'
sed 's/^width=.*/width=480/; s/^height=.*/height=480/' "$shapes.cfg" >"$dir/large.cfg"
listen "${budget[@]}" --wait 0.2 "$dir/large.cfg" "$shapes.weights"
many 40 # the server has measured a request by now
many 400
check 'too many: 200 and 429' "$(cat "$dir/many")" test "$code" = 0
check 'some get status 429' "$(cat "$dir/many")" grep -qE '^200:[0-9]+ 429:[0-9]+ ' "$dir/many"
ends 'after too many'
# so that requests wait for seconds
sed 's/^width=.*/width=960/; s/^height=.*/height=960/' "$shapes.cfg" >"$dir/larger.cfg"
listen "${budget[@]}" --wait 600 "$dir/larger.cfg" "$shapes.weights"
many 40 &
clients=$!
for _ in {1..600}; do
  exec 5<>"/dev/tcp/127.0.0.1/$port"
  printf 'GET /metrics HTTP/1.0\r\n\r\n' >&5
  waiting=$(sed -n 's/^mafat_pictures_waiting //p' <&5)
  exec 5>&-
  [ "${waiting:-0}" -lt 5 ] || break
  sleep 0.05
done
ends 'ended while many wait'
wait $clients
check 'what runs is answered, the others hear of it' "$(cat "$dir/many")" grep -qE '^200:[0-9]+ 503:[0-9]+ ' "$dir/many"
# Sent but unread bytes, in hexadecimal.
unsent() { awk -v port="$(printf ':%04X' "$port")" '$4 == "01" && substr($2, length($2) - 4) == port { print substr($5, 1, 8) }' /proc/net/tcp; }
for second in TERM INT; do
  listen "${budget[@]}" --timeout 600 "${files[@]}" # how long it waits for a slow reader
  exec 5<>"/dev/tcp/127.0.0.1/$port"
  for _ in {1..1000}; do printf 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'; done >&5 # more than all buffers hold, and nothing is read: the server waits
  sent=
  for _ in {1..100}; do
    sleep 0.2
    [ "$(unsent)" != "${sent:-none}" ] || break
    sent=$(unsent)
    [ "$sent" != 00000000 ] || sent=
  done
  kill "$pid"
  sleep 0.3
  waits=$(kill -0 "$pid" 2>/dev/null && echo yes)
  kill -$second "$pid"
  SECONDS=0
  { wait "$pid"; } 2>/dev/null
  code=$?
  pid=
  exec 5>&-
  check "TERM and $second end it at once" "exit status $code after $SECONDS s, before it: ${waits:-ended}" \
    test "$waits" = yes -a "$code" = $((128 + $(kill -l $second))) -a $SECONDS -lt 60
done

# ---- Memory

run --predict --json "${budget[@]}" "${files[@]}"
expect 'it is predicted' 0
charge=$(grep -o '"predicted_charge_bytes":[0-9]*' "$out" | cut -d: -f 2)
run --predict --json "${budget[@]}" --room 4M "${files[@]}"
more=$(grep -o '"predicted_charge_bytes":[0-9]*' "$out" | cut -d: -f 2)
check 'room is part of it' "$charge and $more bytes" test $((more - charge)) = $((2 << 20)) -o $sanitized = 1

# in_group NAME LIMIT CLIENTS ARGUMENT...: serves clients at once within the limit, as predicted
in_group() {
  local name=$1 limit=$2 clients=$3 served said
  shift 3
  listen_with "$build/memory_limit" --json -o "$dir/report" --limit "$limit" -- "$program" --listen 127.0.0.1:0 --memory "$limit" "$@"
  served=$(pgrep -P "$pid" -x mafat_serve) # without its guard
  if [ -z "$port" ]; then fail "$name" "$(tail -n 2 "$err")"; wait "$pid"; pid=; return; fi
  charge=$(python3 -c "import json, urllib.request as u; print(json.load(u.urlopen('http://127.0.0.1:$port/plan'))['predicted_charge_bytes'])")
  many "$clients"
  check "$name: $clients clients" "$(cat "$dir/many")" test "$code" = 0
  echo "   $name: $(cat "$dir/many")"
  get map plan?memory=8M map?memory=64M metrics
  kill "$served"
  wait "$pid"
  pid=
  if said=$(python3 - "$dir/report" "$charge" <<'PYTHON'
import json, sys
a, charge = json.load(open(sys.argv[1])), int(sys.argv[2])
print("predicted %.2f MB, peak %.2f MB" % (charge / 1048576, a["peak_bytes"] / 1048576))
assert a["peak_bytes"] <= charge, "more than predicted"
assert not a["swap_peak_bytes"] and not a["swap_in_bytes"], "it has swapped"
PYTHON
  ); then ok "$name: $said, 0 bytes swapped"; else fail "$name" "$said; $(cat "$dir/report")"; fi
}
if [ $sanitized = 1 ]; then
  skip 'in a group' 'a sanitizer takes more than is predicted'
elif [ ! -x "$build/memory_limit" ] || ! "$build/memory_limit" --check 2>/dev/null | grep -q ^possible; then
  skip 'in a group' 'no group can be made here'
else
  in_group 'in 12 MB' 12M 100 "${files[@]}"
  fastest=${MAFAT_MODELS:-}/yolo-fastest-1.1
  if [ -e "$fastest.weights" ]; then in_group 'Yolo-Fastest in 16 MB' 16M 1000 "$fastest.cfg" "$fastest.weights"
  else skip 'Yolo-Fastest in 16 MB' 'MAFAT_MODELS has none'; fi
fi

# ---- Its page

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$browser" ]; then
  skip browser 'no chromium'
else
  for token in '' secret-token-1; do
    mkdir "$dir/browser"
    if [ -z "$token" ]; then listen "${budget[@]}" --names "$shapes.names" "$dir/large.cfg" "$shapes.weights"
    else listen "${budget[@]}" --names "$shapes.names" --token-file "$dir/token" "$dir/large.cfg" "$shapes.weights"; fi
    # shellcheck disable=SC2086 # no word where there is no token
    timeout 300 python3 tests/serve/browse.py "$browser" "$port" "$picture" "$dir/browser" $token 2>&1 || failed=1
    ends "after a browser${token:+ with a token}"
    rm -rf "$dir/browser"
  done
fi
exit "$failed"
