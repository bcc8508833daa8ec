# shellcheck shell=bash
# shellcheck disable=SC2034 # $failed is the exit status of who sources this
# What tests of command lines say, and count: sourced by all of them, also by a shell that is not bash (v2/inside.sh). $suite, if set,
# stands before every name; $log, if set, takes what checks print, and its last line is told where one fails.
failed=0
[ -n "${XDG_CACHE_HOME-}" ] || export XDG_CACHE_HOME=/dev/null # as tests/run.sh has it, nothing that --calibrate kept decides; and nothing can be kept there, not even by root

ok() { printf 'ok %s%s\n' "${suite:+$suite }" "$1"; }
skip() { printf 'skip %s%s: %s\n' "${suite:+$suite }" "$1" "$2"; }
fail() { # in one line
  printf 'FAIL %s%s: %s\n' "${suite:+$suite }" "$1" "$(echo "$2" | tr '\n' ' ')"
  failed=1
}
check() { # NAME WHY COMMAND...: the command must succeed
  local name=$1 why=$2
  shift 2
  if "$@" >"${log:-/dev/null}" 2>&1; then ok "$name"; else fail "$name" "$why${log:+; $(tail -n 1 "$log")}"; fi
}

# Would a loader be run with it? Not of what is static, be it independent of its place.
needs_loader() { readelf -lW "$1" 2>/dev/null | grep -q INTERP; } # PROGRAM

# at_end COMMAND: when this shell ends, by a signal, too. Not when a copy of it does that was to become another program: killed just
# after its start it still has the traps. (In it a command's status may be that of the wait for it: case, not test.)
at_end() {
  # shellcheck disable=SC2064 # now
  trap "case \${BASHPID:-$$} in $$) $1 ;; esac" EXIT
  trap 'exit 1' HUP INT TERM
}

# run ARGUMENT...: $program, for $patience seconds at most; its exit status in $code, its streams in the files $out and $err
run() {
  timeout "${patience:-60}" "$program" "$@" >"$out" 2>"$err"
  code=$?
}
# expect NAME STATUS [TEXT]: of what was run, the exit status, and on stderr one line that has the text; nothing, where there is no
# text. What succeeds may say more where $chatty is set.
expect() {
  local lines=0
  [ -z "${3-}" ] || lines=1
  if [ "$code" != "$2" ]; then
    fail "$1" "exit status $code instead of $2; $(head -c 300 "$err")"
  elif [ -n "${3-}" ] && ! grep -qF -e "$3" "$err"; then
    fail "$1" "expected '$3' on stderr, found: $(head -c 300 "$err")"
  elif [ "$(wc -l <"$err")" != $lines ] && ! { [ "$2" = 0 ] && [ -n "${chatty-}" ]; }; then
    fail "$1" "expected $lines lines on stderr, found: $(head -c 300 "$err")"
  else
    ok "$1"
  fi
}
refuses() { # NAME STATUS TEXT: as expected, and nothing on stdout
  if [ -s "$out" ]; then fail "$1" "expected nothing on stdout, found: $(head -c 300 "$out")"; else expect "$@"; fi
}
bad() { # NAME TEXT ARGUMENT...: refused with exit status 2 and one line that has the text; within $at_once seconds, if set
  local name=$1 text=$2 patience=${at_once:-${patience:-60}}
  shift 2
  run "$@"
  refuses "$name" 2 "$text"
}
