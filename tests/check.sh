# shellcheck shell=bash
# shellcheck disable=SC2034 # $failed is the exit status of who sources this
# Results of command-line tests: lines of ok, skip and FAIL, which run.sh counts. Sourced by all of them, also by shells other than
# bash (v2/inside.sh). $suite, if set, precedes every name. $log, if set, receives what checks print; a failure quotes its last line.
failed=0
[ -n "${XDG_CACHE_HOME-}" ] || export XDG_CACHE_HOME=/dev/null # as in tests/run.sh: no stored calibration has an effect, and none can be stored, not even by root

ok() { printf 'ok %s%s\n' "${suite:+$suite }" "$1"; }
skip() { printf 'skip %s%s: %s\n' "${suite:+$suite }" "$1" "$2"; }
fail() { # NAME WHY: prints one line
  printf 'FAIL %s%s: %s\n' "${suite:+$suite }" "$1" "$(echo "$2" | tr '\n' ' ')"
  failed=1
}
check() { # NAME WHY COMMAND...: the command must succeed
  local name=$1 why=$2
  shift 2
  if "$@" >"${log:-/dev/null}" 2>&1; then ok "$name"; else fail "$name" "$why${log:+; $(tail -n 1 "$log")}"; fi
}

# True if the program needs a dynamic loader. Static ones do not, position independent or not.
needs_loader() { readelf -lW "$1" 2>/dev/null | grep -q INTERP; } # PROGRAM

# at_end COMMAND: runs it when this shell ends, also by a signal. A forked shell that is killed
# before it executes a program still has the traps; it does not run the command. (There a command's
# status may be that of the wait for it: case, not test.)
at_end() {
  # shellcheck disable=SC2064 # now
  trap "case \${BASHPID:-$$} in $$) $1 ;; esac" EXIT
  trap 'exit 1' HUP INT TERM
}

# run ARGUMENT...: runs $program for at most $patience seconds; exit status in $code, streams in the files $out and $err
run() {
  timeout "${patience:-60}" "$program" "$@" >"$out" 2>"$err"
  code=$?
}
# expect NAME STATUS [TEXT]: the run had this exit status, and printed one line with the text to stderr; without a text, nothing.
# With $chatty, a run that succeeds may print more.
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
refuses() { # NAME STATUS TEXT: the same, and nothing on stdout
  if [ -s "$out" ]; then fail "$1" "expected nothing on stdout, found: $(head -c 300 "$out")"; else expect "$@"; fi
}
bad() { # NAME TEXT ARGUMENT...: rejected with exit status 2 and one line with the text; within $at_once seconds, if set
  local name=$1 text=$2 patience=${at_once:-${patience:-60}}
  shift 2
  run "$@"
  refuses "$name" 2 "$text"
}
